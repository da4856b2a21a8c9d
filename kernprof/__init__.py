"""kernprof: run a program as `python` would, and record what it spends.

``kernprof -l script.py`` is the command; ``kernprof.main(["-l", "script.py"])``
does the same in a process that goes on afterwards.

PYTEST_DONT_REWRITE: pytest --lineprof is a plugin.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from kernprof.cprofile import ContextualProfile
    from lineprof.version import VERSION as __version__  # noqa: N811

__all__ = ["ContextualProfile", "__version__", "main"]


def main(argv: Sequence[str] | None = None, *, exit_on_error: bool = True) -> None:
    """Run a program under a profiler, in a process that goes on afterwards.

    `argv` is the command line without the command, `sys.argv[1:]` by default.
    The profile is written before this returns; `sys.argv`, `sys.path`,
    `__main__`, the builtin `profile` and the handler of SIGTERM are then what
    they were. Exceptions and SystemExit of the program go through.

    An error in the command line, or a profile that cannot be written, is one
    line on standard error and SystemExit(2) or (1); with `exit_on_error` off,
    LineprofError.

    Called by a script named kernprof, as line_profiler installs one, it is the
    command: there is no process to go on.
    """
    if argv is None and _is_the_command(sys._getframe(1)):  # noqa: SLF001
        from kernprof.__main__ import command  # noqa: PLC0415

        command()
        return
    from kernprof.cli import run_within  # noqa: PLC0415  # after the command's start

    run_within(argv, exit_on_error=exit_on_error)


def _is_the_command(caller: FrameType) -> bool:
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0] if sys.argv else ""
    return name == "kernprof" and caller.f_globals.get("__name__") == "__main__"


def __getattr__(name: str) -> object:
    """Import what the command itself does not need only when it is asked for."""
    if name == "ContextualProfile":
        from kernprof.cprofile import ContextualProfile  # noqa: PLC0415

        return ContextualProfile
    if name == "__version__":
        from lineprof.version import VERSION  # noqa: PLC0415

        return VERSION
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
