"""`lineprof diff` and `check --baseline` beside other load: CPU time, and waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from as_python import viewer
from report_page import Page
from versions import FILE, MS, save_version, version

from lineprof.line_stats import LineStats
from lineprof.model.records import (
    GIL,
    IO,
    LOCK,
    NO_NODE,
    OTHER,
    RUNNABLE,
    SLEEP,
    CallNode,
    CallTree,
    FunctionStats,
    Thread,
    ThreadLine,
    Wait,
)
from lineprof.storage import save

if TYPE_CHECKING:
    from collections.abc import Mapping

    from as_python import Outcome

pytestmark = pytest.mark.usefixtures("here")

TEXT = """\
def step(rows):
    total = 0
    for row in rows:
        total += sum(row)
        store(total)
    return total
"""

SUM, STORE = "total += sum", "store(total)"


def save_run(name: str, *, cpu: Mapping[str, int], waits: Any = None,
             **options: Any) -> str:  # fmt: skip
    """Write a run of `step`: CPU time and waits (ms, by cause) of its lines."""
    waits = waits or {}
    in_ns = {
        line: {cause: ms * MS for cause, ms in causes.items()}
        for line, causes in waits.items()
    }
    lines = {
        line: (100, (cpu.get(line, 0) + sum(waits.get(line, {}).values())) * MS)
        for line in dict.fromkeys((*cpu, *waits))
    }
    options = {"wall_ns": 2000 * MS, **options}
    return save_version(name, TEXT, {"step": lines}, waits={"step": in_ns}, **options)


CPU = {"for row": 10, SUM: 100, STORE: 50}


def diff(*words: str) -> str:
    done = viewer("diff", *words, cwd=Path.cwd())
    assert done.status == 0, done.err
    return done.out


def of_row(text: str) -> str:
    """Return the text of a comparison from the row that changed most on."""
    return text.partition("\nMost at ")[2] or text


def as_json(*words: str) -> dict[str, Any]:
    return json.loads(diff(*words, "--json"))  # type: ignore[no-any-return]


def check(*words: str) -> Outcome:
    return viewer("check", "b.lprof", "--baseline", "a.lprof", *words, cwd=Path.cwd())


# Other load.


def test_an_unchanged_program_beside_other_load_has_no_change() -> None:
    save_run("a.lprof", cpu=CPU)
    # Each line waited for a processor, and its caches were cold.
    cpu = {"for row": 12, SUM: 120, STORE: 58}
    waits = {line: {RUNNABLE: 5 * ms} for line, ms in CPU.items()}
    save_run("b.lprof", cpu=cpu, waits=waits)
    text = diff("a.lprof", "b.lprof")
    assert text.startswith(
        "No change: CPU time 160.0 ms before, 190.0 ms after; waits 0 s, 0 s\n"
        "Wall time: 2.000 s before, 2.000 s after; waits for a processor 0 s,"
        " 800.0 ms\n"
        "\n"
        "No function took another time or has another number of calls\n"
        "1 function changed within noise; --limit 0 lists all\n"
        "\n"
        "No line took another time or has another number of hits\n"
        "3 lines changed within noise; --limit 0 lists all\n"
    )
    assert "counts as longer only if" not in text
    assert check().status == 0
    assert diff("b.lprof", "a.lprof").startswith("No change: ")
    found = as_json("a.lprof", "b.lprof")
    assert found["verdict"].startswith("No change: ")
    assert [row["within_noise"] for row in found["lines"]] == [True] * 3
    assert (found["cpu_ns"]["after"], found["wait_ns"]["after"]) == (190 * MS, 0)
    assert found["ready_ns"]["after"] == 800 * MS


def test_waits_for_others_take_longer_beside_other_load() -> None:
    wait = {STORE: {GIL: 60, LOCK: 50, OTHER: 40}}
    save_run("a.lprof", cpu=CPU, waits=wait)
    stretched = {STORE: {GIL: 180, LOCK: 150, OTHER: 120}}
    load = {SUM: {RUNNABLE: 300}}
    save_run("b.lprof", cpu=CPU, waits={**stretched, **load})
    text = diff("a.lprof", "b.lprof")
    assert text.startswith("No change: ")
    assert "longer only if it is more than 2.9 times as long" in text
    assert check().status == 0
    # Without load they are a change.
    save_run("b.lprof", cpu=CPU, waits=stretched)
    text = diff("a.lprof", "b.lprof")
    assert of_row(text).startswith(
        "work.py:5 step: waits 150.0 ms before, 450.0 ms after, 3 times longer\n"
    )


def test_a_longer_sleep_or_the_same_load_on_both_sides_hides_nothing() -> None:
    load = {SUM: {RUNNABLE: 800}}
    save_run("a.lprof", cpu=CPU, waits={STORE: {SLEEP: 3000}})
    save_run("b.lprof", cpu=CPU, waits={STORE: {SLEEP: 9000}, **load})
    assert "waits in sleep 3.000 s before, 9.000 s after, 3 times longer" in diff(
        "a.lprof", "b.lprof"
    )
    save_run("a.lprof", cpu=CPU, waits={STORE: {LOCK: 3000}, **load})
    save_run("b.lprof", cpu=CPU, waits={STORE: {LOCK: 12000}, **load})
    assert "waits for a lock 3.000 s before, 12.00 s after, 4 times longer" in diff(
        "a.lprof", "b.lprof"
    )
    assert check().status == 1


def test_a_cpu_regression_beside_other_load_is_seen() -> None:
    save_run("a.lprof", cpu=CPU)
    waits = {SUM: {RUNNABLE: 900}, STORE: {RUNNABLE: 100}}
    save_run("b.lprof", cpu={**CPU, STORE: 150}, waits=waits)
    text = diff("a.lprof", "b.lprof")
    assert of_row(text).startswith(
        "work.py:5 step: CPU time 50.00 ms before, 150.0 ms after, 3 times slower\n"
    )
    assert "sum(row)" not in text
    done = check()
    assert done.status == 1
    assert done.out == (
        f"{FILE}:5: error: step: CPU time 260.0 ms, 62 % slower than the 160.0 ms of"
        " the baseline; 10 % are allowed (this line: 100.0 ms more)\n"
    )


def test_runs_beside_another_load_differ_by_that_load() -> None:
    for number, more in enumerate((0, 1, 2)):
        save_run(f"a.{number}.lprof", cpu={SUM: 100 + more})
        wait = {SUM: {RUNNABLE: 300}}
        save_run(f"b.{number}.lprof", cpu={SUM: 115 + more}, waits=wait)
        save_run(f"c.{number}.lprof", cpu={SUM: 115 + more})
    assert diff("a.*.lprof", "b.*.lprof").startswith("No change: ")
    assert of_row(diff("a.*.lprof", "c.*.lprof")).startswith(
        "work.py:4 step: CPU time 101.0 ms before, 116.0 ms after, 15 % slower\n"
    )


# Bands.

LOOP = 3_000_000  # hits


def save_loop(name: str, ms: int) -> None:
    save_version(name, TEXT, {"step": {SUM: (LOOP, ms * MS)}}, wall_ns=2000 * MS)


@pytest.mark.parametrize("runs", [1, 3])
def test_a_hot_loop_that_takes_twice_the_time_is_seen(runs: int) -> None:
    for number in range(runs):
        save_loop(f"a{number}.lprof", 82 + number)
        save_loop(f"b{number}.lprof", 148 + number)
    text = diff("a*.lprof", "b*.lprof")
    assert of_row(text).startswith("work.py:4 step: CPU time 8")
    assert check_runs("a*.lprof", "b*.lprof").status == 1


def check_runs(before: str, after: str, *words: str) -> Outcome:
    return viewer("check", after, "--baseline", before, *words, cwd=Path.cwd())


def test_several_runs_of_a_hot_loop_tell_a_small_change() -> None:
    for number in range(3):
        save_loop(f"a{number}.lprof", 80 + number)
        save_loop(f"b{number}.lprof", 92 + number)
    assert ", 15 % slower\n" in diff("a*.lprof", "b*.lprof")


@pytest.mark.parametrize("after", [125, 140])
def test_one_run_tells_a_third_more(after: int) -> None:
    is_seen = after == 140
    save_run("a.lprof", cpu={SUM: 100})
    save_run("b.lprof", cpu={SUM: after})
    for words in (("a.lprof", "b.lprof"), ("b.lprof", "a.lprof")):
        assert diff(*words).startswith("No change: ") is not is_seen
    done = check()
    assert done.status == is_seen
    note = "with one run a side, a slowdown below 30 % passes: give three or more runs"
    assert note in done.err
    assert note not in check("--max-slowdown", "30%").err
    save_run("c.lprof", cpu={SUM: 100})
    assert note not in check_runs("a.lprof,c.lprof", "b.lprof").err


@pytest.mark.parametrize("after", [2200, 2500])
def test_sleep_varies_little(after: int) -> None:
    save_run("a.lprof", cpu=CPU, waits={STORE: {SLEEP: 2000}})
    save_run("b.lprof", cpu=CPU, waits={STORE: {SLEEP: after}})
    assert diff("a.lprof", "b.lprof").startswith("No change: ") is (after == 2200)
    save_run("a.lprof", cpu=CPU, waits={STORE: {IO: 2000}})
    save_run("b.lprof", cpu=CPU, waits={STORE: {IO: after}})
    assert diff("a.lprof", "b.lprof").startswith("No change: ")


def test_load_on_both_sides_widens_no_band_of_several_runs() -> None:
    load = {SUM: {RUNNABLE: 500}}
    for number in range(3):
        one = {"cpu": {SUM: 100, STORE: 50}, "waits": load}
        save_run(f"a{number}.lprof", **one)
        save_run(f"b{number}.lprof", **{**one, "cpu": {SUM: 100, STORE: 60}})
    assert "work.py:5 step: CPU time 50.00 ms before, 60.00 ms after" in diff(
        "a*.lprof", "b*.lprof"
    )


def test_a_new_wait_beside_load_is_no_wake_up_of_the_side_without() -> None:
    load = {SUM: {RUNNABLE: 2000}}
    save_run("a.lprof", cpu=CPU, waits=load)
    save_run("b.lprof", cpu=CPU, waits={STORE: {LOCK: 50}, **load})
    assert "waits for a lock 0 s before, 50.00 ms after" in diff("a.lprof", "b.lprof")


def test_load_on_one_side_makes_caches_cold_and_hides_no_twice() -> None:
    load = {"for row": {RUNNABLE: 300}}
    for name in ("a0", "a1", "a2"):
        save_run(f"{name}.lprof", cpu={"for row": 10, SUM: 100, STORE: 50})
    for number in range(3):
        cold = {"for row": 14, SUM: 150, STORE: 75}
        save_run(f"b{number}.lprof", cpu=cold, waits=load)
        twice = {"for row": 14, SUM: 200, STORE: 75}
        save_run(f"c{number}.lprof", cpu=twice, waits=load)
    for runs in "0", "*":
        one = f"a{runs}.lprof"
        assert diff(one, f"b{runs}.lprof").startswith("No change: ")
        assert "step: CPU time 100.0 ms before, 200.0 ms" in diff(one, f"c{runs}.lprof")


# Waits.


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (LOCK, "waits for a lock"),
        (SLEEP, "waits in sleep"),
        (IO, "waits for I/O"),
        (GIL, "waits for the GIL"),
        (OTHER, "waits for something else"),
    ],
)
def test_a_new_wait_is_named_with_its_line(cause: str, words: str) -> None:
    save_run("a.lprof", cpu=CPU)
    load = {SUM: {RUNNABLE: 100}}
    save_run("b.lprof", cpu=CPU, waits={STORE: {cause: 200}, **load})
    text = diff("a.lprof", "b.lprof")
    assert of_row(text).startswith(
        f"work.py:5 step: {words} 0 s before, 200.0 ms after\n"
    )
    (row,) = [line for line in text.splitlines() if line.endswith("store(total)")]
    assert row.split()[:7] == [
        *("50.000", "50.000", "0.000", "0.000", "200.000", "+200.000", "100")
    ]
    assert f" {words} work.py:5 step " in " ".join(row.split())
    done = check()
    assert done.status == 1
    assert done.out == (
        f"/project/train.py:1: error: {words} 200.0 ms, none in the baseline\n"
        f"{FILE}:5: error: step: {words} 200.0 ms, none in the baseline"
        " (this line: 200.0 ms more)\n"
    )
    rows = json.loads(check("--format", "json").out)["budgets"]
    assert [(row["key"], row["status"]) for row in rows] == [
        ("slowdown", "holds"),
        ("waits", "exceeded"),
        ("waits", "exceeded"),
    ]
    changed = as_json("a.lprof", "b.lprof")["lines"][0]
    assert (changed["verdict"], changed["wait_cause"]) == (words, cause)
    assert as_json("b.lprof", "a.lprof")["lines"][0]["verdict"] == f"{words} gone"


def of_store(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Return the sentence on the line that waited, before and after (ms by cause)."""
    save_run("a.lprof", cpu=CPU, waits={STORE: before})
    save_run("b.lprof", cpu=CPU, waits={STORE: after})
    return of_row(diff("a.lprof", "b.lprof")).splitlines()[0]


