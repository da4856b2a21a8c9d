"""The plan of the suite: which tests run with which Python and which core.

The gate has all tests with the first Python found, by its usual core. The oldest and
the newest Python run all but those marked `once`, which depend on no Python, the rooms
that read files (`READING`), and tests of simulated GPUs that are not marked `smoke`.
Every other Python, and every other core, runs the rooms that count events (`COUNTING`)
and the tests marked `smoke`. The rooms that count events, and the `smoke` tests of
`LAUNCHES`, run with each kind of events, so that no calibration chooses it; a core with
kinds then needs those rooms no second time.

The rest is what else may depend on a Python or a core: `make test-all` runs it as well,
and each run of CI a tenth of it, by files that the hash of the commit chooses.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tools.dev.envs import ROOT
from tools.dev.pythons import HOOKS, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tools.dev.pythons import Python

TESTS = ROOT / "tests"

# Rooms whose tests read files: profiles and source text.
READING = (
    *("advice", "cli", "comparison", "console", "docs", "export", "fuzz", "release"),
    *("report", "source", "storage"),
)

# Rooms of what depends on the core and the kind of its events.
COUNTING = ("behaviour", "coexistence", "recording")

# The lines that launch GPU work, which depend on the kind of events as well.
LAUNCHES = ("gpu_simulated/test_gpu_attribution",)

# Further files of where events come from.
EVENTS = (
    *("attach", "gpu_simulated", "leaks", "model", "snapshot", "waits"),
    *("kernprof/test_kernprof.py", "kernprof/test_whole_"),
)

GPU = ("gpu_simulated",)
Files = tuple[str, ...]
PARTS = 10  # of the rest; each run of CI has one
MANY = 120  # files, from which on the tests of a run are worth several processes


@dataclass(frozen=True)
class Run:
    """Tests that run with one Python and core: those of some files with some marks."""

    python: Python
    core: str
    files: Files  # below tests/; none: what ARGS names
    marks: str = ""  # pytest's expression; "": any
    part: str = ""  # of the tests with this Python and core

    @property
    def name(self) -> str:
        """Name for people: version, core and part."""
        return f"{self.python.version} {self.core}" + (self.part and f", {self.part}")

    @property
    def log(self) -> str:
        """Name of its log and report, without a suffix."""
        return "-".join([self.core, *self.part.split()])

    @property
    def spread(self) -> bool:
        """Whether its tests are spread over processes."""
        return not self.files or len(self.files) >= MANY

    @property
    def may_be_empty(self) -> bool:
        """Whether its files may have no test with its marks."""
        return self.part.startswith("rest") or self.part.endswith("alone")

    def beside(self) -> Run:
        """Return the run of its tests that may run beside others."""
        return replace(self, marks=both(self.marks, "not serial"))

    def alone(self) -> Run | None:
        """Return the run of its other tests; None if its files have none."""
        files = tuple(file for file in self.files if file in having("serial", "timing"))
        if not files:
            return None
        part = f"{self.part} alone".strip()
        return replace(self, files=files, marks=both(self.marks, "serial"), part=part)


def both(marks: str, others: str) -> str:
    """Return pytest's expression of two ones."""
    return f"({marks}) and {others}" if marks else others


def any_of(marks: Iterable[str]) -> str:
    """Return pytest's expression of some marks; the room of a test is one as well."""
    return " or ".join(marks)


def gate(first: Python, pythons: Sequence[Python]) -> Iterator[Run]:
    """Yield the runs of the gate; `pythons` are sorted, the newest first."""
    for python, core in configurations(first, pythons):
        usual, kinds = core == python.cores[0], len(python.cores) > 1
        if python == first and usual:
            yield Run(python, core, files())
            continue
        chosen, smoke = files(COUNTING), having("smoke")
        marks: tuple[str, ...] = ("smoke", *COUNTING)
        if core in KINDS:
            smoke = frozenset(files(LAUNCHES))
        elif usual and python in {pythons[0], pythons[-1]}:
            left_out = (*READING, *GPU, *(COUNTING if kinds else ()))
            chosen = files(without=left_out)
            marks = ("smoke", f"not ({any_of(left_out)})")
        elif usual and kinds:
            chosen, marks = (), ("smoke",)
        found = tuple(sorted({*chosen, *smoke}))
        yield Run(python, core, found, both(any_of(marks), "not once"))


def rest(first: Python, pythons: Sequence[Python]) -> Iterator[Run]:
    """Yield the runs of what the gate leaves out."""
    ends = {pythons[0], pythons[-1]}
    seen = {python.number[:2] for python in (first, *ends)}  # minor versions
    others = "not once and not smoke"
    for python, core in configurations(first, pythons):
        usual, minor = core == python.cores[0], python.number[:2]
        if core not in HOOKS or (python == first and usual):
            continue  # the gate leaves nothing out
        if usual and python in ends:
            chosen = files(GPU)
        elif not usual or minor in seen:
            chosen = files(EVENTS)
        else:
            chosen = files(without=(*READING, *COUNTING))
            seen.add(minor)
        yield Run(python, core, chosen, others, "rest")
        if usual and python == pythons[-1]:
            yield Run(python, core, files(READING), others, "rest reading")


def tenth(runs: Iterable[Run], commit: str) -> Iterator[Run]:
    """Yield a part of the rest: the files that the hash of a commit chooses.

    A file is chosen in every tenth run, so that a slow one is not in many of them.
    """
    for number, run in enumerate(runs):
        chosen = tuple(
            f for f in run.files if (number + part_of(commit, f)) % PARTS == 0
        )
        if chosen:
            yield replace(run, files=chosen)


def part_of(commit: str, file: str) -> int:
    """Return the part that a file of the first run is in: 0 to PARTS - 1."""
    digest = hashlib.sha256(f"{commit} {file}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % PARTS


def configurations(
    first: Python, pythons: Sequence[Python]
) -> Iterator[tuple[Python, str]]:
    """Yield each Python with each of its cores, the first Python first."""
    for python in (first, *(one for one in pythons if one != first)):
        for core in python.cores:
            yield python, core


@functools.cache
def files(within: tuple[str, ...] = ("",), without: tuple[str, ...] = ()) -> Files:
    """Return files of tests, relative to tests/: those that begin so, and not so."""
    found = sorted(str(f.relative_to(TESTS)) for f in TESTS.rglob("test_*.py"))
    return tuple(f for f in found if f.startswith(within) and not f.startswith(without))


@functools.cache
def having(*marks: str) -> frozenset[str]:
    """Return the files in which a test has one of some marks."""
    mark = re.compile(rf"\bmark\.({'|'.join(marks)})\b")
    texts = ((file, (TESTS / file).read_text(encoding="utf-8")) for file in files())
    return frozenset(file for file, text in texts if mark.search(text))
