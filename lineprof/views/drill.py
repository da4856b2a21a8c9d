"""What a line or function calls, as tables: the way down to where time goes."""

from __future__ import annotations

from typing import NamedTuple

from lineprof.views.drill_find import Calls, Line, starts
from lineprof.views.find import Finder
from lineprof.views.function_tables import FunctionTables
from lineprof.views.glyphs import glyphs_of
from lineprof.views.grid import counted, in_words, percent
from lineprof.views.waits import footer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lineprof.call_edges import Edge
    from lineprof.records import Key, Row
    from lineprof.source import Sources
    from lineprof.stats import Profile
    from lineprof.views.drill_find import Start
    from lineprof.views.view import Options

_ALL = 100  # %
_MOST_CALLERS = 4
_MOST_STEPS, _FIRST, _LAST = 12, 2, 8  # of a trail; of a longer one


class _Section(NamedTuple):
    """One function to show."""

    trail: tuple[str, ...]
    function: Key
    edge: Edge | None = None  # by which the way came here


def drill(stats: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the tables of what each of `options.targets` calls, hottest first.

    Below each line stands what it called. Raises LineprofError for a target
    that the profile does not have, or has several of.
    """
    calls = Calls(stats)
    finder = Finder(calls.numbers)
    found = starts(stats, calls, finder, options)
    return _Drill(stats, sources, calls, finder, options).lines(found)


class _Drill:
    """Goes down from where it is told to begin."""

    def __init__(
        self,
        stats: Profile,
        sources: Sources,
        calls: Calls,
        finder: Finder,
        options: Options,
    ) -> None:
        self._functions = {function.key: function for function in stats.functions}
        self._stats, self._sources, self._options = stats, sources, options
        self._calls, self._names = calls, finder.names
        self._glyphs = glyphs_of(options.screen)
        self._clean = options.screen.clean
        self._left_out = 0

    def lines(self, found: Sequence[Start]) -> Iterator[str]:
        """Yield all tables."""
        parts = [(start, list(self._sections(start))) for start in found]
        keys = {section.function for _, sections in parts for section in sections}
        tables = FunctionTables(self._part(keys), self._sources, self._options)
        yield from tables.heading()
        for start, sections in parts:
            if isinstance(start.at, Line):
                yield from self._of_line(start.at)
            for section in sections:
                yield from self._above(section)
                yield from tables.of(section.function, self._below(section.function))
        yield from footer(self._stats, self._options)
        if self._left_out:
            yield (
                f"Not followed: {counted(self._left_out, 'callee')} below"
                f" {self._options.min_percent:g} %; --min-percent 0 follows all"
            )

    def _part(self, keys: set[Key]) -> Profile:
        """Return the profile of these functions alone."""
        stats = self._stats
        return type(stats).from_functions(
            (one for key, one in self._functions.items() if key in keys),
            unit=stats.unit,
            gpu=stats.gpu,
            calls=stats.calls,
            waits=(wait for wait in stats.waits if wait.function in keys),
            own_times=stats.own_times,
        )

    def _sections(self, start: Start) -> Iterator[_Section]:
        """Yield the functions to show, each once, the hottest way down first."""
        todo: list[tuple[_Section, int]] = []
        if isinstance(start.at, Line):
            edges = self._calls.on(start.at)
            within = self._within(start.at)
            outer = [edge for edge in edges if edge.caller not in within] or edges
            least = self._least(sum(edge.inclusive_ns for edge in outer))
            todo += self._steps(edges, start.trail, 1, least, on_line=True)
        else:
            least = self._least(self._calls.numbers[start.at].total_ns)
            todo.append((_Section(start.trail, start.at), 1))
        shown: set[Key] = set()
        deepest = self._options.depth or 1
        while todo:
            section, level = todo.pop()
            if section.function in shown:
                continue
            shown.add(section.function)
            yield section
            if level < deepest:
                edges = self._calls.of(section.function)
                new = [edge for edge in edges if edge.callee not in shown]
                todo += self._steps(new, section.trail, level + 1, least)

    def _least(self, ns: int) -> float:
        return self._options.min_percent / _ALL * ns

    def _steps(
        self,
        edges: Sequence[Edge],
        trail: tuple[str, ...],
        level: int,
        least: float,
        *,
        on_line: bool = False,
    ) -> list[tuple[_Section, int]]:
        """Return what these edges lead to, the hottest last."""
        steps = []
        for edge in edges:
            if edge.callee not in self._functions:  # it is no Python
                continue
            if edge.inclusive_ns < least:
                self._left_out += 1
                continue
            caller = edge.caller or edge.callee
            line = () if on_line else (self._names.caller(caller, edge.line),)
            way = self._shortened((*trail, *line, edge.callee[2]))
            steps.append((_Section(way, edge.callee, edge), level))
        return steps[::-1]

    def _shortened(self, trail: tuple[str, ...]) -> tuple[str, ...]:
        if len(trail) <= _MOST_STEPS:
            return trail
        return (*trail[:_FIRST], self._glyphs.dots, *trail[-_LAST:])

    def _of_line(self, line: Line) -> Iterator[str]:
        """Yield what a line took, and what of it is its own.

        It may be of several functions, one within the other, as a lambda is: each
        has a sentence, for the time of one is in that of the other.
        """
        text = (self._sources.line(line.file, line.line) or "").strip()
        name = self._names.line(line.file, line.line)
        yield self._clean(f"{name}: {text}" if text else name)
        rows = self._rows_at(line)
        for key, row in rows.items():
            edges = [edge for edge in self._calls.on(line) if edge.caller == key]
            below = sum(edge.inclusive_ns for edge in edges)
            words = (
                f"{in_words(row.time_ns)} in {counted(row.hits, 'hit')}:"
                f" {in_words(below)} in what it calls"
                f" + {in_words(max(0, row.time_ns - below))} of its own"
            )
            if len(rows) > 1:
                words = f"in {self._names.called(key)}: {words}"
            yield self._clean(words)
            for edge in edges:  # what there is no table of, or which has the line, too
                if edge.callee not in self._functions or edge.callee in rows:
                    yield self._clean(self._called(edge, row.time_ns))
        yield ""

    def _rows_at(self, line: Line) -> dict[Key, Row]:
        """Return the functions that a line is of, each before those within it."""
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

    def _within(self, line: Line) -> set[Key]:
        """Return the functions that a line calls and is of, too."""
        edges = self._calls.on(line)
        of = {edge.caller for edge in edges}
        return {edge.callee for edge in edges if edge.callee in of - {edge.caller}}

    def _above(self, section: _Section) -> Iterator[str]:
        """Yield the way to a function, and where its time comes from."""
        key = section.function
        yield self._clean(f" {self._glyphs.arrow} ".join(section.trail))
        numbers = self._calls.numbers[key]
        into = self._calls.into(key)
        if not into:
            yield ""
            return
        ours = [section.edge] if section.edge else []
        others = [edge for edge in into if edge is not section.edge]
        parts = [self._from(edge) for edge in (ours + others)[:_MOST_CALLERS]]
        rest = (ours + others)[_MOST_CALLERS:]
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
                f"This way came {share} of its time; the lines below count every call."
            )
        yield ""

    def _from(self, edge: Edge) -> str:
        """Return what one line contributes to what it calls."""
        where = "outside"
        if edge.caller is not None:
            where = self._names.caller(edge.caller, edge.line)
        if edge.caller == edge.callee:
            where += " (itself)"
        return f"{in_words(edge.total_ns)} ({counted(edge.calls, 'call')}) from {where}"

    def _below(self, key: Key) -> Mapping[int, list[str]]:
        """Return what stands below each line of a function: what it called."""
        function = self._functions.get(key)
        times = {row.line: row.time_ns for row in function.rows} if function else {}
        below: dict[int, list[str]] = {}
        for edge in self._calls.of(key):
            text = self._called(edge, times.get(edge.line, 0))
            below.setdefault(edge.line, []).append(text)
        return below

    def _called(self, edge: Edge, line_ns: int) -> str:
        """Return what a line called; all of the line took `line_ns`."""
        text = (
            f"| {counted(edge.calls, 'call')} of {self._names.called(edge.callee)}:"
            f" {in_words(edge.inclusive_ns)},"
            f" {percent(edge.inclusive_ns, line_ns)} of the line"
        )
        gpu_ns = self._calls.gpu.get((edge.caller, edge.line, edge.callee), 0)
        return f"{text}, {in_words(gpu_ns)} on GPUs" if gpu_ns else text
