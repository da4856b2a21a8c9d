"""GPU work by line, recorded by CUPTI: kernels, memsets, copies, memory, waits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from gpu_rig import Played, Rig, events, lost

from lineprof.model.gpu import DIRECTIONS, kernels_of_lines, numbers_of_functions

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hook")

PROGRAMS = {
    "a kernel": """
@profile
def f():
    gpu.fk_launch(b"one", 0, 1000)  #> gpu=1000 kernels=1 hits=1 time=0

f()
""",
    "kernels of a loop": """
@profile
def f():
    for i in range(10):
        gpu.fk_launch(b"one", 0, 100 + i)  #> gpu=1045 kernels=10 hits=10
        gpu.fk_launch(b"other", i, 7)  #> gpu=70 kernels=10

f()
""",
    "memsets": """
@profile
def f():
    gpu.fk_memset(4096, 300, 0)  #> gpu=300 memset=300/1
    gpu.fk_memset(4096, 200, 1)  #> gpu=200 memset=200/1
    gpu.fk_launch(b"k", 0, 5); gpu.fk_memset(1, 2, 0)  #> gpu=7 kernels=1 memset=2/1

f()
""",
    "copies": """
@profile
def f():
    gpu.fk_memcpy(1, 100, 10, 1, 1, 3)  #> HtoD=10/100/1 wait=10/1
    gpu.fk_memcpy(2, 200, 20, 1, 3, 1)  #> DtoH=20/200/1 wait=20/1
    gpu.fk_memcpy(8, 800, 80, 0, 3, 3)  #> DtoD=80/800/1
    for i in range(3):
        gpu.fk_memcpy(1, 1 << 40, 1, 0, 2, 3)  #> HtoD=3/3298534883328/3
    gpu.fk_memcpy(1, 1, 1, 0, 2, 3); gpu.fk_memcpy(2, 2, 2, 0, 3, 2)  \
#> HtoD=1/1/1 DtoH=2/2/1

f()
""",
    "waiting": """
@profile
def f():
    gpu.fk_launch(b"k", 0, 1000)  #> gpu=1000 kernels=1 time=0
    gpu.fk_sync(0, 0, -1)  #> wait=1000/1 time=1000
    gpu.fk_sync(0, 0, -1)  #> wait=0/1 time=0
    gpu.fk_launch(b"k", 1, 50)  #> gpu=50 kernels=1
    gpu.fk_launch(b"k", 2, 70)  #> gpu=70 kernels=1
    gpu.fk_sync(1, 1, -1)  #> wait=50/1 time=50
    gpu.fk_sync(2, 2, -1)  #> wait=20/1 time=20
    tick(9)  #> time=9
    for what in range(3):
        gpu.fk_sync(what, 0, 5)  #> wait=15/3 time=15 hits=3

f()
""",
    # A blocking copy is a wait, as in `.item()`; an asynchronous copy is not.
    "copies that wait": """
@profile
def f():
    gpu.fk_launch(b"k", 0, 500)  #> gpu=500 kernels=1
    gpu.fk_memcpy(2, 4, 10, 0, 3, 1)  #> DtoH=10/4/1 wait=510/1 time=510
    gpu.fk_launch(b"k", 0, 500)  #> gpu=500 kernels=1
    gpu.fk_memcpy(2, 4, 10, 0, 3, 2)  #> DtoH=10/4/1 time=0
    gpu.fk_memcpy(1, 4, 10, 0, 1, 3)  #> HtoD=10/4/1 time=0
    gpu.fk_sync(0, 0, -1)  #> wait=520/1 time=520
    gpu.fk_api_cost(9)  # of each call
    gpu.fk_memcpy(1, 4, 10, 0, 1, 3)  #> HtoD=10/4/1 wait=9/1 time=9
    gpu.fk_memcpy(1, 4, 10, 0, 2, 3)  #> HtoD=10/4/1 time=9
    gpu.fk_api_cost(0)

f()
""",
    "concurrent streams": """
