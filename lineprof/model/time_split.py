"""Each line's time split: Python, C functions, the system, waiting, and calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.records import C_SYSTEM, C_WAIT, NO_NODE, PARTS, SYSTEM, WAIT

if TYPE_CHECKING:
    from lineprof.model.profile import Profile
    from lineprof.model.records import CallTree, Key

    Place = tuple[Key, int]  # function, its line

    Sums = dict[Place, int]  # ns


# Which calls are messages between processes, and how long lines were in them.
#
# MPI and NCCL wait for a message by asking for it again and again: the thread is on
# a processor all the while, so such a wait is none that the system could tell of.


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


def line_mpi_ns(stats: Profile) -> dict[Key, dict[int, int]]:
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


class TimeSplit(NamedTuple):
    """What a line's time was: together, these are its time (ns)."""

    python_ns: int  # on a processor, in none of the others
    native_ns: int  # on a processor, in C functions that the line called
    system_ns: int  # on a processor, in the kernel, wherever it was called from
    own_wait_ns: int  # on no processor, profiled Python functions apart
    callees_ns: int  # in profiled Python functions that it or its C functions called

    @property
    def time_ns(self) -> int:
        """The line's time."""
        return (
            self.python_ns
            + self.native_ns
            + self.system_ns
            + self.own_wait_ns
            + self.callees_ns
        )


def line_time_splits(stats: Profile) -> dict[Key, dict[int, TimeSplit]]:
    """Return the parts of the time of each line that has any.

    It is {} for a profile that was not asked for them. What C functions call back
    that is not profiled is theirs; a Python function that is not profiled is the
    line's own. Where the core's rounding, or the grain of the system's clock, would
    make a part longer than what it is part of, it is as long as that.
    """
    if not stats.breakdowns:
        return {}
    parts: dict[str, Sums] = {part: {} for part in PARTS}
    for one in stats.breakdowns:
        sums, place = parts[one.part], (one.function, one.line)
        sums[place] = sums.get(place, 0) + one.ns
    native, calls = _called(stats.calls)
    found: dict[Key, dict[int, TimeSplit]] = {}
    for function in stats.functions:
        for row in function.rows:
            place = (function.key, row.line)
            if row.time_ns:
                below = min(calls.get(place, 0), row.time_ns)
                of_c = min(native.get(place, 0), row.time_ns - below)
                own = row.time_ns - below - of_c
                found.setdefault(function.key, {})[row.line] = _split(
                    own,
                    of_c,
                    below,
                    {part: parts[part].get(place, 0) for part in PARTS},
                )
    return found


def _split(own: int, of_c: int, calls: int, parts: dict[str, int]) -> TimeSplit:
    """Return the parts of a line's own time and that of its C functions."""
    waited = min(parts[WAIT], own)
    system = min(parts[SYSTEM], own - waited)
    c_waited = min(parts[C_WAIT], of_c)
    c_system = min(parts[C_SYSTEM], of_c - c_waited)
    return TimeSplit(
        python_ns=own - waited - system,
        native_ns=of_c - c_waited - c_system,
        system_ns=system + c_system,
        own_wait_ns=waited + c_waited,
        callees_ns=calls,
    )


def _called(tree: CallTree) -> tuple[Sums, Sums]:
    """Return what lines called: time in C functions, and in those of Python.

    A call from within a C function is one of the line that called that.
    """
    native: Sums = {}
    calls: Sums = {}
    lines: list[Place | None] = []  # of Python, from which each node was called
    for node in tree.nodes:
        line = None
        if node.parent != NO_NODE:
            above = tree.nodes[node.parent].function
            line = (above, node.line) if above[0] else lines[node.parent]
        lines.append(line)
        if line is not None:
            sums, ns = (
                (calls, node.inclusive_ns)
                if node.function[0]
                else (native, node.self_ns)
            )
            sums[line] = sums.get(line, 0) + ns
    return native, calls
