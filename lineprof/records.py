"""The parts of a profile as frozen values: processes, threads, functions, lines.

Times are integers in nanoseconds (ns); nothing here touches a file or a clock.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Key = tuple[str, int, str]

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


class Cell(NamedTuple):
    """One line as one thread ran it."""

    line: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    hits: int
    time_ns: int
    await_ns: int = 0  # suspended in an await, not in time_ns
    raw_ns: int = 0  # time_ns before the profiler's own cost was taken out
    min_ns: int | None = None  # of the shortest execution; None: no whole one known
    max_ns: int | None = None  # of the longest


class Row(NamedTuple):
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
    cells: tuple[Cell, ...]
    calls: int = 0
    recursive_ns: int | None = None  # wall time counted once, if it ever recursed

    @property
    def key(self) -> Key:
        """What tells the function from all others: (file, line, name)."""
        return (self.file, self.line, self.name)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The measured lines in order, each summed over its threads."""
        lines: dict[int, list[Cell]] = {}
        for cell in self.cells:
            lines.setdefault(cell.line, []).append(cell)
        return tuple(_row(lines[line]) for line in sorted(lines))

    @property
    def total_ns(self) -> int:
        """Time in the function (ns): of all its lines; in recursion, wall time."""
        if self.recursive_ns is not None:
            return self.recursive_ns
        return sum(cell.time_ns for cell in self.cells)


class SourceFile(NamedTuple):
    """The text of a source file as it was when the program ran."""

    file: str
    text: str | None  # None: not known
    sha256: str  # hexadecimal, of the text in UTF-8; "" if unknown


def _row(cells: list[Cell]) -> Row:
    """Return the sum of `cells`, which are of one line."""
    one = _sum(cells)
    return Row(
        line=one.line,
        hits=one.hits,
        time_ns=one.time_ns,
        await_ns=one.await_ns,
        raw_ns=one.raw_ns,
        min_ns=one.min_ns,
        max_ns=one.max_ns,
    )


def _sum(cells: list[Cell]) -> Cell:
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


def _joined_cells(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return `cells` with one for each line and thread, in order of appearance."""
    cells = tuple(cells)
    if len({(cell.line, cell.thread) for cell in cells}) == len(cells):
        return cells
    places: dict[tuple[int, int], list[Cell]] = {}
    for cell in cells:
        places.setdefault((cell.line, cell.thread), []).append(cell)
    return tuple(map(_sum, places.values()))


def _joined(same: list[FunctionStats]) -> FunctionStats:
    """Return one function for all of `same`, which have one key."""
    if len(same) == 1:
        cells = _joined_cells(same[0].cells)
        return same[0] if cells is same[0].cells else same[0]._replace(cells=cells)
    recursed = any(function.recursive_ns is not None for function in same)
    return same[0]._replace(
        cells=_joined_cells(cell for function in same for cell in function.cells),
        calls=sum(function.calls for function in same),
        recursive_ns=sum(f.total_ns for f in same) if recursed else None,
    )


def joined(functions: Iterable[FunctionStats]) -> tuple[FunctionStats, ...]:
    """Return `functions` with one for each key, in order of first appearance."""
    keys: dict[Key, list[FunctionStats]] = {}
    for function in functions:
        keys.setdefault(function.key, []).append(function)
    return tuple(_joined(same) for same in keys.values())
