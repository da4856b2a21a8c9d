"""The view --json: a profile for other programs, as docs/json.md describes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from lineprof.model.call_graph import (
    COUNTS_OF_CALLS,
    TIMES_OF_CALLS,
    edge_gpu_ns,
    edges,
    function_totals,
    line_self_ns,
)
from lineprof.model.communication import line_mpi_ns
from lineprof.model.gpu import (
    RECORD_COUNTS,
    GpuNumbers,
    allocated_by,
    numbers_of_functions,
    numbers_of_lines,
    totals,
    unattributed,
)
from lineprof.model.host_memory import (
    MEMORY_NUMBERS,
    NO_BYTES,
    NO_MEMORY,
    memory_of_functions,
    memory_of_lines,
    memory_of_processes,
    outside_memory,
    total_memory,
)
from lineprof.model.records import LineTotals
from lineprof.model.time_split import line_time_splits
from lineprof.report import gpu_memory
from lineprof.report.limits import longest_functions
from lineprof.report.line_table import waits_by_line
from lineprof.report.marks import Marks
from lineprof.report.options import uncalibrated
from lineprof.report.rows import separated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.model.gpu import Gpu
    from lineprof.model.host_memory import HostMemory, MemoryNumbers
    from lineprof.model.profile import Profile
    from lineprof.model.records import FunctionStats, Key
    from lineprof.report.options import Options
    from lineprof.source import Sources

    Fields = dict[str, object]

FORMAT = 1  # raised when a field changes its meaning or is removed


def render(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the profile as one JSON object, with each measured line on one line."""
    if options.raw:
        profile = uncalibrated(profile)
    parts: list[LineFields] = [
        CallFields(profile, raw=options.raw),
        GpuFields(profile.gpu),
        MemoryFields(profile.memory),
    ]
    longest = longest_functions(profile, options)
    functions = [one for one in profile.functions if one.key in longest]
    marks = Marks(profile)
    if options.skip_zero:
        functions = [one for one in functions if lines_of(one, parts)]
    if options.sort:
        functions.sort(key=lambda function: function.total_ns)
    yield f'{{"format": {FORMAT}, "unit": "ns",'
    sections: dict[str, Iterator[Iterable[str]]] = {
        "functions": (
            _function(one, sources, parts, marks.fields(one.key)) for one in functions
        ),
    }
    if profile.calls.nodes:
        sections["calls"] = ([f"  {json.dumps(edge)}"] for edge in _calls(profile))
    sections["processes"] = (
        [f"  {json.dumps(one._asdict())}"] for one in profile.processes
    )
    for name, items in sections.items():
        yield f' "{name}": ['
        yield from separated(items)
        yield " ],"
    last: Fields = {"warnings": profile.warnings}
    if gpu_totals := _gpu_totals(profile.gpu):
        last["gpu"] = gpu_totals
    if profile.memory != NO_MEMORY:
        last["memory"] = _memory_totals(profile.memory)
    *texts, end = [f' "{name}": {json.dumps(value)}' for name, value in last.items()]
    yield from [f"{text}," for text in texts]
    yield f"{end}}}"


def _function(
    function: FunctionStats,
    sources: Sources,
    parts: Sequence[LineFields],
    cuts: list[dict[str, int | None]],
) -> Iterator[str]:
    values = {
        "file": function.file,
        "name": function.name,
        "line": function.line,
        "total_ns": function.total_ns,
        "calls": function.calls,
        **({"cuts": cuts} if cuts else {}),
    }
    for part in parts:
        values.update(part.of_function(function.key))
    yield f'  {json.dumps(values)[:-1]}, "lines": ['
    yield from separated([line] for line in _lines(function, sources, parts))
    yield "  ]}"


def _lines(
    function: FunctionStats, sources: Sources, parts: Sequence[LineFields]
) -> Iterator[str]:
    for row in lines_of(function, parts):
        line = row.line
        values: Fields = {**row.known()}
        for part in parts:
            values.update(part.of_line(function.key, line))
        values["source"] = sources.line(function.file, line)
        yield f"   {json.dumps(values)}"


