"""Lines whose executions the bytecode of this Python does not tell.

These are the constructs that docs/numbers.md lists by version, under "What bytecode
cannot tell". A test may leave such a line out only if the hits are within the bounds
that are said there.
"""

from __future__ import annotations

import ast
import itertools
import math
import sys
from typing import TYPE_CHECKING, NamedTuple

from executions import logical_lines
from running import hook_name

if TYPE_CHECKING:
    from collections.abc import Iterable


class Untellable(NamedTuple):
    """A construct, as docs/numbers.md names it, and which hits its line may have."""

    construct: str
    at_least: float  # share of the executions
    at_most: float = 1.0

    def allows(self, executions: int, hits: int) -> bool:
        """Return whether these hits are within the bounds."""
        if hits > executions:
            return self.at_most > 1
        return hits >= self.at_least * executions


def untellable(text: str) -> dict[int, Untellable]:
    """Return the lines of a program that this Python does not tell, by first line."""
    found: dict[int, Untellable] = {}
    firsts = logical_lines(text)
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.While)
            and sys.version_info < (3, 14)
            and _is_on_its_line(node, firsts)
        ):
            found[firsts[node.lineno]] = Untellable("while", 0.5)
        if sys.version_info < (3, 12):
            for line in _left_by_exceptions(node):
                found[firsts[line]] = Untellable("pass", 1, math.inf)
        if sys.version_info[:2] == (3, 12) and hook_name() == "settrace":
            for line in _behind_asynchronous_loops(node):
                found[firsts[line]] = Untellable("async for", 0)
    return found


def _has_code(node: ast.stmt) -> bool:
    """Return whether Python compiles a statement to instructions."""
    if isinstance(node, ast.AnnAssign):
        return node.value is not None or not isinstance(node.target, ast.Name)
    return not isinstance(node, (ast.Global, ast.Nonlocal))


def _is_on_its_line(loop: ast.While, firsts: dict[int, int]) -> bool:
    """Return whether a turn of the loop has code on no other line."""
    own = firsts[loop.lineno]
    return all(not _has_code(one) or firsts[one.lineno] == own for one in loop.body)


def _behind_asynchronous_loops(node: ast.AST) -> Iterable[int]:
    """Yield lines of statements behind an `async for` of a `finally`."""
    if isinstance(node, (ast.Try, ast.TryStar)):
        for before, one in itertools.pairwise(node.finalbody):
            if isinstance(before, ast.AsyncFor):
                yield one.lineno


def _left_by_exceptions(node: ast.AST) -> Iterable[int]:
    """Yield lines of statements without effect that may end a block, as `finally`."""
    blocks: list[list[ast.stmt]] = []
    if isinstance(node, (ast.Try, ast.TryStar)):
        blocks += [node.finalbody, *(handler.body for handler in node.handlers)]
    if isinstance(node, ast.AsyncWith):
        blocks.append(node.body)
    for block in blocks:
        for one in block:
            for inner in ast.walk(one):
                is_constant = isinstance(inner, ast.Expr) and isinstance(
                    inner.value, ast.Constant
                )
                if isinstance(inner, ast.stmt) and (
                    is_constant or isinstance(inner, ast.Pass) or not _has_code(inner)
                ):
                    yield inner.lineno
