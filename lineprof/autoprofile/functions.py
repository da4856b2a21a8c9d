"""The functions that a program's code defines, nested ones and methods included."""

from __future__ import annotations

import sys
from types import CodeType

TYPE_CHECKING = False
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
