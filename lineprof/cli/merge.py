"""`lineprof merge`: one profile of many, such as those of the ranks of a program."""

from __future__ import annotations

import gc
import glob
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from lineprof.cli.command import Command, find_profile, recover_run
from lineprof.console.output import print_error
from lineprof.console.progress import Progress
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Process
    from lineprof.model.running_sum import LeftOut

_FULL_FILES = 16  # up to so many, all that they hold is kept

_SUFFIX = ".lprof"

_MISSING = re.compile(r"(rank \d+|[\d,]+ more) of [\d,]+( ranks are| is) missing.*")

_DIGITS = re.compile(r"\d+")


def _add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="profiles, folders of profiles, and patterns such as 'r.r*.lprof'",
    )
    parser.add_argument(
        *("-o", "--output"), required=True, metavar="OUT", help="the profile to write"
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--full",
        dest="is_full",
        action="store_true",
        default=None,
        help="keep threads and timelines, in memory for all files at once (default: up"
        f" to {_FULL_FILES} files)",
    )
    group.add_argument(
        "--sums",
        dest="is_full",
        action="store_false",
        help="keep the sums of each rank and of all, without threads and timelines"
        " (default: from more files on)",
    )


def _merge(_: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    from lineprof.storage import save  # noqa: PLC0415  # not for --help

    files = _files(parsed.files, parsed.output)
    is_full = parsed.is_full
    if is_full is None:
        is_full = len(files) <= _FULL_FILES
    runs = _Runs()
    with Progress() as progress:
        if is_full:
            profile, notes = _full(files, runs, progress)
        else:
            profile, notes = _summed(files, runs, progress)
        progress.say(lambda: f"writing {parsed.output}")
        save(profile, parsed.output)
    many = f"{len(files):,} profile" + ("s" if len(files) > 1 else "")
    ranks = runs.in_words
    print_error(f"wrote {parsed.output}: {many}{ranks and f', {ranks}'}")
    for note in (*profile.warnings, *notes):
        print_error(note)


def _full(
    files: Sequence[str], runs: _Runs, progress: Progress
) -> tuple[Profile, list[str]]:
    """Return the sum of a few profiles, with all that they hold, and notes on it."""
    from lineprof.model.profile import Profile  # noqa: PLC0415  # not for --help
    from lineprof.storage import load  # noqa: PLC0415

    profiles = []
    for file in progress.each(files, "reading profile", len(files)):
        profiles.append(load(file))
        runs.add(file, profiles[-1].processes)
    progress.say(lambda: f"adding up {len(files):,} profiles")
    merged = Profile.from_stats_objects(*profiles)
    return _noted(merged, runs), []


def _summed(
    files: Sequence[str], runs: _Runs, progress: Progress
) -> tuple[Profile, list[str]]:
    """Return the sum of many profiles without their threads, and notes on it."""
    from lineprof.model.running_sum import RunningSum  # noqa: PLC0415  # not for --help
    from lineprof.storage import load_columns  # noqa: PLC0415

    total = RunningSum()
    was_on = gc.isenabled()
    gc.disable()  # millions of numbers and no cycles: a sixth of the time
    try:
        for file in progress.each(files, "merging profile", len(files)):
            profile, cells = load_columns(file)
            runs.add(file, profile.processes)
            total.add(profile, cells)
    finally:
        if was_on:
            gc.enable()
    progress.say(lambda: f"adding up {len(files):,} profiles")
    merged = total.profile()
    return _noted(merged, runs), [*_lost(total.left_out)]


def _noted(merged: Profile, runs: _Runs) -> Profile:
    """Return a merged profile with the remarks on its files.

    Ranks that were missing when a file of several was made may be there now.
    """
    kept = [text for text in merged.warnings if not _MISSING.fullmatch(text)]
    return merged.with_warnings([*runs.warnings(), *kept])


def _lost(parts: LeftOut) -> Iterator[str]:
    lines = "lines are kept by rank, not by thread"
    if parts.timelines:
        count = f"{parts.timelines:,} timeline" + ("s" if parts.timelines > 1 else "")
        yield f"{lines}, and {count} left out; --full keeps both"
    elif parts.threads:
        yield f"{lines}; --full keeps threads"


# The files.


def _files(words: Iterable[str], output: str) -> list[str]:
    """Return the profiles that `words` name; LineprofError if a word names none.

    Those of programs that were killed are recovered, also of ranks beside them.
    In a folder, or among the files that match a pattern, `output` is left out: it may
    be there from the last time.
    """
    from lineprof.processes.recovery import runs_beside  # noqa: PLC0415  # not for help

    found: dict[str, str] = {}
    target = os.path.realpath(output)
    words = list(words)
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
            full_name = os.path.realpath(name)
            if full_name != target:
                found.setdefault(full_name, name)
            elif names == [word]:
                raise LineprofError(
                    f"{output!r} is one of the profiles", hint="name another file"
                )
    return list(found.values())


# Ranks, and files that do not belong together.


class _Part(NamedTuple):
    """The processes of one rank in one file."""

    file: str
    processes: list[Process]
    is_alone: bool  # there is no other rank in the file


class _Runs:
    """The ranks and programs of the files, and remarks on what does not fit."""

    def __init__(self) -> None:
        self._ranks: dict[int, list[_Part]] = {}
        self._first: _Part | None = None
        self._remarks: list[str] = []
        self._count = 0  # of ranks, as the launcher said

    def add(self, file: str, processes: Sequence[Process]) -> None:
        """Add a file; LineprofError if another file has the same rank."""
        from lineprof.model.records import ranked  # noqa: PLC0415  # not for --help

        by_rank: dict[int, list[Process]] = {}
        for process in ranked(processes):
            if process.rank is not None:
                by_rank.setdefault(process.rank, []).append(process)
            self._count = max(self._count, process.ranks or 0)
        for rank, some in by_rank.items():
            part = _Part(file, some, is_alone=len(by_rank) == 1)
            others = self._ranks.setdefault(rank, [])
            if others and not any(_belong(part, other) for other in others):
                raise LineprofError(
                    f"{others[0].file} and {file} are both of rank {rank}",
                    hint="give the files of one run",
                )
            others.append(part)
        if processes:
            part = _Part(file, list(processes), is_alone=True)
            if self._first is None:
                self._first = part
            else:
                self._compare(part, self._first, is_ranked=bool(by_rank))

    def _compare(self, part: _Part, first: _Part, *, is_ranked: bool) -> None:
        """Note if a file is of another program or run than the first one."""
        one, other = part.processes[0], first.processes[0]
        name, first_name = (
            os.path.basename(process.argv[0]) if process.argv else ""
            for process in (one, other)
        )
        if name != first_name:
            self._note(
                f"{part.file} is of another program ({name}) than {first.file}"
                f" ({first_name})"
            )
        elif is_ranked and one.ranks != other.ranks and one.ranks and other.ranks:
            self._note(
                f"{part.file} is of a run of {one.ranks} ranks, {first.file} of one of"
                f" {other.ranks}"
            )
        elif is_ranked and other.rank is not None and not _overlap(part, first):
            self._note(
                f"{part.file} is of another run than {first.file}: one had ended when"
                " the other began"
            )

    def _note(self, text: str) -> None:
        self._remarks.append(text)

    @property
    def in_words(self) -> str:
        """The ranks of all files, in words; "" if there are none."""
        if not self._ranks:
            return ""
        return f"{len(self._ranks):,} of {max(self._count, len(self._ranks)):,} ranks"

    def warnings(self) -> list[str]:
        """Return the remarks on all files, those on missing ranks first."""
        from lineprof.model.rank_spread import missing_ranks  # noqa: PLC0415

        found = []
        if self._ranks:
            missing = missing_ranks(self._ranks, self._count)
            for rank in missing.first:
                name = self._name_of(rank)
                text = f"rank {rank} of {self._count} is missing"
                found.append(text + (f": no {name}" if name else ""))
            if missing.number > len(missing.first):
                more = missing.number - len(missing.first)
                found.append(f"{more:,} more of {self._count:,} ranks are missing")
        return found + self._remarks

    def _name_of(self, rank: int) -> str:
        """Return the name that the file of `rank` would have; "" if that is unclear."""
        names = {
            name
            for other, (part, *_) in self._ranks.items()
            if part.is_alone
            for name in _names_like(part.file, other, rank)
        }
        return names.pop() if len(names) == 1 else ""


def _names_like(file: str, rank: int, other: int) -> Iterator[str]:
    """Yield a file's name with the digits of `other` in place of those of `rank`."""
    name = os.path.basename(file)
    found = [digits for digits in _DIGITS.finditer(name) if int(digits[0]) == rank]
    marked = [one for one in found if name[: one.start()].endswith(".r")]
    for one in (marked or found)[-1:]:
        digits = str(other).zfill(len(one[0]))
        yield name[: one.start()] + digits + name[one.end() :]


def _belong(part: _Part, other: _Part) -> bool:
    """Tell whether a process of one part started a process of the other."""

    def started(parents: _Part, children: _Part) -> bool:
        pids = {(one.host, one.pid) for one in parents.processes}
        return any((one.host, one.parent_pid) in pids for one in children.processes)

    return started(part, other) or started(other, part)


def _overlap(part: _Part, other: _Part) -> bool:
    """Tell whether the processes of two parts ran at the same time."""

    def span(some: _Part) -> tuple[int, int]:
        return (
            min(one.start_unix_ns for one in some.processes),
            max(one.start_unix_ns + one.wall_ns for one in some.processes),
        )

    (start, end), (other_start, other_end) = span(part), span(other)
    return start <= other_end and other_start <= end


COMMAND = Command(
    "merge", "make one profile of many, such as those of all ranks", _add_flags, _merge
)
