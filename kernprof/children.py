"""Child processes: they are profiled as the program is, and counted if they are not.

A new interpreter joins the run by itself (see `kernprof.child`); `Children` prepares
that, and collects what children counted. `ChildHook` watches the modules that start
children. A child that multiprocessing spawns imports the parent's script in an
interpreter of its own; if that is not profiled, ``@profile`` would be a NameError. The
first part of the data that the parent sends is unpickled before the child imports the
script; it carries a call that defines `profile`.
"""

from __future__ import annotations

import builtins
import os
import sys

from lineprof.files import real_path
from lineprof.import_hook import ImportHook
from lineprof.processes.forks import Forks
from lineprof.recording.descriptors import with_descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType
    from typing import Any, Self, TypeVar

    from kernprof.recorders import LineRecorder
    from kernprof.run_options import RunOptions
    from kernprof.safe_state import SafeNames
    from lineprof.model.profile import Profile
    from lineprof.processes.member import Member
    from lineprof.processes.parts import Live, Part
    from lineprof.recording.live_file import LiveFile

    T = TypeVar("T")


class NullProfiler:
    """A `profile` that leaves functions as they are."""

    def __call__(self, function: T) -> T:
        """Return `function` itself."""
        return function

    def __enter__(self) -> Self:
        """Measure nothing."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Measure nothing."""

    def __getattr__(self, name: str) -> object:
        """Return other attributes of a profiler from one that records nothing."""
        from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415  # seldom used

        self.__dict__["_idle"] = idle = self.__dict__.get("_idle") or LineProfiler()
        return getattr(idle, name)


STANDARD = os.path.dirname(os.__file__)  # the folder of the standard library
_EXTENSIONS = os.path.join(STANDARD, "lib-dynload")


def define_profile() -> None:
    """Make sure that there is a builtin `profile`; called in the child.

    The child joins the run now if it could not before.
    """
    modules, path = frozenset(sys.modules), sys.path
    # The program's modules are not for lineprof.
    sys.path = sorted(path, key=lambda folder: folder not in {STANDARD, _EXTENSIONS})
    try:
        from kernprof.child import begin  # noqa: PLC0415  # in a child

        begin(modules, path)
    except Exception:  # noqa: BLE001, S110  # the program goes on without
        pass
    finally:
        sys.path = path
    if not hasattr(builtins, "profile"):
        builtins.profile = NullProfiler()  # type: ignore[attr-defined]


