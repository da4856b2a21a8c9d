"""Child processes: `profile` exists in them, nothing is recorded, and they are counted.

A child that multiprocessing spawns imports the parent's script in an interpreter of its
own, where kernprof did not put `profile` among the builtins: ``@profile`` would be a
NameError. The first part of the data that the parent sends is unpickled before the
child imports the script; it carries a call that defines `profile`.
"""

from __future__ import annotations

import builtins
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Self, TypeVar

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


def define_profile() -> None:
    """Make sure that there is a builtin `profile`; called in the child."""
    if not hasattr(builtins, "profile"):
        builtins.profile = NullProfiler()  # type: ignore[attr-defined]


_SPAWN, _SUBPROCESS = "multiprocessing.spawn", "subprocess"
_CREATED = "_child_created"  # of subprocess.Popen
_EXECUTE = "_execute_child"  # its method, which forks if there is a preexec_fn
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
    """Import hook for the modules that start child processes of Python.

    It makes multiprocessing.spawn define `profile` in children, and counts those that
    multiprocessing, `subprocess` and `os.fork` start. A program without children pays
    one look-up in a dictionary per import.
    """

    def __init__(self) -> None:
        """Change nothing yet."""
        self.count = 0  # children that run Python and are not measured
        self._patches = {_SPAWN: self._patch_spawn, _SUBPROCESS: self._patch_popen}
        self._original: Callable[[str], dict[str, object]] | None = None
        self._spawn: ModuleType | None = None
        self._popen: type | None = None

    def install(self) -> None:
        """Patch the modules, now or when the program imports them."""
        for name in [name for name in self._patches if name in sys.modules]:
            self._patches.pop(name)(sys.modules[name])
        sys.meta_path.insert(0, self)
        _Forks.watch(self)

    def remove(self) -> None:
        """Leave the modules and the import system as they were."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        _Forks.forget(self)
        if self._spawn is not None:
            self._spawn.get_preparation_data = self._original  # type: ignore[attr-defined]
            self._spawn = None
        if self._popen is not None:
            setattr(self._popen, _CREATED, False)
            self._popen = None

    def warning(self) -> str:
        """Return one line on the children that were not measured, "" if none were."""
        if not self.count:
            return ""
        if self.count == 1:
            return "1 child process was started and not measured"
        return f"{self.count} child processes were started and not measured"

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module that starts children, to be patched once it is loaded."""
        if name not in self._patches:
            return None
        patch = self._patches.pop(name)
        if not self._patches:
            sys.meta_path.remove(self)
        from importlib.machinery import PathFinder  # noqa: PLC0415

        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                patch(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _patch_spawn(self, module: ModuleType) -> None:
        self._spawn = module
        self._original = original = module.get_preparation_data

        def get_preparation_data(name: str) -> dict[str, object]:
            data: dict[str, object] = original(name)
            data[_KEY] = _DefineProfile()
            if name == "ignore":  # a fork server's, which does not unpickle it
                data.pop("init_main_from_path", None)
            else:
                self.count += 1
            return data

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
        if value and _is_unmeasured(getattr(popen, "args", None)):
            self._hook.count += 1


def _is_unmeasured(args: object) -> bool:
    """Return whether the command `args` of a child runs Python, and not kernprof."""
    try:
        words = args.split() if isinstance(args, str) else args
        names = [os.path.basename(os.fsdecode(word)) for word in words]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return False
    runs_python = any("python" in name for name in names[:1])
    return runs_python and not _PROFILERS.intersection(names)


class _Forks:
    """Counts forks, which are children of Python, for the hooks in use."""

    _hooks: list[ChildHook] = []  # noqa: RUF012  # no typing on the way to the program
    _is_registered = False

    @classmethod
    def watch(cls, hook: ChildHook) -> None:
        """Count forks for `hook`; the function called at forks is there for ever."""
        cls._hooks.append(hook)
        if not cls._is_registered:
            cls._is_registered = True
            os.register_at_fork(after_in_parent=cls._forked)

    @classmethod
    def forget(cls, hook: ChildHook) -> None:
        """Count forks no more."""
        if hook in cls._hooks:
            cls._hooks.remove(hook)

    @classmethod
    def _forked(cls) -> None:
        if sys._getframe(1).f_code.co_name != _EXECUTE:  # noqa: SLF001
            for hook in cls._hooks:
                hook.count += 1
