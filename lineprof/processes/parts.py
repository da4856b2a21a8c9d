"""Parts of a run: what each child process of a profiled program counted.

A run is a folder that only its user may enter. The first process makes it and leaves
there how children are to be profiled. The counts of a child are in a live file, beside
that of the first process, however it ends. Data that are not in live files, and all
data if there are none, are in a profile that the child leaves in the run's folder when
it ends; an empty file announces the profile. `collect` reads both.

The path of the settings is in one variable of the environment. The C library's
environment has it, which children inherit; `os.environ`, in which the program looks,
does not. A child that gets neither finds the settings by an entry.
"""

from __future__ import annotations

import marshal
import os
import re
import stat
import sys
from collections import namedtuple
from contextlib import suppress

from lineprof.errors import LineprofError
from lineprof.private_folder import (
    USUAL_TEMPORARY,
    check_folder,
    own_folder_name,
    temporary_folder,
)
from lineprof.process_info import start_ticks
from lineprof.storage import load
from lineprof.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from lineprof.model.profile import Profile

VARIABLE = "LINEPROF_CHILDREN"
_SETTINGS = "settings"
_ANNOUNCED, _PROFILE = ".announced", ".lprof"
_UNWRITTEN = ".unwritten"  # in place of the announced profile; a name takes no room
_NEW = ".new"  # end of the name of a file that is being written
_FOLDER = "lineprof-run"  # first part of the name of a run's folder
_OUR_ENDS = (_ANNOUNCED, _PROFILE, _UNWRITTEN, _NEW)
_RUNS = "runs"  # the folder of entries, in that of this user
_MARSHAL = 2  # the newest format that all versions of Python read alike


class Part(
    namedtuple("Part", "pid profile file is_empty error", defaults=(False, None))
):
    """A child, and the profile that it left; None if it left none."""

    __slots__ = ()

    pid: int
    profile: Profile | None
    file: str  # that it left: to be removed once its counts are in the run's profile
    # It never has a profile: it is a fork server, or its counts are in another part.
    is_empty: bool
    error: int | None  # why it could not write its profile, as errno; 0: unknown

    def remove(self) -> None:
        """Remove its file."""
        remove_file(self.file)


class Live(namedtuple("Live", "folder run out")):
    """Where the live files of a run are: a child has one of its own there."""

    __slots__ = ()

    folder: str
    run: str  # the name in each of them
    out: str  # the path of the run's profile


