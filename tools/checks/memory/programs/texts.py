"""Texts, split by patterns and compared line by line."""

from __future__ import annotations

import difflib
import re
from collections import Counter

WORD = re.compile(r"[a-z]+", re.IGNORECASE)
SYLLABLES = ("ka", "lo", "mi", "ra", "ten", "su", "vel", "pel", "ain", "dro")


def text(seed: int, lines: int) -> str:
    """Return an invented text."""
    made = []
    state = seed
    for _ in range(lines):
        words = []
        for _ in range(8):
            state = (state * 1103515245 + 12345) % 2147483648
            first, second = state >> 8, state >> 16
            words.append(SYLLABLES[first % 10] + SYLLABLES[second % 10])
        made.append(" ".join(words).capitalize() + ".")
    return "\n".join(made)


def counts(of: str) -> Counter[str]:
    """Return how often each word occurs."""
    words = WORD.findall(of)
    lower = [word.lower() for word in words]
    return Counter(lower)


def changed(of: str) -> str:
    """Return the text with some words replaced."""
    found = re.sub(r"\bka(\w+)", r"KA-\1", of)
    lines = found.splitlines()
    del lines[::9]
    return "\n".join(lines)


def compared(before: str, after: str) -> int:
    """Return the length of the difference."""
    old, new = before.splitlines(), after.splitlines()
    lines = list(difflib.unified_diff(old, new, lineterm=""))
    similar = difflib.SequenceMatcher(None, before[:600], after[:600]).ratio()
    return len("\n".join(lines)) + round(1000 * similar)


def main() -> None:
    """Compare some texts."""
    for seed in (1, 2, 3):
        before = text(seed, 600)
        after = changed(before)
        print(len(counts(before)), compared(before, after))


main()
