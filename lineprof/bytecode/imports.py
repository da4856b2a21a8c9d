"""Import statements in a program's code, read from its bytecode.

This module is imported only for profiling by name, because `dis` is slow to import.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = "*"  # the name in ``from module import *``


class Import(NamedTuple):
    """An import of a module, or of a name in it."""

    module: str
    name: str = ""  # ALL for ``from module import *``

    @property
    def dotted(self) -> str:
        """The full name of what is imported."""
        return f"{self.module}.{self.name}" if self.name else self.module


def imports_in(code: CodeType, package: str = "") -> Iterator[Import]:
    """Yield the import statements in `code` and in the functions in it.

    `package` is the one to which ``from . import x`` refers; without it, relative
    imports are left out.
    """
    before: list[object] = [0, None]
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            level, names = before[-2:]
            module = _absolute(step.argval, level, package)
            if module and isinstance(names, tuple):
                yield from (Import(module, name) for name in names)
            elif module:
                yield Import(module)
        if step.opname != "EXTENDED_ARG":
            before = [before[-1], step.argval]
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from imports_in(part, package)


def _absolute(name: str, level: object, package: str) -> str:
    """Return the full name of a module, "" if its package is unknown."""
    if not isinstance(level, int) or level == 0:
        return name
    parts = package.split(".") if package else []
    if level > len(parts):
        return ""
    parts = parts[: len(parts) - level + 1]
    return ".".join([*parts, name] if name else parts)
