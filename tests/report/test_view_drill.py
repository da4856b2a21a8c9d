"""`lineprof view --drill`: from a line to its callees, with times that add up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from damaged_files import changed
from example_calls import MAIN, SOLVE, WEIGHTS, cell, deep, example
from example_calls import function as measured
from example_stats import example as without_calls
from view_text import lines_of
from whole_program import profiled

from lineprof.cli.main import main
from lineprof.console.terminal import Terminal
from lineprof.errors import LineprofError
from lineprof.line_stats import LineStats
from lineprof.model.call_graph import edges
from lineprof.model.records import NO_NODE, CallNode, CallTree, Thread
from lineprof.report import VIEWS
from lineprof.report.options import Options
from lineprof.report.text_grid import in_words
from lineprof.storage import save

if TYPE_CHECKING:
    from pathlib import Path

LINE = """\
Timer unit: 1e-06 s

main.py:9: model.forward(step)
4.565 ms in 3 hits: 4.565 ms in what it calls + 300.0 ns of its own

main.py:9 → Model.forward
4 calls, 6.098 ms = 4.565 ms (3 calls) from main.py:9 + 1.533 ms (1 call) from\
 main.py:18
74.9 % of its time came by this call path; the lines below count every call.

Total time: 0.00609766 s
File: /p/model.py
Function: Model.forward at line 12

Line #      Hits         Time  Per Hit   % Time  Line Contents
==============================================================
    12                                               def forward(self, step):
    13         4         61.6     15.4      1.0          total = solve(step)
                                                 | 4 calls of solve (solve.py:13):\
 59.61 us, 96.8 % of the line, 800.0 us on GPUs
    14         4         35.1      8.8      0.6          total += fib(step + 2)
                                                 | 4 calls of fib (solve.py:1):\
 33.45 us, 95.4 % of the line
