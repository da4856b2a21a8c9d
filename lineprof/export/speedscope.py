"""A profile as speedscope.app has it: by function and by line, a thread each.

The format: https://www.speedscope.app/file-format-schema.json. A run with
intervals comes in time order, as events; else each line's own time is the
weight of the stack it was in. GPU time comes as stacks in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineprof.export.encoding import SpooledTexts, quoted
from lineprof.export.stacks import call_path_shares, thread_name
from lineprof.export.stacks import gpu_stacks as stacks_of_gpu
from lineprof.export.stacks import remarks as remarks_of_stacks
from lineprof.export.timeline import MAX_DEPTH
from lineprof.export.timeline_tracks import Clock
from lineprof.model.gpu import NO_DEVICE
from lineprof.model.names import names_of_profile
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from lineprof.export.stacks import Frame
    from lineprof.model.names import ShortNames
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the JSON; times in nanoseconds."""
    frames, pieces = Frames(names_of_profile(stats)), SpooledTexts()
    try:
        make = events if stats.traces else stacks
        profiles = [
            *make(stats, frames, pieces),
            *gpu_stacks(stats, frames, pieces),
        ]
        yield f'{{"$schema":{quoted(_SCHEMA)},"profiles":['.encode()
        for index, profile in enumerate(profiles):
            yield b",\n" if index else b"\n"
            yield from _profile(stats, profile, pieces)
        if not profiles:
            yield (
                b'{"type":"sampled","name":"nothing was measured","unit":"none",'
                b'"startValue":0,"endValue":0,"samples":[],"weights":[]}'
            )
        yield f'],\n"shared":{{"frames":[{frames.text()}]}},'.encode()
    finally:
        pieces.close()
    most = max(profiles, key=lambda one: one.end - one.start, default=None)
    active = profiles.index(most) if most else 0
    exporter, name = quoted(f"lineprof {VERSION}"), quoted(_name(stats))
    yield f'"name":{name},"activeProfileIndex":{active},'.encode()
    yield f'"exporter":{exporter}}}\n'.encode()


def remarks(stats: Profile) -> Iterator[str]:
    """Yield what a reader of the file should know, a line each."""
    if not stats.traces:
        yield (
            "the run had no --trace: left heavy and sandwich are right, but the order"
            " of what is under time order is not that of time"
        )
        yield from remarks_of_stacks(stats)
    left_out = sum(one.left_out for one in stats.traces)
    if left_out:
        yield f"{left_out} slices are not in the trace: there was no room for them"


def _profile(
    stats: Profile, profile: SpeedscopeProfile, pieces: SpooledTexts
) -> Iterator[bytes]:
    """Yield one profile of the file."""
    name = profile.name or thread_name(stats, profile.thread) or "All threads"
    kind = "evented" if profile.is_evented else "sampled"
    yield (
        f'{{"type":"{kind}","name":{quoted(f"{name}: {profile.what}")},'
        f'"unit":"nanoseconds","startValue":{profile.start},"endValue":{profile.end}'
    ).encode()
    for array in profile.arrays:
        yield f',"{array}":['.encode()
        yield from _without_comma(pieces.take((profile.key, array)))
        yield b"]"
    yield b"}"


