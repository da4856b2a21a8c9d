"""Walks through flame graphs: numbers, lines, keys, and the text at the pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.checks.report.walks import expect, press, search_for, show, view_of

if TYPE_CHECKING:
    from tools.checks.browser import Page

VIEW = view_of("flame")
INFO = "document.querySelector('#panel-flame .info').textContent"
TIP = "document.querySelector('#panel-flame .tip')"

# Frames whose times are not those of the frames on them, and their own; `times` are the
# names of both.
WRONG_FRAMES = """
((frames, times = [["total", "self"]]) => {
  const near = (one, other) => Math.abs(one - other) <= 1 + 1e-6 * one;
  const { total, calls, line, fn, up, gpu, upward, hasLines } = frames;
  const wrong = [];
  const must = (what, one, isSo) => isSo || wrong.push(`${what} of ${one}`);
  const todo = [...frames.on(NONE)];
  must("whole", NONE, near(frames.whole, sum(todo.map((one) => total[one]))));
  for (const one of todo) {
    const above = frames.on(one);
    const all = (numbers) => sum(above.map((i) => numbers[i]));
    todo.push(...above);
    must("level", one, frames.level[one] < frames.depth);
    must("lines", one, hasLines || !line[one]);
    // Callers from outside have time, and no frame.
    if (upward) must("callers", one, all(total) <= total[one] + 1);
    else {
      for (const [whole, own] of times) {
        const self = line[one] ? 0 : frames[own][one];
        must(whole, one, near(frames[whole][one], self + all(frames[whole])));
      }
      must("GPU", one, !gpu || all(gpu) <= gpu[one] + 1);
    }
    if (line[one] && !upward) {
      must("calls", one, !calls || calls[one] === all(calls));
      must("place", one, fn[one] === fn[up[one]]);
    }
  }
  return wrong.join();
})
"""

# Functions whose sandwich has not the time that the table of functions has.
WRONG_SANDWICHES = """
(() => {
  const { functions } = data;
  const paths = callPaths("wall");
  const wrong = (middle, upward) => {
    const frames = new Frames(paths, { hasLines: true, middle, upward });
    const [root] = frames.on(NONE);
    return Math.abs(frames.total[root] - functions.total[middle]) > 1;
  };
  const all = [...functions.name.keys()].filter((f) => functions.calls[f]);
  return all.filter((f) => wrong(f, true) || wrong(f, false)).join();
})()
"""

# Functions whose band has not the work that the flame graph of GPU work has.
WRONG_BANDS = """
(() => {
  const [paths, work] = [callPaths("wall"), callPaths("gpu")];
  const all = new Set(work.fn.filter((f) => f >= 0));
  const wrong = (middle) => {
    const options = { hasLines: true, middle };
    const [frames, launched] = [new Frames(paths, options), new Frames(work, options)];
    const [one, other] = [frames.on(NONE)[0], launched.on(NONE)[0]];
    return Math.abs(frames.gpu[one] - launched.total[other]) > 1;
  };
  return all.size === 0 || [...all].filter(wrong).join();
})()
"""

# The middle of the widest frame of a line, and the number of the line.
WIDEST_LINE = f"""
(({{ main: {{ frames, boxes, canvas }} }}) => {{
  const box = canvas.getBoundingClientRect();
  const wider = (one, other) => (other[2] > one[2] ? other : one);
  const lines = boxes.filter((one) => frames.line[one[3]]);
  const [x, y, width, node] = lines.reduce(wider);
  return [box.left + x + width / 2, box.top + y + 8, frames.line[node]];
}})({VIEW})
"""

# Colours on which the text of frames has too little contrast (WCAG 2, 1.4.3).
PALE_COLOURS = """
(() => {
  const part = (one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  const light = (name) => {
    const parts = colour(name).match(/[0-9a-f]{2}/g).map((one) => parseInt(one, 16));
    const [r, g, b] = parts.map((one) => part(one / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const ink = light("box-ink");
  const numbers = [0, 1, 2, 3, 4].map((one) => `heat-${one}`);
  const changes = [1, 2, 3].map((one) => `faster-${one}`);
  const names = [...numbers, ...changes, "cold", "line-frame", "found"];
  const contrast = (one) => Math.max(ink / one, one / ink);
  return names.filter((name) => contrast(light(name)) < 4.5).join();
})()
"""

# Whether the text lies in the window, and not below the pointer.
TIP_IS_BESIDE = f"""
(([x, y]) => {{
  const {{ left, top, right, bottom }} = {TIP}.getBoundingClientRect();
  const covers = left <= x && x <= right && top <= y && y <= bottom;
  const isInside = left >= 0 && top >= 0;
  const fits = right <= innerWidth && bottom <= innerHeight;
  return !{TIP}.hidden && isInside && fits && !covers;
}})
"""


def pressed(one: Page, title: str) -> None:
    """Press a button of the flame graph by its title."""
    buttons = "[...document.querySelectorAll('#panel-flame button')]"
    one.value(f"{buttons}.find((one) => one.textContent === {title!r})?.click()")


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


def flame_numbers(one: Page) -> None:
    """Compare frames with those on them in all forms, with and without lines."""
    show(one, "flame")
    for metric in ("CPU", "GPU", "Time"):
        pressed(one, metric)
        for form in ("Time order", "Left heavy", "Sandwich"):
            pressed(one, form)
            for _ in range(2):  # with and without lines
                for name in ("main", "top") if form == "Sandwich" else ("main",):
                    wrong = f"{WRONG_FRAMES}({VIEW}.{name}.frames)"
                    expect(one, f"{metric}, {form}", f"{wrong} === ''")
                pressed(one, "Lines")
    pressed(one, "Left heavy")


def sandwich_times(one: Page) -> None:
    """Compare the time of each sandwich with that of the function in the table."""
    show(one, "flame")
    expect(one, "times of sandwiches", f"{WRONG_SANDWICHES} === ''")


def flame_lines(one: Page) -> None:
    """Walk by keys from a function to a line that calls, find it, and go to it."""
    show(one, "flame")
    one.point(1, 1)
    press(one, "#panel-flame canvas", "Escape", "ArrowDown", "ArrowDown")
    at = f"{VIEW}.main.frames.line[{VIEW}.main.at]"
    expect(one, "a line between functions", f"{at} > 0")
    expect(one, "its number is told", f"{INFO}.startsWith({at} + ': ')")
    expect(
        one, "its text is beside it", f"{TIP}.textContent.includes({INFO}.slice(0, 8))"
    )
    begin = one.value(f"{INFO}.split(':')[1].trim().slice(0, 4)")
    for text, found in (("no such text", "!"), (begin, "")):
        search_for(one, "flame", text)
        is_found = f"{VIEW}.isFound({VIEW}.main.frames, {VIEW}.main.at)"
        expect(one, f"a search for {text}", f"{found}{is_found}")
    search_for(one, "flame", "")
    line = one.value(at)
    press(one, "#panel-flame canvas", "Enter", "s")
    expect(one, "its source", f"location.hash.endsWith('/{line}')")
    show(one, "flame")
    press(one, "#panel-flame canvas", "w")
    expect(one, "its sandwich", f"{VIEW}.form === 'sandwich'")
    pressed(one, "Left heavy")


def flame_tip(one: Page) -> None:
    """Point at the corners of the graph: the text stays in the window."""
    show(one, "flame")
    press(one, "#panel-flame canvas", "Escape")
    box = one.value(
        "(({ left, right, top }) => [left, right, top])"
        "(document.querySelector('#panel-flame canvas').getBoundingClientRect())"
    )
    for x in (box[0] + 2, (box[0] + box[1]) / 2, box[0] + 40):
        point = [x, box[2] + 8]
        one.point(*point)
        expect(one, "the text beside the pointer", f"{TIP_IS_BESIDE}({point})")
    one.point(1, 1)
    expect(one, "no text without a frame", f"{TIP}.hidden")


def gpu_bands(one: Page) -> None:
    """Compare the bands of GPU work with the flame graph of that work."""
    show(one, "flame")
    expect(one, "bands of GPU work", f"{WRONG_BANDS} === ''")


# Three calls of each function, two of them inner ones: what these called, and so
# launched, stands on the outer call.
MUTUAL = """\
import ctypes, os
gpu = ctypes.CDLL(os.environ["LINEPROF_CUDA"])
gpu.fk_launch.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64]
def launch(ns):
    gpu.fk_launch(b"kernel", 0, ns)
def even(n):
    launch(5_000)
    return n == 0 or odd(n - 1)
def odd(n):
    gpu.fk_launch(b"kernel", 0, 2_000)
    return n > 0 and even(n - 1)
gpu.fk_init()
gpu.fk_wait_really(1)
even(5)
"""
MUTUAL_NS = {"even": 21_000, "odd": 6_000, "launch": 15_000}


def bands_in_recursion(one: Page) -> None:
    """Read the GPU work of functions that call each other in turn."""
    show(one, "flame")
    frames = f"{VIEW}.main.frames"
    one.value(
        f"""(() => {{
          const todo = [...{frames}.on(NONE)];
          while (todo.length) todo.push(...{frames}.on(todo.pop()));
        }})()"""
    )
    for name, ns in MUTUAL_NS.items():
        named = f"frameName({frames}.fn[i]) === {name!r} && !{frames}.line[i]"
        outer = f"[...{frames}.fn.keys()].filter((i) => {named})"
        most = f"Math.max(...{outer}.map((i) => {frames}.gpu[i]))"
        expect(one, f"GPU work of {name}", f"{most} === {ns}")


def flame_colours(one: Page) -> None:
    """Compare the text of frames with the colours behind it."""
    expect(one, "contrast", f"{PALE_COLOURS} === ''")


def flame_clicks(one: Page) -> None:
    """Click on a frame, which zooms, and click twice, which shows the line."""
    show(one, "flame")
    press(one, "#panel-flame canvas", "Escape")
    place = one.value(WIDEST_LINE)
    for count in (1, 2):
        one.click(place[0], place[1], count)
        if count == 1:
            line = f"{VIEW}.main.frames.line[{VIEW}.main.zoomed]"
            expect(one, "a zoom", f"{line} === {place[2]}")
            beside = f"{TIP_IS_BESIDE}({place[:2]})"
            expect(one, "the text beside the pointer", beside)
    expect(one, "its source", f"location.hash.endsWith('/{place[2]}')")


BOTH_SIDES = "[['before', 'self0'], ['after', 'self1']]"
KIND = f"""
((name) => {{
  const {{ main: {{ frames }} }} = {VIEW};
  const named = (f, i) => !frames.line[i] && data.flame.functions.name[f] === name;
  const at = frames.fn.findIndex(named);
  return at < 0 ? "none" : {VIEW}.kind(frames, at);
}})
"""


def changed_paths(one: Page) -> None:
    """Walk through the flame graph of a comparison: colours, sides, what is gone."""
    show(one, "flame")
    frames = f"{VIEW}.main.frames"
    for _ in range(2):  # with and without lines
        for side in ("Gone", "Before", "After"):
            pressed(one, side)
            expect(one, side, f"{WRONG_FRAMES}({frames}, {BOTH_SIDES}) === ''")
        pressed(one, "Lines")
    whole = "{ before: data.own.before, after: data.own.after }"
    for side in ("Before", "After"):
        pressed(one, side)
        near = f"Math.abs({frames}.whole / ({whole})[{side.lower()!r}] - 1) < 0.001"
        expect(one, f"the time {side}", near)
    for side, name, colour in CHANGES:
        pressed(one, side)
        expect(one, f"{name}, {side}", f"/^({colour})$/.test({KIND}({name!r}))")
    pressed(one, "After")
    press(one, "#panel-flame canvas", "Escape", "ArrowDown", "ArrowDown")
    expect(one, "a line is told", f"{INFO}.includes('main()')")
    expect(one, "its text is beside it", f"{TIP}.textContent.includes('main()')")
    press(one, "#panel-flame canvas", "Enter", "Escape", "ArrowDown")
    press(one, "#panel-flame canvas", *["ArrowDown"] * 4, "s")
    expect(one, "the source of both sides", "location.hash.startsWith('#sides/')")


# The side that is shown, a function of with_changes.py, and its colour; "none" is not
# there.
CHANGES = (
    ("After", "slower", "heat-[124]"),
    ("After", "same", "cold"),
    ("After", "norm", "faster-[123]"),
    ("After", "gone", "none"),
    ("Before", "gone", "faster-[123]"),
    ("Gone", "gone", "faster-[123]"),
    ("Gone", "same", "none"),
)


WALK = (
    zoom_flames,
    flame_numbers,
    flame_lines,
    flame_tip,
    flame_colours,
    flame_clicks,
)
