"""Profiles for speedscope.app: by function and by line, one for each thread.

The format is https://www.speedscope.app/file-format-schema.json. A run with a trace is
written as events in time order; else each line's self time is the weight of its stack.
GPU time is written as stacks in any case.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lineprof.export import stacks
from lineprof.export.encoding import SpooledTexts, quoted
from lineprof.export.made_once import MadeOnce
from lineprof.export.timeline import MAX_DEPTH, NO_TRACE, remarks_of_traces
from lineprof.model.clocks import Clock
from lineprof.model.gpu import NO_DEVICE
from lineprof.model.names import names_of_profile
from lineprof.model.relation import NONE
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from lineprof.export.stacks import Frame
    from lineprof.model.names import ShortNames
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

    Place = tuple[int, str]  # the index of a thread or a device, and the measure

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def content(profile: Profile) -> Iterator[bytes]:
    """Yield the JSON; times in nanoseconds."""
    frames, arrays = Frames(names_of_profile(profile)), SpooledTexts()
    try:
        time_views = _events if profile.traces else _stacks
        views = [
            *time_views(profile, frames, arrays),
            *_gpu_stacks(profile, frames, arrays),
            *_memory_stacks(profile, frames, arrays),
        ]
        yield f'{{"$schema":{quoted(_SCHEMA)},"profiles":['.encode()
        for index, view in enumerate(views):
            yield b",\n" if index else b"\n"
            yield from _json_of_view(view, arrays)
        if not views:
            yield (
                b'{"type":"sampled","name":"nothing was measured","unit":"none",'
                b'"startValue":0,"endValue":0,"samples":[],"weights":[]}'
            )
        yield f'],\n"shared":{{"frames":[{frames.text()}]}},'.encode()
    finally:
        arrays.close()
    timed = [view for view in views if view.unit == _TIME] or views
    longest = max(timed, key=lambda view: view.end - view.start, default=None)
    active = views.index(longest) if longest else 0
    exporter, name = quoted(f"lineprof {VERSION}"), quoted(_program(profile))
    yield f'"name":{name},"activeProfileIndex":{active},'.encode()
    yield f'"exporter":{exporter}}}\n'.encode()


def remarks(profile: Profile) -> Iterator[str]:
    """Yield how the file differs from the profile, one line each."""
    if not profile.traces:
        yield (
            f"{NO_TRACE}; choose Left Heavy or Sandwich in speedscope, as the order of"
            " its Time Order has no meaning"
        )
        yield from stacks.remarks(profile)
    yield from remarks_of_traces(profile)


def _json_of_view(view: SpeedscopeView, arrays: SpooledTexts) -> Iterator[bytes]:
    """Yield one view in JSON."""
    kind = "evented" if view.is_evented else "sampled"
    yield (
        f'{{"type":"{kind}","name":{quoted(f"{view.name}: {view.measure}")},'
        f'"unit":"{view.unit}","startValue":{view.start},"endValue":{view.end}'
    ).encode()
    for array in _EVENTED if view.is_evented else _SAMPLED:
        yield f',"{array}":['.encode()
        yield from arrays.items((view.key, array))
        yield b"]"
    yield b"}"


def _program(profile: Profile) -> str:
    """Return the program's name; all names if there are several."""
    programs = dict.fromkeys(one.argv[0] for one in profile.processes if one.argv)
    return ", ".join(programs) or "lineprof"


# Views and frames. The format's "profiles" are called views here.


BY_FUNCTION, BY_LINE = "by function", "by line"

_TIME, _SIZE = "nanoseconds", "bytes"

_EVENTED, _SAMPLED = ("events",), ("samples", "weights")  # arrays of a view


@dataclass(frozen=True)
class SpeedscopeView:
    """One of the format's profiles; its arrays are texts under (key, array's name)."""

    key: Hashable
    name: str  # of the thread or the device
    measure: str  # BY_FUNCTION, BY_LINE, or the kind of GPU time or of memory
    end: int  # in `unit`
    start: int = 0
    unit: str = _TIME
    is_evented: bool = False


