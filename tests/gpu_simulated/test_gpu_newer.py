"""Newer CUPTI: sources of graph nodes, graphs of the device, allocators, the clock."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from gpu_double import of_release
from gpu_rig import Ran, Rig, by_line, events, lost, run_of
from view_text import lines_of, text_of

from lineprof.model.gpu import totals

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.usefixtures("hook")

# By release of CUDA: FAKE_CUPTI_VERSION.
RELEASES = {
    (11, 7): 17,
    (11, 8): 118,
    (12, 0): 18,
    (12, 1): 121,
    (12, 2): 20,
    (12, 3): 21,
    (12, 4): 22,
    (12, 5): 23,
    (12, 6): 24,
    (12, 8): 26,
    (12, 9): 28,
    (13, 0): 130001,
    (13, 1): 130101,
    (13, 2): 130202,
    (13, 3): 130301,
    (13, 4): 130401,
    (13, 5): 130501,
}
each_release = pytest.mark.parametrize("release", RELEASES, ids="{0[0]}.{0[1]}".format)


def run(
    rig: Rig, release: tuple[int, int], program: str, *options: str, **knobs: object
) -> Ran:
    """Run a program with the double of a release."""
    return rig.kernprof(
        program,
        *options,
        LINEPROF_CUPTI=of_release(rig.doubles, rig.folder, release),
        FAKE_CUPTI_VERSION=RELEASES[release],
        **knobs,
    )


# -- the source of a graph's node ----------------------------------------------------

UPDATED = """
@profile
def f():
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"old", 0, 10)
    gpu.fk_memset_stream(0, 8, 3)
    gpu.fk_memcpy(1, 64, 5, 0, 2, 3)
    exec_ = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
    gpu.fk_graph_launch(exec_, 0)
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"new", 0, 20)
    gpu.fk_memset_stream(0, 8, 4)
    gpu.fk_memcpy(1, 64, 6, 0, 2, 3)
    gpu.fk_graph_update(exec_, gpu.fk_graph_end(0))
    gpu.fk_graph_launch(exec_, 0)
f()
"""


def words_of(ran: Ran, *, capture: bool) -> dict[str, str]:
    """Return the words of each line that has some, by its text."""
    texts = ran.text.splitlines()
    found: dict[str, str] = {}
    for line, words in by_line(ran.stats().gpu, capture=capture).items():
        text = texts[line - 1].strip()
        name = f"{text} {line}" if text in found else text
        found[name] = " ".join(f"{n}={v}" for n, v in words.items())
    return found


@each_release
def test_an_updated_graph_is_charged_to_its_new_capture(
    rig: Rig, release: tuple[int, int]
) -> None:
    """The nodes stay, and CUPTI tells of no new ones: records name them from 13.4."""
    ran = run(rig, release, UPDATED).ok()
    known = release >= (13, 4)
    old = {
        'gpu.fk_launch(b"old", 0, 10)': "gpu=10 self=10 kernels=1",
        "gpu.fk_memset_stream(0, 8, 3)": "gpu=3 self=3 memset=3/1",
        "gpu.fk_memcpy(1, 64, 5, 0, 2, 3)": "HtoD=5/64/1",
    }
    new = {
        'gpu.fk_launch(b"new", 0, 20)': "gpu=20 self=20 kernels=1",
        "gpu.fk_memset_stream(0, 8, 4)": "gpu=4 self=4 memset=4/1",
        "gpu.fk_memcpy(1, 64, 6, 0, 2, 3)": "HtoD=6/64/1",
    }
    both = {
        'gpu.fk_launch(b"old", 0, 10)': "gpu=30 self=30 kernels=2",
        "gpu.fk_memset_stream(0, 8, 3)": "gpu=7 self=7 memset=7/2",
        "gpu.fk_memcpy(1, 64, 5, 0, 2, 3)": "HtoD=11/128/2",
    }
    assert words_of(ran, capture=True) == ({**old, **new} if known else both)
    replayed = words_of(ran, capture=False).values()
    assert set(replayed) == {
        "gpu=13 self=13 kernels=1 memset=3/1 HtoD=5/64/1",
        "gpu=24 self=24 kernels=1 memset=4/1 HtoD=6/64/1",
    }
    assert lost(run_of(ran.stats())) == (0, 0, 0, 0)


CHILDREN = """
@profile
def f():
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"k", 0, 10)
    graph = gpu.fk_graph_of_children(gpu.fk_graph_end(0), 3)
    exec_ = gpu.fk_graph_instantiate(graph)
    gpu.fk_graph_launch(exec_, 0)
