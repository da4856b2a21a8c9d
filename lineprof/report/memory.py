"""The view --memory: lines by bytes at the peak, live at the end, and freed at once.

Bytes of a line are its own, without its callees. Those of several processes are added
up: each process has a peak of its own, at a moment of its own.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import PLAIN, box_characters_of
from lineprof.model.host_memory import (
    MEMORY_NUMBERS,
    NO_BYTES,
    knows_memory,
    memory_of_lines,
    outside_memory,
    total_memory,
)
from lineprof.model.names import names_of_profile
from lineprof.report import markdown
from lineprof.report.columns import (
    BYTES,
    COUNT,
    DATA,
    PLACE,
    SHARE,
    SOURCE,
    SOURCE_TITLE,
    WORDS,
    Column,
)
from lineprof.report.json_report import memory_fields
from lineprof.report.limits import limited
from lineprof.report.line_table import NO_MEMORY
from lineprof.report.memory_format import (
    OUTSIDE_OF_LINES,
    marker,
    peak_words,
    pid_of,
)
from lineprof.report.memory_table import estimate_note
from lineprof.report.rows import Rows, rows_of
from lineprof.report.text_grid import (
    Context,
    counted,
    in_bytes,
    in_words,
    percent_of,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lineprof.console.terminal import Terminal
    from lineprof.model.host_memory import (
        HostMemory,
        MemoryCurve,
        MemoryNumbers,
        MemoryRun,
        MemorySum,
    )
    from lineprof.model.names import ShortNames
    from lineprof.model.profile import Profile
    from lineprof.report.columns import Columns, Place
    from lineprof.report.options import Options
    from lineprof.source import Sources

_ROWS = 10  # of each table, if no --limit is given

_CURVES = 4  # processes with a curve

_WIDTH, _MIN_WIDTH = 64, 16  # columns of a curve

_BESIDE = 40  # columns beside a curve

_MIN_PERCENT = 0.1  # of a row in the whole of its table


class _Line(NamedTuple):
    """One line, or all blocks outside of lines."""

    place: Place | None
    hits: int | None
    own: MemoryNumbers
    every: MemoryNumbers  # with callees
    path: str  # the call path with the most of its bytes at the peak, or allocated
    mark: Callable[[int], int]  # marks estimates


def _place(row: _Line, names: ShortNames) -> str:
    if row.place is None:
        return f"({OUTSIDE_OF_LINES})"
    (file, _, _), line = row.place
    return names.line(file, line)


def _own(name: str) -> Callable[[_Line], int]:
    """Return what gets a number of a line without its callees."""
    return lambda row: row.mark(getattr(row.own, name))


def _every(name: str) -> Callable[[_Line], int]:
    """Return what gets a number of a line with its callees."""
    return lambda row: row.mark(getattr(row.every, name))


MEMORY: Columns = {
    "hits": Column(COUNT, "Hits", optional=True, spare=3),
    "host_self_peak_bytes": Column(
        BYTES, "Peak", value=_own("peak_bytes"), optional=True
    ),
    "peak_share": Column(SHARE, "% Peak", of="host_self_peak_bytes"),
    "host_self_live_bytes": Column(
        BYTES, "Live", value=_own("live_bytes"), optional=True
    ),
    "live_share": Column(SHARE, "% Live", of="host_self_live_bytes"),
    "host_self_temp_bytes": Column(
        BYTES, "Temp", value=_own("temp_bytes"), optional=True
    ),
    "host_self_alloc_bytes": Column(
        BYTES, "Alloc", value=_own("alloc_bytes"), optional=True
    ),
    "host_self_allocs": Column(COUNT, "Blocks", value=_own("allocs"), spare=2),
    "host_self_freed_bytes": Column(BYTES, value=_own("freed_bytes")),
    **{
        f"host_{name}": Column(COUNT if name == "allocs" else BYTES, value=_every(name))
        for name in MEMORY_NUMBERS
    },
    "path": Column(DATA),
    "place": Column(PLACE, "Line", shown=_place),
    "function": Column(
        WORDS,
        "Function",
        value=lambda row: row.place and row.place[0],
        shown=lambda row, names: row.place and names.name(row.place[0]),
        spare=1,
        is_data=False,
    ),
    "source": Column(SOURCE, SOURCE_TITLE, value=lambda row: row.place),
}


class _Part(NamedTuple):
    """One table: the lines with the most of one number."""

    name: str  # of the number
    heading: str
    nothing: str
    columns: tuple[str, ...]  # of MEMORY, beside the place; the number's comes first


_PARTS = (
    _Part(
        name="peak_bytes",
        heading="At the peak, by own bytes",
        nothing="No line held memory at the peak",
        columns=("host_self_peak_bytes", "peak_share", "host_self_alloc_bytes"),
    ),
    _Part(
        name="live_bytes",
        heading="Live at the end",
        nothing="No memory was live at the end",
        columns=("host_self_live_bytes", "live_share", "host_self_alloc_bytes"),
    ),
    _Part(
        name="temp_bytes",
        heading="Freed before the line ended",
        nothing="No line freed its own memory before it ended",
        columns=(
            "host_self_temp_bytes",
            "host_self_alloc_bytes",
            "host_self_allocs",
            "hits",
        ),
    ),
)


def memory(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the peak and the curve of each process, and the lines behind them."""
    if not knows_memory(profile.memory):
        yield NO_MEMORY
        return
    terminal = options.terminal
    yield from _head(profile, terminal)
    rows = _lines(profile)
    names = names_of_profile(profile)
    context = Context(terminal=terminal, names=names, sources=sources)
    runs = len(profile.memory.runs)
    at_peak, *others = _PARTS
    if runs > 1:
        heading = f"At the peaks of {runs} processes, by own bytes"
        at_peak = at_peak._replace(heading=heading)
    for part in (at_peak, *others):
        yield ""
        yield from _table(part, rows, context, options)
    yield ""
    for text in _measured(profile):
        yield from _wrapped(text, terminal)


