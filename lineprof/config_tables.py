"""From a file's tables to the ones that hold: defaults, line_profiler's, ours."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = dict[str, object]

THEIRS, OURS = "line_profiler", "lineprof"
_WITH_FLAGS = ("kernprof", "cli")  # their keys are flags: those who have them know


class TableError(Exception):
    """There is something else where a table should be."""


class Tables(NamedTuple):
    """What holds."""

    known: Table  # a value for every key of line_profiler's
    own: Table  # of [tool.lineprof]: flags that line_profiler does not have
    remarks: tuple[str, ...]  # keys that nobody knows


def tables(defaults: Table, content: Mapping[str, object]) -> Tables:
    """Return what holds with a file of this `content`; TableError."""
    tool = _table(content, "tool", "")
    theirs = _table(tool, THEIRS, "tool.")
    ours = _table(tool, OURS, "tool.")
    known = _merged(defaults, theirs, f"tool.{THEIRS}.")
    known = _merged(known, ours, f"tool.{OURS}.")
    own, remarks = _left(defaults, ours)
    return Tables(known, own, tuple(remarks))


def _table(within: Mapping[str, object], key: str, prefix: str) -> Table:
    """Return a table, empty where there is none; TableError where it is no table."""
    found = within.get(key, {})
    if isinstance(found, dict):
        return found
    raise TableError(f"expected tables at these keys: [{prefix + key!r}]")


def _merged(defaults: Table, given: Table, prefix: str) -> Table:
    """Return `defaults` with the values of those keys of theirs that are given."""
    return {
        key: _merged(default, _table(given, key, prefix), f"{prefix}{key}.")
        if isinstance(default, dict)
        else given.get(key, default)
        for key, default in defaults.items()
    }


def _left(defaults: Table, given: Table) -> tuple[Table, list[str]]:
    """Return the tables of flags without what `defaults` has, and what is wrong."""
    own: Table = {}
    remarks: list[str] = []
    for name, table in given.items():
        known = defaults.get(name)
        if not (isinstance(known, dict) and isinstance(table, dict)):
            remarks.append(unknown(name, "", defaults))
        elif name in _WITH_FLAGS:
            own[name] = {key: table[key] for key in table if key not in known}
        else:
            keys = [key for key in table if key not in known]
            remarks += [unknown(key, name, known) for key in keys]
    return own, remarks


def unknown(key: str, table: str, known: Mapping[str, object]) -> str:
    """Say that a table of [tool.lineprof], or "", that itself, has no such key."""
    name = f"tool.{OURS}.{table}" if table else f"tool.{OURS}"
    return f"[{name}] knows no {key!r}; known are: {', '.join(known)}"
