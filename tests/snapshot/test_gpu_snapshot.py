"""Conversion of the core's GPU data to the GPU values of a profile."""

from __future__ import annotations

from typing import Any

import example_gpu
import pytest
from core_profiles import profile_of
from example_gpu import packed_columns

from lineprof.model.gpu import (
    KINDS,
    NO_DEVICE,
    NO_PATH,
    Gpu,
    GpuDevice,
    GpuPath,
    GpuRun,
    GpuSum,
    numbers_of_lines,
    totals,
    unattributed,
)
from lineprof.model.gpu_memory import GpuMemoryRun
from lineprof.model.records import UNKNOWN_THREAD, Thread
from lineprof.snapshot.gpu import Baseline, Taken, baseline_of, gpu_of
from lineprof.snapshot.profile import TickScale

KERNEL, MEMCPY, MEMSET, WAIT, RUNTIME = range(1, 6)
F, G = ("a.py", 1, "f"), ("a.py", 10, "g")
KEYS = {1: F, 2: G, 5: F}  # f has two code objects; 3 is of another profiler
HALF = TickScale(ns_per_tick=1 << 31, cost_one=1)  # two ticks of the core are a ns
RUN = GpuRun(0, "cupti", "it is there", present=True)
# (parent, function, line) by number; the line of a root is 2 * thread + adopted.
PATHS = [
    (0, 0, 0),
    (0, 0, 0),  # 1: of thread 0
    (1, 1, 2),  # 2: f 2
    (2, 2, 12),  # 3: f 2, g 12
    (0, 0, 7),  # 4: of thread 3, adopted
    (4, 3, 30),  # 5: of another profiler
    (5, 2, 11),  # 6: of another profiler, g 11
    (1, 3, 30),  # 7: of another profiler alone
    (2, 3, 31),  # 8: f 2, another profiler
    (3, 5, 3),  # 9: f 2, g 12, f 3
    (9, 1, 2),  # 10: f 2 (again), g 12, f 3; the innermost is f 2
]


def raw(*sums: tuple[int, ...], **changes: Any) -> Any:
    """Return GPU data like the core's, with these sums."""
    return {
        "paths": PATHS,
        "sums": list(sums),
        "names": ["", "k", "HtoD", "cuLaunchKernel"],
        "events": packed_columns([]),
        "launches": [(0,) * 9, (4, 1, 1, 64, 1, 1, 32, 0, 0)],
        "devices": [(0, "H200", 900, True, {"sms": 132}), (2, "L4", 5, False, {})],
        "origin_ns": example_gpu.ORIGIN_NS,
        "dropped": 1,
        "invalid": 2,
        "outstanding": 3,
        "left_out": 4,
        "realigned": 5,
        "undated": 6,
        "unfinished": 7,
        "cut_ns": 0,
        "foreign_buffers": 7,
        "taken": 2,
        "waits": {"path": b"", "start": b"", "ns": b""},
        "memory": None,
        "backend": "cupti",
        "version": 130001,
        **changes,
    }


def made(data: Any, baseline: Baseline | None = None) -> Gpu:
    return gpu_of(Taken(RUN, data, baseline), KEYS, lambda number: 10 + number, HALF)


def kernel(path: int, count: int = 1, ns: int = 5, **more: int) -> tuple[int, ...]:
    numbers = {"origin": 0, "low": ns, "high": ns, **more}
    return (
        *(path, numbers["origin"], KERNEL, 1, 0),
        *(count, ns, numbers["low"], numbers["high"], 0),
    )


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (2, GpuPath(10, False, ((F, 2),), 1_000_002)),
        (3, GpuPath(10, False, ((F, 2), (G, 12)), 2_000_012)),
        (6, GpuPath(13, True, ((G, 11),), 2_000_011)),
        (8, GpuPath(10, False, ((F, 2),), 1_000_002)),
        (9, GpuPath(10, False, ((F, 2), (G, 12), (F, 3)), 5_000_003)),
        (10, GpuPath(10, False, ((G, 12), (F, 3), (F, 2)), 1_000_002)),
    ],
)
def test_a_path_has_the_lines_of_the_profile(number: int, expected: GpuPath) -> None:
    gpu = made(raw(kernel(number)))
    assert gpu.paths == (expected,)
    assert gpu.sums == (GpuSum(0, NO_PATH, "kernel", "k", 0, 1, 5, 5, 5, 0),)


