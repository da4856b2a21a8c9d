"""The state of the process that writing a profile needs, whatever the program did.

`SafeNames` keeps the functions that the end of a run calls, from before the program's
first line, and has them in place of the program's within a ``with`` block; `SafeState`
does so for the state of imports as well. `Departures` prepares for a program that loses
access to the file system.
"""

from __future__ import annotations

import builtins
import os
import sys
from contextlib import nullcontext
from types import BuiltinFunctionType, ModuleType

from lineprof._core import changed_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from typing import Any

    Changed = tuple[dict[str, Any], str, object]  # namespace, name, the program's value

_FRAMES = 1000  # more than the frames of writing a profile, and of printing it
_TURN = 1e-4  # s; Python's default is 5e-3
_TOP = 1024  # above the descriptors of most programs

_MISSING = object()
_PROFILERS = frozenset(("kernprof", "lineprof"))

_STANDARD = os.path.join(os.path.dirname(os.__file__), "")  # the standard library
# Modules that the end of a run imports, if the program has not done so before.
_LATE = (
    *("ast", "ctypes", "dataclasses", "datetime", "glob", "hashlib", "inspect", "json"),
    *("json.encoder", "linecache", "mmap", "pstats", "shlex", "shutil", "signal"),
    *("sqlite3", "sqlite3.dbapi2", "tempfile", "tokenize", "typing"),
)


class SafeNames:
    """The names of modules that the end of a run uses, with the values of before.

    In a ``with`` block the builtins, and all functions, classes, modules and texts in
    the standard library, in lineprof and in finders of modules, are those that were
    saved: a program may have patched any of them. Other values stay, because modules
    keep their state in them, and so do names that the program has added. Afterwards
    the program's values return.

    Threads of the program that still run see the saved ones meanwhile.
    """

    def __init__(self) -> None:
        """Save the builtins of now, and no other names yet."""
        self.modules: dict[str, ModuleType] = {}  # those whose names are saved
        self._saved: dict[str, dict[str, Any]] = {}  # their names, by module
        self._first: frozenset[str] = frozenset()  # modules from before the program
        self._builtins = {**builtins.__dict__}
        self._changed: list[list[Changed]] = []  # one list for each block

    def save(self) -> None:
        """Save the names of the modules that are imported now, and may be used."""
        self._builtins = {**builtins.__dict__}
        finders = {type(finder).__module__ for finder in sys.meta_path}
        for name, module in [*sys.modules.items()]:
            if _is_module(module) and (name in finders or _is_used(name)):
                self._add(name, module)
        self._first = frozenset(self.modules)

    @property
    def late(self) -> dict[str, Callable[[ModuleType], None]]:
        """Functions that save the names of modules once these are imported, by name."""
        return dict.fromkeys(_LATE, self._add_standard)

    def _add_standard(self, module: ModuleType) -> None:
        """Save the names of a module, unless the program has its own of that name."""
        if str(getattr(module, "__file__", "")).startswith(_STANDARD):
            self._add(module.__name__, module)

    def _add(self, name: str, module: ModuleType) -> None:
        if name not in self.modules:
            self.modules[name] = module
            self._saved[name] = {**vars(module)}

    def __enter__(self) -> None:
        """Put the saved values back; first the builtins, which the rest needs."""
        changed: list[Changed] = []
        self._changed.append(changed)
        _restore(builtins.__dict__, self._builtins, changed)
        for name, saved in self._saved.items():
            kept = _of_sys if name == "sys" else _is_code
            _restore(vars(self.modules[name]), saved, changed, kept)
        originals = self._originals(changed)
        if originals:
            for name, module in [*sys.modules.items()]:
                if _is_module(module) and self._is_late(name):
                    _translate(vars(module), originals, changed)

    def __exit__(self, *_exception: object) -> None:
        """Put the program's values back."""
        for namespace, name, value in reversed(self._changed.pop()):
            if value is _MISSING:
                namespace.pop(name, None)
            else:
                namespace[name] = value

    def _originals(self, changed: list[Changed]) -> dict[int, dict[str, object]]:
        """Return what the values and modules of the program stand for.

        These are by id and by name: one mock may stand for several functions.
        """
        found: dict[int, dict[str, object]] = {}
        for namespace, name, value in changed:
            if callable(value) or _is_module(value):
                found.setdefault(id(value), {})[name] = namespace[name]
        for name, module in self.modules.items():
            now = sys.modules.get(name, module)
            if now is not module:
                found.setdefault(id(now), {})[name] = module
        if found:  # a value may be another original
            for name in self._first:
                for value in self._saved[name].values():
                    found.pop(id(value), None)
        return found

    def _is_late(self, name: str) -> bool:
        """Return whether a module may have values of the program from its import on."""
        return name not in self._first and _is_used(name)


