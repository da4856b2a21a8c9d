"""Profiles and exit statuses of programs that leave a process in a bad state.

    make check-endings ARGS="--runs 20 --load 4"

Each program of `tests/helpers/endings.py` ends under plain python and, `--runs` times,
under kernprof with -l and -b. `make test` runs each once; here there are also those in
which the moment of a signal is left to chance, and processes that compute take the
processor meanwhile (`--load`).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

HELPERS = Path(__file__).resolve().parents[2] / "tests" / "helpers"
sys.path.insert(0, str(HELPERS))

from endings import ENDINGS, faults, plain_run  # noqa: E402 - in tests/helpers

if TYPE_CHECKING:
    from endings import Ending


def check(name: str, ending: Ending, runs: int) -> int:
    """Run one program and print a line for each mode; return the runs with faults."""
    bad = 0
    with tempfile.TemporaryDirectory(prefix="lineprof-endings-") as top:
        plain = plain_run(ending, new_folder(top))
        for mode in ending.modes:
            found = [faults(ending, mode, plain, new_folder(top)) for _ in range(runs)]
            failed = sum(map(bool, found))
            bad += failed
            print(f"{name:<48}{mode}{runs:>5} runs{failed:>4} failed", flush=True)
            for text, count in Counter(chain.from_iterable(found)).items():
                print(f"    {count} times: {text}", flush=True)
    return bad


def new_folder(top: str) -> Path:
    """Make an empty folder."""
    return Path(tempfile.mkdtemp(dir=top))


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
        bad = sum(
            check(name, ending, options.runs)
            for name, ending in ENDINGS.items()
            if options.only in name and ending.is_possible
        )
    finally:
        for process in burners:
            process.kill()
            process.wait()
    print(f"{bad} runs with a lost profile, another status or other output")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
