"""Alias of line_profiler's module: see `lineprof.config`."""

from __future__ import annotations
