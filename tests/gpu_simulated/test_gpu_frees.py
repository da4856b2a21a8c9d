"""Calls that free: they wait for the work that was launched before, and no longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineprof.model.gpu import totals
from lineprof.model.gpu_idle import Causes, device_idle
from lineprof.snapshot.arithmetic import idle_sums

if TYPE_CHECKING:
    from gpu_rig import Rig

pytestmark = pytest.mark.usefixtures("hook")

# -- the part that is a wait -------------------------------------------------------

FREEING = """
@profile
def f():
    first, second, third = (gpu.fk_malloc(500) for _ in range(3))  {alloc}
    tick(1)
    gpu.fk_free(first)  {first}
    gpu.fk_launch(b"k", 0, 100)  #> gpu=100 kernels=1
    gpu.fk_free(second)  {second}
    gpu.fk_launch(b"k", 0, 50)  #> gpu=50 kernels=1
    gpu.fk_sync(0, 0, -1)  #> wait=50/1
    gpu.fk_free(third)  {third}

f()
"""


def test_freeing_waits_for_the_work_that_was_launched(rig: Rig) -> None:
    """It is no wait before the first launch, and after a wait for the device."""
    waits = {"first": "", "second": "#> wait=100/1 time=100", "third": ""}
    rig.check(FREEING.format(alloc="", **waits))
    rows = {
        "alloc": "#> alloc=1500 peak=1500",
        "first": "#> free=500",
        "second": "#> free=500 wait=100/1",
        "third": "#> free=500",
    }
    rig.check(FREEING.format(**rows), "--gpu-memory")


@pytest.mark.smoke
def test_the_own_time_of_a_call_that_frees_is_no_wait(rig: Rig) -> None:
    """As in PyTorch's first calls, which create a context and load modules."""
    rig.check("""
    @profile
    def f():
        blocks = [gpu.fk_malloc(500) for _ in range(4)]
        gpu.fk_memcpy(1, 300, 30, 0, 1, 3)  #> HtoD=30/300/1
        tick(1000)
        gpu.fk_own_time(6000000, 1)
        gpu.fk_free(blocks.pop())  #> time=6000000 load=6000000
        gpu.fk_launch(b"k", 0, 100)  #> gpu=100 kernels=1
        gpu.fk_own_time(7, 0)
        gpu.fk_free(blocks.pop())  #> wait=100/1 time=107
        gpu.fk_launch(b"k", 0, 100)  #> gpu=100 kernels=1
        tick(60)
        gpu.fk_own_time(525000, 1)
        gpu.fk_free(blocks.pop())  #> wait=40/1 time=525040 load=525000
        gpu.fk_own_time(4000, 1)
        gpu.fk_free(blocks.pop())  #> time=4000 load=4000
    f()
    """)


ROOM = 4096  # call paths that are known to have loaded modules


def test_loads_of_too_many_lines_are_told(rig: Rig) -> None:
    lines = ["gpu.fk_own_time(10, 1); gpu.fk_launch(b'k', 0, 1)"] * (ROOM + 3)
    body = "\n".join(f"    {line}" for line in lines)
    ran = rig.kernprof(f"@profile\ndef f():\n{body}\nf()\n").ok()
    assert totals(ran.stats().gpu).load_ns == 10 * ROOM
    [said] = ran.warnings()
    words = "3 calls loaded modules beyond the first 4096 call paths that did"
    assert said == f"{words}: their time is not in Load"


def test_each_call_that_frees_is_a_wait(rig: Rig) -> None:
    rig.check("""
    host, arrays, code = (38, 302), (89, 349), (22, 680)
    contexts = (11, 322, 387, 389, 544, 545)
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 1000)  #> gpu=1000 kernels=1
        for call in (33, 245, *host, *arrays, *code, *contexts):
            gpu.fk_call(1, call)  #> wait=98/14 time=98
        gpu.fk_call(1, 600)  #> time=7
    gpu.fk_api_cost(7)
    f()
    gpu.fk_api_cost(0)
    """)


