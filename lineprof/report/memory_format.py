"""Host memory in words: the peak of a run, the line that held it, and estimates."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lineprof.model.host_memory import largest_run, sums_of_processes
from lineprof.model.names import library_of, names_of_profile
from lineprof.model.relation import NONE
from lineprof.report.columns import About
from lineprof.report.text_grid import in_bytes, in_words, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lineprof.model.host_memory import HostMemory, MemoryRun, MemorySum
    from lineprof.model.profile import Profile
    from lineprof.report.columns import Place

OUTSIDE_OF_LINES = "outside of profiled lines"

# Titles of columns, by the names of numbers.
TITLES = {"alloc_bytes": "Alloc", "live_bytes": "Live", "peak_bytes": "Peak"}

_MAX_NAMED = 3  # processes that a note names


def marker(memory: HostMemory) -> Callable[[int], int]:
    """Return what marks sizes (bytes) as estimates, if they are from samples."""
    return About if memory.is_estimate else int


def holders(memory: HostMemory, sums: Iterable[MemorySum]) -> Counter[Place | None]:
    """Return the bytes that lines of the program held at the peak, of these sums.

    A line of the program has the bytes of the libraries that it called; None stands for
    blocks outside of profiled lines.
    """
    held: Counter[Place | None] = Counter()
    for record in sums:
        lines = memory.paths[record.path].lines
        of_program = [place for place in lines if not library_of(place[0][0])]
        held[(of_program or lines or (None,))[-1]] += record.peak_bytes
    return held


def peak_words(profile: Profile) -> str:
    """Return the largest peak, its moment and the line that held most; "" if unknown.

    If there are several processes it names the process, because their peaks need not
    have been at one moment.
    """
    memory = profile.memory
    run, mark = largest_run(memory), marker(memory)
    if run is None:
        return ""
    text = f"peak {in_bytes(mark(run.peak_bytes))} at {in_words(run.peak_ns)}"
    if len(memory.runs) > 1:
        every = in_bytes(mark(sum(each.peak_bytes for each in memory.runs)))
        count = len(memory.runs)
        text += f" in process {pid_of(profile, run)}"
        text += f" (the peaks of {count} processes add up to {every})"
    sums = sums_of_processes(memory)
    held = holders(memory, sums.get(run.process) or sums.get(NONE) or ())
    for place, size in held.most_common(1):
        if size:
            share = percent(size, held.total())
            text += f": {share} {_by(profile, place)}"
    return text


def _by(profile: Profile, place: Place | None) -> str:
    if place is None:
        return OUTSIDE_OF_LINES
    (file, _, _), line = place
    return f"by {names_of_profile(profile).line(file, line)}"


def pid_of(profile: Profile, run: MemoryRun) -> int:
    """Return the process id of a run of memory; 0 if it is unknown."""
    known = run.process < len(profile.processes)
    return profile.processes[run.process].pid if known else 0


def unknown_memory(profile: Profile) -> Iterator[str]:
    """Yield which processes have no memory, and why, if any process has it."""
    runs = {run.process for run in profile.memory.runs}
    others = [
        process for index, process in enumerate(profile.processes) if index not in runs
    ]
    if not runs or not others:
        return
    pids = ", ".join(str(process.pid) for process in others[:_MAX_NAMED])
    more = len(others) - _MAX_NAMED
    and_others = f" and {more} others" if more > 0 else ""
    why = "they ran without --memory"
    if any(process.exit not in {"", "exception"} for process in others):
        why = (
            "they were killed, or ran without --memory; close() and join() let the"
            " workers of a multiprocessing.Pool end before its terminate() kills them"
        )
    yield (
        f"memory is that of {len(runs)} of {len(profile.processes)} processes, without"
        f" {pids}{and_others}: {why}"
    )
