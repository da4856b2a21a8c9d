"""One run: a program under a recorder, and its profile, written once."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext

from kernprof import messages
from kernprof.child_hook import ChildHook
from kernprof.earlier_profile import how_kept, no_hits
from kernprof.environment import KnownTexts, ProgramEnvironment, fresh_main, import_all
from kernprof.output_file import Names, output_of
from kernprof.program import code_of_file, find, read_file
from kernprof.recorders import recorder_class
from kernprof.run_options import COMMAND, STDIN
from kernprof.safe_state import Departures, SafeNames, SafeState
from kernprof.signals import DyingHandler
from lineprof.console.output import Styled, print_message
from lineprof.errors import LineprofError
from lineprof.files import real_path
from lineprof.held_signals import HeldSignals, NoSizeSignal
from lineprof.recording.descriptors import with_descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from kernprof.children import Children
    from kernprof.control import Control
    from kernprof.line_recorder import LineRecorder
    from kernprof.overhead_budget import BudgetWatch
    from kernprof.periodic_dump import PeriodicDump
    from kernprof.program import Program
    from kernprof.recorders import Recorder
    from kernprof.run_options import RunOptions
    from kernprof.whole_program import Watcher
    from lineprof.recording.profiler import LineProfiler

_READY, _WRITING, _WRITTEN = range(3)

_KEPT = "the counts are kept for `lineprof recover`"


class Session:
    """One run, prepared before the program's first line."""

    def __init__(self, options: RunOptions, *, own_process: bool = False) -> None:
        """Prepare the run that `options` describe.

        A process that is the program's own stays as the program leaves it.
        Raises LineprofError for all errors that can be seen now: a missing script,
        a folder that cannot be written to, a core that is not available.
        """
        self._options = options
        kind = recorder_class(options)
        self.program: Program = find(options)
        names = Names(
            stem=_same_in_all_ranks(self.program.stem, options),
            file_name=_same_in_all_ranks(self.program.file_name, options),
            place=options.place,
        )
        path = self.program.path
        self._output = output_of(  # before there is a live file
            options.outfile, names, kind.suffix, html=options.html, program=path
        )
        self._out = self._output.file
        self._own_process = own_process
        out = self._out.name if own_process else None
        self.recorder: Recorder = kind(options, self.program.texts, out)
        self.recorder.page = self._output.page
        self._lines: LineRecorder | None = None  # it, with -l
        if options.line_by_line:
            self._lines = self.recorder  # type: ignore[assignment]
        self.program.watchers = self._new_watchers()
        self._setup = SetupFile(options.setup) if options.setup else None
        self._dump = self._new_dump()
        self._budget = self._new_budget()
        self._control: Control | None = None
        # A block in which `linecache` knows the program's source without a file.
        self._texts: AbstractContextManager[None] = nullcontext()
        if options.kind in {COMMAND, STDIN}:
            self._texts = KnownTexts(self.program.texts)
        self._log = messages.Log(options)
        self._pid = os.getpid()
        self._state = _READY
        self._is_settled = False
        self.is_kept = False  # what was counted, for a profile that was not written
        self._summary = ""  # for standard output
        self._warnings: list[str] = []  # for standard error
        self._is_set_up = False
        self.names = SafeNames()
        self._safe_state = SafeState(self.names)
        self._departures = Departures()
        # Those that come while the profile is written.
        self.signals = HeldSignals(deadly=True)
        self._dying = DyingHandler(self._die)
        # Last of what may fail: it makes a folder.
        self._children = self._new_children()
        self._child_hook = ChildHook(self.names)
        if self._children:
            self._child_hook = self._children.hook(self.names)
            self._children.member.safe = self._safe_state
        self._environment = ProgramEnvironment(
            self.program, self.recorder.builtin, verbosity=options.verbosity
        )
        self._safe_state.shadowed = self._environment.shadowed

    def begin(self, path: list[str]) -> None:
        """Set up the environment of `program`; its `sys.path` ends with `path`.

        `end` is to be called once the program is over.
        """
        self._log.begin(self.recorder.describe(), self._out.path)
        own_process = self._own_process
        if self._dump or self._options.listen:
            import_all()  # the thread must not import
        if self._options.listen:
            import kernprof.control  # noqa: F401, PLC0415  # so that nothing shadows it
        self._safe_state.save()
        self._departures.watch()
        environment = self._environment
        environment.enter(self._options.arguments, path, own_process=own_process)
        self._child_hook.install()
        if self._children:
            self._children.member.begin()
        self._dying.install()
        self.recorder.offer()
        self.names.save()  # with lineprof's own functions in the place of some
        if self._setup:
            environment.shadowed.forget(self._setup.folder, own_process=own_process)
            self._setup.run(environment.first_path)

    def run(self) -> None:
        """Run the program; its exceptions propagate."""
        self._is_set_up = True
        self.recorder.note_run()
        if self._dump:
            self._dump.start()
        if self._budget:
            self._budget.start()
        if self._options.listen:
            self._listen()
        self.program.run(self.recorder)

    def refuse(self, error: BaseException) -> None:
        """Let python report `error`, if it ended the program and python says more.

        Python may take the place of this process, of which nothing is to be left.
        """
        if not self._is_set_up:
            return
        if not self.program.started:
            self.recorder.close("", written=True)
            if self._children:
                self._children.end()
        self.program.refuse(error)

    def hint(self, error: BaseException) -> str:
        """Return a hint on an exception that other flags would avoid, mostly ""."""
        return messages.hint_for(error, self._options)

    def hold_signals(self) -> None:
        """Let signals wait for the end of the process, or of `end`."""
        self.recorder.ending()
        self.signals.hold()

    def end(self, exit_reason: str = "") -> LineprofError | None:
        """Write the profile, and put back what `begin` changed; called once.

        `exit_reason` says how the program ended, "" for normally. In a forked
        child, or if no line of the program ran, nothing is written. In the
        program's own process the program's environment stays, and signals that come
        from now on are dropped: the program has ended. Returns why the profile could
        not be written, None if it was.
        """
        with self.names:
            error = self._end(exit_reason)
        if not self._own_process:
            self.signals.deliver()
        return error

    def _end(self, exit_reason: str) -> LineprofError | None:
        self.hold_signals()
        self.program.error = None
        try:
            error = self._write(exit_reason)
        finally:
            if not self._own_process:
                self.signals.restore()
            self._dying.remove()
            self._child_hook.remove()
            if self._children:
                self._children.end()
            self._departures.end()
            for watcher in self.program.watchers:
                watcher.end()
            self.recorder.leave()
            if self._own_process:
                self._environment.drop_profiler()
            else:
                self._environment.leave()
        self._print_summary()
        return error

    def _new_watchers(self) -> list[Watcher]:
        if not self._lines:
            return []
        from kernprof.whole_program import watchers  # noqa: PLC0415  # with -l alone

        return watchers(self._options, self.program, self._lines)

    def _new_children(self) -> Children | None:
        if not (self._lines and self._options.children):
            return None
        from kernprof.children import Children  # noqa: PLC0415  # with -l alone

        try:
            found = Children(self._options, self._lines)
        except OSError:  # there is no room for what children would leave
            return None
        self._lines.children = found
        return found

    def _child_warnings(self) -> list[str]:
        if self._children:
            return self._children.warnings(self._child_hook.started)
        return self._child_hook.warnings()

    def _new_dump(self) -> PeriodicDump | None:
        seconds = self._options.output_interval
        if not seconds:
            return None
        from kernprof.periodic_dump import PeriodicDump  # noqa: PLC0415  # rare

        return PeriodicDump(seconds, self._dump_so_far)

    def _new_budget(self) -> BudgetWatch | None:
        recorder, limit = self._lines, self._options.max_overhead
        if not (recorder and limit):
            return None
        from kernprof.overhead_budget import BudgetWatch  # noqa: PLC0415  # rare

        watch = BudgetWatch(limit, lambda: recorder.profiler)
        if recorder.whole is not None:
            recorder.whole.pause = watch.pause
        return watch

    def _die(self, signal_name: str) -> bool:
        """Write the profile in a process that a signal is about to end.

        Returns False if the profile is being written already, further down the
        stack.
        """
        with self.names:
            if self._state == _WRITING:
                return False
            self.hold_signals()
            error = self._write(signal_name)
            if self._children:
                self._children.end()
            if error:
                messages.print_error(error)
            self._print_summary(dying=True)
            return True

    def _print_summary(self, *, dying: bool = False) -> None:
        try:
            with NoSizeSignal():
                print_message(self._summary, dying=dying)
                for warning in self._warnings:
                    messages.print_error(warning)
        except KeyboardInterrupt:  # the reader waits, and the user does not
            return

    def _write(self, exit_reason: str) -> LineprofError | None:
        """Write the profile unless that was done; return why it failed."""
        with NoSizeSignal():
            return self._write_once(exit_reason)

    def _write_once(self, exit_reason: str) -> LineprofError | None:
        is_here = os.getpid() == self._pid and self.program.started
        if self._children and self._children.member.is_child:
            self._children.member.leave(exit_reason)
            return None
        if self._state != _READY or not is_here:
            if self._state == _READY:
                self.recorder.close("", written=True)  # there is nothing to write
            return None
        self._state = _WRITING
        error = self._written(exit_reason)
        self._settle(exit_reason, written=error is None)  # if that was not done
        if error and self.is_kept:
            return LineprofError(f"{error}; {_KEPT}")
        if not error and self._options.require_hits and self.recorder.is_empty:
            return no_hits()
        return error

    def _written(self, exit_reason: str) -> LineprofError | None:
        """Write the profile; return why it failed."""
        try:
            if self._dump:
                self._dump.stop()
            if self._budget:
                self._budget.stop()
            if self._control:
                self._control.end()
            with self._safe_state:
                with_descriptors(
                    lambda: self._write_files(exit_reason), self._departures.handles
                )
        except LineprofError as error:
            return error
        except KeyboardInterrupt:
            return LineprofError("interrupted before the profile was written")
        except (MemoryError, SystemError) as error:
            # SystemError: CPython's compiler, which imports use, loses MemoryError.
            return LineprofError(
                f"cannot write or show the profile: memory is short ({_named(error)})",
                hint="let the process have more (ulimit -d, ulimit -v)",
            )
        except Exception as error:  # noqa: BLE001  # whatever the program left behind
            return LineprofError(
                f"cannot write or show the profile: {_named(error)}",
                hint="see whether the program leaves too few open files, or changes"
                " modules",
            )
        finally:
            self._state = _WRITTEN
        return None

    def _write_files(self, exit_reason: str) -> None:
        """Write the profile, and remove the files that are no longer needed."""
        with self._departures:
            with self._texts:
                self._dump_and_summarize(exit_reason)
            self._settle(exit_reason, written=True)

    def _settle(self, exit_reason: str, *, written: bool) -> None:
        """Remove the files of this run beside the profile, once that is `written`."""
        if self._is_settled:
            return
        self._is_settled = True
        if self._children:
            self._children.settle(written=written)
        self.is_kept = self.recorder.close(exit_reason, written=written)
        if self._children:
            self._children.end()

    def _dump_so_far(self) -> None:
        """Write the profile of the running program; called by another thread."""
        if self._state == _READY and self.program.started:
            self.write_so_far("")

    # Requests of `lineprof ctl`, on the thread of the listener.

    def _listen(self) -> None:
        from kernprof.control import Control  # noqa: PLC0415  # with --listen alone

        self._control = Control(self)
        self._control.begin()

    is_whole = True  # kernprof finds the functions of the program

    @property
    def profiler(self) -> LineProfiler:
        """The profiler in use."""
        assert self._lines  # noqa: S101  # --listen needs -l
        return self._lines.profiler

    def write_so_far(self, path: str) -> str:
        """Write the profile so far to `path`, or to the run's; LineprofError."""
        path = path or self._out.path
        if self._state != _READY:
            raise LineprofError("the program has ended", hint="see its profile")
        with NoSizeSignal(), self._texts:
            self.recorder.dump_so_far(path)
        return path

    def _dump_and_summarize(self, exit_reason: str) -> None:
        self.recorder.dump(self._out.path, exit_reason)
        self._summary = self._new_summary()
        verbosity = self._options.verbosity
        self._warnings = self.recorder.failures()
        if self.recorder.keeps_earlier:
            self._warnings.append(how_kept(self._out.shown))
        if not self._options.speaks:
            return
        if verbosity >= 0:
            missed = self._child_warnings()
            self._warnings += self.recorder.summary(is_partial=bool(missed))
            self._warnings += missed
            if self._own_process:  # of the user's command
                self._warnings += messages.how_to_time_lines(self._options, exit_reason)
            if self._budget:
                self._warnings += self._budget.summary()
        if verbosity > 0:
            self._warnings += self.recorder.warnings()

    def _new_summary(self) -> str:
        verbosity = self._options.verbosity
        is_quiet = verbosity < 0 or not self._options.speaks
        if is_quiet or self.recorder.keeps_earlier:
            return ""
        recorder, shown = self.recorder, self._out.shown
        text = self._log.wrote(self._output._replace(page=recorder.page))
        if verbosity > 0:
            return Styled(text + messages.table(recorder, shown))
        return text + self._log.commands(
            self._output,
            recorder.viewer,
            recorder.next_steps(shown),
            is_merged=recorder.is_merged,
        )


