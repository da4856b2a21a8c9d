"""Names of functions and lines as users type them, and patterns of such names.

| name | stands for |
|---|---|
| ``file.py``, ``folder`` | all functions in it |
| ``file.py:12`` | the function with that line |
| ``file.py::func``, ``file.py::Class.method`` | one function, or all of a class |
| ``module``, ``module.func``, ``module.Class.method`` | the same by dotted names |
| ``::func`` | the functions of that name in any file |

``file.py:func`` and ``file.py:12(func)``, which views print, are accepted as well.
Each part of a name may be a pattern as for file names in a shell; ``**`` matches any
number of parts. A path is relative to the current folder; one that begins with ``*``
matches at any place.

This module is on the way to the first line of the profiled program.
"""

from __future__ import annotations

import os
from collections import namedtuple
from fnmatch import fnmatchcase

from lineprof.errors import LineprofError
from lineprof.files import SOURCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    Parts = tuple[str, ...]

# The forms of a name, for the help of commands.
FORMS = "file.py, file.py:12, file.py::func, module, module.func or a glob of these"
WILDCARDS = frozenset("*?[")
_ANY_PARTS = "**"
_PACKAGE = "__init__.py"
_LOCALS = ".<locals>"
_MAX_LISTED = 8  # names in a message
_MAX_LINE_DIGITS = 9


class Name(namedtuple("Name", "file function line", defaults=("", 0))):
    """The parts of a name: `parse` splits one."""

    __slots__ = ()

    file: str  # a path or a dotted name; "" for any file
    function: str  # "" for all functions
    line: int  # 0 for all lines

    @property
    def is_path(self) -> bool:
        """Whether `file` can only be a path."""
        return os.sep in self.file or self.file.endswith(SOURCE) or self.file == "."


def parse(text: str) -> Name:
    """Return the parts of a name."""
    place, opening, _ = text.partition("(")
    if opening and text.endswith(")") and is_line_number(place.rpartition(":")[2]):
        text = place  # as views print it
    file, separator, function = text.rpartition("::")
    if not separator:
        file, separator, function = text.rpartition(":")
    if not separator or os.sep in function:
        return Name(file=text)
    if is_line_number(function):
        return Name(file=file, line=int(function))
    return Name(file=file, function=function)


def is_line_number(text: str) -> bool:
    """Return whether `text` is a number that a line may have."""
    is_short = len(text) <= _MAX_LINE_DIGITS
    return is_short and text.isascii() and text.isdigit()


def is_glob(text: str) -> bool:
    """Return whether `text` has wildcards."""
    return not WILDCARDS.isdisjoint(text)


class Pattern(namedtuple("Pattern", "word path module function line")):
    """One name or pattern, to compare with files and functions."""

    __slots__ = ()

    word: str  # as the user wrote it
    path: Parts
    module: Parts  # () if it can only be a path
    function: Parts  # () for all functions
    line: int  # 0 for all lines

    def parts_in(self, paths: Iterable[str], modules: Iterable[str]) -> list[Parts]:
        """Return the names of functions that the pattern selects in one file.

        The file has these paths, and can be imported as these modules. An empty name
        selects all functions.
        """
        files = [path_parts(path) for path in paths]
        by_path = any(is_under(self.path, file) for file in files)
        if by_path or not self.module:
            return [self.function] if by_path else []
        # In a package a ``*`` stands for the modules in it.
        no_start = {"*", _ANY_PARTS} if any(f[-1] == _PACKAGE for f in files) else ()
        found = []
        for name in [module.split(".") for module in modules]:
            if is_under(self.module, name):
                found.append(self.function)
            elif not self.function:
                rests = _rests(self.module, name)
                found += [rest for rest in rests if rest[0] not in no_start]
        return found


def _rests(pattern: Parts, module: Sequence[str]) -> list[Parts]:
    """Return the ends of a dotted `pattern` that may be functions in `module`."""
    return [
        pattern[count:]
        for count in range(1, len(pattern))
        if is_under(pattern[:count], module, whole=True)
    ]


def is_under(
    pattern: Sequence[str], name: Sequence[str], *, whole: bool = False
) -> bool:
    """Return whether the first parts of `name` match all parts of `pattern`.

    With `whole`, they have to be all of its parts.
    """
    if not pattern:
        return not (whole and name)
    first, rest = pattern[0], pattern[1:]
    if first == _ANY_PARTS:
        skips = range(len(name) + 1)
        return any(is_under(rest, name[skip:], whole=whole) for skip in skips)
    matches = bool(name) and fnmatchcase(name[0], first)
    return matches and is_under(rest, name[1:], whole=whole)


