"""Alias of line_profiler's module: see `lineprof.config_source`."""

from lineprof.config_source import ConfigSource

__all__ = ["ConfigSource"]
