"""Writes two profiles with known changes between them.

    python with_changes.py FOLDER

From `before.lprof` to `after.lprof` one function became slower, one faster, one is
gone, and one is the same.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lineprof.storage import save

if TYPE_CHECKING:
    from lineprof.model.profile import Profile
    from tools.checks.report.made_up import Program
else:  # run as a program, beside it
    from made_up import Program

FILE = "/shop/changed.py"
TEXT = """\
def slower():
    for _ in range({slower}):
        _ * 2
def norm():
    for _ in range({faster}):
        _ * 3
def same():
    return sum(range(2_000_000))
{rest}
def main():
    slower()
    norm()
    same()
    gone()
main()
"""
SIDES = {  # rounds of slower() and norm(), and their ms; the definition of `gone`
    "before": (20, 400, "def gone(): return sum([x for x in range(300_000)])"),
    "after": (400, 20, "gone = int"),
}
RUN, SLOWER = (FILE, 1, "<module>"), (FILE, 1, "slower")
NORM, SAME, GONE = (FILE, 4, "norm"), (FILE, 7, "same"), (FILE, 9, "gone")
MAIN = (FILE, 10, "main")


def profile(slower: int, faster: int, rest: str) -> Profile:
    """Return the profile of one side."""
    text = TEXT.format(slower=slower, faster=faster, rest=rest)
    own = {
        (RUN, 15): 1,
        (MAIN, 11): 1,
        (MAIN, 12): 1,
        (MAIN, 13): 1,
        (SLOWER, 3): slower,
        (NORM, 6): faster,
        (SAME, 8): 30,
    }
    below = {RUN: [(15, MAIN)], MAIN: [(11, SLOWER), (12, NORM), (13, SAME)]}
    calls = dict.fromkeys((RUN, MAIN, SLOWER, NORM, SAME), 1)
    hits = {(SLOWER, 3): slower, (NORM, 6): faster}
    if rest.startswith("def"):
        own |= {(MAIN, 14): 1, (GONE, 9): 30}
        below[MAIN].append((14, GONE))
        calls[GONE] = 1
    return Program({FILE: text}, calls, own, below, hits).profile()


if __name__ == "__main__":
    for name, numbers in SIDES.items():
        save(profile(*numbers), Path(sys.argv[1]) / f"{name}.lprof")
