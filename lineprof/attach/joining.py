"""Attaching to a process: over its socket, or by making it listen first.

`join` returns a connection to the process. If that has no socket, a short text of
Python (``boot.py``) is run in it, which imports lineprof from where this process has
it, and listens. Before anything else the text deletes a file: a client that gives up
deletes that itself, and then the text will never do anything.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from lineprof.attach import task_state
from lineprof.attach.boot import NAME
from lineprof.attach.bundle import STANDARD, bundle
from lineprof.attach.injection import run_in
from lineprof.attach.refusal import check
from lineprof.control.client import Connection, GoneError
from lineprof.control.place import NotOursError, Place, place_of, remove_leftovers
from lineprof.control.watch import LateError, Patience, Watch
from lineprof.errors import LineprofError
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineprof.private_folder import PrivateFolder

PATIENCE = 10.0  # s that the process waits for this one, once it listens
_POLL = 0.002  # s
_RETRIES = 5  # when a listener that is about to end was met
_RETRY_AFTER = 0.05  # s
_MAX_CAUSE = 1 << 12  # bytes of the reason why a process could not listen


def join(pid: int, patience: Patience) -> tuple[Connection, Place]:
    """Return a connection to the process `pid`, which listens from now on if need be.

    Raises LineprofError if the process cannot be joined, or takes longer than
    `patience` lasts; nothing in it has been touched then, or the error says so.
    """
    with Watch(pid) as watch:
        try:
            place = place_of(pid)
        except NotOursError:
            check(pid)  # which says more
            raise
        with suppress(FileNotFoundError, ConnectionRefusedError):
            return Connection(pid, place), place
        return _made_to_listen(watch, place, patience), place


def _made_to_listen(watch: Watch, place: Place, patience: Patience) -> Connection:
    """Make a process listen, and return a connection to it: see `join`."""
    pid = watch.pid
    interpreter = check(pid)
    with place.folder(make=True) as folder:
        remove_leftovers(folder)
        boot = _Boot(place, folder)
        try:
            _check_runs(watch)  # its number may be another process's
            run_in(interpreter, boot.payload, folder)
            return boot.wait(watch, patience)
        except (FileNotFoundError, ProcessLookupError):
            folder.remove_created()
            raise _ended(pid) from None
        except _EndedError:
            folder.remove_created()
            raise
        except BaseException as error:
            if boot.withdraw():
                raise
            note = f"process {pid} is about to listen, and ends that in {PATIENCE:g} s"
            if isinstance(error, LateError):
                raise LineprofError(error.message, hint=note) from None
            if not isinstance(error, LineprofError):
                patience.say(note)
            raise


# The main thread does not compile what it need not, which takes 4 ms, and a second
# client has it call the same function: others would be garbage for Python's collector.
_PAYLOAD = """\
import marshal, sys
boot = getattr(sys.modules.get({name!r}), {number!r}, None)
if not boot:
    exec(marshal.loads({code!r}) if sys.version == {version!r} else {source!r})
boot({{**{parameters!r}, "page": page}})
"""


class _Boot:
    """The text that makes one process listen, and the files that belong to it."""

    def __init__(self, place: Place, folder: PrivateFolder) -> None:
        """Write the files to the open folder; LineprofError."""
        self._place, self._folder = place, folder
        name = f"{place.pid}-{os.urandom(6).hex()}"
        self._token, self._failed = f"{name}.boot", f"{name}.failed"
        self._code = f"{name}.code"
        source = Path(__file__).with_name("boot.py").read_text(encoding="utf-8")
        parameters: dict[str, Any] = {
            "code": os.path.join(place.inside, self._code),
            "failed": os.path.join(place.inside, self._failed),
            "folder": place.inside,
            "number": f"boot_{crc32(source.encode()):08x}",
            "packages": {name: _origin(name) for name in ("lineprof", "kernprof")},
            "patience": PATIENCE,
            "standard": [name for name in STANDARD.split() if "." not in name],
            "token": os.path.join(place.inside, self._token),
            "version": VERSION,
        }
        code = compile(source, "<lineprof>", "exec", dont_inherit=True)
        self.payload = _PAYLOAD.format(
            code=marshal.dumps(code),
            name=NAME,
            number=parameters["number"],
            parameters=parameters,
            source=source,
            version=sys.version,
        )
        try:
            folder.create(self._code, bundle())
            folder.create(self._token)
        except LineprofError:
            self.withdraw()
            raise

    def withdraw(self) -> bool:
        """Delete the files; return whether that was in time, so that nothing runs."""
        try:
            is_in_time = self._folder.remove(self._token)
            self._folder.remove(self._code)
        except (OSError, LineprofError):  # its owner has made something else of them
            return False
        return is_in_time

    def wait(self, watch: Watch, patience: Patience) -> Connection:
        """Return a connection as soon as the process listens; LineprofError."""
        pid = watch.pid
        patience.begin()
        while True:
            with suppress(FileNotFoundError, ConnectionRefusedError):
                return Connection(pid, self._place, self._folder)
            if cause := self._cause():
                raise LineprofError(f"cannot attach to process {pid}: {cause}")
            _check_runs(watch)
            patience.check()
            time.sleep(_POLL)

    def _cause(self) -> str:
        """Return why the process could not listen; "" if it has not said so."""
        try:
            cause = self._folder.read(self._failed, _MAX_CAUSE)
            self._folder.remove(self._failed)
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"{self._failed} is unreadable: {error.strerror}"
        return cause.decode("utf-8", "replace") or "it does not say why"


class _EndedError(LineprofError):
    """The process has ended."""


def _check_runs(watch: Watch) -> None:
    """Raise an error if a process has ended."""
    if watch.has_ended:
        raise _ended(watch.pid)


def _ended(pid: int) -> _EndedError:
    return _EndedError(f"process {pid} has ended", hint="attach to one that still runs")


def _origin(package: str) -> tuple[str, list[str]]:
    """Return the file of a package of this process, and its folders."""
    module = import_module(package)
    return str(module.__file__), [*module.__path__]


def start(
    pid: int, options: dict[str, Any], patience: Patience
) -> tuple[Connection, Place, dict[str, Any]]:
    """Attach to the process `pid`; return the connection and the reply to "attach".

    `options` are those of `kernprof.attached`. Raises LineprofError.
    """
    for _ in range(_RETRIES):
        connection, place = join(pid, patience)
        try:
            wanted = {**options, "folder": place.inside}
            reply = connection.ask("attach", patience, options=wanted)
        except GoneError:  # the listener of an earlier client was just ending
            connection.close()
            time.sleep(_RETRY_AFTER)
            continue
        except BaseException:
            connection.leave()
            raise
        if reply.get("version") == VERSION:
            return connection, place, reply
        connection.leave()
        raise LineprofError(
            f"process {pid} has imported lineprof {reply.get('version')}, and this is"
            f" {VERSION}",
            hint="attach with its own",
        )
    raise LineprofError(
        f"process {pid} ends each connection at once", hint="try again a little later"
    )


def new_patience(pid: int, timeout: float, say: Callable[[str], object]) -> Patience:
    """Return how long to wait for answers of a process, which `say` reports."""

    def why() -> str:
        try:
            notice = task_state.blocked_notice(task_state.read(pid))
        except LineprofError:
            notice = ""
        return notice or "the main thread has not answered yet"

    return Patience(pid, say, why, timeout)
