"""Configuration of Sphinx for the site of docs/: see `build`.

Furo is the theme: it is maintained beside Sphinx, has a light and a dark form, and
loads no fonts and no scripts from other sites.
"""

from __future__ import annotations

import runpy
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Protocol

for_site = runpy.run_path(str(Path(__file__).with_name("pages.py")))["for_site"]

project = "lineprof"
author = "the lineprof authors"
copyright = author  # noqa: A001  # Sphinx's name
release = version = version_of("lineprof")
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_static_path, html_css_files = ["static"], ["site.css"]
html_title = f"lineprof {version}"
html_show_sourcelink = False
html_copy_source = False
myst_heading_anchors = 4  # as code hosts make them
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
nitpicky = True
# Types in signatures: those of the standard library, of other packages, and short names
# of records that are not documented, which `recording` has as well.
nitpick_ignore_regex = [("py:class", r"(?!lineprof\.).*|lineprof\.recording\..*")]


class App(Protocol):
    """The part of Sphinx's application that is used here."""

    outdir: Path

    def connect(self, event: str, call: object) -> int:
        """Have a function called at an event."""


def read_page(app: App, name: str, text: list[str]) -> None:
    """Put the parts of the site into the text of a page."""
    live = {page.stem for page in Path(app.outdir, "live").glob("*.html")}
    text[0] = for_site(name, text[0], live)


def setup(app: App) -> None:
    """Connect to Sphinx."""
    app.connect("source-read", read_page)
