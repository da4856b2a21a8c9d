"""The profiler of the magics: it keeps source, and restores lines after autoreload."""

from __future__ import annotations

import ast
import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from lineprof.ipython.cell import code_inside, place_of, place_of_node
from lineprof.recording.profiler import LineProfiler
from lineprof.source import read_source
from lineprof.source_files import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.ipython.cell import Place
    from lineprof.line_stats import LineStats
    from lineprof.model.records import SourceFile
    from lineprof.recording.host_memory import MemoryRecorder

    Scope = ast.Module | ast.ClassDef


class NotebookProfiler(LineProfiler):
    """A `LineProfiler` whose results show the source that ran.

    Cells may be edited and modules reloaded while a profile is still in use.
    """

    shown_in = 0  # number of the cell that has shown its tables
    notes: tuple[str, ...] = ()  # sentences shown below its tables

    def __init__(
        self, *functions: object, memory: MemoryRecorder | None = None
    ) -> None:
        """Register `functions`; who made `memory` lets it begin."""
        super().__init__(*functions, memory=memory or False)
        self._kept: dict[str, SourceFile] = {}

    def keep_sources(self, files: Iterable[str] = ()) -> None:
        """Keep the source of `files`, and of the functions registered so far."""
        codes = (getattr(one, "__code__", None) for one in self.functions)
        names = [code.co_filename for code in codes if code is not None]
        for file in dict.fromkeys([*files, *names]):
            if file not in self._kept:
                self._kept[file] = read_source(file)

    def get_stats(self) -> LineStats:
        """Return all that was counted so far, with the source that was kept."""
        stats = super().get_stats()
        recorded = self._registry.sources
        kept = {
            file: one if recorded.has(file) else self._kept.get(file, one)
            for file, one in stats.sources.items()
        }
        stats.sources = kept
        return stats

    def _repr_html_(self) -> str | None:
        """Return the report for a notebook; None directly below tables of the same."""
        from IPython.core.getipython import get_ipython  # noqa: PLC0415  # shows this

        from lineprof.report.notebook import report_of  # noqa: PLC0415  # when it is shown

        shell = get_ipython()  # type: ignore[no-untyped-call,unused-ignore]
        if shell is not None and shell.execution_count == self.shown_in:
            return None
        return report_of(self.get_stats(), skip_zero=True)


# Lines of functions that autoreload has changed. IPython's newer autoreload compiles a
# changed function alone, from generated text: its lines then start at 1, and counts
# would be shown at the first lines of the file.

_AUTORELOAD = "IPython.extensions.deduperreload"
_SAME = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
_FLAGS = 0x1FFFF  # of co_flags, without those of `__future__` imports


def restore_lines(functions: Iterable[object]) -> tuple[bool, list[str]]:
    """Replace the code of functions by that of their file, if it does the same.

    Returns whether any was replaced, and a sentence about each function whose lines
    remain wrong.
    """
    if not any(name.startswith(_AUTORELOAD) for name in sys.modules):
        return False, []
    replaced, notes = False, []
    files: dict[str, dict[str, CodeType]] = {}
    for function in functions:
        if not isinstance(function, FunctionType):
            continue
        code, name = function.__code__, function.__qualname__
        file = code.co_filename
        if file not in files:
            files[file] = _codes(text_of(file) or "", file)
        right = files[file].get(name)
        if right is None or right.co_firstlineno == code.co_firstlineno:
            continue
        if _same(code, right):
            function.__code__ = right
            replaced = True
        else:
            notes.append(
                f"the lines shown of {name} may not be those measured: autoreload has"
                f" compiled it without them; reload {function.__module__} by hand"
            )
    return replaced, notes


def _codes(text: str, file: str) -> dict[str, CodeType]:
    """Return the code of the functions and methods in a file, by qualified name."""
    try:
        tree = ast.parse(text)
        whole: CodeType = compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    places = {place_of(code): code for code in code_inside(whole)}
    names = dict(_names(tree, ""))
    return {name: places[place] for name, place in names.items() if place in places}


def _names(scope: Scope, prefix: str) -> Iterator[tuple[str, Place]]:
    """Yield each function's qualified name, and its first line and name."""
    for node in scope.body:
        if isinstance(node, ast.ClassDef):
            yield from _names(node, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, place_of_node(node)


def _same(one: CodeType, other: CodeType) -> bool:
    """Return whether two code objects are equal, apart from their lines."""
    if any(getattr(one, name) != getattr(other, name) for name in _SAME):
        return False
    if (one.co_flags ^ other.co_flags) & _FLAGS:
        return False
    if len(one.co_consts) != len(other.co_consts):
        return False
    pairs = list(zip(one.co_consts, other.co_consts))
    if pairs and all(isinstance(text, str) for text in pairs[0]):
        # A docstring, which autoreload indents further.
        pairs[0] = tuple(text.split() for text in pairs[0])
    return all(
        _same(mine, theirs)
        if isinstance(mine, CodeType) and isinstance(theirs, CodeType)
        else (type(mine), repr(mine)) == (type(theirs), repr(theirs))
        for mine, theirs in pairs
    )
