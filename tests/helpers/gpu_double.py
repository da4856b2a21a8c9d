"""Python interface to the doubles of NVIDIA's libraries, for tests of GPU recording.

`doubles/cuda/fake_cuda.c` stands in for libcuda.so.1 and carries a workload,
`doubles/cupti/fake_cupti.c` for libcupti; lineprof finds them by LINEPROF_CUDA and
LINEPROF_CUPTI.  A program that drives them::

    from gpu_double import workload
    gpu = workload()
    gpu.fk_init()
    gpu.fk_launch(b"kernel", 0, 1000)  # stream 0, 1000 ns

Knobs, all environment variables, read when the libraries are loaded:

FAKE_CUPTI_VERSION       17, 118 (11.8), 18, 121 (12.1), 20 to 24, 26, 28, 130001 (the
                         default), 130101, 130202, 130301, 130401, 130500, 130501
FAKE_CUPTI_SUBSCRIBE_RC  what cuptiSubscribe gives; 39: another tool is subscribed
FAKE_CUPTI_HOLDER        the name of that tool, told by cuptiSubscribe_v2 (13.2 on)
FAKE_CUPTI_SEVERAL       0: several subscribers cannot be had, the driver is too old
FAKE_CUPTI_OWN_NAME      1: cuptiSubscribe_v2 tells the first subscriber its own name
FAKE_CUPTI_STICKY        1: the calls with and without _v2 exclude each other for ever,
                         not just while the others are in use
FAKE_CUPTI_FAIL          name or name:result, with commas between: these fail; also
                         cuptiActivityEnable/KIND, cuptiEnableDomain/DOMAIN,
                         cuptiEnableCallback/DOMAIN/ID, cuptiActivitySetAttribute/NUMBER
FAKE_CUPTI_DROP          one of so many records of the device is dropped
FAKE_CUPTI_ZERO_TIMES    one of so many has no times
FAKE_CUPTI_BUFFER_LIMIT  bytes of each buffer that are used
FAKE_CUPTI_REQUEST       app: buffers are asked for on threads of the program
FAKE_CUPTI_LATE_MS       cuptiActivityFlushAll returns at once, records come later
FAKE_CUPTI_NO_EMPTY      1: copies and memsets of 0 bytes have no record
FAKE_CUPTI_CLOCK         clock of the device's records: given (the default): that of the
                         client; late: CLOCK_REALTIME in contexts that were there
                         before CUPTI; realtime, monotonic: always that; none: none;
                         ticks: that of the client, whatever unit it counts in
FAKE_CUPTI_WITHHOLD      1: a buffer with unfinished work is kept until a forced flush
FAKE_CUPTI_REVERSE       1: the records of one delivery come in reverse order
FAKE_CUPTI_AT_ONCE       max number of records that a flush delivers
FAKE_CUPTI_FORK          exit, late, fini or flush: what waits in a forked child for
                         the worker, which does not exist there
FAKE_CUPTI_SHARED        1: a tool that is not subscribed may register its callbacks, in
                         place of the subscriber's, and enable and disable kinds
FAKE_CUPTI_IDS           shared (the default), driver, runtime: whose id records carry
FAKE_CUPTI_FIRST_ID      of correlation
FAKE_CUPTI_STRICT        0: misuse is answered with an error, not by abort()
FAKE_CUPTI_STUCK_MS      time after which a wait is called a deadlock (30000)
FAKE_CUDA_DRIVER_VERSION what cuDriverGetVersion gives (13000, or what CUPTI needs)
FAKE_CUDA_DEVICES        number of devices (2)
FAKE_CUDA_CAPABILITY     major number of the devices' compute capability (9);
                         from 10 on they have hardware time stamps
FAKE_CUDA_FAIL           as FAKE_CUPTI_FAIL, for functions of the driver
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

CUDA = [
    f"cuda/fake_{name}.c"
    for name in (
        *("api", "calls", "cuda", "device", "env", "graph", "replay", "unusual"),
        "work",
    )
]
CUPTI = [
    "cuda/fake_env.c",
    "cupti/fake_cupti.c",
    "cupti/fake_cupti_activity.c",
    "cupti/fake_cupti_attributes.c",
    "cupti/fake_cupti_buffers.c",
    "cupti/fake_cupti_callbacks.c",
    "cupti/fake_cupti_clients.c",
    "cupti/fake_cupti_fork.c",
    "cupti/fake_cupti_ids.c",
    "cupti/fake_cupti_names.c",
    "cupti/fake_cupti_newer.c",
    "cupti/fake_cupti_records.c",
    "cupti/fake_cupti_version.c",
    "cupti/fake_cupti_worker.c",
]
SYMBOLS = {
    "fake_cupti_13_2": 130200,
    "fake_cupti_13_3": 130300,
    "fake_cupti_13_4": 130400,
}
DEFINITIONS = {
    **{name: [f"-DFAKE_CUPTI_SYMBOLS={number}"] for name, number in SYMBOLS.items()},
    "libkineto": ["-DTOOL_SUBSCRIBES"],
    "libproton": ["-DTOOL_SUBSCRIBES", "-DTOOL_LOADS"],
    "libunseen": ["-DTOOL_LOADS"],
}
OLDER_TOOL = ["tools/older_tool.c", "tools/tool_buffers.c"]
SOURCES = {
    "fake_cuda": CUDA,
    "fake_cupti": CUPTI,
    **{library: [*CUPTI, "cupti/fake_cupti_v2.c"] for library in SYMBOLS},
    "libtorch_cpu": OLDER_TOOL,
    "libkineto": OLDER_TOOL,
    "libproton": OLDER_TOOL,
    "libunseen": OLDER_TOOL,
    "libxla": ["tools/newer_tool.c", "tools/tool_buffers.c"],
    "frozen_clock": ["python/frozen_clock.c"],
}
# Functions that not all versions have, and the first release of CUDA that has them.
SINCE = {
    "cuptiGetErrorMessage": (12, 2),
    "cuptiGetGraphExecId": (12, 3),
    "cuptiActivityEnableDeviceGraph": (12, 3),
    "cuptiActivityEnableDriverApi": (12, 5),
    "cuptiActivityEnableRuntimeApi": (12, 5),
    "cuptiActivityEnableAllocationSource": (12, 6),
    "cuptiActivityEnableHWTrace": (12, 8),
    "cuptiSubscribe_v2": (13, 0),
    "cuptiActivityRegisterCallbacks_v2": (13, 2),
    "cuptiActivityEnable_v2": (13, 2),
    "cuptiActivityDisable_v2": (13, 2),
    "cuptiActivitySetAttribute_v2": (13, 2),
    "cuptiActivityGetAttribute_v2": (13, 2),
    "cuptiActivityGetEnabledKinds": (13, 2),
    "cuptiIsTracingSessionRunning": (13, 2),
    "cuptiActivityGetNextRecord_v2": (13, 3),
    "cuptiActivityGetNumDroppedRecords_v2": (13, 3),
    "cuptiGetTimestamp_v2": (13, 3),
    "cuptiActivityEnableDriverApi_v2": (13, 3),
    "cuptiActivityEnableRuntimeApi_v2": (13, 3),
    "cuptiClockControlLock": (13, 4),
}
FLAGS = ["-std=c11", "-O1", "-g", "-D_GNU_SOURCE=1", "-fvisibility=hidden"]
FLAGS += ["-shared", "-fPIC", "-pthread", "-Wl,-z,nodelete"]

DOUBLE = "lineprof's GPU double: "  # the start of the doubles' messages

TORCH = "fake_torch.so"  # the double of the CUDA runtime, which not all builds have
# As a real CUPTI is to PyTorch's profiler, which counts time in ticks of the processor.
FOR_TORCH = {
    "FAKE_CUDA_DEVICES": "1",
    "FAKE_CUPTI_CLOCK": "ticks",
    "FAKE_CUPTI_REQUEST": "app",
    "FAKE_CUPTI_SHARED": "1",
    "FAKE_CUPTI_STRICT": "0",
}

COUNT, TIME, TEXT = ctypes.c_int, ctypes.c_uint64, ctypes.c_char_p
NUMBER = ctypes.c_uint32
WAITER = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
ARGUMENTS: dict[str, list[object]] = {
    "fk_init": [],
    "fk_set_device": [COUNT],
    "fk_ctx_create": [COUNT],
    "fk_ctx_destroy": [COUNT],
    "fk_through": [COUNT, COUNT],
    "fk_launch": [TEXT, COUNT, TIME],
    "fk_launch_config": [TEXT, COUNT, TIME, *[COUNT] * 9],
    "fk_launch_failing": [TEXT, COUNT, COUNT],
    "fk_launch_many": [TEXT, TIME, TIME],
    "fk_launch_from_native_thread": [TEXT, TIME, COUNT],
    "fk_launch_from_native_thread_async": [TEXT, TIME, COUNT],
    "fk_native_join": [],
    "fk_memcpy": [COUNT, TIME, TIME, COUNT, COUNT, COUNT],
    "fk_memcpy_stream": [COUNT, COUNT, TIME, TIME, COUNT, COUNT, COUNT],
    "fk_memset": [TIME, TIME, COUNT],
    "fk_sync": [COUNT, COUNT, ctypes.c_int64],
    "fk_as": [COUNT],
    "fk_memset_stream": [COUNT, TIME, TIME],
    "fk_memcpy_batch": [COUNT, COUNT, TIME, TIME],
    "fk_primary_reset": [],
    "fk_malloc": [TIME],
    "fk_malloc_at": [TIME, TIME, COUNT, TIME],
    "fk_free": [TIME],
    "fk_managed_migration": [COUNT, TIME, TIME],
    "fk_profiler_start": [],
    "fk_profiler_stop": [],
    "fk_call": [COUNT, COUNT],
    "fk_call_result": [COUNT, COUNT, COUNT],
    "fk_graph_capture_begin": [COUNT],
    "fk_graph_end": [COUNT],
    "fk_graph_instantiate": [COUNT],
    "fk_graph_launch": [COUNT, COUNT],
    "fk_graph_of_children": [COUNT, COUNT],
    "fk_graph_destroy": [COUNT],
    "fk_graph_update": [COUNT, COUNT],
    "fk_graph_launch_by_device": [COUNT, COUNT, COUNT],
    "fk_allocator": [TEXT],
    "fk_replay": [ctypes.c_void_p, ctypes.c_void_p, COUNT],
    "fk_replay_context": [COUNT, NUMBER, COUNT],
    "fk_replay_pass": [],
    "fk_replay_records": [NUMBER, NUMBER],
    "fk_replay_line": [NUMBER],
    "fk_at": [TIME],
    "fk_on_wait": [ctypes.c_void_p],
    "fk_wait_really": [COUNT],
    "fk_api_cost": [TIME],
    "fk_own_time": [TIME, COUNT],
    "fk_clock": [],
    "fk_idle_ns": [COUNT],
    "fk_cuinit_calls": [],
    "fk_synchronize_calls": [],
}
RESULTS: dict[str, object] = {
    "fk_through": None,
    "fk_malloc": TIME,
    "fk_malloc_at": TIME,
    "fk_as": None,
    "fk_allocator": None,
    "fk_replay": None,
    "fk_replay_context": None,
    "fk_replay_pass": None,
    "fk_replay_records": None,
    "fk_at": None,
    "fk_on_wait": None,
    "fk_wait_really": None,
    "fk_api_cost": None,
    "fk_own_time": None,
    "fk_clock": TIME,
    "fk_idle_ns": TIME,
}


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    """Declare arguments and results of the workload's functions."""
    for name, arguments in ARGUMENTS.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = RESULTS.get(name, COUNT)
    return library


