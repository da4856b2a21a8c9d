"""Which line of my Python costs the time?

``@lineprof.profile`` marks functions, ``kernprof -l script.py`` runs a program
and writes its profile, and ``python -m lineprof view`` shows it.
"""

from __future__ import annotations

from lineprof.explicit import profile
from lineprof.version import VERSION as __version__  # noqa: N811

TYPE_CHECKING = False  # as a type checker knows; importing typing takes 5 ms
if TYPE_CHECKING:
    from lineprof.profiler import LineProfiler
    from lineprof.stats import LineStats

    load_stats = LineStats.from_files

__all__ = ["LineProfiler", "LineStats", "__version__", "load_stats", "profile"]


def __getattr__(name: str) -> object:
    """Import what costs time only when it is asked for."""
    if name == "LineProfiler":
        from lineprof.profiler import LineProfiler  # noqa: PLC0415

        return LineProfiler
    if name in ("LineStats", "load_stats"):
        from lineprof.stats import LineStats  # noqa: PLC0415

        return LineStats if name == "LineStats" else LineStats.from_files
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
