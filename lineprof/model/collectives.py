"""Collectives, and calls that send or receive messages between processes.

MPI and NCCL wait for a message by polling: the thread is on a processor all the while,
so the system does not count it as waiting.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

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


def line_mpi_ns(profile: Profile) -> dict[Key, dict[int, int]]:
    """Return the time (ns) in such calls of each line that has any.

    As the line's time does, it includes callees, however deep. Functions called by a
    collective are part of it; lines in a collective have no MPI time themselves. In
    recursion, a line that calls a function which is open already lacks the messages
    of that call: the call tree has them at the outermost call.
    """
    from lineprof.model.records import NO_NODE  # noqa: PLC0415  # kernprof starts without

    nodes = profile.calls.nodes
    functions = {node.function for node in nodes}
    collectives = {function for function in functions if is_collective(function)}
    if not collectives:
        return {}
    is_within = [False] * len(nodes)
    sums = [0] * len(nodes)
    for index, node in enumerate(nodes):
        is_below = node.parent != NO_NODE and is_within[node.parent]
        is_within[index] = is_below or node.function in collectives
        if is_within[index] and not is_below:
            sums[index] = node.inclusive_ns
    found: dict[Key, dict[int, int]] = {}
    for index in range(len(nodes) - 1, -1, -1):  # children before their parents
        node = nodes[index]
        if not sums[index] or node.parent == NO_NODE:
            continue
        sums[node.parent] += sums[index]
        caller = nodes[node.parent].function
        if caller[0]:  # a call path has each function once, and so each line
            lines = found.setdefault(caller, {})
            lines[node.line] = lines.get(node.line, 0) + sums[index]
    return found
