"""This process as one of a run: it leaves its part when it ends, however it ends.

Ends that run no code of Python (`os._exit`, `os.exec*`) and starts that replace the
environment are seen by functions of `os` in place of the plain ones, which do the same.
They are built-in functions too, so that no frame of ours is in a traceback.
"""

from __future__ import annotations

import os
import sys
from _thread import get_native_id

from lineprof.processes.parts import (
    VARIABLE,
    write_counts,
    write_profile,
    write_server,
)
from lineprof.recording.core import prepared_call
from lineprof.recording.profiler import (
    begin_in_child,
    has_more_than_counts,
    plain_counts,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType
    from typing import Any

    from lineprof.processes.parts import Run
    from lineprof.recording.profiler import LineProfiler

_EXECUTE = "_execute_child"  # of subprocess, which forks if there is a preexec_fn


class Member:
    """This process, first of a run or a child in it, and the processes forked from it.

    Of a process that is no child `leave_part` does nothing; one that is forked from it
    is a child.
    """

    def __init__(self, run: Run, *, is_whole: bool = False) -> None:
        """Be the first process of `run`, or one about to `join` it."""
        self.run = run
        self.is_whole = is_whole  # all functions are profiled, named by nobody
        self.profilers: Callable[[], Iterable[LineProfiler]] = tuple
        self.forked: Callable[[], object] = int  # called in each forked child
        self._stem = ""  # of the file of a child
        self._parent = 0  # its pid
        self._replaced: list[tuple[ModuleType, str, Any, object]] = []

    @property
    def is_child(self) -> bool:
        """Whether this process leaves a part."""
        return bool(self._stem)

    def join(self, parent: int) -> bool:
        """Be a child, started by the process with the pid `parent`.

        Returns False if the run takes no children any more.
        """
        self._parent, self._stem = parent, self.run.announce()
        return bool(self._stem)

    def serve(self) -> None:
        """Leave the part of a fork server now; those forked from it are children."""
        stem, self._stem = self._stem, ""
        try:
            write_server(stem)
        except OSError:
            return

    def begin(self) -> None:
        """Follow forks, and the other ways to start and to end a process."""
        _Forks.watch(self)
        self.run.hand_on()
        for name, prepare in (
            ("_exit", self._before_exit),
            ("execv", self._before_exec),
            ("execve", self._before_exec),
            ("posix_spawn", self._before_spawn),
            ("posix_spawnp", self._before_spawn),
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
        _Forks.forget(self)
        self.run.keep()
        while self._replaced:
            module, name, plain, ours = self._replaced.pop()
            if getattr(module, name, None) is ours:
                setattr(module, name, plain)

    def leave_part(self, end: str = "") -> None:
        """Leave what a child counted so far; `end` says how the program ended.

        The program goes on as it would if that fails.
        """
        if not self._stem:
            return
        try:
            profiler = next(iter(self.profilers()))
            if has_more_than_counts(profiler):
                write_profile(self._stem, lambda path: self._save(profiler, path, end))
            else:
                counts = plain_counts(profiler, end)
                counts["process"] = {**counts["process"], **self._facts()}  # type: ignore[dict-item]
                write_counts(self._stem, counts)
        except Exception:  # noqa: BLE001, S110  # the run has ended, the disk is full...
            pass

    def leave(self, end: str = "") -> None:
        """Leave the last part of a child."""
        self.leave_part(end)
        self._stem = ""

    def _facts(self) -> dict[str, Any]:
        argv = tuple(map(str, getattr(sys, "argv", ())))
        if argv[:1] in {(), ("-c",)}:
            argv = tuple(sys.orig_argv)
        return {"parent_pid": self._parent, "is_whole": self.is_whole, "argv": argv}

    def _save(self, profiler: LineProfiler, path: str, end: str) -> None:
        profiler.exit = end
        stats = profiler.final_stats()
        [process] = stats.processes
        stats.processes = (process._replace(**self._facts()),)
        stats.to_file(path)

    def begin_in_child(self, parent: int, thread: int) -> None:
        """Be a child, just forked by `thread` of the process with the pid `parent`."""
        for profiler in self.profilers():
            begin_in_child(profiler, thread)
        self._parent, self._stem = parent, self.run.announce()
        self.forked()

    # -- before calls of functions of `os`: the arguments for them ---------------------

    def _before_exit(self, *arguments: Any) -> tuple[Any, ...]:  # noqa: ANN401
        self.leave()
        return arguments

    def _before_exec(
        self,
        path: Any,  # noqa: ANN401
        argv: Any,  # noqa: ANN401
        *env: Any,  # noqa: ANN401
    ) -> tuple[Any, ...]:
        self.leave_part("exec")
        return path, argv, *map(self.with_variable, env)

    def _before_spawn(
        self,
        path: Any,  # noqa: ANN401
        argv: Any,  # noqa: ANN401
        env: Any,  # noqa: ANN401
    ) -> tuple[Any, ...]:
        return path, argv, self.with_variable(env)

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


class _Forks:
    """Forks, for the members in use."""

    _members: list[Member] = []  # noqa: RUF012  # no typing on the way to the program
    _is_registered = False
    _forking: tuple[int, int] = (0, 0)  # the process and the thread

    @classmethod
    def watch(cls, member: Member) -> None:
        """Follow forks for `member`; the functions for forks are there for ever."""
        cls._members.append(member)
        if not cls._is_registered:
            cls._is_registered = True
            os.register_at_fork(before=cls._before, after_in_child=cls._in_child)

    @classmethod
    def forget(cls, member: Member) -> None:
        """Follow forks no more."""
        if member in cls._members:
            cls._members.remove(member)

    @classmethod
    def _before(cls) -> None:
        cls._forking = (os.getpid(), get_native_id())

    @classmethod
    def _in_child(cls) -> None:
        if sys._getframe(1).f_code.co_name == _EXECUTE:  # noqa: SLF001
            return  # the child is about to run another program
        for member in cls._members:
            member.begin_in_child(*cls._forking)
