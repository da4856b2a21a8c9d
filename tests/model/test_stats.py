"""Profiles as values: construction, comparison, addition."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest
from example_stats import FILE, PROCESS, everything, example

from lineprof.errors import LineprofError, printable
from lineprof.line_stats import LineStats
from lineprof.model.profile import Profile
from lineprof.model.records import (
    UNKNOWN_THREAD,
    FunctionStats,
    LineTotals,
    SourceFile,
    Thread,
    ThreadLine,
)

KEY = ("a.py", 1, "f")


def profile(text: str | None = "x", sha256: str = "", pid: int = 1) -> LineStats:
    """Return a profile of one process with one thread, function and file."""
    return LineStats.from_functions(
        [FunctionStats("a.py", "f", 1, (ThreadLine(2, 0, 3, 40, 5, 60),), calls=7)],
        processes=[PROCESS._replace(pid=pid)],
        threads=[Thread(0, pid, "main")],
        sources={"a.py": SourceFile("a.py", text, sha256)},
        warnings=[f"a warning of {pid}", "one of all"],
    )


def test_lines_are_summed_over_their_threads_and_sorted() -> None:
    first = ThreadLine(9, 0, 1, 10, 1, 11, min_ns=10, max_ns=10)
    second = ThreadLine(9, 1, 2, 20, 2, 22, min_ns=8, max_ns=12)
    third = ThreadLine(9, 2, 0, 0)  # a part of an execution, whose length is unknown
    function = FunctionStats(
        "a.py", "f", 1, (first, ThreadLine(2, 1, 1, 5), second, third)
    )
    assert function.rows == (
        LineTotals(2, 1, 5, 0, 0, None, None),
        LineTotals(9, 3, 30, 3, 33, 8, 12),
    )
    assert function.total_ns == 35
    assert function._replace(recursive_ns=0).total_ns == 0
    assert function.key == KEY


def test_values_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        del profile().functions[0].name
    with pytest.raises(AttributeError):
        profile().functions[0].name = "g"  # type: ignore[misc]


def test_a_profile_is_frozen_and_line_stats_are_not() -> None:
    frozen = Profile.of(profile())
    with pytest.raises(AttributeError, match="Profile is frozen: unit cannot be set"):
        frozen.unit = 1.0  # type: ignore[misc]
    with pytest.raises(AttributeError, match="warnings cannot be set"):
        del frozen.warnings
    frozen.timings[KEY].clear()  # type: ignore[attr-defined]  # a copy
    assert frozen.timings == profile().timings
    stats = LineStats.of(frozen)
    stats.warnings = ()
    assert frozen.warnings
    assert everything(LineStats.of(frozen)) == everything(profile())


def test_a_sum_has_the_class_of_its_first_part() -> None:
    frozen = Profile({KEY: [(2, 1, 3)]}, 1e-6)
    assert type(frozen + profile()) is Profile
    assert type(profile() + frozen) is LineStats
    assert frozen + profile() == profile() + frozen


def test_entries_of_one_function_become_one_in_order_of_registration() -> None:
    first = FunctionStats("a.py", "f", 1, (ThreadLine(2, 0, 1, 10, 1, 12),), calls=1)
    other = FunctionStats("a.py", "g", 1, ())
    again = first._replace(
        thread_lines=(ThreadLine(2, 0, 2, 5), ThreadLine(3, 0, 1, 1)), calls=2
    )
    stats = LineStats.from_functions([first, other, again])
    assert stats.functions == (
        first._replace(
            thread_lines=(ThreadLine(2, 0, 3, 15, 1, 12), ThreadLine(3, 0, 1, 1)),
            calls=3,
        ),
        other,
    )


def test_a_function_that_is_recursive_in_one_profile_has_the_wall_time_of_all() -> None:
    plain = FunctionStats("a.py", "f", 1, (ThreadLine(2, 0, 1, 10),))
    recursive = plain._replace(recursive_ns=4)
    stats = LineStats.from_functions([plain, recursive])
    assert stats.functions[0].recursive_ns == 14


def test_timings_are_those_of_line_profiler() -> None:
    timings = {KEY: [(2, 3, 40), (5, 1, 7)], ("b.py", 4, "g"): []}
    stats = LineStats(timings, 1e-6)
    assert stats.timings == timings
    assert stats.unit == 1e-6
    assert stats.functions[0].thread_lines[0] == ThreadLine(
        2, UNKNOWN_THREAD, 3, 40_000
    )
    assert repr(stats) == f"LineStats({timings}, 1E-06)"


@pytest.mark.parametrize("unit", [1e-9, 1e-7, 1e-6, 1e-3, 1.0, 0.3, 1 / 3e6])
def test_ticks_are_exact_in_every_unit(unit: float) -> None:
    lines = [(line, 1, ticks) for line, ticks in enumerate((0, 1, 3, 10**6 + 1))]
    assert LineStats({KEY: lines}, unit).timings == {KEY: lines}


@pytest.mark.parametrize("unit", [0, -1, float("nan"), float("inf")])
def test_a_unit_is_above_zero(unit: float) -> None:
    with pytest.raises(ValueError, match="must be a number of seconds above 0"):
        LineStats({}, unit)


def test_big_numbers_are_exact() -> None:
    big = 2**63 - 1
    stats = LineStats({KEY: [(1, big, big)]}, 1e-9)
    total = stats + stats
    assert total.timings == {KEY: [(1, 2 * big, 2 * big)]}


def test_a_sum_has_all_processes_and_threads_each_with_its_lines() -> None:
    total = profile(pid=1) + profile(pid=2)
    assert [process.pid for process in total.processes] == [1, 2]
    assert total.threads == (Thread(0, 1, "main"), Thread(1, 2, "main"))
    (function,) = total.functions
    assert function.thread_lines == (
        ThreadLine(2, 0, 3, 40, 5, 60),
        ThreadLine(2, 1, 3, 40, 5, 60),
    )
    assert function.calls == 14
    assert function.rows == (LineTotals(2, 6, 80, 10, 120, None, None),)
    assert total.warnings == ("a warning of 1", "one of all", "a warning of 2")
    assert total.sources == profile().sources


def test_lines_of_unknown_threads_are_summed() -> None:
    stats = LineStats({KEY: [(2, 1, 10)]}, 1e-9)
    total = profile() + stats + stats
    assert total.functions[0].thread_lines[1:] == (
        ThreadLine(2, UNKNOWN_THREAD, 2, 20),
    )


def test_addition_makes_a_new_profile_and_plus_equals_changes_the_old_one() -> None:
    one = profile()
    same = one
    total = one + profile(pid=2)
    assert one == profile()
    one += profile(pid=2)
    assert one is same
    assert one == total


def test_the_sum_of_one_profile_is_another_object() -> None:
    one = profile()
    total = LineStats.from_stats_objects(one)
    total += profile(pid=2)
    assert one == profile()


def test_addition_is_associative() -> None:
    one, two, three = (profile(pid=pid) for pid in (1, 2, 3))
    total = everything((one + two) + three)
    assert total == everything(one + (two + three))
    assert total == everything(LineStats.from_stats_objects(one, two, three))


def test_the_unit_of_a_sum_is_the_coarsest() -> None:
    fine = LineStats({KEY: [(2, 1, 1600), (3, 1, 1)]}, 1e-9)
    total = LineStats({KEY: [(2, 1, 3)]}, 1e-6) + fine
    assert total.unit == 1e-6
    assert total.timings == {KEY: [(2, 2, 5), (3, 1, 0)]}


def test_any_object_with_timings_and_a_unit_can_be_added() -> None:
    class Other:
        timings = {KEY: [(2, 1, 10)]}  # noqa: RUF012
        unit = 1e-9

    assert (profile() + Other()).timings == {KEY: [(2, 4, 50)]}
    assert LineStats.from_stats_objects(Other()).timings == Other.timings
    with pytest.raises(TypeError):
        profile() + 3  # type: ignore[operator]
    stats = profile()
    with pytest.raises(TypeError):
        stats += 3  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "second", "kept", "warned"),
    [
        (("x", "1"), ("x", "1"), "x", False),
        (("x", ""), ("y", ""), "x", True),
        ((None, "1"), (None, "2"), None, True),
        ((None, ""), ("y", "2"), "y", False),
        ((None, "2"), ("y", "2"), "y", False),
        (("x", "1"), (None, "2"), "x", True),
        (("x", ""), (None, "2"), "x", False),
    ],
)
def test_the_first_of_two_texts_is_kept_and_a_difference_gives_a_warning(
    first: tuple[str | None, str],
    second: tuple[str | None, str],
    kept: str | None,
    warned: bool,  # noqa: FBT001
) -> None:
    total = profile(*first) + profile(*second)
    assert total.sources["a.py"].text == kept
    assert any("a.py differs" in warning for warning in total.warnings) == warned


def test_profiles_are_equal_if_their_numbers_are() -> None:
    """Programs compare the numbers of two runs, as with line_profiler."""

    class Other:
        timings = {KEY: [(2, 3, 40)]}  # noqa: RUF012
        unit = 1e-9

    assert profile() == profile(text="y", pid=2)
    assert profile() == Other() == profile()
    assert example() != profile()
    assert profile() != 3
    assert LineStats({}, 1e-6) != LineStats({}, 1e-9)
    assert LineStats({}, 1e-9) != LineStats({}, 1e-6)
    assert LineStats({KEY: [(2, 3, 41)]}, 1e-9) != profile()
    one, two = LineStats({KEY: [(2, 1, 3)]}, 1e-6), LineStats({}, 1e-7)
    assert one + two == two + one
    with pytest.raises(TypeError):
        hash(profile())


def test_numbers_can_be_changed_and_other_fields_are_kept() -> None:
    stats = profile() + LineStats({("b.py", 4, "g"): [(5, 1, 7)]}, 1e-9)
    kept = stats.functions[0]
    stats.timings["b.py", 4, "g"].append((6, 1, 2))  # type: ignore[attr-defined]
    assert stats.functions[0] is kept
    assert [row.line for row in stats.functions[1].rows] == [5, 6]
    stats.timings = {key: lines for key, lines in stats.timings.items() if key != KEY}
    assert [function.name for function in stats.functions] == ["g"]
    assert stats != profile()
    assert stats.processes == profile().processes


def test_ticks_are_kept_when_the_unit_changes() -> None:
    stats = LineStats({KEY: [(2, 1, 3)]}, 1e-9)
    stats.unit = 1e-6
    assert stats.timings == {KEY: [(2, 1, 3)]}
    assert stats.functions[0].total_ns == 3000


def test_ticks_below_a_nanosecond_are_exact() -> None:
    lines = [(2, 1, 3), (3, 1, 1000)]
    stats = LineStats({KEY: lines}, 3e-10)
    assert stats.timings == {KEY: lines}
    assert (stats + stats).timings == {KEY: [(2, 2, 6), (3, 2, 2000)]}
    assert LineStats.from_stats_objects(stats).timings == {KEY: lines}


def test_a_sum_changes_none_of_its_parts() -> None:
    one = LineStats({KEY: [(2, 1, 3)]}, 1e-6)
    total = LineStats.from_stats_objects(one)
    total.timings[KEY].clear()  # type: ignore[attr-defined]
    assert one.timings == {KEY: [(2, 1, 3)]}


def test_a_subclass_is_kept_in_sums() -> None:
    class Mine(LineStats):
        pass

    one = Mine({KEY: [(2, 1, 3)]}, 1e-6)
    assert type(one + one) is type(Mine.from_stats_objects(one)) is Mine
    assert repr(one) == f"Mine({one.timings}, 1E-06)"


def test_a_profile_can_be_copied_and_sent_to_other_processes() -> None:
    for stats in (example(), profile(), LineStats({KEY: [(2, 1, 3)]}, 3e-10)):
        for same in (pickle.loads(pickle.dumps(stats)), copy.deepcopy(stats)):  # noqa: S301
            assert everything(same) == everything(stats)
            assert same == stats


def test_the_state_of_a_pickle_of_line_profiler_can_be_loaded() -> None:
    stats = LineStats.__new__(LineStats)
    stats.__setstate__({"timings": {KEY: [(2, 1, 3)]}, "unit": 1e-6})
    assert everything(stats) == everything(LineStats({KEY: [(2, 1, 3)]}, 1e-6))


@pytest.mark.parametrize(
    ("functions", "why"),
    [
        ([], "no function was registered; put @profile above a function"),
        ([("f", 0)], "the one function registered was never called"),
        ([("f", 0), ("g", 0)], "the 2 functions registered were never called"),
        (
            [("f", 1)],
            "the one function registered was only called while the profiler was off",
        ),
    ],
)
def test_an_empty_profile_has_a_cause(
    functions: list[tuple[str, int]], why: str
) -> None:
    made = [FunctionStats(FILE, name, 1, (), calls) for name, calls in functions]
    stats = LineStats.from_functions(made)
    assert stats.why_empty.startswith(f"the profile is empty: {why}")
    assert example().why_empty == ""


def test_the_cause_of_an_empty_profile_has_the_end_of_the_program() -> None:
    ended = PROCESS._replace(exit="exception")
    stats = LineStats.from_functions([], processes=[ended, PROCESS])
    assert stats.why_empty.endswith("(the program ended by: exception)")


def test_an_error_is_one_printable_line() -> None:
    error = LineprofError("a\nb\x1b[2J", hint="do\r\nthis")
    assert str(error) == "a\\nb\\x1b[2J; do\\r\\nthis"
    assert str(LineprofError("so it is")) == "so it is"
    assert (error.message, error.hint) == ("a\nb\x1b[2J", "do\r\nthis")


def test_printable_escapes_control_characters_alone() -> None:
    assert printable("é — 損失 \t\u202e\x9b\x7f") == "é — 損失 \\t\\u202e\\x9b\\x7f"
    assert printable("\t\u202e\f", keep="\t\u202e") == "\t\u202e\\x0c"


def test_importing_the_model_imports_no_database_or_parser() -> None:
    code = (
        "import sys; before = set(sys.modules); import lineprof.model.profile;"
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert "lineprof.model.profile" in loaded
    heavy = {
        "sqlite3",
        "json",
        "argparse",
        "hashlib",
        "lineprof.line_stats",
        "lineprof.storage",
        "lineprof.report",
    }
    assert not loaded & heavy
