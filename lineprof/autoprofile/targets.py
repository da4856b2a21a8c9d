"""Targets of profiling by name: files, folders, modules, classes, functions."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from importlib.machinery import all_suffixes
from types import FunctionType, MappingProxyType, ModuleType
from typing import TYPE_CHECKING, NamedTuple

from lineprof.decorate.callables import HOLDERS, attributes, is_annotate_function
from lineprof.files import SOURCE, absolute_path, real_path
from lineprof.patterns import did_you_mean, files_like, is_glob, near, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeGuard

    Near = Callable[[str], bool]  # whether code of the named module belongs to an owner

IN_FILE = "::"  # between a path and the name of a function
_INIT = ".__init__"  # end of the name of a package without its modules
_NOT_LISTED = ("__init__", "__main__")
_MAX_DEPTH = 20  # of wrappers in wrappers; some objects wrap themselves


class NotFoundError(Exception):
    """A target does not exist; the message says why."""


class Target(NamedTuple):
    """A target, and the dotted names by which it can be imported."""

    given: str  # as the user named it; the full path of a file
    names: tuple[str, ...]  # several if folders of `sys.path` contain each other
    recurse: bool  # into a package

    @property
    def name(self) -> str:
        """The name by which to import it."""
        return self.names[0]

    def covers(self, dotted: str, *, imported: bool) -> bool:
        """Return whether the target is `dotted`, or contains it.

        Only packages contain modules; before a module is `imported`, it may be one.
        """
        parent = dotted.rpartition(".")[0]
        for name in self.names:
            module = imported and dotted in sys.modules  # in its own right
            if dotted == name or (parent == name and (self.recurse or not module)):
                return True
            package = not imported or hasattr(sys.modules.get(name), "__path__")
            if self.recurse and package and dotted.startswith(f"{name}."):
                return True
        return False

    def below(self, dotted: str) -> Iterator[list[str]]:
        """Yield the path from `dotted` to the target, if the target is in it."""
        for name in self.names:
            if name.startswith(f"{dotted}."):
                yield name[len(dotted) + 1 :].split(".")


def split_names(words: Sequence[str]) -> list[str]:
    """Return the names in `words`, separated by commas, with full paths.

    The name of a file may contain commas. An empty word cancels all before it.
    """
    names: dict[str, None] = {}
    for word in words:
        if not word:
            names.clear()
        parts = [word] if os.path.isfile(parse(word).file) else word.split(",")
        for part in parts:
            if part:
                names.setdefault(_full_name(part))
    return list(names)


def _full_name(part: str) -> str:
    """Return a name with its full path; of a function in a module, its dotted name."""
    if _is_path(part):
        return absolute_path(part)
    name = parse(part)
    if is_pattern(part) or not name.function:
        return part
    if _is_path(name.file):
        return f"{absolute_path(name.file)}{IN_FILE}{name.function}"
    return f"{name.file}.{name.function}" if _is_dotted(name.file) else part


def is_pattern(name: str) -> bool:
    """Return whether a name stands for code by a pattern or a line.

    Such code is found when it runs: there is nothing to import.
    """
    if os.path.exists(name):
        return False
    return bool(parse(name).line) or is_glob(name) or name.startswith(IN_FILE)


def target_of(given: str) -> Target:
    """Return the target that a user named, with its names from `sys.path`.

    Raises NotFoundError for a path without a file, or that cannot be imported.
    """
    path, _, function = given.partition(IN_FILE)
    if _is_dotted(given):
        names = [given]
    elif not os.path.exists(path):
        raise NotFoundError(with_hint("no such file", files_near(path)))
    else:
        names = names_of_path(real_path(path))
    if not names:
        raise NotFoundError("no folder of sys.path has it as a module")
    if function:
        names = [f"{name.removesuffix(_INIT)}.{function}" for name in names]
    return Target(
        given=given,
        names=tuple(name.removesuffix(_INIT) for name in names),
        recurse=not names[0].endswith(_INIT),
    )


def files_near(path: str) -> list[str]:
    """Return the source files in the folder of `path` that have a name like its own."""
    folder, base = os.path.split(path)
    try:
        files = [name for name in os.listdir(folder or ".") if name.endswith(SOURCE)]
    except OSError:
        return []
    return [os.path.join(folder, name) for name in files_like(base, files)]


def with_hint(reason: str, names: Sequence[str]) -> str:
    """Return `reason`, with a question whether one of `names` was meant."""
    return "; ".join(filter(None, (reason, did_you_mean(names))))


def _is_path(text: str) -> bool:
    """Return whether `text` is a file, or a folder and no dotted name."""
    return os.path.isfile(text) or (os.path.exists(text) and not _is_dotted(text))


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def names_of_path(path: str, real: Callable[[str], str] = real_path) -> list[str]:
    """Return the names by which the file or folder `path` can be imported.

    The first one is that by the ``__init__.py`` files around it, if there are any.
    `real` gives the real path of an entry of `sys.path`.
    """
    folder, base = os.path.split(path)
    place = os.path.join(folder, base.partition(".")[0])
    names = {}
    for entry in sys.path:
        root = os.path.join(real(entry), "")
        name = place[len(root) :].replace(os.sep, ".")
        if place.startswith(root) and _is_dotted(name):
            names[name] = root == _root_of_packages(folder)
    return sorted(names, key=lambda name: not names[name])


def _root_of_packages(folder: str) -> str:
    """Return the first folder from `folder` upwards that is not a package."""
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return os.path.join(folder, "")


def locate(name: str) -> tuple[ModuleType, list[str]]:
    """Import the module in the dotted `name`; return it and the rest of the name.

    Raises whatever the import raises.
    """
    first, *rest = name.split(".")
    module = importlib.import_module(first)
    for place in range(len(rest)):
        inner = ".".join([first, *rest[: place + 1]])
        try:
            module = importlib.import_module(inner)
        except ModuleNotFoundError as error:
            if error.name != inner:  # of a module that it imports
                raise
            return module, rest[place:]
    return module, []


def attribute(owner: object, path: Sequence[str]) -> object:
    """Return the attribute of `owner` at `path`; a property is not evaluated.

    Raises NotFoundError if there is none.
    """
    found = owner
    for place, part in enumerate(path):
        bases = _bases(found)
        own = [vars(base)[part] for base in bases if part in vars(base)]
        try:
            found = own[0] if own else getattr(found, part)
        except AttributeError as error:
            around = ".".join([str(getattr(owner, "__name__", "")), *path[:place]])
            like = near(part, [n for n in vars(found) if not n.startswith("__")])
            names = [f"{around}.{name}" for name in like]
            raise NotFoundError(with_hint(str(error), names)) from None
    return found


def _bases(found: object) -> tuple[type, ...]:
    if not issubclass(type(found), type):
        return ()
    bases: tuple[type, ...] = type.__dict__["__mro__"].__get__(found)
    return bases


def modules_in(package: ModuleType) -> list[str]:
    """Return the names of the modules in `package`; none if it is not a package.

    ``__main__`` is left out: it is a program, and importing it would run it.
    """
    folders = getattr(package, "__path__", ())
    names = dict.fromkeys(name for folder in folders for name in _listed(folder))
    found = [name for name in names if name.isidentifier()]
    return [f"{package.__name__}.{n}" for n in found if n not in _NOT_LISTED]


def _listed(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(map(_module, entries))
    except NotADirectoryError:
        from pkgutil import iter_modules  # noqa: PLC0415  # for zip files; it takes 10 ms

        return [info.name for info in iter_modules([folder])]


def _module(entry: os.DirEntry[str]) -> str:
    """Return the name of the module in a file or folder, "" if there is none.

    No function of `os` that is written in Python is called: it may be profiled.
    """
    for suffix in all_suffixes():
        if entry.name.endswith(suffix):
            return entry.name[: -len(suffix)]
    try:
        os.stat(f"{entry.path}{os.sep}__init__.py")
    except OSError:
        return ""
    return entry.name


# Functions of modules, classes and other callables.
#
# These objects belong to the program: none is called, and no attribute is read that
# code of the program could compute. So the class is `type(x)`: `isinstance` would read
# ``__class__``.


def functions_of(item: object) -> Iterator[FunctionType]:
    """Yield the functions of a module, of a class, or of another callable.

    Those of a module are defined in it, below it, or in its package, and are members of
    it or of classes with such an origin. Those of a class are defined in its module.
    Modules in a module are left out.
    """
    if is_module(item):
        yield from _functions_in(item, _near_module(item), {id(item)})
    elif _is_class(item):
        yield from _functions_in(item, _near_class(item), {id(item)})
    else:
        yield from _called(item)


def _functions_in(
    owner: ModuleType | type, near: Near, seen: set[int]
) -> Iterator[FunctionType]:
    for value in list(vars(owner).values()):
        if id(value) in seen or is_module(value):
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
    """Return the name of the module that defines a function or a class."""
    own = vars(part) if _is_class(part) else {}
    home = own.get("__module__") or getattr(part, "__module__", None)
    return home if isinstance(home, str) else ""


def is_module(value: object) -> TypeGuard[ModuleType]:
    """Return whether `value` is a module, without running its code."""
    return issubclass(type(value), ModuleType)


def _is_class(value: object) -> TypeGuard[type]:
    return issubclass(type(value), type)


def _is_written(function: FunctionType) -> bool:
    """Return whether `function` is in a source file, and is no annotations."""
    if is_annotate_function(function):
        return False
    file = function.__code__.co_filename
    return not file.startswith("<") or file.startswith("<frozen ")


def _called(
    value: object, near: Near | None = None, depth: int = 0
) -> Iterator[FunctionType]:
    """Yield the functions that a call of `value`, or an access to it, runs.

    A wrapper is among them only if its module is near or, without `near`, if it is in
    the file of the function that it wraps.
    """
    if depth > _MAX_DEPTH or is_module(value) or _is_class(value):
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
    """Yield the callables that `value` is known to call."""
    for kinds, names in HOLDERS:
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
