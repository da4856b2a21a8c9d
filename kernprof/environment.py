"""Children that multiprocessing spawns: they know `profile`, and record nothing.

A spawned child imports the parent's script in an interpreter of its own, where
kernprof did not put `profile` among the builtins: ``@profile`` would be a
NameError. Of what the parent sends to the child, the first part is unpickled
before the script is imported, so a stand-in for `profile` travels in it.
"""

from __future__ import annotations

import builtins
import linecache
import os
import sys
from importlib.machinery import BuiltinImporter
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import TracebackType
    from typing import Self, TextIO, TypeVar

    from kernprof.program import Program

    T = TypeVar("T")

    Hook = Callable[
        [type[BaseException], BaseException, "TracebackType | None"], object
    ]


# Standard library modules that files in the script's folder shadow.
#
# Plain python would import a ``random.py`` beside the script. Under kernprof the
# program gets its own, too, and kernprof and lineprof keep the standard one.


# Imported by python itself before a script's first line: nobody can shadow them.
_AT_START = frozenset(
    (
        *("_collections_abc", "_sitebuiltins", "abc", "codecs", "encodings"),
        *("genericpath", "io", "ntpath", "os", "posixpath", "site", "stat"),
        *("zipimport", *sys.builtin_module_names),
    )
)
_PACKAGES = (
    *("kernprof", "lineprof", "lineprof.autoprofile", "lineprof.bytecode"),
    *("lineprof.console", "lineprof.decorate", "lineprof.model", "lineprof.recording"),
    *("lineprof.report", "lineprof.snapshot", "lineprof.storage"),
)

_NOT_HERE = ("__main__", "ipython_extension")  # not for a program under kernprof
# Imported inside functions of ours, and so perhaps while the program runs.
_IN_FUNCTIONS = (
    *("ast", "ctypes", "hashlib", "inspect", "linecache", "sqlite3", "tempfile"),
    "tokenize",
)


class ShadowedModules:
    """Standard modules that a program has modules of its own for.

    Within ``with`` they are those that `import` gives; the program must not run.
    """

    def __init__(self) -> None:
        """Know of none yet."""
        self._names: set[str] = set()
        self._standard: dict[str, ModuleType] = {}
        self._programs: dict[str, ModuleType] = {}

    def forget(self, folder: str, *, own_process: bool = True) -> None:
        """Have the program import what `folder` has, whatever is imported by now.

        All that we may yet import is imported before. Nothing is forgotten in a
        process that is not the program's own.
        """
        home = os.path.realpath(folder)
        names = sys.stdlib_module_names - _AT_START - self._names
        shadowed = names.intersection(_modules(home))
        if not shadowed:
            return
        if not self._names:
            import_all()
        if own_process:
            new = {n for n in shadowed if not _lies_in(sys.modules.get(n), home)}
            self._names |= new
            self._standard = {**_taken(new), **self._standard}

    def __enter__(self) -> None:
        """Put the program's modules aside."""
        self._programs = _taken(self._names)
        sys.modules.update(self._standard)

    def __exit__(self, *_: object) -> None:
        """Put them back."""
        self._standard = _taken(self._names)
        sys.modules.update(self._programs)


def import_all() -> None:
    """Import all that recording, writing and showing a profile may need."""
    from contextlib import suppress  # noqa: PLC0415
    from importlib import import_module  # noqa: PLC0415  # seldom needed
    from pkgutil import iter_modules  # noqa: PLC0415

    names = [*_IN_FUNCTIONS]
    for package in _PACKAGES:
        found = iter_modules(import_module(package).__path__, f"{package}.")
        modules = [one.name for one in found if not one.ispkg]
        names += [name for name in modules if not name.endswith(_NOT_HERE)]
    for name in names:
        with suppress(ImportError):  # python may be built without sqlite3 or ctypes
            import_module(name)


