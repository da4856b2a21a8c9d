"""What a GPU did, and what a program asked of it, as slices of a timeline."""

from __future__ import annotations

from typing import NamedTuple

from lineprof.exports.timeline_arrows import NO_ARROW, Span
from lineprof.exports.timeline_rows import DRIVER_API, GPU_WAIT, NO_ROW, RUNTIME_API
from lineprof.gpu_records import (
    ALLOC,
    DIRECTIONS,
    DRIVER,
    FREE,
    GRAPH,
    KERNEL,
    MEMCPY,
    MEMSET,
    MIGRATION,
    NO_PATH,
    RUNTIME,
    WAIT,
)
from lineprof.records import UNKNOWN_THREAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from lineprof.exports.timeline_arrows import Arrows
    from lineprof.exports.timeline_labels import Labels
    from lineprof.exports.timeline_rows import Rows
    from lineprof.gpu_records import GpuEvent
    from lineprof.stats import Profile

_HOST = {RUNTIME: RUNTIME_API, DRIVER: DRIVER_API, WAIT: GPU_WAIT}
_LAUNCHED = frozenset({KERNEL, GRAPH, MEMCPY, MEMSET})
# Places of a context's rows: copies by direction, then these.
_COPIES = {name: place for place, name in enumerate(DIRECTIONS, 1)}
_MEMSET, _COMPUTE, _OTHER = 30, 31, 32


class Count(NamedTuple):
    """A counter's new value."""

    row: int
    at: int  # ns, on the axis of `Clock`
    value: int


class GpuSlices:
    """From one process' events to slices."""

    def __init__(
        self, stats: Profile, process: int, rows: Rows, labels: Labels
    ) -> None:
        self._stats = stats
        self._process = process
        self._rows = rows
        self._labels = labels
        self._known: dict[tuple[object, ...], tuple[int, int]] = {}  # rows
        self._allocated: dict[int, int] = {}  # bytes, by row
        self._threads = {
            one.native_id: index
            for index, one in enumerate(stats.threads)
            if one.process == process
        }

    def of(self, event: GpuEvent, start: int, arrows: Arrows) -> Iterator[Span | Count]:
        """Yield what goes on once `event` is there, which is at `start` (ns)."""
        if event.kind in _HOST:
            yield from self._call(event, start, arrows)
        elif event.kind in {ALLOC, FREE}:
            yield self._memory(event, start)
        else:
            yield from self._activity(event, start, arrows)

    def _call(self, event: GpuEvent, start: int, arrows: Arrows) -> Iterator[Span]:
        """Yield a slice of the host."""
        thread = self.thread_of(event)
        native = event.thread if thread == UNKNOWN_THREAD else 0
        key = (event.kind, thread, native)
        found = self._known.get(key)
        if found is None:
            row = self._rows.thread(self._process, thread, native)
            row = self._rows.below_thread(row, _HOST[event.kind])
            found = self._known[key] = (row, NO_ROW)
        row, _ = found
        lane = self._rows.lane(row, start, start + event.ns)
        label = self._labels.of_call(event)
        # Of a call in a call the outer one, which comes first, is the source.
        source = None if event.kind == WAIT else ("call", event.correlation)
        if source and arrows.knows(source):
            source = None
        span = Span(lane, start, event.ns, label, event.correlation)
        yield from arrows.add(span, source)

    def thread_of(self, event: GpuEvent) -> int:
        """Return the index of the thread that an event is of, or UNKNOWN_THREAD.

        CUPTI numbers threads as pthread_self() does: the path knows more.
        """
        if event.path != NO_PATH:
            path = self._stats.gpu.paths[event.path]
            if not path.adopted and path.thread != UNKNOWN_THREAD:
                return path.thread
        return self._threads.get(event.thread, UNKNOWN_THREAD)

    def _memory(self, event: GpuEvent, start: int) -> Count:
        """Return how much of a device is allocated now, as far as it was seen."""
        device = self._rows.device(self._process, max(0, event.device))
        row = self._rows.memory(device)
        size = event.bytes if event.kind == ALLOC else -event.bytes
        self._allocated[row] = max(0, self._allocated.get(row, 0) + size)
        return Count(row, start, self._allocated[row])

    def _activity(self, event: GpuEvent, start: int, arrows: Arrows) -> Iterator[Span]:
        """Yield a slice of a device twice: by kind of work, and on its stream."""
        label = self._labels.of_activity(event)
        end = start + event.ns
        by_kind, by_stream = self._rows_of(event)
        row = self._rows.lane(by_kind, start, end)
        span = Span(row, start, event.ns, label, event.correlation)
        yield from arrows.add(span)
        if by_stream == NO_ROW:
            return
        stream = self._rows.lane(by_stream, start, end)
        ends = NO_ARROW
        if event.kind in _LAUNCHED:
            ends = arrows.end(("call", event.correlation), *self._line(event))
        yield from arrows.add(
            Span(stream, start, event.ns, label, event.correlation, ends)
        )

    def _rows_of(self, event: GpuEvent) -> tuple[int, int]:
        """Return the row of its kind of work, and its stream's."""
        name = event.name if event.kind in {MEMCPY, MIGRATION} else ""
        key = (event.kind, name, event.device, event.context, event.stream)
        found = self._known.get(key)
        if found is None:
            device = self._rows.device(self._process, max(0, event.device))
            if event.kind == MIGRATION:
                name = f"Unified memory ({event.name})"
                found = self._rows.unified(device, name), NO_ROW
            else:
                context = self._rows.context(device, event.context)
                stream = self._rows.stream(context, event.stream)
                found = self._kind_row(event, context), stream
            self._known[key] = found
        return found

    def _line(self, event: GpuEvent) -> Iterator[Hashable]:
        """Yield what may have launched it: its line, or the function of that."""
        if event.path == NO_PATH:
            return
        path = self._stats.gpu.paths[event.path]
        key, line = path.lines[-1]
        yield (path.thread, key, line)
        yield (path.thread, key, 0)

    def _kind_row(self, event: GpuEvent, context: int) -> int:
        if event.kind == MEMCPY:
            place = _COPIES.get(event.name, len(_COPIES))
            return self._rows.work(context, f"MemCpy ({event.name})", place)
        if event.kind == MEMSET:
            return self._rows.work(context, "Memset", _MEMSET)
        if event.kind in {KERNEL, GRAPH}:
            return self._rows.work(context, "Compute", _COMPUTE)
        return self._rows.work(context, f"Other ({event.kind})", _OTHER)
