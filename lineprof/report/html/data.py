"""The numbers of the HTML report, as columns for its scripts.

All times are integers in nanoseconds (ns), all sizes bytes. A table is a mapping from
the names of its columns to lists of the same length; functions, files and lines are
named by their index in `functions`, `files` and `lines`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING

from lineprof.model.call_graph import (
    TOTALS,
    edge_gpu_ns,
    edges,
    function_totals,
    line_self_ns,
)
from lineprof.model.clocks import Clock
from lineprof.model.gpu import (
    DRIVER,
    GPU_TIME_KINDS,
    KINDS,
    MEMCPY,
    NO_PATH,
    RUNTIME,
    GpuNumbers,
    numbers_of_functions,
    numbers_of_lines,
    totals,
    unattributed,
)
from lineprof.model.host_memory import knows_memory, memory_of_lines
from lineprof.model.names import MODULE, short_names
from lineprof.model.own_waits import own_waits
from lineprof.model.rank_lines import WHOLE, ranks_of, values_of
from lineprof.model.rank_spread import line_spreads, run_spread, useful_ns
from lineprof.model.records import NO_NODE, LineTotals, node_columns
from lineprof.model.relation import NONE
from lineprof.model.run_parts import clock_ns, run_parts
from lineprof.report import gpu_idle, gpu_memory
from lineprof.report.advice import advice_of
from lineprof.report.call_tree import deeper_sentence
from lineprof.report.functions import call_notes
from lineprof.report.gpu_format import activity_name, call_name, kernel_name
from lineprof.report.html.memory import (
    columns_of_functions,
    columns_of_lines,
    tables_of_processes,
)
from lineprof.report.html.paths import Paths
from lineprof.report.html.summary import summary
from lineprof.report.line_table import breakdowns_by_line, waits_by_line
from lineprof.report.marks import Marks
from lineprof.report.notes import notes
from lineprof.report.options import Options, uncalibrated
from lineprof.report.overview import is_program
from lineprof.report.run_bar import shown_parts
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeVar

    from lineprof.model.gpu import Gpu, GpuSum
    from lineprof.model.profile import Profile
    from lineprof.model.rank_spread import LineSpread
    from lineprof.model.records import Key, Ranks
    from lineprof.model.timelines import Batch
    from lineprof.report.html.paths import Table
    from lineprof.source import Sources

    Value = TypeVar("Value")

_MAX_MATRIX_LINES = 400  # of the ranks, those with the most lost time

_NO_NUMBERS = GpuNumbers()  # of a line without work on a GPU


class Collector:
    """Computes the numbers of one profile; packed columns are in `blobs`."""

    def __init__(self, profile: Profile, sources: Sources, options: Options) -> None:
        self._profile = uncalibrated(profile) if options.raw else profile
        self._sources = sources
        self._options = options
        self.blobs: list[bytes] = []
        self._totals = function_totals(self._profile)
        self._functions = {key: index for index, key in enumerate(self._totals)}
        paths = dict.fromkeys(key[0] for key in self._totals if key[0])
        self._files = {path: index for index, path in enumerate(paths)}
        self._names = short_names(self._totals)
        self._edges = edges(self._profile.calls)
        # Callees have no times as measured, so that lines have no own ones.
        known = profile if profile.calls.nodes else self._profile
        self._self_ns = line_self_ns(known, self._edges)
        self._parts = run_parts(self._profile, sources.line, self._self_ns)
        self.title = self._title()

    def data(self) -> dict[str, object]:
        """Return all numbers, each table computed once."""
        gpu = self._profile.gpu
        data: dict[str, object] = {
            "title": self.title,
            "version": VERSION,
            "run": self._run(),
            "files": self._file_table(),
            "functions": self._function_table(),
            "modules": self._modules(),
            "lines": self._lines(),
            "edges": self._edge_table(),
            "tree": self._tree(),
            "processes": [one._asdict() for one in self._profile.processes],
            "threads": [one._asdict() for one in self._profile.threads],
            "deeper": deeper_sentence(self._profile),
            "hasCalls": bool(self._profile.calls.nodes),
            "timeline": self._timeline(),
        }
        if is_program(self._profile):
            data["summary"] = summary(self._profile, self._parts, self._function)
        if gpu.sums or gpu.runs:
            data["gpu"] = self._gpu()
        memory = self._profile.memory
        if knows_memory(memory):
            data["memory"] = tables_of_processes(memory, self._function)
        ranks = self._ranks()
        if ranks:
            data["ranks"] = ranks
        data["advice"] = self._advice()
        data["notes"] = [
            *notes(self._profile, self._sources, tables=False),
            *call_notes(self._profile, Options()),
        ]
        return data

    def _title(self) -> str:
        argv = next((one.argv for one in self._profile.processes if one.argv), ())
        if argv:
            return " ".join([os.path.basename(argv[0]), *argv[1:]])
        files = [*self._files]
        return self._names.file(files[0]) if len(files) == 1 else "Profile"

    def _run(self) -> dict[str, object]:
        """Return the parts of the run (ns), and `ns`, which is 100 % everywhere."""
        return {
            "ns": self._parts.run_ns,
            "clock": clock_ns(self._profile),
            "measuring": self._parts.measuring_ns,
            "parts": shown_parts(self._parts),
        }

    # Source.

    def _file_table(self) -> dict[str, list[object]]:
        """Return the files: their name, path and text; None if that is unknown."""
        texts = map(self._sources.lines, self._files)
        return {
            "name": [self._names.file(path) for path in self._files],
            "path": [*self._files],
            "text": ["\n".join(lines) if lines else None for lines in texts],
        }

    # Functions and lines.

    def _function_table(self) -> Table:
        """Return the functions, registered ones first and then C functions."""
        keys = [*self._totals]
        totals = [*self._totals.values()]
        names = zip(("calls", "primitive", "self", "total"), TOTALS)
        marks = Marks(self._profile)
        table: Table = {
            "file": [self._files.get(key[0], NONE) for key in keys],
            "line": [key[1] for key in keys],
            "name": [key[2] for key in keys],
            "mark": [marks.after(key) for key in keys],
            **{short: [getattr(one, name) for one in totals] for short, name in names},
        }
        if not any(one.recurses for one in totals):
            del table["primitive"]
        gpu = numbers_of_functions(self._profile.gpu) if self._profile.gpu.sums else {}
        if gpu:
            numbers = [gpu.get(key, _NO_NUMBERS) for key in keys]
            table |= _gpu_columns(numbers, self._profile.gpu)
        table |= columns_of_functions(self._profile.memory, keys)
        return _without_zeros(table, {"mark"})

    def _modules(self) -> dict[int, str]:
        """Return the names of functions that are the code of a file."""
        return {
            index: self._names.name(key)
            for key, index in self._functions.items()
            if key[2] == MODULE
        }

    def _lines(self) -> Table:
        """Return the measured lines of all functions, in the functions' order."""
        profile = self._profile
        gpu = numbers_of_lines(profile.gpu) if profile.gpu.sums else {}
        memory = memory_of_lines(profile.memory)
        places: list[tuple[Key, int]] = []
        table: Table = {name: [] for name in _LINE_COLUMNS}
        for function in profile.functions:
            measured = {row.line: row for row in function.rows}
            allocating = memory.get(function.key, ())
            for line in sorted({*measured, *gpu.get(function.key, ()), *allocating}):
                row = measured.get(line) or LineTotals(line=line)
                places.append((function.key, line))
                table["function"].append(self._functions[function.key])
                table["line"].append(line)
                table["hits"].append(row.hits)
                table["time"].append(row.time_ns)
                table["await"].append(row.await_ns)
                table["min"].append(_or_none(row.min_ns))
                table["max"].append(_or_none(row.max_ns))
        table["self"] += _of_places(places, self._self_ns, 0)
        table |= _cause_columns(places, profile)
        if gpu:
            alone = numbers_of_lines(profile.gpu, alone=True)
            numbers = _of_places(places, gpu, _NO_NUMBERS)
            table |= _gpu_columns(numbers, profile.gpu)
            own = _of_places(places, alone, _NO_NUMBERS)
            table["gpuOwn"] = [one.self_ns for one in own]
        table |= columns_of_lines(profile.memory, places)
        found = own_waits(profile, places)
        if found:
            table["ownWait"] = [found[place].max_ns for place in places]
        return _without_zeros(table, {"await", "min", "max", "gpuOwn"})

    # Calls.

    def _edge_table(self) -> Table:
        """Return the calls of each function from each line."""
        gpu = edge_gpu_ns(self._profile) if self._profile.gpu.sums else {}
        every = self._edges
        table: Table = {
            "caller": [self._function(one.caller) for one in every],
            "line": [one.line for one in every],
            "callee": [self._function(one.callee) for one in every],
            "calls": [one.calls for one in every],
            "total": [one.total_ns for one in every],
            "inclusive": [one.inclusive_ns for one in every],
            "gpu": [gpu.get(one.ends, 0) for one in every],
        }
        return _without_zeros(table, {"gpu"})

    def _function(self, key: Key | None) -> int:
        return NONE if key is None else self._functions.get(key, NONE)

    def _tree(self) -> Table:
        """Return the call paths of all threads together, callers before callees.

        They are in the order in which each was first called. Without calls, each
        function is a root with its whole time. The time of a path is that of `self` in
        all paths below it and `recursive`: inner calls have their callees below the
        outermost call of their function. The part `repeated` of it is that of calls
        while another one of the function was open.
        """
        paths = Paths()
        nodes = node_columns(self._profile.calls.nodes)
        functions = [self._function(key) for key in nodes.functions]
        at: list[int] = []  # the path of each node
        names = ("parent", "line", "function", "calls", "self_ns")
        for parent, line, function, calls, ns in zip(*map(nodes.column, names)):
            above = NONE if parent == NO_NODE else at[parent]
            at.append(paths.add((above, line, functions[function]), calls, ns))
        if not at:
            for one in self._profile.functions:
                paths.add((NONE, 0, self._functions[one.key]), one.calls, one.total_ns)
            return paths.table()
        table = paths.table()
        times = paths.sums(at, nodes.column("inclusive_ns"))
        once = paths.sums(at, nodes.column("total_ns"))
        table["recursive"] = paths.not_below(times)
        table["repeated"] = [ns - ns_once for ns, ns_once in zip(times, once)]
        return _without_zeros(table, {"recursive", "repeated"})

    # Timelines.

    def _timeline(self) -> dict[str, object]:
        """Return the slices of lines and the events of GPUs, packed as they are."""
        profile = self._profile
        clock = Clock(profile)
        return {
            "traces": [
                {
                    "process": one.process,
                    "count": one.count,
                    "leftOut": one.left_out,
                    "minLine": one.min_line_ns or 0,
                    "origin": str(one.origin_ns),
                    "zero": clock.zero_of(one),
                    "functions": [self._function(key) for key in one.functions],
                    "names": [
                        key[2] if key not in self._functions else ""
                        for key in one.functions
                    ],
                    "threads": [*one.threads],
                    "batches": [self._batch(batch) for batch in one.batches],
                }
                for one in profile.traces
            ],
            "gpu": [
                {
                    "process": one.process,
                    "count": one.count,
                    "origin": str(one.origin_ns),
                    "zero": clock.zero_of(one),
                    "firstPath": one.first_path,
                    "names": [_shown(name) for name in one.names],
                    "launches": [launch._asdict() for launch in one.launches],
                    "batches": [self._batch(batch) for batch in one.batches],
                }
                for one in profile.gpu.timelines
            ],
        }

    def _batch(self, batch: Batch) -> dict[str, object]:
        columns = {}
        for name, data in batch.columns:
            columns[name] = len(self.blobs)
            self.blobs.append(data)
        return {"count": batch.events, "columns": columns}

    # GPUs.

    def _gpu(self) -> dict[str, object]:
        gpu = self._profile.gpu
        total, rest = totals(gpu), unattributed(gpu)
        return {
            "total": total.gpu_ns,
            "copies": total.memcpy_ns,
            "unattributed": rest.gpu_ns,
            "devices": [one._asdict() for one in gpu.devices],
            "runs": [one._asdict() for one in gpu.runs],
            "paths": self._paths(),
            "sums": self._sums(),
            "tree": self._gpu_tree(),
            "idle": self._idle(),
            "kinds": [*KINDS],
            "memory": [*gpu_memory.footer(self._profile)],
        }

    def _paths(self) -> dict[str, list[int]]:
        """Return the innermost line of each launch's call path, and its thread."""
        paths = self._profile.gpu.paths
        return {
            "function": [self._function(one.lines[-1][0]) for one in paths],
            "line": [one.lines[-1][1] for one in paths],
            "thread": [NONE if one.adopted else one.thread for one in paths],
        }

    def _sums(self) -> Table:
        """Return the sums of GPU work, of copies and of calls, by line and name."""
        gpu = self._profile.gpu
        rows: dict[tuple[int, int, str, str, int], tuple[int, ...]] = {}
        for one in gpu.sums:
            function, line = NONE, 0
            if one.path != NO_PATH:
                place, line = gpu.paths[one.path].lines[-1]
                function = self._function(place)
            name = _name(one)
            key = (function, line, one.kind, name, one.device)
            old = rows.get(key, (0, 0, one.min_ns, one.max_ns, 0))
            rows[key] = (
                old[0] + one.count,
                old[1] + one.ns,
                min(old[2], one.min_ns),
                max(old[3], one.max_ns),
                old[4] + one.bytes,
            )
        names = ("function", "line", "kind", "name", "device")
        table: Table = {
            name: [key[index] for key in rows] for index, name in enumerate(names)
        }
        for index, name in enumerate(("count", "ns", "min", "max", "bytes")):
            table[name] = [row[index] for row in rows.values()]
        return table

    def _gpu_tree(self) -> Table:
        """Return the call paths of GPU work; its leaves are the names of the work.

        The number of a name is below 0: -2 is the first one.
        """
        gpu = self._profile.gpu
        paths = Paths()
        names: dict[str, int] = {}
        for one in gpu.sums:
            if one.kind not in GPU_TIME_KINDS and one.kind != MEMCPY:
                continue
            at, line = NONE, 0
            if one.path != NO_PATH:
                for key, below in gpu.paths[one.path].lines:
                    at = paths.add((at, line, self._function(key)))
                    line = below
            number = -2 - names.setdefault(_name(one), len(names))
            paths.add((at, line, number), one.count, one.ns)
        return paths.table() | {"names": [*names]}

    def _idle(self) -> dict[str, object] | None:
        """Return the lines that left a GPU idle; None without a timeline."""
        if not self._profile.gpu.timelines:
            return None

        made = gpu_idle.rows(self._profile, self._sources, self._options)
        rows = [
            {
                **{name: row[name] for name in made.columns if name.endswith("_ns")},
                "device": row["device"],
                "function": self._function(
                    (row["file"], row["function_line"], row["function"])  # type: ignore[arg-type]
                ),
                "line": row["line"] or 0,
            }
            for row in made.rows
        ]
        causes = {
            name: one.title for name, one in gpu_idle.GPU_IDLE.items() if one.optional
        }
        return {"rows": rows, "causes": causes, **made.totals}

    # Advice.

    def _advice(self) -> dict[str, object]:
        """Return what the numbers prove, and what was not looked for."""
        found = advice_of(self._profile, self._sources)
        first = found.first
        return {
            "findings": [
                {
                    "kind": one.kind,
                    "cost": one.cost_ns,
                    **({"bytes": one.cost_bytes} if one.cost_bytes else {}),
                    "share": one.share,
                    "measured": one.measured,
                    "advice": one.advice,
                    "places": [
                        [self._function(key), line or key[1]]
                        for key, line in one.places
                    ],
                }
                for one in found.findings
            ],
            "first": NONE if first is None else found.findings.index(first),
            "unchecked": [f"{kind}: {why}" for kind, why in found.unchecked],
            "missing": [*found.missing],
        }

    # Ranks.

    def _ranks(self) -> dict[str, object] | None:
        """Return the spread of lines over ranks, and their times on each rank."""
        ranks = ranks_of(self._profile)
        if not ranks.runs:
            return None
        run = run_spread(ranks)
        spreads = sorted(
            (
                one
                for (key, line), one in line_spreads(ranks).items()
                if line != WHOLE and key in self._functions
            ),
            key=lambda one: -one.own.lost,
        )
        return {
            "numbers": [one.rank for one in ranks.runs],
            "wall": [one.wall_ns for one in ranks.runs],
            "mpi": [one.mpi_ns for one in ranks.runs],
            "balance": run.efficiency.load_balance,
            "communication": run.efficiency.communication,
            "parallel": run.efficiency.parallel,
            "lines": {
                "function": [self._function(one.key) for one in spreads],
                "line": [one.line for one in spreads],
                "hits": [one.hits for one in spreads],
                "ran": [one.ran for one in spreads],
                "time": [one.time.sum for one in spreads],
                "mpi": [one.mpi_ns for one in spreads],
                "max": [one.own.max for one in spreads],
                "rank": [one.own.max_rank for one in spreads],
                "mean": [round(one.own.mean) for one in spreads],
                "min": [one.own.min for one in spreads],
                "sd": [round(one.own.sd) for one in spreads],
                "imbalance": [one.own.imbalance for one in spreads],
                "lost": [one.own.lost for one in spreads],
            },
            "matrix": _matrix(ranks, spreads[:_MAX_MATRIX_LINES]),
        }


