"""Recovery of profiles whose process ended before it could write them.

The counts of such a process are in its live file (`lineprof.recording.live_file`).
"""

from __future__ import annotations

import fcntl
import fnmatch
import os
import re
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from lineprof import process_info
from lineprof.errors import LineprofError
from lineprof.files import closed_after, real_path
from lineprof.later import Later
from lineprof.model.profile import Profile
from lineprof.private_folder import check_folder, own_folder_name, temporary_folder
from lineprof.processes.parts import Part, Run, remove_file
from lineprof.recording.live_file import SUFFIX, VARIABLE, live_folder
from lineprof.snapshot.live_file import (
    LiveFileReader,
    profile_of_counts,
    read_counts,
    read_notes,
    scale_at,
)
from lineprof.storage import load, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lineprof.processes import last_snapshot
    from lineprof.snapshot.live_file import LiveCounts, Notes
else:
    last_snapshot = Later("lineprof.processes.last_snapshot")

_USUAL_FOLDERS = ("/tmp", "/var/tmp")  # noqa: S108  # only this user's are read
_RUNNING, _SIGNALLED, _ENDED, _WRITTEN = range(4)  # states, as in the core
_KILLED = (
    "it was killed (SIGKILL, lack of memory), its stack overflowed, or it left Python"
    " by os._exit or os.exec"
)


_PARTS = (
    "recovered: the parts of lines' time (--split) fit only the times of the last"
    " snapshot, {}"
)


class DeadProcess(NamedTuple):
    """A process that left a live file behind."""

    path: str  # of the live file
    notes: Notes

    @property
    def start_ns(self) -> int:
        """When it was started, in ns since the epoch; 0 if it does not say."""
        start = self._value("start_unix_ns")
        return start if isinstance(start, int) else 0

    @property
    def rank(self) -> object:
        """Its rank in a parallel program; None if it is in none."""
        return self._value("rank")

    def _value(self, name: str) -> object:
        """Return a value of the process, which a run of any command notes by itself."""
        return self.notes.process.get(name, self.notes.more.get(name))

    @property
    def has_counts(self) -> bool:
        """Whether it has counted: the first one of a run of any command has not."""
        return bool(self.notes.process)

    @property
    def is_child(self) -> bool:
        """Whether another process of the run has started it."""
        return "parent" in self.notes.more

    @property
    def pid(self) -> int:
        """Its process id; 0 if it does not say."""
        pid = self.notes.identity.get("pid", 0)
        return pid if isinstance(pid, int) else 0


class DeadRun(NamedTuple):
    """The processes of one run that left live files behind.

    The first process of the run comes first, if it is there, then its children, the
    oldest first.
    """

    processes: Sequence[DeadProcess]

    @property
    def out(self) -> str:
        """The path of the profile that the run would have written."""
        return self.processes[0].notes.out

    @property
    def start_ns(self) -> int:
        """When the run began, in ns since the epoch."""
        return self.processes[0].start_ns

    @property
    def is_late(self) -> bool:
        """Whether its first process is not there, but perhaps in its profile."""
        return self.processes[0].is_child


def folders() -> list[str]:
    """Return the folders that may have live files of this user.

    If LINEPROF_LIVE names one, that is the only one.
    """
    if os.environ.get(VARIABLE):
        named = live_folder()
        return [named] if named and os.path.isdir(named) else []
    usual = [os.path.join(folder, own_folder_name()) for folder in _USUAL_FOLDERS]
    found = dict.fromkeys([live_folder() or "", *usual])
    return [folder for folder in found if folder and os.path.isdir(folder)]


def folders_of_users() -> dict[int, list[str]]:
    """Return the folders that have live files of other users, by the user's id.

    They are where each user has them by default: below the folder for temporary files
    of this process, or in `/tmp` and `/var/tmp`; if LINEPROF_LIVE names a folder, below
    that.
    """
    named = os.environ.get(VARIABLE)
    above = [named] if named else [temporary_folder(), *_USUAL_FOLDERS]
    found: dict[int, set[str]] = {}
    for folder in map(real_path, above):
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                user = entry.stat(follow_symlinks=False).st_uid
                is_folder = entry.is_dir(follow_symlinks=False)
                if entry.name == own_folder_name(user) and is_folder:
                    found.setdefault(user, set()).add(entry.path)
    found.pop(os.getuid(), None)
    return {user: sorted(folders) for user, folders in sorted(found.items())}


