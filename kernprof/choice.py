"""Which functions of a program are profiled where nothing is decorated.

Asked of each code object as it first runs, on whatever thread: nothing here may
import, raise, or take long.
"""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import NamedTuple

from kernprof.outfile import current_folder
from kernprof.places import STANDARD, Places
from lineprof.collectives import is_torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Optional

    from kernprof.patterns import Pattern

    Verdict = Optional["_Part"]

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


class Choice:
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
        self._places = Places()
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
        self, code: CodeType, places: Places, module: str = "", *, has_file: bool = True
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
