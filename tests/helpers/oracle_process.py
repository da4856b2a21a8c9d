"""A process that runs programs under the oracle, each in a forked child.

The process is small, so that a fork takes a millisecond; a fork of the process that
runs the tests takes 30, for all that pytest has in memory.
"""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING

from oracle import Oracle
from running import Outcome, play

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO

    Request = tuple[str, str, Sequence[str]]  # the text, its file, the functions


def ask(text: str, file: str, functions: Sequence[str] = ()) -> Outcome:
    """Run a program under the oracle in another process."""
    process = _process()
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump((text, file, functions), process.stdin)
    process.stdin.flush()
    outcome = pickle.load(process.stdout)  # noqa: S301 - our own process wrote it
    assert isinstance(outcome, Outcome), outcome
    return outcome


@functools.cache
def _process() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    atexit.register(process.communicate)
    return process


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until the end of the stream."""
    while True:
        try:
            request: Request = pickle.load(requests)  # noqa: S301 - from `ask`
        except EOFError:
            return
        child = os.fork()
        if child == 0:
            _answer(request, answers)
        _, status = os.waitpid(child, 0)
        if status:
            pickle.dump(f"the oracle's process died: {status}", answers)
            answers.flush()


def _answer(request: Request, answers: IO[bytes]) -> None:
    """Run one program, write the outcome or the traceback, and leave the process."""
    try:
        answer: object = _run(*request)
    except BaseException:  # noqa: BLE001 - the other process reports it
        answer = traceback.format_exc()
    pickle.dump(answer, answers)
    answers.flush()
    os._exit(0)


def _run(text: str, file: str, functions: Sequence[str]) -> Outcome:
    oracle = Oracle(file)
    output, result = oracle.trace(lambda: play(text, file, oracle, functions))
    return Outcome(oracle.hits(), output, result)


if __name__ == "__main__":
    # Programs have no input, and their output must not be mixed with the answers.
    with os.fdopen(os.dup(0), "rb") as incoming, os.fdopen(os.dup(1), "wb") as outgoing:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        serve(incoming, outgoing)
