"""Files that a profile from elsewhere names: which of them are read and shown."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from as_python import run
from damaged_files import changed
from example_stats import PROCESS

from lineprof.cli.main import main
from lineprof.export import EXPORTS
from lineprof.line_stats import LineStats, load_stats
from lineprof.model.profile import Profile
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    SourceFile,
    Thread,
    ThreadLine,
)
from lineprof.report import VIEWS
from lineprof.storage import save

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "t0p-secret"  # noqa: S105
CODE = f"def f():\n    return '{SECRET}'\n"


def profile_of(*files: str, sha256: str | None = None) -> Profile:
    """Return a profile without text, with a function in each of `files`."""
    keys = [(file, 1, f"f{index}") for index, file in enumerate(files)]
    lines = tuple(ThreadLine(n, 0, 1, 1_000 * n, raw_ns=1_000) for n in (1, 2))
    called = ("/p/called", 1, "called")
    nodes = [CallNode(NO_NODE, 0, key, 0, 1, 1, 3_000, 3_000, 3_000) for key in keys]
    nodes.append(CallNode(0, 1, called, 0, 1, 1, 0, 0, 0))
    nodes.append(CallNode(len(keys), 2, keys[0], 0, 1, 1, 0, 0, 0))
    return Profile.from_functions(
        [FunctionStats(file, name, line, lines, calls=1) for file, line, name in keys],
        threads=[Thread(0, 1, "MainThread")],
        processes=[PROCESS],
        sources={}
        if sha256 is None
        else {file: SourceFile(file, None, sha256) for file in files},
        calls=CallTree(tuple(nodes)),
    )


def pickled(folder: Path, *files: str) -> str:
    """Write a profile of line_profiler."""
    timings = {(file, 1, "f"): [(1, 1, 9), (2, 1, 8)] for file in files}
    save_as = folder / "old.lprof"
    content = EXPORTS["line_profiler"].content(Profile(timings, 1e-6))
    save_as.write_bytes(b"".join(content))
    return str(save_as)


def saved(folder: Path, profile: Profile) -> str:
    """Write a profile."""
    save(profile, folder / "p.lprof")
    return str(folder / "p.lprof")


COMMANDS = [
    *(
        ["view", *([] if name == "text" else [f"--{name}"])]
        for name, view in VIEWS.items()
        if view.value is None or view.value.attribute == "lines"
    ),
    ["view", "--hot", "99"],
    ["view", "--hot", "99", "--json"],
    ["view", "--callers", "f0", "--csv"],
    ["view", "--drill", "f0", "--json"],
    ["view", "--drill", "f0", "--depth", "9", "--min-percent", "0"],
    ["view", "--callers", "f0"],
    ["view", "--callers", "called"],
    *(["export", "-o", "-", "-f", name] for name in EXPORTS),
]


def outputs(
    capfdbinary: pytest.CaptureFixture[bytes], file: str, *flags: str
) -> Iterator[tuple[list[str], bytes, str]]:
    """Yield the command line, output and messages of each view and export."""
    for command in COMMANDS:
        status = main([*command, *flags, file])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        assert status == 0, (command, err)
        yield command, out, err.decode()


def check_hidden(capfdbinary: pytest.CaptureFixture[bytes], file: str) -> str:
    """Fail if any view or export has SECRET; return the notes below the table."""
    said, shown = {}, {}
    for command, out, err in outputs(capfdbinary, file):
        assert SECRET.encode() not in out, command
        assert SECRET not in err, command
        said[" ".join(command)] = err
        shown[" ".join(command)] = out.decode("utf-8", "replace")
    stream = io.StringIO()
    load_stats(file).print(stream)
    assert SECRET not in stream.getvalue()
    assert SECRET not in LineStats.from_files(file, file)._repr_html_()
    for name in ("view --json", "export -o - -f csv", "export -o - -f sqlite"):
        assert "was not read" in said[name], name
    return shown["view"]


def test_a_local_file_that_is_not_python_is_not_shown(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(CODE)
    said = check_hidden(capfdbinary, saved(tmp_path, profile_of(str(secret))))
    assert said.splitlines()[-1] == (
        f"Note: {secret} was not read: its name is not that of Python source, and"
        " the profile has no text of it; --source-root FOLDER reads the files below"
        " FOLDER"
    )


@pytest.mark.parametrize("text", [f"the password: {SECRET}\n", f"{SECRET} = \0\n", "'"])
def test_a_local_file_that_does_not_parse_is_not_shown(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], text: str
) -> None:
    for name in ("a.py", "a.pyw"):
        (tmp_path / name).write_text(text + SECRET)
        said = check_hidden(
            capfdbinary, saved(tmp_path, profile_of(str(tmp_path / name)))
        )
        assert f"{tmp_path / name} was not read: " in said
        assert "is no Python" in said


def test_a_local_file_with_another_hash_is_not_shown(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "a.py"
    file.write_text(CODE)
    profile = profile_of(str(file), sha256="0" * 64)
    said = check_hidden(capfdbinary, saved(tmp_path, profile))
    assert f"{file} was not read: it has changed since it was profiled" in said


def test_a_local_file_with_the_hash_of_the_profile_is_shown(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "any name"
    file.write_text(CODE)
    sha256 = hashlib.sha256(CODE.encode()).hexdigest()
    name = saved(tmp_path, profile_of(str(file), sha256=sha256))
    said = {" ".join(c): (out, err) for c, out, err in outputs(capfdbinary, name)}
    for command in ("view", "view --json", "export -o - -f csv"):
        assert SECRET.encode() in said[command][0]
        assert "not read" not in said[command][1]


# Runs commands one after the other: all but the first one start faster.
IN_SEQUENCE = """
import json, sys
from lineprof.cli.main import main
statuses = [main(command) for command in json.loads(sys.argv[1])]
print("statuses:", statuses, file=sys.stderr)
"""


@pytest.mark.parametrize("how", ["files", "call_functions"])
def test_special_files_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    monkeypatch.setenv("TOKEN", SECRET)
    names = [str(tmp_path / "pipe.py"), "/proc/kmsg", "/proc/self/environ"]
    names += ["/sys/kernel/notes", "/dev/zero", "/dev/tty"]
    sha256 = hashlib.sha256(b"").hexdigest()
    if how == "files":
        files = [saved(tmp_path, profile_of(*names, sha256=sha256))]
    else:
        update = "UPDATE call_functions SET file = '{}'"
        profile = profile_of("/p/a.py")
        files = []
        for index, name in enumerate(names):
            changed(tmp_path, profile, update.format(name))
            files.append(f"{tmp_path}/{index}.lprof")
            (tmp_path / "changed.lprof").rename(files[-1])
    commands = [
        ["view", *flags, file]
        for file in files
        for flags in ([], ["--json"], ["--callers", "f0"], ["--tree"])
    ]
    done = run(["-c", IN_SEQUENCE, json.dumps(commands)], cwd=tmp_path)
    assert (done.status, done.err.count("statuses: ")) == (0, 1)
    assert done.err.endswith(f"statuses: {[0] * len(commands)}\n")
    assert done.out.count("Total time: ") == len(names)
    assert SECRET not in done.out + done.err


def test_an_old_profile_beside_its_scripts_shows_them(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["a.py", "b.pyw", "c.pyx", str(tmp_path / "d.py")]
    for name in names:
        Path(name).write_text(CODE, encoding="utf-8")
    Path("c.pyx").write_text(f"cdef int f():\n    {SECRET}\n", encoding="utf-8")
    assert main(["view", pickled(tmp_path, *names)]) == 0
    out, err = capsys.readouterr()
    assert out.count(SECRET) == len(names)
    assert "not read" not in err


def test_invalid_escapes_in_source_give_no_warning(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = CODE.replace("return", "x = '\\d'; return")
    (tmp_path / "a.py").write_text(text)
    subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "lineprof"),
            pickled(tmp_path, str(tmp_path / "a.py")),
        ],
        check=True,
    )
    out, err = capfd.readouterr()
    assert "def f()" in out
    assert err == ""


def test_the_source_root_has_the_files_of_a_moved_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "checkout"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "script").write_text(CODE)
    (root / "script").write_text("another\n")
    (tmp_path / "outside").write_text(CODE)
    (root / "link").symlink_to(tmp_path / "outside")
    old = ["/old/place/pkg/script", "/old/link", "/../../outside", "/old/no"]
    name = saved(tmp_path, profile_of(*old))
    flags = ["--source-root", str(root)]
    assert main(["view", "--json", *flags, name]) == 0
    out, err = capsys.readouterr()
    lines = [one["lines"][1]["source"] for one in json.loads(out)["functions"]]
    assert lines == [f"    return '{SECRET}'", None, None, None]
    assert "script was not read" not in err
    target = tmp_path / "out.csv"
    assert main(["export", "-f", "csv", "-o", str(target), *flags, name]) == 0
    assert target.read_text().count(SECRET) == 1
    capsys.readouterr()
    assert main(["view", "--source-root", str(tmp_path / "none"), name]) == 1
    assert "none' is no folder" in capsys.readouterr().err


def test_a_file_below_the_source_root_that_has_changed_is_shown_with_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.py"
    file.write_text(CODE)
    name = saved(tmp_path, profile_of(str(file), sha256="0" * 64))
    assert main(["view", "--source-root", str(tmp_path), name]) == 0
    out, err = capsys.readouterr()
    assert SECRET in out
    assert f"{file} has changed since it was profiled; the lines shown may" in out
    assert err == ""
