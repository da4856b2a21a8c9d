"""Versions of CUPTI: their records, their bugs, and the choice of a library."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from gpu_double import of_release
from gpu_rig import Ran, Rig, events, lost, run_of

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.usefixtures("hook")

# By release of CUDA: FAKE_CUPTI_VERSION, and cuptiGetVersion's result if it differs.
RELEASES = {
    (11, 7): (17,),
    (11, 8): (118, 18),
    (12, 0): (18,),
    (12, 1): (121, 18),
    (12, 2): (20,),
    (12, 3): (21,),
    (12, 4): (22,),
    (12, 5): (23,),
    (12, 6): (24,),
    (12, 8): (26,),
    (12, 9): (28,),
    (13, 0): (130001,),
    (13, 1): (130101,),
    (13, 2): (130202,),
    (13, 3): (130301,),
    (13, 4): (130401,),
    (13, 5): (130500,),
}
WHOLE_GRAPHS = (
    17,
    21,
    28,
    130001,
    130501,
)  # versions in which the record's size changed

ALL_KINDS = """
@profile
def f():
    gpu.fk_launch_config(b"k", 0, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9)  #> gpu=10 kernels=1
    gpu.fk_memset(64, 20, 0)  #> gpu=20 memset=20/1
    gpu.fk_memcpy(1, 300, 30, 0, 1, 3)  #> HtoD=30/300/1
    gpu.fk_memcpy(10, 400, 40, 1, 3, 3)  #> PtoP=40/400/1 wait=103/1
    address = gpu.fk_malloc(500)  #> alloc=500 peak=500
    gpu.fk_free(address)  #> free=500
    gpu.fk_sync(1, 0, -1)  #> wait=0/1
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"node", 0, 60)
    gpu.fk_memset(64, 70, 0)
    gpu.fk_memcpy(2, 80, 80, 0, 3, 2)
    return gpu.fk_graph_instantiate(gpu.fk_graph_end(0))

@profile
def g(exec_):
    gpu.fk_graph_launch(exec_, 0)  {graph}

for _ in range(3):
    gpu.fk_launch(b"many", 0, 1)
gpu.fk_managed_migration(1, 4096, 9)
gpu.fk_managed_migration(2, 8192, 11)
g(f())
"""
NODES = "#> gpu=130 kernels=1 memset=70/1 DtoH=80/80/1"
WHOLE = "#> gpu=210"
UNATTRIBUTED = "gpu=3 kernels=3 uvm-HtoD=9/4096/1 uvm-DtoH=11/8192/1"
FLAGS = ("--gpu-memory", "--uvm", "on")


@pytest.mark.parametrize("release", RELEASES, ids="{0[0]}.{0[1]}".format)
def test_every_record_of_every_release(rig: Rig, release: tuple[int, int]) -> None:
    named, version = RELEASES[release][0], RELEASES[release][-1]
    ran = rig.kernprof(
        ALL_KINDS.format(graph=NODES),
        *FLAGS,
        LINEPROF_CUPTI=of_release(rig.doubles, rig.folder, release),
        FAKE_CUPTI_VERSION=named,
        FAKE_CUPTI_BUFFER_LIMIT=700,  # two or three records fit
        FROZEN_CLOCK_REALTIME=1,  # in 13.3 the clock is CUPTI's own
    ).ok()
    stats = ran.check(UNATTRIBUTED)
    run = run_of(ran.stats())
    assert (run.backend, run.version, lost(run)) == ("cupti", version, (0, 0, 0, 0))
    [kernel] = [event for event in events(stats) if event.name == "k"]
    assert (kernel.grid, kernel.block) == ((1, 2, 3), (4, 5, 6))
    sizes = (kernel.registers, kernel.static_smem, kernel.dynamic_smem)
    assert sizes == (7, 8, 9)


@pytest.mark.parametrize("named", WHOLE_GRAPHS)
def test_graphs_as_a_whole(rig: Rig, named: int) -> None:
    flags = (*FLAGS, "--cuda-graph", "graph")
    program = ALL_KINDS.format(graph=WHOLE)
    ran = rig.kernprof(program, *flags, FAKE_CUPTI_VERSION=named).ok()
    ran.check(UNATTRIBUTED)


def test_correlation_ids_of_the_driver(rig: Rig) -> None:
    """Runtime and driver may have ids of their own; lineprof uses the driver's."""
    program = ALL_KINDS.format(graph=NODES)
    ran = rig.kernprof(program, *FLAGS, FAKE_CUPTI_IDS="driver").ok()
    ran.check(UNATTRIBUTED)
    assert lost(run_of(ran.stats())) == (0, 0, 0, 0)


