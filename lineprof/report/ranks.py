"""The view --ranks: lines over the ranks of a parallel program.

Its formulas are those of docs/ranks.md. "Computing" is time without communication.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.collectives import is_collective
from lineprof.model.names import short_names
from lineprof.model.rank_lines import WHOLE, ranks_of
from lineprof.model.rank_spread import (
    efficiency,
    line_spreads,
    missing_ranks,
    run_spread,
)
from lineprof.model.records import Key, called_functions
from lineprof.report.columns import (
    COUNT,
    NS,
    PLACE,
    SHARE,
    SOURCE,
    SOURCE_TITLE,
    Column,
    Columns,
)
from lineprof.report.limits import limited
from lineprof.report.line_table import NO_MPI
from lineprof.report.rows import Rows, rows_of
from lineprof.report.text_grid import (
    Context,
    counted,
    in_words,
    percent,
    table,
    time_unit_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.model.rank_spread import Efficiency, LineSpread, RunSpread, Spread
    from lineprof.report.options import Options
    from lineprof.source import Sources

NO_RANKS_KNOWN = (
    "The profile has no ranks: it is not of a program that mpirun, srun or torchrun"
    " started"
)

_MAX_FUNCTIONS = 10  # unless more are asked for

_MAX_LINES = 10  # of those at the top

_MAX_NAMED = 8  # missing ranks

_LEGEND = (
    "Time and Comm are sums over the ranks. Max, Mean, Min and SD are of time without"
    " communication (Comm); Rank is the rank of Max. Imbal is max / mean - 1; Lost is"
    " (max - mean) x ranks, for how long the other ranks may have waited."
)

_EFFICIENCY = (
    "Load balance is mean / max of the computing time; communication efficiency is max"
    " of the computing time / run time."
)


_SPREAD: Columns = {  # of a `Spread`
    "max_ns": Column(NS, "Max"),
    "mean_ns": Column(NS, "Mean", spare=4),
    "min_ns": Column(NS, "Min", spare=2),
    "sd_ns": Column(NS, "SD", spare=1),
    "max_rank": Column(COUNT, "Rank"),
    "imbalance": Column(SHARE, "Imbal"),
    "lost_ns": Column(NS, "Lost"),
}


def _spread(of: str, prefix: str, *names: str) -> Columns:
    """Return columns of the attribute `of` of a line; people see those of `useful`."""

    def one(name: str) -> Column:
        get = attrgetter(f"{of}.{name.removesuffix('_ns')}")
        made = replace(_SPREAD[name], value=get)
        if of != "useful":
            return replace(made, title="")
        if name == "lost_ns":
            return replace(made, shown=lambda row, _: get(row) or None)
        if name in {"max_rank", "imbalance"}:  # there are none if no rank took time
            return replace(
                made, shown=lambda row, _: get(row) if row.useful.max else None
            )
        return made

    return {f"{prefix}{name}": one(name) for name in names or _SPREAD}


def _efficiency_column(name: str) -> Column:
    """Return the column of a metric, which only a whole function has."""

    def value(one: LineSpread) -> float | None:
        if one.line != WHOLE:
            return None
        return getattr(efficiency(one.useful, one.time.max), name)  # type: ignore[no-any-return]

    return Column(SHARE, value=value)


_METRICS = {  # attributes of an `Efficiency`
    "load_balance": "load_balance",
    "communication_efficiency": "communication",
    "parallel_efficiency": "parallel",
}

RANKS: Columns = {
    "place": Column(PLACE, value=lambda one: (one.key, max(0, one.line))),
    "number": Column(COUNT, "Line #", value=lambda one: one.line, is_data=False),
    "hits": Column(COUNT, "Hits", spare=5),
    "time_ns": Column(NS, "Time", value=lambda one: one.time.sum),
    "mpi_ns": Column(NS, "Comm", shown=lambda one, _: one.mpi_ns or None, spare=3),
    **_spread("time", "time_", "max_ns", "mean_ns", "min_ns", "sd_ns", "max_rank"),
    **_spread("useful", ""),
    **_spread("own", "own_", "max_ns", "mean_ns", "max_rank", "imbalance", "lost_ns"),
    "ran_on": Column(
        COUNT, "Ran on", value=lambda one: one.ran, shown=lambda one, _: _ran_on(one)
    ),
    "ranks": Column(COUNT, value=lambda one: one.time.ranks),
    **{name: _efficiency_column(one) for name, one in _METRICS.items()},
    "source": Column(
        SOURCE,
        SOURCE_TITLE,
        value=lambda one: None if one.line == WHOLE else (one.key, one.line),
    ),
}

_OWN_TITLES = {
    "own_lost_ns": "Lost",
    "own_imbalance": "Imbal",
    "own_max_ns": "Max",
    "own_mean_ns": "Mean",
    "own_max_rank": "Rank",
    "ran_on": "Ran on",
    "place": "Line",
    "source": SOURCE_TITLE,
}


class _Found(NamedTuple):
    """The spreads of a profile, and the functions to show."""

    run: RunSpread
    lines: dict[Key, list[LineSpread]]  # in order
    wholes: dict[Key, LineSpread]
    shown: list[Key]  # the most lost time first
    more: int  # functions that are left out


def ranks(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the efficiency of the run, its worst lines, and a table per function."""
    found = _found(profile, options)
    if found is None:
        yield NO_RANKS_KNOWN
        return
    yield from _summary(profile, found.run)
    yield ""
    yield from _worst(found, sources, options)
    for key in found.shown:
        yield ""
        yield from _table(key, found, sources, options)
    yield ""
    yield _LEGEND
    yield _EFFICIENCY
    if found.more:
        yield (
            f"{counted(found.more, 'more function')} with less lost time not shown;"
            " --all-functions shows all, --limit N the first N"
        )


