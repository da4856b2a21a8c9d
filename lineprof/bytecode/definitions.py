"""The functions that a program's code defines, nested ones and methods included."""

from __future__ import annotations

import dis
import sys
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_FUNCTION = 0x1  # inspect.CO_OPTIMIZED: what a class's body or a module is not
# Before 3.14 the code of a type alias looks like that of a function.
_ALIASES = (3, 12) <= sys.version_info < (3, 14)
_MAKING = ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "EXTENDED_ARG")
_NO_FUNCTION = ("BUILD_TUPLE", "CALL_INTRINSIC_2")


def functions_in(code: CodeType, prefix: str = "") -> Iterator[tuple[str, CodeType]]:
    """Yield name and code of every ``def`` in `code`, as they stand in the source.

    The name is the qualified one, after `prefix`. Lambdas, comprehensions and
    the bodies of classes are no functions.
    """
    nested = [part for part in code.co_consts if isinstance(part, CodeType)]
    nested.sort(key=lambda part: part.co_firstlineno)
    for part in nested:
        name = prefix + part.co_name
        if part.co_name.startswith("<generic"):  # around what has type parameters
            yield from functions_in(part, prefix)
        elif not part.co_flags & _FUNCTION:
            yield from functions_in(part, f"{name}.")
        elif _is_function(part) and not (_ALIASES and _is_alias(part, code)):
            yield name, part
            yield from functions_in(part, f"{name}.<locals>.")


def _is_function(code: CodeType) -> bool:
    """Tell a function from a lambda, and from what 3.14 evaluates late."""
    first = code.co_varnames[:1]
    late = first == (".format",) or (code.co_name, first) == _ANNOTATIONS
    return not (late or code.co_name.startswith("<"))


_ANNOTATIONS = ("__annotate__", ("format",))


def _is_alias(code: CodeType, parent: CodeType) -> bool:
    """Tell whether `code` evaluates a type alias, or a type parameter's bound."""
    if code.co_argcount or code.co_name not in parent.co_consts:
        return False
    import dis  # noqa: PLC0415  # seldom needed

    steps = iter(dis.get_instructions(parent))
    for step in steps:
        if step.argval is code:
            break
    after = next((step for step in steps if step.opname not in _MAKING), None)
    return after is not None and after.opname in _NO_FUNCTION


# What a program imports by itself, read out of its bytecode.


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
