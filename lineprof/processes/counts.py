"""The profile of another process, from the counts that it left.

A child leaves what the core counted, as plain values: to make a profile of them there
would import ten modules more, for each of perhaps a thousand children.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.model.records import Process, SourceFile
from lineprof.snapshot.profile import Parts, TickScale, profile_of
from lineprof.source import FileContent, read_source, text_hash

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from lineprof.model.profile import Profile


def profile_of_counts(counts: Mapping[str, Any]) -> Profile:
    """Return the profile of the process whose `plain_counts` are `counts`."""
    ns_per_tick, cost_one, share = counts["scale"]
    scale = TickScale(ns_per_tick=ns_per_tick, cost_one=cost_one, cost_share=share)
    facts = {**counts["process"], "overhead_ns": scale.cost_ns(counts["cost"])}
    contents: Mapping[str, bytes | str | None] = counts["sources"]

    def source_of(file: str) -> SourceFile:
        content = contents.get(file)
        if content is None:
            return read_source(file)
        if content == "":
            return SourceFile(file=file, text="", sha256="")
        text = content
        if isinstance(text, bytes):
            text = FileContent(file=file, state=(), data=text).text()
        return SourceFile(file=file, text=text, sha256=text_hash(text))

    return profile_of(
        counts["ids"],
        counts["codes"],
        scale,
        Process(**facts),
        counts["warnings"],
        Parts(
            blocks=counts["blocks"],
            calls=counts["calls"],
            c_functions=counts["c_functions"],
            waits=counts["waits"],
            waits_unavailable=counts["waits_unavailable"],
            own_times=counts["own_times"],
            cuts=counts["cuts"],
            read_source=source_of,
        ),
    )
