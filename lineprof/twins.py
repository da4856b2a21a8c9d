"""The twin of a function: the same but for the identity of its code object."""

from __future__ import annotations

import sys
from _weakref import ref  # all that we need of weakref, in a tenth of its time
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

_QUALIFIED = sys.version_info >= (3, 11)  # code objects know their full name


def identity(code: CodeType) -> tuple[object, ...]:
    """Return what a code object shares with one compiled anew from its source.

    It begins with what names the function in a profile: file, line, name.
    """
    name: str = code.co_qualname if _QUALIFIED else code.co_name  # type: ignore[attr-defined]
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    return (code.co_filename, code.co_firstlineno, name, code.co_code, table)


class Twins:
    """A copy of each code object, for as long as the original lives.

    The functions that one ``def`` makes anew share their code, and so their
    twins share the copy.
    """

    def __init__(self) -> None:
        """Start with none."""
        # By identity: equal code objects may stand for different functions.
        self._copies: dict[int, tuple[ref[CodeType], CodeType]] = {}

    def get(self, code: CodeType) -> CodeType:
        """Return the copy of `code`, made when it is first asked for."""
        place = id(code)
        known = self._copies.get(place)
        if known is not None and known[0]() is code:
            return known[1]
        copies, copy = self._copies, code.replace()

        def forget(_: object) -> None:
            copies.pop(place, None)

        copies[place] = (ref(code, forget), copy)
        return copy


def twin_function(func: FunctionType, code: CodeType) -> FunctionType:
    """Return a function like `func` that runs `code`, with ``__wrapped__``."""
    twin = FunctionType(
        code, func.__globals__, func.__name__, func.__defaults__, func.__closure__
    )
    twin.__kwdefaults__ = func.__kwdefaults__
    twin.__qualname__ = func.__qualname__
    twin.__module__ = func.__module__
    twin.__doc__ = func.__doc__
    if sys.version_info >= (3, 14):
        twin.__annotate__ = func.__annotate__  # not evaluated before its time
    else:
        twin.__annotations__ = func.__annotations__
    if sys.version_info >= (3, 12):
        twin.__type_params__ = func.__type_params__
    twin.__dict__.update(func.__dict__)
    twin.__dict__["__wrapped__"] = func
    return twin
