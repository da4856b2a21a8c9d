"""Numbers of a trace of PyTorch's profiler, worked out from its JSON alone.

Nothing here is lineprof's or the doubles': the calls of a thread that are in no other
stand for lines, one after the other, and each line is open from the end of the line
before it to its own end.  Times are ns from the first time of the trace on.
"""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    Span = tuple[int, int]

# What a call that frees waits for: WHOLE, the whole call if work was launched that no
# thread has waited for; WORK, the end of the work that was launched before it.
WHOLE, WORK = "whole", "work"

SYNCS = {
    *("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize"),
    *("cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"),
}
DEVICE_SYNCS = {"cudaDeviceSynchronize", "cuCtxSynchronize"}
FREES = {
    *("cudaFree", "cudaFreeHost", "cudaHostUnregister", "cudaFreeArray"),
    *("cudaDeviceReset", "cuMemFree"),
}
LAUNCHES = {
    *("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel"),
    *("cudaGraphLaunch", "cuLaunchKernel", "cuLaunchKernelEx", "cuGraphLaunch"),
    *("cuLaunchCooperativeKernel", "cudaMemset", "cudaMemset2D", "cudaMemsetAsync"),
    *("cudaMemset2DAsync", "cuMemsetD8Async"),
}
QUERIES = {  # no tool is told of them
    *("cudaGetDevice", "cudaGetLastError", "cudaPeekAtLastError"),
    *("cudaStreamIsCapturing", "cudaStreamGetCaptureInfo", "cuCtxGetCurrent"),
    *("cuCtxGetDevice", "cuPointerGetAttribute", "cuStreamIsCapturing"),
    "cuStreamGetCaptureInfo",
}
WORK_KINDS = ("kernel", "gpu_memcpy", "gpu_memset")
Numbers = dict[str, int]
Line = tuple[str, int]  # a thread and the number of a call on it
NOWHERE: Line = ("", -1)  # of work without a line


@dataclass
class Call:
    """A call of the trace."""

    name: str
    runtime: bool
    tid: str
    number: int  # of the call on its line
    begin: int
    end: int
    correlation: int
    calls: int = 0  # inside it
    outer: Call | None = None

    def order(self) -> tuple[int, int, int]:
        """Return its place: a call is after the call that it is in.

        One of the runtime without a length is in none that begins with it.
        """
        alone = self.runtime and self.begin == self.end
        return self.begin, 0 if alone else 1, -self.end

    @property
    def is_copy(self) -> bool:
        """Whether it copies."""
        return self.name.startswith(("cudaMemcpy", "cuMemcpy"))

    @property
    def launches(self) -> bool:
        """Whether it launches work."""
        return self.is_copy or self.name in LAUNCHES


@dataclass
class Work:
    """A record of the trace."""

    kind: str
    name: str
    begin: int
    end: int
    args: dict[str, Any]
    call: Call | None

    @property
    def ns(self) -> int:
        """How long it took."""
        return self.end - self.begin

    @property
    def context(self) -> int:
        """Number of its context."""
        return int(self.args.get("context", 1))

    @property
    def direction(self) -> str:
        """Direction of a copy."""
        return self.name.split()[1]

    @property
    def memories(self) -> list[str]:
        """Source and target of a copy."""
        return self.name.partition("(")[2].rstrip(")").split(" -> ")


@dataclass
class Idle:
    """Idle time of a device because of a line."""

    launching: int = 0
    syncing: int = 0
    other: int = 0


@dataclass
class Device:
    """Busy and idle time of a device."""

    busy: int = 0
    span: int = 0
    gaps: int = 0
    lines: dict[Line, Idle] = field(default_factory=lambda: defaultdict(Idle))


@dataclass
class Expected:
    """All numbers of a trace."""

    lines: dict[Line, Numbers]
    devices: dict[int, Device]
    events: Counter[tuple[object, ...]]
    waits: dict[Line, list[Span]]
    api: Counter[tuple[object, ...]]  # records of calls, if they are asked for
    outstanding: int  # calls that launch, without a record
    calls: int
    records: int
    frees: int
    freeing: int  # ns of the calls that free, and of their waits
    waited: int