def live_files(places: Iterable[str] = ()) -> Iterator[str]:
    """Yield the live files in folders, and those that are named themselves.

    Without `places`, those in all `folders` to which nobody else can write. Raises
    LineprofError if a place is neither, or others can write to it.
    """
    for folder in () if places else folders():
        with suppress(LineprofError):
            yield from _files_in(folder)
    for place in places:
        if os.path.isdir(place):
            yield from _files_in(real_path(place))
        elif os.path.exists(place):
            yield place
        else:
            raise LineprofError(
                f"there is no {place}", hint="name a live file, or a folder"
            )


def _files_in(folder: str) -> list[str]:
    """Return the live files in a folder; LineprofError if others can write to it."""
    try:
        check_folder(folder, hint=f"set {VARIABLE}")
        names = (name for name in os.listdir(folder) if name.endswith(SUFFIX))
        return [os.path.join(folder, name) for name in sorted(names)]
    except OSError as error:
        raise LineprofError(
            f"cannot read {folder}: {error.strerror}", hint="name a live file"
        ) from error


def state_of(
    path: str, notes: Notes, known: dict[str, str] | None = None, *, force: bool = False
) -> str:
    """Return why the live file at `path` is not to be recovered, "" if it is.

    Its process must have ended, and have run on this machine, and so must the first
    process of the run: as long as that runs it collects what its children counted.
    `known` keeps the states of first processes, by live file, from call to call. With
    `force`, processes that this system does not show have ended.
    """
    state = _state_of_process(path, notes, force=force)
    name = notes.run + SUFFIX
    if state or not notes.run or name == os.path.basename(path):
        return state
    first = os.path.join(os.path.dirname(path), os.path.basename(name))
    known = {} if known is None else known
    if first not in known:
        known[first] = _state_of_file(first, force=force)
    return known[first]


def _state_of_file(path: str, *, force: bool) -> str:
    """Return the state of the process of a live file; "" if that is not there."""
    try:
        return _state_of_process(path, read_notes(path), force=force)
    except LineprofError:
        return ""


def _state_of_process(path: str, notes: Notes, *, force: bool = False) -> str:
    """Return why the process of a live file is not known to have ended; "" if it is.

    With `force`, one that this system does not show has ended.
    """
    if notes.state == _ENDED:  # it says so itself, in whatever container
        return ""
    identity = notes.identity
    pid = identity.get("pid", 0)
    is_there = _is_there(path, notes)
    if is_there is not None:
        return f"process {pid} still runs" if is_there else ""
    if force or _is_of_earlier_system(path, notes):
        return ""
    if identity.get("host") != process_info.host():
        return f"process {pid} runs, or ran, on host {identity.get('host', '?')}"
    return f"process {pid} runs, or ran, where this system does not show it"


def is_running(path: str, notes: Notes) -> bool | None:
    """Return whether the process of a live file runs, with that file.

    None if this system does not show it: it is one of another machine or container.
    """
    return notes.state not in {_ENDED, _WRITTEN} and _is_there(path, notes)


def _is_there(path: str, notes: Notes) -> bool | None:
    """Return whether the process of a live file runs; None if that is unknown.

    The state in the file itself is not looked at.
    """
    identity = notes.identity
    if not process_info.is_same_system(identity):
        return None
    pid = identity.get("pid", 0)
    is_there = process_info.start_ticks(pid) == identity.get("started")
    return is_there and _maps(pid, path)


def end_of(path: str, live: LiveCounts) -> str:
    """Return how the process of a live file ended, as half a sentence; "" if normal."""
    return "" if live.header["state"] == _WRITTEN else _end_of(path, live)[1]


def _is_of_earlier_system(path: str, notes: Notes) -> bool:
    """Return whether this machine was started again since a live file was written."""
    with suppress(OSError):
        is_old = os.stat(path).st_mtime < process_info.system_started()
        return is_old and process_info.is_earlier_system(notes.identity)
    return False


def _maps(pid: int, path: str) -> bool:
    """Return whether a process has mapped a file: after ``exec`` it has not."""
    try:
        inode = os.stat(path).st_ino
        with open(f"/proc/{pid}/maps", "rb") as stream:
            lines = [line.split(None, _PATH) for line in stream]
    except OSError:
        return True
    name = os.fsencode(os.path.basename(path))
    return any(
        len(words) > _PATH and (int(words[_INODE]) == inode or name in words[_PATH])
        for words in lines
    )


