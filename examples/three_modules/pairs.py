"""Compare texts with each other."""

from __future__ import annotations

from itertools import combinations

from shingles import shingles


def similarity(one: str, other: str) -> float:
    """Give the share of their shingles that two texts have in common."""
    first = shingles(one)
    second = shingles(other)
    return len(first & second) / len(first | second)


def near_duplicates(texts: list[str], least: float) -> list[tuple[str, str]]:
    """Find the pairs of texts whose similarity is `least` or more."""
    found = []
    for one, other in combinations(texts, 2):
        if similarity(one, other) >= least:
            found.append((one, other))
    return found
