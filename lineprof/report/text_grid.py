"""Grids of text: columns of numbers, columns of words, and the wording of numbers."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from lineprof.console.terminal import PLAIN, Terminal, box_characters_of
from lineprof.model.names import ShortNames
from lineprof.model.units import NANOSECOND, format_bytes, format_seconds
from lineprof.report import markdown
from lineprof.report.columns import (
    BYTES,
    FUNCTION,
    NS,
    OF_WORDS,
    PLACE,
    SHARE,
    SOURCE_TITLE,
    About,
    UpTo,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from lineprof.report.columns import Column, Columns
    from lineprof.source import Sources

ABOUT = "~"  # before an estimate

MARK = "  (counted "  # the mark of a function that was switched off begins so

_SHORT_MARK = "  (counted ...)"  # on a narrow terminal

_GAP = "  "  # between two columns

_MIN_LAST_WIDTH = 24  # columns, if other words can be cut

_MIN_NAME_WIDTH = 40  # of the only column of words, if others can be left out

_MIN_INNER_WIDTH, _MAX_INNER_WIDTH = 12, 28  # of words with more words to their right

_MAX_NAME, _MAX_SOURCE = 80, 120  # characters, of Markdown

_DRAWN = re.compile(r"(\[\d+\] )?[│├└─|` -]*(:\d+ )?")  # before the name of a call

_LONG_MARK = re.compile(re.escape(MARK) + r"[^)]*\)")

_MILLISECOND, _MICROSECOND = 1e6, 1e3  # ns


class TimeUnit(NamedTuple):
    """The unit of all times of one grid, so that they can be compared and added."""

    name: str
    ns: float

    def text(self, ns: float) -> str:
        """Return a time (ns) with three digits after the point."""
        return f"{ns / self.ns:.3f}"

    def titles(self, *titles: str) -> tuple[str, ...]:
        """Return the titles of columns of times."""
        return tuple(f"{title} ({self.name})" for title in titles)


def time_unit_for(times: Iterable[float]) -> TimeUnit:
    """Return milliseconds or, if all `times` (ns) are short, microseconds."""
    if max(times, default=0) < 10 * _MILLISECOND:
        return TimeUnit(name="us", ns=_MICROSECOND)
    return TimeUnit(name="ms", ns=_MILLISECOND)


def in_words(ns: float) -> str:
    """Return a time (ns) for a sentence: four digits and a unit."""
    return format_seconds(ns * NANOSECOND).strip()


def in_bytes(size: float) -> str:
    """Return a size (bytes) for a sentence: four digits and a unit."""
    return f"{ABOUT if isinstance(size, About) else ''}{format_bytes(size).strip()}"


def counted(count: int, noun: str) -> str:
    """Return a number of things: ``1 call``, ``2,000 calls``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def share_of(ns: float, total_ns: float) -> float:
    """Return the share of `ns` in `total_ns`, 0 to 1; 0 if `total_ns` is 0."""
    return ns / total_ns if total_ns else 0.0


def percent_of(ns: float, total_ns: float) -> float:
    """Return the share of `ns` in `total_ns`, in %; 0 if `total_ns` is 0."""
    return 100 * ns / total_ns if total_ns else 0.0


def percent(ns: float, total_ns: float) -> str:
    """Return the share of `ns` in `total_ns` as text: ``12.5 %``."""
    return f"{percent_of(ns, total_ns):.1f} %"


class Context(NamedTuple):
    """The surroundings of a table for people."""

    terminal: Terminal = PLAIN
    names: ShortNames = ShortNames(())
    sources: Sources | None = None
    indented: bool = False  # source is shown with its indentation


