"""Findings about host memory: lines that kept growing, temporaries that made the peak.

Bytes are those of a line itself. What a line of a library allocated is a finding about
the line of the program that led to most of it.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, pairwise, repeat
from operator import sub
from typing import TYPE_CHECKING, NamedTuple

from lineprof.advice.finding import Evidence, Finding, Line, in_words, percent
from lineprof.model.host_memory import NO_BYTES, MemoryNumbers
from lineprof.model.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.model.host_memory import MemoryCurve, MemoryRun

GROWING, TEMPORARY_PEAK = "growing-memory", "temporary-peak"

# Growth. A line has at least so many bytes at the end, and at least this share of the
# peak of its process.
MIN_GROWN_BYTES, MIN_GROWN_SHARE = 1_000_000, 0.1

# The run is cut into equal parts. Lines grow in each of them but the first ones, which
# may be the start of the program: data that are loaded once do not.
PARTS, MAX_QUIET = 8, 2

# Shares of a line's bytes at the end: what it gains at least in each part, and what it
# may lose at any time.
MIN_STEP, MAX_FALL = 0.02, 0.05

# Executions of the line, or of the line of the program: fewer build one thing.
MIN_HITS = 100

# Moments of a curve: fewer say little about the parts of a run.
MIN_MOMENTS = 2 * PARTS

# Temporaries. A line has at least so many bytes at the peak, and this share of the
# peak; without them, the peak would be lower by this share, as far as the curve knows.
MIN_TEMPORARY_BYTES, MIN_TEMPORARY_SHARE, MIN_LOWER_SHARE = 10_000_000, 0.3, 0.15

# Shares of a line's bytes at the peak: all that outlived an execution of the line, and
# what is live at the end of the run.
MAX_OUTLIVED_SHARE, MAX_LIVE_SHARE = 0.1, 0.01

# For how long a line may have half of its peak or more. As a share of the run: data
# that a program works with for longer are no temporary. By the time of the line itself,
# which is without the cost of measuring.
MAX_HELD_SHARE, MAX_HELD_OF_LINE = 0.5, 1.5


class _Process(NamedTuple):
    """Memory of one process: the numbers of its lines, without callees."""

    run: MemoryRun
    curve: MemoryCurve | None
    own: dict[Line, MemoryNumbers]
    places: dict[Line, Line]  # the line of the program that led to most of a line's

    def bytes_of(self, line: Line) -> Sequence[int]:
        """Return the bytes of a line at the moments of the curve; () if unknown."""
        if self.curve is None or line not in self.curve.lines:
            return ()
        return self.curve.line_bytes[self.curve.lines.index(line)]

    def in_words(self, size: float) -> str:
        """Return a size (bytes) for a sentence, as an estimate if it is one."""
        about = "about " if self.run.sample_bytes else ""
        return f"{about}{format_bytes(size).strip()}"

    def finding(
        self, kind: str, line: Line, size: int, numbers: dict[str, int]
    ) -> Finding:
        """Return a finding about `size` bytes of a line, without its sentences."""
        place = self.places[line]
        share = size / self.run.peak_bytes
        return Finding(
            kind=kind,
            places=(place,) if place == line else (place, line),
            cost_ns=0,
            cost_bytes=size,
            share=min(1.0, share),
            numbers=(
                *numbers.items(),
                ("run_peak_bytes", self.run.peak_bytes),
                ("process", self.run.process),
            ),
            measured="",
            advice="",
        )

    def subject(self, line: Line) -> str:
        """Return the line as the subject of a sentence."""
        return "this line" if self.places[line] == line else "this line, by a library,"


def growing_lines(evidence: Evidence) -> Iterator[Finding]:
    """Yield the lines whose own bytes rose over the run and were not freed."""
    yield from _largest(
        finding
        for process in _processes(evidence)
        for line in process.own
        if max(map(evidence.hits, (line, process.places[line]))) >= MIN_HITS
        for finding in _growing(process, line)
    )


def temporary_peaks(evidence: Evidence) -> Iterator[Finding]:
    """Yield the lines whose temporaries made a peak that is lower without them."""
    yield from _largest(
        finding
        for process in _processes(evidence)
        for line in process.own
        for finding in _temporary(process, line, evidence)
    )


def _largest(findings: Iterator[Finding]) -> list[Finding]:
    """Return the largest finding about each place."""
    largest: dict[Line, Finding] = {}
    for finding in findings:
        place = finding.places[0]
        if place not in largest or finding.cost_bytes > largest[place].cost_bytes:
            largest[place] = finding
    return [*largest.values()]


def _processes(evidence: Evidence) -> Iterator[_Process]:
    """Yield the processes that have a peak."""
    memory = evidence.profile.memory
    curves = {curve.process: curve for curve in memory.curves}
    for run in memory.runs:
        if not run.peak_bytes:
            continue
        own: dict[Line, MemoryNumbers] = {}
        led: dict[Line, tuple[int, Line]] = {}
        for record in memory.sums:
            path = memory.paths[record.path]
            if path.process != run.process or not path.lines:
                continue
            line = path.lines[-1]
            own[line] = own.get(line, NO_BYTES).plus(record)
            of_program = [place for place in path.lines if evidence.is_own(place[0])]
            place = (of_program or path.lines)[-1]
            size = max(record.peak_bytes, record.numbers.live_bytes)
            led[line] = max(led.get(line, (-1, line)), (size, place))
        places = {line: place for line, (_, place) in led.items()}
        yield _Process(run, curves.get(run.process), own, places)


# Growth.


def _growing(process: _Process, line: Line) -> Iterator[Finding]:
    """Yield that a line kept growing, if it did."""
    sizes, numbers, run = process.bytes_of(line), process.own[line], process.run
    end = numbers.live_bytes
    is_large = end >= max(MIN_GROWN_BYTES, MIN_GROWN_SHARE * run.peak_bytes)
    if not is_large or len(sizes) < MIN_MOMENTS or process.curve is None:
        return
    levels = _levels(process.curve.times_ns, sizes)
    steps = [later - earlier for earlier, later in pairwise((0, *levels))]
    if any(step < MIN_STEP * end for step in steps[MAX_QUIET:]):
        return
    # It may also have been freed after the last moment.
    sizes_to_end = (*sizes, end)
    falls = map(sub, accumulate(sizes_to_end, max), sizes_to_end)
    if max(falls) > MAX_FALL * end:
        return
    grown = end - levels[PARTS // 2 - 1]
    share = percent(end / run.peak_bytes)
    freed = percent(numbers.freed_bytes / numbers.alloc_bytes)
    words = process.in_words
    yield process.finding(
        GROWING,
        line,
        end,
        {
            "live_bytes": end,
            "grown_bytes": grown,
            "alloc_bytes": numbers.alloc_bytes,
            "freed_bytes": numbers.freed_bytes,
            "allocs": numbers.allocs,
        },
    )._replace(
        measured=f"What {process.subject(line)} allocated grew over the whole run:"
        f" {words(end)} were live at the end, {share} of the peak of"
        f" {words(run.peak_bytes)}, {words(grown)} of them from the second half of the"
        f" run; {freed} of what it allocated was ever freed.",
        advice="It usually helps to bound what keeps them: a cache with a largest"
        " size, or a removal of what is done with; a result that the program builds"
        " may grow.",
    )


def _levels(times_ns: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Return the bytes at the end of each of `PARTS` equal parts of the run."""
    end_ns = times_ns[-1]
    ends = [end_ns * part // PARTS for part in range(1, PARTS + 1)]
    indexes = [bisect_right(times_ns, end) - 1 for end in ends]
    return [sizes[index] if index >= 0 else 0 for index in indexes]


# Temporaries.


def _temporary(process: _Process, line: Line, evidence: Evidence) -> Iterator[Finding]:
    """Yield that a temporary of a line made the peak, if one did."""
    run, numbers = process.run, process.own[line]
    size = numbers.peak_bytes
    least = max(MIN_TEMPORARY_BYTES, MIN_TEMPORARY_SHARE * run.peak_bytes)
    if (
        size < least
        or numbers.live_bytes > MAX_LIVE_SHARE * size
        or process.curve is None
    ):
        return
    sizes = process.bytes_of(line)
    is_temp = numbers.alloc_bytes - numbers.temp_bytes <= MAX_OUTLIVED_SHARE * size
    times_ns = process.curve.times_ns
    held_ns = _held_ns(times_ns, sizes, size)
    row = evidence.lines(line[0]).get(line[1])
    is_of_line = row is not None and held_ns <= MAX_HELD_OF_LINE * row.time_ns
    if not (is_temp or (len(sizes) >= MIN_MOMENTS and is_of_line)):
        return
    if sizes and held_ns > MAX_HELD_SHARE * times_ns[-1]:
        return
    live_bytes = process.curve.live_bytes
    seen = max(map(sub, live_bytes, sizes or repeat(0)), default=0)
    without = max(seen, run.peak_bytes - size)
    if without > (1 - MIN_LOWER_SHARE) * run.peak_bytes:
        return
    words = process.in_words
    when = (
        "were freed before the line ended"
        if is_temp
        else f"half of them or more were held for only {in_words(held_ns)}"
    )
    yield process.finding(
        TEMPORARY_PEAK,
        line,
        size,
        {
            "peak_bytes": size,
            "without_bytes": without,
            "alloc_bytes": numbers.alloc_bytes,
            "temp_bytes": numbers.temp_bytes,
            "live_bytes": numbers.live_bytes,
        },
    )._replace(
        measured=f"{words(size)} that {process.subject(line)} allocated were live at"
        f" the peak, {percent(size / run.peak_bytes)} of {words(run.peak_bytes)}, and"
        f" {when}; without them the most that was seen live is"
        f" {words(without)}.",
        advice="It usually helps to work in parts, or in place, so that the temporary"
        " is smaller.",
    )


def _held_ns(times_ns: Sequence[int], sizes: Sequence[int], peak: int) -> int:
    """Return for how long (ns) a line had half of its peak or more, as far as known."""
    return sum(
        later - earlier
        for size, (earlier, later) in zip(sizes, pairwise(times_ns))
        if 2 * size >= peak
    )
