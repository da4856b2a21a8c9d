"""Profiling by name: of a program, and of modules that it imports.

`run` is line_profiler's function to run a script; kernprof uses `ProfileTargets`.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from lineprof.autoprofile.targets import (
    IN_FILE,
    NotFoundError,
    attribute,
    files_near,
    functions_of,
    is_module,
    locate,
    modules_in,
    names_of_path,
    split_names,
    target_of,
    with_hint,
)
from lineprof.bytecode.definitions import functions_in
from lineprof.bytecode.imports import ALL, Import, imports_in
from lineprof.decorate.callables import attributes
from lineprof.files import real_path, short_path
from lineprof.import_hook import ImportHook
from lineprof.patterns import suggestions
from lineprof.recording.extensions import extension_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from types import CodeType
    from typing import Any, TypeVar

    from lineprof.autoprofile.targets import Target
    from lineprof.recording.profiler import LineProfiler

    T = TypeVar("T")

ANY = "*"  # among a program's own names: profile it even if it is not named


def run(
    script_file: str | os.PathLike[str],
    ns: Mapping[str, Any],
    prof_mod: Sequence[str],
    profile_imports: bool = False,  # noqa: FBT001, FBT002  # line_profiler's signature
    as_module: bool = False,  # noqa: FBT001, FBT002
) -> None:
    """Run `script_file` as ``__main__``, and profile the targets in `prof_mod`.

    These are paths and dotted names of modules, classes and functions that the script
    imports; the script's own path stands for all functions in it and, with
    `profile_imports`, for all of its imports. `ns` has the script's global names, and
    ``ns["prof"]`` the profiler. With `as_module` the script is a module of its package.
    Raises ModuleNotFoundError if `sys.path` does not have that module, OSError if the
    file cannot be read, and whatever the script raises.
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
    targets = ProfileTargets(
        ns["prof"],
        prof_mod,
        preimports=False,
        imports=profile_imports,
        complain=lambda text: warnings.warn(text, stacklevel=3),
    )
    before = sys.modules.get("__main__")
    sys.modules["__main__"] = main
    try:
        targets.begin(code, name)
        exec(code, vars(main))  # noqa: S102  # the purpose of this function
    finally:
        targets.end()
        if before is not None:
            sys.modules["__main__"] = before


def _module_name(path: str) -> str:
    names = names_of_path(real_path(path))
    if not names:
        raise ModuleNotFoundError(f"no folder of sys.path has {path!r} as a module")
    return names[0]


