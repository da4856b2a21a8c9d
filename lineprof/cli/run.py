"""`lineprof run`: kernprof under lineprof's own name."""

from __future__ import annotations

import sys

from lineprof.console.output import print_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NAME, HELP = "run", "run a program and record where its time goes; -l: by line"

_COMMAND = f"lineprof {NAME}"

_CHILDREN = "--children"

_USAGE_ERROR = 2  # exit status


def run_program(arguments: Sequence[str]) -> int:
    """Run the program that `arguments` name; this process is then that program's.

    Returns 0 when the program ends; its exceptions, SystemExit included, propagate.
    With --children and a command after ``--``, that is run, and its status returned.
    """
    try:
        from kernprof.__main__ import command  # noqa: PLC0415  # another may be there

        if _CHILDREN in arguments:
            from kernprof.any_command import is_any_command, run_any_command  # noqa: PLC0415

            if is_any_command(arguments):
                return run_any_command(arguments, _COMMAND)
    except ImportError as error:
        found = getattr(sys.modules.get("kernprof"), "__file__", None)
        cause = f"{found} is not lineprof's" if found else str(error)
        remedy = "uninstall line_profiler, then install lineprof again"
        print_error(f"cannot run: {cause}; {remedy}", name=_COMMAND)
        return _USAGE_ERROR
    command(arguments, _COMMAND)
    return 0
