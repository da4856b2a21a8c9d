"""Profiles with line_profiler's interface: `LineStats`.

Profilers return a `LineStats`, and files are loaded as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.model.profile import (
    Profile,
    frozen_timings,
    functions_from_timings,
    is_stats_like,
)
from lineprof.model.records import merge_functions
from lineprof.model.units import Ticks
from lineprof.storage import load, save

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import Any, Self, TextIO

    from pandas import DataFrame  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from lineprof.config import ConfigSource
    from lineprof.model.profile import FrozenTimings, StatsLike, Timings
    from lineprof.model.records import FunctionStats

    Config = str | os.PathLike[str] | ConfigSource | bool | None


class LineStats(Profile):
    """A profile with line_profiler's interface.

    It can be printed, read from files and written to them. Its attributes can be
    set, and its `timings` can be changed in place.
    """

    _timings: Timings | None = None  # as users have them; None: not asked for
    _known: FrozenTimings = {}  # noqa: RUF012  # of `_timings`, when `_functions` was made

    __setattr__ = object.__setattr__  # type: ignore[assignment]  # not frozen
    __delattr__ = object.__delattr__  # type: ignore[assignment]

    def __init__(self, timings: Timings, unit: float) -> None:
        """Take line_profiler's numbers; ValueError unless `unit` is above 0."""
        super().__init__({}, unit)
        self._timings = timings

    @property
    def functions(self) -> tuple[FunctionStats, ...]:
        """All functions with their lines, in order of registration."""
        if self._timings is not None:
            now = frozen_timings(self._timings)
            if list(now.items()) != list(self._known.items()):
                known, self._known, self._ticks = self._known, now, now
                self._functions = functions_from_timings(
                    self._functions, known, now, self._unit
                )
        return self._functions

    @functions.setter
    def functions(self, functions: Iterable[FunctionStats]) -> None:
        self._functions = merge_functions(functions)
        self._ticks = self._timings = None

    @property
    def timings(self) -> Timings:
        """line_profiler's numbers: (file, line, name) to (line, hits, ticks).

        They can be changed, also in place: the profile then has the new numbers.
        """
        if self._timings is None:
            self._timings = super().timings
            self._known = frozen_timings(self._timings)
        return self._timings

    @timings.setter
    def timings(self, timings: Timings) -> None:
        self._timings = timings

    @property
    def unit(self) -> float:
        """Seconds in a tick of `timings`; setting it keeps the numbers of ticks."""
        return self._unit

    @unit.setter
    def unit(self, unit: float) -> None:
        timings = self.timings
        self._unit = Ticks(unit).unit
        self._known, self._timings = {}, timings

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of a pickle of this class, or of line_profiler's."""
        if state.keys() == {"timings", "unit"}:
            state = LineStats(state["timings"], state["unit"]).__dict__
        self.__dict__.update(state)

    def __iadd__(self, other: StatsLike) -> Self:
        """Add the numbers of `other` to this object."""
        if not is_stats_like(other):
            return NotImplemented
        total = self.from_stats_objects(self, other)
        self.__dict__.update(total.__dict__, _timings=None, _known={})
        return self

    @classmethod
    def from_files(
        cls, file: str | os.PathLike[str], /, *files: str | os.PathLike[str]
    ) -> Self:
        """Return the sum of one or several ``.lprof`` files.

        Raises LineprofError if one of them cannot be read.
        """
        return cls.from_stats_objects(*[load(path) for path in (file, *files)])

    def to_file(self, filename: str | os.PathLike[str]) -> None:
        """Write a ``.lprof`` file; LineprofError if that fails."""
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
        config: Config = None,
        file: str = "FILE",
    ) -> None:
        """Print the table to `stream` (default: standard output).

        `output_unit` is the unit of the times in seconds (default: `unit`);
        `stripzeros` leaves out functions that never ran; `details` are the
        lines; `summarize` adds one line a function; `sort` puts the greatest
        total last; `rich` highlights source on a terminal if that package is
        there; `config` names the TOML file that widens columns (default: the
        one that is found; False: none); `file` names the profile in the commands
        that the table suggests, as a word of a shell.
        """
        from lineprof.report.line_profiler_tables import show  # noqa: PLC0415  # slow

        show(
            self,
            stream,
            config,
            unit=output_unit,
            skip_zero=stripzeros,
            sort=sort,
            details=details,
            summarize=summarize,
            rich=rich,
            file=file,
        )

    def to_pandas(self) -> DataFrame:
        """Return one row for each line, with the columns of ``export --format csv``.

        Times are in nanoseconds. Raises LineprofError if pandas is missing.
        """
        from lineprof.export.tables import data_frame  # noqa: PLC0415  # seldom needed

        return data_frame(self)

    def _repr_html_(self) -> str:
        """Return the report as HTML for notebooks."""
        from lineprof.report.notebook import report_of  # noqa: PLC0415  # notebooks alone

        return report_of(self)


load_stats = LineStats.from_files
