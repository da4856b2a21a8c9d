"""The numbers of the tab Summary: the run in a sentence, and its folded calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.model.folded_calls import folded_calls
from lineprof.model.names import library_of
from lineprof.report.overview import run_sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineprof.model.call_graph import CallPath
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.model.run_parts import RunParts

_MIN_SHARE = 0.001  # of the run, of a call path

_NONE = -1  # an index of nothing


def summary(
    profile: Profile, parts: RunParts, index: Callable[[Key | None], int]
) -> dict[str, object]:
    """Return what the tab shows beside the tables; `index` is that of a function.

    `calls` are call paths, callers before callees and those of one caller from the
    longest on; `start` is where a view of them begins, -1 for all, `levels` below the
    first. `more` is the number of a path's callees that are left out.
    """
    folded = folded_calls(profile)
    least_ns = _MIN_SHARE * parts.run_ns
    rows: list[tuple[int, CallPath, int]] = []  # index of the caller, path, left out
    start = _NONE
    todo = [(_NONE, path) for path in reversed(folded.root.children.values())]
    while todo:
        caller, path = todo.pop()
        if path is folded.start:
            start = len(rows)
        shown = [one for one in path.children.values() if one.inclusive_ns >= least_ns]
        todo += [(len(rows), one) for one in reversed(shown)]
        rows.append((caller, path, len(path.children) - len(shown)))
    paths = [path for _, path, _ in rows]
    return {
        "sentence": run_sentence(profile, parts),
        "start": start,
        "levels": folded.levels,
        "calls": {
            "parent": [caller for caller, _, _ in rows],
            "line": [path.line for path in paths],
            "function": [index(path.function) for path in paths],
            "calls": [path.calls for path in paths],
            "time": [path.inclusive_ns for path in paths],
            "self": [path.self_ns for path in paths],
            "folded": [len(path.folded or ()) for path in paths],
            "library": [_library(path) for path in paths],
            "more": [more for _, _, more in rows],
        },
    }


def _library(path: CallPath) -> str:
    """Return the library that is folded into a path, "" if it is none."""
    return library_of(path.function[0]) if path.folded and path.function else ""
