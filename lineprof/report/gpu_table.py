"""GPU columns of the table, and the totals of GPU work below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.model.gpu import (
    BUSY_KINDS,
    GpuNumbers,
    allocated_by,
    kernels_of_lines,
    missing_records,
    numbers_of_functions,
    numbers_of_lines,
    of_unknown_clock,
    totals,
    unattributed,
)
from lineprof.model.gpu_idle import idle_share
from lineprof.model.units import AUTO_UNIT, NANOSECOND, format_bytes, format_seconds
from lineprof.patterns import listed
from lineprof.report import gpu_memory
from lineprof.report.gpu_format import kernel_filter, kernel_name, size_text, time_text
from lineprof.report.gpu_idle import idle_note, idle_of_lines
from lineprof.report.line_table import Column, Line, decimal, scale_of
from lineprof.report.options import USUAL_GPU_COLUMNS
from lineprof.report.text_grid import counted, percent_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lineprof.model.gpu import Gpu, GpuCopies, GpuDevice, Kernels
    from lineprof.model.gpu_memory import GpuMemory
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.line_table import FunctionTable, Scale
    from lineprof.report.options import Options


_MEAN = "mean"  # the column that needs all kernels of a line

_IDLE = "idle"  # the column that needs the timelines

_OF_BLOCKS = ("live", "peak")  # the columns that need the memory of blocks

_MEGABYTE = 1e6  # bytes

_ADOPTED_PARTS = 20  # a line is marked if more than one part in 20 is adopted

_NARROW, _WIDE = 8, 10

_HOT_PERCENT = 20  # of the function's GPU time

# Columns.


def _time(ns: float, scale: Scale) -> str:
    """Return a time (ns) in the table's unit; "" for none."""
    if not ns:
        return ""
    if scale.output_unit == AUTO_UNIT:
        return format_seconds(ns * NANOSECOND)
    return decimal(ns / (scale.output_unit / NANOSECOND), _WIDE)


def _column(title: str, ns: Callable[[Line], float]) -> Column:
    """Return a column of times (ns)."""
    width = max(_WIDE, len(title))
    return Column(title, width, lambda line, scale: _time(ns(line), scale))


def _number(title: str, count: Callable[[Line], int]) -> Column:
    return Column(title, _NARROW, lambda line, _: f"{count(line) or ''}")


def _megabytes(title: str, size: Callable[[Line], int]) -> Column:
    def text(line: Line, _: Scale) -> str:
        total = size(line)
        return decimal(total / _MEGABYTE, _NARROW) if total else ""

    return Column(title, _NARROW, text)


def _memory(title: str, size: Callable[[Line], int]) -> Column:
    """Return a column of sizes (bytes), each with a unit of its own."""

    def text(line: Line, _: Scale) -> str:
        return format_bytes(size(line)) if size(line) else ""

    return Column(title, _WIDE, text)


def _gpu_time(line: Line, scale: Scale) -> str:
    """Return the GPU time, marked if other threads launched more than 5 % of it."""
    text = _time(line.gpu.gpu_ns, scale).lstrip()
    return (
        f"~{text}" if line.gpu.adopted_ns * _ADOPTED_PARTS > line.gpu.gpu_ns else text
    )


def _percent_text(line: Line, scale: Scale) -> str:
    ns = line.gpu.gpu_ns
    return f"{percent_of(ns, scale.gpu_ns):5.1f}" if ns else ""


def _mean(line: Line) -> float:
    count = sum(kernel.count for kernel in line.kernels)
    return sum(kernel.ns for kernel in line.kernels) / count if count else 0


def _copies(name: str, title: str, *directions: str) -> dict[str, Column]:
    """Return the columns of the time and the size of copies in some directions."""

    def copies(line: Line) -> list[GpuCopies]:
        return [one for one in line.gpu.copies if one.direction in directions]

    return {
        name: _column(
            f"{title} Time", lambda line: sum(one.ns for one in copies(line))
        ),
        f"{name}-mb": _megabytes(
            f"{title} MB", lambda line: sum(one.bytes for one in copies(line))
        ),
    }


_SELF_TIME = Column("GPU Self", _WIDE, _gpu_time)  # with --gpu-self