@profile
def f():
    gpu.fk_launch(b"k", 0, 1000)  #> gpu=1000 kernels=1
    gpu.fk_launch(b"k", 1, 1000)  #> gpu=1000 kernels=1
    tick(600)  #> time=600
    gpu.fk_launch(b"k", 2, 1000)  #> gpu=1000 kernels=1

f()
""",
    "devices": """
@profile
def f():
    gpu.fk_set_device(1)
    gpu.fk_launch(b"k", 0, 30)  #> gpu=30 kernels=1
    gpu.fk_memcpy(10, 64, 5, 0, 3, 3)  #> PtoP=5/64/1
    gpu.fk_set_device(0)
    gpu.fk_launch(b"k", 0, 12)  #> gpu=12 kernels=1

f()
""",
    "contexts": """
@profile
def f():
    uid = gpu.fk_ctx_create(0)
    gpu.fk_launch(b"k", 0, 30)  #> gpu=30 kernels=1
    gpu.fk_ctx_destroy(uid)  #> wait=30/1
    gpu.fk_launch(b"k", 0, 3)  #> gpu=3 kernels=1
    kept = gpu.fk_ctx_create(1)
    gpu.fk_launch(b"k", 0, 40)  #> gpu=40 kernels=1
    gpu.fk_set_device(0)

f()
""",
    "calls that fail": """
@profile
def f():
    gpu.fk_launch_failing(b"k", 0, 700)
    gpu.fk_launch(b"k", 0, 1)  #> gpu=1 kernels=1
    for _ in range(20):
        gpu.fk_launch_failing(b"k", 0, 2)

f()
""",
    "nothing": """
@profile
def f():
    tick(5)  #> time=5

f()
""",
    "work of no duration": """
@profile
def f():
    gpu.fk_launch(b"k", 0, 0)  #> kernels=1
    gpu.fk_memcpy(1, 0, 0, 0, 2, 3)  #> HtoD=0/0/1

f()
""",
    # Launches by the driver alone, as compilers make them, by every launch function.
    "the driver's calls": """
@profile
def f(call):
    gpu.fk_launch(b"k", 0, 10)  #> gpu=100 kernels=10

for call in (307, 442, 652, 653, 477, 478, 115, 116, 117, 480):
    gpu.fk_through(call, 0)
    f(call)
gpu.fk_through(0, 211)
""",
    "the runtime's calls": """
@profile
def f():
    gpu.fk_launch(b"k", 0, 10)  #> gpu=40 kernels=4

for call in (211, 430, 505, 506):
    gpu.fk_through(0, call)
    f()
gpu.fk_through(0, 211)
""",
}


@pytest.fixture(scope="module")
def played(
    doubles: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Played]:
    """Run all of `PROGRAMS`."""
    return Rig(doubles, tmp_path_factory.mktemp("cupti")).play(PROGRAMS)


@pytest.mark.smoke
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_of_lines(played: dict[str, Played], name: str) -> None:
    stats = played[name].check()
    assert lost(stats.gpu.runs[0]) == (0, 0, 0, 0)


def test_each_direction_of_a_copy_has_a_name(rig: Rig) -> None:
    stats = rig.check(
        """
        @profile
        def f():
            for direction in range(1, 11):
                gpu.fk_memcpy(direction, 1000 + direction, direction, 0, 2, 3)  \
#> HtoD=1/1001/1 DtoH=2/1002/1 HtoA=3/1003/1 AtoH=4/1004/1 AtoA=5/1005/1 \
AtoD=6/1006/1 DtoA=7/1007/1 DtoD=8/1008/1 HtoH=9/1009/1 PtoP=10/1010/1
        f()
        """
    )
    [numbers] = numbers_of_functions(stats.gpu).values()
    assert [name for name, *_ in numbers.copies] == list(DIRECTIONS[:-1])
    assert (numbers.memcpy_ns, numbers.memcpy_bytes) == (55, 10055)
    assert numbers.gpu_ns == 0


KERNELS = """
@profile
def f():
    for name in (b"short", b"long", b"short", b"_Z4axpyPffi", b"short"):
        gpu.fk_launch(name, 0, len(name) * times)
    gpu.fk_memset(1, 100000, 0)

