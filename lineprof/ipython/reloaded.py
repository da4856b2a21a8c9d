"""Functions that autoreload has changed: their code gets its lines back.

IPython's newer autoreload compiles a changed function alone, from a text of its
own making: its lines then begin at 1, and what is counted would stand beside
those of the file's beginning.
"""

from __future__ import annotations

import ast
import sys
from types import CodeType, FunctionType

from lineprof.source_text import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Union

    Scope = Union[ast.Module, ast.ClassDef]

_PATCHER = "IPython.extensions.deduperreload"
_SAME = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
_FLAGS = 0x1FFFF  # of co_flags; those above say what `__future__` was imported


def put_right(functions: Iterable[object]) -> tuple[bool, list[str]]:
    """Give functions the code that their file has, if it does the same.

    Returns whether there was any to give, and a sentence on each function whose
    lines stay wrong.
    """
    if not any(name.startswith(_PATCHER) for name in sys.modules):
        return False, []
    found, notes = False, []
    files: dict[str, dict[str, CodeType]] = {}
    for function in functions:
        if not isinstance(function, FunctionType):
            continue
        code, name = function.__code__, function.__qualname__
        file = code.co_filename
        if file not in files:
            files[file] = _codes(text_of(file) or "", file)
        right = files[file].get(name)
        if right is None or right.co_firstlineno == code.co_firstlineno:
            continue
        if _same(code, right):
            function.__code__ = right
            found = True
        else:
            notes.append(
                f"the lines shown of {name} may not be those measured: autoreload has"
                f" compiled it without them; reload {function.__module__} by hand"
            )
    return found, notes


def _codes(text: str, file: str) -> dict[str, CodeType]:
    """Return the code of the functions and methods in a file, by qualified name."""
    try:
        tree = ast.parse(text)
        whole: CodeType = compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    places = {(code.co_firstlineno, code.co_name): code for code in _inside(whole)}
    names = dict(_names(tree, ""))
    return {name: places[place] for name, place in names.items() if place in places}


def _inside(code: CodeType) -> Iterator[CodeType]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _inside(part)


def _names(scope: Scope, prefix: str) -> Iterator[tuple[str, tuple[int, str]]]:
    """Yield each function's qualified name, and its first line and name."""
    for node in scope.body:
        if isinstance(node, ast.ClassDef):
            yield from _names(node, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *[mark.lineno for mark in node.decorator_list]])
            yield prefix + node.name, (first, node.name)


def _same(one: CodeType, other: CodeType) -> bool:
    """Tell whether two code objects do the same, wherever their lines are."""
    if any(getattr(one, name) != getattr(other, name) for name in _SAME):
        return False
    if (one.co_flags ^ other.co_flags) & _FLAGS:
        return False
    if len(one.co_consts) != len(other.co_consts):
        return False
    pairs = list(zip(one.co_consts, other.co_consts))
    if pairs and all(isinstance(text, str) for text in pairs[0]):
        # A docstring: autoreload indents it further, and nothing runs it.
        pairs[0] = tuple(text.split() for text in pairs[0])
    return all(
        _same(mine, theirs)
        if isinstance(mine, CodeType) and isinstance(theirs, CodeType)
        else (type(mine), repr(mine)) == (type(theirs), repr(theirs))
        for mine, theirs in pairs
    )
