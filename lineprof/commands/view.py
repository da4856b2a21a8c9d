"""lineprof view: shows what `kernprof` recorded."""

from __future__ import annotations

import os
import sys
import time

from lineprof.commands.command import Command
from lineprof.commands.files import existing, keep, read
from lineprof.commands.output import print_lines, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from lineprof.records import Process
    from lineprof.stats import Profile
    from lineprof.views import View


def _add_flags(parser: argparse.ArgumentParser) -> None:
    from lineprof.commands.view_flags import add_flags  # noqa: PLC0415  # not for `run`

    add_flags(parser)


def _prepare(words: Sequence[str]) -> list[str]:
    from lineprof.commands.view_flags import prepare  # noqa: PLC0415

    return prepare(words)


def _view(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    from lineprof.commands import view_flags  # noqa: PLC0415
    from lineprof.config_read import column_widths, configuration  # noqa: PLC0415
    from lineprof.progress import Progress  # noqa: PLC0415
    from lineprof.source import Sources  # noqa: PLC0415  # not for --help
    from lineprof.views import VIEWS, Options  # noqa: PLC0415
    from lineprof.views.notes import notes  # noqa: PLC0415
    from lineprof.views.screen import PIPE, screen_of  # noqa: PLC0415

    view: View = parsed.view
    settings = configuration(parsed.config or None, off=parsed.config is False)
    values = view_flags.options(parser, parsed, settings)
    values["column_widths"] = column_widths(settings)
    files = [existing(file) for file in parsed.files]
    with Progress() as progress:
        stats = read(files, progress)
    sources = Sources(stats.sources)
    to_file = parsed.log_file is not None
    options = Options(
        **values,  # type: ignore[arg-type]
        # line_profiler's table stays as it is, byte for byte.
        waiting=view.name != "text",
        screen=PIPE if to_file else screen_of(sys.stdout),
    )
    lines = view.render(stats, sources, options)
    if to_file:
        _write(lines, parsed.log_file, files, stats)
    else:
        print_lines(lines)
    remarks = (*settings.remarks, *view_flags.unknown_keys(settings))
    beside = notes(stats, sources, tables=view.has_tables)
    for note in (*remarks, *view.remarks(stats, options), *beside):
        say(note)
    if view is next(iter(VIEWS.values())):  # the tables, which may be many
        from lineprof.next_step import next_steps  # noqa: PLC0415

        for step in next_steps(stats, files[0]) if len(files) == 1 else ():
            say(step)


def report_name(template: str, processes: Sequence[Process]) -> str:
    """Return the name of a report's file, placeholders replaced: see `name_of`.

    Process number and host are those of the first process that was measured, or
    our own if there is none.
    """
    from lineprof.log_file import name_of  # noqa: PLC0415

    pid, host = os.getpid(), os.uname().nodename
    if processes:
        pid, host = processes[0].pid, processes[0].host
    return name_of(template, pid=pid, host=host, now=time.time())


def _write(lines: Iterable[str], name: str, files: list[str], stats: Profile) -> None:
    """Write the view to a file; LineprofError if it cannot be, or is the profile."""
    from lineprof.log_file import write_file  # noqa: PLC0415
    from lineprof.progress import Progress  # noqa: PLC0415

    target = report_name(name, stats.processes)
    keep(files, target)
    with Progress() as progress:
        write_file(progress.each(lines, "writing line"), target)


COMMAND = Command(
    "view", "show one profile, or several added up", _add_flags, _view, _prepare
)
