"""`lineprof dump`: what each thread of a process is doing now."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from lineprof.attach.dump import stacks
from lineprof.cli.command import Command, add_pid
from lineprof.console.output import print_lines
from lineprof.control.place import place_of
from lineprof.errors import LineprofError, printable
from lineprof.source_files import disk_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from lineprof.attach.dump import ThreadStack


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add_pid(parser, "the number of the process")


def _dump(_parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Print the stacks; LineprofError."""
    threads, how = stacks(parsed.pid)
    lines_of = _reader(parsed.pid)
    count = f"{len(threads)} thread{'s' * (len(threads) != 1)}"
    print_lines([f"Process {parsed.pid}: {count}, {how}; innermost calls last"])
    for thread in threads:
        print_lines(_lines(thread, lines_of))


def _reader(pid: int) -> Callable[[str], Sequence[str]]:
    """Return a function that returns the lines of a file that a process names.

    It returns none for a process of another user, which may name any file, or for one
    with other mounts, whose names are those of other files.
    """
    try:
        place = place_of(pid)
    except LineprofError:  # it has ended
        return lambda _: ()
    if place.root or not place.rights.are_own:
        return lambda _: ()
    return cache(lambda file: (disk_text(file) or "").splitlines())


def _lines(
    thread: ThreadStack, lines_of: Callable[[str], Sequence[str]]
) -> Iterator[str]:
    name = f" {thread.name}" if thread.name else ""
    state = f", {thread.state}" if thread.state else ""
    yield ""
    yield printable(f"Thread {thread.number}{name}{state}")
    for frame in thread.frames:
        yield printable(
            f'  File "{frame.file}", line {frame.line}, in {frame.function}'
        )
        lines = lines_of(frame.file)
        if 0 < frame.line <= len(lines) and (text := lines[frame.line - 1].strip()):
            yield printable(f"    {text}")


COMMAND = Command(add_flags=_add_flags, run=_dump)
