"""Runs programs with the NVTX tool `doubles/nvtx/nvtx_spy.c`; reads their ranges."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from compiled_doubles import double
from gpu_pythons import run_with_doubles
from running import hook_name, plain, run_python

if TYPE_CHECKING:
    from collections.abc import Sequence

POP = ")"  # in a sequence of ranges; any other word is the text of a push

Event = dict[str, Any]


@dataclass(frozen=True)
class Heard:
    """An ended program, and the NVTX events that the tool received from it."""

    status: int
    output: str
    errors: str
    events: tuple[Event, ...]

    def of(self, what: str) -> list[Event]:
        """Return the events of lineprof's domain that are of one kind."""
        return [
            event
            for event in self.events
            if event["what"] == what and event["domain"] == "lineprof"
        ]

    def threads(self, domain: str = "lineprof") -> dict[tuple[int, int], list[str]]:
        """Return each thread's ranges: texts of pushes, and `POP`."""
        found: dict[tuple[int, int], list[str]] = {}
        for event in self.events:
            if event["domain"] == domain and event["what"] in {"push", "pop"}:
                place = event["pid"], event["thread"]
                pop = event["what"] == "pop"
                found.setdefault(place, []).append(POP if pop else event["text"])
        return found

    def ranges(self) -> list[str]:
        """Return the ranges of the only thread."""
        threads = list(self.threads().values())
        assert len(threads) <= 1, threads
        return threads[0] if threads else []


class Spy:
    """A runner of programs, each in a process of its own that loads the tool."""

    def __init__(self, library: Path) -> None:
        self.library = library

    def run(self, program: str, *arguments: str, **environment: str) -> Heard:
        """Run a program with these arguments and environment variables."""
        with tempfile.TemporaryDirectory(prefix="lineprof-") as folder:
            file, out = Path(folder, "program.py"), Path(folder, "heard")
            file.write_text(plain(program), encoding="utf-8")
            found = {
                **os.environ,
                "LINEPROF_CORE": hook_name(),
                "PYTHONPATH": os.pathsep.join(sys.path),
                "PYTHONFAULTHANDLER": "1",
                "NVTX_INJECTION64_PATH": str(self.library),
                "NVTX_SPY_OUT": str(out),
                **environment,
            }
            words = [str(file), *arguments]
            ended = run_with_doubles(words, Path.cwd(), found)
            return Heard(*ended, tuple(read(out)))

    def check(self, program: str, *arguments: str, **environment: str) -> Heard:
        """Run a program that must succeed."""
        heard = self.run(program, *arguments, **environment)
        assert heard.status == 0, heard.errors
        return heard


def read(file: Path) -> list[Event]:
    """Return the events in the tool's file."""
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8", errors="replace")
    return [json.loads(line) for line in text.splitlines()]


def nesting(ranges: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the ranges that are open after each step; fail for a pop without push."""
    stack: tuple[str, ...] = ()
    steps = []
    for word in ranges:
        if word == POP:
            assert stack, f"a pop without a push in {ranges}"
            stack = stack[:-1]
        else:
            stack = (*stack, word)
        steps.append(stack)
    return steps


def make_spy(folder: Path) -> Spy:
    """Build the tool; skip the test if lineprof was built without NVTX."""
    probe = "from lineprof import _core\nprint(*_core.nvtx_open('auto'))"
    _, answer, errors = run_python(probe)
    if "without NVTX" in answer:
        pytest.skip(answer.partition(" ")[2])
    assert "no tool" in answer, errors
    return Spy(double(folder, "nvtx/nvtx_spy.c"))
