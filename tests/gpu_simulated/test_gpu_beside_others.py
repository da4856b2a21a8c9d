"""lineprof beside other tools that record the same GPU, whoever comes first.

The other tools are compiled doubles (helpers/gpu_tools.py).  Each of those that CUPTI
lets record gets every record from then on, in its own buffers, and no other's.
"""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from gpu_rig import HELD, OPEN, events, lost, run_of

from lineprof.model.gpu import totals

if TYPE_CHECKING:
    from gpu_rig import Ran, Rig

pytestmark = pytest.mark.usefixtures("hook")

# CUPTI asks for buffers in advance, so that one is always in flight.
SHARED = {"FAKE_CUPTI_SHARED": 1, "FAKE_CUPTI_REQUEST": "app", "LINEPROF_NVTX": "off"}
NEWEST = {"cupti": "fake_cupti_13_4", "FAKE_CUPTI_VERSION": 130501, **SHARED}
# Since 13.4 each subscriber may set a clock; in 13.3 the offset is measured.
RELEASES = {
    "13.3": {"cupti": "fake_cupti_13_3", "FAKE_CUPTI_VERSION": 130301, **SHARED},
    "13.4": {"cupti": "fake_cupti_13_4", "FAKE_CUPTI_VERSION": 130401, **SHARED},
    "13.5": NEWEST,
}
OLDER = {"libtorch_cpu": 14, "libkineto": 39, "libproton": 39}  # how they are refused
SEEN = ("libtorch_cpu", "libkineto")  # they name CUPTI's functions for the loader
ORDERS = list(permutations(("lineprof", "libxla", "older")))
UNNAMED = f"{HELD} another tool in this process, like torch.profiler)"
KERNELS = 5  # of one run

TOOLS = """
import json, sys
from gpu_tools import Tool
from lineprof import gpu_status
from running import new_profiler

def f():
    for _ in range(5):
        gpu.fk_launch(b"k", 0, 10)
    gpu.fk_sync(0, 0, -1)

def tell(*values):
    print(json.dumps(values))
"""
PROGRAM = """
run, tools, begun, said = f, {{}}, {{}}, ""
for who in {order}:
    if who == "lineprof":
        profile = new_profiler()
        run = profile(f)
        said = str(gpu_status()).partition(";")[0]
    else:
        tools[who] = Tool(who)
        begun[who] = tools[who].begin()
    run()
ended = {{who: tool.end() for who, tool in tools.items() if not begun[who]}}
run()
profile.dump_stats("program.lprof")
got = {{who: tool.got for who, tool in tools.items()}}
heard = {{who: tool.heard for who, tool in tools.items()}}
holders = {{who: tool.holder for who, tool in tools.items()}}
tell(said, begun, ended, got, heard, holders)
sys.exit(3)
"""


class Told(NamedTuple):
    """What the program printed."""

    said: str  # by gpu_status()
    begun: dict[str, int]
    ended: dict[str, int]
    got: dict[str, list[int]]
    heard: dict[str, int]  # callbacks of launches
    holders: dict[str, str]


def told(ran: Ran) -> Any:
    """Return what a program printed, which ended as it does without lineprof."""
    assert (ran.status, ran.err) == (3, "")
    return json.loads(ran.out)


def in_order(rig: Rig, order: tuple[str, ...], **knobs: object) -> tuple[Ran, Told]:
    """Run the program: each tool comes, then a function launches kernels."""
    ran = rig.python(TOOLS + PROGRAM.format(order=order), **knobs)
    return ran, Told(*told(ran))


def only(kernels: int) -> list[int]:
    """Return what a tool gets: kernels, and nothing that is wrong."""
    return [kernels, 0, 0, 0, 0, 0]


def recorded(ran: Ran) -> int:
    """Return lineprof's number of kernels, of which none is missing."""
    run = run_of(ran.stats())
    assert (lost(run), run.taken, run.foreign_buffers) == ((0, 0, 0, 0), 0, 0)
    return totals(ran.stats().gpu).kernels


# -- six orders -------------------------------------------------------------------


