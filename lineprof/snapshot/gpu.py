"""From the core's raw GPU data to a profile's values."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.gpu import (
    DRIVER,
    KINDS,
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
from lineprof.model.timelines import EVENT_SIZES, Timeline, pack_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Protocol, TypedDict

    from lineprof.model.records import Key

    RawPath = tuple[int, int, int]  # parent, serial of the code, line
    Lines = tuple[tuple[Key, int], ...]

    RawSum = tuple[int, int, int, int, int, int, int, int, int, int]
    RawDevice = tuple[int, str, int, bool, Mapping[str, int]]

    class Raw(TypedDict):
        """What ``_core.gpu_snapshot`` returns."""

        paths: Sequence[RawPath]
        sums: Sequence[RawSum]
        names: Sequence[str]
        events: Mapping[str, bytes]
        launches: Sequence[tuple[int, ...]]
        devices: Sequence[RawDevice]
        origin_ns: int
        dropped: int
        invalid: int
        outstanding: int
        left_out: int
        backend: str
        version: int

    class ToNs(Protocol):
        """What makes ns of the core's ticks."""

        def ns(self, ticks: int, /) -> int:
            """Return `ticks` in ns."""

    Id = tuple[int, int, str, str, int]  # path, origin, kind, name, device
    Numbers = tuple[int, int, int, int, int]  # count, time, min, max, bytes


# The core's paths of open lines, as a profile sees them.


_LINES = 1_000_000  # from a code object's serial to its lines' NVTX payloads


class Paths:
    """The core's paths as the profile sees them, once they are asked for.

    Lines that are open several times, in recursion, stay where they are
    innermost: so paths that differ in depth alone are one, and there are few.
    """

    def __init__(
        self,
        raw: Sequence[RawPath],
        keys: Mapping[int, Key],
        place_of: Callable[[int], int],
    ) -> None:
        self.found: list[GpuPath] = []
        self._raw = raw
        self._keys = keys
        self._place_of = place_of
        self._places = {0: NO_PATH}  # by the core's number
        self._equal: dict[GpuPath, int] = {}
        # By the core's number: its root's line, its own lines, the payload.
        self._open: dict[int, tuple[int, Lines, int]] = {}
        self._lines: dict[tuple[int, int], tuple[Key, int]] = {}

    def place(self, number: int) -> int:
        """Return the index in `found` of the core's path `number`, or NO_PATH."""
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = self._find(number)
        return place

    def _find(self, number: int) -> int:
        root, lines, payload = self._open_lines(number)
        if not lines:
            return NO_PATH
        path = GpuPath(
            thread=self._place_of(root >> 1),
            adopted=bool(root & 1),
            lines=lines,
            range=payload,
        )
        place = self._equal.setdefault(path, len(self.found))
        if place == len(self.found):
            self.found.append(path)
        return place

    def _open_lines(self, number: int) -> tuple[int, Lines, int]:
        chain = []
        while number not in self._open:
            parent, serial, line = self._raw[number]
            chain.append((number, serial, line))
            if not serial:  # a root, whose line says of which thread
                self._open[number] = (line, (), 0)
            else:
                number = parent
        state = self._open[number]
        for inner, serial, line in reversed(chain):
            if serial in self._keys:
                made = (self._keys[serial], line)
                own = self._lines.setdefault((serial, line), made)
                root, lines, _ = state
                lines = tuple([one for one in lines if one != own])
                state = (root, (*lines, own), serial * _LINES + line)
            self._open[inner] = state
        return state


_HOST = frozenset({WAIT, RUNTIME, DRIVER})


class Baseline(NamedTuple):
    """What had been counted before a profiler began: that is not its own."""

    sums: Mapping[Id, Numbers]
    busy_ns: Mapping[int, int]  # by device
    events: int = 0
    dropped: int = 0
    invalid: int = 0
    outstanding: int = 0
    left_out: int = 0


class Taken(NamedTuple):
    """What the GPU backend of this process has to say at the end.

    `run` says which it is, and why; what was lost is filled in from `raw`.
    """

    run: GpuRun
    raw: Raw | None = None  # from ``_core.gpu_snapshot``
    baseline: Baseline | None = None


def baseline_of(raw: Raw | None) -> Baseline | None:
    """Return what to leave out later, for a profiler that begins now."""
    if raw is None:
        return None
    return Baseline(
        sums=_sums(raw),
        busy_ns={device: busy for device, _, busy, *_ in raw["devices"]},
        events=len(raw["events"]["kind"]),
        dropped=raw["dropped"],
        invalid=raw["invalid"],
        outstanding=raw["outstanding"],
        left_out=raw["left_out"],
    )