for times in (1, 10):
    f()
"""


def test_kernels_of_a_line(rig: Rig) -> None:
    stats = rig.kernprof(KERNELS).ok().stats()
    [lines] = kernels_of_lines(stats.gpu).values()
    [found] = lines.values()
    assert [(k.name, k.count, k.ns, k.min_ns, k.max_ns) for k in found] == [
        ("short", 6, 165, 5, 50),
        ("_Z4axpyPffi", 2, 121, 11, 110),
        ("long", 2, 44, 4, 40),
    ]
    [numbers] = numbers_of_functions(stats.gpu).values()
    assert numbers.max_kernel_ns == 110
    assert (numbers.memset_ns, numbers.memsets) == (200000, 2)


def test_names_of_kernels(rig: Rig) -> None:
    program = r"""
    names = [b"k%d" % n for n in range(300)] + [b"", b"\xff\xfe", b"n" * 5000]
    @profile
    def f():
        for n, name in enumerate(names):
            gpu.fk_launch(name, n, n + 1)
        for n, name in enumerate(names):
            gpu.fk_launch(name, n, n + 1)
    f()
    """
    stats = rig.kernprof(program).ok().stats()
    names = [f"k{n}" for n in range(300)] + ["", r"\xff\xfe", "n" * 5000]
    known = {name: (2, 2 * n + 2) for n, name in enumerate(names)}
    found: dict[str, tuple[int, int]] = {}
    for one in stats.gpu.sums:
        count, ns = found.get(one.name, (0, 0))
        found[one.name] = (count + one.count, ns + one.ns)
    assert found == known


TIMELINE = """
tick(100)
@profile
def f():
    gpu.fk_launch_config(b"big", 0, 50, 1, 2, 3, 4, 5, 6, 40, 1024, 2048)
    gpu.fk_launch(b"plain", 1, 30)
    tick(20)
    gpu.fk_memcpy_stream(1, 2, 64, 5, 0, 3, 2)
    gpu.fk_memset(8, 3, 0)
f()
gpu.fk_launch(b"outside", 2, 1)
"""


@pytest.mark.smoke
def test_each_record_is_in_the_timeline(rig: Rig) -> None:
    stats = rig.kernprof(TIMELINE).ok().stats()
    found = {event.name or event.kind: event for event in events(stats)}
    assert list(found) == ["big", "plain", "outside", "DtoH", "memset"]
    big = found["big"]
    assert (big.kind, big.start_ns, big.ns) == ("kernel", 100, 50)
    assert (big.grid, big.block, big.registers) == ((1, 2, 3), (4, 5, 6), 40)
    assert (big.static_smem, big.dynamic_smem) == (1024, 2048)
    assert (big.device, big.context, big.bytes, big.thread) == (0, 1, 0, 0)
    plain, copy, memset = found["plain"], found["DtoH"], found["memset"]
    assert (plain.start_ns, plain.grid, plain.block) == (100, (64, 1, 1), (256, 1, 1))
    assert (copy.kind, copy.start_ns, copy.ns, copy.bytes) == ("memcpy", 130, 5, 64)
    assert (copy.source, copy.target) == ("Device", "Pinned")
    assert (memset.start_ns, memset.ns, memset.bytes) == (150, 3, 8)
    assert (found["outside"].start_ns, found["outside"].path) == (120, -1)
    lines = {name: stats.gpu.paths[one.path].lines for name, one in found.items()}
    assert [line for [(_, line)] in list(lines.values())[:2]] == [8, 9]
    assert len({big.stream, plain.stream, found["outside"].stream}) == 3
    assert copy.stream == plain.stream
    correlations = [event.correlation for event in found.values()]
    assert len(set(correlations)) == len(correlations)


BUSY = """
@profile
def f():
    for stream in range(3):  # concurrent: 100, 200, 300
        gpu.fk_launch(b"k", stream, 100 * (stream + 1))
    tick(1000)
    gpu.fk_launch(b"k", 0, 10)  # 10 alone
    gpu.fk_set_device(1)
    gpu.fk_memcpy(1, 8, 77, 0, 2, 3)
