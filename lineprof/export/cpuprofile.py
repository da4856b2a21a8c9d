"""Profiles in V8's format, for Chrome's developer tools and VS Code.

The format is "Profiler.Profile" of the Chrome DevTools Protocol. One hit and one tick
are a microsecond here, so that readers show times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.export.encoding import SpooledTexts, quoted, url
from lineprof.export.selection import SUMS_NAME
from lineprof.export.stacks import (
    LineShare,
    LineShares,
    remarks_of_calls,
    thread_name,
)
from lineprof.export.timeline import MAX_DEPTH, remarks_of_traces
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
    nodes, texts = Nodes(profile, names_of_profile(profile)), SpooledTexts()
    try:
        samples_of = _trace_samples if profile.traces else _call_samples
        keys, end_us = samples_of(profile, nodes, texts)
        yield b'{"nodes":['
        yield from nodes.chunks()
        yield f'],\n"startTime":0,"endTime":{end_us}'.encode()
        for array in ("samples", "timeDeltas"):
            yield f',\n"{array}":['.encode()
            comma = False
            for key in keys:
                for chunk in texts.take((key, array)):
                    yield chunk if comma else chunk[1:]
                    comma = comma or bool(chunk)
            yield b"]"
        yield b"}\n"
    finally:
        texts.close()


def remarks(profile: Profile) -> Iterator[str]:
    """Yield how the file differs from the profile, one line each."""
    if not profile.traces:
        yield (
            "the run had no --trace: the times are right, but the order in the"
            " timeline is not that of time"
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


ROOT = 1  # the root's number

_CHUNK = 4096  # nodes


class Nodes:
    """Nodes by number, from 1 on."""

    def __init__(self, profile: Profile, names: ShortNames) -> None:
        self._profile = profile
        self._names = names
        self._children: list[list[int]] = []
        self._parents: list[int] = []
        self._depths: list[int] = []
        self._frames: list[str] = []
        self._ticks: list[dict[int, int]] = []  # us of each line
        self._hits: list[int] = []  # us
        self._of_function: dict[Key, str] = {}
        self._scripts: dict[str, int] = {}
        self._threads: dict[int, int] = {}
        self._programs: dict[int, int] = {}
        self._new(0, _frame("(root)"))

    def __len__(self) -> int:
        return len(self._frames)

    def thread(self, thread: int) -> int:
        """Return the node of a thread; the root if there is only one thread."""
        if len(self._profile.threads) < 2:  # noqa: PLR2004  # nothing to tell apart
            return ROOT
        node = self._threads.get(thread)
        if node is None:
            name = "All threads"
            if thread != UNKNOWN_THREAD:
                name = thread_name(self._profile, thread)
            node = self._threads[thread] = self._new(ROOT, _frame(name))
        return node

    def is_of_sums(self, thread: int) -> bool:
        """Tell whether a thread only shows the sums of another one's short calls."""
        if thread == UNKNOWN_THREAD:
            return False
        return self._profile.threads[thread].name.endswith(SUMS_NAME)

    def program(self, thread: int) -> int:
        """Return the node of a thread's time outside of profiled functions."""
        parent = self.thread(thread)
        node = self._programs.get(parent)
        if node is None:
            node = self._programs[parent] = self._new(parent, _frame("(program)"))
        return node

    def above(self, node: int) -> int:
        """Return the node to put callees of `node` below.

        That is `node`, or its parent if `node` is too deep for readers, which recurse.
        """
        if self._depths[node - 1] < MAX_DEPTH:
            return node
        return self._parents[node - 1]

    def add(self, parent: int, key: Key) -> int:
        """Return a new node of a function; `parent` is from `above`."""
        frame = self._of_function.get(key)
        if frame is None:
            file, line, _ = key
            script = self._scripts.setdefault(file, len(self._scripts) + 1)
            frame = self._of_function[key] = _frame(
                self._names.label(key), script if file else 0, url(file), line - 1
            )
        return self._new(parent, frame)

    def hit(self, node: int, us: int) -> None:
        """Charge a time (us) to a node."""
        self._hits[node - 1] += us

    def ticks(self, node: int) -> dict[int, int]:
        """Return a node's time (us) by line, to be changed; 0 is the whole function."""
        return self._ticks[node - 1]

    def chunks(self) -> Iterator[bytes]:
        """Yield all nodes in JSON."""
        chunk: list[str] = []
        for index, frame in enumerate(self._frames):
            children = ",".join(map(str, self._children[index]))
            ticks = ",".join(
                f'{{"line":{line},"ticks":{us}}}'
                for line, us in sorted(self._ticks[index].items())
                if line
            )
            chunk.append(
                f'{"," if index else ""}\n{{"id":{index + 1},"callFrame":{frame},'
                f'"hitCount":{self._hits[index]},"children":[{children}]'
                + (f',"positionTicks":[{ticks}]}}' if ticks else "}")
            )
            if len(chunk) == _CHUNK:
                yield "".join(chunk).encode()
                chunk = []
        yield "".join(chunk).encode()

    def _new(self, parent: int, frame: str) -> int:
        self._children.append([])
        self._frames.append(frame)
        self._ticks.append({})
        self._hits.append(0)
        self._parents.append(parent)
        number = len(self._frames)
        self._depths.append(self._depths[parent - 1] + 1 if parent else 0)
        if parent:
            self._children[parent - 1].append(number)
        return number


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