class Run(namedtuple("Run", "place")):
    """One run, by the path of the settings for the children of this process."""

    __slots__ = ()

    place: str

    @property
    def folder(self) -> str:
        """The folder of the run."""
        return os.path.dirname(self.place)

    @classmethod
    def new(cls) -> Run:
        """Make the folder of a new run; OSError if that fails."""
        name = f"{_FOLDER}-{os.getpid()}-{os.urandom(6).hex()}"
        folder = os.path.join(temporary_folder(), name)
        os.mkdir(folder, 0o700)
        return cls(os.path.join(folder, _SETTINGS))

    @classmethod
    def of_folder(cls, folder: str) -> Run | None:
        """Return the run with that folder; None if `new` makes none of such a name."""
        name = os.path.basename(folder)
        if re.fullmatch(_FOLDER + r"-\d+-[0-9a-f]{12}", name) is None:
            return None
        return cls(os.path.join(folder, _SETTINGS))

    @classmethod
    def of_environment(cls) -> Run | None:
        """Return the run that this process was started for; None if there is none.

        The variable is no longer in `os.environ` afterwards; children still inherit it.
        """
        place = os.environ.get(VARIABLE)
        if not place:
            return None
        names: dict[object, object] = os.environ._data  # type: ignore[attr-defined]  # noqa: SLF001
        names.pop(os.fsencode(VARIABLE), None)
        return cls(place) if _is_private(place) else None

    def hand_on(self) -> None:
        """Let the children that this process starts from now on join the run."""
        os.putenv(VARIABLE, self.place)

    def keep(self) -> None:
        """Let children join the run no more."""
        os.unsetenv(VARIABLE)
        _leave()

    def remove(self) -> None:
        """Remove the folder with all that runs leave in it, and its entries."""
        folder = self.folder
        _leave_all(folder)
        for name in _names(folder):
            if name.startswith(_SETTINGS) or name.endswith(_OUR_ENDS):
                remove_file(os.path.join(folder, name))
        with suppress(OSError):  # a child writes at this moment, or it has other files
            os.rmdir(folder)

    @property
    def has_profiles(self) -> bool:
        """Whether a child has left a profile in the folder."""
        return any(name.endswith(_PROFILE) for name in _names(self.folder))

    @property
    def is_open(self) -> bool:
        """Whether the first process still takes children."""
        return os.path.exists(self.place)

    # -- how children are profiled ----------------------------------------------------

    def set_up(self, settings: Mapping[str, object]) -> None:
        """Leave `settings` for children: plain values, by name; OSError."""
        told = {**settings, "version": VERSION}
        _write(self.place, marshal.dumps(told, _MARSHAL))
        _enter(self.place)

    def with_settings(self, settings: Mapping[str, object]) -> Run:
        """Return the same run with other settings for the children of this process.

        If there is no room for them, with the same ones.
        """
        other = Run(os.path.join(self.folder, f"{_SETTINGS}-{os.getpid()}"))
        try:
            other.set_up(settings)
        except OSError:
            return self
        return other

    def settings(self) -> dict[str, Any] | None:
        """Return the settings; None if there are none, or of another version."""
        found = _read(self.place)
        if isinstance(found, dict) and found.get("version") == VERSION:
            return found
        return None

    # -- parts ------------------------------------------------------------------------

    def parts(self) -> Iterator[Part]:
        """Yield the parts that children have left in the folder."""
        for name in sorted(_names(self.folder)):
            stem, end = os.path.splitext(name)
            pid = stem.partition("-")[0]
            if not pid.isdigit() or end not in {_ANNOUNCED, _PROFILE, _UNWRITTEN}:
                continue
            path, error = os.path.join(self.folder, name), None
            if end == _UNWRITTEN:
                number = stem.rpartition("-")[2]
                error = int(number) if number.isdigit() else 0
            profile = _of_file(path) if end == _PROFILE else None
            yield Part(pid=int(pid), profile=profile, file=path, error=error)

    def announce(self) -> str:
        """Return the name, without its end, of the file of this process, now made.

        "" if no file can be made: the run has ended, for example.
        """
        stem = os.path.join(self.folder, f"{os.getpid()}-{os.urandom(4).hex()}")
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
            os.close(os.open(stem + _ANNOUNCED, flags, 0o600))
        except OSError:
            return ""
        return stem


def _is_private(place: str) -> bool:
    """Return whether a file is this user's, in a folder that nobody else can enter.

    In a process with the rights of another user than the one who started it, none is.
    """
    if (os.getuid(), os.getgid()) != (os.geteuid(), os.getegid()):
        return False
    try:
        file, folder = os.lstat(place), os.lstat(os.path.dirname(place))
    except OSError:  # the run has ended
        return False
    mine = file.st_uid == folder.st_uid == os.getuid()
    return mine and stat.S_ISREG(file.st_mode) and not folder.st_mode & 0o077


def withdraw(stem: str) -> None:
    """Take back what `Run.announce` has announced."""
    remove_file(stem + _ANNOUNCED)


def write_profile(stem: str, save: Callable[[str], None]) -> None:
    """Let `save` write the profile of this process to the path that it is given."""
    save(stem + _NEW)
    os.replace(stem + _NEW, stem + _PROFILE)
    remove_file(stem + _ANNOUNCED)


def note_failure(stem: str, error: int) -> None:
    """Note that the profile which was announced cannot be written, because of `error`.

    `error` is a number of errno, 0 if unknown.
    """
    with suppress(OSError):  # the run has ended
        os.replace(stem + _ANNOUNCED, f"{stem}-{error}{_UNWRITTEN}")