def test_a_cause_is_named_with_its_own_numbers_or_not_at_all() -> None:
    assert of_store({LOCK: 800}, {SLEEP: 700, IO: 700, GIL: 200}) == (
        "work.py:5 step: waits 800.0 ms before, 1.600 s after, 2 times longer"
    )
    row = as_json("a.lprof", "b.lprof")["lines"][0]
    assert (row["verdict"], row["wait_cause"]) == ("waits 2 times longer", None)
    assert "error: step: waits 1.600 s, 2 times longer than the 800.0 ms" in check().out
    assert of_store({LOCK: 500, SLEEP: 300}, {SLEEP: 1000, IO: 700}) == (
        "work.py:5 step: waits 800.0 ms before, 1.700 s after, 2.1 times longer"
    )
    # The lock alone changed.
    assert of_store({LOCK: 500, SLEEP: 300}, {LOCK: 50, SLEEP: 300}) == (
        "work.py:5 step: waits for a lock 500.0 ms before, 50.00 ms after,"
        " 10 times shorter"
    )


def test_a_wait_for_another_cause_is_a_change() -> None:
    sentence = (
        "work.py:5 step: waits for a lock 800.0 ms before, 0 s after; waits in sleep"
    )
    assert of_store({LOCK: 800}, {SLEEP: 800}).startswith(sentence)
    assert of_store({LOCK: 800}, {SLEEP: 810}) == (
        "work.py:5 step: waits in sleep 0 s before, 810.0 ms after; waits for a lock"
        " 800.0 ms before, 0 s after"
    )
    (row,) = [one for one in as_json("a.lprof", "b.lprof")["lines"]
              if not one["within_noise"]]  # fmt: skip
    assert row["verdict"] == "waits for a lock gone, waits in sleep"
    done = check()
    assert done.status == 1
    assert "step: waits in sleep 810.0 ms, none in the baseline (this line: 810" in (
        done.out
    )
    assert "a lock" not in done.out


