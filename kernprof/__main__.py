"""The command kernprof, and python -m kernprof."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # not from typing: the folder on sys.path may have a typing.py
if TYPE_CHECKING:
    from collections.abc import Sequence


def command(argv: Sequence[str] | None = None, name: str = "kernprof") -> None:
    """Run the command line in a process that is the program's own.

    `argv` is the command line after the command's `name`, by default
    `sys.argv[1:]`.

    Python has put a folder of kernprof first on `sys.path`: the current one for
    ``-m``, else the script's. That entry is removed before anything else is
    imported, so that a ``signal.py`` beside the user's script is not
    imported. There is none for ``-m`` if the current folder was removed.
    """
    path = sys.path[:]
    here = _current_folder()
    is_safe = sys.flags.isolated or sys.flags.safe_path
    if not is_safe and (here or not _is_module()):
        home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        if os.path.normpath(os.path.join(here, path[0])) != home:
            del sys.path[0]
        del path[0]
    from kernprof.cli import run_alone  # noqa: PLC0415  # once sys.path is right

    run_alone(sys.argv[1:] if argv is None else argv, path, name)


def _is_module() -> bool:
    """Return whether the command was started by ``python -m``."""
    return getattr(sys.modules["__main__"], "__spec__", None) is not None


def _current_folder() -> str:
    """Return the current folder, or "" if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


if __name__ == "__main__":
    command()
