"""The command kernprof, and python -m kernprof."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def command(words: Sequence[str] | None = None, called: str = "kernprof") -> None:
    """Run the command line in a process that is the program's own.

    `words` is the command line, `sys.argv[1:]` by default, without the command,
    which `called` names.

    Python has put a folder of kernprof's first on `sys.path`: the current one
    for ``-m``, else the script's. Nothing is imported from there: a
    ``signal.py`` beside the user's script is not the one that kernprof means.
    """
    path = sys.path[:]
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        if os.path.abspath(path[0]) != home:
            del sys.path[0]
        del path[0]
    from kernprof.cli import run_alone  # noqa: PLC0415  # only now

    run_alone(sys.argv[1:] if words is None else words, path, called)


if __name__ == "__main__":
    command()
