"""Names of functions and lines, as short as they can be told apart by in a profile."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from lineprof.records import Key

_SELDOM_ALONE = "__init__.py"  # whose folder says what it is
OUTSIDE = "outside of all profiled functions"


class ShortNames:
    """Files by as much of the end of their path as no other file has.

    What this gives is what ``lineprof view --drill`` takes.
    """

    def __init__(self, files: Iterable[str]) -> None:
        """Take all files of the profile."""
        self._files = _shortest({*files})

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
