"""The view --ranks: lines over the ranks of a parallel program.

Its formulas are those of docs/ranks.md. "Computing" is time without communication.
"""

from __future__ import annotations

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
from lineprof.model.records import called_functions
from lineprof.report.limits import limited
from lineprof.report.line_table import NO_MPI
from lineprof.report.rows import Rows
from lineprof.report.text_grid import (
    counted,
    grid,
    in_words,
    percent,
    time_unit_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.rank_spread import Efficiency, LineSpread, RunSpread
    from lineprof.model.records import Key
    from lineprof.report.options import Options
    from lineprof.report.text_grid import TimeUnit
    from lineprof.source import Sources

NO_RANKS_KNOWN = (
    "The profile has no ranks: it is not of a program that mpirun, srun or torchrun"
    " started"
)

_MAX_FUNCTIONS = 10  # unless more are asked for

_MAX_LINES = 10  # of those at the top

_MAX_NAMED = 8  # missing ranks

_LEGEND = (
    "Time and Comm are sums over the ranks. Max, Mean, Min, SD and Rank, that of the"
    " max, are of time without communication (Comm). Imbal is max / mean - 1; Lost is"
    " (max - mean) x ranks, the time for which others may have waited."
)

_METRICS = (
    "Load balance is mean / max of the computing time; communication efficiency is the"
    " max of it / run time."
)


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
    yield _METRICS
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
    return _Found(
        run=run_spread(every),
        lines=lines,
        wholes=wholes,
        shown=shown,
        more=len(order) - len(shown),
    )


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
    yield (
        f"Computing: {_extremes(run.useful.mean, run.useful.max, run.useful.max_rank)}."
        f" Communication: {_extremes(run.mpi.mean, run.mpi.max, run.mpi.max_rank)}."
    )


def _extremes(mean: float, top: int, rank: int) -> str:
    if not top:
        return "none"
    return f"mean {in_words(mean)}, max {in_words(top)} (rank {rank})"


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
    names = short_names(one.key for one in shown)
    unit = time_unit_for(one.own.lost for one in shown)
    lost, top, mean = unit.titles("Lost", "Max", "Mean")
    titles = [lost, "Imbal", top, mean, "Rank", "Ran on", "Line", "Line Contents"]
    cells = [
        (
            unit.text(one.own.lost),
            _imbalance(one.own.imbalance),
            unit.text(one.own.max),
            unit.text(one.own.mean),
            f"{one.own.max_rank}",
            _ran_on(one),
            names.line(one.key[0], one.line),
            (sources.line(one.key[0], one.line) or "").strip(),
        )
        for one in shown
    ]
    yield "Lines with the most lost time, by their own computing, without callees:"
    yield from grid(titles, cells, options.terminal, words=2)


def _imbalance(share: float) -> str:
    return percent(share, 1)


def _ran_on(one: LineSpread) -> str:
    return f"{one.ran:,} of {one.time.ranks:,}"


# The table of a function.

_COMM = 3  # the column of communication

# Columns that a narrow terminal lacks: SD, Min, Comm if it is empty, ...
_SPARE = (7, 6, _COMM, 5, 1)


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
    rows = [_cells(one, unit, sources) for one in some]
    time, comm, top, mean, low, sd, lost = unit.titles(
        "Time", "Comm", "Max", "Mean", "Min", "SD", "Lost"
    )
    titles = [
        *("Line #", "Hits", time, comm, top, mean, low, sd, "Rank", "Imbal", lost),
        *("Ran on", "Line Contents"),
    ]
    most = max((one.own.lost for one in some), default=0)
    hot = [bool(most) and one.own.lost == most for one in some]
    has_comm = any(row[_COMM] for row in rows)
    spare = [index for index in _SPARE if index != _COMM or not has_comm]
    yield from grid(titles, rows, options.terminal, hot=hot, spare=spare)


def _cells(one: LineSpread, unit: TimeUnit, sources: Sources) -> Sequence[str]:
    useful = one.useful
    return [
        f"{one.line}",
        f"{one.hits}",
        unit.text(one.time.sum),
        unit.text(one.mpi_ns) if one.mpi_ns else "",
        unit.text(useful.max),
        unit.text(useful.mean),
        unit.text(useful.min),
        unit.text(useful.sd),
        f"{useful.max_rank}" if useful.max else "",
        _imbalance(useful.imbalance) if useful.max else "",
        unit.text(useful.lost) if useful.lost else "",
        _ran_on(one),
        (sources.line(one.key[0], one.line) or "").rstrip(),
    ]


# For other programs.

_COLUMNS = (
    *("file", "function", "function_line", "line", "hits", "time_ns", "mpi_ns"),
    *("time_max_ns", "time_mean_ns", "time_min_ns", "time_sd_ns", "time_max_rank"),
    *("max_ns", "mean_ns", "min_ns", "sd_ns", "max_rank", "imbalance", "lost_ns"),
    *("own_max_ns", "own_mean_ns", "own_max_rank", "own_imbalance", "own_lost_ns"),
    *("ran_on", "ranks", "load_balance", "communication_efficiency"),
    *("parallel_efficiency", "source"),
)


def rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --ranks: each function, then its lines."""
    if not (options.limit or options.min_percent):
        options = options._replace(all_functions=True)
    found = _found(profile, options)
    if found is None:
        return Rows(columns=_COLUMNS, rows=(), totals={"ranks": 0})
    made: list[dict[str, object]] = []
    for key in found.shown:
        whole = found.wholes.get(key)
        if whole is not None:
            metrics = efficiency(whole.useful, whole.time.max)
            made.append({**_row(whole, None), **_metrics(metrics)})
        made += [_row(one, sources.line(key[0], one.line)) for one in found.lines[key]]
    run = found.run
    totals: dict[str, object] = {
        "ranks": run.wall.ranks,
        "wall_ns": run.wall.max,
        "useful_mean_ns": run.useful.mean,
        "useful_max_ns": run.useful.max,
        "useful_max_rank": run.useful.max_rank,
        "mpi_mean_ns": run.mpi.mean,
        "mpi_max_ns": run.mpi.max,
        **_metrics(run.efficiency),
    }
    return Rows(columns=_COLUMNS, rows=made, more=found.more, totals=totals)


def _row(one: LineSpread, source: str | None) -> dict[str, object]:
    file, first_line, name = one.key
    useful = one.useful
    return {
        "file": file,
        "function": name,
        "function_line": first_line,
        "line": None if one.line == WHOLE else one.line,
        "hits": one.hits,
        "time_ns": one.time.sum,
        "mpi_ns": one.mpi_ns,
        "time_max_ns": one.time.max,
        "time_mean_ns": one.time.mean,
        "time_min_ns": one.time.min,
        "time_sd_ns": one.time.sd,
        "time_max_rank": one.time.max_rank,
        "max_ns": useful.max,
        "mean_ns": useful.mean,
        "min_ns": useful.min,
        "sd_ns": useful.sd,
        "max_rank": useful.max_rank,
        "imbalance": useful.imbalance,
        "lost_ns": useful.lost,
        "own_max_ns": one.own.max,
        "own_mean_ns": one.own.mean,
        "own_max_rank": one.own.max_rank,
        "own_imbalance": one.own.imbalance,
        "own_lost_ns": one.own.lost,
        "ran_on": one.ran,
        "ranks": one.time.ranks,
        "load_balance": None,
        "communication_efficiency": None,
        "parallel_efficiency": None,
        "source": source,
    }


def _metrics(found: Efficiency) -> dict[str, object]:
    return {
        "load_balance": found.load_balance,
        "communication_efficiency": found.communication,
        "parallel_efficiency": found.parallel,
    }
