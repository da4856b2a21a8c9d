"""What stands in the table beside line_profiler's columns where a GPU was used."""

from __future__ import annotations

from lineprof.gpu_lines import kernels_of_lines, numbers_of_functions, numbers_of_lines
from lineprof.units import NANOSECOND
from lineprof.views.gpu_columns import GPU_COLUMNS, Measured
from lineprof.views.gpu_flags import USUAL_COLUMNS
from lineprof.views.gpu_names import kernel_name, matcher
from lineprof.views.gpu_units import time_text
from lineprof.views.table import Beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from lineprof.gpu_records import Gpu
    from lineprof.views.gpu_columns import GpuColumn
    from lineprof.views.table import Function
    from lineprof.views.view import Options

_HOT_PERCENT = 20


def with_gpu(
    functions: list[Function], gpu: Gpu, options: Options, unit: float
) -> list[Function]:
    """Return `functions`, those that used a GPU with columns that tell of it.

    `unit` is the table's, in seconds.
    """
    kernel, capture = matcher(options.kernel), options.graph_origin
    alone = options.gpu_self
    lines = numbers_of_lines(gpu, kernel=kernel, capture=capture, alone=alone)
    kernels = kernels_of_lines(gpu, kernel=kernel, capture=capture, alone=alone)
    whole = numbers_of_functions(gpu, kernel=kernel, capture=capture)
    tick = unit / NANOSECOND

    def of(function: Function) -> Function:
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
            beside=_beside(measured, options),
            gpu_ns=total.gpu_ns,
            wait_ns=total.wait_ns,
        )

    return [of(function) for function in functions]


def _beside(measured: Mapping[int, Measured], options: Options) -> Beside:
    """Return the columns of a function whose lines are `measured`."""
    names = USUAL_COLUMNS if options.gpu_columns is None else options.gpu_columns
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
    return Beside(
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
