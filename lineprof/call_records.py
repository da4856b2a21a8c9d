"""Who called whom, as frozen values: a tree of calls, recursion folded.

Times are integers in nanoseconds (ns); nothing here touches a file or a clock.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.records import Key

NO_NODE = -1  # called from outside of every profiled function


class CallNode(NamedTuple):
    """One function as it was called from one line, by one way down to there.

    A way has each function once: a call of one that is on it already is a leaf
    below its caller, and what that calls in turn is below the node on the way.
    So recursion makes no deeper tree, and the edge from a line to what it calls
    is the sum of the nodes with that line and that function.
    """

    parent: int  # its index in CallTree.nodes, below this one's; or NO_NODE
    line: int  # of the parent, from where it was called; 0 in C, and for a root
    function: Key  # what was called; of C: ("", 0, name)
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    calls: int  # a generator's steps after its first are none
    primitive_calls: int  # of these: while no other call of the function was open
    self_ns: int  # in its own lines, without profiled functions that these called
    total_ns: int  # with these; of primitive calls' time alone: recursion counts once
    inclusive_ns: int  # with these, of every call, however deep in recursion


class CallTree(NamedTuple):
    """All calls of profiled functions; without any, it is empty.

    These hold to the ns (see `snapshot_sums`):

    - The sum of all nodes' `self_ns` is the time in profiled functions, that of a
      function's nodes the own time of its lines.
    - A function's nodes' `total_ns` are, together, the function's total; where
      nobody called it, so are the `self_ns` of all that is below, with its own.
    - The `inclusive_ns` of all calls from a line are the line's time but for its
      own, which is not below 0.

    Where greenlets took turns, who called whom is partly a guess: lines may have
    called more than they took.
    """

    nodes: tuple[CallNode, ...] = ()  # parents before their children
    folded: int = 0  # calls whose way there was not kept, for there were too many


NO_CALLS = CallTree()
