"""Alias of line_profiler's module: see `lineprof.decorate.callables`."""

from __future__ import annotations
