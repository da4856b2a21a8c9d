"""Profiles in V8's format, for Chrome's developer tools and VS Code.

The format is "Profiler.Profile" of the Chrome DevTools Protocol. One hit and one tick
are a microsecond here, so that readers show times.
"""

from __future__ import annotations

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
    thread_name,
)
from lineprof.export.timeline import MAX_DEPTH, NO_TRACE, remarks_of_traces
from lineprof.model.call_graph import depth_first, depths
from lineprof.model.clocks import Clock
from lineprof.model.names import names_of_profile
from lineprof.model.records import NO_NODE, UNKNOWN_THREAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.model.names import ShortNames
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key


def content(profile: Profile) -> Iterator[bytes]:
    """Yield the JSON; times in microseconds."""
    nodes, texts = _Nodes(profile, names_of_profile(profile)), SpooledTexts()
    samples = MadeOnce(partial(_Samples, texts))  # by thread
    try:
        add_samples = _add_traces if profile.traces else _add_calls
        add_samples(profile, nodes, samples)
        end_us = sum(one.spent_us for one in samples.values())
        yield b'{"nodes":['
        for chunk in chunks(nodes.texts(), ""):
            yield chunk.encode()
        yield f'],\n"startTime":0,"endTime":{end_us}'.encode()
        for array in ("samples", "timeDeltas"):
            yield f',\n"{array}":['.encode()
            yield from texts.items(*((thread, array) for thread in sorted(samples)))
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
        if max(depths(profile.calls.nodes), default=0) > MAX_DEPTH:
            yield (
                f"calls that are more than {MAX_DEPTH} deep are shown side by side,"
                " as readers go no deeper"
            )
    if len(profile.threads) > 1:
        yield "the format has one thread: all threads are shown one after the other"
    yield from remarks_of_traces(profile)


# Nodes: the call tree.


@dataclass(eq=False, slots=True, repr=False)  # a repr would walk up to the root
class _Node:
    """A function at the end of one call path."""

    number: int  # from 1 on
    frame: str  # in JSON
    parent: _Node | None
    depth: int
    children: list[int] = field(default_factory=list)
    hits: int = 0  # us
    ticks: dict[int, int] = field(default_factory=dict)  # us by line; 0: all lines

    @property
    def above(self) -> _Node:
        """The node to put callees of this node below.

        That is the node itself, or its parent if it is too deep for readers, which
        recurse.
        """
        if self.parent is None or self.depth < MAX_DEPTH:
            return self
        return self.parent


class _Nodes:
    """All nodes, by number."""

    def __init__(self, profile: Profile, names: ShortNames) -> None:
        self._all: list[_Node] = []
        scripts: dict[str, int] = {}
        self._frames = MadeOnce(partial(_frame_of, names, scripts))  # by function
        root = _new_node(self._all, None, _frame("(root)"))
        self.threads = MadeOnce(partial(_thread_node, self._all, root, profile))
        # Time of a thread outside of profiled functions, by the thread's node.
        self.programs = MadeOnce(
            partial(_new_node, self._all, frame=_frame("(program)"))
        )

    def __len__(self) -> int:
        return len(self._all)

    def add(self, parent: _Node, key: Key) -> _Node:
        """Return a new node of a function; `parent` is the `above` of a node."""
        return _new_node(self._all, parent, self._frames[key])

    def texts(self) -> Iterator[str]:
        """Yield all nodes in JSON."""
        for node in self._all:
            children = ",".join(map(str, node.children))
            ticks = ",".join(
                f'{{"line":{line},"ticks":{us}}}'
                for line, us in sorted(node.ticks.items())
                if line
            )
            yield (
                f'{"," if node.parent else ""}\n{{"id":{node.number},'
                f'"callFrame":{node.frame},"hitCount":{node.hits},'
                f'"children":[{children}]'
                + (f',"positionTicks":[{ticks}]}}' if ticks else "}")
            )


def _thread_node(
    nodes: list[_Node], root: _Node, profile: Profile, thread: int
) -> _Node:
    """Return the node of a thread; the root if there is only one thread."""
    if len(profile.threads) < 2:  # noqa: PLR2004  # nothing to tell apart
        return root
    name = thread_name(profile, thread) or "All threads"
    return _new_node(nodes, root, _frame(name))


