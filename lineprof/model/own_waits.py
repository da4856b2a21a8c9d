"""Waits of lines themselves, without the waits of profiled functions that they called.

A profile has the waits of a line with its callees. The part of a callee follows if the
line alone calls it; else it lies between bounds, and so does the line's own wait. With
``--split`` the profile has own waits.

The bounds come from sums: the waits of all lines of a function are those of all its
calls, and no call waited for longer than it took.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.call_graph import edges, function_totals, line_self_ns
from lineprof.model.records import RUNNABLE, WAIT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from lineprof.model.call_graph import CallSite, Edge, FunctionTotals, Line
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key, Process

    Causes = dict[str, int]  # ns by cause

    Bounds = tuple[int, int]  # ns, the least and the most

    CauseBounds = dict[str, Bounds]

_ALL = ""  # key in `Causes` of the sum

_BLOCKED = "blocked"  # key in `Causes` of the sum without waits for a processor

_SAME = 100  # two bounds are one number if they differ by less than 1/100


class OwnWait(NamedTuple):
    """The time (ns) that a line itself waited, between two bounds."""

    min_ns: int
    max_ns: int
    cause: str = ""  # of at least half of `max_ns`, if any

    @property
    def is_known(self) -> bool:
        """Whether the bounds are one number, to 1 %."""
        return (self.max_ns - self.min_ns) * _SAME <= self.max_ns


def own_waits(profile: Profile, lines: Collection[Line]) -> dict[Line, OwnWait]:
    """Return the own wait of each of `lines`; {} if the profile has no waits."""
    if not profile.waits:
        return {}
    waits = _OwnWaits(profile, edges(profile.calls))
    return {line: waits.own(line) for line in lines}


class OwnTime(NamedTuple):
    """The parts of the own time of a line, a function or the program, as bounds."""

    cpu: Bounds  # on a processor
    waits: Bounds  # but for a processor
    ready: Bounds  # waits for a processor
    causes: Mapping[str, Bounds] = {}  # of `waits`


class OwnTimes(NamedTuple):
    """The parts of the own times of a profile; without waits all of it is `cpu`."""

    lines: dict[Line, OwnTime]
    functions: dict[Key, OwnTime]  # C functions as well
    whole: OwnTime  # of all functions
    self_ns: Mapping[Key, Mapping[int, int]] = {}  # of lines, with all waits
    totals: Mapping[Key, FunctionTotals] = {}  # of functions


def knows_waits(profile: Profile) -> bool:
    """Return whether waits were measured, or no line can have waited.

    No line did if each process was on a processor for all of its time, and all lines
    together took no longer than that.
    """
    if profile.waits:
        return True
    own_ns = sum(one.self_ns for one in function_totals(profile).values())
    cpu = [one.cpu_ns or 0 for one in profile.processes if _is_busy(one)]
    return not own_ns or (len(cpu) == len(profile.processes) and own_ns <= sum(cpu))


def _is_busy(process: Process) -> bool:
    """Return whether a process surely was on a processor for all of its time."""
    cpu_ns = process.cpu_ns
    return cpu_ns is not None and process.wall_ns <= _IDLE * cpu_ns + _IDLE_NS


_IDLE, _IDLE_NS = 1.05, 5_000_000  # so much longer is no wait of a line


def own_times(profile: Profile) -> OwnTimes:
    """Return the parts of all own times of a profile that knows its callers."""
    return _OwnWaits(profile, edges(profile.calls)).times(profile)


def inclusive_times(profile: Profile) -> OwnTimes:
    """Return the parts of all times with callees of a profile that knows its callers.

    Waits are known with callees. `whole` is as in `own_times`.
    """
    waits = _OwnWaits(profile, edges(profile.calls))
    return waits.inclusive(profile)._replace(whole=waits.times(profile).whole)


def min_waits(
    profile: Profile, lines: Collection[Line], every: Sequence[Edge]
) -> dict[Line, Causes]:
    """Return the time (ns) by cause that each of `lines` waited itself, at least.

    C functions that the line called count as part of it. Causes without any such time
    are left out. `every` has the edges of the profile's calls.
    """
    if not lines or not profile.waits:
        return {}
    waits = _OwnWaits(profile, every)
    return {line: waits.least(line) for line in lines}


class _OwnWaits:
    """The waits and calls of a profile, by line."""

    def __init__(self, profile: Profile, every: Sequence[Edge]) -> None:
        self._profile = profile
        self._every = every
        self._waits: dict[Line, Causes] = defaultdict(lambda: defaultdict(int))
        self._of_functions: dict[Key, Causes] = defaultdict(lambda: defaultdict(int))
        for wait in profile.waits:
            of_function = self._of_functions[wait.function]
            keys = [_ALL, wait.cause, *([_BLOCKED] if wait.cause != RUNNABLE else [])]
            for sums in (self._waits[wait.function, wait.line], of_function):
                for cause in keys:
                    sums[cause] += wait.ns
        self._split: dict[Line, int] = defaultdict(int)
        for one in profile.breakdowns:
            if one.part == WAIT:
                self._split[one.function, one.line] += one.ns
        self._is_split = bool(profile.breakdowns)
        self._from: dict[CallSite, list[Edge]] = defaultdict(list)
        self._into_ns: dict[Key, int] = defaultdict(int)
        for edge in every:
            self._into_ns[edge.callee] += edge.inclusive_ns
            self._from[edge.caller, edge.line].append(edge)

    @cached_property
    def _self_ns(self) -> dict[Key, dict[int, int]]:
        return line_self_ns(self._profile, self._every)

    def own(self, line: Line) -> OwnWait:
        """Return the own wait of a line."""
        key, number = line
        causes = self._waits.get(line, {})
        bounds = {cause: self._bounds(line, cause) for cause in causes}
        min_ns, max_ns = bounds.pop(_ALL, (0, 0))
        bounds.pop(_BLOCKED, None)
        if self._is_split:
            min_ns = max_ns = self._split.get(line, 0)
        max_ns = min(max_ns, self._self_ns.get(key, {}).get(number, 0))
        most = max(bounds, key=lambda cause: bounds[cause][1], default="")
        if not max_ns or (most and 2 * bounds[most][1] < max_ns):
            most = ""
        return OwnWait(min_ns=min(min_ns, max_ns), max_ns=max_ns, cause=most)

    def _bounds(self, line: Line, cause: str) -> Bounds:
        """Return the bounds of a line's own wait for one cause (ns)."""
        return self._without(self._waits[line][cause], self._from.get(line, ()), cause)

    def _without(self, whole: int, calls: Iterable[Edge], cause: str) -> Bounds:
        """Return the bounds of a wait (ns) without the waits in these calls."""
        into: dict[Key, int] = defaultdict(int)
        for edge in calls:
            into[edge.callee] += edge.inclusive_ns
        parts = [self._part(callee, ns, cause) for callee, ns in into.items()]
        most = sum(part[1] for part in parts)
        least = sum(part[0] for part in parts)
        return max(0, whole - most), max(0, whole - least)

    def _part(self, callee: Key, inclusive_ns: int, cause: str) -> Bounds:
        """Return the bounds of the wait (ns) in calls that took `inclusive_ns`."""
        if not callee[0]:  # a C function: what it waited has no lines
            return 0, inclusive_ns
        waited = self._of_functions.get(callee, {}).get(cause, 0)
        most = min(waited, inclusive_ns)
        elsewhere_ns = self._into_ns[callee] - inclusive_ns
        return min(most, max(0, waited - elsewhere_ns)), most

    def times(self, profile: Profile) -> OwnTimes:
        """Return the parts of all own times.

        Waits that lie between bounds on each of two lines may be known of both.
        """
        totals = function_totals(profile)
        self_ns = {key: one.self_ns for key, one in totals.items()}
        calls_of: dict[Key | None, list[Edge]] = defaultdict(list)
        for edge in self._every:
            calls_of[edge.caller].append(edge)
        line_ns: dict[Line, int] = {
            (function.key, number): ns
            for function in profile.functions
            for number, ns in function.line_ns.items()
        }
        waits: dict[Line, CauseBounds] = {
            line: {cause: self._bounds(line, cause) for cause in causes}
            for line, causes in self._waits.items()
        }
        if self._is_split:
            for line in line_ns:
                split_ns = self._split.get(line, 0)
                waits.setdefault(line, {})[_ALL] = (split_ns, split_ns)
        lines = {
            line: _own_time(self._self_ns[line[0]].get(line[1], 0), waits.get(line, {}))
            for line in line_ns
        }
        of_c = self._of_c_functions(line_ns)
        functions = {key: _own_time(self_ns[key], of_c.get(key, {})) for key in self_ns}
        parts: dict[Key, list[OwnTime]] = defaultdict(list)
        for (key, _), one in lines.items():
            parts[key].append(one)
        for key, sums in self._of_functions.items():
            if key in self_ns:
                bounds = self._all_without(sums, calls_of[key])
                functions[key] = _sum(self_ns[key], bounds, parts[key])
        whole: Causes = defaultdict(int)
        for sums in self._of_functions.values():
            for cause, ns in sums.items():
                whole[cause] += ns
        inner = [edge for edge in self._every if edge.callee[0] and edge.caller]
        return OwnTimes(
            lines,
            functions,
            whole=_sum(
                sum(self_ns.values()),
                self._all_without(whole, inner),
                [*functions.values()],
            ),
            self_ns=self._self_ns,
            totals=totals,
        )

    def inclusive(self, profile: Profile) -> OwnTimes:
        """Return the parts of all times with callees; `whole` has no time."""

        def parts(ns: int, causes: Causes) -> OwnTime:
            return _own_time(ns, {cause: (one, one) for cause, one in causes.items()})

        lines = {
            (function.key, number): parts(
                ns, self._waits.get((function.key, number), {})
            )
            for function in profile.functions
            for number, ns in function.line_ns.items()
        }
        functions = {
            key: parts(one.total_ns, self._of_functions.get(key, {}))
            for key, one in function_totals(profile).items()
        }
        return OwnTimes(lines, functions, whole=parts(0, {}))

    def _all_without(self, causes: Causes, calls: Sequence[Edge]) -> CauseBounds:
        """Return the bounds of waits by cause without the waits in these calls."""
        return {cause: self._without(ns, calls, cause) for cause, ns in causes.items()}

    def _of_c_functions(self, line_ns: Mapping[Line, int]) -> dict[Key, CauseBounds]:
        """Return the bounds of the own waits of C functions, by cause.

        What a line waited beyond the rest of its time, it waited in the C function.
        """
        found: dict[Key, CauseBounds] = {}
        every = sorted({c for causes in self._of_functions.values() for c in causes})
        for edge in self._every:
            if edge.callee[0]:
                continue
            waits = found.setdefault(edge.callee, dict.fromkeys(every, (0, 0)))
            line = (edge.caller or edge.callee, edge.line)
            rest_ns = max(0, line_ns.get(line, 0) - edge.inclusive_ns)
            for cause in every:
                least, most = waits[cause]
                ns = edge.inclusive_ns  # called from C or from outside: all of it
                if line in line_ns:
                    ns = self._waits.get(line, {}).get(cause, 0)
                    least += max(0, ns - rest_ns)
                waits[cause] = least, most + min(ns, edge.inclusive_ns)
        for key, waits in found.items():
            for cause, (least, most) in waits.items():
                less = self._without(least, self._from.get((key, 0), ()), cause)
                more = self._without(most, self._from.get((key, 0), ()), cause)
                waits[cause] = less[0], more[1]
        return found

    def least(self, line: Line) -> Causes:
        """Return how long a line waited by cause, without Python functions' waits."""
        found: Causes = {}
        for cause, ns in self._waits.get(line, {}).items():
            of_callees = sum(
                self._most_of(edge, cause) for edge in self._from.get(line, ())
            )
            if cause not in {_ALL, _BLOCKED} and ns > of_callees:
                found[cause] = ns - of_callees
        return found

    def _most_of(self, edge: Edge, cause: str) -> int:
        """Return how long Python functions waited in the calls of one edge, at most."""
        if edge.callee[0]:
            return self._part(edge.callee, edge.inclusive_ns, cause)[1]
        most, todo, seen = 0, [edge.callee], {edge.callee}
        while todo:
            key = todo.pop()
            for one in self._from.get((key, 0), ()):
                if one.callee[0]:
                    most += self._part(one.callee, one.inclusive_ns, cause)[1]
                elif one.callee not in seen:
                    seen.add(one.callee)
                    todo.append(one.callee)
        return min(most, edge.inclusive_ns)


