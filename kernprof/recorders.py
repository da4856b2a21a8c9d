"""Recorders: the profilers that kernprof runs a program under.

`LineRecorder` records lines with lineprof, `CallRecorder` calls with cProfile.
"""

from __future__ import annotations

import os
import sys

from kernprof.children import NullProfiler
from kernprof.earlier_profile import has_profile, how_kept
from kernprof.run_options import NotRunError, UsageError
from lineprof.errors import LineprofError
from lineprof.files import write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol, TextIO

    from kernprof.children import Children
    from kernprof.named_targets import NamedTargets
    from kernprof.output_file import OutputFile
    from kernprof.run_options import RunOptions
    from kernprof.whole_program import WholeProgram
    from lineprof.line_stats import LineStats
    from lineprof.recording.global_profiler import GlobalProfiler
    from lineprof.recording.profiler import LineProfiler

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
        from lineprof.recording.global_profiler import profile  # noqa: PLC0415

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
        from lineprof.recording.global_profiler import profile  # noqa: PLC0415

        theirs = sys.modules.get("line_profiler")
        return theirs is not None and getattr(theirs, "profile", None) is not profile


def _is_gone(path: str) -> bool:
    """Return whether there is no file at `path`; False if that cannot be seen."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # the program gave up its rights
        return False
    return False


# Flags of -v that ask for tables, in place of the first screen of a long profile.
_TABLE_FLAGS = {"unit", "skip_zero", "summarize"}


def _is_on_terminal() -> bool:
    """Return whether standard error is a terminal, and the program has left it so."""
    stream = sys.__stderr__
    try:
        return stream is not None and stream is sys.stderr and stream.isatty()
    except (AttributeError, OSError, ValueError):  # there is none, or it is closed
        return False


def marked(stats: LineStats, *, is_whole: bool) -> LineStats:
    """Return `stats`, which say whether nobody chose what is profiled."""
    stats.processes = tuple(
        [one._replace(is_whole=is_whole) for one in stats.processes]
    )
    return stats


# Warnings in a profile of a running program.
_SO_FAR = "written while the program ran: what it did afterwards is not in it"
_NO_TRACE = "the timeline is written at the end alone: it is not in this file"


def write_page(stats: LineStats, file: OutputFile) -> None:
    """Write the page of a profile for browsers to `file`; LineprofError."""
    from lineprof.files import write_file  # noqa: PLC0415  # few ask for a page
    from lineprof.report import VIEWS, Options  # noqa: PLC0415
    from lineprof.source import sources_of  # noqa: PLC0415

    write_file(VIEWS["html"].render(stats, sources_of(stats), Options()), file.path)


class LineRecorder:
    """Recorder of lines: of functions under ``@profile``, or of a whole program."""

    suffix = ".lprof"
    viewer = "lineprof view"
    is_merged = True
    page: OutputFile | None = None
    is_empty = keeps_earlier = False

    def __init__(
        self, options: RunOptions, texts: Mapping[str, str], out: str | None = None
    ) -> None:
        """Set up as `options` say; LineprofError if the core is not available.

        `texts` has the program's source without a file by the time the program runs.
        With `out`, the path of the profile, counts outlive the process.
        """
        from lineprof.recording.core import new_live_file, start, stop  # noqa: PLC0415
        from lineprof.recording.profiler import adopt  # noqa: PLC0415
        from lineprof.storage import require_sqlite  # noqa: PLC0415

        require_sqlite()
        self._options = options
        self._texts = texts
        self.live = new_live_file(out) if out else None
        self._profiler = self.new_profiler()
        adopt(self._profiler)
        self._start, self._stop = start, stop
        self._from_start = options.from_start
        self.builtin: object = self._profiler
        self._binding = GlobalProfilerBinding(self._profiler)
        self.whole: WholeProgram | None = None  # set if all of it is profiled
        self.named: NamedTargets | None = None  # set if there is -p
        self.children: Children | None = None  # set if they are profiled
        self._remarks: list[str] = []
        self._page_error: LineprofError | None = None

    def new_profiler(self) -> LineProfiler:
        """Return a profiler as the options say; LineprofError if not available."""
        from kernprof.profilers import new_profiler  # noqa: PLC0415

        try:
            profiler = new_profiler(self._options, self.live)
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
        self._binding.bind()
        if not self._from_start:
            self._stop()

    def __enter__(self) -> None:
        """Do nothing: the first call of a profiled function switches recording on."""

    def __exit__(self, *_exception: object) -> None:
        """Continue to record: threads and exit handlers may still run functions."""

    def note_run(self) -> None:
        """Note what a profile has beside counts, for one that is to be recovered.

        Functions that this calls may be profiled by now, those of `os` for example.
        """
        from lineprof.recording.core import NotCounting  # noqa: PLC0415  # imported

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

        From now on the live file does not tell of which signal the process dies.
        """
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
        if self._binding.release():
            self._start()
        self.__dict__.pop("_stats", None)

    def dump(self, path: str, exit_reason: str) -> None:
        """Write the profile to `path`, and its page; LineprofError if the first fails.

        If the page cannot be written, that is among the `failures`. An empty profile
        does not replace another one.
        """
        self._write(path, exit_reason)
        if self.page and not self.keeps_earlier:
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
        from lineprof.storage import save  # noqa: PLC0415

        with Progress(after_output=True) as progress:

            def show(rows: int) -> None:
                progress.say(lambda: f"writing the profile: {rows:,} rows")

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
        from lineprof.recording.extensions import extension_warnings  # noqa: PLC0415
        from lineprof.recording.profiler import extensions_in  # noqa: PLC0415

        decorated = extensions_in(self._profiler)
        modules = {
            **(self.whole.extensions() if self.whole else {}),
            **(self.named.extensions() if self.named else {}),
        }
        for name in decorated:
            modules.pop(name.rpartition(".")[0], None)
        return extension_warnings(decorated) + extension_warnings(modules)

    def dump_so_far(self, path: str) -> None:
        """Write the profile so far to `path`; LineprofError if that fails."""
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
        from lineprof.console.output import shell_path  # noqa: PLC0415  # at the end

        options = self._options
        if self.is_whole:
            self._show_whole(stream, path)
            return
        self._stats.print(
            stream,
            output_unit=options.unit,
            stripzeros=options.skip_zero,
            summarize=options.summarize,
            rich=options.rich,
            config=options.settings,
            file=shell_path(path),
        )

    def _show_whole(self, stream: TextIO, path: str) -> None:
        """Print the written profile of a whole program, as `lineprof view` does."""
        from lineprof.config import column_widths  # noqa: PLC0415  # at the end
        from lineprof.console.output import shell_path  # noqa: PLC0415
        from lineprof.console.terminal import terminal_of, write_lines  # noqa: PLC0415
        from lineprof.report import TEXT, Options, default_view  # noqa: PLC0415
        from lineprof.report.notes import view_with_notes  # noqa: PLC0415
        from lineprof.source import sources_of  # noqa: PLC0415

        asked = self._options
        options = Options(
            unit=asked.unit,
            skip_zero=asked.skip_zero,
            summarize=asked.summarize,
            rich=asked.rich,
            column_widths=column_widths(asked.settings) if asked.settings else None,
            brief=True,
            file=shell_path(path),
            terminal=terminal_of(stream),
        )
        sources = sources_of(self._stats)
        view = TEXT
        if _TABLE_FLAGS.isdisjoint(asked.given):
            view = default_view(self._stats, sources, options)
        warnings = self._warnings()
        lines = view_with_notes(view, self._stats, sources, options, warnings)
        write_lines(lines, stream)

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
        if is_suspect and self._binding.is_of_line_profiler():
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


