"""Runs of commands, and comparisons of a program under python and under kernprof."""

from __future__ import annotations

import difflib
import io
import os
import subprocess
import sys
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deadline import DEADLINE
from forked_python import ForkedPython, modules_after

from kernprof import main as kernprof_main
from lineprof import load_stats
from lineprof.cli.main import main as lineprof_main

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from _pytest.mark.structures import ParameterSet

# Prints the modules that a run imports, up to those that write its profile.
IMPORTS = """\
import os, sys
from kernprof import main
main(["-lqo", os.devnull, "-c", "@profile\\ndef f(): pass\\nf()"])
print(*sys.modules, sep="\\n")
"""
SERVER = ForkedPython(partial(modules_after, IMPORTS))


@dataclass(frozen=True)
class Outcome:
    """Exit status, standard output and standard error of a process."""

    status: int
    out: str
    err: str


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None,
    text: str = "",
    env: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
) -> Outcome:
    """Run this interpreter with the arguments `argv`, in this folder if `cwd` is None.

    `text` is its standard input.
    """
    done = subprocess.run(
        [sys.executable, *flags, *argv],
        cwd=cwd,
        input=text.encode(),
        capture_output=True,
        timeout=DEADLINE,
        check=False,
        env={**os.environ, **(env or {})},
    )
    out, err = (s.decode(errors="backslashreplace") for s in (done.stdout, done.stderr))
    return Outcome(done.returncode, out, err)


def kernprof(*argv: str, cwd: Path | None, **options: object) -> Outcome:
    """Run the command kernprof."""
    return run(["-m", "kernprof", *argv], cwd=cwd, **options)  # type: ignore[arg-type]


def kernprof_forked(
    *argv: str,
    cwd: Path | None,
    text: str = "",
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Run the command kernprof in a process that has imported it before.

    For a test of what kernprof counts, writes and prints, not of its start.
    """
    environment = {**os.environ, **(env or {})}
    if cwd is None or not SERVER.can_run(environment):
        return kernprof(*argv, cwd=cwd, text=text, env=env)
    done = SERVER.run(
        ["-m", "kernprof", *argv],
        folder=cwd,
        text=text.encode(),
        environment=environment,
        deadline=DEADLINE,
    )
    out, err = (s.decode(errors="backslashreplace") for s in (done.out, done.err))
    return Outcome(done.status, out, err)


def viewer(*argv: str, cwd: Path) -> Outcome:
    """Run the command lineprof in this process, which saves a start of Python."""
    return _here(lineprof_main, argv, cwd)


def kernprof_here(*argv: str, cwd: Path) -> Outcome:
    """Run the command kernprof in this process, with a program that succeeds."""
    return _here(kernprof_main, argv, cwd)


def _here(
    command: Callable[[Sequence[str]], int | None], argv: Sequence[str], cwd: Path
) -> Outcome:
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    before = Path.cwd()
    os.chdir(cwd)
    try:
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            status = command(list(argv)) or 0
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        os.chdir(before)
    texts = []
    for stream in streams:
        stream.seek(0)
        texts.append(stream.read())
    return Outcome(status, *texts)


def check_same(
    *argv: str,
    cwd: Path,
    mode: str = "-lq",
    command: Callable[..., Outcome] = kernprof,
    **options: object,
) -> Outcome:
    """Run `argv` under python and kernprof; fail unless both outcomes are equal."""
    plain = run(argv, cwd=cwd, **options)  # type: ignore[arg-type]
    ours = command(mode, *argv, cwd=cwd, **options)
    assert ours == plain, _difference(plain, ours)
    return plain


def _difference(plain: Outcome, ours: Outcome) -> str:
    """Return a diff of the two outcomes, for the assertion message."""
    lines = [f"exit status {plain.status}, under kernprof {ours.status}"]
    for name in ("out", "err"):
        before, after = (getattr(o, name).splitlines() for o in (plain, ours))
        names = (f"std{name} of python", f"std{name} of kernprof")
        lines += difflib.unified_diff(before, after, *names, lineterm="", n=1)
    return "\n".join(lines)


def write(folder: Path, name: str, program: str) -> str:
    """Write `program`, dedented, to the file `name`; return `name`."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(program), encoding="utf-8")
    return name


def marked(
    cases: Iterable[str], mark: pytest.MarkDecorator, some: Collection[str]
) -> list[ParameterSet]:
    """Return the cases of a test, some of them with a mark."""
    return [pytest.param(one, marks=[mark] if one in some else []) for one in cases]


def error_line(capsys: pytest.CaptureFixture[str], status: int, *words: str) -> str:
    """Run the command lineprof here; return the only line that it prints, an error."""
    assert lineprof_main(words) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("\n")
    assert captured.err.count("\n") == 1
    return captured.err


def hits_in(profile: Path) -> dict[str, dict[int, int]]:
    """Return the hits by line of each function of a profile."""
    return {
        function.name: {row.line: row.hits for row in function.rows}
        for function in load_stats(profile).functions
    }


def enter_removed_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder in `folder` the current one, and remove it."""
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
