"""GPU columns of the table, and the totals of GPU work below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.model.gpu import (
    BUSY_KINDS,
    GpuNumbers,
    kernels_of_lines,
    missing_records,
    numbers_of_functions,
    numbers_of_lines,
    of_unknown_clock,
    totals,
    unattributed,
)
from lineprof.model.gpu_idle import idle_share
from lineprof.model.units import NANOSECOND, format_seconds
from lineprof.report.gpu_format import kernel_filter, kernel_name, size_text, time_text
from lineprof.report.gpu_idle import idle_note, idle_of_lines
from lineprof.report.line_table import ExtraColumns, decimal
from lineprof.report.options import USUAL_GPU_COLUMNS
from lineprof.report.text_grid import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lineprof.model.gpu import Copies, Gpu, GpuDevice, Kernels
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.line_table import FunctionTable
    from lineprof.report.options import Options


_MEAN = "mean"  # the column that needs all kernels of a line

_IDLE = "idle"  # the column that needs the timelines

_MEGABYTE = 1e6  # bytes

_ADOPTED_PARTS = 20  # a line is marked if more than one part in 20 is adopted

_NARROW, _WIDE = 8, 10

_HOT_PERCENT = 20  # of the function's GPU time

_TO_DEVICE = frozenset({"HtoD", "HtoA"})

_TO_HOST = frozenset({"DtoH", "AtoH"})

_ON_DEVICE = frozenset({"DtoD", "DtoA", "AtoD", "AtoA", "PtoP"})


@dataclass(frozen=True)
class GpuLine:
    """The GPU numbers of one line."""

    numbers: GpuNumbers
    kernels: Kernels
    function_ns: int  # GPU time of its function
    idle_ns: int  # idle time of GPUs that it caused
    tick: float  # of the table's unit, in ns; 0: each time has its own

    def time(self, ns: float, width: int) -> str:
        """Return a time (ns) in the table's unit; "" for none."""
        if not self.tick:
            return format_seconds(ns * NANOSECOND) if ns else ""
        return decimal(ns / self.tick, width) if ns else ""

    def percent(self) -> float:
        """Return the share in the function's GPU time."""
        return 100 * self.numbers.gpu_ns / self.function_ns if self.function_ns else 0


@dataclass(frozen=True)
class GpuColumn:
    """One column: its title and width, and the text of a line in it."""

    title: str
    width: int
    text: Callable[[GpuLine], str]
    self_title: str = ""  # with --gpu-self


def _adopted(line: GpuLine) -> bool:
    """Return whether more than 5 % of the GPU time was launched by other threads."""
    return line.numbers.adopted_ns * _ADOPTED_PARTS > line.numbers.gpu_ns


def _gpu_time(line: GpuLine) -> str:
    text = line.time(line.numbers.gpu_ns, _WIDE).lstrip()
    return f"~{text}" if _adopted(line) else text


def _percent_text(line: GpuLine) -> str:
    return f"{line.percent():5.1f}" if line.numbers.gpu_ns else ""


def _mean(line: GpuLine) -> str:
    count = sum(kernel.count for kernel in line.kernels)
    ns = sum(kernel.ns for kernel in line.kernels)
    return line.time(ns / count, _WIDE) if count else ""


def _time(title: str, ns: Callable[[GpuNumbers], int]) -> GpuColumn:
    return GpuColumn(title, _WIDE, lambda line: line.time(ns(line.numbers), _WIDE))


def _number(title: str, count: Callable[[GpuNumbers], int]) -> GpuColumn:
    return GpuColumn(title, _NARROW, lambda line: f"{count(line.numbers) or ''}")


def _megabytes(title: str, size: Callable[[GpuNumbers], int]) -> GpuColumn:
    def text(line: GpuLine) -> str:
        total = size(line.numbers)
        return decimal(total / _MEGABYTE, _NARROW) if total else ""

    return GpuColumn(title, _NARROW, text)


def _ns(copies: Copies, directions: frozenset[str]) -> int:
    return sum(one.ns for one in copies if one.direction in directions)


def _bytes(copies: Copies, directions: frozenset[str]) -> int:
    return sum(one.bytes for one in copies if one.direction in directions)


