"""Programs under the oracle, each in a forked child of a small process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fork_server import ForkServer
from oracle import Oracle
from running import Outcome, play

if TYPE_CHECKING:
    from collections.abc import Sequence

_server = ForkServer("oracle_process")


def ask(text: str, file: str, functions: Sequence[str] = ()) -> Outcome:
    """Run a program under the oracle in another process."""
    return _server.call(_run, text, file, functions)


def _run(text: str, file: str, functions: Sequence[str]) -> Outcome:
    oracle = Oracle(file)
    output, result = oracle.trace(lambda: play(text, file, oracle, functions))
    return Outcome(oracle.hits(), output, result)
