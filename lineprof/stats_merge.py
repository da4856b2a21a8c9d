"""Several profiles become one."""

from __future__ import annotations

from lineprof.records import UNKNOWN_THREAD, FunctionStats, SourceFile
from lineprof.stats import LineStats
from lineprof.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.records import Process, Thread


def _shifted(functions: Iterable[FunctionStats], by: int) -> Iterator[FunctionStats]:
    """Yield `functions` with the threads' indexes moved on."""
    for function in functions:
        yield replace(
            function,
            cells=tuple(
                cell
                if cell.thread == UNKNOWN_THREAD
                else replace(cell, thread=cell.thread + by)
                for cell in function.cells
            ),
        )


def _differ(first: SourceFile, second: SourceFile) -> bool:
    """Tell whether two texts of one file are known to be different."""
    if first.text is not None and second.text is not None:
        return first.text != second.text
    return bool(first.sha256 and second.sha256) and first.sha256 != second.sha256


def _sources(profiles: Iterable[LineStats]) -> tuple[dict[str, SourceFile], list[str]]:
    """Return the text of each file, and a warning for each that has several."""
    sources: dict[str, SourceFile] = {}
    changed: dict[str, None] = {}
    for profile in profiles:
        for file, source in profile.sources.items():
            first = sources.setdefault(file, source)
            if _differ(first, source):
                changed[file] = None
            elif first.text is None and source.text is not None:
                sources[file] = source
    return sources, [
        f"{file} differs between the merged profiles; shown is its first text"
        for file in changed
    ]


def merge(profiles: list[LineStats]) -> LineStats:
    """Return the sum of `profiles` (at least one).

    Functions are joined by file, line and name; processes and threads stay
    apart; the unit is the coarsest; where the text of a file differs, the
    first is kept and a warning added.
    """
    functions: list[FunctionStats] = []
    processes: list[Process] = []
    threads: list[Thread] = []
    for profile in profiles:
        functions += _shifted(profile.functions, by=len(threads))
        threads += [
            replace(thread, process=thread.process + len(processes))
            for thread in profile.threads
        ]
        processes += profile.processes
    sources, changes = _sources(profiles)
    warnings = [warning for profile in profiles for warning in profile.warnings]
    return LineStats.from_functions(
        functions,
        processes=processes,
        threads=threads,
        sources=sources,
        warnings=dict.fromkeys(warnings + changes),
        unit=max(profile.unit for profile in profiles),
    )
