"""Profiles made of tuples of the core, without a process that counted them."""

from __future__ import annotations

from array import array
from itertools import chain
from typing import TYPE_CHECKING, Any

from lineprof.snapshot import profile as snapshot
from lineprof.snapshot.calls import NODE_ROW
from lineprof.snapshot.counts import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Process
    from lineprof.snapshot.gpu import Taken
    from lineprof.snapshot.profile import RawTrace, TickScale

_NOTHING: dict[str, Any] = {
    "blocks": (),
    "calls": (0, ()),
    "c_functions": (),
    "waits": (),
    "waits_unavailable": False,
    "own_times": False,
    "cuts": {},
}


def packed_nodes(nodes: Iterable[tuple[int, ...]]) -> bytes:
    """Return nodes as the core packs them; their kind may be missing."""
    rows = [(*node, 0)[: len(NODE_ROW)] for node in nodes]
    return array("q", chain.from_iterable(rows)).tobytes()


def _with_packed_lines(code: Any) -> Any:
    row = snapshot.CodeRow._make(code)
    lines = map(snapshot.LineRow._make, row.lines)
    return row._replace(lines=snapshot.packed_lines(lines))


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
    """Return the profile of `codes`; `counted` are other fields of `Counts`.

    Lines of codes and blocks, and nodes of calls, are tuples that are packed here.
    """
    counted = {**_NOTHING, **counted}
    folded, nodes = counted["calls"]
    counted["calls"] = (folded, packed_nodes(nodes))
    counted["blocks"] = [*map(_with_packed_lines, counted["blocks"])]
    counts = Counts(
        threads=threads,
        codes=[*map(_with_packed_lines, codes)],
        scale=(scale.ns_per_tick, scale.cost_one, scale.cost_share),
        process=process._asdict(),
        warnings=[*warnings],
        **counted,
    )
    return snapshot.profile_of_process(counts, gpu=gpu, trace=trace)
