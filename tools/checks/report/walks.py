"""Walks through a report as a reader does: tabs, tables, keys, links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch

if TYPE_CHECKING:
    from tools.checks.browser import Page

TIMELINE = "tabs.find((one) => one.name === 'timeline').view"

NESTED = """\
def slow(value):
    return sum(range(value))
class Shape:
    side = 3
    def area(self): return slow(self.side) ** 2
def main():
    values = list(range(300))
    values.sort(key=lambda value: -slow(value))
    return [slow(value) for value in values], Shape().area()
main()
"""
SHARED = {3: 1, 5: 1, 8: 1}  # hits of lines of NESTED that several functions share


def show(one: Page, tab: str) -> None:
    """Click a tab and wait until it is shown."""
    one.value(f"document.getElementById('tab-{tab}').click()")
    one.wait(f"!document.getElementById('panel-{tab}').hidden")


def drawn(one: Page) -> None:
    """Wait until the page is drawn as it is now."""
    frame = "new Promise(requestAnimationFrame)"
    one.value(f"{frame}.then(() => {frame}).then(() => 0)")


def expect(one: Page, what: str, expression: str) -> None:
    """Raise Mismatch unless a JavaScript expression is true, or becomes it."""
    try:
        one.wait(expression, limit_s=5)
    except Mismatch:
        raise Mismatch(f"{what}: not so: {expression}") from None


def press(one: Page, selector: str, *keys: str) -> None:
    """Press keys in an element."""
    for key in keys:
        event = f"new KeyboardEvent('keydown', {{key: {key!r}, bubbles: true}})"
        one.value(f"document.querySelector({selector!r}).dispatchEvent({event})")


def sort_tables(one: Page) -> None:
    """Sort the tables of functions, lines and files by each of their columns."""
    for tab in ("functions", "lines", "files"):
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
    field = "document.querySelector('#panel-functions .search')"
    for text, rows in (("no such name", "=== 0"), ("", "> 0")):
        one.value(
            f"{field}.value = {text!r}, {field}.dispatchEvent(new Event('input'))"
        )
        expect(
            one,
            f"a search for {text!r}",
            f"document.querySelectorAll('#panel-functions .rows .row').length {rows}",
        )


def follow_calls(one: Page) -> None:
    """Go from a line to its callee by the arrow, and back to the caller by another."""
    show(one, "source")
    arrow = "document.querySelector('.arrows button[aria-label^=\"Go to the {}\"]')"
    for whom in ("callee", "caller"):
        button = arrow.format(whom)
        expect(one, f"an arrow to a {whom}", button)
        before = one.value("location.hash")
        name = one.value(f"{button}.getAttribute('aria-label')").split()[-1]
        one.value(f"{button}.click()")
        expect(one, f"the {whom}", f"location.hash !== {before!r}")
        told = "document.querySelector('.detail').textContent"
        expect(one, f"the {whom} {name}", f"{told}.includes({name!r})")


def hot_lines_by_key(one: Page) -> None:
    """Go to the next hot line and back by keys."""
    show(one, "source")
    one.value("location.hash = '#source'")
    one.wait("document.querySelector('.code .row.selected')")
    place = "document.querySelector('.detail h2').textContent"
    first = one.value(place)
    press(one, ".code", "n")
    expect(one, "the next hot line", f"{place} !== {first!r}")
    press(one, ".code", "p")
    expect(one, "the hottest line", f"{place} === {first!r}")


def zoom_flames(one: Page) -> None:
    """Show each form of the flame graph for each of its metrics, and walk by keys."""
    show(one, "flame")
    buttons = "[...document.querySelectorAll('#panel-flame .choice button')]"
    for index in range(int(one.value(f"{buttons}.length"))):
        button = f"{buttons}[{index}]"
        one.value(f"{button}.click()")
        expect(one, "a choice", f"{button}.getAttribute('aria-pressed') === 'true'")
    for title in ("Time", "Left heavy"):
        one.value(f"{buttons}.find((one) => one.textContent === {title!r}).click()")
    press(one, "#panel-flame canvas", "ArrowDown", "Enter", "Escape", "ArrowDown")
    info = "document.querySelector('#panel-flame .info')"
    expect(one, "a box is told", f"{info}.textContent.includes('own')")


FIRST_KERNEL = f"""
(() => {{
  const view = {TIMELINE};
  const lane = view.bands.find((one) => one.kind === 'gpu');
  const i = lane.items[0];
  const {{ start, ns }} = lane.columns;
  [view.from, view.to] = [start[i] - ns[i], start[i] + 2 * ns[i]];
  view.clamp();
  view.draw();
  const box = view.canvas.getBoundingClientRect();
  const y = (view.bands.indexOf(lane) + 1.5) * 16 - view.scroller.scrollTop;
  return [box.x + view.x(start[i] + ns[i] / 2), box.y + y];
}})()
"""


def kernel_to_line(one: Page) -> None:
    """Click on a kernel in the timeline, and go to the line that launched it."""
    show(one, "timeline")
    one.wait(f"{TIMELINE}.bands && {TIMELINE}.whole")
    one.click(*one.value(FIRST_KERNEL))
    link = "document.querySelector('#panel-timeline .info a')"
    expect(one, "the line of a kernel", link)
    place = one.value(f"{link}.textContent")
    press(one, ".timeline canvas", "Enter")
    expect(one, "the source", "!document.getElementById('panel-source').hidden")
    told = "document.querySelector('.detail h2').textContent"
    expect(one, "the line that launched a kernel", f"{told} === {place!r}")


LINES = "tabs.find((one) => one.name === 'source').view.numbers"


def count_once(one: Page) -> None:
    """Show the source; no line has more time than the lines of its function."""
    show(one, "source")
    expect(one, "lines", f"{LINES}.size")
    within_whole = "(line) => line.time <= line.whole"
    expect(one, "each time once", f"[...{LINES}.values()].every({within_whole})")


def hits_of_outer_functions(one: Page) -> None:
    """Look for lines that several functions share: hits are those of the outer one."""
    count_once(one)
    for line, hits in SHARED.items():
        expect(one, f"hits of line {line}", f"{LINES}.get({line}).hits === {hits}")
        expect(one, f"line {line} is shared", f"{LINES}.get({line}).indexes.length > 1")


def prints_black_on_white(one: Page) -> None:
    """Look at the colours with which a dark page is printed."""
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    one.send("Emulation.setEmulatedMedia", media="print", features=[dark])
    colours = "getComputedStyle(document.body)"
    expect(one, "ink", f"{colours}.color === 'rgb(0, 0, 0)'")
    expect(one, "paper", f"{colours}.backgroundColor === 'rgb(255, 255, 255)'")
    one.send("Emulation.setEmulatedMedia", media="", features=[dark])


def no_injection(one: Page) -> None:
    """Look for elements that only the hostile source has."""
    expect(
        one,
        "no markup of the source",
        "!document.querySelector('main img, main svg, main script')",
    )
    show(one, "source")
    expect(
        one,
        "escapes are shown",
        "document.querySelector('.code').textContent.includes('\\\\u202e')",
    )


WALK = (count_once, sort_tables, search, hot_lines_by_key, zoom_flames)
