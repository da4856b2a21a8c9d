"""What users name to be profiled: files, folders, modules, classes, functions."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from importlib.machinery import all_suffixes
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TYPE_CHECKING, NamedTuple

from lineprof.decorate.callables import is_annotate_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeGuard

    Near = Callable[[str], bool]  # whether what is from that module belongs to it


# The Python functions of modules, classes and all that can be called.
#
# What is looked at belongs to the program: nothing of it is called, no attribute
# is asked for that code of the program could compute. So ``type(x)`` it is below:
# `isinstance` would ask for ``__class__``.


_HOLDERS: tuple[tuple[tuple[type, ...], tuple[str, ...]], ...] = (
    ((classmethod, staticmethod, MethodType), ("__func__",)),
    ((functools.partial, functools.partialmethod), ("func",)),
    ((functools.cached_property,), ("func",)),
    ((property,), ("fget", "fset", "fdel")),
)
_DEPTH = 20  # of wrappers in wrappers; some objects wrap themselves


def functions_of(item: object) -> Iterator[FunctionType]:
    """Yield the functions of a module, of a class, or of something callable.

    A module has those that are from it, from what is below it, and from the
    package that it is in; classes likewise, with theirs. A class has those of
    its own module. Modules in a module count for themselves.
    """
    if _is_module(item):
        yield from _functions_in(item, _near_module(item), {id(item)})
    elif _is_class(item):
        yield from _functions_in(item, _near_class(item), {id(item)})
    else:
        yield from _called(item)


def _functions_in(
    owner: ModuleType | type, near: Near, seen: set[int]
) -> Iterator[FunctionType]:
    for value in list(vars(owner).values()):
        if id(value) in seen or _is_module(value):
            continue
        seen.add(id(value))
        if not _is_class(value):
            found = [each for each in _called(value, near) if near(_home(each))]
            yield from filter(_is_written, found)
        elif near(_home(value)):
            yield from _functions_in(value, _near_class(value), seen)


def _near_module(module: ModuleType) -> Near:
    name = str(vars(module).get("__name__", ""))
    parent = name.rpartition(".")[0]
    roots = [root for root in (name, parent) if root]
    below = tuple(f"{root}." for root in roots)

    return lambda home: home in roots or home.startswith(below)


def _near_class(cls: type) -> Near:
    home = _home(cls)
    return lambda other: other == home


def _home(part: object) -> str:
    """Return the name of the module that a function or a class is from."""
    own = vars(part) if _is_class(part) else {}
    home = own.get("__module__") or getattr(part, "__module__", None)
    return home if isinstance(home, str) else ""


def _is_module(value: object) -> TypeGuard[ModuleType]:
    return issubclass(type(value), ModuleType)


def _is_class(value: object) -> TypeGuard[type]:
    return issubclass(type(value), type)


def _is_written(function: FunctionType) -> bool:
    """Tell whether somebody wrote it: not what `dataclasses` makes, or annotations."""
    if is_annotate_function(function):
        return False
    file = function.__code__.co_filename
    return not file.startswith("<") or file.startswith("<frozen ")


def _called(
    value: object, near: Near | None = None, depth: int = 0
) -> Iterator[FunctionType]:
    """Yield the functions that a call of `value`, or its use, runs.

    A wrapper is one of them only if it is written near, or where there is no
    telling, in the file of what it wraps.
    """
    if depth > _DEPTH or _is_module(value) or _is_class(value):
        return
    held = list(_held(value))
    inner = [each for part in held for each in _called(part, near, depth + 1)]
    if type(value) is FunctionType:
        files = {each.__code__.co_filename for each in inner}
        home = str(value.__globals__.get("__name__"))
        if (
            not inner
            or (near and near(home))
            or (near is None and value.__code__.co_filename in files)
        ):
            yield value
    yield from inner


def _held(value: object) -> Iterator[object]:
    """Yield what `value` calls, as far as that can be seen."""
    for kinds, names in _HOLDERS:
        if issubclass(type(value), kinds):
            yield from (getattr(value, name) for name in names)
            return
    own = attributes(value)
    if "__wrapped__" in own:
        yield own["__wrapped__"]
    elif type(value) is functools.singledispatchmethod:
        yield value.func
        yield from value.dispatcher.registry.values()
    elif type(value) is not FunctionType:
        calls = (vars(base).get("__call__") for base in type(value).__mro__)
        call = next((call for call in calls if call is not None), None)
        if type(call) is FunctionType:
            yield call
    registry = own.get("registry")
    if type(registry) is MappingProxyType and "dispatch" in own:  # singledispatch
        yield from registry.values()


def attributes(value: object) -> dict[str, object]:
    """Return what `value` itself holds, without asking it."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own if type(own) is dict else {}


_INIT = ".__init__"  # of a package, without what is in it
_NO_MODULES = ("__init__", "__main__")


class NotFoundError(Exception):
    """Nothing goes by that name; its text says why."""


