"""Walks through tables: order, search, rows that are used again, bars, phones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch
from tools.checks.report.figures import scroll
from tools.checks.report.walk_frame import PHONE, WINDOW
from tools.checks.report.walks import expect, press, search_for, show, view_of

if TYPE_CHECKING:
    from tools.checks.browser import Page

FIRST = {"functions": "Function", "lines": "Line", "files": "File"}  # on phones
ROWS = "[...{}.rows.shown].sort(([one], [other]) => one - other)"


def table_of(tab: str) -> str:
    """Return an expression for the first table of a tab."""
    return f"{view_of(tab)}.tables[0]"


def sort_tables(one: Page) -> None:
    """Sort the tables of functions, lines and files by each of their columns."""
    for tab in FIRST:
        show(one, tab)
        titles = f"document.querySelectorAll('#panel-{tab} .head button')"
        for index in range(int(one.value(f"{titles}.length"))):
            for order in ("ascending", "descending"):
                cell = f"{titles}[{index}].parentElement"
                one.value(
                    f"{titles}[{index}].click(),"
                    f"{cell}.getAttribute('aria-sort') === {order!r}"
                    f" || {titles}[{index}].click()"
                )
                expect(
                    one,
                    f"{tab}: sorted",
                    f"{cell}.getAttribute('aria-sort') === {order!r}",
                )
                expect(
                    one,
                    f"{tab}: rows",
                    f"document.querySelector('#panel-{tab} .rows .row')",
                )


def search(one: Page) -> None:
    """Search the table of functions for a name that does not exist, and for all."""
    show(one, "functions")
    for text, rows in (("no such name", "=== 0"), ("", "> 0")):
        search_for(one, "functions", text)
        expect(
            one,
            f"a search for {text!r}",
            f"document.querySelectorAll('#panel-functions .rows .row').length {rows}",
        )


def rows_are_used_again(one: Page) -> None:
    """Scroll tables: each row has its own texts and place, and is in order at rest."""
    for tab in FIRST:
        show(one, tab)
        table = table_of(tab)
        rows = ROWS.format(table)
        for px in (700, 60):
            one.value(scroll(f"#panel-{tab} .table", px, 20))
            text = f"row.textContent === {table}.row(index).textContent"
            expect(one, f"{tab}: texts", f"{rows}.every(([index, row]) => {text})")
            order = f"row === {table}.rows.body.children[at]"
            expect(one, f"{tab}: order", f"{rows}.every(([, row], at) => {order})")
            above = "row.getBoundingClientRect().top - 24 * at"
            place = f"Math.abs({above} - all[0][1].getBoundingClientRect().top) < 1"
            expect(
                one, f"{tab}: places", f"{rows}.every(([, row], at, all) => {place})"
            )


def bars_can_be_compared(one: Page) -> None:
    """Look at the bars of each column: they begin at the same place."""
    for tab in FIRST:
        show(one, tab)
        bars = f"[...document.querySelectorAll('#panel-{tab} .rows .bar')]"
        expect(one, f"{tab}: bars", f"{bars}.length")
        left = "one.getBoundingClientRect().left"
        starts = one.value(f"[...new Set({bars}.map((one) => {left}))]")
        if len(starts) != 1:
            raise Mismatch(f"{tab}: bars begin at {starts}")


def time_per_call(one: Page) -> None:
    """Read the time of a call of a recursive function: outermost calls share it."""
    show(one, "functions")
    cells = (
        f"((title, f) => {table_of('functions')}.columns"
        ".find((one) => one.title === title).text(f))"
    )
    down = "data.functions.name.indexOf('down')"  # 10 calls, 1 of them from outside
    total = f"time(data.functions.total[{down}])"
    expect(one, "time per call", f"{cells}('Per call', {down}) === {total}")


def keys_select_rows(one: Page) -> None:
    """Go down by keys and open a row; a click selects another one."""
    show(one, "lines")
    table = table_of("lines")
    press(one, "#panel-lines .table", "Home", "ArrowDown")
    selected = "document.querySelector('#panel-lines .row.selected')"
    expect(one, "the second row", f"{selected}.getAttribute('aria-rowindex') === '3'")
    one.value(f"{table}.rows.shown.get(0).lastChild.click()")
    expect(one, "the source", "!document.getElementById('panel-source').hidden")
    show(one, "lines")
    expect(one, "the first row", f"{table}.selected === 0")


def phones_show_what_matters(one: Page) -> None:
    """Look at tables on a phone: the name first, a bar, nothing out of sight."""
    one.size(*PHONE)
    for tab, title in FIRST.items():
        show(one, tab)
        area = f"document.querySelector('#panel-{tab} .table')"
        expect(one, f"{tab}: {title}", f"{area}.innerText.startsWith({title!r})")
        expect(one, f"{tab}: no scroll", f"{area}.scrollWidth <= {area}.clientWidth")
        expect(one, f"{tab}: a bar", f"{area}.querySelector('.rows .bar')")
        places_keep_their_end(tab, one)
    one.size(*WINDOW)
    expect(one, "all columns", f"{table_of('lines')}.shown.length > 3")


def places_keep_their_end(tab: str, one: Page) -> None:
    """Look at the links of a table: their ends, numbers of lines, are in sight."""
    links = f"[...document.querySelectorAll('#panel-{tab} .rows [role=cell] > a')]"
    right = "getBoundingClientRect().right"
    cut = f"{links}.filter((one) => one.firstChild.{right} > one.{right} + 1)"
    expect(one, f"{tab}: ends of places", f"{links}.length && !{cut}.length")


def changes_on_phones(one: Page) -> None:
    """Look at a comparison on a phone: the place of each change, nothing beside."""
    one.size(*PHONE)
    for tab, titles in (
        ("lines", "Line,Source,Change"),
        ("functions", "Line,Function,Change"),
    ):
        show(one, tab)
        table = table_of(tab)
        shown = f"{table}.shown.map((one) => one.title).join()"
        expect(one, f"{tab}: columns", f"{shown} === {titles!r}")
        area = f"{table}.element"
        expect(one, f"{tab}: no scroll", f"{area}.scrollWidth <= {area}.clientWidth")
        places_keep_their_end(tab, one)
    one.size(*WINDOW)


def few_rows_on_paper(one: Page) -> None:
    """Print a long table: its first rows, and how many more there are."""
    show(one, "lines")
    table = table_of("lines")
    one.value("dispatchEvent(new Event('beforeprint'))")
    rest = f"{table}.rows.body.lastChild.textContent.includes(' more row')"
    all_rows = f"{table}.rows.shown.size === {table}.list.length"
    expect(one, "rows on paper", f"{rest} !== ({all_rows})")
    one.value("dispatchEvent(new Event('afterprint'))")
    expect(one, "rows on the screen", f"!{rest}")


WALK = (
    sort_tables,
    search,
    rows_are_used_again,
    bars_can_be_compared,
    keys_select_rows,
    phones_show_what_matters,
    few_rows_on_paper,
)
