"""Walks through what all pages have: dialogs, the palette, the focus, safety."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch
from tools.checks.report.walks import drawn, expect, show

if TYPE_CHECKING:
    from tools.checks.browser import Page

WINDOW, PHONE = (1440, 900), (390, 844)  # width and height of the page
DIALOGS = {
    "keys": "openKeys()",
    "palette": "openPalette()",
    "editor": "openEditors()",
    "text": "showText('Copy', 'a text', 'Why it is here.')",
}
FOCUSED = "document.activeElement"
OPEN = "document.querySelector('dialog[open]')"
FIRST_OPTION = "document.querySelector('[role=option][aria-selected=true]')"
# The name of a function, of one word and in lower case.
FUNCTION = """
findable().find((one) => one.kind.name === "function" && !one.low.includes(" ")).low
"""

# Keys that a view acts on, and those that it lists; [] if the page has no such tab.
KEYS = """
((view) => {
  const known = new Set();
  const real = act;
  act = (event, actions) => Object.keys(actions).forEach((one) => known.add(one));
  mainElement().dispatchEvent(new KeyboardEvent("keydown", { key: "F13" }));
  act = real;
  const listed = view.keys ? view.keys.list.flatMap(([names]) => names.split(" ")) : [];
  return known.size ? [[...known].sort().join(" "), listed.sort().join(" ")] : [];
})(current.view)
"""


def tabs_of(one: Page) -> list[str]:
    """Return the names of the tabs."""
    names: list[str] = one.value("tabs.map((one) => one.name)")
    return names


def fits_the_screen(where: str, one: Page) -> None:
    """Raise Mismatch if the page has to be scrolled sideways."""
    area = "document.scrollingElement"
    wide, room = one.value(f"[{area}.scrollWidth, innerWidth]")
    if wide > room:
        raise Mismatch(f"{where}: the page is {wide} pixels wide, the screen {room}")


def lists_the_keys_of_views(one: Page) -> None:
    """Compare the keys that each view lists with those on which it acts."""
    for tab in tabs_of(one):
        show(one, tab)
        found = one.value(KEYS)
        if found and found[0] != found[1]:
            raise Mismatch(f"{tab}: acts on {found[0]}; lists {found[1]}")


def shows_all_keys(one: Page) -> None:
    """Open the list of keys by one, and close it."""
    one.value(f"{FOCUSED}.blur()")
    one.press("?")
    expect(one, "a list of keys", f"{OPEN}?.textContent.includes('Everywhere')")
    one.press("Escape")
    expect(one, "no list", f"!{OPEN}")


def takes_keys_at_once(one: Page) -> None:
    """Press keys of a view before anything has the focus."""
    for tab in tabs_of(one):
        show(one, tab)
        one.value(f"{FOCUSED}.blur()")
        rows = "mainElement().querySelector('[aria-rowindex]')?.offsetParent"
        if tab in {"sides", "source"} or not one.value(f"Boolean({rows})"):
            continue
        for before in ("document.body", "current.button"):
            one.value(f"{FOCUSED}.blur(), {before}.focus()")
            one.press("ArrowDown")
            chosen = f"document.querySelector('#panel-{tab} .row.selected')"
            expect(one, f"{tab}: a row chosen by a key in {before}", chosen)
            expect(one, f"{tab}: the focus", f"{FOCUSED} === mainElement()")


def starts_with_a_way_to_the_view(one: Page) -> None:
    """Go from the top of the page to the view, by two keys."""
    one.value("document.querySelector('.skip').focus()")
    one.press("Enter")
    expect(one, "the focus in the view", f"{FOCUSED} === mainElement()")


def searches_the_shown_tab(one: Page) -> None:
    """Press / in each tab: the field of the tab gets the focus, if there is one."""
    for tab in tabs_of(one):
        show(one, tab)
        one.value(f"{FOCUSED}.blur()")
        one.press("/")
        field = f"#panel-{tab} .search:not(.outline *)"
        if one.value(f"Boolean(document.querySelector('{field}'))"):
            expect(one, f"{tab}: its search", f"{FOCUSED}.matches('{field}')")
            one.press("Escape")
            expect(one, f"{tab}: its rows", f"!{FOCUSED}.matches('{field}')")


def finds_a_function(one: Page) -> None:
    """Find a function in the palette, and go to it; Escape gives the focus back."""
    show(one, tabs_of(one)[-1])
    one.value("current.button.focus()")
    one.press("Ctrl+k")
    expect(one, "the field", f"{FOCUSED}.matches('.palette .search')")
    one.press("Escape")
    expect(one, "the focus as before", f"{FOCUSED} === current.button && !{OPEN}")
    one.press("Ctrl+k")
    function = one.value(FUNCTION)
    one.type(function)
    name = f"{FIRST_OPTION}?.querySelector('code').textContent.toLowerCase()"
    expect(one, "the function comes first", f"{name} === {function!r}")
    one.press("ArrowDown", "ArrowUp", "Enter")
    expect(one, "the source", "['source', 'sides'].includes(current.name)")
    expect(one, "the focus in the view", f"{FOCUSED} === mainElement()")


def steps_leave_no_history(one: Page) -> None:
    """Go to addresses by steps and by a jump: the way back is one entry long."""
    first, second, *_ = tabs_of(one)
    show(one, first)
    before = one.value("history.length")
    for tab in (second, first, second):
        one.value(f"go('#{tab}', true)")
    expect(one, "a step", f"history.length === {before} && current.name === '{second}'")
    expect(one, "its address", f"location.hash === '#{second}'")


def goes_back(one: Page) -> None:
    """Go to a tab and back by the browser."""
    first, second, *_ = tabs_of(one)
    show(one, first)
    show(one, second)
    one.value("history.back()")
    expect(one, "the tab before", f"current.name === '{first}'")
    drawn(one)


def empty_tabs_come_last(one: Page) -> None:
    """Look for the timeline of a profile without slices: the last tab, and paler."""
    last = "tabs.at(-1)"
    expect(one, "the last tab", f"{last}.name === 'timeline' && {last}.view.isEmpty")
    expect(one, "its look", f"{last}.button.classList.contains('dim')")


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


def typed_ms(one: Page, text: str) -> float:
    """Type a text into the palette; return the longest time of one key (ms).

    The time of a key is the shortest of three: others may have the processor.
    """
    one.value("openPalette(), 0")
    longest = one.value(
        f"""(() => {{
          const field = document.querySelector(".palette .search");
          let longest = 0;
          for (const letter of {text!r}) {{
            field.value += letter;
            const times = [1, 2, 3].map(() => {{
              const before = performance.now();
              field.dispatchEvent(new Event("input"));
              document.body.offsetHeight; // the layout is a part of it
              return performance.now() - before;
            }});
            longest = Math.max(longest, Math.min(...times));
          }}
          return longest;
        }})()"""
    )
    one.value("document.querySelector('dialog').close()")
    return float(longest)


WALK = (
    lists_the_keys_of_views,
    shows_all_keys,
    takes_keys_at_once,
    starts_with_a_way_to_the_view,
    searches_the_shown_tab,
    finds_a_function,
    steps_leave_no_history,
    goes_back,
)
