"""A profile as stacks of frames with numbers, as samplers give them.

Other than a sampler's these are whole: each nanosecond of the profile stands
in one stack. The formats that are made of stacks all read them here.
"""

from __future__ import annotations

from typing import NamedTuple

from lineprof.call_records import NO_NODE
from lineprof.exports.gpu_streams import Streams
from lineprof.exports.shares import Shares
from lineprof.gpu_records import GRAPH, KERNEL, MEMCPY, MEMSET, NO_DEVICE, NO_PATH
from lineprof.records import UNKNOWN_THREAD
from lineprof.views.gpu_names import activity_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.call_records import CallTree
    from lineprof.exports.shares import Share
    from lineprof.records import Key
    from lineprof.stats import Profile

    Frame = tuple[Key, int]  # a function; the line where it goes on, or was

# A stack has no more frames: else those of a deep program take the square of
# it. It is the first of these with which all stacks have so many, or the last.
_MOST_FRAMES = (256, 128, 64)
_ALL_FRAMES = 4_000_000
_ROOTS = 4  # of its frames one in so many is at the root's end

CUT: Frame = (("", 0, "..."), 0)  # stands for the frames that are left out
NOWHERE: Frame = (("", 0, "[launched by no profiled line]"), 0)
_NO_LINE: tuple[Frame, ...] = (NOWHERE,)
_GPU_TIME = frozenset({KERNEL, MEMSET, GRAPH})  # what the table counts as GPU time


class Way(NamedTuple):
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


def ways(stats: Profile) -> Iterator[Way]:
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
        yield Way(callers, node.function, node.thread, node.calls, lines, index)
    for (key, thread), lines in shares.rest():
        yield Way((), key, thread, 0, lines)
    for function in stats.functions:
        if function.calls and function.key not in called:
            yield Way((), function.key, UNKNOWN_THREAD, function.calls, ())


def stacks(stats: Profile) -> Iterator[Stack]:
    """Yield each stack that has numbers: those of `ways`, then `gpu_stacks`."""
    for way in ways(stats):
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