def _new_node(nodes: list[_Node], parent: _Node | None, frame: str) -> _Node:
    """Return a new node, which is added to `nodes`, all there are."""
    number, depth = len(nodes) + 1, 0
    if parent:
        parent.children.append(number)
        depth = parent.depth + 1
    node = _Node(number=number, frame=frame, parent=parent, depth=depth)
    nodes.append(node)
    return node


def _frame_of(names: ShortNames, scripts: dict[str, int], key: Key) -> str:
    """Return the call frame of a function; `scripts` numbers the files."""
    file, line, _ = key
    script = scripts.setdefault(file, len(scripts) + 1)
    return _frame(names.label(key), script if file else 0, url(file), line - 1)


def _frame(name: str, script: int = 0, address: str = "", line: int = -1) -> str:
    """Return a call frame in JSON; lines count from 0."""
    column = 0 if script else -1
    return (
        f'{{"functionName":{quoted(name)},"scriptId":"{script}",'
        f'"url":{quoted(address)},"lineNumber":{line},"columnNumber":{column}}}'
    )


# Samples: the node on top, and for how long.
#
# Each sample is written three times, with the times (0, t, 0), because readers differ:
# V8 charges the time before a sample to the previous one, VS Code to the sample itself.


_MAX_NODES = 200_000  # calls that would need more are charged to their caller


class _Samples:
    """Samples of one thread."""

    def __init__(self, texts: SpooledTexts, thread: int) -> None:
        self.spent_us = 0
        self._thread = thread
        self._texts = texts
        self._ns = 0

    def spend(self, node: _Node, lines: Iterable[LineShare]) -> None:
        """Charge times of lines to a node, as one sample.

        Times are rounded so that no rounding errors add up.
        """
        before = us = self.spent_us
        for one in lines:
            self._ns += one.ns
            until = (self._ns + 500) // 1000
            if until != us:
                node.ticks[one.line] = node.ticks.get(one.line, 0) + until - us
                us = until
        self.spent_us = us
        if us != before:
            node.hits += us - before
            id_ = node.number
            self._texts.add((self._thread, "samples"), f",{id_},{id_},{id_}")
            self._texts.add((self._thread, "timeDeltas"), f",0,{us - before},0")


def _add_calls(
    profile: Profile, nodes: _Nodes, samples: MadeOnce[int, _Samples]
) -> None:
    """Make nodes and samples of the call tree."""
    shares = LineShares(profile)
    made: dict[int, _Node] = {}
    calls = profile.calls.nodes
    for index in depth_first(calls):
        one = calls[index]
        is_root = one.parent == NO_NODE
        parent = nodes.threads[one.thread] if is_root else made[one.parent]
        node = made[index] = nodes.add(parent.above, one.function)
        samples[one.thread].spend(node, shares.take(one))
    for (key, thread), lines in shares.rest():
        samples[thread].spend(nodes.add(nodes.threads[thread], key), lines)


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
    line: int  # 0: the whole function
    function: Key


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
        self._children: dict[tuple[_Node, Key], _Node] = {}

    def open(self, key: Key, line: int, start: int, end: int) -> None:
        """Open a slice of a function, or of a line of it."""
        self._advance(start)
        if self._open and end > self._open[-1].end:
            end = self._open[-1].end
        node = self._node(key, line)
        self._open.append(_OpenSlice(end=end, node=node, line=line, function=key))

    def close(self) -> None:
        """Close all slices."""
        self._advance(self._open[0].end if self._open else self._now)

    def _node(self, key: Key, line: int) -> _Node:
        above = self._open[-1] if self._open else None
        if above and line and above.function == key:
            return above.node
        parent = above.node if above else self._nodes.threads[self._thread]
        parent = parent.above
        node = self._children.get((parent, key))
        if node is None:
            if len(self._nodes) >= _MAX_NODES and above:
                return parent
            node = self._children[parent, key] = self._nodes.add(parent, key)
        return node

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
            node, line = self._open[-1].node, self._open[-1].line
        elif self._is_of_sums:
            return  # the thread itself was elsewhere
        else:
            node, line = self._nodes.programs[self._nodes.threads[self._thread]], 0
        self._samples.spend(node, [LineShare(line=line, ns=ns)])
