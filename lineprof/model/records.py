"""The parts of a profile as frozen values: processes, threads, functions, lines.

Times are integers in nanoseconds (ns); nothing here touches a file or a clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    Key = tuple[str, int, str]


# Who called whom, as frozen values: a tree of calls, recursion folded.
#
# Times are integers in nanoseconds (ns); nothing here touches a file or a clock.


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


# What lines were themselves, without what they called, as frozen values.
#
# Times are integers in nanoseconds (ns); nothing here touches a file or a clock.


# What a line was: in itself, or in C functions that it called.
WAIT = "wait"  # on no processor

SYSTEM = "system"  # on one, in the kernel

C_WAIT = "c_wait"

C_SYSTEM = "c_system"

PARTS = (WAIT, SYSTEM, C_WAIT, C_SYSTEM)


class LineBreakdown(NamedTuple):
    """How long one thread was so on one line, profiled functions apart.

    Unlike a `Wait`, it has nothing of Python functions that the line called and
    that are profiled. A profile has some only where it was asked for; then it has
    at least one, of 0 ns if nothing else.
    """

    function: Key
    line: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    part: str  # one of PARTS
    ns: int


UNKNOWN_THREAD = -1


class Process(NamedTuple):
    """One process that was measured."""

    pid: int
    host: str
    rank: int | None  # of MPI or Slurm; None for a program that runs alone
    argv: tuple[str, ...]
    cwd: str
    python: str
    start_unix_ns: int  # since the epoch
    wall_ns: int
    core: str  # settrace | monitoring | "" when unknown
    core_reason: str
    clock: str
    overhead_ns: int  # the profiler's own estimated cost, not in the lines' times
    version: str  # of lineprof
    exit: str  # "" (normal) | exception | SIGTERM ...


class Thread(NamedTuple):
    """One thread that ran profiled lines."""

    process: int  # its index in Profile.processes
    native_id: int
    name: str


class ThreadLine(NamedTuple):
    """One line as one thread ran it."""

    line: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    hits: int
    time_ns: int
    await_ns: int = 0  # suspended in an await, not in time_ns
    raw_ns: int = 0  # time_ns before the profiler's own cost was taken out
    min_ns: int | None = None  # of the shortest execution; None: no whole one known
    max_ns: int | None = None  # of the longest


class LineTotals(NamedTuple):
    """One line, all its threads together."""

    line: int
    hits: int = 0
    time_ns: int = 0
    await_ns: int = 0
    raw_ns: int = 0
    min_ns: int | None = None
    max_ns: int | None = None


class FunctionStats(NamedTuple):
    """One profiled function."""

    file: str
    name: str  # qualified
    line: int  # where it starts, its first decorator included
    thread_lines: tuple[ThreadLine, ...]
    calls: int = 0
    recursive_ns: int | None = None  # wall time counted once, if it ever recursed

    @property
    def key(self) -> Key:
        """What tells the function from all others: (file, line, name)."""
        return (self.file, self.line, self.name)

    @property
    def rows(self) -> tuple[LineTotals, ...]:
        """The measured lines in order, each summed over its threads."""
        lines: dict[int, list[ThreadLine]] = {}
        for cell in self.thread_lines:
            lines.setdefault(cell.line, []).append(cell)
        return tuple(_row(lines[line]) for line in sorted(lines))

    @property
    def total_ns(self) -> int:
        """Time in the function (ns): of all its lines; in recursion, wall time."""
        if self.recursive_ns is not None:
            return self.recursive_ns
        return sum(cell.time_ns for cell in self.thread_lines)


class SourceFile(NamedTuple):
    """The text of a source file as it was when the program ran."""

    file: str
    text: str | None  # None: not known
    sha256: str  # hexadecimal, of the text in UTF-8; "" if unknown


def _row(cells: list[ThreadLine]) -> LineTotals:
    """Return the sum of `cells`, which are of one line."""
    one = _sum(cells)
    return LineTotals(
        line=one.line,
        hits=one.hits,
        time_ns=one.time_ns,
        await_ns=one.await_ns,
        raw_ns=one.raw_ns,
        min_ns=one.min_ns,
        max_ns=one.max_ns,
    )


def _sum(cells: list[ThreadLine]) -> ThreadLine:
    """Return the sum of `cells` under the line and the thread of the first."""
    if len(cells) == 1:
        return cells[0]
    hits = time = await_ = raw = 0
    least = most = None
    for cell in cells:
        hits += cell.hits
        time += cell.time_ns
        await_ += cell.await_ns
        raw += cell.raw_ns
        if cell.min_ns is not None and (least is None or cell.min_ns < least):
            least = cell.min_ns
        if cell.max_ns is not None and (most is None or cell.max_ns > most):
            most = cell.max_ns
    return cells[0]._replace(
        hits=hits,
        time_ns=time,
        await_ns=await_,
        raw_ns=raw,
        min_ns=least,
        max_ns=most,
    )


def _joined_cells(cells: Iterable[ThreadLine]) -> tuple[ThreadLine, ...]:
    """Return `cells` with one for each line and thread, in order of appearance."""
    cells = tuple(cells)
    if len({(cell.line, cell.thread) for cell in cells}) == len(cells):
        return cells
    places: dict[tuple[int, int], list[ThreadLine]] = {}
    for cell in cells:
        places.setdefault((cell.line, cell.thread), []).append(cell)
    return tuple(map(_sum, places.values()))


def _joined(same: list[FunctionStats]) -> FunctionStats:
    """Return one function for all of `same`, which have one key."""
    if len(same) == 1:
        cells = _joined_cells(same[0].thread_lines)
        return (
            same[0]
            if cells is same[0].thread_lines
            else same[0]._replace(thread_lines=cells)
        )
    recursed = any(function.recursive_ns is not None for function in same)
    return same[0]._replace(
        thread_lines=_joined_cells(
            cell for function in same for cell in function.thread_lines
        ),
        calls=sum(function.calls for function in same),
        recursive_ns=sum(f.total_ns for f in same) if recursed else None,
    )


def merge_functions(functions: Iterable[FunctionStats]) -> tuple[FunctionStats, ...]:
    """Return `functions` with one for each key, in order of first appearance."""
    keys: dict[Key, list[FunctionStats]] = {}
    for function in functions:
        keys.setdefault(function.key, []).append(function)
    return tuple(_joined(same) for same in keys.values())


# Units of time: exact conversion between a profile's ticks and nanoseconds.


NANOSECOND = 1e-9

AUTO_UNIT = 0.0  # stands for: each time in the unit in which it reads best

_NAMED = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (NANOSECOND, "ns"))  # in s

_ROUNDS_TO_ONE = 0.99995  # with four digits


class Ticks:
    """A tick of `unit` seconds; ValueError unless that is above 0 and finite."""

    def __init__(self, unit: float) -> None:
        """Take the length of a tick in seconds."""
        if not 0 < unit < float("inf"):
            raise ValueError(
                f"the unit must be a number of seconds above 0, not {unit!r}"
            )
        self.unit = float(unit)

    def to_ns(self, ticks: float) -> int:
        """Return `ticks` in whole nanoseconds, rounded half to even."""
        if self.unit == NANOSECOND:
            return round(ticks)
        return self._scaled(ticks, to_ns=True)

    def from_ns(self, time: int) -> int:
        """Return `time` (ns) in whole ticks, rounded half to even."""
        return time if self.unit == NANOSECOND else self._scaled(time, to_ns=False)

    def _scaled(self, number: float, *, to_ns: bool) -> int:
        from fractions import Fraction  # noqa: PLC0415  # our own profiles need none

        ns_per_tick = Fraction(repr(self.unit)) * 10**9
        return round(Fraction(number) * (ns_per_tick if to_ns else 1 / ns_per_tick))


def readable(seconds: float) -> str:
    """Return a time with four digits and the unit that it reads best in.

    It is second, millisecond, microsecond or nanosecond: ``12.35 ms``. The
    unit takes two columns, so that digits stand below digits in a table.
    """
    if not seconds:
        return "0 s "
    size = abs(seconds)
    unit, name = next(
        ((unit, name) for unit, name in _NAMED if size / unit >= _ROUNDS_TO_ONE),
        _NAMED[-1],
    )
    number = size / unit
    places = sum(number < _ROUNDS_TO_ONE * 10**place for place in (1, 2, 3))
    return f"{'-' * (seconds < 0)}{number:.{places}f} {name:<2}"


# What lines waited for, as frozen values.
#
# Times are integers in nanoseconds (ns); nothing here touches a file or a clock.


# Why a thread was on no processor.
GIL = "gil"  # another thread held the interpreter's lock

LOCK = "lock"  # a lock of its own: threading's, a library's

SLEEP = "sleep"

IO = "io"  # read, write, poll, a socket

RUNNABLE = "ready"  # it could run, but other work had the processors

OTHER = "other"  # blocked in the kernel: for a child process, or not seen where

CAUSES = (GIL, LOCK, SLEEP, IO, RUNNABLE, OTHER)


class Wait(NamedTuple):
    """How long one thread was on no processor for one reason, on one line.

    As the line's time does, it counts what the line called, too. A line's time
    less its waits is its time on a processor.
    """

    function: Key
    line: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    cause: str  # one of CAUSES
    ns: int
