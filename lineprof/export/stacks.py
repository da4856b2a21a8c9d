"""A profile as stacks of frames with numbers, as samplers give them.

Other than a sampler's these are whole: each nanosecond of the profile stands
in one stack. The formats that are made of stacks all read them here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.gpu import (
    GRAPH,
    KERNEL,
    KINDS,
    MEMCPY,
    MEMSET,
    NO_DEVICE,
    NO_PATH,
    UNKNOWN,
)
from lineprof.model.records import NO_NODE, UNKNOWN_THREAD
from lineprof.model.timelines import unpack_events
from lineprof.report.gpu_format import activity_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.model.gpu import Gpu, GpuSum
    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode, CallTree, Key, ThreadLine
    from lineprof.model.timelines import Batch, Timeline

    # Path, origin, kind, name, device's index
    _StreamKey = tuple[int, int, str, str, int]

    Place = tuple[Key, int]  # a function, and the index of a thread

    Share = tuple[int, int, int]  # line, its time (ns), its hits

    Own = dict[Place, dict[int, list[int]]]  # time (ns) and hits of each line

    Frame = tuple[Key, int]  # a function; the line where it goes on, or was


# On which streams of its device each sum of GPU work was done.
#
# A sum does not say so; the timeline's events do, as long as all are there.


_MOST_EVENTS = 2_000_000  # that are looked at: more would take seconds

_COLUMNS = ("kind", "name", "ns", "path", "origin", "device", "stream")


class Streams:
    """What streams did of each sum."""

    def __init__(self, gpu: Gpu) -> None:
        self._found: dict[_StreamKey, dict[int, int]] = {}
        if sum(timeline.count for timeline in gpu.timelines) > _MOST_EVENTS:
            return
        devices = {
            (one.process, one.device): index for index, one in enumerate(gpu.devices)
        }
        for timeline in gpu.timelines:
            for place, stream, ns in _events(timeline, devices):
                streams = self._found.setdefault(place, {})
                streams[stream] = streams.get(stream, 0) + ns

    def of(self, one: GpuSum) -> list[tuple[int | None, int]]:
        """Return (stream, ns) of each stream; of None if the events do not add up."""
        place = (one.path, one.origin, one.kind, one.name, one.device)
        found = self._found.get(place, {})
        if found and sum(found.values()) == one.ns:
            return list(found.items())
        return [(None, one.ns)]


def _events(
    timeline: Timeline, devices: dict[tuple[int, int], int]
) -> Iterator[tuple[_StreamKey, int, int]]:
    """Yield of each event on a device: where it counts, its stream, its time (ns)."""
    first = timeline.first_path - 1  # the columns count paths from 1
    for batch in timeline.batches:
        for kind, name, ns, path, origin, number, stream in zip(*_columns(batch)):
            device = devices.get((timeline.process, number))
            if device is None:
                continue
            place = (
                path + first if path else NO_PATH,
                origin + first if origin else NO_PATH,
                KINDS[kind] if kind < len(KINDS) else UNKNOWN,
                timeline.names[name],
                device,
            )
            yield place, stream, ns


def _columns(batch: Batch) -> Iterator[Sequence[int]]:
    data = dict(batch.columns)
    for name in _COLUMNS:
        packed = data.get(name)
        if packed is None:
            yield bytes(batch.events)  # that many zeros
        else:
            yield unpack_events(name, packed, batch.events)


# A line's own time, shared out among the ways by which its function was called.
#
# The profile knows what each line cost, and what each call did; not how much of
# a line each call was. So a line is shared out in proportion to the calls' own
# times. The shares of a line add up to the line, to the nanosecond; those of a
# call to the call, but in files of before the two were made to fit.


# What rounding can make of a function's time: more is another function's.
_SLACK_NS = 1_000

_SLACK_PART = 1_000  # of which it may be one


class _Function:
    """One function on one thread: what of its lines and calls is left."""

    __slots__ = ("budget", "calls", "hits", "is_whole", "lines", "nodes", "ns")

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.ns: list[int] = []  # of each of `lines`
        self.hits: list[int] = []  # of each of `lines`
        self.budget = 0  # of all lines' time, for the calls (ns)
        self.nodes = 0  # of the calls' own time (ns)
        self.calls = 0
        self.is_whole = False  # the lines' time is that of the calls

    def settle(self, *, is_covered: bool) -> None:
        """Find what of the lines' time is that of the calls.

        All of it, if these are all that there were, or if it differs by little.
        """
        lines = sum(self.ns)
        slack = _SLACK_NS + max(lines, self.nodes) // _SLACK_PART
        is_near = bool(lines) and abs(lines - self.nodes) <= slack
        self.is_whole = is_covered or is_near
        self.budget = lines if self.is_whole else min(lines, self.nodes)

    def time_of(self, ns: int) -> int:
        """Take for a call of `ns` its part of the lines' time."""
        part = self.budget * ns // self.nodes if self.nodes else self.budget
        self.budget -= part
        self.nodes -= ns
        return part

    def take(self, ns: int, calls: int) -> Iterator[Share]:
        """Take `ns` of the lines' time, and of their hits those of so many calls."""
        left, before, given = sum(self.ns), 0, 0
        weight, self.calls = self.calls, self.calls - calls
        for place, line in enumerate(self.lines):
            mine, hits = self.ns[place], self.hits[place]
            before += mine
            upto = before * ns // left if left else 0
            part, given = upto - given, upto
            struck = hits * calls // weight
            if part or struck:
                self.ns[place] = mine - part
                self.hits[place] = hits - struck
                yield line, part, struck


