"""What the JSON of a profile says of calls and waits: docs/json.md describes it."""

from __future__ import annotations

from dataclasses import dataclass

from lineprof.call_edges import edges, gpu_of_edges, numbers_of, own_line_ns
from lineprof.collectives import mpi_of_lines
from lineprof.split import split_of_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lineprof.call_edges import FunctionNumbers
    from lineprof.records import Key
    from lineprof.split import Split
    from lineprof.stats import Profile

    Fields = dict[str, object]


@dataclass(frozen=True)
class CallFields:
    """What lines and functions have of calls and waits, worked out once."""

    functions: Mapping[Key, FunctionNumbers]
    own_ns: Mapping[Key, Mapping[int, int]]
    waits: Mapping[tuple[Key, int], Mapping[str, int]]  # ns by cause
    mpi_ns: Mapping[Key, Mapping[int, int]]
    splits: Mapping[Key, Mapping[int, Split]]

    def of_function(self, key: Key) -> Fields:
        """Return a function's fields; none when no call of it is known."""
        numbers = self.functions.get(key)
        if numbers is None:
            return {}
        return {"primitive_calls": numbers.primitive_calls, "self_ns": numbers.self_ns}

    def of_line(self, key: Key, line: int) -> Fields:
        """Return a line's fields; none of what is not known of it."""
        fields: Fields = {}
        own = self.own_ns.get(key, {}).get(line)
        if own is not None:
            fields["self_ns"] = own
        if (key, line) in self.waits:
            fields["off_cpu_ns_by_cause"] = self.waits[key, line]
        mpi = self.mpi_ns.get(key, {}).get(line)
        if mpi:
            fields["mpi_ns"] = mpi
        split = self.splits.get(key, {}).get(line)
        if split:
            fields["split"] = split._asdict()
        return fields


def call_fields(stats: Profile, *, raw: bool) -> CallFields:
    """Return the fields of all lines and functions.

    Of `raw` times, which have the profiler's cost, none is a line's own: the
    cost of what it called is not known apart.
    """
    waits: dict[tuple[Key, int], dict[str, int]] = {}
    for wait in stats.waits:
        causes = waits.setdefault((wait.function, wait.line), {})
        causes[wait.cause] = causes.get(wait.cause, 0) + wait.ns
    known = bool(stats.calls.nodes)
    return CallFields(
        functions=numbers_of(stats) if known else {},
        own_ns=own_line_ns(stats) if known and not raw else {},
        waits=waits,
        mpi_ns=mpi_of_lines(stats),
        splits={} if raw else split_of_lines(stats),
    )


def call_list(stats: Profile) -> Iterator[Fields]:
    """Yield each edge by the names that docs/json.md has."""
    gpu = gpu_of_edges(stats)
    for edge in edges(stats.calls):
        fields: Fields = {
            "caller": edge.caller,
            "line": edge.line,
            "callee": edge.callee,
            "calls": edge.calls,
            "primitive_calls": edge.primitive_calls,
            "total_ns": edge.total_ns,
            "inclusive_ns": edge.inclusive_ns,
        }
        ns = gpu.get((edge.caller, edge.line, edge.callee))
        yield fields if ns is None else {**fields, "gpu_ns": ns}
