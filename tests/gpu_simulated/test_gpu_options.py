"""Options of GPU recording: flags, variables, arguments; and the status of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gpu_rig import Ran, Rig, events, lost

from lineprof.model.gpu import totals

if TYPE_CHECKING:
    from lineprof.model.gpu import GpuNumbers, GpuRun

pytestmark = pytest.mark.usefixtures("hook")

PROGRAM = """
@profile
def f():
    gpu.fk_launch(b"k", 0, 10)
    gpu.fk_memcpy(2, 64, 5, 1, 3, 1)
    gpu.fk_free(gpu.fk_malloc(500))
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"node", 0, 100)
    exec_ = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
    gpu.fk_graph_launch(exec_, 0)
    gpu.fk_graph_destroy(exec_)

tick(1000)
f()
gpu.fk_managed_migration(2, 4096, 9)
"""


def run_of(ran: Ran) -> GpuRun | None:
    """Return the GPU run of a program; None if the profile has none."""
    assert ran.status == 0, ran.err
    runs = ran.stats().gpu.runs
    assert len(runs) <= 1
    return runs[0] if runs else None


def whole(ran: Ran) -> GpuNumbers:
    """Return the total GPU numbers of a run."""
    return totals(ran.stats().gpu)


def kinds(ran: Ran) -> set[str]:
    """Return the kinds of recorded GPU work."""
    return {one.kind for one in ran.stats().gpu.sums}


USUAL = {"kernel", "memcpy", "wait"}


# -- off ---------------------------------------------------------------------------

OFF: list[tuple[list[str], dict[str, str]]] = [
    (["--gpu", "off"], {}),
    (["--gpu=nvtx"], {}),
    ([], {"LINEPROF_GPU": "off"}),
    ([], {"LINEPROF_GPU": "nvtx"}),
    (["--gpu", "off"], {"LINEPROF_GPU": "auto"}),
]


@pytest.mark.parametrize(("flags", "variables"), OFF)
def test_off_is_as_without_a_gpu(
    rig: Rig, flags: list[str], variables: dict[str, str]
) -> None:
    """No library is loaded, and the report does not mention GPUs."""
    loaded = PROGRAM + "\nprint('libcupti' in open('/proc/self/maps').read())\n"
    loaded = loaded.replace("libcupti", "fake_cupti")
    variables = {"FROZEN_CLOCK_REALTIME": "1", **variables}
    ran = rig.kernprof(loaded, "-v", *flags, **variables)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("False\n")
    assert "GPU" not in ran.out
    assert run_of(ran) is None
    assert ran.stats().gpu.sums == ()


ON: list[tuple[list[str], dict[str, str]]] = [
    (["--gpu", "auto"], {"LINEPROF_GPU": "off"}),
    ([], {"LINEPROF_GPU": "auto"}),
    ([], {}),
]


@pytest.mark.parametrize(("flags", "variables"), ON)
def test_a_flag_overrides_a_variable(
    rig: Rig, flags: list[str], variables: dict[str, str]
) -> None:
    ran = rig.kernprof(PROGRAM, *flags, **variables).ok()
    run = run_of(ran)
    assert run is not None
    assert (run.backend, run.reason) == ("cupti", "CUPTI records its work")
    assert kinds(ran) == USUAL
    assert whole(ran).gpu_ns == 110


BAD: list[tuple[list[str], dict[str, str], int]] = [
    (["--gpu", "on"], {}, 2),
    (["--cuda-graph", "nodes"], {}, 2),
    (["--gpu-clock", "sundial"], {}, 2),
    (["--uvm", "yes"], {}, 2),
    (["--gpu-events", "-1"], {}, 2),
    (["--gpu-events", "many"], {}, 2),
    (["--gpu-api=maybe"], {}, 2),
    ([], {"LINEPROF_GPU": "on"}, 1),
    ([], {"LINEPROF_CUDA_GRAPH": "nodes"}, 1),
    ([], {"LINEPROF_GPU_CLOCK": "sundial"}, 1),
]


@pytest.mark.parametrize(("flags", "variables", "status"), BAD)
def test_an_invalid_option_is_an_error_of_one_line(
    rig: Rig, flags: list[str], variables: dict[str, str], status: int
) -> None:
    """The error comes before the first line of the program runs."""
    ran = rig.kernprof("print('ran')", *flags, **variables)
    assert (ran.status, ran.out) == (status, "")
    [line] = ran.err.splitlines()
    assert line.startswith("kernprof: ")
    wrong = [*flags, *variables.values()][-1]
    assert wrong.rpartition("=")[2] in line.replace("'", "")


# -- more kinds of work ------------------------------------------------------------

MORE: list[tuple[list[str], dict[str, str], set[str]]] = [
    (["--gpu-memory"], {}, {"alloc", "free"}),
    ([], {"LINEPROF_GPU_MEMORY": "1"}, {"alloc", "free"}),
    ([], {"LINEPROF_GPU_MEMORY": "0"}, set()),
    (["--uvm", "on"], {}, {"migration"}),
    ([], {"LINEPROF_UVM": "1"}, {"migration"}),
    (["--uvm", "off"], {"LINEPROF_UVM": "1"}, set()),
    (["--cuda-graph", "graph"], {}, {"graph"}),
    (["--cuda-graph", "node"], {"LINEPROF_CUDA_GRAPH": "graph"}, set()),
    (["--gpu-api"], {}, {"runtime", "driver"}),
    ([], {"LINEPROF_GPU_API": "1"}, {"runtime", "driver"}),
    ([], {"LINEPROF_GPU_API": "off"}, set()),
    (
        ["--gpu-api", "--gpu-memory", "--uvm=on"],
        {"LINEPROF_CUDA_GRAPH": "graph"},
        {"runtime", "driver", "alloc", "free", "migration", "graph"},
    ),
]


@pytest.mark.parametrize(("flags", "variables", "more"), MORE)
def test_more_kinds_are_recorded_if_asked_for(
    rig: Rig, flags: list[str], variables: dict[str, str], more: set[str]
) -> None:
    ran = rig.kernprof(PROGRAM, *flags, **variables).ok()
    assert kinds(ran) == USUAL | more
    numbers = whole(ran)
    assert numbers.gpu_ns == 110
    assert numbers.kernels == (1 if "graph" in more else 2)
    memory = (500, 500) if "alloc" in more else (0, 0)
    assert (numbers.alloc_bytes, numbers.free_bytes) == memory
    moved = (("DtoH", 1, 9, 4096),) if "migration" in more else ()
    assert numbers.migrations == moved
    run = run_of(ran)
    assert run is not None
    assert lost(run) == (0, 0, 0, 0)


API = """
import threading
print(threading.get_native_id())
gpu.fk_api_cost(100)

