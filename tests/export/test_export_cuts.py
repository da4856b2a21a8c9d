"""Exports say which functions were switched off during the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from example_calls import MAIN, PROCESS, example
from export_shapes import content
from pprof_file import read

from lineprof.cli.main import main
from lineprof.model.records import Cut
from lineprof.storage import save

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.once  # files of fixed profiles

LINE = "main (/p/main.py:6): counted until 0.03 s of 4.10 s"


def test_the_file_and_the_messages_name_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stats = example()
    stats.processes = (PROCESS._replace(wall_ns=4_100_000_000),)
    stats.cuts = (Cut(function=MAIN, process=0, until_ns=30_000_000),)
    assert f"\ndesc: Note: {LINE}\n" in content(stats, "callgrind").decode()
    assert LINE in read(content(stats, "pprof")).comments
    file = tmp_path / "a.lprof"
    save(stats, file)
    assert main(["export", "-f", "speedscope", "-o", f"{file}.out", str(file)]) == 0
    assert "1 function, marked (counted ...), was counted" in capfd.readouterr().err
