"""The asking side: connections to the sockets of running programs.

What a program sends may be anything, and is data: a line of limited length, and files
that the program itself has opened.
"""

from __future__ import annotations

import array
import json
import os
import select
import socket
import stat
import time
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from lineprof.control.watch import Watch
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from typing import Self

    from lineprof.control.place import Place
    from lineprof.control.watch import Patience
    from lineprof.private_folder import PrivateFolder

_MAX_LINE = 1 << 20  # bytes of a reply
_MAX_FILE = 1 << 30  # bytes of a file that is passed
_MAX_FILES = 4  # that are passed with one part of it
_CONNECT_TIMEOUT = 10.0  # s
_LEAVE_TIMEOUT = 1.0  # s
_SLICE = 0.05  # s between two looks at a process, where nothing tells of its end


class Connection:
    """A connection to a running program: a ``with`` block that ends it."""

    def __init__(
        self, pid: int, place: Place, folder: PrivateFolder | None = None
    ) -> None:
        """Connect to the process `pid`, whose socket is in the folder of `place`.

        `folder` is that one if it is open already. Raises FileNotFoundError or
        ConnectionRefusedError if the process does not listen, and LineprofError if the
        socket is not to be trusted, or nobody accepts there.
        """
        self._pid = pid
        self._received = b""
        self._files: list[int] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._watch = Watch(pid)
        self._socket.settimeout(_CONNECT_TIMEOUT)
        try:
            with nullcontext(folder) if folder else place.folder() as its_folder:
                its_folder.connect(self._socket, place.socket)
            _check_peer(self._socket, pid)
        except (FileNotFoundError, ConnectionRefusedError, LineprofError):
            self.close()
            raise
        except OSError as error:
            self.close()
            raise LineprofError(
                f"cannot connect to process {pid}: {error.strerror or error}",
                hint="try again a little later",
            ) from None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the connection; without an exception, as `leave` does."""
        if kind is None:
            self.leave()
        else:
            self.close()

    def leave(self) -> None:
        """End the connection, and wait until the process has followed, at most 1 s.

        Whatever it did for this client is undone then.
        """
        until = time.monotonic() + _LEAVE_TIMEOUT
        with suppress(OSError, LineprofError):
            self._socket.shutdown(socket.SHUT_WR)
            while self._wait(until) and self._socket.recv(_MAX_LINE):
                pass
        self.close()

    def close(self) -> None:
        """End the connection; files that were passed and not taken are closed."""
        self._socket.close()
        self._watch.close()
        while self._files:
            os.close(self._files.pop())

    def send(self, command: str, **values: object) -> None:
        """Send a request; LineprofError if the process has gone."""
        request = {"command": command, **values}
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            raise self._gone() from None

    def receive(self, timeout: float | None = None) -> dict[str, Any] | None:
        """Return the next message; None if none has come within `timeout` s.

        Raises LineprofError if the process ends the connection, or reports an error.
        """
        message = self.message(timeout)
        if message and "error" in message:
            raise LineprofError(
                str(message["error"]), hint=str(message.get("hint") or "")
            )
        return message

    def message(self, timeout: float | None = None) -> dict[str, Any] | None:
        """Return the next message, which may be an error, as `receive` does."""
        until = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._received:
            if not self._wait(until):
                return None
            data = self._part()
            if not data or len(self._received) > _MAX_LINE:
                raise self._gone()
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        with suppress(ValueError, RecursionError):
            message = json.loads(line)
            if isinstance(message, dict):
                return message
        raise self._gone()

    def _wait(self, until: float | None) -> bool:
        """Wait for data, or the end of the process; return False if it is too late.

        A process may end while a child of it keeps the connection.
        """
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        has_end = self._watch.descriptor >= 0
        if has_end:
            poll.register(self._watch.descriptor, select.POLLIN)
        while True:
            left = None if until is None else max(0.0, until - time.monotonic())
            wait = left if has_end else min(_SLICE, _SLICE if left is None else left)
            ready = {one for one, _ in poll.poll(None if wait is None else 1e3 * wait)}
            if self._socket.fileno() in ready:
                return True
            if self._watch.has_ended:
                raise self._gone()
            if until is not None and time.monotonic() >= until:
                return False

    def _part(self) -> bytes:
        """Return the next part of a message, and keep files that come with it."""
        space = socket.CMSG_SPACE(_MAX_FILES * array.array("i").itemsize)
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        try:
            data, passed, _, _ = self._socket.recvmsg(_MAX_LINE, space, flags)
        except OSError:
            return b""
        for level, kind, content in passed:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                handles = array.array("i")
                handles.frombytes(content[: len(content) // 4 * 4])
                self._files += handles
        while len(self._files) > _MAX_FILES:
            os.close(self._files.pop(0))
        return data

    def take_file(self) -> int | None:
        """Return the descriptor of the file that came last, which is the caller's.

        None if no file has come. LineprofError if it is something else, or too big.
        """
        if not self._files:
            return None
        handle = self._files.pop()
        try:
            check_size(handle, f"what process {self._pid} has passed")
        except BaseException:
            os.close(handle)
            raise
        return handle

    def ask(self, command: str, patience: Patience, **values: object) -> dict[str, Any]:
        """Send a request and return the reply.

        LineprofError if the process reports an error, has gone, or takes longer than
        `patience` lasts.
        """
        self.send(command, **values)
        patience.begin()
        while (reply := self.receive(patience.next_s())) is None:
            patience.check()
        return reply

    def _gone(self) -> GoneError:
        return GoneError(
            f"process {self._pid} has ended, or answers no more",
            hint="see whether it runs",
        )


def check_size(handle: int, what: str) -> None:
    """Raise LineprofError unless a descriptor is of a file that memory has room for."""
    try:
        status = os.fstat(handle)
    except OSError as error:
        raise LineprofError(f"cannot read {what}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise other_version(f"{what} is no file")
    if status.st_size > _MAX_FILE:
        raise LineprofError(
            f"{what} has {status.st_size >> 20} MB, more than {_MAX_FILE >> 20}",
            hint="attach for a shorter time, or exclude functions",
        )


def other_version(message: str) -> LineprofError:
    """Return the error for data that a process of this version would not send."""
    hint = "use the same version of lineprof on both sides"
    return LineprofError(message, hint=hint)


class GoneError(LineprofError):
    """The process at the other end has gone."""


def _check_peer(connection: socket.socket, pid: int) -> None:
    """Raise LineprofError unless the process `pid` is at the other end."""
    if not hasattr(socket, "SO_PEERCRED"):
        return
    size = 3 * array.array("i").itemsize
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    peer = array.array("i", data)[0]
    if peer not in {pid, 0}:  # 0: a process that this pid namespace does not show
        raise LineprofError(
            f"process {peer} listens in the place of process {pid}",
            hint="end that one, or remove its socket",
        )
