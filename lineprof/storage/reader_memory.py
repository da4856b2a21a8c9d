"""Reader of host memory in a ``.lprof`` file."""

from __future__ import annotations

from itertools import islice
from operator import le
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.host_memory import HostMemory, MemoryCurve
from lineprof.model.relation import FUNCTION, NONE, PATH, PROCESS
from lineprof.model.timelines import ITEMS_PER_BATCH, Packing
from lineprof.storage import schema_gpu
from lineprof.storage.rows import (
    Damaged,
    check_natural,
    fields_of,
    indexes_of,
    known,
    records_from,
    records_of,
    rows_of,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.model.host_memory import MemorySum
    from lineprof.model.records import Key
    from lineprof.storage.rows import Lookup

    Lines = tuple[tuple[Key, int], ...]

# Nodes take a few bytes in the file, but the lines of a path are a list in memory. So
# paths may have so many lines, and some more for each node, as in a deep program.
# Without a limit, a small file of one long path and its parts could stand for hours.
_FREE_LINES = 1_000_000
_LINES_PER_NODE = 256
_MAX_NUMBERS = 4_000_000  # of all curves: a measured one has some thousands
_INTEGER_END = 1 << 63  # of SQLite's integers

_CURVE = ("times", "live")  # packed columns of a curve
_PACKING = Packing(kinds=dict.fromkeys(_CURVE, "Q"), differences=_CURVE)


def memory_of(db: sqlite3.Connection, lookup: Lookup) -> HostMemory:
    """Return the memory data in a checked database; Damaged if a value is invalid."""
    processes = {None: NONE, **lookup[PROCESS]}
    fields = fields_of(db, schema_gpu.MEMORY_PATHS, {**lookup, PROCESS: processes})
    lookup = {**lookup, PATH: indexes_of(fields["id"])}
    fields["lines"] = _lines_of(_nodes(db, lookup), fields.pop("node_id"))
    sums: list[MemorySum] = records_of(db, schema_gpu.MEMORY_SUMS, lookup)
    for record in sums:
        most = max(record.freed_bytes, record.peak_bytes)
        if most > record.alloc_bytes or record.temp_bytes > record.freed_bytes:
            raise Damaged("a sum of memory has less allocated than freed or live")
    runs = fields_of(db, schema_gpu.MEMORY_RUNS, lookup)
    if len({*runs["process"]}) < len(runs["process"]):
        raise Damaged("the memory of a process is there twice")
    curves = {
        process: _Packed(moments=moments, columns=columns)
        for process, moments, *columns in zip(
            runs["process"], *(runs.pop(name) for name in ("moments", *_CURVE))
        )
        if moments is not None
    }
    return HostMemory(
        paths=tuple(records_from(schema_gpu.MEMORY_PATHS, fields)),
        sums=tuple(sums),
        runs=tuple(records_from(schema_gpu.MEMORY_RUNS, runs)),
        curves=tuple(_curves(db, curves, lookup)),
    )


class _Node(NamedTuple):
    """The last line of a path, and where the lines before it are."""

    parent: object  # its id; None: this is the first line
    place: tuple[Key, int]  # function and line
    depth: int  # lines up to this one


def _nodes(db: sqlite3.Connection, lookup: Lookup) -> dict[object, _Node]:
    """Return the nodes by their ids, each parent before its children.

    Damaged if a value is invalid.
    """
    nodes: dict[object, _Node] = {}
    for row_id, parent_id, function_id, line in rows_of(db, schema_gpu.MEMORY_NODES):
        depth = 0
        if parent_id is not None:
            depth = known(nodes, parent_id, "node before its child, called").depth
        key = known(lookup[FUNCTION], function_id, FUNCTION)
        check_natural([line], "a path of memory")
        nodes[row_id] = _Node(parent=parent_id, place=(key, line), depth=depth + 1)
    return nodes


def _lines_of(nodes: dict[object, _Node], ends: Iterable[object]) -> list[Lines]:
    """Return the lines of paths with these last nodes; None: a path without lines.

    Damaged if there are too many lines.
    """
    by_end: dict[object, Lines] = {None: ()}
    left = _FREE_LINES + len(nodes) * _LINES_PER_NODE
    paths: list[Lines] = []
    for end in ends:
        left -= known(nodes, end, "node").depth if end is not None else 0
        if left < 0:
            raise Damaged(f"paths of memory have too many lines for {len(nodes)} nodes")
        if end not in by_end:
            by_end[end] = tuple(_upwards(nodes, end))[::-1]
        paths.append(by_end[end])
    return paths


def _upwards(nodes: dict[object, _Node], node_id: object) -> Iterator[tuple[Key, int]]:
    """Yield the lines of a path, the innermost first."""
    while node_id is not None:
        node = nodes[node_id]
        yield node.place
        node_id = node.parent


class _Packed(NamedTuple):
    """The curve of a process as it is in the file, without those of lines."""

    moments: int
    columns: Sequence[bytes | None]  # of _CURVE


def _curves(
    db: sqlite3.Connection, curves: Mapping[int, _Packed], lookup: Lookup
) -> Iterator[MemoryCurve]:
    """Yield the curves of processes, with those of lines.

    Damaged or ValueError if their values are invalid.
    """
    lines: dict[int, list[tuple[tuple[Key, int], bytes]]]
    lines = {process: [] for process in curves}
    for process_id, function_id, line, data in rows_of(
        db, schema_gpu.MEMORY_CURVE_LINES
    ):
        check_natural([line], "a curve of memory")
        place = (known(lookup[FUNCTION], function_id, FUNCTION), line)
        process = known(lookup[PROCESS], process_id, PROCESS)
        known(lines, process, "curve of process").append((place, data))
    total = 0
    for process, packed in curves.items():
        moments, packed_lines = packed.moments, lines[process]
        if not 0 <= moments <= ITEMS_PER_BATCH:
            raise Damaged(f"a curve of memory has {moments} moments")
        total += moments * (len(_CURVE) + len(packed_lines))
        if total > _MAX_NUMBERS:
            raise Damaged(f"curves of memory have more than {_MAX_NUMBERS} numbers")
        times_ns, live_bytes = [
            _numbers(name, data, moments) for name, data in zip(_CURVE, packed.columns)
        ]
        if not all(map(le, times_ns, islice(times_ns, 1, None))):
            raise Damaged("the moments of a curve of memory are in no order")
        yield MemoryCurve(
            process=process,
            times_ns=times_ns,
            live_bytes=live_bytes,
            lines=tuple([place for place, _ in packed_lines]),
            line_bytes=tuple(
                [_numbers("live", data, moments) for _, data in packed_lines]
            ),
        )


def _numbers(name: str, data: bytes | None, moments: int) -> tuple[int, ...]:
    """Return a column of a curve; Damaged or ValueError if it is invalid."""
    if data is None:
        raise Damaged(f"a curve of memory has no {name}")
    numbers = tuple(_PACKING.unpack(name, data, moments))
    if max(numbers, default=0) >= _INTEGER_END:
        raise Damaged(f"a curve of memory has {max(numbers)}")
    return numbers
