"""Idle time of GPUs, by the lines that caused it, and why.

A gap is the time from the end of a device's work to the start of its next work. The
call that launched this next work ends the gap, so the gap belongs to its thread. From
the launching call on, the work is on its way. Before that call, the gap is charged to
the lines that were open on the thread: a trace has their slices, and the log of waits
the calls that waited for a device.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.gpu import BUSY_KINDS, KINDS, NO_PATH, WAIT, Gpu
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.model.timelines import (
    UNSURE_COLUMN,
    WAIT_COLUMN,
    event_column,
    rows_by_start,
    slice_planes,
    slice_waits,
    sorted_batches,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.model.timelines import Timeline, Trace

    Place = tuple[Key, int]  # a function and a line; 0: its short lines
    Interval = tuple[int, int]  # start and end
    # Time in which a device was idle: start, end (ns on CLOCK_MONOTONIC), when the call
    # began that launched what ends it (0: unknown), and the path of that call, an index
    # in Gpu.paths or NO_PATH. There may be a million.
    _Gap = tuple[int, int, int, int]
    PackedSlices = tuple[int, bytes, bytes, bytes, bytes, bytes]

    # lineprof.snapshot.arithmetic.idle_sums, which this room cannot import.
    IdleSums = Callable[
        [
            Iterable[tuple[PackedSlices, bytes, bytes]],
            tuple[tuple[int, bytes, bytes], ...],
            bytes,
            bool,
        ],
        list[tuple[int, int, int, int, int, int, int]],
    ]

_WORK = frozenset(map(KINDS.index, BUSY_KINDS))
_WAIT = KINDS.index(WAIT)
_END = 1 << 63  # after all times
_MIN_WAIT_NS = 30_000  # shorter waits are not measured: LP_WAIT_NS of the core


class Causes(NamedTuple):
    """Idle time (ns) by cause."""

    computing: int = 0  # the thread ran
    waiting: int = 0  # the thread waited: for a lock, input, the GIL, another device
    syncing: int = 0  # it was in a call that waits for a device with nothing to do
    launching: int = 0  # the work was launched and had not begun
    unknown: int = 0  # computing or waiting

    @property
    def total(self) -> int:
        """Idle time (ns) of all causes."""
        return sum(self)

    def plus(self, other: Causes) -> Causes:
        """Return the sum of both."""
        return Causes(
            **{name: getattr(self, name) + getattr(other, name) for name in CAUSES}
        )


CAUSES = Causes._fields


class IdleLine(NamedTuple):
    """Idle time of one device that a line caused."""

    key: Key
    line: int  # 0: lines of the function that are too short for slices
    causes: Causes  # without callees
    inclusive_ns: int  # with callees
    adopted_ns: int  # of `causes`: threads without lines launched the next work


class DeviceIdle(NamedTuple):
    """Idle time of one device, from its first to its last work."""

    process: int  # index in Profile.processes
    device: int  # CUDA's number
    span_ns: int  # from the first work to the last
    idle_ns: int  # the sum of `lines`, without callees, and of `unattributed`
    gaps: int
    lines: tuple[IdleLine, ...]  # the most idle time first
    unattributed: Causes
    is_cut: bool  # the timeline lacks the rest of the run


class _Sums:
    """The idle time of one device while it is added up."""

    def __init__(self) -> None:
        self.causes: dict[Place, Causes] = defaultdict(Causes)  # of a line itself
        self.inclusive: dict[Place, int] = defaultdict(int)  # ns, with its callees
        self.adopted: dict[Place, int] = defaultdict(int)
        self.unattributed = Causes()

    def add(self, place: Place, causes: Causes, *, adopted: bool) -> None:
        """Charge time to a line itself."""
        self.causes[place] = self.causes[place].plus(causes)
        if adopted:
            self.adopted[place] += causes.total

    def lines(self) -> tuple[IdleLine, ...]:
        """Return all lines, those with the most time first."""
        found = [
            IdleLine(
                key=key,
                line=line,
                causes=self.causes[key, line],
                inclusive_ns=ns,
                adopted_ns=self.adopted[key, line],
            )
            for (key, line), ns in self.inclusive.items()
        ]
        found.sort(key=lambda one: (-one.causes.total, one.key, one.line))
        return tuple(found)


def idle_share(gpu: Gpu) -> float:
    """Return the greatest share of idle time of a device, 0 to 1, if it is known.

    That takes less time than `device_idle`.
    """
    return max(
        (
            1 - busy_ns / (end - start)
            for timeline in gpu.timelines
            if has_launches(timeline)
            for start, end, busy_ns in _spans_of(gpu, timeline)
            if end > start
        ),
        default=0.0,
    )


def has_launches(timeline: Timeline) -> bool:
    """Return whether it is known when work was launched; older files do not tell."""
    return any("launched" in dict(batch.columns) for batch in timeline.batches)


def _spans_of(gpu: Gpu, timeline: Timeline) -> Iterator[tuple[int, int, int]]:
    """Yield when the work of each device begins and ends, and its busy time (ns)."""
    cut = _cut_of(gpu, timeline)
    if cut:  # busy time is known of all of the run alone
        for work in _work_of(timeline, cut).values():
            yield work.start, work.end, work.busy_ns
        return
    spans: dict[int, Interval] = {}
    kinds, starts, lengths, devices = (
        event_column(timeline.batches, name)
        for name in ("kind", "start", "ns", "device")
    )
    for kind, start, ns, device in zip(kinds, starts, lengths, devices):
        if kind in _WORK:
            first, last = spans.get(device, (start, 0))
            end = start + ns
            if start < first or end > last:
                spans[device] = (min(start, first), max(end, last))
    for one in gpu.devices:
        if one.process == timeline.process and one.device in spans:
            yield (*spans[one.device], one.busy_ns)


def device_idle(profile: Profile, idle_sums: IdleSums) -> tuple[DeviceIdle, ...]:
    """Return the idle time of each device of each process."""
    found: list[DeviceIdle] = []
    for timeline in profile.gpu.timelines:
        found += _ProcessIdle(profile, timeline, idle_sums).devices()
    return tuple(found)


def _cut_of(gpu: Gpu, timeline: Timeline) -> int:
    """Return from when on a timeline lacks records; 0 if it is complete."""
    cuts = [run.cut_ns for run in gpu.runs if run.process == timeline.process]
    return min(filter(None, cuts), default=0)


# Work and gaps of each device of a timeline.


class _Work:
    """The work of one device: where it begins and ends, and the gaps in it."""

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.busy_ns = 0
        self.gaps: list[_Gap] = []
        self.busy: list[Interval] = []


def _work_of(timeline: Timeline, cut: int) -> dict[int, _Work]:
    """Return the work of each device, by CUDA's number, up to the cut if there is one.

    Of several pieces that begin together, the first in the order of the timeline ends
    the gap.
    """
    found: dict[int, _Work] = {}
    path_0 = timeline.first_path - 1  # the columns count paths from 1
    names = ("start", "kind", "ns", "device", "launched", "path")
    for start, kind, ns, device, launched, path in rows_by_start(timeline, names):
        if kind not in _WORK:
            continue
        end = start + ns
        if cut:
            if start >= cut:
                break
            end = min(end, cut)
        work = found.get(device)
        if work is None:
            work = found[device] = _Work(start)
        before = work.end
        if start > before:
            of_call = path_0 + path if path else NO_PATH
            work.gaps.append((before, start, launched, of_call))
            before = start
        if end > work.end:
            work.busy.append((before, end))
            work.busy_ns += end - before
            work.end = end
    return found


class _Waits(NamedTuple):
    """Calls of one thread that waited for a device, sorted and disjoint."""

    intervals: list[Interval]
    paths: list[int]


def _waits_of(gpu: Gpu, timeline: Timeline) -> dict[int, _Waits]:
    """Return the waits of each thread, by its index in the profile."""
    found: dict[int, _Waits] = defaultdict(lambda: _Waits(intervals=[], paths=[]))
    path_0 = timeline.first_path - 1
    names = ("start", "kind", "ns", "path")
    for start, kind, ns, at in rows_by_start(timeline, names):
        if kind != _WAIT or not at:
            continue
        path = gpu.paths[path_0 + at]
        if path.adopted:  # of another thread than the one that has the lines
            continue
        of_thread, end = found[path.thread], start + ns
        intervals = of_thread.intervals
        begin = max(start, intervals[-1][1]) if intervals else start
        if begin < end:
            intervals.append((begin, end))
            of_thread.paths.append(path_0 + at)
    return found


def _overlapping(
    ones: Iterable[Interval], others: Sequence[Interval]
) -> Iterator[tuple[int, int, range]]:
    """Yield each of `ones` with the indexes of the times in `others` that overlap it.

    Both are sorted and disjoint.
    """
    first = 0
    for start, end in ones:
        while first < len(others) and others[first][1] <= start:
            first += 1
        after = first
        while after < len(others) and others[after][0] < end:
            after += 1
        yield start, end, range(first, after)


def _common(
    ones: Iterable[Interval], others: Sequence[Interval]
) -> Iterator[tuple[int, int, int]]:
    """Yield the start and end of each time in both, and the index in `others`."""
    for start, end, indexes in _overlapping(ones, others):
        for at in indexes:
            yield max(start, others[at][0]), min(end, others[at][1]), at


def _without(
    ones: Iterable[Interval], others: Sequence[Interval]
) -> Iterator[Interval]:
    """Yield the times in `ones` that are not in `others`."""
    for start, end, indexes in _overlapping(ones, others):
        now = start
        for at in indexes:
            if others[at][0] > now:
                yield now, others[at][0]
            now = max(now, others[at][1])
        if now < end:
            yield now, end


def _union(intervals: Iterable[Interval]) -> list[Interval]:
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


# The idle time of one process.


class _Track(NamedTuple):
    """Time in which a device was idle until a thread launched its next work."""

    device: int
    thread: int  # index in Profile.threads
    adopted: bool


class _ProcessIdle:
    """Charges the idle time of the devices of one process."""

    def __init__(
        self, profile: Profile, timeline: Timeline, idle_sums: IdleSums
    ) -> None:
        self._gpu = profile.gpu
        self._timeline = timeline
        self._idle_sums = idle_sums
        self._cut = _cut_of(profile.gpu, timeline)
        self._work = _work_of(timeline, self._cut)
        self._sums = {device: _Sums() for device in self._work}
        every = (*profile.traces, *profile.gpu.slices)
        traces = [one for one in every if one.process == timeline.process]
        self._trace = traces[0] if traces else None

    def devices(self) -> Iterator[DeviceIdle]:
        """Yield the idle time of each device."""
        tracks = self._charge_launches()
        self._charge_waits(tracks)
        self._charge_slices(tracks)
        for device, work in sorted(self._work.items()):
            sums = self._sums[device]
            idle_ns = work.end - work.start - work.busy_ns
            known = sum(causes.total for causes in sums.causes.values())
            rest = idle_ns - known - sums.unattributed.total
            yield DeviceIdle(
                process=self._timeline.process,
                device=device,
                span_ns=work.end - work.start,
                idle_ns=idle_ns,
                gaps=len(work.gaps),
                lines=sums.lines(),
                unattributed=sums.unattributed.plus(Causes(unknown=rest)),
                is_cut=self._cut != 0,
            )

    def _charge_path(self, device: int, number: int, causes: Causes) -> None:
        """Charge time to the lines of a call path."""
        sums = self._sums[device]
        if number == NO_PATH:
            sums.unattributed = sums.unattributed.plus(causes)
            return
        path = self._gpu.paths[number]
        sums.add(path.lines[-1], causes, adopted=path.adopted)
        for place in set(path.lines):
            sums.inclusive[place] += causes.total

    def _charge_launches(self) -> dict[_Track, list[Interval]]:
        """Charge the time from launches on, and return the rest of the gaps.

        Gaps are left out if nothing is known of their thread.
        """
        tracks: dict[_Track, list[Interval]] = {}
        on_its_way: dict[tuple[int, int], int] = defaultdict(int)  # by device and path
        for device, work in self._work.items():
            of_path: dict[int, list[Interval]] = {}
            for start, end, began, number in work.gaps:
                if not began:
                    continue
                launched = min(max(began, start), end)
                if launched < end:
                    on_its_way[device, number] += end - launched
                if launched > start and number != NO_PATH:
                    gaps = of_path.get(number)
                    if gaps is None:
                        path = self._gpu.paths[number]
                        track = _Track(device, path.thread, path.adopted)
                        gaps = of_path[number] = tracks.setdefault(track, [])
                    gaps.append((start, launched))
        for (device, number), ns in on_its_way.items():
            self._charge_path(device, number, Causes(launching=ns))
        return tracks

    def _charge_waits(self, tracks: dict[_Track, list[Interval]]) -> None:
        """Charge the time in calls that wait, and take it from the gaps."""
        waits = _waits_of(self._gpu, self._timeline)
        busy: list[Interval] = []
        if len(self._work) > 1:
            busy = _union(one for work in self._work.values() for one in work.busy)
        for track, gaps in tracks.items():
            if track.thread not in waits:
                continue
            intervals, paths = waits[track.thread]
            found: dict[int, Causes] = defaultdict(Causes)
            for start, end, at in _common(gaps, intervals):
                # While another device works, it is waited for.
                others = sum(b - a for a, b, _ in _common([(start, end)], busy))
                causes = Causes(waiting=others, syncing=end - start - others)
                found[paths[at]] = found[paths[at]].plus(causes)
            for number, causes in found.items():
                self._charge_path(track.device, number, causes)
            tracks[track] = list(_without(gaps, intervals))

    def _charge_slices(self, tracks: dict[_Track, list[Interval]]) -> None:
        """Charge the rest of the gaps to the lines that have slices."""
        trace = self._trace
        if trace is None:
            return
        if trace.left_out:
            if not trace.full_ns:
                return
            full = [(trace.full_ns, _END)]
            tracks = {
                track: list(_without(gaps, full)) for track, gaps in tracks.items()
            }
        number_of: dict[int, int] = {}  # in the columns, by the index in the profile
        for number, thread in enumerate(trace.threads):
            number_of.setdefault(thread, number)
        number_of.pop(UNKNOWN_THREAD, None)
        known = [track for track, gaps in tracks.items() if track.thread in number_of]
        rows = self._idle_sums(
            _batches(trace),
            tuple(
                (
                    number_of[track.thread],
                    array("Q", [start for start, _ in tracks[track]]).tobytes(),
                    array("Q", [end for _, end in tracks[track]]).tobytes(),
                )
                for track in known
            ),
            bytes([not file for file, _, _ in trace.functions]),
            trace.min_line_ns is not None and trace.min_line_ns <= _MIN_WAIT_NS,
        )
        for at, function, line, inclusive, computing, waiting, unknown in rows:
            track, place = known[at], (trace.functions[function], line)
            sums = self._sums[track.device]
            causes = Causes(computing=computing, waiting=waiting, unknown=unknown)
            sums.inclusive[place] += inclusive
            if causes.total:
                sums.add(place, causes, adopted=track.adopted)


def _batches(trace: Trace) -> Iterator[tuple[PackedSlices, bytes, bytes]]:
    """Yield the slices as the core takes them."""
    for batch in sorted_batches(trace):
        thread, function, line, start, ns = slice_planes(batch)
        yield (
            (batch.events, thread, function, line, start, ns),
            slice_waits(batch, WAIT_COLUMN),
            slice_waits(batch, UNSURE_COLUMN),
        )
