"""Alias of line_profiler's module: see `lineprof.global_profiler`."""

from lineprof.global_profiler import GlobalProfiler, profile

__all__ = ["GlobalProfiler", "profile"]
