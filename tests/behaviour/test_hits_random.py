"""Hits of random programs, which count their own executions."""

from __future__ import annotations

import pytest
from check_executions import check_executions, check_inner_lines
from programs.generate import program
from programs.seeds import seeds

pytestmark = [
    pytest.mark.usefixtures("hook"),
    pytest.mark.filterwarnings("ignore:.* in a 'finally' block:SyntaxWarning"),
]

COUNT = 20


@pytest.mark.parametrize("seed", seeds(COUNT))
def test_a_random_program_has_as_many_hits_as_executions(seed: int) -> None:
    check_executions(program(seed))


@pytest.mark.parametrize("seed", seeds(COUNT, after=1))
def test_lines_inside_statements_have_the_hits_of_their_events(seed: int) -> None:
    check_inner_lines(program(seed))
