"""Profiles and exit statuses of programs that leave a process in a bad state.

    make check-endings ARGS="--runs 20 --load 4"

Each program ends under plain python and, `--runs` times, under kernprof with -l and
-b. A run in which the profile was lost, or the exit status is not python's, counts.
Processes that compute take the processor meanwhile (`--load`).
"""

from __future__ import annotations

import argparse
import marshal
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

from lineprof import load_stats
from lineprof.errors import LineprofError

DEADLINE = 60  # s; only a process that hangs reaches it
MODES = {"-l": "out.lprof", "-b": "out.prof"}

BEGIN = """\
import os, signal, sys, time
profile = vars(__import__("builtins")).get("profile", lambda function: function)
@profile
def work():
    return 1
work()
"""
FAIL = """
def fail(*_):
    raise RuntimeError
signal.signal(signal.SIGALRM, fail)
"""


class Program(NamedTuple):
    """A program, and the signals that it is sent after its line "ready"."""

    text: str
    signals: tuple[tuple[float, int], ...] = ()  # each after so many s
    modes: tuple[str, ...] = ("-l", "-b")
    status: int | None = None  # None: that of plain python, which a timer may overtake


def interrupted(first: int, second: int, distance: float) -> Program:
    """Return a program that is sent two signals."""
    text = "print('ready', flush=True)\nwhile True: time.sleep(0.05)"
    return Program(text, ((0.0, first), (distance, second)))


PROGRAMS = {
    "descriptors exhausted": Program("""
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        kept = []
        try:
            while True:
                kept.append(open(__file__))
        except OSError:
            pass
        """),
    "import system cleared": Program("""
        sys.meta_path.clear(); sys.path_hooks.clear(); sys.path_importer_cache.clear()
        """),
    "recursion limit 30": Program("sys.setrecursionlimit(30)"),
    "modules blocked": Program("sys.modules['json'] = sys.modules['datetime'] = None"),
    "modules cleared": Program("sys.modules.clear()"),
    "no environment": Program("import linecache\nlinecache.cache = os.environ = None"),
    "audit hook": Program(
        """
        def hook(event, _):
            if event in ("open", "import"):
                raise RuntimeError(event)
        sys.addaudithook(hook)
        """,
        modes=("-l",),  # calls are written by Python, which the hook refuses
    ),
    "call in shutdown": Program("""
        class Last:
            def __del__(self, work=work, write=os.write):
                write(1, b"%d" % work())
        sys.last = Last()
        """),
    "alarm pending": Program(
        f"{FAIL}signal.setitimer(signal.ITIMER_REAL, 0.012)", status=0
    ),
    "alarm pending, default": Program(
        "signal.setitimer(signal.ITIMER_REAL, 0.02)", status=0
    ),
    "periodic timer": Program(
        f"{FAIL}signal.setitimer(signal.ITIMER_REAL, 0.02, 0.01)", status=0
    ),
    "exit with a timer": Program(
        f"{FAIL}signal.setitimer(signal.ITIMER_REAL, 0.02, 0.01)\nsys.exit(3)",
        status=3,
    ),
    **{
        f"two Ctrl-C, {ms} ms": interrupted(signal.SIGINT, signal.SIGINT, ms / 1000)
        for ms in (0, 20, 40, 60, 80)
    },
    "SIGTERM, then SIGINT": interrupted(signal.SIGTERM, signal.SIGINT, 0.02),
    "SIGHUP twice": interrupted(signal.SIGHUP, signal.SIGHUP, 0.02),
}
if os.geteuid() == 0:
    PROGRAMS["chroot"] = Program("os.chroot('jail'); os.chdir('/')")


def status_of(words: list[str], program: Program, folder: Path) -> int:
    """Run python with `words`, send the signals, and return the exit status."""
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    if program.signals and process.stdout is not None:
        process.stdout.readline()
    for after, number in program.signals:
        time.sleep(after)
        process.send_signal(number)
    process.communicate(timeout=DEADLINE)
    return process.returncode


def has_profile(file: Path) -> bool:
    """Return whether `file` has the one call of `work`."""
    if not file.exists():
        return False
    if file.suffix == ".prof":
        calls = marshal.loads(file.read_bytes())  # noqa: S302  # kernprof wrote it
        return any(name == "work" for _, _, name in calls)
    try:
        functions = load_stats(file).functions
    except LineprofError:
        return False
    return [(one.name, one.rows[0].hits) for one in functions] == [("work", 1)]


def check(name: str, program: Program, runs: int, folder: Path) -> int:
    """Run one program and print a line for each mode; return the number of faults."""
    script = folder / "program.py"
    script.write_text(BEGIN + textwrap.dedent(program.text) + "\n", encoding="utf-8")
    plain = program.status
    if plain is None:
        plain = status_of([str(script)], program, folder)
    faults = 0
    for mode in program.modes:
        lost = 0
        changed: dict[int, int] = {}
        out = folder / MODES[mode]
        for _ in range(runs):
            out.unlink(missing_ok=True)
            words = ["-m", "kernprof", f"{mode}q", "-o", str(out), str(script)]
            status = status_of(words, program, folder)
            lost += not has_profile(out)
            if status != plain:
                changed[status] = changed.get(status, 0) + 1
        faults += lost + sum(changed.values())
        print(f"{name:<26}{mode}{runs:>5} runs{lost:>4} lost", end="")
        print(f"  status {plain}" + (f", but {changed}" if changed else ""), flush=True)
    return faults


def main() -> int:
    """Run all programs; the exit status is 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="of each program (5)")
    parser.add_argument("--load", type=int, default=2, help="computing processes (2)")
    parser.add_argument("--only", default="", help="programs with this in their name")
    options = parser.parse_args()
    burner = [sys.executable, "-c", "while True: pass"]
    burners = [subprocess.Popen(burner) for _ in range(options.load)]
    try:
        with tempfile.TemporaryDirectory(prefix="lineprof-endings-") as name:
            folder = Path(name)
            (folder / "jail").mkdir()
            faults = sum(
                check(title, program, options.runs, folder)
                for title, program in PROGRAMS.items()
                if options.only in title
            )
    finally:
        for process in burners:
            process.kill()
            process.wait()
    print(f"{faults} profiles lost or statuses changed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
