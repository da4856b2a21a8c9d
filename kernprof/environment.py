"""The process-wide state that a program begins with, as plain python would set it.

`ProgramEnvironment` sets `sys.argv`, `sys.path`, ``__main__``, the builtin
``profile`` and the standard streams; `ShadowedModules` makes room for modules of
the program that are named like standard ones; `KnownTexts` tells `linecache` the
source of a program without a file.
"""

from __future__ import annotations

import builtins
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.machinery import BuiltinImporter
from types import ModuleType

from kernprof.null_profiler import NullProfiler
from lineprof.files import current_folder, real_path
from lineprof.source_files import standard_readers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping
    from typing import TextIO

    from kernprof.program import Program

_MISSING = object()
_QUIET = (("stdout", 1, -2), ("stderr", 2, -3))  # and the verbosity of -qq, -qqq


class ProgramEnvironment:
    """The process-wide state of one program.

    `enter` sets it up. If the process is not the program's own, `leave` puts back
    what was there before.
    """

    def __init__(self, program: Program, profile: object, *, verbosity: int) -> None:
        """Prepare for `program`, with `profile` as a builtin unless it is None."""
        self._program = program
        self._profile = profile
        self._verbosity = verbosity
        self.shadowed = ShadowedModules()
        self._opened: list[TextIO] = []
        self._before = (sys.argv, sys.path, sys.modules.get("__main__"))
        self._streams = (sys.stdout, sys.stderr)
        self._builtin = getattr(builtins, "profile", _MISSING)

    def enter(
        self, arguments: list[str], path: list[str], *, own_process: bool
    ) -> None:
        """Set `sys.argv`, `sys.path`, ``__main__``, ``profile`` and the streams.

        `sys.path` becomes the program's first entry, if any, and then `path`.
        """
        self._mute(own_process=own_process)
        if not current_folder():  # an entry of sys.path that is relative has no meaning
            import_all()
        folder = self._program.first_path or os.curdir
        self.shadowed.forget(folder, own_process=own_process)
        sys.argv = [self._program.argv0, *arguments]
        sys.path = [*self.first_path, *path]
        sys.modules["__main__"] = fresh_main()
        if self._profile is not None:
            builtins.profile = self._profile  # type: ignore[attr-defined]

    def leave(self) -> None:
        """Put everything back as it was."""
        sys.argv, sys.path, main = self._before
        if main is not None:
            sys.modules["__main__"] = main
        sys.stdout, sys.stderr = self._streams
        for stream in self._opened:
            stream.close()
        if self._builtin is not _MISSING:
            builtins.profile = self._builtin  # type: ignore[attr-defined]
        elif hasattr(builtins, "profile"):
            del builtins.profile

    def drop_profiler(self) -> None:
        """Replace the builtin ``profile``, so that the program can be torn down.

        Threads that python does not wait for may still use ``@profile``.
        """
        if self._profile is not None:
            builtins.profile = NullProfiler()  # type: ignore[attr-defined]
            self._profile = None

    @property
    def first_path(self) -> list[str]:
        """The program's first entry of `sys.path`; [] if python gives it none."""
        is_safe = sys.flags.isolated or sys.flags.safe_path
        path = self._program.first_path
        if path is None or (is_safe and not self._program.always_first_path):
            return []
        return [path]

    def _mute(self, *, own_process: bool) -> None:
        """Discard the output that -qq and -qqq leave out.

        In the program's own process, that of its child processes as well.
        """
        for name, descriptor, threshold in _QUIET:
            if self._verbosity > threshold:
                continue
            if own_process:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, descriptor)
                os.close(null)
            else:
                stream = open(os.devnull, "w")  # noqa: SIM115  # `leave` closes it
                self._opened.append(stream)
                setattr(sys, name, stream)


def fresh_main() -> ModuleType:
    """Return a ``__main__`` like the one that python makes at its start."""
    module = ModuleType("__main__")
    names = vars(module)
    names["__loader__"] = BuiltinImporter
    if sys.version_info < (3, 14):
        names["__annotations__"] = {}
    names["__builtins__"] = builtins
    return module