_INODE, _PATH = 4, 5  # places in a line of /proc/PID/maps


def dead_runs(
    paths: Iterable[str], *, force: bool = False, clean: bool = False
) -> list[DeadRun]:
    """Return the runs of the live files `paths` whose processes have ended.

    `force` takes those as well of which this system does not show whether they have
    ended. Files that cannot be read are passed over, and so are those whose counts are
    in a profile, or whose program never began: `clean` removes these.
    """
    runs: dict[tuple[str, str], list[DeadProcess]] = {}
    known: dict[str, str] = {}
    for path in paths:
        with suppress(LineprofError):
            notes = read_notes(path)
            if state_of(path, notes, known, force=force):
                continue
            process = DeadProcess(path, notes)
            is_first = not process.is_child and "folder" in notes.more
            if notes.state == _WRITTEN or not (process.has_counts or is_first):
                if clean:
                    remove_file(path)
                continue
            runs.setdefault((notes.out, notes.run or path), []).append(process)
    found = [
        DeadRun(tuple(sorted(run, key=lambda one: (one.is_child, one.start_ns))))
        for run in runs.values()
    ]
    needless = [run for run in found if not _has_counts(run)]
    if clean:
        for run in needless:
            remove_file(run.processes[0].path)
            for shared in runs_of_children(run):
                shared.remove()
    return [run for run in found if run not in needless]


def _has_counts(run: DeadRun) -> bool:
    """Return whether a run has counts: in live files, or in profiles of children."""
    if any(one.has_counts for one in run.processes):
        return True
    return any(shared.has_profiles for shared in runs_of_children(run))


class Recovered(NamedTuple):
    """A profile that was recovered."""

    path: str  # of its file
    reason: str  # why its first process ended, as half a sentence


def recover(run: DeadRun, out: str | None = None) -> Recovered | None:
    """Write the profile of `run`, and delete its live files.

    The profile goes to the file `out`, by default to the one that the run would have
    written; if that has the profile of a later run, or of other processes, to another
    name beside it. GPU work and blocks that the run has written on its way are in it.
    Returns None if another process has recovered the run in the meantime. Raises
    LineprofError if the live file of the first process cannot be read, or the profile
    cannot be written.
    """
    try:
        with _locked(run.processes[0].path) as is_there:
            return _recover(run, out) if is_there else None
    except LineprofError:
        raise
    except Exception as error:
        file = run.processes[0].path
        raise LineprofError(
            f"cannot recover {file}: {type(error).__name__}: {error}",
            hint="it is damaged; delete it",
        ) from error


