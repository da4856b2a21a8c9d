"""What a program imports by itself, read out of its bytecode."""

from __future__ import annotations

import dis
from types import CodeType
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = "*"


class Import(NamedTuple):
    """One thing that is imported: a module, or a name of it."""

    module: str
    name: str = ""  # ALL for ``from module import *``

    @property
    def dotted(self) -> str:
        """What is imported, as users name it."""
        return f"{self.module}.{self.name}" if self.name else self.module


def imports_in(code: CodeType, package: str = "") -> Iterator[Import]:
    """Yield what `code` and the functions in it import, as far as it is written.

    `package` is the one that ``from . import x`` is about; without one, such an
    import is left out.
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
    """Return the full name of a module, "" where it has none."""
    if not isinstance(level, int) or level == 0:
        return name
    parts = package.split(".") if package else []
    if level > len(parts):
        return ""
    parts = parts[: len(parts) - level + 1]
    return ".".join([*parts, name] if name else parts)
