"""Text of a profile and names of files: no control character reaches a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from as_python import kernprof_here
from hostile_files import (
    EVIL_NAME,
    check_no_controls,
    evil_file,
    full_profile,
    text_columns,
)

from lineprof.cli.main import main
from lineprof.console.output import python_command
from lineprof.export import EXPORTS
from lineprof.flags import BOOLEAN
from lineprof.report import VIEWS
from lineprof.report.line_table import EXTRA_COLUMNS
from lineprof.report.options import ALL_ORDERS
from lineprof.storage import save

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.flags import Flag
    from lineprof.report.options import View

# A value for each option that takes one; a new option needs one here.
VALUES = {
    "unit": "1e-9",
    "columns": ",".join(EXTRA_COLUMNS),
    "sort_by": "",
    "gpu_columns": "all",
    "top_kernels": "9",
    "kernel": "*e*",
    "uvm": "on",
    "limit": "100",
    "depth": "9",
    "min_percent": "0",
    "lines": "100",
    "targets": "*fit*",
}

# Patterns, as the names of the functions have grown.
TARGETS = ("*fit*", "*main*", "*len*", "*weights*")


def flags_of(option: Flag) -> list[str]:
    """Return an option as words of the command line."""
    if option.kind == BOOLEAN:
        return [option.long]
    return [option.long, VALUES[option.attribute]]


def command_lines(view: View) -> Iterator[list[str]]:
    """Yield the arguments of a view with each of its options, and with all."""
    choices: list[list[str]] = [[]]
    if view.name != "text":
        choices = [[f"--{view.name}"]]
    if view.value is not None and not view.is_file:
        values = {"targets": TARGETS, "by": ("rank", "process")}.get(
            view.value.attribute, ("100",)
        )
        choices = [[f"--{view.name}", value] for value in values]
    for choice in choices:
        yield choice
        for option in view.options:
            if option.attribute == "sort_by":
                yield from (
                    [*choice, "--sort-by", order]
                    for order in ALL_ORDERS
                    if order in view.orders
                )
            else:
                yield [*choice, *flags_of(option)]


def shown(
    capfdbinary: pytest.CaptureFixture[bytes], *arguments: str
) -> tuple[int, str, str]:
    """Run the command here, and return its status and its output."""
    status = main(arguments)
    sys.stdout.flush()
    out, err = capfdbinary.readouterr()
    return status, out.decode(), err.decode()


def test_the_file_has_rows_for_every_text(tmp_path: Path) -> None:
    import sqlite3  # noqa: PLC0415
    from contextlib import closing  # noqa: PLC0415

    file = tmp_path / "full.lprof"
    save(full_profile(), file)
    with closing(sqlite3.connect(file)) as db:
        for table, _ in text_columns():
            query = f"SELECT count(*) FROM {table.name}"  # noqa: S608
            assert db.execute(query).fetchone()[0] > 0


@pytest.mark.parametrize("names_of_columns", [False, True])
def test_no_view_prints_a_control_character(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], *, names_of_columns: bool
) -> None:
    file = str(evil_file(tmp_path, names_of_columns=names_of_columns))
    report = str(tmp_path / "report.txt")
    for view in VIEWS.values():
        lines = [*command_lines(view)]
        if names_of_columns and view.name not in {"gpu-trace", "api-trace"}:
            del lines[1:]  # only events have columns: options of the others read none
        for arguments in lines:
            status, out, err = shown(capfdbinary, *arguments, file)
            if {"--drill", "*len*"} <= {*arguments}:  # a C function
                assert (status, out) == (1, "")
            else:
                assert status == 0, (arguments, err)
                assert bool(out) is not view.is_file, arguments
            check_no_controls(out)
            check_no_controls(err)
            if "--json" in arguments:
                json.loads(out)
        assert shown(capfdbinary, *arguments, "--log-file", report, file)[0] == 0
        check_no_controls(Path(report).read_text(encoding="utf-8"))


@pytest.mark.parametrize("names_of_columns", [False, True])
def test_no_export_has_a_control_character(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], *, names_of_columns: bool
) -> None:
    file = str(evil_file(tmp_path, names_of_columns=names_of_columns))
    for export in EXPORTS.values():
        target = tmp_path / f"out{export.suffix}"
        status, out, err = shown(
            capfdbinary, "export", "-f", export.name, "-o", str(target), file
        )
        assert (status, out) == (0, ""), err
        check_no_controls(err)
        if not export.is_text:
            continue
        text = target.read_bytes().decode()
        check_no_controls(text)
        status, out, _ = shown(capfdbinary, "export", "-f", export.name, "-o-", file)
        assert out == text
        if "json" in export.suffix or export.name == "cpuprofile":
            json.loads(text)
        if export.name == "svg":
            ET.fromstring(text)  # noqa: S314  # made here
        if export.name == "collapsed":
            assert all(re.search(r" \d+$", line) for line in text.splitlines())


# Runs commands one after the other: all but the first one start faster. Their outputs
# and statuses are told apart by text that no view has.
IN_SEQUENCE = """
import json, sys
from lineprof.cli.main import main
for command in json.loads(sys.argv[1]):
    status = main(command)
    sys.stdout.flush()
    print(f"@end {status}@", end="", flush=True)
