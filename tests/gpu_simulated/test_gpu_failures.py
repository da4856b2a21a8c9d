"""Failures of a GPU or its tools: the program and the CPU columns are unaffected.

If GPU columns are off, one line says why.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gpu_rig import Ran, Rig, events, lost, run_of
from view_text import text_of

from lineprof.model.gpu import numbers_of_functions, totals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lineprof import LineStats


pytestmark = pytest.mark.usefixtures("hook")
SMOKE = pytest.mark.smoke

# Prints, has exact times, uses the device, and ends with a status of its own.
PROGRAM = """
import sys

@profile
def f():
    tick(30)  #> time=90 hits=3
    gpu.fk_launch(b"k", 0, 10)  {kernel}
    gpu.fk_memcpy(2, 64, 7, 1, 3, 1)  {copy}

for _ in range(3):
    f()
print("before", flush=True)
print("beside", file=sys.stderr, flush=True)
sys.exit(3)
"""
ON = {"kernel": "#> gpu=30 kernels=3", "copy": "#> DtoH=21/192/3 wait=51/3 time=51"}
OFF = {"kernel": "#> hits=3", "copy": "#> time=51"}
LOST = {"kernel": "#> hits=3", "copy": "#> wait=51/3 time=51"}


def check(ran: Ran, said: str = "") -> list[str]:
    """Check all but the GPU numbers; return the lines below the tables, on the GPU.

    `said` is the start of a line for standard error, if one is due.
    """
    assert ran.status == 3
    lines = ["beside", *filter(None, [said])]
    assert [line.partition(":")[0] for line in ran.err.splitlines()] == lines
    words, said, table = ran.out.partition("before\n")
    assert (words, said) == ("", "before\n")
    assert table.startswith("Wrote profile results to 'program.lprof'\n")
    ran.check()
    last = ran.text.splitlines().index('print("before", flush=True)') - 3
    source = ran.text.splitlines()[last - 1].strip()
    return [line for line in table.rpartition(source)[2].splitlines() if line]


# -- GPU columns are off -----------------------------------------------------------

UNKNOWN = "CUPTI_ERROR_UNKNOWN (999)"
DENIED = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"
SET_CLOCK = "cuptiActivityRegisterTimestampCallback"
HELD = "another subscriber"
TAKEN = "CUPTI takes one tool at a time and is held by "
REFUSALS: Mapping[str, tuple[dict[str, object], str]] = {
    "GetVersion": (
        {"FAKE_CUPTI_FAIL": "cuptiGetVersion"},
        (
            f"CUPTI can't be used: cuptiGetVersion says {UNKNOWN}; libcupti is of no"
            " known version, the driver is of CUDA 13.0"
        ),
    ),
    "Subscribe": (
        {"FAKE_CUPTI_FAIL": "cuptiSubscribe"},
        f"CUPTI can't be used: cuptiSubscribe says {UNKNOWN}",
    ),
    "Subscribe and GetResultString": (
        {"FAKE_CUPTI_FAIL": "cuptiSubscribe:35,cuptiGetResultString"},
        "CUPTI can't be used: cuptiSubscribe says an error (35)",
    ),
    "EnableCallback": (
        {"FAKE_CUPTI_FAIL": "cuptiEnableCallback"},
        f"CUPTI can't be used: cuptiEnableCallback says {UNKNOWN}",
    ),
    "ActivityRegisterCallbacks": (
        {"FAKE_CUPTI_FAIL": "cuptiActivityRegisterCallbacks"},
        f"CUPTI can't be used: cuptiActivityRegisterCallbacks says {UNKNOWN}",
    ),
    "ActivityEnable": (
        {"FAKE_CUPTI_FAIL": "cuptiActivityEnable:35"},
        (
            "CUPTI can't be used: cuptiActivityEnable says"
            " CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"
        ),
    ),
    "no clock at all": (
        {"FAKE_CUPTI_FAIL": "cuptiActivityRegisterTimestampCallback,cuptiGetTimestamp"},
        f"CUPTI can't be used: cuptiGetTimestamp says {UNKNOWN}",
    ),
    HELD: (
        {"FAKE_CUPTI_SUBSCRIBE_RC": 39},
        f"{TAKEN}another tool in this process, like torch.profiler",
    ),
    "another subscriber, Nsight Systems": (
        {"FAKE_CUPTI_SUBSCRIBE_RC": 39, "NSYS_PROFILING_SESSION_ID": "7"},
        f"{TAKEN}Nsight Systems",
    ),
    "another subscriber, injected": (
        {
            "FAKE_CUPTI_SUBSCRIBE_RC": 39,
            "CUDA_INJECTION64_PATH": "/opt/tool/libtool.so",
        },
        f"{TAKEN}libtool.so",
    ),
    "a session of Nsight Systems without a subscriber": (
        {"FAKE_CUPTI_FAIL": "cuptiSubscribe:35", "NSYS_PROFILING_SESSION_ID": "7"},
        f"CUPTI can't be used: cuptiSubscribe says {DENIED}",
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=SMOKE if name in {"Subscribe", HELD} else ())
        for name in REFUSALS
    ],
)
def test_one_line_says_why_gpu_columns_are_off(rig: Rig, name: str) -> None:
    knobs, reason = REFUSALS[name]
    # Until lineprof sets its clock the double has its own.
    knobs = {"FROZEN_CLOCK_REALTIME": 1, **knobs}
    ran = rig.kernprof(PROGRAM.format(**OFF), "-v", **knobs)
    assert check(ran) == [f"GPU columns off: {reason}"]
    run = run_of(ran.stats())
    assert (run.backend, run.reason, run.present) == ("none", reason, True)


def broken_library(folder: Path, what: str, doubles: Path) -> str:
    """Return the path of a library that cannot be used."""
    path = folder / "library.so"
    if what == "damaged":
        path.write_bytes((doubles / "fake_cupti.so").read_bytes()[:5000])
    elif what == "empty":
        path.write_bytes(b"")
    elif what == "a pipe":
        os.mkfifo(path)
    elif what == "another":
        path = doubles / "frozen_clock.so"
    return str(path)


@pytest.mark.parametrize("which", ["LINEPROF_CUDA", "LINEPROF_CUPTI"])
@pytest.mark.parametrize("what", ["missing", "damaged", "empty", "a pipe", "another"])
def test_a_library_that_cannot_be_loaded(rig: Rig, which: str, what: str) -> None:
    path = broken_library(rig.folder, what, rig.doubles)
    program = PROGRAM.format(kernel="#> hits=3", copy="#> time=0")
    program = program.replace("gpu.fk", "int or gpu.fk")  # no use of the device
    clock = "__import__('ctypes').CDLL(None).frozen_clock_advance"
    text = f"gpu, tick = None, {clock}\n{program}"
    (rig.folder / "program.py").write_text(text, encoding="utf-8")
    words = ["-m", "kernprof", "-l", "-v", "program.py"]
    ran = rig.run(words, text, **{which: path})
    [line] = check(ran)
    assert line.startswith("GPU columns off: CUPTI can't be used: ")
    if what == "damaged":
        assert line.endswith(f"{path}: the file was cut short")
    elif what == "a pipe":
        assert line.endswith(f"{path}: not a regular file")
    elif what == "missing":
        assert line.endswith(
            "cannot open shared object file: No such file or directory"
        )
    elif what == "another":
        missing = (
            "cuDriverGetVersion" if which == "LINEPROF_CUDA" else "cuptiGetVersion"
        )
        assert line.endswith(f"it has no {missing}")


def test_without_a_device_nothing_is_reported(rig: Rig) -> None:
    """A machine without a GPU gets no line about GPU columns."""
    if any(Path("/dev").glob("nvidia*")):
        pytest.skip("there is a GPU")
    knobs = {"LINEPROF_GPU_FORCE": "", "FROZEN_CLOCK_REALTIME": 1}
    ran = rig.kernprof(PROGRAM.format(**OFF), "-v", **knobs)
    assert check(ran) == []
    assert ran.stats().gpu.runs == ()


# -- failures that do not matter ---------------------------------------------------

OPTIONAL_CUPTI = (
    "cuptiGetResultString",
    "cuptiGetTimestamp",
    "cuptiActivityRegisterTimestampCallback",
    "cuptiUnsubscribe",
    "cuptiEnableDomain",
    "cuptiActivityDisable",
    "cuptiActivityGetNumDroppedRecords",
    "cuptiGetGraphNodeId",
    "cuptiGetCallbackName",
    "cuptiActivityConfigureUnifiedMemoryCounter",
    "cuptiSetThreadIdType",
    "cuptiActivitySetAttribute",
    "cuptiActivityGetAttribute",
    "cuptiActivityEnableRuntimeApi",
    "cuptiActivityEnableDriverApi",
    "cuptiSubscribe_v2",
    "cuptiGetGraphExecId",
    "cuptiActivityEnableDeviceGraph",
    "cuptiActivityEnableAllocationSource",
    "cuptiActivityEnableHWTrace",
)
NEEDED_FOR_A_PART = {
    "cuptiActivityConfigureUnifiedMemoryCounter",
    "cuptiActivityGetNumDroppedRecords",
}
OPTIONAL_CUDA = (
    "cuDriverGetVersion",
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
)


@pytest.mark.parametrize(
    ("knob", "function"),
    [
        *(("FAKE_CUPTI_FAIL", function) for function in OPTIONAL_CUPTI),
        *(("FAKE_CUDA_FAIL", function) for function in OPTIONAL_CUDA),
    ],
)
def test_failures_of_optional_functions_are_harmless(
    rig: Rig, knob: str, function: str
) -> None:
    knobs = {"FROZEN_CLOCK_REALTIME": 1, knob: function}
    ran = rig.kernprof(PROGRAM.format(**ON), "--uvm", "on", "-v", **knobs)
    below = check(ran, said="kernprof" if function in NEEDED_FOR_A_PART else "")
    assert [line.partition(":")[0] for line in below] == [
        "GPU time",
        "Copies",
        "Waiting for the GPU",
        "Busy",
    ]
    assert lost(run_of(ran.stats())) == (0, 0, 0, 0)


def test_each_function_of_cupti_is_made_to_fail() -> None:
    source = Path(__file__).parents[2] / "csrc" / "gpu" / "cupti_backend.c"
    used = re.findall(r'SYMBOL\("(\w+)",', source.read_text(encoding="utf-8"))
    here = Path(__file__).read_text(encoding="utf-8")
    there = Path(__file__).with_name("test_gpu_subscriber.py")  # of several tools
    both = here + there.read_text(encoding="utf-8")
    assert not [name for name in used if f'cupti{name}"' not in both]
    assert len(used) > len({name for name in used if f'cupti{name}"' not in here})


def test_failures_while_calls_are_recorded(rig: Rig) -> None:
    knobs = {"FAKE_CUPTI_FAIL": "cuptiGetCallbackName,cuptiEnableDomain:15"}
    ran = rig.kernprof(PROGRAM.format(**ON), "--gpu-api", "-v", **knobs)
    check(ran, said="kernprof")
    assert not {one.kind for one in ran.stats().gpu.sums} & {"runtime", "driver"}
    ran = rig.kernprof(
        PROGRAM.format(**ON), "--gpu-api", "-v", FAKE_CUPTI_FAIL="cuptiGetCallbackName"
    )
    check(ran, said="kernprof")
    names = {one.name for one in ran.stats().gpu.sums if one.kind == "runtime"}
    assert names == {"?"}


def test_without_a_settable_clock_of_cupti(rig: Rig) -> None:
    """The offset of the two clocks is measured instead, exactly in this test."""
    program = """
    tick(500)
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
    f()
    """
    ran = rig.kernprof(
        program,
        FAKE_CUPTI_FAIL=SET_CLOCK,
        FROZEN_CLOCK_REALTIME=1,
    ).ok()
    [timeline] = ran.check().gpu.timelines
    assert [event.start_ns for event in timeline] == [500]


# -- the clock of the device's records ---------------------------------------------

CLOCKED = """
    if before:
        gpu.fk_init()
    from running import new_profiler
    profile = new_profiler()
    @profile
    def f():
        tick(500)
        gpu.fk_launch(b"one", 0, 10)  #> gpu=10 kernels=1
        gpu.fk_memset(8, 7, 1)  #> gpu=7 memset=7/1
        other = gpu.fk_ctx_create(1)
        gpu.fk_launch(b"two", 0, 30)  #> gpu=30 kernels=1
    f()
    profile.dump_stats("program.lprof")
