"""From the core's slices to a profile's traces."""

from __future__ import annotations

from array import array
from typing import NamedTuple

from lineprof.records import UNKNOWN_THREAD
from lineprof.trace_columns import BATCH, pack
from lineprof.trace_records import Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import ModuleType

    from lineprof._core import Tracer
    from lineprof.gpu_records import Batch
    from lineprof.records import Key

_WINDOW = 4 * BATCH  # slices that are read out at once, about


class RawTrace(NamedTuple):
    """What the core has of one profiler, before it is read out."""

    core: ModuleType
    tracer: Tracer
    began: int  # ticks: when the profiler asked for it
    origin_ns: int | None  # where the time of GPU work begins, on CLOCK_MONOTONIC
    memory_mb: int

    def read(
        self,
        keys: Mapping[int, Key],
        place_of: Callable[[int], int],
        scale: int,
    ) -> tuple[Trace, ...]:
        """Return all slices as one trace, or none at all.

        `keys` has the functions by the serials of their codes; `place_of` gives
        the place of the core's thread of a number; `scale` is what the core makes ns of
        ticks by. Slices are packed as they are read: that takes no more memory
        than a window of them, and what is packed.
        """
        functions: dict[Key, int] = {}
        wanted = array("I", bytes(4 * (max(keys, default=0) + 1)))
        for serial, key in keys.items():
            wanted[serial] = functions.setdefault(key, len(functions)) + 1
        windows = self.tracer.slice_windows(wanted.tobytes(), _WINDOW)
        used: set[int] = set()
        batches = tuple(self._batches(wanted.tobytes(), windows, scale, used))
        count, left_out = sum(batch.events for batch in batches), windows[1]
        if not count and not left_out:
            return ()
        began_ns = self.core.monotonic_ns(self.began, scale)
        return (
            Trace(
                process=0,
                count=count,
                left_out=left_out,
                origin_ns=min(self.origin_ns or began_ns, began_ns),
                functions=tuple(functions),
                threads=tuple(
                    place_of(number) if number in used else UNKNOWN_THREAD
                    for number in range(max(used, default=-1) + 1)
                ),
                batches=batches,
            ),
        )

    def _batches(
        self,
        wanted: bytes,
        windows: tuple[int, int, list[int]],
        scale: int,
        used: set[int],
    ) -> Iterator[Batch]:
        """Yield all slices, window by window; the threads' numbers go to `used`."""
        until, _, starts = windows
        for low, high in zip(starts, starts[1:]):
            columns = self.tracer.slices(wanted, until, low, high, scale)
            used.update(array("I", columns[0]))
            yield from pack(columns)

    def warnings(self, traces: Iterable[Trace]) -> list[str]:
        """Return what the traces lack, a sentence each."""
        return [
            f"the timeline ends early: its memory ({self.memory_mb} MB) was full;"
            f" {trace.left_out} later stays in functions and on lines are left out"
            " of it (kernprof -l --trace-memory MB keeps more)"
            for trace in traces
            if trace.left_out
        ]
