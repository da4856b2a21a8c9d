"""The columns of the table that tell of GPUs, by the names of --gpu-columns."""

from __future__ import annotations

from dataclasses import dataclass

from lineprof.units import NANOSECOND, readable
from lineprof.views.table import decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from lineprof.gpu_lines import Kernels
    from lineprof.gpu_numbers import Copies, GpuNumbers

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


def _percent(line: Measured) -> str:
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
        "percent": GpuColumn("GPU %", 6, _percent),
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
