"""A profile as a value: the measurements of one or several runs.

Readers, views and exports take and make a `Profile`; recording hands users its
subclass `lineprof.LineStats`, which can be printed and written. Times are integers in
nanoseconds (ns).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.model.gpu import NO_GPU, Gpu
from lineprof.model.host_memory import NO_MEMORY, HostMemory
from lineprof.model.records import (
    NO_CALLS,
    NO_RANKS,
    UNKNOWN_THREAD,
    CallTree,
    FunctionStats,
    Process,
    Ranks,
    SourceFile,
    Thread,
    ThreadLine,
    merge_functions,
)
from lineprof.model.units import NANOSECOND, Ticks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import NoReturn, Protocol, Self, TypeGuard

    from lineprof.model.host_memory import MemoryCurve
    from lineprof.model.records import Cut, Key, LineBreakdown, Wait
    from lineprof.model.timelines import Trace

    LineTicks = tuple[int, int, int | float]  # line, hits, ticks

    Timings = Mapping[Key, Sequence[LineTicks]]  # as line_profiler has them

    FrozenTimings = dict[Key, tuple[LineTicks, ...]]

    class StatsLike(Protocol):
        """Any object with the two attributes of line_profiler's statistics."""

        @property
        def timings(self) -> Timings:
            """(file, first line, name) to (line, hits, ticks) of each line."""

        @property
        def unit(self) -> float:
            """Seconds in a tick."""


