"""Alias of line_profiler's module: see `lineprof.recording.global_profiler`."""

from lineprof.recording.global_profiler import GlobalProfiler, profile

__all__ = ["GlobalProfiler", "profile"]
