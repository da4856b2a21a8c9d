"""Scripts that call the doubles of NVIDIA's libraries without lineprof."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gpu_double import Play

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def play(doubles: Path, tmp_path: Path) -> Play:
    """Give a player of scripts with the doubles."""
    return Play(doubles, tmp_path)
