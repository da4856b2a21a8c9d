"""The tests of line_profiler 5.1.0, run with lineprof in its place.

On the oldest and the newest Python that both support, and on the first one that has
sys.monitoring. A test that fails must be listed in reasons.py with its reason, and a
test that is listed must fail. Environment: ONLY=3.12, versions that start with that;
ARGS, passed to pytest. The downloaded tests are kept in .venv-check-upstream-...
"""

from __future__ import annotations

import fnmatch
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

from tools.checks.upstream.reasons import LEFT_OUT, REASONS
from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    install,
    make,
    must,
    replay,
)
from tools.dev.envs import require as require_file
from tools.dev.pythons import find

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.dev.pythons import Python

HERE = Path(__file__).resolve().parent
VERSION = "5.1.0"
WANTED = ((3, 11), (3, 12), (3, 13))
REQUIREMENTS = "upstream.txt"
LIMIT_S = 900
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


def chosen(pythons: Sequence[Python], only: str) -> list[Python]:
    """Return the Pythons to check: those of `WANTED`, or of ONLY."""
    if only:
        return [python for python in pythons if python.version.startswith(only)]
    found: dict[tuple[int, ...], Python] = {}
    for python in pythons:
        if python.number[:2] in WANTED:
            found.setdefault(python.number[:2], python)
    return list(found.values())


def sources(env: Env) -> Path:
    """Return the folder of line_profiler's tests, downloaded once."""
    folder = env.folder / f"line_profiler-{VERSION}"
    if not (folder / "tests").is_dir():
        release = f"line_profiler=={VERSION}"
        words = ("--no-deps", "--no-binary=:all:", "--dest", env.folder, release)
        must([env.python, "-m", "pip", "download", *words], env.log)
        (archive,) = env.folder.glob(f"line_profiler-{VERSION}.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(env.folder)  # noqa: S202  # of a release on the index
    return folder / "tests"


def play(env: Env, tests: Path, scratch: Path) -> dict[str, str]:
    """Run the tests; return the outcome of each by its name."""
    shutil.copytree(tests, scratch / "tests")
    report = scratch / "report.xml"
    command = [env.python, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir=."]
    command += ["-p", "no:cacheprovider", f"--junitxml={report}", "--tb=short"]
    command += [f"--ignore={name}" for name in LEFT_OUT]
    with (env.folder / "log" / "upstream.txt").open("w", encoding="utf-8") as log:
        subprocess.run(
            [*map(str, command), *shlex.split(os.environ.get("ARGS", "")), "."],
            cwd=scratch / "tests",
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            check=False,
            env=clean_environment(
                PYTHONPATH=str(HERE / "alias"),
                PATH=f"{env.bin}{os.pathsep}{os.environ['PATH']}",
                LINEPROF_OUTFILE="%f.lprof",
            ),
        )
    return outcomes(report)


def outcomes(report: Path) -> dict[str, str]:
    """Read the outcome of each test from pytest's report."""
    found: dict[str, str] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314  # pytest's own
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            found[name] = FAILED
        else:
            found[name] = SKIPPED if "skipped" in kinds else PASSED
    return found


def judge(
    found: Mapping[str, str], reasons: Mapping[str, str]
) -> tuple[list[str], dict[str, int]]:
    """Return what is wrong, and the number of failed tests for each reason."""
    wrong, used = [], dict.fromkeys(reasons, 0)
    for name, outcome in found.items():
        fitting = [one for one in reasons if fnmatch.fnmatchcase(name, escaped(one))]
        for pattern in fitting:
            used[pattern] += outcome == FAILED
        if outcome == FAILED and not fitting:
            wrong.append(f"fails without a reason: {name}")
    return wrong, used


def escaped(pattern: str) -> str:
    """Escape the brackets around the parameters of a test."""
    return pattern.replace("[", "[[]")


def check_python(python: Python) -> tuple[int, dict[str, int]]:
    """Set up a Python, run the tests; return the number of wrong ones and reasons."""
    env = Env(ROOT / f".venv-check-upstream-{python.name}")
    try:
        make(env, python)
        require_file(env, REQUIREMENTS)
        install(env, quick=True)
        tests = sources(env)
    except StepError as error:
        replay(env.log)
        print(f"{python.version}: {error}; see its output above")
        return 1, {}
    with tempfile.TemporaryDirectory() as scratch:
        found = play(env, tests, Path(scratch))
    wrong, used = judge(found, REASONS)
    counts = {
        kind: sum(o == kind for o in found.values()) for kind in (PASSED, SKIPPED)
    }
    listed = sum(o == FAILED for o in found.values()) - len(wrong)
    print(
        f"{python.version}: {counts[PASSED]} passed, {counts[SKIPPED]} skipped by"
        f" themselves, {listed} that fail with a reason, {len(wrong)} without"
    )
    for line in wrong:
        print(f"  {line}")
    sys.stdout.flush()
    return len(wrong) + (not counts[PASSED]), used


def main() -> int:
    """Check all chosen Pythons; return 1 if anything is wrong."""
    only = os.environ.get("ONLY", "")
    pythons = chosen(find()[0], only)
    if not pythons:
        sys.exit("lineprof: no usable Python 3.11, 3.12 or 3.13")
    total = 0
    used = dict.fromkeys(REASONS, 0)
    for python in pythons:
        wrong, reasons = check_python(python)
        total += wrong
        for pattern, count in reasons.items():
            used[pattern] += count
    print("not applicable, or different on purpose:")
    for pattern, reason in {**LEFT_OUT, **REASONS}.items():
        print(f"  {pattern} ({used.get(pattern, '-')}): {reason}")
    whole = not only and not os.environ.get("ARGS")
    stale = [pattern for pattern, count in used.items() if whole and not count]
    for pattern in stale:
        print(f"listed, but no test fails: {pattern}")
    print(f"{total + len(stale)} wrong" if total or stale else "all as it should be")
    return 1 if total or stale else 0


if __name__ == "__main__":
    sys.exit(main())
