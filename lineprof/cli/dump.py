"""`lineprof dump`: what each thread of a process is doing now."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING

from lineprof.cli.command import Command, add_pid
from lineprof.console.output import print_lines
from lineprof.errors import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from lineprof.attach.dump import ThreadStack

_HELP = "print the stack of every thread of a process, one that hangs for example"


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add_pid(parser, "the number of the process")


def _dump(_parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Print the stacks; LineprofError."""
    from lineprof.attach.dump import stacks  # noqa: PLC0415  # not for --help

    threads, how = stacks(parsed.pid)
    count = f"{len(threads)} thread{'s' * (len(threads) != 1)}"
    print_lines([f"Process {parsed.pid}: {count}, {how}; innermost calls last"])
    for thread in threads:
        print_lines(_lines(thread))


def _lines(thread: ThreadStack) -> Iterator[str]:
    name = f" {thread.name}" if thread.name else ""
    state = f", {thread.state}" if thread.state else ""
    yield ""
    yield printable(f"Thread {thread.number}{name}{state}")
    for frame in thread.frames:
        yield printable(
            f'  File "{frame.file}", line {frame.line}, in {frame.function}'
        )
        text = linecache.getline(frame.file, frame.line).strip()
        if text:
            yield printable(f"    {text}")


COMMAND = Command(name="dump", help=_HELP, add_flags=_add_flags, run=_dump)
