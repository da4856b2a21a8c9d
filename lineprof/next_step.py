"""What to type next, once a profile is there: from the whole down to a line."""

from __future__ import annotations

import shlex

from lineprof.call_edges import edges
from lineprof.page import python_command
from lineprof.short_names import short_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from lineprof.records import Key
    from lineprof.stats import Profile

_MANY = 5  # functions: more of them are not read table by table


def next_steps(stats: Profile, file: str | os.PathLike[str]) -> list[str]:
    """Return commands, with what they show, for the profile in `file`.

    At most two lines; none for a profile that knows no calls, or just a few
    functions. The second one goes down from the line that took most time with
    what it called.
    """
    ran = sum(1 for function in stats.functions if function.cells)
    if not stats.calls.nodes or ran <= _MANY:
        return []
    command = f"{python_command()} -m lineprof view"
    name = shlex.quote(str(file))
    steps = [f"the hottest lines (or --tree, --functions): {command} --hot {name}"]
    line = hottest_call(stats)
    if line:
        steps.append(
            f"down from the hottest call: {command} --drill {shlex.quote(line)} {name}"
        )
    return steps


def hottest_call(stats: Profile) -> str:
    """Return the line whose calls took most time, as ``--drill`` takes it; or ""."""
    times: dict[tuple[Key, int], int] = {}
    for edge in edges(stats.calls):
        if edge.caller is not None:
            place = (edge.caller, edge.line)
            times[place] = times.get(place, 0) + edge.total_ns  # recursion once
    if not times:
        return ""
    (file, _, _), line = max(times, key=lambda place: times[place])
    return short_names(function.key for function in stats.functions).line(file, line)
