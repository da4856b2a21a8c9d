"""Compiles the doubles in C, `doubles/*/*.c`, once for a run of the tests.

Doubles in the folder that the environment variable LINEPROF_DOUBLES names, as under
`make test`, are used as they are.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCES = Path(__file__).parents[1] / "doubles"
OPTIONS = ("-std=c11", "-D_GNU_SOURCE=1", "-shared", "-fPIC")


def compiler() -> list[str]:
    """Return the command of a C compiler: $CC, that of Python's build, or any."""
    wanted = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    for command in (wanted.split(), ["cc"], ["gcc"], ["clang"]):
        if shutil.which(command[0]):
            return command
    import pytest  # noqa: PLC0415 - scripts that use a double may have none

    raise pytest.skip.Exception("no C compiler for the doubles")


def ready(*names: str) -> Path | None:
    """Return the folder that LINEPROF_DOUBLES names if it has these libraries."""
    folder = Path(os.environ.get("LINEPROF_DOUBLES") or os.devnull)
    there = all((folder / f"{name}.so").is_file() for name in names)
    return folder.resolve() if there else None


def compiled(
    folder: Path, name: str, sources: Sequence[str], options: Sequence[str] = OPTIONS
) -> Path:
    """Return a library in a folder that all processes of a run share."""
    library = folder / f"{name}.so"
    with (folder / "doubles.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            unfinished = library.with_suffix(".part")
            files = [str(SOURCES / source) for source in sources]
            words = [*options, f"-I{SOURCES}", "-o", str(unfinished), *files, "-ldl"]
            subprocess.run([*compiler(), *words], check=True)
            unfinished.rename(library)
    return library


def double(folder: Path, source: str) -> Path:
    """Return the double that is compiled from one file, such as "python/clock.c"."""
    name = Path(source).stem
    found = ready(name)
    return found / f"{name}.so" if found else compiled(folder, name, [source])
