"""What records while the program runs: lineprof line by line, or cProfile."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kernprof.options import NotRunError, UsageError
from lineprof.errors import LineprofError
from lineprof.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol, TextIO

    from kernprof.options import Plan
    from kernprof.whole_program import WholeProgram
    from lineprof.recording.global_profiler import GlobalProfiler
    from lineprof.recording.profiler import LineProfiler

    class Recorder(Protocol):
        """A profiler, as a session uses it."""

        suffix: str  # of its files, with the dot
        viewer: str  # the words after `python -m` that show such a file
        builtin: object  # `profile` for the program; None: no such builtin

        def offer(self) -> None:
            """Be what `lineprof.profile` decorates for, until `leave`."""

        def __enter__(self) -> object:
            """Begin, just before the program's first line."""

        def __exit__(self, *exception: object) -> None:
            """Rest, after its last."""

        def leave(self) -> None:
            """Undo what setting up changed outside."""

        def dump(self, path: str, how: str) -> None:
            """Write the profile of a program that ended so; or LineprofError."""

        def dump_so_far(self, path: str) -> None:
            """Write that of a program that runs, from a thread beside it."""

        def show(self, stream: TextIO) -> None:
            """Print the table."""

        def remarks(self) -> list[str]:
            """Return what those are told who asked for more: what the profile lacks."""

        def notes(self) -> list[str]:
            """Return what users are told without asking: how much, or why nothing."""

        def next_steps(self, path: str) -> list[str]:
            """Return what to type next, where `path` may be new to users; lines."""

        def describe(self) -> str:
            """Return one line on how it records."""


# `lineprof.profile` in a program that kernprof runs.


class GlobalProfilerBinding:
    """What ``lineprof.profile`` does for as long as a program is run."""

    def __init__(self, profiler: object) -> None:
        """Change nothing yet; `profiler` is what is to decorate."""
        self._profiler: Any = profiler
        self._taken: GlobalProfiler | None = None

    def take_over(self) -> None:
        """Have ``lineprof.profile`` decorate with the profiler."""
        from lineprof.recording.global_profiler import profile  # noqa: PLC0415  # only now

        self._taken = profile
        profile._kernprof_overwrite(self._profiler)  # noqa: SLF001

    @staticmethod
    def is_of_others() -> bool:
        """Tell whether the program imported the `profile` of line_profiler itself."""
        from lineprof.recording.global_profiler import profile  # noqa: PLC0415

        theirs = sys.modules.get("line_profiler")
        return theirs is not None and getattr(theirs, "profile", None) is not profile

    def release(self) -> bool:
        """Undo that; tell whether there was anything to undo."""
        taken, self._taken = self._taken, None
        if taken is None:
            return False
        taken._kernprof_release()  # noqa: SLF001
        return True


_SO_FAR = "written while the program ran: what it did afterwards is not in it"


_NO_TRACE = "the timeline is written at the end alone: it is not in this file"


class LineRecorder:
    """Lines of the functions under ``@profile``."""

    suffix = ".lprof"
    viewer = "lineprof view -rmt"

    def __init__(self, plan: Plan, texts: Mapping[str, str]) -> None:
        """Set up as `plan` says; LineprofError where the core cannot be had.

        `texts` has, by the time it runs, the program's source that no file holds.
        """
        from lineprof.recording.core import start, stop  # noqa: PLC0415
        from lineprof.storage import require_sqlite  # noqa: PLC0415

        require_sqlite()
        self._plan = plan
        self._texts = texts
        self._profiler = self.new_profiler()
        self._start, self._stop = start, stop
        self._from_start = plan.from_start
        self.builtin: object = self._profiler
        self._explicit = GlobalProfilerBinding(self._profiler)
        self.whole: WholeProgram | None = (
            None  # set where the program is profiled as one
        )

    def new_profiler(self) -> LineProfiler:
        """Return a profiler as the plan says; LineprofError if it cannot be had."""
        from lineprof.recording.gpu import GpuOptions  # noqa: PLC0415
        from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415

        plan = self._plan
        gpu = GpuOptions(
            choice=plan.gpu,
            calls=plan.gpu_api,
            memory=plan.gpu_memory,
            migrations=plan.uvm,
            graphs=plan.cuda_graph,
            events=plan.gpu_events,
        )
        try:
            profiler = LineProfiler(
                core=plan.core, gpu=gpu, nvtx=plan.nvtx, trace=plan.timeline
            )
        except LineprofError as error:
            if plan.core is None:
                raise
            raise UsageError(error.message, hint=error.hint) from None
        profiler.from_start = plan.from_start
        profiler.texts = self._texts
        if plan.builtins or plan.split:
            profiler.c_functions(split=plan.split)
        return profiler

    @property
    def profiler(self) -> LineProfiler:
        """What counts just now: the program's own, or what counts all of it."""
        return self.whole.profiler if self.whole else self._profiler

    def offer(self) -> None:
        """Have `lineprof.profile` decorate for this profiler, too."""
        self._explicit.take_over()
        if not self._from_start:
            self._stop()

    def __enter__(self) -> None:
        """Have nothing to begin: a call of what is decorated does."""

    def __exit__(self, *_exception: object) -> None:
        """Go on: threads and exit handlers may still run functions."""

    def leave(self) -> None:
        """Take `lineprof.profile` off this profiler again."""
        if self._explicit.release():
            self._start()

    def dump(self, path: str, how: str) -> None:
        """Write the profile to `path`; LineprofError if that fails."""
        if self.whole:
            self.whole.stop()  # what runs from now on is none of the program's
        profiler = self.profiler
        profiler.exit = how
        self._stats = profiler.get_stats()
        self._stats.to_file(path)

    def dump_so_far(self, path: str) -> None:
        """Write what was counted up to now to `path`; LineprofError if that fails."""
        stats = self.profiler.stats_so_far()
        said = (_SO_FAR, _NO_TRACE) if self.profiler.traced else (_SO_FAR,)
        stats.warnings = (*stats.warnings, *said)
        stats.to_file(path)

    def show(self, stream: TextIO) -> None:
        """Print the table of what was written to `stream`."""
        plan = self._plan
        self._stats.print(
            stream,
            output_unit=plan.unit,
            stripzeros=plan.skip_zero,
            summarize=plan.summarize,
            rich=plan.rich,
            config=plan.settings,
        )

    def remarks(self) -> list[str]:
        """Return what the profile lacks."""
        why = []
        whole = self.whole is not None and self.whole.is_open
        if (self._stats.why_empty or whole) and GlobalProfilerBinding.is_of_others():
            why.append("the program imports line_profiler's profile, not lineprof's")
        return [*why, *self._stats.warnings]

    def notes(self) -> list[str]:
        """Return how much was profiled, where nobody said what, or why nothing was."""
        said = self.whole.said(self._stats) if self.whole else ""
        said = said or self._stats.why_empty
        return [said] if said else []

    def next_steps(self, path: str) -> list[str]:
        """Return what to type next, for a profile of more than was asked for."""
        if not (self.whole and self.whole.is_open):
            return []
        from lineprof.report.notes import next_steps  # noqa: PLC0415  # at the end

        return next_steps(self._stats, path)

    def describe(self) -> str:
        """Return the core and the clock in use, and why they are these."""
        profiler = self._profiler
        return (
            f"core: {profiler.core} ({profiler.core_reason});"
            f" clock: {profiler.clock} ({profiler.clock_reason});"
            f" {profiler.gpu_status}"
        )


