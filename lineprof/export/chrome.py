"""Timelines in Chrome's trace event format: JSON of slices, in microseconds.

The format is "Trace Event Format", by the Chromium project. It has processes with
threads, and nothing deeper: so a device is a process of its own, and each of its
tracks a thread. A process keeps the system's number unless another one has it.
"""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING

from lineprof.export.encoding import chunks, quoted
from lineprof.export.timeline import remarks, timeline
from lineprof.export.timeline_tracks import (
    COUNTER,
    DEVICE,
    GROUP,
    MAX_LABELS,
    NO_TRACK,
    PROCESS,
    THREAD,
    Count,
    Span,
    SystemNumbers,
    Track,
)
from lineprof.report.gpu_format import microseconds
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.export.timeline_tracks import Label
    from lineprof.model.profile import Profile

__all__ = ["content", "remarks"]


def content(profile: Profile) -> Iterator[bytes]:
    """Yield the JSON, a chunk at a time."""
    other = {"exporter": f"lineprof {VERSION}"}
    head = json.dumps({"displayTimeUnit": "ns", "otherData": other})
    events = map(_Writer().text, timeline(profile))
    first = next(events, "")[1:]  # without the comma before it
    start = f'{head[:-1]}, "traceEvents": [{first}'
    for chunk in chunks(chain((start,), events, ("\n]}\n",)), ""):
        yield chunk.encode()


class _Writer:
    """Writes the items of a timeline; each event is a line."""

    def __init__(self) -> None:
        self._places: dict[int, str] = {}  # of a track: "pid":1,"tid":2
        self._names: dict[int, str] = {}  # of a track, after those above it
        self._pids: dict[int, int] = {}  # of a track
        self._processes: dict[int, str] = {}  # names, by track
        self._numbers = SystemNumbers()
        self._labels: dict[int, str] = {}

    def text(self, item: Track | Span | Count) -> str:
        """Return the events of one item, a comma before each."""
        if isinstance(item, Span):
            return self._slice(item)
        if isinstance(item, Track):
            return self._track(item)
        name = quoted(self._names[item.track])
        return (
            f',\n{{"ph":"C",{self._places[item.track]},"ts":{microseconds(item.at)},'
            f'"name":{name},"args":{{"bytes":{item.value}}}}}'
        )

    def _slice(self, span: Span) -> str:
        place, start, ns = self._places[span.track], span.start, span.ns
        label = self._labels.get(span.label.number) or self._label(span.label)
        if span.correlation:
            comma = "" if label.endswith("{") else ","
            label = f'{label}{comma}"correlation":{span.correlation}'
        text = (
            f',\n{{"ph":"X",{place},"ts":{start // 1000}.{start % 1000:03},'
            f'"dur":{ns // 1000}.{ns % 1000:03},{label}}}}}'
        )
        if not span.ends and not span.starts:
            return text
        flow = f'{place},"ts":{microseconds(start)},"cat":"launch","name":"launch"}}'
        for number in span.starts:
            text += f',\n{{"ph":"s","id":{number},{flow}'
        if span.ends:
            text += f',\n{{"ph":"f","bp":"e","id":{span.ends},{flow}'
        return text

    def _label(self, label: Label) -> str:
        """Return name, category and arguments of a slice, without closing braces."""
        if len(self._labels) >= MAX_LABELS:
            self._labels.clear()
        arguments = ",".join(
            f"{quoted(name)}:{quoted(value) if isinstance(value, str) else value}"
            for name, value in label.arguments
        )
        name, category = quoted(label.name), quoted(label.category)
        text = f'"name":{name},"cat":{category},"args":{{{arguments}'
        self._labels[label.number] = text
        return text

    def _track(self, track: Track) -> str:
        """Return the events that name and order a track."""
        if track.kind in {PROCESS, DEVICE}:
            name = track.name
            if track.parent != NO_TRACK:
                name = f"{name}, {self._processes[track.parent]}"
            pid = self._numbers.number(0, track.native)
            self._processes[track.number] = name
            self._pids[track.number] = pid
            return _metadata(f'"pid":{pid}', "process", name, track.place)
        pid = self._pids[track.number] = self._pids[track.parent]
        outer = self._names.get(track.parent)
        name = self._names[track.number] = (
            f"{outer}: {track.name}" if outer else track.name
        )
        tid = self._numbers.number(pid, track.native if track.kind == THREAD else 0)
        place = self._places[track.number] = f'"pid":{pid},"tid":{tid}'
        if track.kind in {COUNTER, GROUP}:
            return ""
        return _metadata(place, "thread", name, track.place)


def _metadata(place: str, kind: str, name: str, order: int) -> str:
    """Return the two events that name and order a process or thread."""
    return (
        f',\n{{"ph":"M",{place},"name":"{kind}_name","args":{{"name":{quoted(name)}}}}}'
        f',\n{{"ph":"M",{place},"name":"{kind}_sort_index",'
        f'"args":{{"sort_index":{order}}}}}'
    )
