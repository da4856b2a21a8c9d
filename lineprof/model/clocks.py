"""Clocks of several hosts, set by each other, so that timelines have one time axis.

Processes of one host share CLOCK_MONOTONIC. Each one has read it together with the
time of day, which hosts keep alike to some milliseconds by NTP. If the ranks of a
parallel program have met in collectives, the ends of these set the clocks: all ranks
leave the same collective at one time, but for the latency of the network. The clock of
a host is moved by the median of the differences of these ends, between its ranks and
the first rank.
"""

from __future__ import annotations

from itertools import chain
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.collectives import ends_together
from lineprof.model.timelines import slice_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.model.records import Process
    from lineprof.model.timelines import Timeline, Trace

    Meetings = list[tuple[int, str]]  # the end (ns since the epoch) and the name

# Largest difference (ns) of the two clocks between processes of one host: above it,
# the host's name stands for two machines, or the machine was restarted.
MAX_APART_NS = 1_000_000_000


class Aligned(NamedTuple):
    """A profile whose hosts have one time of day, as far as that is known."""

    profile: Profile
    remark: str  # how, and to within what; "" for a single host


def unix_start_ns(process: Process, origin_ns: int) -> int:
    """Return the time since the epoch (ns) of `origin_ns`, on CLOCK_MONOTONIC.

    `origin_ns` is the start of the first timeline of the process. Older profiles know
    only about when that was.
    """
    if process.unix_offset_ns is None:
        return process.start_unix_ns
    return origin_ns + process.unix_offset_ns


def aligned(profile: Profile) -> Aligned:
    """Return `profile` with the clocks of its hosts set by each other."""
    both: list[Trace | Timeline] = [*profile.traces, *profile.gpu.timelines]
    shown = {one.process for one in both if one.process < len(profile.processes)}
    hosts = _hosts(profile, sorted(shown))
    if len(hosts) < 2:  # noqa: PLR2004
        return Aligned(profile, "")
    are_set = f"the clocks of {len(hosts)} hosts are "
    as_they_were = f"{are_set}as the hosts had them, mostly to some milliseconds"
    offsets = [one.unix_offset_ns for one in profile.processes]
    if any(offsets[index] is None for host in hosts for index in host):
        return Aligned(profile, f"{as_they_were}: the profile is of an older lineprof")
    every = {index: _meetings(profile, index) for host in hosts for index in host}
    # Child processes of ranks, for example, meet nobody.
    met = {index: meetings for index, meetings in every.items() if meetings}
    names = [[name for _, name in meetings] for meetings in met.values()]
    if not met:
        return Aligned(
            profile, f"{as_they_were}: no barrier is in the timeline to set them by"
        )
    is_known = all(any(index in met for index in host) for host in hosts)
    if not is_known or any(one != names[0] for one in names):
        return Aligned(
            profile, f"{as_they_were}: ranks have different collectives in the timeline"
        )
    reference = min(met, key=lambda index: (profile.processes[index].rank or 0, index))
    processes, apart, shifts = list(profile.processes), [], []
    for host in hosts:
        if reference in host:
            continue
        differences = [
            end - expected
            for index in met.keys() & host
            for (end, _), (expected, _) in zip(met[index], met[reference])
        ]
        shift = round(median(differences))
        shifts.append(abs(shift))
        apart += [abs(one - shift) for one in differences]
        for index in host:
            offset = processes[index].unix_offset_ns or 0
            processes[index] = processes[index]._replace(unix_offset_ns=offset - shift)
    count = len(names[0])
    return Aligned(
        profile.with_processes(processes),
        f"{are_set}set by the ends of {count} collective{'s' * (count > 1)},"
        f" half of which agree to {median(apart) / 1e3:,.1f} µs; they were moved by up"
        f" to {max(shifts) / 1e6:,.3f} ms",
    )


def _hosts(profile: Profile, indexes: list[int]) -> list[list[int]]:
    """Return the processes of each host: indexes in `Profile.processes`."""
    hosts: dict[str, list[list[int]]] = {}
    for index in indexes:
        process = profile.processes[index]
        groups = hosts.setdefault(process.host, [])
        for group in groups:
            first = profile.processes[group[0]]
            apart = (process.unix_offset_ns or 0) - (first.unix_offset_ns or 0)
            if abs(apart) <= MAX_APART_NS:
                group.append(index)
                break
        else:
            groups.append([index])
    return [group for groups in hosts.values() for group in groups]


def _meetings(profile: Profile, process: int) -> Meetings:
    """Return the collectives of a process that `ends_together`, in order."""
    offset = profile.processes[process].unix_offset_ns or 0
    traces = [one for one in profile.traces if one.process == process]
    ends = chain.from_iterable(map(_ends, traces))
    return sorted((end + offset, name) for end, name in ends)


def _ends(trace: Trace) -> Iterator[tuple[int, str]]:
    """Yield the end (ns on CLOCK_MONOTONIC) and the name of each such collective."""
    functions = {
        index: key[2] for index, key in enumerate(trace.functions) if ends_together(key)
    }
    for batch in trace.batches if functions else ():
        for _, function, line, start, ns in zip(*slice_columns(batch)):
            if function in functions and line == 0:
                yield start + ns, functions[function]


# The common time axis of several processes.


class Clock:
    """Times of all processes on a common axis, whose 0 is the first start.

    Processes of one host are placed by CLOCK_MONOTONIC, which they share; different
    hosts by the time of day, as `aligned` has set it.
    """

    def __init__(self, profile: Profile) -> None:
        self._origins: dict[int, int] = {}  # the first one of each process
        both: list[Trace | Timeline] = [*profile.traces, *profile.gpu.timelines]
        for one in both:
            first = self._origins.get(one.process, one.origin_ns)
            self._origins[one.process] = min(first, one.origin_ns)
        starts = {
            process: unix_start_ns(profile.processes[process], origin_ns)
            for process, origin_ns in self._origins.items()
            if process < len(profile.processes)
        }
        zero = min(starts.values(), default=0)
        places = {process: start - zero for process, start in starts.items()}
        anchors: dict[str, int] = {}  # by host, its first process
        for process, place in places.items():
            anchor = anchors.setdefault(profile.processes[process].host, process)
            same = self._origins[process] - self._origins[anchor] + places[anchor]
            if abs(same - place) <= MAX_APART_NS:
                places[process] = same
        first_place = min(places.values(), default=0)
        self._places = {
            process: place - first_place for process, place in places.items()
        }

    def zero_of(self, one: Trace | Timeline) -> int:
        """Return the time (ns) on the axis at which the times of `one` are 0."""
        place = self._places.get(one.process, 0)
        return place + one.origin_ns - self._origins[one.process]

    def start_of(self, process: int) -> int:
        """Return the time (ns) on the axis at which a process began to measure."""
        return self._places.get(process, 0)
