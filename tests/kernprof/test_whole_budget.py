"""--max-overhead: functions that cost too much to measure are switched off."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked, write
from running import hook_name
from whole_program import names, profiled, summary

from kernprof.overhead_budget import Budget, BudgetWatch
from lineprof import load_stats
from lineprof.recording.discovery import Cost, Overhead

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MS = 1_000_000  # ns


def costs(**functions: tuple[int, int]) -> list[Cost]:
    """Return costs of functions, given as ms of measuring and ms of their own time."""
    return [
        Cost(("x.py", 1, name), None, 1000, 3000, cost * MS, own * MS)
        for name, (cost, own) in functions.items()
    ]


def chosen(budget: Budget, elapsed: int, **functions: tuple[int, int]) -> list[str]:
    """Return the names of functions that are switched off after `elapsed` ms."""
    found = budget.choose(elapsed * MS, costs(**functions))
    return [name for _, _, name in found]


def test_within_the_budget_nothing_is_switched_off() -> None:
    budget = Budget(1.2)
    assert chosen(budget, 120, f=(20, 80)) == []
    assert chosen(budget, 240, f=(40, 160)) == []
    assert budget.choose(0, []) == {}


def test_the_highest_cost_per_own_time_goes_first_and_no_more_than_needed() -> None:
    functions = {"slow": (30, 100), "tiny": (60, 1), "small": (40, 10), "rare": (1, 0)}
    # The cost is 131 of 300 ms; 20 % of the other 169 ms are 33.8: 97.2 too many.
    assert chosen(Budget(1.2), 300, **functions) == ["tiny", "small"]
    assert chosen(Budget(1.6), 300, **functions) == ["tiny"]
    assert chosen(Budget(1.0), 300, **functions) == ["tiny", "small", "slow", "rare"]


def test_a_function_that_is_off_is_not_chosen_again() -> None:
    budget = Budget(1.2)
    assert chosen(budget, 100, f=(55, 1), g=(5, 39)) == ["f"]
    assert chosen(budget, 200, f=(60, 1), g=(60, 40)) == ["g"]


def test_a_function_with_a_low_recent_cost_is_kept() -> None:
    budget = Budget(1.2)
    assert chosen(budget, 1000, f=(9, 1)) == []
    # Over the budget in total, but not recently.
    budget = Budget(1.2)
    assert chosen(budget, 100, f=(50, 1), g=(40, 1)) == ["f", "g"]
    assert chosen(budget, 200, f=(50, 1), g=(40, 1), h=(10, 90)) == []
    assert chosen(budget, 300, f=(50, 1), g=(40, 1), h=(60, 100)) == ["h"]


def test_a_function_with_much_time_of_its_own_goes_after_a_cheaper_one() -> None:
    functions = {"costly": (60, 100), "tiny": (40, 1)}
    # The cost is 100 of 300 ms; 20 % of the other 200 ms are 40: 60 too many.
    assert chosen(Budget(1.2), 300, **functions) == ["tiny", "costly"]
    assert chosen(Budget(1.4), 300, **functions) == ["tiny"]


def test_of_two_equal_ratios_the_higher_cost_goes_first() -> None:
    assert chosen(Budget(1.2), 200, a=(20, 10), b=(40, 20)) == ["b"]


def test_an_old_cost_does_not_count_as_saved() -> None:
    budget = Budget(1.2)
    assert chosen(budget, 1000, old=(90, 800), new=(0, 1)) == []
    # In the last 100 ms the threads' cost was 110 ms, of which `old` had 70.
    assert chosen(budget, 1100, old=(160, 801), new=(40, 41)) == ["old", "new"]


def test_a_cost_of_a_few_milliseconds_is_ignored() -> None:
    assert chosen(Budget(1.2), 10, f=(9, 1)) == []
    assert chosen(Budget(1.2), 12, f=(11, 1)) == ["f"]


def test_code_compiled_anew_is_the_same_function() -> None:
    both = [*costs(f=(40, 1)), *costs(f=(40, 1))]
    [(_, usage)] = Budget(1.2).choose(100 * MS, both).items()
    assert (usage.cost_ns, usage.hits) == (80 * MS, 6000)


def test_the_choice_does_not_depend_on_the_order_of_functions() -> None:
    some = costs(a=(30, 1), b=(30, 1), c=(30, 1), d=(5, 1))
    first = list(Budget(1.5).choose(200 * MS, some))
    assert list(Budget(1.5).choose(200 * MS, some[::-1])) == first
    assert [name for _, _, name in first] == ["a", "b"]


def test_costs_of_several_threads_may_exceed_the_elapsed_time() -> None:
    assert chosen(Budget(3.0), 100, f=(300, 10)) == ["f"]


def test_registering_functions_counts_and_cannot_be_saved() -> None:
    costs_of_f = costs(f=(30, 10))
    within = Budget(1.2).choose(300 * MS, costs_of_f)  # 30 of 54 ms
    assert not within
    # Without the 100 ms of registering, it would be 30 of 34 ms.
    missed = Budget(1.2).choose(300 * MS, costs_of_f, registering_ns=100 * MS)
    assert [name for _, _, name in missed] == ["f"]
    fixed = Budget(1.2).choose(300 * MS, costs_of_f, fixed_ns=30 * MS)
    assert [name for _, _, name in fixed] == ["f"]


def test_half_of_the_allowance_pays_back_what_cannot_be_saved() -> None:
    # 20 % of 880 ms are 176 ms: 88 for events, and 88 for the 500 ms before.
    for ms, off in (80, []), (100, ["f"]):
        found = Budget(1.2).choose(
            (880 + ms) * MS, costs(f=(ms, 10)), fixed_ns=500 * MS
        )
        assert [name for _, _, name in found] == off


def test_events_are_taken_as_often_as_they_are_underestimated() -> None:
    assert chosen(Budget(1.2), 220, f=(30, 10)) == []
    assert chosen(Budget(1.2, 2.0), 220, f=(30, 10)) == ["f"]


def test_lines_are_given_up_before_calls() -> None:
    budget = Budget(1.2, has_calls_only=True)
    # Of 3000 hits and 1000 calls, lines are 3000 / 5500 of the cost.
    assert chosen(budget, 300, tiny=(60, 1), slow=(2, 100)) == ["tiny"]
    assert budget.by_calls == {("x.py", 1, "tiny")}
    assert chosen(budget, 600, tiny=(120, 2), slow=(4, 200)) == ["tiny"]
    assert budget.by_calls == set()
    assert chosen(budget, 900, tiny=(180, 3), slow=(4, 300)) == []


def test_two_checks_at_once_are_one() -> None:
    budget = Budget(1.2)
    assert chosen(budget, 100, f=(50, 1)) == ["f"]
    both = costs(f=(50, 1), g=(1, 1))
    # All of these 150 µs were spent on registering, so that g would be too much.
    found = budget.choose(100 * MS + 150_000, both, registering_ns=MS)
    assert found == {}
    assert chosen(budget, 200, f=(50, 1), g=(2, 90)) == []


def test_what_lines_save_is_less_than_all() -> None:
    functions = {"a": (40, 10), "b": (40, 11)}
    # 80 ms of 200 are 56 too many: all of a and b, or the lines of both.
    assert chosen(Budget(1.5), 200, **functions) == ["a"]
    assert chosen(Budget(1.5, has_calls_only=True), 200, **functions) == ["a"]
    assert chosen(Budget(1.4, has_calls_only=True), 200, **functions) == ["a", "b"]


def test_a_function_without_lines_to_save_is_switched_off() -> None:
    cost = Cost(("x.py", 1, "empty"), None, 1000, 200, 90 * MS, MS)
    budget = Budget(1.2, has_calls_only=True)
    assert [*budget.choose(100 * MS, [cost])] == [cost.key]
    assert budget.by_calls == set()


class Fake:
    """A profiler with costs set by the test."""

    core = "monitoring"

    def __init__(self, functions: Mapping[str, tuple[int, int]]) -> None:
        """Set the costs by function name."""
        self.functions = dict(functions)
        self.off: list[object] = []
        self.by_calls: list[object] = []
        self.refuses_calls = False  # from the second code object of a function on
        self.copies = 1  # code objects of each function
        self.cuts: list[object] = []
        self.warnings: list[str] = []
        self.total = Overhead(events_ns=0, registering_ns=0, left_out=0)

    def overhead(self) -> Overhead:
        """Return the costs of all functions."""
        return self.total

    def costs(self) -> list[Cost]:
        """Return the costs, each with a code object."""
        code = test_within_the_budget_nothing_is_switched_off.__code__
        return [
            Cost(one.key, code, one.calls, one.hits, one.cost_ns, one.time_ns)
            for one in costs(**self.functions)
            for _ in range(self.copies)
        ]

    def unwatch(self, code: object) -> None:
        """Record the code object."""
        self.off.append(code)

    def count_calls(self, code: object) -> bool:
        """Record the code object."""
        self.by_calls.append(code)
        return not self.refuses_calls or len(self.by_calls) < self.copies

    def cut(self, key: object, *, lines_only: bool) -> None:
        """Record the function."""
        self.cuts.append((key, lines_only))

    def audit(self, call: object, step: int = 0) -> None:
        """Record the call and the step."""
        self.call, self.step = call, step


class Clock:
    """Both clocks of a `BudgetWatch`, set by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Begin at 0 ms."""
        self.ms = 0
        for name in ("perf_counter_ns", "process_time_ns"):
            monkeypatch.setattr(time, name, lambda: self.ms * MS)


def watch_of(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> BudgetWatch:
    """Return the watch of a budget of 1.2, which has begun."""
    watch = BudgetWatch(1.2, lambda: fake)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(watch._timer, "start", lambda: None)
    watch.start()
    return watch


def test_the_summary_names_functions_that_were_switched_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = Fake({f"f{number}": (50, 1) for number in range(7)})
    clock = Clock(monkeypatch)
    watch = watch_of(fake, monkeypatch)
    fake.refuses_calls = True
    assert watch.summary() == []
    clock.ms = 500
    assert watch._check() >= fake.step == 5 * MS
    assert len(fake.off) == len(fake.cuts) == 7
    assert not any(lines_only for _, lines_only in fake.cuts)
    clock.ms = 5000
    watch.stop()
    [said] = watch.summary()
    assert said == (
        "--max-overhead 1.2 has switched off f0, f1, f2, f3, f4 and 2 more: later"
        " time is in the lines that call them, and every view marks such a function"
    )
    assert fake.call is None


def test_the_summary_names_functions_of_which_calls_were_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = Fake({"f": (50, 1), "g": (60, 1)})
    clock = Clock(monkeypatch)
    watch = watch_of(fake, monkeypatch)
    clock.ms = 200
    watch._check()
    assert (len(fake.off), len(fake.by_calls)) == (0, 2)
    assert [(key[2], lines_only) for key, lines_only in fake.cuts] == [  # type: ignore[index]
        ("g", True),
        ("f", True),
    ]
    said, *_ = watch.summary()
    assert said == (
        "--max-overhead 1.2 has stopped counting the lines of g, f; calls and totals"
        " are complete, and every view marks such a function"
    )
    fake.functions = {"f": (90, 2), "g": (60, 1)}
    clock.ms = 300
    watch._check()
    assert (len(fake.off), fake.cuts[2:]) == (1, [(("x.py", 1, "f"), False)])
    by_calls, off, *_ = watch.summary()
    assert "of g; calls" in by_calls
    assert "switched off f:" in off


def test_a_function_is_switched_off_if_one_of_its_code_objects_must_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake, clock = Fake({"f": (50, 1)}), Clock(monkeypatch)
    fake.refuses_calls, fake.copies = True, 2
    watch = watch_of(fake, monkeypatch)
    clock.ms = 200
    watch._check()
    assert (len(fake.by_calls), len(fake.off)) == (2, 2)
    assert fake.cuts == [(("x.py", 1, "f"), False)]


def test_functions_are_registered_while_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake, clock = Fake({}), Clock(monkeypatch)
    watch = watch_of(fake, monkeypatch)
    fake.total = Overhead(events_ns=0, registering_ns=30 * MS, left_out=0)
    assert watch.pause() == 0  # however short the program is
    fake.total = Overhead(events_ns=10 * MS, registering_ns=80 * MS, left_out=5)
    clock.ms = 400
    assert watch.pause() == 100 * MS
    clock.ms += 70
    assert watch.pause() == 30 * MS
    # 20 % of 900 ms are 180; 80 ms, twice 10 ms, and 90 ms at both ends are 190.
    clock.ms = 1000
    assert 50 * MS < watch.pause() < 52 * MS
    clock.ms = 1052
    assert watch.pause() == 0
    watch.stop()
    [why] = watch.summary()
    assert fake.warnings == [why]
    assert why == (
        "--max-overhead 1.2 has left out 5 functions for which there was no time:"
        " their time is in the lines that call them"
    )


def test_a_missed_budget_is_said_with_what_took_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake, clock = Fake({}), Clock(monkeypatch)
    watch = watch_of(fake, monkeypatch)
    fake.total = Overhead(events_ns=100 * MS, registering_ns=60 * MS, left_out=0)
    clock.ms = 900
    watch.stop()
    clock.ms = 1000
    [said] = watch.summary()
    assert said == (
        "--max-overhead 1.2 was not held: the program took about 1.67 times as long;"
        " 200.0 ms to record events, 140.0 ms to start and to write the profile,"
        " 60.00 ms to register functions"
    )


def program(folder: Path) -> None:
    """Write a program that runs until the periodic dump says that tiny is off."""
    text = """\
        import os, sqlite3, time
        def tiny(x):
            return x + 1
        def loop(n):
            for i in range(n):
                tiny(i)
        def coarse():
            return sum(range(2000000))
        coarse()
        until = time.monotonic() + 240
        turns = 0
        while time.monotonic() < until:
            loop(20000)
            turns += 1
            if turns % 20 == 0:
                coarse()
            try:
                base = sqlite3.connect("file:out?mode=ro", uri=True)
                said = [*base.execute("SELECT name FROM cuts JOIN functions"
                                      " ON functions.id = function_id"
                                      " WHERE until_ns IS NOT NULL")]
            except sqlite3.Error:
                continue
            if ("tiny",) in said:
                break
        else:
            print("never")
        """
    write(folder, "x.py", text)


def view_with_warnings(*words: str, cwd: Path) -> list[str]:
    """Return the lines that `view` prints, warnings among them."""
    done = subprocess.run(
        [sys.executable, "-m", "lineprof", "view", *words],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
        text=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("words", [[], ["-p", "x.py"], ["--whole"]])
def test_a_hot_tiny_function_is_switched_off_while_it_runs(
    tmp_path: Path, words: list[str]
) -> None:
    program(tmp_path)
    outcome = kernprof_forked(
        "-l", "-i1", "--max-overhead", "1.01", "-oout", *words, "x.py", cwd=tmp_path
    )
    assert (outcome.status, "never" in outcome.out) == (0, False), outcome
    start = "kernprof: --max-overhead 1.01 has switched off "
    [said] = [line for line in outcome.err.splitlines() if line.startswith(start)]
    assert "tiny" in said
    shown = view_with_warnings("--all-functions", "out", cwd=tmp_path)
    below = shown[max(n for n, line in enumerate(shown) if "return x + 1" in line) :]
    [_] = [line for line in below if "marked (counted ...), w" in line]
    by_line = "" if hook_name() == "settrace" else r"by line until \d+\.\d\d s "
    mark = (
        r"Function: tiny at line 2  \(counted until \d+\.\d\d s "
        + by_line
        + r"of \d+\.\d\d s\)"
    )
    assert re.search(mark, "\n".join(shown))
    stats = load_stats(str(tmp_path / "out"))
    cuts = {cut.function[2]: cut.until_ns for cut in stats.cuts}
    assert 0 < (cuts["tiny"] or 0) < stats.processes[0].wall_ns


@pytest.mark.serial
@pytest.mark.skipif(hook_name() == "settrace", reason="a trace function cannot do it")
def test_a_function_with_a_hot_loop_keeps_its_calls_and_total(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        """\
import time

