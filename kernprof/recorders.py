"""What records while the program runs: lineprof line by line, or cProfile."""

from __future__ import annotations

import os

from kernprof.flags import NotRunError, UsageError
from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol, TextIO

    from kernprof.flags import Plan

    class Recorder(Protocol):
        """A profiler, as a session uses it."""

        suffix: str  # of its files, with the dot
        viewer: str  # the words after `python -m` that show such a file
        builtin: object  # `profile` for the program; None: no such builtin

        def __enter__(self) -> object:
            """Begin, just before the program's first line."""

        def __exit__(self, *exception: object) -> None:
            """Rest, after its last."""

        def leave(self) -> None:
            """Undo what setting up changed outside."""

        def dump(self, path: str, how: str) -> None:
            """Write the profile of a program that ended so; or LineprofError."""

        def show(self, stream: TextIO) -> None:
            """Print the table."""

        def remark(self) -> str:
            """Return why what was written is empty, if it is."""

        def describe(self) -> str:
            """Return one line on how it records."""


class LineRecorder:
    """Lines of the functions under ``@profile``."""

    suffix = ".lprof"
    viewer = "lineprof view"

    def __init__(self, plan: Plan, texts: Mapping[str, str]) -> None:
        """Set up as `plan` says; LineprofError where the core cannot be had.

        `texts` has, by the time it runs, the program's source that no file holds.
        """
        from lineprof.explicit_profiler import profile  # noqa: PLC0415  # cProfile does without
        from lineprof.gpu import GpuOptions  # noqa: PLC0415
        from lineprof.profiler import LineProfiler, start, stop  # noqa: PLC0415
        from lineprof.store import require  # noqa: PLC0415

        require()
        self._unit = plan.unit
        self._skip_zero = plan.skip_zero
        gpu = GpuOptions(
            choice=plan.gpu,
            calls=plan.gpu_api,
            memory=plan.gpu_memory,
            migrations=plan.uvm,
            graphs=plan.cuda_graph,
            events=plan.gpu_events,
        )
        try:
            self._profiler = LineProfiler(core=plan.core, gpu=gpu, nvtx=plan.nvtx)
        except LineprofError as error:
            if plan.core is None:
                raise
            raise UsageError(error.message, hint=error.hint) from None
        self._start, self._stop = start, stop
        self._profiler.from_start = self._from_start = plan.from_start
        self._profiler.texts = texts
        self._explicit = profile
        self._took_over = False
        self.builtin: object = self._profiler

    def __enter__(self) -> None:
        """Have `lineprof.profile` decorate for this profiler, too."""
        self._took_over = True
        if not self._from_start:
            self._stop()
        self._explicit._kernprof_overwrite(self._profiler)  # noqa: SLF001

    def __exit__(self, *_exception: object) -> None:
        """Go on: threads and exit handlers may still run functions."""

    def leave(self) -> None:
        """Take `lineprof.profile` off this profiler again."""
        if self._took_over:
            self._explicit._kernprof_release()  # noqa: SLF001
            self._start()

    def dump(self, path: str, how: str) -> None:
        """Write the profile to `path`; LineprofError if that fails."""
        self._profiler.exit = how
        self._stats = self._profiler.get_stats()
        self._stats.to_file(path)

    def show(self, stream: TextIO) -> None:
        """Print the table of what was written to `stream`."""
        self._stats.print(stream, output_unit=self._unit, stripzeros=self._skip_zero)

    def remark(self) -> str:
        """Return why the profile is empty, if it is."""
        return self._stats.why_empty

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
        from kernprof.calls import CallProfile  # noqa: PLC0415  # -l does without

        self._profiler = CallProfile()
        self._whole = not plan.builtin
        self.builtin: object = None if self._whole else self._profiler

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
        """Have nothing to undo."""

    def dump(self, path: str, how: str) -> None:  # noqa: ARG002
        """Write what `pstats` reads to `path`; LineprofError if that fails."""
        beside = f"{path}.{os.urandom(4).hex()}"
        try:
            try:
                self._profiler.dump_stats(beside)
                os.replace(beside, path)
            finally:
                if os.path.exists(beside):
                    os.unlink(beside)
        except OSError as error:
            raise LineprofError(
                f"cannot write {path!r}: {error.strerror}", hint="make room there"
            ) from None

    def show(self, stream: TextIO) -> None:
        """Print the table to `stream`."""
        import pstats  # noqa: PLC0415  # only for the table

        stats = pstats.Stats(self._profiler, stream=stream)
        stats.strip_dirs().sort_stats(-1).print_stats()

    def remark(self) -> str:
        """Return nothing: there is always a call."""
        return ""

    def describe(self) -> str:
        """Name cProfile."""
        return "core: cProfile (without -l)"


def recorder_class(plan: Plan) -> type[LineRecorder | CallRecorder]:
    """Return the kind of recorder that `plan` asks for."""
    return LineRecorder if plan.line_by_line else CallRecorder