class Children:
    """All processes that a program starts, directly or not, under one recorder."""

    def __init__(self, options: RunOptions, recorder: LineRecorder) -> None:
        """Prepare to profile them as `options` say, and as `recorder` does."""
        from lineprof.processes.member import Member  # noqa: PLC0415  # with -l alone
        from lineprof.processes.parts import Run  # noqa: PLC0415

        self._options = options
        self._recorder = recorder
        self._run = Run.new()
        self._live = place_of(recorder.live)
        self.member = Member(self._run, recorder.live)
        self.member.profilers = self._profilers
        self._pid = os.getpid()
        self.member.exits = self._before_exit
        self._measured: set[int] = set()  # pids
        # A shell may have started some, and have become this process after that.
        self._earlier = frozenset(_running_children())
        self._found: list[Profile] | None = None
        self._parts: list[Part] = []
        self._is_kept = False  # what children left is to be recovered

    def _profilers(self) -> Sequence[Any]:
        recorder = self._recorder
        return tuple({id(p): p for p in (recorder.profiler, recorder.builtin)}.values())

    def set_up(self) -> None:
        """Leave for children how they are to be profiled, before the program runs."""
        if os.getpid() != self._pid:
            self.member.note_run()
            return
        from kernprof.child import settings  # noqa: PLC0415

        self.member.is_whole = self._recorder.is_whole
        if self._recorder.live:
            self._recorder.live.note(folder=self._run.folder)
        try:
            self._run.set_up(settings(self._options, self._recorder, self._live))
        except OSError:  # the disk is full: children are not profiled
            return

    def profiles(self) -> list[Profile]:
        """Return the profiles of the children that have ended."""
        if self._found is None:
            from lineprof.processes.parts import collect  # noqa: PLC0415  # at the end

            self._found = []
            try:
                for part in collect(self._run, self._live):
                    self._take(part)
            except Exception:  # noqa: BLE001  # an audit hook of the program refuses it
                return self._found
        return self._found

    def _take(self, part: Part) -> None:
        self._parts.append(part)
        self._measured.add(part.pid)
        if part.profile is not None:
            self._found = [*(self._found or ()), part.profile]

    def warnings(self, started: dict[int, tuple[str, ...]]) -> list[str]:
        """Return a line on the children that were not measured, and why.

        `started` has the commands of those that run Python, by pid. One that was
        started in C is known only if it still runs.
        """
        running = {
            pid: words
            for (pid, start), words in _running_children().items()
            if (pid, start) not in self._earlier and _is_unmeasured(words)
        }
        started = {**running, **started}
        others = [words for pid, words in started.items() if pid not in self._measured]
        reasons = why_missing(self._parts)
        by_cause: dict[str, list[tuple[str, ...]]] = {}
        for words in others:
            by_cause.setdefault(_cause(words), []).append(words)
        for cause, these in by_cause.items():
            reasons[f"{'it' if len(these) == 1 else 'they'} ran {cause}"] = len(these)
        return [
            f"1 child process was not measured: {why}"
            if count == 1
            else f"{count} child processes were not measured: {why}"
            for why, count in reasons.items()
        ]

    def _before_exit(self) -> None:
        if os.getpid() == self._pid:
            with_descriptors(self._remove_unless_used)

    def _remove_unless_used(self) -> None:
        if not self._run.has_profiles:
            self._run.remove()

    def settle(self, *, written: bool) -> None:
        """Remove what children left, once it is `written` to the run's profile.

        Otherwise it is kept, for a profile that is recovered.
        """
        self._is_kept = not written
        if written:
            try:
                for part in self._parts:
                    part.remove()
            except Exception:  # noqa: BLE001  # whatever the program left behind
                return

    def end(self) -> None:
        """Take no more children."""
        self.member.end()
        if os.getpid() == self._pid and not self._is_kept:
            try:
                with_descriptors(self._run.remove)
            except Exception:  # noqa: BLE001  # whatever the program left behind
                return


def why_missing(parts: Iterable[Part]) -> dict[str, int]:
    """Return why children left no profile, and how many for each reason."""
    errors: dict[int | None, int] = {}
    for part in parts:
        if part.profile is None and not part.is_empty:
            errors[part.error] = errors.get(part.error, 0) + 1
    reasons = {}
    for error, count in errors.items():
        if error is None:
            was = "it was" if count == 1 else "they were"
            why = f"{was} killed, or still ran at the end"
        else:
            whose = (
                "it could not write its" if count == 1 else "they could not write their"
            )
            reason = f" ({os.strerror(error)})" if error else ""
            why = f"{whose} counts{reason}; set TMPDIR to a folder with room for them"
        reasons[why] = count
    return reasons


def place_of(file: LiveFile | None) -> Live | None:
    """Return where live files of children go, beside `file`; None if there are none."""
    if file is None:
        return None
    from lineprof.processes.parts import Live  # noqa: PLC0415  # imported

    return Live(folder=os.path.dirname(file.path), run=file.run, out=file.out)


def _cause(words: tuple[str, ...]) -> str:
    """Return what the Python of a command that was not measured ran, or ran with."""
    from shutil import which  # noqa: PLC0415  # rare

    flags = [word for word in words[1:] if word.startswith("-")]
    if any(not word.startswith("--") and "S" in word for word in flags[:2]):
        return "with -S, which leaves out installed packages"
    executable = which(words[0]) or words[0]
    if real_path(executable) != real_path(sys.executable):
        return f"another Python, {executable}"
    if os.path.dirname(executable) != os.path.dirname(sys.executable):
        return f"another Python, {executable}"
    if not _has_door():
        return f"{executable}, in which lineprof is not installed"
    return f"{executable}, and ended before measuring began"