class Shares:
    """What is left of all lines while calls take theirs, each once."""

    def __init__(self, stats: Profile) -> None:
        self._places: dict[Place, _Function] = {}
        for place, lines in _own(stats).items():
            function = self._places.setdefault(place, _Function())
            for line, (ns, hits) in sorted(lines.items()):
                function.lines.append(line)
                function.ns.append(ns)
                function.hits.append(hits)
        calls: dict[Key, int] = {}
        for node in stats.calls.nodes:
            place = (node.function, node.thread)
            function = self._places.setdefault(place, _Function())
            function.nodes += node.self_ns
            function.calls += _weight(node)
            calls[node.function] = calls.get(node.function, 0) + node.calls
        covered = {
            one.key for one in stats.functions if one.calls <= calls.get(one.key, 0)
        }
        for (key, _), function in self._places.items():
            function.settle(is_covered=key in covered)

    def take(self, node: CallNode) -> list[Share]:
        """Return the lines of a call: (line, ns, hits).

        What of its time no line has is at the function's first line, as all
        of it is of one whose lines are not known.
        """
        function = self._places[node.function, node.thread]
        part = function.time_of(node.self_ns)
        shares = list(function.take(part, _weight(node)))
        if not function.is_whole and node.self_ns > part:
            shares.append((node.function[1], node.self_ns - part, 0))
        return shares

    def rest(self) -> Iterator[tuple[Place, list[Share]]]:
        """Yield, once all calls took theirs, what has no call that is known."""
        for place, function in self._places.items():
            numbers = zip(function.lines, function.ns, function.hits)
            shares = [share for share in numbers if share[1] or share[2]]
            if shares:
                yield place, shares


def _weight(node: CallNode) -> int:
    """Return how many calls a node counts for: a generator's steps are some, too."""
    return max(node.calls, 1)


def _own(stats: Profile) -> Own:
    """Return the own time and the hits of each line, by function and thread.

    A line's threads have, together, what `call_edges.line_self_ns` gives it.
    """
    below = _below(stats)
    nothing: dict[int, int] = {}
    own: Own = {}
    for function in stats.functions:
        key = function.key
        lines: dict[int, list[ThreadLine]] = {}
        for cell in function.thread_lines:
            lines.setdefault(cell.line, []).append(cell)
        places: dict[int, dict[int, list[int]]] = {}
        for line, cells in lines.items():
            called = below.get((key, line), nothing)
            for cell, ns in _own_cells(cells, called):
                places.setdefault(cell.thread, {})[line] = [ns, cell.hits]
        own.update(((key, thread), there) for thread, there in places.items())
    return own


