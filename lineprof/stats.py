"""A profile as a value: what one or several runs measured, line by line.

Readers, views and exports take and make a `Profile`; what recording hands to
users is a `LineStats`, which can be printed and written, too. Times are integers
in nanoseconds (ns); nothing here touches a file or a clock.
"""

from __future__ import annotations

from lineprof.call_records import NO_CALLS, CallTree
from lineprof.gpu_records import NO_GPU, Gpu
from lineprof.records import (
    UNKNOWN_THREAD,
    Cell,
    FunctionStats,
    Process,
    Row,
    SourceFile,
    Thread,
    joined,
)
from lineprof.stats_timings import followed, kept, timings_of
from lineprof.units import NANOSECOND, Ticks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NoReturn, Self, TypeGuard

    from lineprof.own_records import OwnTime
    from lineprof.stats_timings import Known, StatsLike, Timings
    from lineprof.trace_records import Trace
    from lineprof.wait_records import Wait

__all__ = [
    "UNKNOWN_THREAD",
    "Cell",
    "FunctionStats",
    "Gpu",
    "Process",
    "Profile",
    "Row",
    "SourceFile",
    "Thread",
]


class Profile:
    """All that one or several runs recorded; frozen.

    ``Profile(timings, unit)`` takes line_profiler's numbers: `timings` maps
    (file, first line, function) to a list of (line, hits, ticks), and `unit`
    is a tick in seconds. Times are kept in whole nanoseconds. What this
    package measures comes from `from_functions`.
    """

    processes: tuple[Process, ...]
    threads: tuple[Thread, ...]
    sources: Mapping[str, SourceFile]
    warnings: tuple[str, ...]
    gpu: Gpu
    calls: CallTree = NO_CALLS  # pickles of before there were any do not have these
    waits: tuple[Wait, ...] = ()
    traces: tuple[Trace, ...] = ()
    own_times: tuple[OwnTime, ...] = ()
    _unit: float
    _functions: tuple[FunctionStats, ...]
    _ticks: Known | None = None  # `timings` where ticks say more than nanoseconds

    __hash__ = None  # type: ignore[assignment]  # equal are also objects that are not

    def __init__(
        self, timings: Timings, unit: float, *, warnings: Iterable[str] = ()
    ) -> None:
        """Take line_profiler's numbers; ValueError unless `unit` is above 0."""
        rest = Profile.from_functions((), unit=unit, warnings=warnings)
        self.__dict__.update(
            rest.__dict__,
            _functions=followed((), {}, timings, unit),
            _ticks=kept(timings),
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
        own_times: Iterable[OwnTime] = (),
        timings: Timings | None = None,
    ) -> Self:
        """Return the profile of `functions`, in their order.

        Functions with the same file, line and name become one. `unit` (s) is
        the tick of `timings`, and the table's unit unless that is given one;
        ValueError unless it is above 0. `timings` are the same functions'
        numbers where ticks say more than nanoseconds; they set the order.
        """
        whole = joined(functions)
        if timings is not None:
            found = {function.key: function for function in whole}
            whole = tuple(found[key] for key in timings)
        profile = cls.__new__(cls)
        profile.__dict__.update(
            _unit=Ticks(unit).unit,
            _functions=whole,
            _ticks=None if timings is None else kept(timings),
            processes=tuple(processes),
            threads=tuple(threads),
            sources=dict(sources or {}),
            warnings=tuple(warnings),
            gpu=gpu,
            calls=calls,
            waits=tuple(waits),
            traces=tuple(traces),
            own_times=tuple(own_times),
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

    @classmethod
    def from_stats_objects(cls, stats: StatsLike, /, *more: StatsLike) -> Self:
        """Return the sum of one or several profiles.

        Functions are joined by file, line and name; the unit is the coarsest.
        Where the text of a file differs, the first is kept and a warning
        says so. Any object with ``timings`` and ``unit`` will do.
        """
        from lineprof.stats_merge import merge  # noqa: PLC0415  # it imports this

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
            return timings_of(self._functions, self._unit)
        return {key: list(lines) for key, lines in self._ticks.items()}

    @property
    def unit(self) -> float:
        """Seconds in a tick of `timings`."""
        return self._unit

    @property
    def why_empty(self) -> str:
        """One line that says why nothing was measured; "" when something was."""
        from lineprof.stats_empty import why_empty  # noqa: PLC0415  # seldom needed

        return why_empty(self.functions, self.processes)

    def __eq__(self, other: object) -> bool:
        """Tell whether both hold the same `timings` and `unit`.

        Any object with these two will do. Processes, threads, source, calls and
        GPU data are not compared.
        """
        if not has_numbers(other):
            return NotImplemented
        return bool(self.timings == other.timings and self.unit == other.unit)

    def __repr__(self) -> str:
        """Return the numbers in line_profiler's form."""
        return f"{type(self).__name__}({self.timings}, {self.unit:.2G})"

    def __add__(self, other: StatsLike) -> Self:
        """Return both together: see `from_stats_objects`."""
        if not has_numbers(other):
            return NotImplemented
        return self.from_stats_objects(self, other)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        self._refuse(name)

    def __delattr__(self, name: str) -> NoReturn:
        self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be set")


_STATE = tuple(vars(Profile.from_functions(())))  # the attributes of each object


def has_numbers(other: object) -> TypeGuard[StatsLike]:
    """Tell whether `other` has line_profiler's two attributes."""
    return hasattr(other, "timings") and hasattr(other, "unit")
