"""Modes of the files that are written: who may read a profile, export or report."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked, run, write
from deadline import DEADLINE

from lineprof.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STRANGER, GROUP = 64321, 64322

PROGRAM = """
import builtins
decorate = getattr(builtins, "profile", lambda f: f)
@decorate
def f():
    return 1
f()
"""
GLOBAL = """
from lineprof import profile
@profile
def f():
    return 1
f()
"""


def line_profile(folder: Path) -> None:
    assert kernprof_forked("-lq", "-o", "out", "x.py", cwd=folder).status == 0


def line_profile_so_far(folder: Path) -> None:
    more = """
import os, time
while open("out", "rb").read() == b"old":
    time.sleep(0.01)
os._exit(0)
"""
    write(folder, "y.py", PROGRAM + more)
    assert kernprof_forked("-lqi1", "-o", "out", "y.py", cwd=folder).status == 0


def call_profile(folder: Path) -> None:
    assert kernprof_forked("-q", "-o", "out", "x.py", cwd=folder).status == 0


def of_lineprof(*words: str) -> Callable[[Path], None]:
    def write_it(folder: Path) -> None:
        kernprof_forked("-lq", "x.py", cwd=folder)
        outcome = run(["-m", "lineprof", *words], cwd=folder)
        assert outcome.status == 0, outcome

    return write_it


def global_profile(end: str) -> Callable[[Path], None]:
    def write_it(folder: Path) -> None:
        (folder / "out").rename(folder / f"out{end}")
        more = "profile.output_prefix = 'out'\n"
        write(folder, "z.py", GLOBAL + more)
        outcome = run(["z.py"], cwd=folder, env={"LINE_PROFILE": "1"})
        assert (outcome.status, outcome.err) == (0, "")
        (folder / f"out{end}").rename(folder / "out")

    return write_it


WRITERS = {
    "line profile": line_profile,
    "line profile so far": line_profile_so_far,
    "call profile": call_profile,
    "report": of_lineprof("view", "--log-file", "out", "x.lprof"),
    "export": of_lineprof("export", "-f", "csv", "-o", "out", "x.lprof"),
    "sqlite": of_lineprof("export", "-f", "sqlite", "-o", "out", "x.lprof"),
    "global profile": global_profile(".lprof"),
    "global text": global_profile(".txt"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with a program."""
    write(tmp_path, "x.py", PROGRAM)
    return tmp_path


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_is_replaced_keeps_its_mode(folder: Path, name: str) -> None:
    (folder / "out").write_text("old")
    (folder / "out").chmod(0o600)
    WRITERS[name](folder)
    assert (folder / "out").read_bytes() != b"old"
    assert mode_of(folder / "out") == 0o600
    left = [file.name for file in folder.iterdir() if file.name.startswith(".")]
    assert not left


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
@pytest.mark.parametrize("mode", [None, 0o600, 0o640, 0o664, 0o666])
def test_only_a_new_file_follows_the_umask(
    folder: Path, umask: int, mode: int | None
) -> None:
    if mode is not None:
        (folder / "out").write_text("")
        (folder / "out").chmod(mode)
    modes = []

    def fill(handle: int, _: str) -> None:
        modes.append(stat.S_IMODE(os.fstat(handle).st_mode))
        os.write(handle, b"new")

    before = os.umask(umask)
    try:
        write_atomically(str(folder / "out"), fill)
    finally:
        os.umask(before)
    truth = 0o666 & ~umask if mode is None else mode
    assert mode_of(folder / "out") == truth
    assert modes == [truth if mode is None else 0o600]


def test_the_target_of_a_link_keeps_its_mode(folder: Path) -> None:
    (folder / "target").write_text("old")
    (folder / "target").chmod(0o640)
    (folder / "out").symlink_to("target")
    line_profile(folder)
    assert (folder / "out").is_symlink()
    assert mode_of(folder / "target") == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may keep another owner")
def test_a_file_that_root_replaces_keeps_its_owner_and_group(folder: Path) -> None:
    (folder / "out").write_text("old")
    (folder / "out").chmod(0o640)
    os.chown(folder / "out", STRANGER, GROUP)
    line_profile(folder)
    status = (folder / "out").stat()
    assert (status.st_uid, status.st_gid) == (STRANGER, GROUP)
    assert mode_of(folder / "out") == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(
    ("mode", "truth"), [(0o664, 0o644), (0o660, 0o600), (0o676, 0o666)]
)
def test_a_group_that_cannot_be_kept_gives_no_rights_to_another(
    folder: Path, mode: int, truth: int
) -> None:
    (folder / "out").write_text("old")
    os.chown(folder / "out", STRANGER, GROUP)
    (folder / "out").chmod(mode)
    folder.chmod(0o777)
    program = """
import os, sys
from lineprof.files import write_atomically
os.chdir(sys.argv[1])
os.setgroups([])
os.setgid(12345)
os.setuid(12345)
write_atomically("out", lambda handle, _: os.write(handle, b"new"))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], timeout=DEADLINE, check=False
    )
    assert done.returncode == 0
    status = (folder / "out").stat()
    assert (status.st_uid, status.st_gid) == (12345, 12345)
    assert stat.S_IMODE(status.st_mode) == truth
