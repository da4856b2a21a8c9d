"""`lineprof merge`: one profile of many, such as those of the ranks of a program."""

from __future__ import annotations

import glob
import os
from functools import partial
from typing import TYPE_CHECKING

from lineprof.cli.command import (
    STANDARD_OUTPUT,
    Command,
    add_argument,
    each_once,
    find_profile,
    recover_run,
    without_collection,
)
from lineprof.cli.runs import Runs
from lineprof.console.output import print_error, print_errors
from lineprof.console.progress import Progress
from lineprof.errors import LineprofError
from lineprof.files import real_path
from lineprof.model.profile import Profile
from lineprof.model.running_sum import RunningSum
from lineprof.processes.recovery import runs_beside
from lineprof.storage import load, save
from lineprof.storage.reader import load_columns

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from lineprof.model.running_sum import LeftOut

    T = TypeVar("T")

_FULL_FILES = 16  # up to so many, all that they hold is kept

_MAX_NAMED = 8  # files that cannot be read

_SUFFIX = ".lprof"


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = partial(add_argument, parser)
    add("FILE", "profiles, folders of profiles, and patterns such as 'r.r*.lprof'")
    add("-o, --output OUT", "the profile to write", required=True)
    in_group = partial(add_argument, parser.add_mutually_exclusive_group())
    in_group(
        "--full",
        "keep threads and timelines, in memory for all files at once (default: up"
        f" to {_FULL_FILES} files)",
        dest="is_full",
        default=None,
    )
    in_group(
        "--sums",
        "keep the sums of each rank and of all, without threads and timelines"
        " (default for more files)",
        dest="is_full",
        action="store_false",
    )


def _merge(_: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    if parsed.output == STANDARD_OUTPUT:
        raise LineprofError(
            "merge cannot write to standard output", hint="name a file with -o"
        )
    files = _files(parsed.files, parsed.output)
    is_full = len(files) <= _FULL_FILES if parsed.is_full is None else parsed.is_full
    runs = Runs()
    with Progress() as progress:
        add_up = _full if is_full else _summed
        profile, notes = add_up(files, runs, progress)
        _check_output(parsed.output, runs)
        progress.say(lambda: f"writing {parsed.output}")
        save(profile, parsed.output)
    many = f"{len(files):,} profile" + ("s" if len(files) > 1 else "")
    ranks = runs.in_words
    print_error(f"wrote {parsed.output}: {many}{ranks and f', {ranks}'}")
    print_errors([*profile.warnings, *notes])


def _full(
    files: Sequence[str], runs: Runs, progress: Progress
) -> tuple[Profile, list[str]]:
    """Return the sum of a few profiles, with all that they hold, and notes on it."""
    profiles = []
    each = progress.each(files, "reading profile", len(files))
    for file, profile in _readable(load, each):
        profiles.append(profile)
        runs.add(file, profile.processes)
    progress.say(lambda: f"adding up {len(files):,} profiles")
    merged = Profile.from_stats_objects(*profiles)
    return runs.noted(merged), []


def _summed(
    files: Sequence[str], runs: Runs, progress: Progress
) -> tuple[Profile, list[str]]:
    """Return the sum of many profiles without their threads, and notes on it."""
    total = RunningSum()
    with without_collection():  # it takes a sixth of the time
        each = progress.each(files, "merging profile", len(files))
        for file, (profile, cells) in _readable(load_columns, each):
            runs.add(file, profile.processes)
            total.add(profile, cells)
    progress.say(lambda: f"adding up {len(files):,} profiles")
    merged = total.profile()
    return runs.noted(merged), [*_lost(total.left_out)]


def _readable(
    read: Callable[[str], T], files: Iterable[str]
) -> Iterator[tuple[str, T]]:
    """Yield each file and what `read` returns for it.

    LineprofError at the end if some cannot be read, after a line for each other one.
    """
    errors: list[LineprofError] = []
    for file in files:
        try:
            found = read(file)
        except LineprofError as error:
            errors.append(error)
        else:
            yield file, found
    print_errors(map(str, errors[1:_MAX_NAMED]))
    if len(errors) > _MAX_NAMED:
        print_error(f"{len(errors) - _MAX_NAMED:,} more files cannot be read")
    if errors:
        raise errors[0]


def _lost(parts: LeftOut) -> Iterator[str]:
    lines = "lines are kept by rank, not by thread"
    if parts.timelines:
        count = f"{parts.timelines:,} timeline" + ("s" if parts.timelines > 1 else "")
        yield f"{lines}, and {count} left out; --full keeps both"
    elif parts.threads:
        yield f"{lines}; --full keeps threads"


# The files.


def _check_output(output: str, runs: Runs) -> None:
    """Raise LineprofError if writing to `output` would lose what it alone has.

    It may be one of the files: a pattern matches it, or the shell took the first match
    of a pattern for the name after -o. An older merge may be replaced: all of its
    processes are in `runs`, or it has several ranks of such a program.
    """
    try:
        processes = load_columns(output)[0].processes
    except LineprofError:
        return  # it is no profile
    lost = next((one for one in processes if not runs.has_process(one)), None)
    ranks = {process.rank for process in processes} - {None}
    if lost is None or (len(ranks) > 1 and runs.has_rank_of(ranks)):
        return
    who = f"process {lost.pid} of {lost.host}"
    if lost.rank is not None:
        who = f"rank {lost.rank}" + (f" of {lost.ranks}" if lost.ranks else "")
    raise LineprofError(
        f"{output} is the profile of {who}, which no other file has",
        hint="name another file with -o, or remove it",
    )


def _files(words: list[str], output: str) -> list[str]:
    """Return the profiles that `words` name; LineprofError if a word names none.

    Those of programs that were killed are recovered, also of ranks beside them.
    In a folder, or among the files that match a pattern, `output` is left out: it may
    be there from the last time.
    """
    found: list[str] = []
    target = real_path(output)
    recovered = [recover_run(run) for run in runs_beside(words)]
    for word in [*words, *filter(None, recovered)]:
        names = [word]
        if os.path.isdir(word):
            names = sorted(glob.glob(os.path.join(glob.escape(word), f"*{_SUFFIX}")))
            if not names:
                raise LineprofError(
                    f"there is no profile in {word}", hint=f"give files *{_SUFFIX}"
                )
        elif not os.path.lexists(word) and glob.has_magic(word):
            names = sorted(glob.glob(word))
            if not names:
                raise LineprofError(
                    f"no file matches {word}", hint="check the pattern, or give files"
                )
        for name in map(find_profile, names):
            if real_path(name) != target:
                found.append(name)
            elif names == [word]:
                raise LineprofError(
                    f"{output!r} is one of the profiles", hint="name another file"
                )
    if not found:
        raise LineprofError(
            f"there is no profile besides {output}", hint=f"give files *{_SUFFIX}"
        )
    return each_once(found)


COMMAND = Command(add_flags=_add_flags, run=_merge)
