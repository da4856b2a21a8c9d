"""The view --drill: the tables of the functions that a line or a function calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.output import shell_word
from lineprof.console.terminal import box_characters_of
from lineprof.errors import LineprofError
from lineprof.model.call_graph import (
    COUNTS_OF_CALLS,
    TIMES_OF_CALLS,
    edge_gpu_ns,
    edge_memory,
    edges,
    function_totals,
    line_self_ns,
)
from lineprof.model.gpu import numbers_of_lines
from lineprof.model.host_memory import NO_BYTES, memory_of_lines
from lineprof.report import markdown
from lineprof.report.columns import (
    COUNT,
    DATA,
    FUNCTION,
    NS,
    PART,
    PLACE,
    SOURCE,
    Column,
)
from lineprof.report.functions import alloc_column
from lineprof.report.line_table import (
    function_tables,
    memory_totals,
    waits_footer,
)
from lineprof.report.lookup import Finder
from lineprof.report.marks import Marks, Part
from lineprof.report.memory_format import marker
from lineprof.report.options import Options, min_percent_of_calls
from lineprof.report.rows import Rows, rows_of
from lineprof.report.text import TableLayout
from lineprof.report.text_grid import counted, in_bytes, in_words, more_rows, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof.model.call_graph import Edge
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key, LineTotals
    from lineprof.report.columns import Columns
    from lineprof.source import Sources

_MAX_CALLERS = 4  # named above a table

_MAX_STEPS, _FIRST_STEPS, _LAST_STEPS = 12, 2, 8  # of a call path; of one that is cut

_MAX_NEAR_LINES = 10  # in an error message


class Place(NamedTuple):
    """A line of a file, in all functions that have it."""

    file: str
    line: int


class Start(NamedTuple):
    """The line or function to begin with, and the call path to it."""

    path: tuple[str, ...]
    at: Place | Key


class _Section(NamedTuple):
    """One function to show, and the call path to it."""

    path: tuple[str, ...]
    function: Key
    edge: Edge | None = None  # the last one of the call path


def drill(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the tables of the callees of each of `options.targets`, hottest first.

    Below each line stand its callees. Raises LineprofError for a target that is not in
    the profile, or is ambiguous.
    """
    return _Drill(profile, sources, options).lines()


class Calls:
    """The edges of the call graph by caller, by callee and by line."""

    def __init__(self, profile: Profile) -> None:
        self.numbers = function_totals(profile)
        self.gpu = edge_gpu_ns(profile) if profile.gpu.sums else {}
        self.memory = edge_memory(profile)
        self._from: dict[Key, list[Edge]] = {}
        self._into: dict[Key, list[Edge]] = {}
        self._lines: dict[Place, list[Edge]] = {}
        every = edges(profile.calls)
        for edge in sorted(every, key=lambda edge: (-edge.inclusive_ns, -edge.calls)):
            self._into.setdefault(edge.callee, []).append(edge)
            if edge.caller is not None:
                self._from.setdefault(edge.caller, []).append(edge)
                line = Place(file=edge.caller[0], line=edge.line)
                self._lines.setdefault(line, []).append(edge)
        for into in self._into.values():
            into.sort(key=lambda edge: -edge.total_ns)  # recursion counts once

    def by(self, function: Key) -> list[Edge]:
        """Return the calls by a function, the longest first."""
        return self._from.get(function, [])

    def into(self, function: Key) -> list[Edge]:
        """Return the calls of a function, the longest first."""
        return self._into.get(function, [])

    def on(self, line: Place) -> list[Edge]:
        """Return the calls on a line, the longest first."""
        return self._lines.get(line, [])

    def allocated(self, edge: Edge) -> int:
        """Return what was allocated (bytes) in calls."""
        return self.memory.get(edge.ends, NO_BYTES).alloc_bytes

    def lines_in(self, file: str) -> list[int]:
        """Return the lines of a file that have calls."""
        return sorted(line.line for line in self._lines if line.file == file)


