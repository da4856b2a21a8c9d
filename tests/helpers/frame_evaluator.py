"""Python interface to another frame evaluator, `doubles/python/evaluator.c`."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Evaluator:
    """A frame evaluator that is installed, counts frames and is removed again.

    Its methods are C functions: calling them makes no frame.
    """

    def __init__(self, library: Path) -> None:
        loaded = ctypes.PyDLL(str(library))
        loaded.lp_evaluator_frames.restype = ctypes.c_uint64
        loaded.lp_evaluator_is_first.restype = ctypes.c_bool
        loaded.lp_evaluator_is_none.restype = ctypes.c_bool
        self.come: Callable[[], None] = loaded.lp_evaluator_come
        self.go: Callable[[], None] = loaded.lp_evaluator_go
        self.frames: Callable[[], int] = loaded.lp_evaluator_frames
        self.is_first: Callable[[], bool] = loaded.lp_evaluator_is_first
        self.is_none: Callable[[], bool] = loaded.lp_evaluator_is_none