def _is_used(module: str) -> bool:
    """Return whether a module is of lineprof or of the standard library."""
    top = module.partition(".")[0]
    return top in _PROFILERS or top in sys.stdlib_module_names


def _is_module(value: object) -> bool:
    """Return whether a value is a module; no code of the value's class is called."""
    return issubclass(type(value), ModuleType)


def _is_code(_name: str, value: object) -> bool:
    """Return whether a value is no state: modules change their state themselves."""
    return callable(value) or _is_module(value) or isinstance(value, str)


def _of_sys(name: str, value: object) -> bool:
    """Return the same for a name of `sys`, in which hooks are state."""
    return isinstance(value, BuiltinFunctionType) and not name.endswith("hook")


def _restore(
    namespace: dict[str, Any],
    saved: dict[str, Any],
    changed: list[Changed],
    kept: Callable[[str, object], bool] | None = None,
) -> None:
    """Restore the values that `kept` takes, None: all; without any of the builtins."""
    for name in changed_names(namespace, saved):
        if kept is None or kept(name, saved[name]):
            changed += [(namespace, name, namespace.get(name, _MISSING))]
            namespace[name] = saved[name]


def _translate(
    namespace: dict[str, Any],
    originals: dict[int, dict[str, object]],
    changed: list[Changed],
) -> None:
    """Replace values of the program by those that they stand for, by id and name."""
    for name, value in [*namespace.items()]:
        known = originals.get(id(value), {})
        if len(known) == 1:
            [original] = known.values()
        else:
            original = known.get(name, value)
        if original is not value:
            changed.append((namespace, name, value))
            namespace[name] = original


class SafeState:
    """The state of a fresh process: imports, names, environment, recursion limit.

    In a ``with`` block these are as they were at `save`, and threads take short turns;
    the program's are put back afterwards. Modules that the program has replaced are
    standard ones meanwhile. Blocks may be nested.
    """

    def __init__(self, names: SafeNames) -> None:
        """Save nothing yet; `names` are restored as well."""
        self.shadowed: AbstractContextManager[object] = nullcontext()  # another block
        self._modules: dict[str, ModuleType] = {}
        self._attributes: list[tuple[Any, str, object]] = []
        self._names = names
        self._depth = 0
        self._undo: list[Callable[[], object]] = []

    def save(self) -> None:
        """Take the state of now."""
        self._modules = {**sys.modules}
        self._modules.pop("__main__", None)
        self._attributes = [
            (sys, "meta_path", [*sys.meta_path]),
            (sys, "path_hooks", [*sys.path_hooks]),
            (sys, "path_importer_cache", {**sys.path_importer_cache}),
            (sys, "path", [*sys.path]),
            (os, "environ", os.environ),
        ]

    def __enter__(self) -> None:
        """Restore the saved state."""
        self._depth += 1
        if self._depth > 1:
            return
        self._names.__enter__()
        self._undo.append(self._names.__exit__)
        self._raise_recursion_limit()
        self._shorten_turns()
        for owner, name, value in self._attributes:
            self._set(owner, name, value)
        self._exchange_modules()
        linecache = sys.modules.get("linecache")
        if linecache and not isinstance(getattr(linecache, "cache", None), dict):
            self._set(linecache, "cache", {})
        self.shadowed.__enter__()
        self._undo.append(lambda: self.shadowed.__exit__(None, None, None))

    def __exit__(self, *_exception: object) -> None:
        """Put the program's state back."""
        self._depth -= 1
        while self._undo and not self._depth:
            self._undo.pop()()

    def _raise_recursion_limit(self) -> None:
        limit = sys.getrecursionlimit()

        def undo() -> None:
            try:
                sys.setrecursionlimit(limit)
            except RecursionError:  # it is below the depth of now
                return

        sys.setrecursionlimit(limit + _FRAMES)
        self._undo.append(undo)

    def _shorten_turns(self) -> None:
        """Let busy threads hand the GIL back soon.

        Each file operation releases it and then waits for a turn of every thread that
        computes: with eight of them a profile took 5 s to write.
        """
        before = sys.getswitchinterval()
        self._undo.append(lambda: sys.setswitchinterval(before))
        sys.setswitchinterval(_TURN)

    def _set(self, owner: object, name: str, value: object) -> None:
        names = vars(owner)
        if name in names:
            before = names[name]
            self._undo.append(lambda: setattr(owner, name, before))
        else:
            self._undo.append(lambda: delattr(owner, name))
        setattr(owner, name, value)

    def _exchange_modules(self) -> None:
        modules = sys.modules
        programs = {name: modules[name] for name in _unusable(modules)}
        known = {**self._names.modules, **self._modules}
        known.pop("__main__", None)
        for name, module in known.items():
            if modules.get(name) is not module:
                programs[name] = modules.get(name, _MISSING)  # type: ignore[arg-type]
        for name, module in [*modules.items()]:  # parts of packages that are exchanged
            if name not in known and name.rpartition(".")[0] in programs:
                programs[name] = module
        for name in programs:
            modules.pop(name, None)
            if name in known:
                modules[name] = known[name]
        if programs:
            self._undo.append(lambda: _put_back(programs))


