"""What the tables say of parts of a line's time: MPI, Python, C, the system."""

from __future__ import annotations

from lineprof.collectives import mpi_of_lines
from lineprof.split import split_of_lines
from lineprof.views.columns import SPLIT_COLUMNS
from lineprof.views.grid import in_words, percent, percent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lineprof.records import FunctionStats, Key
    from lineprof.stats import Profile
    from lineprof.units import Ticks
    from lineprof.views.view import Options

    ByLine = Mapping[int, Mapping[str, int]]  # time (ns) by the names of columns

_LEAST_PERCENT = 1  # of a function, to speak of
NO_MPI = (
    "The profile has no calls of MPI or torch.distributed: mpi4py's are counted after"
    " kernprof -l --builtins, on Python 3.12 and later"
)
NO_SPLIT = (
    "The profile does not tell Python, native and system time apart: kernprof -l"
    " --split makes one that does"
)


def parts_of(stats: Profile) -> dict[Key, dict[int, dict[str, int]]]:
    """Return the parts (ns) of each function's time, by line and column."""
    found: dict[Key, dict[int, dict[str, int]]] = {
        key: {
            line: {
                "python": split.python_ns,
                "native": split.native_ns,
                "system": split.system_ns,
                "ownwait": split.own_wait_ns,
                "callees": split.callees_ns,
            }
            for line, split in lines.items()
        }
        for key, lines in split_of_lines(stats).items()
    }
    for key, lines in mpi_of_lines(stats).items():
        for line, ns in lines.items():
            found.setdefault(key, {}).setdefault(line, {})["mpi"] = ns
    return found


def in_ticks(of_line: Mapping[str, int] | None, ticks: Ticks) -> dict[str, float]:
    """Return the parts of a line in the profile's ticks."""
    return {name: ticks.from_ns(ns) for name, ns in (of_line or {}).items()}


def below_table(function: FunctionStats, parts: ByLine) -> tuple[str, ...]:
    """Return how long a function was in MPI, if that was more than 1 % of its time."""
    ns = sum(of_line.get("mpi", 0) for of_line in parts.values())
    whole = sum(cell.time_ns for cell in function.cells)
    if not ns or percent_of(ns, whole) <= _LEAST_PERCENT:
        return ()
    return (f"MPI: {percent(ns, whole)} of these times: {in_words(ns)} in its calls",)


def footer(stats: Profile, options: Options) -> Iterator[str]:
    """Yield that columns of parts are empty for want of data, if they were chosen."""
    if "mpi" in options.columns and not mpi_of_lines(stats):
        yield NO_MPI
    if not stats.own_times and not SPLIT_COLUMNS.keys().isdisjoint(options.columns):
        yield NO_SPLIT
