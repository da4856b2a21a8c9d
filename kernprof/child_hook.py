"""Patches of the modules that start child processes, which count those of Python.

A child that multiprocessing spawns imports the parent's script in an interpreter of its
own; if that is not profiled, ``@profile`` would be a NameError. The first part of the
data that the parent sends is unpickled before the child imports the script; it carries
a call that defines `profile`.
"""

from __future__ import annotations

import builtins
import os
import sys

from kernprof.null_profiler import NullProfiler
from lineprof.import_hook import ImportHook
from lineprof.processes.forks import Forks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from kernprof.safe_state import SafeNames

STANDARD = os.path.dirname(os.__file__)  # the folder of the standard library
_EXTENSIONS = os.path.join(STANDARD, "lib-dynload")
# Modules of multiprocessing, and of packages made of it, that prepare a child's data.
_SPAWNS = (
    "multiprocessing.spawn",
    "multiprocess.spawn",
    "loky.backend.spawn",
    "joblib.externals.loky.backend.spawn",
)
_SUBPROCESS = "subprocess"
_CREATED = "_child_created"  # of subprocess.Popen
_PROFILERS = frozenset(("kernprof", "lineprof"))
_KEY = "kernprof"  # in the data for the child
_UNPICKLED = """
try:
    from kernprof.child_hook import define_profile
except ImportError:
    pass
else:
    define_profile()
"""


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

    def __init__(self, safe_names: SafeNames) -> None:
        """Change nothing yet."""
        self.count = 0  # children that run Python and are not measured
        self.started: dict[int, tuple[str, ...]] = {}  # their commands, by pid
        self._acts: dict[str, Callable[[ModuleType], object]] = {
            **safe_names.late,
            **dict.fromkeys(_SPAWNS, self._patch_spawn),
            _SUBPROCESS: self._patch_popen,
        }
        self._imports = ImportHook(self._imported)
        self._replaced: list[tuple[ModuleType, str, object]] = []
        self._popen: type | None = None

    def install(self) -> None:
        """Patch the modules, now or when the program imports them."""
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

    def warnings(self) -> list[str]:
        """Return a line on the children that were not measured, if there are any."""
        were = "process was" if self.count == 1 else "processes were"
        line = f"{self.count} child {were} started and not measured"
        return [line] if self.count else []

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

    def _patch_popen(self, module: ModuleType) -> None:
        popen = getattr(module, "Popen", None)
        if isinstance(popen, type) and vars(popen).get(_CREATED) is False:
            self._popen = popen
            setattr(popen, _CREATED, _ChildCreated(self))


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
        words = words_of(getattr(popen, "args", None)) if value else ()
        if is_unmeasured(words):
            self._hook.count += 1
            if not isinstance(getattr(popen, "args", None), str):  # for a shell, mostly
                self._hook.started[getattr(popen, "pid", 0)] = words


def words_of(args: object) -> tuple[str, ...]:
    """Return the words of the command `args` of a child, () if it has none."""
    try:
        words = args.split() if isinstance(args, str) else args
        if isinstance(words, (bytes, os.PathLike)):
            words = [words]
        return tuple([os.fsdecode(word) for word in words])  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return ()


def is_unmeasured(words: tuple[str, ...]) -> bool:
    """Return whether the command of a child runs Python, and not kernprof."""
    return runs_python(words) and _PROFILERS.isdisjoint(map(os.path.basename, words))


def runs_python(words: Sequence[str]) -> bool:
    """Return whether a command runs Python, by its name."""
    return any("python" in os.path.basename(word) for word in words[:1])
