"""What --sort-by, and --sort with a name after it, may be given."""

from __future__ import annotations

from lineprof.errors import LineprofError

OF_TABLES = ("gpu", "time", "hits", "wait", "line")
# Of --functions, by each of its names: those of `pstats` are taken, too.
OF_FUNCTIONS = {
    **dict.fromkeys(("calls", "ncalls"), "calls"),
    **dict.fromkeys(("primitive", "pcalls"), "primitive"),
    **dict.fromkeys(("self", "tottime", "time"), "self"),
    **dict.fromkeys(("cumulative", "cumtime"), "cumulative"),
    **dict.fromkeys(("per-call", "percall"), "per-call"),
    "gpu": "gpu",
    "name": "name",
    **dict.fromkeys(("file", "filename", "module", "line", "nfl", "stdname"), "file"),
}
ALL = tuple(dict.fromkeys((*OF_TABLES, *OF_FUNCTIONS)))


def parse_order(text: str) -> str:
    """Return the name of an order; LineprofError for one that no view knows."""
    if text not in ALL:
        raise LineprofError(
            f"there is no order {text!r}",
            hint=f"known are: {', '.join(OF_TABLES)};"
            f" of --functions: {', '.join(dict.fromkeys(OF_FUNCTIONS.values()))}",
        )
    return text
