"""CPython's own tests, run alone and with each of their functions profiled.

On 3.11, 3.12 and 3.13, once per hook; the outcome of each single test must be the
same. With --memory, the memory of their lines is measured as well. Environment:
ONLY=3.12, any versions that start with that.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    install,
    make,
    open_log,
    replay,
)
from tools.dev.pythons import find

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.dev.pythons import Python

RUNNER = Path(__file__).resolve().parent / "runner.py"
CHECKED = {(3, 11), (3, 12), (3, 13)}
MODULES = (
    *("test_generators", "test_coroutines", "test_asyncgen", "test_contextlib"),
    *("test_exceptions", "test_sys_settrace", "test_threading", "test_with"),
    *("test_yield_from", "test_functools", "test_inspect"),
    *("test_bdb", "test_pdb", "test_sys_setprofile", "test_trace"),
)
AT_ONCE = 2
LIMIT_S = 600  # for one module; the longest takes half a minute
FLAGS = [word for word in sys.argv[1:] if word == "--memory"]
ALONE = "-"
BAD = ("failed", "error", "passed unexpectedly")


class Excuse(NamedTuple):
    """Reason why the outcome of some tests may differ."""

    test: str  # prefix of their ids
    core: str
    reason: str


EXCUSES = (
    Excuse(
        test="test.test_sys_settrace.JumpTestCase.test_no_jump",
        core="monitoring",
        reason="its trace function fails at the first line: the test never runs",
    ),
)


class Run(NamedTuple):
    """Outcomes of a module's tests."""

    outcomes: Mapping[str, str]
    reasons: Mapping[str, str]
    watched: int
    hits: int
    unheard: Sequence[str]
    log: Path
    problem: str = ""  # why there are no outcomes


def run(env: Env, module: str, core: str) -> Run:
    """Run a module's tests in an environment, alone or profiled with a hook."""
    name = f"{module}-{core if core != ALONE else 'alone'}"
    folder, log = env.folder / "away" / name, env.folder / "log" / f"{name}.txt"
    answer = env.folder / "log" / f"{name}.json"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for old in (log, answer):
        old.unlink(missing_ok=True)
    command = [env.python, RUNNER, f"test.{module}", core, answer, *FLAGS]
    with open_log(log) as output:
        try:
            status = subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=LIMIT_S,
                cwd=folder,
                env=clean_environment(),
                check=False,
            ).returncode
            problem = "" if answer.exists() else f"exit status {status}"
        except subprocess.TimeoutExpired:
            problem = f"still running after {LIMIT_S} s"
    if problem:
        return Run({}, {}, 0, 0, (), log, problem)
    values: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return Run(**values, log=log)


def excuse(core: str, test: str) -> str:
    """Return why a test may differ; '' if it may not."""
    for known in EXCUSES:
        if test.startswith(known.test) and core == known.core:
            return known.reason
    return ""


def differences(alone: Run, profiled: Run) -> dict[str, str]:
    """Return the differences from the run alone, by test."""
    if alone.problem or profiled.problem:
        whose = "alone" if alone.problem else "profiled"
        log = alone.log if alone.problem else profiled.log
        return {whose: f"{alone.problem or profiled.problem}; log: {log}"}
    found = dict.fromkeys(profiled.unheard, "passed, and its own lines have no hits")
    for test in {*alone.outcomes, *profiled.outcomes}:
        before, after = (
            some.outcomes.get(test, "not run") for some in (alone, profiled)
        )
        if before != after:
            reason = profiled.reasons.get(test, "")
            found[test] = f"alone {before}, profiled {after}\n{reason}"
    return found


def check(env: Env, python: Python, module: str) -> int:
    """Run one module alone and with each hook; return how many hooks differ."""
    begun = time.monotonic()
    alone = run(env, module, ALONE)
    lines = [f"{python.version} {module}: {counted(alone)}"]
    lines += [f"  also fails alone: {t}" for t, o in alone.outcomes.items() if o in BAD]
    failed = 0
    for core in python.hooks:
        profiled = run(env, module, core)
        found = differences(alone, profiled)
        excused = {test: excuse(core, test) for test in found}
        wrong = sorted(test for test, reason in excused.items() if not reason)
        failed += bool(wrong)
        verdict = "not the same" if wrong else "the same"
        lines.append(
            f"  {core}: {verdict}; {profiled.watched} functions, {profiled.hits} hits"
        )
        lines += [f"    {test}: {found[test]}" for test in wrong]
        lines += [f"    except {t}: {why}" for t, why in excused.items() if why]
    lines[0] += f" ({time.monotonic() - begun:.0f} s)"
    print("\n".join(lines), flush=True)
    return failed


def counted(alone: Run) -> str:
    """Return the counts of outcomes as text."""
    counts = Counter(alone.outcomes.values())
    return ", ".join(f"{times} {outcome}" for outcome, times in counts.most_common())


def check_python(python: Python) -> int:
    """Set up a Python and run all modules with it; return the number of failures."""
    env = Env(ROOT / f".venv-check-cpython-{python.name}")
    try:
        make(env, python)
        install(env)
    except StepError as error:
        replay(env.log)
        print(f"{python.version}: {error}; see its output above")
        return 1
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sum(pool.map(lambda module: check(env, python, module), MODULES))


def chosen(pythons: Sequence[Python], only: str) -> list[Python]:
    """Return the Pythons to check: those of ONLY, or of CHECKED."""
    if only:
        return [python for python in pythons if python.version.startswith(only)]
    return [python for python in pythons if python.number[:2] in CHECKED]


def has_tests(python: Python) -> bool:
    """Return whether a Python came with its own tests; print a line if not."""
    asked = [python.path, "-c", "import test.test_generators"]
    found = not subprocess.run(asked, capture_output=True, check=False).returncode
    if not found:
        print(f"{python.version}: left out, it came without its own tests", flush=True)
    return found


def main() -> int:
    """Check all chosen Pythons; return 1 if anything differs."""
    pythons = chosen(find()[0], os.environ.get("ONLY", ""))
    pythons = [python for python in pythons if has_tests(python)]
    if not pythons:
        sys.exit("lineprof: no usable Python 3.11, 3.12 or 3.13 with its tests")
    failed = sum(map(check_python, pythons))
    print(f"{failed} not the same" if failed else "all the same as alone")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
