"""The public names of line_profiler's module of this name.

Each is imported from where it is at home when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from lineprof.recording.profiler import LineProfiler
from lineprof.version import VERSION as __version__  # noqa: N811

if TYPE_CHECKING:
    from lineprof.config import ConfigSource
    from lineprof.decorate.callables import ScopingPolicy
    from lineprof.decorate.wrappers import ByCountProfilerMixin
    from lineprof.ipython import load_ipython_extension
    from lineprof.line_stats import LineStats, load_stats
    from lineprof.report.line_profiler_tables import show_func, show_text
    from lineprof.source import is_generated_code

__all__ = [
    "ByCountProfilerMixin",
    "ConfigSource",
    "LineProfiler",
    "LineStats",
    "ScopingPolicy",
    "__version__",
    "is_generated_code",
    "load_ipython_extension",
    "load_stats",
    "main",
    "show_func",
    "show_text",
]

_HOMES = {
    "ByCountProfilerMixin": "lineprof.decorate.wrappers",
    "ConfigSource": "lineprof.config",
    "LineStats": "lineprof.line_stats",
    "ScopingPolicy": "lineprof.decorate.callables",
    "ScopingPolicyDict": "lineprof.decorate.callables",
    "get_code_block": "lineprof.source",
    "is_c_level_callable": "lineprof.decorate.callables",
    "is_generated_code": "lineprof.source",
    "load_ipython_extension": "lineprof.ipython",
    "load_stats": "lineprof.line_stats",
    "show_func": "lineprof.report.line_profiler_tables",
    "show_text": "lineprof.report.line_profiler_tables",
}


def main() -> None:
    """Run ``python -m lineprof`` with the process's arguments.

    Raises SystemExit with its status where that is not 0.
    """
    from lineprof.cli.main import main as command  # noqa: PLC0415  # argparse and all

    if status := command():
        raise SystemExit(status)


def __getattr__(name: str) -> object:
    """Import a name's home when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    return getattr(importlib.import_module(_HOMES[name]), name)
