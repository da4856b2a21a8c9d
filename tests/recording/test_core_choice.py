"""Choice of the hook by LINEPROF_CORE or line_profiler's variable."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from as_python import run

if TYPE_CHECKING:
    from pathlib import Path

BEST = "monitoring" if sys.version_info >= (3, 12) else "settrace"
SHOW = "from lineprof import LineProfiler; print(LineProfiler().core)"


def core(tmp_path: Path, theirs: str, ours: str = "") -> str:
    """Return the core of a process with these two variables."""
    env = {"LINEPROF_CORE": ours, "LINE_PROFILER_CORE": theirs}
    done = run(["-c", SHOW], cwd=tmp_path, env=env)
    return done.out.strip() or done.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        *((word, "settrace") for word in ("old", "legacy", "ctrace", "OLD")),
        *((word, BEST) for word in ("new", "sysmon", "sys.monitoring", "", "what")),
    ],
)
def test_line_profilers_variable_chooses(
    theirs: str, expected: str, tmp_path: Path
) -> None:
    assert core(tmp_path, theirs) == expected


def test_lineprofs_variable_overrides_line_profilers(tmp_path: Path) -> None:
    assert core(tmp_path, "sysmon", "settrace") == "settrace"
    assert core(tmp_path, "old", "auto") == BEST


def test_an_invalid_value_of_lineprofs_variable_is_an_error(tmp_path: Path) -> None:
    assert "there is no core 'old'" in core(tmp_path, "", "old")
