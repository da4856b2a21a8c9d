"""Profiles made of tuples of the core, without a process that counted them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lineprof.snapshot.counts import Counts
from lineprof.snapshot.profile import profile_of_process

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Process
    from lineprof.snapshot.gpu import Taken
    from lineprof.snapshot.profile import RawTrace, TickScale

_NOTHING: dict[str, Any] = {
    "blocks": (),
    "calls": (0, b""),
    "c_functions": (),
    "waits": (),
    "waits_unavailable": False,
    "own_times": False,
    "cuts": {},
}


def profile_of(  # noqa: PLR0913  # the parts of what was measured
    threads: Sequence[tuple[int, str]],
    codes: Sequence[Any],
    scale: TickScale,
    process: Process,
    *,
    warnings: Iterable[str] = (),
    gpu: Taken | None = None,
    trace: RawTrace | None = None,
    **counted: Any,
) -> Profile:
    """Return the profile of `codes`; `counted` are other fields of `Counts`."""
    counts = Counts(
        threads=threads,
        codes=codes,
        scale=(scale.ns_per_tick, scale.cost_one, scale.cost_share),
        process=process._asdict(),
        warnings=[*warnings],
        **{**_NOTHING, **counted},
    )
    return profile_of_process(counts, gpu=gpu, trace=trace)
