"""Bodies of functions and classes that have no numbers in the table around them.

The table of a module, or of a class, has the source of all that is defined there;
these functions have tables of their own. In a profile of a whole program, the table
shows their bodies as one row.
"""

from __future__ import annotations

import ast
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from lineprof.report.line_table import FunctionTable
    from lineprof.source import Sources

_MIN_LINES = 3  # of a body; shorter ones are shown

_DOTS = "..."


class UnmeasuredBodies:
    """The bodies in the files of one profile."""

    def __init__(self, sources: Sources) -> None:
        """Read the files from `sources`, each when its first table is shown."""
        self._sources = sources
        self._trees: dict[str, ast.Module | None] = {}

    def shortened(
        self, table: FunctionTable, rows: Sequence[tuple[int, str]]
    ) -> list[tuple[int | None, str]]:
        """Return the rows of a table, with one row for each body without numbers.

        Such a row has no line number.
        """
        measured = {*table.below, *(line.number for line in table.lines)}
        first, last = (rows[0][0], rows[-1][0]) if rows else (0, 0)
        done: list[tuple[int | None, str]] = []
        index = 0
        for start, end in self._bodies(table.file, first, last, measured):
            inside = range(max(0, start - first), end - first + 1)
            if inside.start < index or any(
                rows[at][0] != first + at for at in (inside.start, inside.stop - 1)
            ):
                continue  # rows without source have gaps
            done += rows[index : inside.start]
            text = rows[inside.start][1]
            indent = text[: len(text) - len(text.lstrip())]
            count = end - start + 1
            done.append((None, f"{indent}{_DOTS}  {count} lines without numbers"))
            index = inside.stop
        return [*done, *rows[index:]]

    def _bodies(
        self, file: str, first: int, last: int, measured: AbstractSet[int]
    ) -> Iterator[tuple[int, int]]:
        """Yield first and last line of each body to leave out, in order.

        A body is between the lines `first` and `last`, and has none that is `measured`.
        """
        tree = self._tree(file)
        todo: list[ast.AST] = [tree] if tree else []
        while todo:
            node = todo.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                start, end = node.body[0].lineno, node.end_lineno or 0
                if start > last or end < first:
                    continue
                is_whole = first < start and end <= last and node.lineno < start
                if is_whole and measured.isdisjoint(range(start, end + 1)):
                    if end - start + 1 >= _MIN_LINES:
                        yield start, end
                    continue
            if not isinstance(node, ast.expr):
                todo += reversed(list(ast.iter_child_nodes(node)))

    def _tree(self, file: str) -> ast.Module | None:
        """Return the syntax tree of a file; None if it has none."""
        if file not in self._trees:
            self._trees[file] = None
            text = "\n".join(self._sources.lines(file) or ())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the syntax
                with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                    self._trees[file] = ast.parse(text)
        return self._trees[file]
