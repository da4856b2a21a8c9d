"""Find texts that are nearly the same: three modules, four calls deep, no decorator.

`kernprof -l examples/three_modules/near_duplicates.py` profiles all of it in one run;
docs/drill-down.md follows its time from here to the one line that takes it.
"""

from __future__ import annotations

import random

from pairs import near_duplicates

WORDS = ["line", "time", "call", "hit", "frame", "clock", "thread", "kernel"]


def invent(count: int, length: int) -> list[str]:
    """Return `count` texts of `length` words; every fourth is a near copy."""
    chance = random.Random(4)
    texts: list[str] = []
    for number in range(count):
        words = chance.choices(WORDS, k=length)
        if number % 4 == 3:
            words = texts[-1].split()
        words[chance.randrange(length)] = "other"
        texts.append(" ".join(words))
    return texts


def main() -> None:
    """Compare invented texts, and say which are alike."""
    texts = invent(count=20, length=60)
    alike = near_duplicates(texts, least=0.8)
    print(f"{len(alike)} of {len(texts)} texts are nearly another one")


if __name__ == "__main__":
    main()
