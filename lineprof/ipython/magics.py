"""The magics ``%lprun`` and ``%%lprun_all``, as ``%load_ext lineprof`` gives them."""

from __future__ import annotations

import asyncio
import builtins
import io
from time import perf_counter
from typing import TYPE_CHECKING

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.page import page
from IPython.display import display

from lineprof.config import ConfigSource
from lineprof.console.output import print_error
from lineprof.errors import LineprofError, printable
from lineprof.files import write_file
from lineprof.ipython.cell import (
    add_await,
    compile_cell,
    compile_text,
    function_of,
    is_coroutine,
)
from lineprof.ipython.options import LPRUN, LPRUN_ALL, OptionError, parse
from lineprof.ipython.profiler import NotebookProfiler, restore_lines
from lineprof.recording.core import new_memory_recorder
from lineprof.recording.profiler import begin_memory, end_memory
from lineprof.report.notebook import html_of

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from types import CodeType, TracebackType

    from IPython.core.interactiveshell import InteractiveShell

    from lineprof.ipython.options import Magic
    from lineprof.line_stats import LineStats
    from lineprof.recording.host_memory import MemoryRecorder
    from lineprof.recording.profiler import LineProfiler

    Result = NotebookProfiler | Awaitable[object] | None

_NAMES = (("line", "lprun"), ("cell", "lprun_all"))


@magics_class
class LineProfilerMagics(Magics):  # type: ignore[misc]  # IPython is untyped
    """Magics that count and time lines, with line_profiler's options."""

    @line_magic  # type: ignore[untyped-decorator]
    def lprun(self, line: str = "") -> Result:
        """Run a statement and show the time of each line of some functions.

        Usage::

            %lprun -f FUNCTION [-f FUNCTION]... [-m MODULE]... STATEMENT

        ``-f FUNCTION``: a function, method or class to profile, as an
        expression; blanks in it have to stand in brackets or quotes.

        ``-m MODULE``: a module; all functions and methods in it are profiled.

        ``-D FILE``: write the profile to a file. ``lineprof view FILE`` shows it.

        ``-T FILE``: write the tables to a file, as text.

        ``-r``: return the profiler. ``p = %lprun -r ...`` keeps it.

        ``-s``, ``-z``: leave out functions that never ran.

        ``-u UNIT``: the unit of the times, in seconds (default: 1e-9).

        ``--memory``: also record the memory that each line allocates;
        ``--memory-sample SIZE`` counts a block about every so many bytes.

        While the statement runs, ``profile`` is the profiler, as it is under
        ``kernprof -l``: functions that it decorates are also counted. The statement
        may await.
        """
        __tracebackhide__ = True  # IPython leaves the frame out
        options = _parsed(line, LPRUN)
        profiler = self._profiler(options)
        changed, notes = restore_lines(profiler.functions)
        if changed:
            end_memory(profiler)
            profiler = self._profiler(options)
        profiler.notes = tuple(notes)
        profiler.keep_sources()
        text = self.shell.transform_cell(options.statement)
        code = compile_text(self.shell, text, "<string>")
        return self._run(code, profiler, options)

    @cell_magic  # type: ignore[untyped-decorator]
    def lprun_all(self, line: str = "", cell: str = "") -> Result:
        """Run a cell and show the time of each of its lines.

        Usage::

            %%lprun_all [OPTIONS]

        The lines of the cell itself make the first table; each function that
        the cell defines, at any depth, has one of its own.

        ``-p``: only the lines of the cell itself, no functions.

        ``-D FILE``: write the profile to a file. ``lineprof view FILE`` shows it.

        ``-T FILE``: write the tables to a file, as text.

        ``-r``: return the profiler.

        ``-z``: leave out functions that never ran.

        ``-u UNIT``: the unit of the times, in seconds (default: 1e-9).

        ``--memory``: also record the memory that each line allocates;
        ``--memory-sample SIZE`` counts a block about every so many bytes.

        ``-t``: keep how long the cell ran, in seconds, in the variable
        ``_total_time_taken``.

        The cell may have magics and shell commands in it, and may await.
        """
        __tracebackhide__ = True  # IPython leaves the frame out
        options = _parsed(line, LPRUN_ALL)
        found = compile_cell(self.shell, cell)
        codes = [found.code] if options.top_level else [found.code, *found.functions]
        profiler = NotebookProfiler(memory=_memory_of(options))
        for code in codes:
            profiler.add_function(function_of(code))
        profiler.keep_sources([found.file])
        return self._run(found.code, profiler, options)

    def _profiler(self, options: Magic) -> NotebookProfiler:
        """Return a profiler with all functions that were named."""
        functions = map(self._function, options.functions)
        profiler = NotebookProfiler(*functions, memory=_memory_of(options))
        for name in options.modules:
            _add_module(profiler, name)
        return profiler

    def _function(self, name: str) -> object:
        """Return the value of the expression `name`; raises UsageError if it fails."""
        try:
            return eval(name, self.shell.user_global_ns, self.shell.user_ns)  # noqa: S307
        except Exception as error:  # noqa: BLE001  # the user's expression
            raise _not_found("function", name, error) from None

    def _run(
        self, code: CodeType, profiler: NotebookProfiler, options: Magic
    ) -> Result:
        """Run the code, show the results, and return the magic's value."""
        __tracebackhide__ = True  # IPython leaves the frame out
        run = Run(profiler)
        names = self.shell.user_global_ns, self.shell.user_ns

        async def finish() -> Result:
            __tracebackhide__ = True  # IPython leaves the frame out
            with run:
                if is_coroutine(code):
                    await eval(code, *names)  # noqa: S307
                else:
                    exec(code, *names)  # noqa: S102
            return self._end(run, profiler, options)

        if options.awaited:
            return finish()
        if not is_coroutine(code):
            with run:
                exec(code, *names)  # noqa: S102
            return self._end(run, profiler, options)
        if _loop_is_running():
            raise UsageError("code that awaits has to be awaited here; see %autoawait")
        return self.shell.loop_runner(finish())  # type: ignore[no-any-return]

    def _end(self, run: Run, profiler: NotebookProfiler, options: Magic) -> Result:
        if options.keep_time:
            self.shell.user_ns["_total_time_taken"] = run.seconds
        show(self.shell, profiler, options, run.message)
        return profiler if options.return_profiler else None