@profile
def f():
    gpu.fk_launch(b"k", 0, 10)
    gpu.fk_launch(b"k", 0, 10)
    gpu.fk_through(0, 0)
    gpu.fk_launch(b"k", 0, 10)
    gpu.fk_through(0, 211)
    gpu.fk_launch_failing(b"k", 0, 2)
    gpu.fk_set_device(0)

@profile
def g():
    f()

g()
thread = threading.Thread(target=gpu.fk_sync, args=(0, 0, 50))
thread.start()
native = thread.native_id
thread.join()
print(native)
gpu.fk_api_cost(0)
for _ in range(2):
    profile.get_stats()
"""


def test_calls_of_the_api(rig: Rig) -> None:
    """Each call of the program counts once, by its outermost function."""
    ran = rig.kernprof(API, "--gpu-api")
    assert (ran.status, ran.err) == (0, "")
    main, other = map(int, ran.out.split())
    stats = ran.stats()
    calls = [event for event in events(stats) if event.kind in {"runtime", "driver"}]
    found = [(call.kind, call.name, call.ns, call.thread) for call in calls]
    assert found == [
        ("driver", "cuInit", 0, main),
        ("runtime", "__cudaLaunchKernel_v13000", 100, main),
        ("runtime", "__cudaLaunchKernel_v13000", 100, main),
        ("driver", "cuLaunchKernel", 100, main),
        ("runtime", "cudaLaunchKernel_v7000", 100, main),
        ("runtime", "cudaSetDevice_v3020", 100, main),
        ("runtime", "cudaDeviceSynchronize_v3020", 150, other),
    ]
    lines = [stats.gpu.paths[call.path].lines for call in calls[1:6]]
    assert [len(on) for on in lines] == [2] * 5
    texts = ran.text.splitlines()
    assert [texts[on[-1][1] - 1].split("(")[0].strip() for on in lines] == [
        "gpu.fk_launch",
        "gpu.fk_launch",
        "gpu.fk_launch",
        "gpu.fk_launch_failing",
        "gpu.fk_set_device",
    ]
    assert [call.path for call in (calls[0], calls[6])] == [-1, -1]
    sums = [one for one in stats.gpu.sums if one.kind == "runtime"]
    assert {one.device for one in sums} == {-1}
    assert (sum(one.count for one in sums), sum(one.ns for one in sums)) == (5, 550)
    assert totals(stats.gpu).kernels == 3


# -- status ------------------------------------------------------------------------


def test_vv_prints_the_status_at_the_start(rig: Rig) -> None:
    ran = rig.kernprof("print(1)", "-vv", LINEPROF_NVTX="off")
    log, _, _ = ran.out.partition("\n1\n")
    assert "; gpu: cupti (CUPTI records its work)" in log
    ran = rig.kernprof("print(1)", "-vv", "--gpu", "off", LINEPROF_NVTX="off")
    assert "; gpu: none (off, as was asked for)" in ran.out.partition("\n1\n")[0]
    ran = rig.kernprof("print(1)", "-vv", LINEPROF_CUPTI="/nowhere/libcupti.so")
    assert "; gpu: none (CUPTI can't be used: /nowhere/libcupti.so: " in ran.out


def test_gpu_status(rig: Rig) -> None:
    program = """
    import sys, lineprof
    from lineprof.recording.gpu import GpuOptions
    def show(profiler=None):
        status = lineprof.gpu_status()
        if profiler:
            assert profiler.gpu_status == status
        print(status.backend, status.present, status.reason)
        assert str(status).startswith(f"gpu: {status.backend} ({status.reason})")
    show()
    assert "lineprof.recording.profiler" not in sys.modules
    for choice in "off", "nvtx", GpuOptions("off"), None, "off":
        show(lineprof.LineProfiler(gpu=choice))
    """
    ran = rig.python(program, LINEPROF_CORE=os.environ.get("LINEPROF_CORE", ""))
    asked = "none False {}, as was asked for\n"
    ran.ok(
        "none True no profiler was made yet\n"
        + asked.format("off")
        + asked.format("only NVTX ranges")
        + asked.format("off")
        + "cupti True CUPTI records its work\n" * 2
    )


def test_an_invalid_option_in_a_program(rig: Rig) -> None:
    program = """
    from lineprof import LineProfiler
    from lineprof.recording.gpu import GpuOptions
    for wrong in "on", GpuOptions("on"), GpuOptions(graphs="nodes"):
        try:
            LineProfiler(gpu=wrong)
        except Exception as error:
            print(type(error).__name__, error)
    """
    ran = rig.python(program)
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert [line.split()[0] for line in lines] == ["LineprofError"] * 3
    assert ["'on'" in line for line in lines] == [True, True, False]


# -- the program's state -----------------------------------------------------------


def test_cuda_is_not_initialised(rig: Rig) -> None:
    """A profiler, a report and the end of the program do not call cuInit."""
    program = """
    from running import new_profiler
    @profile
    def f():
        tick(5)  #> time=5
    f()
    own = new_profiler()
    own.get_stats()
    print(gpu.fk_cuinit_calls(), gpu.fk_synchronize_calls())
    """
    ran = rig.kernprof(program, "--gpu-api", ready=False).ok("0 0\n")
    stats = ran.check()
    assert stats.gpu.sums == ()
    assert stats.gpu.devices == ()
    assert stats.gpu.runs[0].backend == "cupti"


def test_the_current_context_is_kept(rig: Rig) -> None:
    program = """
    import ctypes
    def current():
        found = ctypes.c_void_p()
        assert gpu.cuCtxGetCurrent(ctypes.byref(found)) == 0
        return found.value
    before = current()
    first = gpu.fk_ctx_create(0)
    gpu.fk_launch(b"k", 0, 10)
    second = gpu.fk_ctx_create(1)
    gpu.fk_launch(b"k", 0, 10)
    here = current()
    assert here != before
    stats = profile.get_stats()
    assert current() == here
    gpu.fk_ctx_destroy(second)
    gpu.fk_ctx_destroy(first)
    assert current() == before
    profile.get_stats()
    assert current() == before
    """
    rig.kernprof(program).ok()


def test_a_destroyed_context_that_is_still_current_in_a_thread(rig: Rig) -> None:
    """A wait for a destroyed context ends the process in the double."""
    program = """
    import threading
    made, gone, over = (threading.Event() for _ in range(3))
    def other():
        global uid
        uid = gpu.fk_ctx_create(1)
        gpu.fk_launch(b"k", 0, 10)
        made.set(); gone.wait()
        gpu.fk_launch(b"k", 0, 10)
        gpu.fk_sync(0, 0, -1)
        over.set()
    thread = threading.Thread(target=other)
    thread.start()
    made.wait()
    gpu.fk_ctx_destroy(uid)
    gone.set(); over.wait()
    thread.join()
    """
    stats = rig.kernprof(program).ok().stats()
    assert totals(stats.gpu).gpu_ns == 10
    stats = rig.kernprof(program, "--gpu-api").ok().stats()
    assert totals(stats.gpu).gpu_ns == 10


# -- several profilers, and reset --------------------------------------------------

SEVERAL = """
from lineprof.model.gpu import numbers_of_functions, totals, unattributed
from running import new_profiler

