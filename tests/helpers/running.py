"""Runs of programs: in this process or another one, profiled or alone."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Union

from deadline import DEADLINE
from executions import Executions
from oracle import Oracle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle import Hits

    from lineprof import LineProfiler

T = TypeVar("T")
Profile = Union["LineProfiler", "Nothing", Oracle, Executions]
counter = itertools.count()

# For programs in a process of their own: prints the hits of each function.
SHOW = """
def show(profiler):
    for function in profiler.get_stats().functions:
        name = function.name.rpartition(".")[2]
        print(name, [row.hits for row in function.rows], flush=True)
"""


@dataclass(frozen=True)
class Outcome:
    """Hits, output and result of one run of a program."""

    hits: Hits
    output: str
    result: str = field(default="")

    def lines(self) -> dict[int, int]:
        """Return the hits by line, all functions together."""
        total: dict[int, int] = {}
        for function in self.hits.values():
            for line, hits in function.items():
                total[line] = total.get(line, 0) + hits
        return total


def core_name() -> str:
    """Return the core that this run of the suite tests: LINEPROF_CORE's."""
    name = os.environ.get("LINEPROF_CORE", "auto")
    if name == "auto":
        return "monitoring" if sys.version_info >= (3, 12) else "settrace"
    return name


def hook_name() -> str:
    """Return the hook of that core."""
    return core_name().partition("-")[0]


def new_profiler(*functions: object, **options: Any) -> LineProfiler:
    """Return a profiler with the hook that this run of the suite tests."""
    from lineprof import LineProfiler  # noqa: PLC0415 - the oracle runs without it

    return LineProfiler(*functions, core=core_name(), **options)


def hits_of(profiler: LineProfiler) -> Hits:
    """Return the hits by line of every function of *profiler*, called or not."""
    return {
        (function.line, function.name): {
            row.line: row.hits for row in function.rows if row.hits
        }
        for function in profiler.get_stats().functions
    }


def hits_by_name(profiler: LineProfiler) -> dict[str, int]:
    """Return the hits of all lines of a function, by the last part of its name."""
    return {
        name.rpartition(".")[2]: sum(lines.values())
        for (_, name), lines in hits_of(profiler).items()
    }


def plain(program: str) -> str:
    """Return a program without common indentation and leading empty lines."""
    return textwrap.dedent(program).lstrip("\n")


@contextlib.contextmanager
def program_file(text: str) -> Iterator[str]:
    """Write *text* to a temporary file, which the end of the block deletes."""
    with tempfile.TemporaryDirectory(prefix="lineprof-") as folder:
        path = Path(folder, f"program_{next(counter)}.py")
        path.write_text(text, encoding="utf-8")
        yield str(path)


class Nothing:
    """A profiler that does nothing, for running a program alone."""

    def __call__(self, target: T) -> T:
        """Return *target* unchanged."""
        return target

    def add_function(self, _: object) -> None:
        """Ignore the function."""

    def enable_by_count(self) -> None:
        """Do nothing."""

    disable_by_count = enable = disable = enable_by_count

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


def play(
    text: str, file: str, profile: Profile, functions: Sequence[str]
) -> tuple[str, str]:
    """Run a program; return its output, and its result or exception.

    *functions* are registered from outside after the module's text has run;
    then its ``main()`` runs with the profiler enabled.
    """
    module = ModuleType("program")
    module.__dict__.update(__file__=file, profile=profile)
    del module.__spec__, module.__loader__  # 3.15 wants both or neither
    if isinstance(profile, Executions):
        code = profile.compile(text, file)
        module.__dict__.update(profile.namespace())
    else:
        code = compile(text, file, "exec", dont_inherit=True)
    output = io.StringIO()
    sys.modules["program"] = module
    try:
        with contextlib.redirect_stdout(output):
            exec(code, module.__dict__)
            for name in functions:
                profile.add_function(module.__dict__[name])
            if functions:
                with profile:
                    module.__dict__["main"]()
        result = repr(module.__dict__.get("result"))
    except BaseException as error:  # noqa: BLE001 - SystemExit is also a result
        result = f"{type(error).__name__}: {error}"
    finally:
        del sys.modules["program"]
    return output.getvalue(), result


def run_lineprof(text: str, file: str, functions: Sequence[str] = ()) -> Outcome:
    """Run a program in this process under lineprof."""
    profiler = new_profiler()
    output, result = play(text, file, profiler, functions)
    assert profiler.enable_count == 0, "a call left the profiler enabled"
    return Outcome(hits_of(profiler), output, result)


def run_executions(text: str, file: str, functions: Sequence[str] = ()) -> Outcome:
    """Run a program that counts its own executions in this process."""
    executions = Executions()
    output, result = play(text, file, executions, functions)
    return Outcome(executions.hits(), output, result)


def run_python(program: str, *arguments: str) -> tuple[int, str, str]:
    """Run a program in a new Python; return its status, output and errors.

    The program makes its own profiler, with the hook of ``LINEPROF_CORE``.
    """
    environment = {
        **os.environ,
        "LINEPROF_CORE": core_name(),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONFAULTHANDLER": "1",
    }
    with program_file(plain(program)) as file:
        done = subprocess.run(
            [sys.executable, file, *arguments],
            capture_output=True,
            env=environment,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
    return done.returncode, done.stdout, done.stderr
