"""Figures of a report: sizes, frames of a scroll and of a zoom, forced layouts."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tools.checks.findings import Mismatch
from tools.checks.report.walk_timeline import TIMELINE

if TYPE_CHECKING:
    from tools.checks.browser import Page

MIDDLE = """(() => {{
  const box = document.querySelector({}).getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}})()"""
TWO_FRAMES = "requestAnimationFrame(() => requestAnimationFrame(done))"
DISTANCE, SPEED = 6000, 6000  # pixels of a scroll by the wheel; pixels a second
FRAMES = 90  # of a scroll that is timed
LAYOUTS = ("Layout", "UpdateLayoutTree")
TRACED = (
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-devtools.timeline.stack",
)


def scroll(selector: str, px: int, frames: int = FRAMES, begin: int = 0) -> str:
    """Return an expression that scrolls an element down from `begin`, `px` a frame.

    Without a selector it is the page. Its value is a list of the frames' times (ms).
    """
    area = f"document.querySelector({selector!r} || 'none')"
    return _frames(
        f"const area = {area} ?? document.scrollingElement;",
        f"area.scrollTop = {begin} + {px} * frame;",
        frames,
    )


def _frames(begin: str, step: str, frames: int = FRAMES) -> str:
    """Return an expression that does a `step` in each `frame` after a `begin`.

    Its value is a list of the frames' times (ms), but for those of the first three.
    """
    return f"""new Promise((resolve) => {{
      {begin}
      const times = [];
      let [frame, before] = [0, 0];
      const next = (now) => {{
        if (frame > 2) times.push(now - before);
        before = now;
        {step}
        if (++frame < {frames + 3}) requestAnimationFrame(next);
        else resolve(times);
      }};
      requestAnimationFrame(next);
    }})"""


def scroll_trace(one: Page, selector: str) -> list[dict[str, Any]]:
    """Scroll an element down by the wheel; return Chromium's trace of it.

    A script that set its place would itself ask for layouts.
    """
    x, y = one.value(MIDDLE.format(repr(selector)))
    place = f"document.querySelector({selector!r}).scrollTop"
    one.value(f"{place} = 0")
    gesture = {"x": x, "y": y, "yDistance": -DISTANCE, "speed": SPEED}
    gesture["gestureSourceType"] = "mouse"
    one.point(x, y)  # rows pass below it
    one.value(f"new Promise((done) => {TWO_FRAMES})")
    scroll = functools.partial(one.send, "Input.synthesizeScrollGesture", **gesture)
    trace = one.trace(scroll, *TRACED)
    if not one.value(place):
        raise Mismatch(f"{selector}: it does not scroll")
    return trace


def forced_layouts(trace: list[dict[str, Any]]) -> int:
    """Return how often a script asked for a layout, or for styles.

    The trace has the stack of the calls that did.
    """
    layouts = [event for event in trace if event["name"] in LAYOUTS]
    if not layouts:
        raise Mismatch("the trace has no layout at all")
    return sum("stackTrace" in event["args"].get("beginData", {}) for event in layouts)


def longest_task(trace: list[dict[str, Any]]) -> float:
    """Return the processor time of the longest task of the page (ms).

    Other programs, for which the page waits, do not lengthen it.
    """
    ours = {event["tid"] for event in trace if event["name"] in LAYOUTS}
    tasks = [
        event.get("tdur", event.get("dur", 0))
        for event in trace
        if event["name"] == "RunTask" and event["tid"] in ours
    ]
    longest: int = max(tasks)
    return longest / 1000


def zoom_frames(one: Page) -> float:
    """Zoom into the timeline and out again; return the longest frame (ms)."""
    step = f"""
      view.zoom(frame < {FRAMES} / 2 ? 0.85 : 1 / 0.85);
      view.move(0.01);"""
    begin = f"const view = {TIMELINE};"
    times: list[float] = one.value(_frames(begin, step, FRAMES - 3))
    return max(times)


def within(what: str, number: float, most: float, unit: str) -> None:
    """Print a figure; Mismatch if it is above `most`."""
    print(f"    {what}: {number:,.0f} {unit} (at most {most:,.0f})", flush=True)
    if round(number) > most:
        raise Mismatch(f"{what}: {number:,.0f} {unit}, above {most:,.0f}")
