"""The listening side of a running program: a socket, and a thread that takes requests.

A request is one line of JSON, an object with the key "command"; so is the reply. The
thread sleeps in a system call until there is a request, so that a program that nobody
asks for anything is not slowed down.
"""

from __future__ import annotations

import _socket as socket  # `socket` makes enums and imports selectors: 4 ms
import errno
import json
import os
import select
import sys
from contextlib import ExitStack, nullcontext, suppress
from functools import partial

from lineprof.errors import LineprofError
from lineprof.quiet_threads import ForkGuard, QuickTurns, QuietThread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    from lineprof.private_folder import PrivateFolder

    Request = dict[str, Any]
    Reply = dict[str, Any]

    class Owner(Protocol):
        """Who answers; all but `forked` are called on the listener's thread."""

        def handle(self, peer: Peer, request: Request) -> Reply:
            """Return the reply to a request; a LineprofError becomes one."""

        def left(self, peer: Peer) -> None:
            """Follow a peer that has gone."""

        def waited(self) -> None:
            """Close the listener: no peer has come in time."""

        def forked(self) -> None:
            """Follow a fork, in the child, where the listener is closed."""


MAX_REQUEST = 1 << 16  # bytes of a line
_BACKLOG = 8
_SEND_TIMEOUT = 10.0  # s for a peer that does not read
_FIRST_REQUEST = 50  # ms within which a client mostly sends it
_HANDLE = 4  # bytes of a descriptor, a C int


class ReplyWithFile(dict):  # type: ignore[type-arg]
    """A reply with an open file: the client gets a descriptor of its own."""

    def __init__(self, reply: Reply, handle: int) -> None:
        """Pass `handle` with the reply, and close it then."""
        super().__init__(reply)
        self.handle = handle


class Peer:
    """One connected client."""

    def __init__(self, connection: socket.socket) -> None:
        """Take its connection."""
        self._connection = connection
        self._received = b""

    @property
    def handle(self) -> int:
        """The file descriptor of its connection."""
        return self._connection.fileno()

    def requests(self) -> list[bytes] | None:
        """Return the complete lines that have come; None at the end of the connection.

        To be called when there is something to read.
        """
        try:
            data = self._connection.recv(MAX_REQUEST)
        except (OSError, ValueError):
            return None
        self._received += data
        *lines, self._received = self._received.split(b"\n")
        if not data or len(self._received) > MAX_REQUEST:
            return None
        return lines

    def send(self, reply: Reply) -> bool:
        """Send a reply, or a message; return whether it has left."""
        handle = reply.handle if isinstance(reply, ReplyWithFile) else None
        try:
            data = json.dumps(reply).encode() + b"\n"
            if handle is not None:
                passed = handle.to_bytes(_HANDLE, sys.byteorder)
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)
                data = data[self._connection.sendmsg([data], [rights]) :]
            self._connection.sendall(data)
        except (OSError, ValueError):
            return False
        finally:
            if handle is not None:
                os.close(handle)
        return True

    def close(self) -> None:
        """End the connection."""
        with suppress(OSError):
            self._connection.close()


