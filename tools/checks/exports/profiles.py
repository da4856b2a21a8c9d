"""Programs whose profiles are exported, and their runs under kernprof."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.checks.findings import Mismatch
from tools.dev import native
from tools.dev.envs import ROOT

if TYPE_CHECKING:
    from tools.checks.exports.workspace import Workspace

EXAMPLES = ROOT / "examples"
HARD = Path(__file__).resolve().parent / "programs"


class Program(NamedTuple):
    """Program, with the flags and the environment of its run."""

    name: str
    path: Path
    flags: tuple[str, ...] = ()
    gpu: bool = False  # on a simulated GPU


THREE_MODULES = EXAMPLES / "three_modules" / "near_duplicates.py"
GPU = EXAMPLES / "simulated_gpu.py"
TRACE = ("--trace",)
PROGRAMS = (
    Program("modules", THREE_MODULES),
    Program("modules-traced", THREE_MODULES, TRACE),
    Program("builtins", THREE_MODULES, ("--builtins",)),
    Program("memory", THREE_MODULES, ("--memory",)),
    Program("memory-traced", THREE_MODULES, ("--memory", *TRACE)),
    Program("gpu", GPU, ("--gpu-api",), gpu=True),
    Program("gpu-whole", GPU, ("--whole",), gpu=True),
    Program("gpu-traced", GPU, ("--whole", "--gpu-api", *TRACE), gpu=True),
    Program("threads", HARD / "threads.py"),
    Program("threads-traced", HARD / "threads.py", TRACE),
    Program("deep", HARD / "deep.py"),
    Program("deep-traced", HARD / "deep.py", TRACE),
    Program("generators", HARD / "generators.py"),
    Program("generators-traced", HARD / "generators.py", TRACE),
)


def profile(workspace: Workspace, program: Program) -> Path:
    """Run a program under kernprof; return the profile. Mismatch if the run fails."""
    target = workspace.folder / f"{program.name}.lprof"
    command = ["-m", "kernprof", "-l", *program.flags, "-o", target, program.path]
    output = workspace.run(
        [workspace.python, *command], native.SIMULATED if program.gpu else None
    )
    if not re.search(r"^Wrote profile results to", output, re.MULTILINE):
        raise Mismatch(f"kernprof wrote no profile: {output[-500:]}")
    return target