@pytest.mark.parametrize("number", [0, 1, 4, 5, 7])
def test_a_path_without_a_line_of_the_profile_is_dropped(number: int) -> None:
    gpu = made(raw(kernel(number)))
    assert gpu.paths == ()
    assert gpu.sums[0].path == NO_PATH
    assert unattributed(gpu) == totals(gpu)


def test_paths_with_the_same_lines_are_one() -> None:
    gpu = made(raw(kernel(2, 1, 5), kernel(8, 2, 9, low=4), kernel(0), kernel(7)))
    assert len(gpu.paths) == 1
    assert gpu.sums == (
        GpuSum(0, NO_PATH, "kernel", "k", 0, 3, 14, 4, 9, 0),
        GpuSum(NO_PATH, NO_PATH, "kernel", "k", 0, 2, 10, 5, 5, 0),
    )


def test_recursion_of_any_depth_makes_few_paths() -> None:
    deep = [*PATHS[:2], *((number, 1 + number % 2, 2) for number in range(1, 3000))]
    gpu = made(raw(*(kernel(number) for number in range(2, 3001)), paths=deep))
    assert len(gpu.paths) <= 4
    assert totals(gpu).gpu_ns == 2999 * 5
    lines = numbers_of_lines(gpu)
    assert lines[G][2].gpu_ns == 2999 * 5
    assert lines[F][2].gpu_ns == 2998 * 5


def test_origins_are_paths_like_others() -> None:
    gpu = made(raw(kernel(2, origin=3), kernel(2, origin=7), kernel(0, origin=6)))
    assert [(one.path, one.origin) for one in gpu.sums] == [
        *((0, 1), (0, NO_PATH), (NO_PATH, 2))
    ]
    assert gpu.paths[1].lines[-1] == (G, 12)


def test_every_kind_has_its_name() -> None:
    sums = [(2, 0, kind, 0, 0, 1, 5, 5, 5, 0) for kind in range(1, len(KINDS) + 1)]
    assert [one.kind for one in made(raw(*sums)).sums] == [*KINDS[1:], "?"]


def test_waits_are_in_ticks_and_all_other_times_in_ns() -> None:
    wait = (2, 0, WAIT, 0, 9, 3, 2 * 10**18 + 1, 7, 2**62, 0)
    call = (2, 0, RUNTIME, 3, 9, 3, 100, 7, 90, 0)
    gpu = made(raw(wait, call))
    assert gpu.sums == (
        GpuSum(0, NO_PATH, "wait", "", NO_DEVICE, 3, 10**18, 3, 2**61, 0),
        GpuSum(0, NO_PATH, "runtime", "cuLaunchKernel", NO_DEVICE, 3, 100, 7, 90, 0),
    )


def test_waits_are_added_up_before_conversion_to_ns() -> None:
    waits = [(path, 0, WAIT, 0, 0, 1, 3, 3, 3, 0) for path in (2, 8)]
    (wait,) = made(raw(*waits)).sums
    assert (wait.count, wait.ns, wait.min_ns) == (2, 3, 1)


def test_devices_are_referred_to_by_index() -> None:
    copy = (2, 0, MEMCPY, 2, 2, 1, 5, 5, 5, 64)
    lost = (2, 0, MEMSET, 0, 7, 1, 5, 5, 5, 64)
    gpu = made(raw(copy, lost))
    assert gpu.devices == (
        GpuDevice(0, 0, "H200", 900, True, (("sms", 132),)),
        GpuDevice(0, 2, "L4", 5, False, ()),
    )
    assert [one.device for one in gpu.sums] == [1, NO_DEVICE]
    assert gpu.sums[0].name == "HtoD"


def test_a_run_has_the_numbers_of_lost_records() -> None:
    assert made(raw()).runs == (
        RUN._replace(
            version=130001,
            dropped=1,
            invalid=2,
            outstanding=3,
            left_out=4,
            realigned=5,
            undated=6,
            unfinished=7,
            cut_ns=0,
            foreign_buffers=7,
            taken=2,
        ),
    )
    assert gpu_of(Taken(RUN), KEYS, int, HALF) == Gpu(runs=(RUN,))


# kind, name, start, ns, path, origin, device, context, stream, correlation, ...
EVENTS = [
    (1, 1, 30, 5, 9, 3, 0, 1, 7, 1, 0, 1, 0, 0),
    (1, 1, 10, 5, 7, 0, 0, 1, 7, 2, 0, 1, 0, 0),
    (5, 3, 20, 5, 2, 0, 0, 0, 0, 3, 0, 0, 0, 99),
]