def _running_children() -> dict[tuple[int, int | None], tuple[str, ...]]:
    """Return the commands of the children that run now, by pid and start in ticks.

    Left out are those that multiprocessing itself needs.
    """
    from lineprof.process_info import (  # noqa: PLC0415  # with -l alone
        running_children,
        start_ticks,
    )
    from lineprof.processes.parts import is_helper  # noqa: PLC0415

    return {
        (pid, start_ticks(pid)): words
        for pid, words in running_children().items()
        if not is_helper("resource_tracker", words)
    }


def _has_door() -> bool:
    """Return whether this Python starts lineprof in new processes."""
    from kernprof.child import DOOR  # noqa: PLC0415

    return any(os.path.exists(os.path.join(folder, DOOR)) for folder in sys.path)


# Modules of multiprocessing, and of packages made of it, that prepare a child's data.
_SPAWNS = (
    "multiprocessing.spawn",
    "multiprocess.spawn",
    "loky.backend.spawn",
    "joblib.externals.loky.backend.spawn",
)
_SUBPROCESS = "subprocess"
_STARTER = "_posixsubprocess"  # starts children for subprocess and those packages
_CREATED = "_child_created"  # of subprocess.Popen
_FORK_EXEC = "fork_exec"  # the function that starts a child; with "_" in subprocess
_ENVIRONMENT = 5  # the place of the environment among its arguments
_PROFILERS = frozenset(("kernprof", "lineprof"))
_KEY = "kernprof"  # in the data for the child
_UNPICKLED = """
try:
    from kernprof.children import define_profile
except ImportError:
    pass
else:
    define_profile()
"""


class _DefineProfile:
    """Calls `define_profile` where it is unpickled, if kernprof is installed there."""

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str, dict[str, object]]]:
        return exec, (_UNPICKLED, {})