def _copies(title: str, directions: frozenset[str]) -> tuple[GpuColumn, GpuColumn]:
    """Return the columns of the time and the size of copies in some directions."""
    return (
        _time(f"{title} Time", lambda numbers: _ns(numbers.copies, directions)),
        _megabytes(f"{title} MB", lambda numbers: _bytes(numbers.copies, directions)),
    )


def _columns() -> dict[str, GpuColumn]:
    """Return all columns by name."""
    columns = {
        "time": GpuColumn("GPU Time", _WIDE, _gpu_time, "GPU Self"),
        "percent": GpuColumn("GPU %", 6, _percent_text),
        "kernels": _number("Kernels", lambda numbers: numbers.kernels),
        "copy": _time("Copy Time", lambda numbers: numbers.memcpy_ns),
        "mb": _megabytes("Copy MB", lambda numbers: numbers.memcpy_bytes),
        "wait": _time("Wait", lambda numbers: numbers.wait_ns),
        "self": _time("GPU Self", lambda numbers: numbers.self_ns),
        "adopted": _time("Adopted", lambda numbers: numbers.adopted_ns),
        "memset": _time("Memset", lambda numbers: numbers.memset_ns),
        "memsets": _number("Memsets", lambda numbers: numbers.memsets),
        "max": _time("Max Kernel", lambda numbers: numbers.max_kernel_ns),
        _MEAN: GpuColumn("Mean Kernel", _WIDE, _mean),
        "waits": _number("Waits", lambda numbers: numbers.waits),
        "uvm": _time("UVM Time", lambda n: sum(one.ns for one in n.migrations)),
        "uvm-mb": _megabytes(
            "UVM MB", lambda n: sum(one.bytes for one in n.migrations)
        ),
        "alloc": _megabytes("Alloc MB", lambda numbers: numbers.alloc_bytes),
        "free": _megabytes("Free MB", lambda numbers: numbers.free_bytes),
        _IDLE: GpuColumn(
            "GPU Idle", _WIDE, lambda line: line.time(line.idle_ns, _WIDE)
        ),
    }
    for name, title, directions in (
        ("h2d", "HtoD", _TO_DEVICE),
        ("d2h", "DtoH", _TO_HOST),
        ("d2d", "DtoD", _ON_DEVICE),
    ):
        columns[name], columns[f"{name}-mb"] = _copies(title, directions)
    return columns


GPU_COLUMNS = _columns()


def with_gpu(
    tables: list[FunctionTable], profile: Profile, options: Options, unit: float
) -> list[FunctionTable]:
    """Return `tables`, with GPU columns for the functions that used a GPU.

    `unit` is the tables' unit in seconds, or AUTO_UNIT.
    """
    gpu = profile.gpu
    idle: Mapping[Key, Mapping[int, int]] = {}
    if _IDLE in (options.gpu_columns or ()):
        idle = idle_of_lines(profile, alone=options.gpu_self)
    kernel, capture = kernel_filter(options.kernel), options.graph_origin
    alone = options.gpu_self
    lines = numbers_of_lines(gpu, kernel=kernel, capture=capture, alone=alone)
    kernels: Mapping[Key, Mapping[int, Kernels]] = {}
    if options.top_kernels or _MEAN in (options.gpu_columns or ()):
        kernels = kernels_of_lines(gpu, kernel=kernel, capture=capture, alone=alone)
    functions = numbers_of_functions(gpu, kernel=kernel, capture=capture)
    done = []
    for table in tables:
        total = functions.get(table.key)
        own_idle = idle.get(table.key, {})
        if total is None and not own_idle:
            done.append(table)
            continue
        total = total or GpuNumbers()
        own_kernels = kernels.get(table.key, {})
        own_numbers = lines.get(table.key, {})
        gpu_lines = {
            number: GpuLine(
                numbers=own_numbers.get(number) or GpuNumbers(),
                kernels=own_kernels.get(number, ()),
                function_ns=total.gpu_ns,
                idle_ns=own_idle.get(number, 0),
                tick=unit / NANOSECOND,
            )
            for number in sorted({*own_numbers, *own_idle})
        }
        extra = _extra_columns(gpu_lines, options)
        done.append(
            table._replace(extra=extra, gpu_ns=total.gpu_ns, wait_ns=total.wait_ns)
        )
    return done