def step():
    x = 0
    for i in range(3000):
        x += i
        x -= i
    return x

def main():
    began = time.process_time()
    while time.process_time() - began < 1:
        step()

main()
""",
    )
    outcome = kernprof_forked(
        "-l", "-oout", "--max-overhead", "1.1", "x.py", cwd=tmp_path
    )
    said = "--max-overhead 1.1 has stopped counting the lines of step; calls and totals"
    assert said in outcome.err
    assert "switched off" not in outcome.err
    stats = load_stats(tmp_path / "out")
    [cut] = stats.cuts
    assert (cut.function[2], cut.until_ns, cut.from_ns) == ("step", None, 0)
    assert 0 < (cut.lines_until_ns or 0) < stats.processes[0].wall_ns
    [step] = [one for one in stats.functions if one.name == "step"]
    [main] = [one for one in stats.functions if one.name == "main"]
    times = {row.line: row.time_ns for row in step.rows}
    [called] = [row for row in main.rows if row.line == 13]
    assert step.calls == called.hits
    assert times[3] > 0.5 * step.total_ns > 0.3 * main.total_ns
    shown = "\n".join(view_with_warnings("out", cwd=tmp_path))
    assert re.search(r"step at line 3  \(counted by line until \d+\.\d\d s of ", shown)
    assert "hits are of that part of the run, later time is on the first line" in shown
    assert "1 function, marked (counted by line until ...), was counted with" in shown


@pytest.mark.serial
def test_a_budget_leaves_out_functions_for_which_there_is_no_time(
    tmp_path: Path,
) -> None:
    lines = [f"def f{number}(): return {number}" for number in range(3000)]
    lines += [f"f{number}()" for number in range(3000)]
    write(tmp_path, "x.py", "\n".join(lines))
    outcome = kernprof_forked("-lo", "out", "--max-overhead=1.01", "x.py", cwd=tmp_path)
    stats = load_stats(tmp_path / "out")
    [left_out] = re.findall(r"has left out (\d+) functions", outcome.err)
    assert int(left_out) > 0
    assert len(names(stats)) + int(left_out) == 3001  # with the module
    assert "max-overhead 1.01 was not held: the program took about" in outcome.err
    assert [text for text in stats.warnings if f"left out {left_out} f" in text]


def test_a_budget_that_is_kept_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "def f(): return 1\nf()\n")
    said = summary(2, 1)
    if hook_name() == "settrace":
        said += (
            "kernprof: --max-overhead 50 leaves out that each call takes longer with"
            " the event source settrace: up to a fifth of the time of programs with"
            " many calls; Python 3.12 and later need no settrace\n"
        )
    _, stats = profiled("--max-overhead=50", "x.py", cwd=tmp_path, err=said)
    assert (names(stats), stats.warnings) == (["x.py:<module>", "x.py:f"], ())


@pytest.mark.parametrize("word", ["0.9", "x", "", "-1", "inf", "nan", "1,2"])
def test_an_invalid_budget_is_refused(tmp_path: Path, word: str) -> None:
    outcome = kernprof_forked("-l", f"--max-overhead={word}", "x.py", cwd=tmp_path)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == (
        f"kernprof: bad overhead {word!r}; give times from 1 on, as in"
        " --max-overhead 1.2\n"
    )


def test_the_program_does_not_see_the_thread_that_checks_the_budget(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "x.py",
        """\
        import os, sys, threading, time
        time.sleep(0.2)
        print(threading.active_count(), len(sys._current_frames()))
        if os.fork() == 0:
            os._exit(0)
        print(os.wait()[1])
        """,
    )
    outcome, _ = profiled("--max-overhead=1.2", "x.py", cwd=tmp_path)
    assert outcome.out == "1 1\n0\n"
