"""A comparison of two programs, or of two versions of one: a value that views show.

`compare` takes the runs before and after a change. Functions and lines of both sides
are matched by their source (`lineprof.comparison.alignment`), and each pair has the
numbers of every run. Times are in nanoseconds (ns).

Own times are compared in two parts, where both sides know how long lines waited: CPU
time, and waits that are not for a processor. Other load on the machine changes neither
by much.

A difference of two times counts as a change only if it is greater than its noise band.
If each side is one run, the band is what two runs of an unchanged program differ by
(`_Experience`). Several runs tell their noise themselves: the band is the half width of
the 95 % confidence interval of the difference of their means, by Welch's t-test (B. L.
Welch, Biometrika 34, 1947; `noise_band`), but no less than a part of the band of one
run.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from lineprof.comparison.alignment import LineMatcher, paired_functions
from lineprof.model.call_graph import (
    FunctionTotals,
    function_totals,
    line_self_ns,
    uncounted,
)
from lineprof.model.gpu import numbers_of_functions, numbers_of_lines
from lineprof.model.host_memory import (
    NO_BYTES,
    MemoryNumbers,
    knows_memory,
    largest_run,
    memory_of_functions,
    memory_of_lines,
    total_memory,
)
from lineprof.model.own_waits import (
    OwnTime,
    OwnTimes,
    inclusive_times,
    knows_waits,
    own_times,
)
from lineprof.model.records import SLEEP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof.comparison.alignment import Block
    from lineprof.model.own_waits import Bounds
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

    Values = tuple[int, ...]  # of one number, in each run of a side
    Counts = tuple[int | None, ...]  # the same; None: the run does not know it

# Student's t for 95 %, two-sided, by degrees of freedom from 1 on; the last one is
# used for more.
_STUDENT_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class Change(NamedTuple):
    """One number before and after, with its value in each run.

    A value that is known between bounds is their middle.
    """

    before: Values
    after: Values
    floor: float = 0.0  # the least half width of the noise band,
    unsure: float = 0.0  # and by how much the means' bounds widen it

    @property
    def mean_before(self) -> float:
        """The mean of the runs before."""
        return sum(self.before) / len(self.before)

    @property
    def mean_after(self) -> float:
        """The mean of the runs after."""
        return sum(self.after) / len(self.after)

    @property
    def least(self) -> float:
        """The smaller mean."""
        return min(self.mean_before, self.mean_after)

    @property
    def most(self) -> float:
        """The greater mean."""
        return max(self.mean_before, self.mean_after)

    @property
    def difference(self) -> float:
        """The mean after less the mean before."""
        return self.mean_after - self.mean_before

    @property
    def ratio(self) -> float | None:
        """The mean after by the mean before; None if that is 0."""
        mean = self.mean_before
        return self.mean_after / mean if mean else None

    @property
    def noise(self) -> float:
        """The half width of the noise band."""
        return max(noise_band(self.before, self.after), self.floor) + self.unsure

    @property
    def is_noise(self) -> bool:
        """Whether the difference is within the noise band."""
        return abs(self.difference) <= self.noise


class CountChange(NamedTuple):
    """A number, such as that of calls or hits, before and after, in each run."""

    before: Counts
    after: Counts

    @property
    def known(self) -> tuple[Values | None, Values | None]:
        """Both sides; None for one of which a run does not know its number."""
        return _known(self.before), _known(self.after)

    @property
    def known_change(self) -> Change | None:
        """The change as one of numbers; None if a run does not know its own."""
        before, after = self.known
        return None if before is None or after is None else Change(before, after)

    @property
    def is_exact_change(self) -> bool:
        """Whether both sides are known, and their runs have other extremes."""
        before, after = self.known
        if before is None or after is None:
            return False
        return (min(before), max(before)) != (min(after), max(after))


def _known(counts: Counts) -> Values | None:
    known = tuple([count for count in counts if count is not None])
    return known if len(known) == len(counts) else None


def noise_band(before: Values, after: Values) -> float:
    """Return by how much two means may differ by chance (95 %); 0 for one run a side.

    That is t * sqrt(a + b), where a and b are variance / runs of each side, t is
    Student's for (a + b)^2 / (a^2 / (runs - 1) + b^2 / (runs - 1)) degrees of freedom.
    A side of one run is taken to vary as the other side does.
    """
    n, m = len(before), len(after)
    if n == m == 1:
        return 0.0
    if n == 1 or m == 1:
        several = before if m == 1 else after
        error = _variance(several) * (1 / n + 1 / m)
        freedom = float(len(several) - 1)
    else:
        a, b = _variance(before) / n, _variance(after) / m
        error = a + b
        rest = a * a / (n - 1) + b * b / (m - 1)
        freedom = error * error / rest if rest else float(n + m - 2)
    index = min(max(int(freedom), 1), len(_STUDENT_T)) - 1
    return _STUDENT_T[index] * float(error**0.5)


def _variance(values: Values) -> float:
    """Return the variance of a sample of two or more values."""
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


class Times(NamedTuple):
    """The changes that a function, a line and the program have."""

    count: CountChange  # type: ignore[assignment]  # hides tuple.count; calls or hits
    total_ns: Change  # callees included
    self_ns: Change  # without callees; as `total_ns` if a run has no calls
    gpu_ns: Change  # of GPU work that it launched itself
    own_ns: Change  # `self_ns` without waits for a processor
    cpu_ns: Change | None = None  # of `own_ns`; None: a run does not know waits,
    wait_ns: Change | None = None  # and the rest
    causes: Mapping[str, Change] = {}  # the parts of `wait_ns`
    beyond_noise: Mapping[str, Change] = {}  # see `_beyond_noise`
    memory: Mapping[str, Change] = {}  # of MEMORY (bytes); {}: a run does not know it

    @property
    def memory_beyond_noise(self) -> dict[str, Change]:
        """The changes of memory beyond noise, by the names in MEMORY."""
        return {name: one for name, one in self.memory.items() if not one.is_noise}

    @property
    def knows_waits(self) -> bool:
        """Whether own time is compared in two parts."""
        return self.cpu_ns is not None

    def noise(self, name: str) -> float | None:
        """Return the noise band of a field (ns); None if it is not judged."""
        is_part = name in {"cpu_ns", "wait_ns"}
        if name == "self_ns":
            return None if self.knows_waits else self.own_ns.noise
        if name in {"total_ns", "ready_ns"} or (is_part and not self.knows_waits):
            return None
        return self.change(name).noise

    def change(self, name: str) -> Change:
        """Return the change of a field, or of the waits for a cause."""
        found: Change | None = self.causes.get(name)
        if found is None:
            found = getattr(self, name, None)
        return _NO_CHANGE if found is None else found

    @property
    def size(self) -> float:
        """The greatest absolute change (ns): beyond noise, if there is any."""
        changes = self.beyond_noise.values() or self._parts
        return max(abs(change.difference) for change in changes)

    @property
    def _parts(self) -> list[Change]:
        parts = self.cpu_ns or self.own_ns, self.wait_ns, self.gpu_ns
        return [one for one in parts if one]

    @property
    def is_noise(self) -> bool:
        """Whether no time changed by more than its noise band."""
        return not self.beyond_noise

    @property
    def changed(self) -> bool:
        """Whether there is any change, of a time or of the count."""
        if self.beyond_noise or self.count.is_exact_change:
            return True
        is_same = all(one.before == one.after for one in self._parts)
        return bool(not is_same and self.size)


def _beyond_noise(times: Times) -> dict[str, Change]:
    """Return the changes beyond noise, by the names of fields or of causes of waits.

    Those of CPU time, waits and GPU time are judged, and own time if none of them is
    known to have changed: parts between wide bounds may have a sum that is known.
    """
    found: dict[str, Change] = {}
    if times.cpu_ns is not None and not times.cpu_ns.is_noise:
        found["cpu_ns"] = times.cpu_ns
    if times.wait_ns is not None:
        found.update(_waits_beyond_noise(times.wait_ns, times.causes))
    if not times.gpu_ns.is_noise:
        found["gpu_ns"] = times.gpu_ns
    if not found.keys() - {"gpu_ns"} and not times.own_ns.is_noise:
        found["own_ns"] = times.own_ns
    return found


def _waits_beyond_noise(
    wait_ns: Change, causes: Mapping[str, Change]
) -> dict[str, Change]:
    """Return the change of all waits, or of those for the causes that tell more.

    Causes do if one alone changed and is most of the change, or if all waits together
    hardly changed.
    """
    found = {cause: one for cause, one in causes.items() if not one.is_noise}
    if wait_ns.is_noise:
        return found
    shares = [one.difference / wait_ns.difference for one in found.values()]
    if len(shares) == 1 and shares[0] >= _MOST:
        return found
    return {"wait_ns": wait_ns}


_MOST = 0.5

_NO_CHANGE = Change(before=(0,), after=(0,))


class LinePair(NamedTuple):
    """One line before and after."""

    before: int | None  # its number; None: the line was added
    after: int | None  # None: the line was removed
    before_text: str | None  # None: unknown
    after_text: str | None
    times: Times

    @property
    def is_edited(self) -> bool:
        """Whether both texts are known, and differ in more than their indentation."""
        texts = self.before_text, self.after_text
        if texts[0] is None or texts[1] is None:
            return False
        return texts[0].strip() != texts[1].strip()


class Member(NamedTuple):
    """One function in one run of a side."""

    key: Key
    lines: LineMap  # to the numbers of lines that pairs of lines have


class FunctionPair(NamedTuple):
    """One function before and after."""

    before: Key | None  # None: the function was added
    after: Key | None  # None: the function was removed
    times: Times
    lines: tuple[LinePair, ...]  # those that ran in any run
    members: tuple[Mapping[int, Member], Mapping[int, Member]]  # by run, of each side

    @property
    def key(self) -> Key:
        """The function after, or before if it was removed."""
        key = self.after or self.before
        assert key is not None  # noqa: S101  # one of them is there
        return key

    @property
    def hidden(self) -> dict[str, LinePair]:
        """The lines that tell of changes which the function's own noise hides.

        They are by the names of times as in `Times.beyond_noise`. What one line lost
        and another one got is no change of the function.
        """
        known = {_part_of(name) for name in self.times.beyond_noise}
        lines: dict[str, list[LinePair]] = {}
        for line in self.lines:
            for name in line.times.beyond_noise:
                if _part_of(name) not in known:
                    lines.setdefault(name, []).append(line)
        found = {}
        for name, ones in lines.items():
            changes = [line.times.change(name) for line in ones]
            all_ns = sum(change.difference for change in changes)
            if abs(all_ns) > max(change.noise for change in changes):
                sign = 1 if all_ns > 0 else -1
                found[name] = max(
                    ones, key=lambda line: sign * line.times.change(name).difference
                )
        return found


def _part_of(name: str) -> str:
    """Return "gpu_ns", "cpu_ns" or "wait_ns" for a time of `Times.beyond_noise`."""
    if name == "gpu_ns":
        return name
    return "cpu_ns" if name in {"cpu_ns", "own_ns"} else "wait_ns"


class Comparison(NamedTuple):
    """Two sides of one or several runs, and how all functions changed."""

    runs: tuple[int, int]  # before, after
    wall_ns: Change | None  # None if a run does not know its own
    process_ns: Change | None  # CPU time of processes without the profiler's
    whole: Times  # of all functions; nothing of it is counted
    ready_ns: Change | None  # waits for a processor; None: a run does not know waits
    stretch: float  # by which other load may have made waits for others longer
    functions: tuple[FunctionPair, ...]
    # Functions that one side alone profiled, and that are not in `functions`. If there
    # are any, times include callees, and those of `whole` are of other functions.
    unprofiled: tuple[Key, ...]
    has_calls: bool  # whether self times are without callees
    unknown_source: tuple[Key, ...]  # matched by the distance from the first line

    @property
    def is_one_run(self) -> bool:
        """Whether each side is one run."""
        return max(self.runs) == 1

    @property
    def knows_counts(self) -> bool:
        """Whether every run knows how often its functions were called."""
        return all(pair.times.count.known_change for pair in self.functions)

    @property
    def has_gpu(self) -> bool:
        """Whether any run had GPU work of lines or functions."""
        return any(self.whole.gpu_ns.before) or any(self.whole.gpu_ns.after)


# The runs to compare.


class Run(NamedTuple):
    """One profile, with the source as it ran."""

    profile: Profile
    text: Callable[[str], Block]  # the lines of a file; None: unknown
    block: Callable[[Key], Block]  # the lines of a function; None: unknown
    line: Callable[[str, int], str | None]  # a line to show; None: unknown


def has_calls(profile: Profile) -> bool:
    """Return whether self times are known: callers are, or nothing ran."""
    return bool(profile.calls.nodes) or not any(
        function.thread_lines for function in profile.functions
    )


def wall_ns(profile: Profile) -> int | None:
    """Return the time of a run, which is that of its longest process; None: unknown."""
    return max((one.wall_ns for one in profile.processes), default=None)


_NO_TIME = OwnTime(cpu=(0, 0), waits=(0, 0), ready=(0, 0))


def _process_ns(profile: Profile) -> int | None:
    """Return the CPU time of a run's processes without the profiler's cost."""
    known = [
        max(0, one.cpu_ns - one.overhead_ns)
        for one in profile.processes
        if one.cpu_ns is not None
    ]
    return sum(known) if known and len(known) == len(profile.processes) else None


# Numbers of memory that are compared, those of lines and functions without callees. Of
# the program, the peak is that of the process with the largest one.
MEMORY = ("alloc_bytes", "live_bytes", "peak_bytes")


class _Counts(NamedTuple):
    """The numbers of one function or line in one run."""

    count: int | None = 0  # type: ignore[assignment]  # None: unknown
    total_ns: int = 0
    self_ns: int = 0
    gpu_ns: int = 0
    hits: int = 0
    wakes: int = 0  # waits, at most
    own: OwnTime = _NO_TIME  # the parts of `self_ns`, if waits are known
    memory: MemoryNumbers = NO_BYTES  # without callees


_NOTHING = _Counts()

_NO_TOTALS = FunctionTotals()


class _Measured(NamedTuple):
    """One function in one run."""

    counts: _Counts
    lines: dict[int, _Counts]


# Noise of one run, and of load.


class _Experience(NamedTuple):
    """By how much times of unchanged programs differ, between runs and by load.

    docs/compare.md has the programs that were measured. Shares are of the smaller one
    of two times, so that a time that doubled is always a change.
    """

    cpu_ns: float  # of all lines, on the side with less
    time_ns: float  # the same with waits, but for a processor
    stretch: float  # of the time of lines by waits for a processor: the greater one
    of_others: float  # by which waits for others may differ
    load: float  # the difference of the shares of time without a processor
    share: float  # of the band that counts: see `_experience`
    is_one_run: bool  # on each side

    def of_cpu(self, change: Change, hits: int) -> float:
        """Return the band of a CPU time (ns)."""
        share_ns = SHARE * change.least
        hits_ns = _HIT_NS * hits if self.is_one_run else 0.0
        cold_ns = _COLD * self.load * change.least
        more_ns = min(share_ns, max(hits_ns, cold_ns))
        return self.share * (share_ns + more_ns + _OF_WHOLE * self.cpu_ns + _LEAST_NS)

    def of_waits(
        self, change: Change, wakes: float, ready_ns: Change, sleep: Change
    ) -> float:
        """Return the band of waits (ns), of a row that also waited for a processor.

        The part in `sleep` varies little. Beside other load, the rest, a wait for
        another thread or a process, takes longer, and varies by a share of the longer
        one. So does each of `wakes`, also from sleep.
        """
        sleep_ns = min(sleep.least, change.least)
        others_ns = change.least - sleep_ns
        more_ns = max(0.0, abs(change.difference) - abs(sleep.difference))
        load = self.of_others - 1
        band = (
            _SLEEP_SHARE * sleep_ns
            + SHARE * (others_ns + min(load, 1) * more_ns)
            + load * others_ns
            + _OF_WHOLE * self.time_ns
            + _LEAST_NS
            + (self.stretch - 1) * wakes * _SLICE_NS
            + _UNSEEN * ready_ns.most
        )
        return self.share * band

    def of_memory(self, name: str, change: Change) -> float:
        """Return the band of a size (bytes).

        The blocks of a program are the same ones in each run, as long as sizes do not
        depend on hashes and clocks. What is live at a moment depends on collections of
        garbage, and on threads, as well.
        """
        share = _ALLOC_SHARE if name == "alloc_bytes" else _LIVE_SHARE
        band = share * change.least + _LEAST_BYTES
        return band if self.is_one_run else _OF_RUNS * band

    def of_gpu(self, change: Change) -> float:
        """Return the band of a GPU time (ns), which no load of processors changes."""
        return SHARE * change.least + _LEAST_NS if self.is_one_run else 0.0


SHARE = 0.3  # of a time: caches, the clock rate, what else the cores do

_SLEEP_SHARE = 0.1  # the same of sleep

_COLD = 0.5  # of a CPU time, by `load`: other work empties caches

_OF_WHOLE = 0.02  # of the time of all lines: a collection of garbage, on any line

_HIT_NS = 30  # by which the cost of an event may differ from that taken off

_LEAST_NS = 500_000.0  # interrupts, page faults

_WAIT_NS = 100_000  # the shortest wait

_SLICE_NS = 4_000_000  # that others have a processor before one that was woken up

_ALLOC_SHARE, _LIVE_SHARE = 0.02, 0.05  # of bytes

_LEAST_BYTES = 16_000

_OF_SAMPLES = 3  # standard errors of estimates of memory

_UNSEEN = 0.5  # of the waits for a processor, which may have looked like others


def _experience(before: Sequence[OwnTimes], after: Sequence[OwnTimes]) -> _Experience:
    """Return what is known of noise for these runs.

    Several runs tell their noise themselves, but not that of a load that one side
    alone has: a load lasts for longer than a run.
    """
    sides = [[run.whole for run in side] for side in (before, after)]
    cpu, waits, ready = (
        [sum(sum(getattr(run, part)) / 2 for run in side) / len(side) for side in sides]
        for part in ("cpu", "waits", "ready")
    )
    is_one_run = max(map(len, sides)) == 1
    loads = [w / (c + w) if w else 0.0 for c, w in zip(cpu, ready)]
    load = abs(loads[0] - loads[1])
    less, more = sorted(1 / (1 - min(load, _MAX_LOAD)) for load in loads)
    return _Experience(
        cpu_ns=min(cpu),
        time_ns=min(c + w for c, w in zip(cpu, waits)),
        stretch=more,
        of_others=min(more, _CHANCE * more / less),
        load=load,
        share=1.0 if is_one_run else min(1.0, max(_OF_RUNS, 2 * load)),
        is_one_run=is_one_run,
    )


_MAX_LOAD = 0.99

_CHANCE = 1.5  # by which waits for others differ beside the same load

_OF_RUNS = 0.1  # of the band, with several runs a side on a quiet machine


class _Function:
    """One function in the runs of one side; its lines are of the run `origin`.

    Without a key, it stands for the functions that only the other side has.
    """

    def __init__(
        self, *, runs: Sequence[Run], key: Key | None = None, origin: int = 0
    ) -> None:
        self.key = key
        self.origin = origin
        self.runs = runs
        self.counts = [_NOTHING] * len(runs)
        # By (run, line): lines of other runs than `origin` are not in that one.
        self.lines: dict[tuple[int, int], list[_Counts]] = {}
        self.members: dict[int, Member] = {}  # by run

    def add(self, run: int, one: _Measured, member: Member) -> None:
        """Add a run; its lines are mapped to those of `origin`."""
        self.counts[run] = one.counts
        self.members[run] = member
        for line, counts in one.lines.items():
            same = member.lines.other(line)
            place = (run, line) if same is None else (self.origin, same)
            row = self.lines.setdefault(place, [_NOTHING] * len(self.runs))
            row[run] = counts

    def text(self, line: int | None, run: int) -> str | None:
        """Return a line of the file in a run; None: unknown."""
        if self.key is None or line is None:
            return None
        return self.runs[run].line(self.key[0], line)


def compare(before: Sequence[Run], after: Sequence[Run]) -> Comparison:
    """Return the comparison of the runs before with those after, at least one each.

    If a run does not know who called whom, no self time is compared: `self_ns` is
    then the whole time, on both sides.
    """
    sides = (before, after)
    profiles = [[run.profile for run in side] for side in sides]
    knows_calls = all(map(has_calls, chain(*profiles)))
    # Waits of lines include callees', if callers are unknown.
    waits_known = knows_calls and all(map(knows_waits, chain(*profiles)))
    matcher = _Matcher()
    owns = [
        [own_times(one) if waits_known else _whole_of(one) for one in side]
        for side in profiles
    ]
    functions = [
        _side(side, own, matcher, knows_calls=knows_calls)
        for side, own in zip(sides, owns)
    ]
    noise = _experience(*owns)
    changes = _Changes(
        noise,
        waits_known=waits_known,
        memory_known=all(knows_memory(one.memory) for one in chain(*profiles)),
        sample_bytes=max(
            (run.sample_bytes for one in chain(*profiles) for run in one.memory.runs),
            default=0,
        ),
    )
    walls = [tuple(map(wall_ns, side)) for side in profiles]
    processes = [tuple(map(_process_ns, side)) for side in profiles]
    wholes = [
        [
            _whole(functions[side], run, own, profiles[side][run])
            for run, own in enumerate(owns[side])
        ]
        for side in (0, 1)
    ]
    ready = _between([[one.own.ready for one in side] for side in wholes])
    whole = changes.times(*wholes)
    pairs = _paired(functions[0], functions[1], before, after)
    unprofiled = _unprofiled(pairs, sides, whole) if knows_calls else set()
    if unprofiled:
        functions = [
            _side(
                side,
                [inclusive_times(run.profile) for run in side] if waits_known else own,
                matcher,
                knows_calls=False,
            )
            for side, own in zip(sides, owns)
        ]
        pairs = [
            (one, other)
            for one, other in _paired(functions[0], functions[1], before, after)
            if (one.key and other.key) or (one.key or other.key) not in unprofiled
        ]
    return Comparison(
        runs=(len(before), len(after)),
        wall_ns=changes.with_noise(CountChange(*walls).known_change, wholes),
        process_ns=changes.with_noise(CountChange(*processes).known_change, wholes),
        whole=whole,
        ready_ns=ready if waits_known else None,
        stretch=noise.of_others,
        functions=tuple(
            FunctionPair(
                before=one.key,
                after=other.key,
                times=changes.times(one.counts, other.counts),
                lines=tuple(_line_pairs(one, other, matcher, changes)),
                members=(one.members, other.members),
            )
            for one, other in pairs
        ),
        unprofiled=tuple(sorted(unprofiled)),
        has_calls=knows_calls and not unprofiled,
        unknown_source=tuple(matcher.unknown),
    )


def _unprofiled(
    pairs: Sequence[tuple[_Function, _Function]],
    sides: Sequence[Sequence[Run]],
    whole: Times,
) -> set[Key]:
    """Return the functions of one side that the other did not profile.

    These are the ones that it lacks although it has their file, the same one. If both
    sides profiled a whole program, they were not called; and so it may be if neither
    did, unless all lines together have the same time without them.
    """
    kinds = {run.profile.is_whole for run in chain(*sides)}
    if kinds == {True}:
        return set()
    lacking: tuple[dict[Key, float], dict[Key, float]] = ({}, {})
    for pair in pairs:
        for side, function in enumerate(pair):
            if function.key is None:
                other = pair[1 - side]
                key = other.key
                if key and _has_file(sides[side], other.runs[other.origin], key[0]):
                    own_ns = sum(one.self_ns for one in other.counts)
                    lacking[side][key] = own_ns / len(other.runs)
    found = {*lacking[0], *lacking[1]}
    if len(kinds) > 1:
        return found
    ns = [sum(one.values()) for one in lacking]
    is_elsewhere = min(ns) == 0 and max(ns) > whole.own_ns.noise
    return found if is_elsewhere and whole.is_noise else set()


def _has_file(runs: Sequence[Run], other: Run, file: str) -> bool:
    """Return whether all runs surely have a file as another run has it."""
    text = other.text(file) if file else None
    return text is not None and all(run.text(file) == text for run in runs)


def _whole_of(profile: Profile) -> OwnTimes:
    """Return the own time of a run whose waits are not known."""
    ns = sum(one.self_ns for one in function_totals(profile).values())
    return OwnTimes({}, {}, _NO_TIME._replace(cpu=(ns, ns)))


def _whole(
    functions: Sequence[_Function], run: int, own: OwnTimes, profile: Profile
) -> _Counts:
    """Return the sum of all functions in one run, and the memory of its processes."""
    largest = largest_run(profile.memory)
    memory = total_memory(profile.memory)
    every = [function.counts[run] for function in functions]
    self_ns = sum(one.self_ns for one in every)
    return _Counts(
        total_ns=self_ns,
        self_ns=self_ns,
        gpu_ns=sum(one.gpu_ns for one in every),
        hits=sum(one.hits for one in every),
        wakes=sum(one.wakes for one in every),
        own=own.whole,
        memory=memory._replace(peak_bytes=largest.peak_bytes if largest else 0),
    )


def _measured(
    profile: Profile, parts: OwnTimes, *, knows_calls: bool
) -> dict[Key, _Measured]:
    """Return the numbers of each function of a run."""
    totals = parts.totals or function_totals(profile)
    own = (parts.self_ns or line_self_ns(profile)) if knows_calls else {}
    gpu = profile.gpu
    gpu_functions = numbers_of_functions(gpu) if gpu.sums else {}
    gpu_lines = numbers_of_lines(gpu, alone=True) if gpu.sums else {}
    memory_lines = memory_of_lines(profile.memory, alone=True)
    memory_functions = memory_of_functions(profile.memory, alone=True)
    cells = {function.key: function.thread_lines for function in profile.functions}
    unknown = uncounted(profile)
    found: dict[Key, _Measured] = {}
    for key in dict.fromkeys([*totals, *gpu_lines, *memory_lines]):
        hits: Counter[int] = Counter()
        times: Counter[int] = Counter()
        for cell in cells.get(key, ()):
            hits[cell.line] += cell.hits
            times[cell.line] += cell.time_ns
        self_ns = own.get(key, {}) if knows_calls else times
        gpu_ns = {line: one.self_ns for line, one in gpu_lines.get(key, {}).items()}
        memory = memory_lines.get(key, {})
        of_lines = {
            line: parts.lines.get((key, line), _NO_TIME)
            for line in (*hits, *gpu_ns, *memory)
        }
        lines = {
            line: _Counts(
                count=hits[line],
                total_ns=times[line],
                self_ns=self_ns.get(line, 0),
                gpu_ns=gpu_ns.get(line, 0),
                hits=hits[line],
                wakes=_wakes(hits[line], of_lines[line]),
                own=of_lines[line],
                memory=memory.get(line, NO_BYTES),
            )
            for line in dict.fromkeys([*hits, *gpu_ns, *memory])
        }
        total = totals.get(key, _NO_TOTALS)
        counts = _Counts(
            count=None if key in unknown else total.calls,
            total_ns=total.total_ns,
            self_ns=total.self_ns if knows_calls else total.total_ns,
            gpu_ns=gpu_functions[key].self_ns if key in gpu_functions else 0,
            hits=sum(hits.values()),
            wakes=sum(one.wakes for one in lines.values()),
            own=parts.functions.get(key, _NO_TIME),
            memory=memory_functions.get(key, NO_BYTES),
        )
        found[key] = _Measured(counts=counts, lines=lines)
    return found


def _wakes(hits: int, own: OwnTime) -> int:
    """Return how often a line waited, at most."""
    return min(hits, sum(own.waits) // 2 // _WAIT_NS + 1) if any(own.waits) else 0


class LineMap(NamedTuple):
    """Line numbers of one function in two runs.

    Without `pairs`, lines have the same distance from the first line of the function.
    """

    first: int  # line of the function
    other_first: int  # in the other run
    pairs: dict[int, int] | None = None  # indexes of lines of the function's source
    back: dict[int, int] | None = None  # the same, from the other run
    sizes: tuple[int, int] = (0, 0)  # of the source, in lines
    is_guess: bool = False  # whether the source of a side is unknown

    def other(self, line: int) -> int | None:
        """Return the number of a line in the other run; None if it is not there."""
        index = _mapped(line - self.first, self.pairs, *self.sizes)
        return None if index is None else self.other_first + index

    def own(self, line: int) -> int | None:
        """Return the number of a line of the other run; None if it is not here."""
        size, other_size = self.sizes
        index = _mapped(line - self.other_first, self.back, other_size, size)
        return None if index is None else self.first + index


def _mapped(
    index: int, pairs: dict[int, int] | None, size: int, other_size: int
) -> int | None:
    """Return the index of a line in another text; lines around both stay around it."""
    if pairs is None or index < 0:
        return index
    if index >= size:
        return index - size + other_size
    return pairs.get(index)


class _Matcher:
    """Matching of functions and lines of two runs."""

    def __init__(self) -> None:
        self.unknown: dict[Key, None] = {}
        self._lines = LineMatcher()
        self._same_files: dict[tuple[int, str, int, str], bool] = {}

    def lines(self, before: Key, after: Key, one: Run, other: Run) -> LineMap:
        """Return how the lines of a function in two runs match."""
        if before[1] == after[1] and self._is_same_file(
            before[0], after[0], one, other
        ):
            return LineMap(before[1], after[1])
        block, other_block = one.block(before), other.block(after)
        if not block or not other_block:
            if before[0]:
                self.unknown[after] = None
            return LineMap(before[1], after[1], is_guess=True)
        pairs = self._lines.pairs(block, other_block)
        back = {index: same for same, index in pairs.items()}
        sizes = (len(block), len(other_block))
        return LineMap(before[1], after[1], pairs=pairs, back=back, sizes=sizes)

    def _is_same_file(self, file: str, other_file: str, one: Run, other: Run) -> bool:
        place = (id(one), file, id(other), other_file)
        if place not in self._same_files:
            text, other_text = one.text(file), other.text(other_file)
            self._same_files[place] = text is not None and text == other_text
        return self._same_files[place]


def _side(
    runs: Sequence[Run],
    parts: Sequence[OwnTimes],
    matcher: _Matcher,
    *,
    knows_calls: bool,
) -> list[_Function]:
    """Return the functions of one side, each with its numbers in all runs."""
    functions: list[_Function] = []
    of_first: dict[Key, _Function] = {}
    for number, run in enumerate(runs):
        measured = _measured(run.profile, parts[number], knows_calls=knows_calls)
        found: dict[Key, Key] = {}
        if number:
            found = paired_functions(measured, of_first, run.block, runs[0].block)
        for key, one in measured.items():
            same = found.get(key)
            if same is None:
                function = _Function(runs=runs, key=key, origin=number)
                functions.append(function)
                lines = LineMap(key[1], key[1])
                if not number:
                    of_first[key] = function
            else:
                function = of_first[same]
                lines = matcher.lines(key, same, run, runs[0])
            function.add(number, one, Member(key, lines))
    return functions


def _paired(
    before: list[_Function],
    after: list[_Function],
    runs: Sequence[Run],
    runs_after: Sequence[Run],
) -> list[tuple[_Function, _Function]]:
    """Return the functions of both sides, those that were added last.

    Functions match if they are of the same runs: of the first one, for almost all.
    """
    found: dict[int, _Function] = {}
    left = {id(function): function for function in after}
    by_origin = _by_origin(after)
    for origin, ones in _by_origin(before).items():
        for other_origin, others in by_origin.items():
            rest = [key for key, one in ones.items() if id(one) not in found]
            free = [key for key, other in others.items() if id(other) in left]
            block, other_block = runs[origin].block, runs_after[other_origin].block
            keys = paired_functions(rest, free, block, other_block)
            for key, other in keys.items():
                found[id(ones[key])] = left.pop(id(others[other]))
    # Each stands for the side that lacks the function.
    nothing_before, nothing_after = _Function(runs=runs), _Function(runs=runs_after)
    pairs = [(function, found.get(id(function), nothing_after)) for function in before]
    return pairs + [(nothing_before, function) for function in left.values()]


def _by_origin(functions: Iterable[_Function]) -> dict[int, dict[Key, _Function]]:
    found: dict[int, dict[Key, _Function]] = {}
    for function in functions:
        if function.key is not None:
            found.setdefault(function.origin, {})[function.key] = function
    return found


def _line_pairs(
    before: _Function, after: _Function, matcher: _Matcher, changes: _Changes
) -> Iterator[LinePair]:
    """Yield the lines of a function on both sides, in the order of their numbers."""
    lines: LineMap | None = None
    if before.key is not None and after.key is not None:
        one, other = before.runs[before.origin], after.runs[after.origin]
        lines = matcher.lines(before.key, after.key, one, other)
    none, none_after = [_NOTHING] * len(before.runs), [_NOTHING] * len(after.runs)
    # The text of a line that did not run may be that of any line, if it is a guess.
    is_guess = lines is not None and lines.is_guess
    rest = dict(after.lines)
    for (run, line), counts in sorted(before.lines.items(), key=_by_line):
        same = lines.other(line) if lines and run == before.origin else None
        found = none_after
        if same is not None:  # though it may not have run
            found = rest.pop((after.origin, same), none_after)
        is_shown = found is not none_after or not is_guess
        yield LinePair(
            before=line,
            after=same,
            before_text=before.text(line, run),
            after_text=after.text(same, after.origin) if is_shown else None,
            times=changes.times(counts, found),
        )
    for (run, line), counts in sorted(rest.items(), key=_by_line):
        same = lines.own(line) if lines and run == after.origin else None
        yield LinePair(
            before=same,
            after=line,
            before_text=None if is_guess else before.text(same, before.origin),
            after_text=after.text(line, run),
            times=changes.times(none, counts),
        )


def _by_line(item: tuple[tuple[int, int], object]) -> tuple[int, int]:
    (run, line), _ = item
    return line, run


class _Changes(NamedTuple):
    """How the numbers of both sides become changes with noise bands."""

    noise: _Experience
    waits_known: bool
    memory_known: bool
    sample_bytes: int  # of memory, at most; 0: it is exact

    def times(self, *sides: Sequence[_Counts]) -> Times:
        """Return the changes of all numbers of a function, a line or the program."""
        memory = self._memory(sides)
        if sides[0] == sides[1]:  # most lines of a program that hardly changed
            return self._same(sides[0])._replace(memory=memory)

        def change(name: str) -> Change:
            before, after = ([getattr(one, name) for one in side] for side in sides)
            return Change(tuple(before), tuple(after))

        noise = self.noise
        gpu_ns, own_ns = change("gpu_ns"), change("self_ns")
        hits = max(one.hits for one in chain(*sides))
        times = Times(
            count=CountChange(*(tuple([one.count for one in side]) for side in sides)),
            total_ns=change("total_ns"),
            self_ns=own_ns,
            gpu_ns=gpu_ns._replace(floor=noise.of_gpu(gpu_ns)),
            own_ns=own_ns._replace(floor=noise.of_cpu(own_ns, hits)),
            memory=memory,
        )
        if self.waits_known:
            cpu_ns = _between([[one.own.cpu for one in side] for side in sides])
            cpu_ns = cpu_ns._replace(floor=noise.of_cpu(cpu_ns, hits))
            wait_ns, causes = self._waits(sides)
            own_ns = _between([[*map(_without_ready, side)] for side in sides])
            times = times._replace(
                own_ns=own_ns._replace(floor=cpu_ns.floor + wait_ns.floor),
                cpu_ns=cpu_ns,
                wait_ns=wait_ns,
                causes=causes,
            )
        return times._replace(beyond_noise=_beyond_noise(times))

    def _memory(self, sides: Sequence[Sequence[_Counts]]) -> dict[str, Change]:
        """Return the changes of memory, if all runs know it."""
        found: dict[str, Change] = {}
        for name in MEMORY if self.memory_known else ():
            before, after = (
                tuple([getattr(one.memory, name) for one in side]) for side in sides
            )
            change = Change(before, after)
            floor = self.noise.of_memory(name, change) + self._error_of(change)
            found[name] = change._replace(floor=floor)
        return found

    def _error_of(self, change: Change) -> float:
        """Return by how much estimates of a size (bytes) may differ by chance.

        Blocks are counted at random, one in `sample_bytes`: the variance of their sum
        is that times the sum.
        """
        sides = change.before, change.after
        variance = sum(self.sample_bytes * sum(one) / len(one) ** 2 for one in sides)
        return _OF_SAMPLES * sqrt(variance)

    def _same(self, side: Sequence[_Counts]) -> Times:
        """Return what changes are if both sides are the same; their bands are 0."""

        def same(values: Iterable[int]) -> Change:
            every = tuple(values)
            return Change(every, every)

        count = tuple([one.count for one in side])
        self_ns = same([one.self_ns for one in side])
        times = Times(
            count=CountChange(count, count),
            total_ns=same([one.total_ns for one in side]),
            self_ns=self_ns,
            gpu_ns=same([one.gpu_ns for one in side]),
            own_ns=self_ns,
        )
        if not self.waits_known:
            return times
        return times._replace(
            own_ns=same([sum(_without_ready(one)) // 2 for one in side]),
            cpu_ns=same([sum(one.own.cpu) // 2 for one in side]),
            wait_ns=same([sum(one.own.waits) // 2 for one in side]),
        )

    def _waits(
        self, sides: Sequence[Sequence[_Counts]]
    ) -> tuple[Change, dict[str, Change]]:
        """Return the changes of all waits but for a processor, and of each cause."""
        wait_ns = _between([[one.own.waits for one in side] for side in sides])
        ready_ns = _between([[one.own.ready for one in side] for side in sides])
        wakes = min(sum(one.wakes for one in side) / len(side) for side in sides)
        causes: dict[str, Change] = {}
        for cause in sorted({c for one in chain(*sides) for c in one.own.causes}):
            change = _between(
                [[one.own.causes.get(cause, (0, 0)) for one in side] for side in sides]
            )
            sleep = change if cause == SLEEP else _NO_CHANGE
            floor = self.noise.of_waits(change, wakes, ready_ns, sleep)
            causes[cause] = change._replace(floor=floor)
        sleep = causes.get(SLEEP, _NO_CHANGE)
        floor = self.noise.of_waits(wait_ns, wakes, ready_ns, sleep)
        return wait_ns._replace(floor=floor), causes

    def with_noise(
        self, change: Change | None, wholes: Sequence[Sequence[_Counts]]
    ) -> Change | None:
        """Return the change of a time of processes, with its noise band."""
        hits = max(one.hits for one in chain(*wholes))
        return change and change._replace(floor=self.noise.of_cpu(change, hits))


def _between(sides: Sequence[Sequence[Bounds]]) -> Change:
    """Return the change of a time that each run knows between bounds."""
    before, after = (tuple([sum(one) // 2 for one in side]) for side in sides)
    widths = [sum(high - low for low, high in side) / len(side) for side in sides]
    return Change(before, after, unsure=sum(widths) / 2)


def _without_ready(one: _Counts) -> Bounds:
    low, high = one.own.ready
    return one.self_ns - high, one.self_ns - low