class CallRecorder:
    """Calls, by cProfile: of the whole program, or with -b where it asks."""

    suffix = ".prof"
    viewer = "pstats"

    def __init__(self, plan: Plan, _texts: Mapping[str, str]) -> None:
        """Set up as `plan` says."""
        from kernprof.cprofile import ContextualProfile  # noqa: PLC0415  # -l does without
        from kernprof.environment import NullProfiler  # noqa: PLC0415

        self._profiler = ContextualProfile()
        self._whole = not plan.builtin
        self.builtin: object = None if self._whole else self._profiler
        # What is recorded anyway needs no wrappers.
        self._explicit = GlobalProfilerBinding(
            NullProfiler() if self._whole else self._profiler
        )

    def offer(self) -> None:
        """Have `lineprof.profile` decorate for this profiler, too."""
        self._explicit.take_over()

    def __enter__(self) -> None:
        """Turn cProfile on; NotRunError while another profiler is on."""
        if self._whole:
            try:
                self._profiler.enable_by_count()
            except ValueError as error:
                raise NotRunError(
                    f"cProfile cannot start: {error}", hint="turn the other one off"
                ) from None

    def __exit__(self, *_exception: object) -> None:
        """Turn it off."""
        if self._whole:
            self._profiler.disable_by_count()

    def leave(self) -> None:
        """Turn off what the program left on, and release `lineprof.profile`."""
        if self._profiler.enable_count:
            self._profiler.enable_count = 0
            self._profiler.disable()
        self._explicit.release()

    def dump(self, path: str, how: str) -> None:  # noqa: ARG002
        """Write what `pstats` reads to `path`; LineprofError if that fails."""
        self._profiler.create_stats()
        self._empty = not self._profiler.stats  # which pstats takes away
        self._write(path)

    def dump_so_far(self, path: str) -> None:
        """Write the calls that have ended; LineprofError if that fails."""
        self._profiler.snapshot_stats()
        self._write(path)

    def _write(self, path: str) -> None:
        import marshal  # noqa: PLC0415  # built in

        data = marshal.dumps(self._profiler.stats)

        def fill(handle: int, _path: str) -> None:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]

        try:
            write_atomically(path, fill)
        except OSError as error:
            raise LineprofError(
                f"cannot write {path!r}: {error.strerror}", hint="make room there"
            ) from None

    def show(self, stream: TextIO) -> None:
        """Print the table to `stream`."""
        from kernprof.cprofile import print_calls  # noqa: PLC0415  # at the end

        print_calls(self._profiler, stream)

    def remarks(self) -> list[str]:
        """Return nothing: it lacks nothing."""
        return []

    def notes(self) -> list[str]:
        """Return why the profile is empty, if it is: with -b it may be."""
        why = "the profile is empty: nothing under @profile was called"
        return [why] if self._empty else []

    def next_steps(self, path: str) -> list[str]:  # noqa: ARG002
        """Return nothing: the viewer is known."""
        return []

    def describe(self) -> str:
        """Name cProfile."""
        return "core: cProfile (without -l)"


def recorder_class(plan: Plan) -> type[LineRecorder | CallRecorder]:
    """Return the kind of recorder that `plan` asks for."""
    return LineRecorder if plan.line_by_line else CallRecorder