f()
"""


def test_busy_time_counts_concurrent_kernels_once(rig: Rig) -> None:
    stats = rig.kernprof(BUSY).ok().stats()
    first, second = stats.gpu.devices
    assert (first.device, first.busy_ns, first.busy_exact) == (0, 310, True)
    assert (second.device, second.busy_ns, second.busy_exact) == (1, 77, True)
    for device in (first, second):
        assert device.name == "NVIDIA H200"
        attributes = dict(device.attributes)
        assert attributes["sms"] == 132
        assert (attributes["cc_major"], attributes["cc_minor"]) == (9, 0)
        assert attributes["threads_per_sm"] == 2048


@pytest.mark.smoke
def test_the_table(rig: Rig) -> None:
    program = """
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 2000)
        gpu.fk_memcpy(1, 3000000, 500, 1, 1, 3)
        tick(1000)

    @profile
    def g():
        tick(4000)

    f()
    g()
    gpu.fk_launch(b"k", 0, 3000)
    """
    out = rig.kernprof(program, "-v").out
    tables, _, footer = out.partition("\nGPU time: ")
    _, f, g = tables.split("Total time: ")
    assert "GPU Time" in f
    assert "GPU" not in g
    assert [row.split()[:7] for row in f.splitlines() if "gpu.fk_" in row] == [
        ["7", "1", "0.0", "0.0", "0.0", "2.0", "100.0"],
        ["8", "1", "2.5", "2.5", "71.4", "0.5", "3.0"],
    ]
    lines = footer.splitlines()
    assert lines[0] == "5e-06 s in 2 kernels"
    assert lines[2] == "Waiting for the GPU: 2.5e-06 s in 1 calls"
    assert "Unattributed: 3e-06 s (60.0 %), launched outside of profiled lines" in lines


def test_the_json(rig: Rig) -> None:
    rig.kernprof(TIMELINE).ok()
    view = rig.run(["-m", "lineprof", "view", "--json", "program.lprof"]).out
    profile = json.loads(view)
    [function] = profile["functions"]
    assert (function["gpu_ns"], function["kernels"]) == (83, 2)
    found = {line["line"]: line.get("gpu_ns") for line in function["lines"]}
    assert found == {8: 50, 9: 30, 10: None, 11: 0, 12: 3}
    gpu = profile["gpu"]
    assert (gpu["total_ns"], gpu["unattributed_ns"]) == (84, 1)
    assert gpu["busy_ns"] == 50 + 3
    assert (gpu["dropped"], gpu["invalid"], gpu["outstanding"]) == (0, 0, 0)
    [run], [device] = gpu["runs"], gpu["devices"]
    assert (run["backend"], device["name"]) == ("cupti", "NVIDIA H200")


def test_a_report_can_be_made_repeatedly(rig: Rig) -> None:
    program = """
    from running import new_profiler
    profile = new_profiler()
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 100)  #> gpu=400 kernels=4
    for n in range(4):
        f()
        stats = profile.get_stats()
        print(sum(one.ns for one in stats.gpu.sums))
    profile.dump_stats("program.lprof")
    """
    ran = rig.python(program).ok("100\n200\n300\n400\n")
    ran.check()


@pytest.mark.smoke
def test_a_report_made_inside_a_line(rig: Rig) -> None:
    """The report waits for the device and has all launches so far."""
    program = """
    from running import new_profiler
    from lineprof.model.gpu import totals
    profile = new_profiler()
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 100)  #> gpu=100 kernels=1
        print(totals(profile.get_stats().gpu).gpu_ns)
        gpu.fk_launch(b"k", 0, 11)  #> gpu=11 kernels=1
    f()
    profile.dump_stats("program.lprof")
    """
    rig.python(program).ok("100\n").check()
