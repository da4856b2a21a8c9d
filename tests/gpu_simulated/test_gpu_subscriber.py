"""The choice between CUPTI for one tool at a time and for several, each in turn.

From 13.3 on each of several tools may have a subscription of its own.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from compiled_doubles import double
from gpu_rig import HELD, OPEN, events, lost, run_of

if TYPE_CHECKING:
    from pathlib import Path

    from gpu_rig import Rig

pytestmark = pytest.mark.usefixtures("hook")

NEW = {"cupti": "fake_cupti_13_4", "FAKE_CUPTI_VERSION": 130401}
FIRST = {"cupti": "fake_cupti_13_3", "FAKE_CUPTI_VERSION": 130301}  # that has all
QUIET = {"LINEPROF_NVTX": "off"}

# Other tools: one that subscribes by the newer calls, and ones with the older calls.
TOOLS = """
import ctypes
from gpu_client import GRAPHS_AS_A_WHOLE, Subscriber
from gpu_tools import Tool
from lineprof import gpu_status
from running import new_profiler
"""
TORCH = '\ntool = Tool("libtorch_cpu")\n'
MONITOR = '\nmonitor = Subscriber("Monitor")\nmonitor.register()\n'


def status(rig: Rig, program: str, **knobs: object) -> str:
    """Return the state of GPU recording that a program prints."""
    ran = rig.python(TOOLS + program, **{**NEW, **QUIET, **knobs})
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    return "\n".join(line.partition("; nvtx: off")[0] for line in lines)


# -- alone, open to others ---------------------------------------------------------

ASK = """
new_profiler()
print(gpu_status())
"""
WORK = """
@profile
def f():
    tick(500)
    gpu.fk_launch(b"k", 0, 1000)  #> gpu=1000 kernels=1
    gpu.fk_memcpy(1, 4096, 700, 1, 0, 0)  #> HtoD=700/4096/1 wait=1700/1
    gpu.fk_memset(64, 30, 0)  #> gpu=30 memset=30/1
    for _ in range(5000):
        gpu.fk_launch(b"many", 0, 1)  #> gpu=5000 kernels=5000
    gpu.fk_sync(0, 0, -1)  #> wait=5030/1
f()
"""


@pytest.mark.parametrize("knobs", [NEW, FIRST, {**NEW, "FAKE_CUPTI_VERSION": 130501}])
def test_other_tools_can_join_from_cupti_13_3_on(
    rig: Rig, knobs: dict[str, object]
) -> None:
    assert status(rig, ASK, **knobs) == f"{OPEN} (other tools can, too))"
    own = status(rig, ASK, FAKE_CUPTI_OWN_NAME=1, **knobs)
    assert own == f"{OPEN} (other tools can, too))"


AT_ONCE = """
import threading
import lineprof.recording.cupti_libraries as libraries

found = libraries.clients

def clients():
    libraries.clients = found
    other = threading.Thread(target=new_profiler)
    other.start()
    other.join()
    return found()

