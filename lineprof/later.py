"""Modules that are imported when one of their names is first used.

Python 3.15 has such imports itself (PEP 810). Up to then this serves modules on the way
to the first line of the profiled program, for what few programs need.
"""

from __future__ import annotations

import sys


class Later:
    """A module that is imported when one of its names is first used."""

    def __init__(self, name: str) -> None:
        """Take the module's whole name; import nothing."""
        self._later = name

    def __getattr__(self, name: str) -> object:
        """Return what the module calls `name`; AttributeError as from the module."""
        module = sys.modules.get(self._later)
        if module is None:
            __import__(self._later)
            module = sys.modules[self._later]
        return getattr(module, name)
