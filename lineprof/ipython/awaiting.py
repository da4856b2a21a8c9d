"""Magics whose statement or cell awaits: the cell that they are in awaits them."""

from __future__ import annotations

import ast

from lineprof.ipython.cell import needs_await
from lineprof.ipython.options import LPRUN, OptionError, mark_awaited, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Place = tuple[int, int, int, str]  # line from 0, first and last byte, what to put

_CALLS = {"run_line_magic": "lprun", "run_cell_magic": "lprun_all"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def add_await(lines: list[str]) -> list[str]:
    """Return a cell's lines, as IPython made them of what was typed, with awaits.

    A magic is a plain function, and the loop that would run a coroutine for it
    is already running the cell. So the cell has to do it.
    """
    text = "".join(lines)
    if "lprun" not in text or ("await" not in text and "async" not in text):
        return lines
    try:
        places = sorted(_places(ast.parse(text)), reverse=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return lines  # the cell's own trouble
    parts = [line.encode() for line in text.splitlines(keepends=True)]
    for number, start, end, put in places:
        line = parts[number]
        parts[number] = line[:start] + put.encode() + line[end:]
    return [part.decode() for part in parts]


def _places(tree: ast.AST) -> Iterator[Place]:
    """Yield where magics stand that have to be awaited, outside of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, ast.Call) and (put := _awaited(node)):
            assert node.end_col_offset is not None  # noqa: S101  # of parsed text
            yield node.lineno - 1, node.col_offset, node.end_col_offset, put
        else:
            yield from _places(node)


def _awaited(call: ast.Call) -> str:
    """Return the call of a magic with an await before it; "" if it needs none."""
    if not isinstance(call.func, ast.Attribute) or call.lineno != call.end_lineno:
        return ""
    words = [one.value for one in call.args if isinstance(one, ast.Constant)]
    if words[:1] != [_CALLS.get(call.func.attr)] or len(words) != len(call.args):
        return ""
    name, line, *cell = map(str, words)
    if not needs_await(cell[0] if cell else _statement(line)):
        return ""
    arguments = ", ".join(map(repr, (name, mark_awaited(line), *cell)))
    return f"await {ast.unparse(call.func)}({arguments})"


def _statement(line: str) -> str:
    try:
        return parse(line, LPRUN).statement
    except (OptionError, TypeError):  # the magic will tell
        return ""
