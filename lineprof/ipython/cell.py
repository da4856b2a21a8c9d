"""Cells of a notebook: their code and functions, and `await` in front of magics."""

from __future__ import annotations
import __future__

import ast
import textwrap
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING

from lineprof.bytecode.code_flags import COROUTINE
from lineprof.ipython.options import LPRUN, OptionError, mark_awaited, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

    Place = tuple[int, str]  # the first line and the name of a function

    # Line from 0, first and last byte, and the text in their place.
    Replacement = tuple[int, int, int, str]

CELL = "<lprof_cell>"  # line_profiler's name of a cell's top level
_ASYNC = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_FEATURES = [getattr(__future__, name) for name in __future__.all_feature_names]
_FUTURE = sum({feature.compiler_flag for feature in _FEATURES})

_CALLS = {"run_line_magic": "lprun", "run_cell_magic": "lprun_all"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True)
class Cell:
    """A cell's text and its code."""

    text: str
    file: str
    code: CodeType
    functions: tuple[CodeType, ...]


def compile_cell(shell: InteractiveShell, raw: str) -> Cell:
    """Return the cell `raw`, with magics and shell commands as calls.

    Its text is cached for tracebacks. Raises SyntaxError.
    """
    text = shell.transform_cell(textwrap.dedent(raw).strip("\n")).strip("\n")
    text = f"{text}\n" if text.strip() else "...\n"
    file = shell.compile.cache(text, shell.execution_count)
    code = compile_text(shell, text, file)
    code = code.replace(co_name=CELL, co_qualname=CELL)
    places = _places(text)
    # Also functions in classes, but lines of lambdas and comprehensions belong to the
    # code around them.
    functions = tuple(part for part in code_inside(code) if place_of(part) in places)
    return Cell(text=text, file=file, code=code, functions=functions)


def compile_text(shell: InteractiveShell, text: str, file: str) -> CodeType:
    """Return the code of statements, compiled like a cell.

    Imports from ``__future__`` in earlier cells apply. Code with `await` at the top
    level is that of a coroutine; it is a SyntaxError if `shell` does not await cells.
    """
    flags = shell.compile.flags & _FUTURE
    if shell.autoawait:
        flags |= _ASYNC
    code: CodeType = compile(text, file, "exec", flags, dont_inherit=True)
    return code


def is_coroutine(code: CodeType) -> bool:
    """Return whether `code` has to be awaited."""
    return bool(code.co_flags & COROUTINE)


def needs_await(text: str) -> bool:
    """Return whether statements have `await` at their top level."""
    try:
        code = compile(text, "?", "exec", _ASYNC, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return is_coroutine(code)


def function_of(code: CodeType) -> FunctionType:
    """Return a function with `code`, to register it; it must not be called."""
    closure = tuple(CellType() for _ in code.co_freevars)
    return FunctionType(code, {}, code.co_name, None, closure)


def _places(text: str) -> set[Place]:
    """Return the first line and the name of each function in `text`."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = ast.walk(ast.parse(text))
    return {place_of_node(node) for node in nodes if isinstance(node, kinds)}


def place_of_node(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Place:
    """Return the first line of a function, or of its decorators, and its name."""
    return min([node.lineno, *[one.lineno for one in node.decorator_list]]), node.name


def place_of(code: CodeType) -> Place:
    """Return the first line and the name of the code of a function."""
    return code.co_firstlineno, code.co_name


def code_inside(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects in `code`, outer ones first."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from code_inside(part)


# `await` in front of magics.


def add_await(lines: list[str]) -> list[str]:
    """Return the transformed lines of a cell, with `await` before magics that need it.

    A magic is a plain function, and the event loop that could run a coroutine for it
    is already running the cell. So the cell awaits the magic's result.
    """
    text = "".join(lines)
    if "lprun" not in text or ("await" not in text and "async" not in text):
        return lines
    try:
        replacements = sorted(_replacements(ast.parse(text)), reverse=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return lines  # which IPython reports
    parts = [line.encode() for line in text.splitlines(keepends=True)]
    for number, start, end, text in replacements:
        line = parts[number]
        parts[number] = line[:start] + text.encode() + line[end:]
    return [part.decode() for part in parts]


def _replacements(tree: ast.AST) -> Iterator[Replacement]:
    """Yield replacements for calls of magics to be awaited, outside of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, ast.Call) and (text := _awaited(node)):
            assert node.end_col_offset is not None  # noqa: S101  # of parsed text
            yield node.lineno - 1, node.col_offset, node.end_col_offset, text
        else:
            yield from _replacements(node)


def _awaited(call: ast.Call) -> str:
    """Return the call of a magic with `await` before it; "" if it needs none."""
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
    except (OptionError, TypeError):  # which the magic reports
        return ""