f()
"""


@pytest.mark.parametrize("fail", ["", "cuptiEnableCallback/3/20:27"])
@pytest.mark.parametrize("release", [(13, 3), (13, 4)])
def test_nodes_of_child_graphs(rig: Rig, release: tuple[int, int], fail: str) -> None:
    """The source of a node is a copy itself: both ways are needed."""
    ran = run(rig, release, CHILDREN, FAKE_CUPTI_FAIL=fail)
    line = 'gpu.fk_launch(b"k", 0, 10)'
    found = words_of(ran, capture=True)
    assert (found.get(line) == "gpu=30 self=30 kernels=3") == (not fail)


def test_clones_that_nobody_tells_of(rig: Rig) -> None:
    """From 13.4 on a record names the node that was captured."""
    made = "gpu.fk_graph_of_children(gpu.fk_graph_end(0), 3)"
    program = CHILDREN.replace(made, "gpu.fk_graph_end(0)")
    fail = {"FAKE_CUPTI_FAIL": "cuptiEnableCallback/3/20:27"}
    line = 'gpu.fk_launch(b"k", 0, 10)'
    ran = run(rig, (13, 4), program, **fail).ok()
    assert words_of(ran, capture=True)[line] == "gpu=10 self=10 kernels=1"
    ran = run(rig, (13, 3), program, "-v", **fail)
    assert "lines that captured graphs (--graph-origin) are not known" in ran.err
    assert line not in words_of(ran, capture=True)


# -- graphs that the device launches -------------------------------------------------

DEVICE = """
def captured(name, ns):
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(name, 0, ns)
    return gpu.fk_graph_instantiate(gpu.fk_graph_end(0))

parent, other = captured(b"parent", 100), captured(b"other", 7)
child = captured(b"child", 10)

@profile
def f():
    gpu.fk_graph_launch_by_device(child, parent, 1)
    gpu.fk_graph_launch(parent, 0)  {parent}
    gpu.fk_graph_launch_by_device(child, parent, 1)

@profile
def g():
    gpu.fk_graph_launch(other, 0)  {other}
    gpu.fk_graph_launch(other, 0)  {other}
    gpu.fk_graph_launch_by_device(child, other, 1)

f()
g()
gpu.fk_graph_launch_by_device(child, child, 1)
"""


@each_release
def test_graphs_of_the_device_belong_to_the_line_of_their_launcher(
    rig: Rig, release: tuple[int, int]
) -> None:
    """A record of such a graph has no call's id, but the graph that launched it.

    One that was launched by several lines, or by none, tells nothing.
    """
    program = DEVICE.format(parent="#> gpu={}", other="#> gpu=7")
    known = release >= (13, 0)
    program = program.replace("gpu={}", "gpu=120" if known else "gpu=100")
    ran = run(rig, release, program, "--cuda-graph", "graph").ok()
    stats = ran.check("gpu=20" if known else "")
    assert lost(run_of(stats)) == (0, 0, 0, 0)


@each_release
def test_nodes_of_graphs_that_the_device_launches(
    rig: Rig, release: tuple[int, int]
) -> None:
    """They have records with the hardware's time stamps alone, without a launcher."""
    program = DEVICE.format(parent="#> gpu=100 kernels=1", other="#> gpu=7 kernels=1")
    ran = run(rig, release, program).ok()
    assert lost(run_of(ran.check())) == (0, 0, 0, 0)
    if release >= (13, 0):
        flags = ("--gpu-clock", "hardware")
        ran = run(rig, release, program, *flags, FAKE_CUDA_CAPABILITY=10).ok()
        stats = ran.check("gpu=40 kernels=4")
        assert lost(run_of(stats)) == (0, 0, 0, 0)
        assert not stats.warnings


def test_many_graphs_of_the_device_are_no_sign_of_wrong_ids(rig: Rig) -> None:
    program = """
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"k", 0, 1)
    exec_ = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
    for _ in range(2000):
        gpu.fk_graph_launch_by_device(exec_, 77, 1)
    """
    ran = rig.kernprof(program, "--cuda-graph", "graph").ok()
    assert totals(ran.stats().gpu).gpu_ns == 2000
    assert not ran.stats().warnings