class Target(NamedTuple):
    """One thing to profile, and the dotted names that it can be imported by."""

    given: str  # as the user named it; of a file the whole path
    names: tuple[str, ...]  # several for a file that is in several folders' reach
    recurse: bool  # into a package

    @property
    def name(self) -> str:
        """The name to import it by."""
        return self.names[0]

    def covers(self, dotted: str, *, imported: bool) -> bool:
        """Tell whether it is `dotted`, or what that is in.

        Only packages are recursed into; before a module is `imported`, it may
        be one.
        """
        parent = dotted.rpartition(".")[0]
        for name in self.names:
            module = imported and dotted in sys.modules  # of its own
            if dotted == name or (parent == name and (self.recurse or not module)):
                return True
            package = not imported or hasattr(sys.modules.get(name), "__path__")
            if self.recurse and package and dotted.startswith(f"{name}."):
                return True
        return False

    def below(self, dotted: str) -> Iterator[list[str]]:
        """Yield the way from `dotted` down to it, if it is in there."""
        for name in self.names:
            if name.startswith(f"{dotted}."):
                yield name[len(dotted) + 1 :].split(".")


def split_names(words: Sequence[str]) -> list[str]:
    """Return the names in `words`: what commas part, and paths in full.

    The name of a file may have commas. An empty word takes back all before it.
    """
    names: dict[str, None] = {}
    for word in words:
        if not word:
            names.clear()
        parts = [word] if os.path.isfile(word) else word.split(",")
        for part in parts:
            if part:
                names.setdefault(os.path.abspath(part) if _is_path(part) else part)
    return list(names)


def target_of(given: str) -> Target:
    """Return what the user named, by names that can be imported from `sys.path`.

    Raises NotFoundError for a path where nothing is, or nothing to import.
    """
    if _is_dotted(given):
        names = [given]
    elif not os.path.exists(given):
        raise NotFoundError("no such file")
    else:
        names = names_of_path(os.path.realpath(given))
    if not names:
        raise NotFoundError("no folder of sys.path has it as a module")
    whole = not names[0].endswith(_INIT)
    return Target(given, tuple(name.removesuffix(_INIT) for name in names), whole)


def _is_path(text: str) -> bool:
    """Tell whether it is a file, or a folder that is written as one."""
    return os.path.isfile(text) or (os.path.exists(text) and not _is_dotted(text))


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def names_of_path(path: str) -> list[str]:
    """Return the names by which the file or folder `path` can be imported.

    First the one that it has by the ``__init__.py`` around it, if any.
    """
    folder, base = os.path.split(path)
    place = os.path.join(folder, base.partition(".")[0])
    names = {}
    for entry in sys.path:
        root = os.path.join(os.path.realpath(entry), "")
        name = place[len(root) :].replace(os.sep, ".")
        if place.startswith(root) and _is_dotted(name):
            names[name] = root == _root_of_packages(folder)
    return sorted(names, key=lambda name: not names[name])


def _root_of_packages(folder: str) -> str:
    """Return the first folder from `folder` upwards that is no package."""
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return os.path.join(folder, "")


def locate(name: str) -> tuple[ModuleType, list[str]]:
    """Import the module in the dotted `name`; return it and the rest of the name.

    Raises what importing raises.
    """
    first, *rest = name.split(".")
    module = importlib.import_module(first)
    for place in range(len(rest)):
        inner = ".".join([first, *rest[: place + 1]])
        try:
            module = importlib.import_module(inner)
        except ModuleNotFoundError as error:
            if error.name != inner:  # one that it imports
                raise
            return module, rest[place:]
    return module, []


def attribute(owner: object, path: Sequence[str]) -> object:
    """Return what `path` leads to from `owner`, a property as the property.

    Raises NotFoundError where it leads nowhere.
    """
    found = owner
    for part in path:
        bases = _bases(found)
        own = [vars(base)[part] for base in bases if part in vars(base)]
        try:
            found = own[0] if own else getattr(found, part)
        except AttributeError as error:
            raise NotFoundError(str(error)) from None
    return found


def _bases(found: object) -> tuple[type, ...]:
    if not issubclass(type(found), type):
        return ()
    bases: tuple[type, ...] = type.__dict__["__mro__"].__get__(found)
    return bases


def modules_in(package: ModuleType) -> list[str]:
    """Return the names of the modules in `package`, if that is what it is.

    One called ``__main__`` is a program: to import it would run it.
    """
    folders = getattr(package, "__path__", ())
    names = dict.fromkeys(name for folder in folders for name in _listed(folder))
    found = [name for name in names if name.isidentifier()]
    return [f"{package.__name__}.{n}" for n in found if n not in _NO_MODULES]


def _listed(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(map(_module, entries))
    except NotADirectoryError:
        from pkgutil import iter_modules  # noqa: PLC0415  # a zip; it takes 10 ms

        return [info.name for info in iter_modules([folder])]


def _module(entry: os.DirEntry[str]) -> str:
    """Return the name of the module that is in a file or folder, "" for none.

    Nothing of `os` that is written in Python is called: it may be watched.
    """
    for suffix in all_suffixes():
        if entry.name.endswith(suffix):
            return entry.name[: -len(suffix)]
    try:
        os.stat(f"{entry.path}{os.sep}__init__.py")
    except OSError:
        return ""
    return entry.name
