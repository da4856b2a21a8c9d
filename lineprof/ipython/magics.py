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

from lineprof.errors import LineprofError
from lineprof.files import write_file
from lineprof.ipython.cell import (
    LPRUN,
    LPRUN_ALL,
    OptionError,
    add_await,
    compile_cell,
    compile_text,
    function_of,
    is_coroutine,
    parse,
)
from lineprof.ipython.profiler import NotebookProfiler, put_right
from lineprof.report.html import html_of

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from types import CodeType, TracebackType
    from typing import Any

    from IPython.core.interactiveshell import InteractiveShell

    from lineprof.ipython.cell import Magic
    from lineprof.line_stats import LineStats
    from lineprof.recording.profiler import LineProfiler

    Result = NotebookProfiler | Awaitable[object] | None

    Names = dict[str, Any]

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

        While the statement runs, ``profile`` is the profiler, as it is under
        ``kernprof -l``: what it decorates counts, too. A statement may await.
        """
        __tracebackhide__ = True  # IPython leaves the frame out
        asked = _parsed(line, LPRUN)
        profiler = self._profiler(asked)
        changed, notes = put_right(profiler.functions)
        if changed:
            profiler = self._profiler(asked)
        profiler.notes = tuple(notes)
        profiler.keep_sources()
        text = self.shell.transform_cell(asked.statement)
        code = compile_text(self.shell, text, "<string>")
        return self._run(code, profiler, asked)

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

        ``-t``: keep how long the cell ran, in seconds, in the variable
        ``_total_time_taken``.

        The cell may have magics and shell commands in it, and may await.
        """
        __tracebackhide__ = True  # IPython leaves the frame out
        asked = _parsed(line, LPRUN_ALL)
        found = compile_cell(self.shell, cell)
        codes = [found.code] if asked.top_level else [found.code, *found.functions]
        profiler = NotebookProfiler()
        for code in codes:
            profiler.add_function(function_of(code))
        profiler.keep_sources([found.file])
        return self._run(found.code, profiler, asked)

    def _profiler(self, asked: Magic) -> NotebookProfiler:
        """Return a profiler with all functions that were named."""
        profiler = NotebookProfiler(*map(self._function, asked.functions))
        for name in asked.modules:
            _add_module(profiler, name)
        return profiler

    def _function(self, name: str) -> object:
        """Return what the expression `name` is; UsageError if it is nothing."""
        try:
            return eval(name, self.shell.user_global_ns, self.shell.user_ns)  # noqa: S307
        except Exception as error:  # noqa: BLE001  # the user's expression
            raise _not_found("function", name, error) from None

    def _run(self, code: CodeType, profiler: NotebookProfiler, asked: Magic) -> Result:
        """Run the code, show what came of it, and return what was asked for."""
        __tracebackhide__ = True  # IPython leaves the frame out
        run = Run(profiler)
        names = self.shell.user_global_ns, self.shell.user_ns

        async def finish() -> Result:
            __tracebackhide__ = True  # IPython leaves the frame out
            if is_coroutine(code):
                await run.await_(code, *names)
            else:
                run.execute(code, *names)
            return self._end(run, profiler, asked)

        if asked.awaited:
            return finish()
        if not is_coroutine(code):
            run.execute(code, *names)
            return self._end(run, profiler, asked)
        if _loop_is_running():
            raise UsageError("code that awaits has to be awaited here; see %autoawait")
        return self.shell.loop_runner(finish())  # type: ignore[no-any-return]

    def _end(self, run: Run, profiler: NotebookProfiler, asked: Magic) -> Result:
        if asked.keep_time:
            self.shell.user_ns["_total_time_taken"] = run.seconds
        show(self.shell, profiler, asked, run.message)
        return profiler if asked.give else None


def _parsed(line: str, known: str) -> Magic:
    try:
        return parse(line, known)
    except OptionError as error:
        raise UsageError(str(error)) from None


