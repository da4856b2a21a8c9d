"""Recording of GPU work: the choice of a backend, and one profiler's part.

The process has one GPU session: once a profiler has opened it, it stays open.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections import namedtuple

from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from lineprof.recording.torch_memory import TorchHistory
    from lineprof.snapshot.gpu import Baseline, Taken

CHOICES = ("auto", "off", "nvtx")
_TORCH = "torch"  # in place of yes, for GpuOptions.memory
RANGES = ("auto", "line", "func", "off")
CLOCKS = ("software", "hardware")  # who gives the time stamps of a device's work
GRAPHS = ("node", "graph")  # a record for each node of a graph, or one for all

# Devices of the driver for servers and PCs, by their numbers and as the driver lists
# them. The files /dev/nvidiactl and /dev/nvidia-* exist also without a device.
_DEVICES, _GPUS = "/dev", "/proc/driver/nvidia/gpus"
# Device files of the drivers for WSL and Jetson.
_DEVICE_FILES = ("/dev/dxg", "/dev/nvhost-ctrl-gpu", "/dev/nvgpu/igpu0/ctrl")
_IN_USE = "(39)"  # CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
_NAMED_HOLDER = "held by "  # the start of such a reason if CUPTI names the other tool
_HELD = "CUPTI takes one tool at a time and is held by"
_EVENTS = 1_000_000  # records that the timeline keeps, 74 bytes each


class GpuOptions(
    namedtuple(
        "GpuOptions",
        "choice calls memory migrations graphs clock events",
        defaults=(None, None, None, None, None, None, None),
    )
):
    """Options of GPU recording; None takes the environment's variable, or the default.

    `choice` is one of `CHOICES`; `calls` are those of CUDA's API; `memory` records
    what is allocated and freed, "torch" also blocks of PyTorch's; `migrations` are
    those of managed memory; `graphs` is one of `GRAPHS`, `clock` one of `CLOCKS`;
    `events` is the number of records that are kept one by one.
    """

    __slots__ = ()

    choice: str | None  # LINEPROF_GPU, or auto
    calls: bool | None  # LINEPROF_GPU_API, or off
    memory: bool | str | None  # LINEPROF_GPU_MEMORY, or off; "torch": PyTorch's, too
    migrations: bool | None  # LINEPROF_UVM, or off
    graphs: str | None  # LINEPROF_CUDA_GRAPH, or node
    clock: str | None  # LINEPROF_GPU_CLOCK, or software
    events: int | None  # LINEPROF_GPU_EVENTS, or a million


class GpuStatus(
    namedtuple(
        "GpuStatus",
        "backend reason present ranges ranges_reason notes",
        defaults=("off", "", ()),
    )
):
    """State of GPU recording, and the reason for it; ``str()`` gives one line."""

    __slots__ = ()

    backend: str  # cupti | none
    reason: str  # a sentence without its full stop
    present: bool  # whether there is a GPU
    ranges: str  # NVTX ranges: line | func | off
    ranges_reason: str
    notes: tuple[str, ...]  # sentences on what could not be recorded

    def __str__(self) -> str:
        """Return one line."""
        line = "; ".join((f"gpu: {self.backend} ({self.reason})", *self.notes))
        if self.ranges_reason:
            line += f"; nvtx: {self.ranges} ({self.ranges_reason})"
        return line


class _Session:
    """State of GPU recording in this process."""

    def __init__(self) -> None:
        self.core: ModuleType | None = None  # the C module, once a backend is open
        self.gpu: GpuStatus | None = None
        self.ranges: tuple[str, str] | None = None
        self.torch: TorchHistory | None = None


_session = _Session()


@atexit.register  # registered early, so that it runs after the program's own
def _close() -> None:
    if _session.core is not None:
        _session.core.gpu_close()


def gpu_status() -> GpuStatus:
    """Return whether GPU work is recorded in this process, and why.

    Nothing is recorded before the first `LineProfiler`. The backend is "cupti" or
    "none".
    """
    gpu = _session.gpu or GpuStatus("none", "no profiler was made yet", _is_present())
    ranges, why = _session.ranges or ("off", "")
    return gpu._replace(ranges=ranges, ranges_reason=why, notes=tuple(gpu_notes()))


def gpu_notes() -> list[str]:
    """Return a sentence on each kind of GPU data that could not be recorded."""
    notes = _session.core.gpu_notes() if _session.core is not None else []
    if _session.torch and _session.torch.problem:
        notes.append(_session.torch.problem)
    return notes


def wanted(name: str, given: str | None, choices: tuple[str, ...]) -> str:
    """Return `given`, or the value of the variable `name`, or the first of `choices`.

    Raises LineprofError if it is none of `choices`.
    """
    word = given or os.environ.get(name) or choices[0]
    if word not in choices:
        raise LineprofError(
            f"{word!r} is no choice of {name}",
            hint=f"choose one of {', '.join(choices)}",
        )
    return word


def open_ranges(core: ModuleType, mode: str | None) -> None:
    """Turn NVTX ranges on if a tool listens to them, once in a process.

    `mode` is one of `RANGES`; None takes ``LINEPROF_NVTX``.
    """
    word = wanted("LINEPROF_NVTX", mode, RANGES)
    if _session.ranges and mode is None:
        return  # by the first profiler
    on, reason = core.nvtx_open(word)
    _session.ranges = (core.nvtx_mode() if on else "off", reason)


def open_gpu(core: ModuleType, given: GpuOptions | str | None) -> GpuStatus:
    """Record GPU work if that is possible, and return the state of recording.

    `given` is a choice or the options. Raises LineprofError for an invalid option, and
    nothing else. CUDA and CUPTI are not called if there is no device or driver.
    """
    options = given if isinstance(given, GpuOptions) else GpuOptions(given)
    word = wanted("LINEPROF_GPU", options.choice, CHOICES)
    graphs = wanted("LINEPROF_CUDA_GRAPH", options.graphs, GRAPHS)
    clock = wanted("LINEPROF_GPU_CLOCK", options.clock, CLOCKS)
    if core.gpu_forked():
        _session.gpu = GpuStatus(
            "none",
            "this process was forked from one whose GPU work is recorded",
            present=True,
        )
    elif _session.gpu is None or _session.gpu.backend == "none":
        _session.gpu = _why_not(word) or _open(core, options, graphs, clock)
    if _session.torch is None and _wants_torch(options) and _may_work(_session.gpu):
        from lineprof.recording.torch_memory import TorchHistory  # noqa: PLC0415  # few want it

        _session.torch = TorchHistory()
    return _session.gpu


def _wants_torch(options: GpuOptions) -> bool:
    """Return whether blocks of PyTorch's allocator are asked for."""
    given = options.memory
    return (os.environ.get("LINEPROF_GPU_MEMORY") if given is None else given) == _TORCH


