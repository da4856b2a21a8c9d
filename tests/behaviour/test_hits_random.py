"""Hits of random programs, which count their own executions."""

from __future__ import annotations

import os
import sys
import zlib

import pytest
from check_executions import check_executions, check_inner_lines
from programs.generate import program
from running import core_name

pytestmark = [
    pytest.mark.usefixtures("hook"),
    pytest.mark.filterwarnings("ignore:.* in a 'finally' block:SyntaxWarning"),
]

# Each Python and core tries other programs; a seed runs again in any of them, as
# LINEPROF_TEST_SEED=123456 pytest tests/behaviour/test_hits_random.py -k '[123456]'.
COUNT = 40
STEP = 7  # so that programs of each size are among them, with ways out of each kind
CONFIGURATION = f"{sys.version_info[:3]} {core_name()}"
FIRST = int(
    os.environ.get("LINEPROF_TEST_SEED") or zlib.crc32(CONFIGURATION.encode()) % 10**6
)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + STEP * COUNT, STEP))
def test_a_random_program_has_as_many_hits_as_executions(seed: int) -> None:
    check_executions(program(seed))


@pytest.mark.parametrize("seed", range(FIRST + 1, FIRST + 1 + STEP * COUNT, STEP))
def test_lines_inside_statements_have_the_hits_of_their_events(seed: int) -> None:
    check_inner_lines(program(seed))
