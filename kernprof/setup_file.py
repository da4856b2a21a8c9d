"""The setup file (-s): it runs before the program, and is not profiled."""

from __future__ import annotations

import os
import sys

from kernprof import report
from kernprof.compiled import code_of_file
from kernprof.find import read_file
from kernprof.stage import fresh_main

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class SetupFile:
    """A file of source that prepares what the program needs."""

    def __init__(self, name: str) -> None:
        """Read the file called `name`, or of that bare name on PATH.

        Raises UsageError where there is none that can be read.
        """
        self.name, self._path, self._data = read_file(name, "setup file")
        self.folder = os.path.dirname(os.path.realpath(self._path))

    def run(self, first_path: Sequence[str]) -> None:
        """Run it as a ``__main__`` of its own, its folder first on `sys.path`.

        That stays there, behind `first_path`, the program's own first entries;
        so does what else it does to the process. Whatever it raises goes
        through, once it is said on standard error that the program was not run.
        """
        module = fresh_main()
        vars(module)["__file__"] = self._path
        programs, sys.modules["__main__"] = sys.modules["__main__"], module
        if first_path and self.folder not in first_path:
            sys.path.insert(0, self.folder)
        try:
            exec(code_of_file(self._data, self._path), vars(module))  # noqa: S102
        except BaseException as error:
            what = type(error).__name__
            report.complain(
                f"setup file {self.name!r} ended by {what}; the program was not run"
            )
            raise
        sys.modules["__main__"] = programs
        for entry in first_path:
            if entry in sys.path:
                sys.path.remove(entry)
        sys.path[:0] = first_path