def test_correlation_ids_that_wrap_around(rig: Rig) -> None:
    """Correlation ids have 32 bits; 0 is not used."""
    program = """
    @profile
    def f():
        gpu.fk_launch_many(b"k", 100, 1)  #> gpu=500 kernels=500
    for _ in range(5):
        f()
    """
    ran = rig.kernprof(program, FAKE_CUPTI_FIRST_ID=(1 << 32) - 250).ok()
    ran.check()
    assert lost(run_of(ran.stats())) == (0, 0, 0, 0)


# -- choice of a library -----------------------------------------------------------

SMALL = """
@profile
def f():
    tick(30)  #> time=30 hits=1
    gpu.fk_launch(b"k", 0, 10)  {gpu}

f()
"""
ON = SMALL.format(gpu="#> gpu=10 kernels=1")
OFF = SMALL.format(gpu="")


def test_13_2_is_not_called_without_a_driver(rig: Rig) -> None:
    """CUPTI 13.2 would overflow its stack; the double then ends the process."""
    ran = rig.kernprof(
        OFF,
        cupti="fake_cupti_13_2",
        FAKE_CUPTI_VERSION=130202,
        FAKE_CUDA_FAIL="cuDriverGetVersion",
    ).ok()
    ran.check()
    run = run_of(ran.stats())
    assert (run.backend, run.present) == ("none", True)
    assert run.reason == "CUPTI can't be used: the driver does not work"


def test_13_2_is_not_called_with_a_library_that_is_no_driver(rig: Rig) -> None:
    """A stub to link with gives a version, and has nothing else."""
    stub = rig.folder / "stub.so"
    driver = (rig.doubles / "fake_cuda.so").read_bytes()
    stub.write_bytes(driver.replace(b"cuGetExportTable", b"cuGetExportNoble"))
    ran = rig.kernprof(
        OFF, cupti="fake_cupti_13_2", FAKE_CUPTI_VERSION=130202, LINEPROF_CUDA=stub
    ).ok()
    ran.check()
    reason = run_of(ran.stats()).reason
    assert reason == "CUPTI can't be used: the driver does not work"


@pytest.mark.parametrize("driver", [12040, 13000, 13010])
def test_13_2_is_tried_with_an_older_driver(rig: Rig, driver: int) -> None:
    """It runs on a driver of CUDA 13, and says that it does not on one of CUDA 12."""
    works = driver >= 13000
    ran = rig.kernprof(
        ON if works else OFF,
        cupti="fake_cupti_13_2",
        FAKE_CUPTI_VERSION=130202,
        FAKE_CUDA_DRIVER_VERSION=driver,
    ).ok()
    ran.check()
    run = run_of(ran.stats())
    assert run.backend == ("cupti" if works else "none")
    assert "the driver does not work" not in run.reason


NOT_INITIALIZED = "cuptiSubscribe says CUPTI_ERROR_NOT_INITIALIZED (15)"
GET_VERSION = "cuptiGetVersion says CUPTI_ERROR_UNKNOWN (999)"
TOO_NEW = "needs a driver of CUDA 13; this driver is of CUDA 12.4"


@pytest.mark.parametrize(
    ("named", "build", "driver", "reason"),
    [
        (130001, "fake_cupti", 12040, f"libcupti 13.0 {TOO_NEW}"),
        (130401, "fake_cupti_13_4", 12040, f"libcupti 13.3 or later {TOO_NEW}"),
        (
            28,
            "fake_cupti",
            12040,
            (
                "there is no usable device, or libcupti 12.9 is too new for this"
                f" driver of CUDA 12.4: {NOT_INITIALIZED}"
            ),
        ),
    ],
    ids=["13.0 on 12.4", "13.4 on 12.4", "12.9 on 12.4"],
)
def test_a_cupti_newer_than_the_driver(
    rig: Rig, named: int, build: str, driver: int, reason: str
) -> None:
    ran = rig.kernprof(
        OFF, cupti=build, FAKE_CUPTI_VERSION=named, FAKE_CUDA_DRIVER_VERSION=driver
    ).ok()
    ran.check()
    run = run_of(ran.stats())
    assert (run.backend, run.present) == ("none", True)
    assert run.reason == f"CUPTI can't be used: {reason}"


def test_the_versions_if_cupti_does_not_work(rig: Rig) -> None:
    ran = rig.kernprof(
        OFF,
        cupti="fake_cupti_13_4",
        FAKE_CUPTI_VERSION=130401,
        FAKE_CUPTI_FAIL="cuptiGetVersion",
        FAKE_CUDA_DRIVER_VERSION=13000,
    ).ok()
    ran.check()
    reason = f"{GET_VERSION}; libcupti is 13.3 or later, the driver is of CUDA 13.0"
    assert run_of(ran.stats()).reason == f"CUPTI can't be used: {reason}"


