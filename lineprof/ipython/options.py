"""Options of the magics: from the text after a magic's name to options and statement.

Options have the form of `getopt`. The statement keeps its quotes and blanks.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LPRUN = "rszf:m:D:T:u:"  # in getopt's form
LPRUN_ALL = "rzptD:T:u:"
# Long ones of both, which line_profiler lacks, and whether they have a value.
LONG = {"--memory": False, "--memory-sample": True}

_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "'\""
_AWAITED = "--await"  # added by `cell.add_await`, not by users


class OptionError(Exception):
    """Options of a magic are invalid; the message says why."""


@dataclass(frozen=True)
class Magic:
    """Options and statement of one use of a magic."""

    functions: tuple[str, ...] = ()  # expressions
    modules: tuple[str, ...] = ()  # dotted names
    raw_file: str = ""  # of the profile; "" for none
    text_file: str = ""  # of the table; "" for none
    unit: float | None = None  # s
    skip_zero: bool = False  # leave out functions that never ran
    return_profiler: bool = False
    keep_time: bool = False  # in the variable `_total_time_taken`
    top_level: bool = False  # without functions of the cell
    memory: bool | None = None  # measure it; None: as the environment says
    memory_sample: str | None = None  # bytes between two counted blocks
    awaited: bool = False  # the caller awaits what the magic returns
    statement: str = ""


def parse(line: str, known: str) -> Magic:
    """Return the options in `line`; `known` is `LPRUN` or `LPRUN_ALL`.

    Raises OptionError for an option that is unknown or lacks its value, TypeError for
    a unit that is not a number.
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
        return_profiler="r" in values,
        keep_time="t" in values,
        top_level="p" in values,
        memory="--memory" in values or None,
        memory_sample=values.get("--memory-sample", [None])[-1],
        awaited=awaited,
        statement=statement,
    )


def mark_awaited(line: str) -> str:
    """Return `line` with the word that marks the result as awaited."""
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
    """Return the options with their values, and the text after them."""
    found: list[tuple[str, str]] = []
    rest = line.strip()
    while rest.startswith("-"):
        word, after = _word(rest)
        if word == "-":
            break
        rest = after
        if word == "--":
            break
        if word.partition("=")[0] in LONG:
            rest = _take_long(word, rest, found, known)
            continue
        letters = word[1:]
        while letters:
            name, letters = letters[0], letters[1:]
            place = known.find(name)
            if place < 0 or name == ":" or word.startswith("--"):
                name = word if word.startswith("--") else f"-{name}"
                raise _invalid(f"option {name} not recognized", known)
            if known[place + 1 : place + 2] != ":":
                found.append((name, ""))
                continue
            if not letters:
                letters, rest = _word(rest)
                if not letters:
                    raise _invalid(f"option -{name} requires argument", known)
            found.append((name, letters))
            break
    return found, rest


def _take_long(word: str, rest: str, found: list[tuple[str, str]], known: str) -> str:
    """Add a long option to those `found`; return the text after it and its value."""
    name, equals, value = word.partition("=")
    if LONG[name] and not equals:
        value, rest = _word(rest)
    if LONG[name] != bool(value):
        needs = "requires" if LONG[name] else "must not have an"
        raise _invalid(f"option {name} {needs} argument", known)
    found.append((name, value))
    return rest


def _invalid(what: str, known: str) -> OptionError:
    return OptionError(f'{what} (allowed: "{known}")')


def _word(text: str) -> tuple[str, str]:
    """Return the first word and the text after it.

    Blanks within quotes or brackets that are closed do not end a word.
    """
    end = next(_ends(text), None)
    if end is None:
        end = next((n for n, char in enumerate(text) if char.isspace()), len(text))
    return text[:end], text[end:].lstrip()


def _ends(text: str) -> Iterator[int]:
    """Yield the ends of words; the last one only if no quote or bracket is open."""
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
    """Return the name of a file without quotes, as a shell reads it."""
    try:
        return "".join(shlex.split(word))
    except ValueError:  # a quote that is not closed
        return word
