"""The profile of a program that runs already: counting begins, and ends again.

All functions that the program calls from now on are found as they are first called, as
under kernprof, and those that run at this moment are joined at their next line.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from _thread import get_ident
from collections import namedtuple
from contextlib import nullcontext
from itertools import pairwise
from types import AsyncGeneratorType, CodeType, CoroutineType, GeneratorType, ModuleType

from kernprof.environment import KnownTexts
from kernprof.profilers import new_profiler
from kernprof.project import Asked, around, project_files, runner_of
from kernprof.run_options import COMMAND, MODULE, SCRIPT, RunOptions
from kernprof.selection import FunctionFilter
from lineprof.control.listener import ReplyWithFile
from lineprof.errors import LineprofError
from lineprof.files import current_folder, real_path
from lineprof.private_folder import create_file, open_file
from lineprof.process_info import arguments, thread_names
from lineprof.recording import core
from lineprof.recording.profiler import (
    begin_memory,
    close,
    counts_of,
    end_memory,
)
from lineprof.snapshot.counts import COUNTS, write_counts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType
    from typing import Any

    from kernprof.overhead_budget import BudgetWatch
    from lineprof.line_stats import LineStats
    from lineprof.recording.profiler import LineProfiler

_MODULE_CODE = "<module>"
_MAIN_THREAD_S = 5.0  # for the main thread to import a module
_ATTACHED = (
    "attached to a running program: lines that ran at that moment count from the next"
    " line on"
)


class AttachedProfile:
    """Line profiling of this process, from `begin` to `finish` or `end`."""

    is_whole = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Prepare to profile as the client's `options` say."""
        if core.is_discovering():  # which one profiler of a process can do
            raise LineprofError(
                f"process {os.getpid()} is profiled by kernprof -l already",
                hint="start it with --listen as well, for lineprof ctl PID write FILE",
            )
        self._options = _run_options(options)
        if (self._options.core or core.wanted_core()) == "settrace":
            _import_threading_there()
        self._folder = str(options["folder"])  # for files, of this user alone
        self._program = _Running.of_this_process()
        self._live = core.new_live_file(os.path.join(self._folder, "attached.lprof"))
        # Counting stops and starts at once for all functions, but not for others.
        self._all_at_once = (
            core.NotCounting if core.hook_in_use() is None else nullcontext
        )
        try:
            self._profiler: LineProfiler | None = new_profiler(
                self._options, self._live
            )
        except LineprofError:
            self._close_live()
            raise
        self._was_counting = core.is_counting()
        self._budget: BudgetWatch | None = None
        if self._options.max_overhead:
            from kernprof.overhead_budget import BudgetWatch  # noqa: PLC0415  # rare

            self._budget = BudgetWatch(
                self._options.max_overhead, lambda: self.profiler
            )

    @property
    def profiler(self) -> LineProfiler:
        """The profiler of the program."""
        assert self._profiler is not None  # noqa: S101  # until the end
        return self._profiler

    def begin(self) -> str:
        """Begin to count; return a line on what is counted."""
        profiler, program = self.profiler, self._program
        profiler.texts = program.texts
        select = self._new_filter()
        core.start()
        with self._all_at_once():
            found = 0
            running = {frame.f_code for frame in _frames()}
            for code in {*running, *_suspended_code()}:
                if select(code) and profiler.watch(code):
                    found += 1
            profiler.enable()
            pause = self._budget.pause if self._budget else None
            profiler.discover(select, pause=pause)
        if self._live:
            profiler.note_run()
            self._live.note(texts=dict(program.texts), whole=True)
        if self._budget:
            self._budget.start()
        begin_memory(profiler)
        return f"joined {found} running function{'s' * (found != 1)}"

    def write_so_far(self, path: str) -> str:
        """Write the profile so far to `path`, and return that; LineprofError."""
        if not path:
            raise LineprofError("no file is named", hint="name the file to write")
        self._to_file(self.profiler.stats_so_far, path)
        return path

    def open_live_file(self) -> int | None:
        """Return a descriptor of the file of the counts; None if there is none.

        A client that has it has the counts of a program that is killed, although it may
        see other files, or be another user.
        """
        try:
            return open_file(self._live.path, owner=os.getuid()) if self._live else None
        except (OSError, LineprofError):
            return None

    def finish(self, exit_reason: str = "") -> ReplyWithFile:
        """Count no more, and return the reply with what was counted, for the client.

        That is a file of counts, from which the client makes the profile: the modules
        for that would leave Python's memory in this process in pieces, in which it is
        slower. If there is GPU work, it is the profile. `exit_reason` says how the
        program ended; "" means that it goes on. Raises LineprofError if the file cannot
        be written.
        """
        profiler = self.profiler
        path = os.path.join(self._folder, f"{os.getpid()}-{os.urandom(6).hex()}")
        try:
            self._stop()
            profiler.exit = exit_reason or "still running"
            counts = self._write_counts(path)
            handle = self._write_profile(path) if counts is None else counts
        finally:
            self._release()
        summary = self._budget.summary() if self._budget else []
        kind = "profile" if counts is None else COUNTS
        reply = {"file": kind, "ended": exit_reason, "summary": summary}
        return ReplyWithFile(reply, handle)

    def end(self) -> None:
        """Count no more, and forget all counts; does nothing if that was done."""
        if self._profiler is not None:
            self._stop()
            self._release()

    def _stop(self) -> None:
        end_memory(self.profiler)
        if self._budget:
            self._budget.stop()
        with self._all_at_once():
            self.profiler.discover(None)
            self.profiler.disable()

    def _release(self) -> None:
        profiler, self._profiler = self.profiler, None
        close(profiler)
        self._close_live()
        if not self._was_counting:
            core.stop()

    def _write_counts(self, path: str) -> int | None:
        """Return a file of counts that has no name any more.

        None if such a file cannot have all that was recorded.
        """
        with KnownTexts(self._program.texts):
            found = counts_of(self.profiler)
        if found is None:
            return None
        counts, texts = found
        counts.process["is_whole"] = True
        counts.warnings.append(_ATTACHED)
        try:
            handle = create_file(path)
            try:
                os.unlink(path)
                with open(handle, "wb", closefd=False) as stream:
                    write_counts(stream, counts, texts, thread_names())
                os.lseek(handle, 0, os.SEEK_SET)
            except BaseException:
                os.close(handle)
                raise
        except OSError as error:
            raise LineprofError(
                f"cannot write to {self._folder}: {error.strerror}",
                hint="make room there",
            ) from None
        return handle

    def _write_profile(self, path: str) -> int:
        """Return the file of a profile, which has no name any more; LineprofError."""
        self._to_file(self.profiler.get_stats, f"{path}.lprof", _ATTACHED)
        handle = open_file(f"{path}.lprof", owner=os.getuid())
        os.unlink(f"{path}.lprof")
        return handle

    def _to_file(
        self, read: Callable[[], LineStats], path: str, *warnings: str
    ) -> None:
        from kernprof.line_recorder import marked  # noqa: PLC0415  # seldom
        from lineprof.storage import require_sqlite  # noqa: PLC0415  # seldom

        require_sqlite()
        with KnownTexts(self._program.texts):
            stats = marked(read(), is_whole=True)
        stats.warnings = (*stats.warnings, *warnings)
        stats.to_file(path)

    def _close_live(self) -> None:
        if self._live:
            self._live.close(remove=True)

    def _new_filter(self) -> FunctionFilter:
        asked, code = self._program.asked, self._program.code
        folder = current_folder()
        select = FunctionFilter.of(self._options, folder)
        has_file = asked.kind != COMMAND
        if has_file:
            files = project_files(asked, code.co_filename, asked.target)
        else:
            files = around(folder or os.curdir)
        select.begin(
            code,
            files,
            asked.target if asked.kind == MODULE else "",
            has_file=has_file,
            is_own=not runner_of(asked, code.co_filename),
        )
        return select


