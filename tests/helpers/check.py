"""Expected hits beside the program: `check_lines(program, hits={1: 1, 2: 4})`.

A program is the text of a module.  Its functions marked with ``@profile`` are
counted twice: by lineprof in this process, and by the oracle in a child process, so
that the oracle's tracing leaves this process unchanged.  Both counts must be equal,
and equal to the hits that the test expects.  The program's output, its global
``result`` and the exception that ends it must also be the same in both runs.

Expected hits are in ``hits``, or in a comment at the end of a line::

    for i in range(3):  #> 4
        f(i)  #> 3
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import oracle_process
import pytest
from running import (
    Nothing,
    Outcome,
    hook_name,
    plain,
    play,
    program_file,
    run_executions,
    run_lineprof,
)
from untellable import untellable, whiles_on_one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

MARK = re.compile(r"#> (\d+)$")


def marks(text: str) -> dict[int, int]:
    """Return the expected hits that are written in the program's lines."""
    found = ((n, MARK.search(s)) for n, s in enumerate(text.splitlines(), 1))
    return {number: int(match[1]) for number, match in found if match}


def check_like_alone(
    program: str,
    hits: Mapping[int, int] | None = None,
    *,
    unsure: Collection[int] = (),
) -> Outcome:
    """Run *program* alone and under lineprof; both must have the same outcome.

    For programs that trace or fork themselves, which the oracle cannot count.
    The hits of all lines must be given, those of *unsure* lines excepted; a line
    without a mark must have no hit.
    """
    text = plain(program)
    known = {**marks(text), **(hits or {})}
    with program_file(text) as file:
        output, result = play(text, file, Nothing(), ())
        found = run_lineprof(text, file)
    truth = Outcome({(0, "by hand"): known}, output, result)
    assert (found.output, found.result) == (output, result)
    counted = {line: found.lines().get(line, 0) for line in known}
    counted.update(found.lines())
    if {line: n for line, n in counted.items() if line not in unsure} != known:
        pytest.fail(report(text, known, truth, found, {}), pytrace=False)
    return found


def check_lines(
    program: str,
    hits: Mapping[int, int] | None = None,
    *,
    functions: Sequence[str] = (),
) -> Outcome:
    """Run *program* under lineprof and under the oracle, and compare the hits.

    Args:
        program: the text of a module; its first line may be left empty.
        hits: expected hits by line, besides the marks of the lines; all
            other lines are compared with the oracle alone.
        functions: names of functions to register from outside, see `play`.

    Raises:
        AssertionError: with the source and all counts beside it.

    """
    text = plain(program)
    known = {**marks(text), **(hits or {})}
    with program_file(text) as file:
        truth = oracle_process.ask(text, file, functions)
        found = run_lineprof(text, file, functions)
        tells = sys.version_info >= (3, 14)  # Python, of the last test of a `while`
        loops = frozenset() if tells else whiles_on_one_line(text)
        exact = run_executions(text, file, functions).lines() if loops else {}
    wrong = differences(known, truth, found)
    untold = untellable(text)
    for line in loops:  # here executions win over the oracle
        counted, executions = found.lines().get(line, 0), exact.get(line, 0)
        wrong.pop(line, None)
        if counted != executions and not (
            line in untold and untold[line].allows(executions, counted)
        ):
            wrong[line] = f"not {executions}"
        if known.get(line, executions) != executions:
            wrong[line] = "by hand"
    if wrong:
        pytest.fail(report(text, known, truth, found, wrong), pytrace=False)
    return found


def differences(
    known: Mapping[int, int], truth: Outcome, found: Outcome
) -> dict[int, str]:
    """Return the differences by line; line 0 is for the whole program."""
    wrong: dict[int, str] = {}
    for what in ("result", "output"):
        if getattr(truth, what) != getattr(found, what):
            wrong[0] = f"{what} differs: {truth!r} {found!r}"
    if set(truth.hits) != set(found.hits):
        wrong[0] = f"functions differ: {sorted(truth.hits)} {sorted(found.hits)}"
    for key in truth.hits.keys() | found.hits.keys():
        here, there = truth.hits.get(key, {}), found.hits.get(key, {})
        for line in here.keys() | there.keys():
            if here.get(line, 0) != there.get(line, 0):
                wrong[line] = "lineprof"
    oracle = truth.lines()
    for line, hits in known.items():
        if oracle.get(line, 0) != hits:
            wrong[line] = "oracle"
    return wrong


def report(
    text: str,
    known: Mapping[int, int],
    truth: Outcome,
    found: Outcome,
    wrong: Mapping[int, str],
) -> str:
    """Return the source with expected and counted hits in columns."""
    version = ".".join(map(str, sys.version_info[:3]))
    rows = [f"Python {version}, hook {hook_name()}: {wrong.get(0, 'hits differ')}"]
    rows.append(f"{'':9} {'line':>4} {'by hand':>8} {'oracle':>8} {'lineprof':>8}")
    oracle, lineprof = truth.lines(), found.lines()
    for line, source in enumerate(text.splitlines(), 1):
        cells = [table.get(line, "") for table in (known, oracle, lineprof)]
        counts = " ".join(f"{cell:>8}" for cell in cells)
        rows.append(f"{wrong.get(line, ''):9} {line:>4} {counts}  {source}")
    return "\n".join(rows)
