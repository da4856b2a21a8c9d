"""Another tool that uses CUPTI in the same process, without a subscription.

The program is unaffected whichever of the two comes first; the report says who took
the records.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from gpu_rig import HELD, lost, run_of
from view_text import text_of

from lineprof.model.gpu import totals

if TYPE_CHECKING:
    from gpu_rig import Ran, Rig

pytestmark = pytest.mark.usefixtures("hook")

WHO = "(PyTorch's profiler does from 2.15 on)"
# CUPTI asks for buffers in advance, so that one is always in flight.
SHARED = {"FAKE_CUPTI_SHARED": 1, "FAKE_CUPTI_REQUEST": "app"}


def last_lines(ran: Ran) -> list[str]:
    """Return the lines on missing records and on another tool, as view prints them."""
    words = ("Lost", "Another tool", "CUPTI")
    return [line for line in text_of(ran.stats()).split("\n") if line.startswith(words)]


# Buffers of the other tool come to lineprof, which then registers its callbacks; the
# tool frees them at its end.
FIRST = """
import sys
from gpu_tools import Tool
from running import new_profiler

other = Tool("libtorch_cpu")
other.begin()
gpu.fk_launch(b"theirs", 0, 10)
profile = new_profiler()
@profile
def f():
    for _ in range(1000):
        gpu.fk_launch(b"k", 0, 10)
    gpu.fk_sync(0, 0, -1)
f()
other.end()
f()
profile.dump_stats("program.lprof")
print("before", other.got.kernels, flush=True)
sys.exit(3)
"""


def test_a_tool_that_came_first_keeps_its_buffers(rig: Rig) -> None:
    ran = rig.python(FIRST, **SHARED)
    assert (ran.status, ran.out, ran.err) == (3, "before 0\n", "")
    run = run_of(ran.stats())
    kernels = totals(ran.stats().gpu).kernels
    assert run.foreign_buffers == 1
    assert 600 < kernels < 1000  # those not in the other tool's buffer
    assert lost(run) == (0, 0, 2000 - kernels, 0)
    assert run.taken == 1000
    assert last_lines(ran) == [
        f"Lost: {2000 - kernels} outstanding records; the GPU numbers lack them",
        (
            f"Another tool took CUPTI's records {WHO}: the last 1000 launches have"
            " no record; profile without that tool"
        ),
    ]


# Lineprof's buffers come to the other tool, which frees them, and ends all records.
LATER = """
import sys
from gpu_tools import Tool
from lineprof import _core

@profile
def f():
    for _ in range(300):
        gpu.fk_launch(b"k", 0, 10)
    gpu.fk_sync(0, 0, -1)

f()
_core.gpu_flush()
f()
other = Tool("libtorch_cpu")
other.begin()
f()
other.end()
f()
print("before", other.got.foreign, flush=True)
sys.exit(3)
"""


def test_a_tool_that_comes_later_takes_the_records(rig: Rig) -> None:
    ran = rig.kernprof(LATER, "-v", **SHARED)
    said, _, table = ran.out.partition("Wrote profile")
    assert (ran.status, ran.err, said) == (3, "", "before 1\n")
    stats = ran.stats()
    run = run_of(stats)
    assert totals(stats.gpu).kernels == 300
    assert lost(run) == (0, 0, 900, 0)
    assert (run.foreign_buffers, run.taken) == (0, 900)
    line = (
        f"CUPTI has stopped bringing records, as if another tool took them {WHO}: the"
        " last 900 launches have no record; profile without that tool"
    )
    assert line in table.splitlines()
    [shown] = json.loads(text_of(stats, "json"))["gpu"]["runs"]
    assert (shown["outstanding"], shown["taken"]) == (900, 900)


def test_records_are_missed_also_while_api_calls_are_recorded(rig: Rig) -> None:
    ran = rig.kernprof(LATER, "--gpu-api", **SHARED)
    assert run_of(ran.stats()).taken == 900


# -- memory ------------------------------------------------------------------------

MILLIONS = """
import resource
from gpu_tools import Tool

def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

@profile
def f(n):
    gpu.fk_launch_many(b"k", n, 1)
    gpu.fk_sync(0, 0, -1)

f(5000)
other = Tool("libtorch_cpu")
other.begin()
other.end()
before = memory()
for _ in range(20):
    f(100000)
