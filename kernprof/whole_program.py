"""Watchers: they find the functions to profile that are not under ``@profile``.

`WholeProgram` finds all functions of a program as they are first called. Once the
program decorates one, or has a profiler of its own, it reports only what the
program asked for, as line_profiler does. `DefinedFunctions` and `NamedTargets`
are for what the program defines without a file, and for what -p names.
"""

from __future__ import annotations

from kernprof.project import (
    Asked,
    ProjectFiles,
    package_files,
    package_of,
    project_files,
    runner_of,
)
from kernprof.run_options import COMMAND, STDIN
from kernprof.selection import FunctionFilter, decorates, may_decorate, names_profiler
from lineprof.files import current_folder, real_path, short_path
from lineprof.patterns import did_you_mean, suggestions
from lineprof.recording import core
from lineprof.recording.extensions import imported_extensions
from lineprof.recording.profiler import begin_memory, extensions_in, memory_recorder_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from types import CodeType
    from typing import TypeAlias

    from kernprof.line_recorder import LineRecorder
    from kernprof.named_targets import NamedTargets
    from kernprof.program import Program
    from kernprof.run_options import RunOptions
    from lineprof.model.profile import Profile
    from lineprof.model.records import FunctionStats
    from lineprof.recording.profiler import LineProfiler

    # Each is told when the program begins and when it is over.
    Watcher: TypeAlias = "DefinedFunctions | Memory | NamedTargets | WholeProgram"


def watchers(
    options: RunOptions, program: Program, recorder: LineRecorder
) -> list[Watcher]:
    """Return the watchers that `options` ask for; they report to `recorder`."""
    found: list[Watcher] = []
    builtin = recorder.builtin
    whole = options.whole
    if whole is None:  # -p '' overrides prof-mod of a configuration file
        whole = not options.prof_mod and "prof_mod" not in options.given
    no_file = options.kind in {COMMAND, STDIN}
    if options.prof_mod or (no_file and not whole and options.prof_imports):
        from kernprof.named_targets import named_targets  # noqa: PLC0415  # rare

        recorder.named = named_targets(options, program, builtin)
        found.append(recorder.named)
    elif no_file and not whole:
        found.append(DefinedFunctions(builtin))
    if whole:
        profiler = builtin if options.whole else recorder.new_profiler()
        recorder.whole = WholeProgram(options, program, profiler, builtin)
        if recorder.named:  # a process has one discovery
            recorder.whole.named, recorder.named.discovers = recorder.named, False
            recorder.named.restart = recorder.whole.discover_again
        found.append(recorder.whole)
    if memory_recorder_of(builtin):
        found.append(Memory(builtin))  # after what the others allocate
    return found


class Memory:
    """The measurement of memory, which begins with the program's first line."""

    def __init__(self, profiler: LineProfiler) -> None:
        """Take the profiler that measures it, if it is asked to."""
        self._profiler = profiler

    def begin_packages(self, module: str) -> None:  # noqa: ARG002
        """Begin, as packages are about to be imported."""
        begin_memory(self._profiler)

    def begin(self, code: CodeType, module: str = "") -> None:  # noqa: ARG002
        """Begin, unless that was done for packages."""
        begin_memory(self._profiler)

    def end(self) -> None:
        """Do nothing: the recorder ends it before the profile is written."""


class DefinedFunctions:
    """Watcher of every function that the program's own code defines."""

    def __init__(self, profiler: LineProfiler) -> None:
        """Let `profiler` record them."""
        self._profiler = profiler

    def begin_packages(self, module: str) -> None:
        """Do nothing: packages are not the program's own code."""

    def begin(self, code: CodeType, module: str = "") -> None:  # noqa: ARG002
        """Profile the functions that `code` defines."""
        _watch_functions_in(code, self._profiler)

    def end(self) -> None:
        """Do nothing: there is nothing to undo."""


def _watch_functions_in(code: CodeType, profiler: LineProfiler) -> None:
    from lineprof.bytecode.definitions import functions_in  # noqa: PLC0415  # rare

    for _, function in functions_in(code):
        profiler.watch(function)


_CHOOSE = "choose with --include, --exclude, --all or -p"
_CHOOSING = ("all", "include", "exclude")


