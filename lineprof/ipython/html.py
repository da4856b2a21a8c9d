"""A profile as HTML for notebooks: a table a function, the hot lines coloured.

One element with all that it needs: no script, nothing to load.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from lineprof.errors import printable
from lineprof.ipython.html_style import STYLE, heat
from lineprof.source import Sources
from lineprof.units import AUTO_UNIT
from lineprof.views.table import AWAIT, COLUMNS, Column, Function, Scale
from lineprof.views.text import footer_of, functions_of
from lineprof.views.view import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.stats import Profile

_UNITS = {1.0: "s", 1e-3: "ms", 1e-6: "us", 1e-9: "ns"}


@dataclass(frozen=True)
class _Row:
    """One line of a table."""

    number: int
    cells: Sequence[str]
    share: float  # of the function's time
    source: str
    below: Sequence[str]
    hot: bool  # on a GPU


def html_of(
    stats: Profile, *, unit: float | None = None, skip_zero: bool = False
) -> str:
    """Return the tables of `stats` as HTML.

    `unit` (s) is that of the times; None gives each the one that it reads best
    in. Functions that never ran are named below the tables, but not if `skip_zero`.
    """
    return "\n".join(_page(stats, AUTO_UNIT if unit is None else unit, skip_zero))


def _page(stats: Profile, unit: float, skip_zero: bool) -> Iterator[str]:  # noqa: FBT001
    options = Options(unit=unit)
    functions, sources = functions_of(stats, options), Sources(stats.sources)
    yield f'<div class="lineprof"><style>{STYLE}</style>'
    for function in functions:
        if function.ran:
            scale = Scale(stats.unit, unit, sum(line.time for line in function.lines))
            block = sources.block(function.file, function.line, function.name)
            yield from _function(function, scale, block)
    idle = [function for function in functions if not function.ran]
    if idle and not skip_zero:
        yield from _idle(idle)
    for note in [*stats.warnings, *footer_of(stats, options)]:
        yield f"<div>{_text(note)}</div>"
    if not functions:
        yield f"<div>{_text(stats.why_empty)}</div>"
    yield "</div>"


def _function(
    function: Function, scale: Scale, block: Sequence[str] | None
) -> Iterator[str]:
    """Yield one function's heading and table."""
    place = f"{function.file}:{function.line}"
    yield (
        f"<details open><summary><code><b>{_text(function.name)}</b></code>"
        f" &nbsp;{_text(scale.total(function.total))}"
        f' &nbsp;<code class="lp-dim">{_text(place)}</code></summary>'
    )
    yield '<div class="lp-wide"><table><thead><tr>'
    columns = _columns(function)
    titles = [column.title for column in columns]
    titles += [title for title, _ in function.beside.columns]
    for title in ["Line", *titles]:
        unit = _unit(scale.output_unit) if title == "Time" else ""
        yield f"<th>{_text(title)}{unit}</th>"
    yield '<th class="lp-src">Source</th></tr></thead><tbody>'
    for row in _rows(function, columns, scale, block):
        yield _row(row)
    yield "</tbody></table></div></details>"


def _unit(unit: float) -> str:
    """Return what a column's title says of its unit (s)."""
    if unit == AUTO_UNIT:
        return ""
    return f" ({_UNITS.get(unit, f'{unit:g} s')})"


def _columns(function: Function) -> tuple[Column, ...]:
    """Return the columns of a table, that of awaiting only where it says something."""
    waits = any(line.awaited for line in function.lines)
    return (*COLUMNS, AWAIT) if waits else COLUMNS


def _rows(
    function: Function,
    columns: Sequence[Column],
    scale: Scale,
    block: Sequence[str] | None,
) -> Iterator[_Row]:
    """Yield the lines of a function; without source, those that were measured."""
    beside, lines = function.beside, {line.number: line for line in function.lines}
    measured = sorted({*lines, *beside.texts})
    numbered = enumerate(block, function.line) if block else ((n, "") for n in measured)
    blank, none = [""] * len(columns), [""] * len(beside.columns)
    for number, source in numbered:
        line = lines.get(number)
        cells = [c.text(line, scale).strip() for c in columns] if line else blank
        more = beside.texts.get(number, none)
        share = (scale.percent(line.time) or 0) / 100 if line else 0.0
        below = beside.below.get(number, ())
        hot = number in beside.hot
        yield _Row(number, [*cells, *more], share, source, below, hot)


def _row(row: _Row) -> str:
    style = heat(row.share)
    begin = f'<tr style="{style}">' if style else "<tr>"
    cells = "".join(f"<td>{_text(cell.strip())}</td>" for cell in row.cells)
    dim = "" if any(row.cells) else " lp-dim"
    source = _text(row.source)
    source = f"<b>{source}</b>" if row.hot else source
    source = "\n".join([source, *map(_text, row.below)])
    return (
        f'{begin}<td class="lp-no">{row.number}</td>{cells}'
        f'<td class="lp-src{dim}"><pre>{source}</pre></td></tr>'
    )


def _idle(functions: Sequence[Function]) -> Iterator[str]:
    """Yield the names of functions that never ran."""
    names = [f"{one.name} ({one.file}:{one.line})" for one in functions]
    yield f'<details class="lp-dim"><summary>never ran: {len(names)}</summary><code>'
    yield "<br>".join(map(_text, names))
    yield "</code></details>"


def _text(text: str) -> str:
    """Return any text as HTML shows it, without characters that would act."""
    clean = printable(text, keep="\t")
    return escape(clean.encode("utf-8", "backslashreplace").decode())