def test_a_function_has_changed_if_a_line_has() -> None:
    load = {SUM: {RUNNABLE: 300}}
    save_run("a.lprof", cpu=CPU, waits=load)
    save_run("b.lprof", cpu=CPU, waits={STORE: {LOCK: 119}, **load})
    found = as_json("a.lprof", "b.lprof")
    (row,) = found["functions"]
    assert not row["within_noise"]
    assert row["verdict"] == "line 5: waits for a lock"
    assert "No function took" not in diff("a.lprof", "b.lprof")
    done = check()
    assert done.status == 1
    assert done.out == (
        f"{FILE}:5: error: step: waits for a lock 119.0 ms, none in the baseline"
        " (this line: 119.0 ms more)\n"
    )
    # A line that got what another one lost is none of the function.
    save_run("a.lprof", cpu={SUM: 300, STORE: 100})
    save_run("b.lprof", cpu={SUM: 100, STORE: 300})
    assert as_json("a.lprof", "b.lprof")["functions"] == []
    assert check().status == 0


def test_both_times_may_change() -> None:
    save_run("a.lprof", cpu=CPU, waits={STORE: {IO: 100}})
    save_run("b.lprof", cpu={**CPU, STORE: 5}, waits={STORE: {IO: 400}})
    (row,) = [row for row in as_json("a.lprof", "b.lprof")["lines"]
              if not row["within_noise"]]  # fmt: skip
    assert row["verdict"] == "10 times faster, waits for I/O 4 times longer"
    assert "; CPU time 50.00 ms before, 5.000 ms" in diff("a.lprof", "b.lprof")


