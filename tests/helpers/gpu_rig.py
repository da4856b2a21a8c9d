"""Programs that drive the doubles, with the expected GPU numbers of their lines.

Expected numbers are in a comment at the end of a line::

    gpu.fk_launch(b"kernel", 0, 1000)  #> gpu=1000 kernels=1

A line without a mark must have no GPU numbers.  Words of a mark, times in ns:

    gpu=TIME  self=TIME (default: `gpu`)  adopted=TIME  kernels=NUMBER
    memset=TIME/NUMBER  wait=TIME/NUMBER  load=TIME
    alloc=BYTES  free=BYTES  live=BYTES  peak=BYTES, of the device
    HtoD=TIME/BYTES/NUMBER, or another direction, and uvm-HtoD, of managed memory
    hits=NUMBER  time=TIME, of the processor: compared only if given
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from deadline import DEADLINE
from gpu_double import FROZEN_PRELUDE, PRELUDE, environment
from gpu_pythons import run_with_doubles
from running import plain
from view_text import text_of

from lineprof import LineStats
from lineprof.model.gpu import WAIT, numbers_of_lines, totals, unattributed
from lineprof.report import VIEWS
from lineprof.report.options import Options
from lineprof.source import Sources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lineprof.model.gpu import Gpu, GpuNumbers, GpuRun
    from lineprof.model.timelines import GpuEvent

MARK = re.compile(r"#> (.+)$")
PLAYER = Path(__file__).with_name("gpu_player.py")
AT_START = ("PYTHON", "LD_", "LINEPROF_CLOCK", "LINEPROF_CORE")
OF_THE_PROCESSOR = ("hits", "time")
# How gpu_status() begins if lineprof records, and if another tool does.
OPEN = "gpu: cupti (CUPTI records its work"
HELD = "gpu: none (CUPTI takes one tool at a time and is held by"

Words = dict[str, str]


def words_of(text: str) -> Words:
    """Parse words like ``gpu=1000 kernels=1``; `self` is `gpu` unless it is given."""
    words = dict(word.split("=") for word in text.split())
    if "gpu" in words:
        words.setdefault("self", words["gpu"])
    return {name: value for name, value in words.items() if value != "0"}


def marks(text: str) -> dict[int, Words]:
    """Return the expected numbers that are written in the program's lines."""
    found = ((n, MARK.search(s)) for n, s in enumerate(text.splitlines(), 1))
    return {number: words_of(match[1]) for number, match in found if match}


def shown(numbers: GpuNumbers) -> Words:
    """Return numbers as the words of a mark, without those that are 0."""
    words = {
        "gpu": numbers.gpu_ns,
        "self": numbers.self_ns,
        "adopted": numbers.adopted_ns,
        "kernels": numbers.kernels,
        "alloc": numbers.alloc_bytes,
        "free": numbers.free_bytes,
        "load": numbers.load_ns,
        "live": numbers.live_bytes,
        "peak": numbers.peak_bytes,
    }
    found = {name: str(value) for name, value in words.items() if value}
    if numbers.memsets:
        found["memset"] = f"{numbers.memset_ns}/{numbers.memsets}"
    if numbers.waits:
        found["wait"] = f"{numbers.wait_ns}/{numbers.waits}"
    for prefix, copies in (("", numbers.copies), ("uvm-", numbers.migrations)):
        for name, count, ns, size in copies:
            found[f"{prefix}{name}"] = f"{ns}/{size}/{count}"
    return found


def by_line(gpu: Gpu, *, capture: bool = False) -> dict[int, Words]:
    """Return the words of each line, all functions together."""
    return {
        line: shown(numbers)
        for lines in numbers_of_lines(gpu, capture=capture).values()
        for line, numbers in lines.items()
    }


def check_sums(gpu: Gpu) -> None:
    """Check that self numbers of lines and unattributed ones add up to the totals."""
    parts = [unattributed(gpu)]
    for lines in numbers_of_lines(gpu, alone=True).values():
        parts += lines.values()
    whole = totals(gpu)
    for name in ("self_ns", "kernels", "memset_ns", "memcpy_ns", "memcpy_bytes"):
        assert sum(getattr(part, name) for part in parts) == getattr(whole, name)
    assert sum(part.wait_ns for part in parts) == whole.wait_ns
    assert whole.self_ns == whole.gpu_ns


