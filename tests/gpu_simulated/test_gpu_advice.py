"""`lineprof view --advice` of programs that drive a simulated GPU, with known times."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gpu_rig import Rig

from lineprof.cli.main import main

if TYPE_CHECKING:
    from gpu_rig import Ran

MS = 1_000_000
PRELUDE = """\
from gpu_double import frozen_processor
compute = frozen_processor()
# What the first long line of a thread waits is not known: the clock of the processor is
# read for the first time at its end.
profile(lambda: compute(100000))()
"""


@pytest.fixture
def rig(doubles: Path, tmp_path: Path) -> Rig:
    """Give a runner of programs that use the doubles."""
    return Rig(doubles, tmp_path)


def advice_on(
    ran: Ran, capsys: pytest.CaptureFixture[str], name: str = "program"
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each kind of finding."""
    assert main(["view", "--advice", "--json", f"{ran.folder}/{name}.lprof"]) == 0
    found: dict[str, list[dict[str, Any]]] = {}
    for row in json.loads(capsys.readouterr().out)["rows"]:
        found.setdefault(row["kind"], []).append(row)
    return found


def run(rig: Rig, program: str, *flags: str) -> Ran:
    """Run a program whose processor time is frozen like the clock."""
    text = PRELUDE + textwrap.dedent(program)
    return rig.kernprof(text, *flags, FROZEN_CLOCK_CPU=1).ok()


def line_of(ran: Ran, text: str) -> int:
    """Return the number of the line of a program with a text."""
    [line] = [n for n, one in enumerate(ran.text.splitlines(), 1) if text in one]
    return line


TRAIN = """\
def item():
    gpu.fk_sync(1, 0, -1)

@profile
def train():
    for _ in range(4):
        gpu.fk_launch(b"step", 0, 5000000)
        item()
        compute(20000000)

train()
"""


def test_a_hidden_wait_and_an_idle_gpu_have_the_times_of_the_device(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(rig, TRAIN)
    found = advice_on(ran, capsys)
    [wait] = found["hidden-synchronisation"]
    assert wait["line"] == line_of(ran, "    item()")
    assert wait["numbers"]["waits"] == 4
    [device] = found["gpu-idle"]
    assert device["line"] == line_of(ran, "    compute(20000000)")
    assert device["cost_ns"] == device["numbers"]["computing_ns"] == 60 * MS
    assert wait["numbers"]["wait_ns"] == wait["cost_ns"] == 20 * MS


def test_a_wait_that_the_text_shows_is_not_hidden(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(rig, TRAIN.replace("item()", "wait()"))
    assert "hidden-synchronisation" not in advice_on(ran, capsys)


COPIES = """\
@profile
def load():
    for _ in range(3):
        gpu.fk_memcpy(1, 1 << 20, 2000000, 1, {memory}, 3)
    compute(100000000)

load()
"""


@pytest.mark.parametrize(("memory", "number"), [(1, 1), (2, 0)])
def test_pageable_copies_are_found_and_page_locked_ones_are_not(
    rig: Rig, capsys: pytest.CaptureFixture[str], memory: int, number: int
) -> None:
    ran = run(rig, COPIES.format(memory=memory))
    found = advice_on(ran, capsys).get("pageable-copy", [])
    assert [row["numbers"] for row in found] == number * [
        {
            "copies": 3,
            "bytes": 3 << 20,
            "copy_ns": 6 * MS,
            "bytes_per_s": 524_288_000,
            "HtoD_bytes": 3 << 20,
        }
    ]


TINY = """\
def launch():
    compute({launch})
    gpu.fk_launch(b"tiny", 0, 2000)

@profile
def step():
    for _ in range(1000):
        launch()

step()
"""


@pytest.mark.parametrize(("launch", "number"), [(10_000, 1), (1_000, 0)])
def test_kernels_shorter_than_the_time_to_launch_them_are_tiny(
    rig: Rig, capsys: pytest.CaptureFixture[str], launch: int, number: int
) -> None:
    ran = run(rig, TINY.format(launch=launch))
    found = advice_on(ran, capsys).get("many-tiny-kernels", [])
    assert len(found) == number
    for row in found:
        assert row["line"] == line_of(ran, "    launch()")
        numbers = row["numbers"]
        assert (numbers["kernels"], numbers["kernel_ns"]) == (1000, 2 * MS)
        assert numbers["own_ns"] == row["cost_ns"] == 10 * MS


EXAMPLE = Path(__file__).parents[2] / "examples" / "starved_gpu.py"


def test_the_example_of_a_starved_gpu_names_the_lines_that_load(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["-m", "kernprof", "-lq", "-o", "program.lprof", str(EXAMPLE)]
    ran = rig.run(words, FROZEN_CLOCK_CPU=1)
    found = advice_on(ran, capsys)
    assert {(row["line"], row["cost_ns"]) for row in found["gpu-idle"]} == {
        (48, 297 * MS),
        (49, 99 * MS),
    }
    [wait] = found["hidden-synchronisation"]
    assert (wait["numbers"]["waits"], wait["cost_ns"]) == (100, 500 * MS)
