"""A second real user: programs of that user, and folders that both users can reach.

Only root can be another user. The tests are skipped elsewhere, unless the variable
LINEPROF_TEST_OTHER_USER says that they must run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deadline import DEADLINE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

USER = 65534  # "nobody" on most systems; no account is needed
REQUIRED = "LINEPROF_TEST_OTHER_USER"
OWN_NAME, OTHER_NAME = f"lineprof-{os.getuid()}", f"lineprof-{USER}"
# The program has imported by then what it may not be able to read as that user.
_BECOME = f"""\
import array, json, linecache, os, socket, stat, sys, threading, time
import lineprof, kernprof.control, lineprof.recording.live_file, lineprof.line_stats
os.setgroups([])
os.setresgid({USER}, {USER}, {USER})
os.setresuid({USER}, {USER}, {USER})
"""


def skip_without_other_user() -> None:
    """Skip a test where this user cannot be another one; fail if it must run."""
    if sys.platform.startswith("linux") and os.geteuid() == 0:
        return
    if os.environ.get(REQUIRED):
        pytest.fail(f"{REQUIRED} is set, and this is not root on Linux")
    pytest.skip("only root can be a second user, and only Linux has /proc")


def become_other_user() -> None:
    """Give this process, a child of root's, the rights of the other user for good."""
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)


class OtherProgram:
    """A program of the other user that runs: it is killed at the end of ``with``."""

    def __init__(self, program: str, *argv: object, temporary: Path) -> None:
        """Start the program, and wait for its first line, ``ready``."""
        environment = {**os.environ, "TMPDIR": str(temporary)}
        environment.pop("LINEPROF_LIVE", None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _BECOME + program, *map(str, argv)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self.pid = self.process.pid
        line = self.process.stdout.readline()
        if line != "ready\n":
            self.__exit__()
            raise AssertionError(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=DEADLINE)

    def tell(self, line: str) -> str:
        """Write a line to it, and return the line that it answers."""
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")


def shared_folder() -> Iterator[Path]:
    """Yield a folder for temporary files of all users, as /tmp is."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # all users can enter it
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)