def lines_of(function: FunctionStats, parts: Iterable[LineFields]) -> list[LineTotals]:
    """Return the lines of a function in order, also those with such fields alone."""
    rows = {row.line: row for row in function.rows}
    for part in parts:
        for line in part.lines_of(function.key):
            rows.setdefault(line, LineTotals(line=line))
    return [row for _, row in sorted(rows.items())]


class LineFields(Protocol):
    """Fields of lines and functions, from one part of a profile."""

    def of_function(self, key: Key) -> Fields:
        """Return a function's fields; {} if the part has no data of it."""

    def of_line(self, key: Key, line: int) -> Fields:
        """Return a line's fields; {} if the part has no data of it."""

    def lines_of(self, key: Key) -> Iterable[int]:
        """Return the lines of a function that are shown, measured or not."""


# Fields of calls and waits.


class CallFields:
    """The numbers of calls and waits of a profile, computed once."""

    def __init__(self, profile: Profile, *, raw: bool) -> None:
        """Take the numbers of all lines and functions.

        With `raw` times, which include the profiler's cost, lines have no self time:
        the cost in their callees is not known.
        """
        has_calls = bool(profile.calls.nodes)
        self._functions = function_totals(profile) if has_calls else {}
        self._self_ns = line_self_ns(profile) if has_calls and not raw else {}
        self._waits = waits_by_line(profile)
        self._mpi_ns = line_mpi_ns(profile)
        self._splits = {} if raw else line_time_splits(profile)

    def of_function(self, key: Key) -> Fields:
        """Return a function's fields; {} if no call of the function is known."""
        numbers = self._functions.get(key)
        if numbers is None:
            return {}
        return {"primitive_calls": numbers.primitive_calls, "self_ns": numbers.self_ns}

    def lines_of(self, _: Key) -> Iterable[int]:
        """Return no lines: calls and waits are on lines that were measured."""
        return ()

    def of_line(self, key: Key, line: int) -> Fields:
        """Return the known fields of a line."""
        fields: Fields = {}
        if (self_ns := self._self_ns.get(key, {}).get(line)) is not None:
            fields["self_ns"] = self_ns
        if (waits := self._waits.get(key, {}).get(line)) is not None:
            fields["off_cpu_ns_by_cause"] = waits
        if mpi_ns := self._mpi_ns.get(key, {}).get(line):
            fields["mpi_ns"] = mpi_ns
        if split := self._splits.get(key, {}).get(line):
            fields["split"] = split._asdict()
        return fields


_OF_CALLS = (*COUNTS_OF_CALLS, *TIMES_OF_CALLS)


def _calls(profile: Profile) -> Iterator[Fields]:
    """Yield the fields of each edge of the call graph."""
    gpu = edge_gpu_ns(profile)
    for edge in edges(profile.calls):
        fields: Fields = {
            "caller": edge.caller,
            "line": edge.line,
            "callee": edge.callee,
            **{name: getattr(edge, name) for name in _OF_CALLS},
        }
        ns = gpu.get(edge.ends)
        yield fields if ns is None else {**fields, "gpu_ns": ns}


# Fields of GPU data.


class GpuFields:
    """The GPU numbers of a profile, computed once."""

    def __init__(self, gpu: Gpu) -> None:
        """Take the numbers of all lines and functions."""
        self._lines = numbers_of_lines(gpu)
        self._functions = numbers_of_functions(gpu)
        self._has_memory = gpu.memory.is_known

    def of_function(self, key: Key) -> Fields:
        """Return a function's fields; {} if it has no GPU data."""
        numbers = self._functions.get(key)
        return fields(numbers, blocks=self._has_memory) if numbers else {}

    def of_line(self, key: Key, line: int) -> Fields:
        """Return a line's fields; {} if it has no GPU data."""
        numbers = self._lines.get(key, {}).get(line)
        return fields(numbers, blocks=self._has_memory) if numbers else {}

    def lines_of(self, key: Key) -> Iterable[int]:
        """Return the lines of a function that have GPU data."""
        return self._lines.get(key, ())