def _same_in_all_ranks(stem: str, options: RunOptions) -> str:
    """Return a program's `stem`, in a parallel one without its random ending.

    Programs without a file have such an ending.
    """
    if options.place is None or options.kind not in {COMMAND, STDIN}:
        return stem
    return stem.rpartition("-")[0]


def _named(error: Exception) -> str:
    """Return the class of an error, with its message if there is one."""
    name, text = type(error).__name__, str(error)
    return f"{name}: {text}" if text else name


class SetupFile:
    """The setup file (-s): a script that runs before the program, unprofiled."""

    def __init__(self, name: str) -> None:
        """Read the file called `name`, or of that bare name on PATH.

        Raises UsageError if there is no such file, or it cannot be read.
        """
        self.name, self._path, self._data = read_file(name, "setup file")
        self.folder = os.path.dirname(real_path(self._path))

    def run(self, first_path: Sequence[str]) -> None:
        """Run it as a ``__main__`` of its own, its folder first on `sys.path`.

        The folder stays there, after `first_path`, the program's own first entries;
        other changes to the process stay as well. Exceptions propagate, after a
        message on standard error that the program was not run.
        """
        module = fresh_main()
        vars(module)["__file__"] = self._path
        program_main, sys.modules["__main__"] = sys.modules["__main__"], module
        if first_path and self.folder not in first_path:
            sys.path.insert(0, self.folder)
        try:
            exec(code_of_file(self._data, self._path), vars(module))  # noqa: S102
        except BaseException as error:
            kind = type(error).__name__
            messages.print_error(
                f"setup file {self.name!r} ended by {kind}; the program was not run"
            )
            raise
        sys.modules["__main__"] = program_main
        for entry in first_path:
            if entry in sys.path:
                sys.path.remove(entry)
        sys.path[:0] = first_path
