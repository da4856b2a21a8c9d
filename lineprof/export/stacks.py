"""Stacks of frames with numbers: the form in which sampling profilers give a profile.

Unlike a sampler's, these stacks are exact: each nanosecond of the profile is in one
stack. All formats that are made of stacks read them here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.call_graph import deeper_note, depths
from lineprof.model.gpu import (
    GPU_SUMS,
    GPU_TIME_KINDS,
    KINDS,
    MEMCPY,
    NO_PATH,
    UNKNOWN,
)
from lineprof.model.host_memory import NO_BYTES
from lineprof.model.records import NO_NODE, UNKNOWN_THREAD, maker_of
from lineprof.model.timelines import event_column
from lineprof.report.gpu_format import activity_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.model.gpu import Gpu, GpuSum
    from lineprof.model.host_memory import MemoryNumbers
    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode, CallTree, Key, MergedCall, ThreadLine

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

OUTSIDE: Frame = (("", 0, "[outside of profiled lines]"), 0)  # of memory


class LineShare(NamedTuple):
    """The share of one call path in one line."""

    line: int
    ns: int
    hits: int = 0


class CallPathShare(NamedTuple):
    """One function at the end of one call path, with its share of the lines' numbers.

    Functions are roots if the profile has no call tree, or does not have their calls.
    """

    function: Key
    callers: tuple[Frame, ...] = ()  # (function, calling line), root first
    thread: int = UNKNOWN_THREAD  # its index in Profile.threads
    calls: int = 0
    lines: Sequence[LineShare] = ()  # self time, hits of each line on this call path
    node: int = NO_NODE  # its index in CallTree.nodes


class Stack(NamedTuple):
    """GPU work of one name, device and stream, at the end of one call path."""

    frames: tuple[Frame, ...]  # (function, line), root first; the last is the leaf
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    gpu_ns: int  # of kernels, memsets and graphs that the leaf line launched
    copy_ns: int  # of copies
    device: int  # its index in Gpu.devices
    stream: int | None  # of the device, as CUDA numbers it; None if unknown
    work: str  # the demangled kernel, or nvprof's name of the work


class MemoryStack(NamedTuple):
    """Memory that one line allocated itself, at the end of one call path."""

    frames: tuple[Frame, ...]  # (function, line), root first; the last is the leaf
    process: int  # its index in Profile.processes; NONE: of many, added up
    numbers: MemoryNumbers


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
            function=node.function,
            callers=callers,
            thread=node.thread,
            calls=node.calls,
            lines=shares.take(node),
            node=index,
        )
    for (key, thread), lines in shares.rest():
        yield CallPathShare(function=key, thread=thread, lines=lines)
    for function in profile.functions:
        if function.calls and function.key not in called:
            yield CallPathShare(function=function.key, calls=function.calls)


def gpu_stacks(profile: Profile) -> Iterator[Stack]:
    """Yield the stacks of GPU work."""
    gpu = profile.gpu
    times = _stream_times(gpu)
    for one in gpu.sums:
        is_copy = one.kind == MEMCPY
        if not is_copy and one.kind not in GPU_TIME_KINDS:
            continue
        thread, frames = UNKNOWN_THREAD, _NO_LINE
        if one.path != NO_PATH:
            path = gpu.paths[one.path]
            thread, frames = path.thread, (*cut(path.lines[:-1]), path.lines[-1])
        for stream, ns in _by_stream(one, times):
            yield Stack(
                frames=frames,
                thread=thread,
                gpu_ns=0 if is_copy else ns,
                copy_ns=ns if is_copy else 0,
                device=one.device,
                stream=stream,
                work=activity_name(one.kind, one.name),
            )


def memory_stacks(profile: Profile) -> Iterator[MemoryStack]:
    """Yield the stacks of memory."""
    memory = profile.memory
    for one in memory.sums:
        path = memory.paths[one.path]
        lines = path.lines or (OUTSIDE,)
        yield MemoryStack(
            frames=(*cut(lines[:-1]), lines[-1]),
            process=path.process,
            numbers=NO_BYTES.plus(one),
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
            " and its time includes its callees"
        )
    if note := deeper_note(profile.calls):
        yield note


def remarks_of_memory(profile: Profile, why: str) -> Iterator[str]:
    """Yield that the format lacks memory, and why, if the profile has any."""
    if profile.memory.sums:
        yield f"memory is left out: {why}"


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
        self._functions: dict[_FunctionKey, _FunctionLines] = defaultdict(
            _FunctionLines
        )
        for place, lines in _self_times(profile).items():
            self._functions[place].set_lines(lines)
        self._merged = profile.calls.merged
        nodes: list[CallNode | MergedCall] = [*profile.calls.nodes, *self._merged]
        calls: Counter[Key] = Counter()
        for node in nodes:
            function = self._functions[node.function, node.thread]
            function.calls_ns += node.self_ns
            function.calls += _weight(node)
            calls[node.function] += node.calls
        covered = {one.key for one in profile.functions if one.calls <= calls[one.key]}
        for (key, _), function in self._functions.items():
            function.set_budget(is_covered=key in covered)

    def take(self, node: CallNode | MergedCall) -> list[LineShare]:
        """Return the shares of a call in its function's lines.

        Time of the call that is on no line is put on the function's first line: so is
        all time of a function whose lines are unknown.
        """
        function = self._functions[node.function, node.thread]
        ns = function.take_time(node.self_ns)
        shares = function.take(ns, _weight(node))
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
                for line, (ns, hits) in function.lines.items()
                if ns or hits
            ]
            if shares:
                yield place, shares


class _FunctionLines:
    """Lines and calls of one function on one thread, less the shares taken so far."""

    __slots__ = ("budget", "calls", "calls_ns", "is_complete", "lines", "lines_ns")

    def __init__(self) -> None:
        self.lines: dict[int, tuple[int, int]] = {}  # self time (ns), hits by line
        self.lines_ns = 0  # of all lines
        self.budget = 0  # time of the lines that the calls may take (ns)
        self.calls_ns = 0  # self time of the calls
        self.calls = 0
        self.is_complete = False  # the calls have all the time of the lines

    def set_lines(self, lines: Mapping[int, tuple[int, int]]) -> None:
        """Set the self time (ns) and the hits of each line."""
        self.lines = dict(sorted(lines.items()))
        self.lines_ns = sum([ns for ns, _ in lines.values()])

    def set_budget(self, *, is_covered: bool) -> None:
        """Set the budget: the part of the lines' time that the calls may take.

        That is all time if all calls are known (`is_covered`), or if the times of
        calls and lines differ only by rounding.
        """
        lines_ns = self.lines_ns
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

    def take(self, ns: int, calls: int) -> list[LineShare]:
        """Take `ns` of the lines' time, and the hits of so many calls."""
        share_of = maker_of(LineShare, ("line", "ns", "hits"))
        lines, total = self.lines, self.lines_ns or 1
        weight, self.calls = self.calls, self.calls - calls
        before = taken = 0
        shares: list[LineShare] = []
        for line, (line_ns, line_hits) in lines.items():
            before += line_ns
            part = before * ns // total - taken
            taken += part
            hits = line_hits * calls // weight
            if part or hits:
                lines[line] = (line_ns - part, line_hits - hits)
                shares.append(share_of((line, part, hits)))
        self.lines_ns -= taken
        return shares


