"""The call tree by cost, however deep it is: nothing here recurses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import BoxCharacters, box_characters_of
from lineprof.model.call_graph import CallPath, call_paths_of
from lineprof.model.names import short_names
from lineprof.report.text_grid import grid, percent, percent_of, time_unit_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.options import Options
    from lineprof.source import Sources

_ALL = 100  # %

_EMPHASIZED = 20  # % of the whole, in the function itself

_LONGEST_CHAIN = 8  # of functions that do little but call the next one

_ENDS = 3  # of a longer chain, at its beginning and at its end

_MOST_INDENTED = 16  # levels: below them, indentation begins anew


class _Spot(NamedTuple):
    """Where a row stands."""

    head: str  # what is drawn before it
    under: str  # and before what is below it
    depth: int  # of indentation


class _Row(NamedTuple):
    """One row; without a way, `words` say what is left out."""

    way: CallPath | None
    spot: _Spot
    ns: int
    calls: int
    words: str = ""
    recurs: bool = False


class _Todo(NamedTuple):
    """A way that is to be shown, with all below it."""

    way: CallPath
    level: int
    spot: _Spot


class _Leave(NamedTuple):
    """Here all is shown that is below these functions."""

    functions: tuple[Key | None, ...]


def tree(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield a row for each way down that took `options.min_percent` of the whole.

    Times are those of the function with all that it called there, and add up:
    what stands below a row, with the function's own time, is its time.
    """
    whole = call_paths_of(profile)
    total = whole.inclusive_ns
    words_of = _Words(profile, sources, box_characters_of(options.terminal))
    times = time_unit_for([total])
    cells, hot = [], []
    for row in _Walk(whole, options).rows():
        numbers = (times.text(row.ns), percent(row.ns, total), f"{row.calls}")
        cells.append((*numbers, row.spot.head + words_of.row(row)))
        own_ns = row.way.self_ns if row.way else 0
        hot.append(percent_of(own_ns, total) >= _EMPHASIZED)
    titles = (*times.titles("Time"), "Share", "Calls", "Function, and its hottest line")
    yield from grid(titles, cells, options.terminal, hot=hot)


class _Words:
    """What is said of a function: its name, and the line that took most time."""

    def __init__(
        self, profile: Profile, sources: Sources, glyphs: BoxCharacters
    ) -> None:
        self._functions = {function.key: function for function in profile.functions}
        self._names = short_names(self._functions)
        self._sources = sources
        self._arrow = glyphs.arrow
        self._hottest: dict[Key, str] = {}

    def row(self, row: _Row) -> str:
        """Return what stands in a row."""
        key = row.way.function if row.way else None
        if row.way is None or key is None:
            return row.words
        words = f":{row.way.line} " if row.way.line else ""
        words += self._names.called(key)
        if row.recurs:
            words += " (recursion)"
        if key not in self._hottest:
            self._hottest[key] = self._line(key)
        return words + self._hottest[key]

    def _line(self, key: Key) -> str:
        """Return number and text of its hottest line, with what that called."""
        function = self._functions.get(key)
        times: dict[int, int] = {}
        for cell in function.cells if function else ():
            times[cell.line] = times.get(cell.line, 0) + cell.time_ns
        if not any(times.values()):
            return ""
        line = max(times, key=lambda line: (times[line], -line))
        text = (self._sources.line(key[0], line) or "").strip()
        return f"  {self._arrow} {line}: {text}" if text else f"  {self._arrow} {line}"