class _Drill:
    """The tables below the starts that `options.targets` name."""

    def __init__(self, profile: Profile, sources: Sources, options: Options) -> None:
        self.calls = Calls(profile)
        self._finder = Finder(self.calls.numbers)
        self._names = self._finder.names
        self._functions = {function.key: function for function in profile.functions}
        self._profile, self._sources, self._options = profile, sources, options
        self._characters = box_characters_of(options.terminal)
        self._clean = options.terminal.clean
        self._marks = Marks(profile)
        self._mark = marker(profile.memory)
        self._skipped = 0
        self._min_percent = min_percent_of_calls(options)
        self._starts = self._named_starts()

    # The lines and functions that the values of --drill name.

    def _named_starts(self) -> list[Start]:
        """Return the starts; LineprofError for a target that is not in the profile.

        Targets that are the steps of one call path make one start, at the last step.
        """
        found: list[Start] = []
        reached: list[Key] = []
        for text in self._options.targets:
            at = self._target(text)
            path: tuple[str, ...] = ()
            through = self._through(at, reached)
            if through is not None:
                path = found.pop().path
            if isinstance(at, Place):
                if through is not None and path[-1] != self._names.name(through):
                    path += (self._names.name(through),)
                step = self._names.line(at.file, at.line)
                reached = [edge.callee for edge in self.calls.on(at)]
            else:
                step, reached = self._names.name(at), [at]
            found.append(Start(path=(*path, step), at=at))
        return found

    def _through(self, at: Place | Key, reached: Iterable[Key]) -> Key | None:
        """Return the function among `reached` that calls or contains `at`, if any."""
        for key in reached:
            for edge in self.calls.by(key):
                if at in (edge.callee, Place(file=key[0], line=edge.line)):
                    return key
        return None

    def _target(self, text: str) -> Place | Key:
        """Return the line, or the function, that a user names by `text`.

        A line without calls stands for its function: for the one that starts there,
        else for one that has the line.
        """
        place = self._finder.place(text)
        if place is None:
            key = self._finder.function(text)
            if key not in self._functions:
                why = "was called and not profiled" if key[0] else "is a C function"
                raise LineprofError(
                    f"{key[2]} {why}: it has no lines",
                    hint=f"lineprof view --callers {shell_word(key[2])} shows who"
                    " calls it",
                )
            return key
        line = Place(*place)
        if self.calls.on(line):
            return line
        inside = [
            key
            for key, function in self._functions.items()
            if key[0] == line.file
            and any(cell.line == line.line for cell in function.thread_lines)
        ]
        starting = [key for key in self._functions if key[:2] == line]
        found = starting or inside
        if found:
            return found[0]
        known = self.calls.lines_in(line.file)
        near = sorted(known, key=lambda number: abs(number - line.line))
        hint = "lineprof view --functions lists all functions"
        if near:
            lines = ", ".join(map(str, near[:_MAX_NEAR_LINES]))
            hint = f"the nearest lines that call functions: {lines}"
        raise LineprofError(f"nothing was measured on {text}", hint=hint)

    # The tables on the way down.

    def lines(self) -> Iterator[str]:
        """Yield all tables."""
        parts, more = self.parts()
        keys = {section.function for _, sections in parts for section in sections}
        layout = TableLayout(self._profile.unit, self._options, self._sources)
        shown = self._profile.of_functions(keys)
        tables = {one.key: one for one in function_tables(shown, self._options)}
        yield from layout.heading()
        for start, sections in parts:
            if isinstance(start.at, Place):
                yield from self._line_heading(start.at)
            for section in sections:
                yield from self._above(section)
                key = section.function
                table = tables[key].with_rows_below(self._below(key))
                yield from layout.table(table, self._sources.block(*key))
        yield from waits_footer(self._profile, self._options)
        yield from memory_totals(self._profile, self._options)
        yield from more_rows(more)
        if self._skipped:
            yield (
                f"Not followed: {counted(self._skipped, 'callee')} below"
                f" {self._min_percent:g} %; --min-percent 0 follows all"
            )

    def parts(self) -> tuple[list[tuple[Start, list[_Section]]], int]:
        """Return the first tables, as --limit says, and the number of the others."""
        parts = [(start, list(self._sections(start))) for start in self._starts]
        left = self._options.limit or sum(len(sections) for _, sections in parts)
        more = 0
        for _, sections in parts:
            more += len(sections[left:])
            del sections[left:]
            left -= len(sections)
        return parts, more

    def _sections(self, start: Start) -> Iterator[_Section]:
        """Yield the functions to show, each once, the hottest call path first."""
        todo: list[tuple[_Section, int]] = []
        min_share = self._min_percent / 100
        if isinstance(start.at, Place):
            edges = self.calls.on(start.at)
            within = self._within(start.at)
            outer = [edge for edge in edges if edge.caller not in within] or edges
            min_ns = min_share * sum(edge.inclusive_ns for edge in outer)
            todo += self._steps(edges, start.path, 1, min_ns)
        else:
            min_ns = min_share * self.calls.numbers[start.at].total_ns
            todo.append((_Section(path=start.path, function=start.at), 1))
        shown: set[Key] = set()
        max_depth = self._options.depth or 1
        while todo:
            section, level = todo.pop()
            if section.function in shown:
                continue
            shown.add(section.function)
            yield section
            if level < max_depth:
                edges = self.calls.by(section.function)
                new = [edge for edge in edges if edge.callee not in shown]
                todo += self._steps(new, section.path, level + 1, min_ns)

    def _steps(
        self, edges: Sequence[Edge], path: tuple[str, ...], level: int, min_ns: float
    ) -> list[tuple[_Section, int]]:
        """Return the sections of the callees of `edges`, the hottest last."""
        steps = []
        for edge in edges:
            if edge.callee not in self._functions:  # it is a C function
                continue
            if edge.inclusive_ns < min_ns:
                self._skipped += 1
                continue
            caller = edge.caller or edge.callee
            # The first path ends with the line already.
            line = (self._names.caller(caller, edge.line),) if level > 1 else ()
            shortened = self._shortened((*path, *line, self._names.name(edge.callee)))
            section = _Section(path=shortened, function=edge.callee, edge=edge)
            steps.append((section, level))
        return steps[::-1]

    def _shortened(self, path: tuple[str, ...]) -> tuple[str, ...]:
        if len(path) <= _MAX_STEPS:
            return path
        return (*path[:_FIRST_STEPS], self._characters.dots, *path[-_LAST_STEPS:])

    def _line_heading(self, line: Place) -> Iterator[str]:
        """Yield the time of a line, that of its callees and its self time.

        A line may belong to several functions, one within the other, as with a lambda:
        each function has a sentence, because its time includes the inner function's.
        """
        text = (self._sources.line(line.file, line.line) or "").strip()
        name = self._names.line(line.file, line.line)
        if isinstance(self._options.terminal, markdown.Document):
            yield self._options.terminal.emphasized(name)
            yield markdown.Block(markdown.code(text))
        else:
            yield self._clean(f"{name}: {text}" if text else name)
        rows = self._rows_at(line)
        for key, row in rows.items():
            edges = [edge for edge in self.calls.on(line) if edge.caller == key]
            callees_ns = sum(edge.inclusive_ns for edge in edges)
            sentence = (
                f"{in_words(row.time_ns)} in {counted(row.hits, 'hit')}:"
                f" {in_words(callees_ns)} in what it calls"
                f" + {in_words(max(0, row.time_ns - callees_ns))} of its own"
            )
            if len(rows) > 1:
                sentence = f"in {self._names.called(key)}: {sentence}"
            yield self._clean(sentence)
            for edge in edges:  # callees without a table of their own
                if edge.callee not in self._functions or edge.callee in rows:
                    yield self._clean(self._called(edge, row.time_ns))
        yield ""

    def _rows_at(self, line: Place) -> dict[Key, LineTotals]:
        """Return the functions that have a line, each before those within it."""
        rows = {
            key: row
            for key, function in self._functions.items()
            if key[0] == line.file
            for row in function.rows
            if row.line == line.line
        }
        within = self._within(line)
        order = sorted(rows, key=lambda key: (key in within, -rows[key].time_ns))
        return {key: rows[key] for key in order}

    def _within(self, line: Place) -> set[Key]:
        """Return the functions that a line calls and that also have it."""
        edges = self.calls.on(line)
        callers = {edge.caller for edge in edges}
        return {edge.callee for edge in edges if edge.callee in callers - {edge.caller}}

    def _above(self, section: _Section) -> Iterator[str]:
        """Yield the call path to a function, and its callers with their times."""
        key = section.function
        yield self._clean(f" {self._characters.arrow} ".join(section.path))
        numbers = self.calls.numbers[key]
        into = self.calls.into(key)
        if not into:
            yield ""
            return
        # The edge of the call path goes first.
        into = sorted(into, key=lambda edge: edge is not section.edge)
        parts = [self._from(edge) for edge in into[:_MAX_CALLERS]]
        rest = into[_MAX_CALLERS:]
        if rest:
            ns = sum(edge.total_ns for edge in rest)
            parts.append(f"{in_words(ns)} from {len(rest)} more places")
        yield self._clean(
            f"{counted(numbers.calls, 'call')}, {in_words(numbers.total_ns)} ="
            f" {' + '.join(parts)}"
        )
        if section.edge and section.edge.total_ns < numbers.total_ns:
            share = percent(section.edge.total_ns, numbers.total_ns)
            yield (
                f"{share} of its time came by this call path; the lines below count"
                " every call."
            )
        yield ""

    def _from(self, edge: Edge) -> str:
        """Return the time that a function has from one of its callers."""
        place = "outside"
        if edge.caller is not None:
            place = self._names.caller(edge.caller, edge.line)
        if edge.caller == edge.callee:
            place += " (itself)"
        return f"{in_words(edge.total_ns)} ({counted(edge.calls, 'call')}) from {place}"

    def _below(self, key: Key) -> Mapping[int, list[str]]:
        """Return the rows below each line of a function: its callees."""
        times = self._functions[key].line_ns
        return {
            line: [self._called(edge, times.get(line, 0)) for edge in edges]
            for line, edges in self._callees(key).items()
        }

    def _callees(self, key: Key) -> dict[int, list[Edge]]:
        """Return the calls by each line of a function, the longest first."""
        found: dict[int, list[Edge]] = {}
        for edge in self.calls.by(key):
            found.setdefault(edge.line, []).append(edge)
        return found

    def rows(self, sections: Iterable[_Section]) -> Iterator[_DrillRow]:
        """Yield the lines of functions for other programs, each before its callees."""
        own = line_self_ns(self._profile)
        gpu = self._profile.gpu
        gpu_lines = numbers_of_lines(gpu) if gpu.sums else {}
        of_lines = memory_of_lines(self._profile.memory)
        for section in sections:
            key, callees = section.function, self._callees(section.function)
            memory = of_lines.get(key, {})
            for line in self._functions[key].rows:
                numbers = gpu_lines.get(key, {}).get(line.line)
                row = _DrillRow(
                    path=" -> ".join(section.path),
                    place=(key, line.line),
                    line=line,
                    edge=None,
                    self_ns=own.get(key, {}).get(line.line),
                    gpu_ns=numbers.gpu_ns if numbers else None,
                    alloc_bytes=memory.get(line.line, NO_BYTES).alloc_bytes,
                    part=self._marks.part(key),
                )
                yield row
                for edge in callees.get(line.line, ()):
                    yield row._replace(
                        line=None,
                        edge=edge,
                        self_ns=None,
                        gpu_ns=self.calls.gpu.get(edge.ends),
                        alloc_bytes=self.calls.allocated(edge),
                        part=self._marks.part(edge.callee),
                    )

    def _called(self, edge: Edge, line_ns: int) -> str:
        """Return a row about one callee of a line that took `line_ns`."""
        text = (
            f"| {counted(edge.calls, 'call')} of {self._names.called(edge.callee)}:"
            f" {in_words(edge.inclusive_ns)},"
            f" {percent(edge.inclusive_ns, line_ns)} of the line"
            f"{self._marks.after(edge.callee)}"
        )
        gpu_ns = self.calls.gpu.get(edge.ends, 0)
        text += f", {in_words(gpu_ns)} on GPUs" if gpu_ns else ""
        size = self.calls.allocated(edge)
        return f"{text}, {in_bytes(self._mark(size))} allocated" if size else text


