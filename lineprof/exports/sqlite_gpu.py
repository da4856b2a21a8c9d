"""The rows of the SQLite export that say what GPUs did."""

from __future__ import annotations

from lineprof.exports.timeline_batches import in_order
from lineprof.gpu_lines import numbers_of_lines
from lineprof.gpu_records import KERNEL, NO_DEVICE, NO_PATH
from lineprof.records import UNKNOWN_THREAD
from lineprof.views.gpu_names import call_name, kernel_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lineprof.exports.timeline_clock import Clock
    from lineprof.gpu_records import Gpu, GpuEvent
    from lineprof.records import Key
    from lineprof.stats import Profile

    Rows = Iterator[tuple[object, ...]]
    Ids = Mapping[Key, int]

_NOWHERE = (None, None, None)


def gpu_rows(
    stats: Profile, ids: Ids, clock: Clock
) -> Iterator[tuple[str, Iterable[tuple[object, ...]]]]:
    """Yield each table's name and its rows."""
    gpu = stats.gpu
    yield (
        "gpu_devices",
        (
            (index, one.process + 1, one.device, one.name, one.busy_ns)
            for index, one in enumerate(gpu.devices, 1)
        ),
    )
    yield "gpu_kernels", _sums(gpu, ids)
    yield "gpu_by_line", _by_line(gpu, ids)
    yield "gpu_events", _events(gpu, ids, clock)


def _places(gpu: Gpu, ids: Ids) -> list[tuple[int | None, int, int]]:
    """Return the thread, function and line of each path: the innermost line."""
    places = []
    for path in gpu.paths:
        key, line = path.lines[-1]
        thread = None if path.thread == UNKNOWN_THREAD else path.thread + 1
        places.append((thread, ids[key], line))
    return places


def _sums(gpu: Gpu, ids: Ids) -> Rows:
    places = _places(gpu, ids)
    for one in gpu.sums:
        thread, function, line = _NOWHERE if one.path == NO_PATH else places[one.path]
        device = None if one.device == NO_DEVICE else one.device + 1
        numbers = (one.count, one.ns, one.min_ns, one.max_ns, one.bytes)
        name = _name(one.kind, one.name)
        yield (function, line, thread, device, one.kind, name, *numbers)


def _name(kind: str, name: str) -> str:
    return kernel_name(name) if kind == KERNEL else call_name(name)


def _by_line(gpu: Gpu, ids: Ids) -> Rows:
    for key, lines in numbers_of_lines(gpu).items():
        for line, one in lines.items():
            yield (
                *(ids[key], line, one.gpu_ns, one.self_ns, one.kernels),
                *(one.memcpy_ns, one.memcpy_bytes, one.wait_ns),
                *(one.alloc_bytes, one.free_bytes),
            )


def _events(gpu: Gpu, ids: Ids, clock: Clock) -> Rows:
    places = _places(gpu, ids)
    for timeline in gpu.timelines:
        zero, process = clock.zero_of(timeline), timeline.process + 1
        for one in in_order(timeline):
            where = _NOWHERE if one.path == NO_PATH else places[one.path]
            name = _name(one.kind, one.name)
            yield (
                *(process, *where, one.kind, name, zero + one.start_ns, one.ns),
                *_device(one),
                *(one.correlation, one.bytes or None, *_launch(one)),
                *(one.source or None, one.target or None),
            )


def _device(one: GpuEvent) -> tuple[object, ...]:
    """Return device, context and stream; those of a call are NULL."""
    if one.device == NO_DEVICE:
        return _NOWHERE
    return one.device, one.context, one.stream


def _launch(one: GpuEvent) -> tuple[object, ...]:
    """Return how a kernel was launched."""
    if one.kind != KERNEL:
        return (None,) * 5
    sizes = ["x".join(map(str, size)) for size in (one.grid, one.block)]
    return (*sizes, one.registers, one.static_smem, one.dynamic_smem)
