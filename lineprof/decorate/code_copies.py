"""Copies of code objects: a decorated function runs a copy, known to the core.

Packages that send functions to other processes (cloudpickle, dill) make copies of them,
too: code objects from the parts of another one. So the copy of a decorated function has
a mark, one constant more, by which the core knows each copy of the copy, in whatever
process: it is decorated, and the mark has its file.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from _weakref import ref  # `weakref` itself takes 0.7 ms
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

_TOOL_IDS = 6  # of sys.monitoring
MARK = "@profile of "  # begins the mark; the name of the file follows


def identity(code: CodeType) -> tuple[object, ...]:
    """Return a key that is equal for code objects compiled from the same source.

    Its first three items name the function in a profile: file, line, name.
    """
    return (
        code.co_filename,
        code.co_firstlineno,
        code.co_qualname,
        code.co_code,
        code.co_linetable,
    )


def mark_of(code: CodeType) -> str:
    """Return the file in the mark of a decorated function's code; "" without a mark."""
    last = code.co_consts[-1] if code.co_consts else None
    if isinstance(last, str) and last.startswith(MARK):
        return last[len(MARK) :]
    return ""


def unmarked(code: CodeType, file: str) -> CodeType:
    """Return `code` without a mark, as it is in `file`."""
    constants = code.co_consts[:-1] if mark_of(code) else code.co_consts
    with OwnCopying():
        return code.replace(co_filename=file, co_consts=constants)


_copying: set[int] = set()  # threads


class OwnCopying:
    """A ``with`` block in which this thread makes code objects that never run."""

    def __enter__(self) -> None:
        """Begin."""
        self._is_outer = not is_own_copying()
        _copying.add(get_ident())

    def __exit__(self, *_exception: object) -> None:
        """End."""
        if self._is_outer:
            _copying.discard(get_ident())


def is_own_copying() -> bool:
    """Return whether this thread is in a block of `OwnCopying`."""
    return get_ident() in _copying


class CodeCopies:
    """One profiler's copies of code objects, each kept while its original lives.

    Functions that the same ``def`` creates share their code object, and so their
    decorated functions share the copy.
    """

    def __init__(self) -> None:
        """Start without copies."""
        # By `id`: equal code objects may belong to different functions.
        self._copies: dict[int, tuple[ref[CodeType], CodeType]] = {}
        place = id(self)
        _all[place] = ref(self, lambda _: _all.pop(place, None))

    def find(self, code: CodeType) -> CodeType | None:
        """Return the copy of `code`, if there is one."""
        known = self._copies.get(id(code))
        return known[1] if known is not None and known[0]() is code else None

    def get(self, code: CodeType) -> CodeType:
        """Return the copy of `code`, created at the first call."""
        known = self.find(code)
        if known is not None:
            return known
        place, copies, copy = id(code), self._copies, _copy(code)

        def forget(_: object) -> None:
            copies.pop(place, None)

        # Atomic: another thread may have created a copy in between.
        return copies.setdefault(place, (ref(code, forget), copy))[1]


def _copy(code: CodeType) -> CodeType:
    """Return a marked copy of `code`, with the local events of other tools."""
    constants = code.co_consts
    if not mark_of(code):  # the first constant may be a docstring
        constants = (*(constants or (None,)), MARK + code.co_filename)
    with OwnCopying():
        copy = code.replace(co_consts=constants)
    if sys.version_info >= (3, 12):
        monitoring = sys.monitoring
        for tool in range(_TOOL_IDS):
            if monitoring.get_tool(tool) not in (None, "lineprof"):
                events = monitoring.get_local_events(tool, code)
                if events:
                    monitoring.set_local_events(tool, copy, events)
    return copy


_all: dict[int, ref[CodeCopies]] = {}  # those of all live profilers, by id


def copies_of(code: CodeType) -> Iterator[CodeType]:
    """Yield the copies that any profiler made of `code`, and copies of copies."""
    for known in list(_all.values()):
        copies = known()
        copy = copies.find(code) if copies is not None else None
        if copy is not None:
            yield copy
            yield from copies_of(copy)


def original(func: FunctionType) -> FunctionType:
    """Return the function that `func` is a copy of, if it is one, else `func`.

    For a copy of a copy, that is the innermost original.
    """
    while True:
        inner = func.__dict__.get("__wrapped__")
        if (
            not isinstance(inner, FunctionType)
            or inner.__code__ is func.__code__  # two closures of one decorator
            or not mark_of(func.__code__)
            or identity(inner.__code__) != identity(func.__code__)
        ):
            return func
        func = inner


def copy_function(func: FunctionType, code: CodeType) -> FunctionType:
    """Return a copy of `func` that runs `code`; its ``__wrapped__`` is `func`."""
    made = FunctionType(
        code, func.__globals__, func.__name__, func.__defaults__, func.__closure__
    )
    made.__kwdefaults__ = func.__kwdefaults__
    made.__qualname__ = func.__qualname__
    made.__module__ = func.__module__
    made.__doc__ = func.__doc__
    if sys.version_info >= (3, 14):
        made.__annotate__ = func.__annotate__  # not evaluated yet
    else:
        made.__annotations__ = func.__annotations__
    if sys.version_info >= (3, 12):
        made.__type_params__ = func.__type_params__
    made.__dict__.update(func.__dict__)
    made.__dict__["__wrapped__"] = func
    return made
