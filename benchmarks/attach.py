#!/usr/bin/env python3
"""Attaching to a running program and detaching, a thousand times; and its speed after.

    python benchmarks/attach.py [--rounds N] [--pairs N] [--twins N] [--starts N]
                                [--firsts N]

Three programs are started as plain ``python``:

- one with three busy threads, the main one among them, which allocate, and check each
  of their results: it is attached to and detached from in every round. It must lose no
  work, and keep no thread, file or memory. Others like it are attached to once each, by
  a new client: that takes longer, for both import lineprof first;
- one with a single thread, which measures the longest time in which it did not run:
  what attaching keeps it from running, as it sees that itself;
- two alike that work in turn, of which one has been attached to: the speed afterwards
  is the median of the ratios, divided by that of before, and of several such twins the
  median again.

The status is 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.goals import Verdict

from lineprof.attach.joining import start
from lineprof.line_stats import LineStats
from lineprof.snapshot.counts_reader import read_profile

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_COUNT_S = 0.5
PAUSE_MS = 20.0
SPEED = 1.02
COUNTED_S = 0.001  # so long a round has a count; a thread may not run for less
LEAK_MB = 1.0  # in the second half of the rounds
MEMORY_AT = 10  # readings

# Prints "ready", and at the end the number of wrong results and of steps.
THREE_THREADS = """
import sys, threading
wrong, steps, ends = [0] * 3, [0] * 3, threading.Event()
def work(number):
    while not ends.is_set():
        wrong[number] += step(number) != 4950 * 3 + 100 * number
        steps[number] += 1
def step(number):
    table = {}
    for i in range(100):
        table[i] = [i] * 3, number
    total = 0
    for some, more in table.values():
        total += sum(some) + more
    return total
def wait():
    sys.stdin.readline()
    ends.set()
threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
threads.append(threading.Thread(target=wait))
for thread in threads:
    thread.start()
print("ready", flush=True)
work(2)
for thread in threads:
    thread.join()
print(sum(wrong), min(steps), threading.active_count(), flush=True)
"""

# Prints the longest time in ms between two steps, whenever it reads a line.
GAPS = """
import os, select, time
def longest_gap():
    longest, before, steps = 0, time.perf_counter_ns(), 0
    while True:
        now = time.perf_counter_ns()
        if now - before > longest:
            longest = now - before
        before, steps = now, steps + 1
        if not steps % 1000 and select.select([0], [], [], 0)[0]:
            return longest
print("ready", flush=True)
while True:
    gap = longest_gap()
    if not os.read(0, 1):
        break
    print(gap / 1e6, flush=True)
"""

# Prints the processor time of some work in ns, for each line that it reads.
TURNS = """
import os, select, time
def work(n):
    table = {}
    for i in range(n):
        key = i % 50
        table[key] = table.get(key, 0) + helper(i)
    return sum(table.values())
def helper(i):
    if i % 3:
        return i
    return len(str(i))
print("ready", flush=True)
while True:
    while not select.select([0], [], [], 0.005)[0]:
        pass
    if not os.read(0, 1):
        break
    begun = time.thread_time_ns()
    work(20_000)
    print(time.thread_time_ns() - begun, flush=True)
"""


class Program:
    """A program that runs, and answers by lines."""

    def __init__(self, text: str) -> None:
        """Start it as plain ``python``, and wait until it is ready."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        self.line()

    def line(self) -> str:
        """Return the next line; SystemExit if the program has ended."""
        assert self._process.stdout  # noqa: S101 - for type checkers
        text = self._process.stdout.readline()
        if not text:
            sys.exit(f"the program ended: {self._process.wait()}")
        return text.strip()

    def tell(self, text: str = "") -> None:
        """Send a line."""
        assert self._process.stdin  # noqa: S101 - for type checkers
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    def ask(self) -> float:
        """Return the number that it prints for a line."""
        self.tell()
        return float(self.line())

    def end(self) -> int:
        """Close its input, and return its exit status."""
        assert self._process.stdin  # noqa: S101 - for type checkers
        self._process.stdin.close()
        return self._process.wait(60)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def entries(self, what: str) -> int:
        """Return the number of its threads (``task``) or open files (``fd``)."""
        return sum(1 for _ in Path(f"/proc/{self.pid}/{what}").iterdir())

    @property
    def memory_mb(self) -> float:
        """Memory that is its own, and in use."""
        for line in Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Private_Dirty:"):
                return int(line.split()[1]) / 1e3
        return 0.0


