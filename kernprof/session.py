"""One program under one profiler: run it, and write the profile once."""

from __future__ import annotations

import os
import sys

from kernprof import report
from kernprof.find import find
from kernprof.outfile import VARIABLE, OutFile, expand
from kernprof.recorders import recorder_class
from kernprof.spawned import Children
from kernprof.stage import Stage
from kernprof.terminate import Terminate
from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.flags import Plan
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
            template = os.environ.get(VARIABLE) or f"%s{kind.suffix}"
        names = {"stem": self.program.stem, "file_name": self.program.file_name}
        self._out = OutFile(expand(template, **names))
        self.recorder: Recorder = kind(plan, self.program.texts)
        self._plan = plan
        self._pid = os.getpid()
        self._state = _READY
        self._words = self._remark = ""
        self._own_process = False
        self._imports_from = list(sys.path)
        self._terminate = Terminate(self._die)
        self._children = Children()
        self._stage = Stage(
            self.program, self.recorder.builtin, verbosity=plan.verbosity
        )

    def begin(self, path: list[str], *, own_process: bool) -> None:
        """Set the stage for `program`, whose `sys.path` goes on with `path`.

        A process that is the program's own stays as the program leaves it.
        `end` is to be called once the program is over.
        """
        if self._plan.verbosity > 1:
            report.complain(self.recorder.describe())
            report.complain(f"output: {self._out.path}")
        self._own_process = own_process
        self._stage.enter(self._plan.arguments, path, own_process=own_process)
        self._children.install()
        self._terminate.install()

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
            self.recorder.leave()
            if self._own_process:
                self._stage.retire()
            else:
                self._stage.leave()
        self._say()
        return trouble

    def _die(self) -> bool:
        """Write the profile in a process that SIGTERM is about to end.

        Returns False if that is under way, further down the stack.
        """
        if self._state == _WRITING:
            return False
        trouble = self._write("SIGTERM")
        if trouble:
            report.complain(trouble)
        self._say(dying=True)
        return True

    def _say(self, *, dying: bool = False) -> None:
        report.say(self._words, dying=dying)
        if self._remark:
            report.complain(self._remark)

    def _write(self, how: str) -> LineprofError | None:
        """Write the profile unless that was done; return why it failed."""
        ours = os.getpid() == self._pid and self.program.started
        if self._state != _READY or not ours:
            return None
        self._state = _WRITING
        imports_from, sys.path = sys.path, self._imports_from
        try:
            if self.program.texts:
                from kernprof.texts import KnownTexts  # noqa: PLC0415  # seldom needed

                with KnownTexts(self.program.texts):
                    self._record(how)
            else:
                self._record(how)
        except LineprofError as error:
            return error
        except KeyboardInterrupt:
            return LineprofError("interrupted before the profile was written")
        finally:
            sys.path = imports_from
            self._state = _OVER
        return None

    def _record(self, how: str) -> None:
        self.recorder.dump(self._out.path, how)
        self._words = self._what_to_say()
        if self._plan.verbosity > 0:
            self._remark = self.recorder.remark()

    def _what_to_say(self) -> str:
        verbosity = self._plan.verbosity
        if verbosity < 0:
            return ""
        from kernprof import closing  # noqa: PLC0415  # only now

        shown = self._out.shown
        text = f"Wrote profile results to {shown!r}\n"
        if verbosity > 0:
            return text + closing.table(self.recorder)
        return text + closing.how_to_view(self.recorder.viewer, shown)
