"""From what stands behind a magic's name to its options and the statement.

Options are read as `getopt` reads them. The statement stays as it was typed,
with its quotes and blanks.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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
