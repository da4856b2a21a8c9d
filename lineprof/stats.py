"""A profile as a value: what one or several runs measured, line by line.

Everything that shows or stores a profile reads a `LineStats`. Times are
integers in nanoseconds (ns); nothing here touches a file or a clock.
"""

from __future__ import annotations

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
from lineprof.units import NANOSECOND, Ticks

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol, TextIO, Union

    from lineprof.records import Key

    Timings = Mapping[Key, Sequence[tuple[int, int, Union[int, float]]]]

    class StatsLike(Protocol):
        """What has line_profiler's two attributes."""

        @property
        def timings(self) -> Timings:
            """(file, first line, name) to (line, hits, ticks) of each line."""

        @property
        def unit(self) -> float:
            """Seconds in a tick."""


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

    functions: tuple[FunctionStats, ...]
    processes: tuple[Process, ...]
    threads: tuple[Thread, ...]
    sources: Mapping[str, SourceFile]
    warnings: tuple[str, ...]
    unit: float  # seconds in a tick of `timings`
    gpu: Gpu

    __hash__ = None  # type: ignore[assignment]  # += changes it

    def __init__(self, timings: Timings, unit: float) -> None:
        """Take line_profiler's numbers; ValueError unless `unit` is above 0."""
        ticks = Ticks(unit)
        functions = [
            FunctionStats(
                file=file,
                name=name,
                line=first_line,
                cells=tuple(
                    Cell(line, UNKNOWN_THREAD, hits, ticks.to_ns(time))
                    for line, hits, time in lines
                ),
            )
            for (file, first_line, name), lines in timings.items()
        ]
        self.__dict__.update(LineStats.from_functions(functions, unit=unit).__dict__)

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
    ) -> LineStats:
        """Return the profile of `functions`, in their order.

        Functions with the same file, line and name become one. `unit` (s) is
        the tick of `timings`, and the table's unit unless that is given one;
        ValueError unless it is above 0.
        """
        stats = cls.__new__(cls)
        stats.unit = Ticks(unit).unit
        stats.functions = joined(functions)
        stats.processes = tuple(processes)
        stats.threads = tuple(threads)
        stats.sources = dict(sources or {})
        stats.warnings = tuple(warnings)
        stats.gpu = gpu
        return stats

    @property
    def timings(self) -> dict[Key, list[tuple[int, int, int]]]:
        """line_profiler's numbers: (file, line, name) to (line, hits, ticks)."""
        ticks = Ticks(self.unit)
        return {
            function.key: [
                (row.line, row.hits, ticks.from_ns(row.time_ns))
                for row in function.rows
            ]
            for function in self.functions
        }

    @property
    def why_empty(self) -> str:
        """One line that says why nothing was measured; "" when something was."""
        if any(function.cells for function in self.functions):
            return ""
        count = len(self.functions)
        if not count:
            why = (
                "no function was registered;"
                " put @profile above a function or give it to add_function"
            )
        else:
            which = "the one function registered was"
            if count > 1:
                which = f"the {count} functions registered were"
            called = any(function.calls for function in self.functions)
            when = "only called while the profiler was off"
            why = f"{which} {when if called else 'never called'}"
        exits = ", ".join(sorted({p.exit for p in self.processes if p.exit}))
        return f"the profile is empty: {why}" + (
            f" (the program ended by: {exits})" if exits else ""
        )

    def __eq__(self, other: object) -> bool:
        """Tell whether both hold the same numbers, runs, sources and warnings."""
        if not isinstance(other, LineStats):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        """Return the numbers in line_profiler's form."""
        return f"{type(self).__name__}({self.timings}, {self.unit:G})"

    def __add__(self, other: StatsLike) -> LineStats:
        """Return both together: see `from_stats_objects`."""
        if not (hasattr(other, "timings") and hasattr(other, "unit")):
            return NotImplemented
        return self.from_stats_objects(self, other)

    def __iadd__(self, other: StatsLike) -> LineStats:  # Self: 3.11
        """Add the numbers of `other` to this very object."""
        if not (hasattr(other, "timings") and hasattr(other, "unit")):
            return NotImplemented
        self.__dict__.update(self.from_stats_objects(self, other).__dict__)
        return self

    @classmethod
    def from_stats_objects(cls, stats: StatsLike, /, *more: StatsLike) -> LineStats:
        """Return the sum of one or several profiles.

        Functions are joined by file, line and name; the unit is the coarsest.
        Where the text of a file differs, the first is kept and a warning
        says so. Any object with ``timings`` and ``unit`` will do.
        """
        from lineprof.stats_merge import merge  # noqa: PLC0415  # it imports this

        return merge(
            [
                one if isinstance(one, LineStats) else cls(one.timings, one.unit)
                for one in (stats, *more)
            ]
        )

    @classmethod
    def from_files(
        cls, file: str | os.PathLike[str], /, *files: str | os.PathLike[str]
    ) -> LineStats:
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
    ) -> None:
        """Print the table to `stream` (default: standard output).

        `output_unit` is the unit of the times in seconds (default: `unit`);
        `stripzeros` leaves out functions that never ran; `details` are the
        lines; `summarize` adds one line a function; `sort` puts the greatest
        total last.
        """
        from lineprof.views.text import print_stats  # noqa: PLC0415  # nor views
        from lineprof.views.view import Options  # noqa: PLC0415

        options = Options(
            unit=output_unit,
            skip_zero=stripzeros,
            sort=sort,
            details=details,
            summarize=summarize,
        )
        print_stats(self, stream, options)