def _wrapped(text: str, terminal: Terminal) -> list[str]:
    text = terminal.clean(text)
    return wrap(text, terminal.width) if terminal.width else [text]


def _head(profile: Profile, terminal: Terminal) -> Iterator[str]:
    """Yield the peak, the totals, and a curve of each of the largest processes."""
    recorded = profile.memory
    mark, total = marker(recorded), total_memory(recorded)
    text = peak_words(profile)
    text = f"{text[:1].upper()}{text[1:]}" or "The peak is not known"
    if isinstance(terminal, markdown.Document):
        yield markdown.title(text)
    else:
        yield from map(terminal.emphasized, _wrapped(text, terminal))
    yield (
        f"{in_bytes(mark(total.alloc_bytes))} allocated in"
        f" {counted(total.allocs, 'block')}, {in_bytes(mark(total.freed_bytes))} freed,"
        f" {in_bytes(mark(total.live_bytes))} live at the end"
    )
    runs = sorted(recorded.runs, key=lambda run: -run.peak_bytes)
    curves = {curve.process: curve for curve in recorded.curves}
    drawn: list[str] = []
    for run in runs[:_CURVES]:
        drawn += _curve(profile, run, curves.get(run.process), terminal)
    if len(runs) > _CURVES:
        drawn.append(f"{len(runs) - _CURVES} more processes, with smaller peaks")
    if drawn and isinstance(terminal, markdown.Document):
        yield markdown.fenced(drawn)
    else:
        yield from drawn