class ChildHook:
    """Patches of the modules that start child processes of Python.

    They make multiprocessing define `profile` in children, and count those that
    multiprocessing, packages made of it, `subprocess` and `os.fork` start. `safe_names`
    wait for modules with the same import hook.
    """

    def __init__(self, member: Member | None, safe_names: SafeNames) -> None:
        """Change nothing yet; `member` is this process in a run, if there is one."""
        self.count = 0  # children that run Python and are not measured
        self.started: dict[int, tuple[str, ...]] = {}  # their commands, by pid
        self._member = member
        patches = dict.fromkeys(_SPAWNS, self._patch_spawn)
        patches[_SUBPROCESS] = self._patch_popen
        if member:
            patches[_STARTER] = self._patch_starter
        self._acts = {**safe_names.late, **patches}
        self._imports = ImportHook(self._imported)
        self._replaced: list[tuple[ModuleType, str, object]] = []
        self._popen: type | None = None

    def install(self) -> None:
        """Patch the modules, now or when the program imports them."""
        if self._member and _STARTER in sys.builtin_module_names:
            __import__(_STARTER)  # no finder is asked for it
        for name in list(self._acts):
            self._imports.expect(name)
        Forks.follow(self)

    def remove(self) -> None:
        """Leave the modules and the import system as they were."""
        self._imports.stop()
        Forks.forget(self)
        while self._replaced:
            module, name, plain = self._replaced.pop()
            setattr(module, name, plain)
        if self._popen is not None:
            setattr(self._popen, _CREATED, False)
            self._popen = None

    def _imported(self, name: str) -> None:
        act, module = self._acts.pop(name, None), sys.modules.get(name)
        if act and module:
            act(module)

    def forked(self) -> None:
        """Count a child that was forked."""
        self.count += 1

    def begin_in_child(self, parent: int, thread: int) -> None:
        """Count no child in the child itself."""

    def warning(self) -> str:
        """Return one line on the children that were not measured, "" if none were."""
        if not self.count:
            return ""
        if self.count == 1:
            return "1 child process was started and not measured"
        return f"{self.count} child processes were started and not measured"

    def _patch_spawn(self, module: ModuleType) -> None:
        original = module.get_preparation_data

        def get_preparation_data(
            name: str, *more: object, **named: object
        ) -> dict[str, object]:
            data: dict[str, object] = original(name, *more, **named)
            data[_KEY] = _DefineProfile()
            if name == "ignore":  # a fork server's, which does not unpickle it
                data.pop("init_main_from_path", None)
            else:
                self.count += 1
            return data

        self._replaced.append((module, "get_preparation_data", original))
        module.get_preparation_data = get_preparation_data  # type: ignore[attr-defined]

    def _patch_starter(self, module: ModuleType) -> None:
        """Let children started by ``fork_exec`` itself join, and note them."""
        from lineprof.processes.parts import is_helper  # noqa: PLC0415  # imported

        def note(pid: int, arguments: tuple[Any, ...]) -> None:
            words, [path, *_] = arguments[:2]
            command = (os.fsdecode(path), *_words(words)[1:])
            if _runs_python(command) and not is_helper("resource_tracker", command):
                self.started[pid] = command

        self._let_join(module, _FORK_EXEC, vars(module).get(_FORK_EXEC), note)

    def _patch_popen(self, module: ModuleType) -> None:
        popen = getattr(module, "Popen", None)
        if isinstance(popen, type) and vars(popen).get(_CREATED) is False:
            self._popen = popen
            setattr(popen, _CREATED, _ChildCreated(self))
        name = f"_{_FORK_EXEC}"
        plain = getattr(module, name, None)
        for _, patched, theirs in self._replaced:  # what it has imported is patched
            plain = theirs if patched == _FORK_EXEC else plain
        self._let_join(module, name, plain, None)

    def _let_join(
        self,
        module: ModuleType,
        name: str,
        plain: Callable[..., Any] | None,
        note: Callable[[int, tuple[Any, ...]], None] | None,
    ) -> None:
        """Give children that `plain` starts, called `name` in `module`, the variable.

        `note` gets the number of each child, and the arguments.
        """
        member = self._member
        if member is None or plain is None:
            return
        from lineprof.recording.core import prepared_call  # noqa: PLC0415  # imported

        def prepare(*arguments: Any, **named: Any) -> tuple[Any, Any]:  # noqa: ANN401
            words = [*arguments]
            if isinstance(words[_ENVIRONMENT], list):
                words[_ENVIRONMENT] = member.with_entry(words[_ENVIRONMENT])
            return tuple(words), named

        self._replaced.append((module, name, plain))
        setattr(module, name, prepared_call(plain, prepare, note))


class _ChildCreated:
    """The attribute of Popen that becomes True once its child has been started.

    No frame of this class is on the stack when the start of a child fails.
    """

    def __init__(self, hook: ChildHook) -> None:
        self._hook = hook

    def __get__(self, popen: object, owner: type | None = None) -> object:
        return False if popen is None else vars(popen).get(_CREATED, False)

    def __set__(self, popen: object, value: object) -> None:
        vars(popen)[_CREATED] = value
        words = _words(getattr(popen, "args", None)) if value else ()
        if _is_unmeasured(words):
            self._hook.count += 1
            if not isinstance(getattr(popen, "args", None), str):  # for a shell, mostly
                self._hook.started[getattr(popen, "pid", 0)] = words


def _words(args: object) -> tuple[str, ...]:
    """Return the words of the command `args` of a child, () if it has none."""
    try:
        words = args.split() if isinstance(args, str) else args
        if isinstance(words, (bytes, os.PathLike)):
            words = [words]
        return tuple([os.fsdecode(word) for word in words])  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return ()


def _is_unmeasured(words: tuple[str, ...]) -> bool:
    """Return whether the command of a child runs Python, and not kernprof."""
    return _runs_python(words) and _PROFILERS.isdisjoint(map(os.path.basename, words))


def _runs_python(words: Sequence[str]) -> bool:
    return any("python" in os.path.basename(word) for word in words[:1])