GPU_COLUMNS = {
    "time": Column("GPU Time", _WIDE, _gpu_time),
    "percent": Column("GPU %", 6, _percent_text),
    "kernels": _number("Kernels", lambda line: line.gpu.kernels),
    "copy": _column("Copy Time", lambda line: line.gpu.memcpy_ns),
    "mb": _megabytes("Copy MB", lambda line: line.gpu.memcpy_bytes),
    "wait": _column("Wait", lambda line: line.gpu.wait_ns),
    "load": _column("Load", lambda line: line.gpu.load_ns),
    "self": _column("GPU Self", lambda line: line.gpu.self_ns),
    "adopted": _column("Adopted", lambda line: line.gpu.adopted_ns),
    "memset": _column("Memset", lambda line: line.gpu.memset_ns),
    "memsets": _number("Memsets", lambda line: line.gpu.memsets),
    "max": _column("Max Kernel", lambda line: line.gpu.max_kernel_ns),
    _MEAN: _column("Mean Kernel", _mean),
    "waits": _number("Waits", lambda line: line.gpu.waits),
    **_copies("h2d", "HtoD", "HtoD", "HtoA"),
    **_copies("d2h", "DtoH", "DtoH", "AtoH"),
    **_copies("d2d", "DtoD", "DtoD", "DtoA", "AtoD", "AtoA", "PtoP"),
    "uvm": _column("UVM Time", lambda line: line.gpu.migration_ns),
    "uvm-mb": _megabytes("UVM MB", lambda line: line.gpu.migration_bytes),
    "alloc": _memory("GPU Alloc", lambda line: line.gpu.alloc_bytes),
    "free": _memory("GPU Freed", lambda line: line.gpu.free_bytes),
    "live": _memory("GPU Live", lambda line: line.gpu.live_bytes),
    "peak": _memory("GPU Peak", lambda line: line.gpu.peak_bytes),
    _IDLE: _column("GPU Idle", lambda line: line.idle_ns),
}


def with_gpu(
    tables: list[FunctionTable], profile: Profile, options: Options
) -> list[FunctionTable]:
    """Return `tables`, with GPU columns for the functions that used a GPU."""
    gpu, alone, capture = profile.gpu, options.gpu_self, options.graph_origin
    kernel, scale = kernel_filter(options.kernel), scale_of(profile.unit, options)
    chosen = options.gpu_columns or ()
    idle: Mapping[Key, Mapping[int, int]] = {}
    if _IDLE in chosen:
        idle = idle_of_lines(profile, alone=alone)
    lines = numbers_of_lines(gpu, kernel=kernel, capture=capture, alone=alone)
    kernels: Mapping[Key, Mapping[int, Kernels]] = {}
    if options.top_kernels or _MEAN in chosen:
        kernels = kernels_of_lines(gpu, kernel=kernel, capture=capture, alone=alone)
    functions = numbers_of_functions(gpu, kernel=kernel, capture=capture)
    done = []
    for table in tables:
        total, own_idle = functions.get(table.key), idle.get(table.key, {})
        if total is None and not own_idle:
            done.append(table)
            continue
        total = total or GpuNumbers()
        numbers, own_kernels = lines.get(table.key, {}), kernels.get(table.key, {})
        timed = {line.number: line for line in table.lines}
        used = [
            (timed.get(number) or Line(number=number))._replace(
                gpu=numbers.get(number) or GpuNumbers(),
                kernels=own_kernels.get(number, ()),
                idle_ns=own_idle.get(number, 0),
            )
            for number in sorted({*numbers, *own_idle})
        ]
        sums = table._replace(gpu_ns=total.gpu_ns, wait_ns=total.wait_ns)
        done.append(_with_lines(sums, used, scale, options, gpu.memory))
    return done


