"""How recording begins and ends, whatever the program does meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gpu_rig import lost

from lineprof.recording import gpu

if TYPE_CHECKING:
    from pathlib import Path

    from gpu_rig import Rig

pytestmark = pytest.mark.usefixtures("hook")


def test_two_threads_that_make_the_first_profilers_at_once(rig: Rig) -> None:
    program = """
    import threading
    from lineprof import LineProfiler, gpu_status
    both = threading.Barrier(2)
    profilers = []
    def make():
        both.wait()
        profilers.append(LineProfiler())
    threads = [threading.Thread(target=make) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    def f():
        gpu.fk_launch(b"k", 0, 10)
    for profiler in profilers:
        profiler(f)()
    print(gpu_status().backend)
    for profiler in profilers:
        [run] = profiler.get_stats().gpu.runs
        print(run.backend, sum(one.ns for one in profiler.get_stats().gpu.sums))
    """
    rig.python(program).ok("cupti\ncupti 20\ncupti 20\n")


def test_a_report_that_was_asked_for_before_there_was_a_profiler(rig: Rig) -> None:
    program = """
    import atexit
    from lineprof import LineProfiler
    @atexit.register
    def report():
        profile.dump_stats("program.lprof")
    profile = LineProfiler()
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
    f()
    """
    [run] = rig.python(program).ok().check().gpu.runs
    assert lost(run) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    "knobs", [{"LINEPROF_GPU_EVENTS": "9" * 30}, {"LINEPROF_CUPTI": "/\udcff.so"}]
)
def test_what_c_cannot_be_told(rig: Rig, knobs: dict[str, str]) -> None:
    program = """
    from lineprof import LineProfiler
    status = LineProfiler().gpu_status
    print(status.backend, status.reason.partition(":")[0])
    """
    rig.python(program, **knobs).ok("none CUPTI can't be used\n")


def test_a_path_of_imports_that_has_no_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "nvidia/cuda_cupti/lib"
    folder.mkdir(parents=True)
    (folder / "libcupti.so.12").touch()
    monkeypatch.delenv("LINEPROF_CUPTI", raising=False)
    monkeypatch.setattr("sys.path", [b"bytes", 7, None, str(tmp_path)])
    assert str(folder / "libcupti.so.12") in gpu.libraries()


def test_lines_that_ended_have_nothing_of_what_is_launched_later(rig: Rig) -> None:
    """Not even where the frame above was on the same line before."""
    program = """
    import lineprof

    @profile
    def outer():
        inner()  #> gpu=1 self=0 kernels=1

    @profile
    def inner():
        for n in (1, 10):
            gpu.fk_launch(b"k", 0, n)  #> gpu=11 kernels=2
            lineprof.stop(); lineprof.start()

    outer()
    """
    rig.check(program)
