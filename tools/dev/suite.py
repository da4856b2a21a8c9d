"""The suite: C tests, then pytest with Pythons and cores, as tools/dev/plan.py says.

Environment: PYTHONS, more interpreters to use; ONLY=3.12, only versions that begin with
that, several separated by spaces; NEWEST=1, also 3.14 and 3.15 in a Debian, which are
needed then; REST=all, also what the gate leaves out, REST=COMMIT a tenth of it, which
the hash of a commit chooses; ARGS, passed to pytest, with every Python and core;
LINEPROF_WERROR=ON, compiler warnings are errors.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tools.checks.browser import NAMES as BROWSERS
from tools.dev import native, newest, plan
from tools.dev.envs import (
    REQUIREMENTS,
    ROOT,
    Env,
    StepError,
    call,
    install,
    make,
    open_log,
    pip,
    require,
    stamp,
    where,
    write_stamp,
)
from tools.dev.pythons import advice, compiler_missing, find
from tools.dev.results import (
    Progress,
    Result,
    again,
    close,
    progress,
    read_report,
    say,
    tell,
)
from tools.dev.sessions import SILENT_S, End, Sessions, running_tests

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from tools.dev.plan import Run
    from tools.dev.pythons import Python

SET_UP_AT_ONCE = 2
MAX_WORKERS = 8  # each process collects all tests before it runs its share
FIRST_S = 600  # estimate for the first Python, on one core
OTHER_S = 150  # for each other one, and for each other core
QUICK = " ".join(  # the files of line_profiler's tests that take long
    f"--ignore=test_{name}.py" for name in ("autoprofile", "eager_preimports")
)
NO_TESTS = 5  # pytest's exit status
OTHER_USER = "LINEPROF_TEST_OTHER_USER"
STRICT = os.environ.get("LINEPROF_WERROR", "").upper() in {"1", "ON"}


def main() -> int:
    """Print the plan, run it and sum up; the exit status is 1 if anything failed."""
    missing = compiler_missing()
    problem = advice(missing) if missing else ""
    found, refused = find()
    if not problem and not found:
        problem = "; ".join(["no usable Python 3.11 or later", *refused])
    pythons = wanted(found)
    with_newest = bool(os.environ.get("NEWEST"))
    if not problem and not pythons and not with_newest:
        problem = f"no Python {os.environ['ONLY']} is found"
    if problem:
        sys.exit(f"lineprof: {problem}")
    print(length(pythons))
    for python in pythons:
        print(f"{python.version:8} {', '.join(python.cores):60} {python.path}")
    for line in refused:
        print(f"left out {line}")
    sys.stdout.flush()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with locked():
        return Suite(found[0], pythons, with_newest=with_newest).run()


def wanted(pythons: Iterable[Python]) -> list[Python]:
    """Return the Pythons that ONLY names; all without it."""
    prefixes = tuple(os.environ.get("ONLY", "").split()) or ("",)
    return [python for python in pythons if python.version.startswith(prefixes)]


def length(pythons: list[Python]) -> str:
    """Return what will run, and about how long that takes."""
    runs = sum(len(python.cores) for python in pythons)
    what = f"{runs} configurations of Python and core, {workers()} tests at once"
    if arguments := os.environ.get("ARGS", ""):
        return f"{what}, with the arguments {arguments}"
    minutes = (FIRST_S + OTHER_S * (runs - 1)) / (60 * min(cores(), MAX_WORKERS))
    return (
        f"the C tests, then the Python tests: {what}; about {minutes:.0f} min, and"
        " 1 min more for each Python that is used for the first time"
    )


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers() -> int:
    """Return the number of processes that run tests at once.

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


