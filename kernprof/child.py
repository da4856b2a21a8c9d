"""A child process that is a new interpreter: it profiles what its parent profiles.

`begin` is called before the child's first line, by a line in a file among the installed
packages (`kernprof.children.DOOR`), which Python runs at its start if a variable of the
environment says so, or an entry (see `lineprof.processes.parts`). The parent has left
`children.settings` for it. Until then the line blocks SIGINT, which would be raised in
lineprof, and lets `sys.path` begin with the standard library, so that lineprof imports
no module of the program.
"""

from __future__ import annotations

import atexit
import builtins
import os
import sys
from contextlib import ExitStack, nullcontext

from kernprof.child_hook import STANDARD
from kernprof.joining_hook import JoiningHook
from kernprof.null_profiler import NullProfiler
from kernprof.profilers import gpu_options, new_profiler
from kernprof.run_options import RunOptions
from kernprof.safe_state import SafeNames, SafeState
from lineprof.errors import LineprofError
from lineprof.files import current_folder, real_path
from lineprof.processes.member import Member
from lineprof.processes.parts import Live, Run, is_helper
from lineprof.recording import core
from lineprof.recording.global_profiler import profile
from lineprof.recording.gpu import GpuOptions
from lineprof.recording.profiler import adopt, begin_memory, end_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from contextlib import AbstractContextManager
    from types import CodeType
    from typing import Any

    from lineprof.recording.live_file import LiveFile
    from lineprof.recording.profiler import LineProfiler

_begun: list[Member] = []  # by process: at most one


def begin(modules: Container[str], path: Sequence[str]) -> None:
    """Join the run that this process was started for, if it was for one.

    `modules` are those that Python had imported before lineprof began, and `path` is
    the program's `sys.path`. If that fails, the process is as it was.
    """
    if _begun:
        return
    run = Run.of_environment()
    if run is None or is_helper("resource_tracker", sys.orig_argv):
        return
    told = run.settings()
    if told is None:
        return
    names = SafeNames()
    safe = SafeState(names)
    safe.save()
    try:
        with ExitStack() as undo:
            member = _begin(run, told, names, undo)
            undo.pop_all()
    except LineprofError:  # the core is not available in this Python
        return
    finally:
        shadowed = _shadowed(modules, path)
    names.save()
    safe.shadowed, member.safe = shadowed, safe
    atexit.register(_end, member)
    begin_memory(member.profilers()[0])


def _begin(run: Run, told: dict[str, Any], names: SafeNames, undo: ExitStack) -> Member:
    """Begin to profile this process as `told`; `undo` gets what undoes that.

    `names` are to wait for modules of the standard library.
    """
    options = RunOptions()
    vars(options).update(told["options"])
    options.preimports = False  # the child imports what it would import
    version, hook, costs, turn = told["calibration"]
    if version == sys.hexversion:
        core.inherit_calibration(hook, costs, turn)
    if told["is_first"]:
        run = _as_first(run, told)
    watcher = _Watcher(told, options)
    # CUDA does not survive a fork: those that a server forks open the GPU themselves.
    is_server = is_helper("forkserver", sys.orig_argv)
    gpu = GpuOptions("off") if is_server else None
    live = _live_file(told)
    if live:
        undo.callback(live.close, remove=True)
        live.note(parent=os.getppid())  # the run removes the file, whatever happens
    profiler = builtin = new_profiler(options, live, gpu)
    adopt(builtin, alone=True)
    if watcher.is_second:
        profiler = new_profiler(options, live, gpu, beside=builtin)
    member = Member(run, live, is_whole=watcher.is_whole)
    _begun.append(member)
    undo.callback(_begun.clear)
    undo.callback(_set_builtin, getattr(builtins, "profile", None))
    _set_builtin(builtin)
    undo.callback(profile._kernprof_release)  # noqa: SLF001
    profile._kernprof_overwrite(builtin)  # noqa: SLF001  # as kernprof does
    if not options.from_start:
        undo.callback(core.start)
        core.stop()
    watcher.begin(builtin, profiler, member, undo)
    undo.callback(member.withdraw)
    if is_server:
        member.serve(gpu_options(options))
    member.join(os.getppid())
    undo.callback(run.hand_on)  # after `end`: what this process starts may join
    undo.callback(member.end)
    member.begin()
    hook_of_children = JoiningHook(member, names)
    undo.callback(hook_of_children.remove)
    hook_of_children.install()
    return member


def _set_builtin(profiler: object) -> None:
    """Make `profiler` the builtin `profile`; None: there is none."""
    if profiler is not None:
        builtins.profile = profiler  # type: ignore[attr-defined]
    elif hasattr(builtins, "profile"):
        del builtins.profile


