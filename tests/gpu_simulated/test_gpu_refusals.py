"""Refusals of CUPTI, one call at a time and in pairs: each costs its own numbers alone.

A line on standard error, `gpu_status().notes` and the profile's warnings say what is
missing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import pytest
from gpu_rig import Ran, Rig, lost, run_of

from lineprof.report import VIEWS
from lineprof.report.options import Options
from lineprof.source import Sources

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.usefixtures("hook")

# All that is recorded; each sum is of one line.
PROGRAM = """
from lineprof import gpu_status

gpu.fk_api_cost(3)
gpu.fk_allocator(b"/opt/program/lib/libpool.so")

@profile
def capture():
    gpu.fk_graph_capture_begin(1)
    gpu.fk_launch(b"node", 1, 100)
    gpu.fk_memset_stream(1, 8, 30)
    gpu.fk_memcpy_stream(1, 1, 64, 50, 0, 2, 3)
    return gpu.fk_graph_instantiate(gpu.fk_graph_end(1))

@profile
def f():
    gpu.fk_launch_many(b"k", 20, 10)
    gpu.fk_memset(64, 20, 0)
    gpu.fk_memcpy(1, 300, 30, 0, 2, 3)
    gpu.fk_memcpy(2, 64, 5, 1, 3, 1)
    gpu.fk_memcpy(10, 400, 40, 1, 3, 3)
    address = gpu.fk_malloc(500)
    gpu.fk_sync(1, 0, -1)
    gpu.fk_free(address)
    exec_ = capture()
    gpu.fk_graph_launch(exec_, 0)
    gpu.fk_sync(0, 0, -1)
    gpu.fk_ctx_destroy(gpu.fk_ctx_create(1))
    gpu.fk_own_time(6, 1)
    gpu.fk_launch(b"k", 2, 7)

