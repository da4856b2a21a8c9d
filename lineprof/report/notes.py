"""What a reader of a profile should know beside its numbers, a line each."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from lineprof.console.output import python_command
from lineprof.model.call_graph import edges
from lineprof.model.names import short_names
from lineprof.source import changed

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.source import Sources


# What to type next, once a profile is there: from the whole down to a line.


_MANY = 5  # functions: more of them are not read table by table


def next_steps(profile: Profile, file: str | os.PathLike[str]) -> list[str]:
    """Return commands, with what they show, for the profile in `file`.

    At most two lines; none for a profile that knows no calls, or just a few
    functions. The second one goes down from the line that took most time with
    what it called.
    """
    ran = sum(1 for function in profile.functions if function.cells)
    if not profile.calls.nodes or ran <= _MANY:
        return []
    command = f"{python_command()} -m lineprof view"
    name = shlex.quote(str(file))
    steps = [f"the hottest lines (or --tree, --functions): {command} --hot {name}"]
    line = hottest_call(profile)
    if line:
        steps.append(
            f"down from the hottest call: {command} --drill {shlex.quote(line)} {name}"
        )
    return steps


def hottest_call(profile: Profile) -> str:
    """Return the line whose calls took most time, as ``--drill`` takes it; or ""."""
    times: dict[tuple[Key, int], int] = {}
    for edge in edges(profile.calls):
        if edge.caller is not None:
            place = (edge.caller, edge.line)
            times[place] = times.get(place, 0) + edge.total_ns  # recursion once
    if not times:
        return ""
    (file, _, _), line = max(times, key=lambda place: times[place])
    return short_names(function.key for function in profile.functions).line(file, line)


def notes(profile: Profile, sources: Sources, *, tables: bool = True) -> Iterator[str]:
    """Yield why the profile is empty, its warnings, and where its source is off.

    Without `tables`, no function's source is looked at: of many, that takes long.
    """
    if profile.why_empty:
        yield profile.why_empty
    yield from profile.warnings
    for file, source in profile.sources.items():
        if changed(source):
            what = "the lines shown may not be those measured"
            if source.text is not None:
                what = "shown is its text of then"
            yield f"{file} has changed since it was profiled; {what}"
    for function in profile.functions if tables else ():
        block = sources.block(function.file, function.line, function.name)
        if block is None:
            continue
        inside = range(function.line, function.line + len(block))
        outside = sorted({c.line for c in function.cells if c.line not in inside})
        if outside:
            yield (
                f"{function.name} ({function.file}:{function.line}) took time on"
                f" {len(outside)} lines outside of its source, the first is"
                f" {outside[0]}; the table leaves them out, --json has them"
            )
