"""Alias of line_profiler's module: see `lineprof.recording.global_profiler`."""

from __future__ import annotations