def gpu_of(
    taken: Taken,
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
    scale: ToNs,
) -> Gpu:
    """Return a process' GPU data as a profile sees it.

    `keys` has the function of each code serial of the profile: other lines
    are left out of paths, and a path without any is none. `place_of` gives
    the place of the core's thread of a number. `scale` makes ns of the ticks
    that waits are counted in.
    """
    raw = taken.raw
    if raw is None:
        return Gpu(runs=(taken.run,))
    before = taken.baseline or Baseline(sums={}, busy_ns={})
    paths = Paths(raw["paths"], keys, place_of)
    places = {device: place for place, (device, *_) in enumerate(raw["devices"])}
    sums: dict[Id, Numbers] = {}
    for (path, origin, kind, name, device), numbers in _since(raw, before):
        place = NO_DEVICE if kind in _HOST else places.get(device, NO_DEVICE)
        id_ = (paths.place(path), paths.place(origin), kind, name, place)
        _add(sums, id_, numbers)
    timelines = _timelines(raw, before, paths)
    return Gpu(
        paths=tuple(paths.found),
        sums=tuple(_sum(id_, numbers, scale) for id_, numbers in sums.items()),
        devices=tuple(_devices(raw, before)),
        runs=(_run(taken.run, raw, before),),
        timelines=timelines,
    )


def _sums(raw: Raw) -> dict[Id, Numbers]:
    """Return all sums, kinds and names in words, all else as the core has it."""
    sums: dict[Id, Numbers] = {}
    for path, origin, code, name, device, count, *numbers in raw["sums"]:
        kind = KINDS[code] if code < len(KINDS) else UNKNOWN
        time, least, most, size = numbers
        id_ = (path, origin, kind, raw["names"][name], device)
        _add(sums, id_, (count, time, least, most, size))
    return sums


def _since(raw: Raw, before: Baseline) -> Iterator[tuple[Id, Numbers]]:
    """Yield the sums of what came after the baseline.

    The least and the greatest time are then exact if they were surpassed
    since, or if there was one record alone; else the least is not above the
    true one, nor the greatest below it.
    """
    for id_, numbers in _sums(raw).items():
        count, time, least, most, size = numbers
        count_0, time_0, least_0, most_0, size_0 = before.sums.get(id_, _NOTHING)
        count -= count_0
        time -= time_0
        if count_0 and count == 1:
            least = most = time
        if count_0 and most == most_0:
            most = min(most, time - least * (count - 1))
        if count_0 and least == least_0:
            least = max(least, time - most * (count - 1))
        if count:
            yield id_, (count, time, least, most, size - size_0)


_NOTHING: Numbers = (0, 0, 0, 0, 0)


def _add(sums: dict[Id, Numbers], id_: Id, numbers: Numbers) -> None:
    """Add `numbers` to those that `sums` has of `id_`."""
    if id_ in sums:
        count, time, least, most, size = sums[id_]
        more, more_time, other_least, other_most, more_size = numbers
        least, most = min(least, other_least), max(most, other_most)
        numbers = (count + more, time + more_time, least, most, size + more_size)
    sums[id_] = numbers


def _sum(id_: Id, numbers: Numbers, scale: ToNs) -> GpuSum:
    count, time, least, most, size = numbers
    if id_[2] == WAIT:  # the host's clock measures it
        time, least, most = scale.ns(time), scale.ns(least), scale.ns(most)
    path, origin, kind, name, device = id_
    return GpuSum(
        path=path,
        origin=origin,
        kind=kind,
        name=name,
        device=device,
        count=count,
        ns=time,
        min_ns=least,
        max_ns=most,
        bytes=size,
    )


def _devices(raw: Raw, before: Baseline) -> Iterator[GpuDevice]:
    for device, name, busy, exact, attributes in raw["devices"]:
        since = max(0, busy - before.busy_ns.get(device, 0))
        yield GpuDevice(
            process=0,
            device=device,
            name=name,
            busy_ns=since,
            busy_exact=bool(exact),
            attributes=tuple(attributes.items()),
        )


def _run(run: GpuRun, raw: Raw, before: Baseline) -> GpuRun:
    return run._replace(
        version=raw["version"],
        dropped=raw["dropped"] - before.dropped,
        invalid=raw["invalid"] - before.invalid,
        outstanding=max(0, raw["outstanding"] - before.outstanding),
        left_out=raw["left_out"] - before.left_out,
    )


def _timelines(raw: Raw, before: Baseline, paths: Paths) -> tuple[Timeline, ...]:
    """Return the events since the baseline as one timeline, or none at all."""
    columns = dict(raw["events"])
    count = len(columns["kind"]) - before.events
    if count <= 0:
        return ()
    if before.events:
        for name, size in EVENT_SIZES.items():
            columns[name] = columns[name][before.events * size :]
    for name in ("path", "origin"):
        columns[name] = _placed(columns[name], paths)
    return (
        Timeline(
            process=0,
            count=count,
            origin_ns=raw["origin_ns"],
            first_path=0,
            names=tuple(raw["names"]),
            launches=tuple(raw["launches"]),
            batches=pack_events(columns),
        ),
    )


def _placed(column: bytes, paths: Paths) -> bytes:
    """Return a column of the core's numbers with indexes + 1 instead; 0: none."""
    if not column.strip(b"\0"):
        return column
    numbers = array("I", column)
    places = {number: paths.place(number) + 1 for number in set(numbers)}
    return array("I", map(places.__getitem__, numbers)).tobytes()