def fields(numbers: GpuNumbers, *, blocks: bool = False) -> Fields:
    """Return the fields of GPU numbers; with `blocks`, live and peak memory as well."""
    memory: Fields = {
        "gpu_live_bytes": numbers.live_bytes,
        "gpu_peak_bytes": numbers.peak_bytes,
    }
    return {
        "gpu_ns": numbers.gpu_ns,
        "gpu_self_ns": numbers.self_ns,
        "gpu_adopted_ns": numbers.adopted_ns,
        "kernels": numbers.kernels,
        "max_kernel_ns": numbers.max_kernel_ns,
        "memsets": numbers.memsets,
        "memset_ns": numbers.memset_ns,
        "memcpy_ns": numbers.memcpy_ns,
        "memcpy_bytes": numbers.memcpy_bytes,
        "memcpy_ns_by_direction": {one.direction: one.ns for one in numbers.copies},
        "memcpy_bytes_by_direction": {
            one.direction: one.bytes for one in numbers.copies
        },
        "waits": numbers.waits,
        "wait_ns": numbers.wait_ns,
        "load_ns": numbers.load_ns,
        "alloc_bytes": numbers.alloc_bytes,
        "free_bytes": numbers.free_bytes,
        **(memory if blocks else {}),
        "migration_ns": numbers.migration_ns,
        "migration_bytes": numbers.migration_bytes,
    }


def _gpu_totals(gpu: Gpu) -> Fields | None:
    """Return the GPU data of the whole profile; None if there are none."""
    runs, blocks = gpu.runs, gpu.memory.is_known
    if not (gpu.sums or any(run.present or run.backend != "none" for run in runs)):
        return None
    total, rest = totals(gpu), unattributed(gpu)
    return {
        "total_ns": total.gpu_ns,
        "unattributed_ns": rest.gpu_ns,
        "busy_ns": sum(device.busy_ns for device in gpu.devices),
        **{name: sum(getattr(run, name) for run in runs) for name in RECORD_COUNTS},
        "totals": fields(total, blocks=blocks),
        "unattributed": fields(rest, blocks=blocks),
        "allocated_by": allocated_by(gpu),
        **({"memory": gpu_memory.fields(gpu)} if blocks else {}),
        "devices": [
            {**device._asdict(), "attributes": dict(device.attributes)}
            for device in gpu.devices
        ],
        "runs": [run._asdict() for run in runs],
    }


# Fields of memory.


class MemoryFields:
    """The memory of a profile's lines, computed once."""

    def __init__(self, memory: HostMemory) -> None:
        """Take the numbers of all lines and functions."""
        self._lines = memory_of_lines(memory)
        self._own_lines = memory_of_lines(memory, alone=True)
        self._functions = memory_of_functions(memory)
        self._own_functions = memory_of_functions(memory, alone=True)

    def of_function(self, key: Key) -> Fields:
        """Return a function's fields; {} if it has no memory."""
        if key not in self._functions:
            return {}
        own = self._own_functions.get(key, NO_BYTES)
        return {**memory_fields(self._functions[key]), **memory_fields(own, "self_")}

    def of_line(self, key: Key, line: int) -> Fields:
        """Return a line's fields; {} if it has no memory."""
        numbers = self._lines.get(key, {}).get(line)
        if numbers is None:
            return {}
        own = self._own_lines.get(key, {}).get(line, NO_BYTES)
        return {**memory_fields(numbers), **memory_fields(own, "self_")}

    def lines_of(self, key: Key) -> Iterable[int]:
        """Return the lines of a function that have memory."""
        return self._lines.get(key, ())


def memory_fields(numbers: MemoryNumbers, kind: str = "") -> Fields:
    """Return the fields of memory; `kind` is "self_" if they are without callees."""
    return {f"host_{kind}{name}": getattr(numbers, name) for name in MEMORY_NUMBERS}


def _memory_totals(memory: HostMemory) -> Fields:
    """Return the memory of the whole profile."""
    totals = memory_of_processes(memory)
    outside = memory_of_processes(memory, outside=True)
    return {
        "totals": memory_fields(total_memory(memory)),
        "outside": memory_fields(outside_memory(memory)),
        "runs": [
            {
                **run._asdict(),
                "totals": memory_fields(totals.get(run.process, NO_BYTES)),
                "outside": memory_fields(outside.get(run.process, NO_BYTES)),
            }
            for run in memory.runs
        ],
    }