def _curve(
    profile: Profile, run: MemoryRun, curve: MemoryCurve | None, terminal: Terminal
) -> Iterator[str]:
    """Yield the live bytes of a process over the run, as one row of characters."""
    several = len(profile.memory.runs) > 1
    name = f"process {pid_of(profile, run)}: " if several else ""
    mark = marker(profile.memory)
    words = f"{name}{in_bytes(mark(run.peak_bytes))} at {in_words(run.peak_ns)}"
    if curve is None or not curve.times_ns:
        if several:
            yield words
        return
    if isinstance(terminal, markdown.Document):
        terminal = PLAIN
    room = (terminal.width or _WIDTH + _BESIDE) - _BESIDE
    width = max(_MIN_WIDTH, min(_WIDTH, room))
    levels = box_characters_of(terminal).levels
    end_ns = max(curve.times_ns[-1], run.peak_ns, 1)
    drawn = "".join(
        levels[-(-size * (len(levels) - 1) // (run.peak_bytes or 1))]
        for size in heights(curve, run, end_ns, width)
    )
    yield terminal.clipped(f"0 s |{drawn}| {in_words(end_ns)}, {words}", 0)


def heights(
    curve: MemoryCurve, run: MemoryRun, end_ns: int, width: int
) -> Sequence[int]:
    """Return the most that was live (bytes) in each of `width` equal parts of a run."""
    most = [0] * width
    moments = sorted(
        [*zip(curve.times_ns, curve.live_bytes), (run.peak_ns, run.peak_bytes)]
    )
    # A size stays until the next moment.
    moments.append((end_ns, moments[-1][1]))
    for (ns, size), (next_ns, _) in pairwise(moments):
        first, last = (min(width - 1, at * width // end_ns) for at in (ns, next_ns))
        for part in range(first, last + 1):
            most[part] = max(most[part], size)
    return [min(size, run.peak_bytes) for size in most]


def _lines(profile: Profile) -> list[_Line]:
    """Return the lines that allocated memory themselves, and all else as one line."""
    recorded = profile.memory
    mark = marker(recorded)
    own, every = memory_of_lines(recorded, alone=True), memory_of_lines(recorded)
    hits: Counter[Place] = Counter()
    for function in profile.functions:
        for cell in function.thread_lines:
            hits[function.key, cell.line] += cell.hits
    paths = _largest_paths(recorded, names_of_profile(profile))
    rows = [
        _Line(
            place=(key, line),
            hits=hits.get((key, line)),
            own=numbers,
            every=every[key][line],
            path=paths.get((key, line), ""),
            mark=mark,
        )
        for key, lines in own.items()
        for line, numbers in lines.items()
    ]
    outside = outside_memory(recorded)
    if outside != NO_BYTES:
        rows.append(
            _Line(place=None, hits=None, own=outside, every=outside, path="", mark=mark)
        )
    rows.sort(key=lambda row: (-row.own.peak_bytes, -row.own.alloc_bytes))
    return rows


def _largest_paths(recorded: HostMemory, names: ShortNames) -> Mapping[Place, str]:
    """Return the call path with the most of each line's own bytes, in words."""
    largest: dict[Place, MemorySum] = {}
    for record in recorded.sums:
        for place in recorded.paths[record.path].lines[-1:]:
            largest[place] = max(largest.get(place, record), record, key=_size)
    return {
        place: " -> ".join(
            names.caller(key, line) for key, line in recorded.paths[record.path].lines
        )
        for place, record in largest.items()
    }


def _size(record: MemorySum) -> tuple[int, int, int]:
    """Return the order of call paths: by bytes at the peak, then by all of them."""
    return record.peak_bytes, record.alloc_bytes, record.path


def _table(
    part: _Part, rows: Sequence[_Line], context: Context, options: Options
) -> Iterator[str]:
    """Yield the lines with the most of one number, the first with its call path."""
    size, terminal = _own(part.name), options.terminal
    rows = sorted((row for row in rows if size(row)), key=size, reverse=True)
    whole = sum(map(size, rows))
    if not rows:
        yield part.nothing
        return
    yield terminal.emphasized(f"{part.heading}, {in_bytes(rows[0].mark(whole))}")
    if options.min_percent is None:
        options = options._replace(min_percent=_MIN_PERCENT)
    options = options._replace(limit=options.limit or _ROWS)
    shown = limited(rows, options, size, whole)
    columns = (*part.columns, "place", "function", "source")
    yield from table(
        MEMORY,
        shown,
        context,
        titles={name: MEMORY[name].title for name in columns},
        late=("host_self_allocs", "hits"),
        heat=[percent_of(size(row), whole) for row in shown],
        totals={part.columns[0]: whole},
    )
    more = rows[len(shown) :]
    if more:
        yield (
            f"{counted(len(more), 'more line')}:"
            f" {in_bytes(more[0].mark(sum(map(size, more))))}"
        )
    if part.name == "peak_bytes" and " -> " in rows[0].path:
        arrow = f" {box_characters_of(terminal).arrow} "
        yield from _wrapped(
            f"The first by: {rows[0].path.replace(' -> ', arrow)}", terminal
        )


def _measured(profile: Profile) -> Iterator[str]:
    """Yield what was counted, and what measuring itself took."""
    recorded = profile.memory
    runs = recorded.runs
    if len(runs) > 1:
        yield (
            f"Bytes of lines are sums over {len(runs)} processes; a line's peak is the"
            " sum of its parts of their peaks, each at a moment of its own."
        )
    native = [run.is_native for run in runs]
    if all(native):
        yield (
            "Counted: blocks of Python's allocators, and of malloc, mmap and new in"
            " extension modules; each by the bytes that were asked for."
        )
    else:
        some = " of some processes" if any(native) else ""
        yield (
            f"Counted{some}: blocks of Python's allocators alone, by the bytes that"
            " were asked for; what extension modules take from the system is missing."
        )
    yield from estimate_note(profile)
    side_bytes = sum(run.side_bytes for run in runs)
    if side_bytes:
        yield (
            f"lineprof's own tables of live blocks: {in_bytes(side_bytes)}, which is in"
            " no number above."
        )
    lost = sum(run.lost for run in runs)
    if lost:
        yield f"Lost: {counted(lost, 'block')}, for which there was no room."


# For other programs.


def memory_rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return a row for each line that allocated memory itself, by bytes at the peak.

    A row without a place has the blocks outside of profiled lines.
    """
    recorded = profile.memory
    rows, total = _lines(profile), total_memory(recorded)
    whole = total.peak_bytes
    shown = limited(rows, options, lambda row: row.own.peak_bytes, whole)
    totals: dict[str, object] = {
        **memory_fields(total),
        "runs": [run._asdict() for run in recorded.runs],
        "curves": [
            {
                **curve._asdict(),
                "lines": [
                    {"file": key[0], "function": key[2], "function_line": key[1]}
                    | {"line": line}
                    for key, line in curve.lines
                ],
            }
            for curve in recorded.curves
        ],
    }
    return rows_of(MEMORY, shown, sources, more=len(rows) - len(shown), totals=totals)


def memory_notes(profile: Profile, options: Options) -> Iterator[str]:
    """Yield why there are no rows, or that numbers are estimates.

    JSON has the sampling of each run.
    """
    if options.csv:
        if not knows_memory(profile.memory):
            yield NO_MEMORY
        yield from estimate_note(profile)
