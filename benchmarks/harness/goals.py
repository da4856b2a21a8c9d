"""Goals for the overhead, and the verdict on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Figures = dict[str, dict[str, dict[str, float]]]

TIGHT = "tight loop"
FAR = "tight loop, line > 256"
SMALL = "two tiny callees a line"
HEAVY = "heavy plain helper"
SCRIPT = "script, 1 of 10 functions"
LONG = "lines of 5 µs"
CALL = "call of two lines, per call"


@dataclass(frozen=True)
class Run:
    """Figures of one Python: with the clock that lineprof chose, and clock_gettime."""

    version: tuple[int, int]
    core: str
    figures: Figures
    clock_figures: Figures

    @property
    def ours(self) -> str:
        """Name of the tool entry for the hook that lineprof chose."""
        return f"lineprof {self.core}"


@dataclass(frozen=True)
class Verdict:
    """Goal, with the measured figure and its bound."""

    goal: str
    figure: float
    bound: float
    unit: str
    is_maximum: bool = True  # of the bound; otherwise it is a minimum

    @property
    def reached(self) -> bool:
        """Whether the figure is within the bound."""
        if self.is_maximum:
            return self.figure <= self.bound
        return self.figure >= self.bound

    def line(self) -> str:
        """Return the verdict as one line of text."""
        word = "reached    " if self.reached else "NOT REACHED"
        sign = "≤" if self.is_maximum else "≥"
        return (
            f"  {word}  {self.goal:<58}"
            f"{self.figure:8.2f}{self.unit}  (goal {sign} {self.bound:g}{self.unit})"
        )


def quotient(figures: Figures, title: str, above: str, below: str) -> float:
    """Divide the time that one tool adds by the time that another adds."""
    row = figures[title]
    return (row[above]["ratio"] - 1) / max(row[below]["ratio"] - 1, 1e-9)


def baseline_verdicts(figures: Figures, clock: str) -> Iterator[Verdict]:
    """Compare each hook with a callback of the same hook that does nothing."""
    for hook, of_counter in {"settrace": 1.6, "monitoring": 1.0}.items():
        bound = 4.0 if clock == "clock_gettime" else of_counter
        tool, baseline = f"lineprof {hook}", f"no-op {hook}"
        row = figures.get(TIGHT, {})
        if tool in row and baseline in row:
            title = f"tight loop: {hook} over a no-op callback, {clock}"
            figure = quotient(figures, TIGHT, tool, baseline)
            yield Verdict(title, figure, bound, " x")


def rival_verdicts(run: Run) -> Iterator[Verdict]:
    """Compare the time that lineprof adds with the time that line_profiler adds."""
    modern = run.version >= (3, 12)
    wanted = {
        TIGHT: 10.0 if modern else 5.0,
        FAR: 10.0 if modern else 5.0,
        "recursion": 8.0,
        "generators": 8.0,
    }
    for title, bound in wanted.items():
        row = run.figures.get(title, {})
        if "line_profiler" in row and run.ours in row:
            figure = quotient(run.figures, title, "line_profiler", run.ours)
            goal = f"{title}: line_profiler's added time over ours"
            yield Verdict(goal, figure, bound, " x", is_maximum=False)


def slowdown_verdicts(run: Run) -> Iterator[Verdict]:
    """Compare profiled with plain runs."""
    traced = run.version == (3, 11)  # by a trace function, set by the frame evaluator
    wanted = {
        SMALL: 2.8 if traced else 1.6,
        HEAVY: 1.05,
        SCRIPT: 1.5 if traced else 1.10,
        LONG: 1.02,
    }
    if not traced:
        wanted |= {"recursion": 3.0, "generators": 3.0}
    for title, bound in wanted.items():
        if run.ours in run.figures.get(title, {}):
            figure = run.figures[title][run.ours]["ratio"]
            yield Verdict(f"{title}: slow-down", figure, bound, " x")


def call_verdicts(run: Run) -> Iterator[Verdict]:
    """Judge the time that profiling adds to a call of a small function."""
    bound = 150.0 if run.version == (3, 11) else 60.0
    for tool in (run.ours, "lineprof registered"):
        if tool in run.figures.get(CALL, {}):
            figure = run.figures[CALL][tool]["added_ns"]
            kind = "registered" if tool.endswith("registered") else "decorated"
            yield Verdict(f"call of two lines, {kind}: added", figure, bound, " ns")


def verdicts(run: Run) -> list[Verdict]:
    """Return the verdicts on every goal that the figures of one Python cover."""
    return [
        *baseline_verdicts(run.figures, "own clock"),
        *baseline_verdicts(run.clock_figures, "clock_gettime"),
        *rival_verdicts(run),
        *slowdown_verdicts(run),
        *call_verdicts(run),
    ]
