"""Tests, each run many times beside busy loops: how often each one failed.

Environment: ARGS, passed to pytest: the tests; RUNS=200, how often each runs;
ONLY=3.12, the newest Python found that begins with that; CORE=settrace, the core.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

from tools.dev import native
from tools.dev.envs import StepError, explain, require
from tools.dev.pythons import find
from tools.dev.results import Progress, Result, progress, read_report
from tools.dev.sessions import Sessions
from tools.dev.suite import (
    cores,
    locked,
    log_of,
    run_pytest,
    set_up,
    wanted,
    with_full_paths,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.dev.envs import Env

LOOPS_PER_CORE = 2
BUSY = "while True: pass"
WRONG_ARGUMENTS = 2


def main() -> int:
    """Run the tests; the exit status is 1 if one failed, 2 if none can run."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    words = shlex.split(os.environ.get("ARGS", ""))
    runs = os.environ.get("RUNS") or "200"
    pythons = wanted(find()[0])
    if not words or not runs.isdecimal() or not pythons:
        print(
            "lineprof: name tests and a Python that is here:"
            " make unstable ARGS=tests/live/test_top_keys.py RUNS=200 ONLY=3.12",
            file=sys.stderr,
        )
        return WRONG_ARGUMENTS
    python = pythons[0]
    core = os.environ.get("CORE") or python.cores[0]
    with locked():
        try:
            native.build(python, strict=False)
        except StepError as error:
            return explain(error, native.BUILD_LOG)
        try:
            env = set_up(python)
            require(env, "unstable.txt")
        except StepError as error:
            return explain(error, log_of(python))
        print(f"{runs} runs of each test, {python.version} {core}", flush=True)
        with busy_loops():
            return run(env, core, [f"--count={runs}", *with_full_paths(words)])


@contextlib.contextmanager
def busy_loops() -> Iterator[None]:
    """Keep the machine busy while the block runs."""
    command = [sys.executable, "-c", BUSY]
    loops = [subprocess.Popen(command) for _ in range(LOOPS_PER_CORE * cores())]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(env: Env, core: str, arguments: list[object]) -> int:
    """Run pytest and print how often each test failed; return the exit status."""
    log = env.folder / "log" / "unstable.txt"
    with Progress() as telling, telling.doing("tests", lambda: progress(log)):
        end = run_pytest(Sessions(), env, core, log, arguments)
    result = read_report(Result("tests", log), log.with_suffix(".xml"), end.status)
    failed = Counter(one.name.partition("[")[0] for one in result.failures)
    for name, times in failed.most_common():
        print(f"failed {times} times: {name}")
    for test in end.hung:
        print(f"hung: {test}")
    print(f"{result.passed} passed, {result.failed} failed; log: {log}")
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
