"""GPU data of a profile, from the raw data of the core."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.gpu import (
    COUNTS,
    DRIVER,
    GPU_SUMS,
    KINDS,
    LOAD,
    NO_DEVICE,
    NO_PATH,
    RUNTIME,
    UNKNOWN,
    WAIT,
    Gpu,
    GpuDevice,
    GpuPath,
    GpuRun,
    GpuSum,
)
from lineprof.model.gpu_memory import (
    GPU_MEMORY_SUMS,
    NO_GPU_MEMORY,
    POOLS,
    GpuMemory,
    GpuMemoryPeak,
    GpuMemoryRun,
    GpuMemorySum,
)
from lineprof.model.timelines import EVENT_SIZES, Launch, Timeline, pack_events
from lineprof.snapshot.call_paths import LinesOfPaths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Protocol

    from lineprof._core import GpuSnapshot, _GpuMemory
    from lineprof.model.records import Key
    from lineprof.snapshot.torch_memory import TorchBlocks

    class ToNs(Protocol):
        """Conversion of the core's ticks to ns."""

        def ns(self, ticks: int, /) -> int:
            """Return `ticks` in ns."""


_IN_TICKS = frozenset({WAIT, LOAD})
_HOST = frozenset({*_IN_TICKS, RUNTIME, DRIVER})


# Tuples of the core, by the names of their fields.


class SumRow(NamedTuple):
    """The numbers of a `GpuSum`, as the core has them."""

    path: int  # the core's number
    origin: int  # of a graph: the path where it was captured
    kind: int  # index in KINDS
    name: int  # index in the snapshot's names
    device: int  # CUDA's number
    count: int  # type: ignore[assignment]  # hides tuple.count
    time: int  # ns; ticks of a wait or load
    min_time: int
    max_time: int
    bytes: int


class MemoryRow(NamedTuple):
    """The numbers of a `GpuMemorySum`, as the core has them."""

    path: int  # the core's number
    device: int  # CUDA's number
    pool: int  # its key in POOLS
    start: int  # the number of the last start before its blocks
    allocs: int
    alloc_bytes: int
    frees: int
    freed_bytes: int
    peak_bytes: Sequence[int]  # for each of the starts that have a peak


class DeviceRow(NamedTuple):
    """One device that was used."""

    device: int  # CUDA's number
    name: str
    busy_ns: int
    busy_exact: bool
    attributes: Mapping[str, int]


class Paths:
    """The profile's call paths, made from the core's when they are asked for."""

    def __init__(self, lines: LinesOfPaths, place_of: Callable[[int], int]) -> None:
        self.found: list[GpuPath] = []
        self._lines = lines
        self._place_of = place_of
        self._places = {0: NO_PATH}  # by the core's number
        self._equal: dict[GpuPath, int] = {}

    def place(self, number: int) -> int:
        """Return the index in `found` of the core's path `number`, or NO_PATH."""
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = self._find(number)
        return place

    def _find(self, number: int) -> int:
        opened = self._lines.of(number)
        if not opened.lines:
            return NO_PATH
        path = GpuPath(
            thread=self._place_of(opened.root >> 1),
            adopted=bool(opened.root & 1),
            lines=opened.lines,
            range=opened.payload,
        )
        place = self._equal.setdefault(path, len(self.found))
        if place == len(self.found):
            self.found.append(path)
        return place


class Baseline(NamedTuple):
    """Counts of before a profiler began, which are not part of its profile."""

    sums: Mapping[object, GpuSum]  # by the identity of a sum
    busy_ns: Mapping[int, int]  # by device
    counts: Mapping[str, int] = {}  # those of COUNTS
    events: int = 0
    waits: int = 0
    memory_start: int = 0  # the number of the start of the memory of devices
    memory: Mapping[str, int] = {}  # its counts


class Taken(NamedTuple):
    """Data of this process' GPU backend at the end.

    `run` names the backend and the reason for it; its counts are taken from `raw`.
    """

    run: GpuRun
    raw: GpuSnapshot | None = None
    baseline: Baseline | None = None
    torch: TorchBlocks | None = None


def baseline_of(raw: GpuSnapshot | None, memory_start: int = 0) -> Baseline | None:
    """Return the counts to subtract later, for a profiler that begins now.

    `memory_start` is the number of its start in the memory of devices.
    """
    if raw is None:
        return None
    return Baseline(
        sums={_identity(one): one for one in _sums(raw)},
        busy_ns={row.device: row.busy_ns for row in _device_rows(raw)},
        counts={name: raw[name] for name in COUNTS},  # type: ignore[literal-required]
        events=len(raw["events"]["kind"]),
        waits=len(raw["waits"]["path"]) // EVENT_SIZES["path"],
        memory_start=memory_start,
        memory=_memory_counts(raw["memory"], memory_start) if raw["memory"] else {},
    )


