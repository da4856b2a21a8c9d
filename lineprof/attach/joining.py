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
from lineprof.control.place import NotOursError, Place, place_of
from lineprof.errors import LineprofError
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 10.0  # s that the process waits for this one, once it listens
_POLL = 0.002  # s
_TOLD_AFTER = 0.5  # s until the user is told why it takes long
_RETRIES = 5  # when a listener that is about to end was met
_RETRY_AFTER = 0.05  # s


def join(pid: int, say: Callable[[str], object]) -> tuple[Connection, Place]:
    """Return a connection to the process `pid`, which listens from now on if need be.

    `say` is called with a line if the process does not answer soon. Raises
    LineprofError if the process cannot be joined; nothing in it has been touched then.
    """
    try:
        place = place_of(pid)
    except NotOursError:
        check(pid)  # which says more
        raise
    with suppress(FileNotFoundError, ConnectionRefusedError):
        return Connection(pid, place.socket), place
    interpreter = check(pid)
    boot = _Boot(place)
    try:
        run_in(interpreter, boot.payload)
        return boot.wait(pid, say), place
    except (FileNotFoundError, ProcessLookupError):
        boot.withdraw()
        raise _ended(pid) from None
    except BaseException as error:
        if not boot.withdraw() and not isinstance(error, LineprofError):
            say(f"process {pid} is about to listen, and ends that in {PATIENCE:g} s")
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

    def __init__(self, place: Place) -> None:
        """Write the files; LineprofError."""
        self._place = place
        make_folder(place.outside)
        name = f"{place.pid}-{os.urandom(6).hex()}"
        self._token = Path(place.outside, f"{name}.boot")
        self._failed = Path(place.outside, f"{name}.failed")
        self._code = Path(place.outside, f"{name}.code")
        source = Path(__file__).with_name("boot.py").read_text(encoding="utf-8")
        parameters: dict[str, Any] = {
            "code": os.path.join(place.inside, self._code.name),
            "failed": os.path.join(place.inside, self._failed.name),
            "folder": place.inside,
            "number": f"boot_{crc32(source.encode()):08x}",
            "packages": {name: _origin(name) for name in ("lineprof", "kernprof")},
            "patience": PATIENCE,
            "standard": [name for name in STANDARD.split() if "." not in name],
            "token": os.path.join(place.inside, self._token.name),
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
            self._write(self._code, bundle())
            self._write(self._token, b"")
        except OSError as error:
            self.withdraw()
            raise LineprofError(
                f"cannot write to {place.outside}: {error.strerror}",
                hint="make room there, or see whose it is",
            ) from None

    @staticmethod
    def _write(file: Path, data: bytes) -> None:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "wb") as stream:
            give_to_owner(file)
            stream.write(data)

    def withdraw(self) -> bool:
        """Delete the files; return whether that was in time, so that nothing runs."""
        self._code.unlink(missing_ok=True)
        try:
            self._token.unlink()
        except FileNotFoundError:
            return False
        return True

    def wait(self, pid: int, say: Callable[[str], object]) -> Connection:
        """Return a connection as soon as the process listens; LineprofError."""
        began, told = time.monotonic(), False
        while True:
            with suppress(FileNotFoundError, ConnectionRefusedError):
                return Connection(pid, self._place.socket)
            with suppress(FileNotFoundError):
                cause = self._failed.read_text(encoding="utf-8")
                self._failed.unlink()
                raise LineprofError(f"cannot attach to process {pid}: {cause}")
            if not os.path.exists(f"/proc/{pid}"):
                self.withdraw()
                raise _ended(pid)
            if not told and time.monotonic() - began > _TOLD_AFTER:
                say(_why_waiting(pid))
                told = True
            time.sleep(_POLL)


def _ended(pid: int) -> LineprofError:
    return LineprofError(
        f"process {pid} has ended", hint="attach to one that still runs"
    )


def make_folder(folder: str) -> None:
    """Make the folder of the process's user, unless there is one; LineprofError."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return
    except OSError as error:
        raise LineprofError(
            f"cannot write to {folder}: {error.strerror}", hint="make room there"
        ) from None
    if os.getuid() == 0:
        user = int(folder.rpartition("-")[2])
        os.chown(folder, user, -1)


def give_to_owner(file: Path) -> None:
    """Give a file of root's to the owner of its folder."""
    if os.getuid() == 0:
        status = os.stat(file.parent)
        os.chown(file, status.st_uid, status.st_gid)


def _origin(package: str) -> tuple[str, list[str]]:
    """Return the file of a package of this process, and its folders."""
    module = import_module(package)
    return str(module.__file__), [*module.__path__]


def start(
    pid: int, options: dict[str, Any], say: Callable[[str], object]
) -> tuple[Connection, Place, dict[str, Any]]:
    """Attach to the process `pid`; return the connection and the reply to "attach".

    `options` are those of `kernprof.attached`. Raises LineprofError.
    """
    for _ in range(_RETRIES):
        connection, place = join(pid, say)
        try:
            wanted = {**options, "folder": place.inside}
            return connection, place, connection.ask("attach", options=wanted)
        except GoneError:  # the listener of an earlier client was just ending
            connection.close()
            time.sleep(_RETRY_AFTER)
        except LineprofError:
            connection.leave()
            raise
    raise LineprofError(
        f"process {pid} ends each connection at once", hint="try again a little later"
    )


def _why_waiting(pid: int) -> str:
    notice = task_state.blocked_notice(task_state.read(pid))
    return f"process {pid}: {notice or 'the main thread has not answered yet'}"
