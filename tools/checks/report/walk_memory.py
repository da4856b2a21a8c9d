"""A walk through what a page shows of memory: its numbers are those of the lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch
from tools.checks.report.walks import drawn, expect, press, search_for, show, view_of

if TYPE_CHECKING:
    from tools.checks.browser import Page

VIEW = view_of("memory")
PANEL = "document.querySelector('#panel-memory')"
CANVAS = "#panel-memory .curve canvas"
TITLE = f"{PANEL}.querySelector('.moment h3').textContent"
SAID = f"{PANEL}.querySelector('.curve .info').textContent"
PICKER = f"{PANEL}.querySelector('select')"
# Bytes of the lines of one process, by a column, as the tables have them.
OF_LINES = "sum([...bytesOfLines(memoryProcesses()[{0}], {1!r}).values()])"


def curve(one: Page) -> None:
    """Go over the curve by keys and by the pointer; each line leads to its source."""
    show(one, "memory")
    expect(one, "the peak is shown at first", f"{TITLE}.endsWith('live, the peak')")
    expect(
        one,
        "the areas at the peak add up to it",
        f"sum({VIEW}.curve.areas.map((area) => area.of[{VIEW}.curve.peak]))"
        " === memoryProcesses()[0].run.peak_bytes",
    )
    expect(
        one,
        "the areas of each moment add up to what was live",
        f"{VIEW}.curve.live.every((live, i) =>"
        f" sum({VIEW}.curve.areas.map((area) => area.of[i])) === live)",
    )
    one.value("document.activeElement.blur()")
    press(one, "body", "Home")  # the curve takes the keys of the tab at once
    expect(one, "the first moment", f"{TITLE}.startsWith('0 s: ')")
    press(one, CANVAS, "ArrowRight")
    told = f"{TITLE} === {VIEW}.curve.words(1)"
    expect(one, "the next moment, also aloud", f"{told} && {SAID}.startsWith({TITLE})")
    press(one, CANVAS, "End", "PageUp", "ArrowLeft")
    expect(
        one, "eleven from the end", f"{VIEW}.curve.at === {VIEW}.curve.live.length - 12"
    )
    press(one, CANVAS, "p")
    expect(one, "the peak again", f"{VIEW}.curve.at === {VIEW}.curve.peak")
    _point(one, "pointermove")
    expect(one, "the moment at the pointer", f"!{TITLE}.endsWith('the peak')")
    _point(one, "pointerleave")
    expect(one, "the chosen moment again", f"{TITLE}.endsWith('the peak')")
    _point(one, "click")
    expect(one, "a click chooses", f"{VIEW}.curve.at < {VIEW}.curve.peak")
    for number in range(
        int(one.value(f"{PANEL}.querySelectorAll('.moment a').length"))
    ):
        show(one, "memory")
        link = f"{PANEL}.querySelectorAll('.moment a')[{number}]"
        name = one.value(f"{link}.textContent")
        one.value(f"{link}.click()")
        title = "document.querySelector('.detail h2').textContent"
        expect(one, "a line of the curve", f"{title} === {name!r}")


def _point(one: Page, event: str) -> None:
    """Send an event of the pointer at the middle of the curve."""
    one.value(
        f"(() => {{ const canvas = document.querySelector({CANVAS!r});"
        " canvas.scrollIntoView(); const box = canvas.getBoundingClientRect();"
        f" canvas.dispatchEvent(new PointerEvent({event!r}, {{"
        " bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + 50 }));"
        " })()"
    )


def call_paths(one: Page) -> None:
    """Switch between the numbers of the flame graph, and walk to the line below it."""
    show(one, "memory")
    flame = f"{VIEW}.flame"
    for number, name in enumerate(("hostPeak", "hostLive", "hostAlloc")):
        one.value(f"{PANEL}.querySelectorAll('.choice')[0].children[{number}].click()")
        expect(
            one,
            "frames have all bytes",
            f"{flame}.main.frames.whole === sum({flame}.one.paths.{name})",
        )
    for lines in ("false", "true"):
        button = f"[...{PANEL}.querySelectorAll('button')].find("
        one.value(f"{button}(one) => one.textContent === 'Lines').click()")
        expect(
            one,
            "no frame stands for the blocks of a line",
            f"{flame}.hasLines === {lines}"
            f" && !{flame}.main.frames.fn.includes(OWN_BLOCKS)",
        )
    canvas = "#panel-memory .flame-chart canvas"
    press(one, canvas, *["ArrowDown"] * 8)
    info = f"{PANEL}.querySelector('.flame-chart').previousElementSibling.textContent"
    expect(one, "the frame is told", f"/Bytes|bytes .*own .*/.test({info})")
    at = f"{flame}.main.frames, {flame}.main.at"
    place = one.value(f"placeName(...{flame}.site({at}))")
    press(one, canvas, "s")
    expect(
        one,
        "the source of a frame",
        f"document.querySelector('.detail h2').textContent === {place!r}",
    )


def processes(one: Page) -> None:
    """Choose another process: the sentence, the curve and the paths are its own."""
    show(one, "memory")
    one.value(f"{PICKER}.value = 1, {PICKER}.dispatchEvent(new Event('change'))")
    expect(
        one,
        "the peak of the process",
        f"{PANEL}.querySelector('h2').textContent.includes("
        "size(memoryProcesses()[1].run.peak_bytes))"
        f" && {VIEW}.curve.live[{VIEW}.curve.peak]"
        " === memoryProcesses()[1].run.peak_bytes",
    )
    one.value(f"{PICKER}.value = 0, {PICKER}.dispatchEvent(new Event('change'))")


def estimates(one: Page) -> None:
    """Numbers of a profile of samples are marked, those of an exact one are not."""
    show(one, "memory")
    for is_sampled, mark in (("true", "~"), ("false", "")):
        one.value(f"data.memorySampled = {is_sampled}")
        one.value(f"{PICKER}.dispatchEvent(new Event('change'))")
        text = f"({PANEL}.querySelector('h2').textContent)"
        peak = f"`{mark}${{size(memoryProcesses()[0].run.peak_bytes)}} were live`"
        expect(one, "a marked estimate", f"{text}.includes(' ' + {peak})")
        amounts = f"[...{PANEL}.querySelectorAll('.moment b')]"
        marked = (
            f"one.textContent === '0' || one.textContent[0] === '~' === {is_sampled}"
        )
        expect(one, "marked amounts", f"{amounts}.every((one) => {marked})")


def table(one: Page) -> None:
    """Sort the lines by each column, search, and copy them with callees."""
    show(one, "memory")
    rows = f"{VIEW}.tables[0]"
    heads = "[...document.querySelectorAll('#panel-memory .head button')]"
    for number in range(int(one.value(f"{heads}.length"))):
        one.value(f"{heads}[{number}].click()")
        expect(one, "a sorted column", f"{rows}.order === {number}")
    one.value(f"{heads}[1].click()")
    both = " + ".join(OF_LINES.format(number, "hostPeak") for number in (0, 1))
    own = f"sum({rows}.all.map((i) => {rows}.columns[1].value(i))) === {both}"
    expect(one, "own bytes of all lines", own)
    one.value(f"{PANEL}.querySelectorAll('.choice')[1].children[1].click()")
    expect(one, "bytes with callees", f"!({own})")
    expect(
        one,
        "the table as Markdown",
        f"{VIEW}.markdown().includes('with callees')"
        f" && {VIEW}.markdown().includes('| `main.py:18` |')",
    )
    # The first search of the tab is that of the flame graph.
    found = one.value(f"{VIEW}.flame.search.value")
    search_for(one, "memory", "load")
    expect(one, "frames are found", f"{VIEW}.flame.wanted === 'load'")
    search_for(one, "memory", found)
    one.value(f"{PANEL}.querySelectorAll('.choice')[1].children[0].click()")


def lane(one: Page) -> None:
    """Switch the bars of bytes in the source, and read a line's memory."""
    one.value("go(address('source', 'cache.py', 13))")
    view = view_of("source")
    for number, name in enumerate(("hostPeakOwn", "hostAllocOwn")):
        one.value(f"{view}.lanes.children[{number}].click()")
        expect(
            one,
            "a bar of bytes in the source",
            f"document.querySelector('.row.selected .of-{name}').textContent"
            f" === size({view}.numbers.get(13).{name})"
            f" && {view}.columns.filter((one) => LANES.includes(one.name)).length < 2",
        )
    one.value(f"{view}.lanes.children[0].click()")
    detail = "document.querySelector('.detail .bytes-of-line')"
    expect(one, "the memory of the line", f"{detail}.rows.length > 4")
    expect(
        one,
        "call paths have all bytes of each line",
        "data.lines.line.every((line, i) => ['hostPeak', 'hostAlloc'].every((name) =>"
        " sum(pathsToLine([data.lines.function[i]], line, name)"
        ".map((one) => one.bytes)) === data.lines[name][i]))",
    )
    expect(
        one,
        "the Markdown of the function has bytes",
        f"{view}.markdown().includes(size({view}.numbers.get(13).hostPeakOwn))",
    )