def _own_cells(
    cells: Sequence[ThreadLine], called: Mapping[int, int]
) -> Iterable[tuple[ThreadLine, int]]:
    """Return the cells of one line, each with its own time (ns).

    `called` is what the line called, by thread (ns).
    """
    if len(cells) == 1:  # the usual case
        return ((cells[0], max(0, cells[0].time_ns - sum(called.values()))),)
    own_ns = max(0, sum([one.time_ns for one in cells]) - sum(called.values()))
    mine = [max(0, one.time_ns - called.get(one.thread, 0)) for one in cells]
    _level(mine, own_ns)
    return zip(cells, mine)


def _below(stats: Profile) -> dict[tuple[Key, int], dict[int, int]]:
    """Return the time (ns) of what each line called, by thread."""
    below: dict[tuple[Key, int], dict[int, int]] = {}
    nodes = stats.calls.nodes
    for node in nodes:
        if node.parent != NO_NODE:
            threads = below.setdefault((nodes[node.parent].function, node.line), {})
            threads[node.thread] = threads.get(node.thread, 0) + node.inclusive_ns
    return below


def _level(mine: list[int], own_ns: int) -> None:
    """Make the sum of `mine` that of the line, `own_ns`, from the greatest on."""
    for place in sorted(range(len(mine)), key=mine.__getitem__, reverse=True):
        less = min(mine[place], sum(mine) - own_ns)
        mine[place] -= less


# A stack has no more frames: else those of a deep program take the square of
# it. It is the first of these with which all stacks have so many, or the last.
_MOST_FRAMES = (256, 128, 64)

_ALL_FRAMES = 4_000_000

_ROOTS = 4  # of its frames one in so many is at the root's end

CUT: Frame = (("", 0, "..."), 0)  # stands for the frames that are left out

NOWHERE: Frame = (("", 0, "[launched by no profiled line]"), 0)

_NO_LINE: tuple[Frame, ...] = (NOWHERE,)

_GPU_TIME = frozenset({KERNEL, MEMSET, GRAPH})  # what the table counts as GPU time


class CallPathLines(NamedTuple):
    """One function as it was called by one way, on one thread.

    Without a call tree, and where it does not have them, functions are roots.
    """

    callers: tuple[Frame, ...]  # (function, line from where it goes on), root first
    function: Key
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    calls: int
    lines: Sequence[Share]  # (line, its own time in ns, hits): the way's part of each
    node: int = NO_NODE  # its index in CallTree.nodes


class Stack(NamedTuple):
    """Numbers of one leaf line, on one thread, by one way down to there.

    A call comes as a stack of its own, whose leaf is at the function's first
    line: it has `calls` and no time. GPU work comes in stacks of its own, too,
    one for each name, device and stream.
    """

    frames: tuple[Frame, ...]  # (function, line), root first; the last is the leaf
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    ns: int = 0  # of the leaf line itself
    hits: int = 0  # of the leaf line
    calls: int = 0  # of the leaf's function
    gpu_ns: int = 0  # of kernels, memsets and graphs that the leaf line launched
    copy_ns: int = 0  # of copies
    device: int = NO_DEVICE  # its index in Gpu.devices
    stream: int | None = None  # of the device, as CUDA numbers it; None: not known
    work: str = ""  # on a device: the kernel, demangled, or what nvprof calls it


def call_paths(stats: Profile) -> Iterator[CallPathLines]:
    """Yield each way by which a function was called, those from it after it.

    The sum of one line over all ways is its own time, to the nanosecond; and
    of all ways below a call's line, with that line's own, what `lineprof view`
    shows of it, but where recursion counts twice. Without a call tree a line's
    time is with all that it called.
    """
    shares = Shares(stats)
    tree = stats.calls
    called = set()
    for index, callers in _callers(tree):
        node = tree.nodes[index]
        called.add(node.function)
        lines = shares.take(node)
        yield CallPathLines(
            callers, node.function, node.thread, node.calls, lines, index
        )
    for (key, thread), lines in shares.rest():
        yield CallPathLines((), key, thread, 0, lines)
    for function in stats.functions:
        if function.calls and function.key not in called:
            yield CallPathLines((), function.key, UNKNOWN_THREAD, function.calls, ())


