"""A process that calls functions, each in a forked child of its own.

The process is small, so that a fork takes a millisecond. A fork of the process that
runs the tests takes 30, because of all that pytest has in memory; and a new Python
has to import its modules again.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

P = ParamSpec("P")
T = TypeVar("T")


SERVERS: set[int] = set()  # pids of children that last beyond a test


class Failed(Exception):  # noqa: N818 - of a function in the other process
    """The traceback of a function that raised in the other process."""


class ForkServer:
    """The process: it starts with the first call and ends with this one."""

    def __init__(self, *preload: str) -> None:
        """Have the process import the modules `preload` before all calls."""
        self._preload = preload
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return ``function(*args, **kwargs)``, called in a forked child.

        The function is one of a module that the process can import; its arguments
        and its value can be pickled. Raises Failed if the function raises.
        """
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        pickle.dump((function, args, kwargs), process.stdin)
        process.stdin.flush()
        value = pickle.load(process.stdout)  # noqa: S301 - our own process wrote it
        if isinstance(value, Failed):
            raise value
        return cast("T", value)

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from fork_server import main; main()",
                *self._preload,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        atexit.register(process.communicate)
        SERVERS.add(process.pid)
        return process


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    while True:
        try:
            request = pickle.load(requests)  # noqa: S301 - from ForkServer.call
        except EOFError:
            return
        child = os.fork()
        if child == 0:
            _answer(request, answers)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            _write(Failed(f"its process died with status {status}"), answers)


def _answer(
    request: tuple[Callable[..., object], tuple[object], dict[str, object]],
    answers: IO[bytes],
) -> None:
    """Call the function and write its value."""
    function, args, kwargs = request
    try:
        value = function(*args, **kwargs)
    except SystemExit:  # a fork of this child leaves as any Python does
        raise
    except BaseException:  # noqa: BLE001 - it is raised in the other process
        value = Failed(traceback.format_exc())
    _write(value, answers)


def _write(value: object, answers: IO[bytes]) -> None:
    pickle.dump(value, answers)
    answers.flush()


def main() -> None:
    """Import the modules named on the command line, then answer requests."""
    for name in sys.argv[1:]:
        importlib.import_module(name)
    # Functions read nothing, and what they print is no answer.
    with os.fdopen(os.dup(0), "rb") as incoming, os.fdopen(os.dup(1), "wb") as outgoing:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        serve(incoming, outgoing)
