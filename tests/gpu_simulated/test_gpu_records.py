"""GPU data as frozen values, and timelines in packed columns."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import zlib
from array import array
from dataclasses import replace

import example_gpu
import pytest
from example_gpu import EVENTS, ORIGIN_NS, packed_columns
from example_stats import everything

from lineprof.line_stats import LineStats
from lineprof.model.gpu import KINDS, NO_DEVICE, NO_PATH, Gpu
from lineprof.model.timelines import (
    EVENT_COLUMNS,
    EVENT_DIFFERENCES,
    EVENT_SIZES,
    ITEMS_PER_BATCH,
    Timeline,
    pack_events,
    unpack_events,
)


def timeline(rows: list[tuple[int, ...]], **changes: object) -> Timeline:
    """Return a timeline of `rows`, as example_gpu.EVENTS has them."""
    made = replace(
        example_gpu.timeline(),
        count=len(rows),
        batches=pack_events(packed_columns(rows)),
    )
    return replace(made, **changes)


def rows_at(starts: list[int]) -> list[tuple[int, ...]]:
    """Return kernels that begin at `starts`, with their number as correlation."""
    return [
        (1, 1, start, 5, 1, 0, 0, 1, 7, number, 0, 1, 0, 0)
        for number, start in enumerate(starts)
    ]


def test_gpu_values_compare_and_hash() -> None:
    first, second = example_gpu.example_gpu(), example_gpu.example_gpu()
    assert first == second
    assert hash(first) == hash(second)
    assert first != first._replace(sums=first.sums[1:])
    assert Gpu() == Gpu((), (), (), (), ())


def test_profiles_are_equal_when_their_gpu_data_are() -> None:
    first, same, other = (
        everything(make())
        for make in (example_gpu.example, example_gpu.example, example_gpu.without_gpu)
    )
    assert first == same
    assert first != other
    assert LineStats({}, 1e-9).gpu == Gpu()


def test_events_have_all_fields_and_are_in_order_of_start() -> None:
    events = list(example_gpu.timeline())
    assert [event.start_ns for event in events] == sorted(row[2] for row in EVENTS)
    copy, call, relu, gemm, *_ = events
    assert copy._asdict() == {
        "kind": "memcpy",
        "name": "HtoD",
        "start_ns": 1_000_000,
        "ns": 70_000,
        "path": example_gpu.TO,
        "origin": NO_PATH,
        "device": 0,
        "context": 1,
        "stream": 13,
        "correlation": 8,
        "bytes": 4_194_304,
        "grid": (0, 0, 0),
        "block": (0, 0, 0),
        "registers": 0,
        "static_smem": 0,
        "dynamic_smem": 0,
        "source": "Pinned",
        "target": "Device",
        "thread": 0,
    }
    assert (call.kind, call.thread, call.device) == ("driver", 4711, NO_DEVICE)
    assert call.correlation == relu.correlation
    assert (relu.source, relu.target) == ("", "")
    assert (gemm.grid, gemm.block) == ((8, 4, 1), (16, 16, 1))
    assert (gemm.registers, gemm.static_smem, gemm.dynamic_smem) == (255, 0, 49_152)
    assert events[-1].path == NO_PATH
    assert events[-2].origin == example_gpu.IN_LAYER


def test_call_paths_of_a_timeline_are_counted_from_its_first_path() -> None:
    (event,) = timeline([EVENTS[7]], first_path=100)
    assert (event.path, event.origin) == (
        100 + example_gpu.REPLAY,
        100 + example_gpu.IN_LAYER,
    )


@pytest.mark.parametrize("count", [0, 1, ITEMS_PER_BATCH, ITEMS_PER_BATCH + 1])
def test_any_number_of_events_survives_packing(count: int) -> None:
    events = timeline(rows_at([10 * number for number in range(count)]))
    assert sum(batch.events for batch in events.batches) == count
    assert all(0 < batch.events <= ITEMS_PER_BATCH for batch in events.batches)
    numbers = [(event.correlation, event.start_ns) for event in events]
    assert numbers == [(number, 10 * number) for number in range(count)]


def test_events_that_begin_at_the_same_time_keep_their_order() -> None:
    starts = [5, 5, 1, 5, 1, 9]
    assert [event.correlation for event in timeline(rows_at(starts))] == [
        *(2, 4, 0, 1, 3, 5)
    ]


def test_unordered_events_of_several_batches_are_sorted() -> None:
    starts = list(range(ITEMS_PER_BATCH + 999))
    random.Random(1).shuffle(starts)  # noqa: S311
    found = [event.start_ns for event in timeline(rows_at(starts))]
    assert found == sorted(starts)


def test_a_timeline_can_be_read_again_and_in_part() -> None:
    events = example_gpu.timeline()
    assert list(events) == list(events)
    assert next(iter(events)).start_ns == 1_000_000


@pytest.mark.parametrize("name", EVENT_COLUMNS)
def test_every_value_of_a_column_survives_packing(name: str) -> None:
    top = 256 ** EVENT_SIZES[name] - 1
    values = [0, top, 1, top - 1, top // 2, 0, top, top, 3]
    columns = packed_columns([(0,) * len(EVENT_COLUMNS)] * len(values))
    columns[name] = array(EVENT_COLUMNS[name], values).tobytes()
    (batch,) = pack_events(columns)
    assert list(unpack_events(name, dict(batch.columns)[name], len(values))) == values


def test_a_column_of_zeros_is_left_out() -> None:
    (batch,) = pack_events(packed_columns([EVENTS[0]]))
    assert {name for name, _ in batch.columns} == {
        *("kind", "name", "start", "ns", "path", "context", "stream"),
        *("correlation", "launch"),
    }


def test_an_invalid_column_is_an_error() -> None:
    good = zlib.compress(bytes(4))
    assert list(unpack_events("path", good, 1)) == [0]
    for data, events in (
        (good, 2),
        (zlib.compress(bytes(8)), 1),
        (good[:-1], 1),
        (good + b"x", 1),
        (b"", 1),
        (b"no zlib at all", 1),
        (zlib.compress(bytes(10_000_000)), 1),
    ):
        with pytest.raises(ValueError, match="a column path"):
            unpack_events("path", data, events)


def test_columns_are_as_documented() -> None:
    # As in docs/format.md.
    def values(data: bytes, size: int, events: int, differences: bool) -> list[int]:  # noqa: FBT001
        planes = zlib.decompress(data)
        found = [
            int.from_bytes(planes[event::events], "little") for event in range(events)
        ]
        if differences:
            found = [value % 256**size for value in itertools.accumulate(found)]
        return found

    (batch,) = example_gpu.timeline().batches
    packed = dict(batch.columns)
    for place, name in enumerate(EVENT_COLUMNS):
        start = ORIGIN_NS if name == "start" else 0
        expected = [start + row[place] for row in EVENTS]
        if name not in packed:
            assert not any(expected)
            continue
        found = values(
            packed[name], EVENT_SIZES[name], len(EVENTS), name in EVENT_DIFFERENCES
        )
        assert found == expected


def test_kinds_and_memories_of_a_later_core_are_unknown() -> None:
    row = (len(KINDS), 1, 5, 1, 0, 0, 3, 0, 0, 0, 0, 0, 0xF8, 0)
    (event,) = timeline([row])
    assert (event.kind, event.source, event.target) == ("?", "Unknown", "Unknown")
    assert event.device == 3


def test_copies_name_unknown_memories_and_kernels_name_none() -> None:
    copy = (2, 4, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    (event,) = timeline([copy])
    assert (event.source, event.target) == ("Unknown", "Unknown")
    (event,) = timeline([(1, *copy[1:])])
    assert (event.source, event.target) == ("", "")


def test_events_take_fewer_than_eight_bytes_in_a_file() -> None:
    choose = random.Random(2)  # noqa: S311
    step = [
        (choose.randrange(1, 3), choose.randrange(2_000, 90_000)) for _ in range(99)
    ]
    rows = []
    start = 0
    for number in range(20_000):
        name, ns = step[number % 99]
        ns += choose.randrange(ns // 20)
        rows.append((1, name, start, ns, name, 0, 0, 1, 7, 3 * number, 0, name, 0, 0))
        start += ns + choose.randrange(500, 3_000)
    batches = timeline(rows).batches
    size = sum(len(data) for batch in batches for _, data in batch.columns)
    assert size < 8 * len(rows)


def test_the_model_does_not_import_packing() -> None:
    code = "import lineprof.model.profile, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {"zlib", "array", "lineprof.model.timelines"} & set(done.stdout.split())