def is_function(pattern: Sequence[str], name: str) -> bool:
    """Return whether `pattern` matches a function's qualified name, or its last part.

    The pattern of a class matches its methods.
    """
    parts = name.replace(_LOCALS, "").split(".")
    if is_under(pattern, parts):
        return True
    return len(pattern) == 1 and fnmatchcase(parts[-1], pattern[0])


def patterns(words: Sequence[str], folder: str) -> tuple[Pattern, ...]:
    """Return the patterns `words`; paths are relative to `folder`."""
    return tuple(pattern_of(word, folder) for word in words)


def pattern_of(word: str, folder: str) -> Pattern:
    """Return the pattern `word`; a path is relative to `folder`."""
    name = parse(word)
    file = os.path.expanduser(name.file) if name.file.startswith("~") else name.file
    if name.is_path and file.startswith("*"):
        path = (_ANY_PARTS, *path_parts(os.path.normpath(file)))
    else:
        path = path_parts(os.path.normpath(os.path.join(folder, file)))
    return Pattern(
        word=word,
        path=path if file else (_ANY_PARTS,),
        module=() if name.is_path or not file else tuple(file.split(".")),
        function=tuple(name.function.split(".")) if name.function else (),
        line=name.line,
    )


def path_parts(path: str) -> Parts:
    """Return the folders of a path, and the file."""
    return tuple(path.split(os.sep))


def check(word: str) -> None:
    """Raise LineprofError for an open bracket, a line 0 and a name without letters."""
    if not word.strip():
        raise LineprofError("a name is empty", hint="name a file or a function")
    end = word.rpartition(":")[2]
    if end != word and is_line_number(end) and not int(end):
        raise LineprofError(f"{word!r} is no line", hint="lines begin at 1")
    rest = word
    while "[" in rest:
        rest = rest.partition("[")[2]
        inside = rest.removeprefix("!")
        at = inside.find("]", 1)
        if at < 0:
            raise LineprofError(
                f"bad pattern {word!r}: its '[' is not closed",
                hint="write '[[]' for a '[' of a name",
            )
        rest = inside[at + 1 :]


# Suggestions for names that match nothing.


def near(text: str, known: Collection[str]) -> list[str]:
    """Return the names in `known` that look most like `text`, the best first."""
    from difflib import get_close_matches  # noqa: PLC0415  # for errors alone

    lower = {name.lower(): name for name in known}
    found = get_close_matches(text, known, n=3)
    found += [lower[one] for one in get_close_matches(text.lower(), lower, n=3)]
    return list(dict.fromkeys(found))[:3]


def did_you_mean(names: Collection[str]) -> str:
    """Return the question that suggests `names`, "" if there are none."""
    return f"did you mean {listed(names, ' or ')}?" if names else ""


def listed(
    names: Collection[str], last: str = ", ", max_names: int = _MAX_LISTED
) -> str:
    """Return names separated by commas; `last` is before the last one.

    If there are more than `max_names`, the others are counted.
    """
    more = len(names) - max_names
    shown = list(names)[:max_names]
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return last.join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def suggestions(word: str, functions: Iterable[tuple[str, str]]) -> list[str]:
    """Return names of functions and files that look like `word`, the best first.

    `functions` are the names of files, as short as they are clear, and the qualified
    names of functions in them.
    """
    known = list(dict.fromkeys(functions))
    name = parse(word)
    if name.line or (name.is_path and not name.function):
        end = f":{name.line}" if name.line else ""
        found = files_like(name.file, [file for file, _ in known])
        return [f"{file}{end}" for file in found]
    if name.function and name.file:
        inside = [one for one in known if is_end(name.file, one[0])]
        known = inside or known
    spelled: dict[str, list[str]] = {}
    for file, function in known:
        full = f"{file}::{function}"
        module = _stem(file).replace(os.sep, ".")
        last = function.rpartition(".")[2]
        for key in (full, f"{module}.{function}", f"::{function}", function, last):
            spelled.setdefault(key, []).append(full)
    near_names = near(name.function or word, spelled)
    return list(dict.fromkeys(full for one in near_names for full in spelled[one]))


def files_like(name: str, known: Iterable[str]) -> list[str]:
    """Return the other files in `known` whose names are like `name`, the best first."""
    files = {_stem(file): file for file in known}
    files.update((os.path.basename(stem), files[stem]) for stem in list(files))
    found = [files[stem] for stem in near(_stem(name), files)]
    return [file for file in dict.fromkeys(found) if file != name]


def is_end(end: str, file: str) -> bool:
    """Return whether `end` is the last parts of a file's path, or of a module's name.

    The path may be given without its ``.py``.
    """
    path = f"{os.sep}{file}"
    stem = _stem(path).removesuffix(f"{os.sep}__init__")
    ends = (path, stem, stem.replace(os.sep, "."))
    return any(one.endswith((f"{os.sep}{end}", f".{end}")) for one in ends)


def _stem(file: str) -> str:
    return os.path.splitext(file)[0]