@pytest.mark.parametrize("older", OLDER)
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_who_is_let_in_gets_every_record(
    rig: Rig, order: tuple[str, ...], older: str
) -> None:
    """A tool that is refused hears so from CUPTI; lineprof never takes its place."""
    names = tuple(older if who == "older" else who for who in order)
    ran, got = in_order(rig, names, **NEWEST)
    assert got.ended == dict.fromkeys(got.ended, 0)
    if order[0] == "older":
        assert got.begun == {older: 0, "libxla": OLDER[older]}
        assert got.said == UNNAMED
        assert got.got == {older: only(3 * KERNELS), "libxla": only(0)}
        assert got.heard[older] == (0 if older == "libtorch_cpu" else 6 * KERNELS)
        assert run_of(ran.stats()).backend == "none"
        return
    runs = {who: 3 - names.index(who) for who in names}
    assert got.begun == {"libxla": 0, older: OLDER[older]}
    kernels = KERNELS * runs["libxla"]
    assert got.got == {"libxla": only(kernels), older: only(0)}
    assert got.heard == {"libxla": 2 * kernels, older: 0}
    assert recorded(ran) == KERNELS * (runs["lineprof"] + 1)  # and at the end
    first = runs["lineprof"] > runs["libxla"]
    assert got.holders["libxla"] == ("CUPTI for lineprof" if first else "")
    assert got.said == f"{OPEN} ({'other tools can, too' if first else 'beside XLA'}))"
    # Who finds CUPTI's functions itself cannot be seen.
    assert [f"the calls of {older}.so" in one for one in ran.warnings()] == [True] * (
        older != "libproton"
    )


EXACT = """
tool = Tool("libxla")
{before}
profile = new_profiler()
{after}

@profile
def g():
    tick(500)
    gpu.fk_launch(b"k", 0, 1000)  #> gpu=1000 kernels=1
    gpu.fk_memcpy(1, 4096, 700, 1, 0, 0)  #> HtoD=700/4096/1 wait=1700/1
    gpu.fk_memset(64, 30, 0)  #> gpu=30 memset=30/1
    gpu.fk_sync(0, 0, -1)  #> wait=30/1

g()
ended = tool.end()
profile.dump_stats("program.lprof")
tell(ended, tool.got)
sys.exit(3)
"""
BEGIN = "assert tool.begin() == 0"


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("places", [(BEGIN, ""), ("", BEGIN)], ids=["first", "later"])
def test_numbers_are_exact_beside_another_tool(
    rig: Rig, release: str, places: tuple[str, str]
) -> None:
    program = TOOLS + EXACT.format(before=places[0], after=places[1])
    ran = rig.python(program, FROZEN_CLOCK_REALTIME=1, **RELEASES[release])
    assert told(ran) == [0, [1, 1, 1, 0, 0, 0]]
    [start] = [event.start_ns for event in events(ran.check()) if event.name == "k"]
    assert start == 500


# -- one tool at a time -------------------------------------------------------------


@pytest.mark.parametrize(
    ("knobs", "why"),
    [
        (
            {"FAKE_CUPTI_SEVERAL": 0},
            " (as the only tool: the driver lets one tool at a time use CUPTI)",
        ),
        ({"FAKE_CUPTI_FAIL": "cuptiSubscribe_v2:27"}, ""),
    ],
)
def test_lineprof_records_alone_if_several_are_impossible(
    rig: Rig, knobs: dict[str, object], why: str
) -> None:
    for order in permutations(("lineprof", "libxla")):
        ran, got = in_order(rig, order, **{**NEWEST, **knobs})
        assert got.said.startswith(OPEN)
        assert why in got.said
        assert got.begun["libxla"] in {27, 39}
        assert recorded(ran) == KERNELS * (3 - order.index("lineprof"))
    order = ("libkineto", "lineprof")
    ran, got = in_order(rig, order, **{**NEWEST, **knobs})
    assert (got.said, got.begun) == (UNNAMED, {"libkineto": 0})
    assert got.got == {"libkineto": only(2 * KERNELS)}


@pytest.mark.parametrize("release", RELEASES)
def test_a_tool_that_holds_cupti_alone_is_named(rig: Rig, release: str) -> None:
    program = """
nsight = Tool("libxla").called("Nsight Systems", several=False)
begun = nsight.begin()
profile = new_profiler()
profile(f)()
tell(begun, str(gpu_status()).partition(";")[0], nsight.end(), nsight.got)
new_profiler()
tell(gpu_status().backend)
"""
    ran = rig.python(TOOLS + program, **RELEASES[release])
    assert (ran.status, ran.err) == (0, "")
    first, second = map(json.loads, ran.out.splitlines())
    assert first == [0, f"{HELD} Nsight Systems)", 0, only(KERNELS)]
    assert second == ["cupti"]


# -- unfinished work ----------------------------------------------------------------

