"""cProfile as a decorator and a context manager, and its profile for `pstats`.

The calls of kernprof's own functions are left out of the profile.
"""

from __future__ import annotations

import _thread
import cProfile
import os
import sys
from typing import TYPE_CHECKING

from lineprof.decorate.wrappers import ByCountProfilerMixin, wrapped
from lineprof.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType
    from typing import Any, Protocol, TextIO, TypeVar

    Code = CodeType | str  # a string for a C function
    Label = tuple[str, int, str]
    Numbers = tuple[float, float, float, float]  # calls, of these recursive; s, s
    Callers = dict[Label, tuple[int, int, float, float]]
    Stats = dict[Label, tuple[int, int, float, float, Callers]]

    class Sub(Protocol):
        """The calls of one function by another."""

        code: Code
        callcount: int
        reccallcount: int
        inlinetime: float  # s, without callees
        totaltime: float  # s, with callees

    class Entry(Sub, Protocol):
        """The calls of one function."""

        calls: list[Sub] | None

    F = TypeVar("F", bound=Callable[..., object])


_BY_THREAD = sys.version_info < (3, 12)  # later cProfile records all threads


class ContextualProfile(ByCountProfilerMixin, cProfile.Profile):  # type: ignore[misc]
    """A cProfile that records while it has at least one user.

    Users are calls of the functions that it decorates, ``with`` blocks, and calls of
    `enable_by_count`. Before Python 3.12 cProfile records one thread, that of the
    first user; users on other threads change nothing meanwhile.
    """

    stats: Stats  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Take the arguments of cProfile.Profile; nothing is recorded yet."""
        super().__init__(*args, **kwargs)
        self.enable_count = 0
        self._thread = 0
        self._by_hand = False

    def enable(self, subcalls: bool = True, builtins: bool = True) -> None:  # noqa: FBT001, FBT002
        """Turn it on until `disable`, even without users.

        Raises ValueError if another profiler is on (from Python 3.12 on).
        """
        if not (self._by_hand or self.enable_count):
            super().enable(subcalls=subcalls, builtins=builtins)
        self._by_hand = True

    def disable(self) -> None:
        """Turn it off."""
        self._by_hand = False
        super().disable()

    def enable_by_count(self, subcalls: bool = True, builtins: bool = True) -> None:  # noqa: FBT001, FBT002
        """Add a user, and turn it on if it is off.

        Raises ValueError if another profiler is on (from Python 3.12 on).
        """
        if not self.enable_count:
            self._thread = _thread.get_ident()
            if not self._by_hand:
                super().enable(subcalls=subcalls, builtins=builtins)
        elif _BY_THREAD and self._thread != _thread.get_ident():
            return
        self.enable_count += 1

    def disable_by_count(self) -> None:
        """Remove a user, and turn it off if that was the last one."""
        if not self.enable_count:
            return
        if _BY_THREAD and self._thread != _thread.get_ident():
            return
        self.enable_count -= 1
        if not (self.enable_count or self._by_hand):
            super().disable()

    def end(self) -> None:
        """Turn it off; the functions that it decorates run without it from now on.

        They may run when the interpreter shuts down, and cannot turn it on then.
        """
        if self.enable_count:
            self.enable_count = 0
            self.disable()
        vars(self).update(enable_by_count=_nothing, disable_by_count=_nothing)

    def snapshot_stats(self) -> None:
        """Set `stats`, without kernprof's own functions."""
        self.stats = stats_of(self.getstats())  # type: ignore[arg-type]

    def __call__(self, func: F) -> F:
        """Return `func` wrapped, so that its calls are recorded."""
        return self.wrap_callable(func)  # type: ignore[no-any-return]


def _nothing(*_arguments: object) -> None:
    return


def print_calls(profile: ContextualProfile, stream: TextIO) -> None:
    """Print the table of `profile.stats` to `stream`."""
    import pstats  # noqa: PLC0415  # slow: at the end, if at all

    recorded = [profile] if profile.stats else []  # pstats refuses an empty one
    stats = pstats.Stats(*recorded, stream=stream)
    table: Any = stats.strip_dirs()
    table.stats = {
        (printable(file), line, printable(name)): numbers
        for (file, line, name), numbers in table.stats.items()
    }
    table.sort_stats(-1).print_stats()


# From cProfile's entries to the table that `pstats` reads.


_HERE = os.path.dirname(__file__)
_WRAPPERS = wrapped.__code__.co_filename


