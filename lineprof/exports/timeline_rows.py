"""The rows of a timeline, as NVIDIA's profilers have them; made when first used.

A process has threads, and devices; a thread its lines and its calls of CUDA's
APIs; a device its contexts, a context a row for each kind of work and each
stream. What overlaps on one row goes to further lanes of it, each a row of the
same name: a viewer shows what lies within one another, and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

from lineprof.exports.stacks import thread_name
from lineprof.records import UNKNOWN_THREAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lineprof.stats import Profile

PROCESS, THREAD, GROUP, DEVICE, SLICES, COUNTER = range(6)  # kinds of rows
NO_ROW = 0
NO_PROCESS = -1

# Places of a thread's rows below it; a thread has room for so many.
SUMS, LINES, RUNTIME_API, DRIVER_API, GPU_WAIT = range(1, 6)
_OF_A_THREAD = 8
_THREAD_ROWS = {
    SUMS: "Calls, summed: not in time order",
    LINES: "Lines",
    RUNTIME_API: "Runtime API",
    DRIVER_API: "Driver API",
    GPU_WAIT: "Waiting for the GPU",
}
# Places of a device's rows; a context has room for so many.
MEMORY, UNIFIED = 1, 2
_OF_A_CONTEXT, _STREAMS = 1 << 16, 64
_DEVICES = 1 << 20  # they come below the threads


class Row(NamedTuple):
    """One row, that a writer says before what is on it."""

    number: int  # of this one, from 1 on
    parent: int  # the number of the one that it is below, or NO_ROW
    kind: int
    name: str
    place: int  # among those below the same process or device
    process: int  # its index in Profile.processes, or NO_PROCESS
    native: int = 0  # the system's number of a process or a thread; 0: unknown


class Rows:
    """All rows that were made; `new` has those that no one has taken yet."""

    def __init__(self, stats: Profile) -> None:
        self._stats = stats
        self._found: dict[tuple[object, ...], int] = {}
        self._lanes: dict[int, list[tuple[int, int]]] = {}  # (row, end) of each
        self._all: list[Row] = []
        self._devices = {
            (one.process, one.device): f"{one.name} ({one.device})"
            for one in stats.gpu.devices
        }
        self.new: list[Row] = []

    def take_new(self) -> Iterator[Row]:
        """Yield the rows made since the last time, parents first."""
        new, self.new = self.new, []
        yield from new

    def process(self, process: int) -> int:
        """Return the row of a process."""

        def make() -> Row:
            if not 0 <= process < len(self._stats.processes):
                return self._row(NO_ROW, PROCESS, "Process", 0, NO_PROCESS)
            one = self._stats.processes[process]
            rank = "" if one.rank is None else f", rank {one.rank}"
            name = f"{' '.join(one.argv[:1]) or 'Process'} ({one.pid}{rank})"
            return self._row(NO_ROW, PROCESS, name, process, process, one.pid)

        return self._get((PROCESS, process), make)

    def overhead(self, process: int) -> int:
        """Return the row of what profiling itself took."""
        parent = self.process(process)
        name = "Profiling overhead: the sum"
        return self._get(
            ("overhead", process), lambda: self._row(parent, SLICES, name, 1, process)
        )

    def thread(self, process: int, thread: int, native: int = 0) -> int:
        """Return the row of a thread: its index in Profile.threads.

        One that is not known has a `native` number, or not even that.
        """

        def make() -> Row:
            name = f"Thread {native}" if native else "All threads"
            known, place = native, _OF_A_THREAD * (len(self._stats.threads) + 1)
            if thread != UNKNOWN_THREAD:
                name = thread_name(self._stats, thread)
                known = self._stats.threads[thread].native_id
                place = _OF_A_THREAD * (thread + 1)
            return self._row(parent, THREAD, name, place, process, known)

        parent = self.process(process)
        number = 0 if thread != UNKNOWN_THREAD else native
        return self._get((THREAD, process, thread, number), make)

    def below_thread(self, thread: int, place: int) -> int:
        """Return a row below that of a thread: SUMS, LINES, RUNTIME_API..."""
        row = self._all[thread - 1]
        return self._get(
            ("below", thread, place),
            lambda: self._row(
                thread, SLICES, _THREAD_ROWS[place], row.place + place, row.process
            ),
        )

    def device(self, process: int, device: int) -> int:
        """Return the row of a device: CUDA's number in its process."""
        parent = self.process(process)
        name = self._devices.get((process, device), f"Device ({device})")
        return self._get(
            (DEVICE, process, device),
            lambda: self._row(parent, DEVICE, name, _DEVICES + device, process),
        )

    def memory(self, device: int) -> int:
        """Return the counter of a device's memory."""
        name = "Memory allocated"
        return self._below(device, (COUNTER, device), COUNTER, name, MEMORY)

    def unified(self, device: int, name: str) -> int:
        """Return the row of what moves unified memory to or from a device."""
        return self._below(device, (UNIFIED, device, name), SLICES, name, UNIFIED)

    def context(self, device: int, context: int) -> int:
        """Return the row of a context of a device."""
        place = _OF_A_CONTEXT * (context % _OF_A_THREAD + 1)
        return self._below(
            device, (GROUP, device, context), GROUP, f"Context {context}", place
        )

    def work(self, context: int, name: str, place: int) -> int:
        """Return the row of one kind of a context's work."""
        place += self._all[context - 1].place
        return self._below(context, ("work", context, name), SLICES, name, place)

    def stream(self, context: int, stream: int) -> int:
        """Return the row of a stream of a context."""
        place = self._all[context - 1].place + _STREAMS
        place += stream % (_OF_A_CONTEXT - _STREAMS)
        name = f"Stream {stream}"
        return self._below(context, ("stream", context, stream), SLICES, name, place)

    def lane(self, row: int, start: int, end: int) -> int:
        """Return `row`, or one like it, on which nothing is from `start` on.

        From now on something is, until `end`. Times (ns) come in order.
        """
        lanes = self._lanes.setdefault(row, [(row, 0)])
        for index, (one, busy) in enumerate(lanes):
            if busy <= start:
                lanes[index] = (one, end)
                return one
        like = self._all[row - 1]
        more = self._row(like.parent, like.kind, like.name, like.place, like.process)
        self._add(more)
        lanes.append((more.number, end))
        return more.number

    def _below(
        self, parent: int, key: tuple[object, ...], kind: int, name: str, place: int
    ) -> int:
        process = self._all[parent - 1].process
        return self._get(key, lambda: self._row(parent, kind, name, place, process))

    def _row(  # noqa: PLR0913, PLR0917  # the fields of a Row
        self,
        parent: int,
        kind: int,
        name: str,
        place: int,
        process: int,
        native: int = 0,
    ) -> Row:
        number = len(self._all) + 1
        return Row(number, parent, kind, name, place, process, native)

    def _get(self, key: tuple[object, ...], make: Callable[[], Row]) -> int:
        number = self._found.get(key)
        if number is None:
            number = self._found[key] = self._add(make())
        return number

    def _add(self, row: Row) -> int:
        self._all.append(row)
        self.new.append(row)
        return row.number