def stacks(stats: Profile) -> Iterator[Stack]:
    """Yield each stack that has numbers: those of `ways`, then `gpu_stacks`."""
    for way in call_paths(stats):
        key, thread = way.function, way.thread
        if way.calls:
            yield Stack((*way.callers, (key, key[1])), thread, calls=way.calls)
        for line, ns, hits in way.lines:
            yield Stack((*way.callers, (key, line)), thread, ns, hits)
    yield from gpu_stacks(stats)


def remarks(stats: Profile) -> Iterator[str]:
    """Yield what a reader of the stacks should know, a line each."""
    yield from remarks_of_calls(stats)
    most = most_frames(stats.calls)
    if max(_depths(stats.calls), default=0) >= most:
        yield f"stacks of more than {most} frames are cut in the middle"


def remarks_of_calls(stats: Profile) -> Iterator[str]:
    """Yield what a reader of any format with callers should know, a line each."""
    if stats.why_empty:
        yield stats.why_empty
    elif not stats.calls.nodes:
        yield (
            "the profile does not say who called whom: each function is a root,"
            " and its time is with that of what it called"
        )
    if stats.calls.folded:
        yield f"{stats.calls.folded} calls come without the way to them"


def thread_name(stats: Profile, thread: int) -> str:
    """Return a thread's name and number, or "" where it is not known."""
    if thread == UNKNOWN_THREAD:
        return ""
    one = stats.threads[thread]
    return f"{one.name or 'Thread'} ({one.native_id})"


def _depths(tree: CallTree) -> list[int]:
    """Return how many callers each node has."""
    depths: list[int] = []
    for node in tree.nodes:
        depths.append(0 if node.parent == NO_NODE else depths[node.parent] + 1)
    return depths


def _callers(tree: CallTree) -> Iterator[tuple[int, tuple[Frame, ...]]]:
    """Yield each node's index and its callers' frames, root first.

    Children follow their parent, so that one list holds the way to all.
    """
    children: dict[int, list[int]] = {}
    for index, node in enumerate(tree.nodes):
        children.setdefault(node.parent, []).append(index)
    depths = _depths(tree)
    most = most_frames(tree)
    way: list[Frame] = []
    todo = children.get(NO_NODE, [])[::-1]
    while todo:
        index = todo.pop()
        node = tree.nodes[index]
        if node.parent != NO_NODE:
            way[depths[index] - 1 :] = [(tree.nodes[node.parent].function, node.line)]
        else:
            way.clear()
        yield index, cut(way, most)
        todo += children.get(index, [])[::-1]


def most_frames(tree: CallTree) -> int:
    """Return how many frames a stack of `tree` may have."""
    depths = _depths(tree)
    for most in _MOST_FRAMES:
        if sum([min(depth, most) for depth in depths]) <= _ALL_FRAMES:
            return most
    return _MOST_FRAMES[-1]


def cut(callers: Sequence[Frame], most: int = _MOST_FRAMES[0]) -> tuple[Frame, ...]:
    """Return the frames above a leaf: `most`, with it, those in the middle gone."""
    if len(callers) < most:
        return tuple(callers)
    roots = most // _ROOTS
    return (*callers[:roots], CUT, *callers[roots + 2 - most :])


def gpu_stacks(stats: Profile) -> Iterator[Stack]:
    """Yield the stacks of what devices did."""
    gpu = stats.gpu
    streams = Streams(gpu)
    for one in gpu.sums:
        is_copy = one.kind == MEMCPY
        if not is_copy and one.kind not in _GPU_TIME:
            continue
        thread, frames = UNKNOWN_THREAD, _NO_LINE
        if one.path != NO_PATH:
            path = gpu.paths[one.path]
            thread, frames = path.thread, (*cut(path.lines[:-1]), path.lines[-1])
        for stream, ns in streams.of(one):
            yield Stack(
                frames,
                thread,
                gpu_ns=0 if is_copy else ns,
                copy_ns=ns if is_copy else 0,
                device=one.device,
                stream=stream,
                work=activity_name(one.kind, one.name),
            )