# -- libraries that allocate ---------------------------------------------------------

ALLOCATING = """
@profile
def f():
    gpu.fk_allocator(b"/opt/pool/libpool.so")
    gpu.fk_free(gpu.fk_malloc(500))  #> alloc=500 free=500 peak=500
    gpu.fk_allocator(b"other.so.1")
    gpu.fk_malloc(100)  #> alloc=100 live=100
f()
"""


@each_release
def test_the_library_of_an_allocation(rig: Rig, release: tuple[int, int]) -> None:
    ran = run(rig, release, ALLOCATING, "--gpu-memory").ok()
    stats = ran.check()
    known = release >= (12, 6)
    sizes = {"libpool.so": 500, "other.so.1": 100} if known else {}
    profile = json.loads("".join(lines_of(stats, "json")))
    assert profile["gpu"]["allocated_by"] == sizes
    assert {one.name for one in stats.gpu.sums if one.kind == "free"} == {""}
    names = [event.name for event in events(stats) if event.kind == "alloc"]
    assert names == (["libpool.so", "other.so.1"] if known else ["", ""])
    line = "Allocated on the GPU by: libpool.so 500B, other.so.1 100B\n"
    assert (line in text_of(stats)) == known


# -- the clock of the hardware -------------------------------------------------------

CLOCK = ("--gpu-clock", "hardware")
SEVERAL = {"cupti": "fake_cupti_13_4", "FAKE_CUPTI_VERSION": 130501}
NOT_USED = "time stamps of the hardware (--gpu-clock hardware) are not used: "
OLD = "NVIDIA H200 (compute capability 9) has none: Blackwell and later devices have"
NO_FUNCTION = "CUPTI has them from 12.8 on"
REFUSED = "cuptiActivityEnableHWTrace says CUPTI_ERROR_NOT_SUPPORTED (27)"
WORK = """
from lineprof import gpu_status
import ctypes, os
cupti = ctypes.CDLL(os.environ["LINEPROF_CUPTI"])

@profile
def f():
    gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
f()
print(cupti.fk_has_hardware_clock(), *gpu_status().notes, sep="\\n")
"""


@each_release
@pytest.mark.parametrize("capability", [9, 10])
def test_time_stamps_of_the_hardware(
    rig: Rig, release: tuple[int, int], capability: int
) -> None:
    ran = run(rig, release, WORK, *CLOCK, "-v", FAKE_CUDA_CAPABILITY=capability)
    why = NO_FUNCTION if release < (12, 8) else OLD if capability < 10 else ""
    check_clock(ran, why)


CLOCKS: Mapping[str, tuple[dict[str, object], str]] = {
    "not asked for": ({"LINEPROF_GPU_CLOCK": "software"}, ""),
    "by the variable": ({"LINEPROF_GPU_CLOCK": "hardware"}, ""),
    "refused": (
        {
            "LINEPROF_GPU_CLOCK": "hardware",
            "FAKE_CUPTI_FAIL": "cuptiActivityEnableHWTrace:27",
        },
        REFUSED,
    ),
    "refused to one of several": (
        {
            **SEVERAL,
            "LINEPROF_GPU_CLOCK": "hardware",
            "FAKE_CUPTI_FAIL": "cuptiActivitySetAttribute_v2/13:27",
        },
        "cuptiActivitySetAttribute_v2 says CUPTI_ERROR_NOT_SUPPORTED (27)",
    ),
    "one tool at a time of a library for several": (
        {**SEVERAL, "LINEPROF_GPU_CLOCK": "hardware", "FAKE_CUPTI_SEVERAL": 0},
        "",
    ),
}


@pytest.mark.parametrize("name", CLOCKS)
def test_when_the_clock_of_the_hardware_is_used(rig: Rig, name: str) -> None:
    knobs, why = CLOCKS[name]
    ran = rig.kernprof(WORK, "-v", **{"FAKE_CUDA_CAPABILITY": 12, **knobs})
    if name == "not asked for":
        assert (ran.status, ran.out[:2], ran.err) == (0, "0\n", "")
    else:
        check_clock(ran, why)


