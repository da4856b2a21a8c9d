"""Findings about GPUs: hidden waits, copies, tiny kernels, loading, idle devices."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from lineprof.advice.finding import Evidence, Finding, Line, counted, in_words, percent
from lineprof.model.gpu import (
    DRIVER,
    KERNEL,
    KINDS,
    LOAD,
    MEMCPY,
    MEMORIES,
    NO_PATH,
    RUNTIME,
    WAIT,
    of_unknown_clock,
)
from lineprof.model.gpu_idle import device_idle, has_launches
from lineprof.model.timelines import Timeline, event_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lineprof.model.gpu import Gpu, GpuSum
    from lineprof.model.gpu_idle import DeviceIdle, IdleLine, IdleSums

HIDDEN_SYNCHRONISATION, PAGEABLE_COPY = "hidden-synchronisation", "pageable-copy"
MANY_TINY_KERNELS, GPU_LOADING = "many-tiny-kernels", "gpu-loading"
GPU_IDLE = "gpu-idle"

# Of the run, in waits, copies, loading and launches: run times differ by as much.
MIN_GPU_SHARE = 0.01

# A time below it (ns) is not worth a change, however short the run.
MIN_GPU_NS = 1_000_000

# Size of a copy (bytes): shorter ones take mostly the time of their launch, whatever
# the memory.
MIN_COPY_BYTES = 64 << 10

# Launches from one line: fewer take a few milliseconds, whatever they launch.
MIN_KERNELS = 1_000

# Mean duration (ns) of a tiny kernel, if the calls that launch were not recorded: a
# framework takes longer than that to launch the next one.
TINY_KERNEL_NS = 5_000

# Of the run, in which a line left a device idle.
MIN_IDLE_SHARE = 0.05

_WORD = re.compile(r"[^\W\d]\w*")
_LAUNCHES = ("cudaLaunch", "cuLaunch")
_VERSION = re.compile(r"_v\d+$")  # of a call: cudaMemcpy_v3020
_PAGEABLE = MEMORIES.index("Pageable")
_DIRECTIONS = frozenset(("HtoD", "DtoH"))


class _OfLine:
    """The sums of one line itself, without the functions that it called."""

    def __init__(self) -> None:
        self.waits = self.wait_ns = self.kernels = self.kernel_ns = 0
        self.loads = self.load_ns = 0
        self.adopted = 0  # kernels that threads without lines launched
        self.api_ns: Counter[tuple[str, str]] = Counter()  # by kind and name

    def add(self, one: GpuSum, *, adopted: bool) -> None:
        """Add a sum; waits and loads of other threads are not part of the line's."""
        if one.kind == KERNEL and one.origin == NO_PATH:
            self.kernels += one.count
            self.kernel_ns += one.ns
            self.adopted += one.count if adopted else 0
        elif one.kind == WAIT and not adopted:
            self.waits += one.count
            self.wait_ns += one.ns
        elif one.kind == LOAD and not adopted:
            self.loads += one.count
            self.load_ns += one.ns
        elif one.kind in {RUNTIME, DRIVER}:
            self.api_ns[one.kind, one.name] += one.ns

    def longest_call(self) -> tuple[str, int]:
        """Return the call of CUDA with the most time, and its time (ns), or ("", 0).

        Calls of the runtime contain calls of the driver.
        """
        kind = RUNTIME if any(key[0] == RUNTIME for key in self.api_ns) else DRIVER
        found = {key[1]: ns for key, ns in self.api_ns.items() if key[0] == kind}
        name = max(found, key=lambda one: found[one], default="")
        return _VERSION.sub("", name), found.get(name, 0)

    def launch_ns(self) -> int:
        """Return the time (ns) of all calls that launch kernels; 0 if unknown."""
        sums = {RUNTIME: 0, DRIVER: 0}
        for (kind, name), ns in self.api_ns.items():
            if name.startswith(_LAUNCHES):
                sums[kind] += ns
        return sums[RUNTIME] or sums[DRIVER]


def _of_lines(gpu: Gpu) -> Mapping[Line, _OfLine]:
    found: defaultdict[Line, _OfLine] = defaultdict(_OfLine)
    for one in gpu.sums:
        if one.path != NO_PATH:
            path = gpu.paths[one.path]
            found[path.lines[-1]].add(one, adopted=path.adopted)
    return found


def _is_worth(evidence: Evidence, ns: int) -> bool:
    return ns >= max(MIN_GPU_NS, MIN_GPU_SHARE * evidence.run_ns)


def lines_of_sums(evidence: Evidence) -> Iterator[Finding]:
    """Yield hidden waits, and lines that load modules or launch tiny kernels."""
    for line, sums in _of_lines(evidence.profile.gpu).items():
        if _is_worth(evidence, sums.wait_ns) and _hides_waits(evidence, line):
            yield _of_waits(evidence, line, sums)
        if _is_worth(evidence, sums.load_ns):
            yield _of_loads(evidence, line, sums)
        if sums.kernels >= MIN_KERNELS:
            yield from _of_kernels(evidence, line, sums)