def _with_lines(
    table: FunctionTable,
    used: Sequence[Line],
    scale: Scale,
    options: Options,
    memory: GpuMemory,
) -> FunctionTable:
    """Return `table` with columns for the GPU work of the lines that `used` a GPU."""
    names = USUAL_GPU_COLUMNS if options.gpu_columns is None else options.gpu_columns
    if not memory.is_known:
        names = tuple(name for name in names if name not in _OF_BLOCKS)
    alone = {"time": _SELF_TIME} if options.gpu_self else {}
    columns = [alone.get(name, GPU_COLUMNS[name]) for name in names]
    if options.gpu_columns is None:  # leave out columns without data
        columns = [
            one for one in columns if any(one.text(line, scale) for line in used)
        ]
    shown = {
        line.number: line
        for line in used
        if any(column.text(line, scale) for column in columns)
    }
    lines = {**{line.number: line for line in table.lines}, **shown}
    return table._replace(
        lines=tuple(lines.values()),
        columns=(*table.columns, *columns),
        below={
            line.number: _kernel_rows(line, options.top_kernels)
            for line in used
            if options.top_kernels
        },
        hot=table.hot.union(
            line.number
            for line in used
            if percent_of(line.gpu.gpu_ns, table.gpu_ns) > _HOT_PERCENT
        ),
        uses_gpu=bool(shown),
    )


def _kernel_rows(line: Line, count: int) -> list[str]:
    """Return a row for each of the `count` kernels that took longest."""
    gpu_ns = line.gpu.gpu_ns or 1
    return [
        f"| {kernel.count} x {time_text(kernel.ns / (kernel.count or 1))}"
        f" = {time_text(kernel.ns)} ({100 * kernel.ns / gpu_ns:.1f} %)"
        f" {kernel_name(kernel.name)}"
        for kernel in line.kernels[:count]
    ]


# Lines below the tables: the totals of the GPUs, and missing data.


_WITHOUT_RECORD = 0.001  # share of the calls without a record that is worth a line
_LARGE_IDLE = 0.3  # share of a device's time

_MAX_DEVICE_LINES = 8  # with more devices, one line for each model


def gpu_footer(profile: Profile, options: Options) -> Iterator[str]:
    """Yield the totals of all GPU data, or the reason why there are none."""
    gpu = profile.gpu
    if not gpu.sums:
        yield from _lost(gpu)
        yield from why_off(gpu)
        return
    matches = kernel_filter(options.kernel)
    total = totals(gpu, kernel=matches)
    outside = unattributed(gpu, kernel=matches, capture=options.graph_origin)
    yield from _totals(total)
    yield from _allocators(gpu)
    if options.kernel is not None and not total.kernels:
        yield f"No kernel's name matches {printable(options.kernel)!r}; try '*part*'"
    yield from _devices(profile)
    yield from gpu_memory.footer(profile)
    if idle_share(gpu) > _LARGE_IDLE:
        yield from idle_note(profile, options, _LARGE_IDLE)
    yield from _unattributed(total, outside)
    yield from _lost(gpu)
    yield from why_off(gpu)


def why_off(gpu: Gpu) -> Iterator[str]:
    """Yield the reasons why a GPU of the machine was not recorded."""
    off = [run for run in gpu.runs if run.present and run.backend != "cupti"]
    for reason in dict.fromkeys(run.reason for run in off):
        yield f"GPU columns off: {printable(reason)}"


def _seconds(ns: int) -> str:
    return f"{ns * NANOSECOND:g} s"


def _percent(part: int, total: int) -> str:
    return f"{100 * part / total:.1f} %" if total else "0 %"


def _totals(total: GpuNumbers) -> Iterator[str]:
    """Yield the totals of kernels, copies, waits and loads."""
    memsets = f" and {total.memsets} memsets" if total.memsets else ""
    yield f"GPU time: {_seconds(total.gpu_ns)} in {total.kernels} kernels{memsets}"
    for what, copies in (("Copies", total.copies), ("Migrations", total.migrations)):
        if copies:
            ns = sum(one.ns for one in copies)
            each = [
                f"{printable(one.direction)} {size_text(one.bytes)} in {one.count}"
                for one in copies
            ]
            yield f"{what}: {_seconds(ns)}: {', '.join(each)}"
    if total.waits:
        yield f"Waiting for the GPU: {_seconds(total.wait_ns)} in {total.waits} calls"
    if total.load_ns:
        yield f"Loading: {_seconds(total.load_ns)} for modules and contexts"


def _allocators(gpu: Gpu) -> Iterator[str]:
    """Yield the libraries that allocated memory of devices."""
    sizes = allocated_by(gpu)
    shares = [f"{printable(name)} {size_text(size)}" for name, size in sizes.items()]
    if shares:
        yield f"Allocated on the GPU by: {listed(shares)}"


