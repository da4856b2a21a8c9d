"""Which functions of a program are profiled where nothing is decorated.

Asked of each code object as it first runs, on whatever thread: nothing here may
import, raise, or take long.
"""

from __future__ import annotations

import opcode
import os
import sys
from fnmatch import fnmatchcase
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

from kernprof.output_file import current_folder
from kernprof.project import STANDARD, ProjectFiles
from lineprof.model.time_split import is_torch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Optional

    Verdict = Optional["_Part"]

    Parts = tuple[str, ...]

# They belong to the function around them, as do the scopes of type parameters.
_PARTS_OF_OTHERS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
_TYPE_PARAMETERS = "<generic parameters of "
_FROZEN = "<frozen "
# Python's way into a program, and into a module: around everything.
_RUNNERS = frozenset(("importlib", "zipimport", "runpy"))
_SOURCE = (".py", ".pyw")
_INIT = ".__init__"
_MODULE = "<module>"
_PRIVATE = ("_", "<")  # what such names begin with
_IS_FUNCTION = 1  # CO_OPTIMIZED of inspect: no module's, and no class's


class FunctionFilter:
    """Tells of a code object whether it is to be profiled."""

    def __init__(
        self,
        *,
        everything: bool = False,
        include: Collection[Pattern] = (),
        exclude: Collection[Pattern] = (),
    ) -> None:
        """Take what is the program's, or in fact `everything`.

        What a pattern in `include` names counts, too; what one in `exclude`
        names does not.
        """
        self._places = ProjectFiles()
        self._everything = everything
        self._include = tuple(include)
        self._exclude = tuple(exclude)
        self._own: frozenset[CodeType] | None = None  # of a program without a file
        self._main = ""
        self._main_parts: Verdict = None
        self._folder = current_folder()
        ours = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))),)
        self._ours = tuple(
            os.path.join(folder, package, "")
            for folder in {*ours, *map(os.path.realpath, ours)}
            for package in ("kernprof", "lineprof")
        )
        self._known: dict[str, Verdict] = {}
        self._met: set[str] = set()  # patterns that named something

    def is_unmet(self, word: str) -> bool:
        """Tell whether a pattern has named nothing that ran so far."""
        return word not in self._met

    def begin(
        self,
        code: CodeType,
        places: ProjectFiles,
        module: str = "",
        *,
        has_file: bool = True,
    ) -> None:
        """Take the program's own `code`, not yet running, and where the rest of it is.

        The code may be no file's; `module` is its name if it runs as one.
        """
        self._known.clear()
        self._places = places
        self._main = code.co_filename
        self._own = None if has_file else frozenset(_all_in(code))
        paths = self._paths(self._main) if has_file else ()
        modules = {"__main__", *_modules(paths), *filter(None, (module,))}
        self._main_parts = self._part(paths, modules, chosen=True)

    def __call__(self, code: CodeType) -> bool | None:
        """Say whether to profile `code`; None: nothing of its file, ever."""
        try:
            file = code.co_filename
            if file == self._main:
                part = self._main_parts
                if self._own is not None and code not in self._own:
                    return False
            elif file in self._known:
                part = self._known[file]
            else:
                part = self._known[file] = self._verdict(file)
            if part is None:
                return None
            if self._is_left_out(part, code):
                return False
            return self._has(part, code.co_qualname)
        except Exception:  # noqa: BLE001  # python may be in ruins by now
            return None

    def _is_left_out(self, part: _Part, code: CodeType) -> bool:
        """Tell whether `code` does not count, whatever its name in full."""
        name, is_function = code.co_name, code.co_flags & _IS_FUNCTION
        return (
            name in _PARTS_OF_OTHERS
            or name.startswith(_TYPE_PARAMETERS)
            or bool(part.public and not is_function)  # the body of a class
            or _is_empty(code)
        )

    def _verdict(self, file: str) -> Verdict:
        """Return what of a file counts, None for nothing."""
        if file.startswith(_FROZEN):
            return self._frozen(file[len(_FROZEN) : -1])
        if file.startswith("<") or not file.endswith(_SOURCE):
            return None  # made by a program, and shown by nobody
        paths = self._paths(file)
        if any(path.startswith(self._ours) for path in paths):
            return None
        chosen = self._everything or paths[-1] in self._places
        messages = is_torch(paths[-1]) and not chosen
        if not (chosen or messages or self._include):
            return None
        modules = _modules(paths)
        if paths[-1].startswith(STANDARD) and any(map(_runs_others, modules)):
            return None
        part = self._part(paths, modules, chosen=chosen or messages)
        return part._replace(public=True) if part and messages else part

    def _paths(self, file: str) -> tuple[str, str]:
        """Return what the file is called, and what it is really."""
        path = os.path.normpath(os.path.join(self._folder, file))
        return path, os.path.realpath(path)

    def _frozen(self, module: str) -> Verdict:
        """Decide on a module of the standard library that has no file."""
        if _runs_others(module):
            return None
        return self._part((), (module,), chosen=self._everything)

    def _part(
        self, paths: Collection[str], modules: Collection[str], *, chosen: bool
    ) -> Verdict:
        more, less = (
            [one for one in some if one.covers(paths, modules)]
            for some in (self._include, self._exclude)
        )
        self._met.update(one.word for one in (*more, *less) if not one.function)
        if any(not one.function for one in less) or not (chosen or more):
            return None
        whole = chosen or any(not one.function for one in more)
        return _Part(whole, tuple(more), tuple(less))

    def _has(self, part: _Part, name: str) -> bool:
        """Tell whether the function `name` counts, of a file of which `part` does."""
        more, less = (
            [one.word for one in some if one.names(name)]
            for some in (part.more, part.less)
        )
        self._met.update(more, less)
        if part.public and any(one[:1] in _PRIVATE for one in name.split(".")):
            return False
        return bool((part.whole or more) and not less)


