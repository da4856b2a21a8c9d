"""Profiling of the functions that -p names, whenever they are imported.

A target that can be imported before the program runs is imported then, and the
functions that are its attributes are registered. All others that are written in its
file are found by their names when they are first called: those that a task or another
object holds, those that a reload makes, those of a target that is imported later, as
by an application of Django, and those that -p names by a pattern or by a line.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kernprof import messages
from kernprof.run_options import COMMAND, MODULE, STDIN
from kernprof.selection import FunctionFilter
from lineprof.autoprofile.autoprofile import ANY, ProfileTargets, is_part
from lineprof.autoprofile.targets import IN_FILE, is_pattern, names_of_path, split_names
from lineprof.bytecode.definitions import is_def
from lineprof.files import current_folder, real_path
from lineprof.patterns import patterns
from lineprof.recording.extensions import imported_extensions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import CodeType

    from kernprof.program import Program
    from kernprof.run_options import RunOptions
    from lineprof.recording.profiler import LineProfiler

_INIT = ".__init__"  # end of the name of a package without its modules


def named_targets(
    options: RunOptions, program: Program, profiler: LineProfiler
) -> NamedTargets:
    """Return the watcher of the targets of -p.

    All functions of a program from the command line or from standard input are
    profiled, as under line_profiler.
    """
    own_names = {options.target, program.argv0}
    if options.kind in {COMMAND, STDIN}:
        own_names = {ANY}
    elif options.kind == MODULE:
        own_names = set()
    return NamedTargets(options, profiler, own_names)


class NamedTargets:
    """Watcher of the targets of -p."""

    def __init__(
        self, options: RunOptions, profiler: LineProfiler, own_names: Collection[str]
    ) -> None:
        """Let `profiler` record them; `own_names` are names of the program itself."""
        self._options = options
        self._profiler = profiler
        self._later: dict[str, str] = {}  # why a target was not imported early
        names = split_names(options.prof_mod)
        self._patterns = list(filter(is_pattern, names))
        self._filter = FunctionFilter(
            include=patterns(self._patterns, current_folder()), included_only=True
        )
        self._targets = ProfileTargets(
            profiler,
            [name for name in names if name not in self._patterns],
            own_names=own_names,
            preimports=options.preimports,
            imports=options.prof_imports,
            complain=messages.print_error,
            later=self._later,
            imported=self._imported,
        )
        self._targets.lists_all = options.verbosity > 0
        self._expected: dict[str, str] = {}  # real paths and dotted names to targets
        self._by_pattern = False  # whether patterns count now
        self._found: set[str] = set()  # targets of which a function was called
        self._files: dict[str, tuple[str, list[str]]] = {}
        self._real_folders: dict[str, str] = {}
        self.discovers = True  # False: another watcher calls `select`
        self.restart: Callable[[], object] = self._discover
        self._has_refused = False  # code of a module that is being imported

    def begin_packages(self, module: str) -> None:  # noqa: ARG002
        """Find functions that run while packages are imported."""
        self._expect(self._targets.names)

    def begin_in_child(self, folder: str) -> None:
        """Find functions of all targets when they are called; import none of them.

        Patterns are relative to `folder`, the current one of the first process.
        """
        self.discovers = False
        found = patterns(self._patterns, folder)
        self._filter = FunctionFilter(include=found, included_only=True)
        self._expect(self._targets.names, by_pattern=bool(self._patterns))

    def begin(self, code: CodeType, module: str = "") -> None:
        """Register what can be imported now, and expect the rest."""
        self._expect(())  # a call on import does not count if we import
        if self._patterns:
            has_file = self._options.kind not in {COMMAND, STDIN}
            self._filter.begin(code, frozenset(), module, has_file=has_file)
        self._targets.begin(code, module)
        targets = {**self._later, **dict.fromkeys(self._targets.in_other_files, "")}
        self._expect(targets, by_pattern=bool(self._patterns))

    def end(self) -> None:
        """Expect no targets any more."""
        self._expect(())
        self._targets.end()

    def _expect(self, targets: Collection[str], *, by_pattern: bool = False) -> None:
        had = bool(self._expected) or self._by_pattern
        self._expected, self._by_pattern = dict(map(_by_name, targets)), by_pattern
        if self.discovers and (had or self._expects):
            self._discover()

    @property
    def _expects(self) -> bool:
        return bool(self._expected) or self._by_pattern

    def _discover(self) -> None:
        self._profiler.discover(self.select if self._expects else None)

    def _imported(self) -> None:
        """Offer code again that did not count during the import of its module."""
        if self._has_refused:
            self._has_refused = False
            self.restart()

    def select(self, code: CodeType) -> bool | None:
        """Return whether to profile `code`; None if no code of its file."""
        named = self._select_by_name(code) if self._expected else None
        if named or not self._by_pattern:
            return named
        if not is_def(code):
            return False
        matched = self._filter(code)
        return named if matched is None else matched

    def _select_by_name(self, code: CodeType) -> bool | None:
        try:
            path, modules = self._file(code.co_filename)
            if not path:
                return None
            if not is_def(code):
                return False
            if any(map(self._targets.will_watch, modules)):
                self._has_refused = True
                return False  # calls of the program's own imports count after these
            name = code.co_qualname
            found = [
                target
                for given, target in self._expected.items()
                if _has(given, path, modules, name)
            ]
        except Exception:  # noqa: BLE001  # python may be half torn down by now
            return None
        self._found.update(found)
        return bool(found)

    def _file(self, name: str) -> tuple[str, list[str]]:
        """Return the real path and the modules of a file that may have a target."""
        known = self._files.get(name)
        if known is None:
            path = "" if name.startswith("<") else self._filter.paths(name)[-1]
            modules: list[str] = []
            if any(_is_near(given, path) for given in self._expected):
                names = names_of_path(path, self._real_folder)
                modules = [one.removesuffix(_INIT) for one in names]
            if not any(_may_have(given, path, modules) for given in self._expected):
                path = ""
            known = self._files[name] = (path, modules)
        return known

    def _real_folder(self, folder: str) -> str:
        """Return the real path of an entry of `sys.path`."""
        known = self._real_folders.get(folder)
        if known is None:
            known = real_path(folder)
            if os.path.isabs(folder):
                self._real_folders[folder] = known
        return known

    def extensions(self) -> dict[str, str]:
        """Return the extension modules that targets name, and their files."""
        given = [_by_name(name)[0] for name in self._targets.names]
        around = {_imported_part(name) for name in given}
        return {
            module: file
            for module, file in imported_extensions().items()
            if module in around
            or any(_has(name, real_path(file), [module], "") for name in given)
        }

    def missing(self) -> list[str]:
        """Return a line on the targets that could not be imported, early or late."""
        failed = {
            given: self._targets.with_hint(reason, given)
            if reason.endswith(f"No module named {given.partition('.')[0]!r}")
            else reason
            for given, reason in self._later.items()
            if reason and not self._came(given)
        }
        return [self._targets.failures_text(failed)] if failed else []

    def summary(self, *, is_empty: bool, why: str) -> list[str]:
        """Return lines on targets that never came, and on an empty profile.

        `why` says why the profile is empty if that is known, else it is "".
        """
        flag = "-p"
        if "prof_mod" not in self._options.given:
            flag = f"prof-mod of {self._options.config}"
        lines = [
            f"{flag} {given} named nothing that was imported"
            for given, reason in self._later.items()
            if not reason and not self._came(given)
        ]
        for word in filter(self._filter.is_unmatched, self._patterns):
            reason = f"{flag} {word} named nothing that ran"
            lines.append(self._targets.with_hint(reason, word))
        if is_empty:
            lines.append(
                f"the profile is empty: {why or f'nothing that {flag} names ran'};"
                f" without {flag} the whole program is profiled"
            )
        return lines

    def _came(self, given: str) -> bool:
        return given in self._found or given in sys.modules


def _by_name(target: str) -> tuple[str, str]:
    path, separator, function = target.partition(IN_FILE)
    return (
        f"{real_path(path)}{separator}{function}" if os.sep in path else target,
        target,
    )


def _imported_part(name: str) -> str:
    """Return the first parts of a dotted name that are an imported module, or one."""
    while name not in sys.modules and "." in name:
        name = name.rpartition(".")[0]
    return name


def _has(given: str, path: str, modules: list[str], function: str) -> bool:
    """Return whether a function of that file is the target `given`, or in it.

    A function has no others in it: those of its own are its locals.
    """
    if os.sep in given:
        file, _, part = given.partition(IN_FILE)
        if part:
            return path == file and is_part(function, part)
        return path == given or path.startswith(f"{given}{os.sep}")
    if given.endswith(_INIT):
        return given.removesuffix(_INIT) in modules
    for module in modules:
        if f"{module}.".startswith(f"{given}."):
            return True
        if given.startswith(f"{module}.") and is_part(
            function, given[len(module) + 1 :]
        ):
            return True
    return False


def _is_near(given: str, path: str) -> bool:
    """Return whether the names of a file as a module have to be known for a target."""
    if os.sep in given:
        return False
    place = os.path.splitext(path)[0] + os.sep
    return f"{os.sep}{given.partition('.')[0]}{os.sep}" in place


def _may_have(given: str, path: str, modules: list[str]) -> bool:
    """Return whether any function of that file may be the target `given`."""
    if given.partition(IN_FILE)[0] == path:
        return True
    return _has(given, path, modules, "") or any(
        given.startswith(f"{module}.") for module in modules
    )
