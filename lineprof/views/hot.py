"""The lines of the whole program that took most time themselves."""

from __future__ import annotations

from heapq import nlargest
from typing import NamedTuple

from lineprof.call_edges import edges, own_line_ns
from lineprof.gpu_lines import numbers_of_lines
from lineprof.short_names import short_names
from lineprof.views.grid import grid, in_words, percent, percent_of, times_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.records import Key
    from lineprof.source import Sources
    from lineprof.stats import Profile
    from lineprof.views.view import Options

_EMPHASIZED = 20  # %


class _Row(NamedTuple):
    """One line."""

    key: Key
    line: int
    own_ns: int  # without what it called
    gpu_ns: int  # that no line further in has caused


def hot(stats: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the `options.lines` most expensive lines, the first one first.

    What counts is the greater of a line's own time and the GPU time that it
    has caused itself: a line may do no more than start a kernel.
    """
    rows = _rows(stats)
    shown = nlargest(options.lines, rows, key=lambda row: max(row.own_ns, row.gpu_ns))
    own, gpu = (sum(row.own_ns for row in rows), sum(row.gpu_ns for row in rows))
    gpu_words = f" and {in_words(gpu)} on GPUs" if gpu else ""
    yield (
        f"{len(shown)} of {len(rows)} lines, of all that took {in_words(own)}"
        f"{gpu_words} themselves:"
    )
    yield ""
    times = times_for(max(row.own_ns, row.gpu_ns) for row in shown)
    of_cpu, of_gpu, of_waits = times.titles("Own", "GPU", "Wait")
    waits = _waits(stats, shown)
    titles = [of_cpu, "% Own"]
    titles += [of_waits] if any(waits.values()) else []
    titles += [of_gpu, "% GPU"] if gpu else []
    names = short_names(function.key for function in stats.functions)
    hits = _hits(stats, {(row.key, row.line) for row in shown})
    cells = []
    for row in shown:
        texts = [times.text(row.own_ns), percent(row.own_ns, own)]
        if any(waits.values()):
            waited = waits[row.key, row.line]
            texts.append(times.text(waited) if waited else "")
        if gpu:
            shares = (times.text(row.gpu_ns), percent(row.gpu_ns, gpu))
            texts += shares if row.gpu_ns else ("", "")
        texts += [f"{hits[row.key, row.line]}", names.line(row.key[0], row.line)]
        source = sources.line(row.key[0], row.line) or ""
        cells.append([*texts, row.key[2], source.strip()])
    titles += ["Hits", "Line", "Function", "Line Contents"]
    is_hot = [percent_of(row.own_ns, own) >= _EMPHASIZED for row in shown]
    yield from grid(titles, cells, options.screen, words=3, hot=is_hot)


def _waits(stats: Profile, rows: list[_Row]) -> dict[tuple[Key, int], int]:
    """Return how long lines waited (ns); 0 for those that called anything.

    What they waited is known with what they called alone, as their time is.
    """
    found = {(row.key, row.line): 0 for row in rows}
    for wait in stats.waits:
        if (wait.function, wait.line) in found:
            found[wait.function, wait.line] += wait.ns
    for edge in edges(stats.calls) if any(found.values()) else ():
        if edge.caller is not None and (edge.caller, edge.line) in found:
            found[edge.caller, edge.line] = 0
    return found


def _rows(stats: Profile) -> list[_Row]:
    """Return all lines that took any time."""
    gpu = numbers_of_lines(stats.gpu, alone=True) if stats.gpu.sums else {}
    own = own_line_ns(stats)
    rows = []
    for key in dict.fromkeys((*own, *gpu)):
        of_cpu, of_gpu = own.get(key, {}), gpu.get(key, {})
        for line in dict.fromkeys((*of_cpu, *of_gpu)):
            gpu_ns = of_gpu[line].self_ns if line in of_gpu else 0
            if of_cpu.get(line) or gpu_ns:
                rows.append(_Row(key, line, of_cpu.get(line, 0), gpu_ns))
    return rows


def _hits(stats: Profile, wanted: set[tuple[Key, int]]) -> dict[tuple[Key, int], int]:
    """Return how often each of the lines that are `wanted` ran."""
    hits = dict.fromkeys(wanted, 0)
    keys = {key for key, _ in wanted}
    for function in stats.functions:
        if function.key in keys:
            for cell in function.cells:
                if (function.key, cell.line) in hits:
                    hits[function.key, cell.line] += cell.hits
    return hits
