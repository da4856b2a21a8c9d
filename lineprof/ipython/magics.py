"""The magics ``%lprun`` and ``%%lprun_all``, as ``%load_ext lineprof`` gives them."""

from __future__ import annotations

import asyncio

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from lineprof.ipython import load_ipython_extension, unload_ipython_extension
from lineprof.ipython.awaiting import add_await
from lineprof.ipython.cell import (
    compile_cell,
    compile_text,
    function_of,
    is_coroutine,
)
from lineprof.ipython.options import LPRUN, LPRUN_ALL, OptionError, parse
from lineprof.ipython.profiler import NotebookProfiler
from lineprof.ipython.reloaded import put_right
from lineprof.ipython.run import Run
from lineprof.ipython.show import show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from types import CodeType
    from typing import Union

    from IPython.core.interactiveshell import InteractiveShell

    from lineprof.ipython.options import Magic

    Result = Union[NotebookProfiler, Awaitable[object], None]

__all__ = [
    "LineProfilerMagics",
    "load_ipython_extension",
    "unload_ipython_extension",
]

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
