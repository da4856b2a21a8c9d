"""Programs that leave a process in a bad state: `helpers/endings.py` has the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from endings import ENDINGS, faults, plain_run

if TYPE_CHECKING:
    from pathlib import Path


GATE = [
    pytest.param(name, marks=() if ending.everywhere else (pytest.mark.seldom,))
    for name, ending in ENDINGS.items()
    if not ending.timed  # nothing is left to chance
]


@pytest.mark.parametrize("name", GATE)
def test_a_profile_outlives_the_end_of_a_program(tmp_path: Path, name: str) -> None:
    ending = ENDINGS[name]
    if not ending.is_possible:
        pytest.skip("not on this system, or not by this user")
    for folder in ("plain", *ending.modes):
        (tmp_path / folder).mkdir()
    plain = plain_run(ending, tmp_path / "plain")
    for mode in ending.modes:
        assert not faults(ending, mode, plain, tmp_path / mode), mode
