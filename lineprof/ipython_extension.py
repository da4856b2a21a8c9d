"""Alias of line_profiler's module: see `lineprof.ipython`."""

from __future__ import annotations
