"""Advice: what a profile proves about its lines, and what usually helps.

docs/advice.md lists the kinds of findings, with the rule and the threshold of each. No
finding is a guess: it says what was measured, and follows from numbers in the profile
and, where it is about loops or calls, from the source text that ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.advice import containers, gpu, lines, loops, memory
from lineprof.advice.finding import Evidence, Finding
from lineprof.model.gpu_idle import has_launches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.advice.source_trees import SourceLines
    from lineprof.model.gpu import Gpu
    from lineprof.model.gpu_idle import IdleSums
    from lineprof.model.profile import Profile

__all__ = ["KINDS", "Advice", "Finding", "advise", "first_findings"]

_OF_SOURCE = (
    loops.HOT_LOOP,
    loops.REPEATED_CALL,
    *(containers.LIST_SEARCH, containers.LIST_SHIFT, containers.REBUILT),
    lines.IMPORT,
)

_OF_WAITS = (lines.WAITING, lines.BUSY_PROCESSORS)

_OF_GPU = (
    gpu.HIDDEN_SYNCHRONISATION,
    gpu.PAGEABLE_COPY,
    gpu.MANY_TINY_KERNELS,
    gpu.GPU_LOADING,
    gpu.GPU_IDLE,
)

_OF_MEMORY = (memory.GROWING, memory.TEMPORARY_PEAK)

KINDS = (
    *_OF_SOURCE,
    lines.UNEVEN_LINE,
    *_OF_WAITS,
    lines.SYSTEM_TIME,
    lines.IMBALANCE,
    *_OF_GPU,
    *_OF_MEMORY,
)

_MAX_NAMED = 3  # files without a tree


class Advice(NamedTuple):
    """The findings of a profile, and what could not be looked at."""

    findings: tuple[Finding, ...]  # by time, then by bytes; about the machine last
    checked: tuple[str, ...]  # kinds that were looked for
    unchecked: tuple[tuple[str, str], ...]  # kinds without data in the profile, and why
    missing: tuple[str, ...]  # sentences about files without source text
    run_ns: int  # 100 % of the shares

    @property
    def first(self) -> Finding | None:
        """The finding to begin with, as `first_findings` returns it."""
        kept = [one for one in self.findings if one.kind != lines.BUSY_PROCESSORS]
        return _first(kept)


def advise(profile: Profile, sources: SourceLines, idle_sums: IdleSums) -> Advice:
    """Return the findings of a profile, and what could not be looked at.

    `idle_sums` is that of `lineprof.snapshot.arithmetic`. LineprofError if numbers of
    ranks are damaged.
    """
    evidence = Evidence(profile, sources)
    unchecked = tuple(_unchecked(profile))
    without = dict(unchecked)
    return Advice(
        findings=(*_of_program(evidence, idle_sums), *lines.busy_processors(evidence)),
        checked=tuple(kind for kind in _relevant(profile) if kind not in without),
        unchecked=unchecked,
        missing=tuple(_missing(evidence)),
        run_ns=evidence.run_ns,
    )


def first_findings(
    profile: Profile, sources: SourceLines, idle_sums: IdleSums
) -> list[Finding]:
    """Return the most costly findings about the program: of time, and of memory.

    An import, which a program can seldom do without, comes after all others.
    """
    found = _of_program(Evidence(profile, sources), idle_sums)
    of_time = _first([one for one in found if not one.cost_bytes])
    of_memory = _first([one for one in found if one.cost_bytes])
    return [one for one in (of_time, of_memory) if one]


def _first(found: list[Finding]) -> Finding | None:
    """Return the first of some findings; an import only if there are no others."""
    return min(found, key=lambda one: one.kind == lines.IMPORT, default=None)


def _of_program(evidence: Evidence, idle_sums: IdleSums) -> list[Finding]:
    """Return the findings that are about the program, most costly first."""
    found = [
        *loops.repeated_calls(evidence),
        *loops.constant_calls(evidence),
        *containers.collections(evidence),
        *lines.imports(evidence),
        *lines.uneven_lines(evidence),
        *lines.waiting_lines(evidence),
        *lines.system_lines(evidence),
        *lines.imbalances(evidence),
        *gpu.lines_of_sums(evidence),
        *gpu.pageable_copies(evidence),
        *gpu.idle_devices(evidence, idle_sums),
        *memory.growing_lines(evidence),
        *memory.temporary_peaks(evidence),
    ]
    found += loops.hot_loops(evidence, found)
    order = {kind: index for index, kind in enumerate(KINDS)}
    found.sort(
        key=lambda one: (-one.cost_ns, -one.cost_bytes, order[one.kind], one.places)
    )
    return found


def _unchecked(profile: Profile) -> Iterator[tuple[str, str]]:
    """Yield the kinds for which the profile lacks data, with the reason.

    Those that the program cannot have, such as those of a GPU that it did not use, are
    not among them.
    """
    has_source = _has_source(profile)
    if not has_source:
        yield from ((kind, "no source text") for kind in _OF_SOURCE)
    elif not profile.calls.nodes:
        yield loops.REPEATED_CALL, "no calls by line"
    if all(
        cell.max_ns is None for one in profile.functions for cell in one.thread_lines
    ):
        yield lines.UNEVEN_LINE, "no longest executions"
    if not profile.waits and all(one.cpu_ns is None for one in profile.processes):
        yield from ((kind, "no waits") for kind in _OF_WAITS)
    if lines.known_ranks(profile) and not lines.has_communication(profile):
        yield lines.IMBALANCE, "no calls of MPI or torch.distributed"
    yield from _unchecked_of_gpu(profile.gpu, has_source=has_source)


def _has_source(profile: Profile) -> bool:
    return any(
        (one.text or one.sha256) and not one.is_left_out
        for one in profile.sources.values()
    )


def _unchecked_of_gpu(recorded: Gpu, *, has_source: bool) -> Iterator[tuple[str, str]]:
    if not recorded.sums:
        unread = [one for one in recorded.runs if one.present and one.backend == "none"]
        for one in unread[:1]:
            yield from ((kind, one.reason) for kind in _OF_GPU)
        return
    if not has_source:
        yield gpu.HIDDEN_SYNCHRONISATION, "no source text"
    if not recorded.timelines:
        yield gpu.PAGEABLE_COPY, "no timeline of the GPU"
    if not any(map(has_launches, recorded.timelines)):
        yield gpu.GPU_IDLE, "no timeline of the GPU with launches"


def _relevant(profile: Profile) -> Iterator[str]:
    """Return the kinds that a program like this one can have."""
    without: set[str] = set()
    if not profile.gpu.sums:
        without |= {*_OF_GPU}
    if not profile.memory.curves:
        without |= {*_OF_MEMORY}
    if not lines.known_ranks(profile):
        without.add(lines.IMBALANCE)
    if not profile.breakdowns:
        without.add(lines.SYSTEM_TIME)
    return (kind for kind in KINDS if kind not in without)


def _missing(evidence: Evidence) -> Iterator[str]:
    """Yield which files' statements were not looked at, and why."""
    missing = evidence.trees.missing
    for file, why in [*missing.items()][:_MAX_NAMED]:
        yield f"loops, calls, lists and imports of {file} were not looked at: {why}"
    if len(missing) > _MAX_NAMED:
        yield f"nor were those of {len(missing) - _MAX_NAMED} more files"
