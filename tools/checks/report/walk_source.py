"""Walks through the view of source: lines, callees, panels, keys, paper, a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch
from tools.checks.report.walk_frame import PHONE, WINDOW
from tools.checks.report.walks import expect, press, show, view_of

if TYPE_CHECKING:
    from tools.checks.browser import Page

VIEW = view_of("source")
CODE = "document.querySelector('.code')"
OUTLINE = "document.querySelector('.outline')"
LINES = f"{VIEW}.numbers"
MAX_LEFT = 200  # pixels beside the source on a phone
MAX_SHARE = 100  # %
MAX_DEPTH = 200  # of calls below a line

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
        f"[...{VIEW}.callsFrom].every("
        f"([at, calls]) => {LINES}.get(at).time"
        # Callees in functions of the line itself are a part of its own time.
        f" >= {callees} && {LINES}.get(at).time <= {LINES}.get(at).self + {callees})",
    )


def columns_have_numbers(one: Page) -> None:
    """Look at all columns that the source offers: each has a number of some line."""
    show(one, "source")
    lines = "data.linesOfFile.flatMap((one) => [...one.values()]).map(lineNumbers)"
    without = (
        f"((all) => {VIEW}.known.filter((one) => !one.always && !one.isBoth"
        f" && !all.some((line) => one.text(line))))({lines})"
        ".map((one) => one.name)"
    )
    found = one.value(f"JSON.stringify({without})")
    if found != "[]":
        raise Mismatch(f"columns without numbers: {found}")


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


def to_call(one: Page) -> None:
    """Show the hottest line that calls a function with callees of its own."""
    show(one, "source")
    deepest = (
        "byTime([...data.edges.calls.keys()]).find((edge) =>"
        " data.functions.callsFrom[data.edges.callee[edge]].length"
        " && placeOf(data.edges.caller[edge]))"
    )
    one.value(f"go(callAddress({deepest}))")
    one.wait(f"{CODE}.querySelector('.row.selected .arrows [aria-expanded]')")


def callees_below(one: Page) -> None:
    """Open callees by keys and by the mouse: their numbers are those of the calls."""
    to_call(one)
    press(one, ".code", "ArrowRight")
    opened = f"{CODE}.querySelector('.row.selected [aria-expanded=true]')"
    expect(one, "an open line", opened)
    callees = f"{VIEW}.opened.get({VIEW}.selected)"
    calls = f"{VIEW}.callsFrom.get({VIEW}.selected)"
    for number, of_edges in (("hits", "calls"), ("time", "inclusive")):
        expect(
            one,
            f"{number} of callees",
            f"sum({callees}.map((one) => one.{number}))"
            f" === sum({calls}.map((edge) => data.edges.{of_edges}[edge]))",
        )
    press(one, ".code", "ArrowDown", "ArrowRight")
    below = f"{VIEW}.cursor?.below"
    expect(one, "callees of a callee", f"{VIEW}.cursor.open && {below}.length")
    expect(
        one,
        "callees within their caller",
        f"sum({below}.map((one) => one.run)) <= {VIEW}.cursor.run",
    )
    press(one, ".code", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    is_open = f"{VIEW}.opened.has({VIEW}.selected)"
    expect(one, "closed again", f"!{is_open} && !{VIEW}.cursor")
    button = f"{CODE}.querySelector('.row.selected .arrows button')"
    for expanded in ("true", "false"):
        one.value(f"{button}.click()")
        state = f"{button}.getAttribute('aria-expanded')"
        expect(one, "the arrow's state", f"{state} === {expanded!r}")
    before = one.value("location.hash")
    click = "new MouseEvent('click', {ctrlKey: true, bubbles: true})"
    one.value(f"{button}.dispatchEvent({click})")
    expect(one, "a Ctrl click", f"location.hash !== {before!r}")


def recursion_ends(one: Page) -> None:
    """Open all callees of all lines: each chain ends, with what it knows."""
    show(one, "source")
    depth = one.value(
        f"""(() => {{
          let deepest = 0;
          const open = (rows) => rows.forEach((row) => {{
            deepest = Math.max(deepest, row.depth);
            if (deepest < {MAX_DEPTH}) open(row.below);
          }});
          for (const [line, calls] of {VIEW}.callsFrom) open(calleesOf(line, calls));
          return deepest;
        }})()"""
    )
    if not 0 < depth < MAX_DEPTH:
        raise Mismatch(f"callees are {depth} deep")


def shares_of_callees(one: Page) -> None:
    """Read the titles of callees, and of theirs: each share is of its whole."""
    show(one, "source")
    shares = one.value(
        f"""[...{VIEW}.callsFrom].flatMap(([line, calls]) => calleesOf(line, calls))
          .flatMap((row) => [row, ...row.below])
          .flatMap((row) => {VIEW}.calleeRow(row).title.match(/[\\d.]+(?=%)/) ?? [])"""
    )
    if not shares or max(map(float, shares)) > MAX_SHARE:
        raise Mismatch(f"shares of callees are {shares} %")


# More call paths than are kept: what is known of the others are sums.
DEEPER = """\
def leaf(n):
    return sum(range(2000 * n))
