"""Failures of a GPU or its tools: the program and the CPU columns are unaffected.

If GPU columns are off, one line says why.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gpu_rig import Ran, Rig, lost, run_of

from lineprof.model.gpu import numbers_of_functions, totals

if TYPE_CHECKING:
    from collections.abc import Mapping


pytestmark = pytest.mark.usefixtures("hook")

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


def check(ran: Ran) -> list[str]:
    """Check all but the GPU numbers; return the lines below the tables, on the GPU."""
    assert (ran.status, ran.err) == (3, "beside\n")
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
TAKEN = "CUPTI takes one tool at a time and is held by "
REFUSALS: Mapping[str, tuple[dict[str, object], str]] = {
    "GetVersion": (
        {"FAKE_CUPTI_FAIL": "cuptiGetVersion"},
        f"CUPTI can't be used: cuptiGetVersion says {UNKNOWN}",
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
    "another subscriber": (
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


@pytest.mark.parametrize("name", REFUSALS)
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
    elif what == "another":
        path = doubles / "frozen_clock.so"
    return str(path)


@pytest.mark.parametrize("which", ["LINEPROF_CUDA", "LINEPROF_CUPTI"])
@pytest.mark.parametrize("what", ["missing", "damaged", "empty", "another"])
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
)
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
    below = check(ran)
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
    presence = {"ActivityEnable_v2", "ActivityGetNextRecord_v2"}  # never called
    assert [name for name in used if f'cupti{name}"' not in here] == sorted(presence)
    assert len(used) > len(presence)


def test_failures_while_calls_are_recorded(rig: Rig) -> None:
    knobs = {"FAKE_CUPTI_FAIL": "cuptiGetCallbackName,cuptiEnableDomain:15"}
    ran = rig.kernprof(PROGRAM.format(**OFF), "--gpu-api", "-v", **knobs)
    [line] = check(ran)
    assert line.startswith("GPU columns off: CUPTI can't be used: cupti")
    ran = rig.kernprof(
        PROGRAM.format(**ON), "--gpu-api", "-v", FAKE_CUPTI_FAIL="cuptiGetCallbackName"
    )
    check(ran)
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


def test_records_that_were_dropped(rig: Rig) -> None:
    ran = rig.kernprof(MANY, "-v", FAKE_CUPTI_DROP=2)
    whole = totals(ran.stats().gpu)
    assert (whole.kernels, whole.gpu_ns) == (1000, 1500)
    assert whole.wait_ns == 101500
    assert lost(run_of(ran.stats())) == (1000, 0, 1000, 0)
    assert lost_of(ran) == (
        "Lost: 1000 dropped and 1000 outstanding records; the GPU numbers lack them"
    )


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


@pytest.mark.parametrize("name", DELIVERIES)
def test_all_orders_of_delivery(rig: Rig, name: str) -> None:
    ran = rig.kernprof(MANY, "-v", **DELIVERIES[name])
    assert (ran.status, ran.err) == (0, "")
    [numbers] = numbers_of_functions(ran.stats().gpu).values()
    assert (numbers.kernels, numbers.gpu_ns) == (2000, 101500)
    assert lost(run_of(ran.stats())) == (0, 0, 0, 0)
    assert "Lost" not in ran.out


# -- retries -----------------------------------------------------------------------


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
