"""A walk through the tab Summary: links, the folded calls, one whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.checks.report.walks import expect, show

if TYPE_CHECKING:
    from tools.checks.browser import Page

PANEL = "document.querySelector('#panel-summary')"
ROWS = f"{PANEL}.querySelectorAll('.calls tbody tr').length"


def summary(one: Page) -> None:
    """Follow the links of the summary, and open and close its calls."""
    show(one, "summary")
    expect(one, "the parts", f"{PANEL}.querySelectorAll('.legend li').length > 1")
    expect(
        one,
        "each number of a card is a link",
        f"[...{PANEL}.querySelectorAll('.card b')].every((b) => b.closest('a'))",
    )
    expect(
        one,
        "the line with the most time of its own",
        f"{PANEL}.querySelector('.card .name').textContent === (() => {{"
        " const [i] = hotLines();"
        " return `${fileName(lineFile(i))}:${data.lines.line[i]}`; })()",
    )
    expect(
        one,
        "shares of the run",
        f"{PANEL}.querySelector('.card').textContent"
        ".includes(ofRun(data.lines.self[hotLines()[0]]))",
    )
    _follow_all(one)
    _fold(one)
    _unfold_all(one)


def _follow_all(one: Page) -> None:
    """Follow each link; it leads to a tab that shows something."""
    count = int(one.value(f"{PANEL}.querySelectorAll('a').length"))
    for number in range(count):
        show(one, "summary")
        link = f"{PANEL}.querySelectorAll('a')[{number}]"
        address = one.value(f"{link}.getAttribute('href')")
        one.value(f"{link}.click()")
        expect(one, address, f"location.hash === {address!r}")
        tab = address[1:].partition("/")[0]
        expect(one, address, f"!document.getElementById('panel-{tab}').hidden")
        if tab == "source":
            line = address.rpartition("/")[2]
            told = "document.querySelector('.detail h2').textContent"
            expect(one, address, f"{told}.endsWith(':{line}')")


def _fold(one: Page) -> None:
    """Open and close the calls of the first row, or the other way round."""
    show(one, "summary")
    button = f"{PANEL}.querySelector('.calls button.fold')"
    rows = one.value(ROWS)
    first = one.value(f"{button}.getAttribute('aria-expanded')")
    for is_open in ("false", "true") if first == "true" else ("true", "false"):
        one.value(f"{button}.click()")
        expect(
            one,
            "a fold",
            f"{button}.getAttribute('aria-expanded') === '{is_open}'"
            f" && ({ROWS} === {rows}) === {str(is_open == first).lower()}",
        )


def _unfold_all(one: Page) -> None:
    """Open the calls of each row: there is something below it."""
    closed = f"{PANEL}.querySelector('.calls button.fold[aria-expanded=false]')"
    while one.value(f"Boolean({closed})"):
        rows = one.value(ROWS)
        one.value(f"{closed}.click()")
        expect(one, "rows below a fold", f"{ROWS} > {rows}")


WALK = (summary,)
