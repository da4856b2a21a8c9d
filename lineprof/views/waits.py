"""What the tables say of waiting: by line, and in a line below a function."""

from __future__ import annotations

from lineprof.views.columns import WAIT_COLUMNS
from lineprof.views.grid import in_words, percent, percent_of
from lineprof.wait_records import GIL, IO, LOCK, OTHER, READY, SLEEP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lineprof.records import FunctionStats, Key
    from lineprof.stats import Profile
    from lineprof.views.view import Options

    ByLine = Mapping[int, Mapping[str, int]]  # time (ns) by cause

_LEAST_PERCENT = 1  # of a function, to speak of
_LEAST_NS = 1_000_000  # the same
_WORDS = {
    GIL: "for the interpreter's lock",
    LOCK: "for locks",
    SLEEP: "asleep",
    IO: "for input and output",
    READY: "for a processor",
    OTHER: "for something else",
}
NONE = "The profile does not say how long lines waited: CPU and waits are not known"


def waits_of(stats: Profile) -> dict[Key, dict[int, dict[str, int]]]:
    """Return the waits (ns) of each function, by line and cause."""
    found: dict[Key, dict[int, dict[str, int]]] = {}
    for wait in stats.waits:
        line = found.setdefault(wait.function, {}).setdefault(wait.line, {})
        line[wait.cause] = line.get(wait.cause, 0) + wait.ns
    return found


def below_table(function: FunctionStats, waits: ByLine) -> tuple[str, ...]:
    """Return how long a function waited, if that was much, and for what in the main.

    Much is more than 1 % of its time, and 1 ms or more: a busy machine keeps every
    program waiting now and then. Causes of less are something else, all together.
    """
    whole = sum(cell.time_ns for cell in function.cells)
    causes: dict[str, int] = {}
    for line in waits.values():
        for cause, ns in line.items():
            causes[cause] = causes.get(cause, 0) + ns
    ns = sum(causes.values())
    if not _is_much(ns, whole):
        return ()
    named = {c: of_it for c, of_it in causes.items() if _is_much(of_it, whole)}
    others = ns - sum(of_it for c, of_it in named.items() if c != OTHER)
    if named and _is_much(others, whole):
        named[OTHER] = others
    parts = [
        f"{in_words(ns)} {_WORDS.get(cause, f'for {cause}')}"
        for cause, ns in sorted(named.items(), key=lambda item: -item[1])
    ]
    words = ", ".join(parts) or in_words(ns)
    return (f"Waiting: {percent(ns, whole)} of these times: {words}",)


def _is_much(ns: int, whole: int) -> bool:
    return percent_of(ns, whole) > _LEAST_PERCENT and ns >= _LEAST_NS


def footer(stats: Profile, options: Options) -> Iterator[str]:
    """Yield that columns of waits are empty for want of data, if they were chosen."""
    if not stats.waits and are_wanted(options.columns):
        yield NONE


def are_wanted(columns: Iterable[str]) -> bool:
    """Tell whether columns of waits are among the chosen ones."""
    return not WAIT_COLUMNS.keys().isdisjoint(columns)
