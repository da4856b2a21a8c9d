"""Figures of a report: sizes, frames of a scroll and of a zoom, forced layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.checks.findings import Mismatch
from tools.checks.report.walks import TIMELINE

if TYPE_CHECKING:
    from tools.checks.browser import Page

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
    return f"""new Promise((resolve) => {{
      const area = document.querySelector({selector!r} || "none") ??
        document.scrollingElement;
      const times = [];
      let [frame, before] = [0, 0];
      const step = (now) => {{
        if (frame > 2) times.push(now - before);
        before = now;
        area.scrollTop = {begin} + {px} * frame;
        if (++frame < {frames + 3}) requestAnimationFrame(step);
        else resolve(times);
      }};
      requestAnimationFrame(step);
    }})"""


def scroll_trace(one: Page, selector: str) -> list[dict[str, Any]]:
    """Scroll an element to its end and back; return Chromium's trace of it.

    The pointer goes aside: a row that comes below it would have other styles.
    """
    one.send("Input.dispatchMouseEvent", type="mouseMoved", x=0, y=0)
    return one.trace(
        f"""new Promise((resolve) => {{
          const area = document.querySelector({selector!r});
          const far = area.scrollHeight - area.clientHeight;
          let frame = 0;
          const step = () => {{
            area.scrollTop = far * Math.abs(Math.sin(frame / 15));
            if (++frame < {FRAMES}) requestAnimationFrame(step);
            else resolve();
          }};
          requestAnimationFrame(step);
        }})""",
        *TRACED,
    )


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
    return float(
        one.value(
            f"""new Promise((resolve) => {{
              const view = {TIMELINE};
              let [frame, before, longest] = [0, performance.now(), 0];
              const step = (now) => {{
                if (frame > 2) longest = Math.max(longest, now - before);
                before = now;
                view.zoom(frame < {FRAMES} / 2 ? 0.85 : 1 / 0.85);
                view.move(0.01);
                if (++frame < {FRAMES}) requestAnimationFrame(step);
                else resolve(longest);
              }};
              requestAnimationFrame(step);
            }})"""
        )
    )


def within(what: str, number: float, most: float, unit: str) -> None:
    """Print a figure; Mismatch if it is above `most`."""
    print(f"    {what}: {number:,.0f} {unit} (at most {most:,.0f})", flush=True)
    if round(number) > most:
        raise Mismatch(f"{what}: {number:,.0f} {unit}, above {most:,.0f}")