def _import_threading_there() -> None:
    """Have the main thread import `threading`, which the core "settrace" needs.

    Python 3.12 takes the thread that imports that module for the main one, and waits
    for it when the program ends. Raises LineprofError if the main thread is blocked.
    """
    # 3.11 does not need the module there, and 3.13 knows the main thread.
    if sys.version_info[:2] != (3, 12) or "threading" in sys.modules:
        return
    core.call_soon(lambda: __import__("threading"))
    until = time.monotonic() + _MAIN_THREAD_S
    while "threading" not in sys.modules:  # the core waits for the rest of the import
        if time.monotonic() > until:
            raise LineprofError(
                "the event source settrace needs the main thread, which is blocked",
                # It may be the program's environment that asks for settrace.
                hint="attach with --core monitoring",
            )
        time.sleep(0.001)


def _run_options(values: Mapping[str, Any]) -> RunOptions:
    options = RunOptions("lineprof attach")
    options.line_by_line = True
    options.include = tuple(map(str, values.get("include") or ()))
    options.exclude = tuple(map(str, values.get("exclude") or ()))
    options.all = bool(values.get("all"))
    options.max_overhead = float(values.get("max_overhead") or 0.0)
    wanted = values.get("core")
    options.core = wanted if wanted in core.CORES else None
    options.memory = bool(values.get("memory")) or None
    options.memory_sample = values.get("memory_sample")
    return options


