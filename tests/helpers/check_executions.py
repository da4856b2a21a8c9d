"""Hits against the program's own count: `check_executions(program)`.

The program runs twice in this process: under lineprof, and rewritten so that it
counts its own executions.  The first line of each logical line must have the same
hits in both; another line of a logical line, which lineprof counts where Python has
an event for it, at most as many.  Hits that a comment ``#> 4`` gives must be those of
both.  Lines that this Python does not tell (untellable.py) may be within its bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import oracle_process
import pytest
from check import marks, report
from executions import differences, logical_lines
from oracle import spans_of
from running import Outcome, plain, program_file, run_executions, run_lineprof
from untellable import untellable

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_executions(program: str, *, functions: Sequence[str] = ()) -> Outcome:
    """Run *program* under lineprof, and compare its hits with its executions.

    Args:
        program: the text of a module.
        functions: names of functions to register from outside, see `play`.

    """
    text = plain(program)
    with program_file(text) as file:
        truth = run_executions(text, file, functions)
        found = run_lineprof(text, file, functions)
    known, counted, untold = marks(text), truth.lines(), untellable(text)
    wrong = {
        line: "lineprof"
        for line, counts in differences(text, truth.hits, found.hits).items()
        if not (line in untold and untold[line].allows(*counts))
    }
    wrong |= {line: "by hand" for line in known if known[line] != counted.get(line, 0)}
    if (truth.output, truth.result) != (found.output, found.result):
        wrong[0] = f"the outcome differs: {truth!r} {found!r}"
    if wrong:
        pytest.fail(report(text, known, truth, found, wrong), pytrace=False)
    return found


def check_inner_lines(program: str) -> None:
    """Compare lines inside simple statements with CPython's own line events.

    Which of these lines has an event, and so a hit, is CPython's choice.
    """
    text = plain(program)
    with program_file(text) as file:
        truth, found = oracle_process.ask(text, file), run_lineprof(text, file)
    spans, firsts = spans_of(text), logical_lines(text)
    inner = {
        line
        for line, (first, _) in spans.items()
        if first != line and firsts[line] == first  # not with a head before it
    }
    wrong = {
        line: "lineprof"
        for key in truth.hits.keys() & found.hits.keys()
        for line in inner
        if truth.hits[key].get(line, 0) != found.hits[key].get(line, 0)
    }
    if wrong:
        pytest.fail(report(text, {}, truth, found, wrong), pytrace=False)
