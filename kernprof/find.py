"""From a plan to the program that it names."""

from __future__ import annotations

import os

from kernprof.options import COMMAND, MODULE, SCRIPT, UsageError
from kernprof.outfile import current_folder
from kernprof.program import Command, Container, Module, Script, Stdin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.options import Plan
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


def read_file(name: str, what: str) -> tuple[str, str, bytes]:
    """Return a file's name, its path in full and its content.

    It is the one called `name`, or of that bare name on PATH. Raises UsageError,
    which calls it a `what`, where there is none that can be read.
    """
    name = _found(name, what)
    path = _in_full(name)
    try:
        with open(path, "rb") as stream:
            return name, path, stream.read()
    except OSError as error:
        raise UsageError(
            f"cannot read {what} {name!r}: {error.strerror}",
            hint="give a file that you may read",
        ) from None


def _script(name: str) -> Program:
    found = _found(name, "script")
    if os.path.isdir(_in_full(found)):
        return Container(found, _in_full(found))
    given, (name, path, data) = name, read_file(found, "script")
    if _is_zip(path, data):
        return Container(name, path)
    if name != given:
        from kernprof.other_language import check_command  # noqa: PLC0415  # seldom

        check_command(name, data)
    return Script(name, path, data)


def _in_full(name: str) -> str:
    return name if os.path.isabs(name) else os.path.join(current_folder(), name)


def _found(name: str, what: str) -> str:
    """Return `name`, or the path of the file of that bare name on PATH."""
    if os.path.exists(name):
        return name
    if os.sep not in name:
        from shutil import which  # noqa: PLC0415  # seldom needed

        found = which(name, os.F_OK)
        if found:
            return found
    raise UsageError(
        f"cannot find {what} {name!r}",
        hint="check its name, and the folder that you are in",
    )


def _is_zip(path: str, data: bytes) -> bool:
    """Tell whether python would import from the file, as it does from a zip."""
    if _END_OF_ZIP not in data[-_ZIP_TAIL:]:
        return False
    from pkgutil import get_importer  # noqa: PLC0415  # zips are rare

    return get_importer(path) is not None
