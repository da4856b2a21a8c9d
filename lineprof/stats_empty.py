"""Why a profile has nothing to show."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lineprof.records import FunctionStats, Process


def why_empty(functions: Sequence[FunctionStats], processes: Iterable[Process]) -> str:
    """Return one line that says why nothing was measured; "" when something was."""
    if any(function.cells for function in functions):
        return ""
    count = len(functions)
    if not count:
        why = (
            "no function was registered;"
            " put @profile above a function or give it to add_function"
        )
    else:
        which = "the one function registered was"
        if count > 1:
            which = f"the {count} functions registered were"
        called = any(function.calls for function in functions)
        when = "only called while the profiler was off"
        why = f"{which} {when if called else 'never called'}"
    exits = ", ".join(sorted({process.exit for process in processes if process.exit}))
    return f"the profile is empty: {why}" + (
        f" (the program ended by: {exits})" if exits else ""
    )