def workload(*, holding_the_gil: bool = False) -> ctypes.CDLL:
    """Load the workload of the double that LINEPROF_CUDA names."""
    load = ctypes.PyDLL if holding_the_gil else ctypes.CDLL
    return declare(load(os.environ["LINEPROF_CUDA"]))


def frozen_clock(gpu: ctypes.CDLL) -> Callable[[int], None]:
    """Return the function that advances the frozen clock by a number of ns.

    The function is in C: calling it makes no frame and no line event.  From now on
    each blocking call lasts, by that clock, as long as the work that it waits for.
    """
    advance = ctypes.CDLL(None).frozen_clock_advance
    advance.argtypes = [TIME]
    advance.restype = None
    gpu.fk_on_wait(ctypes.cast(advance, ctypes.c_void_p))
    return advance


def frozen_processor() -> Callable[[int], None]:
    """Return the function that computes for a number of ns, by the frozen clock.

    It advances the clock and the processor time of its thread, which otherwise stands
    still: the process needs the variable FROZEN_CLOCK_CPU.
    """
    compute = ctypes.CDLL(None).frozen_clock_compute
    compute.argtypes = [TIME]
    compute.restype = None
    return compute


def build(folder: Path) -> Path:
    """Return the folder with the doubles: LINEPROF_DOUBLES, or compile them."""
    import compiled_doubles as doubles  # noqa: PLC0415 - needs pytest; programs do not

    found = doubles.ready(*SOURCES)
    if found:
        return found
    for name, sources in SOURCES.items():
        definitions = DEFINITIONS.get(name, [])
        doubles.compiled(folder, name, sources, [*FLAGS, *definitions])
    return folder