def test_the_page_has_both_times() -> None:
    save_run("a.lprof", cpu=CPU, waits={STORE: {LOCK: 20}})
    save_run("b.lprof", cpu={**CPU, SUM: 300}, waits={STORE: {LOCK: 320}})
    assert diff("a.lprof", "b.lprof", "--html", "d.html") == ""
    page = Page(Path("d.html").read_text(encoding="utf-8"))
    assert page.data["hasWaits"]
    assert page.data["verdict"].startswith("In all: CPU time 160.0 ms before, 360.0 ms")
    assert "; most at work.py:5 step: waits for a lock 20.00 ms" in page.data["verdict"]
    assert page.data["wait"]["words"] == "16 times longer"
    store, total, *_ = page.rows("lines")
    assert (store["wait0"], store["wait1"]) == (20 * MS, 320 * MS)
    assert (total["cpu0"], total["cpu1"]) == (100 * MS, 300 * MS)
    assert (store["verdict"], total["verdict"]) == (
        "waits for a lock 16 times longer",
        "3 times slower",
    )


# The first line.


def test_the_first_line_has_the_sign_of_the_program() -> None:
    lines = range(60)
    text = "def step():\n" + "".join(f"    a{n:02d} = 1\n" for n in lines) + "    end\n"
    for name, ms, end in (("a.lprof", 10, 100), ("b.lprof", 25, 20)):
        numbers = {f"a{n:02d}": (1, ms * MS) for n in lines}
        numbers["end"] = (1, end * MS)
        save_version(name, text, {"step": numbers}, wall_ns=2000 * MS)
    text = diff("a.lprof", "b.lprof")
    assert of_row(text).startswith(
        "work.py:1 step: CPU time 700.0 ms before, 1.520 s after, 2.2 times slower\n"
    )
    assert text.startswith("In all: CPU time 700.0 ms before, 1.520 s after, 2.2 times")
    assert ", 5 times faster" not in text.partition("\n\n")[0]