def _weight(node: CallNode | MergedCall) -> int:
    """Return how many calls a node counts for: at least 1, for a generator's steps."""
    return max(node.calls, 1)


def _self_times(profile: Profile) -> dict[_FunctionKey, dict[int, tuple[int, int]]]:
    """Return self time (ns) and hits of each line, by function and thread.

    The threads of a line add up to its `call_graph.line_self_ns`.
    """
    callees: dict[Frame, Counter[int]] = defaultdict(Counter)  # time (ns) by thread
    for caller, call in calls_between(profile.calls):
        callees[caller, call.line][call.thread] += call.inclusive_ns
    nothing: Counter[int] = Counter()
    found: dict[_FunctionKey, dict[int, tuple[int, int]]] = {}
    for function in profile.functions:
        key = function.key
        lines: dict[int, list[ThreadLine]] = {}
        for one in function.thread_lines:
            lines.setdefault(one.line, []).append(one)
        threads: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
        for line, ones in lines.items():
            called = callees.get((key, line), nothing)
            for one, ns in _with_self_time(ones, called):
                threads[one.thread][line] = (ns, one.hits)
        found.update(((key, thread), there) for thread, there in threads.items())
    return found


def calls_between(tree: CallTree) -> Iterator[tuple[Key, CallNode | MergedCall]]:
    """Yield each caller with each of its nodes and merged calls in the tree."""
    for node in tree.nodes:
        if node.parent != NO_NODE:
            yield tree.nodes[node.parent].function, node
    for one in tree.merged:
        if one.caller is not None:
            yield one.caller, one


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


_COLUMNS = ("kind", "name", "ns", "path", "origin", "device", "stream")


def _stream_times(gpu: Gpu) -> dict[object, Counter[int]]:
    """Return the times (ns) by stream of each sum, which its identity stands for.

    Returns {} if that takes too long.
    """
    times: dict[object, Counter[int]] = defaultdict(Counter)
    if sum(timeline.count for timeline in gpu.timelines) > _MAX_EVENTS:
        return times
    devices = {
        (one.process, one.device): index for index, one in enumerate(gpu.devices)
    }
    for timeline in gpu.timelines:
        first = timeline.first_path - 1  # the columns count paths from 1
        for batch in timeline.batches:
            columns = [event_column([batch], name) for name in _COLUMNS]
            for kind, name, ns, path, origin, number, stream in zip(*columns):
                device = devices.get((timeline.process, number))
                if device is None:
                    continue
                key = (  # GPU_SUMS.identity, in the order of the fields of GPU_SUMS
                    path + first if path else NO_PATH,
                    origin + first if origin else NO_PATH,
                    KINDS[kind] if kind < len(KINDS) else UNKNOWN,
                    timeline.names[name],
                    device,
                )
                times[key][stream] += ns
    return times


def _by_stream(
    one: GpuSum, times: Mapping[object, Counter[int]]
) -> list[tuple[int | None, int]]:
    """Return (stream, ns) of each stream; [(None, ns)] if times do not add up."""
    streams = times.get(GPU_SUMS.identity(one))
    if streams and sum(streams.values()) == one.ns:
        return list(streams.items())
    return [(None, one.ns)]