libraries.clients = clients
new_profiler()
print(gpu_status())
"""


def test_two_threads_that_open_it_at_once_have_the_same_state(rig: Rig) -> None:
    assert status(rig, AT_ONCE) == f"{OPEN} (other tools can, too))"


@pytest.mark.parametrize("knobs", [NEW, FIRST, {**NEW, "FAKE_CUPTI_VERSION": 130501}])
def test_the_numbers_are_the_same(rig: Rig, knobs: dict[str, object]) -> None:
    """In 13.3 the clock cannot be set, and its offset is measured."""
    options = ("--gpu-api", "--gpu-memory", "--uvm", "on")
    ran = rig.kernprof(WORK, *options, FROZEN_CLOCK_REALTIME=1, **knobs).ok()
    stats = ran.check()
    run = run_of(stats)
    assert (lost(run), run.taken, run.foreign_buffers) == ((0, 0, 0, 0), 0, 0)
    [start] = [event.start_ns for event in events(stats) if event.name == "k"]
    assert start == 500
    older = rig.kernprof(WORK, *options, FROZEN_CLOCK_REALTIME=1).ok()
    calls = [one.name for one in stats.gpu.sums if one.kind == "driver"]
    assert calls == [one.name for one in older.stats().gpu.sums if one.kind == "driver"]
    assert not ran.warnings()


# -- one at a time ------------------------------------------------------------------


def test_an_older_library_takes_one_tool(rig: Rig) -> None:
    knobs = {"cupti": "fake_cupti_13_2", "FAKE_CUPTI_VERSION": 130202}
    assert status(rig, ASK, **knobs) == f"{OPEN})"


def test_an_older_driver_takes_one_tool(rig: Rig) -> None:
    said = status(rig, ASK, FAKE_CUPTI_SEVERAL=0)
    why = "as the only tool: the driver lets one tool at a time use CUPTI"
    assert said == f"{OPEN} ({why}))"
    rig.check(WORK, FAKE_CUPTI_SEVERAL=0, **NEW)


@pytest.mark.parametrize("result", [27, 999, 1])
def test_a_refused_subscription_is_tried_in_the_other_way(
    rig: Rig, result: int
) -> None:
    said = status(rig, ASK, FAKE_CUPTI_FAIL=f"cuptiSubscribe_v2:{result}")
    assert said.startswith(f"{OPEN} (as the only tool: cuptiSubscribe_v2 says ")
    assert said.endswith(f" ({result})))")
    rig.check(WORK, FAKE_CUPTI_FAIL=f"cuptiSubscribe_v2:{result}", **NEW)


ONLY = "(as the only tool: libtorch_cpu.so can only use CUPTI in this way))"


def test_a_loaded_tool_with_the_older_calls_can_still_record(
    rig: Rig,
) -> None:
    program = """
new_profiler()
print(tool.begin(), gpu_status())
"""
    said = status(rig, TORCH + program, FAKE_CUPTI_SHARED=1)
    assert said == f"0 {OPEN} {ONLY}"


def installed(folder: Path, library: Path) -> None:
    """Install a PyTorch that cannot be imported, with this library."""
    (folder / "torch" / "lib").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text("raise SystemExit", encoding="utf-8")
    shutil.copy(library, folder / "torch" / "lib" / "libtorch_cpu.so")


def test_an_installed_pytorch_with_the_older_calls_can_still_record(
    rig: Rig,
) -> None:
    installed(rig.folder, rig.doubles / "libtorch_cpu.so")
    assert status(rig, ASK) == f"{OPEN} {ONLY}"


def test_a_folder_named_torch_does_not_hide_the_installed_pytorch(
    rig: Rig, tmp_path: Path
) -> None:
    """Python imports a package from later in its path, too, in place of a folder."""
    (rig.folder / "torch" / "lib").mkdir(parents=True)
    (rig.folder / "torch" / "lib" / "README").touch()
    installed(tmp_path / "site", rig.doubles / "libtorch_cpu.so")
    path = f"import sys\nsys.path.append({str(tmp_path / 'site')!r})\n"
    assert status(rig, path + ASK) == f"{OPEN} {ONLY}"


def test_an_installed_pytorch_without_them_can_join(
    rig: Rig, shared_folder: Path
) -> None:
    installed(rig.folder, double(shared_folder, "python/clock.c"))
    assert status(rig, ASK) == f"{OPEN} (other tools can, too))"


# -- another tool came first --------------------------------------------------------


def test_lineprof_joins_a_tool_that_lets_it(rig: Rig) -> None:
    said = status(rig, MONITOR + ASK)
    assert said == f"{OPEN} (beside Monitor))"


def test_a_tool_that_records_by_the_newer_calls_is_joined(rig: Rig) -> None:
    program = MONITOR + "monitor.enable(10, 5)\n" + ASK
    assert status(rig, program) == f"{OPEN} (beside Monitor))"


def test_a_tool_without_a_name_is_another_tool(rig: Rig) -> None:
    program = "\ntool = Subscriber(None)\ntool.enable(10)\n" + ASK
    assert status(rig, program) == f"{OPEN} (beside another tool))"


PYTORCH_PROFILES = """
import sys
from types import SimpleNamespace as Space
autograd = Space(_profiler_enabled=lambda: True, _profiler_type=lambda: "KINETO")
sys.modules["torch"] = Space(_C=Space(_autograd=autograd))
"""


def test_a_profiler_of_pytorch_with_the_newer_calls_is_joined(rig: Rig) -> None:
    subscribed = f'{PYTORCH_PROFILES}\ntool = Subscriber("torch")\n{ASK}'
    assert status(rig, subscribed) == f"{OPEN} (beside torch))"
    assert status(rig, PYTORCH_PROFILES + ASK) == f"{HELD} PyTorch's profiler)"


def test_nothing_is_tried_beside_a_profiler_of_pytorch_with_the_older_calls(
    rig: Rig,
) -> None:
    program = PYTORCH_PROFILES + TORCH + ASK
    for function in ("cuptiSubscribe", "cuptiSubscribe_v2"):
        said = status(rig, program, FAKE_CUPTI_FAIL=function)
        assert said == f"{HELD} PyTorch's profiler)"


def test_a_tool_that_lets_nobody_in_holds_cupti(rig: Rig) -> None:
    said = status(rig, '\ntool = Subscriber("Jealous", several=False)\n' + ASK)
    assert said == f"{HELD} Jealous)"


@pytest.mark.parametrize("tool", ["libtorch_cpu", "libunseen"])
def test_a_tool_that_records_by_the_older_calls_is_left_alone(
    rig: Rig, tool: str
) -> None:
    """It loses nothing, whether or not it can be seen."""
    program = f"""