def test_other_hits_alone_are_no_change_of_times() -> None:
    for name, hits in (("a.lprof", 1), ("b.lprof", 2)):
        numbers = {SUM: (hits, 10 * MS), STORE: (hits, 10 * MS), "for row": (1, MS)}
        save_version(name, TEXT, {"step": numbers})
    text = diff("a.lprof", "b.lprof")
    assert text.startswith(
        "No change of times; 2 lines have another number of hits\n"
        "In all: CPU time 21.00 ms before, 21.00 ms after; "
    )


def test_what_is_added_or_removed_has_no_time_of_the_other_side() -> None:
    more = TEXT + "\ndef check(total):\n    return slow(total)\n"
    step = {SUM: (1, 100 * MS)}
    whole = {"step": step, "check": {"slow": (1, 400 * MS)}}
    save_version("a.lprof", TEXT, {"step": step}, wall_ns=500 * MS)
    save_version("b.lprof", more, whole, wall_ns=500 * MS)
    words = "CPU time 400.0 ms\n"
    assert of_row(diff("a.lprof", "b.lprof")).startswith(
        f"work.py:9 check: added, {words}"
    )
    assert of_row(diff("b.lprof", "a.lprof")).startswith(
        f"work.py:9 check: removed, {words}"
    )


# Other functions that were profiled.

NESTED = """\
def leaf(n):
    return n * n

def main():
    leaf(9)
"""

LEAF, TOP = ("/project/work.py", 1, "leaf"), ("/project/work.py", 4, "main")


