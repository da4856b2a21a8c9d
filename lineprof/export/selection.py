"""Selection of the slices that an exported timeline shows: the longest ones.

A trace may have tens of millions of slices, and viewers open about one million. A slice
that is not shown is folded: its time is self time of the slice around it. Where there
is none around it, its time is in a sum, on a row below those of the threads; so the
functions of a thread keep their time. A slice is shown only within a slice that is.

Traces stay packed: the core goes through their columns, batch by batch. The
lengths are counted first, for the minimum length that leaves as many slices as wanted.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.clocks import Clock
from lineprof.model.gpu import ALLOC, DRIVER, FREE, KINDS, MIGRATION, RUNTIME, WAIT
from lineprof.model.records import UNKNOWN_THREAD, Thread
from lineprof.model.timelines import (
    EVENT_COLUMNS,
    ITEMS_PER_BATCH,
    SLICE_COLUMNS,
    SLICE_SIZES,
    event_column,
    first_of,
    pack_events,
    pack_slices,
    slice_column,
    slice_planes,
    sorted_batches,
)
from lineprof.report.gpu_format import time_text
from lineprof.snapshot.arithmetic import count_slices, select_slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from lineprof.console.progress import Progress
    from lineprof.model.host_memory import MemoryCurve
    from lineprof.model.profile import Profile
    from lineprof.model.timelines import Batch, Timeline, Trace

    AnyTimeline = TypeVar("AnyTimeline", Timeline, Trace)

    # The number of slices, and the bytes of each column: see `slice_planes`.
    UnpackedSlices = tuple[int, bytes, bytes, bytes, bytes, bytes]

DEFAULT_LIMIT = 1_000_000

_END = (1 << 64) - 1  # ns: after all slices

_SLOTS = 1000  # of time, in each of which folded slices are summed up by function

_SLICES_PER_SLOT = 100  # fewer slots if fewer slices are shown

SUMS_NAME = "short calls, summed"  # of the rows of these sums


class SliceChoice(NamedTuple):
    """What a timeline shall show; times in ns since the run began to measure."""

    min_ns: int = 0
    from_ns: int = 0
    to_ns: int | None = None  # None: the end
    limit: int = DEFAULT_LIMIT  # slices; 0: all

    @property
    def is_narrow(self) -> bool:
        """Whether slices may be left out by their length or their time."""
        return bool(self.min_ns or self.from_ns or self.to_ns is not None)


class Selection(NamedTuple):
    """The profile to be exported, and how it differs from the whole, a line each."""

    profile: Profile
    remarks: tuple[str, ...] = ()


class _Rule(NamedTuple):
    """The minimum length, and how many of the slices of that very length are shown."""

    min_ns: int
    shown: int | None = None  # None: all
    ties: int = 1


def shows_all(profile: Profile, choice: SliceChoice) -> bool:
    """Tell whether the timeline is sure to have all slices."""
    most = sum(trace.count for trace in profile.traces)
    most += sum(_WEIGHT * timeline.count for timeline in profile.gpu.timelines)
    return not choice.is_narrow and not 0 < choice.limit < most


def select(profile: Profile, choice: SliceChoice, progress: Progress) -> Selection:
    """Return `profile` with the chosen slices and GPU activities."""
    selector = _Selector(profile, choice, progress)
    rule = selector.rule()
    shown = selector.apply(rule)
    return Selection(shown, tuple(selector.remarks(rule)))


class _Selector:
    """The selection among the slices of one profile."""

    def __init__(
        self, profile: Profile, choice: SliceChoice, progress: Progress
    ) -> None:
        self._profile = profile
        self._choice = choice
        self._limit = choice.limit or _END
        self._progress = progress
        self._clock = Clock(profile)
        self._traces = list(profile.traces)
        self._gpu_lengths = self._count_gpu()
        self._slices = 0  # in the time window
        self._shown = 0
        self._shortest = _END  # of the slices shown (ns)
        self._left_out: list[int] = []  # lengths of GPU activities
        # Threads of sums, by process and the thread whose calls they have.
        self._sums: dict[tuple[int, int], int] = {}
        self._threads = list(profile.threads)

    def _window(self, one: Trace | Timeline) -> tuple[int, int]:
        """Return the time window on CLOCK_MONOTONIC (ns)."""
        to_ns, origin = self._choice.to_ns, one.origin_ns - self._clock.zero_of(one)
        low = self._choice.from_ns + origin if self._choice.from_ns else 0
        high = _END if to_ns is None else to_ns + origin
        return min(max(low, 0), _END), min(max(high, 0), _END)

    # The rule.

    def rule(self) -> _Rule:
        """Return the rule with which at most as many slices as wanted are shown.

        The class of lengths in which the limit lies is divided until it has one length.
        """
        classes = _Classes(0, _BY_RATIO)
        counts = self._count(classes)
        self._slices = sum(counts) - self._gpu_lengths.total()
        lengths, above = classes.find(counts, self._limit, 0, _ALL_LENGTHS)
        while lengths and lengths.stop > self._choice.min_ns:
            if len(lengths) == 1:
                ties = counts[classes.of(lengths.start)]
                return _Rule(lengths.start, self._limit - above, ties)
            classes = _Classes.within(lengths)
            counts = self._count(classes)
            lengths, above = classes.find(counts, self._limit, above, lengths)
        return _Rule(self._choice.min_ns)

    def _count(self, classes: _Classes) -> array[int]:
        """Return how many slices in the time window each class of lengths has."""
        counts = array("Q", bytes(8 * _CLASSES))
        for index, trace in enumerate(self._traces):
            found = count_slices(
                self._unpacked(trace, "counting slices"),
                len(trace.threads),
                *self._window(trace),
                counts,
                *classes,
            )
            if found < 0:
                self._traces[index] = replace(trace, batches=sorted_batches(trace))
                return self._count(classes)
        for ns, number in self._gpu_lengths.items():
            at = classes.of(ns)
            if 0 <= at < _CLASSES:
                counts[at] += number
        return counts

    def _unpacked(self, trace: Trace, doing: str) -> Iterator[UnpackedSlices]:
        done = 0
        for batch in trace.batches:
            thread, function, line, start, ns = slice_planes(batch)
            yield batch.events, thread, function, line, start, ns
            done += batch.events
            self._progress.say(
                lambda done=done: f"{doing}: {done:,} of {trace.count:,}"  # type: ignore[misc]
            )

    def _count_gpu(self) -> Counter[int]:
        """Return how many slices the GPU activities of each length have."""
        found: Counter[int] = Counter()
        for timeline in self._profile.gpu.timelines:
            window = self._window(timeline)
            for batch in timeline.batches:
                for one in _gpu_slices(batch, window):
                    if one is not None and one.weight:
                        found[one.ns] += one.weight
        return found

    # Its application.

    def apply(self, rule: _Rule) -> Profile:
        """Return the profile with the slices that `rule` shows.

        Of slices of one length GPU activities come first.
        """
        timelines = []
        for timeline in self._profile.gpu.timelines:
            shown, rule = self._timeline(timeline, rule)
            timelines.append(shown)
        rule = rule._replace(ties=rule.ties - self._gpu_lengths[rule.min_ns])
        # The first of the ties is shown, if any is.
        credit = max(0, rule.ties - max(1, rule.shown or 0))
        traces = []
        for trace in self._traces:
            shown_traces, credit = self._trace(trace, rule, credit)
            traces += shown_traces
        return self._profile.with_timelines(
            self._threads,
            traces,
            self._profile.gpu._replace(timelines=tuple(timelines)),
            [self._curve(one) for one in self._profile.memory.curves],
        )

    def _curve(self, curve: MemoryCurve) -> MemoryCurve:
        """Return the part of a curve of memory in the time window."""
        start, to_ns = self._clock.start_of(curve.process), self._choice.to_ns
        end = _END if to_ns is None else to_ns
        shown = [
            self._choice.from_ns <= start + at_ns <= end for at_ns in curve.times_ns
        ]
        return curve._replace(
            times_ns=tuple(compress(curve.times_ns, shown)),
            live_bytes=tuple(compress(curve.live_bytes, shown)),
            line_bytes=tuple(
                [tuple(compress(sizes, shown)) for sizes in curve.line_bytes]
            ),
        )

    def _timeline(self, timeline: Timeline, rule: _Rule) -> tuple[Timeline, _Rule]:
        """Return what is shown of GPU activities, and the rule for what follows."""
        window, room = self._window(timeline), rule.shown
        columns = {name: array(kind) for name, kind in EVENT_COLUMNS.items()}
        for batch in timeline.batches:
            mask: list[bool] = []
            for one in _gpu_slices(batch, window):
                mask.append(False)
                if one is None:
                    continue
                mask[-1] = one.weight == 0 or one.ns > rule.min_ns
                if one.ns == rule.min_ns and (room is None or room >= one.weight):
                    mask[-1] = True
                    room = None if room is None else room - one.weight
                if mask[-1]:
                    columns["start"].append(one.start)
                    columns["ns"].append(one.ns)
                else:
                    self._left_out.append(one.ns)
            for name, column in columns.items():
                if name not in {"start", "ns"}:
                    column.extend(compress(event_column([batch], name), mask))
        shown = {name: column.tobytes() for name, column in columns.items()}
        return _with_batches(timeline, pack_events(shown)), rule._replace(shown=room)

    def _trace(self, trace: Trace, rule: _Rule, credit: int) -> tuple[list[Trace], int]:
        """Return what is shown of a trace and its sums, and the rest of the credit."""
        packer = _Packer()

        def add(*columns: bytes) -> None:
            packer.add(*columns)
            lengths = array("Q", columns[-1])
            self._shown += len(lengths)
            self._shortest = min(self._shortest, min(lengths, default=_END))

        shown, ties = (1, 1) if rule.shown is None else (rule.shown, max(1, rule.ties))
        sums, credit = select_slices(
            self._unpacked(trace, "choosing slices"),
            len(trace.threads),
            *self._window(trace),
            *(rule.min_ns, shown, ties, credit),
            _slot_ns(trace, self._choice.limit),
            add,
        )
        found = [_with_batches(trace, packer.end())]
        if sums[0]:
            found.append(self._sums_of(trace, dict(zip(SLICE_COLUMNS, sums))))
        return found, credit

    def _sums_of(self, trace: Trace, columns: Mapping[str, bytes]) -> Trace:
        """Return the sums of a trace's short calls, each on a new thread for them."""
        summed = set(array(SLICE_COLUMNS["thread"], columns["thread"]))
        threads = [
            self._thread_of_sums(trace.process, thread) if number in summed else thread
            for number, thread in enumerate(trace.threads)
        ]
        sums = replace(trace, left_out=0, threads=tuple(threads))
        return _with_batches(sums, pack_slices(columns))

    def _thread_of_sums(self, process: int, thread: int) -> int:
        """Return the thread on which the sums of a thread are shown; a new one."""
        key = (process, thread)
        if key not in self._sums:
            like = Thread(process=process, native_id=0, name="")
            if thread != UNKNOWN_THREAD:
                like = self._threads[thread]
            name = ": ".join(filter(None, [like.name, SUMS_NAME]))
            self._sums[key] = len(self._threads)
            self._threads.append(like._replace(name=name))
        return self._sums[key]

    def remarks(self, rule: _Rule) -> Iterator[str]:
        """Yield how the timeline differs from the whole one, one line each."""
        folded = self._slices - self._shown
        how = "" if rule.shown is None else "; --limit 0 writes all"
        if folded and rule.shown is None:
            yield (
                f"{folded:,} of {self._slices:,} slices are shorter than"
                f" {time_text(rule.min_ns)}: they count as time of the slices around"
                f" them{self._remark_of_sums()}"
            )
        elif folded:
            yield (
                f"the file has the longest {self._shown:,} of {self._slices:,} slices,"
                f" down to {time_text(self._shortest)}: the others count as time of the"
                f" slices around them{self._remark_of_sums()}{how}"
            )
        if self._left_out:
            yield (
                f"{len(self._left_out):,} GPU activities, the shortest"
                f" ({time_text(sum(self._left_out))} in all), are not in the file{how}"
            )
        if self._choice.is_narrow and not self._traces:
            yield "--min-duration, --from and --to leave the sums of calls as they are"
        elif not self._slices and not self._gpu_lengths:
            yield "the file has no slices: none is between --from and --to"

    def _remark_of_sums(self) -> str:
        return f", or on a row '{SUMS_NAME}' if there is none" if self._sums else ""


