"""Selection of functions where ``@profile`` does not select them.

`FunctionFilter` decides on each code object: the program's own, or what --include,
--exclude and --all say. `decorates` and `may_decorate` tell whether a program uses
``@profile``.

A filter is called when a code object first runs, on any thread: it must not import,
raise, or take long.
"""

from __future__ import annotations

import opcode
import os
import sys
from collections import namedtuple
from types import CodeType

from kernprof.project import STANDARD
from lineprof.bytecode.code_flags import OPTIMIZED
from lineprof.files import SOURCE, absolute_path, current_folder, real_path
from lineprof.model.collectives import is_torch
from lineprof.patterns import is_function, patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from kernprof.project import ProjectFiles
    from kernprof.run_options import ChildOptions
    from lineprof.patterns import Parts, Pattern

    Files = ProjectFiles | frozenset[str]

# They belong to the function around them, as do the scopes of type parameters.
_COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
_TYPE_PARAMETERS = "<generic parameters of "
_FROZEN = "<frozen "
# Modules of Python that run programs and modules: their frames are around all code.
_RUNNERS = frozenset(("importlib", "zipimport", "runpy"))
_INIT = ".__init__"
_MODULE = "<module>"
_PRIVATE = ("_", "<")  # first characters of private names


class FunctionFilter:
    """Decides which code objects are profiled."""

    def __init__(
        self,
        *,
        everything: bool = False,
        include: Collection[Pattern] = (),
        exclude: Collection[Pattern] = (),
        included_only: bool = False,
    ) -> None:
        """Select the program's own code, or `everything`, or `included_only`.

        Code that a pattern in `include` matches is selected as well; code that one in
        `exclude` matches is not.
        """
        self._included_only = included_only
        self._files: Files = frozenset()  # the program's own
        self._everything = everything
        self._include = tuple(include)
        self._exclude = tuple(exclude)
        self._own: frozenset[CodeType] | None = None  # of a program without a file
        self._main = ""
        self._main_selection: _FileSelection | None = None
        self._folder = current_folder()
        parents = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))),)
        self._profilers = tuple(
            os.path.join(folder, package, "")
            for folder in {*parents, *map(os.path.realpath, parents)}
            for package in ("kernprof", "lineprof")
        )
        self._selections: dict[str, _FileSelection | None] = {}  # by file
        self._real_folders: dict[str, str] = {}
        self._matched: set[str] = set()  # patterns that matched code

    @classmethod
    def of(cls, options: ChildOptions, folder: str) -> FunctionFilter:
        """Return the filter that `options` ask for; `folder` is that of patterns."""
        return cls(
            everything=options.all,
            include=patterns(options.include, folder),
            exclude=patterns(options.exclude, folder),
        )

    def is_unmatched(self, word: str) -> bool:
        """Return whether the pattern `word` has matched no code that ran so far."""
        return word not in self._matched

    def begin_packages(self, files: Files) -> None:
        """Take the program's own files, before its code is known."""
        self._files = files

    def begin(
        self,
        code: CodeType,
        files: Files,
        module: str = "",
        *,
        has_file: bool = True,
        is_own: bool = True,
    ) -> None:
        """Take the program's `code`, about to run, and the files that are its own.

        `module` is the name of the code's module if it runs as one. `is_own` is False
        for the code of a runner.
        """
        self._selections.clear()
        self._files = files
        self._main = code.co_filename
        self._own = None if has_file else frozenset(_code_tree(code))
        paths = self.paths(self._main) if has_file else ()
        modules = {"__main__", *_modules(paths), *filter(None, (module,))}
        selected = (is_own and not self._included_only) or self._everything
        self._main_selection = self._selection(paths, modules, selected=selected)

    def __call__(self, code: CodeType) -> bool | None:
        """Return whether to profile `code`; None if no code of its file, ever."""
        try:
            file = code.co_filename
            if file == self._main:
                selection = self._main_selection
                if self._own is not None and code not in self._own:
                    return False
            elif file in self._selections:
                selection = self._selections[file]
            else:
                selection = self._selections[file] = self._selection_of(file)
            if selection is None:
                return None
            if _is_left_out(selection, code):
                return False
            return self._has(selection, code)
        except Exception:  # noqa: BLE001  # python may be half torn down by now
            return None

    def _selection_of(self, file: str) -> _FileSelection | None:
        """Return the selected functions of a file, None if there are none."""
        if file.startswith(_FROZEN):
            return self._selection_of_frozen(file[len(_FROZEN) : -1])
        if file.startswith("<") or not file.endswith(SOURCE):
            return None  # generated code, without source to show
        paths = self.paths(file)
        if any(path.startswith(self._profilers) for path in paths):
            return None
        selected = self._everything or paths[-1] in self._files
        collectives = is_torch(paths[-1]) and not selected and not self._included_only
        if not (selected or collectives or self._include):
            return None
        modules = _modules(paths)
        if paths[-1].startswith(STANDARD) and any(map(_is_runner, modules)):
            return None
        return self._selection(
            paths, modules, selected=selected or collectives, public_only=collectives
        )

    def _selection_of_frozen(self, module: str) -> _FileSelection | None:
        """Return the selected functions of a frozen module, which has no file."""
        if _is_runner(module):
            return None
        return self._selection((), (module,), selected=self._everything)

    def paths(self, file: str) -> tuple[str, str]:
        """Return the absolute path of a file, and its real path."""
        path = os.path.normpath(os.path.join(self._folder, file))
        if os.path.islink(path):
            return path, real_path(path)
        folder, name = os.path.split(path)
        if folder not in self._real_folders:  # many files have the same
            self._real_folders[folder] = real_path(folder)
        return path, os.path.join(self._real_folders[folder], name)

    def _selection(
        self,
        paths: Collection[str],
        modules: Collection[str],
        *,
        selected: bool,
        public_only: bool = False,
    ) -> _FileSelection | None:
        include, exclude = (
            tuple(_rules(some, paths, modules))
            for some in (self._include, self._exclude)
        )
        self._matched.update(rule.word for rule in (*include, *exclude) if rule.is_all)
        is_excluded = any(rule.is_all for rule in exclude)
        if is_excluded or not (selected or include):
            return None
        return _FileSelection(
            all=selected or any(rule.is_all for rule in include),
            include=include,
            exclude=exclude,
            public_only=public_only,
        )

    def _has(self, selection: _FileSelection, code: CodeType) -> bool:
        """Return whether the function with that code is selected."""
        include, exclude = (
            [rule.word for rule in some if rule.selects(code)]
            for some in (selection.include, selection.exclude)
        )
        self._matched.update(include, exclude)
        if selection.public_only and (
            "." in code.co_qualname or code.co_name.startswith(_PRIVATE)
        ):
            return False  # a method of a class that is made when torch is imported
        return bool((selection.all or include) and not exclude)


