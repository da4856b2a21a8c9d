"""Ranks and programs of several profiles, and remarks on what does not fit."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import LineprofError
from lineprof.model.rank_spread import missing_ranks
from lineprof.model.records import ranked
from lineprof.processes.recovery import running_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Process

_DIGITS = re.compile(r"\d+")

_MISSING = re.compile(r"(rank \d+|[\d,]+ more) of [\d,]+( ranks are| is) missing.*")

_MAX_NAMED = 8  # files that do not fit, for each reason


class _Part(NamedTuple):
    """The processes of one rank in one file."""

    file: str
    processes: list[Process]
    is_alone: bool  # there is no other rank in the file


class Runs:
    """The ranks and programs of the files, and remarks on what does not fit."""

    def __init__(self) -> None:
        self._ranks: dict[int, list[_Part]] = {}
        self._ranked: list[_Part] = []  # the files with ranks, in order
        self._unranked: list[_Part] = []
        self._files: dict[tuple[str, int, int], str] = {}  # of each process
        self._count = 0  # of ranks, as the launcher said

    def add(self, file: str, processes: Sequence[Process]) -> None:
        """Add a file; LineprofError if another file has the same rank or process."""
        for process in processes:
            other_file = self._files.setdefault(_identity(process), file)
            if other_file != file:
                raise LineprofError(
                    f"{other_file} and {file} both have process {process.pid} of"
                    f" {process.host}",
                    hint="give each profile once",
                )
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
            parts = self._ranked if by_rank else self._unranked
            parts.append(_Part(file, list(processes), is_alone=True))

    def has_process(self, process: Process) -> bool:
        """Tell whether a process is in one of the files."""
        return _identity(process) in self._files

    def has_rank_of(self, ranks: Iterable[int | None]) -> bool:
        """Tell whether one of `ranks` is in one of the files."""
        return any(rank in self._ranks for rank in ranks)

    @property
    def in_words(self) -> str:
        """The ranks of all files, in words; "" if there are none."""
        if not self._ranks:
            return ""
        return f"{len(self._ranks):,} of {max(self._count, len(self._ranks)):,} ranks"

    def warnings(self) -> list[str]:
        """Return the remarks on all files, those on missing ranks first."""
        found = []
        if self._ranks:
            missing = missing_ranks(self._ranks, self._count)
            for rank in missing.first:
                why = self._why_missing(rank)
                text = f"rank {rank} of {self._count} is missing"
                found.append(text + (f": {why}" if why else ""))
            if missing.number > len(missing.first):
                more = missing.number - len(missing.first)
                found.append(f"{more:,} more of {self._count:,} ranks are missing")
        return [*found, *self._misfits()]

    def noted(self, profile: Profile) -> Profile:
        """Return the sum of the files with the remarks on them.

        Ranks that were missing when a file of several was made may be there now.
        """
        kept = [text for text in profile.warnings if not _MISSING.fullmatch(text)]
        return profile.with_warnings([*self.warnings(), *kept])

    def _misfits(self) -> Iterator[str]:
        """Yield remarks on files that do not belong together, some for each reason."""
        every = [*self._ranked, *self._unranked]
        reasons: dict[str, list[str]] = {}
        for index, part in enumerate(every[1:], 1):
            is_ranked = index < len(self._ranked)
            reason, text = _misfit(part, every[0], is_ranked=is_ranked)
            if reason:
                reasons.setdefault(reason, []).append(text)
        if self._ranked and self._unranked:
            reasons["have no rank"] = [
                f"{part.file} has no rank: it counts in the sums, not in --ranks"
                for part in self._unranked
            ]
        for reason, texts in reasons.items():
            yield from texts[:_MAX_NAMED]
            if len(texts) > _MAX_NAMED:
                yield f"{len(texts) - _MAX_NAMED:,} more files {reason}"

    def _why_missing(self, rank: int) -> str:
        """Tell which file of `rank` is not there; "" if its name is unclear."""
        paths = {
            os.path.join(os.path.dirname(part.file), name)
            for other, (part, *_) in self._ranks.items()
            if part.is_alone
            for name in _names_like(part.file, other, rank)
        }
        names = {os.path.basename(path) for path in paths}
        if len(names) != 1:
            return ""
        pid = next(filter(None, map(running_program, paths)), None)
        running = f": process {pid}, which writes it, still runs" if pid else ""
        return f"no {names.pop()}" + running


def _misfit(part: _Part, first: _Part, *, is_ranked: bool) -> tuple[str, str]:
    """Tell why a file does not belong to the first one: in short, and in a sentence.

    Both are "" if it does. Files without a rank may be of any run of the program.
    """
    one, other = part.processes[0], first.processes[0]
    name, first_name = (
        os.path.basename(process.argv[0]) if process.argv else ""
        for process in (one, other)
    )
    if name != first_name:
        reason = f"are of another program than {first.file}"
        text = f"of another program ({name}) than {first.file} ({first_name})"
    elif is_ranked and one.ranks != other.ranks and one.ranks and other.ranks:
        reason = f"are of runs of more or fewer ranks than {first.file}"
        text = f"of a run of {one.ranks} ranks, {first.file} of one of {other.ranks}"
    elif is_ranked and not _overlap(part, first):
        reason = f"are of another run than {first.file}"
        text = f"of another run than {first.file}: one had ended when the other began"
    else:
        return "", ""
    return reason, f"{part.file} is {text}"


def _identity(process: Process) -> tuple[str, int, int]:
    return process.host, process.pid, process.start_unix_ns


def _names_like(file: str, rank: int, other: int) -> Iterator[str]:
    """Yield a file's name with the digits of `other` in place of those of `rank`."""
    name = os.path.basename(file)
    found = [digits for digits in _DIGITS.finditer(name) if int(digits[0]) == rank]
    marked = [one for one in found if name[: one.start()].endswith(".r")]
    for one in (marked or found)[-1:]:
        digits = str(other).zfill(len(one[0]))
        yield name[: one.start()] + digits + name[one.end() :]


def _belong(part: _Part, other: _Part) -> bool:
    """Tell whether a process of one part started a process of the other.

    Process ids come again, in a later run for example: both must have run together.
    """

    def started(parents: _Part, children: _Part) -> bool:
        pids = {(one.host, one.pid) for one in parents.processes}
        return any((one.host, one.parent_pid) in pids for one in children.processes)

    return _overlap(part, other) and (started(part, other) or started(other, part))


def _overlap(part: _Part, other: _Part) -> bool:
    """Tell whether the processes of two parts ran at the same time."""

    def span(some: _Part) -> tuple[int, int]:
        return (
            min(one.start_unix_ns for one in some.processes),
            max(one.start_unix_ns + one.wall_ns for one in some.processes),
        )

    (start, end), (other_start, other_end) = span(part), span(other)
    return start <= other_end and other_start <= end