def save_nested(name: str, ms: int, *, is_whole: bool, waited: int = 0) -> None:
    """Write a run of `main`, whose call took `ms`; `leaf` too if it was profiled."""
    ns, own_ns = ms * MS, MS if is_whole else ms * MS
    functions = [FunctionStats(*TOP[::2], 4, (ThreadLine(5, 0, 1, ns),), 1)]
    calls = [CallNode(NO_NODE, 0, TOP, 0, 1, 1, own_ns, ns, ns)]
    waits = [Wait(TOP, 5, 0, LOCK, waited * MS)] if waited else []
    if is_whole:
        rest = ns - own_ns
        functions.append(FunctionStats(*LEAF[::2], 1, (ThreadLine(2, 0, 1, rest),), 1))
        calls.append(CallNode(0, 5, LEAF, 0, 1, 1, rest, rest, rest))
        waits += [Wait(LEAF, 2, 0, LOCK, waited * MS)] if waited else []
    stats = version(NESTED, {}, wall_ns=2000 * MS)
    stats = LineStats.from_functions(
        functions,
        processes=[one._replace(is_whole=is_whole) for one in stats.processes],
        threads=stats.threads,
        sources=stats.sources,
        calls=CallTree(tuple(calls)),
        waits=waits,
    )
    save(stats, name)


def test_another_choice_of_functions_is_no_change() -> None:
    save_nested("a.lprof", 1000, is_whole=False)
    save_nested("b.lprof", 1010, is_whole=True)
    for words in (("a.lprof", "b.lprof"), ("b.lprof", "a.lprof")):
        text = diff(*words)
        assert text.startswith(
            "CPU time of processes 2.000 s before, 2.000 s after; no change of"
            " functions that both have\nWall time: "
        )
        assert "No function took another time" in text
        assert (
            "Note: 1 function of files that both sides have ran, but only one side"
            f" profiled them: leaf ({FILE}:1); times are with callees"
        ) in " ".join(text.split())
    assert check().status == 0
    save_nested("b.lprof", 3000, is_whole=True, waited=1990)
    assert diff("a.lprof", "b.lprof").startswith(
        "CPU time of processes 2.000 s before, 2.000 s after; with callees,"
        " work.py:5 main: waits for a lock 0 s before, 1.990 s after\n"
    )
    assert "5: error: main: waits for a lock 1.990 s, none in" in check().out


def test_a_function_that_is_no_longer_called_was_removed() -> None:
    for name, is_whole in (("a.lprof", True), ("b.lprof", True)):
        save_nested(name, 1000, is_whole=is_whole)
    stats = version(NESTED, {"main": {"leaf(9)": (1, MS)}}, wall_ns=10 * MS)
    process = stats.processes[0]._replace(is_whole=True)
    save(
        LineStats.from_functions(
            stats.functions,
            processes=[process],
            threads=stats.threads,
            sources=stats.sources,
            calls=stats.calls,
        ),
        "b.lprof",
    )
    assert of_row(diff("a.lprof", "b.lprof")).startswith(
        "work.py:2 leaf: removed, CPU time"
    )


# What a profile does not know.


def test_json_and_the_page_agree_with_the_verdict_on_wall_times() -> None:
    for name, ms in (("a.lprof", 1000), ("b.lprof", 1200)):
        numbers = {SUM: (1, ms * MS)}
        save_version(name, TEXT, {"step": numbers}, wall_ns=10 * MS)
    found = as_json("a.lprof", "b.lprof")
    assert found["verdict"].startswith("No change: own time 1.000 s before, 1.200 s")
    line = found["lines"][0]
    band = line["self_ns"]["noise"]
    assert band > 300 * MS
    assert (found["self_ns"]["noise"], line["time_ns"]["noise"]) == (band, None)
    assert found["wall_ns"]["noise"] is None
    diff("a.lprof", "b.lprof", "--html", "d.html")
    page = Page(Path("d.html").read_text(encoding="utf-8"))
    assert page.data["own"]["within"]
    (row,) = page.rows("lines")
    assert (row["selfNoise"], row["totalNoise"]) == (band, None)
    # Where waits are known, own time is judged by its parts.
    save_run("c.lprof", cpu=CPU)
    save_run("d.lprof", cpu={**CPU, SUM: 200})
    line = as_json("c.lprof", "d.lprof")["lines"][0]
    assert line["self_ns"]["noise"] is None
    assert line["cpu_ns"]["noise"] > 0


