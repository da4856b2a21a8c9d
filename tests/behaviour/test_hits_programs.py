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
STATEMENTS = {kind.__name__ for kind in ast.stmt.__subclasses__()}

# Without code; ast has other names for statements of Python 2, or deprecated ones.
NEVER_RUN = {"Global", "Nonlocal"}


# Seeds whose programs have everything together. The others are run only if a change of
# the generator has taken something from these.
FIRST = (
    *(0, 1, 2, 3, 5, 6, 8, 11, 12, 13, 16, 19, 20, 22, 25, 27, 30, 32, 35, 41, 46),
    *(49, 51, 54, 55, 59, 60, 61, 62, 64, 66, 71, 72, 73, 77, 79, 86, 89, 91, 93),
    *(94, 96, 97, 98, 99, 100, 101, 102, 103, 108, 114, 115, 120, 125, 126, 127),
    *(130, 131, 132, 137, 138, 140, 148, 158, 172, 178, 179, 180, 181, 183, 184),
    *(198, 199, 201, 203, 212, 213, 226, 230, 234, 236, 266, 273, 277, 279, 280),
)


class Found(NamedTuple):
    """How often the programs have each statement and way out, run and in all."""

    statements: Counter[str]
    exits: Counter[Exit]
    there: Counter[str]

    def are_enough(self) -> bool:
        """Return whether nothing is rare, so that more programs tell nothing new."""
        return (
            min(self.statements[name] for name in STATEMENTS - NEVER_RUN) >= ENOUGH
            and min(self.exits[way] for way in every_exit()) >= ENOUGH
            and min(self.there[name] for name in NEVER_RUN) > 0
        )


@functools.cache
def found() -> Found:
    """Run programs until they have everything; they count what runs."""
    counts = Found(Counter(), Counter(), Counter())
    for seed in dict.fromkeys((*FIRST, *SEEDS)):
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
        if counts.are_enough():
            break
    return counts


def test_every_statement_of_python_runs_in_the_programs() -> None:
    assert {name for name, there in found().there.items() if there} == STATEMENTS
    rare = {name for name in STATEMENTS if found().statements[name] < ENOUGH}
    assert rare == NEVER_RUN


def test_an_annotation_runs_with_and_without_a_value() -> None:
    kinds: Counter[tuple[str, bool]] = Counter()
    for seed in FIRST[:40]:
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
