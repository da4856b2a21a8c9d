"""Syntax trees of the source text in a profile, for findings about loops and calls.

The text is the one that ran. It comes from anyone: only files that this Python can
parse, and that are not too large, have a tree, and no walk here recurses.
"""

from __future__ import annotations

import ast
import hashlib
import re
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from lineprof.advice.scopes import SCOPES, parsed
from lineprof.advice.value_types import ValueTypes
from lineprof.model.merge import text_differs
from lineprof.model.names import MODULE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

Loop = ast.For | ast.AsyncFor | ast.While

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module

_MAX_FILE = 500_000  # characters of one file: larger ones are data or generated
_MAX_ALL = 1_000_000  # of all files that are parsed: 2 s
_MAX_NAMES = 100  # that are looked for in the text of all other files


class SourceLines(Protocol):
    """Any object that has the lines of source files, such as `lineprof.source`'s."""

    def lines(self, file: str) -> Sequence[str] | None:
        """Return the lines of a file; None if the file cannot be found."""


class Statement(NamedTuple):
    """A statement of a function."""

    node: ast.stmt
    loops: tuple[Loop, ...]  # of the function, around the statement; outermost first
    function: Function
    is_alone: bool  # whether no other statement, or head of one, shares its line


class Header(NamedTuple):
    """All statements that share a line, of compound ones the head alone."""

    first: int  # their first and their last line
    last: int
    statements: tuple[tuple[ast.stmt, ast.AST], ...]  # each with its scope


class SourceTree:
    """The syntax tree of one file."""

    def __init__(self, tree: ast.Module, lines: Sequence[str]) -> None:
        self.module = tree
        self.types = ValueTypes(tree)
        self.text = lines
        self._definitions: dict[tuple[str, int], list[Function]] = {}
        for node, _ in self._statements():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                place = (node.name, first_line(node))
                self._definitions.setdefault(place, []).append(node)

    def _statements(self) -> Iterator[tuple[ast.stmt, ast.AST]]:
        """Yield all statements of the file, each with the scope that it is in."""
        todo: list[tuple[ast.AST, ast.AST]] = [(self.module, self.module)]
        while todo:
            node, scope = todo.pop()
            if isinstance(node, ast.stmt):
                yield node, scope
            inner = node if isinstance(node, SCOPES) else scope
            todo += [(child, inner) for child in _blocks(node)]

    @cached_property
    def _headers(self) -> dict[int, Header]:
        found: dict[int, list[tuple[ast.stmt, ast.AST]]] = {}
        for node, scope in self._statements():
            for line in range(first_line(node), header_end(node) + 1):
                found.setdefault(line, []).append((node, scope))
        return {
            line: Header(
                first=min(first_line(node) for node, _ in ones),
                last=max(header_end(node) for node, _ in ones),
                statements=tuple(ones),
            )
            for line, ones in found.items()
        }

    @cached_property
    def attributes(self) -> frozenset[tuple[str, str]]:
        """The attributes that the file uses of each variable, as pairs of names."""
        nodes = ast.walk(self.module)
        used = [one for one in nodes if isinstance(one, ast.Attribute)]
        return frozenset(
            (one.value.id, one.attr) for one in used if isinstance(one.value, ast.Name)
        )

    def statements(self, key: Key) -> Iterator[Statement]:
        """Yield the statements of a function, without those of functions inside it.

        Nothing is yielded unless it is certain which function that is.
        """
        _, line, name = key
        functions: list[Function] = [self.module]
        if name != MODULE:
            functions = self._definitions.get((name.rpartition(".")[2], line), [])
        if len(functions) != 1:
            return
        [function] = functions
        todo: list[tuple[ast.AST, tuple[Loop, ...]]] = [(function, ())]
        while todo:
            node, loops = todo.pop()
            if isinstance(node, ast.stmt) and node is not function:
                is_alone = self.is_alone(node)
                yield Statement(
                    node=node, loops=loops, function=function, is_alone=is_alone
                )
                if isinstance(node, SCOPES):
                    continue
            if isinstance(node, Loop):
                todo += [(child, loops) for child in reversed(node.orelse)]
                inner = (*loops, node)
                todo += [(child, inner) for child in reversed(node.body)]
            else:
                todo += [(child, loops) for child in reversed(_blocks(node))]

    def is_alone(self, node: ast.stmt) -> bool:
        """Return whether no other statement, or head of one, is on a node's line."""
        return len(self._headers[node.lineno].statements) == 1

    def statements_on(self, line: int) -> tuple[tuple[ast.stmt, ast.AST], ...]:
        """Return the statements on a line, each with the scope that it is in."""
        header = self._headers.get(line)
        return header.statements if header else ()

    def header_text(self, line: int) -> str | None:
        """Return the text of the statements on a line; None on other lines."""
        header = self._headers.get(line)
        if header is None:
            return None
        return "\n".join(self.text[header.first - 1 : header.last])