"""


def drill(*targets: str, **options: object) -> list[str]:
    """Return the view of the example."""
    return lines_of(example(), "drill", targets=targets, unit=1e-6, **options)


def paths(*targets: str, **options: object) -> list[str]:
    """Return the call paths above the tables."""
    lines = drill(*targets, **options)
    places = [n for n, line in enumerate(lines) if line.startswith("Total time")]
    blocks = [lines[: place - 1] for place in places]
    return [block[_last_blank(block) + 1] for block in blocks]


def _last_blank(block: list[str]) -> int:
    return max(n for n, line in enumerate(block) if not line)


def test_a_line_shows_the_tables_of_its_callees_and_times_add_up() -> None:
    lines = drill("main.py:9", gpu_columns=())
    assert lines[: LINE.count("\n")] == LINE.splitlines()


def test_a_line_of_several_functions_has_a_sentence_for_each(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "def slow():\n    return sum(range(1000))\n\n"
        "def main():\n"
        "    sorted([3, 1, 2, 5, 4], key=lambda x: slow() or x)\n\n"
        "main()\n"
    )
    _, stats = profiled("program.py", cwd=tmp_path)
    lines = lines_of(stats, "drill", targets=("program.py:5",), unit=1e-6)
    inner = "main.<locals>.<lambda>"
    whole = [line for line in lines if " hit" in line and line.startswith("in ")]
    assert [re.sub(r"[\d.]+ [mun]?s", "_", line) for line in whole] == [
        "in main (program.py:4): _ in 1 hit: _ in what it calls + _ of its own",
        f"in {inner} (program.py:5): _ in 5 hits: _ in what it calls + _ of its own",
    ]
    (main,) = [one for one in stats.functions if one.name == "main"]
    assert in_words(main.rows[0].time_ns) in whole[0]
    assert [line for line in lines if line.startswith("| 5 calls of ")]
    assert sum(line.startswith("Function: ") for line in lines) == 2


def test_a_callee_of_c_is_called_from_a_name_without_a_line() -> None:
    nodes = (
        CallNode(NO_NODE, 0, MAIN, 0, 1, 1, 10, 100, 100),
        CallNode(0, 9, ("", 0, "builtins.map"), 0, 1, 1, 20, 90, 90),
        CallNode(1, 0, SOLVE, 0, 3, 3, 70, 70, 70),
    )
    stats = LineStats.from_functions(
        [
            measured(MAIN, cell(9, 0, 1, 100), calls=1),
            measured(SOLVE, cell(14, 0, 3, 70), calls=3),
        ],
        threads=[Thread(0, 1, "MainThread")],
        calls=CallTree(nodes),
    )
    lines = lines_of(stats, "drill", targets=("solve",), unit=1e-6)
    assert "3 calls, 70.00 ns = 70.00 ns (3 calls) from {builtins.map}" in lines
    (row,) = [
        line
        for line in lines_of(stats, "callers", targets=("solve",))
        if "{builtins.map}" in line
    ]
    assert ":0" not in row


def test_of_several_functions_on_a_line_the_one_with_the_most_time_is_named() -> None:
    ways = [("/p/way.py", 5, f"way{n}") for n in range(1, 9)]
    times = [10 * n for n in (3, 1, 4, 8, 5, 2, 6, 7)]
    nodes = [CallNode(NO_NODE, 0, MAIN, 0, 1, 1, 0, 360, 360)]
    functions = [measured(MAIN, cell(9, 0, 1, 360), calls=1)]
    for key, ns in zip(ways, times):
        nodes.append(CallNode(0, 9, key, 0, 1, 1, 0, ns, ns))
        nodes.append(CallNode(len(nodes) - 1, 5, SOLVE, 0, 1, 1, ns, ns, ns))
        functions.append(measured(key, cell(5, 0, 1, ns), calls=1))
    functions.append(measured(SOLVE, cell(14, 0, 8, 360), calls=8))
    stats = LineStats.from_functions(
        functions,
        threads=[Thread(0, 1, "MainThread")],
        calls=CallTree(tuple(nodes)),
    )
    lines = lines_of(stats, "drill", targets=("main.py:9", "way.py:5"), unit=1e-6)
    assert "main.py:9 → way4 → way.py:5 → solve" in lines


def test_a_function_shows_its_table_and_the_callers_of_its_time() -> None:
    lines = drill("solve", gpu_columns=())
    assert lines[2:4] == [
        "solve",
        "4 calls, 59.61 us = 59.61 us (4 calls) from model.py:13",
    ]
    assert "    14         4         44.0     11.0     73.8      launch(n)" in lines


def test_times_of_callers_add_up_to_the_total_of_every_function() -> None:
    stats = example()
    for function in stats.functions:
        into = [e for e in edges(stats.calls) if e.callee == function.key]
        assert sum(edge.total_ns for edge in into) == function.total_ns
        text = lines_of(stats, "drill", targets=(f"{function.file}:{function.name}",))
        sums = [line for line in text if re.match(r"\d+ calls?, .* = ", line)]
        assert len(sums) == bool(into)
        if into:
            whole, parts = sums[0].split(" = ")
            added = sum(ns(part) for part in parts.split(" + "))
            assert added == pytest.approx(ns(whole.split(", ")[1]), rel=1e-3)


def ns(words: str) -> float:
    """Return the time (ns) at the start of a text."""
    number, unit = words.split()[:2]
    return float(number) * {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}[unit]


def test_more_depth_follows_the_hottest_call_first() -> None:
    assert paths("main.py:9", depth=3, min_percent=0.0) == [
        "main.py:9 → Model.forward",
        f"main.py:9 → Model.forward → model.py:15 → {WEIGHTS[2]}",
        "main.py:9 → Model.forward → model.py:13 → solve",
        "main.py:9 → Model.forward → model.py:13 → solve → solve.py:14 → launch",
        "main.py:9 → Model.forward → model.py:13 → solve → solve.py:15 → is_even",
        "main.py:9 → Model.forward → model.py:14 → fib",
    ]


def test_small_calls_are_not_followed_and_counted_below() -> None:
    lines = drill("main.py:9", depth=3)
    assert len(paths("main.py:9", depth=3)) == 3
    assert lines[-1] == (
        "Not followed: 3 callees below 1 %; --min-percent 0 follows all"
    )


def test_steps_given_one_after_the_other_are_one_call_path() -> None:
    steps = ("main.py:9", "model.py:13", "solve.py:14")
    assert paths(*steps) == [
        "main.py:9 → Model.forward → model.py:13 → solve → solve.py:14 → launch"
    ]
    assert paths("main", "Model.forward") == ["main → Model.forward"]
    assert paths("launch", "main.py:9") == ["launch", "main.py:9 → Model.forward"]


def test_a_target_called_elsewhere_is_no_step_of_the_call_path() -> None:
    assert paths("main.py:9", "main.py:13") == [
        "main.py:9 → Model.forward",
        "main.py:13 → report",
    ]


def test_a_line_that_calls_no_python_lists_its_callees_without_tables() -> None:
    assert drill("main.py:22")[2:5] == [
        "main.py:22: return str(len(model.sizes))",
        "550.0 ns in 1 hit: 60.00 ns in what it calls + 490.0 ns of its own",
        "| 1 call of {builtins.len}: 60.00 ns, 10.9 % of the line",
    ]


def test_a_line_that_calls_its_own_function_has_the_time_of_these_calls() -> None:
    sentence = "95.11 us in 32 hits: 61.66 us in what it calls + 33.45 us of its own"
    assert sentence in drill("solve.py:2")


def test_a_line_that_is_shorter_than_its_calls_has_no_time_of_its_own() -> None:
    stats = example()
    stats.calls = CallTree(
        tuple(
            node._replace(inclusive_ns=node.inclusive_ns + 100_000)
            for node in stats.calls.nodes
        )
    )
    assert lines_of(stats, "drill", targets=("main.py:22",), unit=1e-6)[3] == (
        "550.0 ns in 1 hit: 100.1 us in what it calls + 0 s of its own"
    )


def test_recursion_counts_once_and_has_its_line() -> None:
    assert drill("fib")[3] == (
        "32 calls, 33.45 us = 33.45 us (4 calls) from model.py:14 +"
        " 0 s (28 calls) from solve.py:2 (itself)"
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("main:9", "main.py:9 → Model.forward"),
        ("p/main.py:9", "main.py:9 → Model.forward"),
        ("/p/main.py:9", "main.py:9 → Model.forward"),
        ("mai?.py:9", "main.py:9 → Model.forward"),
        ("main.py:6", "main"),  # its first line
        ("main.py:10", "main"),  # a line that calls nothing
        ("model.py:12(Model.forward)", "Model.forward"),
        ("*sol?e", "solve"),
    ],
)
def test_a_line_is_found_by_the_names_that_users_type(text: str, path: str) -> None:
    assert paths(text) == [path]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "main.py:99",
            (
                "nothing was measured on main.py:99;"
                " the nearest lines that call functions: 29, 22, 18, 13, 9, 8, 7"
            ),
        ),
        ("moin.py:9", "the profile has no file 'moin.py'; did you mean main.py:9?"),
        ("*.py:9", "'*.py' may be 3 files of the profile; name one of them: main.py,"),
        ("nope", "the profile has no function 'nope'"),
        (
            "len",
            "builtins.len is a C function: it has no lines; lineprof view --callers",
        ),
    ],
)
def test_an_error_for_an_unknown_target_has_similar_names(
    text: str, message: str
) -> None:
    with pytest.raises(LineprofError) as caught:
        drill(text)
    assert str(caught.value).startswith(message)


def test_a_profile_without_calls_shows_the_function_with_one_note() -> None:
    stats = without_calls()
    for target in ("load", "train.py:7"):
        lines = lines_of(stats, "drill", targets=(target,), unit=1e-6)
        assert lines[2:5] == ["load", "", "Total time: 1.23472 s"]
    assert len(list(VIEWS["drill"].notes(stats, Options()))) == 1


def test_a_call_path_3000_deep_is_followed_and_shortened() -> None:
    stats = deep(3000)
    options = {"depth": 3000, "min_percent": 0.0}
    lines = lines_of(stats, "drill", targets=("deep.py:2",), **options)
    steps = [line for line in lines if line.startswith("deep.py:2 → f1")]
    assert len(steps) == 2999
    assert steps[-1].startswith("deep.py:2 → f1 → … → ")
    assert steps[-1].endswith("deep.py:5998 → f2999")
    assert steps[-1].count("→") == 10


def test_extra_columns_and_gpu_columns_are_in_the_tables() -> None:
    text = "\n".join(drill("main.py:9", columns=("wait",)))
    assert "  GPU Time  GPU %  Kernels" in text
    assert "         Wait   GPU Time" in text


def test_on_a_terminal_rows_are_cut_and_arrows_may_be_ascii() -> None:
    terminal = Terminal(is_terminal=True, width=100, boxes=False)
    lines = drill("main.py:9", terminal=terminal, gpu_columns=())
    assert "main.py:9 -> Model.forward" in lines
    assert max(len(line) for line in lines if line.startswith(" ")) == 100


def test_drill_can_be_given_several_times(
    tmp_path: object,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(str(tmp_path))
    save(example(), "main.lprof")
    words = ["--drill", "main.py:9", "--drill=model.py:13", "-u", "1e-3", "main.lprof"]
    assert main(["view", *words]) == 0
    out, err = capsys.readouterr()
    assert (out.splitlines()[0], err) == ("Timer unit: 0.001 s", "")
    assert "main.py:9 → Model.forward → model.py:13 → solve" in out
    assert main(["view", "--drill", "nope", "main.lprof"]) == 1
    assert main(["view", "--drill", "a", "--callers", "b", "main.lprof"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 2


@pytest.mark.parametrize("name", ["./main.py:9", "../p/main.py:9"])
def test_a_path_may_be_relative_as_completed_by_a_shell(name: str) -> None:
    assert drill(name) == drill("main.py:9")


def test_a_called_function_with_a_file_and_no_lines_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = changed(
        tmp_path,
        example(),
        "UPDATE call_functions SET file = '/p/t.py', first_line = 3, name = 'nap'",
    )
    for target in ("nap", "t.py:nap", "t.py:3(nap)"):
        assert main(["view", "--drill", target, str(file)]) == 1
        assert capsys.readouterr().err == (
            "lineprof: nap was called and not profiled: it has no lines;"
            " lineprof view --callers nap shows who calls it\n"
        )
    assert main(["view", "--drill", "t.py:3", str(file)]) == 1
    assert "nothing was measured on t.py:3" in capsys.readouterr().err
    assert main(["view", "--callers", "nap", str(file)]) == 0