# Modules that python imports before a script's first line: no script shadows them.
_AT_START = frozenset(
    (
        *("_collections_abc", "_sitebuiltins", "abc", "codecs", "encodings"),
        *("genericpath", "io", "ntpath", "os", "posixpath", "site", "stat"),
        *("zipimport", *sys.builtin_module_names),
    )
)
_PACKAGES = (
    *("kernprof", "lineprof", "lineprof.autoprofile", "lineprof.bytecode"),
    *("lineprof.console", "lineprof.decorate", "lineprof.model", "lineprof.processes"),
    *("lineprof.recording",),
    *("lineprof.report", "lineprof.snapshot", "lineprof.storage"),
)
# Not for a program under kernprof; some import packages that it may not use.
_NOT_HERE = (
    *("__main__", "dask", "ipython_extension"),
    *("pytest_plugin", "pytest_profile", "pytest_screen"),
    *("benchmark_profile", "extra_call", "pyperf_hook"),
)
# Imported inside functions of lineprof, so perhaps while the program runs.
_IN_FUNCTIONS = (
    *("ast", "ctypes", "hashlib", "inspect", "linecache", "pstats", "shlex"),
    *("sqlite3", "tempfile", "tokenize"),
)


class ShadowedModules:
    """Standard library modules that files in the program's folder shadow.

    Plain python would import a ``random.py`` beside the script. Under kernprof the
    program gets its own module too, and kernprof and lineprof keep the standard one.
    In a ``with`` block `import` gives the standard ones; the program must not run.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._names: set[str] = set()
        self._standard: dict[str, ModuleType] = {}
        self._programs: dict[str, ModuleType] = {}

    def forget(
        self,
        folder: str,
        *,
        own_process: bool = True,
        keep: Container[str] = frozenset(),
    ) -> None:
        """Make the program import the modules in `folder` that shadow standard ones.

        All modules that kernprof and lineprof may need later are imported first. If
        the process is not the program's own, no imported module is removed; those in
        `keep` are never.
        """
        home = real_path(folder)
        names = sys.stdlib_module_names - _AT_START - self._names
        found = names.intersection(_modules_in(home))
        shadowed = {name for name in found if name not in keep}
        if not shadowed:
            return
        if not self._names:
            import_all()
        if own_process:
            new = {n for n in shadowed if not _is_below(sys.modules.get(n), home)}
            self._names |= new
            self._standard = {**_remove_modules(new), **self._standard}

    def __enter__(self) -> None:
        """Exchange the program's modules for the standard ones."""
        self._programs = _remove_modules(self._names)
        sys.modules.update(self._standard)

    def __exit__(self, *_exception: object) -> None:
        """Put the program's modules back."""
        self._standard = _remove_modules(self._names)
        sys.modules.update(self._programs)


def import_all() -> None:
    """Import all modules that recording, writing and showing a profile may need."""
    from pkgutil import iter_modules  # noqa: PLC0415

    names = [*_IN_FUNCTIONS]
    for package in _PACKAGES:
        found = iter_modules(import_module(package).__path__, f"{package}.")
        modules = [one.name for one in found if not one.ispkg]
        names += [name for name in modules if not name.endswith(_NOT_HERE)]
    for name in names:
        with suppress(ImportError):  # python may be built without sqlite3 or ctypes
            import_module(name)

    standard_readers()  # sources are read while the program runs, too


def _modules_in(folder: str) -> Iterator[str]:
    """Yield the names of the modules and packages in `folder`."""
    try:
        entries = os.listdir(folder)
    except OSError:  # a zip file, or it does not exist
        return
    for entry in entries:
        init = os.path.join(folder, entry, "__init__.py")
        if entry.endswith((".py", ".so")) or os.path.exists(init):
            yield entry.partition(".")[0]


def _is_below(module: ModuleType | None, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and real_path(file).startswith(folder + os.sep)


def _remove_modules(tops: set[str]) -> dict[str, ModuleType]:
    """Remove the modules `tops` and their submodules from `sys.modules`."""
    names = [name for name in sys.modules if name.partition(".")[0] in tops]
    return {name: sys.modules.pop(name) for name in names}


class KnownTexts:
    """Source texts without a file that `linecache` knows within a ``with`` block."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Take the texts by their code's file names; more may be added later."""
        import linecache  # noqa: PLC0415  # now: the program may have its own later

        self._texts = texts
        self._entries: dict[str, object] = linecache.cache  # type: ignore[assignment]
        self._added: list[str] = []

    def __enter__(self) -> None:
        """Add the texts that `linecache` does not have."""
        self._added = [name for name in self._texts if name not in self._entries]
        for name in self._added:
            text = self._texts[name]
            lines = text.splitlines(keepends=True)
            self._entries[name] = (len(text), None, lines, name)

    def __exit__(self, *_exception: object) -> None:
        """Remove them again."""
        for name in self._added:
            self._entries.pop(name, None)