def _slot_ns(trace: Trace, limit: int) -> int:
    """Return the length of the time in which folded slices are summed up."""
    slots = min(_SLOTS, max(1, limit // _SLICES_PER_SLOT)) if limit else _SLOTS
    both = (*trace.batches[:1], *trace.batches[-1:])
    ends = [slice_column([batch], "start") for batch in both]
    return max(1, (ends[-1][-1] - ends[0][0]) // slots + 1) if ends else 1


def _with_batches(one: AnyTimeline, batches: tuple[Batch, ...]) -> AnyTimeline:
    """Return the timeline `one` with these batches in place of its own."""
    return replace(one, count=sum(batch.events for batch in batches), batches=batches)


class _Packer:
    """Packs slices in full batches, as they come."""

    def __init__(self) -> None:
        self._columns = {name: bytearray() for name in SLICE_COLUMNS}
        self._batches: list[Batch] = []

    def add(self, *columns: bytes) -> None:
        """Add slices by their columns."""
        for column, more in zip(self._columns.values(), columns):
            column.extend(more)
        waiting = len(self._columns["line"]) // SLICE_SIZES["line"]
        if waiting >= ITEMS_PER_BATCH:
            self._pack(waiting - waiting % ITEMS_PER_BATCH)

    def end(self) -> tuple[Batch, ...]:
        """Return all batches."""
        self._pack(ITEMS_PER_BATCH)
        return tuple(self._batches)

    def _pack(self, count: int) -> None:
        """Pack up to `count` slices."""
        columns = {}
        for name, column in self._columns.items():
            end = count * SLICE_SIZES[name]
            columns[name] = bytes(column[:end])
            del column[:end]
        self._batches += pack_slices(columns)


# Lengths of slices.


_CLASSES = 110_592  # LP_LENGTH_CLASSES of csrc/arithmetic/slice_selection.h

_BY_RATIO = -1  # the shift of lp_length_class()

_EXACT_BITS = 11

_MAX_SHIFT = 16  # a class is divided into so many powers of two at once

_ALL_LENGTHS = range(_END + 1)


class _Classes(NamedTuple):
    """Classes of lengths: by `lp_length_class`, or all of one width."""

    base: int
    shift: int  # class c begins at (base + c) << shift

    @classmethod
    def within(cls, lengths: range) -> _Classes:
        """Return the classes that divide some lengths: a power of two of them."""
        width = lengths.stop - lengths.start
        shift = max(0, width.bit_length() - 1 - _MAX_SHIFT)
        return cls(lengths.start >> shift, shift)

    def of(self, ns: int) -> int:
        """Return the class of a length; below 0 if there is none."""
        if self.shift == _BY_RATIO:
            shift = max(0, ns.bit_length() - _EXACT_BITS - 1)
            return (shift << _EXACT_BITS) + (ns >> shift)
        return (ns >> self.shift) - self.base

    def lengths(self, at: int) -> range:
        """Return the lengths of a class."""
        shift, start = self.shift, self.base + at
        if shift == _BY_RATIO:
            shift = max(0, (at >> _EXACT_BITS) - 1)
            start = at - (shift << _EXACT_BITS)
        return range(start << shift, (start + 1) << shift)

    def find(
        self, counts: Sequence[int], limit: int, above: int, among: range
    ) -> tuple[range, int]:
        """Return the lengths with which there are more than `limit` slices.

        That is a class among the lengths `among`, longer than which there are
        `above` slices; and the number of slices that are longer than the class.
        Returns no lengths if there are not so many slices.
        """
        for at in range(self.of(among[-1]), self.of(among[0]) - 1, -1):
            if above + counts[at] > limit:
                return self.lengths(at), above
            above += counts[at]
        return range(0), above


# GPU activities.


class _GpuSlice(NamedTuple):
    """The time of a GPU activity in the window, and the slices that it has."""

    start: int  # on CLOCK_MONOTONIC
    ns: int
    weight: int


# Of work of a device, which is on a row of its kind and on one of its stream.
_WEIGHT = 2

_WEIGHTS = {ALLOC: 0, FREE: 0, RUNTIME: 1, DRIVER: 1, WAIT: 1, MIGRATION: 1}


def _gpu_slices(batch: Batch, window: tuple[int, int]) -> Iterator[_GpuSlice | None]:
    """Yield each activity of a batch; None if it is outside of the window.

    Allocations before the window are at its begin: they count for what follows.
    """
    low, high = window
    weights = [_WEIGHTS.get(kind, _WEIGHT) for kind in KINDS]
    for kind, start, ns in zip(
        *(event_column([batch], name) for name in ("kind", "start", "ns"))
    ):
        weight = weights[kind] if kind < len(weights) else _WEIGHT
        end = start + ns
        if start >= high or (weight and end <= low and start < low):
            yield None
        else:
            begin, end = max(start, low), min(max(end, low), high)
            yield _GpuSlice(begin, end - begin, weight)


# The size of the file.


_SAMPLE_FROM = 200_000  # slices: the file of fewer is small

_SAMPLE_BATCHES = 4  # of each trace and timeline

_SAMPLE_SLICES = 1 << 13  # of each batch


def estimated_bytes(
    profile: Profile, content: Callable[[Profile], Iterable[bytes]]
) -> int:
    """Return about how many bytes `content` has; 0 if that is not many.

    It is made from a few batches of the slices, and multiplied.
    """
    both: list[Trace | Timeline] = [*profile.traces, *profile.gpu.timelines]
    total = sum(one.count for one in both)
    if total < _SAMPLE_FROM:
        return 0
    sample = profile.with_timelines(
        profile.threads,
        [_sample(one) for one in profile.traces],
        profile.gpu._replace(timelines=tuple(map(_sample, profile.gpu.timelines))),
    )
    both = [*sample.traces, *sample.gpu.timelines]
    size = sum(map(len, content(sample)))
    return size * total // max(1, sum(one.count for one in both))


def _sample(one: AnyTimeline) -> AnyTimeline:
    """Return the slices or GPU activities at some times, evenly apart."""
    step = max(1, len(one.batches) // _SAMPLE_BATCHES)
    batches = (
        first_of(batch, _SAMPLE_SLICES) for batch in one.batches[step // 2 :: step]
    )
    return _with_batches(one, tuple(batches))
