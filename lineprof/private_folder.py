"""The folder of one user's own files below the one for temporary files.

Programs and their clients meet there: sockets, live files, and the first code of a
program that is attached to. Another user may have made a folder of that name first, and
the owner of a folder may put anything into it, at any moment, while root works there.
So a folder is opened once, checked by its descriptor and used through that alone; a
file in it is opened only if it is a file and its owner's; a new file never takes the
place of another one; and root works in the folder of another user with the rights of
that user.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress

from lineprof.errors import LineprofError
from lineprof.files import absolute_path, closed_after
from lineprof.held_signals import blocked_signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from _socket import socket
    from collections.abc import Sequence
    from typing import Self

else:
    import _signal  # `signal` wraps it in enums, which takes 4 ms

TEMPORARY = ("TMPDIR", "TEMP", "TMP")  # variables with the folder
USUAL_TEMPORARY = "/tmp"  # noqa: S108  # the folder in it is this user's, and checked
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A file that may be a pipe or a terminal must not be waited for.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY)  # a descriptor for use as `dir_fd`
_ALL_SIGNALS = _signal.valid_signals()
_MADE_ALONE = "make it yours alone (chmod 700)"


def own_folder_name(user: int | None = None) -> str:
    """Return the name of the folder of a user, by default this process's."""
    return f"lineprof-{os.getuid() if user is None else user}"


def temporary_folder() -> str:
    """Return the folder for temporary files, as `tempfile` would choose it."""
    for name in TEMPORARY:
        folder = os.environ.get(name)
        if folder and os.path.isdir(folder):
            return absolute_path(folder)
    return USUAL_TEMPORARY


def own_folder() -> str:
    """Return the path of this user's folder, which may not exist yet."""
    return os.path.join(temporary_folder(), own_folder_name())


def check_folder(folder: str, *, hint: str = "set TMPDIR") -> None:
    """Raise LineprofError unless nobody else can put files into `folder`."""
    _refuse(os.lstat(folder), folder, os.getuid(), hint)


def _refuse(status: os.stat_result, path: str, owner: int, remedy: str) -> None:
    """Raise LineprofError unless `status` is of a folder of the owner's alone.

    `remedy` is what to do if there cannot be such a folder.
    """
    if not stat.S_ISDIR(status.st_mode):
        raise LineprofError(f"{path} is no folder", hint=remedy)
    if status.st_uid != owner or status.st_mode & _OTHERS_WRITE:
        raise LineprofError(
            f"other users can write to {path}", hint=f"{_MADE_ALONE}, or {remedy}"
        )


def open_file(path: str, *, owner: int, folder: int | None = None) -> int:
    """Return a descriptor of the file at `path`, below the open `folder` if given.

    Never follows a link, and never waits. OSError if the file cannot be opened,
    LineprofError if it is no file, or not the `owner`'s.
    """
    handle = os.open(path, _FILE, dir_fd=folder)
    try:
        _check_file(os.fstat(handle), path, owner)
    except BaseException:
        os.close(handle)
        raise
    return handle


def create_file(path: str, *, folder: int | None = None) -> int:
    """Return a descriptor, for both ways, of a new file that its owner alone can open.

    `folder` is as for `open_file`. OSError if it fails, also if there is such a name.
    """
    return os.open(path, _NEW_FILE, 0o600, dir_fd=folder)


def _check_file(status: os.stat_result, path: str, owner: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise LineprofError(f"cannot read {path}: it is no file", hint="remove it")
    if status.st_uid != owner:
        raise LineprofError(
            f"cannot read {path}: it is another user's",
            hint="run this command as that user",
        )


class Rights:
    """The rights of one user: a ``with`` block in which the process has no others.

    Only root can have the rights of another user. The whole process has them, so that
    it must not have other threads which open files.
    """

    def __init__(self, user: int, group: int, groups: Sequence[int] = ()) -> None:
        """Take the number of the user, of its group and of its other groups."""
        self.user = user
        self._group, self._groups = group, groups
        self._own_groups: list[int] | None = None  # within the block

    @classmethod
    def own(cls) -> Rights:
        """Return the rights of this process's user."""
        return cls(os.getuid(), os.getgid())

    @property
    def are_own(self) -> bool:
        """Whether they are those of this process's user."""
        return self.user == os.getuid()

    def __enter__(self) -> None:
        """Take the rights; LineprofError if this process cannot have them."""
        if self.are_own:
            return
        try:
            # A handler of a signal could raise an exception halfway.
            before = blocked_signals()
            try:
                _signal.pthread_sigmask(_signal.SIG_BLOCK, _ALL_SIGNALS)
                self._take()
            finally:
                _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
        except OSError as error:
            self._give_back()
            raise LineprofError(
                f"this process cannot act as the user {self.user}: {error.strerror}",
                hint="run this command as that user, or as root",
            ) from None
        except BaseException:  # of a handler
            self.__exit__()
            raise

    def __exit__(self, *_exception: object) -> None:
        """Have the rights of this process's user again."""
        if self._own_groups is None:
            return
        before = blocked_signals()
        try:
            _signal.pthread_sigmask(_signal.SIG_BLOCK, _ALL_SIGNALS)
            self._give_back()
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)

    def _take(self) -> None:
        self._own_groups = os.getgroups()
        os.setgroups(self._groups)
        os.setegid(self._group)
        os.seteuid(self.user)

    def _give_back(self) -> None:
        os.seteuid(os.getuid())
        os.setegid(os.getgid())
        if os.getuid() == 0 and self._own_groups is not None:  # others cannot set them
            os.setgroups(self._own_groups)
        self._own_groups = None


