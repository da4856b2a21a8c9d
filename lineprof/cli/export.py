"""`lineprof export`: writes a profile in the format of another program."""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from typing import TYPE_CHECKING

from lineprof.cli.command import (
    STANDARD_OUTPUT,
    Command,
    add_argument,
    add_source_root,
    find_profile,
    keep_profiles,
    read_profiles,
)
from lineprof.console.output import print_bytes, print_error, print_errors
from lineprof.console.progress import Progress
from lineprof.errors import LineprofError
from lineprof.export import EXPORTS
from lineprof.export.selection import (
    DEFAULT_LIMIT,
    SliceChoice,
    estimated_bytes,
    select,
    shows_all,
)
from lineprof.files import write_bytes
from lineprof.model.clocks import aligned
from lineprof.model.units import NS_OF_UNIT
from lineprof.patterns import did_you_mean, near
from lineprof.report.marks import Marks

if TYPE_CHECKING:
    import argparse

    from lineprof.export import Export
    from lineprof.model.profile import Profile


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = partial(add_argument, parser)
    formats = "; ".join(f"{one.name}: {one.help}" for one in EXPORTS.values())
    add("FILE", "profiles; several are added up")
    add(
        f"-f, --format {{{','.join(EXPORTS)}}}",
        f"{formats} (default: the format of OUT, by its suffix)",
        _format,
    )
    add(
        "-o, --output OUT",
        "file to write (default: beside the first FILE, with the format's"
        " suffix), or - for standard output",
    )
    metrics = dict.fromkeys(name for one in EXPORTS.values() for name in one.metrics)
    add(
        f"--metric {{{','.join(metrics)}}}",
        "what the numbers are, in a format that has one for each stack:"
        f" {', '.join(one.name for one in EXPORTS.values() if one.metrics)}; times in"
        " ns, memory in bytes (default: time)",
        choices=[*metrics],
    )
    add_source_root(parser)
    slices = parser.add_argument_group(
        "slices of a timeline",
        "What is left out counts as time of the slice around it; for formats with the"
        f" timeline of kernprof --trace: {', '.join(_with_timeline())}.",
    )
    in_slices = partial(add_argument, slices)
    in_slices(
        "--min-duration TIME",
        "leave out slices that are shorter, such as 10us, 1ms, 0.5s",
        _duration,
    )
    in_slices(
        "--from TIME",
        "leave out what is before this time of the run: 1.5 (seconds), 200ms",
        _seconds,
        dest="from_ns",
    )
    in_slices(
        "--to TIME",
        "leave out what is after this time of the run",
        _seconds,
        dest="to_ns",
    )
    in_slices(
        "--limit N",
        "only the longest N slices; 0: all of them (default: 1000000)",
        _count,
    )


def _with_timeline() -> list[str]:
    """Return the formats that have a timeline."""
    return [one.name for one in EXPORTS.values() if one.has_timeline]


_DURATION = re.compile(r"(\d+|\d*\.\d+|\d+\.)\s*(ns|us|µs|μs|ms|s|)", re.ASCII)

_LONGEST_NS = 2**62  # 146 years, and more than any run; longer times are that long


def _duration(word: str) -> int:
    """Return a time with its unit, in ns; LineprofError if it is invalid."""
    found = _DURATION.fullmatch(word)
    if found is None or not found[2]:
        raise LineprofError(f"{word!r} is no time", hint="give 10us, 1ms or 0.5s")
    return round(min(float(found[1]) * NS_OF_UNIT[found[2]], _LONGEST_NS))


def _seconds(word: str) -> int:
    """Return a time in ns, in seconds without a unit; LineprofError if invalid."""
    return _duration(word if word[-1:].isalpha() else f"{word}s")


_MAX_DIGITS = 18  # of a number of slices; Python converts no more than 4300


def _count(word: str) -> int:
    """Return a number from 0 on; LineprofError if it is another."""
    if not (word.isascii() and word.isdecimal()):
        raise LineprofError(f"{word!r} is no number", hint="give 1000000, or 0 for all")
    digits = word.lstrip("0")
    return int(digits or "0") if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS


def _choice(export: Export, parsed: argparse.Namespace) -> SliceChoice | None:
    """Return what the timeline shall show; None if the format has none.

    LineprofError if the flags do not go together.
    """
    flags = {
        "--min-duration": parsed.min_duration,
        "--from": parsed.from_ns,
        "--to": parsed.to_ns,
        "--limit": parsed.limit,
    }
    given = [flag for flag, value in flags.items() if value is not None]
    if not export.has_timeline:
        if given:
            raise LineprofError(
                f"{export.name} has no timeline, for which {given[0]} is",
                hint=f"leave {given[0]} out, or choose {', '.join(_with_timeline())}",
            )
        return None
    if parsed.to_ns is not None and parsed.to_ns <= (parsed.from_ns or 0):
        raise LineprofError(
            "--to is not later than --from", hint="give times of the run: 0.5s, 200ms"
        )
    return SliceChoice(
        min_ns=parsed.min_duration or 0,
        from_ns=parsed.from_ns or 0,
        to_ns=parsed.to_ns,
        limit=DEFAULT_LIMIT if parsed.limit is None else parsed.limit,
    )