def test_a_call_waits_for_all_streams_and_kinds_of_work(rig: Rig) -> None:
    rig.check("""
    @profile
    def f():
        block, other = gpu.fk_malloc(500), gpu.fk_malloc(500)
        gpu.fk_launch(b"k", 1, 100)  #> gpu=100 kernels=1
        gpu.fk_launch(b"k", 2, 30)  #> gpu=30 kernels=1
        gpu.fk_memcpy_stream(3, 1, 300, 150, 0, 2, 3)  #> HtoD=150/300/1
        gpu.fk_own_time(5, 0)
        gpu.fk_free(block)  #> wait=150/1 time=155
        gpu.fk_memset_stream(4, 8, 200)  #> gpu=200 memset=200/1
        gpu.fk_launch(b"k", 4, 50)  #> gpu=50 kernels=1
        gpu.fk_own_time(5, 0)
        gpu.fk_free(other)  #> wait=250/1 time=255
    f()
    """)


GRAPH = """
gpu.fk_graph_capture_begin(0)
gpu.fk_launch(b"node", 0, 60)
gpu.fk_launch(b"node", 0, 70)
graph = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
@profile
def f():
    block = gpu.fk_malloc(500)
    gpu.fk_graph_launch(graph, 0)  #> {graph}
    gpu.fk_own_time(5, 0)
    gpu.fk_free(block)  #> wait=130/1 time=135
f()
"""


@pytest.mark.parametrize(
    ("kind", "numbers"), [("node", "gpu=130 kernels=2"), ("graph", "gpu=130")]
)
def test_a_call_waits_for_a_graph(rig: Rig, kind: str, numbers: str) -> None:
    rig.check(GRAPH.format(graph=numbers), "--cuda-graph", kind)


@pytest.mark.parametrize("ids", ["driver", "runtime"])
def test_a_call_waits_for_work_whatever_the_ids_of_records(rig: Rig, ids: str) -> None:
    """Until the ids are settled, work counts that began before the call."""
    program = """
    @profile
    def f():
        block = gpu.fk_malloc(500)
        gpu.fk_launch(b"k", 0, 100)
        tick(10)
        gpu.fk_own_time(5, 0)
        gpu.fk_free(block)
    f()
    """
    ran = rig.kernprof(program, FAKE_CUPTI_IDS=ids).ok()
    assert totals(ran.stats().gpu).wait_ns == 90


# -- loading -----------------------------------------------------------------------


def test_calls_that_load_modules_or_create_a_context_are_loads(rig: Rig) -> None:
    rig.check(
        """
    @profile
    def f():
        gpu.fk_own_time(300, 0)
        gpu.fk_init()  #> time=300
        gpu.fk_own_time(70, 0)
        uid = gpu.fk_ctx_create(0)  #> load=70
        gpu.fk_own_time(5, 1)
        gpu.fk_launch(b"first", 0, 100)  #> gpu=100 kernels=1 load=5 time=5
        gpu.fk_own_time(4, 0)
        gpu.fk_launch(b"next", 0, 100)  #> gpu=100 kernels=1 time=4
        gpu.fk_own_time(6, 2)
        gpu.fk_memset_stream(0, 8, 10)  #> gpu=10 memset=10/1 load=6
        for call in (18, 19, 20, 21, 678, 679, 23, 682, 683, 742):
            gpu.fk_own_time(1, 1)
            gpu.fk_call(1, call)  #> load=10
            gpu.fk_own_time(1, 0)
            gpu.fk_call(1, call)
        gpu.fk_own_time(9, 1)
        gpu.fk_call(1, 243)
        gpu.fk_sync(0, 0, -1)  #> wait=166/1
    f()
    """,
        ready=False,
    )


def test_loads_belong_to_the_profiler_in_whose_time_they_ended(rig: Rig) -> None:
    program = """
    from running import new_profiler
    from lineprof.model.gpu import totals
    first = new_profiler()
    def load(ns):
        gpu.fk_own_time(ns, 1)
        gpu.fk_launch(b"k", 0, 1)
    load(100)
    second = new_profiler()
    load(20)
    print(*(totals(one.get_stats().gpu).load_ns for one in (first, second)))
    """.replace("\n    ", "\n")
    rig.python(program).ok("120 20\n")


def test_loading_is_a_column_of_lines_that_loaded(rig: Rig) -> None:
    program = """
    @profile
    def f():
        gpu.fk_own_time(6000000, 1)
        gpu.fk_launch(b"first", 0, 100)
    f()
    """
    ran = rig.kernprof(program, "-v")
    title, row = (
        next(line for line in ran.out.splitlines() if what in line)
        for what in ("Line #", "fk_launch(")
    )
    place = title.index("  Load  ") + len("  Load")
    assert row[:place].endswith(" 6000.0")
    assert "Loading: 0.006 s for modules and contexts" in ran.out
    assert "Load" not in rig.kernprof(program.replace(", 1)", ", 0)"), "-v").out


