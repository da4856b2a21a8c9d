"""Python interpreters of this machine, and what is missing to build lineprof."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.dev import debian

if TYPE_CHECKING:
    from collections.abc import Sequence

OLDEST = (3, 11)
MONITORING = (3, 12)  # the first version that has sys.monitoring
HOOKS = ("monitoring", "settrace")
KINDS = ("monitoring-line", "monitoring-instruction")  # of the first one's events

# Run by each candidate; describes the interpreter behind a shim or a venv.
QUESTION = """
import importlib.util, json, os, sys, sysconfig
have = importlib.util.find_spec
print(json.dumps({
    "path": os.path.realpath(getattr(sys, "_base_executable", sys.executable)),
    "implementation": sys.implementation.name,
    "version": "%d.%d.%d" % sys.version_info[:3],
    "abi": sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag,
    "headers": os.path.exists(
        os.path.join(sysconfig.get_path("include"), "Python.h")),
    "venv": bool(have("venv") and have("ensurepip")),
    "sqlite": bool(have("_sqlite3")),
}))
"""


class Missing(NamedTuple):
    """Missing file or program, and the Debian packages that have it."""

    what: str
    packages: str


@dataclass(frozen=True)
class Python:
    """Interpreter, with its description of itself."""

    path: str
    implementation: str
    version: str
    abi: str
    headers: bool
    venv: bool
    sqlite: bool
    debian: Path | None = None  # the folder of the Debian that it is in

    @property
    def number(self) -> tuple[int, ...]:
        """Version as numbers, to compare."""
        return tuple(int(part) for part in self.version.split("."))

    @property
    def name(self) -> str:
        """Version and ABI, unique for each interpreter."""
        return f"{self.version}-{self.abi}"

    @property
    def hooks(self) -> tuple[str, ...]:
        """Hooks that lineprof has on this version, the usual one first."""
        return ("settrace",) if self.number < MONITORING else HOOKS

    @property
    def cores(self) -> tuple[str, ...]:
        """The same, and the first one with each of the two kinds of events for lines.

        Without a kind, calibration chooses one for each function.
        """
        return self.hooks + (() if self.number < MONITORING else KINDS)

    def missing(self) -> list[Missing]:
        """Return what is missing to build with this interpreter."""
        stem = debian_stem(self)
        missing = []
        if not self.headers:
            missing.append(Missing(f"Python.h of {self.path}", f"{stem}-dev"))
        if not self.venv:
            missing.append(
                Missing(f"venv and ensurepip of {self.path}", f"{stem}-venv")
            )
        return missing


def advice(missing: Sequence[Missing]) -> str:
    """Return one line: what is missing, and how to get it."""
    what = " and ".join(one.what for one in missing)
    packages = " ".join(one.packages for one in missing)
    return f"this machine lacks {what}; on Debian: apt install {packages}"


def debian_stem(python: Python) -> str:
    """Return the Debian package of an interpreter: python3 for the default one."""
    if python.path == os.path.realpath("/usr/bin/python3"):
        return "python3"
    return "python" + ".".join(map(str, python.number[:2]))


def ask(command: str, root: Path | None = None) -> Python | None:
    """Describe the interpreter that a command starts; None if it does not work.

    With the folder of a Debian as `root` it is looked for there.
    """
    words = [command, "-I", "-c", QUESTION]
    try:
        answer = subprocess.run(
            debian.command_in(root, words, Path("/")) if root else words,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        return Python(**json.loads(answer), debian=root)
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        return None


def candidates() -> list[str]:
    """Return commands that may be Pythons: of $PYTHONS, on PATH and of pyenv."""
    found = os.environ.get("PYTHONS", "").replace(",", " ").split()
    named = re.compile(r"python3(\.\d+)?t?")
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        here = sorted(Path(folder or ".").glob("python3*"))
        found += [str(p) for p in here if named.fullmatch(p.name)]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found += sorted(map(str, pyenv.glob("versions/*/bin/python")))
    return found


def find() -> tuple[list[Python], list[str]]:
    """Return the usable CPythons, newest first, and a line for each other one."""
    answers: dict[str, Python] = {}
    for command in dict.fromkeys(candidates()):
        python = ask(command)
        if (
            python is not None
            and python.implementation == "cpython"
            and python.number >= OLDEST
        ):
            answers.setdefault(python.path, python)
    usable: dict[str, Python] = {}
    refused = {}
    for python in answers.values():
        missing = python.missing()
        if missing:
            refused[python.name] = f"{python.version}: {advice(missing)}"
        else:
            usable.setdefault(python.name, python)
    newest_first = sorted(usable.values(), key=lambda p: p.number, reverse=True)
    return newest_first, sorted(v for k, v in refused.items() if k not in usable)


def oldest_and_newest(
    pythons: Sequence[Python], only: str, newest: tuple[int, int]
) -> list[Python]:
    """Return the oldest version and the newest with sys.monitoring, or those of `only`.

    `newest` is the last version that packages for a check have wheels for.
    """
    if only:
        return [python for python in pythons if python.version.startswith(only)]
    older = [python for python in pythons if python.number[:2] == OLDEST]
    newer = [p for p in pythons if MONITORING <= p.number[:2] <= newest]
    return older[:1] + newer[:1]


def compiler_missing() -> list[Missing]:
    """Return what is missing to compile C on this machine."""
    command = os.environ.get("CC", "").split()
    if not command:
        command = [c for c in ("cc", "gcc", "clang") if shutil.which(c)][:1]
    if not command or not shutil.which(command[0]):
        return [Missing("a C compiler", "gcc libc6-dev")]
    probe = subprocess.run(
        [*command, "-E", "-x", "c", "-"],
        input="#include <stdio.h>\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return [Missing("the C library's headers", "libc6-dev")] if probe.returncode else []


def this() -> Python:
    """Describe the running interpreter; exit if it cannot build lineprof."""
    python = ask(sys.executable)
    if python is None:
        sys.exit(f"lineprof: {sys.executable} cannot describe itself")
    missing = [*compiler_missing(), *python.missing()]
    if missing:
        sys.exit(f"lineprof: {advice(missing)}")
    return python