class Suite:
    """One run of the suite.

    First come the runs that are spread over processes, one after the other; then the
    others, several at once; at last, one by one, the tests that run alone. The
    environments are set up meanwhile.
    """

    def __init__(
        self, builder: Python, found: list[Python], *, with_newest: bool
    ) -> None:
        self._builder = builder  # of the C tests
        self._found = found
        self._with_newest = with_newest
        self._words = shlex.split(os.environ.get("ARGS", ""))
        self._sessions = Sessions()
        self._progress = Progress()
        self._results: list[Result] = []
        self._envs: dict[Python, Future[Env | None]] = {}
        self._failed: list[tuple[Run, Result]] = []

    def run(self) -> int:
        """Run everything unless interrupted; return the exit status."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._progress)
            pool = stack.enter_context(ThreadPoolExecutor(SET_UP_AT_ONCE))
            try:
                self._run_all(stack, pool)
            except KeyboardInterrupt:
                self._sessions.close()
                pool.shutdown(wait=False, cancel_futures=True)
                self._results.append(Result("interrupted", native.TEST_LOG, failed=1))
        return close(self._results)

    def _run_all(self, stack: contextlib.ExitStack, pool: ThreadPoolExecutor) -> None:
        newest_ones = None
        if self._with_newest:
            newest_ones = pool.submit(self._newest, stack, pool)
        twins = plan.twins(self._found[0], self._found) if self._found else set()
        needed = [one for one in self._found if self._words or one not in twins]
        self._set_up_all(pool, needed, quick=self._found[1:-1])
        self._native()
        done: list[Run] = []
        if self._found:  # its run is the longest: no other Python is waited for
            done = [
                one for one in self._runs(self._found[0], self._found)[:1] if one.spread
            ]
            self._spread(done)
        pythons = self._found
        if newest_ones:
            pythons = [*pythons, *newest_ones.result()]
            pythons.sort(key=lambda python: python.number, reverse=True)
        if pythons:
            first = (self._found or pythons)[0]
            runs = [run for run in self._runs(first, pythons) if run not in done]
            late = dict.fromkeys(one.python for one in runs if one.python in twins)
            self._set_up_all(pool, [*late], quick=late)
            self._spread(runs)
            runs.sort(key=lambda run: not run.part)  # the rest has long runs
            beside = [run.beside() for run in runs if not run.spread]
            jobs = [functools.partial(self._pytest, run) for run in beside if run]
            self._side_by_side([*self._checks(), *jobs])
            self._alone([*done, *runs])
        self._again()

    def _runs(self, first: Python, pythons: list[Python]) -> list[Run]:
        """Return the runs of the plan."""
        if self._words:
            return [plan.Run(p, core, ()) for p in pythons for core in p.cores]
        commit = os.environ.get("REST", "")
        runs = list(plan.gate(first, pythons, commit))
        rest = list(plan.rest(first, pythons, commit))
        if commit == "all":
            return [*runs, *rest]
        return [*runs, *plan.tenth(rest, commit)] if commit else runs

    def _set_up_all(
        self,
        pool: ThreadPoolExecutor,
        pythons: list[Python],
        quick: Collection[Python],
    ) -> None:
        """Begin to set up those that are not yet; the core of some is made `quick`."""
        for python in pythons:
            if python in self._envs:
                continue
            self._envs[python] = pool.submit(
                self._set_up, python, quick=python in quick
            )

    def _newest(
        self, stack: contextlib.ExitStack, pool: ThreadPoolExecutor
    ) -> list[Python]:
        """Return the newest Pythons, which are set up then; their lack is a failure."""
        try:
            with self._progress.doing("installing a Debian with the newest Pythons"):
                folder = stack.enter_context(newest.locked())
                found = wanted(newest.pythons(folder))
        except (StepError, OSError) as error:
            name = f"the newest Pythons are not tested: {error}"
            say(name)
            self._results.append(Result(name, native.TEST_LOG, failed=1))
            return []
        self._set_up_all(pool, found, quick=found[1:])
        return found

    def _native(self) -> None:
        """Build the C tests and the doubles, and run the tests."""
        begun = time.monotonic()
        name = "C tests (ASan, UBSan)"
        with self._progress.doing("C tests"):
            try:
                native.build(self._builder, strict=STRICT)
                status = native.test(self._builder)
                result = Result(name, native.TEST_LOG)
                result = read_report(result, native.TEST_REPORT, status)
            except StepError as error:
                result = Result(f"{name}: {error}", native.BUILD_LOG, failed=1)
        self._results.append(tell(result, time.monotonic() - begun))

    def _set_up(self, python: Python, *, quick: bool) -> Env | None:
        """Return an environment with lineprof; None, and a failure, without one."""
        begun = time.monotonic()
        with self._progress.doing(f"setting up {python.version}"):
            try:
                env = set_up(python, quick=quick)
            except StepError as error:
                result = Result(
                    f"{python.version} set-up: {error}", log_of(python), failed=1
                )
                self._results.append(tell(result, time.monotonic() - begun))
                return None
        say(f"{python.version}: set up in {time.monotonic() - begun:.0f} s")
        return env

    def _spread(self, runs: Iterable[Run]) -> None:
        """Run those that are spread over processes, one after the other."""
        for run in runs:
            beside = run if self._words else run.beside()
            if run.spread and beside:
                self._pytest(beside)

    def _side_by_side(self, jobs: list[Callable[[], None]]) -> None:
        """Do what takes one process each, several at once."""
        with ThreadPoolExecutor(workers()) as pool:
            try:
                list(pool.map(lambda job: job(), jobs))
            except KeyboardInterrupt:
                self._sessions.close()
                pool.shutdown(cancel_futures=True)
                raise

    def _alone(self, runs: Iterable[Run]) -> None:
        """Run the tests of some runs that run alone."""
        for run in runs:
            alone = None if self._words else run.alone()
            if alone:
                self._pytest(alone, spread=False)

    def _checks(self) -> Iterator[Callable[[], None]]:
        """Yield small parts of the checks that are no tests of pytest."""
        if self._words or not (os.environ.get("REST") and self._found):
            return
        python = self._found[0]
        env = self._envs[python].result()
        if env is None:
            return
        check = functools.partial(self._check, env)
        name = "line_profiler's own tests"
        yield functools.partial(check, name, "upstream", QUICK, python.version)
        name = "report pages in Chromium, with axe-core"
        if not any(map(shutil.which, BROWSERS)):
            say(f"left out {name}: there is none on this machine")
            return
        try:
            require(env, "pages.txt", "--no-deps")
        except StepError as error:
            self._results.append(Result(f"{name}: {error}", env.log, failed=1))
            return
        words = f"--no-figures --python {shlex.quote(str(env.python))}"
        yield functools.partial(check, name, "report", words)

    def _check(
        self, env: Env, name: str, folder: str, arguments: str, only: str = ""
    ) -> None:
        """Run a check, and keep its result."""
        begun = time.monotonic()
        log = env.folder / "log" / f"check-{folder}.txt"
        log.unlink(missing_ok=True)
        command = ["tools/run", f"checks/{folder}/check"]
        with self._progress.doing(name):
            status = call(command, log, ARGS=arguments, ONLY=only)
        result = Result(name, log, passed=int(not status), failed=int(bool(status)))
        self._results.append(tell(result, time.monotonic() - begun))

    def _again(self) -> None:
        """Run failed tests that are marked `timing` again, alone."""
        for run, result in self._failed:
            self._results.remove(result)
            self._results.append(again(result, functools.partial(self._passes, run)))

    def _passes(self, run: Run, test: str) -> bool:
        """Return whether a test passes alone."""
        env = self._envs[run.python].result()
        if env is None:
            return False
        log = env.folder / "log" / f"{run.log}-again.txt"
        name = f"{run.name}: {test} again"
        result = self._pytest_in(env, run, [ROOT / test], log, spread=False)
        say(f"{name}: {'failed' if result.failed else 'passed'}")
        return not result.failed

    def _pytest(self, run: Run, *, spread: bool | None = None) -> None:
        """Run pytest, and keep the result."""
        env = self._envs[run.python].result()
        if env is None:
            return  # its set-up is a failure already
        begun = time.monotonic()
        log = env.folder / "log" / f"{run.log}.txt"
        if self._words:
            arguments = with_full_paths(self._words)
        else:
            marks = ["-m", run.marks] if run.marks else []
            arguments = [*marks, *run.turns, *(plan.TESTS / file for file in run.files)]
        if run.part.startswith("rest"):
            say(f"{run.name}, beyond the gate: {' '.join(run.files)}")
        result = self._pytest_in(
            env, run, arguments, log, spread=run.spread if spread is None else spread
        )
        if result.passed or result.failed or result.skipped:
            self._results.append(tell(result, time.monotonic() - begun))
        if result.failures:
            self._failed.append((run, result))

    def _pytest_in(
        self, env: Env, run: Run, arguments: list[object], log: Path, *, spread: bool
    ) -> Result:
        """Run pytest in an environment; return the result."""
        if spread:
            several = [f"--numprocesses={workers()}", "--dist=worksteal"]
            arguments = [*several, *arguments]
        with self._progress.doing(run.name, lambda: progress(log)):
            end = run_pytest(self._sessions, env, run.core, log, arguments)
        result = Result(run.name, log)
        if end.status == NO_TESTS and run.may_be_empty:
            return result
        result = read_report(result, log.with_suffix(".xml"), end.status)
        if end.hung:
            hung = " and ".join(end.hung)
            name = (
                f"{result.name}: no test ended for {SILENT_S:.0f} s, while {hung} ran"
            )
            return replace(result, name=name)
        cut_off = " and ".join(test for _, test in running_tests(running_of(log)))
        if cut_off and result.failed:
            return replace(result, name=f"{result.name}, while {cut_off} ran")
        return result


def running_of(log: Path) -> Path:
    """Return the folder of files that name the tests that run, beside a log."""
    return log.with_suffix(".running")


def run_pytest(
    sessions: Sessions, env: Env, core: str, log: Path, arguments: list[object]
) -> End:
    """Run pytest in an environment, with its output in a log and its report beside."""
    report, running = log.with_suffix(".xml"), running_of(log)
    for old in (log, report):
        old.unlink(missing_ok=True)
    shutil.rmtree(running, ignore_errors=True)
    running.mkdir(parents=True)
    command: list[object] = [env.python, "-m", "pytest", f"--junitxml={report}"]
    command += ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
    command += ["-o", f"cache_dir={env.folder / 'cache' / log.stem}", *arguments]
    changes = {"LINEPROF_CORE": core, "LINEPROF_DOUBLES": str(native.DOUBLES)}
    if other_user := os.environ.get(OTHER_USER):
        changes[OTHER_USER] = other_user
    changes["PYTHONDONTWRITEBYTECODE"] = ""  # each process would compile helpers
    # Outside of the checkout: neither its lineprof nor its configuration is found.
    root = env.debian
    with tempfile.TemporaryDirectory(
        prefix="lineprof-tests-", dir=root and root / "tmp"
    ) as folder:
        cwd = Path("/", Path(folder).relative_to(root)) if root else Path(folder)
        return sessions.run(where(command, cwd, root, changes), log, running)


def log_of(python: Python) -> Path:
    """Return the log of an environment's set-up."""
    return environment(python).log