def _extra_columns(lines: Mapping[int, GpuLine], options: Options) -> ExtraColumns:
    """Return the GPU columns of a function with these `lines` by number."""
    names = USUAL_GPU_COLUMNS if options.gpu_columns is None else options.gpu_columns
    columns = [GPU_COLUMNS[name] for name in names]
    texts = {
        number: [column.text(line) for column in columns]
        for number, line in lines.items()
    }
    if options.gpu_columns is None:  # leave out columns without data
        full = [any(row) for row in zip(*texts.values())]
        columns = [column for column, any_ in zip(columns, full) if any_]
        texts = {
            number: [text for text, any_ in zip(row, full) if any_]
            for number, row in texts.items()
        }
    return ExtraColumns(
        columns=tuple(_titled(column, options) for column in columns),
        texts={number: row for number, row in texts.items() if any(row)},
        below={
            number: _kernel_rows(line, options.top_kernels)
            for number, line in lines.items()
            if options.top_kernels
        },
        hot=frozenset(n for n, line in lines.items() if line.percent() > _HOT_PERCENT),
    )


def _titled(column: GpuColumn, options: Options) -> tuple[str, int]:
    """Return the title and the width of a column."""
    title = column.self_title if options.gpu_self else ""
    title = title or column.title
    return title, max(column.width, len(title))


def _kernel_rows(line: GpuLine, count: int) -> list[str]:
    """Return a row for each of the `count` kernels that took longest."""
    gpu_ns = line.numbers.gpu_ns or 1
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
    if options.kernel is not None and not total.kernels:
        yield f"No kernel's name matches {printable(options.kernel)!r}; try '*part*'"
    yield from _devices(profile)
    yield from _idle(profile, options)
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
    """Yield the totals of kernels, copies and waits."""
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


def _idle(profile: Profile, options: Options) -> Iterator[str]:
    """Yield the line that left a GPU idle for longest, if that is a large share."""
    if idle_share(profile.gpu) > _LARGE_IDLE:
        yield from idle_note(profile, options, _LARGE_IDLE)


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
    lost = [
        f"{number} {what}"
        for number, what in (
            (missing.dropped, "dropped"),
            (missing.invalid, "without times"),
            (missing.outstanding, "outstanding"),
        )
        if number
    ]
    if missing.work:
        yield f"Lost: {_listed(lost)} records; the GPU numbers lack them"
    elif missing.share > _WITHOUT_RECORD:
        yield (
            f"Without a record: {counted(missing.outstanding, 'call')}"
            f" ({_percent(missing.outstanding, missing.calls)}); copies of 0 bytes,"
            " copies from host to host and empty graphs have none"
        )
    unfinished = sum(run.unfinished for run in gpu.runs)
    if unfinished:
        kernels = counted(unfinished, "kernel")
        yield f"Unfinished: {kernels} or other work still ran at the end"
    yield from _other_tools(gpu)
    left_out = sum(run.left_out for run in gpu.runs)
    if left_out:
        yield f"Left out of the timeline: {left_out} records; the sums have them"
    unknown = of_unknown_clock(gpu)
    if unknown:
        yield (
            f"Left out of the timeline: {unknown} records with times of an unknown"
            " clock; the sums have them"
        )


def _other_tools(gpu: Gpu) -> Iterator[str]:
    """Yield what is known of another tool that recorded the same GPU work."""
    which = "(PyTorch's profiler does from 2.15 on)"
    taken = sum(run.taken for run in gpu.runs)
    buffers = sum(run.foreign_buffers for run in gpu.runs)
    if taken and buffers:
        yield (
            f"Another tool took CUPTI's records {which}: the last {taken} launches have"
            " none; profile without that tool"
        )
    elif taken:
        yield (
            "CUPTI has stopped bringing records, as if another tool took them"
            f" {which}: the last {taken} launches have none; profile without that tool"
        )
    elif buffers:
        yield (
            f"Another tool used CUPTI, too {which}: records may be missing; profile"
            " without that tool"
        )


def _listed(items: Iterable[str]) -> str:
    *others, last = items
    return f"{', '.join(others)} and {last}" if others else last
