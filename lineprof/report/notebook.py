"""A profile as HTML for notebooks: the report in a frame, and a table per function.

The tables are one self-contained element: no script, nothing to load. The report is the
page of `lineprof view --html` in a sandbox, which can neither reach the notebook nor
ask for anything.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from lineprof.errors import printable, without_surrogates
from lineprof.model.units import AUTO_UNIT
from lineprof.report.html import render
from lineprof.report.line_table import (
    AWAIT,
    COLUMNS,
    Column,
    FunctionTable,
    Scale,
    footer,
    function_tables,
    scale_of,
)
from lineprof.report.options import Options
from lineprof.source import sources_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.model.profile import Profile

# Without allow-same-origin: the report is a stranger to the notebook.
_FRAME = (
    'sandbox="allow-scripts" title="Report of lineprof" style="width:100%;height:560px;'
    'border:1px solid rgba(128,128,128,.5);resize:vertical;overflow:auto"'
)

_MAX_LINES = 2_000  # of the tables; more make a notebook large

_UNITS = {1.0: "s", 1e-3: "ms", 1e-6: "us", 1e-9: "ns"}


def report_of(profile: Profile, *, skip_zero: bool = False) -> str:
    """Return the report of `profile` as HTML, with its tables below if they are short.

    Where frames are taken out, as code hosts do, the tables are what is left.
    """
    page = "\n".join(render(profile, sources_of(profile), Options()))
    frame = f'<iframe {_FRAME} srcdoc="{escape(page)}"></iframe>'
    if sum(len(one.thread_lines) for one in profile.functions) > _MAX_LINES:
        return frame
    tables = html_of(profile, skip_zero=skip_zero)
    return f"{frame}<details><summary>As tables</summary>{tables}</details>"


def html_of(
    profile: Profile, *, unit: float | None = None, skip_zero: bool = False
) -> str:
    """Return the tables of `profile` as HTML.

    `unit` (s) is that of the times; with None each time has the unit in which it reads
    best. Functions that never ran are named below the tables, unless `skip_zero`.
    """
    return "\n".join(_page(profile, AUTO_UNIT if unit is None else unit, skip_zero))


def _page(profile: Profile, unit: float, skip_zero: bool) -> Iterator[str]:  # noqa: FBT001
    options = Options(unit=unit)
    functions, sources = function_tables(profile, options), sources_of(profile)
    yield f'<div class="lineprof"><style>{STYLE}</style>'
    for function in functions:
        if function.ran:
            scale = scale_of(profile.unit, options).of(function)
            block = sources.block(function.file, function.line, function.name)
            yield from _function(function, scale, block)
    idle = [function for function in functions if not function.ran]
    if idle and not skip_zero:
        yield from _idle(idle)
    for note in [*profile.warnings, *footer(profile, options)]:
        yield f"<div>{_text(note)}</div>"
    if not functions:
        yield f"<div>{_text(profile.why_empty)}</div>"
    yield "</div>"


def _function(
    function: FunctionTable, scale: Scale, block: Sequence[str] | None
) -> Iterator[str]:
    """Yield one function's heading and table."""
    place = f"{function.file}:{function.line}"
    yield (
        f"<details open><summary><code><b>{_text(function.name)}</b></code>"
        f"{_text(function.mark)}"
        f" &nbsp;{_text(scale.total(function.total))}"
        f' &nbsp;<code class="lp-dim">{_text(place)}</code></summary>'
    )
    yield '<div class="lp-wide"><table><thead><tr>'
    columns = _columns(function)
    titles = [column.title for column in columns]
    for title in ["Line", *titles]:
        unit = _unit(scale.output_unit) if title == "Time" else ""
        yield f"<th>{_text(title)}{unit}</th>"
    yield '<th class="lp-src">Source</th></tr></thead><tbody>'
    yield from _rows(function, columns, scale, block)
    yield "</tbody></table></div></details>"


def _unit(unit: float) -> str:
    """Return the unit (s) of a column for its title."""
    if unit == AUTO_UNIT:
        return ""
    return f" ({_UNITS.get(unit, f'{unit:g} s')})"


def _columns(function: FunctionTable) -> tuple[Column, ...]:
    """Return the columns of a table, Await only if a line has such time."""
    waits = any(line.row.await_ns for line in function.lines)
    return (*COLUMNS, *((AWAIT,) if waits else ()), *function.columns)


def _rows(
    function: FunctionTable,
    columns: Sequence[Column],
    scale: Scale,
    block: Sequence[str] | None,
) -> Iterator[str]:
    """Yield the lines of a function; without source, only those with numbers."""
    lines = {line.number: line for line in function.lines}
    numbered: Iterable[tuple[int, str]] = ((number, "") for number in sorted(lines))
    if block:
        numbered = enumerate(block, function.line)
    for number, source in numbered:
        line = lines.get(number)
        cells = [one.text(line, scale).strip() if line else "" for one in columns]
        style = heat((scale.percent(line.time) or 0) / 100 if line else 0.0)
        shown = f"<b>{_text(source)}</b>" if number in function.hot else _text(source)
        shown = "\n".join([shown, *map(_text, function.below.get(number, ()))])
        yield _row(number, cells, style, shown)


def _row(number: int, cells: Sequence[str], style: str, source: str) -> str:
    """Return one row; `source` is HTML already, and may have more lines below it."""
    start = f'<tr style="{style}">' if style else "<tr>"
    numbers = "".join(f"<td>{_text(cell)}</td>" for cell in cells)
    dim = "" if any(cells) else " lp-dim"
    return (
        f'{start}<td class="lp-no">{number}</td>{numbers}'
        f'<td class="lp-src{dim}"><pre>{source}</pre></td></tr>'
    )


def _idle(functions: Sequence[FunctionTable]) -> Iterator[str]:
    """Yield the names of functions that never ran."""
    names = [f"{one.name} ({one.file}:{one.line})" for one in functions]
    yield f'<details class="lp-dim"><summary>never ran: {len(names)}</summary><code>'
    yield "<br>".join(map(_text, names))
    yield "</code></details>"


def _text(text: str) -> str:
    """Return any text for HTML, escaped and without control characters."""
    return escape(without_surrogates(printable(text, keep="\t")))


# Style, for light and dark pages: colours are laid over the page's own.


_HEAT = "255,112,0"  # red, green, blue

_MIN_SHARE = 0.01  # of the time, for a line to be coloured

_MIN_OPACITY, _MAX_OPACITY = 0.08, 0.55  # of the heat colour

STYLE = files("lineprof.report").joinpath("notebook.css").read_text("utf-8").strip()


def heat(share: float) -> str:
    """Return the style of a line that took `share` (0 to 1) of the time, "" if little.

    It is an attribute of the row: pages that strip style sheets mostly keep it.
    """
    if share < _MIN_SHARE:
        return ""
    opacity = _MIN_OPACITY + (_MAX_OPACITY - _MIN_OPACITY) * min(1.0, share)
    return f"background-color:rgba({_HEAT},{opacity:.2f})"