def of_release(doubles: Path, folder: Path, release: tuple[int, int]) -> Path:
    """Return a copy, in `folder`, of the double with the functions of a release alone.

    Other functions have a name that nobody looks for.
    """
    library = (doubles / "fake_cupti_13_4.so").read_bytes()
    for name, since in SINCE.items():
        if release < since:
            library = library.replace(name.encode(), b"-" * len(name))
    path = folder / "libcupti_of_release.so"
    path.write_bytes(library)
    return path


def environment(
    doubles: Path,
    *,
    frozen: bool = False,
    torch: bool = False,
    cupti: str = "fake_cupti",
    **knobs: object,
) -> dict[str, str]:
    """Return the environment of a process that uses the doubles.

    frozen: the process's clock, and lineprof's, is moved by frozen_clock() alone.
    cupti: the build of the double, a key of SOURCES.
    torch: PyTorch runs on the double of the CUDA runtime, TORCH.
    """
    found = {
        **os.environ,
        "LINEPROF_CUDA": str(doubles / "fake_cuda.so"),
        "LINEPROF_CUPTI": str(doubles / f"{cupti}.so"),
        "LINEPROF_GPU_FORCE": "1",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
        "PYTHONFAULTHANDLER": "1",
        **{name: str(value) for name, value in knobs.items()},
    }
    found.pop("CUDA_VISIBLE_DEVICES", None)  # of this machine: the double heeds it
    if torch:
        found.update(FOR_TORCH)
        found["LINEPROF_CUDA"] = str(doubles / TORCH)
        found["LD_PRELOAD"] = f"{doubles / TORCH} {found['LINEPROF_CUPTI']}"
        for name in ("LD_LIBRARY_PATH", "TRITON_CUPTI_LIB_PATH"):
            found[name] = str(doubles / "found")
    if frozen:
        found["LD_PRELOAD"] = str(doubles / "frozen_clock.so")
        found["LINEPROF_CLOCK"] = "monotonic"
    return found


