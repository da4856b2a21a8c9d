"""Walks through the timeline: from a kernel to its line, groups that fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.checks.report.walks import expect, press, show, view_of

if TYPE_CHECKING:
    from tools.checks.browser import Page

TIMELINE = view_of("timeline")

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

TITLE = f"""
(() => {{
  const view = {TIMELINE};
  const box = view.canvas.getBoundingClientRect();
  const index = view.bands.findIndex((one) => one.heading);
  return [box.x + 30, box.y + (index + 1.5) * 16 - view.scroller.scrollTop];
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


WALK = (kernel_to_line, fold_a_group)