other = Tool({tool!r})
other.begin()
new_profiler()
print(gpu_status())
gpu.fk_launch(b"theirs", 0, 10)
gpu.fk_sync(0, 0, -1)
other.end()
print(*other.got)
new_profiler()
print(gpu_status().backend)
"""
    assert status(rig, program, FAKE_CUPTI_SHARED=1).splitlines() == [
        f"{HELD} another tool in this process, like torch.profiler)",
        "1 0 0 0 0 0",
        "cupti",
    ]


def test_a_tool_with_the_older_calls_is_named_beside_others(
    rig: Rig,
) -> None:
    """Beside a subscriber of several such calls work for nobody."""
    assert status(rig, TORCH + MONITOR + ASK) == (
        f"{OPEN} (beside Monitor)); CUPTI refuses the calls of libtorch_cpu.so, which"
        " are those for one tool at a time: here is also Monitor"
    )


# -- graphs --------------------------------------------------------------------------

GRAPHS = """
@profile
def f():
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"one", 0, 100)
    gpu.fk_launch(b"two", 0, 10)
    graph = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
    gpu.fk_graph_launch(graph, 0)
    gpu.fk_sync(0, 0, -1)
"""
PROFILED = """
profile = new_profiler()
{graphs}
f()
profile.dump_stats("program.lprof")
print(*gpu_status().notes, sep="\\n")
"""


def graphs_beside(rig: Rig, whole: int, **knobs: object) -> tuple[list[str], str]:
    """Return the kinds of records beside a tool that chose a level, and the notes."""
    before = f"monitor.set(GRAPHS_AS_A_WHOLE, ctypes.c_uint8({whole}))\n"
    program = TOOLS + MONITOR + before + PROFILED.format(graphs=GRAPHS)
    ran = rig.python(program, **{**NEW, **QUIET, **knobs})
    assert (ran.status, ran.err) == (0, "")
    return sorted({event.kind for event in events(ran.stats())}), ran.out.strip()


def test_a_graph_as_a_whole_is_chosen_alone(rig: Rig) -> None:
    ran = rig.kernprof(GRAPHS + "f()\n", "--cuda-graph", "graph", **NEW).ok()
    assert {event.kind for event in events(ran.stats())} == {"graph"}
    ran = rig.kernprof(GRAPHS + "f()\n", **NEW).ok()
    assert {event.kind for event in events(ran.stats())} == {"kernel"}


def test_the_first_tool_chooses_how_graphs_are_recorded(rig: Rig) -> None:
    note = "graphs are recorded as a whole, because Monitor chose so"
    assert graphs_beside(rig, 1) == (["graph"], note)
    assert graphs_beside(rig, 1, LINEPROF_CUDA_GRAPH="graph") == (["graph"], "")
    assert graphs_beside(rig, 0) == (["kernel"], "")
    note = (
        "graphs (--cuda-graph graph) are recorded node by node: they are the same for"
        " all tools, and Monitor came first"
    )
    assert graphs_beside(rig, 0, LINEPROF_CUDA_GRAPH="graph") == (["kernel"], note)


# -- unfinished records ---------------------------------------------------------------

# Waits are real, and given up at once, because the frozen clock's year is long past.
HANGING = """
from lineprof import _core
gpu.fk_on_wait(None)
gpu.fk_wait_really(1)
profile = new_profiler()
@profile
def f():
    gpu.fk_launch_many(b"done", 100, 10)
    gpu.fk_sync(0, 0, 0)
    gpu.fk_launch(b"hangs", 1, 10**12)
