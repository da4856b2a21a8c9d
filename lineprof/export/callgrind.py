"""Profiles for KCachegrind, QCachegrind and callgrind_annotate: costs of lines.

The format is specified in Valgrind's manual, "Callgrind Format Specification". Each
function has its lines' self costs, and below a line its calls, with their costs. A
name is written once, then its number stands for it.
"""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.export import stacks
from lineprof.files import encoded
from lineprof.model.call_graph import (
    Edge,
    edge_gpu_ns,
    edge_memory,
    edges,
    function_totals,
    line_self_ns,
)
from lineprof.model.gpu import numbers_of_lines, unattributed
from lineprof.model.host_memory import memory_of_lines, outside_memory
from lineprof.model.names import ShortNames, names_of_profile
from lineprof.report.marks import Marks
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeVar

    from lineprof.model.call_graph import EdgeKey
    from lineprof.model.host_memory import MemoryNumbers
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

    Line = tuple[Key, int]

    NameKey = TypeVar("NameKey", str, Key)

    CostKey = TypeVar("CostKey", Line, EdgeKey)

_UNKNOWN = "???"  # callgrind's name of an unknown file

_OUTSIDE = (_UNKNOWN, 0, "[outside of profiled functions]")

_NOWHERE = (_UNKNOWN, *stacks.NOWHERE[0][1:])

_NO_LINE = (_UNKNOWN, *stacks.OUTSIDE[0][1:])  # allocated memory

_MAX_COMMAND = 1_000  # characters of the command line


class _Event:
    """One kind of cost, by line and by edge."""

    def __init__(self, name: str, title: str) -> None:
        self.name = name
        self.title = title
        self.lines: dict[Line, int] = {}
        self.edges: dict[EdgeKey, int] = {}


def content(profile: Profile) -> Iterator[bytes]:
    """Yield the file; times in ns, of a line itself and of its calls."""
    calls = edges(profile.calls)
    events = _events(profile, calls)
    totals = " ".join(str(sum(event.lines.values())) for event in events)
    yield from encoded(_head(profile, events, totals))
    writer = _Writer(names_of_profile(profile), events)
    lines: dict[Key, dict[int, list[Edge]]] = {}
    for function in profile.functions:
        lines.setdefault(function.key, {})
    for event in events:
        for key, line in event.lines:
            lines.setdefault(key, {}).setdefault(line, [])
    for edge in calls:
        caller = edge.caller or _OUTSIDE
        lines.setdefault(caller, {}).setdefault(edge.line, []).append(edge)
    for key, of_line in lines.items():
        yield from encoded(["\n".join(writer.function(key, of_line))])
    yield from encoded([f"totals: {totals}"])


def _events(profile: Profile, calls: Sequence[Edge]) -> list[_Event]:
    """Return the events for which the profile has numbers, time first."""
    time = _Event("ns", "Time (ns)")
    self_ns = line_self_ns(profile)
    for key, totals in function_totals(profile).items():
        lines = self_ns.get(key)
        if not lines:  # of C: its time is on its first line
            lines = {key[1]: totals.self_ns} if totals.self_ns else {}
        time.lines.update(((key, line), ns) for line, ns in lines.items())
    time.edges = {edge.ends: edge.total_ns for edge in calls}
    hits = _Event("Hits", "Executions of lines")
    for function in profile.functions:
        key = function.key
        for row in function.rows:
            hits.lines[key, row.line] = row.hits
    waits = _waits(profile, calls, time)
    return [time, *waits, *_gpu(profile), *_memory(profile), hits]


def _waits(profile: Profile, calls: Sequence[Edge], time: _Event) -> list[_Event]:
    """Return the times on a processor and off-CPU, if these are known."""
    if not profile.waits:
        return []
    waits = _Event("Wait_ns", "Time on no processor (ns)")
    waits.lines, waits.edges = _self_waits(profile, calls, time.lines)
    cpu = _Event("CPU_ns", "Time on a processor (ns)")
    cpu.lines = _difference(time.lines, waits.lines)
    cpu.edges = _difference(time.edges, waits.edges)
    return [cpu, waits]


def _difference(
    times: dict[CostKey, int], parts: dict[CostKey, int]
) -> dict[CostKey, int]:
    return {key: ns - parts.get(key, 0) for key, ns in times.items()}


