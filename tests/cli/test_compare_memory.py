"""Memory in `lineprof diff` and `check`: changes, noise, budgets, baselines."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import example_memory
import pytest
from example_memory import KB, MB, leak, leak_memory, sums

from lineprof.cli.budget_file import read_budgets
from lineprof.config import ConfigError
from lineprof.console.terminal import Terminal
from lineprof.model.host_memory import HostMemory
from lineprof.report import diff, markdown
from lineprof.report.budgets import FORMATS, Checked, growths, outcomes
from lineprof.report.options import Options
from lineprof.source import Sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lineprof.line_stats import LineStats
    from lineprof.report.budgets import Outcome
    from lineprof.report.diff import Difference

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("here")]

PEAK = example_memory.LEAK_RUN.peak_bytes
WITHOUT = leak(HostMemory())


def cached(size: int, **run: int) -> LineStats:
    """Return the example with a cache of so many bytes on line 7 of reply."""
    old = leak_memory()
    more = size - 6_400 * KB
    [*others, one] = old.sums
    one = one._replace(alloc_bytes=size, peak_bytes=size)
    numbers = {"peak_bytes": PEAK + more, **run}
    return leak(
        old._replace(
            sums=(*others, one), runs=(example_memory.LEAK_RUN._replace(**numbers),)
        )
    )


def of(before: Sequence[LineStats], after: Sequence[LineStats]) -> Difference:
    return diff.difference_of(before, after)


def text_of(difference: Difference, width: int = 160) -> list[str]:
    terminal = Terminal(width=width)
    return [*diff.text(difference, Options(terminal=terminal, limit=15))]


def json_of(difference: Difference) -> dict[str, Any]:
    made = "".join(diff.as_json(difference, Options()))
    return json.loads(made)  # type: ignore[no-any-return]


# Comparison.


def test_a_cache_that_doubled_is_the_verdict_and_a_row() -> None:
    lines = text_of(of([leak()], [cached(12_800 * KB)]))
    assert lines[0] == (
        "Memory: peak 7.500 MB before, 13.90 MB after, 85 % more; live at the end"
        " 6.500 MB before, 12.90 MB after, 98 % more; allocated 10.00 MB before,"
        " 16.40 MB after, 64 % more"
    )
    assert lines[1].startswith("No change: ")
    start = lines.index("1 line has other memory:")
    titles, row = lines[start + 2 : start + 4]
    assert titles.split("  ")[:3] == ["Alloc Before", "Alloc After", "Alloc Change"]
    assert row.split()[:6] == ["6.400", "MB", "12.80", "MB", "+6.400", "MB"]
    assert "program.py:7" in row
    assert "CACHE[number] = page" in row


def test_a_change_within_the_band_is_none() -> None:
    lines = text_of(of([leak()], [cached(6_400 * KB + 100_000)]))
    assert lines[0].startswith("No change: ")
    assert "No line has other memory" in lines
    [said] = [line for line in lines if line.startswith("Memory: ")]
    assert said.startswith("Memory: peak 7.500 MB before, 7.600 MB after; live")
    assert "% more" not in said


@pytest.mark.parametrize(("more", "is_change"), [(144 * KB, False), (145 * KB, True)])
def test_the_band_of_one_run_is_two_percent_of_what_was_allocated(
    more: int, *, is_change: bool
) -> None:
    data = json_of(of([leak()], [cached(6_400 * KB + more)]))
    assert [row["after_line"] for row in data["memory_lines"]] == [7] * is_change


@pytest.mark.parametrize(("more", "is_change"), [(8 * MB, False), (10 * MB, True)])
def test_estimates_differ_by_more(more: int, *, is_change: bool) -> None:
    sample = 400 * KB  # 3 * sqrt(400 kB * 22 MB) = 8.9 MB
    before, after = (
        cached(6_400 * KB + size, sample_bytes=sample) for size in (0, more)
    )
    data = json_of(of([before], [after]))
    assert [row["after_line"] for row in data["memory_lines"]] == [7] * is_change
    assert any("estimated from samples" in one for one in data["notes"])


def test_several_runs_tell_smaller_changes() -> None:
    before, after = [leak()] * 3, [cached(6_400 * KB + 100_000)] * 3
    [row] = json_of(of(before, after))["memory_lines"]
    assert row["host_self_alloc_bytes"]["change"] == 100_000
    assert row["host_self_alloc_bytes"]["noise"] == 14_400
    noisy = [cached(6_400 * KB + more) for more in (0, 100_000, 200_000)]
    assert json_of(of(before, noisy))["memory_lines"] == []


def test_rows_in_json_have_the_bytes_of_both_sides() -> None:
    data = json_of(of([leak()], [cached(12_800 * KB)]))
    assert data["host_peak_bytes"]["before"] == PEAK
    assert data["host_live_bytes"]["after"] == 12_900 * KB
    [row] = data["memory_lines"]
    assert row["host_self_peak_bytes"]["after_runs"] == [12_800 * KB]
    assert row["within_noise"] is True  # of times
    assert data["more_memory_lines"] == 0
    assert data["verdict"].startswith("Memory: peak 7.500 MB before, 13.90 MB after")


def test_a_document_has_the_table() -> None:
    difference = of([leak()], [cached(12_800 * KB)])
    text = "\n".join(diff.as_markdown(difference, Options(limit=15)))
    assert "### Memory: peak 7.500 MB before" in text
    assert "| Alloc Before | Alloc After | Alloc Change |" in text
    assert markdown.marker("diff") in text


def test_profiles_without_memory_are_compared_as_before() -> None:
    lines = text_of(of([WITHOUT], [WITHOUT]))
    assert not any("emory" in line for line in lines)
    data = json_of(of([WITHOUT], [WITHOUT]))
    assert not [name for name in data if "host" in name or "memory" in name]


def test_one_side_without_memory_is_noted() -> None:
    for before, after, side in (
        (WITHOUT, leak(), "before"),
        (leak(), WITHOUT, "after"),
    ):
        lines = text_of(of([before], [after]))
        note = f"Note: the profile {side} does not say what lines allocated"
        assert any(line.startswith(note) for line in lines)
        assert not any(line.startswith("Memory:") for line in lines)


def test_a_line_that_allocated_and_did_not_run_is_a_row() -> None:
    old = leak_memory()
    path = old.paths[3]._replace(
        lines=(*old.paths[3].lines[:1], (example_memory.REPLY, 8))
    )
    more = sums(path=4, allocs=1, alloc_bytes=MB)
    added = leak(old._replace(paths=(*old.paths, path), sums=(*old.sums, more)))
    rows = json_of(of([leak()], [added]))["memory_lines"]
    assert [(row["after_line"], row["after_source"]) for row in rows] == [
        (8, "    return CACHE[number]")
    ]


# Budgets.


def checked(text: str, *runs: LineStats) -> list[Outcome]:
    """Return the outcomes of a budget in TOML for some runs."""
    Path("budgets.toml").write_text(text, encoding="utf-8")
    profile = runs[0].from_stats_objects(*runs) if len(runs) > 1 else runs[0]
    budgets = read_budgets("budgets.toml")
    return [*outcomes(runs, profile, Sources(profile.sources), budgets)]


@pytest.mark.parametrize(
    ("budget", "met", "exceeded"),
    [
        ("[program]\nmax_host_alloc = ", "10 MB", "9.999 MB"),
        ("[program]\nmax_host_live = ", "6500 kB", "6.4 MB"),
        ("[program]\nmax_host_peak = ", "7.5 MB", "7_499_999 B"),
        ("[[function]]\nname = 'reply'\nmax_host_alloc = ", "8.4 MB", "8.2 MB"),
        ("[[function]]\nname = 'serve'\nmax_host_live = ", "6.4 MB", "6 MiB"),
        ("[[function]]\nname = 'serve'\nmax_host_peak = ", "7.4 MB", "7 MiB"),
        ("[[line]]\nat = 'program.py:13'\nmax_host_alloc = ", "8.4 MB", "1 KiB"),
        ("[[line]]\nat = 'program.py:7'\nmax_host_live = ", "0.0064 GB", "6.3 MB"),
        ("[[line]]\nat = 'program.py:11'\nmax_host_peak = ", "1 MB", "999 KB"),
    ],
)
def test_a_limit_holds_up_to_its_value(budget: str, met: str, exceeded: str) -> None:
    [one] = checked(f"{budget}'{met}'", leak())
    assert (one.status, one.value) == ("holds", one.limit)
    [one] = checked(f"{budget}'{exceeded}'", leak())
    assert one.status == "exceeded"
    assert f"exceeds its budget of {exceeded}" in one.message


def test_a_message_names_the_number() -> None:
    line = "[[line]]\nfile = 'program.py'\ntext = 'CACHE[number] = '\n"
    [one] = checked(f"{line}max_host_live = '1 MB'", leak())
    assert (one.line, one.name) == (7, "reply")
    assert one.message == (
        "memory live at the end 6.400 MB exceeds its budget of 1 MB (100 hits)"
    )
    for form in FORMATS.values():
        assert "6.400 MB" in "\n".join(form(Checked([one], leak())))


def test_a_profile_without_memory_fails_and_says_how_to_record_it() -> None:
    [one] = checked("[program]\nmax_host_peak = '1 MB'", WITHOUT)
    assert one.status == "unknown"
    assert one.message.endswith("profile the program with kernprof -l --memory")


def test_a_function_that_allocated_nothing_holds() -> None:
    bare = leak_memory()
    outside = bare._replace(sums=bare.sums[:1])
    [one] = checked(
        "[[function]]\nname = 'reply'\nmax_host_alloc = '1 B'", leak(outside)
    )
    assert (one.status, one.value) == ("holds", 0)


def test_estimates_say_so() -> None:
    run = example_memory.LEAK_RUN._replace(sample_bytes=512 * KB)
    [one] = checked(
        "[program]\nmax_host_peak = '1 MB'", leak(leak_memory()._replace(runs=(run,)))
    )
    assert one.message.endswith("its budget of 1 MB (estimated)")


def test_several_processes_have_the_largest_peak() -> None:
    both = leak_memory()
    small = example_memory.LEAK_RUN._replace(process=1, peak_bytes=MB)
    two = leak(
        both._replace(runs=(*both.runs, small)),
        processes=[*leak().processes] * 2,
    )
    [one] = checked("[program]\nmax_host_peak = '7.5 MB'", two)
    assert (one.status, one.value) == ("holds", PEAK)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("10", "max_host_peak = 10 has no unit"),
        ("'10'", "max_host_peak = '10' has no unit"),
        ("'10 ms'", "max_host_peak = '10 ms' is no size"),
        ("'-1 MB'", "max_host_peak = '-1 MB' is negative"),
        ("true", "max_host_peak = True is no size"),
    ],
)
def test_a_wrong_size_is_named_with_an_example(value: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        checked(f"[program]\nmax_host_peak = {value}", leak())
    assert message in error.value.message
    assert "'10 MB'" in error.value.hint


# Baselines.


def against(
    before: LineStats, after: LineStats, max_percent: int = 10
) -> list[Outcome]:
    """Return the outcomes of a baseline that do not hold."""
    found = growths(
        of([before], [after]).comparison, Fraction(max_percent), 1.0, "program.py"
    )
    return [one for one in found if one.status != "holds"]


def test_a_function_with_more_memory_than_the_baseline_fails_at_its_line() -> None:
    found = against(leak(), cached(12_800 * KB))
    assert [one.message.partition(" 1")[0] for one in found[:3]] == [
        "memory allocated",
        "memory live at the end",
        "memory at the peak",
    ]
    of_reply = [one for one in found if one.name == "reply"]
    assert {(one.key, one.line) for one in of_reply} == {("memory", 7)}
    assert of_reply[1].message == (
        "reply: memory live at the end 12.80 MB, 2.0 times as much: 6.400 MB in the"
        " baseline; 10 % more are allowed (this line: 6.400 MB more)"
    )
    for form in FORMATS.values():
        assert "12.80 MB" in "\n".join(form(Checked(found, leak())))


def test_less_memory_and_allowed_growth_pass() -> None:
    assert against(cached(12_800 * KB), leak()) == []
    assert against(leak(), cached(12_800 * KB), 100) == []
    assert against(leak(), leak()) == []


def test_memory_is_compared_only_if_both_sides_have_it() -> None:
    assert [*growths(of([WITHOUT], [leak()]).comparison, Fraction(), 0, "")] == []
