"""Difference of two profiles of one run: what it counted between the two.

It is a profile itself, so all that reads profiles reads it. Counts of a run only
rise, but not the shares that exports give to call paths: those have to be computed
from the difference. Waits, timelines and the parts of lines' times are left out, and so
are peaks of memory, which are no counts. Live memory is what it grew by: below 0 where
more was freed than allocated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from lineprof.model.gpu import GPU_DEVICES, GPU_PATHS, GPU_SUMS, NO_GPU, Gpu
from lineprof.model.gpu_memory import GPU_MEMORY_SUMS, GpuMemory
from lineprof.model.host_memory import (
    MEMORY_PATHS,
    MEMORY_SUMS,
    NO_BYTES,
    NO_MEMORY,
    HostMemory,
    MemorySum,
)
from lineprof.model.merge import CallSum
from lineprof.model.profile import Profile
from lineprof.model.records import (
    CALL_NUMBERS,
    CELLS,
    NO_CALLS,
    NO_NODE,
    NODE_COLUMNS,
    UNKNOWN_THREAD,
    CallNodes,
    CallTree,
    FunctionStats,
    ThreadLine,
    node_columns,
)
from lineprof.model.relation import DEVICE, NONE, PATH, PROCESS, THREAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.model.records import Key, Process
    from lineprof.model.relation import Places

    _Cells = dict[tuple[int, int], ThreadLine]

_SUMS = ("hits", "time_ns", "await_ns", "raw_ns")  # of lines

_PATHS = len(NODE_COLUMNS) - len(CALL_NUMBERS)  # columns that are no numbers


def difference(before: Profile, after: Profile) -> Profile | None:
    """Return what `after` has more than `before`, which is of the same run.

    Its processes and threads are those of `after`. Times never fall below 0: the
    correction by the profiler's own cost may become better. Returns None if `after` is
    of another run, or if counts were set to zero in between.
    """
    if not is_same_run(before, after) or _is_reset(before, after):
        return None
    places = _places(before, after)
    earlier = {
        one.key: one._replace(thread_lines=tuple(CELLS.moved(one.thread_lines, places)))
        for one in before.functions
    }
    return Profile.from_functions(
        [_function(one, earlier.get(one.key)) for one in after.functions],
        processes=after.processes,
        threads=after.threads,
        warnings=after.warnings,
        unit=after.unit,
        gpu=_gpu(before.gpu, after.gpu, places),
        calls=_calls(before.calls, after.calls, places),
        memory=_memory(before.memory, after.memory, places),
    )


def is_same_run(before: Profile, after: Profile) -> bool:
    """Tell whether the first processes of `before` are in `after`, with their start.

    A run of any command has processes alone that others have started. Profiles that do
    not tell their processes are of no run.
    """
    processes = before.processes
    firsts = [one for one in processes if one.parent_pid is None] or processes
    known = {_identity(one) for one in after.processes}
    return bool(firsts) and known.issuperset(map(_identity, firsts))


def _identity(process: Process) -> tuple[str, int, int]:
    return (process.host, process.pid, process.start_unix_ns)


def _is_reset(before: Profile, after: Profile) -> bool:
    """Tell whether counts were set to zero: hits of a line never fall otherwise.

    A function that is not there any more was hidden by the run.
    """
    now, shown = _hits(after), {one.key for one in after.functions}
    return any(
        hits > now[place] and place[0] in shown for place, hits in _hits(before).items()
    )


def _hits(profile: Profile) -> Counter[tuple[Key, int]]:
    """Return the hits of each line, of all threads."""
    found = Counter[tuple["Key", int]]()
    for function in profile.functions:
        key = function.key
        for one in function.thread_lines:
            found[key, one.line] += one.hits
    return found


def _places(before: Profile, after: Profile) -> Places:
    """Return where processes and threads are in `after`; NONE if they are not there."""
    processes = _indexes(
        [_identity(one) for one in after.processes],
        [_identity(one) for one in before.processes],
    )
    # A number is given again when a thread has ended; the oldest comes first.
    same: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, one in enumerate(after.threads):
        same[one.process, one.native_id].append(index)
    threads = []
    for thread in before.threads:
        found = same[processes[thread.process], thread.native_id]
        threads.append(found.pop(0) if found else UNKNOWN_THREAD)
    return {PROCESS: processes.__getitem__, THREAD: threads.__getitem__}


# Lines.


def _function(after: FunctionStats, before: FunctionStats | None) -> FunctionStats:
    if before is None:
        return after
    known: _Cells = {(one.line, one.thread): one for one in before.thread_lines}
    recursive_ns = after.recursive_ns
    if recursive_ns is not None:
        recursive_ns = max(0, recursive_ns - before.total_ns)
    return after._replace(
        thread_lines=tuple(_lines(after.thread_lines, known)),
        calls=max(0, after.calls - before.calls),
        recursive_ns=recursive_ns,
    )


def _lines(lines: Sequence[ThreadLine], known: _Cells) -> Iterator[ThreadLine]:
    """Yield the lines that counted anything, with what they have more."""
    for one in lines:
        old = known.get((one.line, one.thread))
        if old is None:
            yield one
            continue
        more = {name: max(0, getattr(one, name) - getattr(old, name)) for name in _SUMS}
        if any(more.values()):
            yield one._replace(**more, min_ns=None, max_ns=None)


# Calls.


def _calls(before: CallTree, after: CallTree, places: Places) -> CallTree:
    """Return the call paths that counted anything: a sum with the negated tree."""
    total = CallSum()
    total.add(after, {})
    total.add(_negated(before), places)
    tree = total.tree()
    nodes = node_columns(tree.nodes)
    numbers = [[max(0, one) for one in column] for column in nodes.columns[_PATHS:]]
    parents = nodes.column("parent")
    is_kept = [any(row) for row in zip(*numbers)]
    for index in range(len(parents) - 1, -1, -1):  # parents come before their children
        if is_kept[index] and parents[index] != NO_NODE:
            is_kept[parents[index]] = True
    kept = [index for index, one in enumerate(is_kept) if one]
    merged = [
        one._replace(**{name: max(0, getattr(one, name)) for name in CALL_NUMBERS})
        for one in tree.merged
    ]
    if not kept and not merged:
        return NO_CALLS
    new = {old: index for index, old in enumerate(kept)} | {NO_NODE: NO_NODE}
    above, *rest = [
        [column[index] for index in kept]
        for column in (*nodes.columns[:_PATHS], *numbers)
    ]
    return CallTree(
        nodes=CallNodes(nodes.functions, ([new[one] for one in above], *rest)),
        folded=max(0, tree.folded),
        merged=tuple(one for one in merged if any(one[-len(CALL_NUMBERS) :])),
    )


def _negated(tree: CallTree) -> CallTree:
    """Return a tree with all numbers negated."""
    nodes = node_columns(tree.nodes)
    numbers = [[-one for one in column] for column in nodes.columns[_PATHS:]]
    return CallTree(
        nodes=CallNodes(nodes.functions, (*nodes.columns[:_PATHS], *numbers)),
        folded=-tree.folded,
        merged=tuple(
            one._replace(**{name: -getattr(one, name) for name in CALL_NUMBERS})
            for one in tree.merged
        ),
    )


# GPU work.


def _gpu(before: Gpu, after: Gpu, places: Places) -> Gpu:
    """Return the sums of GPU work that counted anything."""
    if not after.sums:
        return NO_GPU
    paths = _indexes(after.paths, GPU_PATHS.moved(before.paths, places))
    devices = _indexes(
        [(one.process, one.device) for one in after.devices],
        [
            (one.process, one.device)
            for one in GPU_DEVICES.moved(before.devices, places)
        ],
    )
    moves: Places = {PATH: paths.__getitem__, DEVICE: devices.__getitem__}
    known = {GPU_SUMS.identity(one): one for one in GPU_SUMS.moved(before.sums, moves)}
    sums = []
    for one in after.sums:
        old = known.get(GPU_SUMS.identity(one))
        if old is not None:
            one = one._replace(  # noqa: PLW2901  # the same work, less the old
                count=max(0, one.count - old.count),
                ns=max(0, one.ns - old.ns),
                bytes=max(0, one.bytes - old.bytes),
            )
        if one.count or one.ns:
            sums.append(one)
    return Gpu(
        paths=after.paths,
        sums=tuple(sums),
        devices=after.devices,
        memory=_gpu_memory(before.memory, after.memory, moves),
    )


def _gpu_memory(before: GpuMemory, after: GpuMemory, moves: Places) -> GpuMemory:
    """Return the blocks that were allocated or freed in between, without peaks."""
    moved = GPU_MEMORY_SUMS.moved(before.sums, moves)
    known = {GPU_MEMORY_SUMS.identity(one): one for one in moved}
    sums = []
    for one in after.sums:
        old = known.get(GPU_MEMORY_SUMS.identity(one))
        more = {
            name: getattr(one, name) - (getattr(old, name) if old else 0)
            for name in ("allocs", "alloc_bytes", "freed_bytes")
        }
        sums.append(one._replace(peak_bytes=0, **more))
    return GpuMemory(sums=tuple(sums))


# Memory.


def _memory(before: HostMemory, after: HostMemory, places: Places) -> HostMemory:
    """Return the blocks that were allocated or freed in between."""
    paths = _indexes(after.paths, MEMORY_PATHS.moved(before.paths, places))
    moved = MEMORY_SUMS.moved(before.sums, {PATH: paths.__getitem__})
    known = {one.path: one for one in moved}
    sums = []
    for one in after.sums:
        old = known.get(one.path, NO_BYTES)
        more = MemorySum(
            path=one.path,
            allocs=max(0, one.allocs - old.allocs),
            alloc_bytes=max(0, one.alloc_bytes - old.alloc_bytes),
            freed_bytes=max(0, one.freed_bytes - old.freed_bytes),
            temp_bytes=max(0, one.temp_bytes - old.temp_bytes),
            peak_bytes=0,
        )
        if more.allocs or more.freed_bytes:
            sums.append(more)
    return HostMemory(paths=after.paths, sums=tuple(sums)) if sums else NO_MEMORY


def _indexes(places: Sequence[object], wanted: Sequence[object]) -> list[int]:
    """Return the index of each wanted value in `places`, NONE if it is not there."""
    known = {one: index for index, one in enumerate(places)}
    return [known.get(one, NONE) for one in wanted]
