"""This process as one of a run: the first, or a child of which the counts are a part.

Counts are in a live file, which outlives the process. What else a child recorded is
written when it ends, and a child is told of the run by its environment. So functions of
`os` that end a process without any code of Python, start one with an environment of
its own, or want a process with one thread, are replaced by others that call them.
These are built-in functions too: no frame of lineprof is in a traceback.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from _thread import get_native_id
from contextlib import nullcontext

from lineprof.held_signals import NoSizeSignal
from lineprof.processes.forks import Forks
from lineprof.processes.parts import VARIABLE, note_failure, withdraw, write_profile
from lineprof.recording.core import pause_sampler, prepared_call
from lineprof.recording.descriptors import with_descriptors
from lineprof.recording.profiler import begin_in_child, end_memory, is_live

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType
    from typing import Any, TypeAlias

    from lineprof.processes.parts import Run
    from lineprof.recording.gpu import GpuOptions
    from lineprof.recording.live_file import LiveFile
    from lineprof.recording.profiler import LineProfiler

    _Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]

_ENVIRONMENT = 2  # the place of the environment among the arguments, if it is there


class Member:
    """This process, first of a run or a child in it, and the processes forked from it.

    One that is forked from it is a child.
    """

    def __init__(
        self, run: Run, live: LiveFile | None, *, is_whole: bool = False
    ) -> None:
        """Be the first process of `run`, or one about to `join` it.

        `live` is the live file of this process.
        """
        self.run = run
        self.live = live
        self.is_whole = is_whole  # all functions are profiled, named by nobody
        # The one in use, and others that the program may use.
        self.profilers: Callable[[], Sequence[LineProfiler]] = tuple
        self.exits: Callable[[], object] = int  # called before `os._exit`
        self.execs: Callable[[], object] = int  # before `os.exec`, if it is no child
        # A block in which the process is as it was before the program.
        self.safe: AbstractContextManager[object] = nullcontext()
        self.is_child = False
        self._is_server = False  # its children count, and what it does itself, if any
        self._parent = 0  # its pid, of a child
        self._gpu: GpuOptions | None = None  # of a fork server: for its children
        self._stem = ""  # of the file that announces a child without a live file
        self._thread = (0, 0)  # native ids: in the core, and now
        self._replaced: list[tuple[ModuleType, str, Any, object]] = []

    def join(self, parent: int) -> None:
        """Be a child, started by the process with the pid `parent`."""
        self._parent, self.is_child = parent, True
        self.note_run()

    def serve(self, gpu: GpuOptions) -> None:
        """Be a fork server, about to `join`; its children record `gpu` work."""
        self._is_server = True
        self._gpu = gpu

    def note_run(self) -> None:
        """Note which profiler is in use, and where this child comes from."""
        if not self.is_child:
            return
        if self.live is None:
            if not self._is_server:  # it runs as long as the program, or longer
                with_descriptors(self._announce)
            return
        self.profilers()[0].note_run()
        self.live.note(
            whole=self.is_whole,
            parent=self._parent,
            thread=self._thread,
            server=self._is_server,
            folder=self.run.folder,
        )

    def begin(self) -> None:
        """Follow forks, and the other ways to start and to end a process."""
        Forks.follow(self)
        self.run.hand_on()
        for name, prepare in (
            ("_exit", self._before_exit),
            ("execv", self._before_exec),
            ("execve", self._before_exec),
            ("posix_spawn", self._before_spawn),
            ("posix_spawnp", self._before_spawn),
            ("unshare", _before_namespaces),
            ("setns", _before_namespaces),
        ):
            plain = getattr(os, name, None)
            if plain is None:
                continue
            ours = prepared_call(plain, prepare)
            for module in (os, sys.modules[os.name]):
                self._replaced.append((module, name, plain, ours))
                setattr(module, name, ours)

    def end(self) -> None:
        """Put all back, unless the program has its own there."""
        Forks.forget(self)
        self.run.keep()
        while self._replaced:
            module, name, plain, ours = self._replaced.pop()
            if getattr(module, name, None) is ours:
                setattr(module, name, plain)

    def withdraw(self) -> None:
        """Take back that this is a child: it does not begin."""
        self.is_child = False
        if self._stem:
            withdraw(self._stem)
            self._stem = ""

    def leave(self, end: str = "") -> None:
        """Leave what a child counted; `end` says how the program ended.

        The program goes on as it would if that fails.
        """
        if not self.is_child:
            return
        end_memory(self.profilers()[0])
        with self.safe, NoSizeSignal():
            with_descriptors(lambda: self._leave_profile(end))
            self.is_child = False
            if self.live:
                self.live.note(ended="")
                self.live.close(end, remove=bool(self._stem))

    def _leave_profile(self, end: str) -> None:
        """Write what is not in a live file, if there is anything."""
        try:
            profiler = self.profilers()[0]
            if self.live and is_live(profiler):
                return
            self._announce()
            if self._stem:
                write_profile(self._stem, lambda path: self._save(profiler, path, end))
                if self.live and self.live.is_complete:
                    self.live.note(part=True)  # of which the counts are a part
                elif self.live:  # a note would be lost, and all be counted twice
                    self.live.close(end, remove=True)
                    self.live = None
        except Exception as error:  # noqa: BLE001  # the run has ended, the disk is full...
            if self._stem:
                note_failure(self._stem, _number_of(error))
            self._stem = ""

    def _announce(self) -> None:
        self._stem = self._stem or self.run.announce()

    def _save(self, profiler: LineProfiler, path: str, end: str) -> None:
        profiler.exit = end
        stats = profiler.final_stats()
        [process] = stats.processes
        process = process._replace(parent_pid=self._parent, is_whole=self.is_whole)
        stats.processes = (process,)
        stats.to_file(path)

    def forked(self) -> None:
        """Go on as before: a child was forked."""

    def begin_in_child(self, parent: int, thread: int) -> None:
        """Be a child, just forked by `thread` of the process with the pid `parent`."""
        with self.safe:
            self._begin_as_child(parent, thread)

    def _begin_as_child(self, parent: int, thread: int) -> None:
        gpu, self._gpu = self._gpu, None
        for profiler in self.profilers():
            begin_in_child(profiler, gpu)
        first, last = self._thread
        self._thread = (first if thread == last else thread, get_native_id())
        self._parent, self._stem = parent, ""
        self.is_child, self._is_server = True, False
        with NoSizeSignal():
            if self.live and not (self.run.is_open and self.live.move()):
                self.live = None
            self.note_run()

    # -- before calls of functions of `os`: the arguments for them, by place and name --

    def _before_exit(self, *arguments: Any, **named: Any) -> _Arguments:  # noqa: ANN401
        gc.disable()  # it would run the program's code, which ends here
        with self.safe:
            self.leave()
            self.exits()
        return arguments, named

    def _before_exec(self, *arguments: Any, **named: Any) -> _Arguments:  # noqa: ANN401
        path = arguments[0] if arguments else named.get("path")
        with self.safe, NoSizeSignal():
            if self.is_child:
                self._note_exec(path)
            elif _is_program(path):
                self.execs()
        return self._before_spawn(*arguments, **named)

    def _note_exec(self, path: object) -> None:
        """Leave what a child counted, if `path` can be run in its place."""
        if _is_program(path):
            with_descriptors(lambda: self._leave_profile("exec"))
            if self.live:
                self.live.note(ended="exec")

    def _before_spawn(self, *arguments: Any, **named: Any) -> _Arguments:  # noqa: ANN401
        words = [*arguments]
        words[_ENVIRONMENT:] = map(self.with_variable, words[_ENVIRONMENT:])
        if "env" in named:
            named["env"] = self.with_variable(named["env"])
        return tuple(words), named

    def with_variable(self, env: Any) -> Any:  # noqa: ANN401
        """Return the environment `env` of a child, with the variable of the run."""
        if not hasattr(env, "keys") or VARIABLE in env:
            return env
        return {**env, VARIABLE: self.run.place}

    def with_entry(self, env: list[bytes]) -> list[bytes]:
        """Return the same for an environment as entries ``NAME=value``."""
        name = os.fsencode(VARIABLE) + b"="
        if any(entry.startswith(name) for entry in env):
            return env
        return [*env, name + os.fsencode(self.run.place)]


def _before_namespaces(*arguments: Any, **named: Any) -> _Arguments:  # noqa: ANN401
    """Have no thread of the sampler: the system wants a process with one thread."""
    pause_sampler()
    return arguments, named


def _number_of(error: Exception) -> int:
    """Return the errno of an error in writing a profile; 0 if it has none."""
    if getattr(error.__cause__, "sqlite_errorname", "") == "SQLITE_FULL":
        return errno.ENOSPC
    number: object = getattr(error, "errno", None)
    return number if isinstance(number, int) else 0


def _is_program(path: object) -> bool:
    """Return whether a file can be run: `os.execvp` tries one after the other."""
    try:
        return os.access(path, os.X_OK)  # type: ignore[arg-type]
    except (OSError, TypeError, ValueError):
        return True