class PrivateFolder:
    """A folder of one user's alone, which stays open: a ``with`` block that closes it.

    Files that this object creates are locked until then, so that others see that they
    are in use.
    """

    def __init__(self, handle: int, path: str, rights: Rights | None = None) -> None:
        """Take the descriptor of the folder at `path`, and close it in the end.

        `rights` are those of its owner, by default this user. LineprofError if the
        folder is another user's, or others can write to it.
        """
        self.path = path
        self._handle = handle
        self.rights = rights or Rights.own()
        self._created: dict[str, int] = {}
        try:
            _refuse(os.fstat(handle), path, self.rights.user, "set TMPDIR")
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, path: str, *, make: bool = False) -> Self:
        """Open this user's folder at `path`; with `make`, make it if there is none.

        OSError if that fails, LineprofError if the folder is not this user's alone.
        """
        if make:
            os.makedirs(path, mode=0o700, exist_ok=True)
        return cls(_open_folder(path, None, path), path)

    @classmethod
    def below(cls, parent: int, path: str, rights: Rights, *, make: bool) -> Self:
        """Open the folder at `path`, whose parent folder is open: see `open`."""
        name = os.path.basename(path)
        with rights:
            try:
                handle = _open_folder(name, parent, path)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):  # another process has just made it
                    os.mkdir(name, 0o700, dir_fd=parent)
                handle = _open_folder(name, parent, path)
        return cls(handle, path, rights)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder; files that were created in it are in use no longer."""
        for handle in self._created.values():
            os.close(handle)
        self._created.clear()
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    # Files.

    def names(self) -> list[str]:
        """Return the names of all files; OSError."""
        with self.rights:
            folder = os.open(os.curdir, os.O_RDONLY | _FOLDER, dir_fd=self._handle)
            with closed_after(folder):
                return os.listdir(folder)

    def create(self, name: str, data: bytes = b"") -> None:
        """Create a file that its owner alone can read; LineprofError.

        A file or a link of that name is left as it is, which is an error.
        """
        import fcntl  # noqa: PLC0415  # for clients alone

        try:
            with self.rights:
                handle = create_file(name, folder=self._handle)
            self._created[name] = handle
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            view = memoryview(data)
            while view:  # not by `open`, which the program may have replaced
                view = view[os.write(handle, view) :]
        except OSError as error:
            raise LineprofError(
                f"cannot write to {self.path}: {error.strerror}",
                hint="make room there, or see whose it is",
            ) from None

    def remove_created(self) -> None:
        """Remove the files that this object has created, as far as that is possible."""
        for name in self._created:
            with suppress(OSError, LineprofError):
                self.remove(name)

    def is_in_use(self, name: str) -> bool:
        """Return whether a process that created a file still runs; OSError.

        LineprofError if it is no file.
        """
        import fcntl  # noqa: PLC0415  # for clients alone

        with closed_after(self.open_file(name)) as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def open_file(self, name: str) -> int:
        """Return a descriptor for reading a file of the owner's: see `open_file`."""
        with self.rights:
            return open_file(name, owner=self.rights.user, folder=self._handle)

    def read(self, name: str, limit: int) -> bytes:
        """Return at most `limit` bytes of a file; OSError or LineprofError."""
        parts, left = [], limit
        with closed_after(self.open_file(name)) as handle:
            while left and (part := os.read(handle, left)):
                parts.append(part)
                left -= len(part)
        return b"".join(parts)

    def status(self, name: str) -> os.stat_result:
        """Return the status of a file, or of a link; OSError."""
        with self.rights:
            return os.stat(name, dir_fd=self._handle, follow_symlinks=False)

    def remove(self, name: str) -> bool:
        """Remove a file; return whether there was one. OSError if that fails."""
        try:
            with self.rights:
                os.unlink(name, dir_fd=self._handle)
        except FileNotFoundError:
            return False
        return True

    # Sockets.

    def bind(self, new: socket, name: str) -> None:
        """Give a socket a name that this user alone can connect to; OSError."""
        if sys.platform == "linux":
            os.fchmod(new.fileno(), 0o600)
            new.bind(f"/proc/self/fd/{self._handle}/{name}")
        else:
            new.bind(os.path.join(self.path, name))

    def connect(self, new: socket, name: str) -> None:
        """Connect to the socket of the owner's that has a name.

        Raises FileNotFoundError or ConnectionRefusedError if nobody listens, other
        OSErrors, and LineprofError if it is no socket of the owner's.
        """
        if sys.platform != "linux":
            new.connect(os.path.join(self.path, name))
            return
        with self.rights:
            flags = PATH_ONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            with closed_after(os.open(name, flags, dir_fd=self._handle)) as handle:
                status = os.fstat(handle)
                is_socket = stat.S_ISSOCK(status.st_mode)
                if not is_socket or status.st_uid != self.rights.user:
                    path = os.path.join(self.path, name)
                    raise LineprofError(
                        f"{path} is no socket of its folder's owner", hint="remove it"
                    )
                new.connect(f"/proc/self/fd/{handle}")


def _open_folder(name: str, parent: int | None, path: str) -> int:
    """Return a descriptor of a folder; OSError, LineprofError if it is none.

    `path` is its name for messages.
    """
    try:
        return os.open(name, PATH_ONLY | _FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ENOTDIR, errno.ELOOP}:  # a file, or a link
            raise LineprofError(f"{path} is no folder", hint="set TMPDIR") from None
        raise
