"""A profile for KCachegrind, QCachegrind and callgrind_annotate: costs of lines.

The format is described in Valgrind's manual, "Callgrind Format Specification".
Each function has its lines' own costs, and below a line what it calls, with
the cost of that. A name stands once, then its number does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.export import stacks
from lineprof.files import encoded
from lineprof.model.call_graph import (
    Edge,
    edge_gpu_ns,
    edges,
    function_totals,
    line_self_ns,
)
from lineprof.model.gpu import numbers_of_lines, unattributed
from lineprof.model.names import ShortNames, names_of_profile
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeVar

    from lineprof.model.call_graph import EdgeKey
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

    Line = tuple[Key, int]

    _K = TypeVar("_K", str, Key)

    _P = TypeVar("_P", Line, EdgeKey)

_UNKNOWN = "???"  # a file, as callgrind itself names one

_OUTSIDE = (_UNKNOWN, 0, "[outside of profiled functions]")

_NOWHERE = (_UNKNOWN, *stacks.NOWHERE[0][1:])

_MOST_WORDS = 1_000  # characters of the command line


class _Event:
    """One kind of cost: what lines have of it, and edges."""

    def __init__(self, name: str, title: str) -> None:
        self.name = name
        self.title = title
        self.lines: dict[Line, int] = {}
        self.edges: dict[EdgeKey, int] = {}


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the file of `stats`; times in ns, of a line itself and of its calls."""
    calls = edges(stats.calls)
    events = _events(stats, calls)
    totals = " ".join(str(sum(event.lines.values())) for event in events)
    yield from encoded(_head(stats, events, totals))
    writer = _Writer(names_of_profile(stats), events)
    lines: dict[Key, dict[int, list[Edge]]] = {}
    for function in stats.functions:
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


def _events(stats: Profile, calls: Sequence[Edge]) -> list[_Event]:
    """Return the events that the profile has numbers of, time first."""
    time = _Event("ns", "Time (ns)")
    own = line_self_ns(stats)
    for key, numbers in function_totals(stats).items():
        lines = own.get(key) or ({key[1]: numbers.self_ns} if numbers.self_ns else {})
        time.lines.update(((key, line), ns) for line, ns in lines.items())
    time.edges = {
        (edge.caller, edge.line, edge.callee): edge.total_ns for edge in calls
    }
    hits = _Event("Hits", "Executions of lines")
    for function in stats.functions:
        key = function.key
        for cell in function.thread_lines:
            place = (key, cell.line)
            hits.lines[place] = hits.lines.get(place, 0) + cell.hits
    return [time, *_waits(stats, calls, time), *_gpu(stats), hits]


def _waits(stats: Profile, calls: Sequence[Edge], time: _Event) -> list[_Event]:
    """Return the time on a processor, and that on none, if that is known."""
    if not stats.waits:
        return []
    found = OwnWaits(stats, calls, time.lines)
    waits = _Event("Wait_ns", "Time on no processor (ns)")
    waits.lines, waits.edges = found.lines, found.edges
    cpu = _Event("CPU_ns", "Time on a processor (ns)")
    cpu.lines = _less(time.lines, waits.lines)
    cpu.edges = _less(time.edges, waits.edges)
    return [cpu, waits]


def _less(whole: dict[_P, int], part: dict[_P, int]) -> dict[_P, int]:
    return {place: ns - part.get(place, 0) for place, ns in whole.items()}


def _gpu(stats: Profile) -> list[_Event]:
    """Return the time of kernels and memsets, if there were any."""
    event = _Event("GPU_ns", "GPU time (ns)")
    for key, lines in numbers_of_lines(stats.gpu, alone=True).items():
        for line, numbers in lines.items():
            if numbers.self_ns:
                event.lines[key, line] = numbers.self_ns
    if nowhere := unattributed(stats.gpu).gpu_ns:
        event.lines[_NOWHERE, 0] = nowhere
    event.edges = edge_gpu_ns(stats)
    return [event] if event.lines else []


