"""GPU work of programs that run: attached to, shown by `top`, written by `ctl`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from deadline import DEADLINE
from gpu_double import environment
from target_process import Target, why_not

from lineprof import load_stats
from lineprof.model.gpu import numbers_of_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = """\
import sys, threading
from gpu_double import workload
gpu = workload()
gpu.fk_init()

def launch():
    gpu.fk_launch(b"k", 0, 1000)

def listen():
    for line in iter(sys.stdin.readline, "\\n"):
        print(line, end="", flush=True)
    done.set()

print("ready", flush=True)
done = threading.Event()
threading.Thread(target=listen, daemon=True).start()
rounds = 0
while not done.wait(0.001):
    launch()
    rounds += 1
    if not rounds % 20:
        print(rounds, flush=True)
print("bye")
"""
LAUNCH = 7  # the line


def work_in(path: Path) -> tuple[int, int]:
    """Return the kernels and the GPU time of the launching line of a profile."""
    for (_, _, name), lines in numbers_of_lines(load_stats(path).gpu).items():
        if name == "launch":
            return lines[LAUNCH].kernels, lines[LAUNCH].gpu_ns
    return 0, 0


def run(words: list[str], folder: Path) -> str:
    """Run a command of lineprof, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "lineprof", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.serial
def test_what_a_program_launches_while_it_is_attached_to_is_recorded(
    doubles: Path, tmp_path: Path
) -> None:
    if reason := why_not():
        pytest.skip(reason)
    with Target(PROGRAM, env=environment(doubles)) as target:
        run(["attach", str(target.pid), "-d", "0.7", "-o", "a.lprof"], tmp_path)
        kernels, gpu_ns = work_in(tmp_path / "a.lprof")
        assert kernels > 0
        assert gpu_ns == 1000 * kernels
        target.tell("")
        status, lines = target.rest()
        assert (status, lines[-1]) == (0, "bye")


@pytest.fixture
def listening(doubles: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Give a program under ``kernprof --listen`` that launches kernels."""
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "kernprof", "-lq", "--listen", "program.py"],
        cwd=tmp_path,
        env={**environment(doubles), "LINEPROF_LIVE": str(tmp_path / "live")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stdout:
            if line.strip().isdigit():
                break
        yield process
        process.kill()


@pytest.mark.serial
def test_top_and_written_profiles_have_the_gpu_work_so_far(
    listening: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", os.fspath(tmp_path / "live"))
    pid = str(listening.pid)
    end = time.monotonic() + DEADLINE
    head, row = "", ""
    while not ("KERNELS" in head and row):
        assert time.monotonic() < end, row
        text = run(["top", pid, "--batch", "-n", "2", "-d", "0.2"], tmp_path)
        [head, *rows] = text.rpartition("%NOW")[2].splitlines()
        row = next((one for one in rows if f"program.py:{LAUNCH} " in one), "")
    assert "GPU" in head
    words = row.partition("program.py")[0].split()
    kernels = int(words[-1].replace(",", ""))
    assert kernels > 0
    run(["ctl", pid, "write", "b.lprof"], tmp_path)
    written, gpu_ns = work_in(tmp_path / "b.lprof")
    assert written >= kernels
    assert gpu_ns == 1000 * written
