"""Parts of a run: the time of its lines, imports, waits, GPUs, and of measuring."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.call_graph import calling_lines, function_totals, line_self_ns
from lineprof.model.gpu import WAIT
from lineprof.model.names import MODULE
from lineprof.model.records import NO_NODE, OTHER, RUNNABLE, node_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

    SelfTimes = Mapping[Key, Mapping[int, int]]  # ns of each line of each function
    TextOf = Callable[[str, int], str | None]  # of the line of a file

_IMPORT = re.compile(
    r"\s*(import\s+\w|from\s+[.\w]+\s+import\b)|.*\b(import_module|__import__)\("
)


class RunParts(NamedTuple):
    """Times of a run (ns). All but `measuring_ns` add up to `run_ns`."""

    lines_ns: int  # of profiled lines on a processor
    imports_ns: int  # of import statements, with all that ran in them
    waits_ns: int  # of profiled lines: sleep, locks, input and output
    ready_ns: int  # of profiled lines that waited for a free processor
    gpu_ns: int  # of profiled lines that waited for a GPU
    rest_ns: int  # outside of profiled lines
    measuring_ns: int = 0  # the profiler's own cost, which no other number has

    @property
    def run_ns(self) -> int:
        """The time that is 100 %: see `run_ns`."""
        return sum(self) - self.measuring_ns


def run_ns(profile: Profile) -> int:
    """Return the time (ns) of a run, without the profiler's own cost.

    It is the wall time of all processes or, if their threads measured more, the time of
    all lines, each moment once for each thread. A profile without processes and calls
    does not tell what its functions share: then it is the sum of them all.
    """
    return _run_ns(profile, _lines_ns(profile))


def clock_ns(profile: Profile) -> int:
    """Return the time (ns) on the clock in which any process ran, without measuring."""
    found_ns = end = 0
    for one in sorted(profile.processes, key=attrgetter("start_unix_ns")):
        ended = one.start_unix_ns + max(0, one.wall_ns - one.overhead_ns)
        found_ns += max(0, ended - max(end, one.start_unix_ns))
        end = max(end, ended)
    return found_ns


def _run_ns(profile: Profile, lines_ns: int) -> int:
    wall_ns = sum(max(0, one.wall_ns - one.overhead_ns) for one in profile.processes)
    if profile.calls.nodes:
        return max(wall_ns, lines_ns)
    times = [function.total_ns for function in profile.functions]
    return max(wall_ns, *times, 0) if wall_ns else sum(times)


def run_parts(
    profile: Profile, text_of: TextOf, self_ns: SelfTimes | None = None
) -> RunParts:
    """Return the parts of a run; `text_of` is the source of a line, None if unknown.

    Each moment counts once: a wait in an import is part of the import. `self_ns` is
    that of `line_self_ns`, if the caller knows it.
    """
    lines_ns = _lines_ns(profile)
    left_ns = whole_ns = _run_ns(profile, lines_ns)

    def part(ns: int) -> int:
        """Return a time, but no more than is left of the run."""
        nonlocal left_ns
        ns = max(0, min(ns, left_ns))
        left_ns -= ns
        return ns

    rest_ns = part(whole_ns - lines_ns)
    if self_ns is None:
        self_ns = line_self_ns(profile)
    imports = _imports(profile, text_of, self_ns)
    imports_ns = part(imports.ns)
    gpu_ns = part(sum(one.ns for one in profile.gpu.sums if one.kind == WAIT))
    waits = _waits(profile)
    waits.subtract(imports.waits)
    ready_ns = part(waits.pop(RUNNABLE, 0))
    # A thread that waits for a GPU may leave the processor, for an unknown cause.
    waits[OTHER] = max(0, waits[OTHER] - gpu_ns)
    waits_ns = part(sum(waits.values()))
    return RunParts(
        lines_ns=left_ns,
        imports_ns=imports_ns,
        waits_ns=waits_ns,
        ready_ns=ready_ns,
        gpu_ns=gpu_ns,
        rest_ns=rest_ns,
        measuring_ns=sum(one.overhead_ns for one in profile.processes),
    )


def _lines_ns(profile: Profile) -> int:
    """Return the time (ns) of all lines without their callees."""
    return sum(one.self_ns for one in function_totals(profile).values())


class _Imports(NamedTuple):
    """The time of import statements, with all that ran in them."""

    ns: int
    waits: Mapping[str, int]  # the part of it off the processor (ns), by cause


def _imports(profile: Profile, text_of: TextOf, self_ns: SelfTimes) -> _Imports:
    """Return the time of imports; one whose text is unknown does not count."""

    def is_import(key: Key, line: int) -> bool:
        return bool(_IMPORT.match(text_of(key[0], line) or ""))

    nodes = node_columns(profile.calls.nodes)
    keys, called = nodes.functions, nodes.column("function")
    inside: list[bool] = []  # for each node: whether it ran in an import
    by_line = calling_lines(profile.calls.nodes)
    for parent, index, line in zip(nodes.column("parent"), called, by_line):
        is_module = keys[index][2] == MODULE and line is not None and is_import(*line)
        inside.append(is_module or (parent != NO_NODE and inside[parent]))
    found = sum(compress(nodes.column("self_ns"), inside))
    # The lines that import, but for those of functions that ran in an import.
    counted = {keys[index] for index in compress(called, inside)}
    for key, lines in self_ns.items():
        if key not in counted:
            found += sum(ns for at, ns in lines.items() if ns and is_import(key, at))
    waits: Counter[str] = Counter()
    for one in profile.waits:
        if one.function not in counted and is_import(one.function, one.line):
            waits[one.cause] += one.ns
    return _Imports(ns=found, waits=waits)


def _waits(profile: Profile) -> Counter[str]:
    """Return the time (ns) by cause that the threads waited.

    It is the waits of the functions that nobody called, with all that they called.
    """
    nodes = node_columns(profile.calls.nodes)
    from_outside: dict[Key, int] = defaultdict(int)  # ns
    called: set[Key] = set()
    columns = map(nodes.column, ("parent", "function", "inclusive_ns"))
    for parent, index, ns in zip(*columns):
        if parent == NO_NODE:
            from_outside[nodes.functions[index]] += ns
        else:
            called.add(nodes.functions[index])
    by_function: Counter[tuple[Key, str]] = Counter()
    for one in profile.waits:
        if one.function in from_outside:
            by_function[one.function, one.cause] += one.ns
    waits: Counter[str] = Counter()
    for (key, cause), ns in by_function.items():
        # Its calls by others are among the waits of these.
        waits[cause] += min(ns, from_outside[key]) if key in called else ns
    return waits
