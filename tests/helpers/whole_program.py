"""Profiles of whole programs: kernprof -l with programs that do not use @profile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from as_python import kernprof_forked

from lineprof import load_stats

if TYPE_CHECKING:
    from as_python import Outcome

    from lineprof.line_stats import LineStats

HINT = "; choose with --include, --exclude, --all or -p\n"


def short(file: str, name: str) -> str:
    """Return the last parts of a function's file and name."""
    return f"{Path(file).name}:{name.rpartition('.')[2]}"


def names(stats: LineStats) -> list[str]:
    """Return the functions of a profile."""
    return sorted(short(one.file, one.name) for one in stats.functions)


def hits(stats: LineStats, name: str) -> dict[int, int]:
    """Return the hits of the lines of one function."""
    (function,) = (one for one in stats.functions if one.name == name)
    return {row.line: row.hits for row in function.rows}


def calls(stats: LineStats) -> dict[str, int]:
    """Return the calls of each function of a profile."""
    return {short(one.file, one.name): one.calls for one in stats.functions}


def profiled(
    *words: str, cwd: Path, err: str | None = None, status: int = 0, **options: object
) -> tuple[Outcome, LineStats]:
    """Run kernprof -l, with -q unless `err` is given; also return its profile."""
    options["env"] = {"HOME": os.sep, **(options.get("env") or {})}  # type: ignore[dict-item]
    flags = "-lo" if err is not None else "-lqo"
    (cwd / "out").unlink(missing_ok=True)  # an empty profile would not replace it
    outcome = kernprof_forked(flags, "out", *words, cwd=cwd, **options)
    assert (outcome.status, outcome.err) == (status, err or ""), outcome
    return outcome, load_stats(cwd / "out")


def summary(functions: int, files: int) -> str:
    """Return kernprof's summary of a program that does not use @profile."""
    what = f"{functions} function{'s' * (functions != 1)}"
    where = f"{files} file{'s' * (files != 1)}"
    return f"kernprof: profiled {what} in {where}, as no @profile was found{HINT}"
