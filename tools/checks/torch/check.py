"""PyTorch programs of this folder, run alone and under kernprof, and compared.

On 3.11 and on the newest Python from 3.12 on, each with all its hooks; no GPU is
needed. Environment: ONLY=3.12, versions that start with that. Downloads up to 2 GB,
and takes 4 GB of disk for each Python.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.dev.envs import (
    REQUIREMENTS,
    ROOT,
    Env,
    StepError,
    clean_environment,
    fingerprint,
    install,
    make,
    pip,
    replay,
    require,
    stamp,
    write_stamp,
)
from tools.dev.pythons import find, oldest_and_newest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tools.dev.pythons import Python

PROGRAMS = Path(__file__).resolve().parent
LISTED = "torch.txt"
NEWEST = (3, 14)  # the newest that this PyTorch has wheels for
FREE_BYTES = 6 * 10**9  # of disk, for each Python without PyTorch
LIMIT_S = 300  # for one program
COMPARED = ("eager.py", "workers.py", "compiled.py eager", "compiled.py aot_eager")
WITH_A_COMPILER = "compiled.py inductor"
BY_ITSELF = "orders.py"  # profiles itself, and prints results
IN_RANKS = "ranks.py"  # is run by torchrun
RANKS = 2
ADDED, REDUCED = "total += number", "dist.all_reduce("  # lines of it

# Requirements of PyTorch on Linux that a process without a GPU does not load.
UNNEEDED = ("triton", "cuda-bindings", "nvidia-cusolver", "nvidia-nvtx")
UNNEEDED_PARTS = ("cusolver", "nvtx")  # of cuda-toolkit[...]
WANTS = "import importlib.metadata as m, json; print(json.dumps(m.requires('torch')))"


class Run(NamedTuple):
    """Exit status and output of a command."""

    status: int
    output: str
    errors: str


def needed(wanted: Iterable[str]) -> list[str]:
    """Return the requirements without which PyTorch cannot be imported."""
    kept = [line for line in wanted if "extra ==" not in line]
    kept = [line for line in kept if not line.startswith(UNNEEDED)]
    for part in UNNEEDED_PARTS:
        kept = [re.sub(rf"\b{part},|,{part}\b", "", line) for line in kept]
    return kept


def install_torch(env: Env) -> None:
    """Install PyTorch without requirements that only a GPU needs."""
    wanted = fingerprint(f"tools/requirements/{LISTED}")
    if stamp(env, "torch") == wanted:
        return
    free = shutil.disk_usage(ROOT).free
    if free < FREE_BYTES:
        raise StepError(f"{free / 1e9:.1f} GB of disk are free; PyTorch wants 6 GB")
    listed = (REQUIREMENTS / LISTED).read_text(encoding="utf-8").split()
    pip(env, "pip>=22.1")
    pip(env, "--no-deps", listed[0])
    answer = subprocess.run(
        [env.python, "-c", WANTS], capture_output=True, text=True, check=True
    )
    pip(env, *needed(json.loads(answer.stdout)), *listed[1:])
    write_stamp(env, "torch", wanted)


def run(env: Env, core: str, *command: object) -> Run:
    """Run a program of this folder in an environment, with one hook."""
    try:
        done = subprocess.run(
            [str(env.python), "-W", "ignore", *map(str, command)],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            cwd=env.folder,
            env=clean_environment(
                LINEPROF_CORE=core,
                TORCHINDUCTOR_FORCE_DISABLE_CACHES="1",
                PYTHONHASHSEED="0",
            ),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Run(-1, "", f"still running after {LIMIT_S} s")
    return Run(done.returncode, done.stdout, done.stderr)


def marked(program: str) -> tuple[dict[int, int], list[tuple[str, str]]]:
    """Read the marks in a program: hits by line, and warnings as name and text."""
    lines = (PROGRAMS / program).read_text(encoding="utf-8").splitlines()
    hits = {
        number: int(found[1])
        for number, line in enumerate(lines, 1)
        for found in [re.search(r"# ?> (\d+)$", line)]
        if found
    }
    said = [found for line in lines if (found := re.match(r" *#: (\S+): (.*)$", line))]
    return hits, [(found[1], found[2]) for found in said]


def wrong_hits(program: str, profile: dict[str, Any]) -> list[str]:
    """Return the lines whose hits differ from those in the program."""
    counted = {
        line["line"]: line["hits"]
        for function in profile["functions"]
        if function["file"].endswith(program)
        for line in function["lines"]
    }
    return [
        f"line {number}: {counted.get(number, 0)} hits, not {hits}"
        for number, hits in marked(program)[0].items()
        if counted.get(number, 0) != hits
    ]


def wrong_warnings(program: str, warnings: Sequence[str]) -> list[str]:
    """Return the warnings that are missing, and those that are unexpected."""
    expected = marked(program)[1]
    fits = [
        [text for text in warnings if f"{name} (" in text and words in text]
        for name, words in expected
    ]
    missing = [f"not said: {e}" for e, found in zip(expected, fits) if not found]
    known = {text for found in fits for text in found}
    return missing + [f"said: {text}" for text in warnings if text not in known]


def compare(env: Env, core: str, words: str) -> list[str]:
    """Run a program alone and under kernprof; return the differences."""
    program, *arguments = words.split()
    profile = env.folder / "profile.lprof"
    alone = run(env, core, PROGRAMS / program, *arguments)
    if alone.status:
        return [f"alone it gives status {alone.status}: {alone.errors[-2000:]}"]
    command = ["-m", "kernprof", "-l", "-o", profile, PROGRAMS / program, *arguments]
    profiled = run(env, core, *command)
    wrong = []
    if profiled.status:
        return [f"it gives status {profiled.status}: {profiled.errors[-2000:]}"]
    output, _, _ = profiled.output.partition("Wrote profile results to")
    if output != alone.output:
        wrong.append(f"its output differs: {output!r}, alone {alone.output!r}")
    shown = run(env, core, "-m", "lineprof", "view", "--json", profile)
    values = json.loads(shown.output)
    wrong += wrong_hits(program, values)
    return wrong + wrong_warnings(program, values["warnings"])


def line_of(program: str, text: str) -> int:
    """Return the number of the program's line that begins with `text`."""
    lines = (PROGRAMS / program).read_text(encoding="utf-8").splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.strip().startswith(text))


