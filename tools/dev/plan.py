"""The plan of the suite: which tests run with which Python and which core.

The gate has all tests with the first Python found, by its usual core, but those marked
`seldom`. The oldest and the newest Python run all but those marked `once`, which depend
on no Python, the rooms that read files (`READING`), and tests of simulated GPUs that
are not marked `smoke`. They take turns: of the rooms that start programs, or wait
(`IN_TURN`), each test runs with one of the two, which the hash of the commit chooses.
Every other Python runs the rooms that count events (`COUNTING`) and the tests marked
`smoke`; every other core those rooms, of other tools (`coexistence`) what counts most
(`COUNTING_BESIDE`), and the `smoke` tests of `LAUNCHES`. They run with each kind of
events, so that no calibration chooses it; the usual core of a Python that has kinds
then needs those rooms no second time (`BY_KINDS`). Tests marked `serial` run with all
cores of the first Python, and with the usual cores of the oldest and the newest.

The rest is what else may depend on a Python or a core, and all of a second Python of a
minor version: `make test-all` runs it as well, and each run of CI one of ten parts of
it, which the hash of the commit chooses.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tools.dev.envs import ROOT
from tools.dev.pythons import KINDS

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
COUNTING = ("behaviour", "coexistence", "memory", "recording")
BY_KINDS = ("behaviour", "recording")  # those that run whole with each kind of events

# Rooms whose tests start programs, or wait: the two ends of the Pythons take turns.
IN_TURN = (
    *("attach", "autoprofile", "compat", "control", "ipython", "kernprof", "leaks"),
    *("processes", "waits"),
)

# The lines that launch GPU work, which depend on the kind of events as well.
LAUNCHES = ("gpu_simulated/test_gpu_attribution",)

# Files of the room of other tools that run with each core and each Python.
BESIDE = "coexistence"
COUNTING_BESIDE = (f"{BESIDE}/test_greenlets", f"{BESIDE}/test_line_events")

# Further files of where events come from.
EVENTS = (
    *("attach", "gpu_simulated", "leaks", "model", "snapshot", "waits"),
    *("kernprof/test_kernprof.py", "kernprof/test_whole_"),
    *("kernprof/test_kernprof_memory", "kernprof/test_memory_"),
)

GPU = ("gpu_simulated",)
Files = tuple[str, ...]
PARTS = 10  # of the rest; each run of CI has one
SERIAL = "serial"  # the mark of tests that run alone
SELDOM = "seldom"  # the mark of tests that the gate leaves to the rest
MANY = 120  # files, from which on the tests of a run are worth several processes


@dataclass(frozen=True)
class Run:
    """Tests that run with one Python and core: those of some files with some marks."""

    python: Python
    core: str
    files: Files  # below tests/; none: what ARGS names
    marks: str = ""  # pytest's expression; "": any
    part: str = ""  # of the tests with this Python and core
    turn: int | None = None  # 0 or 1: which half of the tests of IN_TURN; None: all

    @property
    def name(self) -> str:
        """Name for people: version, core and part."""
        return f"{self.python.version} {self.core}" + (self.part and f", {self.part}")

    @property
    def log(self) -> str:
        """Name of its log and report, without a suffix."""
        return "-".join([self.core, *self.part.split()])

    @property
    def turns(self) -> list[str]:
        """The option of pytest for half of the tests of IN_TURN, if it has half."""
        if self.turn is None:
            return []
        return [f"--turn={','.join([str(self.turn), *IN_TURN])}"]

    @property
    def spread(self) -> bool:
        """Whether its tests are spread over processes."""
        return not self.files or len(self.files) >= MANY

    @property
    def may_be_empty(self) -> bool:
        """Whether its files may have no test with its marks."""
        return self.part.startswith("rest") or self.part.endswith("alone")

    def beside(self) -> Run | None:
        """Return the run of its tests that may run beside others, if it has any."""
        if self.marks.endswith(f"and {SERIAL}"):
            return None
        return replace(self, marks=both(self.marks, f"not {SERIAL}"))

    def alone(self) -> Run | None:
        """Return the run of its other tests; None if its files have none."""
        files = tuple(file for file in self.files if file in having(SERIAL, "timing"))
        if not files or self.marks.endswith(f"not {SERIAL}"):
            return None
        part = f"{self.part} alone".strip()
        return replace(self, files=files, marks=both(self.marks, SERIAL), part=part)


def both(marks: str, others: str) -> str:
    """Return pytest's expression of two ones."""
    return f"({marks}) and {others}" if marks else others


def any_of(marks: Iterable[str]) -> str:
    """Return pytest's expression of some marks; the room of a test is one as well."""
    return " or ".join(marks)


def gate(first: Python, pythons: Sequence[Python], commit: str = "") -> Iterator[Run]:
    """Yield the runs of the gate; `pythons` are sorted, the newest first."""
    for python, core in configurations(first, pythons):
        run = _gate(first, pythons, python, core)
        if run and is_end(run.python, core, first, pythons):
            run = replace(run, turn=turn_of(run.python, first, pythons, commit))
        if run and not _has_serial(first, pythons, run):
            run = replace(run, marks=both(run.marks, f"not {SERIAL}"))
        if run:
            yield run


