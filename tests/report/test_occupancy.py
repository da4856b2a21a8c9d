"""Theoretical occupancy, against the results of CUDA's calculator."""

from __future__ import annotations

import pytest

from lineprof.report.gpu_format import occupancy, warps_per_block

pytestmark = pytest.mark.once  # arithmetic and text


def device(major: int, minor: int, *limits: int) -> dict[str, int]:
    threads, blocks, smem = limits
    return {
        "cc_major": major,
        "cc_minor": minor,
        "warp_size": 32,
        "threads_per_sm": threads,
        "blocks_per_sm": blocks,
        "registers_per_sm": 65_536,
        "smem_per_sm": smem,
    }


P100 = device(6, 0, 2048, 32, 65_536)
GTX_1080 = device(6, 1, 2048, 32, 98_304)
V100 = device(7, 0, 2048, 32, 98_304)
T4 = device(7, 5, 1024, 16, 65_536)
A100 = device(8, 0, 2048, 32, 167_936)
RTX_3090 = device(8, 6, 1536, 16, 102_400)
H100 = device(9, 0, 2048, 32, 233_472)


# Blocks in flight by cudaOccMaxActiveBlocksPerMultiprocessor of
# cuda_occupancy.h (CUDA 13.0), for these threads, registers and shared memory.
@pytest.mark.parametrize(
    ("attributes", "threads", "registers", "smem", "blocks"),
    [
        (P100, 256, 32, 0, 8),
        (P100, 256, 33, 0, 6),
        (P100, 1024, 32, 4096, 2),
        (P100, 128, 168, 0, 3),
        (P100, 96, 40, 10000, 6),
        (P100, 33, 255, 0, 4),
        (P100, 512, 64, 49152, 1),
        (P100, 192, 72, 16384, 4),
        (P100, 32, 16, 0, 32),
        (P100, 64, 48, 1024, 21),
        (GTX_1080, 256, 32, 0, 8),
        (GTX_1080, 256, 33, 0, 6),
        (GTX_1080, 1024, 32, 4096, 2),
        (GTX_1080, 128, 168, 0, 3),
        (GTX_1080, 96, 40, 10000, 9),
        (GTX_1080, 33, 255, 0, 4),
        (GTX_1080, 512, 64, 49152, 2),
        (GTX_1080, 192, 72, 16384, 4),
        (GTX_1080, 32, 16, 0, 32),
        (GTX_1080, 64, 48, 1024, 20),
        (V100, 256, 32, 0, 8),
        (V100, 256, 33, 0, 6),
        (V100, 1024, 32, 4096, 2),
        (V100, 128, 168, 0, 3),
        (V100, 96, 40, 10000, 9),
        (V100, 33, 255, 0, 4),
        (V100, 512, 64, 49152, 2),
        (V100, 192, 72, 16384, 4),
        (V100, 32, 16, 0, 32),
        (V100, 64, 48, 1024, 20),
        (T4, 256, 32, 0, 4),
        (T4, 256, 33, 0, 4),
        (T4, 1024, 32, 4096, 1),
        (T4, 128, 168, 0, 3),
        (T4, 96, 40, 10000, 6),
        (T4, 33, 255, 0, 4),
        (T4, 512, 64, 49152, 1),
        (T4, 192, 72, 16384, 4),
        (T4, 32, 16, 0, 16),
        (T4, 64, 48, 1024, 16),
        (A100, 256, 32, 0, 8),
        (A100, 256, 33, 0, 6),
        (A100, 1024, 32, 4096, 2),
        (A100, 128, 168, 0, 3),
        (A100, 96, 40, 10000, 15),
        (A100, 33, 255, 0, 4),
        (A100, 512, 64, 49152, 2),
        (A100, 192, 72, 16384, 4),
        (A100, 32, 16, 0, 32),
        (A100, 64, 48, 1024, 20),
        (A100, 256, 128, 100000, 1),
        (RTX_3090, 256, 32, 0, 6),
        (RTX_3090, 256, 33, 0, 6),
        (RTX_3090, 1024, 32, 4096, 1),
        (RTX_3090, 128, 168, 0, 3),
        (RTX_3090, 96, 40, 10000, 9),
        (RTX_3090, 33, 255, 0, 4),
        (RTX_3090, 512, 64, 49152, 2),
        (RTX_3090, 192, 72, 16384, 4),
        (RTX_3090, 32, 16, 0, 16),
        (RTX_3090, 64, 48, 1024, 16),
        (RTX_3090, 256, 128, 100000, 1),
        (H100, 256, 32, 0, 8),
        (H100, 256, 33, 0, 6),
        (H100, 1024, 32, 4096, 2),
        (H100, 128, 168, 0, 3),
        (H100, 96, 40, 10000, 16),
        (H100, 33, 255, 0, 4),
        (H100, 512, 64, 49152, 2),
        (H100, 192, 72, 16384, 4),
        (H100, 32, 16, 0, 32),
        (H100, 64, 48, 1024, 20),
        (H100, 256, 128, 100000, 2),
    ],
)
def test_blocks_in_flight_are_those_of_cudas_calculator(
    attributes: dict[str, int], threads: int, registers: int, smem: int, blocks: int
) -> None:
    most = attributes["threads_per_sm"] // 32
    share = blocks * -(-threads // 32) / most
    assert occupancy(threads, registers, smem, attributes) == share


def test_a_block_that_cannot_run_has_no_occupancy() -> None:
    assert occupancy(1024, 255, 0, H100) is None
    assert occupancy(32, 0, 300_000, H100) is None
    assert occupancy(4096, 0, 0, H100) is None
    assert occupancy(0, 32, 0, H100) is None


def test_occupancy_is_unknown_without_the_limits_of_the_device() -> None:
    for name in H100:
        limits = {key: value for key, value in H100.items() if key != name}
        assert occupancy(256, 32, 0, limits) is None
    assert occupancy(256, 32, 0, {}) is None
    assert occupancy(256, 32, 0, {**H100, "warp_size": 0}) is None
    assert occupancy(256, 32, 0, {**H100, "threads_per_sm": 0}) is None
    assert occupancy(256, 32, 0, {**H100, "cc_major": 2}) is None
    assert occupancy(256, 32, 0, {**H100, "registers_per_sm": -1}) is None


def test_warps_are_rounded_up() -> None:
    assert [warps_per_block(n, H100) for n in (1, 32, 33, 1024)] == [1, 1, 2, 32]
    assert warps_per_block(0, H100) is None
    assert warps_per_block(32, {}) is None
