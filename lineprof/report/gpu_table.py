"""What stands in the table beside line_profiler's columns where a GPU was used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.model.gpu import (
    GRAPH,
    KERNEL,
    MEMCPY,
    MEMSET,
    kernels_of_lines,
    numbers_of_functions,
    numbers_of_lines,
    totals,
    unattributed,
)
from lineprof.model.records import NANOSECOND, readable
from lineprof.report.gpu_format import kernel_filter, kernel_name, size_text, time_text
from lineprof.report.line_table import ExtraColumns, decimal
from lineprof.report.options import USUAL_GPU_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lineprof.model.gpu import Copies, Gpu, GpuDevice, GpuNumbers, Kernels
    from lineprof.model.profile import Profile
    from lineprof.report.line_table import FunctionTable
    from lineprof.report.options import Options


# The columns of the table that tell of GPUs, by the names of --gpu-columns.


_MEGABYTE = 1e6  # bytes

_MARKED = 20  # with more than one part in so many adopted, a line is marked

_NARROW, _WIDE = 8, 10

_TO_DEVICE = frozenset({"HtoD", "HtoA"})

_TO_HOST = frozenset({"DtoH", "AtoH"})

_ON_DEVICE = frozenset({"DtoD", "DtoA", "AtoD", "AtoA", "PtoP"})


@dataclass(frozen=True)
class Measured:
    """What is known of one line's work on GPUs."""

    numbers: GpuNumbers
    kernels: Kernels
    whole_ns: int  # GPU time of its function
    tick: float  # of the table's unit, in ns; 0: each time has its own

    def time(self, ns: float, width: int) -> str:
        """Return a time (ns) in the table's unit; "" for none."""
        if not self.tick:
            return readable(ns * NANOSECOND) if ns else ""
        return decimal(ns / self.tick, width) if ns else ""

    def percent(self) -> float:
        """Return the share in the function's GPU time."""
        return 100 * self.numbers.gpu_ns / self.whole_ns if self.whole_ns else 0


@dataclass(frozen=True)
class GpuColumn:
    """One column: its title and width, and the text of a line in it."""

    title: str
    width: int
    text: Callable[[Measured], str]
    own_title: str = ""  # where numbers are those of the line itself


def _adopted(line: Measured) -> bool:
    """Tell whether more than 5 % of the GPU time was launched by other threads."""
    return line.numbers.adopted_ns * _MARKED > line.numbers.gpu_ns


def _gpu_time(line: Measured) -> str:
    text = line.time(line.numbers.gpu_ns, _WIDE).lstrip()
    return f"~{text}" if _adopted(line) else text


def _percent_text(line: Measured) -> str:
    return f"{line.percent():5.1f}" if line.numbers.gpu_ns else ""


def _mean(line: Measured) -> str:
    count = sum(kernel.count for kernel in line.kernels)
    whole = sum(kernel.ns for kernel in line.kernels)
    return line.time(whole / count, _WIDE) if count else ""


def _time(title: str, ns: Callable[[GpuNumbers], int]) -> GpuColumn:
    return GpuColumn(title, _WIDE, lambda line: line.time(ns(line.numbers), _WIDE))


def _number(title: str, count: Callable[[GpuNumbers], int]) -> GpuColumn:
    return GpuColumn(title, _NARROW, lambda line: f"{count(line.numbers) or ''}")


def _megabytes(title: str, size: Callable[[GpuNumbers], int]) -> GpuColumn:
    def text(line: Measured) -> str:
        whole = size(line.numbers)
        return decimal(whole / _MEGABYTE, _NARROW) if whole else ""

    return GpuColumn(title, _NARROW, text)


def _ns(copies: Copies, directions: frozenset[str]) -> int:
    return sum(ns for direction, _, ns, _ in copies if direction in directions)


def _bytes(copies: Copies, directions: frozenset[str]) -> int:
    return sum(size for direction, _, _, size in copies if direction in directions)