def test_wall_times_are_compared_where_a_profile_has_no_waits() -> None:
    save_run("a.lprof", cpu=CPU)
    # More time than the processes had on processors, and no waits: not measured.
    save_run("b.lprof", cpu={**CPU, SUM: 400}, wall_ns=300 * MS)
    text = diff("a.lprof", "b.lprof")
    assert of_row(text).startswith(
        "work.py:4 step: own time 100.0 ms before, 400.0 ms after, 4 times slower\n"
        "Wall time: 2.000 s before, 300.0 ms after\n"
    )
    note = (
        "the profile after does not say how long lines waited: wall times are compared"
    )
    assert note in text
    assert "\nBefore (ms)  After (ms)  Change (ms)  " in text
    found = as_json("a.lprof", "b.lprof")
    assert (found["cpu_ns"], found["wait_ns"], found["ready_ns"]) == (None,) * 3
    diff("a.lprof", "b.lprof", "--html", "d.html")
    page = Page(Path("d.html").read_text(encoding="utf-8"))
    assert (page.data["hasWaits"], page.data["cpu"]) == (False, None)
    assert note in diff("a.lprof,a.lprof", "b.lprof")
    done = check()
    assert "step: own time 460.0 ms, 2.9 times slower than the 160.0 ms" in done.out


def test_cpu_time_of_other_code_does_not_prove_that_no_line_waited() -> None:
    stats = version(TEXT, {"step": {SUM: (1, 500 * MS)}}, wall_ns=1500 * MS)
    (process,) = stats.processes
    for name, cpu_ms in (("a.lprof", 900), ("b.lprof", 1430)):
        processes = [process._replace(cpu_ns=cpu_ms * MS)]
        save(
            LineStats.from_functions(
                stats.functions,
                processes=processes,
                threads=stats.threads,
                sources=stats.sources,
                calls=stats.calls,
            ),
            name,
        )
    note = "the profile before does not say how long lines waited"
    assert note in diff("a.lprof", "b.lprof")
    assert "does not say" not in diff("b.lprof", "b.lprof")
    assert "lineprof: the profile before does not say" in check().err


def test_a_pickle_of_line_profiler_has_wall_times() -> None:
    save_run("a.lprof", cpu=CPU, waits={STORE: {LOCK: 100}})
    words = ["export", "-f", "line_profiler", "-o", "a.pkl", "a.lprof"]
    assert viewer(*words, cwd=Path.cwd()).status == 0
    text = diff("a.pkl", "a.lprof")
    assert text.startswith("No change: time of functions 260.0 ms before, 260.0 ms")
    assert "the profile before does not say how long lines waited" in text
    assert "before and after does not say" in diff("a.pkl", "a.pkl")


def test_waits_without_any_known_cause_may_be_for_a_processor() -> None:
    save_run("a.lprof", cpu=CPU, waits={STORE: {OTHER: 100}})
    save_run("b.lprof", cpu=CPU, waits={STORE: {OTHER: 90, RUNNABLE: 10}})
    note = "before: no cause of a wait is known, so that waits for a processor"
    assert note in diff("a.lprof", "b.lprof")
    assert "no cause of a wait" not in diff("b.lprof", "b.lprof")


MAIN, HELPER = ("/project/work.py", 1, "main"), ("/project/work.py", 20, "helper")


def save_calls(name: str, line_ns: tuple[int, int], waited: int, own: int) -> None:
    """Write a run of `main`, whose lines 2 and 3 call `helper` for 100 ms each.

    The helper waited for 100 ms of these, nobody knows in which call, and line 2 for
    `waited` ms with its call; it took `own` ms itself.
    """
    total = sum(line_ns)
    calls = [
        CallNode(NO_NODE, 0, MAIN, 0, 1, 1, total - 200 * MS, total, total),
        *(CallNode(0, n, HELPER, 0, 1, 1, *[100 * MS] * 3) for n in (2, 3)),
    ]
    assert line_ns[0] == (100 + own) * MS
    lines = tuple(ThreadLine(line, 0, 1, ns) for line, ns in enumerate(line_ns, 2))
    helper = (ThreadLine(21, 0, 2, 200 * MS),)
    waits = [(MAIN, 2, waited), (HELPER, 21, 100)]
    stats = LineStats.from_functions(
        [
            FunctionStats(*MAIN[::2], 1, lines, 1),
            FunctionStats(*HELPER[::2], 20, helper, 2),
        ],
        processes=version(TEXT, {}, wall_ns=2000 * MS).processes,
        threads=[Thread(0, 4711, "MainThread")],
        calls=CallTree(tuple(calls)),
        waits=[Wait(key, line, 0, LOCK, ms * MS) for key, line, ms in waits],
    )
    save(stats, name)


