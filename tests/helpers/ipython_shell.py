"""IPython shells in processes of their own: they run cells, tests read the output."""

from __future__ import annotations

import json
import os
import textwrap
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from as_python import run

if TYPE_CHECKING:
    from pathlib import Path

needs_ipython = pytest.mark.skipif(
    find_spec("IPython") is None, reason="no IPython in this environment"
)

# Without colours, banner, history; `page` prints if the terminal is a dumb one.
DRIVER = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

config = Config()
config.HistoryManager.enabled = False
config.InteractiveShell.colors = "NoColor"
sys.stderr = sys.stdout  # in order
shell = InteractiveShell.instance(config=config)
for cell in json.load(sys.stdin):
    shell.run_cell(cell, store_history=True)
"""


def cells(*texts: str, cwd: Path, load: str = "lineprof") -> str:
    """Run cells one after the other; return their output, errors included.

    The extension `load` is loaded first. The process must succeed and write
    nothing to standard error.
    """
    programs = [f"%load_ext {load}", *map(textwrap.dedent, texts)]
    home = {"IPYTHONDIR": os.fspath(cwd / "ipython"), "TERM": "dumb"}
    done = run(["-c", DRIVER], cwd=cwd, text=json.dumps(programs), env=home)
    assert (done.status, done.err) == (0, ""), done.out + done.err
    return done.out


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
