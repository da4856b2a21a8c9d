"""Limits of views: --limit and --min-percent."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from lineprof.model.call_graph import function_totals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.options import Options

    Row = TypeVar("Row")


def limited(
    rows: Sequence[Row], options: Options, ns: Callable[[Row], float], total_ns: float
) -> list[Row]:
    """Return the first `options.limit` rows of `options.min_percent` or more.

    `ns` is the time of a row, of which `total_ns` are 100 %.
    """
    min_ns = (options.min_percent or 0) / 100 * total_ns
    return [row for row in rows if ns(row) >= min_ns][: options.limit or None]


def longest_functions(profile: Profile, options: Options) -> set[Key]:
    """Return the functions that a view shows: those with the most time of their own.

    `options.limit` is their number, `options.min_percent` their minimum share in the
    time of all; without these options they are all.
    """
    keys = [function.key for function in profile.functions]
    if options.all_functions or not (options.limit or options.min_percent):
        return {*keys}
    totals = function_totals(profile)
    longest = sorted(keys, key=lambda key: -totals[key].self_ns)
    every_ns = sum(one.self_ns for one in totals.values())
    return {*limited(longest, options, lambda key: totals[key].self_ns, every_ns)}
