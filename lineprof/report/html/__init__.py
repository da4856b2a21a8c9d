"""Reports as HTML files: of one profile (`render`), and of a comparison of two sides.

`data` and `comparison` compute their numbers, `page` makes the file. It loads nothing
from anywhere: style, scripts and numbers are in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.report.html.data import Collector
from lineprof.report.html.page import REPORT, REPORT_OF_MEMORY, page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.report.options import Options
    from lineprof.source import Sources

__all__ = ["render"]


def render(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the report of `profile` in lines of HTML, without their ends."""
    collector = Collector(profile, sources, options)
    data = collector.data()
    scripts = REPORT_OF_MEMORY if "memory" in data else REPORT
    yield from page(collector.title, data, scripts, collector.blobs)