def compare_ranks(env: Env, core: str) -> list[str]:
    """Run a program under torchrun, with Gloo; return what is wrong with its files."""
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node")
    program = PROGRAMS / IN_RANKS
    alone = run(env, core, *torchrun, RANKS, program)
    if alone.status:
        return [f"alone it gives status {alone.status}: {alone.errors[-2000:]}"]
    folder = env.folder / "profiles"
    shutil.rmtree(folder, ignore_errors=True)
    kernprof = ("-m", "kernprof", "-l", "-p", "torch.distributed.distributed_c10d")
    profiled = run(env, core, *torchrun, RANKS, *kernprof, "-o", f"{folder}/", program)
    if profiled.status:
        return [f"it gives status {profiled.status}: {profiled.errors[-2000:]}"]
    said = [one for one in profiled.output.splitlines() if one.startswith("rank ")]
    wrong = []
    if sorted(said) != sorted(alone.output.splitlines()):
        wrong.append(f"its output differs: {said}, alone {alone.output!r}")
    names = sorted(one.name for one in folder.iterdir())
    if names != [f"ranks.r{rank:04}.lprof" for rank in range(RANKS)]:
        return [*wrong, f"the files are {names}"]
    for rank, name in enumerate(names):
        shown = run(env, core, "-m", "lineprof", "view", "--json", folder / name)
        wrong += wrong_rank(rank, json.loads(shown.output))
    return wrong


def wrong_rank(rank: int, profile: dict[str, Any]) -> list[str]:
    """Return what is wrong with the profile of a rank under torchrun."""
    (process,) = profile["processes"]
    lines = {
        line["line"]: line
        for function in profile["functions"]
        if function["file"].endswith(IN_RANKS)
        for line in function["lines"]
    }
    reduced = lines[line_of(IN_RANKS, REDUCED)]
    wrong = wrong_hits(IN_RANKS, profile)
    if (process["rank"], process["ranks"]) != (rank, RANKS):
        wrong.append(f"it is rank {process['rank']} of {process['ranks']}")
    if lines[line_of(IN_RANKS, ADDED)]["hits"] != 100 * (rank + 1):
        wrong.append("the hits of its loop are wrong")
    if not 0 < reduced.get("mpi_ns", 0) <= reduced["time_ns"]:
        wrong.append("all_reduce is no communication")
    return [f"rank {rank}: {text}" for text in wrong]


def check(env: Env, core: str, words: str) -> list[str]:
    """Run a program and its comparison; return what is wrong."""
    if words == IN_RANKS:
        return compare_ranks(env, core)
    if words != BY_ITSELF:
        return compare(env, core, words)
    done = run(env, core, PROGRAMS / words)
    return [done.output[-500:] + done.errors[-2000:]] if done.status else []


def check_python(python: Python) -> int:
    """Set up a Python and run all programs with it; return the number of failures."""
    env = Env(ROOT / f".venv-check-torch-{python.name}")
    print(f"{python.version}: setting up PyTorch in {env.folder.name} ...", flush=True)
    try:
        make(env, python)
        install_torch(env)
        require(env, "test.txt")
        install(env)
    except StepError as error:
        replay(env.log)
        print(f"{python.version}: {error}; see its output above")
        return 1
    runs = [*COMPARED, IN_RANKS, BY_ITSELF]
    if shutil.which("g++") or shutil.which("clang++"):
        runs.insert(-1, WITH_A_COMPILER)
    else:
        print(f"{python.version}: {WITH_A_COMPILER} not run: there is no C++ compiler")
    failed = 0
    for core in python.hooks:
        for words in runs:
            begun = time.monotonic()
            wrong = check(env, core, words)
            took = time.monotonic() - begun
            verdict = "; ".join(wrong) if wrong else "as it should be"
            print(f"{python.version} {core} {words} ({took:.0f} s): {verdict}")
            sys.stdout.flush()
            failed += bool(wrong)
    return failed


def main() -> int:
    """Check all chosen Pythons; return 1 if anything is wrong."""
    pythons = oldest_and_newest(find()[0], os.environ.get("ONLY", ""), NEWEST)
    if not pythons:
        sys.exit("lineprof: no usable Python 3.11 or later")
    failed = sum(map(check_python, pythons))
    print(f"{failed} failed" if failed else "all as it should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