"""


@pytest.fixture(scope="module")
def on_terminal(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """Run every view on a terminal; return its status and its output."""
    file = evil_file(tmp_path_factory.mktemp("evil"), names_of_columns=False)
    commands = []
    for view in VIEWS.values():
        rich = ["--rich"] if "rich" in [one.attribute for one in view.options] else []
        arguments = next(iter(command_lines(view)))
        commands.append(["view", *arguments, *rich, str(file)])
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", IN_SEQUENCE, json.dumps(commands)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "PAGER": ""},
    ) as process:
        os.close(theirs)
        data = b""
        try:
            while more := os.read(ours, 65536):
                data += more
        except OSError:  # the other end is closed
            pass
        os.close(ours)
    assert process.returncode == 0
    found = re.findall(r"(.*?)@end (\w+)@", data.decode(), re.DOTALL)
    return dict(zip(VIEWS, found, strict=True))


@pytest.mark.parametrize("name", [*VIEWS])
def test_no_view_acts_on_a_terminal(
    on_terminal: dict[str, tuple[str, str]], name: str
) -> None:
    text, status = on_terminal[name]
    assert status == "0"
    assert text
    check_no_controls(text, terminal=True)


@pytest.mark.parametrize(
    "arguments",
    [
        "view {0}",
        "view folder{0}",
        "view other{0}",
        "view cut{0}",
        "view {0}.lprof",
        "view --drill {0} good.lprof",
        "view --callers {0} good.lprof",
        "view --drill {0}:1 good.lprof",
        "view --unit {0} good.lprof",
        "view --columns {0} good.lprof",
        "view --gpu-columns {0} good.lprof",
        "view --sort-by {0} good.lprof",
        "view --sort={0} good.lprof",
        "view --kernel {0} good.lprof",
        "view --limit {0} --functions good.lprof",
        "view --{0} good.lprof",
        "view -{0} good.lprof",
        "view --json={0} good.lprof",
        "view --config {0} good.lprof",
        "view --config cut{0} good.lprof",
        "view --log-file folder{0} good.lprof",
        "view --log-file no{0}/b good.lprof",
        "view --log-file %{0} good.lprof",
        "export -f {0} good.lprof",
        "export -f json -o folder{0} good.lprof",
        "export -f json -o out{0} good.lprof",
        "export -f json {0}",
        "export {0}",
        "{0}",
    ],
)
def test_no_error_of_the_command_prints_a_control_character(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    arguments: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    save(full_profile(), "good.lprof")
    Path(f"folder{EVIL_NAME}").mkdir()
    Path(f"other{EVIL_NAME}").write_bytes(b"nothing")
    Path(f"cut{EVIL_NAME}").write_bytes(Path("good.lprof").read_bytes()[:5000])
    Path(f"{EVIL_NAME}.py.lprof").write_bytes(b"nothing")
    words = [one.format(EVIL_NAME) for one in arguments.split(" ")]
    _, out, err = shown(capfdbinary, *words)
    check_no_controls(out)
    check_no_controls(err)
    assert err


def kernprof(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run kernprof in `folder`."""
    return subprocess.run(
        [sys.executable, "-m", "kernprof", *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
    )


def script(folder: Path, name: str) -> str:
    """Write a script of more functions than a user reads one by one."""
    functions = "".join(f"@profile\ndef f{i}():\n    pass\n" for i in range(8))
    calls = "".join(f"    f{i}()\n" for i in range(8))
    work = "    sum(range(100_000))\n"  # most of the time
    text = f"{functions}@profile\ndef run():\n{work}{calls}run()\n"
    (folder / name).write_text(text, encoding="utf-8")
    return name


@pytest.mark.parametrize("flags", [["-l"], ["-lv"], ["-lvv"], ["-b"]])
def test_no_message_of_kernprof_prints_a_control_character(
    tmp_path: Path, flags: list[str]
) -> None:
    name = script(tmp_path, f"{EVIL_NAME}.py")
    done = kernprof(tmp_path, *flags, name)
    assert done.returncode == 0
    for text in (done.stdout.decode(), done.stderr.decode()):
        check_no_controls(text)


def test_a_printed_command_can_be_pasted(tmp_path: Path) -> None:
    name = script(tmp_path, f"{EVIL_NAME}.py")
    file = tmp_path / name
    file.write_text(file.read_text().replace("@profile\n", ""))  # then all is profiled
    done = kernprof(tmp_path, "-l", name)
    lines = done.stdout.decode().splitlines()  # the first says where the profile is
    commands = [
        line[line.index(python_command()) :] for line in lines if " -m lineprof" in line
    ]
    assert len(commands) == 3  # the table, and two steps
    for command in commands:
        again = subprocess.run(
            ["/bin/bash", "-c", command], cwd=tmp_path, capture_output=True, check=False
        )
        assert (again.returncode, again.stderr.decode()) == (0, again.stderr.decode())
        assert b"run" in again.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        "-l {0}",
        "-l folder{0}",
        "-l -s {0} good.py",
        "-l -o no{0}/x good.py",
        "-l -o folder{0} good.py",
        "-l -o %{0} good.py",
        "-l -m {0}",
        "-l -p {0} good.py",
        "-l -u {0} good.py",
        "-l -i {0} good.py",
        "-l --config {0} good.py",
        "-l --{0} good.py",
        "-{0} good.py",
        "-l --core {0} good.py",
    ],
)
def test_no_error_of_kernprof_prints_a_control_character(
    tmp_path: Path, arguments: str
) -> None:
    script(tmp_path, "good.py")
    (tmp_path / f"folder{EVIL_NAME}").mkdir()
    words = [one.format(EVIL_NAME) for one in arguments.split(" ")]
    done = kernprof_here(*words, cwd=tmp_path)
    assert done.err or done.out
    check_no_controls(done.out)
    check_no_controls(done.err)


