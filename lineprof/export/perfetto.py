"""A profile as Perfetto's own trace: its packets, in Protocol Buffers.

Fields are those of perfetto/protos/perfetto/trace/, as of Perfetto's version
50: trace_packet.proto and track_event/{track_event,track_descriptor}.proto.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.export.encoding import double, fixed64, message, number, tag, text, varint
from lineprof.export.timeline import Count, timeline
from lineprof.export.timeline_tracks import (
    COUNTER,
    MAX_LABELS,
    NO_TRACK,
    PROCESS,
    THREAD,
    Span,
    Track,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.export.timeline_tracks import Argument, Label
    from lineprof.model.profile import Profile

_MOST = 1 << 16  # bytes of a chunk

_PACKET = b"\x0a"  # Trace.packet, with its length to follow

# TracePacket
_TIMESTAMP = b"\x40"  # field 8

_SEQUENCE, _TRACK_EVENT, _INTERNED, _FLAGS, _DESCRIPTOR = 10, 11, 12, 13, 60

_CLEARED, _NEEDS = 1, 2  # values of _FLAGS: what was interned is void; is used

_SEQUENCE_1 = number(_SEQUENCE, 1)

_OURS = _SEQUENCE_1 + number(_FLAGS, _NEEDS)

_EVENT = b"\x5a"  # _TRACK_EVENT, with its length to follow

# TrackEvent
_TYPE, _TRACK, _NAME_ID, _CATEGORY_ID, _COUNTER_VALUE = 9, 11, 10, 3, 30

_FLOWS, _LAST_OF_FLOW, _ANNOTATION = 47, 48, 4

_BEGIN, _END, _COUNT = number(_TYPE, 1), number(_TYPE, 2), number(_TYPE, 4)

# DebugAnnotation
_CORRELATION = text(10, "correlation") + tag(4, 0)  # with its value to follow

_ANNOTATED = tag(_ANNOTATION, 2)  # with its length to follow

# TrackDescriptor
_UUID, _PARENT, _NAME, _PROCESS, _THREAD, _COUNTER = 1, 5, 2, 3, 4, 8

_ORDERING, _PLACE = 11, 12

_EXPLICIT = number(_ORDERING, 3)  # children stand in the order of their _PLACE

# InternedData, and in each of these: 1 is the number, 2 the text
_CATEGORIES, _NAMES, _ARGUMENT_NAMES = 1, 2, 3

_TEXTS = 29  # debug_annotation_string_values

_BYTES = 3  # CounterDescriptor.unit

_FIRST_OF_OURS = 1_000_000_000  # numbers of what has none that is its own


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the trace, a chunk at a time."""
    writer = _Writer()
    chunk = bytearray(_packet(_SEQUENCE_1 + number(_FLAGS, _CLEARED)))
    for item in timeline(stats):
        chunk += writer.packets(item)
        if len(chunk) > _MOST:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)


class _Writer:
    """Writes what a timeline yields as packets."""

    def __init__(self) -> None:
        self._begins: dict[int, bytes] = {}  # of a row: fields of an event
        self._ends: dict[int, bytes] = {}
        self._labels: dict[int, bytes] = {}  # fields of an event
        self._interned: dict[tuple[int, str], int] = {}  # by kind and text
        self._pids: dict[int, int] = {}  # of a row
        self._taken: set[tuple[int, int]] = set()  # numbers of threads, by process
        self._ours = _FIRST_OF_OURS

    def packets(self, item: Track | Span | Count) -> bytes:
        """Return the packets of one item."""
        if isinstance(item, Span):
            return self._slice(item)
        if isinstance(item, Track):
            return self._row(item)
        event = _COUNT + number(_TRACK, item.track) + number(_COUNTER_VALUE, item.value)
        return _event(varint(item.at), event)

    def _slice(self, span: Span) -> bytes:
        row, start, ns, label, correlation, ends, starts = span
        before = b""
        said = self._labels.get(label.number)
        if said is None:
            before, said = self._label(label)
        begin = self._begins[row] + said
        if correlation:
            value = varint(correlation)
            size = varint(len(_CORRELATION) + len(value))
            begin = b"".join((begin, _ANNOTATED, size, _CORRELATION, value))
        for arrow in starts:
            begin += fixed64(_FLOWS, arrow)
        if ends:
            begin += fixed64(_LAST_OF_FLOW, ends)
        first = _event(varint(start), begin)
        return before + first + _event(varint(start + ns), self._ends[row])

    def _label(self, label: Label) -> tuple[bytes, bytes]:
        """Return a packet of texts that are new, and the fields of an event."""
        if len(self._labels) >= MAX_LABELS:
            self._labels.clear()
        new: list[bytes] = []
        said = number(_NAME_ID, self._intern(_NAMES, label.name, new))
        said += number(_CATEGORY_ID, self._intern(_CATEGORIES, label.category, new))
        for argument in label.arguments:
            said += message(_ANNOTATION, self._argument(argument, new))
        self._labels[label.number] = said
        return _interned(new), said

    def _argument(self, argument: Argument, new: list[bytes]) -> bytes:
        """Return a DebugAnnotation."""
        name, value = argument
        named = number(1, self._intern(_ARGUMENT_NAMES, name, new))
        if isinstance(value, str):
            return named + number(17, self._intern(_TEXTS, value, new))
        if isinstance(value, int):
            return named + number(4, value)
        return named + double(5, value)

    def _intern(self, kind: int, value: str, new: list[bytes]) -> int:
        """Return the number of a text; what is not known yet goes to `new`."""
        found = self._interned.get((kind, value))
        if found is None:
            found = self._interned[kind, value] = len(self._interned) + 1
            new.append(message(kind, number(1, found) + text(2, value)))
        return found

    def _row(self, row: Track) -> bytes:
        """Return the packet that describes a row."""
        fields = number(_UUID, row.number) + _EXPLICIT + number(_PLACE, row.place)
        if row.parent != NO_TRACK:
            fields += number(_PARENT, row.parent)
        if row.kind == PROCESS:
            pid = self._pids[row.number] = self._number(0, row.native)
            fields += message(_PROCESS, number(1, pid) + text(6, row.name))
        else:
            pid = self._pids[row.number] = self._pids[row.parent]
        if row.kind == THREAD:
            thread = number(1, pid) + number(2, self._number(pid, row.native))
            fields += message(_THREAD, thread + text(5, row.name))
        fields += text(_NAME, row.name)
        if row.kind == COUNTER:
            fields += message(_COUNTER, number(3, _BYTES))
        track = number(_TRACK, row.number)
        self._begins[row.number] = _BEGIN + track
        self._ends[row.number] = _END + track
        return _packet(_SEQUENCE_1 + message(_DESCRIPTOR, fields))

    def _number(self, pid: int, native: int) -> int:
        """Return `native`, or another number where that is taken or too great."""
        if not 0 < native < _FIRST_OF_OURS or (pid, native) in self._taken:
            self._ours += 1
            return self._ours
        self._taken.add((pid, native))
        return native


def _packet(fields: bytes) -> bytes:
    return _PACKET + varint(len(fields)) + fields


def _event(at: bytes, fields: bytes) -> bytes:
    """Return the packet of an event; `at` is its time, as a varint."""
    fields = b"".join((_TIMESTAMP, at, _OURS, _EVENT, varint(len(fields)), fields))
    return b"".join((_PACKET, varint(len(fields)), fields))


def _interned(new: list[bytes]) -> bytes:
    return _packet(_OURS + message(_INTERNED, b"".join(new))) if new else b""
