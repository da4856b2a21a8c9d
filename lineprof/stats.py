"""A profile as a value: what one or several runs measured, line by line.

Everything that shows or stores a profile reads a `LineStats`. Times are
integers in nanoseconds (ns); nothing here touches a file or a clock.
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
    import os
    from collections.abc import Iterable, Mapping
    from typing import Any, Self, TextIO, TypeGuard

    from pandas import DataFrame  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from lineprof.own_records import OwnTime
    from lineprof.stats_timings import Known, StatsLike, Timings
    from lineprof.toml_config import ConfigSource
    from lineprof.trace_records import Trace
    from lineprof.wait_records import Wait

__all__ = [
    "UNKNOWN_THREAD",
    "Cell",
    "FunctionStats",
    "Gpu",
    "LineStats",
    "Process",
    "Row",
    "SourceFile",
    "Thread",
]


class LineStats:
    """All that one or several runs recorded.

    ``LineStats(timings, unit)`` takes line_profiler's numbers: `timings` maps
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
    _timings: Timings | None  # None: not asked for, and to be worked out
    _known: Known  # of `_timings`, when `_functions` was made

    __hash__ = None  # type: ignore[assignment]  # += changes it

    def __init__(self, timings: Timings, unit: float) -> None:
        """Take line_profiler's numbers; ValueError unless `unit` is above 0."""
        self.__dict__.update(LineStats.from_functions((), unit=unit).__dict__)
        self._timings = timings

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
    ) -> LineStats:
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
        stats = cls.__new__(cls)
        stats.__dict__.update(
            _unit=Ticks(unit).unit,
            _functions=whole,
            _timings=timings,
            _known={} if timings is None else kept(timings),
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
        return stats

    @property
    def functions(self) -> tuple[FunctionStats, ...]:
        """All functions with their lines, in order of registration."""
        if self._timings is not None:
            now = kept(self._timings)
            if list(now.items()) != list(self._known.items()):
                known, self._known = self._known, now
                self._functions = followed(self._functions, known, now, self._unit)
        return self._functions

    @functions.setter
    def functions(self, functions: Iterable[FunctionStats]) -> None:
        self._functions = joined(functions)
        self._timings = None

    @property
    def timings(self) -> Timings:
        """line_profiler's numbers: (file, line, name) to (line, hits, ticks).

        They can be changed, in place, too: the profile is then of these.
        """
        if self._timings is None:
            self._timings = timings_of(self._functions, self._unit)
            self._known = kept(self._timings)
        return self._timings

    @timings.setter
    def timings(self, timings: Timings) -> None:
        self._timings = timings

    @property
    def unit(self) -> float:
        """Seconds in a tick of `timings`; the ticks stay when it is changed."""
        return self._unit

    @unit.setter
    def unit(self, unit: float) -> None:
        timings = self.timings
        self._unit = Ticks(unit).unit
        self._known, self._timings = {}, timings

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
        if not _has_numbers(other):
            return NotImplemented
        return bool(self.timings == other.timings and self.unit == other.unit)

    def __repr__(self) -> str:
        """Return the numbers in line_profiler's form."""
        return f"{type(self).__name__}({self.timings}, {self.unit:.2G})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what a pickle of this class has, or one of line_profiler's."""
        if state.keys() == {"timings", "unit"}:
            state = LineStats(state["timings"], state["unit"]).__dict__
        self.__dict__.update(state)

    def __add__(self, other: StatsLike) -> Self:
        """Return both together: see `from_stats_objects`."""
        if not _has_numbers(other):
            return NotImplemented
        return self.from_stats_objects(self, other)

    def __iadd__(self, other: StatsLike) -> Self:
        """Add the numbers of `other` to this very object."""
        if not _has_numbers(other):
            return NotImplemented
        self.__dict__.update(self.from_stats_objects(self, other).__dict__)
        return self

    @classmethod
    def from_stats_objects(cls, stats: StatsLike, /, *more: StatsLike) -> Self:
        """Return the sum of one or several profiles.

        Functions are joined by file, line and name; the unit is the coarsest.
        Where the text of a file differs, the first is kept and a warning
        says so. Any object with ``timings`` and ``unit`` will do.
        """
        from lineprof.stats_merge import merge  # noqa: PLC0415  # it imports this

        profiles = [
            one if isinstance(one, LineStats) else LineStats(one.timings, one.unit)
            for one in (stats, *more)
        ]
        total = cls.__new__(cls)
        total.__dict__.update(merge(profiles).__dict__)
        return total

    @classmethod
    def from_files(
        cls, file: str | os.PathLike[str], /, *files: str | os.PathLike[str]
    ) -> Self:
        """Return the sum of one or several ``.lprof`` files.

        Raises LineprofError when one of them cannot be read.
        """
        from lineprof.store import load  # noqa: PLC0415  # values know no files

        return cls.from_stats_objects(*[load(path) for path in (file, *files)])

    def to_file(self, filename: str | os.PathLike[str]) -> None:
        """Write a ``.lprof`` file; LineprofError when that cannot be done."""
        from lineprof.store import save  # noqa: PLC0415  # values know no files

        save(self, filename)

    def print(  # noqa: PLR0913, PLR0917  # line_profiler's signature
        self,
        stream: TextIO | None = None,
        output_unit: float | None = None,
        stripzeros: bool = False,  # noqa: FBT001, FBT002
        details: bool = True,  # noqa: FBT001, FBT002
        summarize: bool = False,  # noqa: FBT001, FBT002
        sort: bool = False,  # noqa: FBT001, FBT002
        rich: bool = False,  # noqa: FBT001, FBT002
        *,
        config: str | os.PathLike[str] | ConfigSource | bool | None = None,
    ) -> None:
        """Print the table to `stream` (default: standard output).

        `output_unit` is the unit of the times in seconds (default: `unit`);
        `stripzeros` leaves out functions that never ran; `details` are the
        lines; `summarize` adds one line a function; `sort` puts the greatest
        total last; `rich` highlights source on a terminal if that package is
        there; `config` names the TOML file that widens columns (default: the
        one that is found; False: none).
        """
        from lineprof.views.show import print_stats  # noqa: PLC0415  # nor views
        from lineprof.views.view import Options  # noqa: PLC0415

        options = Options(
            unit=output_unit,
            skip_zero=stripzeros,
            sort=sort,
            details=details,
            summarize=summarize,
            rich=rich,
        )
        print_stats(self, stream, options, config=config)

    def to_pandas(self) -> DataFrame:
        """Return one row for each line, with the columns of ``export --format csv``.

        Times are in nanoseconds. Raises LineprofError when pandas is missing.
        """
        from lineprof.exports.frame import data_frame  # noqa: PLC0415  # nor exports

        return data_frame(self)

    def _repr_html_(self) -> str:
        """Return the tables as notebooks show them."""
        from lineprof.ipython.html import html_of  # noqa: PLC0415  # nor pages

        return html_of(self)


def _has_numbers(other: object) -> TypeGuard[StatsLike]:
    return hasattr(other, "timings") and hasattr(other, "unit")
