"""Start and end of GPU recording, in unusual programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gpu_rig import lost

from lineprof.recording.cupti_libraries import libraries

if TYPE_CHECKING:
    from pathlib import Path

    from gpu_rig import Rig

pytestmark = pytest.mark.usefixtures("hook")


def test_two_threads_make_the_first_profilers_at_the_same_time(rig: Rig) -> None:
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
    rig.python(program, fresh=True).ok("cupti\ncupti 20\ncupti 20\n")


@pytest.mark.smoke
def test_an_exit_handler_registered_before_the_first_profiler(rig: Rig) -> None:
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
    [run] = rig.python(program, fresh=True).ok().check().gpu.runs
    assert lost(run) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    "knobs", [{"LINEPROF_GPU_EVENTS": "9" * 30}, {"LINEPROF_CUPTI": "/\udcff.so"}]
)
def test_settings_that_c_cannot_represent(rig: Rig, knobs: dict[str, str]) -> None:
    program = """
    from lineprof import LineProfiler
    status = LineProfiler().gpu_status
    print(status.backend, status.reason.partition(":")[0])
    """
    rig.python(program, **knobs).ok("none CUPTI can't be used\n")


def test_an_import_path_with_entries_that_are_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "nvidia/cuda_cupti/lib"
    folder.mkdir(parents=True)
    (folder / "libcupti.so.12").touch()
    monkeypatch.delenv("LINEPROF_CUPTI", raising=False)
    monkeypatch.setattr("sys.path", [b"bytes", 7, None, str(tmp_path)])
    assert str(folder / "libcupti.so.12") in libraries()


def test_a_gpu_is_present_if_there_is_a_device_of_it(rig: Rig, tmp_path: Path) -> None:
    """The driver's control file is made by the driver also without a device."""
    for folder, name in (
        ("none", "nvidiactl"),
        ("device", "nvidia3"),
        ("others", "nvidia-uvm"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).touch()
    (tmp_path / "gpus" / "0000:41:00.0").mkdir(parents=True)
    program = f"""
    from lineprof import gpu_status
    from lineprof.recording import gpu as recording
    place = {str(tmp_path)!r}
    recording._DEVICE_FILES = [
        file.replace("/dev", f"{{place}}/none") for file in recording._DEVICE_FILES
    ]
    for devices, gpus in (
        ("none", "no"), ("others", "no"), ("device", "no"), ("none", "gpus")
    ):
        recording._DEVICES = f"{{place}}/{{devices}}"
        recording._GPUS = f"{{place}}/{{gpus}}"
        print(gpu_status().present)
    """
    ran = rig.python(program, LINEPROF_GPU_FORCE="")
    ran.ok("False\nFalse\nTrue\nTrue\n")


def test_lines_closed_by_stop_have_no_later_launches(rig: Rig) -> None:
    """This holds even if the calling frame is still on the same line."""
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
