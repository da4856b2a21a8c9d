#!/usr/bin/env python3
"""What lineprof costs before it measures anything.

    python benchmarks/startup.py [--quick]

`import lineprof` with profiling off, over the bare interpreter (processor time of
interleaved processes), and the wall time from the start of `kernprof -l` to the
script's first line, the interpreter's own start included. Judged are the least of
many runs, for whatever else the machine does only ever adds; medians stand beside.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from pathlib import Path

from rig import processes

IMPORT_MS = 10.0
KERNPROF_MS = 60.0


def start_to_script(folder: Path, rounds: int) -> list[float]:
    """Give the times from the start of `kernprof` to the script's first line, in s.

    The plain interpreter's own start is part of them.
    """
    script = folder / "stamp.py"
    mark = folder / "mark"
    script.write_text(
        f"import time; open({str(mark)!r}, 'w').write(str(time.monotonic_ns()))\n",
        encoding="utf-8",
    )
    command = ["-m", "kernprof", "-q", "-l", "-o", "out.lprof", str(script)]
    times = []
    for _ in range(rounds + 1):
        start = time.monotonic_ns()
        processes.seconds(command, folder)
        times.append((int(mark.read_text(encoding="utf-8")) - start) / 1e9)
    return times[1:]


def verdict(title: str, base: list[float], times: list[float], bound: float) -> bool:
    """Print one goal, in ms over `base`; tell whether it is reached."""
    least = (min(times) - min(base)) * 1e3
    median = processes.difference(base, times) * 1e3
    word = "reached    " if least <= bound else "NOT REACHED"
    print(
        f"{word}  {title:<48}{least:7.1f} ms  (goal ≤ {bound:g} ms; "
        f"median {median:.1f} ms)"
    )
    return least <= bound


def main() -> int:
    """Measure and judge; the status is 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 11 if parser.parse_args().quick else 41
    commands = [["-c", "pass"], ["-c", "import lineprof"]]
    commands.append(["-c", "from lineprof import profile; profile(print)"])
    if importlib.util.find_spec("line_profiler"):
        commands.append(["-c", "import line_profiler"])
    with tempfile.TemporaryDirectory(prefix="lineprof-startup-") as name:
        folder = Path(name)
        times = processes.in_turn(commands, folder, rounds)
        bare, script = times[0], start_to_script(folder, rounds)
    nothing = [0.0] * rounds
    reached = [
        verdict(
            "import lineprof, over the bare interpreter", bare, times[1], IMPORT_MS
        ),
        verdict("... and @profile on a function, off", bare, times[2], IMPORT_MS),
        verdict("kernprof -l, start to first line", nothing, script, KERNPROF_MS),
    ]
    print(f"             bare interpreter: {min(bare) * 1e3:.1f} ms")
    if len(times) > 3:
        rival = (min(times[3]) - min(bare)) * 1e3
        print(f"             import line_profiler: {rival:.1f} ms")
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