def _modules(folder: str) -> Iterator[str]:
    """Yield the names of the modules and packages in `folder`."""
    try:
        entries = os.listdir(folder)
    except OSError:  # a zip, or nothing
        return
    for entry in entries:
        init = os.path.join(folder, entry, "__init__.py")
        if entry.endswith((".py", ".so")) or os.path.exists(init):
            yield entry.partition(".")[0]


def _lies_in(module: ModuleType | None, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and os.path.realpath(file).startswith(folder + os.sep)


def _taken(tops: set[str]) -> dict[str, ModuleType]:
    """Remove the modules `tops`, with all in them, from `sys.modules`."""
    names = [name for name in sys.modules if name.partition(".")[0] in tops]
    return {name: sys.modules.pop(name) for name in names}


_SPAWN = "multiprocessing.spawn"
_KEY = "kernprof"
_UNPICKLED = """
try:
    from kernprof.environment import offer
except ImportError:
    pass
else:
    offer()
"""


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
        """Give the rest of a profiler's methods, those of an idle one."""
        from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415  # seldom used

        self.__dict__["_idle"] = idle = self.__dict__.get("_idle") or LineProfiler()
        return getattr(idle, name)


def offer() -> None:
    """Make sure that there is a builtin `profile`; called in the child."""
    if not hasattr(builtins, "profile"):
        builtins.profile = NullProfiler()  # type: ignore[attr-defined]


class _Offer:
    """Calls `offer` where it is unpickled, if kernprof can be imported there."""

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str, dict[str, object]]]:
        return exec, (_UNPICKLED, {})


class Children:
    """Sees to it that spawned children know `profile`.

    A program that does not use multiprocessing pays a string comparison per
    import for it.
    """

    def __init__(self) -> None:
        """Change nothing yet."""
        self._module: ModuleType | None = None
        self._original: Callable[[str], dict[str, object]] | None = None

    def install(self) -> None:
        """Prepare multiprocessing.spawn, now or when it is imported."""
        if _SPAWN in sys.modules:
            self._patch(sys.modules[_SPAWN])
        else:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Leave multiprocessing.spawn and the import system as they were."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if self._module is not None:
            self._module.get_preparation_data = self._original  # type: ignore[attr-defined]
            self._module = None

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let the others find multiprocessing.spawn, to be patched once loaded."""
        if name != _SPAWN:
            return None
        sys.meta_path.remove(self)
        from importlib.machinery import PathFinder  # noqa: PLC0415

        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self._patch(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _patch(self, module: ModuleType) -> None:
        self._module = module
        self._original = original = module.get_preparation_data

        def get_preparation_data(name: str) -> dict[str, object]:
            data: dict[str, object] = original(name)
            data[_KEY] = _Offer()
            if name == "ignore":  # for a fork server, which unpickles none of this
                data.pop("init_main_from_path", None)
            return data

        module.get_preparation_data = get_preparation_data  # type: ignore[attr-defined]


# `sys` and `__main__` as a program should find them, and back again.


_NOTHING = object()
_QUIET_OUTPUT, _QUIET_ERRORS = -2, -3


class ProgramEnvironment:
    """The process-wide state that a program begins with.

    `enter` sets it up. A process that is the program's own stays so to its
    end; one that goes on afterwards calls `leave` too.
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
        self._builtin = getattr(builtins, "profile", _NOTHING)

    def enter(
        self, arguments: list[str], path: list[str], *, own_process: bool
    ) -> None:
        """Set up `sys.argv`, `sys.path`, ``__main__``, ``profile``, the streams.

        `sys.path` will be what the program wants first, and then `path`.
        """
        if own_process:
            self._mute_process()
        else:
            self._mute_streams()
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
        if self._builtin is not _NOTHING:
            builtins.profile = self._builtin  # type: ignore[attr-defined]
        elif hasattr(builtins, "profile"):
            del builtins.profile

    def retire(self) -> None:
        """Let go of the profiler, and so of the program, which is to be torn down.

        Threads that python does not wait for may still say ``@profile``.
        """
        if self._profile is not None:
            builtins.profile = NullProfiler()  # type: ignore[attr-defined]
            self._profile = None

    @property
    def first_path(self) -> list[str]:
        """What the program finds first on `sys.path`; python may have none."""
        told_not_to = sys.flags.isolated or getattr(sys.flags, "safe_path", False)
        if told_not_to and not self._program.always_first_path:
            return []
        return [self._program.first_path]

    def _mute_process(self) -> None:
        """Send what -qq and -qqq leave out nowhere, child processes' too."""
        for threshold, descriptor in ((_QUIET_OUTPUT, 1), (_QUIET_ERRORS, 2)):
            if self._verbosity <= threshold:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, descriptor)
                os.close(nowhere)

    def _mute_streams(self) -> None:
        for threshold, name in ((_QUIET_OUTPUT, "stdout"), (_QUIET_ERRORS, "stderr")):
            if self._verbosity <= threshold:
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


