"""Budgets: the most that a program, a function or a line may take, as values.

`lineprof.cli.budget_file` reads them from TOML, `lineprof.report.budgets` compares them
with a profile. Times are in nanoseconds (ns), sizes in bytes, as exact fractions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fractions import Fraction

TIME, SHARE, COUNT, SIZE = "time", "share", "count", "size"

PROGRAM, FUNCTION, LINE = "program", "function", "line"


# Of memory, with callees.
HOST_MEMORY = ("max_host_alloc", "max_host_live", "max_host_peak")
GPU_MEMORY = ("max_gpu_alloc", "max_gpu_live", "max_gpu_peak")
_MEMORY = dict.fromkeys((*HOST_MEMORY, *GPU_MEMORY), SIZE)


def _limits(per: str, count: str) -> dict[str, str]:
    """Return the keys of a function's or line's table, `per` call or hit."""
    times = ("time", "self", per, "gpu", "gpu_self")
    return {**dict.fromkeys(times, TIME), count: COUNT, "share": SHARE, **_MEMORY}


# The keys of each table, with the kind of their values.
LIMITS: dict[str, dict[str, str]] = {
    PROGRAM: {**dict.fromkeys(("wall", "cpu", "time", "gpu"), TIME), **_MEMORY},
    FUNCTION: _limits("per_call", "calls"),
    LINE: _limits("per_hit", "hits"),
}


class Limit(NamedTuple):
    """One key of a budget."""

    key: str  # of LIMITS
    kind: str  # TIME (ns), SHARE (%), COUNT or SIZE (bytes)
    value: Fraction  # the most that is allowed
    text: str  # as the file has it


class Budget(NamedTuple):
    """The limits of one function, line, or of the program."""

    what: str  # PROGRAM, FUNCTION or LINE
    name: str  # as views take it; of a line by its text: the file
    limits: tuple[Limit, ...]
    text: str = ""  # in the line; "": the line is named by its number
    optional: bool = False  # whether it may be missing in the profile
    place: str = ""  # in the file: function 2 (train.py:step)
    line: int = 1  # of the file, about where the budget is


class Budgets(NamedTuple):
    """All budgets of a file."""

    file: str
    budgets: tuple[Budget, ...]
