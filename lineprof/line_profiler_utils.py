"""Alias of line_profiler's module: see `lineprof.decorate.callables`."""

from lineprof.decorate.callables import StringEnum

__all__ = ["StringEnum"]
