"""Traces in Perfetto's own format: the content of the JSON trace.

The small reader of Protocol Buffers is independent of lineprof's writer.
"""

from __future__ import annotations

import json
from collections import Counter
from struct import unpack
from typing import TYPE_CHECKING, Any

import example_calls
import example_gpu
import pytest
from example_traces import falling, steps

from lineprof.export import EXPORTS
from lineprof.line_stats import LineStats

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.once  # files of fixed profiles

PERFETTO, CHROME = EXPORTS["perfetto"], EXPORTS["chrome"]
BEGIN, END, COUNTER = 1, 2, 4


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield (number, value) of each field of a message: integers, or bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        number, kind = key >> 3, key & 7
        if kind == 0:
            yield number, varint()
        elif kind == 1:
            at += 8
            yield number, data[at - 8 : at]
        else:
            assert kind == 2
            size = varint()
            at += size
            assert at <= len(data)
            yield number, data[at - size : at]


class Trace:
    """Trace, parsed as its format is documented."""

    def __init__(self, stats: LineStats) -> None:
        self.rows: dict[int, dict[int, Any]] = {}  # TrackDescriptor by uuid
        self.slices: list[tuple[str, int, int, int]] = []  # name, start, ns, uuid
        self.arguments: dict[tuple[str, int], dict[str, Any]] = {}  # by name, start
        self.counts: list[tuple[int, int]] = []
        self.flows: list[tuple[int, int, int]] = []  # number, time, last or not
        self._texts: dict[tuple[int, int], str] = {}
        events = []
        packets = list(fields(b"".join(PERFETTO.content(stats))))
        for index, (number, data) in enumerate(packets):
            assert number == 1
            packet = dict(fields(data))
            assert packet[10] == 1  # trusted_packet_sequence_id
            # Interned names are used only after the state is declared clear.
            assert packet.get(13) == (1 if not index else 2) or 60 in packet
            if 60 in packet:
                row = dict(fields(packet[60]))
                assert row[1] not in self.rows
                assert row.get(5, row[1]) in {*self.rows, row[1]}
                self.rows[row[1]] = row
            if 12 in packet:
                self._intern(packet[12])
            if 11 in packet:
                events.append((packet[8], packet[11]))
        self._play(sorted(events, key=lambda one: one[0]))  # as Perfetto sorts them

    def _intern(self, data: bytes) -> None:
        for kind, entry in fields(data):
            one = dict(fields(entry))
            assert (kind, one[1]) not in self._texts
            self._texts[kind, one[1]] = one[2].decode()

    def _play(self, events: list[tuple[int, bytes]]) -> None:
        opened: dict[int, list[tuple[str, int]]] = {}
        for at, data in events:
            event = dict(fields(data))
            assert event[11] in self.rows
            stack = opened.setdefault(event[11], [])
            if event[9] == BEGIN:
                name = self._texts[2, event[10]]
                stack.append((name, at))
                self.arguments[name, at] = dict(self._annotations(data))
                assert self._texts[1, event[3]]
            elif event[9] == END:
                name, start = stack.pop()
                self.slices.append((name, start, at - start, event[11]))
            else:
                assert event[9] == COUNTER
                self.counts.append((at, event[30]))
            for number, value in fields(data):
                if number in {47, 48}:
                    (flow,) = unpack("<Q", value)
                    self.flows.append((flow, at, number == 48))
        assert not any(opened.values())

    def _annotations(self, data: bytes) -> Iterator[tuple[str, Any]]:
        for number, value in fields(data):
            if number == 4:
                one = dict(fields(value))
                name = one[10].decode() if 10 in one else self._texts[3, one[1]]
                if 17 in one:
                    yield name, self._texts[29, one[17]]
                elif 5 in one:
                    yield name, unpack("<d", one[5])[0]
                else:
                    yield name, one[4]

    def name(self, row: int) -> str:
        return str(self.rows[row][2].decode())

    def parents(self, row: int) -> list[str]:
        """Return the names from a track up to its process."""
        names = []
        at: int | None = row
        while at is not None:
            names.append(self.name(at))
            at = self.rows[at].get(5)
        return names


def chrome(stats: LineStats) -> list[dict[str, Any]]:
    events = json.loads(b"".join(CHROME.content(stats)))["traceEvents"]
    return list(events)