def test_a_machine_without_a_usable_device(rig: Rig) -> None:
    """The driver works, and is as new as CUPTI; CUPTI says what it says then."""
    ran = rig.kernprof(OFF, FAKE_CUPTI_VERSION=22, FAKE_CUPTI_SUBSCRIBE_RC=15).ok()
    ran.check()
    reason = f"there is no usable device: {NOT_INITIALIZED}"
    assert run_of(ran.stats()).reason == f"CUPTI can't be used: {reason}"


@pytest.mark.parametrize(
    ("holder", "named"),
    [
        ("CUPTI for PyTorch", "PyTorch"),
        ("Nsight \x1b[31mSystems", "Nsight ?[31mSystems"),
        ("", "another tool in this process, like torch.profiler"),
    ],
)
def test_cupti_names_the_tool_that_holds_it(rig: Rig, holder: str, named: str) -> None:
    ran = rig.kernprof(
        OFF,
        cupti="fake_cupti_13_2",
        FAKE_CUPTI_VERSION=130202,
        FAKE_CUPTI_SUBSCRIBE_RC=39,
        FAKE_CUPTI_HOLDER=holder,
    ).ok()
    ran.check()
    reason = f"CUPTI takes one tool at a time and is held by {named}"
    assert run_of(ran.stats()).reason == reason


WHEEL_13, WHEEL_12 = "nvidia/cu13/lib", "nvidia/cuda_cupti/lib"


def wheel(rig: Rig, folder: str, name: str, knobs: str = "FAKE") -> Path:
    """Copy the double to the place of a wheel's library; return the path.

    The copy's variables begin with the four letters `knobs` instead of FAKE.
    """
    place = rig.folder / "wheels" / folder
    place.mkdir(parents=True, exist_ok=True)
    library = (rig.doubles / "fake_cupti.so").read_bytes()
    path = place / name
    path.write_bytes(library.replace(b"FAKE_CUPTI_", f"{knobs}_CUPTI_".encode()))
    return path


def with_wheels(rig: Rig, program: str, **knobs: object) -> Ran:
    """Run a program that finds CUPTI only in wheels."""
    import gpu_double  # noqa: PLC0415 - its PYTHONPATH is needed

    path = gpu_double.environment(rig.doubles)["PYTHONPATH"]
    wheels = os.pathsep.join([str(rig.folder / "wheels"), path])
    return rig.kernprof(program, LINEPROF_CUPTI="", PYTHONPATH=wheels, **knobs)


def test_the_next_library_if_the_first_is_newer_than_the_driver(rig: Rig) -> None:
    wheel(rig, WHEEL_13, "libcupti.so.2025.3", "NEWR")  # its name is no version
    wheel(rig, WHEEL_12, "libcupti.so.12")
    knobs = {"NEWR_CUPTI_VERSION": 130101, "FAKE_CUPTI_VERSION": 20}
    ran = with_wheels(rig, ON, FAKE_CUDA_DRIVER_VERSION=12040, **knobs).ok()
    ran.check()
    assert (run_of(ran.stats()).backend, run_of(ran.stats()).version) == ("cupti", 20)


def test_a_library_of_a_newer_major_than_the_driver_is_not_loaded(rig: Rig) -> None:
    """Two copies of CUPTI in a process would disturb other tools."""
    newer = wheel(rig, WHEEL_13, "libcupti.so.13")
    wheel(rig, WHEEL_12, "libcupti.so.12")
    program = ON + "print(open('/proc/self/maps').read().count('libcupti.so.13'))\n"
    knobs = {"FAKE_CUDA_DRIVER_VERSION": 12040, "FAKE_CUPTI_VERSION": 22}
    ran = with_wheels(rig, program, **knobs).ok("0\n")
    assert run_of(ran.stats()).backend == "cupti"
    ran = rig.kernprof(OFF, LINEPROF_CUPTI=newer, **knobs).ok()
    reason = f"libcupti.so.13 {TOO_NEW}"
    assert run_of(ran.stats()).reason == f"CUPTI can't be used: {reason}"


def test_the_next_library_if_the_first_is_damaged(rig: Rig) -> None:
    wheel(rig, WHEEL_13, "libcupti.so.13").write_bytes(b"\x7fELF and no more")
    wheel(rig, WHEEL_12, "libcupti.so.12")
    ran = with_wheels(rig, ON, FAKE_CUPTI_VERSION=22).ok()
    ran.check()
    assert (run_of(ran.stats()).backend, run_of(ran.stats()).version) == ("cupti", 22)