def gpu_of(
    taken: Taken,
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
    scale: ToNs,
) -> Gpu:
    """Return a process' GPU data as a profile has them.

    `keys` has the function of each code serial of the profile: other lines are left
    out of paths, and a path without lines becomes NO_PATH. `place_of` returns a
    thread's index by the core's number. `scale` converts the ticks that waits are
    counted in.
    """
    raw = taken.raw
    if raw is None:
        return Gpu(runs=(taken.run,))
    before = taken.baseline or Baseline(sums={}, busy_ns={})
    paths = Paths(LinesOfPaths(raw["paths"], keys), place_of)
    places = {row.device: place for place, row in enumerate(_device_rows(raw))}
    sums = GPU_SUMS.added_up(
        one._replace(
            path=paths.place(one.path),
            origin=paths.place(one.origin),
            device=NO_DEVICE
            if one.kind in _HOST
            else places.get(one.device, NO_DEVICE),
        )
        for one in _since(raw, before)
    )
    timelines = _timelines(raw, before, paths)
    memory = _memory(raw, before, paths, places)
    return Gpu(
        paths=tuple(paths.found),
        sums=tuple(_in_ns(one, scale) for one in sums),
        devices=tuple(_devices(raw, before)),
        runs=(_run(taken.run, raw, before),),
        timelines=timelines,
        memory=memory,
    )


def _memory_counts(data: _GpuMemory, start: int) -> dict[str, int]:
    """Return counts of a run, with the frees of blocks from before its start."""
    before = [row for row in map(MemoryRow._make, data["sums"]) if row.start < start]
    return {
        "unknown_frees": data["unknown_frees"] + sum(row.frees for row in before),
        "unknown_bytes": data["unknown_bytes"] + sum(row.freed_bytes for row in before),
        "late": data["late"],
        "lost": data["lost"],
    }


def _memory_run(data: _GpuMemory, before: Baseline) -> GpuMemoryRun:
    """Return what the memory of devices lacks since a start."""
    counts = {
        name: count - before.memory.get(name, 0)
        for name, count in _memory_counts(data, before.memory_start).items()
    }
    return GpuMemoryRun(
        process=0,
        side_bytes=data["side_bytes"],
        unknown_frees=counts["unknown_frees"],
        unknown_bytes=counts["unknown_bytes"],
        late=counts["late"],
        lost=counts["lost"],
    )


def _memory(
    raw: GpuSnapshot, before: Baseline, paths: Paths, places: Mapping[int, int]
) -> GpuMemory:
    """Return the memory of devices, unless too many other profilers began since."""
    data, start = raw["memory"], before.memory_start
    if data is None:
        return NO_GPU_MEMORY
    numbers = [number for number, _ in data["starts"]]
    if start not in numbers:
        return GpuMemory(runs=(GpuMemoryRun(process=0, is_cut=True),))
    view = numbers.index(start)
    start_ns = data["starts"][view][1] or raw["origin_ns"]
    return GpuMemory(
        sums=GPU_MEMORY_SUMS.added_up(
            GpuMemorySum(
                path=paths.place(row.path),
                device=places.get(row.device, NO_DEVICE),
                pool=POOLS.get(row.pool, UNKNOWN),
                allocs=row.allocs,
                alloc_bytes=row.alloc_bytes,
                freed_bytes=row.freed_bytes,
                peak_bytes=row.peak_bytes[view],
            )
            for row in map(MemoryRow._make, data["sums"])
            if row.start >= start
        ),
        peaks=tuple(
            GpuMemoryPeak(
                process=0,
                device=places.get(device, NO_DEVICE),
                pool=POOLS.get(pool, UNKNOWN),
                peak_bytes=peak_bytes,
                peak_ns=max(0, peak_ns - start_ns),
            )
            for of_view, device, pool, peak_bytes, peak_ns in data["peaks"]
            if of_view == view
        ),
        runs=(_memory_run(data, before),),
    )


_identity = GPU_SUMS.identity


