"""One program under one profiler: run it, and write the profile once."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kernprof import messages
from kernprof.environment import Children, ProgramEnvironment, fresh_main, import_all
from kernprof.messages import Log, advice
from kernprof.output_file import OutputFile, default_name, expand
from kernprof.periodic_dump import PeriodicDump
from kernprof.program import code_of_file, find, read_file
from kernprof.recorders import LineRecorder, recorder_class
from kernprof.signals import SigtermHandler
from kernprof.whole_program import watchers
from lineprof.console.output import print_message
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    from kernprof.options import Plan
    from kernprof.overhead_budget import BudgetWatch
    from kernprof.recorders import Recorder

_READY, _WRITING, _OVER = range(3)


class Session:
    """All that belongs to one run, made ready before a line of it runs."""

    def __init__(self, plan: Plan) -> None:
        """Make ready what `plan` asks for.

        Raises LineprofError for all that would fail later: a missing script, a
        folder that cannot be written to, a hook that cannot be had.
        """
        kind = recorder_class(plan)
        self.program = find(plan)
        template = plan.outfile
        if template is None:
            template = default_name(kind.suffix)
        names = {"stem": self.program.stem, "file_name": self.program.file_name}
        self._out = OutputFile(expand(template, **names))
        self.recorder: Recorder = kind(plan, self.program.texts)
        self._watchers = watchers(plan, self.program, self.recorder)
        if self._watchers:
            self.program.before = self._watch
        self._setup: SetupFile | None = None
        if plan.setup:
            self._setup = SetupFile(plan.setup)
        self._interval = PeriodicDump(plan.output_interval, self._dump_so_far)
        self._budget = self._new_budget(plan)
        self._log = Log(plan)
        self._plan = plan
        self._pid = os.getpid()
        self._state = _READY
        self._words = ""
        self._remarks: list[str] = []
        self._own_process = self._set_up = False
        self._imports_from = list(sys.path)
        self._terminate = SigtermHandler(self._die)
        self._children = Children()
        self._stage = ProgramEnvironment(
            self.program, self.recorder.builtin, verbosity=plan.verbosity
        )

    def begin(self, path: list[str], *, own_process: bool) -> None:
        """Set the stage for `program`, whose `sys.path` goes on with `path`.

        A process that is the program's own stays as the program leaves it.
        `end` is to be called once the program is over.
        """
        self._log.begin(self.recorder.describe(), self._out.path)
        self._own_process = own_process
        if self._plan.output_interval:
            import_all()  # no thread is to import
        self._stage.enter(self._plan.arguments, path, own_process=own_process)
        self._children.install()
        self._terminate.install()
        self.recorder.offer()
        if self._setup:
            self._stage.shadowed.forget(self._setup.folder, own_process=own_process)
            self._setup.run(self._stage.first_path)

    def run(self) -> None:
        """Run the program; what it raises goes through."""
        self._set_up = True
        self._interval.start()
        if self._budget:
            self._budget.start()
        self.program.run(self.recorder)

    def refuse(self, error: BaseException) -> None:
        """Let python say, where it can say better, why `error` ended the program."""
        if self._set_up:
            self.program.refuse(error)

    def advice(self, error: BaseException) -> str:
        """Return a line on an exception that other flags would spare; mostly ""."""
        return advice(error, self._plan)

    def end(self, how: str = "") -> LineprofError | None:
        """Write the profile, and put back what `begin` changed; called once.

        `how` says how the program ended, "" for normally. In a forked child,
        and where no line of the program ran, nothing is written. In the
        program's own process what is the program's stays. Returns why the
        profile could not be written, if so.
        """
        try:
            trouble = self._write(how)
            self._terminate.settle()
        finally:
            self._terminate.remove()
            self._children.remove()
            for watcher in self._watchers:
                watcher.end()
            self.recorder.leave()
            if self._own_process:
                self._stage.retire()
            else:
                self._stage.leave()
        self._say()
        return trouble

    def _new_budget(self, plan: Plan) -> BudgetWatch | None:
        recorder = self.recorder
        if not plan.max_overhead or not isinstance(recorder, LineRecorder):
            return None
        from kernprof.overhead_budget import BudgetWatch  # noqa: PLC0415  # rare

        return BudgetWatch(plan.max_overhead, lambda: recorder.profiler)

    def _watch(self, code: CodeType, module: str) -> None:
        for watcher in self._watchers:
            watcher.begin(code, module)

    def _die(self) -> bool:
        """Write the profile in a process that SIGTERM is about to end.

        Returns False if that is under way, further down the stack.
        """
        if self._state == _WRITING:
            return False
        trouble = self._write("SIGTERM")
        if trouble:
            messages.print_error(trouble)
        self._say(dying=True)
        return True

    def _say(self, *, dying: bool = False) -> None:
        print_message(self._words, dying=dying)
        for remark in self._remarks:
            messages.print_error(remark)

    def _write(self, how: str) -> LineprofError | None:
        """Write the profile unless that was done; return why it failed."""
        ours = os.getpid() == self._pid and self.program.started
        if self._state != _READY or not ours:
            return None
        self._state = _WRITING
        imports_from, sys.path = sys.path, self._imports_from
        try:
            self._interval.stop()
            if self._budget:
                self._budget.stop()
            with self._stage.shadowed:
                self._with_texts(lambda: self._record(how))
        except LineprofError as error:
            return error
        except KeyboardInterrupt:
            return LineprofError("interrupted before the profile was written")
        except Exception as error:  # noqa: BLE001  # the program may leave anything
            return LineprofError(
                f"cannot write or show the profile: {type(error).__name__}: {error}",
                hint="see whether the program leaves too few open files or memory,"
                " or changes modules",
            )
        finally:
            sys.path = imports_from
            self._state = _OVER
        return None

    def _dump_so_far(self) -> None:
        """Write the profile of a program that runs; in another thread."""
        if self._state == _READY and self.program.started:
            self._with_texts(lambda: self.recorder.dump_so_far(self._out.path))

    def _with_texts(self, act: Callable[[], None]) -> None:
        """Call `act` while `linecache` knows what of the source is no file's."""
        if not self.program.texts:
            act()
            return
        from kernprof.environment import KnownTexts  # noqa: PLC0415  # seldom needed

        with KnownTexts(self.program.texts):
            act()

    def _record(self, how: str) -> None:
        self.recorder.dump(self._out.path, how)
        self._words = self._what_to_say()
        if self._plan.verbosity >= 0:
            self._remarks = self.recorder.notes()
            if self._budget and self._budget.said():
                self._remarks.append(self._budget.said())
        if self._plan.verbosity > 0:
            self._remarks += self.recorder.remarks()

    def _what_to_say(self) -> str:
        verbosity = self._plan.verbosity
        if verbosity < 0:
            return ""
        from kernprof import messages  # noqa: PLC0415  # only now

        shown = self._out.shown
        text = self._log.informed(f"Wrote profile results to {shown!r}")
        if verbosity > 0:
            return text + messages.table(self.recorder)
        viewing = messages.how_to_view(self.recorder.viewer, shown)
        lines = [viewing, *self.recorder.next_steps(shown)]
        return text + "".join(map(self._log.informed, lines))


# The setup file (-s): it runs before the program, and is not profiled.


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
            messages.print_error(
                f"setup file {self.name!r} ended by {what}; the program was not run"
            )
            raise
        sys.modules["__main__"] = programs
        for entry in first_path:
            if entry in sys.path:
                sys.path.remove(entry)
        sys.path[:0] = first_path