class WholeProgram:
    """Watcher of all functions of one program, found as they are first called."""

    def __init__(
        self,
        options: RunOptions,
        program: Program,
        profiler: LineProfiler,
        builtin: LineProfiler,
    ) -> None:
        """Let `profiler` record the functions that `options` select.

        `builtin` is the profiler of ``@profile``. If both are the same, the whole
        program is profiled even if it uses ``@profile``.
        """
        self._no_file = options.kind in {COMMAND, STDIN}
        if self._no_file:
            import lineprof.bytecode.definitions  # noqa: F401, PLC0415  # now as well
        self._options = options
        self._program = program
        self._filter = FunctionFilter.of(options, current_folder())
        self._builtin = builtin
        self._profiler: LineProfiler | None = profiler
        self._forced = profiler is builtin
        self._code: CodeType | None = None  # of a program without a file
        self._open = False
        self._has_own = False  # a profiler that kernprof does not read
        # Called when `profiler` may be another one from now on.
        self.changed: Callable[[], None] | None = None
        # Asked before a function is recorded: see `LineProfiler.discover`.
        self.pause: Callable[[], int] | None = None
        self._files: ProjectFiles | None = None
        self._runner = ""  # its module, if the program is one
        self.named: NamedTargets | None = None  # the targets of -p, with --whole

    @property
    def profiler(self) -> LineProfiler:
        """The profiler in use: `builtin` if the program uses ``@profile``."""
        return (self._open and self._profiler) or self._builtin

    @property
    def files(self) -> ProjectFiles:
        """The program's own files, once it has begun."""
        return self._files or ProjectFiles()

    @property
    def is_open(self) -> bool:
        """Whether all functions are recorded, asked for or not."""
        return self._open

    def begin_packages(self, module: str) -> None:
        """Record while the packages of `module`, which is to run, are imported."""
        files = package_files(Asked.of(self._options, self._program), module)
        if files is None or (self._builtin.functions and not self._forced):
            return
        self._filter.begin_packages(files)
        self._open = True
        self._discover()

    def begin(self, code: CodeType, module: str = "") -> None:
        """Record from the first line of `code`, which is about to run."""
        self._code = code if self._no_file else None
        decorated = may_decorate(code) if self._no_file else decorates(code)
        decorated = decorated or bool(self._builtin.functions)  # in a setup file
        is_closed = self._profiler is None or self._has_own  # by the packages of `code`
        self._open = self._forced or not (decorated or is_closed)
        if not self._open:
            self._close()
            self._profiler = None
            return
        asked = Asked.of(self._options, self._program)
        self._files = files = project_files(asked, code.co_filename, module)
        self._runner = runner_of(asked, code.co_filename)
        self._filter.begin(
            code, files, module, has_file=not self._no_file, is_own=not self._runner
        )
        self._discover()

    def _discover(self) -> None:
        if self.changed:
            self.changed()
        if not self._forced and self._on_first_use not in core.on_first_use:
            core.on_first_use.append(self._on_first_use)
        self.profiler.discover(self._select, pause=self.pause)

    def discover_again(self) -> None:
        """Ask again about code that was not selected."""
        if self._open:
            self.profiler.discover(self._select, pause=self.pause)

    def stop(self) -> None:
        """Find no more functions; those found are still recorded."""
        if self._on_first_use in core.on_first_use:
            core.on_first_use.remove(self._on_first_use)
        if self._profiler is not None:
            self._profiler.discover(None)

    def end(self) -> None:
        """Find no more functions, and release the profiler and the code."""
        self.stop()
        self._profiler = self._code = None

    def _select(self, code: CodeType) -> bool | None:
        selected = self._filter(code)
        if self.named and not selected:
            named = self.named.select(code)
            return selected if named is None else named
        if selected and not self._forced and names_profiler(code):
            self._has_own = True
            self._close()  # keep the profiler: the core is about to use it
            return None
        return selected

    def _on_first_use(self, profiler: object) -> None:
        """Stop, on the program's thread, because it uses a profiler itself."""
        if profiler is self._profiler:
            return
        self._has_own = profiler is not self._builtin
        self._close()
        self._profiler = None  # with all that it recorded

    def _close(self) -> None:
        """Report from now on only what the program decorates."""
        self._open = False
        if self.changed:
            self.changed()
        self.stop()
        self._watch_defined()

    def _watch_defined(self) -> None:
        """Profile what a program without a file defines, as always."""
        code, self._code = self._code, None
        if code is not None:
            _watch_functions_in(code, self._builtin)

    def extensions(self) -> dict[str, str]:
        """Return the program's own extension modules, and their files."""
        if not self._open:
            return {}
        return {
            name: file
            for name, file in imported_extensions().items()
            if self.files.has_extension(real_path(file))
        }

    def summary(self, profile: Profile) -> str:
        """Return one line on which functions were recorded and why, or ""."""
        if not self._open:
            return self._summary_if_closed(profile)
        functions = [one for one in profile.functions if one.thread_lines or one.calls]
        files = {one.file for one in functions}
        recorded = "none of the program's own functions ran"
        if functions:
            counts = (_count(functions, "function"), _count(files, "file"))
            recorded = f"profiled {' in '.join(counts)}"
        elif not all(map(self._filter.is_unmatched, self._options.exclude)):
            recorded = "--exclude has left out all that ran of the program"
        choose = _CHOOSE
        if self._runner and not (self._options.all or self._options.include):
            recorded += f", without {self._runner}'s own" if functions else ""
            package = package_of(self._runner)
            choose = choose.replace("--include", f"--include {package}", 1)
        why = "" if self._forced else "no @profile was found"
        if why and extensions_in(self._builtin):
            why = "@profile is only on compiled code"
        if why:
            recorded = f"{recorded}, as {why}" if functions else f"{why}: {recorded}"
        return f"{recorded}; {self._unmatched_pattern(functions) or choose}"

    def _unmatched_pattern(self, ran: Iterable[FunctionStats]) -> str:
        """Return a line on the first pattern that matched no code that `ran`, or "".

        Only for patterns of the command line: those of a configuration file may be
        for other programs.
        """
        for flag in ("include", "exclude"):
            if flag not in self._options.given:
                continue
            words: tuple[str, ...] = getattr(self._options, flag)
            for word in filter(self._filter.is_unmatched, words):
                text = f"--{flag} {word} named nothing that ran"
                if word.endswith(".py") and not word.startswith(("/", "**")):
                    text += f"; in all folders it is '**/{word}'"
                    return text
                named = [(short_path(one.file), one.name) for one in ran]
                question = did_you_mean(suggestions(word, named))
                return "; ".join(filter(None, (text, question)))
        return ""

    def _summary_if_closed(self, profile: Profile) -> str:
        if self._has_own and profile.why_empty:
            return (
                "the profile is empty: the program has a LineProfiler of its own;"
                " --whole profiles all that the program runs"
            )
        chosen = [flag for flag in _CHOOSING if flag in self._options.given]
        if not chosen:
            return ""
        flags = " ".join(f"--{flag}" for flag in chosen)
        verb = "was" if len(chosen) == 1 else "were"
        return f"{flags} {verb} ignored because the program uses @profile; add --whole"


def _count(things: Collection[object], name: str) -> str:
    return f"{len(things)} {name}{'s' * (len(things) != 1)}"
