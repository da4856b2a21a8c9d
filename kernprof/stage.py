"""`sys` and `__main__` as a program should find them, and back again."""

from __future__ import annotations

import builtins
import os
import sys
from importlib.machinery import BuiltinImporter
from types import ModuleType

from kernprof.namesakes import ShadowedModules
from kernprof.spawned import Bystander

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from kernprof.program import Program

_NOTHING = object()
_QUIET_OUTPUT, _QUIET_ERRORS = -2, -3


class Stage:
    """The process-wide state that a program begins with.

    `enter` sets it up. A process that is the program's own stays so to its
    end; one that goes on afterwards calls `leave` too.
    """

    def __init__(self, program: Program, profile: object, *, verbosity: int) -> None:
        """Prepare for `program`, with `profile` as a builtin unless it is None."""
        self._program = program
        self._profile = profile
        self._verbosity = verbosity
        self.shadowed = ShadowedModules()
        self._opened: list[TextIO] = []
        self._before = (sys.argv, sys.path, sys.modules.get("__main__"))
        self._streams = (sys.stdout, sys.stderr)
        self._builtin = getattr(builtins, "profile", _NOTHING)

    def enter(
        self, arguments: list[str], path: list[str], *, own_process: bool
    ) -> None:
        """Set up `sys.argv`, `sys.path`, ``__main__``, ``profile``, the streams.

        `sys.path` will be what the program wants first, and then `path`.
        """
        if own_process:
            self._mute_process()
        else:
            self._mute_streams()
        folder = self._program.first_path or os.curdir
        self.shadowed.forget(folder, own_process=own_process)
        sys.argv = [self._program.argv0, *arguments]
        sys.path = [*self.first_path, *path]
        sys.modules["__main__"] = fresh_main()
        if self._profile is not None:
            builtins.profile = self._profile  # type: ignore[attr-defined]

    def leave(self) -> None:
        """Put everything back as it was."""
        sys.argv, sys.path, main = self._before
        if main is not None:
            sys.modules["__main__"] = main
        sys.stdout, sys.stderr = self._streams
        for stream in self._opened:
            stream.close()
        if self._builtin is not _NOTHING:
            builtins.profile = self._builtin  # type: ignore[attr-defined]
        elif hasattr(builtins, "profile"):
            del builtins.profile

    def retire(self) -> None:
        """Let go of the profiler, and so of the program, which is to be torn down.

        Threads that python does not wait for may still say ``@profile``.
        """
        if self._profile is not None:
            builtins.profile = Bystander()  # type: ignore[attr-defined]
            self._profile = None

    @property
    def first_path(self) -> list[str]:
        """What the program finds first on `sys.path`; python may have none."""
        told_not_to = sys.flags.isolated or getattr(sys.flags, "safe_path", False)
        if told_not_to and not self._program.always_first_path:
            return []
        return [self._program.first_path]

    def _mute_process(self) -> None:
        """Send what -qq and -qqq leave out nowhere, child processes' too."""
        for threshold, descriptor in ((_QUIET_OUTPUT, 1), (_QUIET_ERRORS, 2)):
            if self._verbosity <= threshold:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, descriptor)
                os.close(nowhere)

    def _mute_streams(self) -> None:
        for threshold, name in ((_QUIET_OUTPUT, "stdout"), (_QUIET_ERRORS, "stderr")):
            if self._verbosity <= threshold:
                stream = open(os.devnull, "w")  # noqa: SIM115  # `leave` closes it
                self._opened.append(stream)
                setattr(sys, name, stream)


def fresh_main() -> ModuleType:
    """Return a ``__main__`` like the one that python makes at its start."""
    module = ModuleType("__main__")
    names = vars(module)
    names["__loader__"] = BuiltinImporter
    if sys.version_info < (3, 14):
        names["__annotations__"] = {}
    names["__builtins__"] = builtins
    return module
