"""Scopes of Python source, and the names that they bind."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)

_INVALID = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)


def parsed(text: str, mode: Literal["exec", "eval"]) -> ast.AST | None:
    """Return the syntax tree of a text, None if this version cannot parse it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the syntax
        try:
            return ast.parse(text, mode=mode)
        except _INVALID:
            return None


def walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below, without the insides of other scopes.

    The scopes themselves, such as functions and comprehensions, are among them.
    """
    todo = [node]
    while todo:
        one = todo.pop()
        yield one
        if one is node or not isinstance(one, SCOPES):
            todo += ast.iter_child_nodes(one)


def bound_names(node: ast.AST) -> list[str]:
    """Return the names that one node itself binds, deletes or declares."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return [*node.names]
    field = _NAME_FIELDS.get(type(node).__name__)
    name = getattr(node, field) if field else None
    return [name] if name else []


# Where nodes of other types have a name that they bind, by type.
_NAME_FIELDS = {
    "arg": "arg",
    **dict.fromkeys(("FunctionDef", "AsyncFunctionDef", "ClassDef"), "name"),
    **dict.fromkeys(("ExceptHandler", "MatchStar", "MatchAs"), "name"),
    "MatchMapping": "rest",
    # Since Python 3.12.
    **dict.fromkeys(("TypeVar", "ParamSpec", "TypeVarTuple"), "name"),
}