def test_the_next_library_if_the_first_fails_during_setup(rig: Rig) -> None:
    """The first library is disabled again, so that it delivers no records later."""
    wheel(rig, WHEEL_13, "libcupti.so.13", "BAD1")
    wheel(rig, WHEEL_12, "libcupti.so.12")
    ran = with_wheels(
        rig, ON, BAD1_CUPTI_FAIL="cuptiActivityEnable:35", FAKE_CUPTI_VERSION=26
    ).ok()
    ran.check()
    assert (run_of(ran.stats()).backend, run_of(ran.stats()).version) == ("cupti", 26)


def test_only_the_first_library_if_another_tool_is_subscribed(rig: Rig) -> None:
    """A second CUPTI would take the records from the tool that uses the first."""
    wheel(rig, WHEEL_13, "libcupti.so.13", "BAD1")
    wheel(rig, WHEEL_12, "libcupti.so.12")
    ran = with_wheels(rig, OFF, BAD1_CUPTI_SUBSCRIBE_RC=39).ok()
    ran.check()
    run = run_of(ran.stats())
    assert run.backend == "none"
    assert "is held by" in run.reason


@pytest.mark.parametrize("name", ["libcupti.so.12", "libcupti-8cf1b6e5.so.12.8.57"])
def test_a_library_that_the_program_has_loaded(rig: Rig, name: str) -> None:
    """Wheels may contain the library under a name with a hash."""
    wheel(rig, WHEEL_13, "libcupti.so.13", "NEWR")
    loaded = wheel(rig, "elsewhere", name)
    program = f"""
    import ctypes, sys
    sys.path.insert(0, {str(rig.folder / "wheels")!r})
    ctypes.CDLL({str(loaded)!r})
    from running import new_profiler
    profile = new_profiler()
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
    f()
    profile.dump_stats("program.lprof")
    """
    ran = rig.python(program, LINEPROF_CUPTI="", FAKE_CUPTI_VERSION=24).ok()
    ran.check()
    assert run_of(ran.stats()).version == 24


FRAMEWORKS = {
    "torch": {"torch/version.py": "cuda: Optional[str] = '12.8'\n"},
    "cupy": {"cupy_cuda12x-13.6.0.dist-info/METADATA": ""},
    "jax": {"jax_cuda12_plugin/__init__.py": ""},
    "torch, and cupy for another version": {
        "torch/version.py": "__version__ = '2.8.0'\ncuda = '12.8'\n",
        "cupy_cuda13x-14.0.0.dist-info/METADATA": "",
    },
}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_wheel_that_fits_the_installed_framework(rig: Rig, name: str) -> None:
    """The framework will load that one; no framework is imported to know it."""
    wheel(rig, WHEEL_13, "libcupti.so.13", "NEWR")
    wheel(rig, WHEEL_12, "libcupti.so.12")
    for file, text in FRAMEWORKS[name].items():
        path = rig.folder / "wheels" / file
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    ran = with_wheels(rig, ON, FAKE_CUPTI_VERSION=22).ok()
    ran.check()
    assert run_of(ran.stats()).version == 22


def test_the_order_of_the_libraries_to_try(rig: Rig) -> None:
    """The wheel for the loaded runtime is first, even if it is not the newest."""
    thirteen = wheel(rig, WHEEL_13, "libcupti.so.13")
    twelve = wheel(rig, WHEEL_12, "libcupti.so.12")
    toolkit = wheel(rig, "toolkit/extras/CUPTI/lib64", "libcupti.so.2024.1")
    runtime = rig.folder / "libcudart.so.12"
    shutil.copy(rig.doubles / "frozen_clock.so", runtime)
    program = f"""
    import ctypes, sys
    from lineprof.recording.cupti_libraries import libraries
    sys.path[:] = [{str(rig.folder / "wheels")!r}, *sys.path]
    print(*libraries()[:6], sep="\\n")
    ctypes.CDLL({str(runtime)!r})
    print(*libraries()[:3], sep="\\n")
    print({str(toolkit)!r} in libraries())
    """
    home = str(rig.folder / "wheels" / "toolkit")
    ran = rig.python(program, LINEPROF_CUPTI="", CUDA_HOME=home, CUDA_PATH="")
    names = ["libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7"]
    first = [str(thirteen), str(twelve), *names]
    then = [str(twelve), str(thirteen), names[1]]
    ran.ok("\n".join([*first, *then, "True", ""]))
