"""The choice of what records GPUs, and why; opened once in a process."""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from types import ModuleType

    from lineprof.snapshot.gpu import Baseline, Taken

CHOICES = ("auto", "off", "nvtx")
RANGES = ("auto", "line", "func", "off")
GRAPHS = ("node", "graph")  # a record for each node of a graph, or one for all

# What a driver makes for its devices: of servers and PCs, WSL, and Jetson.
_NODES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-ctrl-gpu", "/dev/nvgpu/igpu0/ctrl")
_TAKEN = "(39)"  # CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
_EVENTS = 1_000_000  # records that the timeline keeps, 66 bytes each


class GpuOptions(NamedTuple):
    """What to record of GPUs; None is what the environment says, or the usual."""

    choice: str | None = None  # of CHOICES: LINEPROF_GPU, else auto
    calls: bool | None = None  # of the API: LINEPROF_GPU_API, else not
    memory: bool | None = None  # allocated and freed: LINEPROF_GPU_MEMORY, else not
    migrations: bool | None = None  # of managed memory: LINEPROF_UVM, else not
    graphs: str | None = None  # of GRAPHS: LINEPROF_CUDA_GRAPH, else node
    events: int | None = None  # to keep one by one: LINEPROF_GPU_EVENTS


class GpuStatus(NamedTuple):
    """Whether GPU work is recorded, and why; ``str()`` says it in one line."""

    backend: str  # cupti | none
    reason: str  # a sentence without its stop
    present: bool  # there is a GPU
    ranges: str = "off"  # NVTX ranges: line | func | off
    ranges_reason: str = ""

    def __str__(self) -> str:
        """Return one line."""
        line = f"gpu: {self.backend} ({self.reason})"
        if self.ranges_reason:
            line += f"; nvtx: {self.ranges} ({self.ranges_reason})"
        return line


class _Session:
    """What the process has come to; `core` is the C module."""

    def __init__(self) -> None:
        self.core: ModuleType | None = None  # once it has a session with a tool
        self.gpu: GpuStatus | None = None
        self.ranges: tuple[str, str] | None = None


_session = _Session()


@atexit.register  # as early as can be: the last to run, after the program's own
def _close() -> None:
    if _session.core is not None:
        _session.core.gpu_close()


def gpu_status() -> GpuStatus:
    """Return whether GPU work is recorded in this process, and why.

    Before the first `LineProfiler` nothing is. The backend is "cupti" or
    "none".
    """
    gpu = _session.gpu or GpuStatus("none", "no profiler was made yet", _is_present())
    ranges, why = _session.ranges or ("off", "")
    return GpuStatus(gpu.backend, gpu.reason, gpu.present, ranges, why)


def wanted(name: str, given: str | None, choices: tuple[str, ...]) -> str:
    """Return what was asked for: `given`, else the variable's, else the first."""
    word = given or os.environ.get(name) or choices[0]
    if word not in choices:
        raise LineprofError(
            f"{word!r} is no choice of {name}",
            hint=f"choose one of {', '.join(choices)}",
        )
    return word


def open_ranges(core: ModuleType, mode: str | None) -> None:
    """Turn NVTX ranges on where a tool listens, once in a process.

    `mode` is one of RANGES, None for the environment's ``LINEPROF_NVTX``.
    """
    word = wanted("LINEPROF_NVTX", mode, RANGES)
    if _session.ranges and mode is None:
        return  # as the first profiler has it
    on, reason = core.nvtx_open(word)
    _session.ranges = (core.nvtx_mode() if on else "off", reason)


def open_gpu(core: ModuleType, given: GpuOptions | str | None) -> GpuStatus:
    """Have GPU work recorded where that can be, and return how it stands.

    `given` is what to record, or one of CHOICES. Nothing but LineprofError
    for another word is raised, and no call of CUDA or CUPTI is made where
    there is no device and no driver.
    """
    options = given if isinstance(given, GpuOptions) else GpuOptions(given)
    word = wanted("LINEPROF_GPU", options.choice, CHOICES)
    graphs = wanted("LINEPROF_CUDA_GRAPH", options.graphs, GRAPHS)
    if core.gpu_forked():
        _session.gpu = GpuStatus(
            "none",
            "this process was forked from one whose GPU work is recorded",
            present=True,
        )
    elif _session.gpu is None or _session.gpu.backend == "none":
        _session.gpu = _why_not(word) or _open(core, options, graphs)
    return _session.gpu


def _is_present() -> bool:
    forced = os.environ.get("LINEPROF_GPU_FORCE") == "1"
    return forced or any(os.path.exists(node) for node in _NODES)


def _why_not(word: str) -> GpuStatus | None:
    """Return why there is nothing to open, if so."""
    if word != "auto":
        asked = "off" if word == "off" else "only NVTX ranges"
        return GpuStatus("none", f"{asked}, as was asked for", present=False)
    if not sys.platform.startswith("linux"):
        return GpuStatus("none", "GPUs are recorded on Linux alone", present=False)
    if not _is_present():
        return GpuStatus("none", "there is no NVIDIA GPU", present=False)
    return None


