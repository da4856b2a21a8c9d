"""Notes on the memory of devices below the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import example_gpu
import pytest
from view_text import text_of

from lineprof.model.gpu_memory import GpuMemoryRun

if TYPE_CHECKING:
    from lineprof import LineStats


def with_memory(*runs: GpuMemoryRun) -> LineStats:
    """Return the example with its memory, and what these runs of it lack."""
    stats = example_gpu.example()
    memory = example_gpu.memory()._replace(runs=runs)
    stats.gpu = stats.gpu._replace(memory=memory)
    return stats


def notes(*runs: GpuMemoryRun) -> list[str]:
    """Return the notes below the tables, without their beginning."""
    begin = "GPU memory: "
    lines = text_of(with_memory(*runs)).split("\n")
    return [line[len(begin) :] for line in lines if line.startswith(begin)]


def test_memory_that_lacks_nothing_has_no_note() -> None:
    assert notes(GpuMemoryRun(process=0, side_bytes=99)) == []


@pytest.mark.parametrize(
    ("run", "note"),
    [
        (
            GpuMemoryRun(process=0, unknown_frees=2, unknown_bytes=3000),
            (
                "2 blocks from before recording began (3.0000KB) were freed, and are in"
                " no live or peak memory"
            ),
        ),
        (
            GpuMemoryRun(process=0, late=1),
            (
                "1 record came too late to be put in order: live and peak memory may be"
                " inexact"
            ),
        ),
        (
            GpuMemoryRun(process=0, lost=5),
            (
                "5 blocks had no room in the table of live blocks: live and peak memory"
                " lack them"
            ),
        ),
        (
            GpuMemoryRun(process=0, torch_full=True),
            (
                "PyTorch's history was full, and lost its first events: the numbers"
                " lack them"
            ),
        ),
        (
            GpuMemoryRun(process=0, is_cut=True),
            (
                "many profilers began later in the same process: live and peak memory"
                " of the first ones are not known"
            ),
        ),
    ],
)
def test_each_gap_in_memory_has_a_note(run: GpuMemoryRun, note: str) -> None:
    assert notes(run) == [note]


def test_a_peak_of_unknown_blocks_has_no_line() -> None:
    """A file may have it: its sums are not compared with its peaks."""
    stats = with_memory()
    memory = stats.gpu.memory._replace(sums=())
    stats.gpu = stats.gpu._replace(memory=memory)
    assert "GPU 0 memory: peak 14.000KB at 5e-06 s" in text_of(stats).split("\n")


def test_the_notes_have_the_sums_of_all_processes() -> None:
    first = GpuMemoryRun(process=0, unknown_frees=1, unknown_bytes=10, late=2)
    second = GpuMemoryRun(process=0, unknown_frees=3, unknown_bytes=500, late=4)
    found = notes(first, second)
    assert [note.partition(" came")[0] for note in found[1:]] == ["6 records"]
    assert found[0].startswith("4 blocks from before recording began (510B)")
