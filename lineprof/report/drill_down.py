"""What a line or function calls, as tables: the way down to where time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import box_characters_of
from lineprof.errors import LineprofError
from lineprof.model.call_graph import edges, gpu_of_edges, numbers_of
from lineprof.report.line_table import function_tables, waits_footer
from lineprof.report.lookup import Finder
from lineprof.report.text import table_layout
from lineprof.report.text_grid import counted, in_words, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.model.call_graph import Edge
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key, LineTotals
    from lineprof.report.options import Options
    from lineprof.source import Sources

_ALL = 100  # %

_MOST_CALLERS = 4

_MOST_STEPS, _FIRST, _LAST = 12, 2, 8  # of a trail; of a longer one


class _Section(NamedTuple):
    """One function to show."""

    trail: tuple[str, ...]
    function: Key
    edge: Edge | None = None  # by which the way came here


def drill(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the tables of what each of `options.targets` calls, hottest first.

    Below each line stands what it called. Raises LineprofError for a target
    that the profile does not have, or has several of.
    """
    calls = Calls(profile)
    finder = Finder(calls.numbers)
    found = starts(profile, calls, finder, options)
    return _Drill(profile, sources, calls, finder, options).lines(found)


class _Drill:
    """Goes down from where it is told to begin."""

    def __init__(
        self,
        profile: Profile,
        sources: Sources,
        calls: Calls,
        finder: Finder,
        options: Options,
    ) -> None:
        self._functions = {function.key: function for function in profile.functions}
        self._profile, self._sources, self._options = profile, sources, options
        self._calls, self._names = calls, finder.names
        self._glyphs = box_characters_of(options.terminal)
        self._clean = options.terminal.clean
        self._left_out = 0

    def lines(self, found: Sequence[Start]) -> Iterator[str]:
        """Yield all tables."""
        parts = [(start, list(self._sections(start))) for start in found]
        keys = {section.function for _, sections in parts for section in sections}
        layout = table_layout(self._profile.unit, self._options)
        tables = {
            table.key: table
            for table in function_tables(self._part(keys), self._options)
        }
        yield from layout.heading()
        for start, sections in parts:
            if isinstance(start.at, Line):
                yield from self._of_line(start.at)
            for section in sections:
                yield from self._above(section)
                key = section.function
                table = tables[key].with_rows_below(self._below(key))
                yield from layout.table(table, self._sources.block(*key))
        yield from waits_footer(self._profile, self._options)
        if self._left_out:
            yield (
                f"Not followed: {counted(self._left_out, 'callee')} below"
                f" {self._options.min_percent:g} %; --min-percent 0 follows all"
            )

    def _part(self, keys: set[Key]) -> Profile:
        """Return the profile of these functions alone."""
        profile = self._profile
        return type(profile).from_functions(
            (one for key, one in self._functions.items() if key in keys),
            unit=profile.unit,
            gpu=profile.gpu,
            calls=profile.calls,
            waits=(wait for wait in profile.waits if wait.function in keys),
            own_times=profile.own_times,
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

    def _rows_at(self, line: Line) -> dict[Key, LineTotals]:
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


# From what --drill was given to the functions to show, and the way down to them.


_MOST_LISTED = 10


class Line(NamedTuple):
    """A line, in all functions that have it."""

    file: str
    line: int


class Calls:
    """Who calls whom, by line: what a way down can be found by."""

    def __init__(self, profile: Profile) -> None:
        self.numbers = numbers_of(profile)
        self.gpu = gpu_of_edges(profile) if profile.gpu.sums else {}
        self.has_any = bool(profile.calls.nodes)
        self._from: dict[Key, list[Edge]] = {}
        self._into: dict[Key, list[Edge]] = {}
        self._lines: dict[Line, list[Edge]] = {}
        for edge in sorted(edges(profile.calls), key=_cost):
            self._into.setdefault(edge.callee, []).append(edge)
            if edge.caller is not None:
                self._from.setdefault(edge.caller, []).append(edge)
                line = Line(edge.caller[0], edge.line)
                self._lines.setdefault(line, []).append(edge)
        for into in self._into.values():
            into.sort(key=lambda edge: -edge.total_ns)  # of recursion, what counts

    def of(self, function: Key) -> list[Edge]:
        """Return what a function calls, the longest first."""
        return self._from.get(function, [])

    def into(self, function: Key) -> list[Edge]:
        """Return what calls a function, the longest first."""
        return self._into.get(function, [])

    def on(self, line: Line) -> list[Edge]:
        """Return what a line calls, the longest first."""
        return self._lines.get(line, [])

    def lines_in(self, file: str) -> list[int]:
        """Return the lines of a file that call anything."""
        return sorted(line.line for line in self._lines if line.file == file)


def _cost(edge: Edge) -> tuple[int, int]:
    return -edge.inclusive_ns, -edge.calls


class Start(NamedTuple):
    """Where to begin, and the way there."""

    trail: tuple[str, ...]
    at: Line | Key


def starts(
    profile: Profile, calls: Calls, finder: Finder, options: Options
) -> list[Start]:
    """Return where to begin; LineprofError for what the profile does not have.

    Targets that are the steps of one way down are one start, its last.
    """
    found: list[Start] = []
    reached: set[Key] = set()
    for text in options.targets:
        at = _target(text, profile, calls, finder)
        trail: tuple[str, ...] = ()
        if reached:
            through = _through(at, reached, calls)
            if through is not None:
                trail = found.pop().trail
                if isinstance(at, Line) and trail[-1] != through[2]:
                    trail += (through[2],)
        found.append(Start((*trail, _step(at, finder)), at))
        is_line = isinstance(at, Line)
        reached = {edge.callee for edge in calls.on(at)} if is_line else {at}  # type: ignore[arg-type]
    return found


def _step(at: Line | Key, finder: Finder) -> str:
    """Return what a trail calls a line or a function."""
    if isinstance(at, Line):
        return finder.names.line(at.file, at.line)
    return at[2]


def _through(at: Line | Key, reached: Iterable[Key], calls: Calls) -> Key | None:
    """Return which of the functions `reached` leads on to `at`, if any does."""
    for key in reached:
        for edge in calls.of(key):
            if isinstance(at, Line):
                if Line(key[0], edge.line) == at:
                    return key
            elif edge.callee == at:
                return key
    return None


def _target(text: str, profile: Profile, calls: Calls, finder: Finder) -> Line | Key:
    """Return the line, or the function, that a user calls `text`.

    The first line of a function that calls nothing itself is the function; so
    is any line of a function that calls nothing.
    """
    place = finder.place(text)
    if place is None:
        key = finder.function(text)
        if not key[0]:
            raise LineprofError(
                f"{key[2]} is no Python: it has no lines",
                hint=f"lineprof view --callers {key[2]} shows who calls it",
            )
        return key
    line = Line(*place)
    if calls.on(line):
        return line
    inside = [
        function.key
        for function in profile.functions
        if function.file == line.file
        and any(cell.line == line.line for cell in function.cells)
    ]
    starting = [key for key in calls.numbers if key[:2] == place]
    for keys in (starting, inside):
        if keys:
            return keys[0]
    known = calls.lines_in(line.file)
    near = sorted(known, key=lambda number: abs(number - line.line))[:_MOST_LISTED]
    raise LineprofError(
        f"nothing was measured on {text}",
        hint=f"the nearest lines that call functions: {', '.join(map(str, near))}"
        if near
        else "lineprof view --functions lists all functions",
    )