def _sum(self_ns: int, waits: CauseBounds, parts: Sequence[OwnTime]) -> OwnTime:
    """Return the parts of an own time (ns), which are also the sums of `parts`."""
    one = _own_time(self_ns, waits)

    def both(bounds: Bounds, of_parts: Sequence[Bounds]) -> Bounds:
        high = min(bounds[1], sum(part[1] for part in of_parts))
        return min(max(bounds[0], sum(part[0] for part in of_parts)), high), high

    return one._replace(
        cpu=both(one.cpu, [part.cpu for part in parts]),
        waits=both(one.waits, [part.waits for part in parts]),
        ready=both(one.ready, [part.ready for part in parts]),
        causes={
            cause: both(bounds, [part.causes.get(cause, (0, 0)) for part in parts])
            for cause, bounds in one.causes.items()
        },
    )


def _own_time(self_ns: int, waits: Mapping[str, Bounds]) -> OwnTime:
    """Return the parts of an own time (ns), of which these are the waits by cause."""
    nothing = (0, 0)
    if not waits:
        return OwnTime(cpu=(self_ns, self_ns), waits=nothing, ready=nothing)
    least, most = _within(waits.get(_ALL, nothing), 0, self_ns)
    ready = _within(waits.get(RUNNABLE, nothing), 0, most)
    blocked = _within(waits.get(_BLOCKED, nothing), least - ready[1], most)
    ready = _within(ready, least - blocked[1], most)
    sums = {_ALL, _BLOCKED, RUNNABLE}
    causes = {cause: one for cause, one in waits.items() if cause not in sums}
    most_ns = sum(high for _, high in causes.values())
    return OwnTime(
        cpu=(self_ns - most, self_ns - least),
        waits=blocked,
        ready=ready,
        causes={
            cause: _within(one, blocked[0] - (most_ns - one[1]), blocked[1])
            for cause, one in causes.items()
        },
    )


def _within(bounds: Bounds, least: int, most: int) -> Bounds:
    """Return bounds that are `least` or more, and `most` or less."""
    high = min(bounds[1], most)
    return min(max(bounds[0], least), high), high
