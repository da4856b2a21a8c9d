"""Nanoseconds that add up: the tree's rounding is settled by that of the lines.

In ticks all sums hold (see `CallTree`). In ns each number is rounded by itself, so
that sums differ by some ns. Here nodes get these, so that in ns it holds, too:

- a function's nodes' total is the function's, their inclusive time that of its lines;
- self is inclusive time less that of what was called: per node, or, of a function
  that recursed, over all its nodes.

More than what rounding can do is left as it is.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any

    from lineprof.records import FunctionStats, Key

    # parent, line, function, thread, calls, primitive calls, self, total, inclusive
    Row = list[Any]

_PARENT, _KEY, _CALLS, _PRIMITIVE, _SELF, _TOTAL, _INCLUSIVE = 0, 2, 4, 5, 6, 7, 8


def settle(
    rows: Sequence[Row], functions: Iterable[FunctionStats], loose: Collection[Key]
) -> None:
    """Make the times (ns) of nodes, in place, fit each other and those of `functions`.

    What a node of one of the `loose` functions has called may be below another
    node of that function, as it is of those that recursed.
    """
    by_function: dict[Key, list[Row]] = {}
    for row in rows:
        by_function.setdefault(row[_KEY], []).append(row)
    loose = {*loose, *(row[_KEY] for row in rows if _recursed(row))}
    for function in functions:
        mine = by_function.get(function.key, [])
        again = [row for row in mine if _recursed(row)]
        first = [row for row in mine if not _recursed(row)]
        lines = sum(cell.time_ns for cell in function.cells)
        most = len(function.cells) + 2 * len(mine)
        _add_up(mine, _TOTAL, function.total_ns, most)
        for row in first:
            row[_INCLUSIVE] = row[_TOTAL]
        if again:
            _add_up(again, _INCLUSIVE, lines - _sum(first, _INCLUSIVE), most)
        else:
            _add_up(mine, _INCLUSIVE, lines, most)
    _settle_self(rows, by_function, loose)


def _settle_self(
    rows: Sequence[Row], by_function: dict[Key, list[Row]], loose: Collection[Key]
) -> None:
    """Make each node's self what its inclusive time leaves, or a function's nodes'."""
    called: dict[Key, int] = {}  # of loose functions, ns
    n_called: dict[Key, int] = {}
    for row in rows:
        if row[_KEY] not in loose:
            row[_SELF] = row[_INCLUSIVE]
    for row in rows:
        above = rows[row[_PARENT]] if row[_PARENT] >= 0 else None
        if above is None:
            continue
        key = above[_KEY]
        if key in loose:
            called[key] = called.get(key, 0) + row[_INCLUSIVE]
            n_called[key] = n_called.get(key, 0) + 1
        else:
            above[_SELF] -= row[_INCLUSIVE]
    for row in rows:
        row[_SELF] = max(0, row[_SELF])
    for key in loose:
        mine = by_function.get(key, [])
        whole = _sum(mine, _INCLUSIVE) - called.get(key, 0)
        _add_up(mine, _SELF, whole, 2 * (2 * len(mine) + n_called.get(key, 0)))


def _recursed(row: Row) -> bool:
    """Tell whether calls of a node began while the function was open already."""
    return bool(row[_TOTAL] != row[_INCLUSIVE] or row[_CALLS] != row[_PRIMITIVE])


def _sum(rows: Iterable[Row], field: int) -> int:
    return sum([row[field] for row in rows])


def _add_up(rows: Sequence[Row], field: int, whole: int, most: int) -> None:
    """Have the greatest of `rows` take what they lack of `whole`, up to `most`."""
    if not rows:
        return
    lacking = whole - _sum(rows, field)
    greatest = max(rows, key=lambda row: row[field])
    if abs(lacking) <= most and greatest[field] + lacking >= 0:
        greatest[field] += lacking
