"""Words that stand for yes and no: on command lines, in variables."""

from __future__ import annotations

_WORDS = {
    **dict.fromkeys(("1", "on", "t", "true", "y", "yes"), True),
    **dict.fromkeys(("", "0", "off", "f", "false", "n", "no"), False),
}


def yes_or_no(word: str) -> bool | None:
    """Return what `word` stands for, in any case of letters; None if for neither."""
    return _WORDS.get(word.lower())