def _views_of_threads(
    profile: Profile, spans: Mapping[Place, tuple[int, int]], *, is_evented: bool
) -> Iterator[SpeedscopeView]:
    """Yield the views of threads, which have these starts and ends (ns)."""
    for place, (start, end) in sorted(spans.items(), key=lambda item: item[0][::-1]):
        thread, measure = place
        yield SpeedscopeView(
            key=place,
            name=stacks.thread_name(profile, thread) or "All threads",
            measure=measure,
            end=end,
            start=start,
            is_evented=is_evented,
        )


class Frames:
    """Frames by number: functions, lines and kernels."""

    def __init__(self, names: ShortNames) -> None:
        texts: list[str] = []
        self._texts = texts
        # By function, then by line; line 0 is the function.
        self.lines: MadeOnce[Key, MadeOnce[int, int]] = MadeOnce(
            lambda key: MadeOnce(partial(_new_frame, names, texts, key))
        )

    def named(self, name: str) -> int:
        """Return the frame of a kernel, or of another name without a Python file."""
        return self.lines["", 0, name][0]

    def text(self) -> str:
        """Return all frames in JSON, in the order of their numbers."""
        return ",\n".join(self._texts)


def _new_frame(names: ShortNames, texts: list[str], key: Key, line: int) -> int:
    """Return the number of a new frame, whose text is added to `texts`."""
    file, first, _ = key
    name = names.label(key)
    if line:
        name = f"{name}:{line}"
    place = f',"file":{quoted(file)},"line":{line or first}' if file else ""
    texts.append(f'{{"name":{quoted(name)}{place}}}')
    return len(texts) - 1


# Traces, as events in time order.


def _events(
    profile: Profile, frames: Frames, arrays: SpooledTexts
) -> Iterator[SpeedscopeView]:
    """Yield each thread's views, when all their events are in `arrays`."""
    clock = Clock(profile)
    cut = frames.named("...")
    found: dict[Place, _OpenFrames] = {}
    for trace in profile.traces:
        zero = clock.zero_of(trace)
        for one in trace:
            start = zero + one.start_ns
            frame = frames.lines[one.function][one.line]
            for measure in (BY_LINE,) if one.line else (BY_FUNCTION, BY_LINE):
                key = (one.thread, measure)
                if key not in found:
                    found[key] = _OpenFrames((key, "events"), arrays, start, cut)
                found[key].open(start, start + one.ns, frame)
    spans = {key: open_frames.close() for key, open_frames in found.items()}
    yield from _views_of_threads(profile, spans, is_evented=True)


class _OpenFrames:
    """Open frames of one view; their events go to `arrays` under `key`."""

    def __init__(
        self, key: Hashable, arrays: SpooledTexts, first: int, cut: int
    ) -> None:
        self._first = self._last = first  # ns
        self._key = key
        self._arrays = arrays
        self._cut = cut  # stands for frames that are nested too deep
        self._open: list[tuple[int, int]] = []  # end, frame

    def open(self, start: int, end: int, frame: int) -> None:
        """Open a frame at `start`, after those that ended by then are closed."""
        self._close_until(start)
        depth = len(self._open)
        if depth and end > self._open[-1][0]:
            end = self._open[-1][0]
        if depth > MAX_DEPTH:
            return
        if depth == MAX_DEPTH:
            frame = self._cut
        self._open.append((end, frame))
        self._add("O", start, frame)

    def close(self) -> tuple[int, int]:
        """Close all frames; return the start of the first and the end of the last."""
        self._close_until(self._open[0][0] if self._open else 0)
        return self._first, self._last

    def _close_until(self, at: int) -> None:
        while self._open and self._open[-1][0] <= at:
            end, frame = self._open.pop()
            self._add("C", end, frame)
            self._last = end

    def _add(self, kind: str, at: int, frame: int) -> None:
        self._arrays.add(self._key, f',{{"type":"{kind}","at":{at},"frame":{frame}}}')


# Sums, as weighted stacks.