# Source that no file holds, for whoever asks `linecache`.


class KnownTexts:
    """`linecache` knows `texts`, by file name, for as long as the block runs."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Change nothing yet."""
        self._texts = texts
        self._entries: dict[str, object] = linecache.cache  # type: ignore[assignment]
        self._added: list[str] = []

    def __enter__(self) -> None:
        """Enter those that nobody else has."""
        self._added = [name for name in self._texts if name not in self._entries]
        for name in self._added:
            text = self._texts[name]
            lines = text.splitlines(keepends=True)
            self._entries[name] = (len(text), None, lines, name)

    def __exit__(self, *_exception: object) -> None:
        """Take them out again."""
        for name in self._added:
            self._entries.pop(name, None)


# Tracebacks without kernprof's frames, shown by python itself.
#
# An exception that the program does not catch goes all the way up, so that
# python ends as it would: exit status, ``sys.last_exc``, death by SIGINT after a
# KeyboardInterrupt. On the way kernprof's frames join the traceback; a
# `sys.excepthook` of one use takes them off again and calls the program's own.


_WRAPPERS = "lineprof.decorate.wrappers"  # the functions that -b puts around others

_python_hook = sys.__excepthook__


def hide_our_frames(error: BaseException, then: Callable[[], None]) -> None:
    """Have `error`, about to leave `__main__`, shown as if kernprof were not there.

    Calls `then` once it has been shown.
    """
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        return  # python copes with that, and shows all frames
    _hide_in_between(error)
    traceback = _beyond_us(error.__traceback__)

    def show(
        kind: type[BaseException],
        value: BaseException,
        _whole: TracebackType | None,
    ) -> None:
        sys.excepthook = hook
        value.__traceback__ = sys.last_traceback = traceback
        try:
            hook(kind, value, traceback)
        except SystemExit:
            raise
        except BaseException as second:  # noqa: BLE001  # whatever the hook raises
            _show_both(value, second)
        then()

    sys.excepthook = show


def _beyond_us(traceback: TracebackType | None) -> TracebackType | None:
    """Return the part of `traceback` that begins with the program's frames."""
    while traceback and _is_ours(traceback):
        traceback = traceback.tb_next
    return traceback


def _hide_in_between(error: BaseException) -> None:
    """Take the frames of -b's wrappers out of the tracebacks of `error`."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        left += (one.__cause__, one.__context__)
        if one is not error:  # whose first frames are taken off when it is shown
            one.__traceback__ = _beyond_us(one.__traceback__)
        shown = one.__traceback__
        while shown:
            shown.tb_next = _beyond_us(shown.tb_next)
            shown = shown.tb_next


def _is_ours(traceback: TracebackType) -> bool:
    name = str(traceback.tb_frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] == "kernprof" or name == _WRAPPERS


def _show_both(value: BaseException, second: BaseException) -> None:
    """Show what `sys.excepthook` raised, and then `value`, as python does."""
    after = second.__traceback__.tb_next if second.__traceback__ else None
    second.__traceback__ = after
    sys.stderr.write("Error in sys.excepthook:\n")
    _python_hook(type(second), second, after)
    sys.stderr.write("\nOriginal exception was:\n")
    _python_hook(type(value), value, value.__traceback__)
