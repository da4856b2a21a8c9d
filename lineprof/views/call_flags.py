"""The flags of the views of calls. What obeys them is imported when asked."""

from __future__ import annotations

from lineprof.errors import LineprofError
from lineprof.views.gpu_flags import parse_count
from lineprof.views.view import Option

USUAL_HOT = 10  # lines
USUAL_PERCENT = 1.0
_MOST_PERCENT = 100


def parse_percent(text: str) -> float:
    """Return a share from 0 to 100; LineprofError if it is none."""
    try:
        percent = float(text)
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= _MOST_PERCENT:
        raise LineprofError(
            f"{text!r} is not a percentage", hint="give a number from 0 to 100"
        )
    return percent


LIMIT = Option(
    "limit",
    ("--limit",),
    "show the first N rows alone",
    default=0,
    metavar="N",
    parse=parse_count,
)
DEPTH = Option(
    "depth",
    ("--depth",),
    "levels of calls to go down (default: all of --tree, one of --drill)",
    default=0,
    metavar="N",
    parse=parse_count,
)
MIN_PERCENT = Option(
    "min_percent",
    ("--min-percent",),
    "leave out calls with a smaller share in the whole, in %%"
    f" (default: {USUAL_PERCENT:g})",
    default=USUAL_PERCENT,
    metavar="SHARE",
    parse=parse_percent,
)
# What two views take behind their own flag, and what --hot may take.
TARGETS = Option("targets", (), "", default=(), metavar="WHAT", parse=str)
COUNT = Option("lines", (), "", default=USUAL_HOT, metavar="N", parse=parse_count)