def run_of(stats: LineStats) -> GpuRun:
    """Return the GPU run of a profile that has only one."""
    [run] = stats.gpu.runs
    return run


def fields(words: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of docs/json.md for these words."""

    def number(name: str, place: int = 0) -> int:
        return int(words.get(name, "0/0").split("/")[place])

    moved = [name for name in words if "to" in name and "-" not in name]
    return {
        "gpu_ns": number("gpu"),
        "gpu_self_ns": number("self"),
        "gpu_adopted_ns": number("adopted"),
        "kernels": number("kernels"),
        "memset_ns": number("memset"),
        "memsets": number("memset", 1),
        "wait_ns": number("wait"),
        "waits": number("wait", 1),
        "alloc_bytes": number("alloc"),
        "free_bytes": number("free"),
        "load_ns": number("load"),
        "memcpy_ns_by_direction": {name: number(name) for name in moved},
        "memcpy_bytes_by_direction": {name: number(name, 1) for name in moved},
    }


def check_json(stats: LineStats) -> None:
    """Check that ``view --json`` has the same numbers as the profile."""
    lines = VIEWS["json"].render(stats, Sources(stats.sources), Options())
    profile = json.loads("\n".join(lines))
    found = {
        line["line"]: line
        for function in profile["functions"]
        for line in function["lines"]
        if "gpu_ns" in line
    }
    known = {line: fields(words) for line, words in by_line(stats.gpu).items()}
    assert known == {
        line: {name: one[name] for name in fields({})} for line, one in found.items()
    }
    if "gpu" in profile:
        rest, numbers = profile["gpu"], unattributed(stats.gpu)
        assert rest["unattributed_ns"] == rest["unattributed"]["gpu_ns"]
        assert fields(shown(numbers)) == {
            name: rest["unattributed"][name] for name in fields({})
        }
        assert rest["total_ns"] == totals(stats.gpu).gpu_ns


def check_marks(
    text: str, stats: LineStats, nowhere: str = "", *, capture: bool = False
) -> None:
    """Compare a profile with the marks in its program.

    *nowhere* has the expected numbers that are unattributed.
    """
    known = marks(text)
    found = by_line(stats.gpu, capture=capture)
    cells = {
        row.line: {"hits": str(row.hits), "time": str(row.time_ns)}
        for function in stats.functions
        for row in function.rows
    }
    for line, words in known.items():
        for name in words.keys() & set(OF_THE_PROCESSOR):
            found.setdefault(line, {})[name] = cells.get(line, {}).get(name, "0")
    rest = shown(unattributed(stats.gpu, capture=capture))
    if found != {n: words for n, words in known.items() if words}:
        pytest.fail(report(text, known, found), pytrace=False)
    assert rest == words_of(nowhere)
    check_sums(stats.gpu)
    check_json(stats)


def report(text: str, known: Mapping[int, Words], found: Mapping[int, Words]) -> str:
    """Return the source, with the numbers found below each line that differs."""
    rows = ["GPU numbers differ:"]
    for line, source in enumerate(text.splitlines(), 1):
        rows.append(f"{line:4} {source}")
        if found.get(line, {}) != known.get(line, {}):
            words = [f"{name}={value}" for name, value in found.get(line, {}).items()]
            rows.append(f"  != {' '.join(words) or 'nothing'}")
    return "\n".join(rows)


@dataclass(frozen=True)
class Ran:
    """An ended process, and the program that it ran."""

    status: int
    out: str
    err: str
    text: str  # of the program
    folder: Path

    def stats(self, name: str = "program") -> LineStats:
        """Load the profile that the process wrote."""
        return LineStats.from_files(self.folder / f"{name}.lprof")

    def warnings(self) -> list[str]:
        """Return the warnings of the profile, as its JSON has them."""
        return list(json.loads(text_of(self.stats(), "json")).get("warnings", []))

    def ok(self, out: str = "") -> Ran:
        """Check that the process succeeded and wrote `out` and no errors."""
        assert (self.status, self.out, self.err) == (0, out, ""), self.err
        return self

    def check(self, nowhere: str = "", *, capture: bool = False) -> LineStats:
        """Compare the profile with the marks in the program."""
        stats = self.stats()
        check_marks(self.text, stats, nowhere, capture=capture)
        return stats


class Lost(NamedTuple):
    """Numbers of records that have no place in the profile, by their reason."""

    dropped: int
    invalid: int
    outstanding: int
    left_out: int


def lost(run: GpuRun) -> Lost:
    """Return the numbers of lost records of a run."""
    return Lost(run.dropped, run.invalid, run.outstanding, run.left_out)


def events(stats: LineStats) -> list[GpuEvent]:
    """Return the records of all timelines, in their order, and not the waits."""
    every = (event for timeline in stats.gpu.timelines for event in timeline)
    return [event for event in every if event.kind != WAIT]


class Rig:
    """A runner of programs that use the doubles, with a folder for their files."""

    def __init__(self, doubles: Path, folder: Path) -> None:
        self.doubles = doubles
        self.folder = folder

    def run(
        self,
        words: list[str],
        text: str = "",
        *,
        frozen: bool = True,
        fresh: bool = False,
        cupti: str = "fake_cupti",
        **knobs: object,
    ) -> Ran:
        """Run Python with `words` and the doubles; knobs that are "" are unset.

        fresh: in a new Python also if a fork of one that has imported lineprof would
        do. Knobs that Python reads at its start, or before a fork, need a new one.
        """
        found = environment(self.doubles, frozen=frozen, cupti=cupti, **knobs)
        found = {name: value for name, value in found.items() if value}
        if not fresh and not any(name.startswith(AT_START) for name in knobs):
            ended = run_with_doubles(words, self.folder, found, frozen=frozen)
            return Ran(*ended, text, self.folder)
        done = subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            cwd=self.folder,
            env=found,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr, text, self.folder)

    def write(self, program: str, *, frozen: bool = True, ready: bool = True) -> str:
        """Write program.py, in which `gpu` is the workload and `tick` moves the clock.

        ready: the written program first initialises CUDA.
        """
        text = FROZEN_PRELUDE if frozen else PRELUDE
        text += ("gpu.fk_init()\n" if ready else "") + plain(program)
        (self.folder / "program.py").write_text(text, encoding="utf-8")
        return text

    def kernprof(
        self,
        program: str,
        *options: str,
        frozen: bool = True,
        ready: bool = True,
        fresh: bool = False,
        **knobs: object,
    ) -> Ran:
        """Run a program under ``kernprof -l``, with -q unless `options` have -v."""
        text = self.write(program, frozen=frozen, ready=ready)
        quiet = [] if any(word.startswith("-v") for word in options) else ["-q"]
        words = ["-m", "kernprof", "-l", *quiet, *options, "program.py"]
        return self.run(words, text, frozen=frozen, fresh=fresh, **knobs)

    def python(
        self,
        program: str,
        *arguments: str,
        frozen: bool = True,
        ready: bool = True,
        fresh: bool = False,
        **knobs: object,
    ) -> Ran:
        """Run a program that makes its own profiler."""
        text = self.write(program, frozen=frozen, ready=ready)
        words = ["program.py", *arguments]
        return self.run(words, text, frozen=frozen, fresh=fresh, **knobs)

    def check(
        self, program: str, *options: str, nowhere: str = "", **knobs: object
    ) -> LineStats:
        """Run a program under kernprof and compare its profile with its marks."""
        return self.kernprof(program, *options, **knobs).ok().check(nowhere)

    def play(self, programs: Mapping[str, str], **knobs: object) -> dict[str, Played]:
        """Run programs one after the other in one process, each with a profiler.

        Names in a program: `profile`, its profiler; `gpu` and `tick` as for `write`;
        `held`, the workload with functions that do not release the GIL.
        """
        texts = {name: plain(text) for name, text in programs.items()}
        files = {name: f"case_{n}.py" for n, name in enumerate(texts)}
        for name, text in texts.items():
            (self.folder / files[name]).write_text(text, encoding="utf-8")
        ran = self.run([str(PLAYER), *files.values()], **knobs)
        assert ran.status == 0, ran.err
        assert not ran.err, ran.err
        printed = json.loads(ran.out)
        return {
            name: Played(texts[name], printed[file], self.folder / f"{file}.lprof")
            for name, file in files.items()
        }


@dataclass(frozen=True)
class Played:
    """A program that ran with others in one process."""

    text: str
    printed: str  # its output, and the traceback if it failed
    profile: Path

    def check(self, nowhere: str = "", *, said: str = "") -> LineStats:
        """Compare the profile with the marks in the program."""
        assert self.printed == said
        stats = LineStats.from_files(self.profile)
        check_marks(self.text, stats, nowhere)
        return stats