def test_events_have_the_indices_of_their_paths() -> None:
    gpu = made(raw(kernel(3), events=packed_columns(EVENTS)))
    (timeline,) = gpu.timelines
    assert timeline.count == 3
    events = list(timeline)
    lines = [None if e.path == NO_PATH else gpu.paths[e.path].lines for e in events]
    assert lines == [None, ((F, 2),), ((F, 2), (G, 12), (F, 3))]
    assert [event.origin for event in events] == [NO_PATH, NO_PATH, 0]
    assert [event.start_ns for event in events] == [10, 20, 30]
    assert events[1].name == "cuLaunchKernel"
    assert events[2].grid == (4, 1, 1)


def test_no_events_are_no_timeline() -> None:
    assert made(raw(kernel(2))).timelines == ()


def test_a_profiler_has_only_the_data_since_its_start() -> None:
    before = raw(
        kernel(2, 10, 1000, low=90, high=110),
        (2, 0, MEMCPY, 2, 0, 1, 7, 7, 7, 64),
        events=packed_columns(EVENTS[:2]),
        dropped=1,
        invalid=0,
        outstanding=1,
        left_out=1,
        realigned=4,
        undated=1,
        unfinished=7,
        foreign_buffers=1,
        taken=3,
        devices=[(0, "H200", 800, True, {})],
    )
    after = raw(
        kernel(2, 12, 1170, low=80, high=110),
        kernel(3),
        (2, 0, MEMCPY, 2, 0, 1, 7, 7, 7, 64),
        events=packed_columns(EVENTS),
    )
    gpu = made(after, baseline_of(before))
    assert gpu.sums == (
        GpuSum(0, NO_PATH, "kernel", "k", 0, 2, 170, 80, 90, 0),
        GpuSum(1, NO_PATH, "kernel", "k", 0, 1, 5, 5, 5, 0),
    )
    assert [device.busy_ns for device in gpu.devices] == [100, 5]
    (timeline,) = gpu.timelines
    assert [event.kind for event in timeline] == ["runtime"]
    (run,) = gpu.runs
    assert (run.dropped, run.invalid, run.outstanding, run.left_out) == (0, 2, 2, 3)
    assert (run.realigned, run.undated, run.unfinished) == (1, 5, 0)
    assert (run.foreign_buffers, run.taken) == (6, 0)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # count, time, min, max; both are the time of a single record
        ((1, 10, 10, 10), (2, 15, 5, 10), (1, 5, 5, 5)),
        ((1, 10, 10, 10), (2, 30, 10, 20), (1, 20, 20, 20)),
        # exceeded since then: exact
        ((2, 20, 9, 11), (4, 60, 8, 32), (2, 40, 8, 32)),
        # not exceeded: limits for the true values
        ((2, 20, 5, 15), (4, 40, 5, 15), (2, 20, 5, 15)),
        ((2, 100, 1, 99), (4, 110, 1, 99), (2, 10, 1, 9)),
        ((2, 101, 1, 100), (4, 291, 1, 100), (2, 190, 90, 100)),
    ],
)
def test_min_and_max_since_a_baseline_enclose_the_true_ones(
    before: tuple[int, ...], after: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    sums = [(2, 0, KERNEL, 1, 0, *numbers, 0) for numbers in (before, after)]
    (found,) = made(raw(sums[1]), baseline_of(raw(sums[0]))).sums
    assert (found.count, found.ns, found.min_ns, found.max_ns) == expected


def test_names_may_be_in_another_order_than_in_the_baseline() -> None:
    before = raw(kernel(2, 3, 15), names=["", "k"])
    after = raw((2, 0, KERNEL, 2, 0, 4, 21, 5, 6, 0), names=["", "other", "k"])
    (found,) = made(after, baseline_of(before)).sums
    assert (found.name, found.count, found.ns) == ("k", 1, 6)


def test_without_new_data_gpu_values_are_empty() -> None:
    data = raw(kernel(2), events=packed_columns(EVENTS))
    gpu = made(data, baseline_of(data))
    assert (gpu.sums, gpu.paths, gpu.timelines) == ((), (), ())
    assert baseline_of(None) is None


def code(key: tuple[Any, ...], serial: int, *lines: tuple[int, ...]) -> Any:
    return (key, 1, 50, 0, 0, list(lines), serial)


def profile(data: Any) -> Any:
    codes = [
        code(F, 1, (2, 1, 3, 40, 0, 0, -1, -1, 0)),
        code(G, 2),
        code((*F, "copy"), 5, (3, 1, 1, 4, 0, 0, 4, 4, 0)),
    ]
    ids = [(700, "idle"), (701, "main"), (702, "idle"), (703, "pool")]
    taken = data and Taken(RUN, data)
    return profile_of(ids, codes, HALF, example_gpu.PROCESS, gpu=taken)


def test_a_profile_has_threads_that_only_launched_and_code_copies_are_merged() -> None:
    stats = profile(raw(kernel(6), kernel(9)))
    assert [function.key for function in stats.functions] == [F, G]
    assert stats.threads == (
        *(Thread(0, 701, "main"), Thread(0, 703, "pool"), Thread(0, 700, "idle")),
    )
    adopted, plain = stats.gpu.paths
    assert (adopted.thread, plain.thread) == (1, 2)
    assert plain.lines == ((F, 2), (G, 12), (F, 3))


def test_a_thread_without_an_id_is_unknown() -> None:
    late = [*PATHS[:4], (0, 0, 2 * 99), *PATHS[5:]]
    stats = profile(raw(kernel(6), paths=late))
    assert stats.gpu.paths[0].thread == UNKNOWN_THREAD
    assert stats.threads == (Thread(0, 701, "main"),)


def test_a_profile_without_a_gpu_has_no_gpu_values() -> None:
    stats = profile(None)
    assert stats.gpu == Gpu()
    assert stats.threads == (Thread(0, 701, "main"),)
    first, second = stats.functions[0].thread_lines
    assert (first.time_ns, first.min_ns, first.max_ns) == (20, None, None)
    assert (second.time_ns, second.min_ns, second.max_ns) == (2, 2, 2)


def memory(**changes: Any) -> dict[str, Any]:
    """Return the memory of devices like the core's: 80 bytes of f, 50 at the peak."""
    return {
        # Its path, device, pool and start; numbers; the part at the peak, by view.
        "sums": [(2, 0, 3, 0, 2, 80, 1, 30, [50, 0]), (3, 2, 2, 4, 1, 7, 0, 0, [0, 7])],
        "peaks": [(0, 0, 3, 50, example_gpu.ORIGIN_NS + 9), (1, 2, 2, 7, 1_000_700)],
        "starts": [(0, 0), (4, 1_000_000)],
        **dict.fromkeys(("unknown_frees", "unknown_bytes", "late", "lost"), 1),
        "side_bytes": 640,
        **changes,
    }


def test_memory_has_the_peak_of_the_first_profiler() -> None:
    """It has the blocks of all starts, and times since recording began."""
    found = made(raw(memory=memory())).memory
    [first, second] = found.sums
    assert (first.pool, first.live_bytes, first.peak_bytes) == ("device", 50, 50)
    assert (second.pool, second.live_bytes, second.peak_bytes) == ("pinned", 7, 0)
    assert [(one.device, one.peak_bytes, one.peak_ns) for one in found.peaks] == [
        (0, 50, 9)
    ]
    [run] = found.runs
    assert run == GpuMemoryRun(
        process=0,
        side_bytes=640,
        unknown_frees=1,
        unknown_bytes=1,
        late=1,
        lost=1,
    )


def test_memory_of_a_later_profiler_begins_at_its_start() -> None:
    """A free of a block from before is counted, from its start on."""
    before = baseline_of(raw(memory=memory()), 4)
    freed = [(2, 0, 3, 0, 2, 80, 2, 80, [50, 0]), (3, 2, 2, 4, 1, 7, 0, 0, [0, 7])]
    found = made(raw(memory=memory(sums=freed, late=3)), before).memory
    assert [(one.pool, one.peak_bytes) for one in found.sums] == [("pinned", 7)]
    assert [(one.device, one.peak_ns) for one in found.peaks] == [(1, 700)]
    [run] = found.runs
    assert (run.unknown_frees, run.unknown_bytes) == (1, 50)
    assert (run.late, run.lost, run.is_cut) == (2, 0, False)


def test_memory_is_cut_if_too_many_profilers_began_later() -> None:
    """The core keeps the peaks of the first start and of the last ones."""
    before = baseline_of(raw(memory=memory()), 4)
    later = memory(starts=[(0, 0), (9, 2_000_000)])
    found = made(raw(memory=later), before).memory
    assert (found.sums, found.peaks) == ((), ())
    assert [run.is_cut for run in found.runs] == [True]
    assert not found.is_known