def show(profiler):
    gpu = profiler.get_stats().gpu
    whole, rest = totals(gpu), unattributed(gpu)
    own = {{key[2]: n.gpu_ns for key, n in numbers_of_functions(gpu).items()}}
    busy = [device.busy_ns for device in gpu.devices]
    kept = sum(timeline.count for timeline in gpu.timelines)
    print(whole.gpu_ns, whole.wait_ns, rest.gpu_ns, own, busy, kept)

def f(ns):
    gpu.fk_launch(b"k", 0, ns)
    gpu.fk_sync(0, 0, -1)

{program}
"""


def test_a_second_profiler_begins_with_no_work(rig: Rig) -> None:
    program = """
first = new_profiler()
one = first(f)
one(1000)
gpu.fk_launch(b"k", 0, 1)
second = new_profiler()
two = second(f)
show(first)
show(second)
two(20)
one(300)
gpu.fk_launch(b"k", 0, 2)
show(first)
show(second)
"""
    rig.python(SEVERAL.format(program=program)).ok(
        "1001 1000 1 {'f': 1000} [1001] 3\n"
        "0 0 0 {} [0] 0\n"
        "1323 1320 23 {'f': 1300} [1323] 8\n"
        "322 320 302 {'f': 20} [322] 5\n"
    )


def test_reset_forgets_earlier_work(rig: Rig) -> None:
    program = """
