"""Which calls are messages between processes, and how long lines were in them.

MPI and NCCL wait for a message by asking for it again and again: the thread is on
a processor all the while, so such a wait is none that the system could tell of.
"""

from __future__ import annotations

from lineprof.call_records import NO_NODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.records import Key
    from lineprof.stats import Profile

TORCH = "torch/distributed/distributed_c10d.py"  # the end of its path
_OF_C = (
    "mpi4py.MPI.",
    "cupy_backends.cuda.libs.nccl.",
    "cupy.cuda.nccl.",
    "NcclCommunicator.",  # the same, where methods do not tell their module
)


def is_torch(file: str) -> bool:
    """Tell whether `file` is the one with torch.distributed's own collectives."""
    return file.endswith(TORCH) and file[: -len(TORCH)][-1:] in {"", "/"}


def is_collective(key: Key) -> bool:
    """Tell whether a function is a collective, or sends or receives a message."""
    file, _, name = key
    if not file:
        return name.startswith(_OF_C)
    return is_torch(file) and not name.startswith("<")  # no import is one


def mpi_of_lines(stats: Profile) -> dict[Key, dict[int, int]]:
    """Return the time (ns) of each line that was in such calls for any.

    As the line's time does, it counts what the line called, however deep. What a
    collective calls in turn is a part of it; lines in it have none themselves.
    In recursion the lines that call a function again, while it is under way, lack
    what that call sent: the call tree has it at the outermost call.
    """
    nodes = stats.calls.nodes
    functions = {node.function for node in nodes}
    wanted = {function for function in functions if is_collective(function)}
    if not wanted:
        return {}
    within = [False] * len(nodes)
    sums = [0] * len(nodes)
    for place, node in enumerate(nodes):
        below = node.parent != NO_NODE and within[node.parent]
        within[place] = below or node.function in wanted
        if within[place] and not below:
            sums[place] = node.inclusive_ns
    found: dict[Key, dict[int, int]] = {}
    for place in range(len(nodes) - 1, -1, -1):  # children before their parents
        node = nodes[place]
        if not sums[place] or node.parent == NO_NODE:
            continue
        sums[node.parent] += sums[place]
        caller = nodes[node.parent].function
        if caller[0]:  # a way has each function once, and so each line
            lines = found.setdefault(caller, {})
            lines[node.line] = lines.get(node.line, 0) + sums[place]
    return found
