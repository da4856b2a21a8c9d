"""Traces of PyTorch's profiler (Kineto JSON) as steps for the double of CUDA.

A call that has no other around it on its thread becomes a line of a program; the
thread of the line makes it when the clock reaches its start, and returns from it at
its end.  A call of the runtime makes the driver's call of the same name, unless the
trace has calls of the driver inside it.
"""

from __future__ import annotations

import ctypes
import gzip
import heapq
import itertools
import json
import re
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START = 2_000_000_000  # ns: time of the frozen clock at the first time of a trace
LINES = 400  # max number of lines of a function
DEVICES = 64  # of the double
RUNTIME, DRIVER = "cuda_runtime", "cuda_driver"
DOMAINS = {DRIVER: 1, RUNTIME: 2}
KERNEL, COPY, MEMSET = "kernel", "gpu_memcpy", "gpu_memset"
KINDS = {COPY: 1, MEMSET: 2, KERNEL: 10}
PEER = 22

# Callback ids of the driver's functions, by the runtime's that calls them.
CALLED = {
    "cudaLaunchKernel": 307,
    "cudaLaunchKernelExC": 652,
    "cudaLaunchCooperativeKernel": 477,
    "cudaGraphLaunch": 514,
    "cudaMemset": 249,
    "cudaMemset2D": 252,
    "cudaMemsetAsync": 216,
    "cudaMemset2DAsync": 222,
    "cudaDeviceSynchronize": 17,
    "cudaStreamSynchronize": 126,
    "cudaEventSynchronize": 121,
    "cudaMalloc": 243,
    "cudaFree": 245,
    "cudaFreeHost": 38,
    "cudaHostUnregister": 302,
    "cudaFreeArray": 89,
    "cudaDeviceReset": 545,
}
# The same by the driver's own names, for traces without these ids.
OWN = {
    "cuLaunchKernel": 307,
    "cuLaunchKernelEx": 652,
    "cuLaunchCooperativeKernel": 477,
    "cuGraphLaunch": 514,
    "cuMemsetD8Async": 216,
    "cuMemcpyHtoDAsync": 277,
    "cuMemcpyDtoHAsync": 279,
    "cuMemcpyDtoDAsync": 281,
    "cuCtxSynchronize": 17,
    "cuStreamSynchronize": 126,
    "cuEventSynchronize": 121,
    "cuMemAlloc": 243,
    "cuMemFree": 245,
}
# Directions of copies by CUPTI's number, and the driver's calls: blocking or not.
DIRECTIONS = {
    "HtoD": (1, 276, 277),
    "DtoH": (2, 278, 279),
    "HtoA": (3, 292, 293),
    "AtoH": (4, 282, 283),
    "AtoA": (5, 286, 289),
    "AtoD": (6, 284, 289),
    "DtoA": (7, 285, 289),
    "DtoD": (8, 280, 281),
    "HtoH": (9, 305, 306),
    "PtoP": (10, 318, 319),
}
MEMORIES = ("Unknown", "Pageable", "Pinned", "Device", "Array", "Managed")
NAMED_COPY = re.compile(r"Memcpy (\w+) \((.+) -> (.+)\)")
SUFFIX = re.compile(r"_(v\d+|pt[sd][sz])")  # of a version or a default stream
THREAD = re.compile(r"[\w.-]+/[\w.-]+")  # words of a comment in the program
MAX_NS = 1 << 62
OTHER = 1  # a call without an id, which has no effect

Event = dict[str, Any]


class NoTraceError(Exception):
    """Reason why a file is no trace that can be replayed."""


def place_of(event: Event) -> str:
    """Return the process and thread of a call."""
    return f"{event.get('pid')}/{event.get('tid')}"