def collect(run: Run, live: Live | None) -> Iterator[Part]:
    """Yield the parts of all children that have begun.

    Those of a process that has run several programs, one after the other, have the
    same pid.
    """
    if live is not None:
        from lineprof.processes.recovery import children_of  # noqa: PLC0415  # at the end

        yield from children_of(live.folder, live.run)
    yield from run.parts()


def _of_file(path: str) -> Profile | None:
    try:
        return load(path)
    except Exception:  # noqa: BLE001  # damaged: the child was ended while it wrote
        return None


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read(path: str) -> object:
    """Return the value in a file; None if there is none, or not all of it."""
    try:
        with open(path, "rb") as stream:
            return marshal.load(stream)  # noqa: S302  # of a folder of ours
    except (OSError, EOFError, ValueError, TypeError):
        return None


def _write(path: str, data: bytes) -> None:
    """Write a file that is there either whole or not at all; OSError."""
    flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY
    with open(os.open(path + _NEW, flags, 0o600), "wb") as stream:
        stream.write(data)
    os.replace(path + _NEW, path)


def remove_file(path: str) -> None:
    """Remove a file, if that is possible."""
    with suppress(OSError):
        os.unlink(path)


# Entries of runs: links by which a child finds a run that its environment lacks.
#
# A parent may start a child in C, with an environment of its own making: a copy of
# `os.environ` has no variable of ours. So each process that leaves settings for its
# children enters the path of the settings in a folder for this user, under its own
# number and start, which no other process of this system ever has together. A new
# Python looks for the entry of each of its ancestors, the nearest first: see
# `DOOR` in kernprof.
#
# The folder is there while there are runs; without it, no Python looks any further. Its
# place depends on nothing in the environment. Only Linux tells a process cheaply of its
# ancestors: elsewhere there are no entries.


def _entries() -> str:
    """Return the folder of the entries."""
    return os.path.join(USUAL_TEMPORARY, own_folder_name(), _RUNS)


def _enter(place: str) -> None:
    """Enter `place`, the path of the settings for the children of this process."""
    ticks = start_ticks(os.getpid()) if sys.platform == "linux" else None
    if ticks is None:
        return
    folder = _entries()
    path = os.path.join(folder, f"{os.getpid()}-{ticks}")
    # Without an entry there are only the children that have a variable.
    with suppress(OSError, LineprofError):
        _drop_entries(lambda name, _: _has_ended(name))  # of processes that were killed
        for made in (os.path.dirname(folder), folder):
            os.makedirs(made, mode=0o700, exist_ok=True)
            check_folder(made)
        os.symlink(place, path)


def _leave() -> None:
    """Remove the entry of this process."""
    own = f"{os.getpid()}-"
    _drop_entries(lambda name, _: name == f"{own}{start_ticks(os.getpid())}")


def _leave_all(folder: str) -> None:
    """Remove all entries of the run with that `folder`."""
    _drop_entries(lambda _, place: os.path.dirname(place) == folder)


def _drop_entries(is_over: Callable[[str, str], bool]) -> None:
    """Remove the entries for whose name and place `is_over` is true."""
    folder = _entries()
    with suppress(Exception):  # it has others, an audit hook refuses it...
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if is_over(name, os.readlink(path)):
                os.unlink(path)
        os.rmdir(folder)


def _has_ended(name: str) -> bool:
    """Return whether the process of an entry has ended."""
    pid, _, ticks = name.partition("-")
    return pid.isdigit() and str(start_ticks(int(pid))) != ticks


# Helpers of multiprocessing.


def is_helper(name: str, words: Iterable[str]) -> bool:
    """Return whether a command is that of a process that multiprocessing itself needs.

    `name` is that of its module: resource_tracker or forkserver. Packages made of
    multiprocessing (loky, multiprocess) have modules of the same names.
    """
    return any(_is_import(word.removeprefix("import sys; "), name) for word in words)


def _is_import(text: str, module: str) -> bool:
    """Return whether `text` begins with the import of `main` from a `module`."""
    words = text.split(None, 4)
    return (
        words[0:1] == ["from"]
        and words[2:3] == ["import"]
        and words[1].endswith(f".{module}")
        and words[3].startswith("main;")
    )
