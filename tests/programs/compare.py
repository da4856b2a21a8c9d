"""Random programs under lineprof, compared with their own count of executions.

    python tests/programs/compare.py --seeds 2000 --core settrace

Prints programs that differ, each with its first differing line, the kinds of lines
that differ, and at the end the numbers of programs and hits; exits with 1 if any
program differs.  `make check-executions` does this with every Python and core.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "helpers")]

from executions import differences, logical_lines  # noqa: E402 - on that path
from programs.generate import program  # noqa: E402
from running import program_file, run_executions, run_lineprof  # noqa: E402
from untellable import untellable  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCKS = (
    *("if", "elif", "else", "while", "for", "match", "case", "try", "finally"),
    *("except", "with", "def", "class", "async for", "async with", "async def"),
)
WORDS = (*BLOCKS, "break", "continue", "return", "raise", "pass")


class Compared:
    """One program and what differs."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.lines = ["", *text.splitlines()]
        self.firsts = logical_lines(text)
        with program_file(text) as file:
            truth, found = run_executions(text, file), run_lineprof(text, file)
        self.hits = sum(truth.lines().values())
        self.wrong = differences(text, truth.hits, found.hits)
        untold = untellable(text)
        self.untold = [
            untold[line].construct
            for line, counts in self.wrong.items()
            if line in untold and untold[line].allows(*counts)
        ]
        self.wrong = {
            line: counts
            for line, counts in self.wrong.items()
            if not (line in untold and untold[line].allows(*counts))
        }
        if (truth.result, truth.output) != (found.result, found.output):
            self.wrong[0] = (0, 0)

    def kind(self, line: int) -> str:
        """Return what kind of line differs, to group differences by."""
        if not line:
            return "result or functions"
        expected, counted = self.wrong[line]
        first = self.firsts.get(line, line)
        text = self.lines[first].strip()
        word = next((word for word in WORDS if re.match(rf"{word}\b", text)), "")
        last = max(here for here, start in self.firsts.items() if start == first)
        parts = [word or ("decorator" if text.startswith("@") else "statement")]
        if first != last:
            parts.append("over several lines")
        if word in BLOCKS and not self.lines[last].rstrip().endswith(":"):
            parts.append("on one line with its block")
        if line != first:
            parts.append("(an inner line)")
        return " ".join([*parts, "more" if counted > expected else "fewer"])

    def without(self, skipped: str) -> None:
        """Forget differences of some kinds, a regular expression."""
        self.wrong = {
            line: counts
            for line, counts in self.wrong.items()
            if not re.search(skipped, self.kind(line))
        }

    def first_difference(self) -> str:
        """Return the first differing line with its counts."""
        line, (expected, counted) = next(iter(self.wrong.items()))
        counts = f"executions {expected}, lineprof {counted}"
        return f"{self.name}:{line}: {counts}: {self.lines[line].strip()}"


def programs(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Return names and texts of the programs to compare."""
    for path in options.files:
        yield path.name, path.read_text(encoding="utf-8")
    if not options.files:
        for seed in range(options.first, options.first + options.seeds):
            yield str(seed), program(seed, flat=options.flat)


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--seeds", type=int, default=300, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--core", default="auto")
    parser.add_argument("--flat", action="store_true", help="no line has several lines")
    parser.add_argument("--skip", metavar="REGEX", help="kinds of lines to leave out")
    parser.add_argument("--show", type=int, default=20, help="programs to list")
    parser.add_argument("--print", action="store_true", help="their source as well")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    return parser.parse_args()


def main() -> int:
    """Compare programs; return 1 if any of them differs."""
    options = arguments()
    os.environ["LINEPROF_CORE"] = options.core
    warnings.simplefilter("ignore", SyntaxWarning)  # of programs
    number = hits = wrong = 0
    kinds: Counter[str] = Counter()
    untold: Counter[str] = Counter()  # lines that this Python does not tell
    examples: dict[str, str] = {}
    for name, text in programs(options):
        one = Compared(name, text)
        number, hits = number + 1, hits + one.hits
        untold.update(one.untold)
        if options.skip:
            one.without(options.skip)
        if not one.wrong:
            continue
        wrong += 1
        for kind in set(map(one.kind, one.wrong)):
            kinds[kind] += 1
            examples.setdefault(kind, name)
        if wrong <= options.show:
            print(one.first_difference())
            if options.print:
                print(*(f"{n:4} {s}" for n, s in enumerate(one.lines) if n), sep="\n")
    for kind, times in kinds.most_common():
        print(f"  {times:5} programs, the first is {examples[kind]}: {kind}")
    version = ".".join(map(str, sys.version_info[:3]))
    left = ", ".join(f"{times} lines of `{name}`" for name, times in untold.items())
    counts = f"{number} programs, {hits} hits, {wrong} differ"
    print(f"{version} {options.core}: {counts}; left out: {left or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
