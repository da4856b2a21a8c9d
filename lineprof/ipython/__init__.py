"""lineprof in IPython and Jupyter: ``%load_ext lineprof``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Give `shell` the magics ``%lprun`` and ``%%lprun_all``."""
    from lineprof.ipython.magics import load  # noqa: PLC0415  # imports IPython

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take all from `shell` that `load_ipython_extension` gave it."""
    from lineprof.ipython.magics import unload  # noqa: PLC0415  # as above

    unload(shell)