# -- whose work --------------------------------------------------------------------


def test_work_that_is_launched_during_a_call_is_not_waited_for(rig: Rig) -> None:
    rig.check("""
    import ctypes, threading
    from gpu_double import WAITER
    block = gpu.fk_malloc(500)
    @WAITER
    def during(ns):
        gpu.fk_on_wait(ctypes.cast(tick, ctypes.c_void_p))
        tick(1)
        thread = threading.Thread(target=g)
        thread.start()
        thread.join()
        tick(ns - 1)
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 100)  #> gpu=100 kernels=1
        gpu.fk_own_time(700, 0)
        gpu.fk_free(block)  #> wait=100/1 time=800
    @profile
    def g():
        gpu.fk_launch(b"late", 1, 500)  #> gpu=500 kernels=1
    gpu.fk_on_wait(during)
    f()
    """)


def test_a_call_waits_for_its_own_context_alone(rig: Rig) -> None:
    rig.check("""
    @profile
    def f():
        block, other = gpu.fk_malloc(500), gpu.fk_malloc(500)
        gpu.fk_set_device(1)
        gpu.fk_launch(b"far", 0, 1000)  #> gpu=1000 kernels=1
        gpu.fk_set_device(0)
        gpu.fk_own_time(50, 0)
        gpu.fk_free(block)  #> time=50
        gpu.fk_launch(b"near", 0, 100)  #> gpu=100 kernels=1
        gpu.fk_own_time(50, 0)
        gpu.fk_free(other)  #> wait=100/1 time=150
    f()
    """)


def test_the_end_of_a_context_waits_for_the_work_of_that_one(rig: Rig) -> None:
    rig.check("""
    @profile
    def f():
        uid = gpu.fk_ctx_create(0)
        gpu.fk_launch(b"k", 0, 30)  #> gpu=30 kernels=1
        gpu.fk_set_device(0)
        gpu.fk_launch(b"goes on", 0, 1000)  #> gpu=1000 kernels=1
        gpu.fk_own_time(5, 0)
        gpu.fk_ctx_destroy(uid)  #> wait=30/1 time=35
        gpu.fk_set_device(1)
        gpu.fk_launch(b"far", 0, 9000)  #> gpu=9000 kernels=1
        gpu.fk_own_time(5, 0)
        gpu.fk_primary_reset()  #> wait=965/1 time=970
    f()
    """)


def test_the_end_of_a_context_from_before_waits_for_no_other_one(rig: Rig) -> None:
    program = """
    from running import new_profiler
    from lineprof.model.gpu import totals
    uid = gpu.fk_ctx_create(0)
    gpu.fk_set_device(0)
    profile = new_profiler()
    gpu.fk_launch(b"goes on", 0, 1000)
    gpu.fk_own_time(5, 0)
    gpu.fk_ctx_destroy(uid)
    print(totals(profile.get_stats().gpu).waits)
    """.replace("\n    ", "\n")
    rig.python(program).ok("0\n")


def test_freeing_after_the_end_of_a_context_with_work_is_no_wait(rig: Rig) -> None:
    rig.check("""
    @profile
    def f():
        address = gpu.fk_malloc(500)
        uid = gpu.fk_ctx_create(0)
        gpu.fk_launch(b"k", 0, 30)  #> gpu=30 kernels=1
        gpu.fk_ctx_destroy(uid)  #> wait=30/1
        gpu.fk_free(address)
    f()
    """)


def test_freeing_during_a_wait_of_another_thread_is_a_wait(rig: Rig) -> None:
    program = """
    import ctypes, threading
    from gpu_double import WAITER
    address = gpu.fk_malloc(500)
    @WAITER
    def during(ns):
        thread = threading.Thread(target=f)
        thread.start()
        thread.join()
    @profile
    def f():
        gpu.fk_on_wait(ctypes.cast(tick, ctypes.c_void_p))
        gpu.fk_free(address)  #> wait=100/1
    gpu.fk_launch(b"k", 0, 100)
    gpu.fk_on_wait(during)
    gpu.fk_sync(0, 0, -1)
    """
    rig.check(program, nowhere="gpu=100 kernels=1 wait=100/1")


# -- when records come, and when a profile is read ---------------------------------