def _of_row(evidence: Evidence, line: Line) -> Iterator[tuple[str, int]]:
    """Yield the numbers of a line that a finding names beside its own."""
    row = evidence.lines(line[0]).get(line[1])
    yield "hits", row.hits if row else 0
    yield "time_ns", row.time_ns if row else 0


# Waits for a device that the source does not show.


def _hides_waits(evidence: Evidence, line: Line) -> bool:
    """Return whether no word in the source of a line is one for waiting."""
    (file, _, _), number = line
    tree = evidence.trees.of(file)
    text = tree.header_text(number) if tree else None
    return text is not None and not any(map(_shows_wait, _WORD.findall(text)))


def _shows_wait(word: str) -> bool:
    plain = word.lower().replace("async", "")
    return any(part in plain for part in ("sync", "wait", "barrier", "block_until"))


def _of_waits(evidence: Evidence, line: Line, sums: _OfLine) -> Finding:
    numbers: list[tuple[str, int | float | str]] = [
        *(("waits", sums.waits), ("wait_ns", sums.wait_ns)),
        *_of_row(evidence, line),
    ]
    name, ns = sums.longest_call()
    call = ""
    if name and not sums.load_ns:  # else it may be a call that loaded
        numbers += [("call", name), ("call_ns", ns)]
        call = f"; of CUDA's calls there, {name} took the most time"
    return Finding(
        kind=HIDDEN_SYNCHRONISATION,
        places=(line,),
        cost_ns=sums.wait_ns,
        share=evidence.share(sums.wait_ns),
        numbers=tuple(numbers),
        measured=(
            f"The thread was blocked until the GPU was done for"
            f" {in_words(sums.wait_ns)}, {evidence.of_run(sums.wait_ns)}, in"
            f" {counted(sums.waits, 'call')} from this"
            f" line, whose text has no word for waiting{call}."
        ),
        advice=(
            "Values that Python reads (item, cpu, print, a condition), copies of"
            " pageable memory and freed memory wait for the GPU: it usually helps to"
            " read them less often, or after the next work has been launched."
        ),
    )


# Calls that load modules, or create a context.


def _of_loads(evidence: Evidence, line: Line, sums: _OfLine) -> Finding:
    return Finding(
        kind=GPU_LOADING,
        places=(line,),
        cost_ns=sums.load_ns,
        share=evidence.share(sums.load_ns),
        numbers=(
            *(("loads", sums.loads), ("load_ns", sums.load_ns)),
            *_of_row(evidence, line),
        ),
        measured=(
            f"{counted(sums.loads, 'call')} of CUDA from this line took"
            f" {in_words(sums.load_ns)}, {evidence.of_run(sums.load_ns)}, in which the"
            " code of kernels was loaded or a context was created."
        ),
        advice=(
            "A process usually does so once: to see the time of later executions, run"
            " it once before the measurement, or measure for longer. CUDA before 12.2"
            " loads less with CUDA_MODULE_LOADING=LAZY in the environment."
        ),
    )


# Kernels that take less time than their launch.


def _of_kernels(evidence: Evidence, line: Line, sums: _OfLine) -> Iterator[Finding]:
    count = sums.kernels
    mean_ns = sums.kernel_ns / count
    own_ns = evidence.self_ns.get(line[0], {}).get(line[1], 0) - sums.wait_ns
    launch_ns = sums.launch_ns() / count
    is_tiny = mean_ns < min(launch_ns or TINY_KERNEL_NS, own_ns / count)
    if not is_tiny or not _is_worth(evidence, own_ns):
        return
    numbers: list[tuple[str, int | float | str]] = [
        *(("kernels", count), ("kernel_ns", sums.kernel_ns), ("own_ns", own_ns)),
        *(("mean_kernel_ns", round(mean_ns)), ("adopted_kernels", sums.adopted)),
    ]
    calls = ""
    if launch_ns:
        numbers.append(("launch_ns", round(launch_ns)))
        calls = f", {in_words(launch_ns)} of it in the calls that launch"
    others = f" ({sums.adopted:,} of them by other threads)" if sums.adopted else ""
    yield Finding(
        kind=MANY_TINY_KERNELS,
        places=(line,),
        cost_ns=own_ns,
        share=evidence.share(own_ns),
        numbers=tuple(numbers),
        measured=(
            f"This line launched {count:,} kernels{others} of {in_words(mean_ns)} on"
            f" average, and took {in_words(own_ns / count)} for each itself, without"
            f" waits for the GPU{calls}: {in_words(own_ns)}, {evidence.of_run(own_ns)}."
        ),
        advice=(
            "It usually helps to launch fewer and larger kernels: larger batches,"
            " operations that are fused or compiled, or a CUDA graph."
        ),
    )


# Copies of pageable memory.


