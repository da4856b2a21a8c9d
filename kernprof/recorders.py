"""Recorders: the profilers that kernprof runs a program under.

`LineRecorder` records lines with lineprof, `CallRecorder` calls with cProfile; each is
in a module of its own.
"""

from __future__ import annotations

from lineprof.recording.global_profiler import profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from kernprof.call_recorder import CallRecorder
    from kernprof.line_recorder import LineRecorder
    from kernprof.output_file import OutputFile
    from kernprof.run_options import RunOptions
    from lineprof.recording.global_profiler import GlobalProfiler


class Recorder:
    """A profiler as a session uses it; by default it has nothing to keep or to say."""

    suffix: str  # of its files, with the dot
    viewer: str  # the arguments of `python` that show such a file, after -m
    is_merged = False  # whether `lineprof merge` adds such files
    builtin: object  # `profile` for the program; None: no such builtin
    page: OutputFile | None = None  # None if none is asked for or written
    is_empty = False  # `dump` found that nothing was counted
    keeps_earlier = False  # so it left the profile that the file had

    def __init__(self, decorator: Any) -> None:  # noqa: ANN401
        """Let `decorator` decorate for ``lineprof.profile`` while a program runs."""
        self._decorator = decorator
        self._bound: GlobalProfiler | None = None

    def offer(self) -> None:
        """Make `lineprof.profile` decorate for this recorder, until `leave`."""
        self._bound = profile
        profile._kernprof_overwrite(self._decorator)  # noqa: SLF001

    def __enter__(self) -> None:
        """Begin, just before the program's first line."""

    def __exit__(self, *_exception: object) -> None:
        """Pause, after the program's last line."""

    def leave(self) -> None:
        """Undo the changes of `offer`."""
        bound, self._bound = self._bound, None
        if bound is not None:
            bound._kernprof_release()  # noqa: SLF001

    def dump(self, path: str, exit_reason: str) -> None:
        """Write the profile of a program that has ended; LineprofError."""
        raise NotImplementedError

    def dump_so_far(self, path: str) -> None:
        """Write the profile of a running program; called by another thread."""
        raise NotImplementedError

    def show(self, stream: TextIO, path: str) -> None:
        """Print what `dump` wrote to `path`."""
        raise NotImplementedError

    def failures(self) -> list[str]:
        """Return lines on what was to be profiled, and could not be."""
        return []

    def summary(self, *, is_partial: bool) -> list[str]:
        """Return lines for all users: how much was profiled, or why nothing.

        The profile `is_partial` if there were children that were not measured.
        """
        raise NotImplementedError

    def warnings(self) -> list[str]:
        """Return lines for -v: what the profile lacks."""
        return []

    def next_steps(self, path: str) -> list[str]:  # noqa: ARG002
        """Return lines with the commands to try next on the profile at `path`."""
        return []

    def describe(self) -> str:
        """Return one line on how it records."""
        raise NotImplementedError

    def note_run(self) -> None:
        """Note the run in the live file; called just before the program begins."""

    def ending(self) -> None:
        """Prepare for the end: signals are held from now on."""

    def close(self, exit_reason: str, *, written: bool) -> bool:  # noqa: ARG002
        """End the live file; return whether it is kept, with counts."""
        return False


def recorder_class(options: RunOptions) -> type[LineRecorder | CallRecorder]:
    """Return the class of the recorder that `options` ask for."""
    if options.line_by_line:
        from kernprof.line_recorder import LineRecorder  # noqa: PLC0415  # its core

        return LineRecorder
    from kernprof.call_recorder import CallRecorder  # noqa: PLC0415  # not with -l

    return CallRecorder
