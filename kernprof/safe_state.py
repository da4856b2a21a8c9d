"""The state of the process that writing a profile needs, whatever the program did.

`SafeState` saves the state of imports before the program runs, and restores it within
a ``with`` block; `SafeBuiltins` does so for builtins, from the begin of the end on.
`Departures` prepares for a program that loses access to the file system.
"""

from __future__ import annotations

import builtins
import os
import sys
from types import ModuleType

from kernprof.environment import import_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_FRAMES = 1000  # more than the frames of writing a profile, and of printing it
_TURN = 1e-4  # s; Python's default is 5e-3
_TOP = 1024  # above the descriptors of most programs


class SafeBuiltins:
    """The builtins of when this is made; in a ``with`` block they are there again.

    Others that the program has made stay.
    """

    def __init__(self) -> None:
        """Take those of now."""
        self._saved = {**builtins.__dict__}
        self._before: list[dict[str, Any]] = []  # one for each block

    def __enter__(self) -> None:
        """Put the saved ones back, without use of any of the program's."""
        self._before.append({**builtins.__dict__})
        builtins.__dict__.update(self._saved)

    def __exit__(self, *_exception: object) -> None:
        """Put the program's back."""
        before = self._before.pop()
        builtins.__dict__.update(before)
        for name in self._saved.keys() - before.keys():
            builtins.__dict__.pop(name, None)


class SafeState:
    """The state of a fresh process: imports, builtins, environment, recursion limit.

    In a ``with`` block these are as they were at `save`, and threads take short turns;
    the program's are put back afterwards. Modules that the program has replaced are
    standard ones meanwhile.
    """

    def __init__(self) -> None:
        """Save nothing yet."""
        self._modules: dict[str, ModuleType] = {}
        self._attributes: list[tuple[Any, str, object]] = []
        self._builtins = SafeBuiltins()
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
        self._builtins = SafeBuiltins()

    def __enter__(self) -> None:
        """Restore the saved state."""
        self._builtins.__enter__()
        self._undo.append(self._builtins.__exit__)
        self._raise_recursion_limit()
        self._shorten_turns()
        for owner, name, value in self._attributes:
            self._set(owner, name, value)
        self._exchange_modules()
        linecache = sys.modules.get("linecache")
        if linecache and not isinstance(getattr(linecache, "cache", None), dict):
            self._set(linecache, "cache", {})

    def __exit__(self, *_exception: object) -> None:
        """Put the program's state back."""
        while self._undo:
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
        for name, module in self._modules.items():
            if modules.get(name) is not module:
                programs[name] = modules.get(name, _MISSING)  # type: ignore[arg-type]
        for name in programs:
            modules.pop(name, None)
            if name in self._modules:
                modules[name] = self._modules[name]
        if programs:
            self._undo.append(lambda: _put_back(programs))


_MISSING = object()


def _unusable(modules: dict[str, ModuleType]) -> Iterator[str]:
    """Yield the names of modules that the program made impossible to import."""
    for name, module in [*modules.items()]:
        is_standard = name.partition(".")[0] in sys.stdlib_module_names
        if module is None or (is_standard and not isinstance(module, ModuleType)):
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
            import_all()
            if self._home < 0:
                self._home = _at_the_top(_folder(os.sep))
            plain(path)

        return chroot

    def _addaudithook(self, plain: Callable[[Any], None]) -> Callable[[Any], None]:
        def addaudithook(hook: Any) -> None:  # noqa: ANN401
            import_all()
            plain(hook)

        return addaudithook


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
