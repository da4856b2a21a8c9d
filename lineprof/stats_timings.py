"""line_profiler's numbers beside ours: from one to the other, and added up.

Its numbers are whole ticks of any unit, ours whole nanoseconds; a tick can be
shorter than that. So both are kept where both are known.
"""

from __future__ import annotations

from lineprof.records import UNKNOWN_THREAD, Cell, FunctionStats
from lineprof.units import Ticks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol, Union

    from lineprof.records import Key

    Ticked = tuple[int, int, Union[int, float]]  # line, hits, ticks
    Timings = Mapping[Key, Sequence[Ticked]]
    Known = dict[Key, tuple[Ticked, ...]]

    class StatsLike(Protocol):
        """What has line_profiler's two attributes."""

        @property
        def timings(self) -> Timings:
            """(file, first line, name) to (line, hits, ticks) of each line."""

        @property
        def unit(self) -> float:
            """Seconds in a tick."""


def timings_of(
    functions: Iterable[FunctionStats], unit: float
) -> dict[Key, list[Ticked]]:
    """Return line_profiler's numbers of `functions`, in ticks of `unit` (s)."""
    ticks = Ticks(unit)
    return {
        function.key: [
            (row.line, row.hits, ticks.from_ns(row.time_ns)) for row in function.rows
        ]
        for function in functions
    }


def kept(timings: Timings) -> Known:
    """Return what `timings` is now: whoever holds it may change it."""
    return {key: tuple(lines) for key, lines in timings.items()}


def followed(
    functions: Iterable[FunctionStats], known: Known, timings: Timings, unit: float
) -> tuple[FunctionStats, ...]:
    """Return the functions that `timings` speaks of, in its order.

    Those of `functions` stay whose numbers are still those of `known`: they
    hold more than numbers. `unit` is in seconds.
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
            cells=tuple(
                Cell(
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


def summed(profiles: Sequence[StatsLike], unit: float) -> dict[Key, list[Ticked]]:
    """Return the sum of all numbers in ticks of `unit` (s), as line_profiler does.

    Those of the finest unit come first; each sum is rounded once, half to even.
    """
    sums: dict[Key, dict[int, tuple[int, float]]] = {}
    for profile in sorted(profiles, key=lambda one: one.unit):
        factor = profile.unit / unit
        for key, lines in profile.timings.items():
            of_function = sums.setdefault(key, {})
            for line, hits, ticks in lines:
                more = ticks if factor == 1 else ticks * factor
                hits_before, before = of_function.get(line, (0, 0))
                of_function[line] = (hits_before + hits, before + more)
    return {
        key: [(line, hits, round(ticks)) for line, (hits, ticks) in sorted(of.items())]
        for key, of in sums.items()
    }