def stats_of(entries: Iterable[Entry]) -> Stats:
    """Return the entries of `Profile.getstats` as the table that `pstats` reads.

    kernprof's wrappers are not in it: their callers are the callers of the functions
    that they call. The times of a wrapper with several callers are divided among them
    by the number of their calls. Code objects with the same file, line and name are
    added up.
    """
    graph = _Graph(entries)
    stats: Stats = {}
    for entry in graph.entries:
        if not graph.is_ours(entry.code):
            numbers = graph.without_ours(entry)
            if numbers[0]:
                _add(stats, _label(entry.code), numbers)
    for (caller, called), numbers in graph.edges():
        label = _label(called)
        if label in stats:
            callers = stats[label][4]
            calls, inner, own, total = _counted(numbers)
            before = callers.get(_label(caller), (0, 0, 0.0, 0.0))
            callers[_label(caller)] = (
                before[0] + calls,
                before[1] + calls - inner,
                before[2] + own,
                before[3] + total,
            )
    return stats


def _add(stats: Stats, label: Label, numbers: Numbers) -> None:
    calls, inner, own, total = _counted(numbers)
    before = stats.get(label, (0, 0, 0.0, 0.0, {}))
    stats[label] = (
        before[0] + calls - inner,
        before[1] + calls,
        before[2] + own,
        before[3] + total,
        before[4],
    )


class _Graph:
    """Call graph of code objects: the wrappers of one kind share one."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = list(entries)
        self._codes = {id(entry.code): entry.code for entry in self.entries}
        self._calls: dict[int, dict[int, Numbers]] = {}  # called to callers
        for entry in self.entries:
            for sub in entry.calls or ():
                callers = self._calls.setdefault(id(sub.code), {})
                callers[id(entry.code)] = _numbers(sub)
        self._ours = {id(e.code) for e in self.entries if _in_kernprof(e.code)}
        self._ours |= {id(e.code) for e in self.entries if self._only_for_us(e)}

    def is_ours(self, code: Code) -> bool:
        """Return whether a function is kernprof's, or a C function only it calls."""
        return id(code) in self._ours

    def _only_for_us(self, entry: Entry) -> bool:
        callers = self._calls.get(id(entry.code), {})
        ours = sum(part[0] for place, part in callers.items() if place in self._ours)
        return isinstance(entry.code, str) and ours == entry.callcount

    def without_ours(self, entry: Entry) -> Numbers:
        """Return the numbers of a function; of a C function, without our calls."""
        numbers = _numbers(entry)
        if isinstance(entry.code, str):
            for caller, part in self._calls.get(id(entry.code), {}).items():
                if caller in self._ours:
                    numbers = _sum(numbers, part, -1.0)
        return numbers

    def edges(self) -> Iterator[tuple[tuple[Code, Code], Numbers]]:
        """Yield (caller, callee) and numbers for functions of the program."""
        for called, callers in self._calls.items():
            code = self._codes.get(called)
            if code is None or self.is_ours(code):
                continue
            for caller, numbers in callers.items():
                if caller not in self._ours:
                    yield (self._codes[caller], code), numbers
                elif not isinstance(code, str):
                    for place, part in self._shared(caller, numbers, frozenset()):
                        yield (self._codes[place], code), part

    def _shared(
        self, wrapper: int, numbers: Numbers, seen: frozenset[int]
    ) -> Iterator[tuple[int, Numbers]]:
        """Yield the callers of a wrapper of ours with their shares of `numbers`."""
        callers = self._calls.get(wrapper, {})
        known = sum(calls for calls, *_ in callers.values())
        total = max(known, numbers[0])  # a call that begins to record has no caller
        for caller, (calls, *_) in callers.items():
            part = _sum((0.0, 0.0, 0.0, 0.0), numbers, calls / total if total else 0.0)
            if caller not in self._ours:
                yield caller, part
            elif caller not in seen:
                yield from self._shared(caller, part, seen | {wrapper})


def _in_kernprof(code: Code) -> bool:
    if isinstance(code, str):
        return False
    file = code.co_filename
    return file == _WRAPPERS or os.path.dirname(file) == _HERE


def _label(code: Code) -> Label:
    """Return the key of a code object in the table of `pstats`."""
    if isinstance(code, str):
        return ("~", 0, code)
    return (code.co_filename, code.co_firstlineno, code.co_name)


def _numbers(sub: Sub) -> Numbers:
    return (sub.callcount, sub.reccallcount, sub.inlinetime, sub.totaltime)


def _sum(numbers: Numbers, more: Numbers, factor: float) -> Numbers:
    a, b, c, d = (max(0.0, x + factor * y) for x, y in zip(numbers, more))
    return a, b, c, d


def _counted(numbers: Numbers) -> tuple[int, int, float, float]:
    calls, inner, own, total = numbers
    return round(calls), round(inner), own, total