# Waits are real, and given up at once, because the frozen clock's year is long past.
UNFINISHED = """
from lineprof import _core

gpu.fk_on_wait(None)
gpu.fk_wait_really(1)
tool = Tool("libxla")
{before}
profile = new_profiler()
{after}

@profile
def g():
    gpu.fk_launch(b"k", 0, 10)
    gpu.fk_sync(0, 0, 0)
    gpu.fk_launch(b"endless", 1, 10**15)
g()
_core.gpu_flush(True)  # as at the end of a program
profile.dump_stats("program.lprof")
tell(tool.got)
sys.exit(3)
"""


@pytest.mark.parametrize("places", [(BEGIN, ""), ("", BEGIN)], ids=["first", "later"])
def test_no_flush_is_forced_beside_another_tool(
    rig: Rig, places: tuple[str, str]
) -> None:
    """It would hand out the other tool's unfinished records, without times."""
    program = TOOLS + UNFINISHED.format(before=places[0], after=places[1])
    ran = rig.python(program, FROZEN_CLOCK_REALTIME=1, **NEWEST)
    assert told(ran) == [only(1)]
    assert totals(ran.stats().gpu).kernels == 1
    assert run_of(ran.stats()).outstanding == 1


# -- PyTorch's profiler, Nsight's injection and lineprof ----------------------------

THREE = """
from lineprof import _core
torch = Tool("libtorch_cpu")  # it is imported, and its profiler idle
nsight = Tool("libxla").called("Nsight Systems", several={several})
if {nsight_first}:
    begun = nsight.begin()
profile = new_profiler()
if not {nsight_first}:
    begun = nsight.begin()
said = str(gpu_status()).partition(";")[0]
run = profile(f)
run()
_core.gpu_flush()  # no buffer of lineprof's is in flight
profiled = torch.begin()
run()
ended = torch.end() if not profiled else None
run()
profile.dump_stats("program.lprof")
tell(begun, said, profiled, ended, nsight.holder, torch.got, nsight.got)
if not begun:
    nsight.deliver()
    tell(nsight.got, nsight.end())
sys.exit(3)
"""


def three(rig: Rig, *, several: bool, nsight_first: bool) -> tuple[Ran, Any]:
    """Run PyTorch, Nsight's injection and lineprof in one process."""
    program = THREE.format(several=several, nsight_first=nsight_first)
    ran = rig.python(TOOLS + program, **{**NEWEST, "FAKE_CUPTI_REQUEST": ""})
    assert (ran.status, ran.err) == (3, "")
    return ran, [value for line in ran.out.splitlines() for value in json.loads(line)]


def test_nsight_that_allows_others_is_first(rig: Rig) -> None:
    """PyTorch's profiler gets nothing beside Nsight, with or without lineprof."""
    ran, got = three(rig, several=True, nsight_first=True)
    assert got[:5] == [0, f"{OPEN} (beside Nsight Systems))", 14, None, ""]
    assert got[5] == only(0)
    assert got[7:] == [only(3 * KERNELS), 0]
    assert recorded(ran) == 3 * KERNELS
    assert any("Nsight Systems" in one for one in ran.warnings())


def test_nsight_that_holds_cupti_is_first(rig: Rig) -> None:
    _, got = three(rig, several=False, nsight_first=True)
    assert got[:5] == [0, f"{HELD} Nsight Systems)", 14, None, ""]
    assert got[7:] == [only(3 * KERNELS), 0]


@pytest.mark.parametrize("several", [True, False])
def test_pytorch_can_still_profile_if_lineprof_came_before_nsight(
    rig: Rig,
    several: bool,  # noqa: FBT001
) -> None:
    """It takes lineprof's records meanwhile, which lineprof says."""
    ran, got = three(rig, several=several, nsight_first=False)
    why = "as the only tool: libtorch_cpu.so can only use CUPTI in this way"
    assert got[:4] == [39, f"{OPEN} ({why}))", 0, 0]
    assert got[5:7] == [only(KERNELS), only(0)]
    run = run_of(ran.stats())
    assert (totals(ran.stats().gpu).kernels, run.outstanding) == (KERNELS, 2 * KERNELS)


# -- what is said ------------------------------------------------------------------

SAID = """
import sys
from gpu_tools import Tool

@profile
def f():
    gpu.fk_launch(b"k", 0, 1000)  #> gpu=1000 kernels=1

torch = Tool("libtorch_cpu")
refused = torch.begin()
f()
print("refused", refused, *torch.got)
sys.exit(3)
"""


def test_a_tool_that_is_refused_is_named_to_the_user(rig: Rig) -> None:
    note = (
        "CUPTI refuses the calls of libtorch_cpu.so, which are those for one tool at a"
        " time: load it before lineprof"
    )
    ran = rig.kernprof(SAID, "-v", **NEWEST)
    assert (ran.status, ran.err) == (3, f"kernprof: {note}\n")
    assert ran.out.startswith("refused 14 0 0 0 0 0 0\n")
    ran.check()
    quiet = rig.kernprof(SAID, **NEWEST)
    assert (quiet.status, quiet.err) == (3, "")
    assert quiet.warnings() == [note]


