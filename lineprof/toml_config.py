"""Alias of line_profiler's module: see `lineprof.config`."""

from lineprof.config import ConfigSource

__all__ = ["ConfigSource"]