def no_markup(one: Page) -> None:
    """Names with markup in them are text."""
    show(one, "memory")
    if one.value("document.querySelectorAll('img, main b > b').length"):
        raise Mismatch("a name became an element")


def themes(one: Page) -> None:
    """The curve is drawn anew in the other theme."""
    show(one, "memory")
    drawn(one)
    pixels = f"document.querySelector({CANVAS!r}).toDataURL()"
    before = one.value(pixels)
    one.value("toggleTheme()")
    drawn(one)
    expect(one, "the other theme", f"{pixels} !== {before!r}")
    one.value("toggleTheme()")


def comparison(one: Page) -> None:
    """Sort the bytes of both sides, and change to those with callees."""
    show(one, "memory")
    rows = f"{VIEW}.tables[0]"
    expect(
        one,
        "the greatest change is first",
        f"{rows}.content({rows}.columns[0], {rows}.list[0])"
        ".textContent.startsWith('main.py:14')",
    )
    change = f"{rows}.columns[1].value({rows}.list[0])"
    expect(one, "half of it is gone", f"Math.abs({change} + 18.6e6) < 0.1e6")
    one.value(f"{PANEL}.querySelector('.choice').children[1].click()")
    expect(
        one,
        "callers of the line have its change",
        f"{rows}.list.filter((i) => {rows}.columns[1].value(i) < -18.5e6).length === 3",
    )


WALK = (curve, call_paths, processes, estimates, table, lane, no_markup, themes)
OF_COMPARISON = (comparison,)