class Round(NamedTuple):
    """What one attachment took, and what it counted."""

    first_count_s: float
    keep_s: float
    hits: int
    notices: int  # lines to the user that the program did not answer


def attach_once(pid: int, function: str, keep_s: float) -> Round:
    """Attach to the process `pid`, wait for `keep_s`, detach, and read the profile."""
    notices: list[str] = []
    began = time.perf_counter()
    connection, place, _ = start(pid, {}, notices.append)
    first_count_s = time.perf_counter() - began
    time.sleep(keep_s)
    with connection:
        reply = connection.ask("detach")
    path = Path(place.outside, Path(reply["file"]).name)
    with path.open("rb") as stream:
        stats = LineStats.of(read_profile(stream, str(path)))
    path.unlink()
    hits = sum(
        line[1]
        for key, lines in stats.timings.items()
        for line in lines
        if key[2].endswith(function)
    )
    return Round(first_count_s, keep_s, hits, len(notices))


def rounds_of(program: Program, count: int) -> Iterator[Round]:
    """Attach and detach so many times; the random times are the same in every run."""
    chosen = random.Random(1)  # noqa: S311 - no secret
    for _ in range(count):
        yield attach_once(program.pid, "step", chosen.uniform(0.0, 0.02))


def first_counts(count: int) -> list[Verdict]:
    """Attach to so many new programs, each from a new client."""
    times = []
    for _ in range(count):
        program = Program(THREE_THREADS)
        time.sleep(0.3)
        client = [sys.executable, __file__, "--once", str(program.pid)]
        done = subprocess.run(client, check=True, capture_output=True, text=True)
        times.append(float(done.stdout))
        program.tell()
        program.line()
        program.end()
    times.sort()
    median = statistics.median(times)
    print(
        f"  first count in {count} new programs: {times[0]:.3f} to {times[-1]:.3f} s,"
        f" median {median:.3f} s"
    )
    return [Verdict("attach to first count, new programs", median, FIRST_COUNT_S, " s")]


