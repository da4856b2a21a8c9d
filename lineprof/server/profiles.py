"""Profiles that are served: one file, or the files of a folder.

A profile has an id, a hash of its name. Requests name profiles by their ids alone, so
that no text of a request is ever part of a path.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import deque
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import LineprofError, printable, without_surrogates
from lineprof.files import absolute_path
from lineprof.storage.reader import load_processes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SUFFIX = ".lprof"

_MAX_DEPTH = 8  # of folders below the one that is served
_MAX_NAMES = 100_000  # of files and folders that are looked at
_MAX_PROFILES = 1000  # that are listed: the newest ones

_MAX_KNOWN = 10_000  # ids of profiles, also of those that are gone

_RESCAN = 1.0  # s between two searches of a folder

_MAX_PROGRAM = 300  # characters of a program's command line in the list


class FileState(NamedTuple):
    """A value that changes when a file is written to or replaced."""

    changed_ns: int  # a program can set the other time
    written_ns: int  # since the epoch
    size: int  # bytes
    inode: int
    device: int

    @property
    def revision(self) -> str:
        """A short name for this state of the file."""
        return sha256(repr((*self,)).encode()).hexdigest()[:16]


class ServedProfile(NamedTuple):
    """A profile that can be asked for by its id."""

    id: str
    name: str  # for people, without control characters
    path: str  # absolute
    follows_links: bool  # whether the path may have symbolic links

    def state(self) -> FileState | None:
        """Return the state of the file; None if it is not a regular file."""
        try:
            if not self.follows_links and os.path.realpath(self.path) != self.path:
                return None
            status = os.stat(self.path)
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return FileState(
            status.st_ctime_ns,
            status.st_mtime_ns,
            status.st_size,
            status.st_ino,
            status.st_dev,
        )


class Listed(NamedTuple):
    """A row of the list of profiles."""

    profile: ServedProfile
    state: FileState
    program: str  # its command line; "" if unknown
    wall_ns: int  # of its longest process; 0 if unknown


class Listing(NamedTuple):
    """Profiles of a folder, the newest first."""

    rows: Sequence[Listed] = ()
    remark: str = ""  # why it may not be all


class OneProfile:
    """The profile in a file that the user named."""

    def __init__(self, file: str) -> None:
        """Take the name of the file, which may be a symbolic link."""
        self.name = shown(file)
        self.only = ServedProfile(
            _id_of(file), self.name, absolute_path(file), follows_links=True
        )

    def find(self, profile_id: str) -> ServedProfile | None:
        """Return the profile if it has this id."""
        return self.only if profile_id == self.only.id else None

    def named(self, text: str) -> ServedProfile | None:
        """Return the profile if that is its id, or its name."""
        return self.only if text in {self.only.id, self.name} else None

    def newest(self) -> ServedProfile | None:
        """Return the profile."""
        return self.only

    def listing(self) -> Listing:
        """Return no rows: one profile has no list."""
        return Listing()


class Folder:
    """Profiles in a folder and in the folders below it.

    Symbolic links below the folder are not followed: neither a link to a profile nor
    one to a folder leads out of it. Hidden folders are passed over.
    """

    only = None  # no single profile is served

    def __init__(self, folder: str) -> None:
        """Take the name of the folder."""
        self.name = shown(folder)
        self._root = os.path.realpath(folder)
        self._lock = threading.Lock()
        self._listing = Listing()
        self._profiles: dict[str, ServedProfile] = {}
        self._programs: dict[tuple[str, FileState], tuple[str, int]] = {}
        self._next = 0.0  # when the folder is to be searched again, by the clock

    def find(self, profile_id: str) -> ServedProfile | None:
        """Return the profile with this id, if it was in a list."""
        found = self._profiles.get(profile_id)
        if found is None:
            self.listing()  # a page may be older than this server
        return found or self._profiles.get(profile_id)

    def named(self, text: str) -> ServedProfile | None:
        """Return the profile with this id, or else with this name in the list."""
        rows = [row.profile for row in self.listing().rows]
        named = (one for one in rows if one.name == text)
        return self.find(text) or next(named, None)

    def newest(self) -> ServedProfile | None:
        """Return the profile that was written last; None if there is none."""
        return next((row.profile for row in self.listing().rows), None)

    def listing(self) -> Listing:
        """Return the profiles that are there now, or were a moment ago."""
        with self._lock:
            if time.monotonic() >= self._next:
                self._listing = self._scan()
                self._next = time.monotonic() + _RESCAN
            return self._listing

    def _scan(self) -> Listing:
        remark = ""
        found: list[tuple[ServedProfile, FileState]] = []
        try:
            for count, name in enumerate(self._names()):
                if name.endswith(_SUFFIX):
                    path = os.path.join(self._root, name)
                    one = ServedProfile(
                        _id_of(name), shown(name), path, follows_links=False
                    )
                    state = one.state()
                    if state is not None:
                        found.append((one, state))
                if count == _MAX_NAMES:
                    remark = f"only the first {_MAX_NAMES:,} files were looked at"
                    break
        except OSError as error:
            return Listing(remark=f"cannot read {self.name}: {error.strerror}")
        found.sort(key=lambda one: (-one[1].written_ns, one[0].name))
        if len(found) > _MAX_PROFILES:
            remark = f"only the newest {_MAX_PROFILES:,} of {len(found):,} are listed"
            del found[_MAX_PROFILES:]
        self._programs = {
            (one.id, at): self._programs.get((one.id, at)) or _program_of(one.path)
            for one, at in found
        }
        if len(self._profiles) > _MAX_KNOWN:
            self._profiles.clear()
        # Those that are gone stay known: a page that shows one says that it is gone.
        self._profiles.update({one.id: one for one, _ in found})
        rows = [Listed(one, at, *self._programs[one.id, at]) for one, at in found]
        return Listing(rows, remark)

    def _names(self) -> Iterator[str]:
        """Yield the names of files below the folder, relative to it.

        OSError if the folder itself cannot be read; others are passed over.
        """
        folders = deque([("", 0)])
        while folders:
            folder, depth = folders.popleft()
            try:
                with os.scandir(os.path.join(self._root, folder)) as entries:
                    for entry in entries:
                        name = os.path.join(folder, entry.name)
                        if not entry.is_dir(follow_symlinks=False):
                            yield name
                        elif depth < _MAX_DEPTH and not entry.name.startswith("."):
                            folders.append((name, depth + 1))
            except OSError:
                if not folder:
                    raise


Profiles = OneProfile | Folder


class ReadingError(Exception):
    """One line on a profile that cannot be read."""


@contextmanager
def reading(profile: ServedProfile) -> Iterator[None]:
    """Raise ReadingError for any error: it names the profile, and not its path."""
    try:
        yield
    except Exception as error:
        raise ReadingError(problem_of(profile, error)) from error


def problem_of(profile: ServedProfile, error: Exception) -> str:
    """Return in one line why a profile cannot be read, without its path."""
    if isinstance(error, LineprofError):
        return shown(str(error)).replace(shown(profile.path), profile.name)
    if isinstance(error, FileNotFoundError):
        return f"{profile.name} is not there any more"
    return f"{profile.name} cannot be shown: {type(error).__name__}"


def _id_of(name: str) -> str:
    return sha256(os.fsencode(name)).hexdigest()[:16]


def shown(text: str) -> str:
    """Return a name as text for people: no control characters, valid Unicode."""
    return without_surrogates(printable(text))


def _program_of(path: str) -> tuple[str, int]:
    """Return the command line of a profile's program, and its wall time (ns)."""
    try:
        processes = load_processes(path)
    except LineprofError:  # its own page has the reason
        return "", 0
    argv = next((one.argv for one in processes if one.argv), ())
    words = [os.path.basename(argv[0]), *argv[1:]] if argv else []
    return (
        shown(" ".join(words)[:_MAX_PROGRAM]),
        max((one.wall_ns for one in processes), default=0),
    )
