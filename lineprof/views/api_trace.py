"""Calls of CUDA's API one by one, in order of their start, as nvprof prints them."""

from __future__ import annotations

from lineprof.errors import printable
from lineprof.gpu_records import DRIVER, NO_PATH, RUNTIME
from lineprof.records import UNKNOWN_THREAD
from lineprof.views.gpu_names import NOWHERE, Places, call_name
from lineprof.views.gpu_remarks import calls_left_out
from lineprof.views.gpu_units import microseconds, milliseconds, quoted, time_text
from lineprof.views.traces import pid, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.gpu_records import GpuEvent
    from lineprof.stats import Profile
    from lineprof.views.view import Options

_LINE = "Python Line"


def api_trace(stats: Profile, options: Options) -> Iterator[str]:
    """Yield a row for each call, and below them what is missing."""
    yield from rows(_ApiTrace(stats, options), stats, options)
    if not options.csv:
        yield from calls_left_out(stats.gpu)


class _ApiTrace:
    """Rows of calls."""

    csv_titles: tuple[str, ...] = (
        *("Start", "Duration", "Name", "Correlation_ID"),
        *("Thread", _LINE, "Process"),
    )
    csv_units = "ms,us,,,,,"

    def __init__(self, stats: Profile, options: Options) -> None:
        self._stats = stats
        self._places = Places(stats.gpu, options)
        self._line_width = max(len(_LINE), self._places.width)
        self._names = [printable(thread.name) for thread in stats.threads]
        self._numbered = {
            (thread.process, thread.native_id): name
            for thread, name in zip(stats.threads, self._names)
        }
        self._thread_width = max(map(len, ["Thread", *self._names]))
        self.header = (
            f"   Start  Duration  {'Thread':>{self._thread_width}}"
            f"  {_LINE:<{self._line_width}}  Name"
        )

    def is_wanted(self, event: GpuEvent) -> bool:
        """Tell whether it is a call."""
        return event.kind in {RUNTIME, DRIVER}

    def text(self, event: GpuEvent, process: int) -> str:
        """Return a row of text."""
        return (
            f"{time_text(event.start_ns):>8} {time_text(event.ns):>9}"
            f"  {self._thread(event, process):>{self._thread_width}}"
            f"  {self._places.of(event):<{self._line_width}}"
            f"  {call_name(event.name)} [{event.correlation}]"
        )

    def fields(self, event: GpuEvent, process: int) -> tuple[str, ...]:
        """Return a row of CSV."""
        place = self._places.of(event)
        return (
            milliseconds(event.start_ns),
            microseconds(event.ns),
            quoted(call_name(event.name)),
            f"{event.correlation}",
            quoted(self._thread(event, process)),
            quoted("" if place == NOWHERE else place),
            pid(self._stats, process),
        )

    def _thread(self, event: GpuEvent, process: int) -> str:
        """Return a thread's name, or its number where it has none.

        CUPTI numbers threads as pthread_self() does and not as the system: the
        path knows more.
        """
        if event.path != NO_PATH:
            path = self._stats.gpu.paths[event.path]
            if not path.adopted and path.thread != UNKNOWN_THREAD:
                return self._names[path.thread]
        return self._numbered.get((process, event.thread)) or f"{event.thread}"