# -- a tool that has ended -----------------------------------------------------------

ENDED = """
loaded = [Tool(name) for name in {loaded}]
tool = Tool({tool!r})
begun = tool.begin()
f()
ended = tool.end()
profile = new_profiler()
profile(f)()
profile.dump_stats("program.lprof")
tell(begun, ended, tool.got, str(gpu_status()).partition(";")[0])
sys.exit(3)
"""


@pytest.mark.parametrize("sticky", [0, 1])
@pytest.mark.parametrize("loaded", ["", "libtorch_cpu"])
@pytest.mark.parametrize("tool", [*OLDER, "libunseen", "libxla"])
def test_lineprof_records_after_a_tool_that_has_ended(
    rig: Rig, tool: str, loaded: str, sticky: int
) -> None:
    """Even if CUPTI lets nobody change between its two families of functions."""
    program = TOOLS + ENDED.format(tool=tool, loaded=loaded.split())
    ran = rig.python(program, FAKE_CUPTI_STICKY=sticky, **NEWEST)
    begun, ended, got, said = told(ran)
    assert (begun, ended, got) == (0, 0, only(KERNELS))
    assert said.startswith(OPEN)
    assert recorded(ran) == KERNELS
    only_tool = "as the only tool" in said
    seen = bool(loaded) or tool in SEEN
    assert only_tool == (tool != "libxla" if sticky else seen)


# -- the table of docs/gpu.md -------------------------------------------------------

DOC = Path(__file__).parents[2] / "docs" / "gpu.md"
DOUBLES = {  # of the rows' tools, before 13.3 and from then on
    "PyTorch's profiler before 2.15": ("libkineto", "libkineto"),
    "PyTorch's profiler from 2.15 on": ("libtorch_cpu", "libtorch_cpu"),
    "JAX and others with the newer functions": ("libproton", "libxla"),
    "JAX and others without, Triton's Proton": ("libproton", "libproton"),
    "Nsight Systems": ("libkineto", "libxla"),
}
OLD = {**NEWEST, "cupti": "fake_cupti_13_2", "FAKE_CUPTI_VERSION": 130202}
PAIR = """
from types import SimpleNamespace as Space
from lineprof import _core
tool = Tool({tool!r}).called("it", several={several})
if {first}:
    tool.begin()
    if {tool!r} == "libtorch_cpu":  # which says whether it is active
        kind = Space(_profiler_enabled=lambda: True, _profiler_type=lambda: "KINETO")
        sys.modules["torch"] = Space(_C=Space(_autograd=kind))
profile = new_profiler()
profile(f)()
_core.gpu_flush()  # no buffer of lineprof's is in flight
if not {first}:
    tool.begin()
before = tool.got.kernels

@profile
def g():
    gpu.fk_launch(b"last", 0, 10)
    gpu.fk_sync(0, 0, -1)
g()
tool.deliver()
profile.dump_stats("program.lprof")
tell(tool.got.kernels > before)
sys.exit(3)
"""


def who_records(rig: Rig, tool: str, *, first: bool, new: bool, several: bool) -> str:
    """Return who records the last kernel, in the words of the table."""
    program = PAIR.format(tool=tool, several=several, first=first)
    knobs = {**(NEWEST if new else OLD), "FAKE_CUPTI_REQUEST": ""}
    ran = rig.python(TOOLS + program, **knobs)
    [it] = told(ran)
    ours = any(event.name == "last" for event in events(ran.stats()))
    return {(1, 0): "tool", (0, 1): "lineprof", (1, 1): "both"}.get((it, ours), "none")


@pytest.mark.parametrize("row", DOUBLES)
def test_the_table_of_who_can_meet_whom_is_true(rig: Rig, row: str) -> None:
    [line] = [one for one in DOC.read_text("utf-8").split("\n") if f"| {row} |" in one]
    cells = [cell.strip().replace(",", " ") for cell in line.split("|")[2:-1]]
    if "the same" in cells:
        cells[2:] = cells[:2]
    for at, cell in enumerate(cells):
        if not cell:
            continue
        new, first = at >= 2, at % 2 == 0
        several = row != "Nsight Systems"
        who = who_records(rig, DOUBLES[row][new], first=first, new=new, several=several)
        assert who == cell.split()[0], (row, at)
