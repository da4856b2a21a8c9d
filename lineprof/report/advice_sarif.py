"""A SARIF log of advice: each kind of findings is a rule, each finding a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.advice import containers, gpu, lines, loops, memory
from lineprof.report.advice import unchecked_of
from lineprof.report.notes import notes
from lineprof.report.sarif import (
    NOTE,
    WARNING,
    Message,
    Place,
    Result,
    Rule,
    log,
    path_of,
    source_root,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.advice.advise import Advice
    from lineprof.advice.finding import Finding, Line
    from lineprof.model.profile import Profile
    from lineprof.source import Sources

# Title, when there is a finding, what usually helps. docs/advice.md has the details.
_RULES = {
    loops.HOT_LOOP: (
        "Hot loop",
        "The lines of one loop took more than 25 % of the run themselves.",
        "Do less in each round, or give the work to a function in C.",
    ),
    loops.REPEATED_CALL: (
        "Repeated call with the same arguments",
        "Calls from one line took 5 % of the run or more, all with the same arguments.",
        "Call the function once before the loop and keep the result.",
    ),
    containers.LIST_SEARCH: (
        "Search in a list",
        "A line took more than 10 % of the run and searches a list or a tuple.",
        "Keep the elements in a set or a dict.",
    ),
    containers.LIST_SHIFT: (
        "Change at the front of a list",
        "A line took more than 10 % of the run and changes a list at its front.",
        "Take a collections.deque, or work at the end of the list.",
    ),
    containers.REBUILT: (
        "Collection made again to add to it",
        "A line took more than 10 % of the run and copies a collection to add to it.",
        "Change the collection in place, or join the parts once at the end.",
    ),
    lines.IMPORT: (
        "Slow import",
        "An import statement took more than 10 % of the run.",
        "Import the module in the function that needs it.",
    ),
    lines.UNEVEN_LINE: (
        "Uneven line",
        "One execution of a line took more than 10 % of the run, the others far less.",
        "Look at what is different the one time: a first call, a cache, a large input.",
    ),
    lines.WAITING: (
        "Waiting line",
        "A line itself was off the processor for more than 10 % of the run.",
        "Wait for the event itself, or do other work in the meantime.",
    ),
    lines.BUSY_PROCESSORS: (
        "Busy processors",
        "Lines were ready for more than 10 % of the run; others had the processors.",
        "Measure again on a machine with less load.",
    ),
    lines.SYSTEM_TIME: (
        "Time in the system",
        "A line itself ran in the kernel for more than 10 % of the run.",
        "Make fewer and larger calls of the system.",
    ),
    lines.IMBALANCE: (
        "Imbalance of ranks",
        "Ranks waited for the slowest one for more than 5 % of the run of all ranks.",
        "Give each rank an equal part of the work.",
    ),
    gpu.HIDDEN_SYNCHRONISATION: (
        "Hidden synchronisation with a GPU",
        "A line waited for the GPU for 1 % of the run or more, and does not say so.",
        "Read values from the GPU less often, or later.",
    ),
    gpu.PAGEABLE_COPY: (
        "Copy between a GPU and pageable memory",
        "Copies between a GPU and pageable memory took 1 % of the run or more.",
        "Take pinned memory for the host's side.",
    ),
    gpu.MANY_TINY_KERNELS: (
        "Many tiny kernels",
        "A line took longer to launch 1,000 kernels or more than they ran on average.",
        "Launch fewer and larger kernels, or a graph of them.",
    ),
    gpu.GPU_LOADING: (
        "Loading of code for a GPU",
        "Calls that loaded modules or created a context took 1 % of the run or more.",
        "Run the line once before the measurement.",
    ),
    gpu.GPU_IDLE: (
        "Idle GPU",
        "A GPU had no work for 5 % of the run or more because of a line.",
        "Launch the next work earlier, or give the line's work to the GPU.",
    ),
    memory.GROWING: (
        "Growing memory",
        "What a line allocated grew over the whole run, to 10 % of the peak or more.",
        "Bound what keeps it: give a cache a largest size, remove what is done with.",
    ),
    memory.TEMPORARY_PEAK: (
        "Peak of a temporary",
        "A temporary of one line was 30 % or more of the peak of the memory.",
        "Work in parts, or in place.",
    ),
}

# Of the machine, and of what a program can seldom do without.
_NOTES = frozenset({lines.BUSY_PROCESSORS, lines.IMPORT})


def log_of(
    found: Advice, shown: Sequence[Finding], profile: Profile, sources: Sources
) -> Iterator[str]:
    """Yield a SARIF log of the findings that are `shown`, and of what is missing."""
    kinds = dict.fromkeys((*found.checked, *(one.kind for one in shown)))
    results = [_result(one, profile, sources) for one in shown]
    messages = [
        Message(text, WARNING if text in profile.warnings else NOTE)
        for text in notes(profile, sources, tables=False)
    ]
    if found.unchecked:
        messages.append(Message(f"not looked for: {unchecked_of(found)}"))
    messages += map(Message, found.missing)
    if len(found.findings) > len(shown):
        more = len(found.findings) - len(shown)
        messages.append(Message(f"{more} more findings are left out"))
    yield from log("advice", [*map(_rule, kinds)], results, messages, profile)


def _rule(kind: str) -> Rule:
    title, text, helps = _RULES[kind]
    level = NOTE if kind in _NOTES else WARNING
    return Rule(kind, title, text, helps, level)


def _result(one: Finding, profile: Profile, sources: Sources) -> Result:
    first, *more = (_place(place, sources) for place in one.places)
    related = [
        place._replace(message=key[2]) for place, (key, _) in zip(more, one.places[1:])
    ]
    text = (first.source or "").strip()
    path = path_of(first.file, profile, source_root())
    (_, _, name), _ = one.places[0]
    return Result(
        rule=one.kind,
        message=f"{one.measured} {one.advice}",
        places=[first, *related],
        identity=f"{path}\0{name}\0{one.kind}\0{text}",
        properties={
            "cost_ns": one.cost_ns,
            **({"cost_bytes": one.cost_bytes} if one.cost_bytes else {}),
            "share": one.share,
            "numbers": dict(one.numbers),
        },
        rank=100 * one.share,
    )


def _place(place: Line, sources: Sources) -> Place:
    """Return the place of a line; of the short lines of a function, its first line."""
    key, number = place
    line = number or key[1]
    source = sources.line(key[0], line) if key[0] else None
    return Place(key[0], line, function=key, source=source)
