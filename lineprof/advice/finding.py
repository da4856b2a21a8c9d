"""Findings: facts that the numbers of a profile prove, and what they are computed from.

Times are integers in nanoseconds (ns). The texts of a finding are sentences without
layout; names in them come from the profile, so that a view has to escape them.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from lineprof.advice.source_trees import SourceLines, SourceTrees
from lineprof.model.call_graph import Edge, edges, line_self_ns
from lineprof.model.names import library_of
from lineprof.model.records import (
    DEEPER,
    NO_NODE,
    FunctionStats,
    Key,
    LineTotals,
    node_columns,
)
from lineprof.model.run_parts import run_ns
from lineprof.model.units import NANOSECOND, format_seconds

if TYPE_CHECKING:
    from collections.abc import (
        Collection,
        Container,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from lineprof.model.profile import Profile

Line = tuple[Key, int]  # function, its line; 0: the function's short lines

Number = int | float | str

_MAX_SEARCHED = 2_000_000  # calls: 1 s; more are in no program's profile


class Finding(NamedTuple):
    """One fact about one line, or a few, that a profile proves."""

    kind: str  # one of `lineprof.advice.advise.KINDS`
    places: tuple[Line, ...]  # the line that it is about first
    cost_ns: int  # the time that it is about; 0 if it is about memory
    share: float  # of the run, 0 to 1: see `Evidence.run_ns`; of memory, of the peak
    numbers: tuple[tuple[str, Number], ...]  # behind it, by name
    measured: str  # one sentence: the fact
    advice: str  # one sentence: what usually helps
    cost_bytes: int = 0  # of host memory, if it is about that


class Evidence:
    """A profile, with sums that several kinds of findings need; made when needed."""

    def __init__(self, profile: Profile, sources: SourceLines) -> None:
        self.profile = profile
        self.trees = SourceTrees(profile, sources)
        self._rows: dict[Key, dict[int, LineTotals]] = {}
        self._room = _MAX_SEARCHED

    @cached_property
    def run_ns(self) -> int:
        """The time that is 100 %: see `lineprof.model.run_parts.run_ns`."""
        return run_ns(self.profile)

    def share(self, ns: int) -> float:
        """Return a time as a share of the run, 0 to 1."""
        return min(1.0, ns / self.run_ns) if self.run_ns else 0.0

    def of_run(self, ns: int) -> str:
        """Return a time as a share of the run, in words: ``12.5 % of the run``."""
        return f"{percent(self.share(ns))} of the run"

    @cached_property
    def functions(self) -> Mapping[Key, FunctionStats]:
        """The functions by their keys."""
        return {function.key: function for function in self.profile.functions}

    @cached_property
    def self_ns(self) -> Mapping[Key, Mapping[int, int]]:
        """The time of each line without its callees."""
        return line_self_ns(self.profile, self.edges)

    @cached_property
    def own_ns(self) -> Mapping[Key, Mapping[int, int]]:
        """The time of each of the program's lines without its other functions.

        It has the C functions and those of others that the line led to, and is the same
        whether these were profiled or not.
        """
        found = {
            key: {**lines} for key, lines in self.self_ns.items() if self.is_own(key)
        }
        for (key, line), ns in self._of_others:
            if line in found.get(key, ()):
                found[key][line] += ns
        return found

    def itself(self, lines: Iterable[Line]) -> str:
        """Return how a sentence says which functions are in the own time of lines."""
        callees = {edge.callee for line in lines for edge in self.calls.get(line, ())}
        others = [key for key in callees if key != DEEPER and not self.is_own(key)]
        kind = "libraries" if any(key[0] for key in others) else "functions in C"
        return f"with the {kind} that it called" if others else "itself"

    @property
    def _of_others(self) -> Iterator[tuple[Line, int]]:
        """The time in functions that are not the program's, by the line of the program.

        A line may be in it several times.
        """
        nodes = node_columns(self.profile.calls.nodes)
        other = [key != DEEPER and not self.is_own(key) for key in nodes.functions]
        if not any(other):
            return
        columns = map(nodes.column, ("parent", "line", "function", "self_ns"))
        functions = nodes.column("function")
        places: list[Line | None] = []
        for parent, line, function, self_ns in zip(*columns):
            place = None
            if parent != NO_NODE and other[functions[parent]]:
                place = places[parent]
            elif parent != NO_NODE:
                place = (nodes.functions[functions[parent]], line)
            places.append(place)
            if place and other[function]:
                yield place, self_ns
        for one in self.profile.calls.merged:
            if one.caller and not self.is_own(one.function):
                yield (one.caller, one.line), one.self_ns

    def is_own(self, key: Key) -> bool:
        """Return whether a function is the program's: not of C, nor of others.

        Functions of installed packages and of Python are, if the user named them, or if
        there are no others.
        """
        return bool(key[0]) and not (self._has_others and library_of(key[0]))

    @cached_property
    def _has_others(self) -> bool:
        files = {function.file for function in self.profile.functions}
        return self.profile.is_whole and not all(map(library_of, files))

    def hot_lines(self, min_ns: float) -> Iterator[tuple[Line, int]]:
        """Yield the lines that took more than `min_ns` themselves, with that time."""
        for key, lines in self.own_ns.items():
            yield from (((key, line), ns) for line, ns in lines.items() if ns > min_ns)

    @cached_property
    def edges(self) -> Sequence[Edge]:
        """All calls, by line and callee."""
        return edges(self.profile.calls)

    @cached_property
    def calls(self) -> Mapping[Line, Sequence[Edge]]:
        """The calls from each line."""
        found: dict[Line, list[Edge]] = {}
        for edge in self.edges:
            if edge.caller is not None:
                found.setdefault((edge.caller, edge.line), []).append(edge)
        return found

    def leading_to(self, line: Line) -> Line | None:
        """Return the program's line by which a line of others has the most time.

        It is the line itself if it is the program's; None if no calls lead there.
        """
        seen: set[Key] = set()
        key, number = line
        while not self.is_own(key):
            calls = [one for one in self._into.get(key, ()) if one.caller not in seen]
            edge = max(calls, key=lambda one: one.inclusive_ns, default=None)
            if edge is None or edge.caller is None:
                return None
            seen.add(key)
            key, number = edge.caller, edge.line
        return key, number

    @cached_property
    def _into(self) -> Mapping[Key, Sequence[Edge]]:
        """The calls of each function from others."""
        found: dict[Key, list[Edge]] = {}
        for edge in self.edges:
            if edge.caller is not None:
                found.setdefault(edge.callee, []).append(edge)
        return found

    @cached_property
    def lines_that_call(self) -> Mapping[Key, Sequence[int]]:
        """The lines of each function from which it calls others."""
        found: dict[Key, list[int]] = {}
        for key, line in self.calls:
            found.setdefault(key, []).append(line)
        return found

    def lines(self, key: Key) -> Mapping[int, LineTotals]:
        """Return the measured lines of a function by their numbers."""
        if key not in self._rows:
            function = self.functions.get(key)
            rows = function.rows if function else ()
            self._rows[key] = {row.line: row for row in rows}
        return self._rows[key]

    def hits(self, place: Line) -> int:
        """Return how often a line was executed; 0 if it was not measured."""
        row = self.lines(place[0]).get(place[1])
        return row.hits if row else 0

    def has_function(self, file: str, line: int, name: str) -> bool:
        """Return whether a function without a name of its own, at a line, has lines."""
        return (file, line, name) in self._unnamed

    @cached_property
    def _unnamed(self) -> frozenset[Key]:
        names = ((key, key[2].rpartition(".")[2]) for key in self.functions)
        return frozenset(
            (*key[:2], name) for key, name in names if name.startswith("<")
        )

    @property
    def has_inline_comprehensions(self) -> bool:
        """Whether comprehensions are parts of their functions: since Python 3.12."""
        return not any("3.11." in one.python for one in self.profile.processes)

    def called_here(self, file: str) -> Collection[tuple[int, str]]:
        """Return the functions of a file that only its own profiled lines called.

        They are pairs of the line and the last part of the name.
        """
        return self._called_here.get(file, ())

    @cached_property
    def _called_here(self) -> Mapping[str, Collection[tuple[int, str]]]:
        calls: Counter[Key] = Counter()
        for edge in self.edges:
            if edge.caller is not None and edge.caller[0] == edge.callee[0]:
                calls[edge.callee] += edge.calls
        found: dict[str, set[tuple[int, str]]] = {}
        for file, line, name in calls:
            function = self.functions.get((file, line, name))
            if function and function.calls == calls[function.key]:
                place = (line, name.rpartition(".")[2])
                found.setdefault(file, set()).add(place)
        return found

    def recursed(self, key: Key) -> bool:
        """Return whether a function recursed: then its lines have times twice."""
        function = self.functions.get(key)
        return function is None or function.recursive_ns is not None

    def leads_to(
        self, lines: Iterable[Line], min_ns: float, wanted: Container[Key]
    ) -> bool:
        """Return whether `lines` call a function of `wanted` other than their own.

        The lines are all of one function. They may call it by others; every call of
        the chain has to have taken `min_ns`. All searches together end after
        `_MAX_SEARCHED` calls.
        """
        todo = [*lines]
        own = {key for key, _ in todo}
        seen: set[Key] = set()
        while todo:
            for edge in self.calls.get(todo.pop(), ()):
                self._room -= 1
                key = edge.callee
                if edge.inclusive_ns < min_ns or key in seen or self._room < 0:
                    continue
                if key in wanted and key not in own:
                    return True
                seen.add(key)
                todo += [(key, line) for line in self.lines_that_call.get(key, ())]
        return False


# Numbers in sentences.


def in_words(ns: float) -> str:
    """Return a time (ns) for a sentence: four digits and a unit."""
    return format_seconds(ns * NANOSECOND).strip()


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number of things: ``1 call``, ``2,000 calls``."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def percent(share: float) -> str:
    """Return a share (0 to 1) as text: ``12.5 %``."""
    return f"{100 * share:.1f} %"