profile = new_profiler()
one = profile(f)
one(1000)
gpu.fk_launch(b"k", 0, 1)
profile.reset()
show(profile)
one(20)
gpu.fk_launch(b"k", 0, 2)
show(profile)
profile.reset()
profile.reset()
one(5)
show(profile)
"""
    rig.python(SEVERAL.format(program=program)).ok(
        "0 0 0 {} [0] 0\n22 20 2 {'f': 20} [22] 3\n5 5 0 {'f': 5} [5] 2\n"
    )


def test_records_lost_before_a_profiler_began_do_not_count(rig: Rig) -> None:
    program = """
    from gpu_rig import lost
    from running import new_profiler
    first = new_profiler()
    for _ in range(9):
        gpu.fk_launch(b"k", 0, 1)
    print(*lost(first.get_stats().gpu.runs[0]))
    second = new_profiler()
    gpu.fk_launch(b"k", 0, 1)
    print(*lost(second.get_stats().gpu.runs[0]))
    gpu.fk_launch(b"k", 0, 1)
    gpu.fk_launch(b"k", 0, 1)
    print(*lost(second.get_stats().gpu.runs[0]))
    """
    ran = rig.python(program, FAKE_CUPTI_DROP=3, LINEPROF_GPU_EVENTS=2)
    ran.ok("3 0 3 4\n0 0 0 1\n1 0 1 2\n")


def test_profile_of_lineprof(rig: Rig) -> None:
    """Without kernprof `lineprof.profile` has a profiler of its own."""
    program = """
    from lineprof import profile
    profile.enable(output_prefix="explicit")
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 2000)
    f()
    """
    ran = rig.python(program)
    assert (ran.status, ran.err) == (0, "")
    assert "GPU time: 2e-06 s in 1 kernels" in ran.out
    [found] = Path(rig.folder).glob("explicit*.lprof")
    assert totals(ran.stats(found.stem).gpu).gpu_ns == 2000


def test_a_module_run_by_kernprof(rig: Rig) -> None:
    program = """
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
    f()
    """
    text = rig.write(program)
    ran = rig.run(["-m", "kernprof", "-lqm", "program"], text)
    ran.ok().check()
