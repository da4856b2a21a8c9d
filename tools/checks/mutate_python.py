"""One-line mistakes in Python files, and the ones that no test notices.

    tools/run checks/mutate_python [ROOM ...] [--count N] [--seconds S] [--seed N]

`make mutants` takes the same arguments from ARGS; without ARGS it also tries the
mistakes of mutate_c.py.

Cosmic Ray makes the mistakes in a copy of lineprof that is installed in
.venv-mutants, so that the processes that tests start import them as well. A mistake
that the tests of its room do not notice is printed: it lacks a test, or changes
nothing. The same seed gives the same mistakes, as long as the files are the same.
Exit status: 1 if the tests fail without a mistake or Cosmic Ray fails, 2 if the
set-up fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    explain,
    install,
    make,
    must,
    require,
)
from tools.dev.pythons import this

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOMS = ("lineprof/model", "lineprof/snapshot", "lineprof/report", "lineprof/export")
PACKAGES = ("lineprof", "kernprof")
SAMPLE = Path(__file__).with_name("mutate_sample.py")
FAILED, NO_SET_UP = 1, 2  # exit statuses
SLACK_S = 60  # for a test that is slower with a mistake
# Operators whose mutants are mostly type errors, or change nothing.
LEFT_OUT = (
    "core/ReplaceBinaryOperator_BitOr_.*",  # `int | None` in annotations
    "core/ReplaceBinaryOperator_.*_(Pow|LShift|RShift|BitOr|BitAnd|BitXor|Mod)",
    "core/ReplaceBinaryOperator_Mod_.*",
    "core/ReplaceComparisonOperator_.*_(Is|IsNot)",
    "core/ReplaceUnaryOperator_.*Invert",
    "core/RemoveDecorator",
    "core/ExceptionReplacer",
)


def main() -> int:
    """Try a sample of mistakes in each room; return the exit status."""
    options = parsed([*sys.argv[1:], *shlex.split(os.environ.get("ARGS", ""))])
    env = Env(ROOT / ".venv-mutants")
    print(f"setting up {env.folder.name} ...", flush=True)
    try:
        make(env, this())
        require(env, "test.txt")
        require(env, "mutants.txt")
        install(env)
    except StepError as error:
        explain(error, env.log)
        return NO_SET_UP
    statuses = []
    with tempfile.TemporaryDirectory(prefix="lineprof-mutants-") as folder:
        for room in options.room:
            try:
                statuses.append(try_room(env, Path(folder), room, options))
            except StepError as error:
                explain(error, env.log)
                return NO_SET_UP
    return max(statuses)


def parsed(words: list[str]) -> argparse.Namespace:
    """Return the options; exit if they are wrong."""
    parser = argparse.ArgumentParser(
        prog="make mutants", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "room",
        nargs="*",
        default=ROOMS,
        help=f"a folder or file of lineprof/ or kernprof/; default: {' '.join(ROOMS)}",
    )
    parser.add_argument("--count", type=int, default=20, help="mistakes a room; 20")
    parser.add_argument(
        "--seconds", type=float, default=600, help="at most, for a room; 600"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the sample; 1")
    parser.add_argument(
        "--tests",
        metavar="PATH",
        nargs="+",
        help="tests to run; default: the folder of tests/ with the room's name",
    )
    options = parser.parse_args(words)
    for room in options.room:
        if not (ROOT / room).exists() or room.split("/")[0] not in PACKAGES:
            parser.error(f"{room} is no folder or file of lineprof/ or kernprof/")
        for path in tests_of(room, options.tests):
            if not (ROOT / path).exists():
                parser.error(f"{path} is missing: name the tests of {room} by --tests")
    return options


def tests_of(room: str, chosen: list[str] | None) -> list[str]:
    """Return the tests of a room, as paths in the checkout."""
    if chosen:
        return chosen
    package, *rest = Path(room).with_suffix("").parts
    return [f"tests/{rest[0] if rest and package != 'kernprof' else package}"]


def try_room(env: Env, folder: Path, room: str, options: argparse.Namespace) -> int:
    """Try mistakes in a room and print those that survive; return the exit status."""
    tests = tests_of(room, options.tests)
    command = [env.python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    command += ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
    command += [ROOT / path for path in tests]
    restore(env)
    begun = time.monotonic()
    clean = run(command, folder)
    took = time.monotonic() - begun
    if clean.returncode:
        print(clean.stdout[-3000:])
        print(f"lineprof: {' '.join(tests)} fails without a mistake; mend it first")
        return FAILED
    session = folder / "session.sqlite"
    config = folder / "config.toml"
    session.unlink(missing_ok=True)
    config.write_text(
        f"""
[cosmic-ray]
module-path = {json.dumps([str(installed(env, room))])}
timeout = {3 * took + SLACK_S}
excluded-modules = []
test-command = {json.dumps(shlex.join(map(str, command)))}
distributor.name = "local"
filters.operators-filter.exclude-operators = {json.dumps(LEFT_OUT)}
""",
        encoding="utf-8",
    )
    count = max(1, min(options.count, round(options.seconds / took)))
    print(f"{room}: {count} mistakes, each for at most {took:.0f} s", flush=True)
    must([env.bin / "cosmic-ray", "init", config, session], env.log)
    must([env.bin / "cr-filter-operators", session, config], env.log)
    must([env.python, SAMPLE, session, count, options.seed], env.log)
    try:
        play = run([env.bin / "cosmic-ray", "exec", config, session], folder)
        report(run([env.bin / "cosmic-ray", "dump", session], folder).stdout, room)
    finally:
        restore(env)
    if play.returncode:
        print(play.stdout[-3000:])
        print(f"lineprof: cosmic-ray ended with status {play.returncode}; see above")
    return FAILED if play.returncode else 0


def installed(env: Env, room: str) -> Path:
    """Return the place of a folder or file of the checkout in an environment."""
    (place,) = env.folder.glob(f"lib/python3*/site-packages/{room}")
    return place


def restore(env: Env) -> None:
    """Copy the checkout's Python files again: a killed run leaves a mistake."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package,
            installed(env, package),
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )


def run(command: list[Any], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command outside of the checkout, whose lineprof is not to be found."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def report(dump: str, room: str) -> None:
    """Print the mistakes that no test noticed, and how many there were."""
    tried = list(outcomes(dump))
    survivors = [mistake for outcome, mistake in tried if outcome == "survived"]
    for mistake in survivors:
        print(f"  {mistake}")
    noticed = len(tried) - len(survivors)
    print(f"{room}: {noticed} of {len(tried)} mistakes were noticed", flush=True)


def outcomes(dump: str) -> Iterator[tuple[str, str]]:
    """Yield outcome and text of each mistake that was tried."""
    for row in dump.splitlines():
        item, result = json.loads(row)
        if result and result["worker_outcome"] != "skipped":
            (mutation,) = item["mutations"]
            file = mutation["module_path"].partition("site-packages/")[2]
            place = f"{file}:{mutation['start_pos'][0]}"
            changed = [
                line
                for line in (result["diff"] or "").splitlines()
                if line[:1] in {"+", "-"} and line[:3] not in {"+++", "---"}
            ]
            yield result["test_outcome"], "\n    ".join([place, *changed])


if __name__ == "__main__":
    sys.exit(main())
