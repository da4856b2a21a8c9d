"""Collectives, and calls that send or receive messages between processes.

MPI and NCCL wait for a message by polling: the thread is on a processor all the while,
so the system does not count it as waiting.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode, Key

_TORCH_FILE = "torch/distributed/distributed_c10d.py"  # the end of its path

_C_PREFIXES = (
    "mpi4py.MPI.",
    "cupy_backends.cuda.libs.nccl.",
    "cupy.cuda.nccl.",
    "NcclCommunicator.",  # of cupy, if the method does not tell its module
)


def is_torch(file: str) -> bool:
    """Tell whether `file` is the one with torch.distributed's collectives."""
    before = file.removesuffix(_TORCH_FILE)
    return before != file and before[-1:] in {"", "/"}


def is_collective(key: Key) -> bool:
    """Tell whether a function is a collective, or sends or receives a message."""
    file, _, name = key
    if not file:
        return name.startswith(_C_PREFIXES)
    return is_torch(file) and not name.startswith("<")  # <module> is the import


_TOGETHER = frozenset(  # collectives that no rank leaves before all have come
    (
        *("barrier", "allreduce", "allgather", "allgatherv"),
        *("alltoall", "alltoallv", "alltoallw", "reduce_scatter"),
    )
)


def ends_together(key: Key) -> bool:
    """Tell whether a function is a collective that all ranks leave at one time.

    Those of torch but its barrier may return before the ranks have met, as all of NCCL
    do.
    """
    file, _, name = key
    called = name.rpartition(".")[2].lower()
    if file:
        return is_torch(file) and name == "barrier"
    return name.startswith("mpi4py.MPI.") and called in _TOGETHER


def line_mpi_ns(profile: Profile) -> dict[Key, dict[int, int]]:
    """Return the time (ns) in such calls of each line that has any.

    As the line's time does, it includes callees, however deep. Functions called by a
    collective are part of it; lines in a collective have no MPI time themselves. In
    recursion, a line that calls a function which is open already lacks the messages
    of that call: the call tree has them at the outermost call.
    """
    from lineprof.model.records import NO_NODE  # noqa: PLC0415  # kernprof starts without

    nodes = profile.calls.nodes
    sums = node_mpi_ns(nodes)
    found: dict[Key, dict[int, int]] = {}
    for node, ns in zip(nodes, sums):
        if not ns or node.parent == NO_NODE:
            continue
        caller = nodes[node.parent].function
        if caller[0]:  # a call path has each function once, and so each line
            lines = found.setdefault(caller, {})
            lines[node.line] = lines.get(node.line, 0) + ns
    for one in profile.calls.merged:  # which lines are further out is not known
        if one.caller is not None and one.caller[0] and is_collective(one.function):
            lines = found.setdefault(one.caller, {})
            lines[one.line] = lines.get(one.line, 0) + one.inclusive_ns
    return found


def node_mpi_ns(nodes: Sequence[CallNode]) -> list[int]:
    """Return the time (ns) in such calls of each node of a call tree.

    It includes that of all nodes below. Nodes below a collective have none: that time
    is the collective's.
    """
    from lineprof.model.records import NO_NODE, node_columns  # noqa: PLC0415

    columns = node_columns(nodes)
    collectives = {i for i, key in enumerate(columns.functions) if is_collective(key)}
    sums = [0] * len(columns)
    if not collectives:
        return sums
    is_within = [False] * len(columns)
    parents = columns.column("parent")
    called, inclusive = columns.column("function"), columns.column("inclusive_ns")
    for index, parent in enumerate(parents):
        is_below = parent != NO_NODE and is_within[parent]
        is_within[index] = is_below or called[index] in collectives
        if is_within[index] and not is_below:
            sums[index] = inclusive[index]
    for index in range(len(sums) - 1, -1, -1):  # children before their parents
        parent = parents[index]
        if parent != NO_NODE:
            sums[parent] += sums[index]
    return sums
