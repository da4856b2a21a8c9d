"""Running a script with what is named in it profiled, as line_profiler spells it."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

from lineprof.autoprofile.targets import (
    NotFoundError,
    attribute,
    attributes,
    functions_of,
    locate,
    modules_in,
    names_of_path,
    split_names,
    target_of,
)
from lineprof.bytecode.definitions import ALL, Import, functions_in, imports_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType
    from typing import Any, TypeVar

    from lineprof.autoprofile.targets import Target
    from lineprof.recording.profiler import LineProfiler

    T = TypeVar("T")


# Modules as the program imports them: who waits for one is told of it.


# A frame of this file is left out of tracebacks and of what `warnings` count,
# as are all those of the import system.
_IMPORT_SYSTEM = "<frozen importlib._bootstrap_external>"


class ImportHook:
    """Waits for modules to be imported, once each.

    While it waits for any it stands in `sys.meta_path`, and costs a look into
    a set for each module that is imported.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the name of each module once it has been imported."""
        self._tell = tell
        self._awaited: set[str] = set()
        self._packages: tuple[str, ...] = ()  # with a dot each

    def expect(self, name: str) -> None:
        """Wait for the module `name`; one that is there already is told of at once."""
        if name in sys.modules:
            self._tell(name)
            return
        self._awaited.add(name)
        self._wait()

    def expect_all_in(self, package: str) -> None:
        """Wait for each module below `package`, until `stop`; as `expect` does."""
        below = f"{package}."
        if below in self._packages:
            return
        self._packages += (below,)
        self._wait()
        for name in [name for name in sys.modules if name.startswith(below)]:
            self._tell(name)

    def _wait(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Wait no more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let the others find a module; see it loaded if it is awaited."""
        if name not in self._awaited and not name.startswith(self._packages):
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                self._follow(spec)
                return spec
        return None

    def _follow(self, spec: ModuleSpec) -> None:
        own = getattr(spec.loader, "__dict__", None)
        load = getattr(spec.loader, "exec_module", None)
        if load is None or type(own) is not dict:  # a class: it loads no Python
            return

        def exec_module(module: ModuleType) -> None:
            own.pop("exec_module", None)
            load(module)
            self._arrived(spec.name)

        code = exec_module.__code__.replace(co_filename=_IMPORT_SYSTEM)
        hidden = FunctionType(
            code, globals(), "exec_module", None, exec_module.__closure__
        )
        own["exec_module"] = hidden

    def _arrived(self, name: str) -> None:
        self._awaited.discard(name)
        if not self._awaited and not self._packages:
            self.stop()
        self._tell(name)


def run(
    script_file: str | os.PathLike[str],
    ns: Mapping[str, Any],
    prof_mod: Sequence[str],
    profile_imports: bool = False,  # noqa: FBT001, FBT002  # line_profiler's signature
    as_module: bool = False,  # noqa: FBT001, FBT002
) -> None:
    """Run `script_file` as ``__main__``; ``ns["prof"]`` counts what `prof_mod` names.

    These are paths and dotted names of modules, classes and functions that the
    script imports; the script's own path stands for every function in it,
    and with `profile_imports` for all that it imports, too. `ns` is what the
    script finds as global names. With `as_module` the script is a module of its
    package: ModuleNotFoundError where `sys.path` does not have it. Raises
    OSError where it cannot be read, and what it raises itself.
    """
    path = os.fspath(script_file)
    name = _module_name(path) if as_module else ""
    main = ModuleType(name or "__main__")
    if name:
        main.__spec__ = find_spec(name)
        main.__package__ = name.rpartition(".")[0]
    vars(main).update(ns)
    with open(path, "rb") as stream:
        code = compile(stream.read(), path, "exec", dont_inherit=True)
    watching = ProfileTargets(
        ns["prof"],
        prof_mod,
        preimports=False,
        imports=profile_imports,
        complain=lambda text: warnings.warn(text, stacklevel=3),
    )
    before = sys.modules.get("__main__")
    sys.modules["__main__"] = main
    try:
        watching.begin(code, name)
        exec(code, vars(main))  # noqa: S102  # it is the purpose
    finally:
        watching.end()
        if before is not None:
            sys.modules["__main__"] = before


