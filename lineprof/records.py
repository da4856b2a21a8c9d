"""The parts of a profile as frozen values: processes, threads, functions, lines.

Times are integers in nanoseconds (ns); nothing here touches a file or a clock.
"""

from __future__ import annotations

from lineprof.values import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Key = tuple[str, int, str]

UNKNOWN_THREAD = -1


class Process(Value):
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


class Thread(Value):
    """One thread that ran profiled lines."""

    process: int  # its index in Profile.processes
    native_id: int
    name: str


class Cell(Value):
    """One line as one thread ran it."""

    line: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    hits: int
    time_ns: int
    await_ns: int = 0  # suspended in an await, not in time_ns
    raw_ns: int = 0  # time_ns before the profiler's own cost was taken out
    min_ns: int | None = None  # of the shortest execution; None: no whole one known
    max_ns: int | None = None  # of the longest


class Row(Value):
    """One line, all its threads together."""

    line: int
    hits: int
    time_ns: int
    await_ns: int
    raw_ns: int
    min_ns: int | None
    max_ns: int | None


class FunctionStats(Value):
    """One profiled function."""

    file: str
    name: str  # qualified from Python 3.11 on
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
        return tuple(Row(line, *_sums(lines[line])) for line in sorted(lines))

    @property
    def total_ns(self) -> int:
        """Time in the function (ns): of all its lines; in recursion, wall time."""
        if self.recursive_ns is not None:
            return self.recursive_ns
        return sum(cell.time_ns for cell in self.cells)


class SourceFile(Value):
    """The text of a source file as it was when the program ran."""

    file: str
    text: str | None  # None: not known
    sha256: str  # hexadecimal, of the text in UTF-8; "" if unknown


def _sums(
    cells: list[Cell],
) -> tuple[int, int, int, int, int | None, int | None]:
    """Return hits, the three times, the least and the most (ns) of all `cells`."""
    if len(cells) == 1:
        (one,) = cells
        times = (one.time_ns, one.await_ns, one.raw_ns)
        return (one.hits, *times, one.min_ns, one.max_ns)
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
    return hits, time, await_, raw, least, most


def _joined_cells(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return `cells` with one for each line and thread, in order of appearance."""
    cells = tuple(cells)
    if len({(cell.line, cell.thread) for cell in cells}) == len(cells):
        return cells
    places: dict[tuple[int, int], list[Cell]] = {}
    for cell in cells:
        places.setdefault((cell.line, cell.thread), []).append(cell)
    return tuple(
        same[0] if len(same) == 1 else Cell(line, thread, *_sums(same))
        for (line, thread), same in places.items()
    )


def _joined(same: list[FunctionStats]) -> FunctionStats:
    """Return one function for all of `same`, which have one key."""
    if len(same) == 1:
        cells = _joined_cells(same[0].cells)
        return same[0] if cells is same[0].cells else replace(same[0], cells=cells)
    recursed = any(function.recursive_ns is not None for function in same)
    return replace(
        same[0],
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