def _without_comma(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield `chunks`, of whose items each has a comma before it, without the first."""
    yield next(chunks, b"")[1:]
    yield from chunks


def _name(stats: Profile) -> str:
    """Return the program's name."""
    programs = dict.fromkeys(one.argv[0] for one in stats.processes if one.argv)
    return ", ".join(programs) or "lineprof"


# A trace as events in time order, for speedscope.


def events(
    stats: Profile, frames: Frames, pieces: SpooledTexts
) -> Iterator[SpeedscopeProfile]:
    """Yield each thread's profiles, once all their events are in `pieces`."""
    clock = Clock(stats)
    cut = frames.named("...")
    found: dict[tuple[int, str], _Open] = {}
    for trace in stats.traces:
        zero = clock.zero_of(trace)
        for one in trace:
            start, line, key = zero + one.start_ns, one.line, one.function
            frame = frames.lines(key)[line]
            for what in (BY_LINE,) if line else (BY_FUNCTION, BY_LINE):
                place = (one.thread, what)
                if place not in found:
                    found[place] = _Open((place, "events"), pieces, start, cut)
                found[place].open(start, start + one.ns, frame)
    for what in (BY_FUNCTION, BY_LINE):
        for place in sorted(one for one in found if one[1] == what):
            track = found[place]
            track.close()
            yield SpeedscopeProfile(
                place, what, track.first, track.last, is_evented=True, thread=place[0]
            )


class _Open:
    """What is open on one thread; what opens and closes goes to `pieces`."""

    def __init__(
        self, key: Hashable, pieces: SpooledTexts, first: int, cut: int
    ) -> None:
        self.first = self.last = first  # ns
        self._key = key
        self._pieces = pieces
        self._cut = cut
        self._open: list[tuple[int, int]] = []  # end, frame

    def open(self, start: int, end: int, frame: int) -> None:
        """Open a frame at `start`, and close before what has ended by then."""
        self._close_until(start)
        now = self._open
        if now and end > now[-1][0]:
            end = now[-1][0]
        if len(now) > MAX_DEPTH:
            return
        if len(now) == MAX_DEPTH:
            frame = self._cut
        now.append((end, frame))
        self._say("O", start, frame)

    def close(self) -> None:
        """Close all."""
        self._close_until(self._open[0][0] if self._open else 0)

    def _close_until(self, at: int) -> None:
        now = self._open
        while now and now[-1][0] <= at:
            end, frame = now.pop()
            self._say("C", end, frame)
            self.last = end

    def _say(self, kind: str, at: int, frame: int) -> None:
        self._pieces.add(self._key, f',{{"type":"{kind}","at":{at},"frame":{frame}}}')


# What the profiles of a file for speedscope share: its frames.


BY_FUNCTION, BY_LINE = "by function", "by line"

_EVENTED, _SAMPLED = ("events",), ("samples", "weights")


@dataclass(frozen=True)
class SpeedscopeProfile:
    """One profile; its arrays are in `Pieces`, by (key, name of the array)."""

    key: Hashable
    what: str  # it shows
    start: int  # ns
    end: int
    is_evented: bool
    thread: int = UNKNOWN_THREAD
    name: str = ""  # of what ran it; "": the thread's

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of its arrays."""
        return _EVENTED if self.is_evented else _SAMPLED


class Frames:
    """Functions, lines and kernels, each with its number."""

    def __init__(self, names: ShortNames) -> None:
        self._names = names
        self._lines: dict[Key, Lines] = {}
        self._texts: list[str] = []

    def lines(self, key: Key) -> Lines:
        """Return the numbers of a function's lines; line 0 is the function."""
        lines = self._lines.get(key)
        if lines is None:
            lines = self._lines[key] = Lines(self, key)
        return lines

    def named(self, name: str) -> int:
        """Return the number of what is no Python."""
        return self.lines(("", 0, name))[0]

    def text(self) -> str:
        """Return them in JSON, in the order of their numbers."""
        return ",\n".join(self._texts)

    def add(self, key: Key, line: int) -> int:
        """Return the number of a frame that is new."""
        file, first, _ = key
        name = self._names.label(key)
        if line:
            name = f"{name}:{line}"
        place = f',"file":{quoted(file)},"line":{line or first}' if file else ""
        self._texts.append(f'{{"name":{quoted(name)}{place}}}')
        return len(self._texts) - 1


class Lines(dict[int, int]):
    """The numbers of a function's lines, each made when it is first asked for."""

    def __init__(self, frames: Frames, key: Key) -> None:
        super().__init__()
        self._frames = frames
        self._key = key

    def __missing__(self, line: int) -> int:
        """Return the number of a line that is new."""
        number = self[line] = self._frames.add(self._key, line)
        return number


# Sums as weighted stacks, for speedscope.


class _Numbers(dict["Frame", str]):
    """The number of each frame and a comma, as text: made when first asked for."""

    def __init__(self, number: Callable[[Frame], int]) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, frame: Frame) -> str:
        text = self[frame] = f"{self._number(frame)},"
        return text


def stacks(
    stats: Profile, frames: Frames, pieces: SpooledTexts
) -> Iterator[SpeedscopeProfile]:
    """Yield each thread's profiles, once all their stacks are in `pieces`."""
    totals: dict[int, int] = {}  # ns, by thread
    functions = _Numbers(lambda frame: frames.lines(frame[0])[0])
    lines = _Numbers(lambda frame: frames.lines(frame[0])[frame[1]])
    for way in call_path_shares(stats):
        key, thread, callers = way.function, way.thread, way.callers
        timed = [(line, ns) for line, ns, _ in way.lines if ns]
        if not timed:
            continue
        total = sum([ns for _, ns in timed])
        totals[thread] = totals.get(thread, 0) + total
        own = frames.lines(key)
        place = (thread, BY_FUNCTION)
        before = "".join(map(functions.__getitem__, callers))
        pieces.add((place, "samples"), f",[{before}{own[0]}]")
        pieces.add((place, "weights"), f",{total}")
        place = (thread, BY_LINE)
        before = "".join(map(lines.__getitem__, callers))
        samples = [f",[{before}{own[number]}]" for number, _ in timed]
        pieces.add((place, "samples"), "".join(samples))
        pieces.add((place, "weights"), "".join([f",{ns}" for _, ns in timed]))
    for what in (BY_FUNCTION, BY_LINE):
        for thread, total in sorted(totals.items()):
            place = (thread, what)
            yield SpeedscopeProfile(
                place, what, 0, total, is_evented=False, thread=thread
            )


def gpu_stacks(
    stats: Profile, frames: Frames, pieces: SpooledTexts
) -> Iterator[SpeedscopeProfile]:
    """Yield the profiles of devices, by the lines that launched their work."""
    totals: dict[tuple[int, str], int] = {}
    for stack in stacks_of_gpu(stats):
        for what, ns in (("GPU time", stack.gpu_ns), ("copies", stack.copy_ns)):
            if ns:
                place = (stack.device, what)
                totals[place] = totals.get(place, 0) + ns
                lines = [frames.lines(key)[line] for key, line in stack.frames]
                numbers = [*lines, frames.named(stack.work)]
                text = ",".join(map(str, numbers))
                pieces.add((("gpu", place), "samples"), f",[{text}]")
                pieces.add((("gpu", place), "weights"), f",{ns}")
    for place, total in sorted(totals.items()):
        index, what = place
        name = "Device"
        if index != NO_DEVICE:
            device = stats.gpu.devices[index]
            name = f"{device.name} ({device.device})"
            if len(stats.processes) > 1:
                name += f" of process {stats.processes[device.process].pid}"
        what = f"{what} {BY_LINE}"
        yield SpeedscopeProfile(
            ("gpu", place), what, 0, total, is_evented=False, name=name
        )