"""
STARTS = [500, 510, 517]


def clocked(rig: Rig, *, before: bool = True, **knobs: object) -> LineStats:
    """Run a program whose CUPTI is attached after or before the first context."""
    program = CLOCKED.replace("before", str(before))
    knobs = {"FROZEN_CLOCK_REALTIME": 1, **knobs}
    return rig.python(program, ready=False, **knobs).ok().check()


@pytest.mark.parametrize(
    ("clock", "fails", "realigned"),
    [
        # A context that was there before CUPTI keeps CUPTI's own clock.
        pytest.param("late", "", 2, marks=SMOKE),
        ("realtime", "", 3),
        # Without a settable clock the offset is measured, and one may be without it.
        ("realtime", SET_CLOCK, 0),
        ("monotonic", SET_CLOCK, 3),
    ],
)
def test_times_of_another_clock_are_put_right(
    rig: Rig, clock: str, fails: str, realigned: int
) -> None:
    stats = clocked(rig, FAKE_CUPTI_CLOCK=clock, FAKE_CUPTI_FAIL=fails)
    assert [event.start_ns for event in events(stats)] == STARTS
    run = run_of(stats)
    assert (run.realigned, run.undated, lost(run)) == (realigned, 0, (0, 0, 0, 0))
    assert [device.busy_ns for device in stats.gpu.devices] == [17, 30]
    assert "unknown clock" not in text_of(stats)


def test_times_of_no_clock_are_not_in_the_timeline(rig: Rig) -> None:
    stats = clocked(rig, FAKE_CUPTI_CLOCK="none")
    assert events(stats) == []
    run = run_of(stats)
    assert (run.realigned, run.undated, lost(run)) == (0, 3, (0, 0, 0, 0))
    said = "Left out of the timeline: 3 records with times of an unknown clock"
    assert f"{said}; the sums have them" in text_of(stats)


# -- lost records ------------------------------------------------------------------

MANY = """
@profile
def f():
    tick(30)
    for n in range(1000):
        gpu.fk_launch(b"k", 0, 1 + n % 2)
        gpu.fk_launch(b"k", 0, 100)
    gpu.fk_sync(0, 0, -1)