class _Walk:
    """Goes down all ways, the longest first."""

    def __init__(self, whole: CallPath, options: Options) -> None:
        self._whole = whole
        self._least_ns = options.min_percent / _ALL * whole.inclusive_ns
        self._deepest = options.depth
        self._glyphs = box_characters_of(options.terminal)
        self._open: dict[Key | None, int] = {}  # functions on the way, how often

    def rows(self) -> Iterator[_Row]:
        """Yield all rows, those of a function's calls below it."""
        stack: list[_Todo | _Row | _Leave] = []
        self._push(stack, self._whole, 0, None)
        while stack:
            top = stack.pop()
            if isinstance(top, _Row):
                yield top
            elif isinstance(top, _Todo):
                yield from self._chained(stack, top)
            else:
                for function in top.functions:
                    self._open[function] -= 1

    def _chained(
        self, stack: list[_Todo | _Row | _Leave], todo: _Todo
    ) -> Iterator[_Row]:
        """Yield a way and, as long as there is just one, the next one below it."""
        chain = self._chain(todo)
        skipped = range(_ENDS, len(chain) - _ENDS)
        if len(chain) <= _LONGEST_CHAIN:
            skipped = range(0)
        spot = todo.spot
        for place, way in enumerate(chain):
            if place and (place not in skipped or place == skipped[0]):
                spot = self._below(spot, todo.level + place, is_last=True)
            recurs = bool(self._open.get(way.function))
            self._open[way.function] = self._open.get(way.function, 0) + 1
            if place not in skipped:
                yield _Row(way, spot, way.inclusive_ns, way.calls, recurs=recurs)
            elif place == skipped[0]:
                words = f"{self._glyphs.dots} {len(skipped)} levels, one way down"
                yield _Row(None, spot, way.inclusive_ns, way.calls, words)
        stack.append(_Leave(tuple(way.function for way in chain)))
        self._push(stack, chain[-1], todo.level + len(chain) - 1, spot)

    def _chain(self, todo: _Todo) -> list[CallPath]:
        """Return a way and those below it down to one that branches, or works."""
        chain = [todo.way]
        while chain[-1].self_ns < self._least_ns:
            shown, rest_ns, _ = self._shown(chain[-1], todo.level + len(chain) - 1)
            if len(shown) != 1 or rest_ns >= self._least_ns:
                break
            chain.append(shown[0])
        return chain

    def _shown(self, way: CallPath, level: int) -> tuple[list[CallPath], int, int]:
        """Return what to show below a way; time and number of what is left out."""
        if self._deepest and level >= self._deepest:
            return [], 0, 0
        ways = [*way.to.values()]
        shown = [one for one in ways if one.inclusive_ns >= self._least_ns]
        rest = ways[len(shown) :]  # they are sorted
        return shown, sum(one.inclusive_ns for one in rest), len(rest)

    def _push(
        self,
        stack: list[_Todo | _Row | _Leave],
        way: CallPath,
        level: int,
        spot: _Spot | None,
    ) -> None:
        """Put what is below a way onto the stack, what is to be shown first last."""
        shown, rest_ns, count = self._shown(way, level)
        items: list[_Todo | _Row | _Leave] = []
        has_rest = rest_ns > 0 and rest_ns >= self._least_ns
        for place, one in enumerate(shown):
            is_last = place == len(shown) - 1 and not has_rest
            below = self._below(spot, level + 1, is_last=is_last)
            items.append(_Todo(one, level + 1, below))
        if has_rest:
            below = self._below(spot, level + 1, is_last=True)
            calls = sum(one.calls for one in [*way.to.values()][len(shown) :])
            words = f"{self._glyphs.dots} {count} more"
            items.append(_Row(None, below, rest_ns, calls, words))
        stack.extend(reversed(items))

    def _below(self, spot: _Spot | None, level: int, *, is_last: bool) -> _Spot:
        """Return where stands what is called at `spot`; None is for the roots."""
        if spot is None:
            return _Spot("", "", 0)
        indent, depth = spot.under, spot.depth + 1
        if depth > _MOST_INDENTED:
            indent, depth = f"[{level}] ", 0
        glyphs = self._glyphs
        if is_last:
            return _Spot(indent + glyphs.elbow, indent + glyphs.blank, depth)
        return _Spot(indent + glyphs.tee, indent + glyphs.bar, depth)