def events_of(path: Path) -> list[Event]:
    """Return the complete events of a trace, with exact times."""
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        trace = json.loads(data, parse_float=Decimal)
    except (OSError, EOFError, RecursionError, ValueError, zlib.error) as error:
        raise NoTraceError(f"it cannot be read: {error}") from error
    events = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(events, list):
        raise NoTraceError("it has no traceEvents")
    known = {*DOMAINS, *KINDS}
    found = [
        event
        for event in events
        if isinstance(event, dict) and event.get("ph") == "X"
        if event.get("cat") in known
    ]
    if not any(event["cat"] in DOMAINS for event in found):
        raise NoTraceError("it has no calls of CUDA (cuda_runtime, cuda_driver)")
    for event in found:
        if not {"name", "ts", "dur", "args"} <= event.keys():
            raise NoTraceError(f"an event of {event['cat']} has no name, time or args")
        if not isinstance(event["args"], dict) or not isinstance(event["name"], str):
            raise NoTraceError(f"an event of {event['cat']} has odd args or name")
        thread = place_of(event)
        if event["cat"] in DOMAINS and not THREAD.fullmatch(thread):
            raise NoTraceError(f"{thread!r} is no process and thread")
        if Decimal(event["dur"]) < 0:
            raise NoTraceError(f"{event['name']} ends before it begins")
    return found


def nanoseconds(value: int | Decimal) -> int:
    """Return the ns of a number of µs."""
    found = int((Decimal(value) * 1000).to_integral_value())
    if abs(found) >= MAX_NS:
        raise NoTraceError(f"a time of {value} µs")
    return found


class Record(NamedTuple):
    """A record of the device."""

    correlation: int
    start: int
    event: Event


class Step(ctypes.Structure):
    """fk_step of the double."""

    _fields_ = (
        ("time", ctypes.c_uint64),
        *((name, ctypes.c_uint32) for name in ("next", "domain", "cbid")),
        *((name, ctypes.c_uint32) for name in ("correlation", "context")),
        *((name, ctypes.c_uint32) for name in ("records", "count")),
    )


class Work(ctypes.Structure):
    """fk_traced of the double."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("start", "end", "bytes")),
        ("name", ctypes.c_char_p),
        *((name, ctypes.c_uint32) for name in ("kind", "correlation", "device")),
        *((name, ctypes.c_uint32) for name in ("context", "stream")),
        ("grid", ctypes.c_int32 * 3),
        ("block", ctypes.c_int32 * 3),
        *((name, ctypes.c_uint32) for name in ("dynamic_smem", "registers")),
        *((name, ctypes.c_uint32) for name in ("copy_kind", "source", "target")),
        ("peer", ctypes.c_uint32),
    )


@dataclass
class Call:
    """A call, and those inside it."""

    domain: str
    name: str
    cbid: int
    correlation: int
    start: int
    end: int
    inner: list[Call] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    @property
    def is_of_driver(self) -> bool:
        """Whether it is, or makes, a call of the driver."""
        return self.domain == DRIVER or not self.inner

    def all(self) -> Iterator[Call]:
        """Yield the call and those inside it."""
        yield self
        for one in self.inner:
            yield from one.all()


def name_of(event: Event) -> str:
    """Return the name of a function without the suffix of a version."""
    return SUFFIX.sub("", str(event["name"]))


def nested(thread: str, calls: list[Call]) -> list[Call]:
    """Return the outermost calls of a thread, in order, which have the others.

    A call of the runtime that takes no time is before another that begins with it.
    """

    def order(call: Call) -> tuple[int, bool, int]:
        return call.start, call.end > call.start or call.domain == DRIVER, -call.end

    outermost: list[Call] = []
    around: list[Call] = []
    for call in sorted(calls, key=order):
        while around and around[-1].end <= call.start:
            around.pop()
        if around and call.end > around[-1].end:
            raise NoTraceError(f"calls of thread {thread} overlap: {call.name}")
        (around[-1].inner if around else outermost).append(call)
        around.append(call)
    return outermost


def threads_of(events: list[Event], base: int) -> dict[str, list[Call]]:
    """Return the outermost calls of each thread, the thread that comes first first."""
    calls: dict[str, list[Call]] = defaultdict(list)
    free = 1 + max(int(event["args"].get("correlation", 0)) for event in events)
    for event in events:
        if event["cat"] in DOMAINS:
            correlation = int(event["args"].get("correlation", 0))
            if not correlation:
                correlation, free = free, free + 1
            start = nanoseconds(event["ts"]) - base + START
            call = Call(
                domain=event["cat"],
                name=name_of(event),
                cbid=int(event["args"].get("cbid", 0)),
                correlation=correlation,
                start=start,
                end=start + nanoseconds(event["dur"]),
            )
            calls[place_of(event)].append(call)
    order = sorted(calls, key=lambda tid: min(call.start for call in calls[tid]))
    return {tid: nested(tid, calls[tid]) for tid in order}


def driver_call(call: Call) -> int:
    """Return the id of the driver's function that an innermost call is or makes."""
    if call.domain == DRIVER:
        return call.cbid or OWN.get(call.name, OTHER)
    if not call.name.startswith("cudaMemcpy"):
        return CALLED.get(call.name, 0)
    direction = "HtoD"
    if call.records:
        named = NAMED_COPY.match(call.records[0].event["name"])
        direction = named[1] if named else direction
    return DIRECTIONS.get(direction, DIRECTIONS["HtoD"])[
        1 + call.name.endswith("Async")
    ]


