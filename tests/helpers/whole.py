"""Programs that decorate nothing, under kernprof -l."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from as_python import kernprof

from lineprof import load_stats

if TYPE_CHECKING:
    from as_python import Outcome

    from lineprof.line_stats import LineStats

HINT = "; --include, --exclude, --all and -p choose others\n"


def short(file: str, name: str) -> str:
    """Name a function by its file's and its own last name."""
    return f"{Path(file).name}:{name.rpartition('.')[2]}"


def names(stats: LineStats) -> list[str]:
    """Name the functions of a profile."""
    return sorted(short(one.file, one.name) for one in stats.functions)


def calls(stats: LineStats) -> dict[str, int]:
    """Tell how often each function of a profile was called."""
    return {short(one.file, one.name): one.calls for one in stats.functions}


def profiled(
    *words: str, cwd: Path, err: str | None = None, status: int = 0, **options: object
) -> tuple[Outcome, LineStats]:
    """Run kernprof -l, quietly unless `err` is wanted; return its profile, too."""
    options["env"] = {"HOME": os.sep, **(options.get("env") or {})}  # type: ignore[dict-item]
    flags = "-lo" if err is not None else "-lqo"
    outcome = kernprof(flags, "out", *words, cwd=cwd, **options)
    assert (outcome.status, outcome.err) == (status, err or ""), outcome
    return outcome, load_stats(cwd / "out")


def said(functions: int, files: int) -> str:
    """Return what kernprof says of a program that decorates nothing."""
    what = f"{functions} function{'s' * (functions != 1)}"
    where = f"{files} file{'s' * (files != 1)}"
    return f"kernprof: no @profile was found: profiled {what} in {where}{HINT}"
