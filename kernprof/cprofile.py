"""From cProfile's records to what `pstats` reads, the profiler's own calls left out."""

from __future__ import annotations

import _thread
import cProfile
import os
import pstats
import sys
from typing import TYPE_CHECKING

from lineprof.decorate.wrappers import ByCountProfilerMixin, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType
    from typing import Any, Protocol, TextIO, TypeVar, Union

    Code = Union[CodeType, str]  # a string for a function of C
    Label = tuple[str, int, str]
    Numbers = tuple[float, float, float, float]  # calls, of these recursive; s, s
    Callers = dict[Label, tuple[int, int, float, float]]
    Stats = dict[Label, tuple[int, int, float, float, Callers]]

    class Sub(Protocol):
        """What one function spent in another: times in s, without and with callees."""

        code: Code
        callcount: int
        reccallcount: int
        inlinetime: float
        totaltime: float

    class Entry(Sub, Protocol):
        """What one function spent."""

        calls: list[Sub] | None

    F = TypeVar("F", bound=Callable[..., object])


_HERE = os.path.dirname(__file__)
_WRAPPERS = wrapped.__code__.co_filename


def stats_of(entries: Iterable[Entry]) -> Stats:
    """Return the table that `pstats` wants of what `Profile.getstats` gives.

    kernprof's wrappers are not in it: who called them is the caller of what
    they called. A wrapper with several callers shares its times out among them
    by their calls. Code objects with the same file, line and name are summed up.
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
    """Who called whom, by code object: wrappers of one kind have one each."""

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
        """Tell whether it is a function of kernprof's, or of C and for it alone."""
        return id(code) in self._ours

    def _only_for_us(self, entry: Entry) -> bool:
        callers = self._calls.get(id(entry.code), {})
        ours = sum(part[0] for place, part in callers.items() if place in self._ours)
        return isinstance(entry.code, str) and ours == entry.callcount

    def without_ours(self, entry: Entry) -> Numbers:
        """Return what a function spent; one of C, without what kernprof called."""
        numbers = _numbers(entry)
        if isinstance(entry.code, str):
            for caller, part in self._calls.get(id(entry.code), {}).items():
                if caller in self._ours:
                    numbers = _sum(numbers, part, -1.0)
        return numbers

    def edges(self) -> Iterator[tuple[tuple[Code, Code], Numbers]]:
        """Yield what functions of the program spent in each other."""
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
        """Yield the callers of a wrapper of ours, and their parts of `numbers`."""
        callers = self._calls.get(wrapper, {})
        known = sum(calls for calls, *_ in callers.values())
        whole = max(known, numbers[0])  # a call that begins to record has no caller
        for caller, (calls, *_) in callers.items():
            part = _sum((0.0, 0.0, 0.0, 0.0), numbers, calls / whole if whole else 0.0)
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
    """Return what `pstats` calls a code object."""
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


# The table of a profile of calls. `pstats` is slow to import: imported at the end.


def print_calls(profile: ContextualProfile, stream: TextIO) -> None:
    """Print the table of what `profile` has in its `stats` to `stream`."""
    recorded = [profile] if profile.stats else []  # pstats refuses one without
    stats = pstats.Stats(*recorded, stream=stream)
    stats.strip_dirs().sort_stats(-1).print_stats()


# cProfile as a decorator and a context manager.


_BY_THREAD = sys.version_info < (3, 12)  # later cProfile sees all threads at once


class ContextualProfile(ByCountProfilerMixin, cProfile.Profile):  # type: ignore[misc]
    """A cProfile that records while at least one of its users wants it to.

    Users are calls of the functions that it decorates, ``with`` blocks, and
    `enable_by_count`. Before Python 3.12 a cProfile sees one thread: that of
    the first user; those of other threads meanwhile change nothing.
    """

    stats: Stats  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Take cProfile's own arguments; nothing is recorded yet."""
        super().__init__(*args, **kwargs)
        self.enable_count = 0
        self._thread = 0
        self._by_hand = False

    def enable(self, subcalls: bool = True, builtins: bool = True) -> None:  # noqa: FBT001, FBT002
        """Turn it on until `disable`, whatever is called meanwhile.

        Raises ValueError where another profiler is on (from Python 3.12 on).
        """
        if not (self._by_hand or self.enable_count):
            super().enable(subcalls=subcalls, builtins=builtins)
        self._by_hand = True

    def disable(self) -> None:
        """Turn it off."""
        self._by_hand = False
        super().disable()

    def enable_by_count(self, subcalls: bool = True, builtins: bool = True) -> None:  # noqa: FBT001, FBT002
        """Turn it on, unless it is.

        Raises ValueError where another profiler is on (from Python 3.12 on).
        """
        if not self.enable_count:
            self._thread = _thread.get_ident()
            if not self._by_hand:
                super().enable(subcalls=subcalls, builtins=builtins)
        elif _BY_THREAD and self._thread != _thread.get_ident():
            return
        self.enable_count += 1

    def disable_by_count(self) -> None:
        """Turn it off when this was the last user."""
        if not self.enable_count:
            return
        if _BY_THREAD and self._thread != _thread.get_ident():
            return
        self.enable_count -= 1
        if not (self.enable_count or self._by_hand):
            super().disable()

    def snapshot_stats(self) -> None:
        """Gather the numbers, those of kernprof's own functions left out."""
        self.stats = stats_of(self.getstats())  # type: ignore[arg-type]

    def __call__(self, func: F) -> F:
        """Return `func`, recorded whenever it is called."""
        return self.wrap_callable(func)  # type: ignore[no-any-return]
