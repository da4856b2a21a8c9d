"""The twin of a function: the same but for the identity of its code object."""

from __future__ import annotations

import sys
from types import FunctionType
from weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

_TOOLS = 6  # that sys.monitoring has room for
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
        place = id(self)
        _all[place] = ref(self, lambda _: _all.pop(place, None))

    def find(self, code: CodeType) -> CodeType | None:
        """Return the copy of `code`, if there is one."""
        known = self._copies.get(id(code))
        return known[1] if known is not None and known[0]() is code else None

    def get(self, code: CodeType) -> CodeType:
        """Return the copy of `code`, made when it is first asked for."""
        known = self.find(code)
        if known is not None:
            return known
        place, copies, copy = id(code), self._copies, _copy(code)

        def forget(_: object) -> None:
            copies.pop(place, None)

        # At once: another thread may have made one by now.
        return copies.setdefault(place, (ref(code, forget), copy))[1]


def _copy(code: CodeType) -> CodeType:
    """Return a copy of `code` that other tools hear of as they do of `code`."""
    copy = code.replace()
    if sys.version_info >= (3, 12):
        monitoring = sys.monitoring
        for tool in range(_TOOLS):
            if monitoring.get_tool(tool) not in (None, "lineprof"):
                events = monitoring.get_local_events(tool, code)
                if events:
                    monitoring.set_local_events(tool, copy, events)
    return copy


_all: dict[int, ref[Twins]] = {}  # those of every profiler that lives


def copies_of(code: CodeType) -> Iterator[CodeType]:
    """Yield the copies that any profiler made of `code`, and copies of those."""
    for known in list(_all.values()):
        twins = known()
        copy = twins.find(code) if twins is not None else None
        if copy is not None:
            yield copy
            yield from copies_of(copy)


def original(func: FunctionType) -> FunctionType:
    """Return the function that `func` is a twin of, or a twin's twin; or `func`."""
    while True:
        inner = func.__dict__.get("__wrapped__")
        if (
            not isinstance(inner, FunctionType)
            or inner.__code__ is func.__code__  # two closures of one decorator
            or inner.__code__ != func.__code__
        ):
            return func
        func = inner


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
