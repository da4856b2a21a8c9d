"""A profile as Chrome's trace events: a JSON of slices, in microseconds.

The format: "Trace Event Format", by the Chromium project. Its processes have
threads, and nothing deeper: so a device is a process of its own, and each of
its rows a thread. A process' number is the system's where no other has it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lineprof.export.encoding import quoted
from lineprof.export.timeline import Count, timeline
from lineprof.export.timeline_tracks import (
    COUNTER,
    DEVICE,
    GROUP,
    MAX_LABELS,
    NO_TRACK,
    PROCESS,
    THREAD,
    Span,
    Track,
)
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.export.timeline_tracks import Label
    from lineprof.model.profile import Profile

# Numbers from here on are given to what has none that all viewers take.
_FIRST_OF_OURS = 1_000_000_000

_MOST = 1 << 16  # characters of a chunk


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the JSON, a chunk at a time."""
    other = {"exporter": f"lineprof {VERSION}"}
    head = json.dumps({"displayTimeUnit": "ns", "otherData": other})
    texts = [f'{head[:-1]}, "traceEvents": [']
    size, skip = 0, 1  # the first event has no comma before it
    writer = _Writer()
    for item in timeline(stats):
        text = writer.text(item)
        texts.append(text[skip:])
        skip = 0
        size += len(text)
        if size > _MOST:
            yield "".join(texts).encode()
            texts, size = [], 0
    texts.append("\n]}\n")
    yield "".join(texts).encode()


class _Writer:
    """Writes what a timeline yields; each event is a line."""

    def __init__(self) -> None:
        self._places: dict[int, str] = {}  # of a row: "pid":1,"tid":2
        self._names: dict[int, str] = {}  # of a row, after those that it is below
        self._pids: dict[int, int] = {}  # of a row
        self._processes: dict[int, str] = {}  # names, by row
        self._taken: set[tuple[int, int]] = set()  # numbers of threads, by process
        self._ours = _FIRST_OF_OURS
        self._labels: dict[int, str] = {}

    def text(self, item: Track | Span | Count) -> str:
        """Return the events of one item, a comma before each."""
        if isinstance(item, Span):
            return self._slice(item)
        if isinstance(item, Track):
            return self._row(item)
        name = quoted(self._names[item.track])
        return (
            f',\n{{"ph":"C",{self._places[item.track]},"ts":{_us(item.at)},'
            f'"name":{name},"args":{{"bytes":{item.value}}}}}'
        )

    def _slice(self, span: Span) -> str:
        row, start, ns, label, correlation, ends, starts = span
        place = self._places[row]
        said = self._labels.get(label.number) or self._label(label)
        if correlation:
            comma = "" if said.endswith("{") else ","
            said = f'{said}{comma}"correlation":{correlation}'
        text = (
            f',\n{{"ph":"X",{place},"ts":{start // 1000}.{start % 1000:03},'
            f'"dur":{ns // 1000}.{ns % 1000:03},{said}}}}}'
        )
        if not ends and not starts:
            return text
        arrow = f'{place},"ts":{_us(start)},"cat":"launch","name":"launch"}}'
        for number in starts:
            text += f',\n{{"ph":"s","id":{number},{arrow}'
        if ends:
            text += f',\n{{"ph":"f","bp":"e","id":{ends},{arrow}'
        return text

    def _label(self, label: Label) -> str:
        """Return the name of a slice and what is beside it, but for the ends."""
        if len(self._labels) >= MAX_LABELS:
            self._labels.clear()
        arguments = ",".join(
            f"{quoted(name)}:{quoted(value) if isinstance(value, str) else value}"
            for name, value in label.arguments
        )
        name, category = quoted(label.name), quoted(label.category)
        said = f'"name":{name},"cat":{category},"args":{{{arguments}'
        self._labels[label.number] = said
        return said

    def _row(self, row: Track) -> str:
        """Return the events that name a row, and say its place."""
        if row.kind in {PROCESS, DEVICE}:
            name = row.name
            if row.parent != NO_TRACK:
                name = f"{name}, {self._processes[row.parent]}"
            pid = self._number(0, row.native)
            self._processes[row.number] = name
            self._pids[row.number] = pid
            return _meta(f'"pid":{pid}', "process", name, row.place)
        pid = self._pids[row.number] = self._pids[row.parent]
        outer = self._names.get(row.parent)
        name = self._names[row.number] = f"{outer}: {row.name}" if outer else row.name
        tid = self._number(pid, row.native if row.kind == THREAD else 0)
        place = self._places[row.number] = f'"pid":{pid},"tid":{tid}'
        if row.kind in {COUNTER, GROUP}:
            return ""
        return _meta(place, "thread", name, row.place)

    def _number(self, pid: int, native: int) -> int:
        """Return `native`, or another number where that is taken or too great."""
        if not 0 < native < _FIRST_OF_OURS or (pid, native) in self._taken:
            self._ours += 1
            return self._ours
        self._taken.add((pid, native))
        return native


def _meta(place: str, what: str, name: str, order: int) -> str:
    """Return the two events that name a process or thread, and say its place."""
    return (
        f',\n{{"ph":"M",{place},"name":"{what}_name","args":{{"name":{quoted(name)}}}}}'
        f',\n{{"ph":"M",{place},"name":"{what}_sort_index",'
        f'"args":{{"sort_index":{order}}}}}'
    )


def _us(ns: int) -> str:
    """Return a time (ns) in microseconds, exactly."""
    return f"{ns // 1000}.{ns % 1000:03}"
