"""Lookup of functions and lines by the names that users type."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError
from lineprof.model.names import short_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from lineprof.model.records import Key

    Test = Callable[[Key], bool]

_MODULE = "<module>"

_MAX_LISTED = 8  # names in an error message

_WILDCARDS = frozenset("*?[")


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
        a file or the last parts of its path (``model.py:fit``); a name as views
        print it (``model.py:8(fit)``); a file, for its module code; or a pattern
        as for file names. A full name goes before a part, and a part before a
        pattern. The C function that calls a class has the name of the class in
        braces; without them the name is that of the class.
        """
        text = _relative(text)
        for test in self._tests(text):
            found = _prefer_python([key for key in self._keys if test(key)])
            if len(found) == 1:
                return found[0]
            if found:
                names = list(map(self.names.function, found))
                raise _ambiguous(text, "functions", names)
        raise LineprofError(
            f"the profile has no function {text!r}", hint=self._nearest(text)
        )

    def place(self, text: str) -> tuple[str, int] | None:
        """Return the file and line that `text` names (``model.py:8``).

        None is returned if `text` names no line. Raises LineprofError for a file
        that is not in the profile, or is ambiguous.
        """
        name, _, number = _relative(text).rpartition(":")
        if not (name and number.isascii() and number.isdigit()):
            return None
        if any(key[2] == text for key in self._keys):
            return None
        files = self._files_called(name)
        if len(files) > 1:
            names = [self.names.file(file) for file in files]
            raise _ambiguous(name, "files", names)
        if not files:
            near = _near(name, [self.names.file(file) for file in self._files])
            raise LineprofError(
                f"the profile has no file {name!r}", hint=_suggestion(near)
            )
        return files[0], int(number)

    def _files_called(self, name: str) -> list[str]:
        """Return the files that `name` may mean: the best matches alone."""
        names = (name, f"{name}.py")
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
        yield lambda key: text in {key[2], names.function(key), names.called(key)}
        path, _, name = text.rpartition(":")
        place, _, inner = text.partition("(")
        file, _, number = place.rpartition(":")

        def has_place(key: Key) -> bool:
            if f"{key[1]}({key[2]})" == f"{number}({inner[:-1]})":
                return text.endswith(")") and _ends(key[0], file)
            return bool(path) and key[2] == name and _ends(key[0], path)

        yield has_place
        yield lambda key: key[2].endswith(f".{text}")
        yield (
            lambda key: (
                bool(path) and key[2].endswith(f".{name}") and _ends(key[0], path)
            )
        )
        files = frozenset(self._files_called(text))
        yield lambda key: key[2] == _MODULE and key[0] in files
        if _WILDCARDS & {*text}:
            yield lambda key: _is_like(key, text)

    def _nearest(self, text: str) -> str:
        """Return a hint for a function that the profile does not have."""
        by_name: dict[str, list[Key]] = {}
        for key in self._keys:
            for name in {key[2], key[2].rpartition(".")[2]}:
                by_name.setdefault(name, []).append(key)
        near = _near(text.rpartition(":")[2], by_name)
        keys = dict.fromkeys(key for name in near for key in by_name[name])
        return _suggestion([self.names.function(key) for key in keys])


def _prefer_python(keys: list[Key]) -> list[Key]:
    """Return `keys` without C functions that have the name of a Python function."""
    names = [key[2] for key in keys if key[0]]
    ends = tuple(f".{name}" for name in names)
    return [
        key for key in keys if key[0] or not (key[2] in names or key[2].endswith(ends))
    ]


def _relative(path: str) -> str:
    """Return a path without its ``./`` and ``../``: its last parts suffice."""
    while path.startswith(("./", "../")):
        path = path.partition("/")[2]
    return path


def _ends(file: str, path: str) -> bool:
    """Return whether the last parts of `file` are `path`, with or without its .py."""
    ends = (f"/{path}", f"/{path}.py")
    return f"/{file}".endswith(ends)


def _matches(file: str, pattern: str) -> bool:
    return bool(_WILDCARDS & {*pattern}) and (
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


def _near(text: str, known: Collection[str]) -> list[str]:
    """Return the known names that look most like `text`."""
    from difflib import get_close_matches  # noqa: PLC0415  # for errors alone

    return get_close_matches(text, known, n=3)


def _suggestion(names: list[str]) -> str:
    if not names:
        return "lineprof view --functions lists all"
    return f"like it are: {_listed(names)}"


def _listed(names: list[str]) -> str:
    more = len(names) - _MAX_LISTED
    return ", ".join(names[:_MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _ambiguous(text: str, noun: str, names: list[str]) -> LineprofError:
    return LineprofError(
        f"{text!r} may be {len(names)} {noun} of the profile",
        hint=f"name one of them: {_listed(names)}",
    )
