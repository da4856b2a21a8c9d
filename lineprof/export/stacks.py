"""Stacks of frames with numbers: the form in which sampling profilers give a profile.

Unlike a sampler's, these stacks are exact: each nanosecond of the profile is in one
stack. All formats that are made of stacks read them here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.call_graph import deeper_note, depths
from lineprof.model.gpu import (
    GPU_TIME_KINDS,
    KINDS,
    MEMCPY,
    NO_DEVICE,
    NO_PATH,
    UNKNOWN,
)
from lineprof.model.records import NO_NODE, UNKNOWN_THREAD
from lineprof.model.timelines import event_column
from lineprof.report.gpu_format import activity_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.model.gpu import Gpu, GpuSum
    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode, CallTree, Key, MergedCall, ThreadLine
    from lineprof.model.timelines import Timeline

    Frame = tuple[Key, int]  # a function; the line that calls on, or the leaf line

    _FunctionKey = tuple[Key, int]  # a function, and the index of a thread


# Limits of frames in a stack: without one, the stacks of a deep program take the
# square of its depth. The first limit with which all stacks have at most _ALL_FRAMES
# is taken, or the last.
_MAX_FRAMES = (256, 128, 64)

_ALL_FRAMES = 4_000_000

_ROOT_PART = 4  # one frame in so many is kept at the root's end of a cut stack

CUT: Frame = (("", 0, "..."), 0)  # stands for the frames that are left out

NOWHERE: Frame = (("", 0, "[launched by no profiled line]"), 0)

_NO_LINE: tuple[Frame, ...] = (NOWHERE,)


class LineShare(NamedTuple):
    """The share of one call path in one line."""

    line: int
    ns: int
    hits: int = 0


class CallPathShare(NamedTuple):
    """One function at the end of one call path, with its share of the lines' numbers.

    Functions are roots if the profile has no call tree, or does not have their calls.
    """

    callers: tuple[Frame, ...]  # (function, calling line), root first
    function: Key
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    calls: int
    lines: Sequence[LineShare]  # self time and hits of each line on this call path
    node: int = NO_NODE  # its index in CallTree.nodes


class Stack(NamedTuple):
    """Numbers of one leaf line, on one thread, at the end of one call path.

    A call is a stack of its own, whose leaf is at the function's first line: it has
    `calls` and no time. GPU work also has stacks of its own, one for each name, device
    and stream.
    """

    frames: tuple[Frame, ...]  # (function, line), root first; the last is the leaf
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    ns: int = 0  # of the leaf line itself
    hits: int = 0  # of the leaf line
    calls: int = 0  # of the leaf's function
    gpu_ns: int = 0  # of kernels, memsets and graphs that the leaf line launched
    copy_ns: int = 0  # of copies
    device: int = NO_DEVICE  # its index in Gpu.devices
    stream: int | None = None  # of the device, as CUDA numbers it; None if unknown
    work: str = ""  # on a device: the demangled kernel, or nvprof's name for it


def stacks(profile: Profile) -> Iterator[Stack]:
    """Yield each stack with numbers: those of all call paths, then `gpu_stacks`."""
    for path in call_path_shares(profile):
        key, thread = path.function, path.thread
        if path.calls:
            frames = (*path.callers, (key, key[1]))
            yield Stack(frames=frames, thread=thread, calls=path.calls)
        for one in path.lines:
            frames = (*path.callers, (key, one.line))
            yield Stack(frames=frames, thread=thread, ns=one.ns, hits=one.hits)
    yield from gpu_stacks(profile)


def call_path_shares(profile: Profile) -> Iterator[CallPathShare]:
    """Yield the share of each call path; callers come before their callees.

    The shares of one line add up to its self time, to the nanosecond. Together with
    those of all call paths from the line, they are the line's time in `lineprof
    view`, except where recursion counts twice there. Without a call tree, a line's
    share is its time, callees included.
    """
    shares = LineShares(profile)
    tree = profile.calls
    called = {one.function for one in tree.merged}
    for index, callers in _callers(tree):
        node = tree.nodes[index]
        called.add(node.function)
        yield CallPathShare(
            callers=callers,
            function=node.function,
            thread=node.thread,
            calls=node.calls,
            lines=shares.take(node),
            node=index,
        )
    for (key, thread), lines in shares.rest():
        yield CallPathShare(
            callers=(), function=key, thread=thread, calls=0, lines=lines
        )
    for function in profile.functions:
        if function.calls and function.key not in called:
            yield CallPathShare(
                callers=(),
                function=function.key,
                thread=UNKNOWN_THREAD,
                calls=function.calls,
                lines=(),
            )


def gpu_stacks(profile: Profile) -> Iterator[Stack]:
    """Yield the stacks of GPU work."""
    gpu = profile.gpu
    streams = _StreamTimes(gpu)
    for one in gpu.sums:
        is_copy = one.kind == MEMCPY
        if not is_copy and one.kind not in GPU_TIME_KINDS:
            continue
        thread, frames = UNKNOWN_THREAD, _NO_LINE
        if one.path != NO_PATH:
            path = gpu.paths[one.path]
            thread, frames = path.thread, (*cut(path.lines[:-1]), path.lines[-1])
        for stream, ns in streams.of(one):
            yield Stack(
                frames=frames,
                thread=thread,
                gpu_ns=0 if is_copy else ns,
                copy_ns=ns if is_copy else 0,
                device=one.device,
                stream=stream,
                work=activity_name(one.kind, one.name),
            )


def remarks(profile: Profile) -> Iterator[str]:
    """Yield remarks for readers of the stacks, one a line."""
    yield from remarks_of_calls(profile)
    limit = max_frames(profile.calls)
    if max(depths(profile.calls.nodes), default=0) >= limit:
        yield f"stacks of more than {limit} frames are cut in the middle"


def remarks_of_calls(profile: Profile) -> Iterator[str]:
    """Yield remarks for readers of any format with callers, one a line."""
    if profile.why_empty:
        yield profile.why_empty
    elif not profile.calls.nodes:
        yield (
            "the profile does not say who called whom: each function is a root,"
            " and its time includes that of its callees"
        )
    if note := deeper_note(profile.calls):
        yield note


def thread_name(profile: Profile, thread: int) -> str:
    """Return a thread's name and number; "" if the thread is unknown."""
    if thread == UNKNOWN_THREAD:
        return ""
    one = profile.threads[thread]
    return f"{one.name or 'Thread'} ({one.native_id})"


# Frames above a leaf.


def _callers(tree: CallTree) -> Iterator[tuple[int, tuple[Frame, ...]]]:
    """Yield each node's index and the frames of its callers, root first.

    Children follow their parent, so that one list holds the call path of all nodes.
    """
    children: dict[int, list[int]] = {}
    for index, node in enumerate(tree.nodes):
        children.setdefault(node.parent, []).append(index)
    levels = depths(tree.nodes)
    limit = max_frames(tree)
    path: list[Frame] = []
    todo = children.get(NO_NODE, [])[::-1]
    while todo:
        index = todo.pop()
        node = tree.nodes[index]
        if node.parent != NO_NODE:
            path[levels[index] - 1 :] = [(tree.nodes[node.parent].function, node.line)]
        else:
            path.clear()
        yield index, cut(path, limit)
        todo += children.get(index, [])[::-1]


def max_frames(tree: CallTree) -> int:
    """Return how many frames a stack of `tree` may have."""
    levels = depths(tree.nodes)
    for limit in _MAX_FRAMES:
        if sum([min(level, limit) for level in levels]) <= _ALL_FRAMES:
            return limit
    return _MAX_FRAMES[-1]


def cut(callers: Sequence[Frame], limit: int = _MAX_FRAMES[0]) -> tuple[Frame, ...]:
    """Return the frames above a leaf; in the middle cut to `limit` with the leaf."""
    if len(callers) < limit:
        return tuple(callers)
    at_root = limit // _ROOT_PART
    return (*callers[:at_root], CUT, *callers[at_root + 2 - limit :])


# Shares of lines.
#
# The profile knows the self time of each line and of each call, but not how much of a
# line belongs to each call. So a line is shared out in proportion to the calls' self
# times. The shares of a line add up to the line, to the nanosecond; those of a call to
# the call, except in old files, in which the two were not made to agree.


# Largest rounding error of a function's time; a greater difference is time of calls
# that the profile does not have.
_SLACK_NS = 1_000

_SLACK_PART = 1_000  # or the function's time divided by this number


class LineShares:
    """Self time and hits of all lines, while calls take their shares, each once."""

    def __init__(self, profile: Profile) -> None:
        self._functions: dict[_FunctionKey, _FunctionLines] = {}
        for place, lines in _self_times(profile).items():
            function = self._functions.setdefault(place, _FunctionLines())
            for line, (ns, hits) in sorted(lines.items()):
                function.lines.append(line)
                function.ns.append(ns)
                function.hits.append(hits)
        calls: dict[Key, int] = {}
        for node in profile.calls.nodes:
            place = (node.function, node.thread)
            function = self._functions.setdefault(place, _FunctionLines())
            function.calls_ns += node.self_ns
            function.calls += _weight(node)
            calls[node.function] = calls.get(node.function, 0) + node.calls
        self._merged = profile.calls.merged
        for one in self._merged:
            place = (one.function, one.thread)
            function = self._functions.setdefault(place, _FunctionLines())
            function.calls_ns += one.self_ns
            function.calls += _weight(one)
            calls[one.function] = calls.get(one.function, 0) + one.calls
        covered = {
            one.key for one in profile.functions if one.calls <= calls.get(one.key, 0)
        }
        for (key, _), function in self._functions.items():
            function.set_budget(is_covered=key in covered)

    def take(self, node: CallNode | MergedCall) -> list[LineShare]:
        """Return the shares of a call in its function's lines.

        Time of the call that is on no line is put on the function's first line: so is
        all time of a function whose lines are unknown.
        """
        function = self._functions[node.function, node.thread]
        ns = function.take_time(node.self_ns)
        shares = list(function.take(ns, _weight(node)))
        if not function.is_complete and node.self_ns > ns:
            shares.append(LineShare(line=node.function[1], ns=node.self_ns - ns))
        return shares

    def rest(self) -> Iterator[tuple[_FunctionKey, list[LineShare]]]:
        """Yield the rest of each function, for which no call is known.

        All nodes must have taken their shares. The shares of merged calls are left
        out: deeper calls have their time.
        """
        for one in self._merged:
            self.take(one)
        self._merged = ()
        for place, function in self._functions.items():
            shares = [
                LineShare(line=line, ns=ns, hits=hits)
                for line, ns, hits in zip(function.lines, function.ns, function.hits)
                if ns or hits
            ]
            if shares:
                yield place, shares


class _FunctionLines:
    """Lines and calls of one function on one thread, less the shares taken so far."""

    __slots__ = ("budget", "calls", "calls_ns", "hits", "is_complete", "lines", "ns")

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.ns: list[int] = []  # of each of `lines`
        self.hits: list[int] = []  # of each of `lines`
        self.budget = 0  # time of the lines that the calls may take (ns)
        self.calls_ns = 0  # self time of the calls
        self.calls = 0
        self.is_complete = False  # the calls have all the time of the lines

    def set_budget(self, *, is_covered: bool) -> None:
        """Set the budget: the part of the lines' time that the calls may take.

        That is all time if all calls are known (`is_covered`), or if the times of
        calls and lines differ only by rounding.
        """
        lines_ns = sum(self.ns)
        slack = _SLACK_NS + max(lines_ns, self.calls_ns) // _SLACK_PART
        is_near = bool(lines_ns) and abs(lines_ns - self.calls_ns) <= slack
        self.is_complete = is_covered or is_near
        self.budget = lines_ns if self.is_complete else min(lines_ns, self.calls_ns)

    def take_time(self, ns: int) -> int:
        """Take the part of the budget for a call of `ns` self time."""
        part = self.budget * ns // self.calls_ns if self.calls_ns else self.budget
        self.budget -= part
        self.calls_ns -= ns
        return part

    def take(self, ns: int, calls: int) -> Iterator[LineShare]:
        """Take `ns` of the lines' time, and the hits of so many calls."""
        total, before, taken = sum(self.ns), 0, 0
        weight, self.calls = self.calls, self.calls - calls
        for index, line in enumerate(self.lines):
            line_ns, line_hits = self.ns[index], self.hits[index]
            before += line_ns
            until = before * ns // total if total else 0
            part, taken = until - taken, until
            hits = line_hits * calls // weight
            if part or hits:
                self.ns[index] = line_ns - part
                self.hits[index] = line_hits - hits
                yield LineShare(line=line, ns=part, hits=hits)


def _weight(node: CallNode | MergedCall) -> int:
    """Return how many calls a node counts for: at least 1, for a generator's steps."""
    return max(node.calls, 1)


def _self_times(profile: Profile) -> dict[_FunctionKey, dict[int, list[int]]]:
    """Return [self time (ns), hits] of each line, by function and thread.

    The threads of a line add up to its `call_graph.line_self_ns`.
    """
    callees = _callee_times(profile)
    nothing: dict[int, int] = {}
    found: dict[_FunctionKey, dict[int, list[int]]] = {}
    for function in profile.functions:
        key = function.key
        lines: dict[int, list[ThreadLine]] = {}
        for one in function.thread_lines:
            lines.setdefault(one.line, []).append(one)
        threads: dict[int, dict[int, list[int]]] = {}
        for line, ones in lines.items():
            called = callees.get((key, line), nothing)
            for one, ns in _with_self_time(ones, called):
                threads.setdefault(one.thread, {})[line] = [ns, one.hits]
        found.update(((key, thread), there) for thread, there in threads.items())
    return found


def _callee_times(profile: Profile) -> dict[Frame, dict[int, int]]:
    """Return the time (ns) of each line's callees, by thread."""
    times: dict[Frame, dict[int, int]] = {}
    nodes = profile.calls.nodes
    for node in nodes:
        if node.parent != NO_NODE:
            threads = times.setdefault((nodes[node.parent].function, node.line), {})
            threads[node.thread] = threads.get(node.thread, 0) + node.inclusive_ns
    for one in profile.calls.merged:
        if one.caller is not None:
            threads = times.setdefault((one.caller, one.line), {})
            threads[one.thread] = threads.get(one.thread, 0) + one.inclusive_ns
    return times


def _with_self_time(
    ones: Sequence[ThreadLine], called: Mapping[int, int]
) -> Iterable[tuple[ThreadLine, int]]:
    """Return the records of one line, each with its self time (ns).

    `called` is the time (ns) of the line's callees, by thread.
    """
    if len(ones) == 1:  # the usual case
        return ((ones[0], max(0, ones[0].time_ns - sum(called.values()))),)
    self_ns = max(0, sum([one.time_ns for one in ones]) - sum(called.values()))
    times = [max(0, one.time_ns - called.get(one.thread, 0)) for one in ones]
    _reduce_to(times, self_ns)
    return zip(ones, times)


def _reduce_to(times: list[int], total: int) -> None:
    """Reduce `times`, the longest first, until their sum is `total`."""
    for index in sorted(range(len(times)), key=times.__getitem__, reverse=True):
        times[index] -= min(times[index], sum(times) - total)


# Streams of GPU sums.
#
# A sum does not tell its streams; the events of the timeline do, if it has them all.


_MAX_EVENTS = 2_000_000  # more would take seconds to read


class _SumKey(NamedTuple):
    """The identity of a GPU sum: the fields of `GpuSum` that are not numbers."""

    path: int
    origin: int
    kind: str
    name: str
    device: int


class _StreamTimes:
    """Times of each GPU sum by stream."""

    def __init__(self, gpu: Gpu) -> None:
        self._times: dict[_SumKey, dict[int, int]] = {}
        if sum(timeline.count for timeline in gpu.timelines) > _MAX_EVENTS:
            return
        devices = {
            (one.process, one.device): index for index, one in enumerate(gpu.devices)
        }
        for timeline in gpu.timelines:
            for key, stream, ns in _device_events(timeline, devices):
                streams = self._times.setdefault(key, {})
                streams[stream] = streams.get(stream, 0) + ns

    def of(self, one: GpuSum) -> list[tuple[int | None, int]]:
        """Return (stream, ns) of each stream; [(None, ns)] if times do not add up."""
        key = _SumKey(
            path=one.path,
            origin=one.origin,
            kind=one.kind,
            name=one.name,
            device=one.device,
        )
        streams = self._times.get(key, {})
        if streams and sum(streams.values()) == one.ns:
            return list(streams.items())
        return [(None, one.ns)]


def _device_events(
    timeline: Timeline, devices: dict[tuple[int, int], int]
) -> Iterator[tuple[_SumKey, int, int]]:
    """Yield (key of the sum, stream, time in ns) of each event on a device."""
    first = timeline.first_path - 1  # the columns count paths from 1
    for batch in timeline.batches:
        for kind, name, ns, path, origin, number, stream in zip(
            event_column([batch], "kind"),
            event_column([batch], "name"),
            event_column([batch], "ns"),
            event_column([batch], "path"),
            event_column([batch], "origin"),
            event_column([batch], "device"),
            event_column([batch], "stream"),
        ):
            device = devices.get((timeline.process, number))
            if device is None:
                continue
            key = _SumKey(
                path=path + first if path else NO_PATH,
                origin=origin + first if origin else NO_PATH,
                kind=KINDS[kind] if kind < len(KINDS) else UNKNOWN,
                name=timeline.names[name],
                device=device,
            )
            yield key, stream, ns
