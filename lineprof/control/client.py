"""The asking side: connections to the sockets of running programs."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_MAX_LINE = 1 << 20  # bytes of a reply
_CONNECT_TIMEOUT = 10.0  # s
_LEAVE_TIMEOUT = 1.0  # s


class Connection:
    """A connection to a running program: a ``with`` block that ends it."""

    def __init__(self, pid: int, path: str) -> None:
        """Connect to the process `pid`, whose socket is at `path`.

        Raises FileNotFoundError or ConnectionRefusedError if it does not listen, and
        LineprofError if the socket is not to be trusted.
        """
        self._pid = pid
        self._received = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_CONNECT_TIMEOUT)
        try:
            _connect(self._socket, path)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the connection; without an exception, as `leave` does."""
        if kind is None:
            self.leave()
        else:
            self.close()

    def leave(self) -> None:
        """End the connection, and wait until the process has followed, at most 1 s.

        Whatever it did for this client is undone then.
        """
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
            self._socket.settimeout(_LEAVE_TIMEOUT)
            while self._socket.recv(_MAX_LINE):
                pass
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

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
        self._socket.settimeout(timeout)
        while b"\n" not in self._received:
            try:
                data = self._socket.recv(_MAX_LINE)
            except TimeoutError:
                return None
            except OSError:
                data = b""
            if not data or len(self._received) > _MAX_LINE:
                raise self._gone()
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        with suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict):
                return message
        raise self._gone()

    def ask(self, command: str, **values: object) -> dict[str, Any]:
        """Send a request and return the reply; LineprofError."""
        self.send(command, **values)
        reply = self.receive()
        assert reply is not None  # noqa: S101  # there is no timeout
        return reply

    def _gone(self) -> GoneError:
        return GoneError(
            f"process {self._pid} has ended, or answers no more",
            hint="see whether it runs",
        )


class GoneError(LineprofError):
    """The process at the other end has gone."""


def _connect(connection: socket.socket, path: str) -> None:
    """Connect to the socket at `path`, of any length; its folder is checked."""
    folder, name = os.path.split(path)
    if not hasattr(os, "O_PATH"):
        connection.connect(path)
        return
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(folder, flags)
    try:
        _check(handle, folder)
        connection.connect(f"/proc/self/fd/{handle}/{name}")
    finally:
        os.close(handle)


def _check(handle: int, folder: str) -> None:
    """Raise LineprofError if others can put files into the folder; root may use all."""
    status, user = os.fstat(handle), os.getuid()
    if status.st_mode & 0o022 or (user and status.st_uid != user):
        raise LineprofError(
            f"other users can write to {folder}", hint="make it yours alone (chmod 700)"
        )