def _is_present() -> bool:
    return (
        os.environ.get("LINEPROF_GPU_FORCE") == "1"
        or any(
            name.startswith("nvidia") and name[len("nvidia") :].isdecimal()
            for name in _files_in(_DEVICES)
        )
        or bool(_files_in(_GPUS))
        or any(os.path.exists(file) for file in _DEVICE_FILES)
    )


def _files_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _why_not(word: str) -> GpuStatus | None:
    """Return the state without a backend, or None if one is to be opened."""
    if word != "auto":
        asked = "off" if word == "off" else "only NVTX ranges"
        return GpuStatus("none", f"{asked}, as was asked for", present=False)
    if not sys.platform.startswith("linux"):
        return GpuStatus("none", "GPUs are recorded on Linux alone", present=False)
    if not _is_present():
        return GpuStatus("none", "there is no NVIDIA GPU", present=False)
    return None


def _is_profiled_by_torch() -> bool:
    """Return whether PyTorch's profiler is active.

    From 2.15 on it uses CUPTI without a subscription, so that CUPTI does not refuse
    a second tool, and before 13.3 cannot be asked for one.
    """
    torch = sys.modules.get("torch")
    try:
        autograd = torch._C._autograd  # type: ignore[union-attr]  # noqa: SLF001
        if not autograd._profiler_enabled():  # noqa: SLF001
            return False
        return str(autograd._profiler_type()).endswith("KINETO")  # noqa: SLF001
    except Exception:  # noqa: BLE001  # no torch, a stub, or one of another version
        return False


