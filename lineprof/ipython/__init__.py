"""Extension of IPython and Jupyter: ``%load_ext lineprof``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Add the magics ``%lprun`` and ``%%lprun_all`` to `shell`."""
    from lineprof.ipython.magics import load  # noqa: PLC0415  # imports IPython

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Remove the magics from `shell`."""
    from lineprof.ipython.magics import unload  # noqa: PLC0415  # as above

    unload(shell)
