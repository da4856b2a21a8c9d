"""Patterns for paths, modules and functions, as shells have them.

``*`` stands for anything within one part of a name, ``?`` for one character,
``[a-z]`` and ``[!a-z]`` for one of some, and ``**`` for any number of parts. What
names a folder, a package or a class stands for all that is in it. `fnmatch` would
bring in `re`, which takes longer to import than many a program to run.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_ANY_PARTS = "**"


def is_under(pattern: Sequence[str], name: Sequence[str]) -> bool:
    """Tell whether the parts of `name` match those of `pattern`, or begin so."""
    if not pattern:
        return True
    first, rest = pattern[0], pattern[1:]
    if first == _ANY_PARTS:
        return any(is_under(rest, name[skip:]) for skip in range(len(name) + 1))
    return bool(name) and is_like(first, name[0]) and is_under(rest, name[1:])


def is_like(pattern: str, text: str) -> bool:
    """Tell whether `text` matches `pattern`, both one part of a name."""
    place = start = 0
    star = mark = -1  # the last star, and where what follows it was tried
    while start < len(text):
        after = _one(pattern, place, text[start])
        if place < len(pattern) and pattern[place] == "*":
            star, mark, place = place, start, place + 1
        elif after:
            place, start = after, start + 1
        elif star >= 0:
            mark += 1
            place, start = star + 1, mark
        else:
            return False
    return not pattern[place:].strip("*")


def _one(pattern: str, place: int, letter: str) -> int:
    """Return where `pattern` goes on if `letter` matches it at `place`, else 0."""
    if place >= len(pattern):
        return 0
    wanted = pattern[place]
    if wanted == "[":
        end = pattern.find("]", place + 2 + (pattern[place + 1 : place + 2] == "!"))
        if end > 0:
            return (end + 1) * _is_among(pattern[place + 1 : end], letter)
    return (place + 1) * (wanted in {"?", letter})


def _is_among(letters: str, letter: str) -> bool:
    wanted = not letters.startswith("!")
    letters = letters if wanted else letters[1:]
    found = False
    while letters:
        if letters[1:2] == "-" and len(letters) > len("a-"):
            found = found or letters[0] <= letter <= letters[2]
            letters = letters[3:]
        else:
            found = found or letters[0] == letter
            letters = letters[1:]
    return found is wanted
