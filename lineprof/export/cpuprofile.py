"""Profiles in V8's format, for Chrome's developer tools and VS Code.

The format is "Profiler.Profile" of the Chrome DevTools Protocol. One hit and one tick
are a microsecond here, so that readers show times. Each line is a node, because VS Code
shows the times of nodes above their lines; the DevTools show ticks there.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lineprof.export.encoding import SpooledTexts, chunks, quoted, url
from lineprof.export.made_once import MadeOnce
from lineprof.export.selection import SUMS_NAME
from lineprof.export.stacks import (
    LineShare,
    LineShares,
    remarks_of_calls,
    remarks_of_memory,
    thread_name,
)
from lineprof.export.timeline import MAX_DEPTH, NO_TRACE, remarks_of_traces
from lineprof.model.call_graph import children, depths, subtree_ns
from lineprof.model.clocks import Clock
from lineprof.model.names import names_of_profile
from lineprof.model.records import NO_NODE, UNKNOWN_THREAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.names import ShortNames
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

_MAX_CALLS = MAX_DEPTH // 2  # one below the other: each has a node, and its line too

_MAX_NODES = 500_000  # calls of a trace that would need more count for their caller


def content(profile: Profile) -> Iterator[bytes]:
    """Yield the JSON; times in microseconds."""
    nodes, texts = _Nodes(profile, names_of_profile(profile)), SpooledTexts()
    samples = MadeOnce(partial(_Samples, texts))  # by thread
    try:
        add_samples = _add_traces if profile.traces else _add_calls
        add_samples(profile, nodes, samples)
        end_us = sum(one.spent_us for one in samples.values())
        # A delta is the time of the sample before it. Nothing follows the last sample.
        texts.add("zero", ",0")
        texts.add("root", ",1")
        yield b'{"nodes":['
        for chunk in chunks(nodes.texts(), ""):
            yield chunk.encode()
        yield f'],\n"startTime":0,"endTime":{end_us}'.encode()
        threads = sorted(samples)
        yield b',\n"samples":['
        yield from texts.items(*((one, "samples") for one in threads), "root")
        yield b'],\n"timeDeltas":['
        yield from texts.items("zero", *((one, "timeDeltas") for one in threads))
        yield b"]"
        yield b"}\n"
    finally:
        texts.close()


def remarks(profile: Profile) -> Iterator[str]:
    """Yield how the file differs from the profile, one line each."""
    if not profile.traces:
        yield (
            f"{NO_TRACE}; the times are right, but places on the time axis have no"
            " meaning"
        )
        yield from remarks_of_calls(profile)
        if max(depths(profile.calls.nodes), default=0) >= _MAX_CALLS:
            yield (
                f"calls that are more than {_MAX_CALLS} deep are shown side by side,"
                " as readers go no deeper"
            )
    if len(profile.threads) > 1:
        yield "the format has one thread: all threads are shown one after the other"
    yield from remarks_of_memory(profile, "the format has times alone")
    yield from remarks_of_traces(profile)


# Nodes: the call tree.
#
# Below the node of a function is one of each line that took time or called, and callees
# are below the line that called them. The node of a function's first line is that of
# the function.
#
# VS Code adds up the times of all nodes of a line, wherever they are in the tree. So no
# call path may have two nodes of one line, or time would count twice there. Recursion
# has such paths, and so have a lambda and a comprehension on the line that calls them.
# All these nodes but the innermost one are shown without their place.
#
# Nodes without a microsecond are left out, as a sampler would have missed them.


@dataclass(eq=False, slots=True)
class _Frame:
    """Content of a node: a function, a line of it, or something else."""

    name: str
    text: str  # in JSON
    line: int = 0  # of the file; 0: nowhere
    place: int = 0  # the number of the file and the line; 0: nowhere


@dataclass(eq=False, slots=True, repr=False)  # a repr would walk up to the root
class _Node:
    """A frame at the end of one call path."""

    number: int  # from 1 on
    frame: _Frame
    parent: _Node | None
    depth: int
    children: list[int] = field(default_factory=list)
    hits: int = 0  # us
    is_shown: bool = False  # there is time, here or below

    @property
    def above(self) -> _Node:
        """The node to put callees of this node below.

        That is the node itself, or its parent if it is too deep for readers, which
        recurse.
        """
        if self.parent is None or self.depth < MAX_DEPTH:
            return self
        return self.parent

    def at(self, place: int) -> _Node | None:
        """Return the node of a place from here up to the root, if there is one."""
        node: _Node | None = self
        while node and node.frame.place != place:
            node = node.parent
        return node


class _Nodes:
    """All nodes, by number; those of traces have a limit."""

    def __init__(self, profile: Profile, names: ShortNames) -> None:
        self._all: list[_Node] = []
        self._made: dict[tuple[_Node, _Frame], _Node] = {}  # by parent and frame
        self._limit = _MAX_NODES if profile.traces else math.inf
        self._frames: MadeOnce[tuple[Key, int], _Frame] = MadeOnce(  # line 0: function
            partial(_frame_of, names, _files(), {})
        )
        self._without_place = MadeOnce(_without_place)  # by name
        root = _new_node(self._all, None, _without_place("(root)"))
        self.threads = MadeOnce(partial(_thread_node, self._all, root, profile))
        # Time of a thread outside of profiled functions, by the thread's node.
        self.programs = MadeOnce(
            partial(_new_node, self._all, frame=_without_place("(program)"))
        )

    def function(self, parent: _Node, key: Key) -> _Node:
        """Return the node of a function that `parent` called.

        That is `parent` if there are too many nodes.
        """
        return self._below(parent, self._frames[key, 0])

    def line(self, function: _Node, key: Key, line: int) -> _Node:
        """Return the node of a line of a function; 0 stands for the function."""
        if line in {0, key[1]} or function.frame is not self._frames[key, 0]:
            return function
        return self._below(function, self._frames[key, line])

    def _below(self, parent: _Node, frame: _Frame) -> _Node:
        """Return the node of a frame on the path of a node that calls or holds it."""
        parent = parent.above
        path = [frame]
        same = parent.at(frame.place) if frame.place else None
        if same and same.parent:
            while parent is not same and parent.parent:
                path.append(parent.frame)
                parent = parent.parent
            parent = self._child(same.parent, self._without_place[same.frame.name])
        for one in reversed(path):
            parent = self._child(parent, one)
        return parent

    def _child(self, parent: _Node, frame: _Frame) -> _Node:
        node = self._made.get((parent, frame))
        if node is None:
            if len(self._all) >= self._limit:
                return parent
            node = self._made[parent, frame] = _new_node(self._all, parent, frame)
        return node

    def texts(self) -> Iterator[str]:
        """Yield all nodes in JSON."""
        for node in self._all:
            if node.parent and not node.is_shown:
                continue
            below = [str(one) for one in node.children if self._all[one - 1].is_shown]
            line, us = node.frame.line, node.hits
            ticks = f',"positionTicks":[{{"line":{line},"ticks":{us}}}]'
            yield (
                f'{"," if node.parent else ""}\n{{"id":{node.number},'
                f'"callFrame":{node.frame.text},"hitCount":{us},'
                f'"children":[{",".join(below)}]{ticks if line and us else ""}}}'
            )


def _thread_node(
    nodes: list[_Node], root: _Node, profile: Profile, thread: int
) -> _Node:
    """Return the node of a thread; the root if there is only one thread."""
    if len(profile.threads) < 2:  # noqa: PLR2004  # nothing to tell apart
        return root
    name = thread_name(profile, thread) or "All threads"
    node = _new_node(nodes, root, _without_place(name))
    node.is_shown = True
    return node


def _new_node(nodes: list[_Node], parent: _Node | None, frame: _Frame) -> _Node:
    """Return a new node, which is added to `nodes`, all there are."""
    number, depth = len(nodes) + 1, 0
    if parent:
        parent.children.append(number)
        depth = parent.depth + 1
    node = _Node(number=number, frame=frame, parent=parent, depth=depth)
    nodes.append(node)
    return node


def _frame_of(
    names: ShortNames,
    files: MadeOnce[str, str],
    places: dict[tuple[str, int], int],
    key_and_line: tuple[Key, int],
) -> _Frame:
    """Return the frame of a line of a function, or of the function (line 0)."""
    key, line = key_and_line
    file, first, _ = key
    name = f"{names.label(key)}:{line}" if line else names.label(key)
    if not file:
        return _without_place(name)
    line = max(1, line or first)
    return _Frame(
        name=name,
        text=_call_frame(name, files[file], line - 1, 0),
        line=line,
        place=places.setdefault((file, line), len(places) + 1),
    )


def _without_place(name: str) -> _Frame:
    return _Frame(name=name, text=_call_frame(name, '"scriptId":"0","url":""', -1, -1))


def _call_frame(name: str, file: str, line: int, column: int) -> str:
    """Return a call frame in JSON; lines and columns count from 0."""
    return (
        f'{{"functionName":{quoted(name)},{file},'
        f'"lineNumber":{line},"columnNumber":{column}}}'
    )


def _files() -> MadeOnce[str, str]:
    """Return the numbers and the addresses of files in JSON."""
    numbers = itertools.count(1)
    return MadeOnce(
        lambda file: f'"scriptId":"{next(numbers)}","url":{quoted(url(file))}'
    )


# Samples: the node on top, until the next sample.


class _Samples:
    """Samples of one thread."""

    def __init__(self, texts: SpooledTexts, thread: int) -> None:
        self.spent_us = 0
        self._thread = thread
        self._texts = texts
        self._ns = 0

    def us(self, ns: int) -> int:
        """Return a time to spend in us; rounded so that no rounding errors add up."""
        self._ns += ns
        return (self._ns + 500) // 1000 - self.spent_us

    def spend(self, us: int, node: _Node) -> None:
        """Charge a time to a node, as one sample."""
        self.spent_us += us
        node.hits += us
        self._texts.add((self._thread, "samples"), f",{node.number}")
        self._texts.add((self._thread, "timeDeltas"), f",{us}")
        above: _Node | None = node
        while above and not above.is_shown:
            above.is_shown = True
            above = above.parent


class _ToDo(NamedTuple):
    """A call to be shown, or own time of a line of a call."""

    node: _Node  # of the caller, or of the call whose line it is
    call: int  # its index in CallTree.nodes
    own: LineShare | None = None


def _add_calls(
    profile: Profile, nodes: _Nodes, samples: MadeOnce[int, _Samples]
) -> None:
    """Make nodes and samples of the call tree."""
    shares = LineShares(profile)
    calls = profile.calls.nodes
    callees = children(calls, subtree_ns(calls))
    todo = [
        _ToDo(nodes.threads[calls[index].thread], index)
        for index in callees.get(NO_NODE, ())
    ]
    todo.reverse()
    while todo:
        node, index, own = todo.pop()
        one = calls[index]
        if own:
            _spend(nodes, samples[one.thread], node, one.function, own)
            continue
        if one.parent != NO_NODE:
            node = nodes.line(node, calls[one.parent].function, one.line)
        node = nodes.function(node, one.function)
        # A line's own time comes next to the line's callees, as charts join the two.
        lines = defaultdict(list)
        for own in shares.take(one):
            lines[own.line].append(_ToDo(node, index, own))
        for callee in callees.get(index, ()):
            lines[calls[callee].line].append(_ToDo(node, callee))
        todo += itertools.chain.from_iterable(
            reversed(lines[line]) for line in sorted(lines, reverse=True)
        )
    for (key, thread), rest in shares.rest():
        node = nodes.function(nodes.threads[thread], key)
        for own in rest:
            _spend(nodes, samples[thread], node, key, own)


def _spend(
    nodes: _Nodes, samples: _Samples, function: _Node, key: Key, own: LineShare
) -> None:
    """Charge the own time of a line of a function to the node of the line."""
    if us := samples.us(own.ns):
        samples.spend(us, nodes.line(function, key, own.line))


def _add_traces(
    profile: Profile, nodes: _Nodes, samples: MadeOnce[int, _Samples]
) -> None:
    """Make nodes and samples of the traces."""
    tracks: dict[int, _Track] = {}
    clock = Clock(profile)
    for trace in profile.traces:
        zero = clock.zero_of(trace)
        for one in trace:
            start = zero + one.start_ns
            track = tracks.get(one.thread)
            if track is None:
                track = _Track(profile, one.thread, nodes, samples[one.thread], start)
                tracks[one.thread] = track
            track.open(one.function, one.line, start, start + one.ns)
    for track in tracks.values():
        track.close()


class _OpenSlice(NamedTuple):
    """A slice that has begun."""

    end: int  # ns
    node: _Node
    function: _Node  # of whose lines this is one, or the same node
    key: Key


class _Track:
    """Open slices of one thread."""

    def __init__(
        self,
        profile: Profile,
        thread: int,
        nodes: _Nodes,
        samples: _Samples,
        start: int,
    ) -> None:
        self._thread = thread
        name = "" if thread == UNKNOWN_THREAD else profile.threads[thread].name
        self._is_of_sums = name.endswith(SUMS_NAME)
        self._nodes = nodes
        self._samples = samples
        self._now = start
        self._open: list[_OpenSlice] = []

    def open(self, key: Key, line: int, start: int, end: int) -> None:
        """Open a slice of a function, or of a line of it."""
        self._advance(start)
        if self._open and end > self._open[-1].end:
            end = self._open[-1].end
        self._open.append(self._slice(key, line, end))

    def close(self) -> None:
        """Close all slices."""
        self._advance(self._open[0].end if self._open else self._now)

    def _slice(self, key: Key, line: int, end: int) -> _OpenSlice:
        above = self._open[-1] if self._open else None
        if above and line and above.key == key:
            function = above.function
        else:
            parent = above.node if above else self._nodes.threads[self._thread]
            function = self._nodes.function(parent, key)
        node = self._nodes.line(function, key, line)
        return _OpenSlice(end=end, node=node, function=function, key=key)

    def _advance(self, at: int) -> None:
        """Charge the time until `at` to the innermost slices, and close ended ones."""
        while self._open and self._open[-1].end <= at:
            self._spend(self._open[-1].end)
            self._open.pop()
        self._spend(at)

    def _spend(self, until: int) -> None:
        ns = until - self._now
        if ns <= 0:
            return
        self._now = until
        if self._open:
            node = self._open[-1].node
        elif self._is_of_sums:
            return  # the thread itself was elsewhere
        else:
            node = self._nodes.programs[self._nodes.threads[self._thread]]
        if us := self._samples.us(ns):
            self._samples.spend(us, node)
