"""What a magic shows of its profiler: tables, files, and how the code ended."""

from __future__ import annotations

import io

from IPython.core.error import UsageError
from IPython.core.page import page
from IPython.display import display

from lineprof.errors import LineprofError
from lineprof.ipython.html import html_of
from lineprof.log_file import write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from lineprof.ipython.options import Magic
    from lineprof.ipython.profiler import NotebookProfiler
    from lineprof.line_stats import LineStats


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