f()
print("before", flush=True)
"""


def lost_of(ran: Ran) -> str:
    """Return the line on lost records."""
    assert (ran.status, ran.err) == (0, "")
    [line] = [line for line in ran.out.splitlines() if line.startswith("Lost: ")]
    return line


@pytest.mark.smoke
def test_records_that_were_dropped(rig: Rig) -> None:
    ran = rig.kernprof(MANY, "-v", FAKE_CUPTI_DROP=2)
    whole = totals(ran.stats().gpu)
    assert (whole.kernels, whole.gpu_ns) == (1000, 1500)
    assert whole.wait_ns == 101500
    assert lost(run_of(ran.stats())) == (1000, 0, 1000, 0)
    assert lost_of(ran) == (
        "Lost: 1000 dropped and 1000 outstanding records; the GPU numbers lack them"
    )


def test_dropped_records_are_counted_without_a_buffer(rig: Rig) -> None:
    """All of them were dropped, so that CUPTI has no buffer to return."""
    ran = rig.kernprof(MANY, "-v", FAKE_CUPTI_DROP=1)
    assert lost(run_of(ran.stats())) == (2000, 0, 2000, 0)


def test_records_without_times(rig: Rig) -> None:
    ran = rig.kernprof(MANY, "-v", FAKE_CUPTI_ZERO_TIMES=4)
    whole = totals(ran.stats().gpu)
    assert (whole.kernels, whole.gpu_ns) == (1500, 51500)
    assert lost(run_of(ran.stats())) == (0, 500, 0, 0)
    assert lost_of(ran) == "Lost: 500 without times records; the GPU numbers lack them"


def test_records_that_cannot_be_read(rig: Rig) -> None:
    ran = rig.kernprof(MANY, "-v", FAKE_CUPTI_FAIL="cuptiActivityGetNextRecord")
    whole = totals(ran.stats().gpu)
    assert (whole.kernels, whole.gpu_ns, whole.wait_ns) == (0, 0, 101500)
    dropped, invalid, outstanding, _ = lost(run_of(ran.stats()))
    assert (dropped, outstanding) == (0, 2000)
    assert invalid >= 1  # buffers, with an unknown number of records
    assert "2000 outstanding" in lost_of(ran)


@pytest.mark.parametrize("program", [MANY, MANY.replace("gpu.fk_sync", "tick(5)  #")])
def test_records_that_never_arrive(rig: Rig, program: str) -> None:
    """The line on lost records is printed even without other GPU data."""
    ran = rig.kernprof(program, "-v", FAKE_CUPTI_FAIL="cuptiActivityFlushAll")
    assert lost(run_of(ran.stats())) == (0, 0, 2000, 0)
    assert lost_of(ran) == ("Lost: 2000 outstanding records; the GPU numbers lack them")


EMPTY = """
@profile
def f():
    tick(30)
    for blocking in (0, 1):
        # Asynchronous copies of arrays are of two dimensions, in a struct.
        for direction in range(1, 11) if blocking else (1, 2, 3, 4, 8, 9, 10):
            gpu.fk_memcpy(direction, 0, 0, blocking, 3, 3)
            gpu.fk_memcpy(direction, 64, 1, blocking, 3, 3)
        gpu.fk_memset(0, 0, blocking)
        gpu.fk_memset(64, 1, blocking)
