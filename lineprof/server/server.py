"""HTTP on a socket: requests of any quality in, answers of a `Site` out.

Every connection has one request, a thread and a time limit, and there are so many of
them at most. Beyond, the oldest connection that has not sent a request yet is closed:
whoever may connect, but does not know the token, keeps nobody out. Nothing that a
client does prints more than one line.
"""

from __future__ import annotations

import errno
import io
import os
import select
import socket
import sys
import threading
import time
from contextlib import suppress
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TYPE_CHECKING

from lineprof.console.output import print_error
from lineprof.errors import LineprofError
from lineprof.server import pages
from lineprof.server.access import in_url
from lineprof.server.site import Request

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lineprof.server.pages import Answer

_MAX_CONNECTIONS = 64
_ENDS = "The server ends."
_MAX_WAITING = 64  # beside these, until they are answered: they know the token

_REQUEST_SECONDS = 10.0  # for all of a request
_SEND_SECONDS = 30.0  # for each chunk of an answer
_CHUNK = 1 << 16  # bytes

_CLOSING_SECONDS = 1.0  # until the thread of a closed connection has ended

_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE = 0.2  # s: a connection that cannot be taken waits, and would be tried at once


class _TimedReader(io.RawIOBase):
    """Bytes of a connection until a time: slow senders have no more than fast ones."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._end = time.monotonic() + seconds

    def readable(self) -> bool:
        """Return that it is."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  # any buffer
        """Read bytes; TimeoutError when the time is over."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    """One request. HTTP/1.0: the connection ends with the answer."""

    server: ReportServer
    default_request_version = "HTTP/1.0"  # bad requests get a status line as well

    def version_string(self) -> str:
        """Return the header Server."""
        return "lineprof"

    def setup(self) -> None:
        """Read within the time limit."""
        super().setup()
        self.rfile.close()
        timed = _TimedReader(self.connection, self.server.request_seconds)
        self.rfile = io.BufferedReader(timed)

    def do_GET(self) -> None:  # the name that the base class looks for
        """Answer a request."""
        self.server.has_request(self.connection)
        headers = self.headers or Message()  # HTTP/0.9 has none
        request = Request(
            target=self.path,
            hosts=headers.get_all("Host", []),
            cookies=headers.get_all("Cookie", []),
            credentials=headers.get_all("Authorization", []),
            address=self.connection.getsockname()[0],
            wait=None if self.command == "HEAD" else self._wait,
        )
        self._send(self.server.answer(request))

    def _wait(self, seconds: float) -> str:
        """Wait; return "", or at once why the wait has ended."""
        return self.server.wait(self.connection, seconds)

    do_HEAD = do_GET  # noqa: N815  # as above

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Answer a request that is none, without any text of its own."""
        del message, explain
        if code == HTTPStatus.NOT_IMPLEMENTED:
            code = HTTPStatus.METHOD_NOT_ALLOWED
        answer = pages.text(code, f"{HTTPStatus(code).phrase}.")
        if code == HTTPStatus.METHOD_NOT_ALLOWED:
            answer = answer._replace(headers=(*answer.headers, ("Allow", "GET, HEAD")))
        self._send(answer)
        self.close_connection = True

    def _send(self, answer: Answer) -> None:
        self.connection.settimeout(_SEND_SECONDS)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in (*pages.COMMON_HEADERS, *answer.headers):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            body = memoryview(answer.body)
            for start in range(0, len(body), _CHUNK):
                self.wfile.write(body[start : start + _CHUNK])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name
        """Print nothing: a request is no news."""