gpu.fk_managed_migration(2, 4096, 9)
gpu.fk_profiler_start()
f()
print(*gpu_status().notes, sep="\\n")
"""
ALL = ("--gpu-api", "--gpu-memory", "--uvm=on", "--cuda-graph=graph")
NODES = ("--gpu-memory", "--uvm=on")  # node by node, without calls of the API
SAYS = "says CUPTI_ERROR_NOT_SUPPORTED (27)"
IDLE = "are not recorded, and count as idle time"
NOT_RECORDED = "are not recorded"
CAPTURES = (
    "captures of graphs are not noticed, so that work may be missing before the end"
)
LOADS = "loads of modules and contexts are not recorded"
DROPPED = "records that CUPTI drops are not counted"
MEMORY_LINES = "lines of some allocations of the device (--gpu-memory) are not known"


class Refusal(NamedTuple):
    """Calls that CUPTI refuses, the kinds whose numbers change, the sentences on it."""

    calls: str
    kinds: frozenset[str]
    said: str


def refusal(calls: str, kinds: str, said: str) -> Refusal:
    """Return a refusal; kinds that are not told of are as without it."""
    return Refusal(calls, frozenset(kinds.split()), said)


REFUSALS = (
    # Kinds of records. A graph as a whole has its own.
    refusal("cuptiActivityEnable/1", "memcpy", f"copies {IDLE}"),
    refusal("cuptiActivityEnable/22", "memcpy", f"copies between devices {IDLE}"),
    refusal("cuptiActivityEnable/2", "memset", f"memsets {IDLE}"),
    refusal(
        "cuptiActivityEnable/5",
        "runtime",
        f"calls of CUDA's runtime (--gpu-api) {NOT_RECORDED}",
    ),
    refusal(
        "cuptiActivityEnable/4",
        "driver",
        f"calls of CUDA's driver (--gpu-api) {NOT_RECORDED}",
    ),
    refusal(
        "cuptiActivityEnable/49",
        "alloc free",
        f"allocations of the device (--gpu-memory) {NOT_RECORDED}",
    ),
    refusal(
        "cuptiActivityEnable/51",
        "graph kernel memcpy memset",
        "graphs (--cuda-graph graph) are recorded node by node",
    ),
    refusal(
        "cuptiActivityEnable/25",
        "migration",
        f"migrations of managed memory (--uvm on) {NOT_RECORDED}",
    ),
    refusal(
        "cuptiActivityConfigureUnifiedMemoryCounter",
        "migration",
        f"migrations of managed memory (--uvm on) {NOT_RECORDED}",
    ),
    # Callbacks of the API, all of them or single ones.
    refusal(
        "cuptiEnableDomain/1",
        "runtime driver",
        f"calls of CUDA's API (--gpu-api) {NOT_RECORDED}",
    ),
    refusal(
        "cuptiEnableDomain/2",
        "runtime driver",
        f"calls of CUDA's API (--gpu-api) {NOT_RECORDED}",
    ),
    refusal(
        "cuptiEnableCallback/1/307",
        "kernel load",
        "lines of the work of some calls are not known",
    ),
    refusal(
        "cuptiEnableCallback/1/514",
        "kernel memcpy memset graph",
        "lines of the work of some calls are not known",
    ),
    refusal("cuptiEnableCallback/1/17", "wait", "waits in some calls are not recorded"),
    refusal(
        "cuptiEnableCallback/1/126", "wait", "waits in some calls are not recorded"
    ),
    refusal(
        "cuptiEnableCallback/1/245",
        "wait free",
        f"waits in some calls are not recorded; {MEMORY_LINES}",
    ),
    refusal(
        "cuptiEnableCallback/1/243",
        "alloc",
        MEMORY_LINES,
    ),
    refusal("cuptiEnableCallback/1/235", "load", LOADS),
    refusal(
        "cuptiEnableCallback/1/308",
        "",
        "cudaProfilerStart and cudaProfilerStop have no effect",
    ),
    refusal(
        "cuptiEnableCallback/1/539",
        "",
        CAPTURES,
    ),
    refusal(
        "cuptiEnableCallback/1/497",
        "",
        CAPTURES,
    ),
    # Callbacks of resources: contexts are found without them.
    refusal("cuptiEnableCallback/3/1", "load", LOADS),
    refusal("cuptiEnableCallback/3/2", "", ""),
    refusal("cuptiEnableCallback/3/5", "", ""),
    refusal(
        "cuptiEnableCallback/3/1,cuptiEnableCallback/3/5",
        "migration load",
        f"migrations of managed memory (--uvm on) {NOT_RECORDED}; {LOADS}",
    ),
    refusal("cuptiEnableCallback/3/6", "load", LOADS),
    refusal(
        "cuptiEnableCallback/3/13",
        "",
        "lines that captured graphs (--graph-origin) are not known",
    ),
    refusal(
        "cuptiEnableCallback/3/20",
        "",
        "lines that captured graphs (--graph-origin) are not known",
    ),
    # Functions.
    refusal(
        "cuptiGetGraphNodeId",
        "",
        "lines that captured graphs (--graph-origin) are not known",
    ),
    refusal(
        "cuptiGetCallbackName",
        "runtime driver",
        "names of calls of CUDA's API (--gpu-api) are not known",
    ),
    refusal(
        "cuptiSetThreadIdType",
        "",
        "threads of calls of CUDA's API (--gpu-api) are not known",
    ),
    refusal(
        "cuptiActivityGetNumDroppedRecords",
        "",
        DROPPED,
    ),
    refusal(
        "cuptiActivityEnableAllocationSource",
        "alloc",
        "libraries that allocate on the device (--gpu-memory) are not known",
    ),
    refusal(
        "cuptiActivityEnableDeviceGraph",
        "",
        f"graphs that the device launches {NOT_RECORDED}",
    ),
    # What only costs time.
    refusal("cuptiActivitySetAttribute", "", ""),
    refusal("cuptiActivityGetAttribute", "", ""),
    refusal("cuptiActivityRegisterTimestampCallback", "", ""),
    refusal("cuptiActivityEnableRuntimeApi", "runtime", ""),
    refusal("cuptiActivityEnableDriverApi", "driver", ""),
    refusal("cuptiGetGraphExecId", "", ""),
    refusal("cuptiGetTimestamp", "", ""),
)
# Of these there is something to see only in calls of the API, or in whole graphs; with
# calls of the API there are callbacks of all of them.
OF_CALLS = ("CUDA's runtime", "CUDA's driver", "CUDA's API")
OF_ALL = (*OF_CALLS, "--cuda-graph graph", "graphs that the device")
CALLBACKS = ("cuptiEnableCallback/1/",)
Sums = dict[tuple[object, ...], tuple[int, int, int]]


def sums(ran: Ran) -> Sums:
    """Return the count, time and bytes of all sums, by kind, name and lines."""
    found: Sums = {}
    stats = ran.stats()
    for one in stats.gpu.sums:
        lines = (
            tuple(line for _, line in stats.gpu.paths[one.path].lines[:])
            if (one.path >= 0)
            else ()
        )
        key = (one.kind, one.name, one.device, lines)
        count, ns, size = found.get(key, (0, 0, 0))
        found[key] = (count + one.count, ns + one.ns, size + one.bytes)
    return found


def of_other_kinds(found: Sums, kinds: Iterable[str]) -> Sums:
    """Return the sums that are of none of these kinds."""
    return {key: numbers for key, numbers in found.items() if key[0] not in set(kinds)}


def run(rig: Rig, flags: tuple[str, ...], fails: str = "", **family: object) -> Ran:
    """Run the program with some calls of CUPTI refused."""
    fail = ",".join(f"{name}:27" for name in fails.split(",") if name)
    # CUPTI's own clock has to stand still if it is used; a flush waits by that clock,
    # and then not for the device.
    no_clock = "TimestampCallback" in fails or fails.endswith("_v2/22")
    knobs = {"FROZEN_CLOCK_REALTIME": int(no_clock) or ""}
    return rig.kernprof(PROGRAM, *flags, "-v", FAKE_CUPTI_FAIL=fail, **knobs, **family)


def check(
    ran: Ran, whole: Sums, refused: tuple[Refusal, ...], silent: tuple[str, ...]
) -> None:
    """Check that what is refused is missing and said, and all else is right."""
    assert ran.status == 0, ran.err
    kinds = {kind for one in refused for kind in one.kinds}
    assert of_other_kinds(sums(ran), kinds) == of_other_kinds(whole, kinds)
    texts = {text for one in refused for text in one.said.split("; ") if text}
    said = {text for text in texts if not any(word in text for word in silent)}
    told = [line.removeprefix("kernprof: ") for line in ran.err.splitlines()]
    assert {line.rpartition(": cupti")[0] for line in told} == said
    assert all(line.endswith(SAYS) for line in told)
    assert sorted(ran.stats().warnings) == sorted(told)
    notes = set(filter(None, ran.out.partition("Wrote profile")[0].split("\n")))
    # (Whether dropped records are counted is known with the first records.)
    assert {line for line in told if not line.startswith(DROPPED)} <= notes
    assert notes <= set(told)
    dropped, invalid, outstanding, left_out = lost(run_of(ran.stats()))
    assert (dropped, invalid, outstanding, left_out) == (0, 0, 0, 0)


@pytest.fixture(scope="module")
def whole() -> dict[tuple[str, ...], Sums]:
    """Have the numbers without a refusal, by the flags."""
    return {}


def expected(
    rig: Rig,
    whole: dict[tuple[str, ...], Sums],
    flags: tuple[str, ...],
    **family: object,
) -> Sums:
    """Return the numbers without a refusal."""
    key = (*flags, *map(str, family.values()))
    if key not in whole:
        ran = run(rig, flags, **family)
        assert (ran.status, ran.err) == (0, "")
        whole[key] = sums(ran)
    return whole[key]


@pytest.mark.parametrize("one", REFUSALS, ids=lambda one: one.calls)
def test_a_refusal_costs_its_own_numbers_alone(
    rig: Rig, whole: dict[tuple[str, ...], Sums], one: Refusal
) -> None:
    # With the whole domain enabled a single callback is not needed.
    spared = ("",) if one.calls.startswith(CALLBACKS) else ()
    numbers = expected(rig, whole, ALL)
    check(run(rig, ALL, one.calls), numbers, (one,), spared)
    numbers = expected(rig, whole, NODES)
    check(run(rig, NODES, one.calls), numbers, (one,), OF_ALL)


# Each of several subscribers has functions of its own, and attributes for some.
SEVERAL = {"cupti": "fake_cupti_13_4", "FAKE_CUPTI_VERSION": 130501}
ATTRIBUTES = {
    "cuptiActivitySetAttribute": 9,
    "cuptiActivityEnableAllocationSource": 14,
    "cuptiActivityEnableDeviceGraph": 19,
    "cuptiSetThreadIdType": 21,
    "cuptiActivityRegisterTimestampCallback": 22,
}
OWN = (
    "cuptiActivityEnable",
    "cuptiActivityGetNumDroppedRecords",
    "cuptiActivityGetAttribute",
    "cuptiActivityEnableRuntimeApi",
    "cuptiActivityEnableDriverApi",
    "cuptiGetTimestamp",
)


def of_several(one: Refusal) -> Refusal | None:
    """Return the same refusal among several subscribers; None if it is that one."""
    function, slash, number = one.calls.partition("/")
    if function in ATTRIBUTES:
        return one._replace(
            calls=f"cuptiActivitySetAttribute_v2/{ATTRIBUTES[function]}"
        )
    if one.calls == "cuptiActivityEnable/51":  # then nobody has records of nodes
        one = refusal(one.calls, "graph", f"graphs (--cuda-graph graph) {IDLE}")
    calls = f"{function}_v2{slash}{number}"
    return one._replace(calls=calls) if function in OWN else None


@pytest.mark.parametrize(
    "one", list(filter(None, map(of_several, REFUSALS))), ids=lambda one: one.calls
)
def test_a_refusal_to_one_of_several_costs_its_own_numbers_alone(
    rig: Rig, whole: dict[tuple[str, ...], Sums], one: Refusal
) -> None:
    for flags, silent in ((ALL, ()), (NODES, OF_ALL)):
        numbers = expected(rig, whole, flags, **SEVERAL)
        ran = run(rig, flags, one.calls, **SEVERAL)
        check(ran, numbers, (one,), silent)
        called = one.calls.partition("/")[0]
        assert all(f": {called} says" in line for line in ran.err.splitlines())


COSTLY = [one for one in REFUSALS if one.said]


@pytest.mark.seldom
@pytest.mark.parametrize("first", COSTLY, ids=lambda one: one.calls)
def test_two_refusals_cost_their_numbers_alone(
    rig: Rig, whole: dict[tuple[str, ...], Sums], first: Refusal
) -> None:
    numbers = expected(rig, whole, NODES)
    for second in COSTLY[COSTLY.index(first) + 1 :]:
        ran = run(rig, NODES, f"{first.calls},{second.calls}")
        check(ran, numbers, (first, second), OF_ALL)


def test_all_refusals_at_once(rig: Rig) -> None:
    ran = run(rig, ALL, ",".join(one.calls for one in COSTLY))
    assert ran.status == 0
    told = ran.err.splitlines()
    assert len(told) == len(ran.stats().warnings) > 10
    assert {kind for kind, *_ in sums(ran)} <= {"kernel", "wait"}
    assert json.loads(as_json(ran))["warnings"] == list(ran.stats().warnings)
    assert lost(run_of(ran.stats())) == (0, 0, 0, 0)


def as_json(ran: Ran) -> str:
    """Return the profile as `lineprof view --json` prints it."""
    stats = ran.stats()
    return "\n".join(VIEWS["json"].render(stats, Sources(stats.sources), Options()))


def test_a_setting_by_its_attribute_if_its_function_is_refused(rig: Rig) -> None:
    """CUPTI is going to give up the functions for the attributes, which 13.2 has."""
    names = ("cuptiActivityEnableAllocationSource", "cuptiActivityEnableDeviceGraph")
    knobs = {"FAKE_CUPTI_FAIL": ",".join(names), "FAKE_CUPTI_VERSION": 130202}
    ran = rig.kernprof(PROGRAM, *ALL, **knobs)
    assert (ran.status, ran.err) == (0, "")
    assert {name for kind, name, *_ in sums(ran) if kind == "alloc"} == {"libpool.so"}


def test_records_of_a_refused_kind_are_not_waited_for(rig: Rig) -> None:
    program = """
    import ctypes, os
    cupti = ctypes.CDLL(os.environ["LINEPROF_CUPTI"])
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 10)
        for _ in range(40):
            gpu.fk_memcpy(1, 300, 30, 0, 2, 3)
            gpu.fk_memset(64, 20, 0)
    f()
    before = cupti.fk_flush_calls()
    profile.get_stats()
    print(cupti.fk_flush_calls() - before < 5)
    """
    fail = "cuptiActivityEnable/1,cuptiActivityEnable/2,cuptiActivityEnable/22"
    ran = rig.kernprof(program, FAKE_CUPTI_FAIL=fail)
    assert (ran.status, ran.out) == (0, "True\n")
    assert lost(run_of(ran.stats())) == (0, 0, 0, 0)


def test_without_kernels_gpu_columns_are_off(rig: Rig) -> None:
    """Kernels are the only kind that a profile cannot do without."""
    knobs = {"FAKE_CUPTI_FAIL": "cuptiActivityEnable/10:27", "FROZEN_CLOCK_REALTIME": 1}
    ran = rig.kernprof("gpu.fk_launch(b'k', 0, 10)", **knobs).ok()
    one = run_of(ran.stats())
    reason = f"CUPTI can't be used: cuptiActivityEnable {SAYS}"
    assert (one.backend, one.reason, ran.stats().gpu.sums) == ("none", reason, ())
