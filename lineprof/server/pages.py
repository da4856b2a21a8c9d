"""Pages around reports, and the headers with which each kind of answer is sent.

Three documents, each with the fewest rights that it needs:

- the page of a profile, or of a folder, has a script that asks this server for changes.
  It never holds a text of a profile but as a text node, or in the address of a line of
  an editor, which the report asks it to open: it checks that, and asks the reader;
- the report is in a frame of that page with an origin of its own. Its policy is the one
  that it has as a file: no request at all;
- the first page, for the address with the token, only leads to one without.
"""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from lineprof.report.html.page import (
    COMPARISON,
    EDITOR,
    REPORT,
    REPORT_OF_MEMORY,
    editor_of_user,
    joined,
    policy,
    sha256_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of every answer; the cookie and the policy come on top.
COMMON_HEADERS = (
    ("Cache-Control", "no-store"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)

_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'"

_ALONE = (
    ("Content-Security-Policy", f"{_NOTHING}; frame-ancestors 'none'"),
    ("X-Frame-Options", "DENY"),
)

_HTML, _TEXT, _JSON = (
    f"{kind}; charset=utf-8" for kind in ("text/html", "text/plain", "application/json")
)

_BYTES = "application/octet-stream"  # as Go's net/http/pprof; Alloy takes nothing else


_START = 500  # bytes of a report that have its policy, and nothing of the profile


class Answer(NamedTuple):
    """An answer to a request, without the headers that all answers have."""

    status: int
    kind: str  # the header Content-Type
    body: bytes
    headers: tuple[tuple[str, str], ...] = _ALONE


def text(status: int, message: str) -> Answer:
    """Return an answer of one line for people."""
    return Answer(status, _TEXT, f"{message}\n".encode())


def no_such_page() -> Answer:
    """Return the answer for any other path."""
    return text(404, "There is no such page.")


def without_token(message: str) -> Answer:
    """Return the answer to a scraper without the token, and how it is to be sent."""
    answer = text(401, message)
    headers = (*answer.headers, ("WWW-Authenticate", "Bearer"))
    return answer._replace(headers=headers)


def download(name: str, body: bytes) -> Answer:
    """Return a file for another program; a browser saves it by that name."""
    headers = (*_ALONE, ("Content-Disposition", f'attachment; filename="{name}"'))
    return Answer(200, _BYTES, body, headers)


def values(found: object) -> Answer:
    """Return an answer for the script of a page."""
    return Answer(200, _JSON, json.dumps(found).encode())


def first_page(place: str, cookie: str) -> Answer:
    """Return the page that sets the cookie and goes on to the path `place`.

    It is a page and no redirection: where a link of another site led here, a browser
    withholds the cookie after a redirection, but not if a page of this server goes on.
    """
    body = _asset("first.html").substitute(place=escape(place))
    return Answer(200, _HTML, body.encode(), (*_ALONE, ("Set-Cookie", cookie)))


def report_page(names: Sequence[str], ids: Sequence[str], *, in_folder: bool) -> Answer:
    """Return the page around the report of a profile, or of two that it compares."""
    more = "" if in_folder else "hidden"
    up = "../" * len(ids)
    swap = ""
    if len(ids) > 1:
        other = "/".join(ids[::-1])
        swap = f'<a id="swap" href="{up}{escape(other)}/">Swap before and after</a>'
    editor = editor_of_user()  # its address is of ASCII, or it is none
    parts = {"more": more, "up": up, "swap": swap}
    parts["editor"] = escape(editor) if editor.isascii() else ""
    return _page("profile", " and ".join(names), joined(EDITOR), **parts)


def folder_page(name: str) -> Answer:
    """Return the page with the list of profiles."""
    return _page("folder", name)


def report(body: bytes, *, is_comparison: bool) -> Answer:
    """Return a report, for a frame of `report_page`."""
    rules = policy(COMPARISON if is_comparison else REPORT)
    of_memory = policy(REPORT_OF_MEMORY)
    # A page names its policy at its start, before any text of the profile.
    if of_memory.encode() in body[:_START]:
        rules = of_memory
    rules += "; sandbox allow-scripts; frame-ancestors 'self'"
    headers = (("Content-Security-Policy", rules), ("X-Frame-Options", "SAMEORIGIN"))
    return Answer(200, _HTML, body, headers)


def _page(kind: str, name: str, script: str = "", **parts: str) -> Answer:
    """Return a page with a script that needs the functions of `script`.

    `parts` are other HTML in it, by name.
    """
    style = _asset("page.css").template
    script = _asset("ask.js").template + script + _asset(f"{kind}.js").template
    body = _asset(f"{kind}.html").substitute(
        name=escape(name), style=style, script=script, **parts
    )
    rules = (
        f"{_NOTHING}; script-src '{_source(script)}'; style-src '{_source(style)}';"
        " img-src data:; connect-src 'self'; frame-src 'self'; frame-ancestors 'none'"
    )
    headers = (("Content-Security-Policy", rules), ("X-Frame-Options", "DENY"))
    return Answer(200, _HTML, body.encode(), headers)


def _source(inline: str) -> str:
    return f"sha256-{sha256_of(inline)}"


@cache
def _asset(name: str) -> Template:
    """Return a file of `assets`."""
    folder = files("lineprof.server") / "assets"
    return Template((folder / name).read_text(encoding="utf-8"))