def even(n):
    leaf(n)
    return n and odd(n - 1)
def odd(n):
    return leaf(n) + (even(n - 1) if n else 0)
def main():
    even(6)
    odd(5)
main()
"""
MAX_PATHS = "3"


def lost_within_calls(one: Page) -> None:
    """Read the rows that stand for call paths that were not kept."""
    show(one, "source")
    rows = (
        f"[...{VIEW}.callsFrom].flatMap(([line, calls]) => calleesOf(line, calls))"
        ".flatMap((row) => row.below).filter((row) => row.note)"
    )
    expect(one, "lost paths", f"{rows}.length")
    expect(one, "their share", f"{rows}.every((row) => row.run <= row.above.run)")


def columns_fit(one: Page) -> None:
    """Make the window narrower, and wide again: columns without room are left out."""
    show(one, "source")
    titles = f"{CODE}.querySelectorAll('.head [role=columnheader]').length"
    wide = one.value(titles)
    one.size(800, WINDOW[1])
    expect(one, "fewer columns", f"{titles} < {wide}")
    one.size(*WINDOW)
    expect(one, "all columns", f"{titles} === {wide}")


def own_columns(one: Page) -> None:
    """Look at the columns that are shown at first, and show another one."""
    show(one, "source")
    titles = f"[...{CODE}.querySelectorAll('.head [role=columnheader]')]"
    text = f"{titles}.map((one) => one.textContent).join()"
    expect(one, "two numbers", f"{text}.startsWith('Line,% run,Time \\u00d7 Hits')")
    boxes = "[...document.querySelectorAll('.middle .menu label')]"
    box = f"{boxes}.find((one) => one.textContent.includes('% func')).firstChild"
    for number in (1, 0):
        one.value(f"{box}.click()")
        count = f"{titles}.filter((one) => one.textContent === '% func').length"
        expect(one, "% func", f"{count} === {number}")


def function_above(one: Page) -> None:
    """Look for the function of the first line in sight, which is a link."""
    show(one, "source")
    link = f"{CODE}.querySelector('.around a')"
    expect(one, "the function above", link)
    expect(one, "its calls", f"{link}.parentElement.textContent.includes('call')")


def steps_and_jumps(one: Page) -> None:
    """Step with keys, which leaves the history as it is; jump, which adds to it."""
    show(one, "source")
    one.value("location.hash = '#source'")
    one.wait("document.querySelector('.code .row.selected')")
    before = one.value("history.length")
    press(one, ".code", "Home", "j", "j", "ArrowDown", "k")
    expect(one, "a step", "location.hash.endsWith('/3')")
    expect(one, "no entries", f"history.length === {before}")
    press(one, ".code", "n")
    expect(one, "an entry", f"history.length === {before} + 1 || {before} === 50")


def panels_change_size(one: Page) -> None:
    """Move the handles of the panels by keys, and put them back."""
    show(one, "source")
    for name, element, key in (
        ("outline", ".outline", "ArrowRight"),
        ("detail", ".detail", "ArrowUp"),
    ):
        handle = f".splitter.{name}-handle"
        size = f"document.querySelector('{element}')"
        size = f"({size}.offsetWidth + {size}.offsetHeight)"
        before = one.value(size)
        press(one, handle, key)
        expect(one, f"a larger {name}", f"{size} === {before} + 16")
        now = f"document.querySelector('{handle}').getAttribute('aria-valuenow')"
        expect(one, "it is told", f"Number({now}) > 0")
        press(one, handle, "Home")
        expect(one, f"{name} as before", f"{size} === {before}")


def functions_are_one_stop(one: Page) -> None:
    """Walk through the functions by keys: one of them takes the Tab key."""
    show(one, "source")
    stops = f"{OUTLINE}.querySelectorAll('a[tabindex=\"0\"]').length"
    expect(one, "one stop", f"{stops} === 1")
    press(one, ".outline .list", "ArrowDown")
    last = f"{OUTLINE}.querySelectorAll('a')[1]"
    expect(one, "the second function", f"document.activeElement === {last}")
    expect(one, "still one stop", f"{stops} === 1")
    press(one, ".outline .list", "Home", "Escape")
    expect(one, "the source", f"document.activeElement === {CODE}")


def callees_stay_open(one: Page) -> None:
    """Open callees, leave the file or show hot lines alone: all is as it was."""
    to_call(one)
    place = one.value("location.hash")
    press(one, ".code", "ArrowRight", "ArrowDown")
    chosen = f"{CODE}.querySelector('.row.callee.selected')"
    for pressed in ("true", "false"):
        press(one, ".code", "h")
        button = "document.querySelector('.middle [aria-pressed]').ariaPressed"
        expect(one, "a callee in sight", f"{button} === {pressed!r} && {chosen}")
        step = f"Math.min(ROW, {VIEW}.map.size.height / {VIEW}.shown.length)"
        expect(one, "the map of what is shown", f"{VIEW}.map.step === {step}")
    one.value(f"{VIEW}.open({VIEW}.file)")
    one.value(f"go({place!r})")
    is_open = f"{VIEW}.opened.has({VIEW}.selected)"
    expect(one, "callees as before", is_open)
    press(one, ".code", "ArrowLeft")
    expect(one, "no callees", f"!{is_open}")


def menu_of_columns(one: Page) -> None:
    """Open the menu of columns: it is in the window; Escape and a click close it."""
    show(one, "source")
    menu = "document.querySelector('.middle .menu')"
    for width in (WINDOW[0], 800, PHONE[0]):
        one.size(width, WINDOW[1])
        one.value(f"{menu}.firstChild.click()")
        box = f"{menu}.lastChild.getBoundingClientRect()"
        expect(one, "all of it", f"{box}.left >= 0 && {box}.right <= {width}")
        one.value(f"{menu}.querySelector('input').focus()")
        one.press("Escape")
        focus = f"document.activeElement === {menu}.firstChild"
        expect(one, "closed by Escape", f"!{menu}.open && {focus}")
        one.value(f"{menu}.firstChild.click()")
        one.click(width / 2, WINDOW[1] - 20)
        expect(one, "closed by a click", f"!{menu}.open")
    one.size(*WINDOW)


def menu_keeps_the_focus(one: Page) -> None:
    """Make the window narrower while the menu of columns has the focus."""
    show(one, "source")
    title = "document.querySelector('.middle .menu').firstChild"
    expect(one, "the columns of a wide window", f"!{VIEW}.wasNarrow")
    one.value(f"{title}.focus()")
    one.size(*PHONE)
    expect(one, "the columns of a phone", f"{VIEW}.wasNarrow")
    expect(one, "the focus as before", f"document.activeElement === {title}")
    one.size(*WINDOW)


def long_lines_can_be_read(one: Page) -> None:
    """Scroll to the right on a phone: all of each line is in its row."""
    show(one, "source")
    one.size(*PHONE)
    rows = f"[...{CODE}.querySelectorAll('.rows .row')]"
    text = "one.lastChild"
    cut = f"{rows}.filter((one) => {text}.scrollWidth > {text}.offsetWidth)"
    wide = f"{CODE}.scrollWidth > {CODE}.clientWidth"
    expect(one, "whole lines", f"{rows}.length && {wide} && !{cut}.length")
    one.size(*WINDOW)


def over_the_run(one: Page) -> None:
    """Look for the drawing of when a line ran."""
    show(one, "source")
    expect(one, "a drawing", f"{CODE}.querySelector('.of-over svg path[d]')")
    label = f"{CODE}.querySelector('.of-over svg').getAttribute('aria-label')"
    expect(one, "its words", f"{label}.includes('peak')")
    expect(one, "what it lacks", f"{label}.includes('without executions below 10')")


def hot_lines_on_paper(one: Page) -> None:
    """Print: of a line that is not near a hot one, only the number is on paper."""
    show(one, "source")
    shown = f"{VIEW}.shown"
    before = one.value(f"{shown}.length")
    one.value("dispatchEvent(new Event('beforeprint'))")
    hot = f"[...{VIEW}.numbers].filter(([, one]) => heat(one) >= 0.01)"
    near = f"{hot}.every(([line]) => {shown}.includes(line))"
    expect(one, "hot lines", f"{near} && {VIEW}.rows.shown.size === {shown}.length")
    one.value("dispatchEvent(new Event('afterprint'))")
    expect(one, "all lines again", f"{shown}.length === {before}")


def code_first_on_phones(one: Page) -> None:
    """Look at the source on a phone: the code is in sight, beside one number."""
    show(one, "source")
    one.size(*PHONE)
    left = f"{CODE}.querySelector('.rows .text').getBoundingClientRect().left"
    expect(one, "code on a phone", f"{left} < {MAX_LEFT}")
    titles = f"{CODE}.querySelectorAll('.head [role=columnheader]').length"
    expect(one, "one number", f"{titles} === 4")
    one.size(*WINDOW)
    expect(one, "two numbers", f"{titles} > 4")


WALK = (
    count_once,
    hot_lines_by_key,
    follow_calls,
    callees_below,
    callees_stay_open,
    menu_of_columns,
    menu_keeps_the_focus,
    long_lines_can_be_read,
    recursion_ends,
    own_columns,
    function_above,
    steps_and_jumps,
    panels_change_size,
    functions_are_one_stop,
    over_the_run,
    hot_lines_on_paper,
    code_first_on_phones,
)
