"""What stands below the tables: the GPUs' totals, and what they leave open."""

from __future__ import annotations

from lineprof.errors import printable
from lineprof.gpu_lines import totals, unattributed
from lineprof.gpu_records import GRAPH, KERNEL, MEMCPY, MEMSET
from lineprof.units import NANOSECOND
from lineprof.views.gpu_names import matcher
from lineprof.views.gpu_units import size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.gpu_numbers import GpuNumbers
    from lineprof.gpu_records import Gpu, GpuDevice
    from lineprof.stats import Profile
    from lineprof.views.view import Options

_BUSY = frozenset({KERNEL, MEMCPY, MEMSET, GRAPH})  # what counts as that
_MOST_DEVICES = 8  # that get a line each


def footer(stats: Profile, options: Options) -> Iterator[str]:
    """Yield the totals of all GPU data, or why a GPU's are missing; or nothing."""
    gpu = stats.gpu
    if not gpu.sums:
        yield from _lost(gpu)
        yield from why_off(gpu)
        return
    matches = matcher(options.kernel)
    whole = totals(gpu, kernel=matches)
    nowhere = unattributed(gpu, kernel=matches, capture=options.graph_origin)
    yield from _work(whole)
    if options.kernel is not None and not whole.kernels:
        yield f"No kernel's name matches {printable(options.kernel)!r}; try '*part*'"
    yield from _devices(stats)
    yield from _elsewhere(whole, nowhere)
    yield from _lost(gpu)
    yield from why_off(gpu)


def why_off(gpu: Gpu) -> Iterator[str]:
    """Yield why there are no numbers of a GPU that is there."""
    off = [run for run in gpu.runs if run.present and run.backend != "cupti"]
    for reason in dict.fromkeys(run.reason for run in off):
        yield f"GPU columns off: {printable(reason)}"


def _seconds(ns: int) -> str:
    return f"{ns * NANOSECOND:g} s"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def _work(whole: GpuNumbers) -> Iterator[str]:
    """Yield what the devices did."""
    memsets = f" and {whole.memsets} memsets" if whole.memsets else ""
    yield f"GPU time: {_seconds(whole.gpu_ns)} in {whole.kernels} kernels{memsets}"
    for what, copies in (("Copies", whole.copies), ("Migrations", whole.migrations)):
        if copies:
            ns = sum(ns for _, _, ns, _ in copies)
            each = [
                f"{printable(direction)} {size_text(size)} in {count}"
                for direction, count, _, size in copies
            ]
            yield f"{what}: {_seconds(ns)}: {', '.join(each)}"
    if whole.waits:
        yield f"Waiting for the GPU: {_seconds(whole.wait_ns)} in {whole.waits} calls"


def _devices(stats: Profile) -> Iterator[str]:
    """Yield how busy the devices were: each, or all of one name where many are."""
    gpu = stats.gpu
    groups: dict[object, list[GpuDevice]] = {}
    few = len(gpu.devices) <= _MOST_DEVICES
    for place, device in enumerate(gpu.devices):
        groups.setdefault(place if few else device.name, []).append(device)
    for same in groups.values():
        first = same[0]
        name = printable(first.name)
        name = f"{name} ({first.device})" if few else f"{len(same)} x {name}"
        busy = sum(device.busy_ns for device in same)
        least = "" if all(device.busy_exact for device in same) else ">= "
        text = f"Busy: {name} {least}{_seconds(busy)}"
        walls = [stats.processes[device.process].wall_ns for device in same]
        if all(walls):
            run = "run's" if len(same) == 1 else "runs'"
            text += (
                f", {_percent(busy, sum(walls))} of the {run} {_seconds(sum(walls))}"
            )
        yield text
    yield from _overlap(gpu)


def _overlap(gpu: Gpu) -> Iterator[str]:
    """Yield how much was done at the same time, if anything was."""
    busy = sum(device.busy_ns for device in gpu.devices)
    done = sum(one.ns for one in gpu.sums if one.kind in _BUSY)
    if busy and done > busy:
        most = "" if all(device.busy_exact for device in gpu.devices) else "<= "
        yield (
            f"Overlap: GPU time and copies are {most}{done / busy:.2f} times"
            " the busy time"
        )


def _elsewhere(whole: GpuNumbers, nowhere: GpuNumbers) -> Iterator[str]:
    """Yield what was launched where no profiled line was open."""
    if nowhere.gpu_ns or nowhere.copies:
        copies = nowhere.memcpy_ns
        yield (
            f"Unattributed: {_seconds(nowhere.gpu_ns)}"
            f" ({_percent(nowhere.gpu_ns, whole.gpu_ns)})"
            + (f" and {_seconds(copies)} of copies" if copies else "")
            + ", launched outside of profiled lines"
        )
    if whole.adopted_ns:
        yield (
            f"Adopted (~): {_seconds(whole.adopted_ns)}"
            f" ({_percent(whole.adopted_ns, whole.gpu_ns)}), launched by threads"
            " without profiled lines while the line was open"
        )


def _lost(gpu: Gpu) -> Iterator[str]:
    """Yield what the numbers lack."""
    lost = [
        f"{number} {what}"
        for number, what in (
            (sum(run.dropped for run in gpu.runs), "dropped"),
            (sum(run.invalid for run in gpu.runs), "without times"),
            (sum(run.outstanding for run in gpu.runs), "outstanding"),
        )
        if number
    ]
    if lost:
        yield f"Lost: {_listed(lost)} records; the GPU numbers lack them"
    left_out = sum(run.left_out for run in gpu.runs)
    if left_out:
        yield f"Left out of the timeline: {left_out} records; the sums have them"


def _listed(items: Iterable[str]) -> str:
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last
