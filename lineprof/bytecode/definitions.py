"""Functions that a program's code defines, nested ones and methods included."""

from __future__ import annotations

import sys
from types import CodeType
from typing import TYPE_CHECKING

from lineprof.bytecode.code_flags import OPTIMIZED

if TYPE_CHECKING:
    from collections.abc import Iterator

# Versions in which the code of a type alias resembles that of a function.
_ALIASES = (3, 12) <= sys.version_info < (3, 14)
_MAKING = ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "EXTENDED_ARG")
_NO_FUNCTION = ("BUILD_TUPLE", "CALL_INTRINSIC_2")
_ANNOTATIONS = ("__annotate__", ("format",))  # name and first parameter, in 3.14


def functions_in(code: CodeType, prefix: str = "") -> Iterator[tuple[str, CodeType]]:
    """Yield the name and the code of every ``def`` in `code`, in source order.

    The name is the qualified one, after `prefix`. Lambdas, comprehensions and class
    bodies are left out.
    """
    nested = [part for part in code.co_consts if isinstance(part, CodeType)]
    nested.sort(key=lambda part: part.co_firstlineno)
    for part in nested:
        name = prefix + part.co_name
        if part.co_name.startswith("<generic"):  # the scope of type parameters
            yield from functions_in(part, prefix)
        elif not part.co_flags & OPTIMIZED:
            yield from functions_in(part, f"{name}.")
        elif is_def(part) and not (_ALIASES and _is_alias(part, code)):
            yield name, part
            yield from functions_in(part, f"{name}.<locals>.")


def is_def(code: CodeType) -> bool:
    """Return whether `code` is that of a ``def``, or of a type alias.

    Lambdas are none, nor are the functions that Python 3.14 makes of annotations.
    """
    first = code.co_varnames[:1]
    is_annotation = first == (".format",) or (code.co_name, first) == _ANNOTATIONS
    is_named = not (is_annotation or code.co_name.startswith("<"))
    return is_named and bool(code.co_flags & OPTIMIZED)


def _is_alias(code: CodeType, parent: CodeType) -> bool:
    """Return whether `code` evaluates a type alias, or a type parameter's bound."""
    if code.co_argcount or code.co_name not in parent.co_consts:
        return False
    import dis  # noqa: PLC0415  # slow, and seldom needed

    steps = iter(dis.get_instructions(parent))
    for step in steps:
        if step.argval is code:
            break
    after = next((step for step in steps if step.opname not in _MAKING), None)
    return after is not None and after.opname in _NO_FUNCTION
