"""Flags of code objects, as in `inspect`, which takes 11 ms to import."""

from __future__ import annotations

OPTIMIZED = 0x1  # of functions, not of class bodies or modules
GENERATOR = 0x20
COROUTINE = 0x80
ITERABLE_COROUTINE = 0x100  # made by `types.coroutine`
ASYNC_GENERATOR = 0x200
