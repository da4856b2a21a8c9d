"""`lineprof export`: writes a profile in the format of another program."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from lineprof.cli.command import (
    Command,
    add_source_root,
    argument_type,
    find_profile,
    keep_profiles,
    read_profiles,
)
from lineprof.console.output import print_bytes, print_error
from lineprof.console.progress import Progress
from lineprof.errors import LineprofError
from lineprof.files import write_bytes
from lineprof.patterns import did_you_mean, near

if TYPE_CHECKING:
    import argparse

_STANDARD_OUTPUT = "-"


def _add_flags(parser: argparse.ArgumentParser) -> None:
    from lineprof.export import EXPORTS  # noqa: PLC0415  # `view` needs none

    formats = "; ".join(f"{one.name}: {one.help}" for one in EXPORTS.values())
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="profiles; several are added up"
    )
    parser.add_argument(
        *("-f", "--format"),
        required=True,
        type=argument_type(_format),
        metavar=f"{{{','.join(EXPORTS)}}}",
        help=formats,
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="file to write (default: beside the first FILE, with the format's"
        " suffix), or - for standard output",
    )
    add_source_root(parser)


# Formats by the names of programs that read them, and by names in other profilers.
_ALIASES = {
    **dict.fromkeys(("flamegraph", "flame", "flame-graph", "html"), "svg"),
    **dict.fromkeys(("folded", "stacks"), "collapsed"),
    **dict.fromkeys(("kcachegrind", "cachegrind"), "callgrind"),
    **dict.fromkeys(("cprofile", "prof", "snakeviz"), "pstats"),
    **dict.fromkeys(("trace", "timeline"), "perfetto"),
    **dict.fromkeys(("db", "sql"), "sqlite"),
    "vscode": "cpuprofile",
}


def _format(name: str) -> str:
    """Return the name of a format; LineprofError, with a near one, if unknown."""
    from lineprof.export import EXPORTS  # noqa: PLC0415  # `view` needs none

    if name in EXPORTS:
        return name
    alias = _ALIASES.get(name.lower())
    question = did_you_mean([alias] if alias else near(name, EXPORTS)[:1])
    raise LineprofError(
        f"there is no format {name!r}",
        hint=" ".join(filter(None, (question, f"choose from {', '.join(EXPORTS)}"))),
    )


def _export(_: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    from lineprof.export import EXPORTS  # noqa: PLC0415  # `view` needs none

    export = EXPORTS[parsed.format]
    files = [find_profile(file) for file in parsed.files]
    with Progress() as progress:
        stats = read_profiles(files, progress, parsed.source_root)
    target = parsed.output or f"{os.path.splitext(files[0])[0]}{export.suffix}"
    if target == _STANDARD_OUTPUT:
        if not export.is_text and sys.stdout is not None and sys.stdout.isatty():
            raise LineprofError(
                f"a file for {export.name} is no text for a terminal",
                hint="name one with -o, or redirect standard output",
            )
        print_bytes(export.content(stats))
    else:
        keep_profiles(files, target)
        with Progress() as progress:
            content = progress.written(export.content(stats), f"{export.name},")
            write_bytes(content, target, what="the export")
        print_error(f"wrote {target}")
    from lineprof.report.marks import Marks  # noqa: PLC0415  # not for --help

    for remark in (*Marks(stats).note(), *stats.warnings, *export.remarks(stats)):
        print_error(remark)


COMMAND = Command("export", "write a profile for other programs", _add_flags, _export)
