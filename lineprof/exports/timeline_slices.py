"""The stays in functions and on lines, as slices of a timeline."""

from __future__ import annotations

from lineprof.exports.timeline_arrows import Span
from lineprof.exports.timeline_rows import LINES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.exports.timeline_labels import Labels
    from lineprof.exports.timeline_rows import Rows
    from lineprof.trace_records import Slice, Trace

# Perfetto drops what lies deeper than 512, and may end another slice in its place.
MOST_DEEP = 500


class TraceSlices:
    """From one process' traces to slices."""

    def __init__(self, process: int, rows: Rows, labels: Labels) -> None:
        self._process = process
        self._rows = rows
        self._labels = labels
        # By thread, and whether it is a line's: the row, the ends of what is open.
        self._tracks: dict[tuple[int, bool], tuple[int, list[int]]] = {}

    def of(self, trace: Trace, zero: int) -> Iterator[Span]:
        """Yield the slices of a trace whose time 0 is at `zero` (ns)."""
        for one in trace:
            span = self.span(one, zero + one.start_ns)
            if span is not None:
                yield span

    def span(self, one: Slice, start: int) -> Span | None:
        """Return the slice of a stay that began at `start`; None if it lies too deep.

        Of what lies too deep the outermost is a slice that says so.
        """
        line = one.line
        track = (one.thread, line != 0)
        found = self._tracks.get(track)
        if found is None:
            found = self._tracks[track] = (self._row(*track), [])
        row, ends = found
        while ends and ends[-1] <= start:
            ends.pop()
        end = start + one.ns
        if ends and end > ends[-1]:
            end = ends[-1]  # rounding makes no slice outlast what it lies in
        depth = len(ends)
        if depth > MOST_DEEP:
            return None
        ends.append(end)
        if depth == MOST_DEEP:
            return Span(row, start, end - start, self._labels.cut)
        label = self._labels.of_slice(one.function, line)
        return Span(row, start, end - start, label)

    def _row(self, thread: int, is_line: bool) -> int:  # noqa: FBT001  # of a key
        row = self._rows.thread(self._process, thread)
        return self._rows.below_thread(row, LINES) if is_line else row
