"""Very many records: no nanosecond is lost, and memory stays bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from gpu_rig import Ran, Rig, events, lost, run_of

from lineprof.model.gpu import numbers_of_functions, totals

if TYPE_CHECKING:
    from lineprof import LineStats

pytestmark = pytest.mark.usefixtures("hook")

MB = 1024  # getrusage counts KB


def grown(ran: Ran) -> int:
    """Return the growth of memory in KB, as printed by the program."""
    assert (ran.status, ran.err) == (0, "")
    return int(ran.out)


class Counted(NamedTuple):
    """Numbers of the GPU work of a profile."""

    kernels: int
    gpu_ns: int
    events: int


def counted(stats: LineStats) -> Counted:
    """Return the number of kernels, the GPU time and the length of the timeline."""
    whole = totals(stats.gpu)
    return Counted(whole.kernels, whole.gpu_ns, len(events(stats)))


# After step 74 the correlation ids alone would need 14 MB.  Each step takes all
# records, so that waiting records do not count as growth.
MILLIONS = """
import resource
from lineprof import _core

def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

@profile
def f(n):
    gpu.fk_launch_many(b"k", n, 3)  #> gpu=3600000 kernels=1200000
    gpu.fk_sync(0, 0, -1)  #> wait=3600000/300 time=3600000

for step in range(300):
    f(4000)
    _core.gpu_flush()
    if step == 74:
        before = memory()
print(memory() - before)
"""


@pytest.mark.serial
def test_millions_of_records(rig: Rig) -> None:
    ran = rig.kernprof(MILLIONS, "--gpu-events", "5000", fresh=True)
    assert grown(ran) < 8 * MB
    stats = ran.check()
    assert counted(stats) == (1200000, 3600000, 5000)
    assert lost(stats.gpu.runs[0]) == (0, 0, 0, 1195000)
    [device] = stats.gpu.devices
    assert (device.busy_ns, device.busy_exact) == (3600000, True)


@pytest.mark.serial
def test_millions_of_records_with_reused_correlation_ids(rig: Rig) -> None:
    """No launch is outstanding for ever because its id was reused."""
    knobs = {"FAKE_CUPTI_FIRST_ID": (1 << 32) - 600000, "LINEPROF_GPU_EVENTS": 0}
    ran = rig.kernprof(MILLIONS, fresh=True, **knobs)
    assert grown(ran) < 8 * MB
    stats = ran.check()
    assert counted(stats) == (1200000, 3600000, 0)
    assert lost(stats.gpu.runs[0]) == (0, 0, 0, 1200000)


def test_many_records_that_never_arrive(rig: Rig) -> None:
    """Each ninth record is dropped."""
    program = """
    @profile
    def f():
        for _ in range(100):
            gpu.fk_launch_many(b"k", 900, 1)  #> gpu=80000 kernels=80000
            gpu.fk_sync(0, 0, -1)  #> wait=90000/100
    f()
    """
    ran = rig.kernprof(program, FAKE_CUPTI_DROP=9)
    stats = ran.ok().check()
    assert lost(stats.gpu.runs[0]) == (10000, 0, 10000, 0)


# -- the timeline ------------------------------------------------------------------

CAPS: list[tuple[list[str], dict[str, object], int]] = [
    ([], {}, 3000),
    (["--gpu-events", "1000"], {}, 1000),
    (["--gpu-events=0"], {}, 0),
    ([], {"LINEPROF_GPU_EVENTS": 2999}, 2999),
    ([], {"LINEPROF_GPU_EVENTS": 0}, 0),
    (["--gpu-events", "3000"], {"LINEPROF_GPU_EVENTS": 7}, 3000),
]


@pytest.mark.parametrize(("flags", "variables", "kept"), CAPS)
def test_the_timeline_keeps_the_first_records_up_to_its_limit(
    rig: Rig, flags: list[str], variables: dict[str, object], kept: int
) -> None:
    """The sums have all records."""
    program = """
    @profile
    def f():
        for n in range(3000):
            gpu.fk_launch(b"k", 0, n)
    f()
    """
    stats = rig.kernprof(program, *flags, **variables).ok().stats()
    assert counted(stats) == (3000, 4498500, kept)
    assert [event.ns for event in events(stats)] == list(range(kept))
    assert lost(stats.gpu.runs[0]) == (0, 0, 0, 3000 - kept)


def test_a_full_timeline_is_reported(rig: Rig) -> None:
    program = "for n in range(20): gpu.fk_launch(b'k', 0, 1)"
    out = rig.kernprof(program, "-v", "--gpu-events", "5").out
    assert "Left out of the timeline: 15 records; the sums have them" in out


# -- many paths, kernels and calls --------------------------------------------------


@pytest.mark.smoke
def test_many_call_paths(rig: Rig) -> None:
    """Each leaf of a binary tree of calls has a call path: 2**13 of them."""
    program = """
    @profile
    def f(n):
        if n == 0:
            gpu.fk_launch(b"k", 0, 1)  #> gpu=8192 kernels=8192
        else:
            f(n - 1)  #> gpu=8191 self=0 kernels=8191
            f(n - 1)  #> gpu=8191 self=0 kernels=8191
    f(13)
    """
    stats = rig.check(program)
    [numbers] = numbers_of_functions(stats.gpu).values()
    assert (numbers.gpu_ns, numbers.self_ns) == (8192, 8192)


def test_many_kernels(rig: Rig) -> None:
    program = """
    @profile
    def f():
        for n in range(20000):
            gpu.fk_launch(b"kernel%d" % n, n, n)  #> gpu=199990000 kernels=20000
    f()
    """
    stats = rig.check(program)
    found = {one.name: (one.count, one.ns) for one in stats.gpu.sums}
    assert found == {f"kernel{n}": (1, n) for n in range(20000)}


def test_many_calls_of_the_api(rig: Rig) -> None:
    program = """
    @profile
    def f():
        gpu.fk_launch_many(b"k", 50000, 1)
        gpu.fk_sync(0, 0, -1)
    f()
    """
    flags = ("--gpu-api", "--gpu-events", "0")
    stats = rig.kernprof(program, *flags).ok().stats()
    calls = {one.name: one.count for one in stats.gpu.sums if one.kind == "runtime"}
    assert sorted(calls.values()) == [1, 50000]
    assert totals(stats.gpu).kernels == 50000


def test_many_gaps_in_the_work_of_a_device(rig: Rig) -> None:
    """The busy time is exact with any number of gaps."""
    program = """
    @profile
    def f():
        for _ in range(80000):
            gpu.fk_launch(b"k", 0, 2)
            tick(5)
    f()
    """
    stats = rig.kernprof(program).ok().stats()
    [device] = stats.gpu.devices
    assert (device.busy_ns, device.busy_exact) == (160000, True)


def test_a_very_late_record_makes_busy_time_a_lower_bound(rig: Rig) -> None:
    """The report marks the busy time as a lower bound."""
    program = """
    @profile
    def f():
        for _ in range(80000):
            gpu.fk_launch(b"k", 0, 2)
            tick(5)
        gpu.fk_at(1000000003)  # between the first two kernels
        gpu.fk_launch(b"k", 1, 1)
    f()
    """
    ran = rig.kernprof(program, "-v")
    [device] = ran.stats().gpu.devices
    assert (device.busy_ns, device.busy_exact) == (160000, False)
    assert "Busy: NVIDIA H200 (0) >= 0.00016 s" in ran.out


# -- concurrent threads ------------------------------------------------------------

CONCURRENT = """
import threading
from gpu_double import workload
held = workload(holding_the_gil=True)

