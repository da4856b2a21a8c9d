"""The profile of what another process counted, from a file of `counts`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError
from lineprof.files import normal_path
from lineprof.snapshot.counts import Counts
from lineprof.snapshot.profile import profile_of_process
from lineprof.source import left_out, source_file

if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from lineprof.model.profile import Profile
    from lineprof.model.records import SourceFile

_DAMAGE = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError),
    *(RecursionError, TypeError, ValueError),
)


def read_profile(stream: BinaryIO, path: str) -> Profile:
    """Return the profile of the counts in `stream`, which `write_counts` wrote.

    Raises LineprofError, which names `path`, if they are damaged.
    """
    head, data = stream.readline(), memoryview(stream.read())

    def value_of(found: dict[str, Any]) -> object:
        if found.keys() != {"at", "size"}:
            return found
        return bytes(data[found["at"] : found["at"] + found["size"]])

    try:
        values = json.loads(head, object_hook=value_of)
        texts, names = dict(values.pop("texts")), dict(values.pop("names"))
        for name in ("codes", "blocks"):
            values[name] = [(tuple(key), *rest) for key, *rest in values[name]]
        cuts = {tuple(key): tuple(span) for key, span in values["cuts"]}
        process = {**values["process"], "argv": tuple(values["process"]["argv"])}
        counts = Counts(**{**values, "cuts": cuts, "process": process})

        def read_source(file: str) -> SourceFile:
            return source_file(file, texts[file]) if file in texts else left_out(file)

        return profile_of_process(
            counts, read_source=read_source, names=names, file_name=normal_path
        )
    except _DAMAGE as error:
        raise LineprofError(
            f"the counts in {path} are damaged: {error}",
            hint="use the same version of lineprof on both sides",
        ) from error
