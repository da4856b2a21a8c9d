"""Names of functions and lines, as short as they can be told apart by in a profile."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lineprof.errors import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

_SELDOM_ALONE = "__init__.py"  # whose folder says what it is

OUTSIDE = "outside of all profiled functions"


class ShortNames:
    """Files by as much of the end of their path as no other file has.

    What `file`, `line` and `function` give is what ``lineprof view --drill`` takes;
    `alone` and `full` are for the files of other programs.
    """

    def __init__(self, files: Iterable[str], keys: Iterable[Key] = ()) -> None:
        """Take all files of the profile; for `alone`, the keys of all functions."""
        self._files = _shortest({*files})
        self._functions = Counter(name for _, _, name in dict.fromkeys(keys))
        self._full: dict[Key, str] = {}

    def file(self, file: str) -> str:
        """Return a file's name, such as ``model.py``."""
        return self._files.get(file, file)

    def line(self, file: str, line: int) -> str:
        """Return a line's name, such as ``model.py:8``."""
        return f"{self.file(file)}:{line}"

    def caller(self, key: Key, line: int) -> str:
        """Return from where a function calls: a line; in C it is the function."""
        return self.line(key[0], line) if key[0] else self.function(key)

    def function(self, key: Key) -> str:
        """Return a function's name, such as ``model.py:8(fit)``.

        What is no Python has no file: its name stands alone, in braces.
        """
        file, line, name = key
        return f"{self.line(file, line)}({name})" if file else f"{{{name}}}"

    def called(self, key: Key) -> str:
        """Return the same for sentences: ``fit (model.py:8)``."""
        file, line, name = key
        return f"{name} ({self.line(file, line)})" if file else f"{{{name}}}"

    def alone(self, key: Key) -> str:
        """Return a function's name; with its place where others have that, too.

        It has no control characters.
        """
        return self.full(key) if self._functions[key[2]] > 1 else printable(key[2])

    def full(self, key: Key) -> str:
        """Return a function's name and place, without control characters.

        Those of C and others without a file are known by their names.
        """
        if key not in self._full:
            self._full[key] = printable(self.called(key) if key[0] else key[2])
        return self._full[key]


def names_of_profile(stats: Profile) -> ShortNames:
    """Return the names for all functions that a profile knows of."""
    keys = dict.fromkeys(_keys(stats))
    return ShortNames((file for file, _, _ in keys if file), keys)


def _keys(stats: Profile) -> Iterator[Key]:
    """Yield each function that is known of, some more than once."""
    for function in stats.functions:
        yield function.key
    for node in stats.calls.nodes:
        yield node.function
    for path in stats.gpu.paths:
        for key, _ in path.lines:
            yield key


def short_names(keys: Iterable[Key]) -> ShortNames:
    """Return the names for functions of these keys and their lines."""
    return ShortNames(file for file, _, _ in keys)


def _shortest(files: Collection[str]) -> dict[str, str]:
    """Return of each file the shortest end of its path that no other has."""
    done: dict[str, str] = {}
    rest = {file: file.split("/") for file in files}
    depth = 1
    while rest:
        ends: dict[str, list[str]] = {}
        for file, parts in rest.items():
            ends.setdefault("/".join(parts[-depth:]), []).append(file)
        for end, same in ends.items():
            for file in same:
                whole = depth >= len(rest[file])
                if whole or (len(same) == 1 and end != _SELDOM_ALONE):
                    done[file] = file if whole else end
                    del rest[file]
        depth += 1
    return done
