"""Traces of PyTorch's profiler, replayed under lineprof and compared with their JSON.

    python tests/programs/replay_traces.py FOLDER [--frees whole] [--show 20]

Each call of a trace (*.json, *.json.gz) is made by a line of its own, on a thread of
its own for each thread of the trace, through the doubles of CUDA and CUPTI; then again
with records of the calls themselves; and a trace of several threads with the lines of
its first thread alone, which then have the work of the others. Prints a line for each
trace, and the time of calls that free with the part that they wait.  Exits with 1 if
any number differs from the oracle's, or a file is no trace.  `make check-kineto` makes
the environment for it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "helpers")]

from gpu_double import build, environment  # noqa: E402 - on that path
from kineto_check import CALLS, KNOBS, PLAYER, Compared, compare  # noqa: E402
from kineto_oracle import WHOLE, WORK, Expected, expected  # noqa: E402
from kineto_plan import NoTraceError, plan  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 300  # s for a replay


class ReplayError(Exception):
    """Failure of a replay; the message is its output."""


class Replays:
    """Replays traces in a folder, with the doubles there."""

    def __init__(self, folder: Path, frees: str) -> None:
        self.folder = folder
        self.frees = frees
        self.doubles = build(folder)

    def compared(
        self, trace: Path, *, only: bool = False, calls: bool = False
    ) -> Compared:
        """Replay a trace, and compare its numbers."""
        words = [
            str(PLAYER),
            str(trace.resolve()),
            "replayed",
            *(["only"] if only else []),
        ]
        done = subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=environment(self.doubles, frozen=True, **(CALLS if calls else KNOBS)),
            timeout=LIMIT,
            check=False,
        )
        if done.returncode or done.stderr:
            raise ReplayError(f"status {done.returncode}: {done.stdout}{done.stderr}")
        profile = self.folder / "replayed.lprof"
        wanted = expected(trace, frees=self.frees, only=only)
        return compare(profile, profile.with_suffix(".py"), wanted, calls=calls)

    def of(self, trace: Path) -> Iterator[Compared]:
        """Yield the comparisons of a trace; NoTraceError if it is none."""
        threads = len(plan(trace).lines)
        yield self.compared(trace)
        yield self.compared(trace, calls=True)
        if threads > 1:
            yield self.compared(trace, only=True)


def milliseconds(ns: int) -> str:
    """Return a time for the table."""
    return f"{ns / 1e6:,.3f}"


def waits_of(trace: Path) -> list[str]:
    """Return the cells of the table of waits, empty without calls that free."""
    states: list[Expected] = [expected(trace, frees=state) for state in (WHOLE, WORK)]
    if not states[0].frees:
        return []
    every = [sum(line.get("wait", 0) for line in one.lines.values()) for one in states]
    cells = [states[0].freeing, states[0].waited, states[1].waited, *every]
    return [
        trace.name.partition(".")[0],
        str(states[0].frees),
        *map(milliseconds, cells),
    ]


def table(rows: list[list[str]]) -> Iterator[str]:
    """Yield rows as text, the first column on the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *rest in rows:
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:]))
        yield "  ".join([first.ljust(widths[0]), *cells])


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--core", default="auto")
    parser.add_argument(
        "--frees",
        choices=(WHOLE, WORK),
        default=WORK,
        help="wait of a call that frees: the whole call, or for earlier work alone",
    )
    parser.add_argument("--show", type=int, default=20, help="differences to list")
    return parser.parse_args()


def replayed(trace: Path, replays: Replays, show: int) -> bool:
    """Replay a trace and print a line; return whether no number differs."""
    name = trace.name.partition(".")[0]
    try:
        compared = list(replays.of(trace))
    except NoTraceError as error:
        print(f"{name}: no trace of PyTorch's profiler: {error}", flush=True)
        return False
    except (ReplayError, subprocess.TimeoutExpired) as error:
        print(f"{name}: the replay failed: {error}", flush=True)
        return False
    different = [line for one in compared for line in one.different]
    wanted = compared[0].expected
    print(
        f"{name}: {wanted.calls:,} calls, {wanted.records:,} records,"
        f" {sum(one.values for one in compared):,} values compared,"
        f" {len(different):,} different",
        flush=True,
    )
    for line in different[:show]:
        print(f"    {line}")
    return not different


def print_waits(traces: list[Path]) -> None:
    """Print the table of the traces that have calls that free."""
    rows = list(filter(None, map(waits_of, traces)))
    if rows:
        print("\nWait of calls that free, and of all calls (ms): for the work that was")
        print("launched before them; in brackets, if it were the whole call")
        titles = ["trace", "calls", "time", "(wait)", "wait", "(all)", "all"]
        print("\n".join(table([titles, *rows])))


def main() -> int:
    """Replay the traces of a folder; return 1 if any differs, or is no trace."""
    options = arguments()
    os.environ["LINEPROF_CORE"] = options.core
    traces = sorted({*options.folder.glob("*.json"), *options.folder.glob("*.json.gz")})
    if not traces:
        print(f"{options.folder} has no *.json or *.json.gz")
        return 1
    with tempfile.TemporaryDirectory(prefix="lineprof-") as folder:
        replays = Replays(Path(folder), options.frees)
        good = [one for one in traces if replayed(one, replays, options.show)]
    print_waits(good)
    print(f"{len(traces)} traces, {len(traces) - len(good)} different or none")
    return len(good) < len(traces)


if __name__ == "__main__":
    sys.exit(main())