class _Thread:
    """Samples of one thread."""

    def __init__(self, thread: int, nodes: Nodes, texts: SpooledTexts) -> None:
        self.spent_us = 0
        self._thread = thread
        self._nodes = nodes
        self._texts = texts
        self._ns = 0

    def spend(self, node: int, lines: Iterable[LineShare]) -> None:
        """Charge times of lines to a node, as one sample.

        Times are rounded so that no rounding errors add up.
        """
        ns, before = self._ns, self.spent_us
        us = before
        ticks = self._nodes.ticks(node)
        for one in lines:
            ns += one.ns
            until = (ns + 500) // 1000
            if until != us:
                ticks[one.line] = ticks.get(one.line, 0) + until - us
                us = until
        self._ns, self.spent_us = ns, us
        if us != before:
            self._nodes.hit(node, us - before)
            self._texts.add((self._thread, "samples"), f",{node},{node},{node}")
            self._texts.add((self._thread, "timeDeltas"), f",0,{us - before},0")


class _Samples:
    """Samples of all threads, and their nodes."""

    def __init__(self, nodes: Nodes, texts: SpooledTexts) -> None:
        self.nodes = nodes
        self._texts = texts
        self._threads: dict[int, _Thread] = {}

    def of(self, thread: int) -> _Thread:
        """Return the samples of a thread."""
        found = self._threads.get(thread)
        if found is None:
            found = _Thread(thread, self.nodes, self._texts)
            self._threads[thread] = found
        return found

    def end(self) -> tuple[list[int], int]:
        """Return the threads in order, and the end of the last one (us)."""
        spent = sum(one.spent_us for one in self._threads.values())
        return sorted(self._threads), spent


def _call_samples(
    profile: Profile, nodes: Nodes, texts: SpooledTexts
) -> tuple[list[int], int]:
    """Make nodes and samples of the call tree; return the threads, and the end (us)."""
    samples, shares = _Samples(nodes, texts), LineShares(profile)
    numbers: dict[int, int] = {}
    calls = profile.calls.nodes
    for index in depth_first(calls):
        one = calls[index]
        is_root = one.parent == NO_NODE
        parent = nodes.thread(one.thread) if is_root else numbers[one.parent]
        parent = nodes.above(parent)
        node = numbers[index] = nodes.add(parent, one.function)
        samples.of(one.thread).spend(node, shares.take(one))
    for (key, thread), lines in shares.rest():
        samples.of(thread).spend(nodes.add(nodes.thread(thread), key), lines)
    return samples.end()


def _trace_samples(
    profile: Profile, nodes: Nodes, texts: SpooledTexts
) -> tuple[list[int], int]:
    """Make nodes and samples of the traces; return the threads, and the end (us)."""
    samples = _Samples(nodes, texts)
    tracks: dict[int, _Track] = {}
    clock = Clock(profile)
    for trace in profile.traces:
        zero = clock.zero_of(trace)
        for one in trace:
            start = zero + one.start_ns
            track = tracks.get(one.thread)
            if track is None:
                thread = samples.of(one.thread)
                track = tracks[one.thread] = _Track(one.thread, nodes, thread, start)
            track.open(one.function, one.line, start, start + one.ns)
    for track in tracks.values():
        track.close()
    return samples.end()


class _OpenSlice(NamedTuple):
    """A slice that has begun."""

    end: int  # ns
    node: int
    line: int  # 0: the whole function
    function: Key


class _Track:
    """Open slices of one thread."""

    def __init__(self, thread: int, nodes: Nodes, samples: _Thread, start: int) -> None:
        self._thread = thread
        self._is_of_sums = nodes.is_of_sums(thread)
        self._nodes = nodes
        self._samples = samples
        self._now = start
        self._open: list[_OpenSlice] = []
        self._children: dict[tuple[int, Key], int] = {}  # by parent and function

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

    def _node(self, key: Key, line: int) -> int:
        above = self._open[-1] if self._open else None
        if above and line and above.function == key:
            return above.node
        parent = above.node if above else self._nodes.thread(self._thread)
        parent = self._nodes.above(parent)
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
            node, line = self._nodes.program(self._thread), 0
        self._samples.spend(node, [LineShare(line=line, ns=ns)])