class _Copies:
    """Pageable copies from one line."""

    def __init__(self) -> None:
        self.count = self.ns = self.bytes = 0
        self.by_direction: Counter[str] = Counter()  # bytes


def pageable_copies(evidence: Evidence) -> Iterator[Finding]:
    """Yield the lines that copy between a device and pageable memory."""
    gpu = evidence.profile.gpu
    if not any(one.kind == MEMCPY for one in gpu.sums):
        return
    found: defaultdict[Line, _Copies] = defaultdict(_Copies)
    for timeline in gpu.timelines:
        _add_copies(found, gpu, timeline)
    lacks = any(run.left_out for run in gpu.runs) or of_unknown_clock(gpu) > 0
    for line, copies in found.items():
        if _is_worth(evidence, copies.ns):
            yield _of_copies(evidence, line, copies, lacks=lacks)


def _add_copies(
    found: defaultdict[Line, _Copies], gpu: Gpu, timeline: Timeline
) -> None:
    kind_of_copy = KINDS.index(MEMCPY)
    columns = ("kind", "bytes", "memory", "path", "ns", "name")
    for kind, size, memory, path, ns, name in zip(
        *(event_column(timeline.batches, one) for one in columns)
    ):
        if kind != kind_of_copy or size < MIN_COPY_BYTES or not path:
            continue
        source, target = memory & 15, memory >> 4
        direction = timeline.names[name]
        if _PAGEABLE not in {source, target} or direction not in _DIRECTIONS:
            continue
        of_path = gpu.paths[timeline.first_path + path - 1]
        if of_path.adopted:
            continue
        copies = found[of_path.lines[-1]]
        copies.count += 1
        copies.ns += ns
        copies.bytes += size
        copies.by_direction[direction] += size


def _of_copies(
    evidence: Evidence, line: Line, copies: _Copies, *, lacks: bool
) -> Finding:
    rate = copies.bytes / copies.ns  # GB/s
    at_least = "at least " if lacks else ""
    return Finding(
        kind=PAGEABLE_COPY,
        places=(line,),
        cost_ns=copies.ns,
        share=evidence.share(copies.ns),
        numbers=(
            ("copies", copies.count),
            ("bytes", copies.bytes),
            ("copy_ns", copies.ns),
            ("bytes_per_s", round(rate * 1e9)),
            *((f"{name}_bytes", size) for name, size in copies.by_direction.items()),
        ),
        measured=(
            f"This line made {at_least}{counted(copies.count, 'copy', 'copies')} of"
            f" pageable memory, which moved {copies.bytes / 1e6:,.1f} MB in"
            f" {in_words(copies.ns)} of the device, {evidence.of_run(copies.ns)}, at"
            f" {rate:.2f} GB/s."
        ),
        advice=(
            "It usually helps to use page-locked memory (pin_memory in PyTorch): copies"
            " of it are faster, and do not block the thread if they are asynchronous."
        ),
    )


# Idle devices.


def idle_devices(evidence: Evidence, idle_sums: IdleSums) -> Iterator[Finding]:
    """Yield the lines that left a device without work."""
    gpu = evidence.profile.gpu
    if not any(map(has_launches, gpu.timelines)):
        return
    devices = device_idle(evidence.profile, idle_sums)
    whole_ns = max(evidence.run_ns, sum(one.span_ns for one in devices))
    for device in devices:
        for one in device.lines:
            ns = one.causes.total
            if ns >= max(MIN_GPU_NS, MIN_IDLE_SHARE * whole_ns):
                whole = "run" if whole_ns == evidence.run_ns else "time of all devices"
                yield _of_idle(device, one, ns / whole_ns, whole)


def _of_idle(device: DeviceIdle, one: IdleLine, share: float, whole: str) -> Finding:
    causes = one.causes
    ns = causes.total
    parts = [
        f"{in_words(part)} {words}"
        for part, words in (
            (causes.computing, "the line ran"),
            (causes.waiting, "it waited"),
            (causes.syncing, "it was in a call that waits for a GPU without work"),
            (causes.launching, "the work that it had launched had not begun"),
            (causes.unknown, "it ran or waited"),
        )
        if part
    ]
    who = "this line" if one.line else "a short line of this function"
    return Finding(
        kind=GPU_IDLE,
        places=((one.key, one.line),),
        cost_ns=ns,
        share=share,
        numbers=(
            *(("device", device.device), ("process", device.process)),
            *(("idle_ns", ns), ("device_idle_ns", device.idle_ns)),
            ("device_span_ns", device.span_ns),
            *((f"{name}_ns", part) for name, part in causes._asdict().items()),
        ),
        measured=(
            f"GPU {device.device} had no work for {in_words(ns)}, {percent(share)} of"
            f" the {whole}, because of {who}, which was open on the thread that"
            f" launched the next work: {'; '.join(parts)}."
        ),
        advice=(
            "It usually helps to launch the next work first, or to prepare its data in"
            " another thread or process, while the GPU still works."
        ),
    )
