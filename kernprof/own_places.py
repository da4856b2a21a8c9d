"""Where the code of a program is: beside it, or in what was installed with it."""

from __future__ import annotations

import os

from kernprof.options import MODULE, SCRIPT
from kernprof.places import SITES, Places, around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.options import Plan
    from kernprof.program import Program

_COMMANDS = ("bin", "Scripts")  # folders of what is installed as a command


def own_places(plan: Plan, program: Program, file: str, module: str) -> Places:
    """Return where what `program` runs of its own is.

    `file` is that of its code, `module` its name if it runs as one.
    """
    real = os.path.realpath(file)
    if plan.kind == SCRIPT and is_command(plan, program):
        from kernprof import distribution  # noqa: PLC0415  # it takes long

        return distribution.of_command(file) or around(program.first_path)
    beside = around(program.first_path or os.curdir)
    if plan.kind != MODULE or real in beside:
        return beside
    return beside + _of_module(real, module)


def is_command(plan: Plan, program: Program) -> bool:
    """Tell whether a script was found on PATH, or is where such scripts are."""
    folder = os.path.dirname(os.path.abspath(program.argv0))
    return plan.target != program.argv0 or os.path.basename(folder) in _COMMANDS


def _of_module(file: str, module: str) -> Places:
    folder = os.path.dirname(file)
    if not SITES.isdisjoint(file.split(os.sep)):
        from kernprof import distribution  # noqa: PLC0415  # it takes long

        installed = distribution.of_file(file)
        if installed is not None:
            return installed
        return around(folder)  # the package, which nobody says what it belongs to
    for _ in range(module.count(".")):
        folder = os.path.dirname(folder)
    return around(folder)
