"""What --include and --exclude name: files, modules, and functions in them.

A pattern is a path, from the current folder or in full, or a module's dotted
name; after ``::`` or a last ``:`` there may be a function's name. Each part of a
name is matched as shells do; ``**`` stands for any number of parts. What names a
folder, a package or a class stands for all that is in it.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Parts = tuple[str, ...]

_ANY_PARTS = "**"


class Pattern(NamedTuple):
    """One pattern, taken apart."""

    word: str  # as it was given
    path: Parts
    module: Parts  # none where it can be a path alone
    function: Parts  # none for all

    def covers(self, paths: Iterable[str], modules: Iterable[str]) -> bool:
        """Tell whether a file of these names is meant, or some function in it."""
        return any(is_under(self.path, _parts(path)) for path in paths) or bool(
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
        path=_parts(path) if file else ("**",),
        module=() if is_path else tuple(file.split(".")),
        function=tuple(function.split(".")) if function else (),
    )


def _parts(path: str) -> Parts:
    return tuple(path.split(os.sep))