def _sums(raw: GpuSnapshot) -> Sequence[GpuSum]:
    """Return all sums; kinds and names as texts, all else as the core has it.

    Times of waits are still ticks, until `_in_ns`; paths and devices have the core's
    numbers.
    """
    names = raw["names"]
    return GPU_SUMS.added_up(
        GpuSum(
            path=row.path,
            origin=row.origin,
            kind=KINDS[row.kind] if row.kind < len(KINDS) else UNKNOWN,
            name=names[row.name],
            device=row.device,
            count=row.count,
            ns=row.time,
            min_ns=row.min_time,
            max_ns=row.max_time,
            bytes=row.bytes,
        )
        for row in map(SumRow._make, raw["sums"])
    )


def _since(raw: GpuSnapshot, before: Baseline) -> Iterator[GpuSum]:
    """Yield the sums of all records after the baseline, as `_sums` has them.

    The minimum and the maximum are exact if they changed since, or if there was only
    one record; otherwise the minimum is not above the true one, and the maximum not
    below it.
    """
    for now in _sums(raw):
        old = before.sums.get(_identity(now))
        if old is None or not old.count:
            since = now
        else:
            # (A load shrinks if part of it turns out to be a wait.)
            count, ns = now.count - old.count, max(0, now.ns - old.ns)
            min_ns, max_ns = now.min_ns, now.max_ns
            if count == 1:
                min_ns = max_ns = ns
            if max_ns == old.max_ns:
                max_ns = min(max_ns, ns - min_ns * (count - 1))
            if min_ns == old.min_ns:
                min_ns = max(min_ns, ns - max_ns * (count - 1))
            since = now._replace(
                count=count,
                ns=ns,
                min_ns=min_ns,
                max_ns=max_ns,
                bytes=now.bytes - old.bytes,
            )
        if since.count:
            yield since


def _in_ns(one: GpuSum, scale: ToNs) -> GpuSum:
    """Return a sum in ns; the clock of waits and loads is the core's, in ticks."""
    if one.kind not in _IN_TICKS:
        return one
    return one._replace(
        ns=scale.ns(one.ns), min_ns=scale.ns(one.min_ns), max_ns=scale.ns(one.max_ns)
    )


def _device_rows(raw: GpuSnapshot) -> Iterator[DeviceRow]:
    return map(DeviceRow._make, raw["devices"])


def _devices(raw: GpuSnapshot, before: Baseline) -> Iterator[GpuDevice]:
    for row in _device_rows(raw):
        yield GpuDevice(
            process=0,
            device=row.device,
            name=row.name,
            busy_ns=max(0, row.busy_ns - before.busy_ns.get(row.device, 0)),
            busy_exact=bool(row.busy_exact),
            attributes=tuple(row.attributes.items()),
        )


def _run(run: GpuRun, raw: GpuSnapshot, before: Baseline) -> GpuRun:
    counts = {
        # Launches of before may have got their records since.
        name: max(0, raw[name] - before.counts.get(name, 0))  # type: ignore[literal-required]
        for name in COUNTS
    }
    return run._replace(version=raw["version"], cut_ns=raw["cut_ns"], **counts)


def _timelines(
    raw: GpuSnapshot, before: Baseline, paths: Paths
) -> tuple[Timeline, ...]:
    """Return the events since the baseline as one timeline; () if there are none."""
    columns = dict(raw["events"])
    if len(columns["kind"]) < before.events:
        return ()
    if before.events:
        for name, size in EVENT_SIZES.items():
            columns[name] = columns[name][before.events * size :]
    _add_waits(columns, raw["waits"], before.waits)
    count = len(columns["kind"])
    if not count:
        return ()
    for name in ("path", "origin"):
        columns[name] = _placed(columns[name], paths)
    return (
        Timeline(
            process=0,
            count=count,
            origin_ns=raw["origin_ns"],
            first_path=0,
            names=tuple(raw["names"]),
            launches=tuple(map(Launch._make, raw["launches"])),
            batches=pack_events(columns),
        ),
    )


def _add_waits(
    columns: dict[str, bytes], waits: Mapping[str, bytes], before: int
) -> None:
    """Append the log of waits to the columns of events, from number `before` on."""
    count = len(waits["path"]) // EVENT_SIZES["path"] - before
    if count <= 0:
        return
    for name, size in EVENT_SIZES.items():
        if name == "kind":
            columns[name] += bytes([KINDS.index(WAIT)]) * count
        elif name in waits:
            columns[name] += waits[name][before * size :]
        else:
            columns[name] += bytes(size * count)


def _placed(column: bytes, paths: Paths) -> bytes:
    """Return a column of path numbers as indexes + 1; 0 stays NO_PATH."""
    if not column.strip(b"\0"):
        return column
    numbers = array("I", column)
    places = {number: paths.place(number) + 1 for number in set(numbers)}
    return array("I", map(places.__getitem__, numbers)).tobytes()