def _gate(
    first: Python, pythons: Sequence[Python], python: Python, core: str
) -> Run | None:
    """Return the run of a Python and core in the gate, with tests that run alone."""
    usual, kinds = core == python.cores[0], len(python.cores) > 1
    if python in twins(first, pythons):
        return None
    if python == first and usual:
        here = f"not {SELDOM}"
        if kinds:
            here = both(f"once or not ({any_of(BY_KINDS)})", here)
        return Run(python, core, files(), here)
    chosen, smoke = files(COUNTING), having("smoke")
    marks: tuple[str, ...] = ("smoke", *COUNTING)
    if not usual:
        smoke = frozenset(files(LAUNCHES))
        chosen = (*files(COUNTING, without=(BESIDE,)), *files(COUNTING_BESIDE))
    elif usual and python in {pythons[0], pythons[-1]}:
        left_out = (*READING, *GPU, *(COUNTING if kinds else ()))
        chosen = files(without=left_out)
        marks = ("smoke", f"not ({any_of(left_out)})")
    elif usual and kinds:
        chosen, marks = (), ("smoke",)
    found = tuple(sorted({*chosen, *smoke}))
    return Run(python, core, found, both(any_of(marks), "not once"))


def twins(first: Python, pythons: Sequence[Python]) -> set[Python]:
    """Return the Pythons of whose minor version another one counts events.

    That is the first one, the newest, the oldest, or the newest of that version.
    """
    known = {first, pythons[0], pythons[-1]}
    seen = {python.number[:2] for python in known}
    found = set()
    for python in pythons:
        if python not in known and python.number[:2] in seen:
            found.add(python)
        seen.add(python.number[:2])
    return found


def _has_serial(first: Python, pythons: Sequence[Python], run: Run) -> bool:
    """Tell whether the gate runs the tests of a run that run alone."""
    return run.python == first or is_end(run.python, run.core, first, pythons)


def is_end(python: Python, core: str, first: Python, pythons: Sequence[Python]) -> bool:
    """Tell whether a core is the usual one of the oldest or the newest Python."""
    ends = {pythons[0], pythons[-1]} - {first}
    return python in ends and core == python.cores[0]


def turn_of(
    python: Python, first: Python, pythons: Sequence[Python], commit: str
) -> int | None:
    """Return the half of the tests of IN_TURN that an end has; None if it has all.

    There are two ends only if the first Python is neither.
    """
    newest, oldest = pythons[0], pythons[-1]
    if newest == oldest or first in {newest, oldest}:
        return None
    return (hashed(commit) + (python == newest)) % 2


def rest(first: Python, pythons: Sequence[Python], commit: str = "") -> Iterator[Run]:
    """Yield the runs of what the gate leaves out."""
    yield Run(first, first.cores[0], tuple(sorted(having(SELDOM))), SELDOM, "rest")
    for python, core in configurations(first, pythons):
        yield from _beyond(first, pythons, python, core)
        turn = turn_of(python, first, pythons, commit)
        if is_end(python, core, first, pythons) and turn is not None:
            marks = f"({any_of(IN_TURN)}) and not once and not smoke"
            yield Run(python, core, files(IN_TURN), marks, "rest turn", 1 - turn)
        run = _gate(first, pythons, python, core)
        if run and not _has_serial(first, pythons, run):
            clocks = tuple(file for file in run.files if file in having(SERIAL))
            marks = both(run.marks, SERIAL)
            yield replace(run, files=clocks, marks=marks, part="rest serial")


def _beyond(
    first: Python, pythons: Sequence[Python], python: Python, core: str
) -> Iterator[Run]:
    """Yield the tests of a Python and core that no run of the gate has."""
    usual = core == python.cores[0]
    is_twin = python in twins(first, pythons)
    others = "not once and not smoke"
    if not usual and core not in KINDS:
        others = "not once"  # the gate has few of those marked smoke
    if python == first and usual:
        return  # the gate leaves nothing out
    beside = files((BESIDE,), without=COUNTING_BESIDE)
    if core in KINDS and not is_twin:
        chosen = beside
    elif is_end(python, core, first, pythons):
        chosen = files(GPU)
    elif is_twin:
        chosen = files(COUNTING if core in KINDS else (*EVENTS, *COUNTING))
        if usual:
            smoke = tuple(sorted(having("smoke")))
            yield Run(python, core, smoke, "smoke and not once", "rest smoke")
    elif not usual:
        chosen = (*files(EVENTS), *beside)
    else:
        chosen = files(without=(*READING, *COUNTING))
    yield Run(python, core, chosen, others, "rest")
    if usual and python == pythons[-1]:
        yield Run(python, core, files(READING), others, "rest reading")


def tenth(runs: Iterable[Run], commit: str) -> Iterator[Run]:
    """Yield the part of the rest that the hash of a commit chooses.

    The parts have as many files each, of few runs: a run takes a while to begin.
    The files of a run are in a random order, so that no part has all the slow ones.
    """
    runs = list(runs)
    every = [
        (run, file)
        for run in runs
        for file in sorted(run.files, key=lambda file: hashed(f"{run.name} {file}"))
    ]
    part = hashed(commit) % PARTS
    ends = [len(every) * number // PARTS for number in (part, part + 1)]
    chosen = every[slice(*ends)]
    for run in runs:
        files = tuple(file for one, file in chosen if one is run)
        if files:
            yield replace(run, files=files)


def hashed(text: str) -> int:
    """Return a number that is the same in each run for a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


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
