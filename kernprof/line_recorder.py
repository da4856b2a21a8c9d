"""The recorder of lines: of functions under ``@profile``, or of a whole program."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from kernprof.earlier_profile import has_profile, how_kept
from kernprof.profilers import new_profiler
from kernprof.recorders import Recorder
from kernprof.run_options import UsageError
from lineprof.console.output import shell_path
from lineprof.errors import LineprofError
from lineprof.recording.core import (
    NotCounting,
    new_live_file,
    own_blocks,
    start,
    stop,
)
from lineprof.recording.extensions import extension_warnings
from lineprof.recording.global_profiler import profile
from lineprof.recording.profiler import (
    adopt,
    end_memory,
    extensions_in,
    memory_problems,
    memory_recorder_of,
)
from lineprof.storage import require_sqlite, save

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from kernprof.children import Children
    from kernprof.named_targets import NamedTargets
    from kernprof.run_options import RunOptions
    from kernprof.whole_program import WholeProgram
    from lineprof.line_stats import LineStats
    from lineprof.recording.profiler import LineProfiler


def _is_gone(path: str) -> bool:
    """Return whether there is no file at `path`; False if that cannot be seen."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # the program gave up its rights
        return False
    return False


def _is_on_terminal() -> bool:
    """Return whether standard error is a terminal, and the program has left it so."""
    stream = sys.__stderr__
    try:
        return stream is not None and stream is sys.stderr and stream.isatty()
    except (AttributeError, OSError, ValueError):  # there is none, or it is closed
        return False


def _imports_line_profiler() -> bool:
    """Return whether the program imported line_profiler's own `profile`."""
    theirs = sys.modules.get("line_profiler")
    return theirs is not None and getattr(theirs, "profile", None) is not profile


def marked(stats: LineStats, *, is_whole: bool) -> LineStats:
    """Return `stats`, which say whether nobody chose what is profiled."""
    stats.processes = tuple(
        [one._replace(is_whole=is_whole) for one in stats.processes]
    )
    return stats


# Warnings in a profile of a running program.
_SO_FAR = "written while the program ran: what it did afterwards is not in it"
_NO_TRACE = "the timeline is not in this file: it is written when the program ends"


