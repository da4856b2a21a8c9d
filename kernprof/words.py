"""From a word of the command line, or a value of a file, to what it means."""

from __future__ import annotations

import os

from kernprof.plan import UsageError
from lineprof.yes_no import yes_or_no

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MOST_DIGITS = 10


def boolean(word: str) -> bool:
    """Return what `word` stands for, in any case of letters; "" is false."""
    value = yes_or_no(word)
    if value is None:
        raise UsageError(f"bad value {word!r}", hint="give yes or no")
    return value


def seconds(word: str) -> float:
    """Return a time above 0, in s; 0.0 for "auto", what reads well."""
    if word == "auto":
        return 0.0
    try:
        time = float(word)
    except ValueError:
        time = 0.0
    if 0 < time < float("inf"):
        return time
    raise UsageError(f"bad unit {word!r}", hint="give seconds above 0, as in -u 1e-3")


def is_whole(word: str) -> bool:
    """Tell whether `word` is a whole number, of whichever sign."""
    digits = word[1:] if word[:1] in {"-", "+"} else word
    return digits.isascii() and digits.isdigit() and len(digits) < _MOST_DIGITS


def slow_down(word: str) -> float:
    """Return how many times slower a program may get: 1 or more."""
    try:
        times = float(word)
    except ValueError:
        times = 0.0
    if 1 <= times < float("inf"):
        return times
    raise UsageError(
        f"bad overhead {word!r}", hint="give times from 1 on, as in --max-overhead 1.2"
    )


def interval(word: str) -> int:
    """Return a number of s: 0, or at least 1."""
    if not is_whole(word):
        raise UsageError(
            f"bad interval {word!r}", hint="give whole seconds, as in -i 10"
        )
    number = int(word)
    return number if number == 0 else max(1, number)


def count(word: str) -> int:
    """Return a whole number from 0 on."""
    if is_whole(word) and word[0].isdigit():
        return int(word)
    raise UsageError(f"bad number {word!r}", hint="give a whole number from 0 on")


def megabytes(word: str) -> int:
    """Return a whole number from 1 on."""
    if is_whole(word) and int(word) > 0:
        return int(word)
    raise UsageError(f"bad size {word!r}", hint="give megabytes from 1 on")


def stay(word: str) -> float:
    """Return a time in µs from 0 on; one that nothing lasts for "off"."""
    from lineprof.trace import microseconds  # noqa: PLC0415  # seldom asked for

    time = microseconds(word)
    if time is None:
        raise UsageError(f"bad time {word!r}", hint="give microseconds, or off")
    return time


def one_of(*words: str) -> Callable[[str], str]:
    """Return a function that takes one of `words` and no other."""

    def read(word: str) -> str:
        if word in words:
            return word
        raise UsageError(f"bad value {word!r}", hint=f"give {' or '.join(words)}")

    return read


def on_or_off(word: str) -> bool:
    """Return whether `word` is on; it may be off, and nothing else."""
    return one_of("on", "off")(word) == "on"


def targets(chunks: Iterable[str]) -> tuple[str, ...]:
    """Return what to profile, each once: an empty chunk forgets those before it.

    A chunk holds several, with commas between, unless a file has that name.
    """
    found: dict[str, None] = {}
    for chunk in chunks:
        if not chunk:
            found.clear()
        parts = [chunk] if os.path.isfile(chunk) else chunk.split(",")
        found.update(dict.fromkeys(filter(None, parts)))
    return tuple(found)
