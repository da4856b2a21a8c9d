"""The whole suite: the C tests, then pytest on every Python found, with each hook.

The first run has all tests; those marked `once`, which depend on no Python, are in no
other one. Each other minor version runs all but these with its usual hook; rooms that
read files (`READING`) run with the first and with the oldest version. Another hook or
another patch of a version runs the tests that count events (`EVENTS`). Tests of what
depends on the kind of events run with each kind, so that no calibration chooses it.

Environment: PYTHONS, more interpreters to use; ONLY=3.12, only versions that start
with that; ARGS, passed to pytest; LINEPROF_WERROR=ON, compiler warnings are errors.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from tools.dev import native
from tools.dev.envs import (
    REQUIREMENTS,
    ROOT,
    Env,
    StepError,
    install,
    make,
    open_log,
    pip,
    require,
    stamp,
    write_stamp,
)
from tools.dev.pythons import HOOKS, OLDEST, advice, compiler_missing, find
from tools.dev.results import Result, close, progress, read_report, say, tell
from tools.dev.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.dev.pythons import Python

# Rooms whose tests read files: profiles and source text.
READING = (
    *("advice", "cli", "comparison", "console", "docs", "export", "fuzz", "release"),
    *("report", "source", "storage"),
)

# Tests of where events come from: what is counted, how long it took, and beside whom.
EVENTS = (
    *("attach", "behaviour", "coexistence", "gpu_simulated", "model", "recording"),
    *("snapshot", "kernprof/test_kernprof.py", "kernprof/test_whole_*.py"),
)

# Tests of what depends on the kind of events of a hook.
KINDS_OF_EVENTS = ("behaviour", "coexistence", "recording")

SET_UP_AT_ONCE = 2
MAX_WORKERS = 8  # each process collects all tests before it runs its share
RUN_S = 1700  # estimate of a whole run on one core
VERSION_SHARE = 0.45  # of a whole run: what a further version of Python runs
AGAIN_SHARE = 0.15  # what a version runs with another core, or a second patch
LIMIT_S = 1200  # for one run of the suite
PROGRESS_S = 15
SESSIONS = Sessions(limit_s=LIMIT_S, every_s=PROGRESS_S)
STRICT = os.environ.get("LINEPROF_WERROR", "").upper() in {"1", "ON"}


def main() -> int:
    """Print the plan, run it and sum up; the exit status is 1 if anything failed."""
    missing = compiler_missing()
    problem = advice(missing) if missing else ""
    found, refused = find()
    pythons = [p for p in found if p.version.startswith(os.environ.get("ONLY", ""))]
    if not problem and not pythons:
        problem = "; ".join(["no usable Python 3.11 or later", *refused])
    if problem:
        sys.exit(f"lineprof: {problem}")
    print(plan(pythons))
    for line in refused:
        print(f"left out {line}")
    sys.stdout.flush()

    with locked():
        return run_all(pythons)


def plan(pythons: list[Python]) -> str:
    """Return what will run, and about how long that takes."""
    runs = sum(len(python.cores) for python in pythons)
    arguments = os.environ.get("ARGS", "")
    if arguments:
        length = f"with the arguments {arguments}"
    else:
        versions = len({python.number[:2] for python in pythons})
        whole = 1 + VERSION_SHARE * (versions - 1) + AGAIN_SHARE * (runs - versions)
        minutes = whole * RUN_S / (60 * min(cores(), MAX_WORKERS))
        length = f"about {minutes:.0f} min"
    first = (
        f"the C tests, then the Python tests {runs} times, {workers()} tests at once:"
        f" {length}; 1 min more for each Python that is used for the first time"
    )
    lines = [f"{p.version:8} {', '.join(p.cores):39} {p.path}" for p in pythons]
    return "\n".join([first, *lines])


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers() -> int:
    """Return the number of processes that share the tests of a run.

    There is one more than there are cores, because a fifth of a test's time is spent
    waiting: for files, for timers, for signals.
    """
    return min(cores() + 1, MAX_WORKERS)


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Lock this checkout's environments, after any other run of the suite."""
    path = ROOT / ".venv-test" / "lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another run of the suite in this checkout", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_all(pythons: list[Python]) -> int:
    """Run everything unless interrupted; return the exit status.

    While the tests of one Python run, the environments of the next are set up.
    """
    results = [run_native(pythons[0])]
    done: set[tuple[int, ...]] = set()  # minor versions that ran all rooms
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ThreadPoolExecutor(SET_UP_AT_ONCE) as pool:
        try:
            for python, ready in zip(pythons, pool.map(set_up, pythons)):
                if isinstance(ready, Result):
                    results.append(ready)
                    continue
                for core in python.cores:
                    arguments = selected(python, core, done)
                    results.append(run_suite(ready, python, core, arguments))
                    done.add(python.number[:2])
        except KeyboardInterrupt:
            SESSIONS.close()
            pool.shutdown(wait=False, cancel_futures=True)
            results.append(Result("interrupted", native.TEST_LOG, failed=1))
    return close(results)


