"""The rows of the SQLite export, table by table, as they are needed."""

from __future__ import annotations

from lineprof.call_edges import edges, gpu_of_edges, numbers_of, own_line_ns
from lineprof.call_records import NO_NODE
from lineprof.exports.sqlite_gpu import gpu_rows
from lineprof.exports.timeline_clock import Clock
from lineprof.records import UNKNOWN_THREAD
from lineprof.source import Sources
from lineprof.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.records import Key
    from lineprof.stats import Profile

    Rows = Iterator[tuple[object, ...]]


class Ids(dict["Key", int]):
    """The number of each function, given when it is first asked for."""

    def __missing__(self, key: Key) -> int:
        """Return the number of a function that is new."""
        number = self[key] = len(self) + 1
        return number


def thread_id(thread: int) -> int | None:
    """Return the id of a thread, or NULL."""
    return None if thread == UNKNOWN_THREAD else thread + 1


def rows(stats: Profile) -> Iterator[tuple[str, Iterable[tuple[object, ...]]]]:
    """Yield each table's name and its rows: take these before the next table."""
    ids = Ids()
    yield "meta", [("exporter", f"lineprof {VERSION}")]
    yield "meta", [("warning", text) for text in stats.warnings]
    yield "processes", _processes(stats)
    yield (
        "threads",
        [
            (index, one.process + 1, one.native_id, one.name)
            for index, one in enumerate(stats.threads, 1)
        ],
    )
    for function in stats.functions:
        ids[function.key]  # in this order
    yield "lines", _lines(stats, ids)
    yield "line_threads", _line_threads(stats, ids)
    yield "edges", _edges(stats, ids)
    yield "call_tree", _tree(stats, ids)
    yield (
        "waits",
        (
            (ids[one.function], one.line, thread_id(one.thread), one.cause, one.ns)
            for one in stats.waits
        ),
    )
    clock = Clock(stats)
    yield from gpu_rows(stats, ids, clock)
    yield "slices", _slices(stats, ids, clock)
    yield "functions", _functions(stats, ids)


def _processes(stats: Profile) -> Rows:
    for index, one in enumerate(stats.processes, 1):
        program = " ".join(one.argv)
        place = (one.pid, one.host, one.rank, program, one.cwd, one.python)
        times = (one.start_unix_ns, one.wall_ns, one.overhead_ns)
        yield (index, *place, *times, one.exit)


def _functions(stats: Profile, ids: Ids) -> Rows:
    known = numbers_of(stats)
    for key in known:
        ids[key]  # those of C, too, that no one else has named
    for key, number in ids.items():
        file, line, name = key
        one = known.get(key)
        numbers = (0, 0, 0, 0)
        if one is not None:
            numbers = (one.calls, one.primitive_calls, one.self_ns, one.total_ns)
        yield (number, file, name, line, *numbers)


def _lines(stats: Profile, ids: Ids) -> Rows:
    sources, own = Sources(stats.sources), own_line_ns(stats)
    for function in stats.functions:
        key = function.key
        for row in function.rows:
            yield (
                *(ids[key], row.line, row.hits, own[key][row.line], row.time_ns),
                *(row.await_ns, row.min_ns, row.max_ns),
                sources.line(function.file, row.line),
            )


def _line_threads(stats: Profile, ids: Ids) -> Rows:
    for function in stats.functions:
        number = ids[function.key]
        for cell in function.cells:
            yield (number, cell.line, thread_id(cell.thread), cell.hits, cell.time_ns)


def _edges(stats: Profile, ids: Ids) -> Rows:
    gpu = gpu_of_edges(stats)
    for one in edges(stats.calls):
        yield (
            None if one.caller is None else ids[one.caller],
            *(one.line, ids[one.callee]),
            *(one.calls, one.primitive_calls, one.total_ns, one.inclusive_ns),
            gpu.get((one.caller, one.line, one.callee), 0),
        )


def _tree(stats: Profile, ids: Ids) -> Rows:
    for index, one in enumerate(stats.calls.nodes, 1):
        yield (
            index,
            None if one.parent == NO_NODE else one.parent + 1,
            *(one.line, ids[one.function], thread_id(one.thread)),
            *(one.calls, one.primitive_calls, one.total_ns, one.inclusive_ns),
            one.self_ns,
        )


def _slices(stats: Profile, ids: Ids, clock: Clock) -> Rows:
    for trace in stats.traces:
        zero, process = clock.zero_of(trace), trace.process + 1
        for one in trace:
            yield (
                *(process, thread_id(one.thread), ids[one.function], one.line),
                *(zero + one.start_ns, one.ns),
            )
