"""A profile as the JSON that ``lineprof view --json`` shows."""

from __future__ import annotations

from lineprof.log_file import encoded
from lineprof.source import Sources
from lineprof.views import json_
from lineprof.views.view import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.stats import Profile


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the JSON of `stats`, times in nanoseconds."""
    yield from encoded(json_.render(stats, Sources(stats.sources), Options()))