def run_native(python: Python) -> Result:
    """Build the C tests and the doubles, and run the tests."""
    begun = time.monotonic()
    name = "C tests (ASan, UBSan)"
    try:
        native.build(python, strict=STRICT)
        status = native.test(python)
        result = Result(name, native.TEST_LOG)
        result = read_report(result, native.TEST_REPORT, status)
    except StepError as error:
        result = Result(f"{name}: {error}", native.BUILD_LOG, failed=1)
    return tell(result, time.monotonic() - begun)


def set_up(python: Python) -> Env | Result:
    """Return an environment with lineprof, or a failed result without one."""
    begun = time.monotonic()
    env = Env(ROOT / ".venv-test" / python.name)
    if not env.folder.exists():
        say(f"{python.version}: making its environment, which takes a while")
    try:
        make(env, python)
        require(env, "test.txt")
        install_peers(env)
        install(env, strict=STRICT)
    except StepError as error:
        result = Result(f"{python.version} set-up: {error}", env.log, failed=1)
        return tell(result, time.monotonic() - begun)
    say(f"{python.version}: set up in {time.monotonic() - begun:.0f} s")
    return env


def install_peers(env: Env) -> None:
    """Install other profilers for comparison, each if this Python can have it."""
    requirements = REQUIREMENTS / "peers.txt"
    for peer in requirements.read_text(encoding="utf-8").split():
        if not stamp(env, peer):
            try:
                pip(env, "--only-binary=:all:", peer)
            except StepError as error:  # its tests are skipped, with a reason
                with open_log(env.log) as log:
                    print(f"no {peer} here: {error}", file=log)
            write_stamp(env, peer, "tried")


def selected(python: Python, core: str, done: set[tuple[int, ...]]) -> list[object]:
    """Return pytest's arguments for a run, after runs of the minor versions `done`."""
    words = shlex.split(os.environ.get("ARGS", ""))
    minor, tests = python.number[:2], ROOT / "tests"
    if words or not done:
        return pytest_arguments(words)
    if core not in HOOKS:  # the events of one of them
        return ["-m", "not once", *(tests / name for name in KINDS_OF_EVENTS)]
    if minor in done:
        paths = [path for name in EVENTS for path in sorted(tests.glob(name))]
        return ["-m", "not once", *paths]
    left_out: tuple[str, ...] = () if minor == OLDEST else READING
    if len(python.hooks) > 1:
        left_out += KINDS_OF_EVENTS  # each kind has a run of its own
    return ["-m", "not once", *(f"--ignore={tests / name}" for name in left_out), tests]


def run_suite(env: Env, python: Python, core: str, arguments: list[object]) -> Result:
    """Run pytest in an environment with one core."""
    begun = time.monotonic()
    log = env.folder / "log" / f"{core}.txt"
    report = env.folder / "log" / f"{core}.xml"
    for old in (log, report):
        old.unlink(missing_ok=True)
    command = [env.python, "-m", "pytest", f"--junitxml={report}"]
    command += [f"--numprocesses={workers()}", "--dist=worksteal"]
    command += ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
    command += ["-o", f"cache_dir={env.folder / 'cache' / core}"]
    command += arguments
    doubles = str(native.DOUBLES)
    changes = {"LINEPROF_CORE": core, "LINEPROF_DOUBLES": doubles}
    changes["PYTHONDONTWRITEBYTECODE"] = ""  # each process would compile the helpers
    name = f"{python.version} {core}"

    def tell_progress() -> None:
        say(f"{name}: {progress(log)} after {time.monotonic() - begun:.0f} s")

    # Outside of the checkout: neither its lineprof nor its configuration is found.
    with tempfile.TemporaryDirectory(prefix="lineprof-tests-") as folder:
        status = SESSIONS.run(
            *(command, log),
            cwd=Path(folder),
            changes=changes,
            meanwhile=tell_progress,
        )
    result = read_report(Result(name, log), report, status)
    return tell(result, time.monotonic() - begun)


def pytest_arguments(arguments: list[str]) -> list[object]:
    """Return arguments with full paths of test files, or of all if there are none."""
    paths = [word for word in arguments if (ROOT / word.partition("::")[0]).exists()]
    others = [word for word in arguments if word not in paths]
    return [*others, *([ROOT / path for path in paths] or [ROOT / "tests"])]


if __name__ == "__main__":
    sys.exit(main())
