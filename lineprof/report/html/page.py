"""The HTML file around the numbers of a report: style, scripts, and its security.

The numbers are JSON, compressed with zlib and written in base64, so that no text of a
profile is ever part of the HTML itself. The scripts are compressed as well: a short one
in plain text starts them. The content security policy of the page allows these two
texts and one style sheet, by their SHA-256, and no request: see
https://www.w3.org/TR/CSP3/.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from lineprof.errors import printable, without_surrogates
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_STYLES = (
    *("page.css", "table.css", "summary.css", "source.css", "flame.css"),
    *("panels.css", "comparison.css", "print.css"),
)

_STYLES_OF = {"memory.js": "memory.css"}  # by a script that not all pages have

# Pages are dark as the reader chose, or as the system is unless the reader chose light.
_DARK = """
@media screen {{ :root[data-theme="dark"] {{ {colours} }} }}
@media screen and (prefers-color-scheme: dark) {{
:root:not([data-theme="light"]) {{ {colours} }} }}
"""

_LOADER = ("load.js",)  # takes the scripts of a page out of their block

# Scripts of pages, in the order in which they need one another.
REPORT = (
    *("core.js", "markdown.js", "editor.js", "sharing.js", "table.js", "canvas.js"),
    *("python.js", "lines.js", "source.js", "callees.js", "overtime.js", "outline.js"),
    *("splitter.js", "minimap.js", "line_panel.js", "frames.js", "flame.js"),
    *("call_paths.js", "timeline.js", "summary.js", "panels.js", "palette.js"),
    *("frame.js", "report.js"),
)
REPORT_OF_MEMORY = (*REPORT[:-1], "memory.js", REPORT[-1])
COMPARISON = (
    *("core.js", "markdown.js", "editor.js", "sharing.js", "table.js", "canvas.js"),
    *("python.js", "frames.js", "flame.js", "changed_paths.js"),
    *("changed_memory.js", "palette.js", "frame.js", "comparison.js"),
)

# The checks of what is opened in an editor, which the page of lineprof serve needs too.
EDITOR = ("editor.js",)

_EDITOR_VARIABLE = "LINEPROF_EDITOR"  # the address of a line in an editor of the user

_COMMENT = re.compile(r"(?<=[;{},)]) // .*$")  # behind code

_BLANK = re.compile(r"(?<=[;:{},]) | (?={)")  # of a style sheet

_ZLIB_LEVEL = 6  # 9 takes twice the time for 1 % less

_LINE = 76 * 1024  # characters of base64 in a line of the file: a multiple of 4

_POLICY = (
    "default-src 'none'; script-src 'sha256-{loader}' 'sha256-{script}';"
    " style-src 'sha256-{style}'; img-src data:; base-uri 'none'; form-action 'none'"
)


def page(
    title: str,
    data: Mapping[str, object],
    scripts: Sequence[str],
    blobs: Sequence[bytes] = (),
) -> Iterator[str]:
    """Yield a page in lines of HTML whose `scripts` show `data`.

    `blobs` are packed columns of `lineprof.model.timelines`; `data` refers to them by
    their index.
    """
    style = _style(scripts)
    clean = escape(without_surrogates(printable(title)))
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f'<meta name="generator" content="lineprof {VERSION}">'
    yield f"<title>{clean} - lineprof</title>"
    yield from f"<style>{style}</style></head>".split("\n")
    # The head is there before the numbers are read.
    yield f'<body><div id="app"><header><h1>{clean}</h1></header>'
    yield "<noscript>This report needs JavaScript: the numbers in"
    yield f"this file are those of {clean}; lineprof view prints them.</noscript></div>"
    yield from _block("scripts", _packed(joined(scripts)))
    data = {**data, "editor": editor_of_user()}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    yield from _block("data", _packed(text))
    for number, blob in enumerate(blobs):
        yield from _block(f"blob-{number}", blob)
    yield from f"<script>{joined(_LOADER)}</script></body></html>".split("\n")


def editor_of_user() -> str:
    """Return the address of a line in an editor that the user has chosen, or ""."""
    return os.environ.get(_EDITOR_VARIABLE, "")


def policy(scripts: Sequence[str]) -> str:
    """Return the content security policy of pages with `scripts`."""
    texts = {
        "loader": joined(_LOADER),
        "script": joined(scripts),
        "style": _style(scripts),
    }
    return _POLICY.format_map({name: sha256_of(text) for name, text in texts.items()})


def _style(scripts: Sequence[str]) -> str:
    """Return the style sheet of a page, without blanks that mean nothing."""
    dark = _DARK.format(colours=joined(("dark.css",)))
    more = tuple(style for script, style in _STYLES_OF.items() if script in scripts)
    return _BLANK.sub("", joined(_STYLES + more) + dark)


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), _ZLIB_LEVEL)


def _block(name: str, data: bytes) -> Iterator[str]:
    """Yield an element with `data` in base64; the browser does not look into it."""
    yield f'<script type="application/octet-stream" id="{name}">'
    text = b64encode(data).decode("ascii")
    for start in range(0, len(text), _LINE):
        yield text[start : start + _LINE]
    yield "</script>"


@lru_cache(maxsize=8)  # a loader, three pages, two styles, the dark colours, EDITOR
def joined(names: Sequence[str]) -> str:
    """Return the texts of files in `assets`, one after the other."""
    folder = files("lineprof.report.html") / "assets"
    texts = [(folder / name).read_text(encoding="utf-8") for name in names]
    return "\n".join(["", *_without_comments("\n".join(texts)), ""])


def _without_comments(text: str) -> Iterator[str]:
    """Yield lines without their indentation, and without comments.

    Both are a fifth of the page of a small program. No string in `assets` spans
    several lines, or has what begins a comment behind code.
    """
    inside = False
    for whole_line in text.splitlines():
        line = whole_line.strip()
        inside = inside or line.startswith("/**")
        if line and not inside and not line.startswith("//"):
            yield _COMMENT.sub("", line)
        inside = inside and not line.endswith("*/")


def sha256_of(text: str) -> str:
    """Return the SHA-256 of an inline script or style as a policy names it."""
    return b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")
