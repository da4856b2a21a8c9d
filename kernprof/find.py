"""From a plan to the program that it names."""

from __future__ import annotations

import os

from kernprof.flags import COMMAND, MODULE, SCRIPT, UsageError
from kernprof.outfile import current_folder
from kernprof.program import Command, Container, Module, Script, Stdin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.flags import Plan
    from kernprof.program import Program

_END_OF_ZIP = b"PK\x05\x06"
_ZIP_TAIL = 22 + (1 << 16)  # bytes: the last record of a zip and its comment


def find(plan: Plan) -> Program:
    """Return the program that `plan` names.

    Raises UsageError for a script that cannot be found or read; a module is
    looked for when it runs.
    """
    if plan.kind == SCRIPT:
        return _script(plan.target)
    if plan.kind == MODULE:
        return Module(plan.target, current_folder())
    if plan.kind == COMMAND:
        return Command(plan.target)
    return Stdin()


def _script(name: str) -> Program:
    name = _found(name)
    path = name if os.path.isabs(name) else os.path.join(current_folder(), name)
    if os.path.isdir(path):
        return Container(name, path)
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError as error:
        raise UsageError(
            f"cannot read script {name!r}: {error.strerror}",
            hint="give a file that you may read",
        ) from None
    if _is_zip(path, data):
        return Container(name, path)
    return Script(name, path, data)


def _found(name: str) -> str:
    """Return `name`, or the path of the file of that bare name on PATH."""
    if os.path.exists(name):
        return name
    if os.sep not in name:
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
            candidate = os.path.join(folder, name)
            if folder and os.path.isfile(candidate):
                return candidate
    raise UsageError(
        f"cannot find script {name!r}",
        hint="check its name, and the folder that you are in",
    )


def _is_zip(path: str, data: bytes) -> bool:
    """Tell whether python would import from the file, as it does from a zip."""
    if _END_OF_ZIP not in data[-_ZIP_TAIL:]:
        return False
    from pkgutil import get_importer  # noqa: PLC0415  # zips are rare

    return get_importer(path) is not None
