"""The random programs: each statement occurs in them, and each way out of a block."""

from __future__ import annotations

import ast
import functools
import sys
import warnings
from collections import Counter
from typing import NamedTuple

import pytest
from executions import Executions
from programs.generate import program
from programs.occurrences import Exit, every_exit, exits
from running import play, program_file

pytestmark = pytest.mark.once  # nothing here is about lineprof
SEEDS = range(300)  # those of test_hits_random.py
ENOUGH = 3

# Without code; ast has other names for statements of Python 2, or deprecated ones.
NEVER_RUN = {"Global", "Nonlocal"}


class Found(NamedTuple):
    """How often the programs have each statement and way out, run and in all."""

    statements: Counter[str]
    exits: Counter[Exit]
    there: Counter[str]


@functools.cache
def found() -> Found:
    """Run all programs; they count what runs."""
    counts = Found(Counter(), Counter(), Counter())
    for seed in SEEDS:
        text = program(seed)
        executions = Executions()
        with warnings.catch_warnings(), program_file(text) as file:
            warnings.simplefilter("ignore", SyntaxWarning)
            play(text, file, executions, ())
            ran = executions.ran()
        for node, way in exits(text):
            counts.exits[way] += (node.lineno, node.col_offset) in ran
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.stmt):
                name = type(node).__name__
                counts.there[name] += 1
                counts.statements[name] += (node.lineno, node.col_offset) in ran
    return counts


def test_every_statement_of_python_runs_in_the_programs() -> None:
    every = {kind.__name__ for kind in ast.stmt.__subclasses__()}
    assert every == {name for name, there in found().there.items() if there}
    rare = {name for name in every if found().statements[name] < ENOUGH}
    assert rare == NEVER_RUN


def test_an_annotation_runs_with_and_without_a_value() -> None:
    kinds: Counter[tuple[str, bool]] = Counter()
    for seed in SEEDS[:60]:
        for node in ast.walk(ast.parse(program(seed))):
            if isinstance(node, ast.AnnAssign):
                kinds[type(node.target).__name__, node.value is not None] += 1
    assert len(kinds) == 4  # a name or an attribute, with a value and without
    assert min(kinds.values()) >= ENOUGH


def test_every_way_out_of_every_kind_of_block_is_taken() -> None:
    rare = {way for way in every_exit() if found().exits[way] < ENOUGH}
    assert rare == set()


def test_a_program_is_the_same_on_every_run() -> None:
    assert program(7) == program(7) != program(8)
    same = sys.version_info >= (3, 12)  # 3.11 has no type statement
    assert ("type T" in "".join(map(program, range(9)))) == same
