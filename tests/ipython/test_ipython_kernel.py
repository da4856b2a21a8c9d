"""Outputs of %lprun and %%lprun_all in a notebook run by a kernel."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from as_python import run
from ipython_shell import lines

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("ipykernel", "nbclient"))),
    reason="no ipykernel or no nbclient in this environment",
)

# The kernel runs in this interpreter, so that no kernel has to be installed.
DRIVER = """
import asyncio, json, os, sys
import nbformat.v4 as v4
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

class Manager(AsyncKernelManager):
    @property
    def kernel_spec(self):
        words = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=words, display_name="this", language="python")

cells = [v4.new_code_cell(text) for text in json.load(sys.stdin)]
notebook = v4.new_notebook(cells=cells)
s = 120  # of a cell, or a start
client = NotebookClient(
    notebook, timeout=s, startup_timeout=s, kernel_manager_class=Manager
)
client.execute()
json.dump([cell.outputs for cell in notebook.cells], sys.stdout)
"""


def notebook(*cells: str, cwd: Path) -> list[list[dict[str, Any]]]:
    """Run a notebook with lineprof loaded; return the outputs of each cell."""
    words = ["-W", "ignore", "-c", DRIVER]
    home = {"IPYTHONDIR": str(cwd), "JUPYTER_RUNTIME_DIR": str(cwd)}
    texts = ["%load_ext lineprof", *cells]
    done = run(words, cwd=cwd, text=json.dumps(texts), env=home)
    assert done.status == 0, done.out + done.err
    outputs: list[list[dict[str, Any]]] = json.loads(done.out)
    assert outputs[0] == []
    return outputs[1:]


def shown(output: dict[str, Any]) -> tuple[str, str]:
    """Return the text and the HTML of an output."""
    data = output["data"]
    return data["text/plain"], data.get("text/html", "")


CELLS = (
    "def f(n):\n    return n + 1",
    "%lprun -f f f(1)",
    "%%lprun_all -r\ndef g(n):\n    return n + 2\nprint(g(1))",
    "p = %lprun -r -f f f(1)",
    "p",
    "import asyncio\nasync def h(n):\n    await asyncio.sleep(0)\n    return n",
    "%lprun -f h print(await h(4))",
    """%%lprun_all
await asyncio.gather(h(1), h(2))
async def i(): return await h(3)
print(await i())
""",
    "p.get_stats()",
)


def test_a_notebook_keeps_the_tables(tmp_path: Path) -> None:
    out = notebook(*CELLS, cwd=tmp_path)
    (table,) = out[1]
    text, html = shown(table)
    assert lines(text)["    return n + 1"] == "1"
    assert html.startswith('<div class="lineprof">')

    printed, table, result = out[2]
    assert printed["text"] == "3\n"
    assert lines(shown(table)[0].partition("Function: g")[2])["    return n + 2"] == "1"
    assert shown(table)[1]
    assert not shown(result)[1], "the same tables twice"

    assert len(out[3]) == 1
    report = shown(out[4][0])[1]
    assert report.startswith('<iframe sandbox="allow-scripts" ')
    assert '<div class="lineprof">' in report.partition("</iframe>")[2]

    printed, table = out[6]
    assert printed["text"] == "4\n"
    assert lines(shown(table)[0])["    return n"] == "1"

    printed, table = out[7]
    assert printed["text"] == "3\n"
    assert lines(shown(table)[0])["print(await i())"] == "1"
    assert "Function: i " in shown(table)[0]

    assert shown(out[8][0])[1].startswith('<iframe sandbox="allow-scripts" ')
