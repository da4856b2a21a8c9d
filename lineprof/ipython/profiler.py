"""The profiler of a magic: it keeps the source as it was when the code ran."""

from __future__ import annotations

from lineprof.profiler import LineProfiler
from lineprof.source_file import read_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineprof.line_stats import LineStats
    from lineprof.records import SourceFile


class NotebookProfiler(LineProfiler):
    """A `LineProfiler` whose results show the text that ran.

    Cells are edited and modules are loaded anew while a profile is still looked
    at.
    """

    shown_in = 0  # the number of the cell that has shown its table
    notes: tuple[str, ...] = ()  # what to say beside its tables

    def __init__(self, *functions: object) -> None:
        """Register `functions`."""
        super().__init__(*functions)
        self._kept: dict[str, SourceFile] = {}

    def keep_sources(self, files: Iterable[str] = ()) -> None:
        """Keep the text of `files`, and that of the functions registered so far."""
        codes = (getattr(one, "__code__", None) for one in self.functions)
        names = [code.co_filename for code in codes if code is not None]
        for file in dict.fromkeys([*files, *names]):
            if file not in self._kept:
                self._kept[file] = read_source(file)

    def get_stats(self) -> LineStats:
        """Return all that was counted so far, with the source that was kept."""
        stats = super().get_stats()
        kept = {file: self._kept.get(file, one) for file, one in stats.sources.items()}
        stats.sources = kept
        return stats

    def _repr_html_(self) -> str | None:
        """Return the tables for a notebook, but not right below the same ones."""
        from IPython.core.getipython import get_ipython  # noqa: PLC0415  # shows this

        from lineprof.ipython.html import html_of  # noqa: PLC0415  # when it is shown

        shell = get_ipython()  # type: ignore[no-untyped-call,unused-ignore]
        if shell is not None and shell.execution_count == self.shown_in:
            return None
        return html_of(self.get_stats(), skip_zero=True)