@contextmanager
def _locked(path: str) -> Iterator[bool]:
    """Keep other processes from recovering a live file; it gives whether it is there.

    Another process that is recovering the file is waited for.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield os.path.lexists(path)
        return
    with closed_after(handle):
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield os.fstat(handle).st_nlink > 0


def _recover(run: DeadRun, out: str | None) -> Recovered:
    first, *others = run.processes
    end, kept = _completed(run, profile_of_process(first))
    parts = [part for shared in runs_of_children(run) for part in shared.parts()]
    told = {part.pid for part in parts if part.profile}
    profiles, read = [end.profile], [first.path]
    for one in others:
        with suppress(Exception):  # a damaged one is left there
            if not (one.notes.more.get("part") and one.pid in told):
                profiles.append(profile_of_child(one))
            read.append(one.path)
    profiles += [part.profile for part in parts if part.profile]
    whole = end.profile
    if len(profiles) > 1:
        whole = Profile.from_stats_objects(*profiles)
    if not whole.processes:
        raise LineprofError(
            f"cannot recover {first.path}: what its children left is damaged",
            hint="delete it",
        )
    target = out or _free_name(run, whole, is_kept=kept == _KEPT)
    if kept == _ASIDE and target == run.out:
        os.replace(target, _beside(run, "snapshot"))
    save(whole, target)
    for path in read:
        remove_file(path)
    for shared in runs_of_children(run):
        shared.remove()
    return Recovered(path=target, reason=end.reason)


_REPLACED, _ASIDE, _KEPT = range(3)  # what happens to the run's last snapshot


def _completed(run: DeadRun, end: EndOfProcess) -> tuple[EndOfProcess, int]:
    """Return what a process left, with all that its last snapshot has more.

    And what happens to the snapshot: it is replaced; it gets another name, because it
    has what the profile does not take; or it is of other processes as well, and stays.
    """
    try:
        snapshot = load(run.out) if run.out and os.path.lexists(run.out) else None
    except (OSError, LineprofError):
        return end, _REPLACED
    ours = last_snapshot.identities(end.profile)
    if snapshot is None or ours.isdisjoint(last_snapshot.identities(snapshot)):
        return end, _REPLACED
    if not last_snapshot.identities(snapshot) <= ours:
        return end, _KEPT
    whole, is_all = last_snapshot.completed(end.profile, snapshot)
    if is_all:
        return end._replace(profile=whole), _REPLACED
    warnings = [
        *whole.warnings,
        _PARTS.format(os.path.basename(_beside(run, "snapshot"))),
    ]
    return end._replace(profile=whole.with_warnings(warnings)), _ASIDE


def runs_of_children(run: DeadRun) -> list[Run]:
    """Return the run that its children share, [] if there is none."""
    for process in run.processes:
        folder = process.notes.more.get("folder")
        if isinstance(folder, str):
            with suppress(LineprofError, OSError, ValueError):
                check_folder(folder, hint=f"set {VARIABLE}")
                shared = Run.of_folder(folder)
                return [shared] if shared else []
    return []


class EndOfProcess(NamedTuple):
    """What a process left."""

    reason: str  # why it ended, as half a sentence
    profile: Profile


def profile_of_process(process: DeadProcess) -> EndOfProcess:
    """Return what a process left; LineprofError if its live file is damaged.

    The profile of one that has not counted says why it ended, and no more.
    """
    live = read_counts(process.path)
    name, reason = _end_of(process.path, live)
    warning = (
        f"recovered: process {process.pid} ended before it wrote its profile: {reason};"
        " hits count up to its end, and times up to the last event of each thread"
    )
    if live.memory:
        warning += "; memory counts up to its end, without its course over time"
    if process.has_counts:
        profile = profile_of_counts(live, exit_reason=name, warnings=[warning])
    else:
        profile = Profile.from_functions((), warnings=[warning])
    return EndOfProcess(reason=reason, profile=profile)


def children_of(folder: str, run: str) -> Iterator[Part]:
    """Yield the children of `run` that have live files in `folder`, oldest first.

    This process is the first of the run, and not one of them.
    """
    found: list[DeadProcess] = []
    with suppress(LineprofError):
        for path in _files_in(folder):
            with suppress(Exception):  # it is damaged
                process = DeadProcess(path, read_notes(path))
                if process.is_child and process.notes.run == run:
                    found.append(process)
    for one in sorted(found, key=lambda child: child.start_ns):
        profile = None
        is_empty = bool(one.notes.more.get("part"))
        is_server = _is_server(one)
        if is_server or not (is_empty or _state_of_process(one.path, one.notes)):
            with suppress(Exception):  # it is damaged
                profile = profile_of_child(one)
        if is_server and not _has_hits(profile):
            profile, is_empty = None, True
        yield Part(pid=one.pid, profile=profile, file=one.path, is_empty=is_empty)


def _is_server(child: DeadProcess) -> bool:
    """Return whether a child is a fork server: it is idle, even if it still runs."""
    return bool(child.notes.more.get("server"))


def _has_hits(profile: Profile | None) -> bool:
    return profile is not None and any(
        row.hits for function in profile.functions for row in function.rows
    )


def profile_of_child(child: DeadProcess) -> Profile:
    """Return what a child counted, without a warning that it was recovered."""
    live = read_counts(child.path)
    name = str(child.notes.more.get("ended", ""))
    if not (name or _is_server(child)):
        name = _end_of(child.path, live)[0]
    return profile_of_counts(_with_own_threads(live), exit_reason=name)


def profile_of_running(path: str) -> Profile:
    """Return what the process of a live file, which runs, has counted so far.

    It has no texts of source files. LineprofError if the file is damaged, or gone.
    """
    file = LiveFileReader(path)
    try:
        live, moment = file.read(is_running=True)
    finally:
        file.close()
    return profile_of_counts(
        _with_own_threads(live), scale=scale_at(live, moment), has_sources=False
    )


def _with_own_threads(live: LiveCounts) -> LiveCounts:
    """Return counts in which the thread of a fork has its number in the child."""
    before, now = live.notes.more.get("thread", (0, 0))
    threads = [(now if one == before else one, name) for one, name in live.threads]
    return live._replace(threads=threads)


def _end_of(path: str, live: LiveCounts) -> tuple[str, str]:
    """Return how a process ended: in short, and as half a sentence."""
    header, notes = live.header, live.notes
    if header["state"] == _ENDED:
        return header["reason"], "the profile could not be written"
    if header["state"] == _SIGNALLED:
        name = _signal_name(header["signal"])
        return name, f"it died of {name}"
    if _is_of_earlier_system(path, notes):
        return "killed", "the machine was started again"
    if process_info.oom_kills_since(notes.identity):
        return "killed", "the system was out of memory, and killed it or another one"
    return "killed", _KILLED


def profile_of_file(
    file: LiveFileReader, *, has_ended: bool, has_sources: bool
) -> EndOfProcess:
    """Return what a process has counted so far, from its open live file.

    Raises LineprofError if the file is damaged. `has_sources` is whether the profile
    gets the texts of files that the live file names.
    """
    live, moment = file.read(is_running=not has_ended)
    name, reason = _end_of(file.path, live) if has_ended else _NO_END
    warning = f"recovered: the process did not give its profile: {reason}"
    profile = profile_of_counts(
        live,
        exit_reason=name,
        warnings=[warning],
        scale=scale_at(live, moment),
        has_sources=has_sources,
    )
    return EndOfProcess(reason=reason, profile=profile)


_NO_END = ("still running", "it still runs, and does not answer")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _free_name(run: DeadRun, profile: Profile, *, is_kept: bool) -> str:
    """Return the name that the run's profile gets.

    A file that another program wrote, or a later run, keeps its name, and so does what
    the run itself wrote on its way if `is_kept`, and any file if `profile` is empty.
    """
    first = run.processes[0]
    if not run.out:
        raise LineprofError(
            f"{first.path} does not tell the name of its profile", hint="use -o FILE"
        )
    if not os.path.lexists(run.out) or (
        profile.functions and _is_older(run) and not is_kept
    ):
        return run.out
    return _beside(run, "recovered")


def _beside(run: DeadRun, word: str) -> str:
    """Return the name of a file beside the run's profile."""
    stem, extension = os.path.splitext(run.out)
    return f"{stem}.{word}-{run.processes[0].pid}{extension}"


