"""Check of an installed lineprof: its commands, and the hits of a known program.

    python -I tools/checks/installed.py

It needs nothing but the Python whose lineprof it checks, so cibuildwheel runs it with
each wheel. -I keeps the checkout off `sys.path`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path

PROGRAM = """\
import subprocess
import sys


@profile
def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result


if __name__ == "__main__":
    total(range(10))
    total(range(5))
    child = "from program import total; total(range(3))"
    subprocess.run([sys.executable, "-c", child], check=True)
"""
# Three calls: two of the program, and one of its child process, which is profiled
# only if lineprof_children.pth is where Python reads it.
HITS = {7: 3, 8: 11 + 6 + 4, 9: 10 + 5 + 3, 10: 3}
ROW = re.compile(r"^ *(\d+) +(\d+) +[\d.]+ +[\d.]+ +[\d.]+  ", re.MULTILINE)

COMMANDS = Path(sysconfig.get_path("scripts"))


def main() -> int:
    """Check all; the exit status is 1 with a line for the first failure."""
    try:
        check()
    except AssertionError as failure:
        print(f"installed lineprof: {failure}", file=sys.stderr)
        return 1
    print(f"lineprof {metadata.version('lineprof')} counts as it should")
    return 0


def check() -> None:
    """Raise AssertionError if anything differs from what is known."""
    version = metadata.version("lineprof")
    for command in ("kernprof", "lineprof"):
        for start in (script(command), module(command)):
            same("the version", said(*start, "--version"), f"{version}\n")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(PROGRAM, encoding="utf-8")
        run = (*script("kernprof"), "-l", "-v", "program.py")
        same("kernprof -l -v", hits_of_table(said(*run, folder=folder)), HITS)
        view = (*module("lineprof"), "view", "program.lprof")
        same("view", hits_of_table(said(*view, folder=folder)), HITS)
        same("--json", hits_of_json(said(*view, "--json", folder=folder)), HITS)


def script(command: str) -> tuple[str, ...]:
    """Return the start of a command by its installed script."""
    return (str(COMMANDS / command),)


def module(command: str) -> tuple[str, ...]:
    """Return the start of a command by the module of the same name."""
    return (sys.executable, "-m", command)


def said(*command: str, folder: str | None = None) -> str:
    """Return the standard output of a command; AssertionError if it fails."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        words = " ".join(command)
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def same(what: str, found: object, known: object) -> None:
    """Raise AssertionError unless `found` is what is known."""
    if found != known:
        raise AssertionError(f"{what}: {found!r} is not {known!r}")


def hits_of_table(text: str) -> dict[int, int]:
    """Return the hits by line of the table of the function."""
    return {int(line): int(hits) for line, hits in ROW.findall(text)}


def hits_of_json(text: str) -> dict[int, int]:
    """Return the hits by line of the one function of a profile."""
    [function] = json.loads(text)["functions"]
    return {line["line"]: line["hits"] for line in function["lines"]}


if __name__ == "__main__":
    sys.exit(main())
