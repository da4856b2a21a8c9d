"""Records of a profile: processes, threads, functions, lines, calls and waits.

All are frozen values. Times are integers in nanoseconds (ns).
"""

# Without annotations from __future__: NamedTuple would compile the text of each field,
# which takes 2 ms at the end of every run.
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from operator import attrgetter
from typing import Any, NamedTuple, overload

from lineprof.model.relation import (
    FILE,
    FUNCTION,
    NONE,
    PROCESS,
    THREAD,
    Field,
    Record,
    Relation,
    greatest,
    least,
    naturals,
    others,
    refers,
    summed,
)

Key = tuple[str, int, str]  # of a function: file, first line, qualified name

UNKNOWN_THREAD = NONE


def maker_of(
    record: type[Record], names: tuple[str, ...]
) -> Callable[[Iterable[object]], Record]:
    """Return a function that makes a record from the values of the fields `names`.

    For many records: keywords take three times as long.
    """
    if record._fields == names:  # type: ignore[attr-defined]
        return record._make  # type: ignore[attr-defined,no-any-return]
    return lambda values: record(**dict(zip(names, values)))


class Process(NamedTuple):
    """One process that was measured."""

    pid: int
    host: str
    rank: int | None  # in a parallel program; None if the program runs alone
    argv: tuple[str, ...]
    cwd: str
    python: str
    start_unix_ns: int  # since the epoch
    wall_ns: int
    core: str  # settrace | monitoring | "" if unknown
    core_reason: str
    clock: str
    overhead_ns: int  # the profiler's estimated cost, not in the lines' times
    version: str  # of lineprof
    exit: str  # "" (normal) | exception | SIGTERM ...
    cpu_ns: int | None = None  # on processors, of all threads; None if unknown
    is_whole: bool = False  # all functions of the program, named by nobody
    ranks: int | None = None  # those of the parallel program; None if alone or unknown
    # The time since the epoch less CLOCK_MONOTONIC, at the start; None if unknown.
    unix_offset_ns: int | None = None
    parent_pid: int | None = None  # of a child in a run; None for the first process


PROCESSES = Relation(
    "processes",
    Process,
    "a process",
    (
        *naturals("pid"),
        *others(str, "host"),
        *naturals("rank", optional=True),
        *others(str, "argv", "cwd", "python"),  # `argv` is a JSON list
        *others(int, "start_unix_ns"),
        *naturals("wall_ns"),
        *others(str, "core", "core_reason", "clock"),
        *others(int, "overhead_ns"),
        *others(str, "version", "exit"),
        *others(int, "cpu_ns", optional=True, added=True),
        *others(bool, "is_whole", optional=True, added=True, absent=False),
        *naturals("ranks", optional=True, added=True),
        *others(int, "unix_offset_ns", optional=True, added=True),
        *naturals("parent_pid", optional=True, added=True),
    ),
)


class Thread(NamedTuple):
    """One thread that ran profiled lines."""

    process: int  # its index in Profile.processes
    native_id: int
    name: str


THREADS = Relation(
    "threads",
    Thread,
    "a thread",
    (refers(PROCESS), *others(int, "native_id"), *others(str, "name")),
)


class ThreadLine(NamedTuple):
    """One line as one thread ran it."""

    line: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    hits: int
    time_ns: int
    await_ns: int = 0  # suspended in an await, not in time_ns
    raw_ns: int = 0  # time_ns before the profiler's own cost was subtracted
    min_ns: int | None = None  # of the shortest execution; None if unknown
    max_ns: int | None = None  # of the longest execution; None if unknown


CELLS = Relation(
    "cells",
    ThreadLine,
    "a line",
    (
        *others(int, "line"),
        refers(THREAD),
        *others(int, "hits", "time_ns", "await_ns", "raw_ns", add=sum),
        *others(int, "min_ns", optional=True, add=least),
        *others(int, "max_ns", optional=True, add=greatest),
    ),
)