print(memory() - before)
"""


@pytest.mark.serial
def test_memory_is_bounded_while_no_record_comes(rig: Rig) -> None:
    """Each million of launches would need 16 MB."""
    ran = rig.kernprof(MILLIONS, fresh=True, **SHARED)
    assert (ran.status, ran.err) == (0, "")
    assert int(ran.out) < 20 * 1024  # KB
    run = run_of(ran.stats())
    assert run.outstanding == 2005000 - totals(ran.stats().gpu).kernels
    assert run.taken == run.outstanding


# -- nobody took anything ----------------------------------------------------------


def test_dropped_records_are_not_taken(rig: Rig) -> None:
    program = """
    for _ in range(300):
        gpu.fk_launch(b"k", 0, 10)
    """
    run = run_of(rig.kernprof(program, FAKE_CUPTI_DROP=1).ok().stats())
    assert lost(run) == (300, 0, 300, 0)
    assert run.taken == 0


def test_late_records_are_not_taken(rig: Rig) -> None:
    """They come after the wait for them, which is longer if it may be another tool."""
    program = """
    @profile
    def f():
        for _ in range(300):
            gpu.fk_launch(b"k", 0, 10)  #> gpu=3000 kernels=300
        gpu.fk_sync(0, 0, -1)  #> wait=3000/1
    f()
    """
    ran = rig.kernprof(program, FAKE_CUPTI_LATE_MS=500).ok()
    assert run_of(ran.check()).taken == 0
    assert last_lines(ran) == []


def test_records_that_come_after_a_flush_are_not_taken_any_more(rig: Rig) -> None:
    program = """
    import select
    from lineprof import _core
    @profile
    def f():
        for _ in range(300):
            gpu.fk_launch(b"k", 0, 10)  #> gpu=3000 kernels=300
        gpu.fk_sync(0, 0, -1)  #> wait=3000/1
    f()
    _core.gpu_flush()
    first = _core.gpu_snapshot()["taken"]
    while _core.gpu_snapshot()["outstanding"]:
        select.select([], [], [], 0.01)  # by the kernel's clock, which runs
    _core.gpu_flush()
    print(first, _core.gpu_snapshot()["taken"])
    """
    ran = rig.kernprof(program, FAKE_CUPTI_LATE_MS=8000)
    assert (ran.status, ran.out, ran.err) == (0, "300 0\n", "")
    assert run_of(ran.check()).taken == 0


# -- the other tool is active when lineprof starts ------------------------------------

TORCH = """
import sys
from enum import Enum
from types import SimpleNamespace
from lineprof import gpu_status
from running import new_profiler

Kind = Enum("ActiveProfilerType", "KINETO NVTX")
active = Kind[{kind!r}]
autograd = SimpleNamespace(
    _profiler_enabled=lambda: active is not None, _profiler_type=lambda: active
)
sys.modules["torch"] = SimpleNamespace(_C=SimpleNamespace(_autograd=autograd))
new_profiler()
print(gpu_status())
active = None
new_profiler()
print(gpu_status().backend)
"""


def test_nothing_is_opened_while_pytorch_profiles(rig: Rig) -> None:
    ran = rig.python(TORCH.format(kind="KINETO"), LINEPROF_NVTX="off")
    first, second = ran.out.splitlines()
    assert first.partition(";")[0] == f"{HELD} PyTorch's profiler)"
    assert (second, ran.status, ran.err) == ("cupti", 0, "")


def test_pytorch_s_nvtx_ranges_do_not_hold_cupti(rig: Rig) -> None:
    ran = rig.python(TORCH.format(kind="NVTX"), LINEPROF_NVTX="off")
    assert ran.out.startswith("gpu: cupti")


ASKED = """
import ctypes
from gpu_tools import Tool
from lineprof import gpu_status
from running import new_profiler

other = Tool("libunseen")
other.cupti.cuptiGetVersion(ctypes.byref(ctypes.c_uint32()))  # CUPTI is in use
if {records}:
    other.begin()
new_profiler()
print(gpu_status())
if {records}:
    other.end()
    new_profiler()
    print(gpu_status().backend)
"""


@pytest.mark.parametrize(
    ("records", "fails"),
    [
        ("True", ""),
        ("True", "cuptiIsTracingSessionRunning"),
        ("True", "cuptiActivityGetEnabledKinds"),
        ("False", ""),
    ],
)
def test_cupti_is_asked_whether_another_tool_records(
    rig: Rig, records: str, fails: str
) -> None:
    knobs = {"FAKE_CUPTI_VERSION": 130401, "FAKE_CUPTI_FAIL": fails, **SHARED}
    program = ASKED.format(records=records)
    ran = rig.python(program, cupti="fake_cupti_13_4", LINEPROF_NVTX="off", **knobs)
    assert (ran.status, ran.err) == (0, "")
    first, *others = ran.out.splitlines()
    if records == "True":  # if that cannot be asked, CUPTI refuses the newer calls
        assert first.startswith(f"{HELD} another tool in this process")
        assert others == ["cupti"]
    else:
        assert first.startswith("gpu: cupti")
