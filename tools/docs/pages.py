"""Parts of the documentation that are made when the site is built.

The pages of docs/ are plain Markdown, which a code host shows as well. What only the
site has is put in place of a comment of the page, or at the end of the page.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

HELP, API = "<!-- help of all commands -->", "<!-- API -->"
LIVE = {  # by page below live/: the comment of a link to it, and its text
    "report": (
        "<!-- live report -->",
        "Try the report of <code>examples/access_log.py</code> here",
    ),
    "gpu": (
        "<!-- live report of a simulated GPU -->",
        "Try the report of a simulated GPU here; its numbers are made up",
    ),
}
# An image in two colours. A code host follows the reader's system, the site its switch.
TWO_COLOURS = re.compile(
    r"""<picture>\s*<source\s+media="\(prefers-color-scheme:\ dark\)"
    \s+srcset="(?P<dark>[^"]+)">\s*
    <img\s+alt="(?P<alt>[^"]+)"\s+src="(?P<light>[^"]+)">\s*</picture>""",
    re.VERBOSE,
)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
LISTED = re.compile(r"^- \[[^\]]+\]\((\w[\w-]*)\.md\)", re.MULTILINE)
ELSEWHERE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")  # a link out of docs/
WIDTH = 88  # columns of a help text


def contents(index: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each section of docs/index.md that lists pages, with their names."""
    _, *parts = HEADING.split(index)
    for title, text in zip(parts[::2], parts[1::2]):
        if pages := LISTED.findall(text):
            yield title, pages


def with_contents(index: str) -> str:
    """Return docs/index.md with the tables of contents that Sphinx needs."""
    trees = [
        "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```"])
        for title, pages in contents(index)
    ]
    return "\n\n".join([index, *trees])


def help_texts() -> Iterator[tuple[str, str]]:
    """Yield each command with the help text that it prints."""
    from lineprof.cli.main import COMMANDS  # noqa: PLC0415  # for the site alone

    yield "kernprof", _help("kernprof")
    yield "lineprof", _help("lineprof")
    for name in (*COMMANDS, "run"):
        yield f"lineprof {name}", _help("lineprof", name)


def _help(module: str, *words: str) -> str:
    return subprocess.run(
        [sys.executable, "-P", "-m", module, *words, "--help"],
        env={**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        check=True,
        encoding="utf-8",
    ).stdout.rstrip()


def commands() -> str:
    """Return the help of all commands, a section each."""
    return "\n\n".join(
        f"## {name}\n\n```text\n{text}\n```" for name, text in help_texts()
    )


def api(page: str) -> str:
    """Return docs/api.md with the documentation of each name of its tables.

    A section's tables list names of the module in the section's title.
    """
    made = []
    for part in re.split(r"^(?=## )", page, flags=re.MULTILINE):
        made.append(part)
        title = re.match(r"## `([\w.]+)`", part)
        if title is None:
            continue
        for name, kind in re.findall(r"^\| `(\w+)` \| (\w+) \|", part, re.MULTILINE):
            made.append(_documented(title[1], name, kind))
    return "".join(made)


def _documented(module: str, name: str, kind: str) -> str:
    """Return a directive of Sphinx for a name of a module."""
    directive = {"class": "autoclass", "function": "autofunction"}.get(kind)
    if directive is None:  # the text of an object is that of its class
        return ""
    options = "   :members:\n   :inherited-members:\n" if kind == "class" else ""
    return f"\n```{{eval-rst}}\n.. {directive}:: {module}.{name}\n{options}```\n"


def with_reports(text: str, live: Collection[str]) -> str:
    """Return the text of a page with its links to live reports."""
    for page, (comment, words) in LIVE.items():
        link = f'<p><a href="live/{page}.html">{words}</a></p>' if page in live else ""
        text = text.replace(comment, link)
    return text


def _two_images(found: re.Match[str]) -> str:
    """Return directives for an image in two colours, of which Furo shows one."""
    return "\n\n".join(
        f"```{{image}} {found[name]}\n:alt: {found['alt']}\n:class: only-{name}\n```"
        for name in ("light", "dark")
    )


def for_site(name: str, text: str, live: Collection[str] = tuple(LIVE)) -> str:
    """Return the text of a page as the site has it, with the reports of `live`."""
    text = ELSEWHERE.sub(r"\1", text)
    text = TWO_COLOURS.sub(_two_images, with_reports(text, live))
    if name == "index":
        return with_contents(text)
    if name == "api":
        return api(text)
    return text.replace(HELP, commands()) if HELP in text else text
