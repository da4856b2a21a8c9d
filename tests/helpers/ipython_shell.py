"""IPython shells in processes of their own: they run cells, tests read the output."""

from __future__ import annotations

import os
import textwrap
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from fork_server import ForkServer
from ipython_process import run_cells

if TYPE_CHECKING:
    from pathlib import Path

needs_ipython = pytest.mark.skipif(
    find_spec("IPython") is None, reason="no IPython in this environment"
)

_server = ForkServer("IPython.core.interactiveshell", "traitlets.config")


def cells(*texts: str, cwd: Path, load: str = "lineprof") -> str:
    """Run cells one after the other; return their output, errors included.

    The extension `load` is loaded first. The process must succeed and write
    nothing to standard error.
    """
    programs = [f"%load_ext {load}", *map(textwrap.dedent, texts)]
    # `page` prints if the terminal is a dumb one.
    changes = {"IPYTHONDIR": os.fspath(cwd / "ipython"), "TERM": "dumb"}
    status, out, err = _server.call(run_cells, programs, os.fspath(cwd), changes)
    assert (status, err) == (0, ""), out + err
    return out


def lines(output: str) -> dict[str, str]:
    """Return the hits in the tables of an output, by source text; "" without hits."""
    found = {}
    inside = False
    for line in output.splitlines():
        if line.startswith("====="):
            inside = True
        elif not line.strip():
            inside = False
        elif inside:
            found[line[49:].rstrip()] = line[6:16].strip()
    return found
