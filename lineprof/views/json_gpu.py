"""What the JSON of a profile says of GPUs: docs/json.md describes it."""

from __future__ import annotations

from dataclasses import dataclass

from lineprof.gpu_lines import (
    GpuNumbers,
    numbers_of_functions,
    numbers_of_lines,
    totals,
    unattributed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from lineprof.gpu_records import Gpu
    from lineprof.records import Key

    Fields = dict[str, object]


@dataclass(frozen=True)
class GpuFields:
    """The GPU numbers of a profile, worked out once."""

    lines: Mapping[Key, Mapping[int, GpuNumbers]]
    functions: Mapping[Key, GpuNumbers]

    def of_function(self, key: Key) -> Fields:
        """Return a function's fields; none when there are no GPU data of it."""
        numbers = self.functions.get(key)
        return fields(numbers) if numbers else {}

    def of_line(self, key: Key, line: int) -> Fields:
        """Return a line's fields; none when there are no GPU data of it."""
        numbers = self.lines.get(key, {}).get(line)
        return fields(numbers) if numbers else {}

    def lines_of(self, key: Key) -> set[int]:
        """Return the lines of a function that have GPU data."""
        return set(self.lines.get(key, ()))


def gpu_fields(gpu: Gpu) -> GpuFields:
    """Return the numbers of all lines and functions."""
    return GpuFields(numbers_of_lines(gpu), numbers_of_functions(gpu))


def fields(numbers: GpuNumbers) -> Fields:
    """Return numbers by the names that docs/json.md has."""
    return {
        "gpu_ns": numbers.gpu_ns,
        "gpu_self_ns": numbers.self_ns,
        "gpu_adopted_ns": numbers.adopted_ns,
        "kernels": numbers.kernels,
        "max_kernel_ns": numbers.max_kernel_ns,
        "memsets": numbers.memsets,
        "memset_ns": numbers.memset_ns,
        "memcpy_ns": numbers.memcpy_ns,
        "memcpy_bytes": numbers.memcpy_bytes,
        "memcpy_ns_by_direction": {name: ns for name, _, ns, _ in numbers.copies},
        "memcpy_bytes_by_direction": {name: size for name, *_, size in numbers.copies},
        "waits": numbers.waits,
        "wait_ns": numbers.wait_ns,
        "alloc_bytes": numbers.alloc_bytes,
        "free_bytes": numbers.free_bytes,
        "migration_ns": sum(ns for _, _, ns, _ in numbers.migrations),
        "migration_bytes": sum(size for *_, size in numbers.migrations),
    }


def summary(gpu: Gpu) -> Fields | None:
    """Return what stands once in a profile; None if it knows nothing of GPUs."""
    runs = gpu.runs
    if not (gpu.sums or any(run.present or run.backend != "none" for run in runs)):
        return None
    total, rest = totals(gpu), unattributed(gpu)
    return {
        "total_ns": total.gpu_ns,
        "unattributed_ns": rest.gpu_ns,
        "busy_ns": sum(device.busy_ns for device in gpu.devices),
        "dropped": sum(run.dropped for run in runs),
        "invalid": sum(run.invalid for run in runs),
        "outstanding": sum(run.outstanding for run in runs),
        "left_out": sum(run.left_out for run in runs),
        "totals": fields(total),
        "unattributed": fields(rest),
        "devices": [
            {**device._asdict(), "attributes": dict(device.attributes)}
            for device in gpu.devices
        ],
        "runs": [run._asdict() for run in runs],
    }
