"""A cell of a notebook as code: its lines at the top, and its functions."""

from __future__ import annotations
import __future__

import ast
import shlex
import textwrap
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING

from lineprof.bytecode.code_flags import COROUTINE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

    Place = tuple[int, int, int, str]  # line from 0, first and last byte, what to put


# Magics whose statement or cell awaits: the cell that they are in awaits them.


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
        places = sorted(_magic_places(ast.parse(text)), reverse=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return lines  # the cell's own trouble
    parts = [line.encode() for line in text.splitlines(keepends=True)]
    for number, start, end, put in places:
        line = parts[number]
        parts[number] = line[:start] + put.encode() + line[end:]
    return [part.decode() for part in parts]


def _magic_places(tree: ast.AST) -> Iterator[Place]:
    """Yield where magics stand that have to be awaited, outside of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, ast.Call) and (put := _awaited(node)):
            assert node.end_col_offset is not None  # noqa: S101  # of parsed text
            yield node.lineno - 1, node.col_offset, node.end_col_offset, put
        else:
            yield from _magic_places(node)


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


# From what stands behind a magic's name to its options and the statement.
#
# Options are read as `getopt` reads them. The statement stays as it was typed,
# with its quotes and blanks.


LPRUN = "rszf:m:D:T:u:"  # in getopt's form
LPRUN_ALL = "rzptD:T:u:"

_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "'\""
_AWAITED = "--await"  # put there by `awaiting`, for no user


class OptionError(Exception):
    """A magic's options make no sense; the message says how."""


@dataclass(frozen=True)
class Magic:
    """What a user asks of a magic."""

    functions: tuple[str, ...] = ()  # expressions
    modules: tuple[str, ...] = ()  # dotted names
    raw_file: str = ""  # for the profile; "": none
    text_file: str = ""  # for the table; "": none
    unit: float | None = None  # s
    skip_zero: bool = False  # leave out functions that never ran
    give: bool = False  # the profiler is the magic's value
    keep_time: bool = False  # in the variable _total_time_taken
    top_level: bool = False  # no function of the cell
    awaited: bool = False  # the caller awaits what the magic returns
    statement: str = ""


def parse(line: str, known: str) -> Magic:
    """Return what `line` asks for; `known` are LPRUN's or LPRUN_ALL's options.

    Raises OptionError for an option that is not known or that lacks its
    value, TypeError for a unit that is no number.
    """
    awaited = line.startswith(_AWAITED)
    words, statement = _split(line[len(_AWAITED) :] if awaited else line, known)
    values: dict[str, list[str]] = {}
    for name, value in words:
        values.setdefault(name, []).append(value)
    return Magic(
        functions=tuple(values.get("f", ())),
        modules=tuple(map(_unquoted, values.get("m", ()))),
        raw_file=_unquoted(values.get("D", [""])[0]),
        text_file=_unquoted(values.get("T", [""])[0]),
        unit=_unit(_unquoted(values["u"][0])) if "u" in values else None,
        skip_zero="z" in values or "s" in values,
        give="r" in values,
        keep_time="t" in values,
        top_level="p" in values,
        awaited=awaited,
        statement=statement,
    )


def mark_awaited(line: str) -> str:
    """Return `line` with the word that says that the result is awaited."""
    return f"{_AWAITED} {line}"


def _unit(text: str) -> float:
    """Return a unit in seconds."""
    try:
        unit = float(text)
    except ValueError:
        raise TypeError("Timer unit setting must be a float.") from None
    if not 0 < unit < float("inf"):
        raise OptionError(f"the timer unit must be above 0, not {text}")
    return unit


def _split(line: str, known: str) -> tuple[list[tuple[str, str]], str]:
    """Return the options with their values, and what follows them."""
    found: list[tuple[str, str]] = []
    rest = line.strip()
    while rest.startswith("-"):
        word, after = _word(rest)
        if word == "-":
            break
        rest = after
        if word == "--":
            break
        letters = word[1:]
        while letters:
            name, letters = letters[0], letters[1:]
            place = known.find(name)
            if place < 0 or name == ":" or word.startswith("--"):
                name = word if word.startswith("--") else f"-{name}"
                raise _wrong(f"option {name} not recognized", known)
            if known[place + 1 : place + 2] != ":":
                found.append((name, ""))
                continue
            if not letters:
                letters, rest = _word(rest)
                if not letters:
                    raise _wrong(f"option -{name} requires argument", known)
            found.append((name, letters))
            break
    return found, rest


def _wrong(what: str, known: str) -> OptionError:
    return OptionError(f'{what} (allowed: "{known}")')


def _word(text: str) -> tuple[str, str]:
    """Return the first word and what follows it.

    Blanks within quotes or brackets do not end a word, if those are closed.
    """
    end = next(_ends(text), None)
    if end is None:
        end = next((n for n, char in enumerate(text) if char.isspace()), len(text))
    return text[:end], text[end:].lstrip()


def _ends(text: str) -> Iterator[int]:
    """Yield where words end; nothing if a quote or bracket stays open."""
    depth, quote, escaped = 0, "", False
    for place, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth = max(0, depth - 1)
        elif char.isspace() and not depth:
            yield place
    if not depth and not quote:
        yield len(text)


def _unquoted(word: str) -> str:
    """Return a file's name as a shell would read it."""
    try:
        return "".join(shlex.split(word))
    except ValueError:  # a quote that is not closed
        return word
