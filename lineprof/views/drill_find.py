"""From what --drill was given to the functions to show, and the way down to them."""

from __future__ import annotations

from typing import NamedTuple

from lineprof.call_edges import edges, gpu_of_edges, numbers_of
from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineprof.call_edges import Edge
    from lineprof.records import Key
    from lineprof.stats import Profile
    from lineprof.views.find import Finder
    from lineprof.views.view import Options

_MOST_LISTED = 10


class Line(NamedTuple):
    """A line, in all functions that have it."""

    file: str
    line: int


class Calls:
    """Who calls whom, by line: what a way down can be found by."""

    def __init__(self, stats: Profile) -> None:
        self.numbers = numbers_of(stats)
        self.gpu = gpu_of_edges(stats) if stats.gpu.sums else {}
        self.has_any = bool(stats.calls.nodes)
        self._from: dict[Key, list[Edge]] = {}
        self._into: dict[Key, list[Edge]] = {}
        self._lines: dict[Line, list[Edge]] = {}
        for edge in sorted(edges(stats.calls), key=_cost):
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
    stats: Profile, calls: Calls, finder: Finder, options: Options
) -> list[Start]:
    """Return where to begin; LineprofError for what the profile does not have.

    Targets that are the steps of one way down are one start, its last.
    """
    found: list[Start] = []
    reached: set[Key] = set()
    for text in options.targets:
        at = _target(text, stats, calls, finder)
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


def _target(text: str, stats: Profile, calls: Calls, finder: Finder) -> Line | Key:
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
        for function in stats.functions
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
