"""Statements of a program, and ways out of its blocks."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from executions import logical_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

EXITS = (ast.Break, ast.Continue, ast.Return, ast.Raise)
LOOPS = {ast.For: "for", ast.While: "while", ast.AsyncFor: "async for"}
BLOCKS = (
    *LOOPS.values(),
    *(f"else of {loop}" for loop in LOOPS.values()),
    "if",
    "elif",
    "else of if",
    "with",
    "async with",
    "try",
    "except",
    "except*",
    "else of try",
    "finally",
    "case",
)
ON_LINES = "on lines of its own"
WITH_IF = "on one line with its if"


class Exit(NamedTuple):
    """A way out of a block."""

    exit: str
    form: str
    block: str


Block = tuple[str, list[ast.stmt]]


def blocks_of(node: ast.stmt, source: list[str]) -> Iterator[Block]:
    """Return the blocks of a statement, with their kinds."""
    if isinstance(node, (ast.For, ast.While, ast.AsyncFor)):
        kind = LOOPS[type(node)]
        yield kind, node.body
        yield f"else of {kind}", node.orelse
    elif isinstance(node, ast.If):
        is_elif = source[node.lineno - 1][node.col_offset :].startswith("elif")
        yield "elif" if is_elif else "if", node.body
        other = node.orelse[0] if node.orelse else None
        if isinstance(other, ast.If) and other.col_offset == node.col_offset:
            yield "chain", node.orelse  # holds the elif alone
        else:
            yield "else of if", node.orelse
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield "with" if isinstance(node, ast.With) else "async with", node.body
    elif isinstance(node, (ast.Try, ast.TryStar)):
        yield "try", node.body
        for handler in node.handlers:
            yield "except" if isinstance(node, ast.Try) else "except*", handler.body
        yield "else of try", node.orelse
        yield "finally", node.finalbody
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield "case", case.body
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield "definition", node.body


def exits(text: str) -> Iterator[tuple[ast.stmt, Exit]]:
    """Return each statement that leaves a block, with the kind of that block."""
    source, lines = text.split("\n"), logical_lines(text)
    todo: list[tuple[ast.stmt, str, ast.stmt | None, str]] = [
        (node, "module", None, "") for node in ast.parse(text).body
    ]
    while todo:
        node, kind, parent, around = todo.pop()
        if isinstance(node, EXITS):
            exit_ = type(node).__name__.lower()
            together = parent and lines[node.lineno] == lines[parent.lineno]
            if not together:
                yield node, Exit(exit_, ON_LINES, kind)
            elif kind == "if":
                yield node, Exit(exit_, WITH_IF, around)
        for inner, body in blocks_of(node, source):
            place = kind if inner == "chain" else inner
            todo += [(each, place, node, kind) for each in body]


def is_possible(way: Exit) -> bool:
    """Return whether Python allows a way out."""
    return way.block != "except*" or way.exit == "raise"


def every_exit() -> set[Exit]:
    """Return every way out of every kind of block."""
    every = {
        Exit(kind.__name__.lower(), form, block)
        for kind in EXITS
        for form in (ON_LINES, WITH_IF)
        for block in BLOCKS
    }
    return {way for way in every if is_possible(way)}