def rank_notes(profile: Profile, _: Options) -> Iterator[str]:
    """Yield what the numbers lack."""
    has_ranks = any(process.rank is not None for process in profile.processes)
    if has_ranks and not any(map(is_collective, called_functions(profile.calls))):
        yield f"{NO_MPI}. Here all time counts as computing"


def _found(profile: Profile, options: Options) -> _Found | None:
    """Return the spreads of a profile; None if it has no ranks."""
    every = ranks_of(profile)
    if not every.runs:
        return None
    spreads = line_spreads(every)
    known = {function.key for function in profile.functions}
    lines: dict[Key, list[LineSpread]] = {}
    wholes: dict[Key, LineSpread] = {}
    for (key, line), spread in spreads.items():
        if key not in known:
            continue
        if line == WHOLE:
            wholes[key] = spread
        else:
            lines.setdefault(key, []).append(spread)
    for some in lines.values():
        some.sort(key=lambda one: one.line)
    lost = {key: sum(one.own.lost for one in some) for key, some in lines.items()}
    order = sorted(lines, key=lambda key: -lost[key])
    all_lost = sum(lost.values())
    shown = limited(order, options, lambda key: lost[key], all_lost)
    if not (options.all_functions or options.limit or options.min_percent):
        shown = order[:_MAX_FUNCTIONS]
    run, more = run_spread(every), len(order) - len(shown)
    return _Found(run=run, lines=lines, wholes=wholes, shown=shown, more=more)


# The run.


def _summary(profile: Profile, run: RunSpread) -> Iterator[str]:
    """Yield sentences on the whole run."""
    present = {one.rank for one in profile.processes if one.rank is not None}
    count = max((one.ranks or 0 for one in profile.processes), default=0)
    missing = missing_ranks(present, count)
    of_all = f" of {count:,}" if missing.number else ""
    names = ", ".join(map(str, missing.first[:_MAX_NAMED]))
    dots = ", ..." if missing.number > len(missing.first) else ""
    without = f" (missing: {names}{dots})" if missing.number else ""
    yield (
        f"{run.wall.ranks:,}{of_all} ranks{without}, {in_words(run.wall.max)}:"
        f" {_efficiency(run.efficiency)}"
    )
    yield (f"Computing: {_extremes(run.useful)}. Communication: {_extremes(run.mpi)}.")


def _extremes(one: Spread) -> str:
    if not one.max:
        return "none"
    return f"mean {in_words(one.mean)}, max {in_words(one.max)} (rank {one.max_rank})"


def _efficiency(found: Efficiency) -> str:
    """Return the metrics of POP in words."""
    return (
        f"parallel efficiency {percent(found.parallel, 1)} = load balance"
        f" {percent(found.load_balance, 1)} x communication efficiency"
        f" {percent(found.communication, 1)}"
    )


def _worst(found: _Found, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the lines with the most lost time of their own."""
    every = [one for some in found.lines.values() for one in some if one.own.lost]
    every.sort(key=lambda one: -one.own.lost)
    shown = every[: options.limit or _MAX_LINES]
    if not shown:
        yield "No line took longer on one rank than on another"
        return
    yield "Lines with the most lost time, by their own computing, without callees:"
    names = short_names(one.key for one in shown)
    context = Context(terminal=options.terminal, names=names, sources=sources)
    unit = time_unit_for(one.own.lost for one in shown)
    yield from table(RANKS, shown, context, titles=_OWN_TITLES, unit=unit)


def _ran_on(one: LineSpread) -> str:
    return f"{one.ran:,} of {one.time.ranks:,}"


# The table of a function.


def _table(
    key: Key, found: _Found, sources: Sources, options: Options
) -> Iterator[str]:
    """Yield the table of one function."""
    file, line, name = key
    some, whole = found.lines[key], found.wholes.get(key)
    yield options.terminal.clipped(f"Function: {name} at line {line} of {file}", 0)
    if whole is not None:
        metrics = _efficiency(efficiency(whole.useful, whole.time.max))
        calls = f"{counted(whole.hits, 'call')}, " if whole.hits else ""
        yield f"{calls}ran on {_ran_on(whole)} ranks; {metrics}"
    yield ""
    unit = time_unit_for(one.time.sum for one in some)
    most = max((one.own.lost for one in some), default=0)
    heat = [100.0 * (most > 0 and one.own.lost == most) for one in some]
    context = Context(terminal=options.terminal, sources=sources, indented=True)
    columns = RANKS
    if any(one.mpi_ns for one in some):  # a narrow terminal leaves it out if empty
        columns = {**RANKS, "mpi_ns": replace(RANKS["mpi_ns"], spare=0)}
    yield from table(columns, some, context, unit=unit, heat=heat)


# For other programs.


def rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --ranks: each function, then its lines."""
    if not (options.limit or options.min_percent):
        options = options._replace(all_functions=True)
    found = _found(profile, options)
    if found is None:
        return rows_of(RANKS, (), sources, totals={"ranks": 0})
    every: list[LineSpread] = []
    for key in found.shown:
        whole = found.wholes.get(key)
        every += [whole] if whole is not None else []
        every += found.lines[key]
    run = found.run
    totals: dict[str, object] = {
        "ranks": run.wall.ranks,
        "wall_ns": run.wall.max,
        "useful_mean_ns": run.useful.mean,
        "useful_max_ns": run.useful.max,
        "useful_max_rank": run.useful.max_rank,
        "mpi_mean_ns": run.mpi.mean,
        "mpi_max_ns": run.mpi.max,
        **{name: getattr(run.efficiency, one) for name, one in _METRICS.items()},
    }
    return rows_of(RANKS, every, sources, more=found.more, totals=totals)