def _open(core: ModuleType, options: GpuOptions, graphs: str) -> GpuStatus:

    try:
        opened, why = core.gpu_open(
            "cupti",
            os.environ.get("LINEPROF_CUDA") or "libcuda.so.1",
            libraries(),
            _is_on("LINEPROF_GPU_API", options.calls),
            _is_on("LINEPROF_GPU_MEMORY", options.memory),
            _is_on("LINEPROF_UVM", options.migrations),
            graphs == "graph",
            _events() if options.events is None else options.events,
        )
    except (OverflowError, ValueError) as error:  # a path or number beyond C's
        opened, why = False, str(error)
    if not opened:
        return GpuStatus("none", _reason(why), present=True)
    _session.core = core
    return GpuStatus("cupti", "CUPTI records its work", present=True)


def _is_on(name: str, given: bool | None) -> bool:  # noqa: FBT001
    if given is not None:
        return given
    return os.environ.get(name, "") not in {"", "0", "off"}


def _events() -> int:
    """Return how many records the environment wants kept one by one."""
    given = os.environ.get("LINEPROF_GPU_EVENTS", "")
    return int(given) if given.isdecimal() else _EVENTS


def _reason(why: str) -> str:
    """Return why CUPTI could not be opened, as users understand it."""
    if not why.endswith(_TAKEN):
        return f"CUPTI can't be used: {why}"
    if "NSYS_PROFILING_SESSION_ID" in os.environ:
        holder = "Nsight Systems"
    elif os.environ.get("CUDA_INJECTION64_PATH"):
        holder = os.path.basename(os.environ["CUDA_INJECTION64_PATH"])
    else:
        holder = "another tool in this process, like torch.profiler"
    return f"CUPTI takes one tool at a time and is held by {holder}"


# Where CUPTI may be: the paths and names to try, best first.


# In CUDA's wheels, and under a toolkit's or environment's folder.
_IN_WHEELS = ("nvidia/cu13/lib", "nvidia/cuda_cupti/lib")
_IN_TOOLKITS = ("extras/CUPTI/lib64", "lib64", "lib")
_NAMES = ("libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7")


def libraries() -> tuple[str, ...]:
    """Return names and paths of CUPTI libraries, the best first.

    ``LINEPROF_CUPTI`` stands alone. Else comes one that is mapped already;
    then those in wheels, for a framework that comes to load its own by name
    gets the one that is there; then what the loader knows, and toolkits. One
    that is newer than the driver refuses, and the next is tried.
    """
    given = os.environ.get("LINEPROF_CUPTI")
    if given:
        return (given,)
    mapped = _mapped()
    cupti = [path for path in mapped if _is_cupti(path)]
    wheels = [
        path
        for root in sys.path
        if isinstance(root, str)  # the import system passes over all else, too
        for folder in _IN_WHEELS
        for path in _in(os.path.join(root or ".", folder))
    ]
    toolkits = [
        path
        for root in (
            os.environ.get("CUDA_HOME", ""),
            os.environ.get("CUDA_PATH", ""),
            sys.prefix,
            "/usr/local/cuda",
        )
        if root
        for folder in _IN_TOOLKITS
        for path in _in(os.path.join(root, folder))
    ]
    major = _major(mapped)
    wheels.sort(key=lambda path: f"libcupti.so.{major}" not in path)
    names = sorted(_NAMES, key=lambda name: f".so.{major}" not in name)
    return tuple(dict.fromkeys([*cupti, *wheels, *names, *toolkits]))


def _is_cupti(path: str) -> bool:
    return os.path.basename(path).startswith("libcupti.so")


def _mapped() -> list[str]:
    """Return the files of CUDA that this process has mapped."""
    try:
        with open("/proc/self/maps", "rb") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return []
    files = (line.split(None, 5)[5] for line in lines if b"libcu" in line)
    return list(dict.fromkeys(map(os.fsdecode, files)))


def _major(mapped: list[str]) -> str:
    """Return the version of the CUDA runtime that is loaded; "" if none is."""
    for path in mapped:
        name, _, version = os.path.basename(path).partition(".so.")
        if name == "libcudart":
            return version.partition(".")[0]
    return ""


def _in(folder: str) -> list[str]:
    """Return the CUPTI libraries in a folder, the newest first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [os.path.join(folder, name) for name in names if _is_cupti(name)]
    return sorted(found, reverse=True)


# GPU work from the moment on that a profiler begins.


class GpuWork:
    """What of the process' GPU work is one profiler's."""

    def __init__(self, core: ModuleType, options: GpuOptions | str | None) -> None:
        """Begin now; `core` is the C module, `options` are those of `open_gpu`."""
        self._core = core
        self._baseline: Baseline | None = None
        before = core.gpu_is_open()
        self.status = open_gpu(core, options)
        if before:
            self.restart()

    def restart(self) -> None:
        """Begin anew: what was recorded so far is not this profiler's."""
        if not self._core.gpu_is_open():
            return
        from lineprof.snapshot.gpu import baseline_of  # noqa: PLC0415  # with a GPU

        self._core.gpu_flush()
        self._baseline = baseline_of(self._core.gpu_snapshot())

    def take(self) -> Taken | None:
        """Return all since the beginning, once the device is done with it.

        None where there is no GPU, or nobody asked for one.
        """
        status = self.status
        if self._core.gpu_forked():
            status = open_gpu(self._core, "auto")
        if status.backend == "none" and not status.present:
            return None
        from lineprof.model.gpu import GpuRun  # noqa: PLC0415  # only with a GPU
        from lineprof.snapshot.gpu import Taken  # noqa: PLC0415

        self._core.gpu_flush()
        run = GpuRun(
            process=0,
            backend=status.backend,
            reason=status.reason,
            present=status.present,
        )
        return Taken(run, self._core.gpu_snapshot(), self._baseline)