def _head(stats: Profile, events: list[_Event], totals: str) -> Iterator[str]:
    """Yield what stands above the costs."""
    yield "# callgrind format"
    yield "version: 1"
    yield f"creator: lineprof {VERSION}"
    if stats.processes:
        first = stats.processes[0]
        words = printable(" ".join(first.argv))
        yield f"pid: {first.pid}"
        yield f"cmd: {words[:_MOST_WORDS]}"
    yield "part: 1"
    yield ""
    yield "positions: line"
    for event in events:
        yield f"event: {event.name} : {event.title}"
    yield f"events: {' '.join(event.name for event in events)}"
    yield f"summary: {totals}"


class _Writer:
    """What writes functions, and knows which names it has given a number."""

    def __init__(self, names: ShortNames, events: list[_Event]) -> None:
        self._names = names
        self._events = events
        self._files: dict[str, int] = {}
        self._functions: dict[Key, int] = {}

    def function(self, key: Key, lines: dict[int, list[Edge]]) -> Iterator[str]:
        """Yield a function: its lines' costs, each with the calls from there."""
        yield ""
        yield f"fl={self._file(key)}"
        yield f"fn={self._name(key)}"
        for line in sorted(lines):
            own = [event.lines.get((key, line), 0) for event in self._events]
            if any(own):
                yield _costs(line, own)
            for edge in lines[line]:
                yield f"cfi={self._file(edge.callee)}"
                yield f"cfn={self._name(edge.callee)}"
                yield f"calls={edge.calls} {edge.callee[1]}"
                place = (edge.caller, edge.line, edge.callee)
                yield _costs(line, [e.edges.get(place, 0) for e in self._events])

    def _file(self, key: Key) -> str:
        return _numbered(self._files, key[0], printable(key[0]) or _UNKNOWN)

    def _name(self, key: Key) -> str:
        return _numbered(self._functions, key, self._names.alone(key))


def _numbered(known: dict[_K, int], key: _K, name: str) -> str:
    """Return a name's number, at its first time with the name."""
    number = known.get(key)
    if number is not None:
        return f"({number})"
    known[key] = number = len(known) + 1
    return f"({number}) {name}"


def _costs(line: int, numbers: list[int]) -> str:
    return " ".join(map(str, (line, *numbers)))


def remarks(stats: Profile) -> Iterator[str]:
    """Yield what the file does not say itself."""
    yield from stacks.remarks_of_calls(stats)
    if stats.waits and stats.calls.nodes:
        yield "what a call waited is estimated from its time: see Wait_ns and CPU_ns"


# How much of a line's own time was waiting, and how much of each call's.
#
# The profile knows for how long a line waited, with all that it called. What a
# call waited is taken to be the part of its time that its function waited in
# all: that is exact where a function is called from one place. What is left of
# the line's waiting is its own.


class OwnWaits:
    """The waiting (ns) of lines without what they called, and of edges."""

    def __init__(
        self, stats: Profile, calls: Sequence[Edge], own_ns: Mapping[Line, int]
    ) -> None:
        """Take the edges of `stats`, and the own time of all its lines."""
        waits: dict[Line, int] = {}
        functions: dict[Key, int] = {}
        for wait in stats.waits:
            place = (wait.function, wait.line)
            waits[place] = waits.get(place, 0) + wait.ns
            functions[wait.function] = functions.get(wait.function, 0) + wait.ns
        times = {
            function.key: sum(cell.time_ns for cell in function.thread_lines)
            for function in stats.functions
            if function.key in functions
        }
        self.edges: dict[EdgeKey, int] = {}
        for edge in calls:
            time = times.get(edge.callee, 0)
            if not time:
                continue
            waited = functions[edge.callee]
            known = (edge.caller, edge.line, edge.callee)
            self.edges[known] = waited * edge.total_ns // time
            if edge.caller is not None:
                place = (edge.caller, edge.line)
                below = waited * edge.inclusive_ns // time
                waits[place] = waits.get(place, 0) - below
        self.lines = {
            place: min(ns, own_ns.get(place, 0))
            for place, ns in waits.items()
            if ns > 0
        }
