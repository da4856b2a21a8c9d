"""Reads an HTML report as a browser does, without running its script."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

_DATA = "application/octet-stream"


class Page(HTMLParser):
    """The parts of a report: its policy, its scripts, its numbers."""

    def __init__(self, text: str) -> None:
        """Read the page `text`."""
        super().__init__()
        self.policy = ""
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.styles: list[str] = []
        self.scripts: list[str] = []
        self.blocks: dict[str, bytes] = {}  # of data, by their id
        self._inside = ("", "")  # the tag, and the id of a block of data
        self.feed(text)
        self.close()
        self.scripts.append(zlib.decompress(self.blocks["scripts"]).decode())
        self.data: dict[str, Any] = json.loads(zlib.decompress(self.blocks["data"]))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        self._inside = (tag, "")
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"] or ""
        elif tag == "script" and attributes.get("type") == _DATA:
            self._inside = (tag, attributes["id"] or "")
        elif tag == "script":
            self.scripts.append("")
        elif tag == "style":
            self.styles.append("")

    def handle_endtag(self, _: str) -> None:
        """Leave an element."""
        self._inside = ("", "")

    def handle_data(self, data: str) -> None:
        """Take the text of a script, of a style sheet, or of a block of data."""
        tag, block = self._inside
        if block:
            self.blocks[block] = self.blocks.get(block, b"") + b64decode(data)
        elif tag == "script":
            self.scripts[-1] += data
        elif tag == "style":
            self.styles[-1] += data

    @property
    def allowed(self) -> dict[str, str]:
        """The content security policy by its directives."""
        found = {}
        for directive in self.policy.split(";"):
            name, _, value = directive.strip().partition(" ")
            found[name] = value
        return found

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of one of the tables of columns in the data."""
        columns = self.data[table]
        return [dict(zip(columns, row)) for row in zip(*columns.values(), strict=True)]

    def addresses(self) -> list[str]:
        """Return what elements would load, and what scripts and styles name."""
        loaded = [
            attributes[name] or ""
            for _, attributes in self.elements
            for name in ("src", "href", "srcset", "data", "action")
            if name in attributes
        ]
        texts = "\n".join([*self.scripts, *self.styles])
        return loaded + re.findall(r"https?://[^\s'\"]+|url\([^)]*\)", texts)


def source_of(text: str) -> str:
    """Return the source that a content security policy has for an inline text."""
    digest = b64encode(sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
