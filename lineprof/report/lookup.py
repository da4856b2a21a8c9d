"""Lookup of functions and lines by the names that users type."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError
from lineprof.model.names import MODULE, short_names
from lineprof.patterns import (
    Pattern,
    check,
    did_you_mean,
    is_function,
    is_glob,
    is_line_number,
    listed,
    parse,
    pattern_of,
    suggestions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lineprof.model.names import ShortNames
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.source import Sources

    Test = Callable[[Key], bool]

_LAMBDA = "<lambda>"
_ANY_FOLDER = "**"


def chosen(profile: Profile, names: Iterable[str], sources: Sources) -> Profile:
    """Return `profile` with the functions that `names` select alone.

    Raises LineprofError for a name that selects none.
    """
    finder = Finder(function.key for function in profile.functions)
    keys = {key for name in names for key in finder.functions(name, sources)}
    return profile.of_functions(keys)


class Finder:
    """Lookup of the functions and files of a profile."""

    def __init__(self, keys: Iterable[Key]) -> None:
        """Take every function of the profile."""
        self._keys = tuple(dict.fromkeys(keys))
        self._files = tuple(dict.fromkeys(file for file, _, _ in self._keys if file))
        self.names = short_names(self._keys)

    def function(self, text: str) -> Key:
        """Return the function named `text`; LineprofError unless there is just one.

        `text` is a name, or its last parts (``fit`` for ``Model.fit``), also after
        a file or the last parts of its path (``model.py::fit``) or after a module
        (``model.fit``); a name as views print it (``model.py:8(fit)``); a file, for
        its module code; or a pattern as for file names. A full name goes before a
        part, and a part before a pattern. The C function that calls a class has the
        name of the class in braces; without them the name is that of the class.
        """
        text = _relative(text)
        spelled = [text]
        if "::" in text:  # of C++, or of a file and a function
            spelled.append(text.replace("::", ":").removeprefix(":"))
        for test in chain.from_iterable(map(self._tests, spelled)):
            found = _prefer_python([key for key in self._keys if test(key)])
            if len(found) == 1:
                return found[0]
            if found:
                names = list(map(self.names.function, found))
                raise _ambiguous(text, "functions", names)
        raise self._unknown(text)

    def called(self, text: str, sources: Sources) -> Key:
        """Return the function named `text`, or the one that has the line ``FILE:LINE``.

        Raises LineprofError unless there is just one; of lambdas on the line and the
        function around them it is the latter.
        """
        if self.place(text) is None:
            return self.function(text)
        found = self.functions(text, sources)
        return min(found, key=lambda key: key[2].endswith(_LAMBDA))

    def functions(self, text: str, sources: Sources) -> list[Key]:
        """Return all functions that `text` names; LineprofError if there are none.

        `text` may name files, folders, modules, classes, lines and functions, also by
        patterns: see `lineprof.patterns`.
        """
        check(text)
        text = _relative(text)
        name = parse(text)
        found = [
            key for key in self._keys if text in {key[2], *_shown(self.names, key)}
        ]
        if not (found or name.function or name.line or name.is_path):
            parts = text.split(".")
            found = [key for key in self._keys if is_function(parts, key[2])]
        if not found:
            pattern = _anywhere(pattern_of(text, ""))
            found = list(self._selected(pattern, sources))
        if not found:
            raise self._unknown(text)
        return found

    def _selected(self, pattern: Pattern, sources: Sources) -> Iterator[Key]:
        """Yield the functions that `pattern` selects."""
        if not pattern.line:
            yield from (key for key in self._keys if _selects(pattern, key))
            return
        for file in self._files:
            if _parts_in(pattern, file):
                inside = [key for key in self._keys if key[0] == file]
                yield from _innermost(inside, pattern.line, sources)

    def place(self, text: str) -> tuple[str, int] | None:
        """Return the file and line that `text` names (``model.py:8``).

        None is returned if `text` names no line. Raises LineprofError for a file
        that is not in the profile, or is ambiguous.
        """
        name, _, number = _relative(text).rpartition(":")
        is_name = any(key[2] == text for key in self._keys)
        if is_name or not (name and is_line_number(number)):
            return None
        files = self._files_called(name)
        if len(files) > 1:
            names = [self.names.file(file) for file in files]
            raise _ambiguous(name, "files", names)
        if not files:
            raise self._unknown(text, f"the profile has no file {name!r}")
        return files[0], int(number)

    def _files_called(self, name: str) -> list[str]:
        """Return the files that `name` may mean: the best matches alone."""
        dotted = name.replace(".", os.sep)
        names = (name, f"{name}.py", f"{dotted}.py", f"{dotted}{os.sep}__init__.py")
        for test in (
            lambda file: file in names,
            lambda file: file.endswith(tuple(f"/{one}" for one in names)),
            lambda file: _matches(file, name),
        ):
            found = [file for file in self._files if test(file)]
            if found:
                return found
        return []

    def _tests(self, text: str) -> Iterable[Test]:
        """Yield tests whether `text` names a function, the strictest first."""
        names = self.names
        yield lambda key: text in {key[2], *_shown(names, key)}
        path, _, name = text.rpartition(":")
        place, _, inner = text.partition("(")
        file, _, number = place.rpartition(":")

        def is_at(key: Key) -> bool:
            return bool(path) and _ends(key[0], path)

        def has_place(key: Key) -> bool:
            names_of = {f"{key[2]})", f"{names.function(key).rpartition('(')[2]}"}
            if number == f"{key[1]}" and inner in names_of:
                return _ends(key[0], file)
            return key[2] == name and is_at(key)

        yield has_place
        yield lambda key: key[2].endswith(f".{text}")
        yield lambda key: key[2].endswith(f".{name}") and is_at(key)
        files = frozenset(self._files_called(text))
        yield lambda key: key[2] == MODULE and key[0] in files
        pattern = _anywhere(pattern_of(text, ""))
        yield lambda key: not pattern.line and _selects(pattern, key, named=True)
        if is_glob(text):
            yield lambda key: _is_like(key, text)

    def _unknown(self, text: str, message: str = "") -> LineprofError:
        """Return the error for a name that the profile does not have."""
        names = [(self.names.file(file), name) for file, _, name in self._keys if file]
        if not message:
            name = parse(text)
            files = self._files_called(name.file) if name.file else []
            message = f"the profile has no function {text!r}"
            if name.function and len(files) == 1:
                message = (
                    f"no function {name.function!r} in {self.names.file(files[0])}"
                )
            elif name.line and len(files) == 1:
                message = f"{self.names.file(files[0])} has no line {name.line}"
            elif name.is_path and not (files or name.function):
                message = f"the profile has no file {name.file!r}"
            if os.path.isfile(text):  # maybe as one of several profiles
                message = f"{text} is not a profile, and {message}"
        return UnknownNameError(message, text, suggestions(text, names))


class UnknownNameError(LineprofError):
    """A name that nothing in a profile has."""

    def __init__(self, message: str, name: str, near: Sequence[str]) -> None:
        """Take the name, and those of functions and files that are `near` it."""
        hint = did_you_mean(near) or "lineprof view --functions lists all"
        super().__init__(message, hint=hint)
        self.name, self.near = name, near


def _anywhere(pattern: Pattern) -> Pattern:
    """Return a pattern whose relative path may be the end of any path."""
    if not pattern.path[0] or pattern.path[0] == _ANY_FOLDER:
        return pattern
    return pattern._replace(path=(_ANY_FOLDER, *pattern.path))


def _parts_in(pattern: Pattern, file: str) -> list[tuple[str, ...]]:
    return pattern.parts_in([file], _modules(file))


def _selects(pattern: Pattern, key: Key, *, named: bool = False) -> bool:
    """Return whether a pattern selects a function; if `named`, only by its name."""
    file, _, name = key
    return bool(file) and any(
        is_function(part, name) if part else not named
        for part in _parts_in(pattern, file)
    )


@lru_cache(maxsize=1 << 12)
def _modules(file: str) -> Sequence[str]:
    """Return the names that a file may have as a module: some folder is on sys.path."""
    parts = os.path.splitext(file)[0].removesuffix(f"{os.sep}__init__").split(os.sep)
    return [".".join(parts[start:]) for start in range(len(parts)) if parts[start]]


def _innermost(keys: list[Key], line: int, sources: Sources) -> list[Key]:
    """Return the innermost function of a file that has a line, and its lambdas."""

    def has_line(key: Key) -> bool:
        block = sources.block(*key) or ()
        if key[2] == MODULE and not block:  # it is not known
            return True
        return key[1] <= line < key[1] + max(1, len(block))

    inside = [key for key in keys if has_line(key)]
    own = [key for key in inside if not key[2].endswith((MODULE, _LAMBDA))]
    if not own:
        return inside
    first = max(key[1] for key in own)
    lambdas = [key for key in inside if key[2].endswith(_LAMBDA)]
    return [*(key for key in own if key[1] == first), *lambdas]


def _prefer_python(keys: list[Key]) -> list[Key]:
    """Return `keys` without C functions that have the name of a Python function."""
    names = [key[2] for key in keys if key[0]]
    ends = tuple(f".{name}" for name in names)
    return [
        key for key in keys if key[0] or not (key[2] in names or key[2].endswith(ends))
    ]


def _shown(names: ShortNames, key: Key) -> tuple[str, ...]:
    """Return the names by which views show a function."""
    return names.name(key), names.function(key), names.called(key)


def _relative(path: str) -> str:
    """Return a path without its ``./`` and ``../``: its last parts suffice."""
    while path.startswith(("./", "../")):
        path = path.partition("/")[2]
    return path


def _ends(file: str, path: str) -> bool:
    """Return whether the last parts of `file` are `path`, with or without its .py."""
    return f"/{file}".endswith((f"/{path}", f"/{path}.py"))


def _matches(file: str, pattern: str) -> bool:
    return is_glob(pattern) and (
        fnmatchcase(file, pattern) or fnmatchcase(file, f"*/{pattern}")
    )


def _is_like(key: Key, pattern: str) -> bool:
    """Return whether a function's name, or its file and name, fit a pattern."""
    file, _, name = key
    if fnmatchcase(name, pattern):
        return True
    path, colon, of_name = pattern.rpartition(":")
    if not colon or not fnmatchcase(name, of_name):
        return False
    return _ends(file, path) or _matches(file, path)


def _ambiguous(text: str, noun: str, names: list[str]) -> LineprofError:
    return LineprofError(
        f"{text!r} may be {len(names)} {noun} of the profile",
        hint=f"name one of them: {listed(names)}",
    )
