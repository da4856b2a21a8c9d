"""Lines as each rank of a parallel program ran them, in packed columns.

A profile of a few files has a record of each line and thread, and a thread belongs to a
process and that to a rank. A profile that was merged from many files has no threads: it
keeps the numbers of each rank here. Times are integers in nanoseconds (ns).
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from itertools import groupby, islice
from operator import attrgetter, itemgetter, lt
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import LineprofError
from lineprof.model.call_graph import calling_lines
from lineprof.model.collectives import is_collective
from lineprof.model.communication import node_mpi_ns
from lineprof.model.records import (
    NO_NODE,
    UNKNOWN_THREAD,
    RankRun,
    Ranks,
    cell_columns,
    node_columns,
    ranked,
)
from lineprof.model.timelines import Packing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import CellColumns, Key, MergedCall
    from lineprof.model.timelines import Batch

    Place = tuple[Key, int]  # function, its line; line 0 is the whole function

WHOLE = 0  # the line of a function's own numbers: its calls and its total time

# Columns and their typecodes in the array module.
LINE_COLUMNS = {
    "line": "I",  # index in Ranks.places
    "hits": "Q",
    "time": "Q",
    "mpi": "Q",  # the part of the time in collectives and messages
    "callees": "Q",  # the part in profiled Python functions, without mpi
}

_LINES = Packing(kinds=LINE_COLUMNS, differences=frozenset({"line"}))

_MAX = (1 << 63) - 1  # of a number in a file


class RankValues(NamedTuple):
    """The numbers of the lines that one rank ran, as columns of the same length."""

    places: Sequence[int]  # indexes in Ranks.places, each once
    hits: Sequence[int]
    time_ns: Sequence[int]
    mpi_ns: Sequence[int]
    callees_ns: Sequence[int]


_numbers_of = attrgetter("hits", "time_ns", "mpi_ns", "callees_ns")


def values_of(ranks: Ranks, run: RankRun) -> RankValues:
    """Return the numbers of a rank; LineprofError if they are damaged."""
    try:
        columns = {name: _LINES.column(run.batches, name) for name in LINE_COLUMNS}
        places = columns["line"]
        if places and (
            max(places) >= len(ranks.places) or len({*places}) < len(places)
        ):
            raise ValueError("it names lines that are not there, or twice")  # noqa: TRY301
        if any(max(one, default=0) > _MAX for one in columns.values()):
            raise ValueError("a number is beyond 63 bits")  # noqa: TRY301
    except ValueError as error:
        raise LineprofError(
            f"the profile is damaged (rank {run.rank}: {error})",
            hint="merge the files of the ranks again",
        ) from error
    return RankValues(
        places=places,
        hits=columns["hits"],
        time_ns=columns["time"],
        mpi_ns=columns["mpi"],
        callees_ns=columns["callees"],
    )


class RanksBuilder:
    """Ranks that are added one after the other; each stays packed."""

    def __init__(self) -> None:
        self._places: dict[Place, int] = {}
        self._runs: dict[int, RankRun] = {}
        self._last: tuple[Sequence[Place], list[int]] = ((), [])

    @property
    def ranks(self) -> Ranks:
        """All ranks so far."""
        runs = [self._runs[rank] for rank in sorted(self._runs)]
        return Ranks(places=tuple(self._places), runs=tuple(runs))

    def add(self, run: RankRun, places: Sequence[Place], values: RankValues) -> None:
        """Add the numbers of a rank, or of a part of it.

        `places` are those of `values`. The wall time of a rank is that of its longest
        part, and its communication as well: the larger one if several are as long.
        """
        indexes = [*self._indexes(places)]
        columns: Sequence[Sequence[int]] = _numbers_of(values)
        before = self._runs.get(run.rank)
        if before is not None:
            old = values_of(self.ranks, before)
            indexes += old.places
            columns = [[*one, *more] for one, more in zip(columns, _numbers_of(old))]
            longest = max(before, run, key=lambda one: (one.wall_ns, one.mpi_ns))
            run = run._replace(wall_ns=longest.wall_ns, mpi_ns=longest.mpi_ns)
        self._runs[run.rank] = run._replace(batches=_packed(indexes, columns))

    def _indexes(self, places: Sequence[Place]) -> list[int]:
        """Return the indexes of `places`, which are mostly those of the rank before."""
        if places is not self._last[0]:
            known = self._places
            found = [known.setdefault(place, len(known)) for place in places]
            self._last = (places, found)
        return self._last[1]

    def add_ranks(self, ranks: Ranks) -> None:
        """Add the ranks of another profile."""
        for run in ranks.runs:
            values = values_of(ranks, run)
            self.add(run, [ranks.places[i] for i in values.places], values)


def _packed(indexes: list[int], columns: Sequence[Sequence[int]]) -> tuple[Batch, ...]:
    """Return batches of lines in order, those with the same index summed."""
    columns = [indexes, *columns]
    # Most ranks have their lines in order.
    if not all(map(lt, indexes, islice(indexes, 1, None))):
        rows = sorted(zip(*columns))
        if len({*indexes}) < len(indexes):
            rows = [
                (index, *map(sum, islice(zip(*same), 1, None)))
                for index, same in groupby(rows, key=itemgetter(0))
            ]
        columns = list(zip(*rows))
    return _LINES.pack(
        {
            name: array(kind, _stored(column)).tobytes()
            for (name, kind), column in zip(LINE_COLUMNS.items(), columns)
        }
    )


def _stored(numbers: Sequence[int]) -> Sequence[int]:
    """Return numbers as the file takes them: from 0 to 2**63 - 1."""
    if numbers and (min(numbers) < 0 or max(numbers) > _MAX):
        return [min(max(number, 0), _MAX) for number in numbers]
    return numbers


# From the records of threads.


def ranks_of(profile: Profile) -> Ranks:
    """Return the lines of each rank of `profile`, packed or by its threads."""
    if profile.ranks.runs:
        return profile.ranks
    builder = RanksBuilder()
    add_profile(builder, profile, cell_columns(profile.functions))
    return builder.ranks


def processes_of(profile: Profile) -> Ranks:
    """Return the lines of each process of `profile`, in place of its rank.

    The numbers of ranks are the indexes of processes. A profile without threads has
    the lines of those processes that are alone in their rank.
    """
    builder = RanksBuilder()
    if not profile.ranks.runs:
        groups = [*range(len(profile.processes))]
        _add_groups(builder, profile, cell_columns(profile.functions), groups)
        return builder.ranks
    of_rank: dict[int | None, list[int]] = {}
    for index, process in enumerate(profile.processes):
        of_rank.setdefault(process.rank, []).append(index)
    runs = [
        run._replace(rank=of_rank[run.rank][0])
        for run in profile.ranks.runs
        if len(of_rank.get(run.rank, ())) == 1
    ]
    runs.sort(key=lambda run: run.rank)
    return profile.ranks._replace(runs=tuple(runs))


class Layout:
    """The places of the columns of a file: its lines, then its whole functions.

    Files of the ranks of one program mostly have the same.
    """

    def __init__(self, cells: CellColumns) -> None:
        self._of = (cells.keys, cells.function, cells.line)
        keys = cells.keys
        self.functions = [*dict.fromkeys(cells.function)]  # indexes in `keys`
        self.places: list[Place] = [
            *((keys[index], line) for index, line in zip(cells.function, cells.line)),
            *((keys[index], WHOLE) for index in self.functions),
        ]
        self.position: dict[Place, int] = {}  # the first one of each place
        for index, place in enumerate(self.places):
            self.position.setdefault(place, index)

    def fits(self, cells: CellColumns) -> bool:
        """Tell whether `cells` have the same places."""
        return self._of == (cells.keys, cells.function, cells.line)


def add_profile(
    builder: RanksBuilder,
    profile: Profile,
    cells: CellColumns,
    layout: Layout | None = None,
) -> None:
    """Add the ranks of a profile whose lines are `cells`.

    Lines of threads and processes of no known rank are left out.
    """
    if profile.ranks.runs:
        builder.add_ranks(profile.ranks)
        return
    groups = [process.rank for process in ranked(profile.processes)]
    _add_groups(builder, profile, cells, groups, layout)


def _add_groups(
    builder: RanksBuilder,
    profile: Profile,
    cells: CellColumns,
    of_process: Sequence[int | None],
    layout: Layout | None = None,
) -> None:
    """Add the lines of each group of processes: `of_process` has that of each."""
    of_thread: list[int | None] = [of_process[one.process] for one in profile.threads]
    every = sorted({rank for rank in of_process if rank is not None})
    only = every[0] if len({*of_process}) == 1 and every else None
    of_thread.append(only)  # of UNKNOWN_THREAD: -1 is the last index
    parts = _calls_of(profile, of_thread, every)
    for rank in every:
        part = parts[rank]
        walls = {
            index: process.wall_ns
            for index, process in enumerate(profile.processes)
            if of_process[index] == rank
        }
        wall_ns = max(walls.values())
        main_threads = [
            _main_thread(profile, index) for index, ns in walls.items() if ns == wall_ns
        ]
        mpi_ns = max(
            sum(part.threads[one] for one in {main, UNKNOWN_THREAD})
            for main in main_threads
        )
        if rank == only:
            own, own_layout = cells, layout or Layout(cells)
            for function in profile.functions:
                part.functions[function.key] = (function.calls, function.recursive_ns)
        else:
            own = cells.selected([of_thread[one] == rank for one in cells.thread])
            own_layout = Layout(own)
        run = RankRun(rank=rank, wall_ns=wall_ns, mpi_ns=mpi_ns)
        builder.add(run, own_layout.places, _values(own, own_layout, part))


def _main_thread(profile: Profile, process: int) -> int:
    """Return the index of the main thread of a process, or else of its first one."""
    pid, threads = profile.processes[process].pid, profile.threads
    own = [index for index, one in enumerate(threads) if one.process == process]
    for index in own:
        if threads[index].native_id == pid or threads[index].name == "MainThread":
            return index
    return own[0] if own else UNKNOWN_THREAD


def _values(cells: CellColumns, layout: Layout, part: _Calls) -> RankValues:
    """Return the numbers of the lines and the functions of one rank."""
    totals = [0] * len(cells.keys)
    for function, ns in zip(cells.function, cells.time_ns):
        totals[function] += ns
    hits, times = [*cells.hits], [*cells.time_ns]
    for function in layout.functions:
        calls, total_ns = part.functions.get(cells.keys[function], (0, None))
        hits.append(calls)
        times.append(totals[function] if total_ns is None else total_ns)
    # A line that several threads ran has its calls once, with the first of them.
    mpi, callees = [0] * len(times), [0] * len(times)
    for place, ns in part.mpi.items():
        key, _ = place
        for one in (place, (key, WHOLE)):
            if one in layout.position:
                mpi[layout.position[one]] += ns
    for place, ns in part.callees.items():
        if place in layout.position:
            callees[layout.position[place]] += ns
    within = {key for key in cells.keys if is_collective(key)}
    for index, (key, _) in enumerate(layout.places if within else ()):
        if key in within:  # its lines are communication, whatever they call
            mpi[index], callees[index] = times[index], 0
    return RankValues(
        places=(), hits=hits, time_ns=times, mpi_ns=mpi, callees_ns=callees
    )


class _Calls:
    """Sums over the calls of one rank (ns)."""

    def __init__(self) -> None:
        # Time in collectives and messages, by thread and by line.
        self.threads: dict[int, int] = defaultdict(int)
        self.mpi: dict[Place, int] = defaultdict(int)
        # The rest of the time in functions, by line.
        self.callees: dict[Place, int] = defaultdict(int)
        # Calls, and the total time if it is known.
        self.functions: dict[Key, tuple[int, int | None]] = {}

    def add(
        self, key: Key, calls: int, total_ns: int, own_ns: int, place: Place | None
    ) -> None:
        """Add calls of a function from a line; `own_ns` is without communication."""
        if not key[0]:
            return
        n_calls, before_ns = self.functions.get(key, (0, 0))
        self.functions[key] = (n_calls + calls, (before_ns or 0) + total_ns)
        if place is not None:
            self.callees[place] += max(0, own_ns)


def _calls_of(
    profile: Profile, of_thread: Sequence[int | None], every: Sequence[int]
) -> dict[int | None, _Calls]:
    """Return the sums over the calls of each rank in `every`."""
    parts: dict[int | None, _Calls] = {rank: _Calls() for rank in every}
    nodes = node_columns(profile.calls.nodes)
    keys, called = nodes.functions, nodes.column("function")
    names = ("thread", "parent", "calls", "total_ns", "inclusive_ns")
    rows = zip(
        called, *map(nodes.column, names), calling_lines(nodes), node_mpi_ns(nodes)
    )
    for function, thread, parent, calls, total_ns, inclusive_ns, place, mpi_ns in rows:
        part = parts.get(of_thread[thread])
        if part is None:
            continue
        if parent == NO_NODE:
            part.threads[thread] += mpi_ns
        elif mpi_ns and place is not None and keys[called[parent]][0]:
            part.mpi[place] += mpi_ns
        part.add(keys[function], calls, total_ns, inclusive_ns - mpi_ns, place)
    for one in profile.calls.merged:
        part = parts.get(of_thread[one.thread])
        if part is not None:
            _add_merged(part, one)
    return parts


def _add_merged(part: _Calls, one: MergedCall) -> None:
    """Add calls whose own call path is not known to the sums of their rank."""
    key, caller = one.function, one.caller
    ns = one.inclusive_ns if is_collective(key) else 0
    if caller is None or not is_collective(caller):
        part.threads[one.thread] += ns
    place = (caller, one.line) if caller is not None and caller[0] else None
    if ns and place is not None:
        part.mpi[place] += ns
    part.add(key, one.calls, one.total_ns, one.inclusive_ns - ns, place)