def environment(python: Python) -> Env:
    """Return the environment of a Python, which may have to be made."""
    return Env(ROOT / ".venv-test" / python.name, python.debian)


def set_up(python: Python, *, quick: bool = False) -> Env:
    """Return an environment with lineprof; StepError if that fails.

    A core that is made `quick` is not optimised.
    """
    env = environment(python)
    make(env, python)
    require(env, "test.txt")
    install_peers(env)
    install(env, strict=STRICT, quick=quick)
    return env


def install_peers(env: Env) -> None:
    """Install other profilers for comparison, each if this Python can have it."""
    requirements = (REQUIREMENTS / "peers.txt").read_text(encoding="utf-8")
    if stamp(env, "peers.txt") == requirements:
        return
    peers = requirements.split()
    try:
        pip(env, "--only-binary=:all:", *peers)
    except StepError:
        for peer in peers:
            try:
                pip(env, "--only-binary=:all:", peer)
            except StepError as error:  # its tests are skipped, with a reason
                with open_log(env.log) as log:
                    print(f"no {peer} here: {error}", file=log)
    write_stamp(env, "peers.txt", requirements)


def with_full_paths(arguments: list[str]) -> list[object]:
    """Return arguments with full paths of test files, or of all if there are none."""
    paths = [word for word in arguments if (ROOT / word.partition("::")[0]).exists()]
    others = [word for word in arguments if word not in paths]
    return [*others, *([ROOT / path for path in paths] or [ROOT / "tests"])]


if __name__ == "__main__":
    sys.exit(main())