# The numbers of a line, and how they are added up.
LINE_NUMBERS = {field.name: field.add for field in CELLS.fields if field.add}


class CellColumns(NamedTuple):
    """The measured lines of many functions, a column for each field of `ThreadLine`."""

    keys: tuple[Key, ...]  # of the functions
    function: Sequence[int]  # index in `keys`
    line: Sequence[int]
    thread: Sequence[int]
    hits: Sequence[int]
    time_ns: Sequence[int]
    await_ns: Sequence[int]
    raw_ns: Sequence[int]
    min_ns: Sequence[int | None]
    max_ns: Sequence[int | None]

    def selected(self, chosen: Sequence[bool]) -> "CellColumns":
        """Return the rows that are `chosen`."""
        columns: Any = {
            name: [*compress(getattr(self, name), chosen)]
            for name in self._fields
            if name != "keys"
        }
        return self._replace(**columns)


class LineTotals(NamedTuple):
    """One line, summed over its threads: the fields of `ThreadLine` but its thread."""

    line: int
    hits: int = 0
    time_ns: int = 0
    await_ns: int = 0
    raw_ns: int = 0
    min_ns: int | None = None
    max_ns: int | None = None

    def known(self) -> dict[str, int]:
        """Return the numbers that are known, by their names; `line` is one of them."""
        return {name: one for name, one in self._asdict().items() if one is not None}


class FunctionStats(NamedTuple):
    """One profiled function."""

    file: str
    name: str  # qualified
    line: int  # the first one, that of its first decorator
    thread_lines: tuple[ThreadLine, ...]
    calls: int = 0
    recursive_ns: int | None = None  # wall time counted once, if it ever recursed

    @property
    def key(self) -> Key:
        """The function's identity: (file, line, name)."""
        return (self.file, self.line, self.name)

    @property
    def rows(self) -> tuple[LineTotals, ...]:
        """The measured lines in order, each summed over its threads."""
        lines: dict[int, list[ThreadLine]] = {}
        for one in self.thread_lines:
            lines.setdefault(one.line, []).append(one)
        return tuple(_line_totals(lines[line]) for line in sorted(lines))

    @property
    def line_ns(self) -> dict[int, int]:
        """Time of each measured line (ns), summed over its threads."""
        times: dict[int, int] = {}
        for one in self.thread_lines:
            times[one.line] = times.get(one.line, 0) + one.time_ns
        return times

    @property
    def hottest_line(self) -> int | None:
        """The line that took most time, callees included; None if no line took any."""
        times = self.line_ns
        if not any(times.values()):
            return None
        return max(times, key=lambda line: (times[line], -line))

    @property
    def total_ns(self) -> int:
        """Time in the function (ns): the sum of its lines; in recursion, wall time."""
        if self.recursive_ns is not None:
            return self.recursive_ns
        return sum(one.time_ns for one in self.thread_lines)


FUNCTIONS = Relation(
    "functions",
    FunctionStats,
    "a function",
    (
        refers(FILE),
        *others(str, "name"),
        Field("line", column="first_line"),
        *others(int, "calls"),
        *others(int, "recursive_ns", optional=True),
    ),
)


class Cut(NamedTuple):
    """The part of the run in which one function was counted in one process.

    Times are in ns since the start of measuring; `Process.wall_ns` is the whole run.
    """

    function: Key
    process: int  # its index in Profile.processes
    until_ns: int | None  # None: to the end
    from_ns: int = 0
    # Then lines were no longer counted, but calls; time since then is on the line at
    # which the function begins. None: lines were counted as long as the function.
    lines_until_ns: int | None = None


CUTS = Relation(
    "cuts",
    Cut,
    "a cut",
    (
        refers(FUNCTION),
        refers(PROCESS),
        *naturals("from_ns"),
        *naturals("until_ns", optional=True),
        *naturals("lines_until_ns", optional=True, added=True),
    ),
)


