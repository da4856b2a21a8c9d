"""Programs that run under kernprof while a test looks at them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deadline import DEADLINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def wait_until(done: Callable[[], object], what: str) -> None:
    """Wait until `done` returns true; fail if it never does."""
    end = time.monotonic() + DEADLINE
    while not done():
        if time.monotonic() > end:
            message = f"in vain: {what}"
            raise AssertionError(message)
        time.sleep(0.02)


@contextmanager
def live_program(
    folder: Path, text: str, *flags: str, name: str = "program.py"
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program under kernprof until the end of the block.

    The block begins when the program has made the file `ready` in its folder.
    """
    (folder / name).write_text(text, encoding="utf-8")
    ready = folder / "ready"
    ready.unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "kernprof", "-lq", *flags, name],
        cwd=folder,
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        wait_until(ready.exists, f"{name} gets ready")
        yield process
    finally:
        process.kill()
        process.communicate()
        for file in _live_files_of(process):  # each later view would read them
            file.unlink(missing_ok=True)


def live_file_of(process: subprocess.Popen[bytes]) -> str:
    """Return the live file of a program."""
    [file] = _live_files_of(process)
    return str(file)


def _live_files_of(process: subprocess.Popen[bytes]) -> list[Path]:
    return [*Path(os.environ["LINEPROF_LIVE"]).glob(f"{process.pid}-*.live")]