def loaded(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file."""
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    trace = json.loads(data, parse_float=Decimal)
    found: list[dict[str, Any]] = (
        trace if isinstance(trace, list) else trace["traceEvents"]
    )
    return found


def shortened(name: str) -> str:
    """Return a name without a suffix such as _v2 and _ptsz."""
    first, _, last = name.rpartition("_")
    of_version = last[:1] == "v" and last[1:].isdigit()
    return first if first and (of_version or last in {"ptsz", "ptds"}) else name


class Trace:
    """The calls and records of a trace."""

    def __init__(self, path: Path) -> None:
        self.calls: list[Call] = []
        self.works: list[Work] = []
        events = [
            event
            for event in loaded(path)
            if event.get("ph") == "X"
            if event.get("cat") in {"cuda_runtime", "cuda_driver", *WORK_KINDS}
        ]
        self.zero = min(Decimal(event["ts"]) for event in events)
        for event in events:
            begin = round((Decimal(event["ts"]) - self.zero) * 1000)
            end = begin + round(Decimal(event["dur"]) * 1000)
            if event["cat"] in WORK_KINDS:
                self.works.append(
                    Work(event["cat"], event["name"], begin, end, event["args"], None)
                )
            else:
                self.calls.append(
                    Call(
                        name=shortened(event["name"]),
                        runtime=event["cat"] == "cuda_runtime",
                        tid=f"{event.get('pid')}/{event.get('tid')}",
                        number=-1,
                        begin=begin,
                        end=end,
                        correlation=event["args"].get("correlation", 0),
                    )
                )
        self.calls.sort(key=Call.order)
        self._find_lines()
        self._join()

    def _find_lines(self) -> None:
        """Number the lines of each thread; a call in another is on its line."""
        last: dict[str, Call] = {}
        self.ends: dict[str, list[int]] = defaultdict(list)  # of lines, by thread
        for call in self.calls:
            outer: Call | None = last.get(call.tid)
            while outer and outer.end <= call.begin:
                outer = outer.outer
            call.outer = outer
            if outer:
                outer.calls += 1
                call.number = outer.number
            else:
                call.number = len(self.ends[call.tid])
                self.ends[call.tid].append(call.end)
            last[call.tid] = call

    def _join(self) -> None:
        """Find the call of each record: the innermost one that launches."""
        self.made = [call for call in self.calls if not (call.runtime and call.calls)]
        by_id = {call.correlation: call for call in self.made if call.launches}
        for work in self.works:
            work.call = by_id.get(work.args.get("correlation", 0))

    def begin_of(self, tid: str, number: int) -> int:
        """Return when a line begins."""
        return self.ends[tid][number - 1] if number else 0


class Oracle:
    """Works out the numbers of a trace.

    frees: WHOLE or WORK.  only: the first thread alone has profiled lines.
    """

    def __init__(self, path: Path, *, frees: str, only: bool = False) -> None:
        self.trace = Trace(path)
        self.frees = frees
        first = min(self.trace.calls, key=lambda call: call.begin).tid
        self.only = first if only else ""
        self._find_places()

    def _find_places(self) -> None:
        """Find the line that each call is charged to, at its begin and at its end.

        They differ for calls of threads without lines. Work, asynchronous copies and
        calls that free count for the first, other waits for the second.
        """
        self.places: dict[int, tuple[Line, Line]] = {}
        for call in self.trace.calls:
            own = (call.tid, call.number)
            self.places[id(call)] = (
                (self._open(call.begin), self._open(call.end))
                if self.adopted(call)
                else (own, own)
            )

    def _open(self, time: int) -> Line:
        """Return the line of the first thread that is open just after a time."""
        ends = self.trace.ends[self.only]
        number = bisect_right(ends, time)
        return (self.only, number) if number < len(ends) else NOWHERE

    def adopted(self, call: Call) -> bool:
        """Whether a thread without lines made the call."""
        return bool(self.only) and call.tid != self.only

    # --- waits -----------------------------------------------------------

    def waits(self) -> Iterator[tuple[Call, int, bool, bool]]:
        """Yield calls that can wait, for how long, and whether it counts."""
        blocking = {
            id(work.call)
            for work in self.trace.works
            if work.kind == "gpu_memcpy" and "Pageable" in work.memories
        }
        for call in self.trace.made:
            ns = call.end - call.begin
            if call.name in SYNCS:
                yield call, ns, True, True
            elif call.is_copy and "Async" in call.name:
                yield call, ns, bool(ns) and id(call) in blocking, True
            elif call.is_copy:
                yield call, ns, True, True
            elif call.name in FREES:
                waited = self.waited(call)
                yield call, waited or 0, waited is not None, waited is not None

    def waited(self, free: Call) -> int | None:
        """Return for how long a call that frees waits; None: not at all."""
        if self.frees == WHOLE:
            launched = [
                call.end
                for call in self.trace.made
                if call.launches and call.end <= free.begin
            ]
            done = [
                call.begin
                for call in self.trace.made
                if call.name in DEVICE_SYNCS and call.end <= free.begin
            ]
            has_work = max(launched, default=-1) > max(done, default=-1)
            return free.end - free.begin if has_work else None
        context = self.context_of(free)
        until = max(
            (
                work.end
                for work in self.trace.works
                if work.context == context
                if (
                    work.call.begin <= free.begin
                    if work.call
                    else work.begin < free.begin
                )
            ),
            default=0,
        )
        waited = min(until, free.end) - free.begin
        return waited if waited > 0 else None

    def context_of(self, free: Call) -> int:
        """Return the context of the latest work of a call's thread, or the first."""
        order = {id(call): at for at, call in enumerate(self.trace.calls)}
        first = ((one.args["device"], one.context) for one in self.trace.works)
        latest, context = -1, min(first, default=(0, 1))[1]
        for work in self.trace.works:
            at = order[id(work.call)] if work.call else -1
            is_of_thread = work.call and work.call.tid == free.tid
            if is_of_thread and latest < at < order[id(free)]:
                latest, context = at, work.context
        return context

    # --- sums ------------------------------------------------------------

    def expected(self) -> Expected:
        """Return all numbers."""
        lines: dict[Line, Numbers] = defaultdict(Counter)
        for tid, ends in self.trace.ends.items():
            for number, end in enumerate(ends):
                if not self.only or tid == self.only:
                    begin = self.trace.begin_of(tid, number)
                    lines[tid, number].update(hits=1, time=end - begin)
        events: Counter[tuple[object, ...]] = Counter()
        for work in self.trace.works:
            place = self.places[id(work.call)][0] if work.call else NOWHERE
            adopted = work.call and self.adopted(work.call) and place != NOWHERE
            self._add_work(lines[place], work, adopted=bool(adopted))
            events[self._event(work, place)] += 1
        waits = list(self.waits())
        spans: dict[Line, list[Span]] = defaultdict(list)
        for call, ns, counts, logged in waits:
            begun, ended = self.places[id(call)]
            early = call.name in FREES and self.frees == WORK
            if counts:
                lines[begun if early or "Async" in call.name else ended].update(
                    wait=ns, waits=1
                )
            if logged:
                spans[begun if early else ended].append((call.begin, call.begin + ns))
        launched = {id(work.call) for work in self.trace.works}
        frees = [call for call in self.trace.made if call.name in FREES]
        return Expected(
            lines={line: dict(+Counter(numbers)) for line, numbers in lines.items()},
            devices=self.devices(
                [(call, ns) for call, ns, _, logged in waits if logged]
            ),
            events=events,
            waits=spans,
            api=Counter(self._api()),
            outstanding=sum(
                call.launches and id(call) not in launched for call in self.trace.made
            ),
            calls=len(self.trace.calls),
            records=len(self.trace.works),
            frees=len(frees),
            freeing=sum(call.end - call.begin for call in frees),
            waited=sum(ns for call, ns, *_ in waits if call.name in FREES),
        )

    def _api(self) -> Iterator[tuple[object, ...]]:
        """Yield records of calls: a call in one with its id is a part of that one."""
        for call in self.trace.calls:
            part = call.outer and call.outer.correlation == call.correlation
            if call.name not in QUERIES and not part:
                kind = "runtime" if call.runtime else "driver"
                ns = call.end - call.begin
                place = self.places[id(call)][0]
                yield kind, call.begin, ns, place, call.correlation

    def _add_work(self, numbers: Numbers, work: Work, *, adopted: bool) -> None:
        if work.kind == "gpu_memcpy":
            one = work.direction
            more = {f"{one} count": 1, f"{one} ns": work.ns}
            more[f"{one} bytes"] = work.args.get("bytes", 0)
        else:
            more = {"gpu": work.ns}
            if adopted:
                more["adopted"] = work.ns
            if work.kind == "kernel":
                more["kernels"] = 1
                numbers["longest"] = max(numbers.get("longest", 0), work.ns)
            else:
                more.update(memsets=1, memset=work.ns)
        for name, number in more.items():
            numbers[name] = numbers.get(name, 0) + number

    def _event(self, work: Work, place: Line) -> tuple[object, ...]:
        """Return a record as the timeline has it."""
        copy = work.kind == "gpu_memcpy"
        kernel = work.kind == "kernel"
        args = work.args
        return (
            {"gpu_memcpy": "memcpy", "gpu_memset": "memset"}.get(work.kind, work.kind),
            *(work.direction if copy else work.name if kernel else "", work.begin),
            *(work.ns, place, args["device"], work.context, args["stream"]),
            *(args.get("correlation", 0), args.get("bytes", 0)),
            *map(
                tuple,
                (args[name] if kernel else (0, 0, 0) for name in ("grid", "block")),
            ),
            *(
                args[name] if kernel else 0
                for name in ("registers per thread", "shared memory")
            ),
            *(work.memories if copy else ("" if kernel else "Device", "")),
        )

    # --- idle time --------------------------------------------------------

    def devices(self, waits: list[tuple[Call, int]]) -> dict[int, Device]:
        """Return the busy and idle time of each device."""
        found: dict[int, Device] = defaultdict(Device)
        busy: dict[int, list[Span]] = defaultdict(list)
        gaps: list[tuple[int, int, int, Call | None]] = []
        first: dict[int, int] = {}
        order = {id(call): at for at, call in enumerate(self.trace.made)}
        works = sorted(
            self.trace.works,
            key=lambda work: (work.begin, order[id(work.call)] if work.call else -1),
        )
        for work in works:
            device = work.args["device"]
            spans = busy[device]
            first.setdefault(device, work.begin)
            end = spans[-1][1] if spans else work.begin
            if work.begin > end:
                gaps.append((device, end, work.begin, work.call))
                found[device].gaps += 1
            if not spans or work.begin > end:
                spans.append((work.begin, work.end))
            else:
                spans[-1] = (spans[-1][0], max(end, work.end))
        for device, spans in busy.items():
            found[device].busy = sum(end - begin for begin, end in spans)
            found[device].span = spans[-1][1] - first[device]
        everything = sorted(span for spans in busy.values() for span in spans)
        calls: dict[str, list[Span]] = defaultdict(list)
        for call, ns in waits:
            if not self.adopted(call):
                calls[call.tid].append((call.begin, call.begin + ns))
        self._charge(found, gaps, calls, everything)
        return dict(found)

    def _charge(
        self,
        found: dict[int, Device],
        gaps: list[tuple[int, int, int, Call | None]],
        waits: dict[str, list[Span]],
        busy: list[Span],
    ) -> None:
        """Charge each gap to the lines that caused it."""
        position: dict[tuple[int, str], int] = defaultdict(int)
        for device, begin, end, call in gaps:
            lines = found[device].lines
            if call is None or self.places[id(call)][0] == NOWHERE:
                launched = begin if call is None else min(max(call.begin, begin), end)
                lines[NOWHERE].launching += end - launched if call else 0
                lines[NOWHERE].other += (
                    end - begin if call is None else launched - begin
                )
                continue
            launched = min(max(call.begin, begin), end)
            place = self.places[id(call)][0]
            lines[place].launching += end - launched
            tid = place[0]
            ends = self.trace.ends[tid]
            at = position[device, tid]
            while at < len(ends) and ends[at] <= begin:
                at += 1
            position[device, tid] = at
            now = begin
            while now < launched:
                until = min(launched, ends[at]) if at < len(ends) else launched
                line = (tid, at) if at < len(ends) else NOWHERE
                for a, b in cut((now, until), waits[tid]):
                    others = sum(d - c for c, d in cut((a, b), busy))
                    lines[line].syncing += b - a - others
                    lines[line].other -= b - a - others
                lines[line].other += until - now
                now, at = until, at + 1


def cut(span: Span, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the parts of disjoint spans that are in a span."""
    begin, end = span
    for a, b in spans:
        if max(a, begin) < min(b, end):
            yield max(a, begin), min(b, end)


def expected(path: Path, *, frees: str = WORK, only: bool = False) -> Expected:
    """Return the numbers of a trace."""
    return Oracle(path, frees=frees, only=only).expected()
