"""When functions and long lines ran, one by one, as frozen values.

Times are integers in nanoseconds (ns); nothing here touches a file or a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.gpu_records import Batch
    from lineprof.records import Key


class Slice(NamedTuple):
    """One stay in a function, or on one of its lines."""

    start_ns: int  # since the process began to measure, as GpuEvent.start_ns
    ns: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    function: Key
    line: int  # 0: the whole function, up to its return or its next suspension


@dataclass(frozen=True)
class Trace:
    """A process' slices, packed; iterating yields a `Slice` at a time.

    They come in the order of their start, the longer of two first: those of a
    thread lie within one another, or apart.
    """

    process: int  # its index in Profile.processes
    count: int  # of slices
    left_out: int  # of slices: there was no room for them
    origin_ns: int  # where `Slice.start_ns` is 0, on CLOCK_MONOTONIC
    functions: tuple[Key, ...]
    threads: tuple[int, ...]  # index in Profile.threads of each that the columns name
    batches: tuple[Batch, ...]

    def __iter__(self) -> Iterator[Slice]:
        from lineprof.trace_columns import slices  # noqa: PLC0415  # it imports this

        return slices(self)
