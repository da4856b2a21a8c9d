"""README.md: its commands and examples; `tests/docs` compares the outputs shown."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lineprof

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^( *\d+ +\d+) +([\d.e+]+) +[\d.e+]+ +[\d.]+ (.*)$")


def blocks(language: str, text: str = README) -> list[str]:
    """Code blocks of a language in a Markdown text."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def sessions() -> list[tuple[str, str]]:
    """Commands of the console blocks, each with the output shown."""
    typed = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
    return [found for block in blocks("console") for found in typed.findall(block)]


def run(command: str, folder: Path) -> str:
    """Output of a command as a shell in `folder` would run it; it must succeed."""
    words = shlex.split(command)
    if words[0] == "kernprof":
        words = ["python", "-m", *words]
    assert words[0] == "python", f"no way to run {command!r} here"
    return subprocess.run(
        [sys.executable, *words[1:]],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        encoding="utf-8",
    ).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Give a folder with the examples and without lineprof's sources."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def test_the_first_screen_is_that_of_the_example(checkout: Path) -> None:
    ((command, shown),) = sessions()
    assert command == "kernprof -l -v examples/three_modules/near_duplicates.py"
    printed = run(command, checkout)
    hot = re.compile(r"by their own time\n.*\n +[\d.]+ +[\d.]+ % +(\S+:\d+)")
    call = re.compile(
        r"^ +[\d.]+ +[\d.]+ % +(\d+)  \W*?(:\d+ \w+ \(.*?\))", re.MULTILINE
    )
    advice = re.compile(r"^First advice\n(\S+ at \S+):", re.MULTILINE)
    for part, least in ((hot, 1), (call, 5), (advice, 1)):
        assert len(part.findall(shown)) >= least
        assert {*part.findall(shown)} <= {*part.findall(printed)}
    assert hot.findall(printed) == ["shingles.py:13"]
    assert "5 of 20 texts are nearly another one" in shown


@pytest.mark.parametrize("block", blocks("python"))
def test_the_python_of_the_readme_runs(
    block: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "block.py"
    script.write_text(block, encoding="utf-8")
    runpy.run_path(str(script))
    assert "Function: squares at line 3" in capsys.readouterr().out


def test_the_commands_of_the_readme_run(checkout: Path) -> None:
    script = checkout / "script.py"
    script.write_text("@profile\ndef work(): return 1\nwork()\n", encoding="utf-8")
    (checkout / "package").mkdir()
    shutil.copy(script, checkout / "package" / "module.py")
    ours = ("kernprof ", "python -m lineprof ")
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    commands = [line.split("#")[0] for line in lines if line.startswith(ours)]
    outputs = [run(c.replace("arguments...", "a b"), checkout) for c in commands]
    shown = [n for n, out in enumerate(outputs) if "Function: work at line 1" in out]
    assert len(commands) == 10
    assert shown == [1, 2, 3, 4, 7]  # not in those that record, or write a file
    page = checkout / "script.lprof.html"
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_every_example_ends_in_its_table(checkout: Path) -> None:
    examples = sorted(path.name for path in (checkout / "examples").glob("*.py"))
    # These need the doubles: see test_gpu_table.py and test_gpu_idle.py.
    simulated = ["simulated_gpu.py", "starved_gpu.py"]
    whole = ["page_server.py"]  # it has a first screen
    chosen = ["access_log.py", "gpu_train.py", "lookup.py"]
    assert examples == [*chosen, *whole, *simulated]
    assert "Hottest lines" in run(f"kernprof -l -v examples/{whole[0]}", checkout)
    for name in chosen:
        table = run(f"kernprof -l -v examples/{name}", checkout)
        assert "Line #      Hits         Time  Per Hit   % Time  Line Contents" in table


@pytest.mark.parametrize("name", ["simulated_gpu.py", "starved_gpu.py"])
def test_the_simulated_gpu_says_how_to_run_it(checkout: Path, name: str) -> None:
    env = {name: v for name, v in os.environ.items() if name != "LINEPROF_CUDA"}
    done = subprocess.run(
        [sys.executable, "-m", "kernprof", "-lq", f"examples/{name}"],
        cwd=checkout,
        env=env,
        capture_output=True,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.endswith("; run: make demo-gpu-double\n")


def test_the_line_of_the_look_up_takes_most_time(checkout: Path) -> None:
    table = run("kernprof -l -v examples/lookup.py", checkout)
    rows = map(ROW.match, table.split("Function: hundred_times")[0].splitlines())
    slowest = max(filter(None, rows), key=lambda row: float(row[2]))
    assert slowest[3].strip() == "found = wanted in MILLION"


def test_the_commands_at_the_top_are_targets_of_make() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^(\w+):", makefile, re.MULTILINE)
    named = re.findall(r"^\| `make (\w+)`", README, re.MULTILINE)
    assert named == ["demo", "test"]
    assert set(named) <= set(targets)


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_the_newest_change_is_of_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.findall(r"^## (\S+)", changes, re.MULTILINE)[0]
    assert newest == lineprof.__version__
