"""Recorders: the profilers that kernprof runs a program under.

`LineRecorder` records lines with lineprof, `CallRecorder` calls with cProfile; each is
in a module of its own.
"""

from __future__ import annotations

import sys

from lineprof.recording.global_profiler import profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TextIO

    from kernprof.call_recorder import CallRecorder
    from kernprof.line_recorder import LineRecorder
    from kernprof.output_file import OutputFile
    from kernprof.run_options import RunOptions
    from lineprof.recording.global_profiler import GlobalProfiler

    class Recorder(Protocol):
        """A profiler as a session uses it."""

        suffix: str  # of its files, with the dot
        viewer: str  # the arguments of `python` that show such a file, after -m
        is_merged: bool  # whether `lineprof merge` adds such files
        builtin: object  # `profile` for the program; None: no such builtin
        page: OutputFile | None  # of the page, None if none is asked for or written
        is_empty: bool  # `dump` found that nothing was counted
        keeps_earlier: bool  # so it left the profile that the file had

        def offer(self) -> None:
            """Make `lineprof.profile` decorate for this recorder, until `leave`."""

        def __enter__(self) -> object:
            """Begin, just before the program's first line."""

        def __exit__(self, *exception: object) -> None:
            """Pause, after the program's last line."""

        def leave(self) -> None:
            """Undo the changes of `offer`."""

        def dump(self, path: str, exit_reason: str) -> None:
            """Write the profile of a program that has ended; LineprofError."""

        def dump_so_far(self, path: str) -> None:
            """Write the profile of a running program; called by another thread."""

        def show(self, stream: TextIO, path: str) -> None:
            """Print what `dump` wrote to `path`."""

        def failures(self) -> list[str]:
            """Return lines on what was to be profiled, and could not be."""

        def summary(self, *, is_partial: bool) -> list[str]:
            """Return lines for all users: how much was profiled, or why nothing.

            The profile `is_partial` if there were children that were not measured.
            """

        def warnings(self) -> list[str]:
            """Return lines for -v: what the profile lacks."""

        def next_steps(self, path: str) -> list[str]:
            """Return lines with the commands to try next on the profile at `path`."""

        def describe(self) -> str:
            """Return one line on how it records."""

        def note_run(self) -> None:
            """Note the run in the live file; called just before the program begins."""

        def ending(self) -> None:
            """Prepare for the end: signals are held from now on."""

        def close(self, exit_reason: str, *, written: bool) -> bool:
            """End the live file; return whether it is kept, with counts."""


class GlobalProfilerBinding:
    """Binding of ``lineprof.profile`` to the recorder while a program runs."""

    def __init__(self, profiler: object) -> None:
        """Change nothing yet; `profiler` will decorate."""
        self._profiler: Any = profiler
        self._bound: GlobalProfiler | None = None

    def bind(self) -> None:
        """Make ``lineprof.profile`` decorate with the profiler."""
        self._bound = profile
        profile._kernprof_overwrite(self._profiler)  # noqa: SLF001

    def release(self) -> bool:
        """Undo `bind`; return whether there was anything to undo."""
        bound, self._bound = self._bound, None
        if bound is None:
            return False
        bound._kernprof_release()  # noqa: SLF001
        return True

    @staticmethod
    def is_of_line_profiler() -> bool:
        """Return whether the program imported line_profiler's own `profile`."""
        theirs = sys.modules.get("line_profiler")
        return theirs is not None and getattr(theirs, "profile", None) is not profile


def recorder_class(options: RunOptions) -> type[LineRecorder | CallRecorder]:
    """Return the class of the recorder that `options` ask for."""
    if options.line_by_line:
        from kernprof.line_recorder import LineRecorder  # noqa: PLC0415  # its core

        return LineRecorder
    from kernprof.call_recorder import CallRecorder  # noqa: PLC0415  # not with -l

    return CallRecorder
