"""The commands of `lineprof`, in the order in which its help lists them.

Nothing here imports `argparse` or a view before it is asked to: ``run`` makes
a program wait for all that is imported.
"""

from __future__ import annotations

from lineprof.commands import export, run, view

COMMANDS = (view.COMMAND, export.COMMAND, run.COMMAND)
