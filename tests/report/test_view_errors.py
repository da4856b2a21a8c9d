"""The line below a table on times that lineprof's own cost may have made wrong."""

from __future__ import annotations

import pytest
from example_stats import function
from view_text import lines_of

from lineprof.line_stats import LineStats
from lineprof.model.records import ThreadLine


def below(*cells: ThreadLine) -> list[str]:
    """Return the lines on possible errors below the table of these lines."""
    stats = LineStats.from_functions([function("f", 1, *cells, calls=1)])
    lines = lines_of(stats, "text", unit=1e-6)
    return [line for line in lines if line.startswith("Possible error")]


def test_a_time_of_which_most_was_subtracted_has_its_possible_error_below() -> None:
    assert below(ThreadLine(2, 0, 100, 80_000, 0, 510_000)) == []  # 0.8 us per hit
    assert below(ThreadLine(2, 0, 100, 100_000, 0, 500_000)) == [
        "Possible error: \u00b1 200.0 ns per hit of line 2"
    ]


@pytest.mark.parametrize(("raw_ns", "shown"), [(300_000, 0), (300_100, 1)])
def test_an_error_of_up_to_10_percent_is_not_shown(raw_ns: int, shown: int) -> None:
    assert len(below(ThreadLine(2, 0, 100, 100_000, 0, raw_ns))) == shown


def test_only_some_lines_are_named() -> None:
    [text] = below(*(ThreadLine(n, 0, 1, 1_000, 0, 5_000) for n in range(2, 7)))
    assert text.count("of line") == 3
    assert text.endswith(" of line 4 and 2 more lines")


def test_several_threads_count_together() -> None:
    assert (
        below(
            ThreadLine(2, 0, 1, 2_000, 0, 8_000), ThreadLine(2, 1, 1, 2_000, 0, 2_000)
        )
        == []
    )