def _memory_of(options: Magic) -> MemoryRecorder | None:
    """Return what measures memory, if that is wanted; UsageError."""
    try:
        return new_memory_recorder(options.memory, options.memory_sample)
    except LineprofError as error:
        raise UsageError(str(error)) from None


def _parsed(line: str, known: str) -> Magic:
    try:
        return parse(line, known)
    except OptionError as error:
        raise UsageError(str(error)) from None


def _add_module(profiler: NotebookProfiler, name: str) -> None:
    """Register all functions of a module; raises UsageError if its import fails."""
    try:
        profiler.add_module(__import__(name, fromlist=[""]))
    except Exception as error:  # noqa: BLE001  # the user's module
        raise _not_found("module", name, error) from None


def _not_found(what: str, name: str, error: Exception) -> UsageError:
    return UsageError(f"Could not find {what} {name}.\n{type(error).__name__}: {error}")


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def load(shell: InteractiveShell) -> None:
    """Register the magics with `shell`, once."""
    unload(shell)
    shell.register_magics(LineProfilerMagics)
    shell.input_transformers_post.append(add_await)


def unload(shell: InteractiveShell) -> None:
    """Remove the magics from `shell`."""
    for kind, name in _NAMES:
        shell.magics_manager.magics[kind].pop(name, None)
    if add_await in shell.input_transformers_post:
        shell.input_transformers_post.remove(add_await)


_ABSENT = object()


class Run:
    """A run of a statement or a cell under a profiler."""

    seconds = 0.0  # duration
    message = ""  # how the code ended; "" if normally

    def __init__(self, profiler: LineProfiler) -> None:
        """Prepare a run under `profiler`."""
        self._profiler = profiler
        self._before: object = _ABSENT

    def __enter__(self) -> None:
        """Count from now on; ``profile`` is the profiler, as under kernprof."""
        self._before = vars(builtins).get("profile", _ABSENT)
        vars(builtins)["profile"] = self._profiler
        begin_memory(self._profiler)
        self._profiler.enable_by_count()
        self.seconds = -perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Restore ``profile``; return True if the message tells of `error`.

        SystemExit and KeyboardInterrupt become the message.
        """
        self.seconds += perf_counter()
        end_memory(self._profiler)
        self._profiler.disable_by_count()
        if self._before is _ABSENT:
            vars(builtins).pop("profile", None)
        else:
            vars(builtins)["profile"] = self._before
        if kind is None or not issubclass(kind, (SystemExit, KeyboardInterrupt)):
            return False
        self.message = f"{kind.__name__} exception caught in code being profiled."
        return True


def show(
    shell: InteractiveShell, profiler: NotebookProfiler, options: Magic, message: str
) -> None:
    """Show the tables, and write the files that `options` name.

    `message` says how the code ended, "" if normally. Raises UsageError if a file
    cannot be written.
    """
    stats = profiler.get_stats()
    text = _table(stats, options)
    if getattr(shell, "kernel", None) is None:
        page(text)
    else:
        # The pager's text is transient in a notebook; displayed output is kept in it.
        html = html_of(stats, unit=options.unit, skip_zero=options.skip_zero)
        display({"text/plain": text, "text/html": html}, raw=True)
        profiler.shown_in = shell.execution_count
    try:
        if options.raw_file:
            stats.to_file(options.raw_file)
            _say(f"Profile stats saved to file {options.raw_file!r}.")
        if options.text_file:
            write_file(text.split("\n"), options.text_file)
            _say(f"Profile printout saved to text file {options.text_file!r}.")
    except LineprofError as error:
        raise UsageError(str(error)) from None
    if message:
        _say(message)
    for note in [*profiler.notes, *_notes(stats)]:
        _say(note)
    for refused in ConfigSource.from_config().refused:
        print_error(refused)


def _table(stats: LineStats, options: Magic) -> str:
    """Return the text of line_profiler's table."""
    stream = io.StringIO()
    stats.print(stream, output_unit=options.unit, stripzeros=options.skip_zero)
    return stream.getvalue().rstrip()


def _notes(stats: LineStats) -> list[str]:
    """Return the warnings of the profile."""
    if stats.functions:
        return list(stats.warnings)
    return ["No function was profiled; name some with -f, or a module with -m."]


def _say(text: str) -> None:
    print(f"\n*** {printable(text)}")  # noqa: T201  # as other magics do
