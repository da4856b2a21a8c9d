"""Theoretical occupancy: how many of a multiprocessor's warps a kernel can fill.

The rules are those of CUDA's own calculator, cuda_occupancy.h of the CUDA
toolkit (`cudaOccMaxActiveBlocksPerMultiprocessor`, version 12.1), for a kernel
with the default settings: all the shared memory that there is, no partitioned
caching, one barrier a block.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NEEDED = (
    *("cc_major", "cc_minor", "warp_size", "threads_per_sm", "blocks_per_sm"),
    *("registers_per_sm", "smem_per_sm"),
)
_OLDEST, _AMPERE = 3, 8  # compute capabilities
_REGISTER_UNIT = 256  # registers, in which a warp gets them
_SMEM_UNIT, _SMEM_UNIT_BEFORE_AMPERE = 128, 256  # bytes
_SMEM_RESERVED = 1024  # bytes a block, that CUDA takes from Ampere on


def warps_per_block(threads: int, attributes: Mapping[str, int]) -> int | None:
    """Return how many warps a block of `threads` has; None where it is not known."""
    size = attributes.get("warp_size", 0)
    return -(-threads // size) if size > 0 and threads > 0 else None


def occupancy(
    threads: int, registers: int, smem: int, attributes: Mapping[str, int]
) -> float | None:
    """Return the greatest share of a multiprocessor's warps in flight, 0 to 1.

    `threads` and `smem` (bytes, static and dynamic) are those of a block,
    `registers` of a thread, `attributes` the device's. None where these are
    not known, or where no such block could run on it.
    """
    warps = warps_per_block(threads, attributes)
    if warps is None or any(attributes.get(name, -1) < 0 for name in _NEEDED):
        return None
    if attributes["cc_major"] < _OLDEST:
        return None
    most = attributes["threads_per_sm"] // attributes["warp_size"]
    blocks = min(
        attributes["blocks_per_sm"],
        most // warps,
        _blocks_by_registers(warps, registers, attributes),
        _blocks_by_smem(smem, attributes),
    )
    return blocks * warps / most if blocks > 0 else None


def _blocks_by_registers(
    warps: int, registers: int, attributes: Mapping[str, int]
) -> int:
    """Return for how many blocks of `warps` there are registers."""
    if registers <= 0:
        return attributes["blocks_per_sm"]
    capability = (attributes["cc_major"], attributes["cc_minor"])
    partitions = 2 if capability == (6, 0) else 4
    of_warp = _up(registers * attributes["warp_size"], _REGISTER_UNIT)
    in_partition = attributes["registers_per_sm"] // partitions // of_warp
    return in_partition * partitions // warps


def _blocks_by_smem(smem: int, attributes: Mapping[str, int]) -> int:
    """Return for how many blocks there is shared memory."""
    if attributes["cc_major"] >= _AMPERE:
        of_block = _up(smem + _SMEM_RESERVED, _SMEM_UNIT)
    else:
        of_block = _up(smem, _SMEM_UNIT_BEFORE_AMPERE)
    if not of_block:
        return attributes["blocks_per_sm"]
    return attributes["smem_per_sm"] // of_block


def _up(number: int, unit: int) -> int:
    """Return the least multiple of `unit` that is not below `number`."""
    return -(-number // unit) * unit
