"""Run the whole suite: the C tests, and pytest on every Python once per hook.

Environment: PYTHONS, more interpreters to try; ONLY=3.12, versions that begin so;
ARGS, handed to pytest; LINEPROF_WERROR=ON, compiler warnings are errors.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
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
from tools.dev.pythons import advice, compiler_lacks, find
from tools.dev.results import Result, close, progress, read_report, say, tell
from tools.dev.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.dev.pythons import Python

SET_UP_AT_ONCE = 2
MOST_WORKERS = 8  # each collects all tests before it runs its share
RUN_S = 300  # what one run takes, about, on one core
LIMIT_S = 1200  # for one run of the suite: nothing in it waits
PROGRESS_S = 15
SESSIONS = Sessions(limit_s=LIMIT_S, every_s=PROGRESS_S)
STRICT = os.environ.get("LINEPROF_WERROR", "").upper() in {"1", "ON"}


def main() -> int:
    """Plan, run, sum up; the exit status is 1 when anything failed."""
    lacks = compiler_lacks()
    problem = advice(lacks) if lacks else ""
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

    with alone():
        return run_all(pythons)


def plan(pythons: list[Python]) -> str:
    """Say what will run, and about how long that takes."""
    runs = sum(len(python.hooks) for python in pythons)
    arguments = os.environ.get("ARGS", "")
    if arguments:
        length = f"with the arguments {arguments}"
    else:
        minutes = -(-runs * RUN_S // (60 * workers()))
        length = f"about {minutes} min"
    first = (
        f"the C tests, then the Python tests {runs} times, {workers()} tests at once:"
        f" {length}; 1 min more for each Python that is used for the first time"
    )
    lines = [f"{p.version:8} {', '.join(p.hooks):22} {p.path}" for p in pythons]
    return "\n".join([first, *lines])


def workers() -> int:
    """Give the number of processes that share the tests of a run."""
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Wait until no other run of the suite uses this checkout's environments."""
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
    """Run everything, as far as nobody interrupts; give the exit status.

    While the tests of one Python run, the next ones are set up.
    """
    results = [run_native(pythons[0])]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ThreadPoolExecutor(SET_UP_AT_ONCE) as pool:
        try:
            for python, ready in zip(pythons, pool.map(set_up, pythons)):
                if isinstance(ready, Result):
                    results.append(ready)
                else:
                    results += [run_suite(ready, python, hook) for hook in python.hooks]
        except KeyboardInterrupt:
            SESSIONS.close()
            pool.shutdown(wait=False, cancel_futures=True)
            results.append(Result("interrupted", native.TEST_LOG, failed=1))
    return close(results)


def run_native(python: Python) -> Result:
    """Build and run the C tests; the doubles are built with them."""
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
    """Give an environment of a Python with lineprof; a failed result without one."""
    begun = time.monotonic()
    env = Env(ROOT / ".venv-test" / python.name)
    if not env.folder.exists():
        say(f"{python.version}: its environment is made, which takes a while")
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
    """Install what some tests compare with, each where this Python can have it."""
    listed = REQUIREMENTS / "peers.txt"
    for peer in listed.read_text(encoding="utf-8").split():
        if not stamp(env, peer):
            try:
                pip(env, "--only-binary=:all:", peer)
            except StepError as error:  # its tests say that they skip, and why
                with open_log(env.log) as log:
                    print(f"no {peer} here: {error}", file=log)
            write_stamp(env, peer, "tried")


def run_suite(env: Env, python: Python, hook: str) -> Result:
    """Run pytest in an environment with one hook."""
    begun = time.monotonic()
    log = env.folder / "log" / f"{hook}.txt"
    report = env.folder / "log" / f"{hook}.xml"
    away = env.folder / "away"  # from here `import lineprof` misses the checkout
    away.mkdir(exist_ok=True)
    for old in (log, report):
        old.unlink(missing_ok=True)
    command = [env.python, "-m", "pytest", f"--junitxml={report}"]
    command += [f"--numprocesses={workers()}", "--dist=worksteal"]
    command += ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
    command += ["-o", f"cache_dir={env.folder / 'cache' / hook}"]
    command += chosen(shlex.split(os.environ.get("ARGS", "")))
    doubles = str(native.DOUBLES)
    changes = {"LINEPROF_CORE": hook, "LINEPROF_DOUBLES": doubles}
    changes["PYTHONDONTWRITEBYTECODE"] = ""  # else each process compiles our helpers
    name = f"{python.version} {hook}"

    def tell_progress() -> None:
        say(f"{name}: {progress(log)} after {time.monotonic() - begun:.0f} s")

    status = SESSIONS.run(
        command, log, cwd=away, changes=changes, meanwhile=tell_progress
    )
    result = read_report(Result(name, log), report, status)
    return tell(result, time.monotonic() - begun)


def chosen(arguments: list[str]) -> list[object]:
    """Give pytest's arguments with the whole paths of test files; all if none is."""
    paths = [word for word in arguments if (ROOT / word.partition("::")[0]).is_file()]
    others = [word for word in arguments if word not in paths]
    return [*others, *([ROOT / path for path in paths] or [ROOT / "tests"])]


if __name__ == "__main__":
    sys.exit(main())
