"""The view --by: each rank or process, and each line by rank or process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import LineprofError
from lineprof.model.rank_lines import WHOLE, processes_of, ranks_of, values_of
from lineprof.model.rank_spread import useful_ns
from lineprof.model.records import ranked
from lineprof.report.options import BY_PROCESS
from lineprof.report.ranks import NO_RANKS_KNOWN
from lineprof.report.rows import Rows
from lineprof.report.text_grid import grid, more_rows, time_unit_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key, Process, Ranks
    from lineprof.report.options import Options
    from lineprof.source import Sources

_NO_PROCESSES = "The profile does not say which processes ran"

_MAX_ROWS = 1_000_000  # of a matrix for other programs

_WIDE = 120  # columns of a file or pipe

_CELL = 11  # columns of a time

_BESIDE = 34  # columns of the line number and the source, at least

_TITLE = 6  # more columns if titles are ranges

_COMM = 4  # the column of communication

_MIN_COLUMNS, _MAX_COLUMNS = 2, 16  # of times


class _Item(NamedTuple):
    """One rank or process."""

    number: int  # the rank, or the index of the process
    processes: Sequence[Process]
    wall_ns: int
    mpi_ns: int | None  # None: not known
    useful_ns: int | None  # in its lines, without communication
    hits: int | None
    lines: int | None

    @property
    def cpu_ns(self) -> int | None:
        """Time of its processes on processors; None if unknown."""
        times = [process.cpu_ns for process in self.processes]
        return None if None in times or not times else sum(filter(None, times))


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
    titles = [
        *("Rank", "PID"),
        *unit.titles("Wall", "CPU", "Comm", "In lines"),
        *("Hits", "Lines", "Host", "Command"),
    ]
    cells = [
        [
            "" if item.processes[0].rank is None else f"{item.processes[0].rank}",
            _pids(item),
            *(
                "" if ns is None else unit.text(ns)
                for ns in (item.wall_ns, item.cpu_ns, item.mpi_ns, item.useful_ns)
            ),
            "" if item.hits is None else f"{item.hits}",
            "" if item.lines is None else f"{item.lines}",
            item.processes[0].host,
            _command(item),
        ]
        for item in shown
    ]
    spare = (7, 3, 6)
    if options.named:  # communication is that of the whole run
        titles, *cells = ([*row[:_COMM], *row[_COMM + 1 :]] for row in [titles, *cells])
        spare = (6, 3, 5)
    yield from grid(titles, cells, options.terminal, words=2, spare=spare)
    yield from more_rows(len(items) - len(shown))


def _pids(item: _Item) -> str:
    more = len(item.processes) - 1
    return f"{item.processes[0].pid}" + (f" +{more}" if more else "")


def _command(item: _Item) -> str:
    return " ".join(item.processes[0].argv)


def _groups(profile: Profile, options: Options) -> Ranks:
    return processes_of(profile) if options.by == BY_PROCESS else ranks_of(profile)


def _items(profile: Profile, groups: Ranks, options: Options) -> list[_Item]:
    """Return all ranks, or all processes, with the sums over the chosen functions."""
    processes = ranked(profile.processes)
    known = {function.key for function in profile.functions}
    chosen = [key in known and line != WHOLE for key, line in groups.places]
    members: dict[int, list[Process]] = {}
    if options.by == BY_PROCESS:
        members = {index: [process] for index, process in enumerate(processes)}
    else:
        for process in processes:
            if process.rank is not None:
                members.setdefault(process.rank, []).append(process)
    runs = {run.rank: run for run in groups.runs}
    items = []
    for number in sorted({*members, *(runs if options.by != BY_PROCESS else ())}):
        some = members.get(number)
        if not some:
            continue  # a damaged file has ranks without processes
        run = runs.get(number)
        if run is None:
            items.append(
                _Item(
                    number=number,
                    processes=some,
                    wall_ns=max(process.wall_ns for process in some),
                    mpi_ns=None,
                    useful_ns=None,
                    hits=None,
                    lines=None,
                )
            )
            continue
        values = values_of(groups, run)
        own = useful_ns(values)[1]
        is_chosen = [chosen[place] for place in values.places]
        items.append(
            _Item(
                number=number,
                processes=some,
                wall_ns=run.wall_ns,
                mpi_ns=None if options.named else run.mpi_ns,
                useful_ns=sum(ns for ns, one in zip(own, is_chosen) if one),
                hits=sum(hits for hits, one in zip(values.hits, is_chosen) if one),
                lines=sum(is_chosen),
            )
        )
    return items


# Lines by rank or process.


def _matrix(
    profile: Profile, groups: Ranks, sources: Sources, options: Options
) -> Iterator[str]:
    """Yield a table for each function: its lines, and a column for each group.

    If there are more groups than columns, each column has the mean of several.
    """
    numbers = [run.rank for run in groups.runs]
    room = (options.terminal.width or _WIDE) - _BESIDE
    if len(numbers) > room // _CELL:
        room -= _TITLE  # of ranges
    count = min(max(_MIN_COLUMNS, room // _CELL), _MAX_COLUMNS)
    size = -(-len(numbers) // count) or 1
    parts = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    names = {number: number for number in numbers}
    if options.by == BY_PROCESS:
        names = {number: profile.processes[number].pid for number in numbers}
    titles = [
        f"{names[part[0]]}" + (f"-{names[part[-1]]}" if len(part) > 1 else "")
        for part in parts
    ]
    sums: dict[Key, dict[int, list[int]]] = {}
    for index, run in enumerate(groups.runs):
        values = values_of(groups, run)
        for place, ns in zip(values.places, useful_ns(values)[0]):
            key, line = groups.places[place]
            if line != WHOLE:
                row = sums.setdefault(key, {}).setdefault(line, [0] * len(parts))
                row[index // size] += ns
    what = "process" if options.by == BY_PROCESS else "rank"
    of_several = f", the mean of {size} in each column" if size > 1 else ""
    yield f"Time without communication by {what}{of_several}"
    functions = [one.key for one in profile.functions if one.key in sums]
    for key in functions[: options.limit or None]:
        file, first_line, name = key
        yield ""
        yield options.terminal.clipped(
            f"Function: {name} at line {first_line} of {file}", 0
        )
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
        yield from grid(["Line #", *heads, "Line Contents"], cells, options.terminal)
    yield from more_rows(len(functions) - len(functions[: options.limit or None]))


# For other programs.

_OF_PROCESS = ("rank", "process", "pid", "host", "command")

_COLUMNS = (
    *(*_OF_PROCESS, "processes", "start_unix_ns", "wall_ns", "cpu_ns", "mpi_ns"),
    *("useful_ns", "hits", "lines"),
)

_MATRIX = (
    *(*_OF_PROCESS, "file", "function", "function_line", "line"),
    *("hits", "time_ns", "mpi_ns", "callees_ns", "source"),
)


def rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --by, those of its lines with --matrix.

    LineprofError if these are too many.
    """
    groups = _groups(profile, options)
    items = _items(profile, groups, options)
    heads = {item.number: _head(item, options) for item in items}
    if options.matrix:
        return _matrix_rows(profile, groups, sources, heads, options)
    made = [
        {
            **heads[item.number],
            "processes": len(item.processes),
            "start_unix_ns": item.processes[0].start_unix_ns,
            "wall_ns": item.wall_ns,
            "cpu_ns": item.cpu_ns,
            "mpi_ns": item.mpi_ns,
            "useful_ns": item.useful_ns,
            "hits": item.hits,
            "lines": item.lines,
        }
        for item in items[: options.limit or None]
    ]
    return Rows(columns=_COLUMNS, rows=made, more=len(items) - len(made))


