"""Names of profiles: placeholders, and paths that cannot be written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from as_python import enter_removed_folder, kernprof_forked, write

from kernprof.output_file import Names, OutputFile
from kernprof.run_options import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def named(template: str) -> str:
    return Names(stem="stem", file_name="stem.py").expand(template)


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("plain", "plain"),
        ("", ""),
        ("%s", "stem"),
        ("%s.lprof", "stem.lprof"),
        ("a/%f.lprof", "a/stem.py.lprof"),
        ("%%", "%"),
        ("100%%s", "100%s"),
        ("%%%s%%", "%stem%"),
        pytest.param("%p", str(os.getpid()), id="%p-pid"),
        ("%h", os.uname().nodename),
        ("%q{ROOM}-%q{ROOM}", "%s %p-%s %p"),
        ("%q{}", "unnamed"),
    ],
)
def test_placeholders(
    template: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOM", "%s %p")  # placeholders in a value are not expanded
    monkeypatch.setattr(os, "environ", {**os.environ, "": "unnamed"})
    assert named(template) == name


def test_the_placeholder_of_the_start_time() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d{6}", named("%t"))


def test_the_start_time_is_local_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "XXX-14")  # 14 hours ahead of UTC
    time.tzset()
    try:
        before, name, after = time.time(), named("%t"), time.time()
    finally:
        monkeypatch.undo()
        time.tzset()
    shift = timezone(timedelta(hours=14))
    times = [datetime.fromtimestamp(int(one), shift) for one in (before, after)]
    first, last = (f"{one:%Y-%m-%dT%H%M%S}" for one in times)
    assert first <= name <= last


@pytest.mark.parametrize("template", ["%x", "%", "%s%", "%S", "%q", "%q{A", "%q[A]"])
def test_unknown_placeholders(template: str) -> None:
    with pytest.raises(UsageError, match=r"unknown placeholder '%.?' in the output"):
        named(template)


def test_a_variable_that_is_not_set() -> None:
    with pytest.raises(UsageError, match=r"variable 'NO_SUCH' in .* is not set"):
        named("%q{NO_SUCH}")


def test_a_path_is_made_absolute_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deeper").mkdir()
    out = OutputFile("x.lprof")
    assert (out.path, out.shown) == (str(tmp_path / "x.lprof"), "x.lprof")
    monkeypatch.chdir(tmp_path / "deeper")
    assert (out.path, out.shown) == (str(tmp_path / "x.lprof"),) * 2


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    assert OutputFile(str(tmp_path / "link")).path == str(tmp_path / "target")


def test_paths_where_no_file_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    for name, problem in {
        "": "the name is empty",
        f"{tmp_path}": "it is a folder",
        f"{tmp_path}/new/": "it is a folder",
        f"{tmp_path}/no/x": "there is no folder",
        f"{tmp_path}/file/x": "there is no folder",
        f"{tmp_path}/pipe": "it is no regular file",
        "/dev/zero": "it is no regular file",
        f"{tmp_path}/{'x' * 300}": "File name too long",
    }.items():
        with pytest.raises(UsageError, match=problem):
            OutputFile(name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_paths_without_permission_to_write(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("")
    (tmp_path / "precious").chmod(0o444)
    with pytest.raises(UsageError, match="write-protected"):
        OutputFile(str(tmp_path / "precious"))
    (tmp_path / "barred").mkdir(mode=0o555)
    with pytest.raises(UsageError, match="is not writable"):
        OutputFile(str(tmp_path / "barred" / "x"))


def test_a_current_folder_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_removed_folder(tmp_path, monkeypatch)
    with pytest.raises(UsageError, match="the current folder was removed"):
        OutputFile("x.lprof")
    absolute = OutputFile(str(tmp_path / "x.lprof"))
    assert absolute.shown == absolute.path
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("mode", ["-l", "-b"])
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("-o /dev/stdout x.py | cat", "it is no regular file"),
        ("-o /dev/fd/3 x.py 3>&1 | cat", "it is no regular file"),
        ("-o /dev/stdout x.py > output", "the program's output goes there"),
        ("-o output x.py > output", "the program's output goes there"),
    ],
)
def test_standard_streams_are_refused_before_the_program_runs(
    tmp_path: Path, mode: str, arguments: str, why: str
) -> None:
    (tmp_path / "x.py").write_text("open('ran', 'w')\n")
    shell = f"set -o pipefail; '{sys.executable}' -m kernprof {mode} {arguments}"
    done = subprocess.run(
        ["/bin/bash", "-c", shell], cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert why.encode() in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "ran").exists()


def test_the_program_is_not_replaced_by_its_profile(tmp_path: Path) -> None:
    write(tmp_path, "s.py", "print(1)")
    (tmp_path / "link.lprof").symlink_to("s.py")
    for name in ("s.py", "link.lprof"):
        outcome = kernprof_forked("-l", "-o", name, "s.py", cwd=tmp_path)
        assert (outcome.status, outcome.out) == (2, "")
        assert "it is the program; name another file with -o" in outcome.err
    assert (tmp_path / "s.py").read_text().strip() == "print(1)"
