"""Times and sizes as nvprof writes them: five digits and a unit; and for CSV."""

from __future__ import annotations

_SECOND = 1e9  # ns
_TIMES = ((_SECOND, "s"), (1e6, "ms"), (1e3, "us"))
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"))


def _digits(number: float, more: int = 0) -> str:
    """Return a number below 1,000 with five digits, and so many `more`."""
    places = 4 if number < 10 else 3 if number < 100 else 2  # noqa: PLR2004
    return f"{number:.{places + more}f}"


def time_text(ns: float) -> str:
    """Return a time (ns) in a unit that reads well: 12.039us."""
    if ns < 0:
        return f"-{time_text(-ns)}"
    for unit, name in _TIMES:
        if ns >= unit:
            return f"{_digits(ns / unit, unit == _SECOND)}{name}"
    return f"{ns:.0f}ns"


def size_text(size: float) -> str:
    """Return a size (bytes) in a unit that reads well; a KB has 1,000 bytes."""
    for unit, name in _SIZES:
        if size >= unit:
            return f"{_digits(size / unit)}{name}"
    return f"{size:.0f}B"


def rate_text(size: int, ns: int) -> str:
    """Return how fast `size` bytes went in `ns`."""
    return f"{size_text(size / ns * _SECOND)}/s"


def milliseconds(ns: int) -> str:
    """Return a time (ns) in ms, exactly."""
    whole, part = divmod(abs(ns), 1_000_000)
    return f"{'-' * (ns < 0)}{whole}.{part:06d}"


def microseconds(ns: int) -> str:
    """Return a time (ns) in us, exactly."""
    whole, part = divmod(abs(ns), 1_000)
    return f"{'-' * (ns < 0)}{whole}.{part:03d}"


def quoted(text: str) -> str:
    """Return a text as a field of CSV."""
    return '"' + text.replace('"', '""') + '"'