class _Rule(namedtuple("_Rule", "word function line")):
    """The functions that a pattern selects in one file."""

    __slots__ = ()

    word: str  # the pattern
    function: Parts  # () for all
    line: int  # 0 for all

    @property
    def is_all(self) -> bool:
        """Whether the rule selects all functions of the file."""
        return not (self.function or self.line)

    def selects(self, code: CodeType) -> bool:
        """Return whether the rule selects the function with that code."""
        if self.line:
            return is_innermost(code, self.line)
        return not self.function or is_function(self.function, code.co_qualname)


def _rules(
    some: Iterable[Pattern], paths: Collection[str], modules: Collection[str]
) -> Iterator[_Rule]:
    for pattern in some:
        for function in pattern.parts_in(paths, modules):
            yield _Rule(word=pattern.word, function=function, line=pattern.line)


def is_innermost(code: CodeType, line: int) -> bool:
    """Return whether `code` has a line, and no ``def`` or ``class`` in it does.

    A decorator belongs to its function. A lambda shares its lines with the function
    around it.
    """
    return _has_line(code, line) and not any(
        _has_line(inner, line) for inner in _definitions(code)
    )


def _definitions(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of the functions and classes that are defined in `code`."""
    for inner in _inner_code(code):
        name = inner.co_name
        if name.startswith(_TYPE_PARAMETERS) or name in _COMPREHENSIONS:
            yield from _definitions(inner)
        elif not name.startswith("<"):
            yield inner


def _has_line(code: CodeType, line: int) -> bool:
    """Return whether `line` is between the first and the last one of `code`."""
    return code.co_firstlineno <= line <= _last_line(code)


def _last_line(code: CodeType) -> int:
    ends = (end for _, end, _, _ in code.co_positions() if end)
    return max((code.co_firstlineno, *ends, *map(_last_line, _inner_code(code))))


class _FileSelection(
    namedtuple("_FileSelection", "all include exclude public_only", defaults=(False,))
):
    """Selected functions of one file."""

    __slots__ = ()

    all: bool
    include: tuple[_Rule, ...]
    exclude: tuple[_Rule, ...]
    public_only: bool


def _is_left_out(selection: _FileSelection, code: CodeType) -> bool:
    """Return whether `code` is not profiled, whatever its qualified name."""
    name, is_function = code.co_name, code.co_flags & OPTIMIZED
    return (
        name in _COMPREHENSIONS
        or name.startswith(_TYPE_PARAMETERS)
        or bool(selection.public_only and not is_function)  # the body of a class
        or _is_empty(code)
    )


def _is_empty(code: CodeType) -> bool:
    """Return whether `code` is that of an empty file, which has no lines to count."""
    return (
        code.co_name == _MODULE
        and not code.co_names
        and code.co_consts in {(), (None,)}
    )


def _code_tree(code: CodeType) -> Iterator[CodeType]:
    """Yield `code` and all code objects in it, at any depth."""
    yield code
    for inner in _inner_code(code):
        yield from _code_tree(inner)


def _inner_code(code: CodeType) -> Iterator[CodeType]:
    return (part for part in code.co_consts if isinstance(part, CodeType))


def _modules(paths: Collection[str]) -> set[str]:
    """Return the names by which modules with these files could be imported."""
    found = set()
    for entry in [entry for entry in sys.path if isinstance(entry, str)]:
        folder = entry if os.path.isabs(entry) else absolute_path(entry)
        folder = os.path.join(os.path.normpath(folder), "")
        for path in paths:
            if path.startswith(folder):
                name = os.path.splitext(path[len(folder) :])[0].replace(os.sep, ".")
                found.add(name.removesuffix(_INIT))
    return found


def _is_runner(module: str) -> bool:
    return module.partition(".")[0] in _RUNNERS


# Use of ``@profile``, as far as the bytecode of a program's module tells.


_PROFILE, _OTHER_MODULE = "profile", "line_profiler"
_PROFILER = "LineProfiler"
# -1, which is in no code, if this Python does not have the instruction.
_LOAD, _STORE = (opcode.opmap.get(name, -1) for name in ("LOAD_NAME", "STORE_NAME"))
_EXTENDED = opcode.opmap.get("EXTENDED_ARG", -1)
_MAX_BYTES = 1 << 24  # of a source file that is read


def names_profiler(code: CodeType) -> bool:
    """Return whether `code` itself names line_profiler's own LineProfiler."""
    names = code.co_names
    return _PROFILER in names and _OTHER_MODULE in names


def may_decorate(code: CodeType) -> bool:
    """Return whether `code`, or code in it, names `profile` or LineProfiler."""
    names = code.co_names
    return (
        _PROFILE in names
        or _PROFILER in names
        or any(map(may_decorate, _inner_code(code)))
    )


def decorates(code: CodeType) -> bool:
    """Return whether a program, by its module's `code`, certainly uses ``@profile``.

    It does if ``@profile`` is at the beginning of a line, and the module assigns
    nothing else to that name. In doubt, False.
    """
    if not _uses_profile(code, _LOAD) or _uses_profile(code, _STORE):
        return False
    try:
        with open(code.co_filename, "rb") as stream:
            text = stream.read(_MAX_BYTES)
    except (OSError, ValueError):
        return False
    decorator = b"@" + _PROFILE.encode()
    lines = (line for line in text.splitlines() if line.startswith(decorator))
    return any(line.partition(b"#")[0].strip() == decorator for line in lines)


def _uses_profile(code: CodeType, operation: int) -> bool:
    """Return whether `code` has that instruction for the name `profile`."""
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
