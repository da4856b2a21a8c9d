"""Requests to a profiled program: start, stop, reset, write, and attaching to it.

`Control` takes the requests of `lineprof ctl` and `lineprof attach` in a process that
listens: one under ``kernprof --listen``, one that called ``lineprof.listen``, or one
that `lineprof attach` has made listen.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from contextlib import suppress

from kernprof.attached import AttachedProfile
from lineprof.control.address import folder_of_socket, socket_name
from lineprof.control.listener import Listener, ReplyWithFile, failure
from lineprof.errors import LineprofError
from lineprof.quiet_threads import ForkGuard
from lineprof.recording.core import (
    call_soon,
    is_counting,
    memory_quiet,
    own_blocks,
    start,
    stop,
)
from lineprof.recording.global_profiler import profile, profiler_of
from lineprof.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from kernprof.session import Session
    from lineprof.control.listener import Peer, Reply, Request
    from lineprof.recording.profiler import LineProfiler

    # A run that can be controlled. `is_whole` says that it finds functions itself, so
    # that nobody else can; `write_so_far` takes "" for the run's own path, returns the
    # path, and raises LineprofError if it fails.
    Profiled: TypeAlias = "Session | AttachedProfile | _Global"

_GPU_SHARE = 20  # s between two readings of GPU work, for each s that one took

_NOTHING = "nothing is profiled in process {}"


class _Global:
    """What ``lineprof.profile`` decorates in a program that listens."""

    is_whole = False

    @property
    def profiler(self) -> LineProfiler:
        """The profiler of ``lineprof.profile``; LineprofError while it is off."""
        found = profiler_of(profile)
        if found is None:
            raise _nothing()
        return found

    def write_so_far(self, path: str) -> str:
        """Write the profile of what was decorated to `path`; LineprofError."""
        if not path:
            raise LineprofError("no file is named", hint="name the file to write")
        self.profiler.stats_so_far().to_file(path)
        return path


_listening: list[Control] = []  # at most one


def listen() -> None:
    """Take requests of `lineprof attach` and `lineprof ctl` from now on.

    They come over a socket that only this process's user can open. A thread waits for
    them in a system call: a program that gets none is not slowed down. Forked children
    do not listen. Calling this twice has no further effect. Raises LineprofError if
    there is no folder for the socket.
    """
    if _listening:
        return
    if sys.version_info[:2] == (3, 12):
        # `AttachedProfile` may need it when the main thread is blocked. For Python 3.12
        # the main thread is the one that imports it.
        import threading  # noqa: F401, PLC0415
    control = Control(_Global())
    _listening.append(control)
    os.register_at_fork(after_in_child=_listening.clear)
    control.begin()


def _gpu_rows(profiler: LineProfiler) -> Iterator[list[object]]:
    from lineprof.model.gpu import (  # noqa: PLC0415  # with a GPU
        numbers_of_functions,
        numbers_of_lines,
    )

    gpu = profiler.stats_so_far().gpu
    for key, lines in numbers_of_lines(gpu).items():
        for line, one in lines.items():
            yield [*key, line, one.gpu_ns, one.self_ns, one.kernels]
    for key, one in numbers_of_functions(gpu).items():
        yield [*key, 0, one.gpu_ns, one.self_ns, one.kernels]


def _nothing() -> LineprofError:
    return LineprofError(
        _NOTHING.format(os.getpid()), hint="attach to it: lineprof attach PID"
    )


class Control:
    """The requests to this process, and what they act on."""

    def __init__(
        self,
        run: Profiled | None = None,
        *,
        folder: str | None = None,
        patience: float | None = None,
    ) -> None:
        """Control `run`; without one, what is attached to the process alone.

        `folder` is the one for the socket. With `patience`, end after so many seconds
        without a client, and when the client that attached has gone.
        """
        ForkGuard.prepare(call_soon, memory_quiet)
        self._run = run
        self._once = patience is not None
        self._attached: AttachedProfile | None = None
        self._client: Peer | None = None  # that has attached
        self._gpu_rows: list[list[object]] = []
        self._gpu_due = 0.0  # s, of the monotonic clock: until then they are not new
        try:
            self._listener = Listener(
                folder_of_socket(folder), socket_name(), self, patience=patience
            )
        except OSError as error:
            raise LineprofError(
                f"cannot listen for requests: {error.strerror}",
                hint="set TMPDIR to a folder of yours",
            ) from None

    def begin(self) -> None:
        """Take requests from now on, until the program ends."""
        atexit.register(self._at_exit)
        self._listener.start()

    def end(self) -> None:
        """Take no more requests, and detach."""
        atexit.unregister(self._at_exit)
        self._listener.close()
        self._forget()

    def _forget(self) -> None:
        attached, self._attached = self._attached, None
        if attached:
            attached.end()

    def _at_exit(self) -> None:
        """Send the profile of a program that ends while it is attached.

        An answer in progress is waited for: that to a client which attaches has to come
        first, and one that detaches gets the profile by it.
        """
        self._listener.hide()
        self._listener.pause()
        attached, self._attached = self._attached, None
        if attached:
            reply: Reply
            try:
                reply = attached.finish("ended while attached")
            except Exception as error:  # noqa: BLE001  # the program is to end as ever
                reply = failure(error)
            if self._client:
                self._client.send(reply)
        self.end()

    def waited(self) -> None:
        """Take no more requests, because nobody has come."""
        self.end()

    def forked(self) -> None:
        """Profile no child: the client has asked for its parent."""
        atexit.unregister(self._at_exit)
        self._forget()

    def handle(self, peer: Peer, request: Request) -> Reply:
        """Return the reply to a request; LineprofError."""
        with own_blocks:
            return self._handle(peer, request)

    def _handle(self, peer: Peer, request: Request) -> Reply:
        command = _COMMANDS.get(str(request.get("command")))
        if command is None:
            raise LineprofError(
                f"lineprof {VERSION} in process {os.getpid()} has no such command",
                hint="use the same version on both sides",
            )
        return command(self, peer, request)

    def _profiled(self) -> Profiled:
        run = self._attached or self._run
        if run is None:
            raise _nothing()
        run.profiler  # noqa: B018  # raises if there is none
        return run

    def _start(self, _peer: Peer, _request: Request) -> Reply:
        self._profiled()
        start()
        return {"text": "counting"}

    def _stop(self, _peer: Peer, _request: Request) -> Reply:
        self._profiled()
        stop()
        return {"text": "not counting until start"}

    def _reset(self, _peer: Peer, _request: Request) -> Reply:
        self._profiled().profiler.reset()
        return {"text": "all counts are zero"}

    def _write(self, _peer: Peer, request: Request) -> Reply:
        path = self._profiled().write_so_far(str(request.get("path") or ""))
        return {"text": f"wrote {path}", "path": path}

    def _status(self, _peer: Peer, _request: Request) -> Reply:
        text = "nothing is profiled"
        with suppress(LineprofError):
            self._profiled()
            text = "counting" if is_counting() else "not counting until start"
            text += ", attached" if self._attached else ""
        return {"text": text, "pid": os.getpid(), "version": VERSION}

    def _gpu_lines(self, _peer: Peer, _request: Request) -> Reply:
        """Return the GPU work of lines so far, as `lineprof top` shows it.

        Each row has the function (file, line, name) and the line, 0 for the whole
        function; GPU time with callees and without in ns, and the number of kernels.
        """
        profiler = self._profiled().profiler
        if profiler.gpu_status.backend != "cupti":
            return {"rows": []}
        began = time.monotonic()
        if began >= self._gpu_due:
            self._gpu_rows = [*_gpu_rows(profiler)]
            now = time.monotonic()
            self._gpu_due = now + _GPU_SHARE * (now - began)
        return {"rows": self._gpu_rows}

    # Attaching.

    def _attach(self, peer: Peer, request: Request) -> Reply:
        if self._attached:
            raise LineprofError(
                f"another client is attached to process {os.getpid()}",
                hint="let it detach first",
            )
        if self._run is not None and self._run.is_whole:
            raise LineprofError(
                f"kernprof profiles process {os.getpid()} from its start",
                hint="lineprof ctl PID write FILE gives what was counted so far",
            )
        self._attached = AttachedProfile(request.get("options") or {})
        self._client = peer
        try:
            text = self._attached.begin()
        except BaseException:
            self._forget()
            raise
        reply = {"text": text, "version": VERSION}
        live = self._attached.open_live_file()
        return reply if live is None else ReplyWithFile(reply, live)

    def _detach(self, _peer: Peer, _request: Request) -> Reply:
        if not self._attached:
            raise _nothing()
        attached, self._attached = self._attached, None
        reply = attached.finish()
        if self._once:
            self._listener.hide()  # the next client makes another one
        return reply

    def left(self, peer: Peer) -> None:
        """End with the client that attached; what it did not fetch is lost."""
        if peer is not self._client:
            return
        self._client = None
        self._forget()
        if self._once:
            self.end()


_COMMANDS: dict[str, Callable[[Control, Peer, Request], Reply]] = {
    "attach": Control._attach,  # noqa: SLF001
    "detach": Control._detach,  # noqa: SLF001
    "gpu": Control._gpu_lines,  # noqa: SLF001
    "reset": Control._reset,  # noqa: SLF001
    "start": Control._start,  # noqa: SLF001
    "status": Control._status,  # noqa: SLF001
    "stop": Control._stop,  # noqa: SLF001
    "write": Control._write,  # noqa: SLF001
}