class _Part(NamedTuple):
    """What of one file counts: all of it, some functions more, some less."""

    whole: bool
    more: tuple[Pattern, ...]
    less: tuple[Pattern, ...]
    public: bool = False  # of these, functions that a program calls, alone


def _is_empty(code: CodeType) -> bool:
    """Tell whether `code` is that of an empty file, which has no lines to count."""
    return (
        code.co_name == _MODULE
        and not code.co_names
        and code.co_consts in {(), (None,)}
    )


def _all_in(code: CodeType) -> Iterator[CodeType]:
    """Yield `code` and all that is in it, at whatever depth."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _all_in(part)


def _modules(paths: Collection[str]) -> set[str]:
    """Return the names by which modules with these files could be imported."""
    found = set()
    for folder in [entry for entry in sys.path if isinstance(entry, str)]:
        above = os.path.join(os.path.abspath(folder), "")
        for path in paths:
            if path.startswith(above):
                name = os.path.splitext(path[len(above) :])[0].replace(os.sep, ".")
                found.add(name.removesuffix(_INIT))
    return found


def _runs_others(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] in _RUNNERS


# Does a program decorate with `profile`? As far as its bytecode tells at once.


_PROFILE, _OTHER_MODULE = "profile", "line_profiler"
_PROFILER = "LineProfiler"
# One that a later Python does without is in no code.
_LOAD, _STORE = (opcode.opmap.get(name, -1) for name in ("LOAD_NAME", "STORE_NAME"))
_EXTENDED = opcode.opmap.get("EXTENDED_ARG", -1)
_MOST_BYTES = 1 << 24  # of a source file that is looked into


def names_profiler(code: CodeType) -> bool:
    """Tell whether `code` alone names line_profiler's own LineProfiler."""
    names = code.co_names
    return _PROFILER in names and _OTHER_MODULE in names


