"""An IPython shell in a forked child of a process that has imported IPython.

To import it takes 0.2 s. The module imports neither lineprof nor pytest: the shell
finds them as it would in a new Python.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO


def run_cells(
    texts: Sequence[str], folder: str, changes: Mapping[str, str]
) -> tuple[int, str, str]:
    """Run cells in a new shell; return its exit status, output and errors.

    The shell runs in `folder`, with `changes` to the environment.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.chdir(folder)
            os.environ.update(changes)
            sys.argv = ["-c"]
            _run(texts)
            sys.exit()  # with all that a Python does at its end
        _, status = os.waitpid(child, 0)
        for stream in (out, err):
            stream.seek(0)
        texts = [
            stream.read().decode(errors="backslashreplace") for stream in (out, err)
        ]
        return os.waitstatus_to_exitcode(status), *texts


def _content(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode(errors="backslashreplace")


def _run(texts: Sequence[str]) -> None:
    """Run cells without colours, banner or history; errors go to the output."""
    from IPython.core.interactiveshell import InteractiveShell  # noqa: PLC0415
    from traitlets.config import Config  # noqa: PLC0415

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    sys.stderr = sys.stdout  # in order
    shell = InteractiveShell.instance(config=config)
    for text in texts:
        shell.run_cell(text, store_history=True)
