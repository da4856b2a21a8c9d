"""Programs that are killed while GPU work is recorded, and `kernprof -i` with it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from as_python import viewer

from lineprof import LineStats

if TYPE_CHECKING:
    from gpu_rig import Rig

pytestmark = pytest.mark.usefixtures("hook")

# Dies by SIGKILL once a snapshot has been written after what it did until then.
PROGRAM = """
import os, signal, time
def written():
    while not os.path.exists("program.lprof"):
        time.sleep(0.01)
    first = os.stat("program.lprof").st_ino
    while os.stat("program.lprof").st_ino == first:
        time.sleep(0.01)
@profile
def f(n):
    for _ in range(n):
        {work}
{before}
f(3)
written()
f(100)
os.kill(os.getpid(), signal.SIGKILL)
"""
LAUNCH = 'gpu.fk_launch(b"k", 0, 10)'
KILLED = -9


def killed(rig: Rig, work: str, *flags: str, before: str = "", **knobs: object) -> None:
    """Run the program; it leaves a snapshot and a live file."""
    knobs["LINEPROF_LIVE"] = rig.folder / "live"
    text = PROGRAM.format(work=work, before=before)
    ran = rig.kernprof(text, "-i", "1", *flags, frozen=False, **knobs)
    assert ran.status == KILLED, ran.err


def viewed(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the profile as ``view --json`` has it, which recovers it."""
    monkeypatch.setenv("LINEPROF_LIVE", str(rig.folder / "live"))
    done = viewer("view", "--json", "program.lprof", cwd=rig.folder)
    assert done.status == 0, done.err
    assert not list((rig.folder / "live").iterdir())
    found: dict[str, Any] = json.loads(done.out)
    return found


def line_of_work(rig: Rig, found: dict[str, Any], work: str) -> dict[str, Any]:
    """Return the line of the work."""
    text = (rig.folder / "program.py").read_text(encoding="utf-8").splitlines()
    number = 1 + next(i for i, line in enumerate(text) if line.strip() == work)
    [line] = [
        line
        for function in found["functions"]
        for line in function["lines"]
        if line["line"] == number
    ]
    return line


@pytest.mark.parametrize("cupti", ["works", "refuses"])
def test_a_killed_program_without_gpu_work_has_its_last_counts(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, cupti: str
) -> None:
    """A GPU that nobody used is no reason to show an older snapshot."""
    fail = {} if cupti == "works" else {"FAKE_CUPTI_FAIL": "cuptiSubscribe"}
    killed(rig, "int(7)", **fail)
    found = viewed(rig, monkeypatch)
    assert line_of_work(rig, found, "int(7)")["hits"] == 103
    assert [one["exit"] for one in found["processes"]] == ["killed"]
    assert not list(rig.folder.glob("*.recovered-*"))
    [warning] = found["warnings"]
    assert "GPU" not in warning


def test_a_killed_program_has_the_gpu_work_of_its_snapshot_and_its_last_counts(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(rig, LAUNCH, before="f(2); gpu.fk_sync(0, 0, -1)")
    found = viewed(rig, monkeypatch)
    line = line_of_work(rig, found, LAUNCH)
    assert line["hits"] == 105
    assert 2 <= line["kernels"] <= 5
    assert line["gpu_ns"] == 10 * line["kernels"]
    assert found["gpu"]["total_ns"] == line["gpu_ns"]
    ends, until = found["warnings"]
    assert ends.startswith("recovered: process ")
    assert re.fullmatch(
        r"recovered: only up to \d+\.\d s after the start, when the profile was last"
        r" written: GPU work; hits and times go on to \d+\.\d s",
        until,
    )
    stats = LineStats.from_files(rig.folder / "program.lprof")
    assert [one.process for one in stats.gpu.runs] == [0]
    [thread] = {path.thread for path in stats.gpu.paths}
    assert stats.threads[thread].name == "MainThread"
    assert not list(rig.folder.glob("*.recovered-*"))
