"""Flags without a value that may be given one: ``--sort=no`` is ``--no-sort``.

`argparse` cannot: where a value may follow, it takes the file's name for it.
"""

from __future__ import annotations

from lineprof.errors import LineprofError
from lineprof.yes_no import matching, yes_or_no

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def negated(flag: str) -> str:
    """Return the opposite of a long flag."""
    return f"--no-{flag[2:]}"


def spelled_out(
    words: Sequence[str],
    booleans: Collection[str],
    others: Collection[str],
    older: Collection[str] = (),
) -> list[str]:
    """Return `words` with long flags in full, and `booleans` without their values.

    `others` are all other long flags. Where several begin as a word does, those
    in `older` alone count: scripts may rely on them. Raises LineprofError for a
    value that is neither yes nor no.
    """
    opposites = {negated(flag): flag for flag in booleans}
    names = {*booleans, *opposites, *others}
    rest = list(words)
    done: list[str] = []
    while rest and rest[0] != "--":
        word, equals, given = rest.pop(0).partition("=")
        if word.startswith("--"):
            word = _in_full(word, names, {*older, *map(negated, older)})
        if word in opposites or word in booleans:
            if not equals:
                follows = bool(rest) and yes_or_no(rest[0]) is not None
                given = rest.pop(0) if follows else "yes"
            flag = opposites.get(word, word)
            yes = _yes(word, given) is not (word in opposites)
            done.append(flag if yes else negated(flag))
        else:
            done.append(word + equals + given)
    return done + rest


def _yes(flag: str, word: str) -> bool:
    value = yes_or_no(word)
    if value is None:
        raise LineprofError(f"{flag} takes yes or no, not {word!r}")
    return value


def _in_full(word: str, names: Collection[str], older: Collection[str]) -> str:
    """Return the name that begins with `word`; `word` itself if that is unclear."""
    found = matching(word, names, older)
    return found[0] if len(found) == 1 else word
