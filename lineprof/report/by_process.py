"""The view --by: each rank or process, and each line by rank or process."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import LineprofError
from lineprof.model.rank_lines import WHOLE, processes_of, ranks_of, values_of
from lineprof.model.rank_spread import useful_ns
from lineprof.model.records import Key, Process, Ranks, ranked
from lineprof.report.columns import (
    BYTES,
    COUNT,
    NS,
    PLACE,
    SOURCE,
    SOURCE_TITLE,
    WORDS,
    Column,
    Columns,
)
from lineprof.report.memory_format import marker
from lineprof.report.options import BY_PROCESS, Options
from lineprof.report.ranks import NO_RANKS_KNOWN
from lineprof.report.rows import Rows, rows_of
from lineprof.report.text_grid import Context, grid, more_rows, table, time_unit_for

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from lineprof.model.profile import Profile
    from lineprof.source import Sources

_NO_PROCESSES = "The profile does not say which processes ran"

_MAX_ROWS = 1_000_000  # of a matrix for other programs

_WIDE = 120  # columns of a file or pipe

_CELL = 11  # columns of a time

_BESIDE = 34  # columns of the line number and the source, at least

_TITLE = 6  # more columns if titles are ranges

_MIN_COLUMNS, _MAX_COLUMNS = 2, 16  # of times


class _Item(NamedTuple):
    """One rank or process."""

    number: int  # the rank, or the index of the process
    process: int | None  # its index, if it is one process
    processes: Sequence[Process]
    wall_ns: int
    mpi_ns: int | None = None  # None: not known
    useful_ns: int | None = None  # in its lines, without communication
    hits: int | None = None
    lines: int | None = None
    peak_bytes: int = 0  # of memory, of its process that had most

    @property
    def cpu_ns(self) -> int | None:
        """Time of its processes on processors; None if unknown."""
        times = [process.cpu_ns for process in self.processes]
        return None if None in times or not times else sum(filter(None, times))


class _LineOfItem(NamedTuple):
    """One line of a rank or process."""

    process: int | None
    processes: Sequence[Process]
    place: tuple[Key, int]
    hits: int
    time_ns: int
    mpi_ns: int
    callees_ns: int


def _pids(row: _Item, _: object) -> str:
    more = len(row.processes) - 1
    return f"{row.processes[0].pid}" + (f" +{more}" if more else "")


_PROCESS: Columns = {  # of an _Item and of a _LineOfItem
    "rank": Column(COUNT, "Rank", value=lambda row: row.processes[0].rank),
    "process": Column(COUNT),
    "pid": Column(COUNT, "PID", value=lambda row: row.processes[0].pid, shown=_pids),
    "host": Column(WORDS, "Host", value=lambda row: row.processes[0].host),
    "command": Column(
        WORDS, "Command", value=lambda row: " ".join(row.processes[0].argv)
    ),
}

_ITEMS: Columns = {
    **_PROCESS,
    "processes": Column(COUNT, value=lambda row: len(row.processes)),
    "start_unix_ns": Column(NS, value=lambda row: row.processes[0].start_unix_ns),
    "wall_ns": Column(NS, "Wall"),
    "cpu_ns": Column(NS, "CPU", spare=2),
    "mpi_ns": Column(NS, "Comm"),
    "useful_ns": Column(NS, "In lines"),
    "hits": Column(COUNT, "Hits", spare=3),
    "lines": Column(COUNT, "Lines", spare=1),
}

_MATRIX: Columns = {
    **_PROCESS,
    "place": Column(PLACE),
    "hits": Column(COUNT),
    "time_ns": Column(NS),
    "mpi_ns": Column(NS),
    "callees_ns": Column(NS),
    "source": Column(SOURCE, value=lambda row: row.place),
}


def by(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield a row for each rank or process, or the lines of each."""
    groups = _groups(profile, options)
    items = _items(profile, groups, options)
    if not items:
        yield _NO_PROCESSES if options.by == BY_PROCESS else NO_RANKS_KNOWN
        return
    if options.matrix:
        yield from _matrix(profile, groups, sources, options)
        return
    shown = items[: options.limit or None]
    unit = time_unit_for(item.wall_ns for item in shown)
    hidden = ["mpi_ns"] if options.named else []  # it is that of the whole run
    context = Context(terminal=options.terminal)
    yield from table(_columns(profile), shown, context, unit=unit, hidden=hidden)
    yield from more_rows(len(items) - len(shown))


def _columns(profile: Profile) -> Columns:
    """Return the columns of ranks or processes, for the data that a profile has."""
    mark = marker(profile.memory)
    peak = Column(BYTES, "Peak", value=lambda row: mark(row.peak_bytes), optional=True)
    return {**_ITEMS, **({"host_peak_bytes": peak} if profile.memory.runs else {})}


def _groups(profile: Profile, options: Options) -> Ranks:
    return processes_of(profile) if options.by == BY_PROCESS else ranks_of(profile)