def _options(export: Export, metric: str | None) -> dict[str, str]:
    """Return the options of a format; LineprofError if it has several numbers."""
    if metric is None:
        return {}
    if metric not in export.metrics:
        others = [one.name for one in EXPORTS.values() if one.metrics]
        raise LineprofError(
            f"{export.name} has all its numbers, and takes no --metric",
            hint=f"leave it out, or choose {', '.join(others)}",
        )
    return {"metric": metric}


_LARGE = 200_000_000  # bytes


def _select(
    profile: Profile, export: Export, choice: SliceChoice | None, progress: Progress
) -> Profile:
    """Return what is to be exported, and say what is left out and what is large."""
    if choice is None:
        return profile

    remarks: tuple[str, ...] = ()
    if not shows_all(profile, choice):
        profile, remarks = select(profile, choice, progress)
    progress.say(lambda: f"estimating the size of the {export.name} file")
    size = estimated_bytes(profile, export.content)
    progress.erase()
    print_errors(remarks)
    if size > _LARGE:
        print_error(
            f"the file will have about {round(size / 1e6, -1):,.0f} MB; --limit,"
            " --min-duration, --from and --to make it smaller"
        )
    return profile


# Formats by the names of programs that read them, and by names in other profilers.
_ALIASES = {
    **dict.fromkeys(("flamegraph", "flame", "flame-graph"), "svg"),
    **dict.fromkeys(("folded", "stacks"), "collapsed"),
    **dict.fromkeys(("kcachegrind", "cachegrind"), "callgrind"),
    **dict.fromkeys(("cprofile", "prof", "snakeviz"), "pstats"),
    **dict.fromkeys(("trace", "timeline"), "perfetto"),
    **dict.fromkeys(("db", "sql"), "sqlite"),
    "vscode": "cpuprofile",
}


def _format(name: str) -> str:
    """Return the name of a format; LineprofError, with a near one, if unknown."""
    if name in EXPORTS:
        return name
    if name == "html":
        raise _page_error()
    alias = _ALIASES.get(name.lower())
    question = did_you_mean([alias] if alias else near(name, EXPORTS)[:1])
    raise LineprofError(
        f"there is no format {name!r}",
        hint=" ".join(filter(None, (question, f"choose from {', '.join(EXPORTS)}"))),
    )


def _page_error() -> LineprofError:
    return LineprofError(
        "no export is a page for browsers", hint="lineprof view --html FILE writes one"
    )


def _format_of(path: str | None) -> str:
    """Return the format of a file to write, by its suffix; LineprofError if unknown."""
    name = os.path.basename(path or "").lower()
    found = [one for one in EXPORTS.values() if name.endswith(one.suffix)]
    if found:
        return max(found, key=lambda one: len(one.suffix)).name
    suffix = name.rpartition(".")[2]
    if suffix == "html":
        raise _page_error()
    if "." in name and suffix in _ALIASES:
        return _ALIASES[suffix]
    raise LineprofError(
        f"no format has files called {path}" if path else "no format is named",
        hint=f"give -f with one of {', '.join(EXPORTS)}",
    )


def _refuse_outputs(parsed: argparse.Namespace) -> None:
    """Raise LineprofError if the last of several files is one to write, or a format."""
    *others, last = parsed.files
    suffixes = tuple(one.suffix for one in EXPORTS.values())
    if others and last.endswith(suffixes) and not os.path.lexists(last):
        raise LineprofError(f"{last} does not exist", hint=f"to write it: -o {last}")
    if others and last in EXPORTS and not os.path.lexists(last):
        raise LineprofError(f"{last} is no profile", hint=f"for this format: -f {last}")


def _export(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    try:
        _refuse_outputs(parsed)
        export = EXPORTS[parsed.format or _format_of(parsed.output)]
    except LineprofError as error:
        parser.error(str(error))
    choice, options = _choice(export, parsed), _options(export, parsed.metric)
    files = [find_profile(file) for file in parsed.files]
    with Progress() as progress:
        stats = read_profiles(files, progress, parsed.source_root)
        clocks = ""
        if export.has_timeline:
            stats, clocks = aligned(stats)
        stats = _select(stats, export, choice, progress)
    target = parsed.output or f"{os.path.splitext(files[0])[0]}{export.suffix}"
    if target == STANDARD_OUTPUT:
        if not export.is_text and sys.stdout is not None and sys.stdout.isatty():
            raise LineprofError(
                f"a file for {export.name} is no text for a terminal",
                hint="name one with -o, or redirect standard output",
            )
        print_bytes(export.content(stats, **options))
    else:
        keep_profiles(files, target)
        with Progress() as progress:
            content = export.content(stats, **options)
            written = progress.written(content, f"{export.name},")
            write_bytes(written, target, what="the export")
        of = f": the sum of {len(files)} profiles" if len(files) > 1 else ""
        print_error(f"wrote {target}{of}")

    remarks = [*Marks(stats).note(), *stats.warnings, clocks]
    remarks += export.remarks(stats, **options)
    print_errors(filter(None, remarks))


COMMAND = Command(add_flags=_add_flags, run=_export)
