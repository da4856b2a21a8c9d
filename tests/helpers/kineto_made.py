"""Traces in the form of PyTorch's profiler, made by hand or at random.

Times are in ns here and in µs, with fractions, in the file: so few that a float has
each ns exactly.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

ZERO = 1_000_000  # ns: first time of a trace
MAIN, BACKWARD = 100, 101  # threads
CBIDS = {  # of the runtime, as in traces; the others need none
    "cudaMalloc": 20,
    "cudaFree": 22,
    "cudaMemcpy": 31,
    "cudaMemcpyAsync": 41,
    "cudaMemsetAsync": 51,
    "cudaEventRecord": 135,
    "cudaStreamSynchronize": 131,
    "cudaEventSynchronize": 137,
    "cudaStreamWaitEvent": 147,
    "cudaDeviceSynchronize": 165,
    "cudaLaunchKernel": 211,
    "cudaStreamIsCapturing": 317,
    "cuLaunchKernel": 307,
    "cuMemFree": 245,
}


@dataclass
class Made:
    """A trace that is being made."""

    events: list[dict[str, Any]] = field(default_factory=list)
    last_id: int = 1000

    def _add(self, cat: str, name: str, start: int, end: int, **more: Any) -> None:
        times = {"ts": (ZERO + start) / 1000, "dur": (end - start) / 1000}
        event = {"ph": "X", "cat": cat, "name": name, **times, **more}
        self.events.append(event)

    def call(
        self, name: str, start: int, end: int, *, tid: int = MAIN, id_: int = 0
    ) -> int:
        """Add a call; return its correlation, a new one unless it is given."""
        self.last_id += not id_
        of = id_ or self.last_id
        domain = "cuda_runtime" if name.startswith("cuda") else "cuda_driver"
        args = {"External id": of, "correlation": of}
        if name in CBIDS:
            args["cbid"] = CBIDS[name]
        self._add(domain, name, start, end, pid=1, tid=tid, args=args)
        return of

    def _record(
        self, cat: str, name: str, of: int, span: tuple[int, int], **args: Any
    ) -> None:
        args = {"device": 0, "stream": 7, **args, "correlation": of}
        args.setdefault("context", args["device"] + 1)
        place = {"pid": args["device"], "tid": args["stream"]}
        self._add(cat, name, *span, **place, args=args)

    def kernel(
        self, of: int, start: int, end: int, name: str = "k", **args: Any
    ) -> None:
        """Add the record of a kernel."""
        shape = {"grid": [4, 2, 1], "block": [128, 1, 1], "shared memory": 512}
        args = {**shape, "registers per thread": 32, **args}
        self._record("kernel", name, of, (start, end), **args)

    def copy(self, of: int, start: int, end: int, way: str, **args: Any) -> None:
        """Add the record of a copy; way: as ``HtoD (Pinned -> Device)``."""
        args = {"bytes": 4096, **args}
        self._record("gpu_memcpy", f"Memcpy {way}", of, (start, end), **args)

    def memset(self, of: int, start: int, end: int, **args: Any) -> None:
        """Add the record of a memset."""
        args = {"bytes": 64, **args}
        self._record("gpu_memset", "Memset (Device)", of, (start, end), **args)

    def launch(
        self, start: int, kernel: int, ns: int, *, tid: int = MAIN, **args: Any
    ) -> int:
        """Add a launch of 5 µs, and its kernel."""
        of = self.call("cudaLaunchKernel", start, start + 5000, tid=tid)
        self.kernel(of, kernel, kernel + ns, **args)
        return of

    def write(self, path: Path) -> Path:
        """Write the trace; return the path."""
        text = json.dumps({"schemaVersion": 1, "traceEvents": self.shown()}, indent=1)
        path.write_text(text, encoding="utf-8")
        return path

    def shown(self) -> list[dict[str, Any]]:
        """Return the events of the file, the first of which are others."""
        found: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 1, "dur": 2},
        ]
        return [*found, *self.events]


def threads() -> Made:
    """Return a trace of a forward pass, and of a backward one on another thread."""
    made = Made()
    for step in range(3):
        at = step * 400_000
        made.call("cudaStreamIsCapturing", at, at + 800)
        made.launch(at + 1000, at + 9000, 30_000, name="forward")
        made.launch(at + 7000, at + 39_000, 20_000, name="loss")
        for layer in range(4):
            begin = at + 50_000 + layer * 20_000
            made.launch(begin, begin + 12_345, 25_000, tid=BACKWARD, name="backward")
        # It is still launching while the first thread waits.
        of = made.call("cudaMemsetAsync", at + 131_000, at + 140_000, tid=BACKWARD)
        made.memset(of, at + 160_000, at + 161_001)
        made.call("cudaDeviceSynchronize", at + 60_000, at + 170_000)
    return made


def streams() -> Made:
    """Return a trace of streams that wait for events of one another."""
    made = Made()
    made.launch(0, 10_000, 50_000, stream=7)
    made.call("cudaEventRecord", 6000, 7000)
    made.call("cudaStreamWaitEvent", 8000, 9000)
    made.launch(9000, 61_000, 40_000, stream=20)
    made.launch(15_000, 20_000, 100_001, stream=203)  # beside the others
    made.call("cudaEventQuery", 21_000, 21_500)
    made.call("cudaEventSynchronize", 22_000, 60_500)
    made.call("cudaStreamSynchronize", 61_000, 121_000)
    made.call("cudaStreamSynchronize", 122_000, 122_000)  # waits for nothing
    made.launch(200_000, 300_000, 10_000, stream=20)
    made.call("cudaDeviceSynchronize", 250_000, 310_000)
    made.call("cudaDeviceSynchronize", 320_000, 330_000)
    made.launch(400_000, 410_000, 0)
    return made


def nested() -> Made:
    """Return a trace with calls of the driver in calls of the runtime."""
    made = Made()
    for step, shared in enumerate((True, False)):
        at = step * 100_000
        of = made.call("cudaLaunchKernel", at, at + 20_000)
        own = made.call("cuLaunchKernel", at + 3000, at + 9000, id_=of * shared)
        made.kernel(own, at + 30_000, at + 45_000, name="of the driver")
        of = made.call("cudaFree", at + 21_000, at + 60_000)
        made.call("cuMemFree", at + 25_000, at + 50_000, id_=of * shared)
    of = made.call("cuLaunchKernel", 200_000, 201_000)  # as Triton does
    made.kernel(of, 202_000, 203_000, name="triton")
    return made


def frees() -> Made:
    """Return a trace of calls that free, which wait for nothing, or for kernels."""
    made = Made()
    made.call("cudaFree", 0, 30_000)  # makes a context
    made.launch(40_000, 50_000, 5000)
    made.call("cudaFree", 60_000, 90_000)  # long after the kernel
    made.launch(100_000, 110_000, 100_000, stream=20)
    made.launch(106_000, 112_000, 50_000, stream=7)
    made.call("cudaFree", 120_000, 250_000)  # waits for 90 µs of its 130
    made.launch(260_000, 270_000, 100_000)
    made.call("cudaMalloc", 270_000, 275_000)
    made.call("cudaFree", 280_000, 300_000)  # returns before the kernel ends
    # A kernel that is launched on another thread while the call lasts.
    made.launch(410_000, 420_000, 60_000, tid=BACKWARD)
    made.call("cudaFree", 400_000, 500_000)
    made.call("cudaDeviceSynchronize", 510_000, 520_000)
    made.call("cudaFreeHost", 530_000, 540_000)
    made.launch(600_000, 620_000, 40_000, device=1)  # of another context
    made.call("cudaFree", 610_000, 700_000)
    return made


def missing() -> Made:
    """Return a trace of calls without records, and of records without calls."""
    made = Made()
    made.kernel(7, 1000, 20_000, name="before the trace")
    made.memset(8, 21_000, 22_000)
    made.copy(9, 23_000, 24_000, "DtoD (Device -> Device)")
    made.call("cudaLaunchKernel", 25_000, 26_000)
    made.launch(30_000, 40_000, 5000)
    made.call("cudaMemsetAsync", 36_000, 37_000)
    made.call("cudaMemcpyAsync", 37_000, 38_000)
    made.kernel(999_999, 60_000, 70_000, name="of nobody")
    made.launch(80_000, 90_000, 5000)
    return made


WAYS = (
    *("HtoD (Pageable -> Device)", "HtoD (Pinned -> Device)"),
    *("DtoH (Device -> Pageable)", "DtoH (Device -> Pinned)"),
    *("DtoD (Device -> Device)", "HtoH (Pinned -> Pinned)", "HtoA (Pinned -> Array)"),
    *("AtoH (Array -> Pageable)", "AtoA (Array -> Array)", "AtoD (Array -> Device)"),
    *("DtoA (Device -> Array)", "PtoP (Device -> Device)"),
    "HtoD (Managed -> Device)",
)


def copies() -> Made:
    """Return a trace of copies of each direction, blocking or not, and memsets."""
    made = Made()
    at = 0
    for name in ("cudaMemcpyAsync", "cudaMemcpy"):
        for number, way in enumerate(WAYS):
            of = made.call(name, at, at + 40_000 + number)
            size = 1 << 20 | number
            made.copy(of, at + 5000, at + 35_000 + number, way, bytes=size)
            at += 50_000
    of = made.call("cudaMemset", at, at + 9000)
    made.memset(of, at + 1000, at + 8000, bytes=3)
    return made


def devices() -> Made:
    """Return a trace of kernels that overlap, on two devices."""
    made = Made()
    made.launch(0, 10_000, 100_000, device=0)
    made.launch(5000, 20_000, 200_000, device=1, stream=14)
    made.launch(10_000, 30_000, 20_000, device=0, stream=20)
    made.call("cudaStreamSynchronize", 20_000, 220_000)  # the other one runs
    made.launch(300_000, 320_000, 10_000, device=0)
    made.launch(310_000, 400_000, 5000, device=1, stream=14)
    made.launch(350_000, 390_000, 1, device=0, tid=BACKWARD)
    return made


MADE = {
    function.__name__: function
    for function in (threads, streams, nested, frees, missing, copies, devices)
}


def at_random(seed: int) -> Made:
    """Return a trace of calls and records at random."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    made = Made(last_id=chance.choice([10, 5000, 6_935_000]))
    many = chance.choice([1, 1, 2, 4])
    devices = chance.choice([1, 2])
    starts: set[tuple[int, int]] = set()  # of records, by device: no two are equal
    free: dict[tuple[int, int], int] = {}  # of streams
    for tid in range(MAIN, MAIN + many):
        now = chance.randrange(50_000)
        for _ in range(chance.choice([3, 40, 120])):
            end = now + chance.choice([0, 700, 5001, 40_000, 300_000])
            _one(made, chance, (now, end), (tid, devices), (free, starts))
            now = end + chance.choice([0, 0, 1, 900, 50_000])
    return made