def _head(item: _Item, options: Options) -> dict[str, object]:
    first = item.processes[0]
    return {
        "rank": first.rank,
        "process": item.number if options.by == BY_PROCESS else None,
        "pid": first.pid,
        "host": first.host,
        "command": _command(item),
    }


def _matrix_rows(
    profile: Profile,
    groups: Ranks,
    sources: Sources,
    heads: dict[int, dict[str, object]],
    options: Options,
) -> Rows:
    """Return a row for each line and group."""
    every = [function.key for function in profile.functions]
    known = {*every[: options.limit or None]}
    total = 0
    made: list[dict[str, object]] = []
    for run in groups.runs:
        if run.rank not in heads:
            continue
        values = values_of(groups, run)
        numbers = zip(
            *(values.places, values.hits, values.time_ns),
            *(values.mpi_ns, values.callees_ns),
        )
        for place, hits, time_ns, mpi_ns, callees_ns in numbers:
            key, line = groups.places[place]
            if key not in known or line == WHOLE:
                continue
            total += 1
            if total > _MAX_ROWS:
                raise LineprofError(
                    f"the matrix has more than {_MAX_ROWS:,} rows",
                    hint="name the functions to show, or give --limit N",
                )
            made.append(
                {
                    **heads[run.rank],
                    "file": key[0],
                    "function": key[2],
                    "function_line": key[1],
                    "line": line,
                    "hits": hits,
                    "time_ns": time_ns,
                    "mpi_ns": mpi_ns,
                    "callees_ns": callees_ns,
                    "source": sources.line(key[0], line),
                }
            )
    return Rows(columns=_MATRIX, rows=made, more=len(every) - len(known))
