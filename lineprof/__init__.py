"""lineprof, a line profiler for Python programs and the GPU work that they launch.

``@lineprof.profile`` marks functions, ``kernprof -l script.py`` runs a program
and writes its profile, and ``python -m lineprof view`` shows it.

PYTEST_DONT_REWRITE: pytest --lineprof is a plugin.
"""

from __future__ import annotations

from lineprof.recording.global_profiler import profile
from lineprof.version import VERSION as __version__  # noqa: N811

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.control import listen
    from lineprof import line_profiler
    from lineprof.ipython import load_ipython_extension, unload_ipython_extension
    from lineprof.line_profiler import main
    from lineprof.line_stats import LineStats, load_stats
    from lineprof.recording.core import start, stop
    from lineprof.recording.gpu import GpuOptions, gpu_status
    from lineprof.recording.profiler import LineProfiler
    from lineprof.recording.trace import TraceOptions
    from lineprof.report.line_profiler_tables import show_func, show_text

__all__ = [
    "GpuOptions",
    "LineProfiler",
    "LineStats",
    "TraceOptions",
    "__version__",
    "gpu_status",
    "line_profiler",
    "listen",
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

# The modules of the names that are imported at their first use.
_HOMES = {
    "GpuOptions": "lineprof.recording.gpu",
    "LineProfiler": "lineprof.recording.profiler",
    "LineStats": "lineprof.line_stats",
    "TraceOptions": "lineprof.recording.trace",
    "gpu_status": "lineprof.recording.gpu",
    "listen": "kernprof.control",
    "load_ipython_extension": "lineprof.ipython",
    "load_stats": "lineprof.line_stats",
    "main": "lineprof.line_profiler",
    "show_func": "lineprof.report.line_profiler_tables",
    "show_text": "lineprof.report.line_profiler_tables",
    "start": "lineprof.recording.core",
    "stop": "lineprof.recording.core",
    "unload_ipython_extension": "lineprof.ipython",
}


def __getattr__(name: str) -> object:
    """Import a public name at its first use."""
    from importlib import import_module  # noqa: PLC0415  # not for the program's start

    if name == "line_profiler":
        return import_module("lineprof.line_profiler")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