def _unusable(modules: dict[str, ModuleType]) -> Iterator[str]:
    """Yield the names of modules that the program made impossible to import."""
    for name, module in [*modules.items()]:
        is_standard = name.partition(".")[0] in sys.stdlib_module_names
        if module is None or (is_standard and not _is_module(module)):
            yield name


def _put_back(programs: dict[str, ModuleType]) -> None:
    for name, module in programs.items():
        sys.modules.pop(name, None)
        if module is not _MISSING:
            sys.modules[name] = module


# Programs that lose access to the file system.


class Departures:
    """Preparations for `os.chroot` and `sys.addaudithook`, when a program calls them.

    All modules are imported before, because their files may be out of reach
    afterwards. In a ``with`` block the root folder is that of before.
    """

    def __init__(self) -> None:
        """Change nothing yet."""
        self._home = -1  # file descriptor of the root folder, once it was left
        self._places: list[int | None] = []  # the program's root, and current folder
        self._replaced: list[tuple[ModuleType, str, Any, object]] = []

    @property
    def handles(self) -> tuple[int, ...]:
        """File descriptors that the ``with`` block needs."""
        return (self._home,)

    def watch(self) -> None:
        """Replace the two functions until `end`."""
        chroot = getattr(os, "chroot", None)
        if chroot is not None:
            for module in (os, sys.modules[os.name]):
                self._replace(module, "chroot", self._chroot(chroot))
        self._replace(sys, "addaudithook", self._addaudithook(sys.addaudithook))

    def end(self) -> None:
        """Put the functions back, unless the program has its own there."""
        while self._replaced:
            module, name, plain, ours = self._replaced.pop()
            if getattr(module, name, None) is ours:
                setattr(module, name, plain)
        if self._home >= 0:
            os.close(self._home)
            self._home = -1

    def __enter__(self) -> None:
        """Go back to the root folder of before, if the process may."""
        if self._home < 0:
            return
        self._places = [_folder(os.sep), _folder(os.curdir)]
        try:
            os.fchdir(self._home)
            self._to_current()
        except OSError:  # it has given up the right: writing may fail
            self._places = self._places[1:2] and [None, self._places[1]]

    def __exit__(self, *_exception: object) -> None:
        """Put the program's root and current folder back."""
        for handle, act in zip(self._places, (self._to_current, None)):
            if handle is None:
                continue
            os.fchdir(handle)
            if act:
                act()
            os.close(handle)
        self._places = []

    def _to_current(self) -> None:
        for _, name, plain, _ in self._replaced:
            if name == "chroot":
                plain(os.curdir)
                return

    def _replace(self, module: ModuleType, name: str, ours: object) -> None:
        self._replaced.append((module, name, getattr(module, name), ours))
        setattr(module, name, ours)

    def _chroot(self, plain: Callable[[Any], None]) -> Callable[[Any], None]:
        def chroot(path: Any) -> None:  # noqa: ANN401
            _import_all()
            if self._home < 0:
                self._home = _at_the_top(_folder(os.sep))
            plain(path)

        return chroot

    def _addaudithook(self, plain: Callable[[Any], None]) -> Callable[[Any], None]:
        def addaudithook(hook: Any) -> None:  # noqa: ANN401
            _import_all()
            plain(hook)

        return addaudithook


def _import_all() -> None:
    from kernprof.environment import import_all  # noqa: PLC0415  # rare

    import_all()


def _folder(name: str) -> int | None:
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None


def _at_the_top(handle: int | None) -> int:
    """Return a high number for a descriptor; the program counts on the lowest ones."""
    if handle is None:
        return -1
    for number in range(min(os.sysconf("SC_OPEN_MAX"), _TOP) - 1, handle, -1):
        try:
            os.fstat(number)
        except OSError:  # it is free
            os.dup2(handle, number, inheritable=False)
            os.close(handle)
            return number
    return handle