def _copies(title: str, directions: frozenset[str]) -> tuple[GpuColumn, GpuColumn]:
    """Return the columns of the time and of the size of some copies."""
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
        "mean": GpuColumn("Mean Kernel", _WIDE, _mean),
        "waits": _number("Waits", lambda numbers: numbers.waits),
        "uvm": _time("UVM Time", lambda n: sum(ns for _, _, ns, _ in n.migrations)),
        "uvm-mb": _megabytes(
            "UVM MB", lambda n: sum(size for _, _, _, size in n.migrations)
        ),
        "alloc": _megabytes("Alloc MB", lambda numbers: numbers.alloc_bytes),
        "free": _megabytes("Free MB", lambda numbers: numbers.free_bytes),
    }
    for name, title, directions in (
        ("h2d", "HtoD", _TO_DEVICE),
        ("d2h", "DtoH", _TO_HOST),
        ("d2d", "DtoD", _ON_DEVICE),
    ):
        columns[name], columns[f"{name}-mb"] = _copies(title, directions)
    return columns


GPU_COLUMNS = _columns()


# What stands below the tables: the GPUs' totals, and what they leave open.


_BUSY = frozenset({KERNEL, MEMCPY, MEMSET, GRAPH})  # what counts as that

_MOST_DEVICES = 8  # that get a line each


def gpu_footer(profile: Profile, options: Options) -> Iterator[str]:
    """Yield the totals of all GPU data, or why a GPU's are missing; or nothing."""
    gpu = profile.gpu
    if not gpu.sums:
        yield from _lost(gpu)
        yield from why_off(gpu)
        return
    matches = kernel_filter(options.kernel)
    whole = totals(gpu, kernel=matches)
    nowhere = unattributed(gpu, kernel=matches, capture=options.graph_origin)
    yield from _work(whole)
    if options.kernel is not None and not whole.kernels:
        yield f"No kernel's name matches {printable(options.kernel)!r}; try '*part*'"
    yield from _devices(profile)
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


def _devices(profile: Profile) -> Iterator[str]:
    """Yield how busy the devices were: each, or all of one name where many are."""
    gpu = profile.gpu
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
        walls = [profile.processes[device.process].wall_ns for device in same]
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


_HOT_PERCENT = 20


def with_gpu(
    functions: list[FunctionTable], gpu: Gpu, options: Options, unit: float
) -> list[FunctionTable]:
    """Return `functions`, those that used a GPU with columns that tell of it.

    `unit` is the table's, in seconds.
    """
    kernel, capture = kernel_filter(options.kernel), options.graph_origin
    alone = options.gpu_self
    lines = numbers_of_lines(gpu, kernel=kernel, capture=capture, alone=alone)
    kernels = kernels_of_lines(gpu, kernel=kernel, capture=capture, alone=alone)
    whole = numbers_of_functions(gpu, kernel=kernel, capture=capture)
    tick = unit / NANOSECOND

    def of(function: FunctionTable) -> FunctionTable:
        key = (function.file, function.line, function.name)
        if key not in whole:
            return function
        total = whole[key]
        of_line = kernels.get(key, {})
        measured = {
            number: Measured(numbers, of_line.get(number, ()), total.gpu_ns, tick)
            for number, numbers in lines.get(key, {}).items()
        }
        return function._replace(
            extra=_extra_columns(measured, options),
            gpu_ns=total.gpu_ns,
            wait_ns=total.wait_ns,
        )

    return [of(function) for function in functions]


def _extra_columns(measured: Mapping[int, Measured], options: Options) -> ExtraColumns:
    """Return the columns of a function whose lines are `measured`."""
    names = USUAL_GPU_COLUMNS if options.gpu_columns is None else options.gpu_columns
    columns = [GPU_COLUMNS[name] for name in names]
    texts = {
        number: [column.text(line) for column in columns]
        for number, line in measured.items()
    }
    if options.gpu_columns is None:  # leave out those that say nothing
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
            number: _top(line, options.top_kernels)
            for number, line in measured.items()
            if options.top_kernels
        },
        hot=frozenset(n for n, one in measured.items() if one.percent() > _HOT_PERCENT),
    )


def _titled(column: GpuColumn, options: Options) -> tuple[str, int]:
    """Return the title and the width of a column."""
    title = column.own_title if options.gpu_self else ""
    title = title or column.title
    return title, max(column.width, len(title))


def _top(line: Measured, count: int) -> list[str]:
    """Return what is said of the `count` kernels that took longest."""
    whole = line.numbers.gpu_ns or 1
    return [
        f"| {kernel.count} x {time_text(kernel.ns / kernel.count)}"
        f" = {time_text(kernel.ns)} ({100 * kernel.ns / whole:.1f} %)"
        f" {kernel_name(kernel.name)}"
        for kernel in line.kernels[:count]
    ]
