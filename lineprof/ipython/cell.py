"""A cell of a notebook as code: its lines at the top, and its functions."""

from __future__ import annotations
import __future__

import ast
import textwrap
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType

from lineprof.code_flags import COROUTINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

CELL = "<lprof_cell>"  # what line_profiler calls a cell's lines at the top
_ASYNC = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_FEATURES = [getattr(__future__, name) for name in __future__.all_feature_names]
_FUTURE = sum({feature.compiler_flag for feature in _FEATURES})


@dataclass(frozen=True)
class Cell:
    """A cell's text and its code."""

    text: str
    file: str
    code: CodeType
    functions: tuple[CodeType, ...]


def compile_cell(shell: InteractiveShell, raw: str) -> Cell:
    """Return the cell `raw`, magics and shell commands in it as calls.

    Its text is kept where tracebacks look for it. Raises SyntaxError.
    """
    text = shell.transform_cell(textwrap.dedent(raw).strip("\n")).strip("\n")
    text = f"{text}\n" if text.strip() else "...\n"
    file = shell.compile.cache(text, shell.execution_count)
    code = compile_text(shell, text, file)
    code = code.replace(co_name=CELL, co_qualname=CELL)
    return Cell(text, file, code, tuple(_functions(code, _places(text))))


def compile_text(shell: InteractiveShell, text: str, file: str) -> CodeType:
    """Return the code of statements as a cell would have it.

    What the user has imported from ``__future__`` holds. Code that awaits at the
    top is that of a coroutine; elsewhere that is a SyntaxError.
    """
    flags = shell.compile.flags & _FUTURE
    if shell.autoawait:
        flags |= _ASYNC
    code: CodeType = compile(text, file, "exec", flags, dont_inherit=True)
    return code


def is_coroutine(code: CodeType) -> bool:
    """Tell whether `code` has to be awaited."""
    return bool(code.co_flags & COROUTINE)


def needs_await(text: str) -> bool:
    """Tell whether statements await at the top."""
    try:
        code = compile(text, "?", "exec", _ASYNC, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return is_coroutine(code)


def function_of(code: CodeType) -> FunctionType:
    """Return a function that stands for all that have `code`, never to be called."""
    closure = tuple(CellType() for _ in code.co_freevars)
    return FunctionType(code, {}, code.co_name, None, closure)


def _places(text: str) -> set[tuple[int, str]]:
    """Return the first line and the name of each function in `text`."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return {
        (min(node.lineno, *[mark.lineno for mark in node.decorator_list]), node.name)
        if node.decorator_list
        else (node.lineno, node.name)
        for node in nodes
    }


def _functions(code: CodeType, places: set[tuple[int, str]]) -> Iterator[CodeType]:
    """Yield the code of the functions in `code`, from the outside to the inside.

    Classes, lambdas and comprehensions are looked into, but their lines are
    those of what they stand in.
    """
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if (part.co_firstlineno, part.co_name) in places:
                yield part
            yield from _functions(part, places)
