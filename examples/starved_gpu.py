"""A training loop whose data loading leaves a simulated GPU idle.

`make demo-gpu-double` runs it on any machine, with and without `--prefetch`. It loads
doubles of NVIDIA's driver and of CUPTI, and a clock that only the program advances, so
that the idle time of the GPU is known to the nanosecond.
"""

from __future__ import annotations

import ctypes
import os
import sys

from lineprof import profile

clock = ctypes.CDLL(None)
if not os.environ.get("LINEPROF_CUDA") or not hasattr(clock, "frozen_clock_advance"):
    sys.exit("starved_gpu.py: no GPU is simulated here; run: make demo-gpu-double")
clock.frozen_clock_advance.argtypes = [ctypes.c_uint64]
clock.frozen_clock_compute.argtypes = [ctypes.c_uint64]
gpu = ctypes.CDLL(os.environ["LINEPROF_CUDA"])
gpu.fk_launch.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64]
gpu.fk_sync.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64]
gpu.fk_on_wait.argtypes = [ctypes.c_void_p]
gpu.fk_idle_ns.restype = ctypes.c_uint64
MATMUL = b"_Z6matmulILi128ELi64EEvPKfS1_Pfi"
STEP_NS = 5_000_000


def read() -> None:
    """Wait for a disk."""
    clock.frozen_clock_advance(3_000_000)


def decode() -> None:
    """Compute."""
    clock.frozen_clock_compute(1_000_000)


def item() -> None:
    """Wait until the GPU has finished."""
    gpu.fk_sync(1, 0, -1)


@profile
def load() -> None:
    """Load a batch."""
    read()
    decode()


@profile
def train(steps: int) -> None:
    """Load each batch when the GPU has finished the one before."""
    for _ in range(steps):
        load()
        gpu.fk_launch(MATMUL, 0, STEP_NS)
        item()


@profile
def train_with_prefetch(steps: int) -> None:
    """Load each batch while the GPU works on the one before."""
    load()
    for _ in range(steps):
        gpu.fk_launch(MATMUL, 0, STEP_NS)
        load()
    item()


if __name__ == "__main__":
    gpu.fk_init()
    gpu.fk_on_wait(ctypes.cast(clock.frozen_clock_advance, ctypes.c_void_p))
    if "--prefetch" in sys.argv:
        train_with_prefetch(100)
    else:
        train(100)
    print(f"simulated: the GPU was idle for {gpu.fk_idle_ns(0)} ns")
