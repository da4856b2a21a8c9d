"""Hits of generated programs, compared with the oracle's."""

from __future__ import annotations

import pytest
from check import check_lines
from programs.generate import program

pytestmark = pytest.mark.usefixtures("hook")


@pytest.mark.parametrize("seed", range(300))
def test_a_random_program(seed: int) -> None:
    check_lines(program(seed))