class SourceTrees:
    """The syntax trees of a profile's files; each file is parsed once, if at all."""

    def __init__(self, profile: Profile, sources: SourceLines) -> None:
        self._kept = profile.sources
        self._warnings = frozenset(profile.warnings)
        self._sources = sources
        self._trees: dict[str, SourceTree | None] = {}
        self._room = _MAX_ALL
        self._names_left = _MAX_NAMES
        self.missing: dict[str, str] = {}  # why files have no tree, by file

    def of(self, file: str) -> SourceTree | None:
        """Return the tree of a file, or None."""
        if file not in self._trees:
            self._trees[file] = self._parsed(file)
        return self._trees[file]

    def statements(self, key: Key) -> Iterator[Statement]:
        """Yield the statements of a function, if its file has a tree."""
        tree = self.of(key[0])
        return tree.statements(key) if tree else iter(())

    def _parsed(self, file: str) -> SourceTree | None:
        if text_differs(file) in self._warnings:
            self.missing[file] = "its text differs between the merged profiles"
            return None
        text = self._text(file)
        if text is None:
            self.missing[file] = "its text, as it ran, is not known"
            return None
        if len(text) > min(_MAX_FILE, self._room):
            self.missing[file] = "there is too much text to parse"
            return None
        self._room -= len(text)
        tree = parsed(text, "exec")
        if not isinstance(tree, ast.Module):
            self.missing[file] = "it is no Python that this version can parse"
            return None
        found = SourceTree(tree, _lines_of(text))
        found.types.is_set_elsewhere = lru_cache(partial(self._is_set_elsewhere, file))
        return found

    def _is_set_elsewhere(self, file: str, users: frozenset[str], name: str) -> bool:
        """Return whether another file may set an attribute of some classes.

        Without classes, it is an attribute of the module that `file` is.
        """
        self._names_left -= 1 + len(users)
        if self._names_left < 0:
            return True
        stem = file.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]
        known = re.compile(rf"\b(?:{'|'.join(map(re.escape, users or [stem]))})\b")
        own = rf"|^[ \t]+{name}\b" if users else ""  # in the body of a class
        is_set = re.compile(
            rf"(?:\.{name}\b{own})[^=!<>\n(]{{0,99}}=(?!=)", re.MULTILINE
        )
        texts = [one.text or "" for other, one in self._kept.items() if other != file]
        return any(
            name in text and known.search(text) and is_set.search(text)
            for text in texts
        )

    def _text(self, file: str) -> str | None:
        """Return the text of a file if it is certainly the one that ran."""
        kept = self._kept.get(file)
        if kept is None or kept.is_left_out:
            return None
        if kept.text is not None or not kept.sha256:
            return kept.text
        lines = self._sources.lines(file)
        for text in ("\n".join([*lines, ""]), "\n".join(lines)) if lines else ():
            data = text.encode("utf-8", "surrogatepass")
            if hashlib.sha256(data).hexdigest() == kept.sha256:
                return text
        return None


def _lines_of(text: str) -> list[str]:
    """Return the lines of `text` as Python counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def first_line(node: ast.stmt) -> int:
    """Return the first line of a statement, including decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *[one.lineno for one in decorators]])


def header_end(node: ast.stmt) -> int:
    """Return the last line of a statement, of a compound one that of its head."""
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return node.end_lineno or node.lineno
    first: ast.stmt | ast.pattern = body[0]
    if isinstance(body[0], ast.match_case):
        first = body[0].pattern
    return max(node.lineno, first.lineno - 1)


def is_code_of(scope: ast.AST, name: str, line: int) -> bool:
    """Return whether a scope is the function of a name at a first line, or the file."""
    if isinstance(scope, ast.Module):
        return name == MODULE
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return (scope.name, first_line(scope)) == (name, line)


def head_parts(node: ast.stmt) -> list[ast.AST]:
    """Return the parts of a statement, of a compound one those of its head."""
    blocks = {*_blocks(node)}
    return [child for child in ast.iter_child_nodes(node) if child not in blocks]


def _blocks(node: ast.AST) -> list[ast.AST]:
    """Return the statements, handlers and cases right inside a statement."""
    blocks = (ast.stmt, ast.excepthandler, ast.match_case)
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, blocks)]