def _open(core: ModuleType, options: GpuOptions, graphs: str, clock: str) -> GpuStatus:
    from lineprof.recording.cupti_libraries import clients, libraries  # noqa: PLC0415  # with a GPU

    torch = _is_profiled_by_torch()
    try:
        opened, why = core.gpu_open(
            "cupti",
            os.environ.get("LINEPROF_CUDA") or "libcuda.so.1",
            libraries(),
            clients(),
            torch,
            _is_on("LINEPROF_GPU_API", options.calls),
            _is_on("LINEPROF_GPU_MEMORY", options.memory),
            _is_on("LINEPROF_UVM", options.migrations),
            graphs == "graph",
            clock == "hardware",
            _events() if options.events is None else options.events,
        )
    except (OverflowError, ValueError) as error:  # a path or number that C cannot hold
        opened, why = False, str(error)
    if not opened:
        return GpuStatus("none", _reason(why, torch=torch), present=True)
    if _session.gpu is not None and _session.gpu.backend != "none":
        return _session.gpu  # another thread was first
    _session.core = core
    way = f" ({why})" if why else ""
    return GpuStatus("cupti", f"CUPTI records its work{way}", present=True)


def _is_on(name: str, given: bool | str | None) -> bool:  # noqa: FBT001
    if given is not None:
        return bool(given)
    return os.environ.get(name, "") not in {"", "0", "off"}


def _events() -> int:
    """Return how many records to keep one by one, by ``LINEPROF_GPU_EVENTS``."""
    given = os.environ.get("LINEPROF_GPU_EVENTS", "")
    return int(given) if given.isdecimal() else _EVENTS


def _reason(why: str, *, torch: bool) -> str:
    """Return the reason `why` CUPTI could not be opened, in users' terms.

    torch: whether PyTorch's profiler is active.
    """
    if not why.endswith(_IN_USE):
        return f"CUPTI can't be used: {why}"
    if why.startswith(_NAMED_HOLDER):  # since CUPTI 13.0
        holder = why[len(_NAMED_HOLDER) : -len(_IN_USE)].strip()
    elif torch:
        holder = "PyTorch's profiler"
    elif "NSYS_PROFILING_SESSION_ID" in os.environ:
        holder = "Nsight Systems"
    elif os.environ.get("CUDA_INJECTION64_PATH"):
        holder = os.path.basename(os.environ["CUDA_INJECTION64_PATH"])
    else:
        holder = "another tool in this process, like torch.profiler"
    return f"{_HELD} {holder}"


def _may_work(status: GpuStatus) -> bool:
    """Return whether there is a GPU, or something records its work."""
    return status.present or status.backend != "none"


class GpuWork:
    """One profiler's part of the GPU work that the process records."""

    def __init__(self, core: ModuleType, options: GpuOptions | str | None) -> None:
        """Start now; `core` is the C module, `options` are those of `open_gpu`."""
        self._core = core
        self._baseline: Baseline | None = None
        self._start_ns = time.time_ns()
        self.has_ended = False  # the program, so that work that still runs is given up
        before = core.gpu_is_open()
        self.status = open_gpu(core, options)
        if before:
            self.restart()

    def restart(self) -> None:
        """Start again: records so far do not belong to this profiler."""
        self._start_ns = time.time_ns()
        if not self._core.gpu_is_open():
            return
        from lineprof.snapshot.gpu import baseline_of  # noqa: PLC0415  # with a GPU

        self._core.gpu_flush()
        start = self._core.gpu_memory_start()
        self._baseline = baseline_of(self._core.gpu_snapshot(), start)

    @property
    def is_possible(self) -> bool:
        """Whether `take` may return something."""
        return self._core.gpu_forked() or _may_work(self.status)

    def take(self, *, so_far: bool = False) -> Taken | None:
        """Return all records since the start; waits until the device has finished.

        With `so_far`, return those that have come, and wait for nothing. Returns None
        if there is no GPU, or recording is off.
        """
        status = self.status
        if self._core.gpu_forked():
            status = open_gpu(self._core, "auto")
        if not _may_work(status):
            return None
        from lineprof.model.gpu import GpuRun  # noqa: PLC0415  # only with a GPU
        from lineprof.snapshot.gpu import Taken  # noqa: PLC0415

        if so_far:
            self._core.gpu_deliver()
        else:
            self._core.gpu_flush(self.has_ended)
        run = GpuRun(
            process=0,
            backend=status.backend,
            reason=status.reason,
            present=status.present,
        )
        raw = self._core.gpu_snapshot()
        torch = None
        if _session.torch and not so_far:
            torch = _session.torch.take(self._start_ns)
            if self.has_ended:
                _session.torch.end()
        return Taken(run=run, raw=raw, baseline=self._baseline, torch=torch)
