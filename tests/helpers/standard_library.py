"""Files of the interpreter's standard library, as input of tests.

Distributions ship other files, and often no tests: whether a file is chosen depends on
its own name alone, and a test takes as many of the files as it needs.
"""

from __future__ import annotations

import sysconfig
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARY = Path(sysconfig.get_path("stdlib"))


def files_of_library(first: str = "") -> Iterator[Path]:
    """Yield all files in an order that is the same everywhere, but for missing ones.

    Tests of CPython with the names in `first`, as "grammar patma", come before others.
    """
    names = {f"test_{name}.py" for name in first.split()}

    def place(file: Path) -> tuple[bool, int]:
        inside = file.relative_to(LIBRARY).as_posix()
        return file.name not in names, zlib.crc32(inside.encode())

    installed = {"site-packages", "dist-packages"}
    yield from sorted(
        (file for file in LIBRARY.rglob("*.py") if not installed & {*file.parts}),
        key=place,
    )
