"""`lineprof view --callers`: edges into a function, which add up to its total."""

from __future__ import annotations

import pytest
from example_calls import FORWARD, LEN, example
from example_stats import example as without_calls
from view_text import lines_of, rows_below

from lineprof.errors import LineprofError
from lineprof.model.call_graph import edges, function_totals
from lineprof.report.lookup import Finder

pytestmark = pytest.mark.once  # text of fixed profiles


def rows(*targets: str) -> list[str]:
    """Return the rows of the callers, with single blanks between words."""
    lines = lines_of(example(), "callers", targets=targets)
    return [" ".join(row) for row in rows_below(lines, "Calls")]


def test_each_caller_has_its_line_its_calls_and_its_share() -> None:
    assert lines_of(example(), "callers", targets=("Model.forward",))[0] == (
        "Model.forward (model.py:12) is called from:"
    )
    assert rows("forward") == [
        "3 4564.877 74.9 % 600.000 main.py:9 main model.forward(step)",
        "1 1532.779 25.1 % 200.000 main.py:18 work model.forward(3)",
        "4 6097.656 100.0 % 800.000 all together",
    ]


def test_recursion_counts_once_in_the_time_and_fully_in_the_inclusive_time() -> None:
    assert rows("fib") == [
        "4 33.450 100.0 % 33.450 model.py:14 Model.forward total += fib(step + 2)",
        (
            "28/0 0.000 0.0 % 61.664 solve.py:2 fib (itself)"
            " return n if n < 2 else fib(n - 1) + fib(n - 2)"
        ),
        "32/4 33.450 100.0 % 95.114 all together",
    ]


def test_a_function_without_a_caller_was_called_from_outside() -> None:
    assert rows("main.py")[0] == (
        "1 6292.469 100.0 % 600.000 outside of all profiled functions"
    )


def test_a_c_function_also_has_callers() -> None:
    assert rows("builtins.len")[0] == (
        "1 0.060 100.0 % main.py:22 report return str(len(model.sizes))"
    )
    assert Finder([LEN, FORWARD]).function("len") == LEN


def test_the_edges_into_every_function_add_up_to_its_calls_and_time() -> None:
    stats = example()
    for key, numbers in function_totals(stats).items():
        into = [edge for edge in edges(stats.calls) if edge.callee == key]
        assert sum(edge.calls for edge in into) == numbers.calls
        assert sum(edge.total_ns for edge in into) == numbers.total_ns
        last = rows(f"{key[0]}:{key[2]}" if key[0] else key[2])[-1]
        assert last.endswith("all together")
        assert f" {numbers.total_ns / 1000:.3f} " in f" {last} "


def test_several_functions_are_shown_below_each_other() -> None:
    lines = lines_of(example(), "callers", targets=("solve", "launch"))
    assert [line for line in lines if line.endswith("from:")] == [
        "solve (solve.py:13) is called from:",
        "launch (solve.py:18) is called from:",
    ]


def test_a_profile_without_calls_has_the_total_alone() -> None:
    lines = lines_of(without_calls(), "callers", targets=("load",))
    assert [" ".join(row) for row in rows_below(lines, "Calls")] == [
        "2 1234.718 100.0 % not known from where",
        "2 1234.718 100.0 % all together",
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Model.forward", "Model.forward"),
        ("forward", "Model.forward"),
        ("model.py:forward", "Model.forward"),
        ("model:Model.forward", "Model.forward"),
        ("p/model.py:Model.forward", "Model.forward"),
        ("/p/model.py:Model.forward", "Model.forward"),
        ("model.py:12(Model.forward)", "Model.forward"),
        ("p/model.py:12(Model.forward)", "Model.forward"),
        ("Model.forward (model.py:12)", "Model.forward"),
        ("*.forw*", "Model.forward"),
        ("mod*.py:*forw*", "Model.forward"),
        ("main", "main"),
        ("main.py", "<module>"),
        ("model.py::forward", "Model.forward"),
        ("model.Model.forward", "Model.forward"),
        ("p.model.Model.forward", "Model.forward"),
        ("::main", "main"),
        ("<module>", "<module>"),
        ("sol?e", "solve"),
    ],
)
def test_a_function_is_found_by_the_names_that_users_type(text: str, name: str) -> None:
    assert Finder(function_totals(example())).function(text)[2] == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "is_*",
            (
                "'is_*' may be 2 functions of the profile;"
                " name one of them: solve.py:5(is_even), solve.py:9(is_odd)"
            ),
        ),
        ("*e*", "'*e*' may be 10 functions of the profile; name one"),
        (
            "forwrad",
            (
                "the profile has no function 'forwrad';"
                " did you mean model.py::Model.forward?"
            ),
        ),
        (
            "nothing_like_it",
            (
                "the profile has no function 'nothing_like_it';"
                " lineprof view --functions lists all"
            ),
        ),
        ("other.py:main", "the profile has no function 'other.py:main'; did you mean"),
    ],
)
def test_an_error_for_an_unknown_name_has_similar_names(
    text: str, message: str
) -> None:
    with pytest.raises(LineprofError) as caught:
        Finder(function_totals(example())).function(text)
    assert str(caught.value).startswith(message)


def test_a_full_name_is_preferred_to_a_part_of_another() -> None:
    keys = [("/p/a.py", 1, "A.run"), ("/p/b.py", 1, "run"), ("/p/b.py", 9, "A.runner")]
    assert Finder(keys).function("run") == keys[1]
    assert Finder(keys).function("A.run") == keys[0]
    with pytest.raises(LineprofError, match=r"b.py:1\(run\), b.py:9\(A.runner\)"):
        Finder(keys).function("b.py:*run*")


def test_a_class_is_preferred_to_the_c_function_that_calls_it() -> None:
    body, made = ("/p/a.py", 3, "Named"), ("", 0, "Named")
    plain, other = ("", 0, "app.Model"), ("/p/a.py", 9, "Model")
    finder = Finder([body, made, plain, other, ("", 0, "list.sort")])
    assert finder.function("Named") == body
    assert finder.function("{Named}") == made
    assert finder.function("*odel") == other
    sorts = Finder([("", 0, "list.sort"), ("/p/a.py", 9, "Model.sort")])
    with pytest.raises(LineprofError, match="may be 2 functions"):
        sorts.function("sort")
