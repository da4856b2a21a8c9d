"""Other tools that record a GPU in the same process: doubles, compiled libraries.

    from gpu_tools import Tool
    torch = Tool("libtorch_cpu")
    torch.begin()  # 0, or CUPTI's refusal

`libtorch_cpu` is PyTorch's profiler, which names the calls without a version and does
not subscribe (2.15 on); `libkineto` subscribes by cuptiSubscribe, as PyTorch did
before; `libproton` does so, too, with calls that it finds itself; `libunseen` finds
them and does not subscribe; `libxla` subscribes by cuptiSubscribe_v2 and allows others,
or, by `called()`, does not.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import NamedTuple

KERNEL, MEMCPY, MEMSET = 10, 1, 2


class Got(NamedTuple):
    """The records and buffers of a tool."""

    kernels: int
    copies: int
    memsets: int
    incomplete: int  # kernels without times
    foreign: int  # buffers of others that came to it
    hurt: int  # buffers of its own that somebody wrote over


class Tool:
    """One tool, loaded as programs load it: after CUPTI, which serves its names."""

    def __init__(self, name: str) -> None:
        self.cupti = ctypes.CDLL(os.environ["LINEPROF_CUPTI"], ctypes.RTLD_GLOBAL)
        doubles = Path(os.environ["LINEPROF_CUDA"]).parent
        self.library = ctypes.CDLL(str(doubles / f"{name}.so"))
        self.library.tool_holder.restype = ctypes.c_char_p

    def called(self, name: str, *, several: bool = True) -> Tool:
        """Set its name in CUPTI, and whether it allows others beside it."""
        self.name = name.encode()
        self.library.tool_name(self.name, int(several))
        return self

    def begin(self) -> int:
        """Record; return 0, or the status with which CUPTI refuses it."""
        return int(self.library.tool_begin())

    def deliver(self) -> int:
        """Let CUPTI bring its records."""
        return int(self.library.tool_deliver())

    def end(self) -> int:
        """Record no more."""
        return int(self.library.tool_end())

    @property
    def holder(self) -> str:
        """Name of the first subscriber, as CUPTI told."""
        return (self.library.tool_holder() or b"").decode()

    @property
    def heard(self) -> int:
        """Callbacks of launches, two for each, of a tool that subscribes."""
        return int(self.library.tool_callbacks())

    @property
    def got(self) -> Got:
        """What it has got so far."""
        kinds = map(self.library.tool_records, (KERNEL, MEMCPY, MEMSET))
        names = ("incomplete", "foreign", "hurt")
        numbers = (getattr(self.library, f"tool_{name}")() for name in names)
        return Got(*kinds, *numbers)