# For other programs.


class _DrillRow(NamedTuple):
    """A line of a function, or a function that it calls."""

    path: str
    place: tuple[Key, int]
    line: LineTotals | None
    edge: Edge | None
    self_ns: int | None
    gpu_ns: int | None
    alloc_bytes: int
    part: Part | None


def _of_edge(name: str) -> Callable[[_DrillRow], object]:
    return lambda row: row.edge and getattr(row.edge, name)


DRILL: Columns = {
    "path": Column(DATA),
    "place": Column(PLACE),
    "hits": Column(COUNT, value=lambda row: row.line and row.line.hits),
    "time_ns": Column(NS, value=lambda row: row.line and row.line.time_ns),
    "self_ns": Column(NS),
    "callee": Column(FUNCTION, value=_of_edge("callee")),
    **{name: Column(COUNT, value=_of_edge(name)) for name in COUNTS_OF_CALLS},
    **{name: Column(NS, value=_of_edge(name)) for name in TIMES_OF_CALLS},
    "gpu_ns": Column(NS),
    "part": Column(PART),
    "source": Column(SOURCE, value=lambda row: row.line and row.place),
}


def drill_rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --drill: each line, and below it its callees.

    Raises LineprofError as `drill` does.
    """
    drill = _Drill(profile, sources, options)
    parts, more = drill.parts()
    sections = [section for _, of_start in parts for section in of_start]
    columns = {**DRILL, **alloc_column(profile)}
    return rows_of(columns, drill.rows(sections), sources, more=more)