class SourceFile(NamedTuple):
    """The text of a source file as it was when the program ran."""

    file: str
    text: str | None  # None if unknown
    sha256: str  # hexadecimal, of the text in UTF-8; "" if unknown

    @property
    def is_left_out(self) -> bool:
        """Whether the text is empty because the text that ran could not be had."""
        return self.text == "" and not self.sha256


# Call trees.


NO_NODE = NONE  # called from outside of every profiled function

DEEPER: Key = ("", 0, "deeper calls")
"""The function of nodes for calls whose own call paths were not kept.

Such a node is a leaf below the deepest node that was kept, and has the time of all
these calls. It is no function: callers, lines and functions know these calls by
`CallTree.merged`.
"""


class CallNode(NamedTuple):
    """One function as it was called from one line, at the end of one call path.

    A call path has each function once: a call of a function that is on the path
    already is a leaf below its caller, and the calls that it makes are below the node
    on the path. So recursion makes no deeper tree, and the edge from a line to its
    callee is the sum of the nodes with that line and that function.
    """

    parent: int  # its index in CallTree.nodes, below this node's; or NO_NODE
    line: int  # of the parent: the calling line; 0 if that is in C, and for a root
    function: Key  # the called one; of C: ("", 0, name)
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    calls: int  # of a generator only its first step counts
    primitive_calls: int  # those while no other call of the function was open
    self_ns: int  # in its own lines, without profiled functions that these called
    total_ns: int  # with callees, of primitive calls alone: recursion counts once
    inclusive_ns: int  # with callees, of every call, however deep in recursion


# Numbers of calls, which are added up.
CALL_NUMBERS = ("calls", "primitive_calls", "self_ns", "total_ns", "inclusive_ns")

NODE_COLUMNS = ("parent", "line", "function", "thread", *CALL_NUMBERS)

CALL_NODES = Relation(
    "call_nodes",
    CallNode,
    "a node",
    (
        refers("node", "parent", optional=True),
        refers(FUNCTION),
        *naturals("line"),
        refers(THREAD),
        *summed(*CALL_NUMBERS),
    ),
)


class CallNodes(Sequence[CallNode]):
    """The nodes of a large call tree: columns of numbers, which take less memory.

    The records are made when one of them is first asked for.
    """

    __slots__ = ("_made", "columns", "functions")

    def __init__(
        self, functions: tuple[Key, ...], columns: tuple[Sequence[int], ...]
    ) -> None:
        """Take columns in the order of `NODE_COLUMNS`.

        In the column of functions are indexes of `functions`.
        """
        self.functions = functions
        self.columns = columns
        self._made: tuple[CallNode, ...] | None = None

    def column(self, name: str) -> Sequence[int]:
        """Return the column `name` of `NODE_COLUMNS`."""
        return self.columns[NODE_COLUMNS.index(name)]

    @property
    def callers(self) -> list[int]:
        """The indexes of the callers' functions; NO_NODE for roots."""
        functions = self.column("function")
        return [
            NO_NODE if parent == NO_NODE else functions[parent]
            for parent in self.column("parent")
        ]

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.columns[0])

    @overload
    def __getitem__(self, index: int) -> CallNode: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[CallNode, ...]: ...
    def __getitem__(self, index: int | slice) -> CallNode | tuple[CallNode, ...]:
        """Return one node, or several."""
        return self._records()[index]

    def __iter__(self) -> Iterator[CallNode]:
        """Yield all nodes."""
        return iter(self._records())

    def __eq__(self, other: object) -> bool:
        """Tell whether `other` has the same nodes."""
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return self._records() == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # as lists have none

    def __repr__(self) -> str:
        """Return what a tuple of the nodes returns."""
        return repr(self._records())

    def __reduce__(self) -> tuple[type["CallNodes"], tuple[object, ...]]:
        """Return what a pickle has: no records."""
        return CallNodes, (self.functions, self.columns)

    def _records(self) -> tuple[CallNode, ...]:
        if self._made is None:
            parents, lines, functions, *rest = self.columns
            keys = map(self.functions.__getitem__, functions)
            rows = zip(parents, lines, keys, *rest)
            self._made = tuple(map(maker_of(CallNode, NODE_COLUMNS), rows))
        return self._made