def _matrix(ranks: Ranks, spreads: Sequence[LineSpread]) -> list[list[int]]:
    """Return the own time of each line on each rank."""
    rows = {(one.key, one.line): [0] * len(ranks.runs) for one in spreads}
    for column, run in enumerate(ranks.runs):
        values = values_of(ranks, run)
        for place, ns in zip(values.places, useful_ns(values)[1]):
            row = rows.get(ranks.places[place])
            if row is not None:
                row[column] = ns
    return [*rows.values()]


_LINE_COLUMNS = ("function", "line", "hits", "time", "self", "await", "min", "max")


def _or_none(number: int | None) -> int:
    return NONE if number is None else number


def _of_places(
    places: Sequence[tuple[Key, int]],
    values: Mapping[Key, Mapping[int, Value]],
    otherwise: Value,
) -> list[Value]:
    """Return the value of each line; `values` are by function and line."""
    return [values.get(key, {}).get(line, otherwise) for key, line in places]


def _cause_columns(places: Sequence[tuple[Key, int]], profile: Profile) -> Table:
    """Return a column for each cause of waits, and for each part of own time."""
    waits, parts = waits_by_line(profile), breakdowns_by_line(profile)
    table: Table = defaultdict(lambda: [0] * len(places))
    for index, (key, line) in enumerate(places):
        for cause, ns in waits.get(key, {}).get(line, {}).items():
            table[f"wait:{cause}"][index] = ns
        for name, ns in parts.get(key, {}).get(line, {}).items():
            table[name][index] = ns
    return table


