"""A profile as stacks of frames with numbers, as samplers give them.

Other than a sampler's these are whole: each nanosecond of the profile stands
in one stack. The formats that are made of stacks all read them here.
"""

from __future__ import annotations

from lineprof.call_records import NO_NODE
from lineprof.exports.shares import Shares
from lineprof.gpu_records import GRAPH, KERNEL, MEMCPY, MEMSET, NO_DEVICE, NO_PATH
from lineprof.records import UNKNOWN_THREAD
from lineprof.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.call_records import CallTree
    from lineprof.records import Key
    from lineprof.stats import LineStats

    Frame = tuple[Key, int]  # a function; the line where it goes on, or was

# A stack has no more frames: else those of a deep program take the square of it.
MOST_FRAMES = 256
_ROOTS = 56  # of these, the outermost
_LEAVES = MOST_FRAMES - _ROOTS - 1

CUT: Frame = (("", 0, "..."), 0)  # stands for the frames that are left out
NOWHERE: Frame = (("", 0, "[launched by no profiled line]"), 0)
_GPU_TIME = frozenset({KERNEL, MEMSET, GRAPH})  # what the table counts as GPU time


class Stack(Value):
    """Numbers of one leaf line, on one thread, by one way down to there.

    A call that is not from a line comes as a stack of its own, whose leaf is
    at the function's first line: it has `calls` and no time. GPU work comes
    in stacks of its own, too, one for each name and device.
    """

    frames: tuple[Frame, ...]  # (function, line), root first; the last is the leaf
    thread: int  # its index in LineStats.threads, or UNKNOWN_THREAD
    ns: int = 0  # of the leaf line itself
    hits: int = 0  # of the leaf line
    calls: int = 0  # of the leaf's function
    gpu_ns: int = 0  # of kernels, memsets and graphs that the leaf line launched
    copy_ns: int = 0  # of copies
    device: int = NO_DEVICE  # its index in Gpu.devices
    work: str = ""  # on a device: the kernel, as the compiler has it; or a direction


def stacks(stats: LineStats) -> Iterator[Stack]:
    """Yield each stack that has numbers, those below one another together.

    The sum of all `ns` of one leaf line is its own time, and of all that are
    below a call's line, with that line, what `lineprof view` shows of it, but
    where recursion counts twice. Without a call tree functions are roots, and
    their lines' times are with all that these called.
    """
    shares = Shares(stats)
    tree = stats.calls
    for index, callers in _ways(tree):
        node = tree.nodes[index]
        key, thread = node.function, node.thread
        if node.calls:
            yield Stack(
                (*callers, (key, key[1])), thread, 0, 0, node.calls, 0, 0, NO_DEVICE, ""
            )
        for line, ns, hits in shares.take(node):
            frames = (*callers, (key, line))
            yield Stack(frames, thread, ns, hits, 0, 0, 0, NO_DEVICE, "")
    called = {node.function for node in tree.nodes}
    for (key, thread), lines in shares.rest():
        for line, ns, hits in lines:
            yield Stack(((key, line),), thread, ns, hits)
    for function in stats.functions:
        if function.calls and function.key not in called:
            frames = ((function.key, function.line),)
            yield Stack(frames, UNKNOWN_THREAD, calls=function.calls)
    yield from _of_gpu(stats)


def remarks(stats: LineStats) -> Iterator[str]:
    """Yield what a reader of the stacks should know, a line each."""
    if not stats.calls.nodes:
        if any(function.cells for function in stats.functions):
            yield (
                "the profile does not say who called whom: each function is a root,"
                " and its time is with that of what it called"
            )
        return
    if stats.calls.folded:
        yield f"{stats.calls.folded} calls come without the way to them"
    if max(_depths(stats.calls)) >= MOST_FRAMES:
        yield (
            f"stacks of more than {MOST_FRAMES} frames are cut:"
            f" the outermost {_ROOTS} and the innermost {_LEAVES} stay"
        )


def thread_name(stats: LineStats, thread: int) -> str:
    """Return a thread's name and number, or "" where it is not known."""
    if thread == UNKNOWN_THREAD:
        return ""
    one = stats.threads[thread]
    return f"{one.name} ({one.native_id})"


def _depths(tree: CallTree) -> list[int]:
    """Return how many callers each node has."""
    depths: list[int] = []
    for node in tree.nodes:
        depths.append(0 if node.parent == NO_NODE else depths[node.parent] + 1)
    return depths


def _ways(tree: CallTree) -> Iterator[tuple[int, tuple[Frame, ...]]]:
    """Yield each node's index and its callers' frames, root first.

    Children follow their parent, so that one list holds the way to all.
    """
    children: dict[int, list[int]] = {}
    for index, node in enumerate(tree.nodes):
        children.setdefault(node.parent, []).append(index)
    depths = _depths(tree)
    way: list[Frame] = []
    todo = children.get(NO_NODE, [])[::-1]
    while todo:
        index = todo.pop()
        node = tree.nodes[index]
        if node.parent != NO_NODE:
            way[depths[index] - 1 :] = [(tree.nodes[node.parent].function, node.line)]
        else:
            way.clear()
        yield index, cut(way)
        todo += children.get(index, [])[::-1]


def cut(callers: Sequence[Frame]) -> tuple[Frame, ...]:
    """Return the frames above a leaf, so many that a stack may have with it."""
    if len(callers) < MOST_FRAMES:
        return tuple(callers)
    return (*callers[:_ROOTS], CUT, *callers[1 - _LEAVES :])


def _of_gpu(stats: LineStats) -> Iterator[Stack]:
    """Yield the stacks of what devices did."""
    gpu = stats.gpu
    for one in gpu.sums:
        is_copy = one.kind == MEMCPY
        if not is_copy and one.kind not in _GPU_TIME:
            continue
        thread, frames = UNKNOWN_THREAD, (NOWHERE,)
        if one.path != NO_PATH:
            path = gpu.paths[one.path]
            thread, frames = path.thread, (*cut(path.lines[:-1]), path.lines[-1])
        yield Stack(
            frames,
            thread,
            gpu_ns=0 if is_copy else one.ns,
            copy_ns=one.ns if is_copy else 0,
            device=one.device,
            work=f"{one.kind} {one.name}".rstrip(),
        )
