"""Writes the page of a profile with memory, from a made-up heap.

    python with_memory.py FOLDER

`memory.html` has two processes of a program that loads rows, caches them and reports:
what each line has is known, as the heap is kept in lists here. `memory-diff.html`
compares one process with one whose reports take half of the memory.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from lineprof.model.host_memory import (
    HostMemory,
    MemoryCurve,
    MemoryPath,
    MemoryRun,
    MemorySum,
)
from lineprof.report import html
from lineprof.report.diff import difference_of
from lineprof.report.html import comparison
from lineprof.report.options import Options
from lineprof.source import sources_of

if TYPE_CHECKING:
    from lineprof.model.profile import Profile
    from tools.checks.report.made_up import MS, Program
else:  # run as a program, beside it
    from made_up import MS, Program

MAIN, CACHE = "/shop/<img src=x>/main.py", "/shop/cache.py"
TEXTS = {
    MAIN: '''\
"""Reports on the orders of a shop."""  # </script><b>
import cache


def main(rounds):
    for number in range(rounds):
        rows = cache.rows(number)
        report(rows)
    return len(cache.KEPT)


def report(rows):
    text = ", ".join(str(row) for row in rows)
    table = [text.upper() for _ in range(40)]
    return sum(map(len, table))


main(60)
''',
    CACHE: '''\
"""Keeps the rows of each day for ever."""
KEPT = {}


def rows(number):
    if number not in KEPT:
        KEPT[number] = load(number)
    return list(KEPT[number])


def load(number):
    raw = bytearray(9_000_000 + number * 100_000)
    rows = [raw[at : at + 4096] for at in range(0, len(raw), 8192)]
    index = {row[0]: at for at, row in enumerate(rows)}
    return [*rows, index]
''',
}
RUN, LOOP, REPORT = (MAIN, 1, "<module>"), (MAIN, 5, "main"), (MAIN, 12, "report")
ROWS, LOAD = (CACHE, 5, "rows"), (CACHE, 11, "load")
OF_LOAD = ((RUN, 18), (LOOP, 7), (ROWS, 7))
LINES = {  # path: bytes of a block, and of how many rounds it is live
    (*OF_LOAD, (LOAD, 12)): (9_400_000, 1),
    (*OF_LOAD, (LOAD, 13)): (4_700_000, 10**9),
    (*OF_LOAD, (LOAD, 14)): (250_000, 10**9),
    (*OF_LOAD, (LOAD, 15)): (40_000, 10**9),
    ((RUN, 18), (LOOP, 7), (ROWS, 8)): (900_000, 2),
    ((RUN, 18), (LOOP, 8), (REPORT, 13)): (5_600_000, 0),
    ((RUN, 18), (LOOP, 8), (REPORT, 14)): (34_000_000, 0),
    ((RUN, 18),): (64_000, 10**9),
    (): (1_200_000, 12),
}
ROUNDS, ROUND_NS = 60, 52 * MS


class Heap:
    """Blocks of one process, by call path."""

    def __init__(self, process: int, seed: int, of_reports: float) -> None:
        self.process = process
        self._of_reports = of_reports  # factor of their bytes
        self._draw = random.Random(seed)  # noqa: S311  # the same each time
        self._live: list[tuple[int, int, int]] = []  # round of the end, path, bytes
        self._now: Counter[int] = Counter()
        self._sums = [[0, 0, 0, 0] for _ in LINES]
        self._at_peak: Counter[int] = Counter()
        self._peak = (0, 0)  # bytes, ns
        self._moments: list[tuple[int, Counter[int]]] = []

    def run(self) -> None:
        """Allocate and free as the program does in its rounds."""
        for number in range(ROUNDS):
            for path, (bytes_, rounds) in enumerate(LINES.values()):
                ns = number * ROUND_NS + path * ROUND_NS // len(LINES)
                self._free(number)
                size = int(bytes_ * self._draw.uniform(0.8, 1.2))
                if not rounds:
                    size = int(size * self._of_reports)
                self._live.append((number + rounds, path, size))
                self._now[path] += size
                one = self._sums[path]
                one[0] += 1
                one[1] += size
                if self._now.total() > self._peak[0]:
                    self._peak = self._now.total(), ns
                    self._at_peak = Counter(self._now)
                self._moments.append((ns, Counter(self._now)))
        self._free(ROUNDS + 2)

    def _free(self, number: int) -> None:
        """Free the blocks of earlier rounds that nobody needs, and those of none."""
        paths = [*LINES.values()]
        kept = []
        for end, path, size in self._live:
            if end < number or (not paths[path][1] and end <= number):
                self._now[path] -= size
                self._sums[path][2] += size
                self._sums[path][3] += 0 if paths[path][1] else size
            else:
                kept.append((end, path, size))
        self._live = kept

    def sums(self, first: int) -> list[MemorySum]:
        """Return the sums, of paths from index `first` on."""
        return [
            MemorySum(first + path, blocks, bytes_, freed, temp, self._at_peak[path])
            for path, (blocks, bytes_, freed, temp) in enumerate(self._sums)
        ]

    def measured(self) -> MemoryRun:
        """Return what the measurement tells of itself."""
        return MemoryRun(self.process, *self._peak, side_bytes=180_000)

    def curve(self) -> MemoryCurve:
        """Return the live bytes over the run."""
        lines = {one[-1]: path for path, one in enumerate(LINES) if one}
        return MemoryCurve(
            process=self.process,
            times_ns=tuple(ns for ns, _ in self._moments),
            live_bytes=tuple(now.total() for _, now in self._moments),
            lines=tuple(lines),
            line_bytes=tuple(
                tuple(now[path] for _, now in self._moments) for path in lines.values()
            ),
        )


def profile(processes: int = 2, of_reports: float = 1) -> Profile:
    """Return the profile: times are made up, memory is that of the heaps."""
    own = {  # ms in all
        (RUN, 18): 2,
        (LOOP, 6): 4,
        (LOOP, 7): 60,
        (LOOP, 8): 9,
        (LOOP, 9): 1,
        (REPORT, 13): 900,
        (REPORT, 14): 700,
        (REPORT, 15): 150,
        (ROWS, 6): 5,
        (ROWS, 7): 20,
        (ROWS, 8): 110,
        (LOAD, 12): 260,
        (LOAD, 13): 650,
        (LOAD, 14): 230,
        (LOAD, 15): 19,
    }
    calls = {RUN: 1, LOOP: 1, REPORT: ROUNDS, ROWS: ROUNDS, LOAD: ROUNDS}
    below = {RUN: [(18, LOOP)], LOOP: [(7, ROWS), (8, REPORT)], ROWS: [(7, LOAD)]}
    heaps = [Heap(number, 1 + number, of_reports) for number in range(processes)]
    for heap in heaps:
        heap.run()
    memory = HostMemory(
        paths=tuple(
            MemoryPath(heap.process, lines) for heap in heaps for lines in LINES
        ),
        sums=tuple(
            one for heap in heaps for one in heap.sums(heap.process * len(LINES))
        ),
        runs=tuple(heap.measured() for heap in heaps),
        curves=tuple(heap.curve() for heap in heaps),
    )
    return Program(TEXTS, calls, own, below).profile(processes, memory)


def write(folder: Path) -> None:
    """Write the pages."""
    made = profile()
    difference = difference_of([profile(1)], [profile(1, of_reports=0.5)])
    for name, page in {
        "memory": html.render(made, sources_of(made), Options()),
        "memory-diff": comparison.render(difference, ["before"], ["after"]),
    }.items():
        text = "\n".join([*page, ""])
        (folder / f"{name}.html").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