def _shadowed(
    modules: Container[str], path: Sequence[str]
) -> AbstractContextManager[object]:
    """Let the program import its own modules that shadow standard ones.

    Some standard modules are imported by now, before the program's folder is on
    `sys.path`; those in `modules` it would find imported under Python, too. In the
    result, a ``with`` block, the standard ones are there again.
    """
    folders = [*path[: path.index(STANDARD)]] if STANDARD in path else []
    if not sys.flags.safe_path:
        program = (getattr(sys, "argv", None) or [""])[0]
        folder = current_folder()
        if program not in {"", "-c", "-m"}:
            place = real_path(program)
            folder = place if os.path.isdir(place) else os.path.dirname(place)
        folders.append(folder)
    shadowed = None
    for folder in dict.fromkeys(folders):
        try:
            names = {name.partition(".")[0] for name in os.listdir(folder or os.curdir)}
        except OSError:
            continue
        if names.isdisjoint(sys.stdlib_module_names):
            continue
        from kernprof.environment import ShadowedModules  # noqa: PLC0415  # rare

        shadowed = shadowed or ShadowedModules()
        shadowed.forget(folder or os.curdir, keep=modules)
    return shadowed or nullcontext()


def _live_file(told: dict[str, Any]) -> LiveFile | None:
    """Open the live file of this process, if the run has such files."""
    if told["live"] is None:
        return None
    live = Live(*told["live"])
    return core.new_live_file(live.out, folder=live.folder, run=live.run)


def _as_first(run: Run, told: dict[str, Any]) -> Run:
    """Find the program's own files; return the run as its children join it."""
    from kernprof.project import files_of_this_process  # noqa: PLC0415  # seldom

    told["files"], told["is_first"] = files_of_this_process().plain(), False
    return run.with_settings(told)


class _Watcher:
    """Discovery of functions that are not under ``@profile``, as in the parent."""

    def __init__(self, told: dict[str, Any], options: RunOptions) -> None:
        """Take the parent's settings and options."""
        self._told = told
        self._options = options
        self.is_whole = told["files"] is not None
        # Of a whole program only what it decorates counts, once it decorates.
        self.is_second = self.is_whole and not options.whole

    def begin(
        self,
        builtin: LineProfiler,
        profiler: LineProfiler,
        member: Member,
        undo: ExitStack,
    ) -> None:
        """Let `profiler` record; `builtin` is that of ``@profile``.

        `undo` gets what undoes that.
        """
        member.profilers = lambda: (profiler, builtin) if self.is_second else (builtin,)
        if not (self.is_whole or self._told["names"]):
            return
        select = self._selection(profiler)
        pause = None
        if self._options.max_overhead:
            from kernprof.overhead_budget import BudgetWatch  # noqa: PLC0415  # rare

            watch = BudgetWatch(self._options.max_overhead, lambda: profiler)
            undo.callback(watch.stop)
            watch.start()
            pause = watch.pause
        undo.callback(profiler.discover, None)
        profiler.discover(select, pause=pause)
        if not self.is_second:
            return

        def close(used: object) -> None:
            if used is not profiler:
                core.on_first_use.remove(close)
                profiler.discover(None)
                self.is_second = member.is_whole = False
                member.note_run()

        undo.callback(core.on_first_use.remove, close)
        core.on_first_use.append(close)

    def _selection(self, profiler: LineProfiler) -> Callable[[CodeType], bool | None]:
        from kernprof.project import ProjectFiles  # noqa: PLC0415  # not with @profile
        from kernprof.selection import FunctionFilter  # noqa: PLC0415

        told, options = self._told, self._options
        named = None
        if told["names"]:
            from kernprof.named_targets import NamedTargets  # noqa: PLC0415  # with -p

            options.prof_mod = told["names"]
            named = NamedTargets(options, profiler, ())
            named.begin_in_child(told["folder"])
        if not self.is_whole:
            return named.select  # type: ignore[union-attr]
        selected = FunctionFilter.of(options, told["folder"])
        selected.begin_packages(ProjectFiles.of_plain(told["files"]))
        if named is None:
            return selected
        return lambda code: selected(code) or named.select(code)


def _end(member: Member) -> None:
    """Leave what was counted, after the program's threads and exit handlers."""
    end_memory(member.profilers()[0])
    with member.safe:
        core.on_first_use.clear()
        for profiler in member.profilers():
            profiler.discover(None)
        error = getattr(sys, "last_type", None)
        end = "" if error is None else "exception"
        member.leave("KeyboardInterrupt" if error is KeyboardInterrupt else end)
    builtins.profile = NullProfiler()  # type: ignore[attr-defined]