class MergedCall(NamedTuple):
    """All calls of one function from one line whose call paths were not kept."""

    caller: Key | None  # None: from outside of every profiled function
    line: int  # of the caller; 0 if that is in C
    function: Key  # the called one
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    calls: int
    primitive_calls: int
    self_ns: int
    total_ns: int
    inclusive_ns: int


MERGED_CALLS = Relation(
    "merged_calls",
    MergedCall,
    "a merged call",
    (
        refers(FUNCTION, "caller", optional=True),
        *naturals("line"),
        refers(FUNCTION),
        refers(THREAD),
        *summed(*CALL_NUMBERS),
    ),
)


class CallTree(NamedTuple):
    """All calls of profiled functions; the default is an empty tree.

    These sums hold to the ns (see `lineprof.snapshot.calls`):

    - The sum of all nodes' `self_ns` is the time in profiled functions; the sum over
      the nodes of one function, and its merged calls, is the self time of its lines.
    - The sum of `total_ns` over the nodes of a function, and its merged calls, is the
      function's total; for a root, so is the sum of `self_ns` over it and all nodes
      below.
    - The `inclusive_ns` of all calls from a line are the line's time without its
      self time, which is not below 0.

    If greenlets took turns before they were noticed, callers are partly a guess: the
    calls of a line may then take longer than the line.
    """

    nodes: Sequence[CallNode] = ()  # parents before their children
    folded: int = 0  # calls whose call path was dropped, as there were too many
    merged: tuple[MergedCall, ...] = ()  # these calls, one record for each edge


NO_CALLS = CallTree()


def called_functions(tree: CallTree) -> set[Key]:
    """Return the functions that `tree` has calls of, and possibly others."""
    return {
        *node_columns(tree.nodes).functions,
        *[one.function for one in tree.merged],
    } - {DEEPER}


def node_columns(nodes: Sequence[CallNode]) -> CallNodes:
    """Return `nodes` as columns, which sums are made of without a record of each."""
    if isinstance(nodes, CallNodes):
        return nodes
    indexes: dict[Key, int] = {}
    columns = {name: [getattr(node, name) for node in nodes] for name in NODE_COLUMNS}
    columns["function"] = [
        indexes.setdefault(key, len(indexes)) for key in columns["function"]
    ]
    return CallNodes(tuple(indexes), tuple(columns.values()))


# Waits: off-CPU time by cause.


GIL = "gil"  # another thread held the interpreter's lock

LOCK = "lock"  # a lock of the program: of threading, of a library

SLEEP = "sleep"

IO = "io"  # read, write, poll, a socket

RUNNABLE = "ready"  # it could run, but other work had the processors

OTHER = "other"  # blocked in the kernel: for a child process, or for an unknown cause

CAUSES = (GIL, LOCK, SLEEP, IO, RUNNABLE, OTHER)


class Wait(NamedTuple):
    """Time that one thread was off-CPU for one cause, on one line.

    As the line's time does, it includes callees. A line's time less its waits is its
    time on a processor.
    """

    function: Key
    line: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    cause: str  # one of CAUSES
    ns: int


def _of_lines(name: str, record: type, owner: str, by: str) -> Relation:
    """Return the relation of times of lines by cause, or by part."""
    fields = (
        refers(FUNCTION),
        *naturals("line"),
        refers(THREAD),
        *others(str, by),
        *summed("ns"),
    )
    return Relation(name, record, owner, fields)


WAITS = _of_lines("waits", Wait, "a wait", by="cause")


# Breakdown of lines: time of the line itself, and of C functions that it called.


WAIT = "wait"  # off-CPU

