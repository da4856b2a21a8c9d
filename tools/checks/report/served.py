"""A served profile in the browser: its page has to follow the file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tools.checks.browser import frame, page
from tools.checks.findings import Mismatch
from tools.checks.report.axe import no_violations
from tools.checks.report.walk_frame import PHONE, WINDOW, fits_the_screen
from tools.checks.report.walk_sharing import OWN_EDITOR, shares_served
from tools.checks.report.walks import drawn
from tools.dev.envs import clean_environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tools.checks.browser import Page, Pipe

_THEME = "document.documentElement.dataset.theme"
_SAYS = "(document.getElementById('state')?.textContent ?? '')"
_GOOD = f"{_SAYS}.startsWith('as of')"


@contextmanager
def _server(python: Path, profile: Path) -> Iterator[str]:
    """Serve a profile as long as the block; yield its address."""
    with subprocess.Popen(
        [python, "-m", "lineprof", "serve", "--no-open", profile.absolute()],
        cwd=tempfile.gettempdir(),  # a checkout has a lineprof that is not installed
        env=clean_environment(LINEPROF_EDITOR=OWN_EDITOR),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            found = re.search(r"http://\S+", line)
            if not found:
                raise Mismatch("lineprof serve prints no address")
            yield found[0]
        finally:
            process.kill()


def _report(pipe: Pipe, one: Page, title: str) -> Page:
    """Return the report in the frame once it has a title."""
    one.wait(_GOOD)
    shown = frame(pipe)
    # The heading is there before the rest.
    heading = "document.documentElement?.dataset.ready && document.querySelector('h1')"
    shown.wait(f"({heading})?.textContent === {json.dumps(title)}", limit_s=30)
    if shown.value("self.origin") != "null":
        raise Mismatch("the report has an origin")
    return shown


def _is_accessible(what: str, window: Page, one: Page, script: str) -> None:
    """Look at a page, or at a frame in `window`, in both themes and on a phone."""
    for theme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": theme}
        window.send("Emulation.setEmulatedMedia", features=[feature])
        no_violations(f"{what}, {theme}", one, script)
    window.size(*PHONE)
    drawn(one)
    fits_the_screen(what, one)
    no_violations(f"{what}, on a phone", one, script)
    window.size(*WINDOW)


def check_served(
    python: Path, profile: Path, other: Path, pipe: Pipe, script: str
) -> None:
    """Replace a served profile by another one, and by none, and look at its page.

    `script` is axe-core.
    """
    with _server(python, profile) as url, page(pipe) as one:
        one.open(url)
        reports = [_report(pipe, one, f"{profile.stem}.py")]
        _is_accessible("the page around the report", one, one, script)
        _is_accessible("the report in it", one, reports[0], script)
        if "token" in one.value("location.href"):
            raise Mismatch("the token stays in the address")
        reports[0].value("document.getElementById('tab-functions').click()")
        one.wait("location.hash === '#functions'")
        reports[0].value("document.querySelector('button.theme').click()")
        theme = reports[0].value(_THEME)
        shares_served(one, reports[0])
        one.value("openedAt = -Infinity, 0")
        reports[0].value("choose('editor', 'x-mine2:{path}'), openChosen()")
        one.wait("!opening.hidden && opening.querySelector('button')")
        _is_accessible("the question of the page around", one, one, script)
        one.value("opening.lastChild.click()")
        reports[0].value("document.getElementById('tab-functions').click()")
        one.wait("location.hash === '#functions'")
        profile.write_bytes(b"")
        one.wait(f"{_SAYS}.includes('is empty')")
        other.replace(profile)
        reports.append(_report(pipe, one, f"{other.stem}.py"))
        reports[1].wait("!document.getElementById('panel-functions').hidden")
        if not theme or reports[1].value(_THEME) != theme:
            raise Mismatch(f"the next report is not {theme}, which was chosen")
        errors = [error for tab in (one, *reports) for error in tab.errors]
        if errors:
            raise Mismatch(f"the console has: {errors[0]}")


def check_folder(python: Path, profile: Path, pipe: Pipe, script: str) -> None:
    """Look at the list of the profiles in the folder of one; `script` is axe-core."""
    with _server(python, profile.parent) as url, page(pipe) as one:
        one.open(url)
        one.wait("document.querySelector('#profiles a')", limit_s=30)
        _is_accessible("the list of profiles", one, one, script)
        if one.errors:
            raise Mismatch(f"the console has: {one.errors[0]}")


_ROW = """(name => [...document.querySelectorAll('#profiles tr')]
  .find(one => one.querySelector('a').textContent === name))"""
_COMPARE = "document.getElementById('compare')"
_HELD = "document.activeElement"
_LIST = "document.querySelector('main')"
_SEEN = (
    "((one) => one.scrollWidth <= one.clientWidth)(document.getElementById('state'))"
)
_LOW = 120  # height (px) of a window that shows part of the list


def check_compare(
    python: Path, before: Path, after: Path, pipe: Pipe, script: str
) -> None:
    """Tick two rows by keys and compare them; `before` is older, in the same folder."""
    copy = after.with_name("gone.lprof")
    copy.write_bytes(after.read_bytes())
    with _server(python, before.parent) as url, page(pipe) as one:
        one.open(url)
        one.wait(f"{_ROW}({json.dumps(copy.name)})", limit_s=30)
        _tick(one, before.name)
        _expect(one, "one tick is too few", f"{_COMPARE}.disabled")
        _expect(one, "one tick asks for another", f"{_SAYS}.includes('another')")
        one.size(*PHONE)
        _expect(one, "all of the state is seen on a phone", _SEEN)
        one.size(*WINDOW)
        _tick(one, after.name)
        _expect(one, "two are enough", f"!{_COMPARE}.disabled")
        _is_accessible("the list with two ticks", one, one, script)
        _tick(one, copy.name)
        _expect(one, "three are too many", f"{_COMPARE}.disabled")
        copy.unlink()
        one.wait(f"!{_ROW}({json.dumps(copy.name)}) && !{_COMPARE}.disabled", 30)
        _expect(one, "the focus stays in the list", f"{_HELD}.type === 'checkbox'")
        _tick(one, after.name, to=False)
        _expect(one, "a tick can be taken back", f"{_COMPARE}.disabled")
        _tick(one, after.name)
        one.size(WINDOW[0], _LOW)
        one.value(f"({_LIST}.scrollTop = {_LIST}.scrollHeight)")
        os.utime(after)  # the list changes
        one.wait(f"!{_ROW}({json.dumps(after.name)}).isSameNode(window.seen)", 30)
        _expect(one, "the list can be scrolled", f"{_LIST}.scrollTop > 0")
        bottom = f"{_LIST}.scrollTop + {_LIST}.clientHeight >= {_LIST}.scrollHeight - 1"
        _expect(one, "the list stays where it was scrolled to", bottom)
        one.size(*WINDOW)
        name = json.dumps(f"Compare {after.name}")
        _expect(one, "the focus stays", f"{_HELD}.ariaLabel === {name}")
        _expect(one, "ticks stay", f"{_HELD}.checked && !{_COMPARE}.disabled")
        one.press("Enter")
        _comparison(pipe, one, [before.name, after.name], script)
        one.send("Page.reload")
        _comparison(pipe, one, [before.name, after.name])
        one.value("document.getElementById('swap').click()")
        _comparison(pipe, one, [after.name, before.name])
        content = before.read_bytes()
        before.unlink()
        gone = json.dumps(f"{before.name} is not there any more")
        one.wait(f"{_SAYS}.includes({gone})")
        before.write_bytes(content)
        one.wait(_GOOD)
        one.value("document.getElementById('all').click()")
        one.wait(f"{_ROW}({json.dumps(after.name)})", limit_s=30)
        if one.errors:
            raise Mismatch(f"the console has: {one.errors[0]}")


def _tick(one: Page, name: str, *, to: bool = True) -> None:
    """Press the space bar in the box of a profile."""
    row = f"{_ROW}({json.dumps(name)})"
    one.value(f"(window.seen = {row}).querySelector('input').focus()")
    one.press(" ")
    _expect(
        one, f"the space bar ticks {name}", f"{_HELD}.checked === {str(to).lower()}"
    )


def _expect(one: Page, what: str, condition: str) -> None:
    if not one.value(f"Boolean({condition})"):
        raise Mismatch(f"not so: {what}")


def _comparison(pipe: Pipe, one: Page, names: list[str], script: str = "") -> None:
    """Look at the page of a comparison; `script`: axe-core, for both themes."""
    title = " and ".join(names)
    one.wait(f"document.title === {json.dumps(f'{title} - lineprof')}")
    shown = _report(pipe, one, title)
    if script:
        _is_accessible("the page around a comparison", one, one, script)
        _is_accessible("the comparison in it", one, shown, script)