f()
print("before", flush=True)
"""


def test_calls_of_no_bytes_lose_no_record(rig: Rig) -> None:
    ran = rig.kernprof(EMPTY, "-v", FAKE_CUPTI_NO_EMPTY=1)
    whole = totals(ran.stats().gpu)
    assert (sum(one.count for one in whole.copies), whole.memsets) == (17, 2)
    assert lost(run_of(ran.stats())) == (0, 0, 0, 0)
    assert "Lost" not in ran.out


# Call 305 is cuMemcpy, here from host to host.
WITHOUT_RECORD = """
import ctypes, os
cupti = ctypes.CDLL(os.environ["LINEPROF_CUPTI"])
@profile
def f(calls):
    for _ in range(calls):
        gpu.fk_call(1, 305)  #> wait=0/{waits}
    gpu.fk_launch_many(b"k", {kernels}, 1)  #> gpu={gpu} kernels={gpu}
polls = []
for _ in range(3):
    f({calls})
    before = cupti.fk_flush_calls()
    profile.get_stats()
    polls.append(cupti.fk_flush_calls() - before)
print(polls, flush=True)
"""


@pytest.mark.parametrize(
    ("kernels", "calls", "line"),
    [
        (10000, 1, ""),  # below one in a thousand
        (
            1000,
            2,
            (
                "Without a record: 6 calls (0.2 %); copies of 0 bytes, copies from host"
                " to host and empty graphs have no record"
            ),
        ),
        (10, 1, "Lost: 3 outstanding records; the GPU numbers lack them"),
    ],
)
def test_calls_that_have_no_record(
    rig: Rig, kernels: int, calls: int, line: str
) -> None:
    """They are waited for once, and mentioned if they may be a part that matters."""
    program = WITHOUT_RECORD.format(
        kernels=kernels, gpu=3 * kernels, calls=calls, waits=3 * calls
    )
    ran = rig.kernprof(program, "-v")
    stats = ran.check()
    assert lost(run_of(stats)).outstanding == 3 * calls
    first, *others = json.loads(ran.out.splitlines()[0])
    assert first > 100
    assert max(others) < 40
    footer = [row for row in ran.out.splitlines() if row.startswith(("Lost", "With"))]
    assert footer == [line][: bool(line)]


# Waits are real, and given up at once, because the frozen clock's year is long past.
HANGING = """
gpu.fk_on_wait(None)
gpu.fk_wait_really(1)
@profile
def f():
    gpu.fk_launch_many(b"k", 100, 10)  #> gpu=1000 kernels=100
    gpu.fk_sync(0, 0, 0)  #> wait=0/1
    gpu.fk_launch(b"hangs", 1, 10**12)