class ProfileTargets:
    """The targets of one program that users name, besides functions that it decorates.

    The program is not changed: its code objects are registered with a profiler.
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
        later: dict[str, str] | None = None,
        imported: Callable[[], object] | None = None,
    ) -> None:
        """Profile the targets in `words`, which may be separated by commas.

        `own_names` are names of the program itself; if `ANY` is among them, the program
        is profiled even if it is not named. With `preimports`, other targets are
        imported before the program runs; with `imports`, a program that is named is
        profiled together with all of its imports. `complain` is called with one line
        that lists the targets that cannot be imported. With `later`, those that may be
        imported while the program runs are added to it instead, with the reason why
        they could not be imported before, "" if that was not tried. `imported` is
        called after the program has imported a module with targets.
        """
        self._profiler = profiler
        self.names = split_names(words)
        self._own_names = {*own_names, *map(real_path, own_names)}
        self._preimports = preimports
        self._imports = imports
        self._complain = complain
        self._later = later
        self._after_import = imported
        self.lists_all = False  # a message also names what packages cannot import
        self._targets: list[Target] = []
        self.in_other_files: list[str] = []  # targets that are not in the program's own
        self.defined: list[tuple[str, str]] = []  # file and function of the program
        self._failures: dict[str, str] = {}
        self._running: list[str] = []  # names by which the program can be imported
        self._wanted: dict[str, list[Import]] = {}
        # By package: what its `__getattr__` creates.
        self._lazy: dict[str, list[Import]] = {}
        self._import_hook = ImportHook(self._imported)

    def begin(self, code: CodeType, module: str = "") -> None:
        """Watch all targets, in the program `code` and in its imports.

        Call this with the program's `sys.path`, just before it runs; `module` is its
        full name if it runs as a module.
        """
        file = real_path(code.co_filename)
        self._running = [module] if module else names_of_path(file)
        own = {*self._own_names, file}
        whole_program, parts = self._own_parts(own)
        functions = list(functions_in(code))
        self.defined = [(short_path(file), name) for name, _ in functions]
        parts.update((t.given, self._part_of_program(t)) for t in self._targets)
        self.in_other_files = [
            target.given
            for target in self._targets
            if not parts[target.given] and target.name not in self._running
        ]
        for given, part in parts.items():
            if part and not any(is_part(name, part) for name, _ in functions):
                reason = (
                    f"the program defines no function {part!r}, and no class with"
                    " methods"
                )
                self._failures[given] = self.with_hint(reason, part)
        if self._preimports:
            self._import_all()
        elif self._later is not None:
            self._later.update(
                (given, "") for given, part in parts.items() if part is None
            )
        if self._failures:
            self._complain(self.failures_text(self._failures))
        whole_program = whole_program or "" in parts.values()
        self._follow_imports(
            code, module.rpartition(".")[0], whole_program=whole_program
        )
        for name, function in functions:
            if whole_program or any(is_part(name, part) for part in parts.values()):
                self._profiler.watch(function)

    def with_hint(self, reason: str, name: str) -> str:
        """Return `reason` with names of functions and files that are like `name`."""
        found = suggestions(name, self.defined)
        if name.endswith(".py"):
            found = found or files_near(name)
        file, _, function = found[0].partition(IN_FILE) if found else ("", "", "")
        module = file.removesuffix(".py")
        if name.isidentifier() and function and module.isidentifier():
            found.insert(0, f"{module}.{function}")
        return with_hint(reason, found)

    def failures_text(self, failures: Mapping[str, str]) -> str:
        """Return one line on targets and the reasons why they cannot be imported.

        Of many modules inside packages it has the first, unless `lists_all`.
        """
        named = [name for name in failures if self.lists_all or name in self.names]
        shown = named or list(failures)[:1]
        names = list(map(short_path, shown))
        reasons = [" ".join(failures[name].split()) for name in shown]
        if len(names) > 1:
            reasons = [f"{name}: {reason}" for name, reason in zip(names, reasons)]
        count, rest = len(failures), len(failures) - len(shown)
        more = f" and {rest} more inside packages; -v names them" if rest else ""
        return (
            f"{count} -p target{'s' if count > 1 else ''} cannot be imported:"
            f" {names!r} ({'; '.join(reasons)}){more}"
        )

    def will_watch(self, module: str) -> bool:
        """Return whether the targets in `module` are watched once it is imported."""
        return module in self._wanted

    def _own_parts(self, own: Collection[str]) -> tuple[bool, dict[str, str | None]]:
        """Return whether the program is a target, and which of its functions are.

        `own` are the names of the program. All other targets are added.
        """
        whole_program = ANY in own
        parts: dict[str, str | None] = {}
        for given in self.names:
            path, _, function = given.partition(IN_FILE)
            if {path, real_path(path)}.isdisjoint(own):
                self._add(given)
            elif function:
                parts[given] = function
            else:
                whole_program = True
        return whole_program, parts

    def end(self) -> None:
        """Stop watching imports."""
        self._import_hook.stop()

    def _add(self, given: str) -> None:
        try:
            self._targets.append(target_of(given))
        except NotFoundError as error:
            self._fail(given, str(error), later=os.path.exists(given))

    def _fail(self, name: str, reason: str, *, later: bool) -> None:
        """Record why `name` is not profiled; `later` if it may be imported later."""
        failures = self._later if later and self._later is not None else self._failures
        failures[name] = reason

    def _part_of_program(self, target: Target) -> str | None:
        """Return the part of the program that is `target`: "" for all, None if none."""
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
        """Call an action that imports; record any exception as a failure of `name`."""
        try:
            action(what)
        except NotFoundError as error:
            self._fail(name, str(error), later=False)
        except (Exception, SystemExit) as error:  # noqa: BLE001
            self._fail(name, f"{type(error).__name__}: {error}", later=True)

    def _import(self, target: Target) -> None:
        module, path = locate(target.name)
        found = self._watch(attribute(module, path))
        if path and not found and not extension_file(module.__name__):
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

    # -- as the program imports -------------------------------------------------

    def _follow_imports(
        self, code: CodeType, package: str, *, whole_program: bool
    ) -> None:
        """Watch targets in the program's own imports, once these are imported."""
        self._imports = self._imports and whole_program
        for each in imports_in(code, package):
            if self._is_wanted(each):
                self._wanted.setdefault(each.module, []).append(each)
                if each.name not in {"", ALL}:  # which may also be a module
                    inner = Import(each.dotted)
                    self._wanted.setdefault(inner.module, []).append(inner)
        for name in list(self._wanted):
            self._import_hook.expect(name)

    def _is_wanted(self, each: Import) -> bool:
        dotted = each.module if each.name == ALL else each.dotted
        return self._imports or any(
            target.covers(each.dotted, imported=False) or any(target.below(dotted))
            for target in self._targets
        )

    def _imported(self, name: str) -> None:
        """Watch the targets in a module that has just been imported."""
        wanted = self._wanted.pop(name, [])
        for package, lazy in list(self._lazy.items()):
            wanted += lazy if name.startswith(f"{package}.") else []
        try:
            for each in wanted:
                self._take(each, sys.modules.get(name))
        except Exception as error:  # noqa: BLE001  # the import must not fail
            self._complain(f"cannot look into {name!r}: {error}")
        if wanted and self._after_import:
            self._after_import()

    def _take(self, each: Import, module: object) -> None:
        names = [each.name] if each.name != ALL else _public(module)
        for name in names:
            item = attributes(module).get(name) if name else module
            if item is None:
                self._expect_later(each, name, module)
                continue
            dotted = f"{each.module}.{name}" if name else each.module
            if name and is_module(item) and dotted in sys.modules:
                continue  # which is expected by its own name
            for target in self._targets:
                for path in target.below(dotted):
                    self._watch(_inside(item, path))
            covered = (t.covers(dotted, imported=True) for t in self._targets)
            if self._imports or any(covered):
                self._watch(item)

    def _expect_later(self, each: Import, name: str, module: object) -> None:
        """Look for a name from a package's ``__getattr__`` in the modules below it."""
        lazy = self._lazy.get(each.module, [])
        is_lazy = "__getattr__" in attributes(module) and each.name == name
        if is_lazy and each not in lazy:
            self._lazy[each.module] = [*lazy, each]
            self._import_hook.expect_all_in(each.module)


def is_part(name: str, part: str | None) -> bool:
    """Return whether the function `name` is the `part` of a module, or in it.

    `part` may name a function inside another one with or without ``<locals>``.
    """
    if not part:
        return False
    inside = name.startswith(f"{part}.") and "<locals>" not in name
    return inside or part in {name, name.replace(".<locals>", "")}


def _public(module: object) -> list[str]:
    names = attributes(module)
    every = names.get("__all__")
    if isinstance(every, (list, tuple)):
        return [name for name in every if isinstance(name, str)]
    return [name for name in names if not name.startswith("_")]


def _inside(item: object, path: list[str]) -> object:
    """Return the attribute of `item` at `path`; None for a module or if missing."""
    for part in path:
        try:
            item = attribute(item, [part])
        except NotFoundError:
            return None
        if is_module(item):
            return None
    return item