def _items(profile: Profile, groups: Ranks, options: Options) -> list[_Item]:
    """Return all ranks, or all processes, with the sums over the chosen functions."""
    processes = ranked(profile.processes)
    known = {function.key for function in profile.functions}
    chosen = [key in known and line != WHOLE for key, line in groups.places]
    members: dict[int, list[Process]] = {}
    peaks = {run.process: run.peak_bytes for run in profile.memory.runs}
    most: dict[int, int] = {}
    for position, process in enumerate(processes):
        number = position if options.by == BY_PROCESS else process.rank
        if number is not None:
            members.setdefault(number, []).append(process)
            most[number] = max(most.get(number, 0), peaks.get(position, 0))
    runs = {run.rank: run for run in groups.runs}
    items = []
    for number, some in sorted(members.items()):
        run = runs.get(number)
        wall_ns = run.wall_ns if run else max(process.wall_ns for process in some)
        index = number if options.by == BY_PROCESS else None
        item = _Item(
            number=number,
            process=index,
            processes=some,
            wall_ns=wall_ns,
            peak_bytes=most[number],
        )
        if run is not None:
            values = values_of(groups, run)
            own = useful_ns(values)[1]
            is_chosen = [chosen[place] for place in values.places]
            item = item._replace(
                mpi_ns=None if options.named else run.mpi_ns,
                useful_ns=sum(ns for ns, one in zip(own, is_chosen) if one),
                hits=sum(hits for hits, one in zip(values.hits, is_chosen) if one),
                lines=sum(is_chosen),
            )
        items.append(item)
    return items


# Lines by rank or process.


def _matrix(
    profile: Profile, groups: Ranks, sources: Sources, options: Options
) -> Iterator[str]:
    """Yield a table for each function: its lines, and a column for each group.

    If there are more groups than columns, each column has the mean of several.
    """
    names: list[int] = [run.rank for run in groups.runs]
    if options.by == BY_PROCESS:
        names = [profile.processes[index].pid for index in names]
    room = (options.terminal.width or _WIDE) - _BESIDE
    if len(names) > room // _CELL:
        room -= _TITLE  # of ranges
    count = min(max(_MIN_COLUMNS, room // _CELL), _MAX_COLUMNS)
    size = -(-len(names) // count) or 1
    parts = [names[start : start + size] for start in range(0, len(names), size)]
    titles = [
        f"{part[0]}-{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts
    ]
    sums: dict[Key, dict[int, list[int]]] = {}
    for index, run in enumerate(groups.runs):
        values = values_of(groups, run)
        for place, ns in zip(values.places, useful_ns(values)[0]):
            key, line = groups.places[place]
            if line != WHOLE:
                row = sums.setdefault(key, {}).setdefault(line, [0] * len(parts))
                row[index // size] += ns
    of_several = f", the mean of {size} in each column" if size > 1 else ""
    yield f"Time without communication by {options.by}{of_several}"
    functions = [one.key for one in profile.functions if one.key in sums]
    for key in functions[: options.limit or None]:
        file, first_line, name = key
        yield ""
        heading = f"Function: {name} at line {first_line} of {file}"
        yield options.terminal.clipped(heading, 0)
        rows = {
            line: [ns / len(part) for ns, part in zip(row, parts)]
            for line, row in sorted(sums[key].items())
        }
        unit = time_unit_for(ns for row in rows.values() for ns in row)
        cells = [
            [
                f"{line}",
                *[unit.text(ns) if ns else "" for ns in row],
                (sources.line(file, line) or "").rstrip(),
            ]
            for line, row in rows.items()
        ]
        heads = [f"{title} ({unit.name})" for title in titles]
        yield from grid(["Line #", *heads, SOURCE_TITLE], cells, options.terminal)
    yield from more_rows(len(functions) - len(functions[: options.limit or None]))


# For other programs.


def rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --by, those of its lines with --matrix.

    LineprofError if these are too many.
    """
    groups = _groups(profile, options)
    items = _items(profile, groups, options)
    if not options.matrix:
        shown = items[: options.limit or None]
        return rows_of(_columns(profile), shown, sources, more=len(items) - len(shown))
    every = [function.key for function in profile.functions]
    known = {*every[: options.limit or None]}
    lines = list(islice(_lines(groups, items, known), _MAX_ROWS + 1))
    if len(lines) > _MAX_ROWS:
        raise LineprofError(
            f"the matrix has more than {_MAX_ROWS:,} rows",
            hint="name the functions to show, or give --limit N",
        )
    return rows_of(_MATRIX, lines, sources, more=len(every) - len(known))


def _lines(
    groups: Ranks, items: Sequence[_Item], known: Container[Key]
) -> Iterator[_LineOfItem]:
    """Yield each line of the `known` functions, by rank or process."""
    by_number = {item.number: item for item in items}
    for run in groups.runs:
        item = by_number.get(run.rank)
        if item is None:
            continue
        values = values_of(groups, run)
        for place, hits, time_ns, mpi_ns, callees_ns in zip(
            *(values.places, values.hits, values.time_ns),
            *(values.mpi_ns, values.callees_ns),
        ):
            key, line = groups.places[place]
            if key in known and line != WHOLE:
                yield _LineOfItem(
                    process=item.process,
                    processes=item.processes,
                    place=(key, line),
                    hits=hits,
                    time_ns=time_ns,
                    mpi_ns=mpi_ns,
                    callees_ns=callees_ns,
                )
