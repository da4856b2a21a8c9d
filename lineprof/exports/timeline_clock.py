"""One clock for the timelines of several processes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.gpu_timeline import Timeline
    from lineprof.stats import Profile
    from lineprof.trace_records import Trace

# Two processes of one host that are farther apart by one clock than by the
# other (ns): its name stands for two machines, or it was started anew.
_APART = 1_000_000_000


class Clock:
    """Where a process' times lie on a common axis, whose 0 is the first start.

    Processes of one host are put in place by CLOCK_MONOTONIC, which they
    share; those of several by the time of day at their start.
    """

    def __init__(self, stats: Profile) -> None:
        self._origins: dict[int, int] = {}  # of each process, the first one
        both: list[Trace | Timeline] = [*stats.traces, *stats.gpu.timelines]
        for one in both:
            first = self._origins.get(one.process, one.origin_ns)
            self._origins[one.process] = min(first, one.origin_ns)
        starts = {
            process: stats.processes[process].start_unix_ns
            for process in self._origins
            if process < len(stats.processes)
        }
        zero = min(starts.values(), default=0)
        places = {process: start - zero for process, start in starts.items()}
        anchors: dict[str, int] = {}  # by host, its first process
        for process, place in places.items():
            anchor = anchors.setdefault(stats.processes[process].host, process)
            same = self._origins[process] - self._origins[anchor] + places[anchor]
            if abs(same - place) <= _APART:
                places[process] = same
        least = min(places.values(), default=0)
        self._places = {process: place - least for process, place in places.items()}

    def zero_of(self, one: Trace | Timeline) -> int:
        """Return where its time 0 lies (ns)."""
        place = self._places.get(one.process, 0)
        return place + one.origin_ns - self._origins[one.process]
