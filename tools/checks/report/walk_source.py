"""Walks through the view of source: callees, columns, panels, keys, paper, a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch
from tools.checks.report.walks import expect, press, show

if TYPE_CHECKING:
    from tools.checks.browser import Page

WIDTH, HEIGHT = 1440, 900
PHONE = (390, 844)
VIEW = "tabs.find((one) => one.name === 'source').view"
CODE = "document.querySelector('.code')"
OUTLINE = "document.querySelector('.outline')"
MAX_LEFT = 200  # pixels beside the source on a phone
MAX_DEPTH = 200  # of calls below a line


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
        button = "document.querySelector('.toggle').getAttribute('aria-pressed')"
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
    for width in (WIDTH, 800, PHONE[0]):
        one.size(width, HEIGHT)
        one.value(f"{menu}.firstChild.click()")
        box = f"{menu}.lastChild.getBoundingClientRect()"
        expect(one, "all of it", f"{box}.left >= 0 && {box}.right <= {width}")
        one.value(f"{menu}.querySelector('input').focus()")
        one.press("Escape")
        focus = f"document.activeElement === {menu}.firstChild"
        expect(one, "closed by Escape", f"!{menu}.open && {focus}")
        one.value(f"{menu}.firstChild.click()")
        one.click(width / 2, HEIGHT - 20)
        expect(one, "closed by a click", f"!{menu}.open")
    one.size(WIDTH, HEIGHT)


def long_lines_can_be_read(one: Page) -> None:
    """Scroll to the right on a phone: all of each line is in its row."""
    show(one, "source")
    one.size(*PHONE)
    rows = f"[...{CODE}.querySelectorAll('.rows .row')]"
    text = "one.lastChild"
    cut = f"{rows}.filter((one) => {text}.scrollWidth > {text}.offsetWidth)"
    wide = f"{CODE}.scrollWidth > {CODE}.clientWidth"
    expect(one, "whole lines", f"{rows}.length && {wide} && !{cut}.length")
    one.size(WIDTH, HEIGHT)


def over_the_run(one: Page) -> None:
    """Look for the drawing of when a line ran."""
    show(one, "source")
    expect(one, "a drawing", f"{CODE}.querySelector('.of-over svg path[d]')")
    label = f"{CODE}.querySelector('.of-over svg').getAttribute('aria-label')"
    expect(one, "its words", f"{label}.includes('peak')")


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
    one.size(WIDTH, HEIGHT)
    expect(one, "two numbers", f"{titles} > 4")


WALK = (
    callees_below,
    callees_stay_open,
    menu_of_columns,
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