@pytest.mark.parametrize(
    "arguments", ["needs{0}.py", "-l raises.py", "-l -s raises.py good.py"]
)
def test_no_error_of_a_program_under_kernprof_prints_a_control_character(
    tmp_path: Path, arguments: str
) -> None:
    script(tmp_path, "good.py")
    script(tmp_path, f"needs{EVIL_NAME}.py")
    (tmp_path / "raises.py").write_text("raise ValueError('plain')\n")
    done = kernprof(tmp_path, *[one.format(EVIL_NAME) for one in arguments.split(" ")])
    assert done.returncode == 1
    for line in done.stderr.decode().splitlines():
        if line.startswith(("kernprof:", "lineprof:")):
            check_no_controls(line)
    if "needs" not in arguments:  # python itself shows the name in the traceback
        check_no_controls(done.stderr.decode())
    check_no_controls(done.stdout.decode())


def test_no_message_of_the_global_profiler_prints_a_control_character(
    tmp_path: Path,
) -> None:
    program = (
        "from lineprof import profile\n"
        f"profile.enable(output_prefix={EVIL_NAME!r})\n"
        "@profile\ndef f():\n    pass\nf()\n"
    )
    (tmp_path / "a.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "a.py"], cwd=tmp_path, capture_output=True, check=False
    )
    check_no_controls(done.stdout.decode())
    check_no_controls(done.stderr.decode())
    command = done.stdout.decode().splitlines()[-1]
    again = subprocess.run(
        ["/bin/bash", "-c", command], cwd=tmp_path, capture_output=True, check=False
    )
    assert b"Function: f" in again.stdout
