"""Memory of devices in reports: the peak of each pool, and the lines that had it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import printable
from lineprof.model.gpu import NO_DEVICE, NO_PATH
from lineprof.model.gpu_memory import POOL, TORCH, memory_pools
from lineprof.model.units import NANOSECOND
from lineprof.report.gpu_format import size_text
from lineprof.report.text_grid import counted, percent_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.model.gpu import Gpu
    from lineprof.model.gpu_memory import GpuMemoryPool
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

    Fields = dict[str, object]

_MAX_POOLS = 8  # in lines below the tables, those with the greatest peaks

_NAMES = {
    "device": "memory",
    TORCH: "memory of PyTorch",
    POOL: "memory of the driver's pools",
    "pinned": "pinned host memory",
}


def _lines_at_peak(gpu: Gpu, pool: GpuMemoryPool) -> dict[tuple[Key, int] | None, int]:
    """Return the bytes at the peak by innermost line, most first; None: outside."""
    found: dict[tuple[Key, int] | None, int] = {}
    for one in pool.sums:
        place = None if one.path == NO_PATH else gpu.paths[one.path].lines[-1]
        found[place] = found.get(place, 0) + one.peak_bytes
    order = sorted(found.items(), key=lambda item: -item[1])
    return {place: size for place, size in order if size}


def footer(profile: Profile) -> Iterator[str]:
    """Yield the peak of each pool with the line that had most of it, and notes."""
    gpu = profile.gpu
    pools = [one for one in memory_pools(gpu.memory) if one.peak_bytes]
    largest = sorted(pools, key=lambda one: -one.peak_bytes)[:_MAX_POOLS]
    for pool in pools:
        if pool in largest:
            yield _sentence(gpu, pool)
    yield from _notes(gpu)


def _sentence(gpu: Gpu, pool: GpuMemoryPool) -> str:
    """Return the peak of a pool, and the line that had most of it."""
    name = pool_name(_number(gpu, pool), pool.pool)
    if not pool.in_lines:
        name += " from the driver (not in the columns)"
    peak = f"peak {size_text(pool.peak_bytes)}"
    if len(pool.peaks) == 1:
        peak += f" at {pool.peaks[0].peak_ns * NANOSECOND:.6g} s"
    lines = _lines_at_peak(gpu, pool)
    if not lines:  # a file may lack the sums
        return f"{name}: {peak}"
    (line, size), *_ = lines.items()
    where = "code outside of profiled lines"
    if line is not None:
        (file, _, _), number = line
        where = printable(f"{os.path.basename(file)}:{number}")
    share = f"{percent_of(size, pool.peak_bytes):.0f} %"
    return f"{name}: {peak}: {share} by {where}"


class ChangedPeak(NamedTuple):
    """The peaks of a pool before and after: means of several runs, in bytes."""

    device: int  # CUDA's number; NO_DEVICE if it is unknown
    pool: str
    before: float
    after: float


def changed_peaks(
    before: Sequence[Profile], after: Sequence[Profile]
) -> list[ChangedPeak]:
    """Return the peaks of all pools; [] unless every run knows its memory.

    PyTorch's are left out unless every run has some: one may not have asked for them.
    """
    sides = [[one.gpu for one in side] for side in (before, after)]
    if not all(gpu.memory.is_known for side in sides for gpu in side):
        return []
    has_torch = all(
        any(peak.pool == TORCH for peak in gpu.memory.peaks)
        for side in sides
        for gpu in side
    )
    means: list[dict[tuple[int, str], float]] = [{}, {}]
    for found, side in zip(means, sides):
        for gpu in side:
            for pool in memory_pools(gpu.memory):
                key = (_number(gpu, pool), pool.pool)
                found[key] = found.get(key, 0) + pool.peak_bytes / len(side)
    return [
        ChangedPeak(
            device=key[0],
            pool=key[1],
            before=means[0].get(key, 0),
            after=means[1].get(key, 0),
        )
        for key in sorted({*means[0], *means[1]})
        if has_torch or key[1] != TORCH
    ]


def change_text(peak: ChangedPeak) -> str:
    """Return a changed peak as a sentence."""
    before, after = size_text(int(peak.before)), size_text(int(peak.after))
    return f"{pool_name(peak.device, peak.pool)}: peak {before} before, {after} after"


def _number(gpu: Gpu, pool: GpuMemoryPool) -> int:
    """Return CUDA's number of the device of a pool."""
    return NO_DEVICE if pool.device == NO_DEVICE else gpu.devices[pool.device].device


def pool_name(number: int, pool: str) -> str:
    """Return the name of a pool of a device with CUDA's number."""
    device = "GPU" if number == NO_DEVICE else f"GPU {number}"
    return f"{device} {printable(_NAMES.get(pool, f'{pool} memory'))}"


def _notes(gpu: Gpu) -> Iterator[str]:
    """Yield what the numbers of live and peak memory lack."""
    runs = gpu.memory.runs
    unknown, late, lost = (
        sum(getattr(run, name) for run in runs)
        for name in ("unknown_frees", "late", "lost")
    )
    size = size_text(sum(run.unknown_bytes for run in runs))
    texts = {
        f"{counted(unknown, 'block')} from before recording began ({size}) were freed,"
        " and are in no live or peak memory": unknown,
        f"{counted(late, 'record')} came too late to be put in order: live and peak"
        " memory may be inexact": late,
        f"{counted(lost, 'block')} had no room in the table of live blocks: live and"
        " peak memory lack them": lost,
        "PyTorch's history was full, and lost its first events: the numbers lack"
        " them": any(run.torch_full for run in runs),
        "many profilers began later in the same process: live and peak memory of the"
        " first ones are not known": any(run.is_cut for run in runs),
    }
    yield from (f"GPU memory: {text}" for text, is_so in texts.items() if is_so)


def fields(gpu: Gpu) -> Fields:
    """Return the fields of JSON: the pools with their peaks, and what they lack."""
    return {
        "pools": [
            {
                "device": pool.device,
                "pool": pool.pool,
                "in_lines": pool.in_lines,
                "live_bytes": pool.live_bytes,
                "peak_bytes": pool.peak_bytes,
                "peaks": [
                    {
                        "process": peak.process,
                        "peak_bytes": peak.peak_bytes,
                        "peak_ns": peak.peak_ns,
                    }
                    for peak in pool.peaks
                ],
                "lines": [
                    {
                        "file": line[0][0] if line else None,
                        "function": line[0][2] if line else None,
                        "function_line": line[0][1] if line else None,
                        "line": line[1] if line else None,
                        "peak_bytes": size,
                    }
                    for line, size in _lines_at_peak(gpu, pool).items()
                ],
            }
            for pool in memory_pools(gpu.memory)
        ],
        "runs": [run._asdict() for run in gpu.memory.runs],
    }
