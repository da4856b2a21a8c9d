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
def twice(call):
    return call(60) + call(90)
twice(lambda value: slow(value))
def one(value): return slow(value)
one(2) + one(3)
def down(value):
    slow(200)
    return value and down(value - 1)
down(9)
"""
# Hits of lines of NESTED that several functions share: what is called from elsewhere is
# an execution of its own, as of a function on the line of its `def`.
SHARED = {3: 1, 5: 2, 8: 1, 13: 1, 14: 3}


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
    """Go from a line to its callee by the callee's name, and back by an arrow."""
    show(one, "source")
    code = "document.querySelector('.code')"
    steps = {
        "callee": f"{code}.querySelector('.callee a')",
        "caller": f"{code}.querySelector('[aria-label^=\"Go to the caller\"]')",
    }
    closed = f"{code}.querySelector('.arrows [aria-expanded=false]')"
    expect(one, "an arrow to callees", closed)
    one.value(f"{closed}.click()")
    for whom, link in steps.items():
        expect(one, f"a way to a {whom}", link)
        before = one.value("location.hash")
        label = f"{link}.getAttribute('aria-label') ?? {link}.textContent"
        name = one.value(label).split()[-1]
        one.value(f"{link}.click()")
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


TITLE = f"""
(() => {{
  const view = {TIMELINE};
  const box = view.canvas.getBoundingClientRect();
  const index = view.bands.findIndex((one) => one.heading);
  return [box.x + 30, box.y + (index + 1.5) * 16 - view.scroller.scrollTop];
}})()
"""


def fold_a_group(one: Page) -> None:
    """Click on the title of the first group of the timeline: its rows go and come."""
    show(one, "timeline")
    one.wait(f"{TIMELINE}.bands && {TIMELINE}.whole")
    rows = f"{TIMELINE}.bands.length"
    before = one.value(rows)
    one.click(*one.value(TITLE))
    expect(one, "a folded group", f"{rows} < {before}")
    one.click(*one.value(TITLE))
    expect(one, "all groups", f"{rows} === {before}")


LINES = "tabs.find((one) => one.name === 'source').view.numbers"


def count_once(one: Page) -> None:
    """Show the source; no line has more time than the lines of its function."""
    show(one, "source")
    expect(one, "lines", f"{LINES}.size")
    within_whole = "(line) => line.time <= line.whole"
    expect(one, "each time once", f"[...{LINES}.values()].every({within_whole})")


def hits_of_outer_functions(one: Page) -> None:
    """Look for lines that several functions share: each execution counts once."""
    count_once(one)
    for line, hits in SHARED.items():
        expect(one, f"hits of line {line}", f"{LINES}.get({line}).hits === {hits}")
        expect(one, f"line {line} is shared", f"{LINES}.get({line}).indexes.length > 1")
    callees = "sum(calleesOf(at, calls).map((one) => one.time))"
    expect(
        one,
        "a line's time is its own and that of its callees",
        f"[...tabs.find((one) => one.name === 'source').view.callsFrom].every("
        f"([at, calls]) => {LINES}.get(at).time"
        # Callees in functions of the line itself are a part of its own time.
        f" >= {callees} && {LINES}.get(at).time <= {LINES}.get(at).self + {callees})",
    )


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
