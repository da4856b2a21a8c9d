"""Which line of my Python costs the time?

``@lineprof.profile`` marks functions, ``kernprof -l script.py`` runs a program
and writes its profile, and ``python -m lineprof view`` shows it.
"""

from __future__ import annotations

from lineprof.recording.global_profiler import profile
from lineprof.version import VERSION as __version__  # noqa: N811

TYPE_CHECKING = False  # as a type checker knows; importing typing takes 5 ms
if TYPE_CHECKING:
    from lineprof.ipython import load_ipython_extension, unload_ipython_extension
    from lineprof.line_profiler import main
    from lineprof.line_stats import LineStats, load_stats, show_func, show_text
    from lineprof.recording.core import start, stop
    from lineprof.recording.gpu import gpu_status
    from lineprof.recording.profiler import LineProfiler

__all__ = [
    "LineProfiler",
    "LineStats",
    "__version__",
    "gpu_status",
    "line_profiler",
    "load_ipython_extension",
    "load_stats",
    "main",
    "profile",
    "show_func",
    "show_text",
    "start",
    "stop",
    "unload_ipython_extension",
]


def __getattr__(name: str) -> object:
    """Import what costs time only when it is asked for."""
    if name == "LineProfiler":
        from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415

        return LineProfiler
    if name in ("start", "stop"):
        from lineprof.recording import core  # noqa: PLC0415

        return getattr(core, name)
    if name in ("LineStats", "load_stats", "show_func", "show_text"):
        from lineprof import line_stats  # noqa: PLC0415

        return getattr(line_stats, name)
    if name == "gpu_status":
        from lineprof.recording.gpu import gpu_status  # noqa: PLC0415

        return gpu_status
    if name in ("load_ipython_extension", "unload_ipython_extension"):
        from lineprof import ipython  # noqa: PLC0415

        return getattr(ipython, name)
    if name in ("line_profiler", "main"):
        import lineprof.line_profiler as module  # noqa: PLC0415

        return module if name == "line_profiler" else getattr(module, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