MANY = """
@profile
def f():
    for _ in range(40):
        block = gpu.fk_malloc(500)
        gpu.fk_launch(b"k", 0, 100)  #> gpu=4000 kernels=40
        tick(30)
        gpu.fk_own_time(5, 0)
        gpu.fk_free(block)  #> wait=2800/40 time=3000
f()
"""


@pytest.mark.parametrize(
    "knobs",
    [
        {"FAKE_CUPTI_LATE_MS": 20},
        {"FAKE_CUPTI_BUFFER_LIMIT": 300},
        {"FAKE_CUPTI_AT_ONCE": 7},
        {"FAKE_CUPTI_WITHHOLD": 1},
    ],
)
def test_records_may_come_late(rig: Rig, knobs: dict[str, object]) -> None:
    rig.check(MANY, **knobs)


def test_a_wait_for_work_without_a_record_is_not_known(rig: Rig) -> None:
    ran = rig.kernprof(MANY, FAKE_CUPTI_DROP=2).ok()
    found = totals(ran.stats().gpu)
    assert (found.wait_ns, found.waits) == (1400, 20)


def test_a_profile_that_is_read_during_a_call_has_no_wait_of_it_yet(rig: Rig) -> None:
    program = """
    import ctypes
    from gpu_double import WAITER
    from running import new_profiler
    from lineprof.model.gpu import totals
    profile, block = new_profiler(), gpu.fk_malloc(500)
    def waited(profile):
        numbers = totals(profile.get_stats().gpu)
        return numbers.waits, numbers.wait_ns
    @WAITER
    def during(ns):
        gpu.fk_on_wait(ctypes.cast(tick, ctypes.c_void_p))
        tick(ns)
        print(waited(profile))
        profile.reset()
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 100)
        gpu.fk_own_time(5, 0)
        gpu.fk_free(block)
    gpu.fk_on_wait(during)
    f()
    second = new_profiler()
    print(waited(profile), waited(second))
    """.replace("\n    ", "\n")
    rig.python(program).ok("(0, 0)\n(1, 100) (0, 0)\n")


def test_profilers_that_begin_later_have_no_earlier_wait(rig: Rig) -> None:
    program = """
    from running import new_profiler
    from lineprof.model.gpu import totals
    first = new_profiler()
    def free(ns):
        block = gpu.fk_malloc(500)
        gpu.fk_launch(b"k", 0, ns)
        gpu.fk_own_time(5, 0)
        gpu.fk_free(block)
    def waited(profile):
        numbers = totals(profile.get_stats().gpu)
        return numbers.waits, numbers.wait_ns
    free(100)
    second = new_profiler()
    free(20)
    print(waited(first), waited(second))
    first.reset()
    free(3)
    print(waited(first), waited(second))
    """.replace("\n    ", "\n")
    rig.python(program).ok("(2, 120) (1, 20)\n(1, 3) (2, 23)\n")


def test_a_call_waits_for_work_of_before_collection_began(rig: Rig) -> None:
    """A wait counts if collection is on when the call returns."""
    rig.check(
        """
    @profile
    def f():
        blocks = [gpu.fk_malloc(500) for _ in range(3)]
        gpu.fk_launch(b"k", 0, 100)
        gpu.fk_free(blocks.pop())
        gpu.fk_launch(b"k", 0, 100)
        gpu.fk_profiler_start()
        gpu.fk_own_time(5, 0)
        gpu.fk_free(blocks.pop())  #> wait=100/1
        gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
        gpu.fk_profiler_stop()
        gpu.fk_free(blocks.pop())
    f()
    """,
        "--profile-from-start",
        "off",
    )


# -- idle time ---------------------------------------------------------------------


def test_the_own_time_of_a_call_that_frees_is_idle_time_of_its_line(rig: Rig) -> None:
    """It is no Sync time, because the device has nothing to do."""
    program = """
    @profile
    def f():
        block = gpu.fk_malloc(500)
        gpu.fk_launch(b"k", 0, 1000)
        gpu.fk_own_time(500000, 0)
        gpu.fk_free(block)
        gpu.fk_launch(b"k", 0, 1000)
        gpu.fk_sync(0, 0, -1)
    @profile
    def before():
        tick(100000)
    before()
    f()
    """
    ran = rig.kernprof(program, FROZEN_CLOCK_CPU=1).ok()
    [device] = device_idle(ran.stats(), idle_sums)
    assert device.idle_ns == 500_000
    causes = Causes()
    for line in device.lines:
        causes = causes.plus(line.causes)
    assert causes == Causes(waiting=500_000)
