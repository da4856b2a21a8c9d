"""Functions that were compiled to machine code: their lines run without events.

Nothing here imports Numba or Cython; what they made is known by its type.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, FunctionType

from lineprof.kinds import is_cython_callable
from lineprof.targets import held_in
from lineprof.twins import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    Key = tuple[object, ...]

_NUMBA = "numba.core.dispatcher"
_NAMED = 30  # so many functions are named, the others counted


def compiled_in(target: object) -> Iterator[tuple[str, str]]:
    """Yield the compiler and the name of the compiled functions that `target` calls."""
    compiler = compiler_of(target)
    if compiler:
        yield compiler, _name(target)
    elif not isinstance(target, (FunctionType, type)):
        try:
            inside = held_in(target)
        except TypeError:  # no callable
            return
        for part in inside:
            yield from compiled_in(part)


def compiler_of(target: object) -> str:
    """Return what compiled a function, "" for one that runs as Python."""
    if is_cython_callable(target):
        return "Cython"
    kind = type(target)
    if kind.__name__ == "compiled_function":
        return "Nuitka"
    own = getattr(target, "__dict__", None)
    if isinstance(own, dict) and isinstance(own.get("py_func"), FunctionType):
        return "Numba" if _is_numbas(kind) else kind.__name__
    return "Numba" if _is_numbas(kind) and callable(target) else ""


def numba_in(identities: Collection[Key]) -> Iterator[tuple[str, str]]:
    """Yield the same for what Numba compiled of functions with these identities.

    Its decorator may stand above ours, or where we are shown no decorators.
    """
    dispatcher = getattr(sys.modules.get(_NUMBA), "Dispatcher", None)
    if not isinstance(dispatcher, type) or not identities:
        return
    import gc  # noqa: PLC0415  # seldom

    for found in gc.get_objects():
        # isinstance() would ask a proxy for what it stands for.
        if dispatcher in type(found).__mro__ and getattr(found, "overloads", None):
            code = getattr(getattr(found, "py_func", None), "__code__", None)
            if isinstance(code, CodeType) and identity(code) in identities:
                yield "Numba", _name(found)


def sentences(found: Collection[tuple[str, str]]) -> list[str]:
    """Return what to say of compiled functions, a sentence for each compiler."""
    names: dict[str, list[str]] = {}
    for compiler, name in found:
        names.setdefault(compiler, []).append(name)
    return [
        f"{compiler} compiled {_listed(some)}: lines that ran so were not seen"
        for compiler, some in names.items()
    ]


def _is_numbas(kind: type) -> bool:
    return str(kind.__module__).partition(".")[0] == "numba"


def _name(target: object) -> str:
    function = getattr(target, "py_func", target)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", "")
    code = getattr(function, "__code__", None) or getattr(
        getattr(function, "__wrapped__", None), "__code__", None
    )
    if not isinstance(code, CodeType):
        return str(name or type(target).__name__)
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def _listed(names: list[str]) -> str:
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return ", ".join(names)