@dataclass
class Plan:
    """Steps of all threads, records, and lines: first steps by thread."""

    contexts: list[tuple[int, int, bool]]  # device, id, whether the device's first
    steps: ctypes.Array[Step]
    works: ctypes.Array[Work]
    orphans: int  # records without a call, the first ones
    lines: dict[str, list[int]]
    end: int  # of all calls and records, ns


def join(threads: dict[str, list[Call]], records: list[Record]) -> list[Record]:
    """Give records to their calls; return those without one."""
    calls: dict[int, Call] = {}
    every = (
        call for lines in threads.values() for line in lines for call in line.all()
    )
    for call in filter(lambda call: call.is_of_driver, every):
        if calls.setdefault(call.correlation, call) is not call:
            raise NoTraceError(f"two calls have the correlation {call.correlation}")
    orphans: list[Record] = []
    for record in records:
        of = calls.get(record.correlation)
        (of.records if of else orphans).append(record)
    return orphans


def work_of(record: Record, shift: int) -> Work:
    """Return a record as the double has it."""
    event, args = record.event, record.event["args"]
    start = record.start + shift
    work = Work(
        kind=KINDS[event["cat"]],
        correlation=record.correlation & 0xFFFFFFFF,
        device=int(args["device"]),
        context=int(args.get("context", 1)),
        stream=int(args["stream"]),
        start=start,
        end=start + nanoseconds(event["dur"]),
        bytes=int(args.get("bytes", 0)),
    )
    if not 0 <= work.device < DEVICES:
        raise NoTraceError(f"device {work.device} is not below {DEVICES}")
    if event["cat"] == KERNEL:
        work.name = event["name"].encode()
        work.grid = (ctypes.c_int32 * 3)(*args.get("grid", (1, 1, 1)))
        work.block = (ctypes.c_int32 * 3)(*args.get("block", (1, 1, 1)))
        work.registers = int(args.get("registers per thread", 0))
        work.dynamic_smem = int(args.get("shared memory", 0))
    elif event["cat"] == COPY:
        named = NAMED_COPY.match(event["name"])
        if not named or named[1] not in DIRECTIONS:
            raise NoTraceError(f"a copy of no known direction: {event['name']}")
        work.copy_kind = DIRECTIONS[named[1]][0]
        work.kind = PEER if named[1] == "PtoP" else work.kind
        work.source, work.target = map(memory, named.groups()[1:])
        work.peer = work.device
    else:
        work.target = MEMORIES.index("Device")
    return work


def memory(name: str) -> int:
    """Return CUPTI's number of a kind of memory."""
    return MEMORIES.index(name) if name in MEMORIES else 0