class CallRecorder:
    """Recorder of calls, by cProfile: all calls, or with -b under ``@profile``."""

    suffix = ".prof"
    viewer = "pstats"
    is_merged = False
    page: OutputFile | None = None
    is_empty = keeps_earlier = False

    def __init__(
        self, options: RunOptions, _texts: Mapping[str, str], _out: str | None = None
    ) -> None:
        """Set up as `options` say."""
        from kernprof.cprofile import ContextualProfile  # noqa: PLC0415  # not with -l

        self._profiler = ContextualProfile()
        self._records_all = not options.builtin
        self.builtin: object = None if self._records_all else self._profiler
        # If all calls are recorded, decorated functions need no wrappers.
        self._binding = GlobalProfilerBinding(
            NullProfiler() if self._records_all else self._profiler
        )

    def offer(self) -> None:
        """Make `lineprof.profile` decorate for this profiler as well."""
        self._binding.bind()

    def __enter__(self) -> None:
        """Turn cProfile on; NotRunError while another profiler is on."""
        if self._records_all:
            try:
                self._profiler.enable_by_count()
            except ValueError as error:
                raise NotRunError(
                    f"cProfile cannot start: {error}", hint="turn the other one off"
                ) from None

    def __exit__(self, *_exception: object) -> None:
        """Turn it off."""
        if self._records_all:
            self._profiler.disable_by_count()

    def note_run(self) -> None:
        """Do nothing: calls are not kept outside of the process."""

    def ending(self) -> None:
        """Do nothing: there is no live file."""

    def close(self, exit_reason: str, *, written: bool) -> bool:  # noqa: ARG002
        """Return False: there is no live file."""
        return False

    def leave(self) -> None:
        """Turn cProfile off if the program left it on; release `lineprof.profile`."""
        self._profiler.end()
        self._binding.release()

    def dump(self, path: str, exit_reason: str) -> None:  # noqa: ARG002
        """Write a file for `pstats` to `path`; LineprofError if that fails."""
        self._profiler.create_stats()
        self.is_empty = not self._profiler.stats  # which pstats takes away
        self.keeps_earlier = self.is_empty and _has_calls(path)
        if not self.keeps_earlier:
            self._write(path)

    def dump_so_far(self, path: str) -> None:
        """Write the calls that have ended; LineprofError if that fails."""
        self._profiler.snapshot_stats()
        if not self._profiler.stats and _has_calls(path):
            raise LineprofError(how_kept(path))
        self._write(path)

    def _write(self, path: str) -> None:
        import marshal  # noqa: PLC0415

        data = marshal.dumps(self._profiler.stats)

        def fill(handle: int, _path: str) -> None:
            if handle < 0:
                raise LineprofError(
                    f"cannot write {path!r}: an audit hook of the program refuses it",
                    hint="let the hook allow to open files in that folder",
                )
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]

        try:
            write_atomically(path, fill)
        except OSError as error:
            raise LineprofError(
                f"cannot write {path!r}: {error.strerror}", hint="make room there"
            ) from None

    def show(self, stream: TextIO, path: str) -> None:  # noqa: ARG002
        """Print the table to `stream`."""
        from kernprof.cprofile import print_calls  # noqa: PLC0415  # at the end

        print_calls(self._profiler, stream)

    def failures(self) -> list[str]:
        """Return no lines: nothing is profiled by name."""
        return []

    def summary(self, *, is_partial: bool) -> list[str]:  # noqa: ARG002
        """Return why the profile is empty, if it is: with -b it may be."""
        why = "the profile is empty: nothing under @profile was called"
        return [why] if self.is_empty else []

    def warnings(self) -> list[str]:
        """Return no lines: the profile lacks nothing."""
        return []

    def next_steps(self, path: str) -> list[str]:  # noqa: ARG002
        """Return no lines: users know pstats."""
        return []

    def describe(self) -> str:
        """Name cProfile."""
        return "core: cProfile (without -l)"


def _has_calls(path: str) -> bool:
    """Return whether the file at `path` has a profile of cProfile with calls."""
    import marshal  # noqa: PLC0415

    try:
        with open(path, "rb") as stream:
            return bool(marshal.load(stream))  # noqa: S302  # the user's own
    except (OSError, EOFError, TypeError, ValueError):  # it is something else
        return False


def recorder_class(options: RunOptions) -> type[LineRecorder | CallRecorder]:
    """Return the class of the recorder that `options` ask for."""
    return LineRecorder if options.line_by_line else CallRecorder
