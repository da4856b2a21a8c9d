"""Folders of the tests of commands: one with a profile, one without configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from example_stats import example

from lineprof.storage import save

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the example profile, go to its folder, and return its name."""
    monkeypatch.chdir(tmp_path)
    save(example(), "train.lprof")
    return "train.lprof"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder without a configuration file in it or above."""
    monkeypatch.delenv("LINE_PROFILER_RC", raising=False)
    monkeypatch.delenv("LINEPROF_OUTFILE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path