SYSTEM = "system"  # on a processor, in the kernel

C_WAIT = "c_wait"  # the same in C functions

C_SYSTEM = "c_system"

PARTS = (WAIT, SYSTEM, C_WAIT, C_SYSTEM)


class LineBreakdown(NamedTuple):
    """Time of one part of one line on one thread, without profiled functions.

    Unlike a `Wait`, it excludes profiled Python functions that the line called. A
    profile has breakdowns only if the run asked for them; then it has at least one,
    if need be of 0 ns.
    """

    function: Key
    line: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    part: str  # one of PARTS
    ns: int


OWN_TIMES = _of_lines("own_times", LineBreakdown, "an own time", by="part")


# Ranks: see `lineprof.model.rank_lines`.


class RankRun(NamedTuple):
    """One rank of a parallel program: its run, and the lines that it ran."""

    rank: int
    wall_ns: int  # of its longest process
    mpi_ns: int  # in collectives and messages, called from profiled lines
    batches: tuple[Any, ...] = ()  # of model.timelines.Batch

    @property
    def lines(self) -> int:
        """The number of its lines."""
        return sum(batch.events for batch in self.batches)


RANK_RUNS = Relation(
    "rank_runs", RankRun, "a rank", naturals("rank", "lines", "wall_ns", "mpi_ns")
)


class Ranks(NamedTuple):
    """The lines as each rank ran them, in packed columns; the default is none."""

    places: tuple[tuple[Key, int], ...] = ()  # function, its line; 0: the function
    runs: tuple[RankRun, ...] = ()  # in the order of the ranks


NO_RANKS = Ranks()


def ranked(processes: Sequence[Process]) -> list[Process]:
    """Return the processes of one file, children without a rank with the only one.

    A process that nobody in the run started, and that has no rank, keeps none.
    """
    ranks = {one.rank for one in processes if one.rank is not None}
    if len(ranks) != 1:
        return [*processes]
    (rank,) = ranks
    return [
        one._replace(rank=rank)
        if one.rank is None and one.parent_pid is not None
        else one
        for one in processes
    ]


# Sums of records.


def cell_columns(functions: Sequence[FunctionStats]) -> CellColumns:
    """Return the lines of `functions` as columns."""
    cells = [cell for function in functions for cell in function.thread_lines]
    names = [field.name for field in CELLS.fields]
    return CellColumns(
        keys=tuple([function.key for function in functions]),
        function=[
            index
            for index, function in enumerate(functions)
            for _ in function.thread_lines
        ],
        **{name: [getattr(cell, name) for cell in cells] for name in names},
    )


def merge_functions(functions: Iterable[FunctionStats]) -> tuple[FunctionStats, ...]:
    """Return `functions` with one for each key, in order of first appearance."""
    by_key: dict[Key, list[FunctionStats]] = {}
    for function in functions:
        by_key.setdefault(function.key, []).append(function)
    return tuple(_merged(same) for same in by_key.values())


def _merged(same: list[FunctionStats]) -> FunctionStats:
    """Return the sum of functions that have one key."""
    first = same[0]
    if len(same) == 1:
        lines = CELLS.added_up(first.thread_lines)
        unchanged = lines is first.thread_lines
        return first if unchanged else first._replace(thread_lines=lines)
    recursed = any(function.recursive_ns is not None for function in same)
    return first._replace(
        thread_lines=CELLS.added_up(
            line for function in same for line in function.thread_lines
        ),
        calls=sum(function.calls for function in same),
        recursive_ns=sum(f.total_ns for f in same) if recursed else None,
    )


def _line_totals(lines: list[ThreadLine]) -> LineTotals:
    """Return the sum of records of one line."""
    return maker_of(LineTotals, _OF_TOTALS)(_values_of_totals(CELLS.total(lines)))


_OF_TOTALS = ("line", *LINE_NUMBERS)

_values_of_totals = attrgetter(*_OF_TOTALS)