def _add_module(profiler: NotebookProfiler, name: str) -> None:
    """Register all functions of a module; UsageError if that cannot be done."""
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
    """Take the magics from `shell`."""
    for kind, name in _NAMES:
        shell.magics_manager.magics[kind].pop(name, None)
    if add_await in shell.input_transformers_post:
        shell.input_transformers_post.remove(add_await)


# Running a statement or a cell under a profiler.


_ABSENT = object()


class Run:
    """What a user's code did under a profiler."""

    seconds = 0.0  # that it took
    message = ""  # how it ended; "" if it came to its end

    def __init__(self, profiler: LineProfiler) -> None:
        """Have run nothing yet."""
        self._profiler = profiler
        self._before: object = _ABSENT

    def execute(self, code: CodeType, global_names: Names, names: Names) -> None:
        """Run `code`; of what it raises, SystemExit and KeyboardInterrupt end here."""
        __tracebackhide__ = True  # IPython leaves the frame out
        with self:
            exec(code, global_names, names)  # noqa: S102

    async def await_(self, code: CodeType, global_names: Names, names: Names) -> None:
        """Run the `code` of a coroutine, see `execute`."""
        __tracebackhide__ = True  # IPython leaves the frame out
        with self:
            await eval(code, global_names, names)  # noqa: S307

    def __enter__(self) -> None:
        """Count from now on; ``profile`` is the profiler, as under kernprof."""
        self._before = vars(builtins).get("profile", _ABSENT)
        vars(builtins)["profile"] = self._profiler
        self._profiler.enable_by_count()
        self.seconds = -perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Leave all as it was; tell whether `error` is dealt with."""
        self.seconds += perf_counter()
        self._profiler.disable_by_count()
        if self._before is _ABSENT:
            vars(builtins).pop("profile", None)
        else:
            vars(builtins)["profile"] = self._before
        if kind is None or not issubclass(kind, (SystemExit, KeyboardInterrupt)):
            return False
        self.message = f"{kind.__name__} exception caught in code being profiled."
        return True


# What a magic shows of its profiler: tables, files, and how the code ended.


def show(
    shell: InteractiveShell, profiler: NotebookProfiler, asked: Magic, message: str
) -> None:
    """Show the tables, write the files that were asked for, and say what was done.

    `message` tells how the code ended, "" for normally. Raises UsageError where
    a file cannot be written.
    """
    stats = profiler.get_stats()
    text = _table(stats, asked)
    if getattr(shell, "kernel", None) is None:
        page(text)
    else:
        # A page is for a person who looks on; what is displayed stays in the notebook.
        html = html_of(stats, unit=asked.unit, skip_zero=asked.skip_zero)
        display({"text/plain": text, "text/html": html}, raw=True)
        profiler.shown_in = shell.execution_count
    try:
        if asked.raw_file:
            stats.to_file(asked.raw_file)
            _say(f"Profile stats saved to file {asked.raw_file!r}.")
        if asked.text_file:
            write_file(text.split("\n"), asked.text_file)
            _say(f"Profile printout saved to text file {asked.text_file!r}.")
    except LineprofError as error:
        raise UsageError(str(error)) from None
    if message:
        _say(message)
    for note in [*profiler.notes, *_notes(stats)]:
        _say(note)


def _table(stats: LineStats, asked: Magic) -> str:
    """Return the text of line_profiler's table."""
    stream = io.StringIO()
    stats.print(stream, output_unit=asked.unit, stripzeros=asked.skip_zero)
    return stream.getvalue().rstrip()


def _notes(stats: LineStats) -> list[str]:
    """Return what the numbers lack, a sentence each."""
    if stats.functions:
        return list(stats.warnings)
    return ["No function was profiled; name some with -f, or a module with -m."]


def _say(text: str) -> None:
    print(f"\n*** {text}")  # noqa: T201  # as all magics do