class Listener:
    """A socket in a folder, whose requests are answered by a thread of its own.

    With `patience`, a peer is about to come: the thread has quick turns until then
    (`QuickTurns`), and the owner is told when none has come for so many seconds.
    """

    def __init__(
        self,
        folder: PrivateFolder,
        name: str,
        owner: Owner,
        *,
        patience: float | None = None,
    ) -> None:
        """Listen at a `name` in `folder`; OSError if that is impossible.

        A socket that a process of the same number left there is replaced. The folder
        is closed with the listener.
        """
        self._owner, self._folder, self._name = owner, folder, name
        self._patience = patience
        self._is_met = False  # by a peer
        self._is_hidden = self._is_closed = self._has_ended = False
        self._peers: dict[int, Peer] = {}
        self._turns: QuickTurns | None = None  # until the first peer
        self._thread: QuietThread | None = None
        with ExitStack() as undo:  # closes all of these if one cannot be opened
            undo.callback(folder.close)
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            undo.callback(self._socket.close)
            self._wake, self._woken = os.pipe()  # read and write, to wake the thread
            undo.callback(os.close, self._wake)
            undo.callback(os.close, self._woken)
            folder.remove(name)
            folder.bind(self._socket, name)
            self._socket.listen(_BACKLOG)
            self._socket.setblocking(False)
            self._opened = undo.pop_all()

    def start(self) -> None:
        """Answer requests from now on."""
        ForkGuard.watch(self)
        if self._patience is not None:
            self._turns = QuickTurns()
            self._turns.begin()
        self.resume()

    def hide(self) -> None:
        """Remove the socket's name: nobody else can connect from now on."""
        if not self._is_hidden:
            self._is_hidden = True  # another listener may have that name soon
            with suppress(OSError):
                self._folder.remove(self._name)

    def close(self) -> None:
        """Answer no more; wait for an answer in progress, unless it calls this."""
        self.hide()
        self._is_closed = True
        thread = self._thread
        if thread is not None and thread.is_here:
            # It calls `_end` when it has returned from here and is woken.
            self._wake_up()
            return
        self.pause()
        self._end()

    def _end(self) -> None:
        """Close all descriptors, if the listener is closed: no thread needs them."""
        if not self._is_closed or self._has_ended:
            return
        self._has_ended = True  # the program may get the same descriptors from now on
        ForkGuard.forget(self)
        self._end_turns()
        for peer in self._peers.values():
            peer.close()
        self._peers.clear()
        with suppress(OSError):
            self._opened.close()
        # No cycle is left as garbage, which Python may collect much later.
        self._thread = None
        del self._owner

    # The thread, which does not exist while the process forks.

    def pause(self) -> None:
        """End the thread for a while."""
        thread = self._thread
        if thread is None:
            return
        thread.end()  # it may close the listener before: see `close`
        self._end_turns()
        self._thread = None
        if not self._has_ended:
            with suppress(OSError):
                os.read(self._wake, 1)

    def resume(self) -> None:
        """Start a thread again."""
        if self._thread is not None or self._is_closed:
            return
        self._poll = poll = select.poll()
        for descriptor in (self._wake, self._socket.fileno(), *self._peers):
            poll.register(descriptor, select.POLLIN)
        wait = poll.poll
        if self._patience is not None and not self._is_met:
            wait = partial(poll.poll, 1000 * self._patience)
        until = [(self._wake, select.POLLIN)]
        self._thread = QuietThread(wait, until, self._answer, self._wake_up, self._end)

    def forked(self) -> None:
        """Close the descriptors in a child: its parent alone is asked."""
        self._is_closed = True
        owner = self._owner
        self._end()
        owner.forked()

    def _wake_up(self) -> None:
        if not self._has_ended:
            with suppress(OSError):
                os.write(self._woken, b"\0")

    def _end_turns(self) -> None:
        turns, self._turns = self._turns, None
        if turns:
            turns.end()

    def _answer(self, events: Any) -> None:  # noqa: ANN401  # of `poll`
        if self._is_closed:
            # A client that comes now is not answered: it would be served by an owner
            # that has ended. The next wait has no other event than the end.
            for descriptor in (self._socket.fileno(), *self._peers):
                with suppress(KeyError):
                    self._poll.unregister(descriptor)
            return
        # A client that leaves waits until its connection is closed: the program has its
        # own turns again by then. One that was killed is followed without quick turns.
        is_waiting = not all(event & select.POLLHUP for _, event in events)
        with QuickTurns() if is_waiting else nullcontext():
            self._end_turns()
            gone = [peer for peer in self._asking(events) if not self._serve(peer)]
            for peer in gone:
                self._drop(peer)
        for peer in gone:
            peer.close()
        if not events and not self._is_met:
            self._owner.waited()

    def _asking(self, events: Any) -> Iterator[Peer]:  # noqa: ANN401
        """Yield clients from which something has come."""
        for descriptor, event in events:
            peer = self._peers.get(descriptor)
            if descriptor == self._wake:
                continue
            if peer is None and event & select.POLLIN:
                peer = self._accepted()
            elif peer is None:
                raise OSError(errno.EBADF, "the program has closed the socket")
            if peer is not None:
                yield peer

    def _accepted(self) -> Peer | None:
        """Accept a client; return it if its first request has come as well."""
        try:
            # The public `accept` is one of `socket`'s classes alone.
            handle, _ = self._socket._accept()  # type: ignore[attr-defined]  # noqa: SLF001
        except (BlockingIOError, InterruptedError, ConnectionError):
            return None  # that client has gone
        connection = socket.socket(fileno=handle)
        connection.settimeout(_SEND_TIMEOUT)
        peer = Peer(connection)
        self._peers[peer.handle] = peer
        self._poll.register(peer.handle, select.POLLIN)
        self._is_met = True
        soon = select.poll()
        soon.register(peer.handle, select.POLLIN)
        return peer if soon.poll(_FIRST_REQUEST) else None

    def _serve(self, peer: Peer) -> bool:
        """Answer what a client has sent; return whether it is still there."""
        lines = peer.requests()
        for line in lines or ():
            peer.send(self._reply(peer, line))
        return lines is not None

    def _drop(self, peer: Peer) -> None:
        self._peers.pop(peer.handle, None)
        with suppress(KeyError, ValueError, OSError):
            self._poll.unregister(peer.handle)
        self._owner.left(peer)

    def _reply(self, peer: Peer, line: bytes) -> Reply:
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                return {"error": "a request is an object"}
            return self._owner.handle(peer, request)
        except Exception as error:  # noqa: BLE001  # a fault of ours, or a bad request
            return failure(error)


def failure(error: Exception) -> Reply:
    """Return the reply that reports an error."""
    if isinstance(error, LineprofError):
        return {"error": error.message, "hint": error.hint}
    return {"error": f"{type(error).__name__}: {error}"}