PRELUDE = """\
from gpu_double import frozen_clock, workload
gpu = workload()
"""
FROZEN_PRELUDE = PRELUDE + "tick = frozen_clock(gpu)\n"


SCRIPT_PRELUDE = """\
import ctypes, os, threading, time
from gpu_client import *
from gpu_double import frozen_clock, workload
gpu = workload()
"""


class Play:
    """Runs scripts that drive the doubles, each in a process of its own.

    Names in a script: `gpu`, the workload, and all of gpu_client.  Knobs are those
    above and the arguments of environment().
    """

    def __init__(self, doubles: Path, folder: Path) -> None:
        self.doubles = doubles
        self.folder = folder

    def run(
        self,
        script: str,
        *,
        frozen: bool = False,
        cupti: str = "fake_cupti",
        driver: bool = True,
        **knobs: object,
    ) -> subprocess.CompletedProcess[str]:
        """Run a script, which may fail; driver: LINEPROF_CUDA is set."""
        from gpu_pythons import run_with_doubles  # noqa: PLC0415 - programs do not need it

        settings = environment(self.doubles, frozen=frozen, cupti=cupti, **knobs)
        prelude = SCRIPT_PRELUDE
        if not driver:
            settings.pop("LINEPROF_CUDA")
            prelude = prelude.replace("gpu = workload()", "")
        words = ["-c", prelude + textwrap.dedent(script)]
        ended = run_with_doubles(words, self.folder, settings, frozen=frozen)
        return subprocess.CompletedProcess(words, *ended)

    def __call__(self, script: str, **knobs: Any) -> str:
        """Run a script that must succeed; return its output."""
        done = self.run(script, **knobs)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def dies(self, script: str, **knobs: Any) -> str:
        """Run a script that must abort because of misuse; return the message."""
        done = self.run(script, **knobs)
        assert done.returncode == -signal.SIGABRT, (done.stdout, done.stderr)
        why, *_ = [line for line in done.stderr.splitlines() if DOUBLE in line]
        return why.partition(DOUBLE)[2]
