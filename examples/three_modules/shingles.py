"""Cut texts into shingles: all their parts of a few characters."""

from __future__ import annotations

SIZE = 9  # characters


def shingles(text: str) -> set[str]:
    """Give all parts of a text that are SIZE characters long."""
    parts: set[str] = set()
    for start in range(len(text) - SIZE + 1):
        part = text[start : start + SIZE]
        parts = parts | {part}  # a new set each time
    return parts