def test_a_change_inside_the_bounds_of_a_wait_is_none() -> None:
    # Line 2 waited 0 to 100 of its own 150 ms, or 50 to 150.
    save_calls("a.lprof", (250 * MS, 110 * MS), waited=100, own=150)
    save_calls("b.lprof", (250 * MS, 110 * MS), waited=150, own=150)
    rows = as_json("a.lprof", "b.lprof")["lines"]
    assert all(row["within_noise"] for row in rows)
    # Neither part is known to have changed, but their sum.
    save_calls("c.lprof", (380 * MS, 110 * MS), waited=100, own=280)
    changed = [
        row for row in as_json("a.lprof", "c.lprof")["lines"] if not row["within_noise"]
    ]
    assert [row["verdict"] for row in changed] == ["87 % slower"]
    assert "own time 150.0 ms before, 280.0 ms after" in diff("a.lprof", "c.lprof")
    # A wait beyond all bounds.
    save_calls("d.lprof", (1050 * MS, 110 * MS), waited=1000, own=950)
    assert as_json("a.lprof", "d.lprof")["lines"][0]["verdict"].startswith(
        "waits for a lock "
    )


# Words.


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (400, 100, "4 times faster"),
        (390, 100, "3.9 times faster"),
        (100, 1000, "10 times slower"),
        (100, 994, "9.9 times slower"),
        (100, 199, "99 % slower"),
        (100, 200, "2 times slower"),
        (100, 150, "50 % slower"),
        (200, 101, "50 % faster"),
        (1, 1500, "1,500 times slower"),
        (1000, 1996, "2 times slower"),
        (1996, 1000, "50 % faster"),
    ],
)
def test_a_change_is_told_in_proportion(before: int, after: int, words: str) -> None:
    save_run("a.lprof", cpu={SUM: before})
    save_run("b.lprof", cpu={SUM: after})
    assert as_json("a.lprof", "b.lprof")["lines"][0]["verdict"] == words
    shown = diff("a.lprof", "b.lprof")
    assert of_row(shown).splitlines()[0].endswith(f"after, {words}")
    diff("a.lprof", "b.lprof", "--html", "d.html")
    page = Page(Path("d.html").read_text(encoding="utf-8"))
    assert page.rows("lines")[0]["verdict"] == page.data["cpu"]["words"] == words
    assert after < before or f"s, {words} than the " in check().out


def test_a_share_below_a_thousandth_has_no_words() -> None:
    for number in range(3):
        save_run(f"a{number}.lprof", cpu={SUM: 1_000_000}, wall_ns=10**13)
        save_run(f"b{number}.lprof", cpu={SUM: 1_000_100}, wall_ns=10**13)
    found = as_json("a*.lprof", "b*.lprof", "--limit", "0")
    assert " 0.0 %" not in json.dumps(found)
    diff("a*.lprof", "b*.lprof", "--html", "d.html")
    page = Page(Path("d.html").read_text(encoding="utf-8"))
    assert page.data["cpu"]["words"] == ""


def test_a_change_outside_of_the_profiled_lines_is_told() -> None:
    save_run("a.lprof", cpu=CPU, wall_ns=500 * MS)
    save_run("b.lprof", cpu=CPU, wall_ns=1500 * MS)
    assert diff("a.lprof", "b.lprof").startswith(
        "Outside of the profiled lines: CPU time of processes 500.0 ms before,"
        " 1.500 s after, 3 times slower\n"
    )
    done = check()
    assert "train.py:1: error: CPU time 1.500 s, 3 times slower than the" in done.out