class ReportServer(ThreadingHTTPServer):
    """A server that listens at an address of this machine."""

    daemon_threads = True  # of requests: they do not delay the end
    allow_reuse_address = True  # right after the end of another run
    allow_reuse_port = False
    request_queue_size = _MAX_CONNECTIONS

    # Returns the answer to a request; to be set before the server runs.
    answer: Callable[[Request], Answer]

    def __init__(
        self, host: str, port: int, *, request_seconds: float = _REQUEST_SECONDS
    ) -> None:
        """Listen at a name or address; port 0 is any free one.

        LineprofError if that is not possible.
        """
        self.request_seconds = request_seconds
        self._free = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        # Connections that have not sent all of a request, the oldest first.
        self._silent: dict[socket.socket, None] = {}
        # Those that wait, or have waited, until they are answered.
        self._waiting: set[socket.socket] = set()
        self._lock = threading.Lock()  # of these
        self._said: set[str] = set()
        self._is_ending = False
        self._may_wait = threading.BoundedSemaphore(_MAX_WAITING)
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            self.address_family, _, _, _, address = found[0]
            # Those who wait see the end of the server: one end is closed then.
            self._end, self._ended = socket.socketpair()
            super().__init__(address[:2], _Handler)  # type: ignore[arg-type]
        except (OSError, UnicodeError, OverflowError) as error:
            raise _not_listening(host, port, error) from error

    @property
    def address(self) -> str:
        """The address at which it listens."""
        return str(self.socket.getsockname()[0])

    @property
    def port(self) -> int:
        """The port at which it listens."""
        return int(self.socket.getsockname()[1])

    def server_bind(self) -> None:
        """Bind the socket, without asking the network for this machine's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.address, self.port

    def get_request(self) -> tuple[socket.socket, Any]:
        """Take a connection; wait a moment if the system has no room for one."""
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in _SHORT:
                self._say(f"cannot take a connection: {os.strerror(error.errno)}")
                time.sleep(_PAUSE)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # of the base
        """Answer in a thread; of connections too many one is closed."""
        if not (self._free.acquire(blocking=False) or self._take_from_silent()):
            self.shutdown_request(request)
            return
        with self._lock:
            self._silent[request] = None
        try:
            super().process_request(request, client_address)
        except KeyboardInterrupt:  # it may come after the thread began
            self._is_ending = True
            raise
        except Exception:
            self.has_request(request)
            self._free.release()
            raise

    def has_request(self, connection: socket.socket) -> None:
        """Note that a connection has sent a request, or is over."""
        with self._lock:
            self._silent.pop(connection, None)

    def wait(self, connection: socket.socket, seconds: float) -> str:
        """Wait, once for a connection, which leaves its place to others for good.

        Returns "", or why the wait has ended earlier: the client has gone, or the
        server ends, or too many wait.
        """
        if self._end.fileno() < 0:
            return _ENDS
        if not self._may_wait.acquire(blocking=False):
            return f"{_MAX_WAITING} requests are waiting: ask again later."
        with self._lock:
            self._waiting.add(connection)
        self._free.release()
        return _wait_for_end(connection, self._ended, seconds)

    def server_close(self) -> None:
        """Listen no more, and end all waits."""
        super().server_close()
        self._end.close()
        # Requests that wait have the other end open: they are not many.
        for _ in range(_MAX_WAITING):
            if not self._may_wait.acquire(timeout=_CLOSING_SECONDS):
                break
        self._ended.close()

    def _take_from_silent(self) -> bool:
        """End the oldest connection without a request; return whether there was one."""
        with self._lock:
            oldest = next(iter(self._silent), None)
            if oldest is None:
                return False
            del self._silent[oldest]
            with suppress(OSError):  # it has just ended
                oldest.shutdown(socket.SHUT_RDWR)  # which its thread notices
        return self._free.acquire(timeout=_CLOSING_SECONDS)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # of the base
        """Answer a request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.has_request(request)
            with self._lock:
                has_waited = request in self._waiting
                self._waiting.discard(request)
            (self._may_wait if has_waited else self._free).release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # of the base
        """Say what went wrong, unless the client has gone or is too slow."""
        del request, client_address
        error = sys.exception()
        if not (self._is_ending or isinstance(error, (ConnectionError, TimeoutError))):
            self._say(f"cannot answer a request: {type(error).__name__}: {error}")

    def _say(self, line: str) -> None:
        """Print a line once."""
        if line not in self._said:
            self._said.add(line)
            print_error(line)


def _wait_for_end(
    connection: socket.socket, ended: socket.socket, seconds: float
) -> str:
    """Wait; return "", or at once if the client has gone, or the server ends."""
    gone = getattr(select, "POLLRDHUP", 0)  # Linux alone has it
    until = time.monotonic() + seconds
    poll = select.poll()
    poll.register(connection, select.POLLIN | gone)
    poll.register(ended, select.POLLIN)
    while (left := until - time.monotonic()) > 0:
        for descriptor, event in poll.poll(1000 * left):
            if descriptor == ended.fileno():
                return _ENDS
            if event & ~select.POLLIN or not connection.recv(1, socket.MSG_PEEK):
                return "The client has gone."
            poll.modify(connection, gone)  # it has sent more than a request
    return ""


def _not_listening(host: str, port: int, error: Exception) -> LineprofError:
    """Return the error of a server that cannot listen."""
    number = getattr(error, "errno", None)
    place = f"port {port} of {in_url(host)}"
    remedy = "choose another one with --port"
    if isinstance(error, (socket.gaierror, UnicodeError)):
        problem = f"there is no address {host!r}"
        remedy = "name one of this machine with --host"
    elif number == errno.EADDRNOTAVAIL:
        problem = f"{host!r} is no address of this machine"
        remedy = "name one with --host"
    elif number == errno.EADDRINUSE:
        problem = f"{place} is in use"
    else:
        reason = getattr(error, "strerror", None) or str(error)
        problem = f"cannot listen at {place}: {reason}"
    return LineprofError(problem, hint=f"{remedy}, or leave that out")