@pytest.mark.parametrize(
    "stats",
    [
        steps(),
        example_gpu.example(),
        example_calls.example(),
        example_calls.deep(3_000),
        falling(2_000),
        LineStats({("a.py", 1, "f"): [(2, 1, 5), (3, 2, 10)]}, 1e-9),
        LineStats({}, 1e-9),
    ],
    ids=["steps", "gpu", "calls", "deep", "falling", "no calls", "nothing"],
)
def test_the_trace_has_the_slices_flows_and_counts_of_the_json(
    stats: LineStats,
) -> None:
    trace, events = Trace(stats), chrome(stats)
    assert Counter(one[:3] for one in trace.slices) == Counter(
        (one["name"], round(one["ts"] * 1000), round(one["dur"] * 1000))
        for one in events
        if one["ph"] == "X"
    )
    assert sorted(trace.flows) == sorted(
        (one["id"], round(one["ts"] * 1000), one["ph"] == "f")
        for one in events
        if one["ph"] in {"s", "f"}
    )
    assert trace.counts == [
        (round(one["ts"] * 1000), one["args"]["bytes"])
        for one in events
        if one["ph"] == "C"
    ]
    assert list(PERFETTO.remarks(stats)) == list(CHROME.remarks(stats))


def test_arguments_of_slices_are_those_of_the_json() -> None:
    stats = steps()
    trace = Trace(stats)
    for one in chrome(stats):
        if one["ph"] == "X":
            place = (one["name"], round(one["ts"] * 1000))
            assert trace.arguments[place] == one["args"]
    kernel = trace.arguments["void at::native::relu<float>(float*, int)", 1_050_000]
    assert kernel == {
        "Python line": "model.py:21",
        "function": "step",
        "grid": "64x1x1",
        "block": "256x1x1",
        "registers per thread": 32,
        "static shared memory (bytes)": 4096,
        "dynamic shared memory (bytes)": 0,
        "correlation": 10,
    }
    assert trace.arguments["[CUDA memcpy HtoD]", 1_000_000]["GB/s"] == 59.9


def test_tracks_are_nested_as_in_nvidias_profilers() -> None:
    trace = Trace(steps())
    process, device = "model.py (4711)", "NVIDIA H200 (0)"
    paths = {" < ".join(trace.parents(row)) for row in trace.rows}
    for path in (
        f"Lines < MainThread (4711) < {process}",
        f"Runtime API < MainThread (4711) < {process}",
        f"Driver API < MainThread (4711) < {process}",
        f"MemCpy (HtoD) < Context 1 < {device} < {process}",
        f"Compute < Context 1 < {device} < {process}",
        f"Stream 7 < Context 1 < {device} < {process}",
        f"Stream 8 < Context 2 < NVIDIA L4 (1) < {process}",
        f"Profiling overhead: the sum < {process}",
    ):
        assert path in paths


def test_a_thread_has_perfettos_thread_track_with_its_functions() -> None:
    trace = Trace(steps())
    (thread,) = (
        row for row in trace.rows if 4 in trace.rows[row] and "Main" in trace.name(row)
    )
    known = dict(fields(trace.rows[thread][4]))
    assert (known[1], known[2], known[5]) == (4711, 4711, b"MainThread (4711)")
    names = [name for name, _, _, row in trace.slices if row == thread]
    assert names == ["step", "fit"]


def test_names_keep_any_characters() -> None:
    names = {one[0] for one in Trace(example_calls.example()).slices}
    assert 'weights "w"; größe\'s <損> & \\ %\\udcff' in names


def test_varints_have_the_length_of_the_format() -> None:
    """The length changes at 128 and 16,384; the max is 2**64 - 1."""
    from lineprof.export.encoding import number, varint  # noqa: PLC0415

    expected = {
        0: b"\0",
        127: b"\x7f",
        128: b"\x80\x01",
        300: b"\xac\x02",
        16_383: b"\xff\x7f",
        16_384: b"\x80\x80\x01",
        2**63: b"\x80" * 9 + b"\x01",
        -1: b"\xff" * 9 + b"\x01",
    }
    assert {value: varint(value) for value in expected} == expected
    for value in (0, 1, 2**14, 2**21 - 1, 2**28, 2**35 + 5, 2**42, 2**56 - 1):
        assert list(fields(number(3, value))) == [(3, value)]