f()
_core.gpu_flush(True)  # as at the end of a program
profile.dump_stats("program.lprof")
"""


@pytest.mark.parametrize(
    ("knobs", "unfinished", "outstanding"),
    [(NEW, 0, 101), ({**NEW, "FAKE_CUPTI_SEVERAL": 0}, 1, 0)],
)
def test_unfinished_records_are_asked_for_if_there_is_one_tool(
    rig: Rig, knobs: dict[str, object], unfinished: int, outstanding: int
) -> None:
    """A forced flush would hand out those of all tools, without their times.

    So among several the buffer with that of lineprof does not come.
    """
    frozen = {"FAKE_CUPTI_WITHHOLD": 1, "FROZEN_CLOCK_REALTIME": 1}
    ran = rig.python(TOOLS + HANGING, **frozen, **knobs, **QUIET)
    assert (ran.status, ran.err) == (0, "")
    run = run_of(ran.stats())
    assert (run.unfinished, run.outstanding) == (unfinished, outstanding)


# -- forks ---------------------------------------------------------------------------


def test_a_forked_child_uses_the_device_and_ends(rig: Rig) -> None:
    program = """
import os
@profile
def f():
    for _ in range(300):
        gpu.fk_launch(b"k", 0, 10)  #> gpu=3000 kernels=300
    gpu.fk_sync(0, 0, -1)  #> wait=3000/1
f()
child = os.fork()
if not child:
    f()
    raise SystemExit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    ran = rig.kernprof(program, FAKE_CUPTI_FORK="exit", **NEW)
    assert (ran.status, ran.out) == (0, "3\n")  # Python may warn of the fork
    ran.check()


# -- failures --------------------------------------------------------------------------

NEEDED = (
    "cuptiActivityRegisterCallbacks_v2",
    "cuptiActivityEnable_v2",
)
OPTIONAL = (
    "cuptiActivityDisable_v2",
    "cuptiActivitySetAttribute_v2",
    "cuptiActivityGetAttribute_v2",
    "cuptiActivityGetNumDroppedRecords_v2",
    "cuptiActivityEnableRuntimeApi_v2",
    "cuptiActivityEnableDriverApi_v2",
    "cuptiActivityGetEnabledKinds",
    "cuptiIsTracingSessionRunning",
)


@pytest.mark.parametrize("function", NEEDED)
def test_a_session_that_cannot_record_ends(rig: Rig, function: str) -> None:
    said = status(rig, ASK, FAKE_CUPTI_FAIL=function)
    assert said.startswith(f"gpu: none (CUPTI can't be used: {function} says")


@pytest.mark.parametrize("function", OPTIONAL)
def test_failures_of_other_functions_are_harmless(rig: Rig, function: str) -> None:
    ran = rig.kernprof(WORK, FAKE_CUPTI_FAIL=function, FROZEN_CLOCK_REALTIME=1, **NEW)
    assert lost(run_of(ran.ok().check())) == (0, 0, 0, 0)


def test_a_clock_that_cannot_be_read_is_no_session(rig: Rig) -> None:
    said = status(rig, ASK, FAKE_CUPTI_FAIL="cuptiGetTimestamp_v2", **FIRST)
    assert said.startswith("gpu: none (CUPTI can't be used: cuptiGetTimestamp_v2 says")


def test_records_that_cannot_be_read_are_lost(rig: Rig) -> None:
    ran = rig.kernprof(WORK, FAKE_CUPTI_FAIL="cuptiActivityGetNextRecord_v2", **NEW)
    run = run_of(ran.ok().stats())
    assert run.invalid > 0
