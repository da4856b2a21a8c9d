"""Many rounds of `lineprof attach`, beside processes that compute.

    make check-attach ARGS="--rounds 200 --load 2 --memory"

Each round of `tests/helpers/attach_rounds.py` attaches to a program that forks, that
ends, or that has busy threads; `make test` runs some.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HELPERS = Path(__file__).resolve().parents[2] / "tests" / "helpers"
sys.path.insert(0, str(HELPERS))

from attach_rounds import KINDS, fault  # noqa: E402 - in tests/helpers


def check(kind: str, rounds: int, flags: list[str]) -> int:
    """Run the rounds of one kind, print their faults, and return their number.

    Clients get `flags`.
    """
    bad = 0
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="lineprof-attach-") as folder:
            found = fault(kind, number, Path(folder), *flags)
        if found:
            bad += 1
            print(f"{kind}, round {number}: {found}", flush=True)
    print(f"{kind:<12}{rounds:>5} rounds{bad:>4} faults", flush=True)
    return bad


def main() -> int:
    """Run all kinds; the exit status is 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="of each kind (20)")
    parser.add_argument("--load", type=int, default=2, help="computing processes (2)")
    parser.add_argument("--memory", action="store_true", help="measure memory as well")
    options = parser.parse_args()
    flags = ["--memory"] if options.memory else []
    burner = [sys.executable, "-c", "while True: pass"]
    burners = [subprocess.Popen(burner) for _ in range(options.load)]
    try:
        bad = sum(check(kind, options.rounds, flags) for kind in KINDS)
    finally:
        for process in burners:
            process.kill()
            process.wait()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