def robustness(count: int) -> list[Verdict]:
    """Attach to three allocating threads and detach, `count` times."""
    program = Program(THREE_THREADS)
    before = program.entries("task"), program.entries("fd")
    done: list[Round] = []
    memory: list[float] = []
    for one in rounds_of(program, count):
        done.append(one)
        if not len(done) % max(1, count // MEMORY_AT):
            memory.append(program.memory_mb)
            print(f"  {len(done):5} rounds, {memory[-1]:.1f} MB", flush=True)
    end = time.monotonic() + 10  # for the last thread of lineprof
    while (program.entries("task"), program.entries("fd")) != before:
        if time.monotonic() > end:
            break
        time.sleep(0.01)
    after = program.entries("task"), program.entries("fd")
    survived = program.is_running
    program.tell()
    wrong, steps, threads = map(int, program.line().split())
    status = program.end()
    print(
        f"  {steps:,} steps of the slowest thread, {wrong} wrong; threads and files"
        f" {before} before, {after} after"
    )
    times = sorted(one.first_count_s for one in done[1:])
    print(
        f"  first count: the first time {done[0].first_count_s:.3f} s, then"
        f" median {statistics.median(times):.3f} s,"
        f" 99 % {times[len(times) * 99 // 100]:.3f} s, longest {times[-1]:.3f} s;"
        f" notices: {sum(one.notices for one in done)}"
    )
    lost = sum(not one.hits for one in done if one.keep_s >= COUNTED_S)
    left = after[0] - before[0] + after[1] - before[1] + threads - 1
    grown = memory[-1] - memory[len(memory) // 2]
    return [
        Verdict("rounds that the program did not survive", 1 - survived, 0, ""),
        Verdict("exit status", status, 0, ""),
        Verdict("wrong results", wrong, 0, ""),
        Verdict("rounds of 1 ms or more without a count", lost, 0, ""),
        Verdict("threads and files that stay", left, 0, ""),
        Verdict("memory gained in the second half", grown, LEAK_MB, " MB"),
        Verdict(
            "attach again to first count", statistics.median(times), FIRST_COUNT_S, " s"
        ),
    ]


def pauses(count: int) -> list[Verdict]:
    """Attach to one thread that measures when it did not run, `count` times."""
    program = Program(GAPS)
    time.sleep(0.5)
    program.ask()
    idle, first, later = [], 0.0, []
    for turn in range(count):
        time.sleep(0.3)
        idle.append(program.ask())
        connection, place, _ = start(program.pid, {}, print)
        with connection:
            gap = program.ask()
            reply = connection.ask("detach")
        Path(place.outside, Path(reply["file"]).name).unlink()
        if turn:
            later.append(gap)
        else:
            first = gap
        program.ask()
    program.end()
    gap = statistics.median(later)
    print(
        f"  longest time without a step: the first time {first:.2f} ms, then median"
        f" {gap:.2f} ms, longest {max(later):.2f} ms; without attaching"
        f" {statistics.median(idle):.2f} ms, longest {max(idle):.2f} ms"
    )
    return [
        Verdict("pause when attached to for the first time", first, PAUSE_MS, " ms"),
        Verdict("pause afterwards", gap, PAUSE_MS, " ms"),
    ]


def ratio(one: Program, other: Program, pairs: int) -> float:
    """Return the median ratio of the processor times of two programs, in turn."""
    ratios = []
    for turn in range(pairs):
        first, second = (one, other) if turn % 2 else (other, one)
        times = {first: first.ask()}
        times[second] = second.ask()
        ratios.append(times[other] / times[one])
    return statistics.median(ratios)


class Speed(NamedTuple):
    """Processor time of a program to that of its twin, which nobody attaches to."""

    before: float
    during: float
    after: float


def speed_of_twins(pairs: int) -> Speed:
    """Compare a program after detaching with one that nobody has attached to."""
    plain, attached = Program(TURNS), Program(TURNS)
    processor = max(os.sched_getaffinity(0))  # one for both: they differ in speed
    for program in (plain, attached):
        os.sched_setaffinity(program.pid, {processor})
    ratio(plain, attached, 20)  # warm
    before = ratio(plain, attached, pairs)
    connection, place, _ = start(attached.pid, {}, print)
    with connection:
        attached.ask()
        during = attached.ask() / plain.ask()
        reply = connection.ask("detach")
    Path(place.outside, Path(reply["file"]).name).unlink()
    ratio(plain, attached, 5)  # specialised again
    after = ratio(plain, attached, pairs)
    plain.end()
    attached.end()
    return Speed(before, during, after)


def speed(pairs: int, twins: int) -> list[Verdict]:
    """Compare several twins: where their memory lies makes each a little different."""
    done = [speed_of_twins(pairs) for _ in range(twins)]
    changes = sorted(one.after / one.before for one in done)
    during = statistics.median(one.during for one in done)
    print(
        f"  processor time to that of its twin, {twins} twins: while attached"
        f" {during:.2f}; after, as a ratio to before, {changes[0]:.3f} to"
        f" {changes[-1]:.3f}"
    )
    change = statistics.median(changes)
    return [Verdict("speed after detaching", change, SPEED, " x")]


def main() -> None:
    """Measure, and print each goal with its verdict."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=1000, help="attachments")
    parser.add_argument("--pairs", type=int, default=200, help="pairs of work")
    parser.add_argument("--twins", type=int, default=15, help="pairs of programs")
    parser.add_argument("--starts", type=int, default=30, help="pauses")
    parser.add_argument("--firsts", type=int, default=9, help="programs, once each")
    parser.add_argument("--once", type=int, metavar="PID", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.once:
        print(attach_once(chosen.once, "step", 0.0).first_count_s)
        return
    print(f"Python {sys.version.split()[0]}")
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory(prefix="lineprof-attach-") as folder:
        os.environ["TMPDIR"] = folder  # sockets, and what is left
        verdicts += pauses(chosen.starts)
        verdicts += speed(chosen.pairs, chosen.twins)
        verdicts += first_counts(chosen.firsts)
        verdicts += robustness(chosen.rounds)
        left = [path for path in Path(folder).rglob("*") if path.is_file()]
        verdicts.append(Verdict("files that stay", len(left), 0, ""))
    for verdict in verdicts:
        print(verdict.line())
    sys.exit(not all(verdict.reached for verdict in verdicts))


if __name__ == "__main__":
    main()