def _stacks(
    profile: Profile, frames: Frames, arrays: SpooledTexts
) -> Iterator[SpeedscopeView]:
    """Yield each thread's views, when all their stacks are in `arrays`."""
    ends: Counter[Place] = Counter()  # ns
    # The number and a comma, as text, of each frame.
    functions: MadeOnce[Frame, str] = MadeOnce(
        lambda frame: f"{frames.lines[frame[0]][0]},"
    )
    lines: MadeOnce[Frame, str] = MadeOnce(
        lambda frame: f"{frames.lines[frame[0]][frame[1]]},"
    )
    for path in stacks.call_path_shares(profile):
        timed = [one for one in path.lines if one.ns]
        if not timed:
            continue
        leaves = frames.lines[path.function]
        whole = stacks.LineShare(line=0, ns=sum([one.ns for one in timed]))
        views = ((BY_FUNCTION, functions, [whole]), (BY_LINE, lines, timed))
        for measure, texts, shares in views:
            place = (path.thread, measure)
            ends[place] += whole.ns
            above = "".join(map(texts.__getitem__, path.callers))
            samples = [f",[{above}{leaves[one.line]}]" for one in shares]
            arrays.add((place, "samples"), "".join(samples))
            arrays.add((place, "weights"), "".join([f",{one.ns}" for one in shares]))
    spans = {place: (0, end) for place, end in ends.items()}
    yield from _views_of_threads(profile, spans, is_evented=False)


def _gpu_stacks(
    profile: Profile, frames: Frames, arrays: SpooledTexts
) -> Iterator[SpeedscopeView]:
    """Yield the views of devices, by the lines that launched their work."""
    totals: Counter[Place] = Counter()
    for stack in stacks.gpu_stacks(profile):
        for measure, ns in (("GPU time", stack.gpu_ns), ("copies", stack.copy_ns)):
            if ns:
                place = (stack.device, measure)
                totals[place] += ns
                lines = [frames.lines[key][line] for key, line in stack.frames]
                text = ",".join(map(str, [*lines, frames.named(stack.work)]))
                arrays.add((("gpu", place), "samples"), f",[{text}]")
                arrays.add((("gpu", place), "weights"), f",{ns}")
    for place, total in sorted(totals.items()):
        index, measure = place
        name = "Device"
        if index != NO_DEVICE:
            device = profile.gpu.devices[index]
            name = f"{device.name} ({device.device})"
            if len(profile.processes) > 1:
                name += f" of process {profile.processes[device.process].pid}"
        yield SpeedscopeView(
            key=("gpu", place), name=name, measure=f"{measure} {BY_LINE}", end=total
        )


# Bytes of the blocks of a path, by the name of their view.
_MEASURES = {
    "memory at the peak": "peak_bytes",
    "live memory": "live_bytes",
    "allocated memory": "alloc_bytes",
}


def _memory_stacks(
    profile: Profile, frames: Frames, arrays: SpooledTexts
) -> Iterator[SpeedscopeView]:
    """Yield the views of processes, by the lines that allocated."""
    totals: Counter[Place] = Counter()
    for stack in stacks.memory_stacks(profile):
        for measure, name in _MEASURES.items():
            if size := getattr(stack.numbers, name):
                place = (stack.process, measure)
                totals[place] += size
                lines = [frames.lines[key][line] for key, line in stack.frames]
                text = ",".join(map(str, lines))
                arrays.add((("memory", place), "samples"), f",[{text}]")
                arrays.add((("memory", place), "weights"), f",{size}")
    for place, total in sorted(totals.items(), key=_by_process):
        index, measure = place
        name = "All processes"
        if index != NONE:
            name = f"Process {profile.processes[index].pid}"
        yield SpeedscopeView(
            key=("memory", place),
            name=name,
            measure=f"{measure} {BY_LINE}",
            end=total,
            unit=_SIZE,
        )


def _by_process(item: tuple[Place, int]) -> tuple[int, int]:
    """Return what sorts places: the process, then the order of `_MEASURES`."""
    (index, measure), _ = item
    return index, [*_MEASURES].index(measure)
