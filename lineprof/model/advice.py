"""Advice: what a profile proves about its lines, and what usually helps.

docs/advice.md lists the kinds of findings, with the rule and the threshold of each. No
finding is a guess: it says what was measured, and follows from numbers in the profile
and, where it is about loops or calls, from the source text that ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.model import gpu_advice, line_advice, loop_advice
from lineprof.model.finding import Evidence, Finding
from lineprof.model.gpu_idle import has_launches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.gpu import Gpu
    from lineprof.model.gpu_idle import IdleSums
    from lineprof.model.profile import Profile
    from lineprof.model.source_trees import SourceLines

__all__ = ["KINDS", "Advice", "Finding", "advise", "findings"]

KINDS = (
    loop_advice.LOOP_DOMINATES,
    loop_advice.REPEATED_CALL,
    line_advice.IMPORT,
    line_advice.UNEVEN_LINE,
    line_advice.WAITING,
    line_advice.BUSY_PROCESSORS,
    line_advice.SYSTEM_TIME,
    line_advice.IMBALANCE,
    gpu_advice.HIDDEN_SYNCHRONISATION,
    gpu_advice.PAGEABLE_COPY,
    gpu_advice.MANY_TINY_KERNELS,
    gpu_advice.GPU_IDLE,
)

_OF_SOURCE = (
    loop_advice.LOOP_DOMINATES,
    loop_advice.REPEATED_CALL,
    line_advice.IMPORT,
)

_MAX_NAMED = 3  # files without a tree


class Advice(NamedTuple):
    """The findings of a profile, and what could not be looked at."""

    findings: tuple[Finding, ...]  # most costly first
    unchecked: tuple[tuple[str, str], ...]  # kinds, each with the reason
    missing: tuple[str, ...]  # sentences about files without source text
    run_ns: int  # 100 % of the shares


def findings(
    profile: Profile, sources: SourceLines, idle_sums: IdleSums
) -> list[Finding]:
    """Return the findings of a profile, most costly first.

    The arguments are those of `advise`.
    """
    return [*advise(profile, sources, idle_sums).findings]


def advise(profile: Profile, sources: SourceLines, idle_sums: IdleSums) -> Advice:
    """Return the findings of a profile, and what could not be looked at.

    `idle_sums` is that of `lineprof.snapshot.arithmetic`. LineprofError if numbers of
    ranks are damaged.
    """
    evidence = Evidence(profile, sources)
    found = [
        *loop_advice.dominating_loops(evidence),
        *loop_advice.repeated_calls(evidence),
        *line_advice.imports(evidence),
        *line_advice.uneven_lines(evidence),
        *line_advice.waiting_lines(evidence),
        *line_advice.busy_processors(evidence),
        *line_advice.system_lines(evidence),
        *line_advice.imbalances(evidence),
        *gpu_advice.lines_of_sums(evidence),
        *gpu_advice.pageable_copies(evidence),
        *gpu_advice.idle_devices(evidence, idle_sums),
    ]
    order = {kind: index for index, kind in enumerate(KINDS)}
    found.sort(key=lambda one: (-one.cost_ns, order[one.kind], one.places))
    return Advice(
        findings=tuple(found),
        unchecked=tuple(_unchecked(profile)),
        missing=tuple(_missing(evidence)),
        run_ns=evidence.run_ns,
    )


def _unchecked(profile: Profile) -> Iterator[tuple[str, str]]:
    """Yield the kinds for which the profile has no data, with the reason."""
    has_source = any(
        (one.text or one.sha256) and not one.is_left_out
        for one in profile.sources.values()
    )
    if not has_source:
        yield from ((kind, "no source text") for kind in _OF_SOURCE)
    elif not profile.calls.nodes:
        yield loop_advice.REPEATED_CALL, "no calls by line"
    if all(
        cell.max_ns is None for one in profile.functions for cell in one.thread_lines
    ):
        yield line_advice.UNEVEN_LINE, "no longest executions"
    if not profile.waits:
        yield line_advice.WAITING, "no waits"
        yield line_advice.BUSY_PROCESSORS, "no waits"
    if not profile.breakdowns:
        yield line_advice.SYSTEM_TIME, "no split of time: kernprof -l --split"
    if line_advice.known_ranks(profile) is None:
        yield line_advice.IMBALANCE, "no ranks of a program"
    elif not line_advice.has_communication(profile):
        yield line_advice.IMBALANCE, "no calls of MPI or torch.distributed"
    yield from _unchecked_of_gpu(profile.gpu, has_source=has_source)


def _unchecked_of_gpu(gpu: Gpu, *, has_source: bool) -> Iterator[tuple[str, str]]:
    if not gpu.sums:
        yield from (
            (kind, "no GPU data")
            for kind in (
                gpu_advice.HIDDEN_SYNCHRONISATION,
                gpu_advice.PAGEABLE_COPY,
                gpu_advice.MANY_TINY_KERNELS,
                gpu_advice.GPU_IDLE,
            )
        )
        return
    if not has_source:
        yield gpu_advice.HIDDEN_SYNCHRONISATION, "no source text"
    if not gpu.timelines:
        yield gpu_advice.PAGEABLE_COPY, "no timeline of the GPU"
    if not any(map(has_launches, gpu.timelines)):
        yield gpu_advice.GPU_IDLE, "no timeline of the GPU with launches"


def _missing(evidence: Evidence) -> Iterator[str]:
    """Yield which files' loops, calls and imports were not looked at, and why."""
    missing = evidence.trees.missing
    for file, why in [*missing.items()][:_MAX_NAMED]:
        yield f"loops, calls and imports of {file} were not looked at: {why}"
    if len(missing) > _MAX_NAMED:
        yield f"nor were those of {len(missing) - _MAX_NAMED} more files"