class _Running(namedtuple("_Running", "asked code texts")):
    """The program that runs in this process."""

    __slots__ = ()

    asked: Asked  # a script, a module or a command, which has no file
    code: CodeType  # of `__main__`
    texts: Mapping[str, str]  # source without a file

    @classmethod
    def of_this_process(cls) -> _Running:
        """Return what `__main__` says."""
        main = sys.modules.get("__main__", ModuleType("__main__"))
        names = vars(main)
        file, spec = names.get("__file__"), names.get("__spec__")
        code = _main_code(names)
        argv0 = next(iter(arguments()), "")
        if not isinstance(file, str):
            asked = Asked(
                kind=COMMAND, target="", argv0=argv0, first_path=current_folder()
            )
            code = code or compile("", "<string>", "exec")
            return cls(asked=asked, code=code, texts=_command_text())
        name = getattr(spec, "name", None)
        is_module = isinstance(name, str) and bool(name)
        asked = Asked(
            kind=MODULE if is_module else SCRIPT,
            target=name if is_module else (argv0 or file),
            argv0=argv0 or file,
            first_path=os.path.dirname(real_path(file)),
        )
        return cls(asked=asked, code=code or compile("", file, "exec"), texts={})


def _main_code(names: dict[str, Any]) -> CodeType | None:
    """Return the code of `__main__` if it is running, on whatever thread."""
    for frame in _frames():
        if frame.f_globals is names and frame.f_code.co_name == _MODULE_CODE:
            return frame.f_code
    return None


def _command_text() -> Mapping[str, str]:
    """Return the text of ``python -c``, by the name of its code."""
    words = [*sys.orig_argv, ""]
    for word, text in pairwise(words):
        if word == "-c":
            if sys.version_info >= (3, 14):  # python removes the common indentation
                from textwrap import dedent  # noqa: PLC0415  # rare

                text = dedent(text)  # noqa: PLW2901
            return {"<string>": text}
        if not word.startswith("-") and word is not words[0]:
            break
    return {}


def _frames() -> Iterator[FrameType]:
    """Yield all frames that run, but those of the calling thread."""
    innermost = sys._current_frames()  # noqa: SLF001  # it is public
    # This one would be in a cycle, which keeps the variables of all of them alive.
    del innermost[get_ident()]
    for one in innermost.values():
        frame: FrameType | None = one
        while frame is not None:
            yield frame
            frame = frame.f_back


_SUSPENDING = {
    GeneratorType: "gi_code",
    CoroutineType: "cr_code",
    AsyncGeneratorType: "ag_code",
}


def _suspended_code() -> Iterator[CodeType]:
    """Yield the code of generators and coroutines, which may be resumed."""
    for one in gc.get_objects():
        if type(one) in _SUSPENDING:  # there may be a million others
            yield getattr(one, _SUSPENDING[type(one)])