def _one(
    made: Made,
    chance: random.Random,
    span: tuple[int, int],
    where: tuple[int, int],
    used: tuple[dict[tuple[int, int], int], set[tuple[int, int]]],
) -> None:
    """Add a call at random to a thread, and its records."""
    (start, end), (tid, devices), (free, starts) = span, where, used
    name = chance.choice(
        [
            *("cudaLaunchKernel", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaFree"),
            *("cudaMemsetAsync", "cudaStreamSynchronize", "cudaDeviceSynchronize"),
            *("cudaMemcpy", "cudaEventRecord", "cuLaunchKernel", "cudaGraphLaunch"),
        ]
    )
    if start == end:  # a call of the driver would be in the next one
        name = name.replace("cuL", "cudaL")
    of = made.call(name, start, end, tid=tid)
    if name == "cudaLaunchKernel" and end - start > 3 and chance.random() < 0.3:
        of = made.call("cuLaunchKernel", start + 1, end - 1, tid=tid)
    if not any(word in name for word in ("Launch", "Mem")) or chance.random() < 0.1:
        return
    for _ in range(chance.choice([1, 7]) if "Graph" in name else 1):
        device, stream = chance.randrange(devices), chance.choice([7, 13, 200])
        begin = max(free.get((device, stream), 0), start + chance.choice([1, 9000]))
        while (device, begin) in starts:
            begin += 1
        starts.add((device, begin))
        last = begin + chance.choice([0, 1, 3000, 250_000])
        free[device, stream] = last
        place = {"device": device, "stream": stream}
        if "Memcpy" in name:
            way = chance.choice(WAYS)
            made.copy(of, begin, last, way, bytes=chance.randrange(1 << 40), **place)
        elif "Memset" in name:
            made.memset(of, begin, last, **place)
        else:
            kernel = chance.choice(["a", "b", "void f<int, 4>(int*)"])
            grid = [chance.randrange(1, 1 << 20), 1, 1]
            made.kernel(of, begin, last, name=kernel, grid=grid, **place)
    if chance.random() < 0.05:  # a record without a call
        begin = max(start for _, start in starts) + 1
        starts.add((0, begin))
        made.kernel(1 << 31, begin, begin + 5)
