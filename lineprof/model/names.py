"""Names of functions and lines: as short as they are unique in a profile."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property, lru_cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.model.records import DEEPER, node_columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

OUTSIDE = "outside of all profiled functions"

MODULE = "<module>"  # the name that Python gives to the code of a file

_AMBIGUOUS = "__init__.py"  # is shown with its folder

_INIT = "/__init__.py"  # of a package, at the end of its path

# Folders of libraries: the name of a module begins behind them.
_LIBRARIES = re.compile(
    r"^.*[/\\]"
    r"(?:(site-packages|dist-packages)|lib(?:64)?[/\\]python3\.\d+t?|python3\d+\.zip)"
    r"[/\\]"
)

STANDARD_LIBRARY = "the standard library"


class ShortNames:
    """Short names: of each file's path only the end that no other file has.

    `file`, `line`, `function` and `name` return what ``lineprof view --drill`` takes;
    `label` and `full_label` are for the files of other programs.
    """

    def __init__(self, files: Iterable[str], keys: Iterable[Key] = ()) -> None:
        """Take all files of the profile and, for `label`, the keys of all functions."""
        every = {*files}
        folders = {file[: -len(_INIT)] for file in every if file.endswith(_INIT)}
        self._packages = folders - {""}
        self._files = _shortest(every)
        self._functions = Counter(name for _, _, name in {*keys})
        self._full_labels: dict[Key, str] = {}

    def file(self, file: str) -> str:
        """Return a file's name, such as ``model.py``."""
        return self._files.get(file, file)

    def line(self, file: str, line: int) -> str:
        """Return a line's name, such as ``model.py:8``."""
        return f"{self.file(file)}:{line}"

    def caller(self, key: Key, line: int) -> str:
        """Return the name of a calling line; of a C function, which has no lines."""
        return self.line(key[0], line) if key[0] else self.function(key)

    def function(self, key: Key) -> str:
        """Return a function's name, such as ``model.py:8(fit)``.

        The code of a file is ``model.py:1(module)``. A function that is not Python has
        no file: its name stands alone, in braces.
        """
        file, line, name = key
        name = "module" if name == MODULE else name
        return f"{self.line(file, line)}({name})" if file else _without_file(key)

    def name(self, key: Key) -> str:
        """Return a function's qualified name; of a file's code, ``module shop.db``."""
        file, _, name = key
        return f"module {self._module(file)}" if name == MODULE and file else name

    def called(self, key: Key) -> str:
        """Return a function's name for sentences: ``fit (model.py:8)``."""
        file, line, name = key
        if not file:
            return _without_file(key)
        if name == MODULE and self._modules[self._module(file)] <= 1:
            return self.name(key)
        return f"{self.name(key)} ({self.line(file, line)})"

    @cached_property
    def _modules(self) -> Counter[str]:
        """The number of files by their names as modules."""
        return Counter(map(self._module, self._files))

    def _module(self, file: str) -> str:
        """Return the dotted name of a file as a module, as far as it is known."""
        if not file.endswith(".py"):  # such as <string>
            return self.file(file)
        library = _LIBRARIES.match(file)
        folder, _, name = file.rpartition("/")
        if library:
            path = file[library.end() :]
        elif folder in self._packages:
            while folder in self._packages:
                folder, _, above = folder.rpartition("/")
                name = f"{above}/{name}"
            path = name
        else:
            path = self.file(file).lstrip("/")
        return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def label(self, key: Key) -> str:
        """Return a function's name, with its place if several functions have that name.

        Control characters are escaped.
        """
        unique = self._functions[key[2]] <= 1
        return printable(key[2]) if unique else self.full_label(key)

    def full_label(self, key: Key) -> str:
        """Return a function's name and place; of a C function, its name.

        Control characters are escaped.
        """
        if key not in self._full_labels:
            label = self.called(key) if key[0] else key[2]
            self._full_labels[key] = printable(label)
        return self._full_labels[key]


@lru_cache(maxsize=1 << 14)
def library_of(file: str) -> str:
    """Return the library that a file belongs to, by its folder; "" if unknown."""
    if file.startswith("<frozen "):
        return STANDARD_LIBRARY
    found = _LIBRARIES.match(file)
    if found is None:
        return ""
    if not found[1]:
        return STANDARD_LIBRARY
    return re.split(r"[/\\]", file[found.end() :])[0].removesuffix(".py")


def _without_file(key: Key) -> str:
    return key[2] if key == DEEPER else f"{{{key[2]}}}"


def short_names(keys: Iterable[Key]) -> ShortNames:
    """Return the names of functions with these keys, and of their lines."""
    return ShortNames(file for file, _, _ in keys)


def names_of_profile(profile: Profile) -> ShortNames:
    """Return the names of all functions in a profile."""
    nodes = node_columns(profile.calls.nodes)
    keys = {
        *(function.key for function in profile.functions),
        *(nodes.functions[index] for index in {*nodes.column("function")}),
        *(call.function for call in profile.calls.merged),
        *(key for path in profile.gpu.paths for key, _ in path.lines),
        *(key for path in profile.memory.paths for key, _ in path.lines),
    }
    return ShortNames((file for file, _, _ in keys if file), keys)


def _shortest(files: Collection[str]) -> dict[str, str]:
    """Return for each file the shortest end of its path that no other file has."""
    # Sorted from their ends on, the files with the longest common end are neighbours.
    paths = sorted((file.split("/")[::-1], file) for file in files)
    common = [_common(one, other) for (one, _), (other, _) in pairwise(paths)]
    done: dict[str, str] = {}
    for (parts, file), *alike in zip(paths, [0, *common], [*common, 0]):
        depth = 1 + max(alike)
        if depth == 1 and parts[0] == _AMBIGUOUS:
            depth = 2
        is_full_path = depth >= len(parts)
        done[file] = file if is_full_path else "/".join(parts[:depth][::-1])
    return done


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many parts are alike from the start on."""
    return len([*takewhile(lambda both: both[0] == both[1], zip(one, other))])