def check_clock(ran: Ran, why: str) -> None:
    """Check that all is recorded, and that it is said why the clock is not used."""
    said = NOT_USED + why if why else ""
    assert ran.status == 0
    assert ran.err == (f"kernprof: {said}\n" if why else "")
    on = "0" if why else "1"
    printed = ran.out.partition("Wrote profile")[0]
    assert printed.splitlines() == [on, *filter(None, [said])]
    stats = ran.check()
    assert stats.warnings == tuple(filter(None, [said]))
    assert lost(run_of(stats)) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("before", "capability", "why"),
    [
        ("gpu.cuInit(0)", 10, ""),
        ("gpu.cuInit(0)", 9, OLD),
        ("gpu.fk_init()", 10, "the program had a context before"),
    ],
)
def test_the_clock_of_the_hardware_if_cuda_is_in_use(
    rig: Rig, before: str, capability: int, why: str
) -> None:
    program = f"""
    {before}
    from running import new_profiler
    from lineprof import gpu_status
    profile = new_profiler()
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
    f()
    print(*gpu_status().notes, sep="\\n")
    profile.dump_stats("program.lprof")
    """
    ran = rig.python(
        program,
        ready=False,
        LINEPROF_GPU_CLOCK="hardware",
        FAKE_CUDA_CAPABILITY=capability,
    )
    said = NOT_USED + why if why else ""
    assert (ran.status, ran.out.strip()) == (0, said), ran.err
    assert ran.check().warnings == tuple(filter(None, [said]))


@pytest.mark.parametrize("on", [0, 1])
def test_the_clock_is_one_for_all_tools(rig: Rig, on: int) -> None:
    """A tool that came first has chosen it; lineprof does not change that."""
    program = f"""
    import ctypes
    from gpu_client import HARDWARE, Subscriber
    from running import new_profiler
    from lineprof import gpu_status
    monitor = Subscriber("Monitor")
    assert monitor.set(HARDWARE, ctypes.c_uint8({on})) == 0
    profile = new_profiler()
    gpu.fk_init()
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
    f()
    print(monitor.get(HARDWARE), *gpu_status().notes, sep="\\n")
    profile.dump_stats("program.lprof")
    """
    ran = rig.python(
        program,
        ready=False,
        LINEPROF_GPU_CLOCK="hardware",
        FAKE_CUDA_CAPABILITY=10,
        **SEVERAL,
    )
    why = "they are the same for all tools, and Monitor came first"
    said = () if on else (NOT_USED + why,)
    assert (ran.status, ran.out.splitlines()) == (0, [str(on), *said]), ran.err
    assert ran.check().warnings == said


@pytest.mark.parametrize("alone", [False, True])
def test_settings_of_lineprof_are_not_those_of_other_tools(
    rig: Rig, *, alone: bool
) -> None:
    """Allocators and graphs of the device, as the only tool and as one of several."""
    program = f"""
    from gpu_client import ALLOCATION_SOURCE, DEVICE_GRAPHS, Subscriber
    from running import new_profiler
    profile = new_profiler()
    if not {alone}:
        monitor = Subscriber("Monitor")
    gpu.fk_init()
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"k", 0, 10)
    exec_ = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
    @profile
    def f():
        gpu.fk_allocator(b"/opt/pool/libpool.so")
        gpu.fk_malloc(100)  #> alloc=100 live=100 peak=100
        gpu.fk_graph_launch(exec_, 0)  #> gpu=30
        gpu.fk_graph_launch_by_device(exec_, exec_, 1)
        gpu.fk_graph_launch_by_device(exec_, exec_, 1)
    f()
    if not {alone}:
        assert monitor.get(ALLOCATION_SOURCE) == monitor.get(DEVICE_GRAPHS) == 0
    profile.dump_stats("program.lprof")
    """
    ran = rig.python(
        program,
        ready=False,
        LINEPROF_GPU_MEMORY=1,
        LINEPROF_CUDA_GRAPH="graph",
        FAKE_CUPTI_SEVERAL=int(not alone),
        **SEVERAL,
    )
    assert ran.status == 0, ran.err
    stats = ran.check()
    assert {one.name for one in stats.gpu.sums if one.kind == "alloc"} == {"libpool.so"}