@profile
def free(n):
    for _ in range(20):
        gpu.fk_launch_many(b"free%d" % n, 2000, 1)

@profile
def holding(n):
    for _ in range(20):
        inner(n)

@profile
def inner(n):
    for _ in range(50):
        held.fk_launch(b"holding%d" % n, n, 1)
        gpu.fk_memcpy_stream(n, 1, 8, 1, 0, 2, 3)

jobs = [
    threading.Thread(target=work, args=(n,))
    for n in range(4)
    for work in (free, holding)
]
gpu.fk_launch_from_native_thread_async(b"native", 1, 20000)
for job in jobs: job.start()
for _ in range(5):
    stats = profile.get_stats()
for job in jobs: job.join()
gpu.fk_native_join()
"""


@pytest.mark.parametrize(
    "request_on", [pytest.param("cupti", marks=pytest.mark.smoke), "app"]
)
def test_threads_of_all_kinds_while_reports_are_made(rig: Rig, request_on: str) -> None:
    knobs = {"FAKE_CUPTI_BUFFER_LIMIT": 8192, "FAKE_CUPTI_REQUEST": request_on}
    ran = rig.kernprof(CONCURRENT, "--gpu-events", "1000", frozen=False, **knobs).ok()
    stats = ran.stats()
    assert lost(stats.gpu.runs[0])[:3] == (0, 0, 0)
    found = {key[2]: n for key, n in numbers_of_functions(stats.gpu).items()}
    own = {name: n.gpu_ns - n.adopted_ns for name, n in found.items()}
    assert own == {"free": 160000, "holding": 4000, "inner": 4000}
    assert found["inner"].copies == (("HtoD", 4000, 4000, 32000),)
    whole = totals(stats.gpu)
    assert (whole.gpu_ns, whole.memcpy_ns) == (184000, 4000)


def test_more_contexts_than_fit_into_one_block_are_waited_for(rig: Rig) -> None:
    program = """
    import ctypes
    popped = ctypes.c_void_p()

    @profile
    def f():
        for n in range(150):
            gpu.fk_ctx_create(0)
            gpu.fk_launch(b"k", 0, 1000 * n + 1000)  #> gpu=11325000 kernels=150
            gpu.cuCtxPopCurrent_v2(ctypes.byref(popped))

    f()
    """
    stats = rig.kernprof(program).ok().check()
    assert lost(run_of(stats)) == (0, 0, 0, 0)
