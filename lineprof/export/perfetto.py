"""Timelines as Perfetto's own traces: packets in Protocol Buffers.

Fields are those of protos/perfetto/trace/ in version 50 of Perfetto:
trace_packet.proto and track_event/{track_event,track_descriptor}.proto.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from lineprof.export.encoding import (
    chunks,
    double,
    fixed64,
    int64,
    message,
    number,
    tag,
    text,
    varint,
)
from lineprof.export.timeline import remarks, timeline
from lineprof.export.timeline_tracks import (
    COUNTER,
    MAX_LABELS,
    NO_TRACK,
    PROCESS,
    THREAD,
    Count,
    Span,
    SystemNumbers,
    Track,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.export.timeline_tracks import Argument, Label
    from lineprof.model.profile import Profile

__all__ = ["content", "remarks"]

_PACKET = b"\x0a"  # Trace.packet, with its length to follow

# TracePacket
_TIMESTAMP = b"\x40"  # field 8

_SEQUENCE, _TRACK_EVENT, _INTERNED, _FLAGS, _DESCRIPTOR = 10, 11, 12, 13, 60

_CLEARED, _NEEDED = 1, 2  # values of _FLAGS: forget the interned texts; use them

_SEQUENCE_1 = number(_SEQUENCE, 1)

_WITH_INTERNED = _SEQUENCE_1 + number(_FLAGS, _NEEDED)

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

# InternedData; in each of these field 1 is the number, 2 the text
_CATEGORIES, _NAMES, _ARGUMENT_NAMES = 1, 2, 3

_TEXTS = 29  # debug_annotation_string_values

_BYTES = 3  # CounterDescriptor.unit


def content(profile: Profile) -> Iterator[bytes]:
    """Yield the trace, a chunk at a time."""
    first = _packet(_SEQUENCE_1 + number(_FLAGS, _CLEARED))
    packets = map(_Writer().packets, timeline(profile))
    yield from chunks(chain((first,), packets), b"")


class _Writer:
    """Writes the items of a timeline as packets."""

    def __init__(self) -> None:
        self._begins: dict[int, bytes] = {}  # fields of an event, by track
        self._ends: dict[int, bytes] = {}  # events, by track
        self._events: dict[tuple[int, int], bytes] = {}  # by track and label
        self._labels: dict[int, bytes] = {}  # fields of an event, by label
        self._interned: dict[tuple[int, str], int] = {}  # by kind and text
        self._pids: dict[int, int] = {}  # of a track
        self._numbers = SystemNumbers()

    def packets(self, item: Track | Span | Count) -> bytes:
        """Return the packets of one item."""
        if isinstance(item, Span):
            return self._slice(item)
        if isinstance(item, Track):
            return self._describe(item)
        value = number(_COUNTER_VALUE, int64(item.value))
        event = _COUNT + number(_TRACK, item.track) + value
        return _packet_at(item.at, _event(event))

    def _slice(self, span: Span) -> bytes:
        interned = b""
        is_plain = not (span.correlation or span.starts or span.ends)
        key = (span.track, span.label.number)
        event = self._events.get(key) if is_plain else None
        if event is None:
            label = self._labels.get(span.label.number)
            if label is None:
                interned, label = self._label(span.label)
            event = _event(self._begins[span.track] + label + _extras(span))
            if is_plain:
                if len(self._events) >= MAX_LABELS:
                    self._events.clear()
                self._events[key] = event
        first = _packet_at(span.start, event)
        return interned + first + _packet_at(span.start + span.ns, self._ends[key[0]])

    def _label(self, label: Label) -> tuple[bytes, bytes]:
        """Return a packet of new texts, and the fields of an event."""
        if len(self._labels) >= MAX_LABELS:
            self._labels.clear()
        new: list[bytes] = []
        fields = number(_NAME_ID, self._intern(_NAMES, label.name, new))
        fields += number(_CATEGORY_ID, self._intern(_CATEGORIES, label.category, new))
        for argument in label.arguments:
            fields += message(_ANNOTATION, self._argument(argument, new))
        self._labels[label.number] = fields
        return _interned(new), fields

    def _argument(self, argument: Argument, new: list[bytes]) -> bytes:
        """Return a DebugAnnotation."""
        name, value = argument
        named = number(1, self._intern(_ARGUMENT_NAMES, name, new))
        if isinstance(value, str):
            return named + number(17, self._intern(_TEXTS, value, new))
        if isinstance(value, int):
            return named + number(4, int64(value))
        return named + double(5, value)

    def _intern(self, kind: int, value: str, new: list[bytes]) -> int:
        """Return the number of a text; a text without one is added to `new`."""
        found = self._interned.get((kind, value))
        if found is None:
            found = self._interned[kind, value] = len(self._interned) + 1
            new.append(message(kind, number(1, found) + text(2, value)))
        return found

    def _describe(self, track: Track) -> bytes:
        """Return the descriptor of a track."""
        fields = number(_UUID, track.number) + _EXPLICIT + number(_PLACE, track.place)
        if track.parent != NO_TRACK:
            fields += number(_PARENT, track.parent)
        if track.kind == PROCESS:
            pid = self._pids[track.number] = self._numbers.number(0, track.native)
            fields += message(_PROCESS, number(1, pid) + text(6, track.name))
        else:
            pid = self._pids[track.number] = self._pids[track.parent]
        if track.kind == THREAD:
            thread = number(1, pid) + number(2, self._numbers.number(pid, track.native))
            fields += message(_THREAD, thread + text(5, track.name))
        fields += text(_NAME, track.name)
        if track.kind == COUNTER:
            fields += message(_COUNTER, number(3, _BYTES))
        on_track = number(_TRACK, track.number)
        self._begins[track.number] = _BEGIN + on_track
        self._ends[track.number] = _event(_END + on_track)
        return _packet(_SEQUENCE_1 + message(_DESCRIPTOR, fields))


def _packet(fields: bytes) -> bytes:
    return _PACKET + varint(len(fields)) + fields


def _event(fields: bytes) -> bytes:
    """Return the fields of an event's packet, without its time."""
    return b"".join((_WITH_INTERNED, _EVENT, varint(len(fields)), fields))


def _extras(span: Span) -> bytes:
    """Return the fields of an event that not all events of its label have."""
    fields = b""
    if span.correlation:
        value = varint(span.correlation)
        size = varint(len(_CORRELATION) + len(value))
        fields = b"".join((_ANNOTATED, size, _CORRELATION, value))
    for flow in span.starts:
        fields += fixed64(_FLOWS, flow)
    if span.ends:
        fields += fixed64(_LAST_OF_FLOW, span.ends)
    return fields


def _packet_at(ns: int, event: bytes) -> bytes:
    """Return the packet of an event."""
    at = varint(ns)
    size = varint(len(_TIMESTAMP) + len(at) + len(event))
    return b"".join((_PACKET, size, _TIMESTAMP, at, event))


def _interned(new: list[bytes]) -> bytes:
    return _packet(_WITH_INTERNED + message(_INTERNED, b"".join(new))) if new else b""
