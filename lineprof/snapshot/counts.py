"""What one process counted, as plain values: all that its profile is made from.

They can be written to a file, from which another process makes the profile
(`counts_reader`). The first line of the file is JSON: an object with the fields of
`Counts`, in which ``{"at": OFFSET, "size": BYTES}`` stands for a part of the bytes
after that line.
"""

from __future__ import annotations

import json
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, BinaryIO

    from lineprof._core import MemorySnapshot
    from lineprof.model.records import Key
    from lineprof.snapshot.calls import RawTree
    from lineprof.snapshot.profile import Code, RawWait

COUNTS = "counts"  # the kind of such a file in a reply to a client


class Counts(
    namedtuple(
        "Counts",
        "threads codes blocks calls c_functions waits waits_unavailable own_times cuts"
        " scale process warnings memory",
        defaults=(None,),
    )
):
    """All that was counted, except GPU work and timelines, which are no plain values.

    What the core counted is as ``Tracer.snapshot`` and ``Tracer.off_cpu`` give it.
    """

    __slots__ = ()

    threads: Sequence[tuple[int, str]]  # native id, and name when it was first seen
    codes: Sequence[Code]
    blocks: Sequence[Code]  # named blocks, which are also shown as functions
    calls: RawTree
    c_functions: Sequence[tuple[int, str]]  # serial and name
    waits: Sequence[RawWait]
    waits_unavailable: bool  # the system does not tell what threads wait for
    own_times: bool  # `waits` also has the breakdown of lines' own times
    # From when, and until when or None, functions were counted, in ns.
    cuts: Mapping[Key, tuple[int, int | None, int | None]]
    scale: tuple[int, int, float]  # fields of `TickScale`
    process: dict[str, Any]  # fields of `Process`
    warnings: list[str]
    # Numbers of ``memory_snapshot``, and the start of measuring; None: not measured.
    memory: tuple[MemorySnapshot, int] | None


def write_counts(
    stream: BinaryIO,
    counts: Counts,
    texts: Mapping[str, str | None],
    names: Mapping[int, str],
) -> None:
    """Write `counts` to `stream`, and what the process alone knows; OSError.

    `texts` are those of source files, None for one that cannot be found; a profile
    leaves out the text of a file that is not in it. `names` are the present names of
    threads by their native ids.
    """
    parts: list[bytes] = []
    end = 0

    def place_of(value: object) -> object:
        nonlocal end
        assert isinstance(value, bytes)  # noqa: S101  # no other is not of JSON
        parts.append(value)
        end += len(value)
        return {"at": end - len(value), "size": len(value)}

    values = counts._asdict()
    for name in ("codes", "blocks"):  # of keys, the function's own part
        values[name] = [(key[:3], *rest) for key, *rest in values[name]]
    values["cuts"] = list(counts.cuts.items())
    values["texts"] = list(texts.items())
    values["names"] = list(names.items())
    text = json.dumps(values, default=place_of)
    stream.write(text.encode() + b"\n")
    stream.writelines(parts)
