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


# The end of a `case` block has another line in 3.11.2, and its own one in 3.11.7.
CASE_ENDS_IN_ITS_LINE = (3, 11, 7)


LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)


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


def whiles_on_one_line(text: str) -> frozenset[int]:
    """Return the first lines of `while` loops that have code on no other line.

    Before 3.14 Python has no event for the last test of such a loop.
    """
    firsts = logical_lines(text)
    return frozenset(
        firsts[node.lineno]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.While) and _is_on_its_line(node, firsts)
    )


def untellable(text: str) -> dict[int, Untellable]:
    """Return the lines of a program that this Python does not tell, by first line."""
    found: dict[int, Untellable] = {}
    firsts = logical_lines(text)
    version = sys.version_info[:3]
    by_line = version < (3, 12) or (version[:2] == (3, 12) and is_traced())
    for node in ast.walk(ast.parse(text)):
        if version < (3, 12):
            for line in _ends_of_blocks(node, version):
                found[firsts[line]] = Untellable("pass", 1, math.inf)
        elif by_line:
            for line in _behind_asynchronous_loops(node):
                found[firsts[line]] = Untellable("async for", 0)
    if by_line:
        found.update(dict.fromkeys(whiles_on_one_line(text), Untellable("while", 0.5)))
    return found


def is_traced() -> bool:
    """Return whether lineprof uses a trace function."""
    return hook_name() == "settrace"


def _has_code(node: ast.stmt) -> bool:
    """Return whether Python compiles a statement to instructions."""
    if isinstance(node, ast.AnnAssign):
        return node.value is not None or not isinstance(node.target, ast.Name)
    return not isinstance(node, (ast.Global, ast.Nonlocal))


def _is_on_its_line(loop: ast.While, firsts: dict[int, int]) -> bool:
    """Return whether a turn of the loop has code on no other line."""
    own = firsts[loop.lineno]
    return all(not _has_code(one) or firsts[one.lineno] == own for one in loop.body)


def _blocks(node: ast.AST) -> Iterable[list[ast.stmt]]:
    """Yield the blocks of a statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block


def _behind_asynchronous_loops(node: ast.AST) -> Iterable[int]:
    """Yield lines of statements behind an `async for`."""
    for block in _blocks(node):
        for before, one in itertools.pairwise(block):
            if isinstance(before, ast.AsyncFor):
                yield one.lineno


def _ends_of_blocks(node: ast.AST, version: tuple[int, ...]) -> Iterable[int]:
    """Yield lines with no code but the end of a block, as of `finally`.

    They are statements without effect, or never reached, and the head of an `async
    with` of a declaration. In some patch releases, the end of a `case` is among them,
    with the line of a statement without effect, or of a `case` in it.
    """
    blocks: list[list[ast.stmt]] = []
    if isinstance(node, (ast.Try, ast.TryStar)):
        blocks += [node.finalbody, *(handler.body for handler in node.handlers)]
    if isinstance(node, ast.AsyncWith):
        blocks.append(node.body)
        if not any(map(_has_code, node.body)):
            yield node.lineno
    if isinstance(node, ast.Match) and version < CASE_ENDS_IN_ITS_LINE:
        blocks += [case.body for case in node.cases]
        yield from _last_cases(node)
    for inner in (
        inner for block in blocks for one in block for inner in ast.walk(one)
    ):
        if isinstance(inner, ast.stmt):
            yield from _without_effect(inner)


def _last_cases(node: ast.Match) -> Iterable[int]:
    """Yield the line of the last `case` of each `match` in another one."""
    for case in node.cases:
        for one in ast.walk(case):
            if isinstance(one, ast.Match):
                yield one.cases[-1].pattern.lineno


def _without_effect(node: ast.stmt) -> Iterable[int]:
    """Yield the line of a statement without effect, and those never reached in it."""
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if is_constant or isinstance(node, ast.Pass) or not _has_code(node):
        yield node.lineno
    for block in _blocks(node):
        reached = itertools.takewhile(lambda one: not isinstance(one, LEAVING), block)
        for one in block[len(list(reached)) + 1 :]:
            yield one.lineno