def _is_older(run: DeadRun) -> bool:
    """Return whether the run would have replaced the file that has its name.

    That is one from before the run, or one that the run itself wrote on its way.
    """
    if run.is_late:
        return False
    try:
        if os.stat(run.out).st_mtime_ns <= run.start_ns:
            return True
        processes = load(run.out).processes
    except (OSError, LineprofError):
        return False
    return all(one.start_unix_ns <= run.start_ns for one in processes)


def runs_of(path: str) -> list[DeadRun]:
    """Return the runs that ended before they wrote the profile at `path`, oldest first.

    Runs that ended before an existing profile was begun are left out.
    """
    wanted = real_path(path)
    runs = _runs_where(lambda run: real_path(run.out) == wanted)
    return sorted(runs, key=lambda run: run.start_ns)


def runs_beside(words: Iterable[str]) -> list[DeadRun]:
    """Return the runs that did not write a profile that is meant by one of `words`.

    A word is a file, a folder of profiles or a pattern; a file also means those of
    ranks beside it whose names differ in digits alone. Runs that ended before an
    existing profile was begun are left out.
    """
    wanted = [real_path(word) for word in words]
    return _runs_where(lambda run: any(_is_meant(run, word) for word in wanted))


def _runs_where(is_wanted: Callable[[DeadRun], bool]) -> list[DeadRun]:
    """Return the runs that would still write their profile over what is there."""
    return [
        run
        for run in dead_runs(live_files())
        if is_wanted(run) and (not os.path.exists(run.out) or _is_older(run))
    ]


def _is_meant(run: DeadRun, word: str) -> bool:
    """Return whether a word of a command line, as a full path, means a run."""
    path = real_path(run.out)
    if word in {path, os.path.dirname(path)} or fnmatch.fnmatchcase(path, word):
        return True
    is_rank = run.processes[0].rank is not None
    return is_rank and _DIGITS.sub("0", path) == _DIGITS.sub("0", word)


_DIGITS = re.compile(r"\d+")


def running_program(path: str) -> int | None:
    """Return the id of the process that will write the profile at `path`, or None."""
    wanted = real_path(path)
    for file in live_files():
        with suppress(LineprofError):
            notes = read_notes(file)
            if real_path(notes.out) == wanted and state_of(file, notes):
                return DeadProcess(file, notes).pid or None
    return None