class Profile:
    """All measurements of one or several runs; frozen.

    ``Profile(timings, unit)`` takes line_profiler's numbers: `timings` maps
    (file, first line, function) to a list of (line, hits, ticks), and `unit`
    is a tick in seconds. Times are kept in whole nanoseconds. `from_functions` takes
    the records that this package measures.
    """

    processes: tuple[Process, ...]
    threads: tuple[Thread, ...]
    sources: Mapping[str, SourceFile]
    warnings: tuple[str, ...]
    gpu: Gpu
    calls: CallTree = NO_CALLS  # defaults for pickles without these attributes
    waits: tuple[Wait, ...] = ()
    traces: tuple[Trace, ...] = ()
    breakdowns: tuple[LineBreakdown, ...] = ()
    cuts: tuple[Cut, ...] = ()
    ranks: Ranks = NO_RANKS
    memory: HostMemory = NO_MEMORY
    # None: the profile was made in this process, and its sources are read from where
    # their names say. Else it was read from a file, which may name any file: all files
    # below these folders may be read for it, and few others (see `lineprof.source`).
    source_roots: tuple[str, ...] | None = None
    _unit: float
    _functions: tuple[FunctionStats, ...]
    _ticks: FrozenTimings | None = None  # `timings` if ticks are finer than ns

    __hash__ = None  # type: ignore[assignment]  # an object that is no profile may be equal

    def __init__(
        self, timings: Timings, unit: float, *, warnings: Iterable[str] = ()
    ) -> None:
        """Take line_profiler's numbers; ValueError unless `unit` is above 0."""
        empty = Profile.from_functions((), unit=unit, warnings=warnings)
        self.__dict__.update(
            empty.__dict__,
            _functions=functions_from_timings((), {}, timings, unit),
            _ticks=frozen_timings(timings),
        )

    @classmethod
    def from_functions(  # noqa: PLR0913  # the parts of a profile, each by its name
        cls,
        functions: Iterable[FunctionStats],
        *,
        processes: Iterable[Process] = (),
        threads: Iterable[Thread] = (),
        sources: Mapping[str, SourceFile] | None = None,
        warnings: Iterable[str] = (),
        unit: float = NANOSECOND,
        gpu: Gpu = NO_GPU,
        calls: CallTree = NO_CALLS,
        waits: Iterable[Wait] = (),
        traces: Iterable[Trace] = (),
        breakdowns: Iterable[LineBreakdown] = (),
        cuts: Iterable[Cut] = (),
        ranks: Ranks = NO_RANKS,
        memory: HostMemory = NO_MEMORY,
        timings: Timings | None = None,
        source_roots: tuple[str, ...] | None = None,
    ) -> Self:
        """Return the profile of `functions`, in their order.

        Functions with the same file, line and name become one. `unit` (s) is the
        tick of `timings` and the default unit of tables; ValueError unless it is
        above 0. `timings` are the numbers of the same functions, for a unit that is
        no whole number of nanoseconds; they set the order.
        """
        merged = merge_functions(functions)
        if timings is not None:
            by_key = {function.key: function for function in merged}
            merged = tuple(by_key[key] for key in timings)
        profile = cls.__new__(cls)
        profile.__dict__.update(
            _unit=Ticks(unit).unit,
            _functions=merged,
            _ticks=None if timings is None else frozen_timings(timings),
            processes=tuple(processes),
            threads=tuple(threads),
            sources=dict(sources or {}),
            warnings=tuple(warnings),
            gpu=gpu,
            calls=calls,
            waits=tuple(waits),
            traces=tuple(traces),
            breakdowns=tuple(breakdowns),
            cuts=tuple(cuts),
            ranks=ranks,
            memory=memory,
            source_roots=source_roots,
        )
        return profile

    @classmethod
    def of(cls, profile: Profile) -> Self:
        """Return the same profile as an object of this class."""
        functions = profile.functions
        state = {name: getattr(profile, name) for name in _STATE}
        same = cls.__new__(cls)
        same.__dict__.update(state, _functions=functions)
        return same

    def reading_below(self, *roots: str) -> Self:
        """Return the same profile as one that was read from a file: `source_roots`."""
        return self._with(source_roots=roots)

    def with_warnings(self, warnings: Iterable[str]) -> Self:
        """Return the same profile with these warnings, each once."""
        return self._with(warnings=tuple(dict.fromkeys(warnings)))

    def with_timelines(
        self,
        threads: Iterable[Thread],
        traces: Iterable[Trace],
        gpu: Gpu,
        curves: Iterable[MemoryCurve] | None = None,
    ) -> Self:
        """Return the same profile with other slices, and the threads they name.

        Its curves of memory stay, unless others are given.
        """
        memory = self.memory
        if curves is not None:
            memory = memory._replace(curves=tuple(curves))
        return self._with(
            threads=tuple(threads), traces=tuple(traces), gpu=gpu, memory=memory
        )

    def with_processes(self, processes: Iterable[Process]) -> Self:
        """Return the same profile with other records of its processes."""
        return self._with(processes=tuple(processes))

    def with_functions(self, functions: Iterable[FunctionStats]) -> Self:
        """Return the same profile, not read from a file, with other functions."""
        return self._with(_functions=tuple(functions), _ticks=None, source_roots=None)

    def of_functions(self, keys: Collection[Key]) -> Self:
        """Return the same profile with the tables of these functions alone."""
        ticks = self._ticks
        return self._with(
            _functions=tuple(one for one in self._functions if one.key in keys),
            _ticks=ticks and {key: ticks[key] for key in ticks if key in keys},
        )

    def _with(self, **parts: object) -> Self:
        """Return the same profile with other values of these attributes."""
        same = self.of(self)
        same.__dict__.update(parts)
        return same

    @classmethod
    def from_stats_objects(cls, stats: StatsLike, /, *more: StatsLike) -> Self:
        """Return the sum of one or several profiles.

        Functions are joined by file, line and name; the unit is the coarsest.
        If the text of a file differs, the first is kept and a warning added. Any
        object with ``timings`` and ``unit`` will do.
        """
        from lineprof.model.merge import merge  # noqa: PLC0415  # imports this module

        return cls.of(
            merge(
                [
                    one if isinstance(one, Profile) else Profile(one.timings, one.unit)
                    for one in (stats, *more)
                ]
            )
        )

    @property
    def functions(self) -> tuple[FunctionStats, ...]:
        """All functions with their lines, in order of registration."""
        return self._functions

    @property
    def timings(self) -> Timings:
        """line_profiler's numbers: (file, line, name) to (line, hits, ticks)."""
        if self._ticks is None:
            return timings_from_functions(self._functions, self._unit)
        return {key: list(lines) for key, lines in self._ticks.items()}

    @property
    def unit(self) -> float:
        """Seconds in a tick of `timings`."""
        return self._unit

    @property
    def is_whole(self) -> bool:
        """Whether whole programs were profiled, without a choice of functions."""
        return bool(self.processes) and all(one.is_whole for one in self.processes)

    @property
    def why_empty(self) -> str:
        """The reason why nothing was measured, in one line; "" if something was."""
        return self.why_nothing(is_partial=len(self.processes) > 1)

    def why_nothing(self, *, is_partial: bool) -> str:
        """Return the same; if it `is_partial`, calls may have been missed.

        Copies of a function may have been called in processes that were not measured,
        or in those that did not know of its decorator.
        """
        functions = self.functions
        if any(function.thread_lines for function in functions):
            return ""
        count = len(functions)
        if not count:
            why = (
                "no function was registered;"
                " put @profile above a function or give it to add_function"
            )
        else:
            which, verb = "the one function registered", "was"
            if count > 1:
                which, verb = f"the {count} functions registered", "were"
            if any(function.calls for function in functions):
                why = f"{which} {verb} only called while the profiler was off"
            elif is_partial:
                why = f"no call of {which} was counted"
            else:
                why = f"{which} {verb} never called"
        exits = ", ".join(sorted({one.exit for one in self.processes if one.exit}))
        return f"the profile is empty: {why}" + (
            f" (the program ended by: {exits})" if exits else ""
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing was measured: no line, call, GPU work, or block of memory."""
        has_calls = any(function.calls for function in self.functions)
        gpu = self.gpu
        has_gpu = gpu.sums or gpu.devices or gpu.timelines
        return bool(self.why_empty) and not (has_calls or has_gpu or self.memory.sums)

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same `timings` and `unit`.

        Any object with these two attributes will do. Processes, threads, source,
        calls and GPU data are not compared.
        """
        if not is_stats_like(other):
            return NotImplemented
        return bool(self.timings == other.timings and self.unit == other.unit)

    def __repr__(self) -> str:
        """Return the numbers in line_profiler's form."""
        return f"{type(self).__name__}({self.timings}, {self.unit:.2G})"

    def __add__(self, other: StatsLike) -> Self:
        """Return the sum of both: see `from_stats_objects`."""
        if not is_stats_like(other):
            return NotImplemented
        return self.from_stats_objects(self, other)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        self._refuse(name)

    def __delattr__(self, name: str) -> NoReturn:
        self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be set")


_STATE = tuple(vars(Profile.from_functions(())))  # the attributes of each object


def is_stats_like(other: object) -> TypeGuard[StatsLike]:
    """Tell whether `other` has line_profiler's two attributes."""
    return hasattr(other, "timings") and hasattr(other, "unit")


# line_profiler's numbers: whole ticks of any unit, where ours are whole nanoseconds.
# A tick can be shorter than a nanosecond, so both are kept if both are known.


def timings_from_functions(
    functions: Iterable[FunctionStats], unit: float
) -> dict[Key, list[LineTicks]]:
    """Return line_profiler's numbers of `functions`, in ticks of `unit` (s)."""
    ticks = Ticks(unit)
    return {
        function.key: [
            (row.line, row.hits, ticks.from_ns(row.time_ns)) for row in function.rows
        ]
        for function in functions
    }


def frozen_timings(timings: Timings) -> FrozenTimings:
    """Return a copy of `timings` as it is now: its owner may change it."""
    return {key: tuple(lines) for key, lines in timings.items()}


def functions_from_timings(
    functions: Iterable[FunctionStats],
    known: FrozenTimings,
    timings: Timings,
    unit: float,
) -> tuple[FunctionStats, ...]:
    """Return the functions that are named by `timings`, in its order.

    A function of `functions` is kept if its numbers are still those in `known`, as it
    holds more than numbers. `unit` is in seconds.
    """
    ticks = Ticks(unit)
    old = {function.key: function for function in functions}
    return tuple(
        old[key]
        if key in old and known.get(key) == tuple(lines)
        else FunctionStats(
            file=key[0],
            name=key[2],
            line=key[1],
            thread_lines=tuple(
                ThreadLine(
                    line=line,
                    thread=UNKNOWN_THREAD,
                    hits=hits,
                    time_ns=ticks.to_ns(time),
                )
                for line, hits, time in lines
            ),
        )
        for key, lines in timings.items()
    )


def sum_timings(
    profiles: Sequence[StatsLike], unit: float
) -> dict[Key, list[LineTicks]]:
    """Return the sum of all numbers in ticks of `unit` (s), as line_profiler does.

    Profiles with the finest unit come first; each sum is rounded once, half to even.
    """
    sums: dict[Key, dict[int, tuple[int, float]]] = {}
    for profile in sorted(profiles, key=lambda one: one.unit):
        factor = profile.unit / unit
        for key, lines in profile.timings.items():
            line_sums = sums.setdefault(key, {})
            for line, hits, ticks in lines:
                scaled = ticks if factor == 1 else ticks * factor
                old_hits, old_ticks = line_sums.get(line, (0, 0))
                line_sums[line] = (old_hits + hits, old_ticks + scaled)
    return {
        key: [
            (line, hits, round(ticks)) for line, (hits, ticks) in sorted(lines.items())
        ]
        for key, lines in sums.items()
    }
