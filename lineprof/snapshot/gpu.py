"""GPU data of a profile, from the raw data of the core."""

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
        """The result of ``_core.gpu_snapshot``."""

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
        """Conversion of the core's ticks to ns."""

        def ns(self, ticks: int, /) -> int:
            """Return `ticks` in ns."""

    Id = tuple[int, int, str, str, int]  # path, origin, kind, name, device
    Numbers = tuple[int, int, int, int, int]  # count, time, min, max, bytes


_LINES = 1_000_000  # from a code object's serial to its lines' NVTX payloads
_HOST = frozenset({WAIT, RUNTIME, DRIVER})


class Paths:
    """The profile's call paths, made from the core's when they are asked for.

    A line that is open several times, in recursion, is kept only where it is
    innermost: so paths that differ only in depth are one, and there are few.
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
            if not serial:  # a root: its line tells the thread
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


class Baseline(NamedTuple):
    """Counts of before a profiler began, which are not part of its profile."""

    sums: Mapping[Id, Numbers]
    busy_ns: Mapping[int, int]  # by device
    events: int = 0
    dropped: int = 0
    invalid: int = 0
    outstanding: int = 0
    left_out: int = 0


class Taken(NamedTuple):
    """Data of this process' GPU backend at the end.

    `run` names the backend and the reason for it; its counts are taken from `raw`.
    """

    run: GpuRun
    raw: Raw | None = None  # from ``_core.gpu_snapshot``
    baseline: Baseline | None = None


def baseline_of(raw: Raw | None) -> Baseline | None:
    """Return the counts to subtract later, for a profiler that begins now."""
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
    """Return all sums; kinds and names as texts, all else as the core has it."""
    sums: dict[Id, Numbers] = {}
    for path, origin, code, name, device, count, *numbers in raw["sums"]:
        kind = KINDS[code] if code < len(KINDS) else UNKNOWN
        time, min_time, max_time, size = numbers
        id_ = (path, origin, kind, raw["names"][name], device)
        _add(sums, id_, (count, time, min_time, max_time, size))
    return sums


def _since(raw: Raw, before: Baseline) -> Iterator[tuple[Id, Numbers]]:
    """Yield the sums of all records after the baseline.

    The minimum and the maximum are exact if they changed since, or if there was only
    one record; otherwise the minimum is not above the true one, and the maximum not
    below it.
    """
    for id_, numbers in _sums(raw).items():
        count, time, min_time, max_time, size = numbers
        count_0, time_0, min_before, max_before, size_0 = before.sums.get(id_, _NOTHING)
        count -= count_0
        time -= time_0
        if count_0 and count == 1:
            min_time = max_time = time
        if count_0 and max_time == max_before:
            max_time = min(max_time, time - min_time * (count - 1))
        if count_0 and min_time == min_before:
            min_time = max(min_time, time - max_time * (count - 1))
        if count:
            yield id_, (count, time, min_time, max_time, size - size_0)


_NOTHING: Numbers = (0, 0, 0, 0, 0)


def _add(sums: dict[Id, Numbers], id_: Id, numbers: Numbers) -> None:
    """Add `numbers` to those of `id_` in `sums`."""
    if id_ in sums:
        count, time, min_time, max_time, size = sums[id_]
        more, more_time, other_min, other_max, more_size = numbers
        min_time, max_time = min(min_time, other_min), max(max_time, other_max)
        numbers = (count + more, time + more_time, min_time, max_time, size + more_size)
    sums[id_] = numbers


def _sum(id_: Id, numbers: Numbers, scale: ToNs) -> GpuSum:
    count, time, min_time, max_time, size = numbers
    if id_[2] == WAIT:  # the host's clock measures it
        time, min_time, max_time = (
            scale.ns(time),
            scale.ns(min_time),
            scale.ns(max_time),
        )
    path, origin, kind, name, device = id_
    return GpuSum(
        path=path,
        origin=origin,
        kind=kind,
        name=name,
        device=device,
        count=count,
        ns=time,
        min_ns=min_time,
        max_ns=max_time,
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
    """Return the events since the baseline as one timeline; () if there are none."""
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
    """Return a column of path numbers as indexes + 1; 0 stays NO_PATH."""
    if not column.strip(b"\0"):
        return column
    numbers = array("I", column)
    places = {number: paths.place(number) + 1 for number in set(numbers)}
    return array("I", map(places.__getitem__, numbers)).tobytes()