def _self_waits(
    profile: Profile, calls: Sequence[Edge], self_ns: Mapping[Line, int]
) -> tuple[dict[Line, int], dict[EdgeKey, int]]:
    """Return the waits (ns) of lines without their callees, and those of edges.

    The profile knows the waits of a line with its callees. The waits of a call are
    estimated as its share of the function's waits, in proportion to its time: that is
    exact if the function is called from one place. The rest of the line's waits is its
    own. `self_ns` is the self time of all lines.
    """
    waits: Counter[Line] = Counter()
    functions: Counter[Key] = Counter()
    for wait in profile.waits:
        waits[wait.function, wait.line] += wait.ns
        functions[wait.function] += wait.ns
    times = {
        function.key: sum(one.time_ns for one in function.thread_lines)
        for function in profile.functions
        if function.key in functions
    }
    of_edges: dict[EdgeKey, int] = {}
    for edge in calls:
        time = times.get(edge.callee, 0)
        if not time:
            continue
        waited = functions[edge.callee]
        key = edge.ends
        of_edges[key] = min(waited * edge.total_ns // time, edge.total_ns)
        if edge.caller is not None:
            waits[edge.caller, edge.line] -= waited * edge.inclusive_ns // time
    of_lines = {
        place: min(ns, self_ns.get(place, 0)) for place, ns in waits.items() if ns > 0
    }
    return of_lines, of_edges


def _gpu(profile: Profile) -> list[_Event]:
    """Return the time of kernels and memsets, if there were any."""
    event = _Event("GPU_ns", "GPU time (ns)")
    for key, lines in numbers_of_lines(profile.gpu, alone=True).items():
        for line, numbers in lines.items():
            if numbers.self_ns:
                event.lines[key, line] = numbers.self_ns
    if nowhere := unattributed(profile.gpu).gpu_ns:
        event.lines[_NOWHERE, 0] = nowhere
    event.edges = edge_gpu_ns(profile)
    return [event] if event.lines else []


def _memory(profile: Profile) -> list[_Event]:
    """Return what lines allocated, if that was measured."""
    if not profile.memory.sums:
        return []
    numbers: dict[Line, MemoryNumbers] = {}
    outside = outside_memory(profile.memory)
    if outside.allocs:
        numbers[_NO_LINE, 0] = outside
    for key, lines in memory_of_lines(profile.memory, alone=True).items():
        numbers.update(((key, line), one) for line, one in lines.items())
    of_edges = edge_memory(profile)
    found = []
    for name, title, part in (
        ("Allocs", "Blocks of memory allocated", "allocs"),
        ("Alloc_B", "Memory allocated (bytes)", "alloc_bytes"),
        ("Live_B", "Memory live at the end (bytes)", "live_bytes"),
        ("Peak_B", "Memory live at the peak (bytes)", "peak_bytes"),
    ):
        event = _Event(name, title)
        of_part = attrgetter(part)
        event.lines = {line: of_part(one) for line, one in numbers.items()}
        event.edges = {edge: of_part(one) for edge, one in of_edges.items()}
        found.append(event)
    return found


def _head(profile: Profile, events: list[_Event], totals: str) -> Iterator[str]:
    """Yield the header."""
    yield "# callgrind format"
    yield "version: 1"
    yield f"creator: lineprof {VERSION}"
    if profile.processes:
        first = profile.processes[0]
        command = printable(" ".join(first.argv))
        yield f"pid: {first.pid}"
        yield f"cmd: {command[:_MAX_COMMAND]}"
    yield "part: 1"
    for sentence in Marks(profile).sentences():
        yield f"desc: Note: {printable(sentence)}"
    yield ""
    yield "positions: line"
    for event in events:
        yield f"event: {event.name} : {event.title}"
    yield f"events: {' '.join(event.name for event in events)}"
    yield f"summary: {totals}"


class _Writer:
    """Writes functions; it numbers files and functions at their first use."""

    def __init__(self, names: ShortNames, events: list[_Event]) -> None:
        self._names = names
        self._events = events
        self._files: dict[str, int] = {}
        self._functions: dict[Key, int] = {}

    def function(self, key: Key, lines: dict[int, list[Edge]]) -> Iterator[str]:
        """Yield a function: its lines' self costs, each followed by its calls."""
        yield ""
        yield f"fl={self._file(key)}"
        yield f"fn={self._name(key)}"
        for line in sorted(lines):
            costs = [event.lines.get((key, line), 0) for event in self._events]
            if any(costs):
                yield _costs(line, costs)
            for edge in lines[line]:
                yield f"cfi={self._file(edge.callee)}"
                yield f"cfn={self._name(edge.callee)}"
                yield f"calls={edge.calls} {max(0, edge.callee[1])}"
                call = edge.ends
                yield _costs(line, [e.edges.get(call, 0) for e in self._events])

    def _file(self, key: Key) -> str:
        return _numbered(self._files, key[0], printable(key[0]) or _UNKNOWN)

    def _name(self, key: Key) -> str:
        return _numbered(self._functions, key, self._names.label(key))


def _numbered(known: dict[NameKey, int], key: NameKey, name: str) -> str:
    """Return a name's number; with the name if it is new."""
    number = known.get(key)
    if number is not None:
        return f"({number})"
    known[key] = number = len(known) + 1
    return f"({number}) {name}"


def _costs(line: int, numbers: list[int]) -> str:
    """Return a line of costs; the format has no numbers below 0."""
    return " ".join([str(max(0, number)) for number in (line, *numbers)])


def remarks(profile: Profile) -> Iterator[str]:
    """Yield how the file differs from the profile."""
    yield from stacks.remarks_of_calls(profile)
    if profile.waits and profile.calls.nodes:
        yield "waits of calls are estimated from their time: see Wait_ns and CPU_ns"
