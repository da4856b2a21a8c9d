"""Steps of walks through a report: to show a tab, press keys, expect what is so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch

if TYPE_CHECKING:
    from tools.checks.browser import Page


def view_of(tab: str) -> str:
    """Return an expression for the view of a tab."""
    return f"tabs.find((one) => one.name === {tab!r}).view"


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


def search_for(one: Page, tab: str, text: str) -> None:
    """Write a text into the search of a tab."""
    field = f"document.querySelector('#panel-{tab} .search')"
    one.value(f"{field}.value = {text!r}, {field}.dispatchEvent(new Event('input'))")
