"""Workers of Dask and of Ray: all hits of functions that are sent to them are found.

Argument: dask or ray. The functions are the program's own, sent by value, and a
module's; they are decorated, named, or found in the whole program under kernprof, or
profiled as docs/recipes.md says. On 3.11 and on the newest Python from 3.12 on, with
all its hooks. Environment: ONLY=3.12, versions that start with that. Each Python gets
an environment of up to 400 MB; all workers run on this machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    install,
    make,
    replay,
    require,
)
from tools.dev.pythons import find, oldest_and_newest

if TYPE_CHECKING:
    from tools.dev.pythons import Python

PROGRAMS = Path(__file__).resolve().parent
NEWEST = (3, 14)  # the newest that Ray has wheels for
LIMIT_S = 180  # for one run
DECORATOR = "@profile"
TASKS = range(100, 108)
# Hits of the lines of `work` and of `add` behind the first.
HITS = [len(TASKS), len(TASKS) + sum(TASKS), sum(TASKS), len(TASKS)]
OUT = "profiles"  # the folder in which workers write


class Way(NamedTuple):
    """One way to profile a program."""

    name: str
    flags: tuple[str, ...] | None  # of kernprof; None: as the recipe says
    is_decorated: bool = False


WAYS = (
    Way("decorated", (), is_decorated=True),
    Way("named", ("-p", "sums.add", "-p", "{program}.work")),
    Way("whole", ()),
    Way("by the recipe", None),
)
ARGUMENTS = {"dask": (("processes",), ("threads",)), "ray": ((),)}


class Place(NamedTuple):
    """An environment with one hook, and a folder for the program and its profiles."""

    env: Env
    core: str
    folder: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run python with these arguments; subprocess.TimeoutExpired."""
        return subprocess.run(
            [self.env.python, *words],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            cwd=self.folder,
            env=clean_environment(
                LINEPROF_CORE=self.core,
                RAY_AUTH_MODE="disabled",
                PYTHONPATH=str(self.folder),  # where Ray's hook looks
            ),
            check=False,
        )


def copy_programs(folder: Path, *, is_decorated: bool) -> None:
    """Copy the programs to a folder, without decorators unless `is_decorated`."""
    for file in PROGRAMS.glob("*.py"):
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [one for one in lines if is_decorated or not one.startswith(DECORATOR)]
        (folder / file.name).write_text("".join(kept), encoding="utf-8")


def check(place: Place, package: str, way: Way, arguments: tuple[str, ...]) -> str:
    """Return what is wrong with a run of the program, "" if nothing is."""
    copy_programs(place.folder, is_decorated=way.is_decorated)
    program = f"on_{package}"
    out = "" if way.flags is not None else str(place.folder / OUT)
    words = [f"{program}.py", *arguments, out]
    if way.flags is None:
        (place.folder / OUT).mkdir()
    else:
        flags = [flag.format(program=program) for flag in way.flags]
        words = ["-m", "kernprof", "-l", "-o", "all.lprof", *flags, *words]
    try:
        done = place.run(*words)
    except subprocess.TimeoutExpired:
        return f"still running after {LIMIT_S} s"
    expected = f"{sum(n * (n - 1) // 2 for n in TASKS)}\n" * 2
    if done.returncode or not done.stdout.startswith(expected):
        return f"status {done.returncode}: {done.stdout[-999:]} {done.stderr[-999:]}"
    if "was never called" in done.stderr:
        return f"it says {done.stderr!r}"
    if out:
        merged = place.run("-m", "lineprof", "merge", OUT, "-o", "all.lprof")
        if merged.returncode:
            return f"the profiles cannot be merged: {merged.stderr}"
    return wrong_hits(place)


def wrong_hits(place: Place) -> str:
    """Return what is wrong with the hits of both functions, "" if nothing is."""
    view = place.run("-m", "lineprof", "view", "--json", "all.lprof")
    functions = json.loads(view.stdout)["functions"]
    for name in ("work", "add"):
        found = [
            [line["hits"] for line in one["lines"]]
            for one in functions
            if one["name"] == name
        ]
        if found != [HITS]:
            return f"{name} has hits {found}, not {[HITS]}"
    return ""


def check_python(python: Python, package: str) -> int:
    """Set up a Python with the package and check it; return the number of failures."""
    env = Env(ROOT / f".venv-check-{package}-{python.name}")
    print(f"{python.version}: setting up {env.folder.name} ...", flush=True)
    try:
        make(env, python)
        require(env, f"{package}.txt")
        install(env)
    except StepError as error:
        replay(env.log)
        print(f"{python.version}: {error}; see its output above")
        return 1
    failed = 0
    for core in python.hooks:
        for arguments in ARGUMENTS[package]:
            for way in WAYS:
                begun = time.monotonic()
                folder = Path(tempfile.mkdtemp())
                wrong = check(Place(env, core, folder), package, way, arguments)
                shutil.rmtree(folder, ignore_errors=True)  # a worker may still end
                took = f"({time.monotonic() - begun:.0f} s)"
                what = " ".join((python.version, core, *arguments, way.name, took))
                print(f"{what}: {wrong or 'as it should be'}", flush=True)
                failed += bool(wrong)
    return failed


def main() -> int:
    """Check all chosen Pythons; return 1 if anything is wrong."""
    [package] = sys.argv[1:]
    pythons = oldest_and_newest(find()[0], os.environ.get("ONLY", ""), NEWEST)
    if not pythons:
        sys.exit("lineprof: no usable Python 3.11 or later")
    failed = sum(check_python(python, package) for python in pythons)
    print(f"{failed} failed" if failed else "all as it should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
