"""lineprof run: the runner that `kernprof` is, under our own name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lineprof.cli.command import Command
from lineprof.console.output import print_error

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_NAME, _AT_FAULT = "lineprof run", 2


def _add_flags(parser: argparse.ArgumentParser) -> None:
    """Leave the flags to kernprof: they end where the program begins."""


def _run(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Leave the work to kernprof."""


def _take_over(words: Sequence[str]) -> int:
    """Run the program that `words` name; this process is then that program's.

    Returns 0 at its end; what it raises, SystemExit included, goes through.
    """
    try:
        from kernprof.__main__ import command  # noqa: PLC0415  # only here
    except ImportError as error:
        found = getattr(sys.modules.get("kernprof"), "__file__", None)
        what = f"{found} is not lineprof's" if found else str(error)
        print_error(
            f"cannot run: {what}; uninstall line_profiler, then install lineprof again",
            name=_NAME,
        )
        return _AT_FAULT
    command(words, _NAME)
    return 0


COMMAND = Command(
    "run",
    "run a program and record where its time goes",
    _add_flags,
    _run,
    take_over=_take_over,
)