def _module_name(path: str) -> str:
    names = names_of_path(os.path.realpath(path))
    if not names:
        raise ModuleNotFoundError(f"no folder of sys.path has {path!r} as a module")
    return names[0]


# Watching what users name: before a program runs, and as it imports.


ANY = "*"


class ProfileTargets:
    """What is to be profiled of one program, beside what it decorates itself.

    Nothing of the program is changed: a profiler learns which code to watch.
    """

    def __init__(  # noqa: PLR0913
        self,
        profiler: LineProfiler,
        words: Sequence[str],
        *,
        own_names: Collection[str] = (),
        preimports: bool = True,
        imports: bool = False,
        complain: Callable[[str], object],
    ) -> None:
        """Take what is named in `words`, which commas may part.

        `own_names` are what the program itself goes by; ANY among them says
        that it is to be profiled even if it is not named. With `preimports` the
        rest is imported before the program runs; with `imports` a program that
        is named is profiled with all that it imports itself. What cannot be
        imported is told to `complain`, in one line.
        """
        self._profiler = profiler
        self._names = split_names(words)
        self._own_names = {*own_names, *map(os.path.realpath, own_names)}
        self._preimports = preimports
        self._imports = imports
        self._complain = complain
        self._targets: list[Target] = []
        self._failures: dict[str, str] = {}
        self._running: list[str] = []  # names that the program could be imported by
        self._wanted: dict[str, list[Import]] = {}
        self._lazy: dict[str, list[Import]] = {}  # by package: made by `__getattr__`
        self._arrivals = ImportHook(self._arrived)

    def begin(self, code: CodeType, module: str = "") -> None:
        """Watch all that was named, of the program `code` and of what it imports.

        To be called with the program's `sys.path`, just before it runs;
        `module` is its full name if it runs as a module.
        """
        file = os.path.realpath(code.co_filename)
        self._running = [module] if module else names_of_path(file)
        own = {*self._own_names, file}
        whole = ANY in own
        for given in self._names:
            if not {given, os.path.realpath(given)}.isdisjoint(own):
                whole = True
            else:
                self._add(given)
        functions = list(functions_in(code))
        parts = {t.given: self._part_of_program(t) for t in self._targets}
        for given, part in parts.items():
            if part and not any(_is_part(name, part) for name, _ in functions):
                self._failures[given] = (
                    f"the program defines no function {part!r}, and no class with"
                    " methods"
                )
        if self._preimports:
            self._import_all()
        if self._failures:
            self._complain(_words(self._failures))
        whole = whole or "" in parts.values()
        self._follow_imports(code, module.rpartition(".")[0], whole)
        for name, function in functions:
            if whole or any(_is_part(name, part) for part in parts.values()):
                self._profiler.watch(function)

    def end(self) -> None:
        """Watch nothing that is imported from now on."""
        self._arrivals.stop()

    def _add(self, given: str) -> None:
        try:
            self._targets.append(target_of(given))
        except NotFoundError as error:
            self._failures[given] = str(error)

    def _part_of_program(self, target: Target) -> str | None:
        """Return what of the program `target` names, "" for all, None for nothing."""
        for running in self._running:
            for path in target.below(running):
                return ".".join(path)
            for name in target.names:
                inside = target.recurse and running.startswith(f"{name}.")
                if inside or running == name:
                    return ""
        return None

    # -- before the program runs ------------------------------------------------

    def _import_all(self) -> None:
        for target in sorted(self._targets, key=lambda target: target.name):
            part = self._part_of_program(target)
            if part is None or (not part and target.name not in self._running):
                self._try(target.given, self._import, target)

    def _try(self, name: str, action: Callable[[T], None], what: T) -> None:
        """Import something; whatever a module of the program raises is a reason."""
        try:
            action(what)
        except NotFoundError as error:
            self._failures[name] = str(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001
            self._failures[name] = f"{type(error).__name__}: {error}"

    def _import(self, target: Target) -> None:
        module, path = locate(target.name)
        found = self._watch(attribute(module, path))
        if path and not found:
            raise NotFoundError("no Python code in it")
        if target.recurse and not path:
            self._import_inside(module)

    def _import_inside(self, package: ModuleType) -> None:
        for name in modules_in(package):
            if name not in self._running:
                self._try(name, self._import_module, name)

    def _import_module(self, name: str) -> None:
        module = importlib.import_module(name)
        self._watch(module)
        self._import_inside(module)

    def _watch(self, item: object) -> bool:
        """Watch the functions of `item`; return whether there are any."""
        functions = list(functions_of(item))
        for function in functions:
            self._profiler.watch(function.__code__)
        return bool(functions)

    # -- as it imports ------------------------------------------------------------

    def _follow_imports(self, code: CodeType, package: str, whole: bool) -> None:  # noqa: FBT001
        """Watch what the program itself imports, once that is there."""
        self._imports = self._imports and whole
        for each in imports_in(code, package):
            if self._is_wanted(each):
                self._wanted.setdefault(each.module, []).append(each)
                if each.name not in {"", ALL}:  # which may be a module, too
                    inner = Import(each.dotted)
                    self._wanted.setdefault(inner.module, []).append(inner)
        for name in list(self._wanted):
            self._arrivals.expect(name)

    def _is_wanted(self, each: Import) -> bool:
        whole = each.module if each.name == ALL else each.dotted
        return self._imports or any(
            target.covers(each.dotted, imported=False) or any(target.below(whole))
            for target in self._targets
        )

    def _arrived(self, name: str) -> None:
        """Watch what is wanted of a module that has just been imported."""
        wanted = self._wanted.pop(name, [])
        for package, lazy in list(self._lazy.items()):
            wanted += lazy if name.startswith(f"{package}.") else []
        try:
            for each in wanted:
                self._take(each, sys.modules.get(name))
        except Exception as error:  # noqa: BLE001  # the import goes on
            self._complain(f"cannot see what is in {name!r}: {error}")

    def _take(self, each: Import, module: object) -> None:
        names = [each.name] if each.name != ALL else _public(module)
        for name in names:
            item = attributes(module).get(name) if name else module
            if item is None:
                self._expect_later(each, name, module)
                continue
            dotted = f"{each.module}.{name}" if name else each.module
            if name and isinstance(item, ModuleType) and dotted in sys.modules:
                continue  # it is waited for by its own name
            for target in self._targets:
                for path in target.below(dotted):
                    self._watch(_inside(item, path))
            covered = (t.covers(dotted, imported=True) for t in self._targets)
            if self._imports or any(covered):
                self._watch(item)

    def _expect_later(self, each: Import, name: str, module: object) -> None:
        """Look for a name that a package makes when asked, in what is below it."""
        lazy = self._lazy.get(each.module, [])
        made = "__getattr__" in attributes(module) and each.name == name
        if made and each not in lazy:
            self._lazy[each.module] = [*lazy, each]
            self._arrivals.expect_all_in(each.module)


def _is_part(name: str, part: str | None) -> bool:
    """Tell whether the function called `name` is the `part` of a program, or in it."""
    if not part:
        return False
    inside = name.startswith(f"{part}.") and "<locals>" not in name
    return name == part or inside


def _public(module: object) -> list[str]:
    names = attributes(module)
    every = names.get("__all__")
    if isinstance(every, (list, tuple)):
        return [name for name in every if isinstance(name, str)]
    return [name for name in names if not name.startswith("_")]


def _inside(item: object, path: list[str]) -> object:
    """Return what `path` leads to from `item`; None where it leads elsewhere."""
    for part in path:
        try:
            item = attribute(item, [part])
        except NotFoundError:
            return None
        if isinstance(item, ModuleType):
            return None
    return item


def _words(failures: dict[str, str]) -> str:
    names = list(failures)
    reasons = [" ".join(reason.split()) for reason in failures.values()]
    if len(names) > 1:
        reasons = [f"{name}: {reason}" for name, reason in zip(names, reasons)]
    return (
        f"{len(names)} -p target{'s' if len(names) > 1 else ''} cannot be imported:"
        f" {names!r} ({'; '.join(reasons)})"
    )
