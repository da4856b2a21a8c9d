"""Which line of my Python costs the time?

``@lineprof.profile`` marks functions, ``kernprof -l script.py`` runs a program
and writes its profile, and ``python -m lineprof view`` shows it.
"""

from __future__ import annotations

from lineprof.explicit_profiler import profile
from lineprof.version import VERSION as __version__  # noqa: N811

TYPE_CHECKING = False  # as a type checker knows; importing typing takes 5 ms
if TYPE_CHECKING:
    from lineprof.gpu import gpu_status
    from lineprof.profiler import LineProfiler, start, stop
    from lineprof.stats import LineStats

    load_stats = LineStats.from_files

__all__ = [
    "LineProfiler",
    "LineStats",
    "__version__",
    "gpu_status",
    "load_stats",
    "profile",
    "start",
    "stop",
]


def __getattr__(name: str) -> object:
    """Import what costs time only when it is asked for."""
    if name in ("LineProfiler", "start", "stop"):
        from lineprof import profiler  # noqa: PLC0415

        return getattr(profiler, name)
    if name in ("LineStats", "load_stats"):
        from lineprof.stats import LineStats  # noqa: PLC0415

        return LineStats if name == "LineStats" else LineStats.from_files
    if name == "gpu_status":
        from lineprof.gpu import gpu_status  # noqa: PLC0415

        return gpu_status
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