def _gpu_columns(numbers: Sequence[GpuNumbers], gpu: Gpu) -> Table:
    """Return the GPU columns of lines or functions."""
    blocks: Table = {}
    if gpu.memory.is_known:
        blocks = {
            "freeBytes": [one.free_bytes for one in numbers],
            "gpuLive": [one.live_bytes for one in numbers],
            "gpuPeak": [one.peak_bytes for one in numbers],
        }
    return {
        "gpu": [one.gpu_ns for one in numbers],
        "kernels": [one.kernels for one in numbers],
        "copy": [one.memcpy_ns for one in numbers],
        "copyBytes": [one.memcpy_bytes for one in numbers],
        "sync": [one.wait_ns for one in numbers],
        "load": [one.load_ns for one in numbers],
        "allocBytes": [one.alloc_bytes for one in numbers],
        **blocks,
    }


def _without_zeros(table: Table, names: Iterable[str]) -> Table:
    """Return `table` without those columns of `names` in which nothing is known."""
    unknown = {0, NONE, ""}
    return {
        name: column
        for name, column in table.items()
        if name not in names or not unknown.issuperset(column)
    }


def _shown(name: str) -> str:
    """Return the name of a kernel or a call in a timeline as people know it."""
    return kernel_name(name) if name.startswith("_Z") else call_name(name)


def _name(one: GpuSum) -> str:
    return (
        call_name(one.name)
        if one.kind in {RUNTIME, DRIVER}
        else activity_name(one.kind, one.name)
    )
