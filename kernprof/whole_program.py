"""The whole of a program, profiled where it does not say itself what to profile.

Its functions are found as they are first called. Once the program decorates one,
or has a profiler of its own, it is as if nobody had looked: what it asked for is
all that is reported, as under line_profiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernprof import messages
from kernprof.options import COMMAND, MODULE, STDIN
from kernprof.output_file import current_folder
from kernprof.project import own_places
from kernprof.recorders import LineRecorder
from kernprof.selection import (
    FunctionFilter,
    decorates,
    may_decorate,
    names_profiler,
    patterns,
)
from lineprof.bytecode.definitions import functions_in
from lineprof.recording import core

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import CodeType
    from typing import Protocol

    from kernprof.options import Plan
    from kernprof.program import Program
    from kernprof.recorders import Recorder
    from lineprof.model.profile import Profile
    from lineprof.recording.profiler import LineProfiler

    class Watcher(Protocol):
        """Learns what the program is just before it runs, and when it is over."""

        def begin(self, code: CodeType, module: str = "") -> None:
            """See to it that what was asked for is profiled."""

        def end(self) -> None:
            """Leave nothing behind."""


# What -p names, and all that a program defines that is no file, gets profiled.


class DefinedFunctions:
    """Every function that a program defines, as if it were decorated."""

    def __init__(self, profiler: LineProfiler) -> None:
        """Have `profiler` count them."""
        self._profiler = profiler

    def begin(self, code: CodeType, module: str = "") -> None:  # noqa: ARG002
        """Watch what `code` defines."""
        for _, function in functions_in(code):
            self._profiler.watch(function)

    def end(self) -> None:
        """Have nothing to undo."""


def named_targets(plan: Plan, program: Program, profiler: LineProfiler) -> Watcher:
    """Return what watches what -p names.

    A program from the command line or from standard input is always profiled
    as a whole, as under line_profiler.
    """
    no_file = plan.kind in {COMMAND, STDIN}
    if not plan.prof_mod and not plan.prof_imports:
        return DefinedFunctions(profiler)
    from lineprof.autoprofile.autoprofile import ANY, ProfileTargets  # noqa: PLC0415  # rare

    own_names = {ANY} if no_file else {plan.target, program.argv0}
    return ProfileTargets(
        profiler,
        plan.prof_mod,
        own_names=() if plan.kind == MODULE else own_names,
        preimports=plan.preimports,
        imports=plan.prof_imports,
        complain=messages.print_error,
    )


# Who sees to it that what is not decorated gets profiled, as a plan asks for it.


def watchers(plan: Plan, program: Program, recorder: Recorder) -> list[Watcher]:
    """Return what sees to it that `recorder` counts what `plan` asks for."""
    if not isinstance(recorder, LineRecorder):
        return []
    found: list[Watcher] = []
    builtin: LineProfiler = recorder.builtin  # type: ignore[assignment]
    whole = plan.whole
    if whole is None:  # -p '' takes back what a file of configuration says
        whole = not plan.prof_mod and "prof_mod" not in plan.given
    if plan.prof_mod or (plan.kind in {COMMAND, STDIN} and not whole):
        found.append(named_targets(plan, program, builtin))
    if whole:
        finds = builtin if plan.whole else recorder.new_profiler()
        recorder.whole = WholeProgram(plan, program, finds, builtin)
        found.append(recorder.whole)
    return found


_CHOOSE = "--include, --exclude, --all and -p choose others"
_CHOOSING = ("all", "include", "exclude")


class WholeProgram:
    """The functions of one program, found as it runs."""

    def __init__(
        self,
        plan: Plan,
        program: Program,
        finds: LineProfiler,
        builtin: LineProfiler,
    ) -> None:
        """Have `finds` count what `plan` chooses; `builtin` is the program's.

        They may be the same: then it goes on whatever the program does.
        """
        from lineprof.bytecode.instructions import prepare  # noqa: PLC0415

        prepare()  # what it imports, not while the program runs

        if plan.kind in {COMMAND, STDIN}:
            import lineprof.bytecode.definitions  # noqa: F401, PLC0415  # nor this
        self._plan = plan
        self._program = program
        folder = current_folder()
        self._choice = FunctionFilter(
            everything=plan.all,
            include=patterns(plan.include, folder),
            exclude=patterns(plan.exclude, folder),
        )
        self._builtin = builtin
        self._found: LineProfiler | None = finds
        self._forced = finds is builtin
        self._code: CodeType | None = None  # of a program without a file
        self._open = False
        self._has_own = False  # a profiler that kernprof does not read

    @property
    def profiler(self) -> LineProfiler:
        """What counts: the program's own profiler, if the program uses that."""
        return (self._open and self._found) or self._builtin

    @property
    def is_open(self) -> bool:
        """Whether the program's functions are counted, asked for or not."""
        return self._open

    def begin(self, code: CodeType, module: str = "") -> None:
        """Count from the first line of `code` on, which is about to run."""
        no_file = self._plan.kind in {COMMAND, STDIN}
        self._code = code if no_file else None
        decorated = may_decorate(code) if no_file else decorates(code)
        decorated = decorated or bool(self._builtin.functions)  # in a setup file
        self._open = self._forced or not decorated
        if not self._open:
            self._found = None
            self._watch_defined()
            return
        places = own_places(self._plan, self._program, code.co_filename, module)
        self._choice.begin(code, places, module, has_file=not no_file)
        if not self._forced:
            core.on_first_use.append(self._used)
        self.profiler.discover(self._decide)

    def stop(self) -> None:
        """Look for no more functions; what is found goes on counting."""
        if self._used in core.on_first_use:
            core.on_first_use.remove(self._used)
        if self._found is not None:
            self._found.discover(None)

    def end(self) -> None:
        """Leave nothing behind."""
        self.stop()
        self._found = self._code = None

    def _decide(self, code: CodeType) -> bool | None:
        wanted = self._choice(code)
        if wanted and not self._forced and names_profiler(code):
            self._has_own = True
            self._close()  # but let go of nothing: the core is about to go on
            return None
        return wanted

    def _used(self, profiler: object) -> None:
        """Be told, by the program's thread, that it uses a profiler."""
        if profiler is self._found:
            return
        self._has_own = profiler is not self._builtin
        self._close()
        self._found = None  # with all that it counted

    def _close(self) -> None:
        """Report what the program decorates, from now on."""
        self._open = False
        self.stop()
        self._watch_defined()

    def _watch_defined(self) -> None:
        """Watch what a program without a file defines: that is always profiled."""
        code, self._code = self._code, None
        if code is None:
            return
        from lineprof.bytecode.definitions import functions_in  # noqa: PLC0415  # rare

        for _, function in functions_in(code):
            self._builtin.watch(function)

    # -- at the end ---------------------------------------------------------------

    def said(self, stats: Profile) -> str:
        """Return the line that tells of the choice that was made, "" for none."""
        if not self._open:
            return self._said_of_others(stats)
        found = [one for one in stats.functions if one.thread_lines or one.calls]
        files = {one.file for one in found}
        what = "none of the program's own functions ran"
        if found:
            what = f"profiled {_count(found, 'function')} in {_count(files, 'file')}"
        why = "" if self._forced else "no @profile was found: "
        return f"{why}{what}; {self._said_of_unmet() or _CHOOSE}"

    def _said_of_unmet(self) -> str:
        """Return a line on the first pattern that named nothing that ran, "" if none.

        One from a file of configuration may be for other programs.
        """
        for flag in _CHOOSING:
            words = getattr(self._plan, flag)
            if flag == "all" or flag not in self._plan.given:
                continue
            for word in filter(self._choice.is_unmet, words):
                said = f"--{flag} {word} named nothing that ran"
                if word.endswith(".py") and not word.startswith(("/", "**")):
                    said += f"; in all folders it is '**/{word}'"
                return said
        return ""

    def _said_of_others(self, stats: Profile) -> str:
        if self._has_own and stats.why_empty:
            return (
                "the profile is empty: the program has a LineProfiler of its own;"
                " --whole profiles all that the program runs"
            )
        chosen = [flag for flag in _CHOOSING if flag in self._plan.given]
        if not chosen:
            return ""
        flags = " ".join(f"--{flag}" for flag in chosen)
        return (
            f"the program says itself what to profile: {flags} had no say;"
            " with --whole it has"
        )


def _count(things: Collection[object], name: str) -> str:
    return f"{len(things)} {name}{'s' * (len(things) != 1)}"
