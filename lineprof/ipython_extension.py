"""Alias of line_profiler's module: see `lineprof.ipython.magics`."""

from lineprof.ipython import load_ipython_extension, unload_ipython_extension
from lineprof.ipython.magics import LineProfilerMagics

__all__ = ["LineProfilerMagics", "load_ipython_extension", "unload_ipython_extension"]