def table(  # noqa: PLR0913  # all but the first three are rare
    columns: Columns,
    rows: Sequence[object],
    context: Context,
    *,
    titles: Mapping[str, str] | None = None,
    hidden: Collection[str] = (),
    late: Collection[str] = (),
    heat: Sequence[float] = (),
    unit: TimeUnit | None = None,
    totals: Mapping[str, float] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield `rows` in those of `columns` that have a title.

    `titles` are the columns to show by name, if these are others, and `hidden` those
    to leave out. Numbers keep the order of their columns, but for the `late` ones.
    `unit` is that of all times, by default one that suits the longest of them. Rows
    are coloured by their `heat`, a share of the whole (%). `totals` are the sums of
    columns `of` which shares are shown.
    """
    titles = titles or {name: one.title for name, one in columns.items() if one.title}
    shown = {name: columns[name] for name in titles if name not in hidden}
    # Numbers are to the left of words.
    order = sorted(shown, key=lambda name: (shown[name].kind in OF_WORDS, name in late))
    seen = {name: [*_seen(name, columns, rows, context, totals)] for name in order}
    kept = [name for name in order if any(seen[name]) or not shown[name].optional]
    unit = unit or time_unit_for(
        ns
        for name in kept
        if shown[name].kind == NS
        for ns in seen[name]
        if isinstance(ns, (int, float))
    )
    texts = [
        [_text(shown[name], value, unit, context) for value in seen[name]]
        for name in kept
    ]
    spare = [index for index, name in enumerate(kept) if shown[name].spare]
    spare.sort(key=lambda index: shown[kept[index]].spare)
    yield from grid(
        [
            unit.titles(titles[name])[0] if shown[name].kind == NS else titles[name]
            for name in kept
        ],
        [*zip(*texts)],
        context.terminal,
        words=sum(shown[name].kind in OF_WORDS for name in kept),
        heat=heat,
        spare=spare,
    )


def _seen(
    name: str,
    columns: Columns,
    rows: Sequence[object],
    context: Context,
    totals: Mapping[str, float],
) -> Iterable[object]:
    """Return the value of each row as people see it."""
    column = columns[name]
    if column.of:
        get = columns[column.of].getter(column.of)
        return (share_of(get(row) or 0, totals[column.of]) for row in rows)  # type: ignore[arg-type]
    show, get = column.shown, column.getter(name)
    return (show(row, context.names) if show else get(row) for row in rows)


def _text(column: Column, value: Any, unit: TimeUnit, context: Context) -> str:  # noqa: ANN401  # of the column's kind
    """Return a value as text."""
    if value is None or (column.optional and not value):
        return ""
    if isinstance(value, str):
        return value
    if column.kind in OF_WORDS:
        return _words(column.kind, value, context)
    if column.kind == NS:
        return f"{'<= ' if isinstance(value, UpTo) else ''}{unit.text(value)}"
    if column.kind == SHARE:
        return percent(value, 1)
    about = ABOUT if isinstance(value, About) else ""
    return f"{about}{format_bytes(value) if column.kind == BYTES else value}"


def _words(kind: str, value: Any, context: Context) -> str:  # noqa: ANN401  # of that kind
    if kind == FUNCTION:
        return context.names.function(value)
    (file, _, _), line = value
    if kind == PLACE:
        return context.names.line(file, line)
    text = text_of(value, context.sources) if context.sources else None
    return (text or "").rstrip() if context.indented else (text or "").strip()


def grid(  # noqa: PLR0913  # all but the first three are rare
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    terminal: Terminal,
    *,
    words: int = 1,
    sentences: Collection[int] = (),
    heat: Sequence[float] = (),
    spare: Sequence[int] = (),
) -> Iterator[str]:
    """Yield `titles` and `rows` as aligned columns that fit the terminal.

    The last `words` columns are aligned to the left, the others to the right; every
    column has a title. Rows are coloured by their `heat`, a share of the whole (%). On
    a narrow terminal the columns with the indexes `spare` are left out, the first one
    first, and words are cut; numbers are not. In a Markdown document the words are
    code, but for the columns with the indexes `sentences`.
    """
    numbers = len(titles) - words
    if isinstance(terminal, markdown.Document):
        names = {*range(numbers, len(titles))} - {*sentences}
        cells = [
            [
                _cut_word(text, title) if index in names else text
                for index, (text, title) in enumerate(zip(row, titles))
            ]
            for row in rows
        ]
        yield markdown.table(titles, cells, words=words, sentences=sentences)
        return
    table = [list(titles), *([*map(terminal.clean, row)] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table)]
    if terminal.width is not None:
        arrow = box_characters_of(terminal).arrow
        table = _with_short_marks(table, numbers, terminal.width, arrow)
        # A function's mark has to be seen.
        spare = [i for i in spare if not any(MARK in row[i] for row in table)]
        widths = _capped_widths(table, numbers)
        shown = _shown_columns(widths, numbers, terminal.width, spare)
        table = [[row[index] for index in shown] for row in table]
        numbers = sum(index < numbers for index in shown)
        widths = _fitted([widths[index] for index in shown], numbers, terminal.width)
    dots = box_characters_of(terminal).dots
    start = sum(widths[:numbers]) + len(_GAP) * numbers
    for number, row in enumerate(table, -1):
        *others, last = row
        texts = [
            text.rjust(width) if column < numbers else cut(text, width, dots)
            for column, (text, width) in enumerate(zip(others, widths))
        ]
        if len(others) == numbers and terminal.width is not None:
            last = _name_cut(last, widths[-1], terminal)
        line = terminal.cut(_GAP.join([*texts, last]).rstrip(), 0)
        if number < 0:
            yield terminal.emphasized(line)
        else:
            share = heat[number] if number < len(heat) else 0
            yield terminal.heated(line[:start], share, line[start:])


def _cut_word(text: str, title: str) -> str:
    """Return a name, cut in its middle, or source, cut at its end, for Markdown."""
    text = markdown.DOCUMENT.clean(text)
    if title == SOURCE_TITLE:
        return PLAIN._replace(width=_MAX_SOURCE).cut(text, 0)
    return cut(text, _MAX_NAME, box_characters_of(PLAIN).dots).rstrip()


def _with_short_marks(
    table: list[list[str]], numbers: int, width: int, arrow: str
) -> list[list[str]]:
    """Return the rows, with short marks of functions if whole ones would not fit.

    After an `arrow` there is source, which can be cut.
    """
    widths = _capped_widths(table, numbers)
    if len(widths) > numbers + 1:
        widths[-1] = min(widths[-1], _MIN_LAST_WIDTH)
    else:
        widths[-1] = max(len(row[-1].partition(f"  {arrow} ")[0]) for row in table)
    if sum(widths) + len(_GAP) * (len(widths) - 1) <= width:
        return table
    return [
        [
            *row[:numbers],
            *(_LONG_MARK.sub(_SHORT_MARK, text) for text in row[numbers:]),
        ]
        for row in table
    ]


def _capped_widths(table: Sequence[Sequence[str]], numbers: int) -> list[int]:
    """Return the widths of columns, those of inner words without their longest names.

    The mark after a name comes on top.
    """
    widths = [max(map(len, column)) for column in zip(*table)]
    for column in range(numbers, len(widths) - 1):
        parts = [row[column].partition(MARK) for row in table]
        widths[column] = max(
            min(len(name), _MAX_INNER_WIDTH) + len(mark + rest)
            for name, mark, rest in parts
        )
    return widths


def _shown_columns(
    widths: Sequence[int], numbers: int, width: int, spare: Sequence[int]
) -> list[int]:
    """Return the indexes of the columns to show, for which others may be left out."""
    shown = list(range(len(widths)))
    for index in spare:
        has_inner = any(one >= numbers for one in shown[:-1])
        taken = sum(widths[one] for one in shown[:-1]) + len(_GAP) * (len(shown) - 1)
        wanted = _MIN_LAST_WIDTH if has_inner else _MIN_NAME_WIDTH
        if width - taken >= min(widths[-1], wanted):
            break
        shown.remove(index)
    return shown


def _fitted(widths: Sequence[int], numbers: int, width: int) -> list[int]:
    """Return the widths of columns that fit; those of numbers stay as they are."""
    fitted = list(widths)
    inner = range(numbers, len(widths) - 1)
    room = width - sum(widths[:numbers]) - len(_GAP) * (len(widths) - 1)
    wanted = min(widths[-1], _MIN_LAST_WIDTH)
    while inner and sum(fitted[column] for column in inner) + wanted > room:
        widest = max(inner, key=fitted.__getitem__)
        if fitted[widest] <= _MIN_INNER_WIDTH:
            break
        fitted[widest] -= 1
    fitted[-1] = max(0, room - sum(fitted[column] for column in inner))
    return fitted


def cut(text: str, width: int, dots: str) -> str:
    """Return a text in `width` columns, cut in its middle if it is longer.

    The mark of a function stays whole.
    """
    if len(text) <= width:
        return text.ljust(width)
    name, mark, rest = text.partition(MARK)
    if mark and len(mark + rest) < width:
        return cut(name, width - len(mark + rest), dots) + mark + rest
    if width <= len(dots):
        return text[:width]
    kept = width - len(dots)
    return text[: kept - kept // 2] + dots + text[len(text) - kept // 2 :]


def more_rows(count: int) -> Iterator[str]:
    """Yield how many rows of a grid are left out, if any."""
    if count:
        yield ""
        yield f"{count} more {'is' if count == 1 else 'are'} not shown"


def _name_cut(text: str, width: int, terminal: Terminal) -> str:
    """Return a name that fits, cut in its middle, and the source after it, if any.

    What is drawn before the name of a call, and the line of the call, stay.
    """
    characters = box_characters_of(terminal)
    name = text.partition(f"  {characters.arrow} ")[0]
    if len(name) <= width:
        return text
    before = _DRAWN.match(name)
    start = before.end() if before else 0
    if width - start < _MIN_INNER_WIDTH:
        return text
    return name[:start] + cut(name[start:], width - start, characters.dots)
