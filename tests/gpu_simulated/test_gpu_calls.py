"""Calls of the driver that are more than a launch: what each adds to a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from gpu_rig import lost, run_of

from lineprof.cli.main import main
from lineprof.model.gpu import totals, unattributed

if TYPE_CHECKING:
    from gpu_rig import Rig

pytestmark = pytest.mark.usefixtures("hook")


# -- migrations of managed memory --------------------------------------------------

MIGRATIONS = """
from lineprof import gpu_status
print(gpu_status().notes)
gpu.fk_init()
print(gpu_status().notes)
@profile
def f():
    gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
f()
gpu.fk_managed_migration(1, 4096, 9)
"""
NOT_RECORDED = "migrations of managed memory (--uvm on) are not recorded: "


def test_migrations_are_recorded_from_the_start_of_cuda(rig: Rig) -> None:
    """CUPTI takes no counters before cuInit."""
    ran = rig.kernprof(MIGRATIONS, "--uvm", "on", ready=False).ok("()\n()\n")
    ran.check("uvm-HtoD=9/4096/1")


def test_migrations_are_recorded_by_a_profiler_made_later(rig: Rig) -> None:
    program = f"""
    from running import new_profiler
    profile = new_profiler()
    {MIGRATIONS.replace(chr(10), chr(10) + "    ")}
    profile.dump_stats("program.lprof")
    """
    ran = rig.python(program, LINEPROF_UVM=1)
    ran.ok("()\n()\n").check("uvm-HtoD=9/4096/1")


REFUSALS = {
    29: "the device cannot count them",
    31: "they cannot be counted with the multi-process service (MPS)",
    999: "cuptiActivityConfigureUnifiedMemoryCounter says CUPTI_ERROR_UNKNOWN (999)",
}


@pytest.mark.parametrize("status", REFUSALS)
def test_it_is_said_if_migrations_are_refused(
    rig: Rig, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    said = NOT_RECORDED + REFUSALS[status]
    fail = f"cuptiActivityConfigureUnifiedMemoryCounter:{status}"
    ran = rig.kernprof(
        MIGRATIONS, "--uvm", "on", "-v", ready=False, FAKE_CUPTI_FAIL=fail
    )
    assert (ran.status, ran.err) == (0, f"kernprof: {said}\n")
    assert ran.out.startswith(f"()\n({said!r},)\n")
    ran.check()
    file = str(rig.folder / "program.lprof")
    assert main([file]) == 0
    assert said in capsys.readouterr().out
    assert main([file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [said]


def test_migrations_that_nobody_asked_for_are_not_missed(rig: Rig) -> None:
    fail = "cuptiActivityConfigureUnifiedMemoryCounter:29"
    rig.kernprof(MIGRATIONS, ready=False, FAKE_CUPTI_FAIL=fail).ok("()\n()\n")


# -- other calls -------------------------------------------------------------------


@pytest.mark.smoke
def test_work_by_other_calls_than_launches_belongs_to_their_line(rig: Rig) -> None:
    """They have a record on some devices only: none is missed on others."""
    ran = rig.kernprof("""
    @profile
    def f():
        for call in (467, 468, 716, 717, 761, 762, 784, 785, 791, 792):
            gpu.fk_through(call, 0)
            gpu.fk_launch(b"by the driver", 0, 5)  #> gpu=50 kernels=10
            gpu.fk_call(1, call)
    f()
    """).ok()
    assert lost(run_of(ran.check())) == (0, 0, 0, 0)


def test_a_capture_that_goes_on_in_a_graph_is_not_broken(rig: Rig) -> None:
    """Waiting for the device would end it; cuStreamBeginRecaptureToGraph is 846."""
    program = """
    for begin in (495, 720, 846, 847):
        profile = new_profiler()
        gpu.fk_call(1, begin)
        before = gpu.fk_synchronize_calls()
        profile.get_stats()
        during = gpu.fk_synchronize_calls() - before
        gpu.fk_call(1, 497)
        profile.get_stats()
        print(during, gpu.fk_synchronize_calls() - before)
    """
    knobs = {"cupti": "fake_cupti_13_4", "FAKE_CUPTI_VERSION": 130301}
    program = f"from running import new_profiler{program}"
    ran = rig.python(program.replace("\n    ", "\n"), **knobs)
    ran.ok("0 1\n" * 4)


# -- ids of records ----------------------------------------------------------------

JOIN = """
from lineprof import gpu_status
from running import new_profiler
profile = new_profiler()

@profile
def early():
    gpu.fk_launch_many(b"k", {early}, 1)

@profile
def late():
    gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
    gpu.fk_memcpy(2, 64, 5, 0, 3, 1)  #> DtoH=5/64/1 wait=15/1
    gpu.fk_launch_failing(b"k", 0, 1)
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"node", 0, 7)
    graph = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
    for _ in range(3):
        gpu.fk_graph_launch(graph, 0)  #> gpu=21 kernels=3

early()
gpu.fk_sync(0, 0, -1)
{settle}
late()
print(*gpu_status().notes)
profile.dump_stats("program.lprof")
print(*gpu_status().notes)
"""
UNJOINED = "records of the GPU have ids of no call, and belong to no line"
FOUND = "; later ones are found by the runtime's calls"


@pytest.mark.parametrize("calls", ["", "1"])
def test_records_with_the_ids_of_the_runtime_find_their_lines(
    rig: Rig, calls: str
) -> None:
    """The first flush learns it from few records."""
    ran = rig.python(
        JOIN.format(early=100, settle="profile.get_stats()"),
        FAKE_CUPTI_IDS="runtime",
        LINEPROF_GPU_API=calls,
    )
    stats = ran.stats()
    if calls:  # these ids are known from the records of calls
        ran.ok("\n\n")
        assert totals(stats.gpu).kernels == 104
        assert unattributed(stats.gpu).kernels == 0
    else:
        ran.ok(f"100 {UNJOINED}\n100 {UNJOINED}{FOUND}\n")
        ran.check("gpu=100 kernels=100 wait=100/1")
        assert stats.warnings == (f"100 {UNJOINED}{FOUND}",)
    assert lost(run_of(stats)) == (0, 0, 0, 0)


def test_the_first_thousand_records_tell_that_ids_are_of_the_runtime(rig: Rig) -> None:
    """No flush is needed: buffers that are full bring them."""
    settle = """
import ctypes, os
ctypes.CDLL(os.environ["LINEPROF_CUPTI"]).cuptiActivityFlushPeriod(1)
while not gpu_status().notes:
    pass
profile.get_stats()
"""
    ran = rig.python(
        JOIN.format(early=3000, settle=settle),
        FAKE_CUPTI_IDS="runtime",
        FAKE_CUPTI_BUFFER_LIMIT=4096,
    )
    ran.ok(f"3000 {UNJOINED}\n3000 {UNJOINED}{FOUND}\n")
    stats = ran.check("gpu=3000 kernels=3000 wait=3000/1")
    assert lost(run_of(stats)) == (0, 0, 0, 0)


@pytest.mark.parametrize("ids", ["shared", "driver"])
def test_records_with_the_ids_of_the_driver_have_no_note(rig: Rig, ids: str) -> None:
    program = JOIN.format(early=3000, settle="profile.get_stats()")
    program = program.replace("3000, 1)", "3000, 1)  #> gpu=3000 kernels=3000")
    ran = rig.python(program, FAKE_CUPTI_IDS=ids, FAKE_CUPTI_BUFFER_LIMIT=4096)
    ran.ok("\n\n").check("wait=3000/1")