def _devices(profile: Profile) -> Iterator[str]:
    """Yield the busy time of each device, or of each model if there are many."""
    gpu = profile.gpu
    groups: dict[object, list[GpuDevice]] = {}
    few = len(gpu.devices) <= _MAX_DEVICE_LINES
    for place, device in enumerate(gpu.devices):
        groups.setdefault(place if few else device.name, []).append(device)
    for same in groups.values():
        first = same[0]
        name = printable(first.name)
        name = f"{name} ({first.device})" if few else f"{len(same)} x {name}"
        busy = sum(device.busy_ns for device in same)
        at_least = "" if all(device.busy_exact for device in same) else ">= "
        text = f"Busy: {name} {at_least}{_seconds(busy)}"
        walls = [profile.processes[device.process].wall_ns for device in same]
        if all(walls):
            run = "run's" if len(same) == 1 else "runs'"
            text += (
                f", {_percent(busy, sum(walls))} of the {run} {_seconds(sum(walls))}"
            )
        yield text
    yield from _overlap(gpu)


def _overlap(gpu: Gpu) -> Iterator[str]:
    """Yield the overlap of work on the devices, if there is any."""
    busy = sum(device.busy_ns for device in gpu.devices)
    done = sum(one.ns for one in gpu.sums if one.kind in BUSY_KINDS)
    if busy and done > busy:
        at_most = "" if all(device.busy_exact for device in gpu.devices) else "<= "
        yield (
            f"Overlap: GPU time and copies are {at_most}{done / busy:.2f} times"
            " the busy time"
        )


def _unattributed(total: GpuNumbers, outside: GpuNumbers) -> Iterator[str]:
    """Yield the work that was launched outside of profiled lines."""
    if outside.gpu_ns or outside.copies:
        copies = outside.memcpy_ns
        yield (
            f"Unattributed: {_seconds(outside.gpu_ns)}"
            f" ({_percent(outside.gpu_ns, total.gpu_ns)})"
            + (f" and {_seconds(copies)} of copies" if copies else "")
            + ", launched outside of profiled lines"
        )
    if total.adopted_ns:
        yield (
            f"Adopted (~): {_seconds(total.adopted_ns)}"
            f" ({_percent(total.adopted_ns, total.gpu_ns)}), launched by threads"
            " without profiled lines while the line was open"
        )


def _lost(gpu: Gpu) -> Iterator[str]:
    """Yield the numbers of records that are missing."""
    missing = missing_records(gpu)
    counts = {
        "dropped": missing.dropped,
        "without times": missing.invalid,
        "outstanding": missing.outstanding,
    }
    lost = [f"{number} {what}" for what, number in counts.items() if number]
    if missing.work:
        yield f"Lost: {listed(lost, ' and ')} records; the GPU numbers lack them"
    elif missing.share > _WITHOUT_RECORD:
        yield (
            f"Without a record: {counted(missing.outstanding, 'call')}"
            f" ({_percent(missing.outstanding, missing.calls)}); copies of 0 bytes,"
            " copies from host to host and empty graphs have no record"
        )
    unfinished = sum(run.unfinished for run in gpu.runs)
    if unfinished:
        kernels = counted(unfinished, "kernel")
        yield f"Unfinished: {kernels} or other work still ran at the end"
    yield from _other_tools(gpu)
    not_there = {
        "records": sum(run.left_out for run in gpu.runs),
        "records with times of an unknown clock": of_unknown_clock(gpu),
    }
    for what, number in not_there.items():
        if number:
            yield f"Left out of the timeline: {number} {what}; the sums have them"


def _other_tools(gpu: Gpu) -> Iterator[str]:
    """Yield what is known of another tool that recorded the same GPU work."""
    taken = sum(run.taken for run in gpu.runs)
    buffers = sum(run.foreign_buffers for run in gpu.runs)
    if not (taken or buffers):
        return
    what = "Another tool also used CUPTI"
    if taken and buffers:
        what = "Another tool took CUPTI's records"
    elif taken:
        what = "CUPTI has stopped bringing records, as if another tool took them"
    lack = "records may be missing"
    if taken:
        lack = f"the last {taken} launches have no record"
    yield (
        f"{what} (PyTorch's profiler does from 2.15 on): {lack}; profile without that"
        " tool"
    )
