"""A training loop on a simulated GPU: every number of the device is made up.

`make demo-gpu-double` runs it on any machine. It loads doubles of NVIDIA's driver and
of CUPTI, which compute nothing and only report to lineprof the activities that a GPU
would have had.
"""

from __future__ import annotations

import ctypes
import os
import sys

from lineprof import profile

if not os.environ.get("LINEPROF_CUDA"):
    sys.exit("simulated_gpu.py: no GPU is simulated here; run: make demo-gpu-double")
gpu = ctypes.CDLL(os.environ["LINEPROF_CUDA"])
gpu.fk_launch.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64]
gpu.fk_memcpy.argtypes = [ctypes.c_int, *[ctypes.c_uint64] * 2, *[ctypes.c_int] * 3]
launch_natively = gpu.fk_launch_from_native_thread
launch_natively.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int]
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
PAGEABLE, DEVICE = 1, 3
MATMUL = b"_Z6matmulILi128ELi64EEvPKfS1_Pfi"
GELU = b"_Z4geluPKfPfi"
ADAM = b"_Z9adam_stepPfPKfS_S_i"


def to_device(size: int) -> None:
    """Copy a batch of `size` bytes to the device."""
    gpu.fk_memcpy(HOST_TO_DEVICE, size, size // 20, 1, PAGEABLE, DEVICE)


def backward() -> None:
    """Launch kernels from a thread without Python, as autograd does."""
    launch_natively(MATMUL, 66_000, 4)


def item() -> None:
    """Copy one number from the device, and wait for it."""
    gpu.fk_memcpy(DEVICE_TO_HOST, 4, 1_500, 1, DEVICE, PAGEABLE)


@profile
def model() -> None:
    """Launch two matrix products with an activation between."""
    gpu.fk_launch(MATMUL, 0, 61_000)
    gpu.fk_launch(GELU, 0, 4_000)
    gpu.fk_launch(MATMUL, 0, 7_500)


@profile
def train(steps: int) -> None:
    """Train for `steps` steps."""
    for _ in range(steps):
        to_device(524_288)
        model()
        backward()
        gpu.fk_launch(ADAM, 0, 12_000)
        item()


if __name__ == "__main__":
    gpu.fk_init()
    gpu.fk_wait_really(1)
    train(100)
    print("simulated: the GPU's numbers below are made up, for want of a GPU")