f()
"""
WITHHOLD = {"FAKE_CUPTI_WITHHOLD": 1, "FROZEN_CLOCK_REALTIME": 1}


def test_a_kernel_that_hangs_hides_no_other(rig: Rig) -> None:
    """CUPTI gives no buffer with an unfinished record, unless it is forced to."""
    stats = rig.check(HANGING, **WITHHOLD)
    run = run_of(stats)
    assert (run.unfinished, lost(run)) == (1, (0, 0, 0, 0))
    assert "Unfinished: 1 kernel or other work still ran at the end" in text_of(stats)


def test_a_profile_in_the_midst_does_not_give_up_a_running_kernel(rig: Rig) -> None:
    program = f"""{HANGING}
assert profile.get_stats().gpu.sums[0].kind == "wait"
gpu.fk_sync(1, 1, 0)
"""
    program = program.replace("10**12)", "10**12)  #> gpu=1000000000000 kernels=1")
    run = run_of(rig.check(program, nowhere="wait=0/1", **WITHHOLD))
    assert (run.unfinished, lost(run)) == (0, (0, 0, 0, 0))


# -- delivery ----------------------------------------------------------------------

DELIVERIES = {
    "late": {"FAKE_CUPTI_LATE_MS": 1},
    "very late": {"FAKE_CUPTI_LATE_MS": 60},
    # In more flushes than are made without a new record.
    "ten records per flush": {"FAKE_CUPTI_AT_ONCE": 10},
    "one record per buffer": {"FAKE_CUPTI_BUFFER_LIMIT": 300},
    "buffers requested on the program's threads": {"FAKE_CUPTI_REQUEST": "app"},
    "all three": {
        "FAKE_CUPTI_LATE_MS": 20,
        "FAKE_CUPTI_BUFFER_LIMIT": 1000,
        "FAKE_CUPTI_REQUEST": "app",
    },
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=SMOKE if n == "late" else ()) for n in DELIVERIES]
)
def test_all_orders_of_delivery(rig: Rig, name: str) -> None:
    ran = rig.kernprof(MANY, "-v", **DELIVERIES[name])
    assert (ran.status, ran.err) == (0, "")
    [numbers] = numbers_of_functions(ran.stats().gpu).values()
    assert (numbers.kernels, numbers.gpu_ns) == (2000, 101500)
    assert lost(run_of(ran.stats())) == (0, 0, 0, 0)
    assert "Lost" not in ran.out


# -- retries -----------------------------------------------------------------------


@pytest.mark.smoke
def test_a_later_profiler_tries_again(rig: Rig) -> None:
    """The tool that held CUPTI may have unsubscribed since."""
    program = """
    import ctypes, os
    from lineprof import gpu_status
    from running import new_profiler

    cupti = ctypes.CDLL(os.environ["LINEPROF_CUPTI"])
    callback = ctypes.CFUNCTYPE(None)(lambda: None)
    subscriber = ctypes.c_void_p()
    assert cupti.cuptiSubscribe(ctypes.byref(subscriber), callback, None) == 0
    first = new_profiler()
    print(gpu_status())
    second = new_profiler()
    print(gpu_status())
    assert cupti.cuptiUnsubscribe(subscriber) == 0
    profile = new_profiler()
    print(gpu_status().backend)
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
    f()
    profile.dump_stats("program.lprof")
    """
    held = f"gpu: none ({TAKEN}another tool in this process, like torch.profiler)"
    ran = rig.python(program, LINEPROF_NVTX="off")
    lines = ran.out.splitlines()
    assert (ran.status, ran.err) == (0, "")
    assert [line.partition(";")[0] for line in lines] == [held, held, "cupti"]
    ran.check()


@pytest.mark.parametrize("first", ["cuptiEnableCallback", "cuptiActivityEnable"])
def test_a_later_profiler_tries_again_after_a_failed_setup(
    rig: Rig, first: str
) -> None:
    program = """
    from lineprof import gpu_status
    from running import new_profiler
    for _ in range(3):
        profile = new_profiler()
        print(gpu_status().backend)
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 10)
    f()
    print(profile.get_stats().gpu.sums)
    """
    ran = rig.python(program, FAKE_CUPTI_FAIL=first)
    ran.ok("none\nnone\nnone\n()\n")