def may_decorate(code: CodeType) -> bool:
    """Tell whether something in `code` is called `profile` or LineProfiler."""
    names = code.co_names
    return (
        _PROFILE in names
        or _PROFILER in names
        or any(map(may_decorate, _inner_code(code)))
    )


def decorates(code: CodeType) -> bool:
    """Tell whether a program, by its module's `code`, does decorate with `profile`.

    That is certain where ``@profile`` stands at the beginning of a line, and the
    module has nothing else by that name. False where it is to be seen.
    """
    if not _has(code, _LOAD) or _has(code, _STORE):
        return False
    try:
        with open(code.co_filename, "rb") as stream:
            text = stream.read(_MOST_BYTES)
    except (OSError, ValueError):
        return False
    decorator = b"@" + _PROFILE.encode()
    lines = (line for line in text.splitlines() if line.startswith(decorator))
    return any(line.partition(b"#")[0].strip() == decorator for line in lines)


def _inner_code(code: CodeType) -> Iterator[CodeType]:
    return (part for part in code.co_consts if isinstance(part, CodeType))


def _has(code: CodeType, operation: int) -> bool:
    """Tell whether `code` does that with the name `profile`."""
    if _PROFILE not in code.co_names:
        return False
    wanted, argument = code.co_names.index(_PROFILE), 0
    raw = code.co_code
    for operator, low in zip(raw[::2], raw[1::2]):
        argument |= low
        if operator == operation and argument == wanted:
            return True
        argument = argument << 8 if operator == _EXTENDED else 0
    return False


# What --include and --exclude name: files, modules, and functions in them.
#
# A pattern is a path, from the current folder or in full, or a module's dotted
# name; after ``::`` or a last ``:`` there may be a function's name. Each part of a
# name is matched as shells do; ``**`` stands for any number of parts. What names a
# folder, a package or a class stands for all that is in it.


_ANY_PARTS = "**"


class Pattern(NamedTuple):
    """One pattern, taken apart."""

    word: str  # as it was given
    path: Parts
    module: Parts  # none where it can be a path alone
    function: Parts  # none for all

    def covers(self, paths: Iterable[str], modules: Iterable[str]) -> bool:
        """Tell whether a file of these names is meant, or some function in it."""
        return any(is_under(self.path, _path_parts(path)) for path in paths) or bool(
            self.module and any(is_under(self.module, m.split(".")) for m in modules)
        )

    def names(self, function: str) -> bool:
        """Tell whether `function` is meant, a qualified name in a covered file."""
        name = function.replace(".<locals>", "").split(".")
        if is_under(self.function, name):
            return True
        return len(self.function) == 1 and fnmatchcase(name[-1], self.function[0])


def is_under(pattern: Sequence[str], name: Sequence[str]) -> bool:
    """Tell whether the parts of `name` match those of `pattern`, or begin so."""
    if not pattern:
        return True
    first, rest = pattern[0], pattern[1:]
    if first == _ANY_PARTS:
        return any(is_under(rest, name[skip:]) for skip in range(len(name) + 1))
    return bool(name) and fnmatchcase(name[0], first) and is_under(rest, name[1:])


def patterns(words: Sequence[str], folder: str) -> tuple[Pattern, ...]:
    """Return the patterns that `words` spell; paths begin at `folder`."""
    return tuple(_pattern(word, folder) for word in words)


def _pattern(word: str, folder: str) -> Pattern:
    file, separator, function = word.rpartition("::")
    if not separator:
        file, separator, function = word.rpartition(":")
    if not separator or "/" in function:
        file, function = word, ""
    if file.startswith("~"):
        file = os.path.expanduser(file)
    path = os.path.normpath(os.path.join(folder, file))
    is_path = os.sep in file or file.endswith(".py") or file in {"", "."}
    return Pattern(
        word=word,
        path=_path_parts(path) if file else ("**",),
        module=() if is_path else tuple(file.split(".")),
        function=tuple(function.split(".")) if function else (),
    )


def _path_parts(path: str) -> Parts:
    return tuple(path.split(os.sep))
