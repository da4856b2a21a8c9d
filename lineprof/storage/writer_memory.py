"""Writer of host memory: its rows in a ``.lprof`` file."""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

from lineprof.model.host_memory import MemorySum
from lineprof.model.relation import NONE, PATH, PROCESS
from lineprof.model.timelines import packed
from lineprof.storage import schema_gpu
from lineprof.storage.schema import Indexes, filled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.model.host_memory import HostMemory, MemoryCurve, MemoryPath
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.storage.schema import Filled, Ids


def memory_tables(stats: Profile, refer: Ids) -> Iterator[Filled]:
    """Yield each table of memory with its rows; `refer` as for `filled`.

    IndexError or KeyError if the data refer to records that the profile does not
    have; ValueError if a process has several curves, or a curve but no run, or if a
    curve lacks the number of a moment.
    """
    memory = stats.memory
    # Paths and curves have lines of functions with lines alone.
    ids = {function.key: index for index, function in enumerate(stats.functions)}
    nodes: dict[tuple[int, Key, int], int] = {}  # (parent, function, line) to its id
    ends = [_node_of(path, nodes) for path in memory.paths]
    refer = {**refer, PATH: Indexes(memory.paths, "path").__getitem__}
    yield (
        schema_gpu.MEMORY_NODES,
        (
            (index, None if parent == NONE else parent, ids[key], line)
            for (parent, key, line), index in nodes.items()
        ),
    )
    yield filled(schema_gpu.MEMORY_PATHS, memory.paths, refer, node_id=ends)
    yield filled(schema_gpu.MEMORY_SUMS, [*map(_sound, memory.sums)], refer)
    curves = _curves_of_runs(memory)
    yield filled(
        schema_gpu.MEMORY_RUNS,
        memory.runs,
        refer,
        moments=[curve and len(curve.times_ns) for curve in curves],
        times=[curve and _packed(accumulate(curve.times_ns, max)) for curve in curves],
        live=[curve and _packed(curve.live_bytes) for curve in curves],
    )
    yield (
        schema_gpu.MEMORY_CURVE_LINES,
        [
            (refer[PROCESS](curve.process), ids[key], line, _packed(numbers))
            for curve in memory.curves
            for (key, line), numbers in zip(curve.lines, curve.line_bytes, strict=True)
        ],
    )


def _node_of(path: MemoryPath, nodes: dict[tuple[int, Key, int], int]) -> int | None:
    """Return the id of the last node of a path; None for one without lines."""
    node = NONE
    for key, line in path.lines:
        node = nodes.setdefault((node, key, line), len(nodes))
    return None if node == NONE else node


def _curves_of_runs(memory: HostMemory) -> list[MemoryCurve | None]:
    """Return the curve of each run; None if it has none."""
    for curve in memory.curves:
        columns = (curve.times_ns, curve.live_bytes, *curve.line_bytes)
        if len({*map(len, columns)}) > 1:
            raise ValueError("a curve of memory has columns of several lengths")
    curves = {curve.process: curve for curve in memory.curves}
    unknown = curves.keys() - {run.process for run in memory.runs}
    if unknown or len(curves) < len(memory.curves):
        raise ValueError("a curve of memory is not that of one run")
    return [curves.get(run.process) for run in memory.runs]


# Threads go on while numbers are taken from them, so that a part may be ahead of its
# whole. A reader refuses such numbers.


def _sound(record: MemorySum) -> MemorySum:
    """Return a sum in which no part is more than the whole, or below 0."""
    alloc_bytes = max(0, record.alloc_bytes)
    freed_bytes = _within(record.freed_bytes, alloc_bytes)
    return MemorySum(
        path=record.path,
        allocs=max(0, record.allocs),
        alloc_bytes=alloc_bytes,
        freed_bytes=freed_bytes,
        temp_bytes=_within(record.temp_bytes, freed_bytes),
        peak_bytes=_within(record.peak_bytes, alloc_bytes),
    )


def _within(part: int, whole: int) -> int:
    return min(max(0, part), whole)


def _packed(numbers: Iterable[int]) -> bytes:
    """Return the numbers of a curve as they are in the file; 0 for those below 0."""
    sound = array("Q", [max(0, number) for number in numbers])
    return packed("Q", sound.tobytes(), differences=True)
