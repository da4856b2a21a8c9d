"""Values and abbreviations of flags that are set to yes or no."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_WORDS = {
    **dict.fromkeys(("1", "on", "t", "true", "y", "yes"), True),
    **dict.fromkeys(("", "0", "off", "f", "false", "n", "no"), False),
}


def yes_or_no(word: str) -> bool | None:
    """Return what `word` stands for, in any case of letters; None if for neither."""
    return _WORDS.get(word.lower())


def matching(begun: str, names: Iterable[str], older: Collection[str]) -> list[str]:
    """Return the flags among `names` that `begun` abbreviates, or is.

    Where several begin so, those in `older` alone count, if any: scripts may rely
    on them.
    """
    found = [name for name in names if name.startswith(begun)]
    if begun in found:
        return [begun]
    if len(found) > 1:
        found = [name for name in found if name in older] or found
    return found