def steps_of(call: Call, numbered: list[Work], shift: int) -> list[Step]:
    """Return the steps of a call, and append its records."""
    first = len(numbered)
    numbered += [work_of(record, shift) for record in call.records]
    begin = Step(
        time=call.start,
        domain=DOMAINS[call.domain],
        cbid=call.cbid or OTHER,
        correlation=call.correlation & 0xFFFFFFFF,
        context=numbered[first].context if call.records else 0,
        records=first,
        count=len(call.records),
    )
    end = Step(time=call.end)
    made = [driver_call(call)] if call.is_of_driver else []
    if call.domain == RUNTIME and made and made[0]:
        copy = Step.from_buffer_copy(begin)
        copy.domain, copy.cbid = DOMAINS[DRIVER], made[0]
        begin.records = begin.count = 0  # the driver's call has them
        return [begin, copy, end, Step.from_buffer_copy(end)]
    if call.domain == DRIVER and made:
        begin.cbid = made[0]
    inner = [step for one in call.inner for step in steps_of(one, numbered, shift)]
    return [begin, *inner, end]


def plan(path: Path) -> Plan:
    """Return the plan of a trace; NoTraceError if there can be none."""
    try:
        return _plan(events_of(path))
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise NoTraceError(f"an event is unusual: {error!r}") from error


def _plan(events: list[Event]) -> Plan:
    base = min(nanoseconds(event["ts"]) for event in events)
    threads = threads_of(events, base)
    records = [
        Record(
            int(event["args"].get("correlation", 0)), nanoseconds(event["ts"]), event
        )
        for event in events
        if event["cat"] in KINDS
    ]
    shift = START - base
    works = [work_of(record, shift) for record in join(threads, records)]
    orphans = len(works)
    by_line = {
        tid: [steps_of(call, works, shift) for call in calls]
        for tid, calls in threads.items()
    }
    streams = [
        [(step.time, at, line, step) for line in lines for step in line]
        for at, lines in enumerate(by_line.values())
    ]
    contexts = contexts_of(works)
    for lines in by_line.values():
        make_current([step for line in lines for step in line], contexts)
    merged = list(heapq.merge(*streams, key=lambda one: one[:2]))
    numbers = {id(step): number for number, (_, _, _, step) in enumerate(merged)}
    for lines in by_line.values():
        for line in lines:
            for step, after in itertools.pairwise(line):
                step.next = numbers[id(after)]
    end = max([START, *(work.end for work in works), *(one[0] for one in merged)])
    return Plan(
        contexts=contexts,
        steps=(Step * len(merged))(*(one[3] for one in merged)),
        works=(Work * (len(works) + 1))(*works),
        orphans=orphans,
        lines={
            tid: [numbers[id(line[0])] for line in lines]
            for tid, lines in by_line.items()
        },
        end=end,
    )


def contexts_of(works: list[Work]) -> list[tuple[int, int, bool]]:
    """Return the contexts of records: device, id, and whether the device's first."""
    device_of: dict[int, int] = {}
    for work in works:
        if device_of.setdefault(work.context, work.device) != work.device:
            raise NoTraceError(f"context {work.context} is of two devices")
    ordered = sorted((device, context) for context, device in device_of.items())
    if not ordered:
        return [(0, 1, True)]
    before = [-1, *(device for device, _ in ordered)]
    return [
        (device, context, device != last)
        for (device, context), last in zip(ordered, before)
    ]


def make_current(steps: list[Step], contexts: list[tuple[int, int, bool]]) -> None:
    """Give the steps of a thread the context of its last work, or the first one."""
    current = contexts[0][1]
    for step in steps:
        current = step.context or current
        step.context = current


def program(lines: dict[str, list[int]]) -> str:
    """Return a program with a line for each call; comments say which.

    A comment is the thread and the numbers of the calls on it, from and to; "called"
    if a function that is called has them.
    """
    text: list[str] = []
    for at, (tid, steps) in enumerate(lines.items()):
        parts: list[str] = []
        for first in range(0, len(steps), LINES):
            part = steps[first : first + LINES]
            name = f"part_{at}_{len(parts)}"
            parts.append(f"    {name}()  # {tid} {first} {first + len(part)} called")
            text += ["", "", f"@profiles({at})", f"def {name}():"]
            for number, step in enumerate(part, first):
                text.append(f"    line({step})  # {tid} {number} {number + 1}")
        text += ["", "", f"@profiles({at})", f"def thread_{at}():", *parts]
    return "\n".join(text).lstrip("\n") + "\n"
