"""Another profiler, or the floor of all of them, in a program that takes turns.

Use in programs under test, whose first argument names what runs beside them::

    peer = Peer()
    for _ in turns():
        with peer.recording():
            ...
    peer.end()

"floor" is the empty client of CUPTI; its library and that of CUPTI are in the
environment.  "torch.profiler" is what it is called, a name that begins with "proton" is
Proton, any other name is nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from typing import TYPE_CHECKING, Any

from raw import say

if TYPE_CHECKING:
    from collections.abc import Iterator


class Peer:
    """What runs beside a program, named by the program's first argument."""

    def __init__(self) -> None:
        """Start it, if it is one that starts once."""
        self.name = sys.argv[1]
        self.floor: Any = None
        if self.name == "floor":
            self.floor = ctypes.CDLL(os.environ["LAB_FLOOR"])
            status = self.floor.floor_open(os.environ["LAB_CUPTI"].encode())
            if status:
                raise RuntimeError(f"floor_open gave {status}")
        elif self.name == "torch.profiler":
            import torch  # noqa: PLC0415 - only where it is used

            torch.ones(1, device="cuda").sum().item()
        elif self.name.startswith("proton"):
            import triton.profiler  # noqa: PLC0415

            triton.profiler.start("program")

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Have it record in the block, but for what records all the time.

        torch.profiler gets ready, and works out its events, outside of the block.
        """
        if self.name != "torch.profiler":
            yield
            return
        from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415

        recorder = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        recorder.start()
        try:
            yield
        finally:
            recorder.stop()

    def end(self) -> None:
        """End it; say how many records the floor has."""
        if self.floor:
            self.floor.floor_close()
            say(records=self.floor.floor_records())
        elif self.name.startswith("proton"):
            import triton.profiler  # noqa: PLC0415

            triton.profiler.finalize()
