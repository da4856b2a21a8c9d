"""The view --tree: the call tree, most expensive calls first.

Nothing here recurses, because the tree may be deeper than the interpreter's stack.
"""

from __future__ import annotations

from collections import Counter
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import PLAIN, box_characters_of
from lineprof.model.call_graph import CallPath, call_path_tree, deeper_note
from lineprof.model.names import library_of, short_names
from lineprof.report import markdown
from lineprof.report.columns import COUNT, FUNCTION, NS, PART, Column, Columns
from lineprof.report.marks import Marks, Part
from lineprof.report.options import Options, min_percent_of_calls
from lineprof.report.rows import Rows, rows_of
from lineprof.report.text_grid import (
    grid,
    more_rows,
    percent,
    percent_of,
    time_unit_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.source import Sources

# Ways to cut a tree to a number of rows: shares in the whole (%), and levels.
_SHARES = (20, 10, 5, 3, 2, 1)

MAX_BRANCHES = 12  # rows

_BRANCH_DEPTHS = (2, 3, 4, 5, 6, 8, 10)

_MAX_CHAIN = 8  # functions that do little but call the next one

_CHAIN_ENDS = 3  # functions shown of a longer chain, first and last

_MIN_INDENT, _MAX_INDENT = 4, 16  # levels: below them, indentation begins anew

_DOCUMENT_WIDTH = 120  # columns of a tree in Markdown

_INDENT_WIDTH, _MIN_LABEL_WIDTH = 3, 60  # columns, of a level and beside all levels


class _Position(NamedTuple):
    """The position of a row in the drawing of the tree."""

    before: str = ""  # drawn before the row
    before_children: str = ""  # drawn before the rows below it
    depth: int = 0  # of indentation


class _Row(NamedTuple):
    """One row: a call path, or a text about call paths that are left out."""

    position: _Position
    ns: int
    calls: int
    path: CallPath | None = None
    text: str = ""
    is_recursion: bool = False
    is_start: bool = False  # of a part of the tree: its caller is not shown


class Whole(NamedTuple):
    """The time that is 100 %, and the title of the column of shares in it."""

    title: str
    ns: int


class _Subtree(NamedTuple):
    """A call path that is still to be shown, with all below it."""

    path: CallPath
    level: int
    position: _Position


def tree(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield a row for each call path that took `options.min_percent` of the total.

    Times include callees and add up: the rows below a row and the function's self
    time are the row's time.
    """
    root = call_path_tree(profile)
    yield from note_lines(profile, options)
    rows = list(_Walk(root, options).rows(root))
    shown = rows[: options.limit or None]
    whole = Whole(title="Share", ns=root.inclusive_ns)
    yield from _Grid(profile, sources, options).lines(shown, whole)
    yield from more_rows(len(rows) - len(shown))
    if any(row.position.before.startswith("[") for row in shown):
        yield ""
        yield "[12] is a call at level 12, where indentation begins anew"


def deeper_sentence(profile: Profile) -> str:
    """Return `deeper_note` as a sentence, "" if all call paths were kept."""
    note = deeper_note(profile.calls)
    return f"{note[0].upper()}{note[1:]}." if note else ""


def note_lines(profile: Profile, options: Options) -> Iterator[str]:
    """Yield what stands above a tree whose call paths were not all kept."""
    if text := deeper_sentence(profile):
        yield from wrap(text, options.terminal.width or len(text))


def branches(
    profile: Profile,
    sources: Sources,
    options: Options,
    paths: tuple[CallPath, CallPath],
    whole: Whole,
) -> Iterator[str]:
    """Yield rows for a call path and what is below it, at most `MAX_BRANCHES`.

    `paths` are the root of all call paths, and the path to show.
    """
    root, start = paths
    best: list[_Row] = []
    for share in _SHARES:
        for depth in _BRANCH_DEPTHS:
            walk = _Walk(root, options._replace(depth=depth, min_percent=share))
            rows = list(walk.rows(start))
            if not best or (_paths(best) < _paths(rows) and len(rows) <= MAX_BRANCHES):
                best = rows
    if start is not root:
        best[0] = best[0]._replace(is_start=True)
    yield from _Grid(profile, sources, options).lines(best[:MAX_BRANCHES], whole)


def _paths(rows: list[_Row]) -> int:
    """Return the number of rows that are call paths."""
    return sum(row.path is not None for row in rows)


class _Grid:
    """The grid of rows: numbers, a function's name, and its line with the most time."""

    def __init__(self, profile: Profile, sources: Sources, options: Options) -> None:
        self._functions = {function.key: function for function in profile.functions}
        self._names = short_names(self._functions)
        self._marks = Marks(profile)
        self._sources = sources
        self._terminal = options.terminal
        self._arrow = box_characters_of(options.terminal).arrow
        self._hottest: dict[Key, str] = {}

    def lines(self, rows: list[_Row], whole: Whole) -> Iterator[str]:
        """Yield `rows` as a grid, with their shares."""
        times = time_unit_for([whole.ns])
        cells = [
            (
                times.text(row.ns),
                percent(row.ns, whole.ns),
                f"{row.calls}",
                row.position.before + self._label(row),
            )
            for row in rows
        ]
        heat = [percent_of(row.ns, whole.ns) for row in rows]
        words = "Function, and its hottest line"
        titles = (*times.titles("Time"), whole.title, "Calls", words)
        if isinstance(self._terminal, markdown.Document):  # rows would cut its lines
            terminal = PLAIN._replace(width=_DOCUMENT_WIDTH)
            yield markdown.fenced(grid(titles, cells, terminal))
            return
        yield from grid(titles, cells, self._terminal, heat=heat)

    def _label(self, row: _Row) -> str:
        key = row.path.function if row.path else None
        if row.path is None or key is None:
            return row.text
        has_line = row.path.line and not row.is_start
        label = f":{row.path.line} " if has_line else ""
        if row.path.folded:
            library, count = library_of(key[0]), len(row.path.folded)
            more = f"{count:,} more function{'s' * (count > 1)} of {library}"
            return f"{label}{self._names.name(key)}  {self._arrow} {more}"
        label += self._names.called(key) + self._marks.after(key)
        if row.is_recursion:
            label += " (recursion)"
        if key not in self._hottest:
            self._hottest[key] = self._hottest_line(key)
        return label + self._hottest[key]

    def _hottest_line(self, key: Key) -> str:
        """Return number and text of a function's hottest line, callees included."""
        function = self._functions.get(key)
        line = function.hottest_line if function else None
        if line is None:
            return ""
        text = (self._sources.line(key[0], line) or "").strip()
        return f"  {self._arrow} {line}: {text}" if text else f"  {self._arrow} {line}"


class _Walk:
    """A walk down all call paths, the longest first."""

    def __init__(self, root: CallPath, options: Options) -> None:
        self._root = root
        self._min_ns = min_percent_of_calls(options) / 100 * root.inclusive_ns
        self._max_depth = options.depth
        self._max_indent = _MAX_INDENT
        if options.terminal.width is not None:
            room = (options.terminal.width - _MIN_LABEL_WIDTH) // _INDENT_WIDTH
            self._max_indent = max(_MIN_INDENT, min(_MAX_INDENT, room))
        self._characters = box_characters_of(options.terminal)
        self._stack: list[_Subtree | _Row] = []  # to be shown, the next one last
        self._path: list[Key | None] = []  # functions from the root on
        self._on_path: Counter[Key | None] = Counter()  # how often each is there

    def rows(self, start: CallPath) -> Iterator[_Row]:
        """Yield a row for each call path from `start` down; for the root, below it."""
        if start is self._root:
            self._push(start, 0, None)
        else:
            self._stack = [_Subtree(path=start, level=1, position=_Position())]
        while self._stack:
            top = self._stack.pop()
            if isinstance(top, _Row):
                yield top
            else:
                yield from self._chained(top)

    def _chained(self, subtree: _Subtree) -> Iterator[_Row]:
        """Yield the rows of a chain of call paths: each but the last has one callee."""
        chain = self._chain(subtree)
        skipped = range(_CHAIN_ENDS, len(chain) - _CHAIN_ENDS)
        if len(chain) <= _MAX_CHAIN:
            skipped = range(0)
        position = subtree.position
        while len(self._path) >= subtree.level:
            self._on_path[self._path.pop()] -= 1
        for index, path in enumerate(chain):
            if index and (index not in skipped or index == skipped[0]):
                position = self._below(position, subtree.level + index, is_last=True)
            is_recursion = self._on_path[path.function] > 0
            self._path.append(path.function)
            self._on_path[path.function] += 1
            row = _Row(position=position, ns=path.inclusive_ns, calls=path.calls)
            if index not in skipped:
                yield row._replace(path=path, is_recursion=is_recursion)
            elif index == skipped[0]:
                text = f"{self._characters.dots} {len(skipped)} levels, one call each"
                yield row._replace(text=text)
        self._push(chain[-1], subtree.level + len(chain) - 1, position)

    def _chain(self, subtree: _Subtree) -> list[CallPath]:
        """Return a chain: a call path, its only callee, and so on.

        The chain ends with a call path that has several callees, or time of its own.
        """
        chain = [subtree.path]
        while chain[-1].self_ns < self._min_ns:
            shown, rest = self._shown(chain[-1], subtree.level + len(chain) - 1)
            if len(shown) != 1 or sum(one.inclusive_ns for one in rest) >= self._min_ns:
                break
            chain.append(shown[0])
        return chain

    def _shown(
        self, path: CallPath, level: int
    ) -> tuple[list[CallPath], list[CallPath]]:
        """Return the call paths below `path` to show, and the rest."""
        if self._max_depth and level >= self._max_depth:
            return [], []
        paths = [*path.children.values()]
        shown = [one for one in paths if one.inclusive_ns >= self._min_ns]
        return shown, paths[len(shown) :]  # they are sorted

    def _push(self, path: CallPath, level: int, position: _Position | None) -> None:
        """Put all below a call path onto the stack, the first row to show last."""
        shown, rest = self._shown(path, level)
        items: list[_Subtree | _Row] = []
        rest_ns = sum(one.inclusive_ns for one in rest)
        has_rest = rest_ns > 0 and rest_ns >= self._min_ns
        if position is None:  # above all calls no row has their sum
            has_rest = bool(rest)
        for index, one in enumerate(shown):
            is_last = index == len(shown) - 1 and not has_rest
            below = self._below(position, level + 1, is_last=is_last)
            items.append(_Subtree(path=one, level=level + 1, position=below))
        if has_rest:
            below = self._below(position, level + 1, is_last=True)
            calls = sum(one.calls for one in rest)
            text = f"{self._characters.dots} {len(rest)} more"
            items.append(_Row(position=below, ns=rest_ns, calls=calls, text=text))
        self._stack += reversed(items)

    def _below(
        self, position: _Position | None, level: int, *, is_last: bool
    ) -> _Position:
        """Return the position below `position`, which is None for the roots."""
        if position is None:
            return _Position()
        indent, depth = position.before_children, position.depth + 1
        if depth > self._max_indent:
            indent, depth = f"[{level}] ", 0
        characters = self._characters
        return _Position(
            before=indent + (characters.elbow if is_last else characters.tee),
            before_children=indent + (characters.blank if is_last else characters.bar),
            depth=depth,
        )


# For other programs.


class _PathRow(NamedTuple):
    """One call path."""

    id: int
    parent_id: int | None
    depth: int
    path: CallPath
    part: Part | None


TREE: Columns = {
    "id": Column(COUNT),
    "parent_id": Column(COUNT),
    "depth": Column(COUNT),
    "call_line": Column(COUNT, value=lambda row: row.path.line or None),
    "function": Column(FUNCTION, value=lambda row: row.path.function or ("", 0, "")),
    "calls": Column(COUNT, "Calls", value=lambda row: row.path.calls),
    "self_ns": Column(NS, value=lambda row: row.path.self_ns),
    "inclusive_ns": Column(NS, "Time", value=lambda row: row.path.inclusive_ns),
    "part": Column(PART),
}


def tree_rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --tree: every call path, each before those below it."""
    root, marks = call_path_tree(profile), Marks(profile)
    least_ns = min_percent_of_calls(options) / 100 * root.inclusive_ns
    rows: list[_PathRow] = []
    more = 0
    todo: list[tuple[CallPath, int | None, int]] = [
        (path, None, 1) for path in reversed(root.children.values())
    ]
    while todo:
        path, parent, depth = todo.pop()
        is_full = options.limit and len(rows) == options.limit
        if is_full or path.inclusive_ns < least_ns:
            more += 1
            continue
        part = marks.part(path.function)
        row = _PathRow(
            id=len(rows), parent_id=parent, depth=depth, path=path, part=part
        )
        rows.append(row)
        if not options.depth or depth < options.depth:
            todo += [
                (below, row.id, depth + 1) for below in reversed(path.children.values())
            ]
    totals = {"inclusive_ns": root.inclusive_ns}
    return rows_of(TREE, rows, sources, more=more, totals=totals)