class LineRecorder(Recorder):
    """Recorder of lines: of functions under ``@profile``, or of a whole program.

    The ``with`` block changes nothing: recording begins with the first call of a
    profiled function, and goes on after the program's last line, because threads and
    exit handlers may still run functions.
    """

    suffix = ".lprof"
    viewer = "lineprof view"
    is_merged = True
    builtin: LineProfiler

    def __init__(
        self, options: RunOptions, texts: Mapping[str, str], out: str | None = None
    ) -> None:
        """Set up as `options` say; LineprofError if the core is not available.

        `texts` has the program's source without a file by the time the program runs.
        With `out`, the path of the profile, counts outlive the process.
        """
        require_sqlite()
        self._options = options
        self._texts = texts
        self._out = out
        self.live = new_live_file(out) if out else None
        self._profiler = self.new_profiler()
        adopt(self._profiler)
        self._from_start = options.from_start
        self.builtin = self._profiler
        super().__init__(self._profiler)
        self.whole: WholeProgram | None = None  # set if all of it is profiled
        self.named: NamedTargets | None = None  # set if there is -p
        self.children: Children | None = None  # set if they are profiled
        self._remarks: list[str] = []
        self._page_error: LineprofError | None = None

    def new_profiler(self) -> LineProfiler:
        """Return a profiler as the options say; LineprofError if not available."""
        first = vars(self).get("_profiler")
        try:
            profiler = new_profiler(self._options, self.live, beside=first)
        except LineprofError as error:
            if self._options.core is None:
                raise
            raise UsageError(error.message, hint=error.hint) from None
        profiler.texts = self._texts
        return profiler

    @property
    def profiler(self) -> LineProfiler:
        """The profiler in use: of ``@profile``, or of the whole program."""
        return self.whole.profiler if self.whole else self._profiler

    def offer(self) -> None:
        """Make `lineprof.profile` decorate for this profiler as well."""
        super().offer()
        if not self._from_start:
            stop()

    def note_run(self) -> None:
        """Note what a profile has beside counts, for one that is to be recovered.

        Functions that this calls may be profiled by now, those of `os` for example.
        """
        with NotCounting():
            if self.live:
                self.profiler.note_run()
                self.live.note(texts=dict(self._texts), whole=self.is_whole)
            if self.children:
                self.children.set_up()
        if self.whole:
            self.whole.changed = self.note_run

    def ending(self) -> None:
        """Leave signals to the session, which holds them while the profile is written.

        From now on the live file does not tell of which signal the process dies, and no
        memory is measured.
        """
        end_memory(self._profiler)
        if self.live:
            self.live.unwatch_signals()

    def close(self, exit_reason: str, *, written: bool) -> bool:
        """End the live file; it goes if the profile is `written`.

        Returns whether it is kept.
        """
        if not self.live:
            return False
        self.live.close(exit_reason, remove=written)
        return not written and not _is_gone(self.live.path)

    def leave(self) -> None:
        """Release `lineprof.profile`, and the profile: Python would look through it.

        At its exit Python's garbage collector goes through all objects several times.
        """
        is_offered = self._bound is not None
        super().leave()
        if is_offered:
            start()
        self.__dict__.pop("_stats", None)

    def dump(self, path: str, exit_reason: str) -> None:
        """Write the profile to `path`, and its page; LineprofError if the first fails.

        If the page cannot be written, that is among the `failures`. An empty profile
        does not replace another one.
        """
        self._write(path, exit_reason)
        if self.page and not self.keeps_earlier:
            from kernprof.line_results import write_page  # noqa: PLC0415  # seldom

            try:
                write_page(self._stats, self.page)
            except LineprofError as error:
                self._page_error, self.page = error, None

    def _write(self, path: str, exit_reason: str) -> None:
        if self.whole:
            self.whole.stop()  # code that runs from now on is not the program's
        if self.named:
            self.named.end()
        profiler = self.profiler
        profiler.exit = exit_reason
        quiet = self._options.verbosity < 0 or not self._options.speaks
        if quiet or not _is_on_terminal():
            self._stats = self._new_stats(path)
            if not self.keeps_earlier:
                self._stats.to_file(path)
            return
        from lineprof.console.progress import Progress  # noqa: PLC0415  # at the end

        def show(rows: int) -> None:
            progress.say(lambda: f"writing the profile: {rows:,} rows")

        with Progress(after_output=True) as progress:
            self._stats = self._new_stats(path)
            if not self.keeps_earlier:
                save(self._stats, path, show)

    def _new_stats(self, path: str) -> LineStats:
        """Return the profile of a program that has ended, which is for `path`."""
        stats = self.profiler.final_stats()
        found = self.children.profiles() if self.children else []
        if found:
            stats = type(stats).from_stats_objects(stats, *found)
        stats = marked(stats, is_whole=self.is_whole)
        self._remarks = self._new_remarks()
        known = (one for one in stats.warnings if one not in self._remarks)
        stats.warnings = (*known, *self._remarks)
        self.is_empty = stats.is_empty
        self.keeps_earlier = self.is_empty and has_profile(path)
        return stats

    def _new_remarks(self) -> list[str]:
        """Return a line on the extension modules that were to be profiled, if any."""
        decorated = extensions_in(self._profiler)
        modules = {
            **(self.whole.extensions() if self.whole else {}),
            **(self.named.extensions() if self.named else {}),
        }
        for name in decorated:
            modules.pop(name.rpartition(".")[0], None)
        return [
            *extension_warnings(decorated),
            *extension_warnings(modules),
            *memory_problems(self._profiler),
        ]

    def dump_so_far(self, path: str) -> None:
        """Write the profile so far to `path`; LineprofError if that fails."""
        with own_blocks:
            self._write_so_far(path)

    def leave_early(self) -> None:
        """Write what no live file has before `os._exit` or `os.exec`.

        That is the memory, if it is measured.
        """
        if self._out and memory_recorder_of(self._profiler):
            with suppress(LineprofError):
                self.dump_so_far(self._out)

    def _write_so_far(self, path: str) -> None:
        stats = marked(self.profiler.stats_so_far(), is_whole=self.is_whole)
        warnings = (_SO_FAR, _NO_TRACE) if self.profiler.traced else (_SO_FAR,)
        stats.warnings = (*stats.warnings, *warnings)
        if stats.is_empty and has_profile(path):
            raise LineprofError(how_kept(path))
        stats.to_file(path)

    @property
    def is_whole(self) -> bool:
        """Whether all functions of the program are recorded, named by nobody."""
        return self.whole is not None and self.whole.is_open

    def show(self, stream: TextIO, path: str) -> None:
        """Print the written profile to `stream`: its tables, or the first screen."""
        from lineprof.report.options import MAX_CHOSEN  # noqa: PLC0415  # at the end

        options = self._options
        if not self.is_whole and len(self._stats.functions) <= MAX_CHOSEN:
            self._stats.print(
                stream,
                output_unit=options.unit,
                stripzeros=options.skip_zero,
                summarize=options.summarize,
                rich=options.rich,
                config=options.settings,
                file=shell_path(path),
            )
            return
        from kernprof.line_results import show_whole  # noqa: PLC0415  # at the end

        show_whole(self._stats, options, stream, path, self._warnings())

    def _warnings(self) -> list[str]:
        """Return what the profile lacks, without what `summary` says."""
        return [one for one in self._stats.warnings if one not in self._remarks]

    def summary(self, *, is_partial: bool) -> list[str]:
        """Return how much of a whole program was profiled, or why nothing was."""
        text = self.whole.summary(self._stats) if self.whole else ""
        remarks, why = self._remarks, ""
        is_empty = not (text or self._stats.functions)
        if is_empty and remarks:
            why, *remarks = remarks
        lines = self.named.summary(is_empty=is_empty, why=why) if self.named else []
        if not lines or not is_empty:
            text = text or (f"the profile is empty: {why}" if why else "")
            is_partial = is_partial or len(self._stats.processes) > 1
            why = self._stats.why_nothing(is_partial=is_partial)
            lines += filter(None, [text or why])
        return lines + remarks

    def failures(self) -> list[str]:
        """Return why the page is not written, and which targets of -p are missing."""
        missing = self.named.missing() if self.named else []
        return [*([str(self._page_error)] if self._page_error else ()), *missing]

    def warnings(self) -> list[str]:
        """Return what the profile lacks, if the tables that are shown do not say so."""
        warnings = []
        is_suspect = self._stats.why_empty or self.is_whole
        if is_suspect and _imports_line_profiler():
            warnings.append(
                "the program imports line_profiler's profile, not lineprof's"
            )
        return warnings if self.is_whole else [*warnings, *self._warnings()]

    def next_steps(self, path: str) -> list[str]:
        """Return the commands to try next if nobody chose what is profiled."""
        if not self.is_whole:
            return []
        from lineprof.report.notes import next_steps  # noqa: PLC0415  # at the end

        return next_steps(self._stats, path)

    def describe(self) -> str:
        """Return the core and the clock in use, and the reason for each."""
        profiler = self._profiler
        return (
            f"core: {profiler.core} ({profiler.core_reason});"
            f" clock: {profiler.clock} ({profiler.clock_reason});"
            f" {profiler.gpu_status}"
        )
