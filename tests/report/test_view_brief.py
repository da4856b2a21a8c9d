"""`lineprof view --brief N`: the answer in at most N words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import example_calls
import example_gpu
import example_ranks
import example_stats
import example_whole
import pytest
from as_python import kernprof, viewer
from example_advice import FILE, MS, Called, made
from hostile_files import EVIL_NAME, check_no_controls
from versions import version
from view_text import lines_of

from lineprof.console.terminal import Terminal
from lineprof.line_stats import LineStats
from lineprof.model.records import (
    LOCK,
    NO_NODE,
    SLEEP,
    CallNode,
    CallTree,
    Cut,
    Wait,
)
from lineprof.storage import load, save

if TYPE_CHECKING:
    from as_python import Outcome

    from lineprof.model.records import FunctionStats

pytestmark = pytest.mark.once  # views of fixed profiles

ROOT = Path(__file__).parents[2]

PLAN = """\
import slow

def main():
    total = 0
    for number in range(40):
        total += work(number)
    return total

def work(number):
    return number ** 3
"""


@pytest.fixture(autouse=True)
def _python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lineprof.report.brief.python_command", lambda: "python")


def plan(**more: object) -> LineStats:
    """Return a run of 1 s, in which work() takes 700 ms and main() 100 ms."""
    return made(
        PLAN,
        {
            "main": (1, {5: (41, 100 * MS), 6: (40, 700 * MS)}),
            "work": (40, {10: (40, 700 * MS)}),
        },
        [Called("main", 6, "work", 40, 700 * MS)],
        **more,
    )


def brief(stats: LineStats, words: int, **options: object) -> list[str]:
    options = {"file": "plan.lprof", **options}
    return lines_of(stats, "brief", words=words, **options)


COMMAND = "python -m lineprof view --drill work plan.lprof"


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (1, ["program.py:10"]),
        (2, ["program.py:10 70.0%"]),
        (3, ["program.py:10 70.0%"]),  # a time is never cut
        (4, ["program.py:10 70.0%, 700.0 ms"]),
        (6, ["program.py:10 70.0%, 700.0 ms, 40 hits"]),
        (12, ["program.py:10 70.0%, 700.0 ms, 40 hits"]),  # nor is the command
        (13, ["program.py:10 70.0%, 700.0 ms, 40 hits", COMMAND]),
        (
            15,
            ["program.py:10 70.0%, 700.0 ms, 40 hits: return number…", COMMAND],
        ),
        (
            20,
            [
                "program.py:10 70.0% of the run, 700.0 ms, 40 hits: return number ** 3",
                COMMAND,
            ],
        ),
        (
            29,
            [
                "program.py:10 70.0% of the run, 700.0 ms, 40 hits: return number ** 3",
                "in work, called 40 times from program.py:6 (main)",
                COMMAND,
            ],
        ),
    ],
)
def test_more_words_say_more(words: int, lines: list[str]) -> None:
    assert brief(plan(), words) == lines


def empty() -> LineStats:
    return made(PLAN, {"main": (0, {})})


def waiting() -> LineStats:
    waits = [Wait((FILE, 9, "work"), 10, 0, SLEEP, 600 * MS)]
    return plan(waits=[*waits, Wait((FILE, 3, "main"), 6, 0, SLEEP, 600 * MS)])


def importing() -> LineStats:
    return made(PLAN, {"<module>": (1, {1: (1, 900 * MS)}), "work": (1, {10: (1, MS)})})


def one_line() -> LineStats:
    return made("x = sum(range(9))\n", {"<module>": (1, {1: (1, 900 * MS)})})


def long_names() -> LineStats:
    text = "def f():\n    return 'a  b', 'c\u00a0d', g()\n"
    lines = {"f": {"return": (3, 20 * MS)}}
    return version(text, lines, file="/pro ject/my file.py")


def hostile() -> LineStats:
    text = "def f():\n    return 1 # `|<b> \x0c \x1b[2J\udcff\n"
    return version(text, {"f": {"return": (3, MS)}}, file=f"/p/{EVIL_NAME}.py")


PROFILES = {
    "plan": plan,
    "whole": example_whole.example,
    "calls": example_calls.example,
    "chosen": lambda: example_whole.example(is_whole=False),
    "line_profiler": example_stats.example,
    "gpu": example_gpu.example,
    "ranks": example_ranks.summed,
    "empty": empty,
    "nothing": lambda: LineStats.from_functions(()),
    "waiting": waiting,
    "importing": importing,
    "one line": one_line,
    "long names": long_names,
    "hostile": hostile,
}


def without_dots(lines: list[str]) -> Counter[str]:
    """Return the words of lines, without dots and marks behind them."""
    return Counter(word.rstrip("…,:;") for word in "\n".join(lines).split())


def shell_words(command: str) -> list[str]:
    """Return the words of a command, as bash reads it."""
    script = f"printf '%s\\0' {command}"
    done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, check=True)
    return os.fsdecode(done.stdout).split("\0")[:-1]


@pytest.mark.parametrize("name", PROFILES)
def test_no_number_of_words_is_exceeded_and_more_words_lose_none(name: str) -> None:
    stats, before = PROFILES[name](), Counter[str]()
    command = ""
    for words in range(1, 201):
        lines = brief(stats, words, file="'my plan.lprof'")
        assert lines
        assert 0 < len("\n".join(lines).split()) <= words
        found = without_dots(lines)
        assert not before - found, words
        before = found
        if not command and lines[-1].startswith("python -m lineprof view --"):
            command = lines[-1]
            assert shell_words(command)[-1] == "my plan.lprof"
        assert lines[-1] == command or not command
        text = "".join(lines)
        assert text.count("…") <= 1
        check_no_controls(text)
    assert command


@pytest.mark.parametrize("name", PROFILES)
def test_the_command_can_be_pasted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save(PROFILES[name](), "it's a `plan`.lprof")
    done = shown("100", file="it's a `plan`.lprof")
    assert (done.status, len(done.out.split()) <= 100) == (0, True)
    words = shell_words(done.out.splitlines()[-1])
    assert words[:4] == ["python", "-m", "lineprof", "view"]
    done = viewer(*words[3:], cwd=tmp_path)
    assert done.status == 0, done.err


def shown(*words: str, file: str = "x.lprof") -> Outcome:
    return viewer("view", "--brief", *words, file, cwd=Path.cwd())


def test_the_page_shows_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    program = "examples/three_modules/near_duplicates.py"
    ran = kernprof("-lq", program, cwd=tmp_path, env={"LINEPROF_WAITS": "off"})
    assert ran.status == 0, ran.err
    monkeypatch.chdir(tmp_path)
    found = shown("60", file="near_duplicates.lprof").out
    page = (ROOT / "docs" / "usage.md").read_text("utf-8")
    block = page.partition("### The answer in a few words")[2].partition("text\n")[2]
    texts = [without_times(text) for text in (block.partition("```")[0], found)]
    before, after = (text.splitlines() for text in texts)
    assert len(before) == len(after) == 5
    del before[3], after[3]  # of the next line, which chance chooses
    assert before == after


def without_times(text: str) -> str:
    return re.sub(r"[\d.]+(?:(%)| [mu]?s\b)", r"N\1", text)  # a busy machine has s


# Kinds of answers.


def first_line(stats: LineStats, words: int = 100) -> str:
    return brief(stats, words)[0]


def test_waits_are_a_reason() -> None:
    lines = brief(waiting(), 80)
    assert lines[0].startswith("program.py:10 70.0% of the run, 700.0 ms, 40 hits")
    assert lines[2].startswith("waits: sleep 600.0 ms; waiting: ")


def test_imports_that_take_most_of_a_run_are_the_answer() -> None:
    lines = brief(importing(), 80)
    assert lines[0] == "program.py:1 90.0% of the run, 900.0 ms of imports: import slow"
    assert not any(line.startswith("program.py:1 ") for line in lines[1:])


def test_work_of_a_gpu_has_its_share_of_that() -> None:
    lines = brief(example_gpu.example(), 200)
    hottest = [line for line in lines if "of GPU time" in line]
    assert re.match(r"\S+:\d+ [\d.]+% of GPU time, ", hottest[0])


def test_a_profile_without_calls_says_that_times_have_callees() -> None:
    # One of its functions recurses: its line took longer than the run.
    line = first_line(example_stats.example())
    assert re.match(
        r"train\.py:22 \d\d\.\d% of all lines, 8\.000 s with callees, ", line
    )


def test_the_whole_that_shares_are_of_is_named() -> None:
    lines = brief(example_stats.example(), 100)
    assert lines[0].startswith("train.py:22 86.6% of all lines, 8.000 s ")
    assert "100% is 9.243 s" in lines  # of which 8 s are 86.6 %


def test_a_file_of_line_profiler_does_not_tell_of_the_run(tmp_path: Path) -> None:
    file = ROOT / "tests" / "golden" / "line_profiler" / "demo-5.1.0.lprof"
    shown = viewer("view", "--brief", "200", str(file), cwd=tmp_path).out
    assert shown.startswith("demo.py:35 55.4% of all lines, 599.6 us with callees, ")
    assert "100% is 1.082 ms\n" in shown


def test_the_sum_of_threads_is_not_called_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four threads sleep at the same time."""
    (tmp_path / "naps.py").write_text(
        "import threading, time\n"
        "def nap(): time.sleep(0.1)\n"
        "naps = [threading.Thread(target=nap) for _ in range(4)]\n"
        "for one in naps: one.start()\n"
        "for one in naps: one.join()\n"
    )
    assert kernprof("-lq", "naps.py", cwd=tmp_path).status == 0
    monkeypatch.chdir(tmp_path)
    text = shown("200", file="naps.lprof").out
    assert re.match(r"naps.py:2 \d\d\.\d% of the time of all threads, ", text)
    assert re.search(r"100% is [\d.]+ ms, the time of all threads: ", text)


def test_a_profile_without_processes_has_no_threads_of_0_processes() -> None:
    lines = brief(plan(processes=()), 100)
    assert lines[0].startswith("program.py:10 87.5% of the run, 700.0 ms, ")
    assert any(line.startswith("100% is 800.0 ms: ") for line in lines)


def test_an_empty_profile_says_why() -> None:
    lines = brief(empty(), 60)
    assert lines == [
        "the profile is empty: the one function registered was never called",
        "python -m lineprof view --functions plan.lprof",
    ]
    assert brief(empty(), 3) == ["the profile is…"]


def test_a_part_of_the_run_is_marked() -> None:
    cut = Cut((FILE, 9, "work"), process=0, from_ns=0, until_ns=300 * MS)
    line = first_line(plan(cuts=[cut]))
    assert "40 hits (counted until 0.30 s of 1.00 s): return" in line


SITES = """\
def main():
    one()
    two()

def one():
    work(1); work(2)
    work(3)

def two():
    work(4)

def work(number):
    return number
"""


def called_from(*calls: tuple[str, int, int]) -> str:
    """Return what is said of the callers of work(): name, line and ms of each."""
    lines: dict[str, dict[int, tuple[int, int]]] = {"main": {}, "one": {}, "two": {}}
    for name, line, ms in calls:
        lines[name][line] = (1, ms * MS)
    for name, line in (("one", 2), ("two", 3)):
        if lines[name]:
            ns = sum(ns for _, ns in lines[name].values())
            lines["main"][line] = (1, ns)
    called = [
        Called("main", line, name, 1, lines["main"][line][1])
        for name, line in (("one", 2), ("two", 3))
        if lines[name]
    ]
    called += [Called(name, line, "work", 2, ms * MS) for name, line, ms in calls]
    whole = sum(ms for _, _, ms in calls) * MS
    functions = {name: (1, one) for name, one in lines.items() if one}
    stats = made(
        SITES, {**functions, "work": (2 * len(calls), {13: (9, whole)})}, called
    )
    return brief(stats, 90)[1]


def test_the_lines_of_a_caller_are_named() -> None:
    assert called_from(("one", 7, 500)) == (
        "in work, called 2 times from program.py:7 (one),"
        " called from program.py:2 (main)"
    )
    assert called_from(("one", 7, 200), ("one", 6, 300)) == (
        "in work, called 4 times from program.py:6, 7 (one),"
        " called from program.py:2 (main)"
    )


def test_of_several_callers_the_longest_is_named() -> None:
    assert called_from(("one", 7, 200), ("two", 10, 300)) == (
        "in work, called 4 times from 2 functions, longest from program.py:10 (two)"
    )


FIB = "def main():\n    fib()\n\ndef fib():\n    fib()\n"


def test_calls_of_a_function_by_itself_are_told_apart() -> None:
    calls = [Called("main", 2, "fib", 1, 500 * MS), Called("fib", 5, "fib", 6, 0)]
    lines = {"main": (1, {2: (1, 500 * MS)}), "fib": (7, {5: (7, 500 * MS)})}
    shown = brief(made(FIB, lines, calls), 90)
    assert shown[1] == "in fib, called 7 times (6 by itself) from program.py:2 (main)"


def test_the_longest_caller_is_not_one_inside_of_the_same_recursion(
    tmp_path: Path,
) -> None:
    program = tmp_path / "turns.py"
    program.write_text(
        "def even(n): return n and odd(n - 1)\n"
        "def odd(n): return n and even(n - 1)\n"
        "def main():\n"
        "    even(100)\n"
        "main()\n"
    )
    assert kernprof("-lq", "turns.py", cwd=tmp_path).status == 0
    shown = viewer("view", "--brief", "100", "even", "turns.lprof", cwd=tmp_path).out
    assert "from 2 functions, longest from turns.py:4 (main)\n" in shown


def test_a_caller_that_is_not_profiled_is_said() -> None:
    key = (FILE, 12, "work")
    nodes = [
        CallNode(NO_NODE, 0, (FILE, 5, "one"), 0, 1, 1, 0, 300 * MS, 300 * MS),
        CallNode(0, 7, key, 0, 1, 1, 300 * MS, 300 * MS, 300 * MS),
        CallNode(NO_NODE, 0, key, 0, 2, 2, 400 * MS, 400 * MS, 400 * MS),
    ]
    lines = {"one": (1, {7: (1, 300 * MS)}), "work": (3, {13: (3, 700 * MS)})}
    text = "called 3 times from program.py:7 (one) and from code not profiled"
    shown = brief(made(SITES, lines, calls=CallTree(tuple(nodes))), 90)
    assert shown[1] == f"in work, {text}"


def test_a_line_whose_source_is_not_known_has_none() -> None:
    stats = version(SITES, {"work": {"return": (3, MS)}}, source=False)
    line = brief(stats, 90)[0]
    assert line == "work.py:13 1.0% of the run, 1.000 ms, 3 hits"


def test_the_loop_of_another_line_is_named_with_its_place() -> None:
    lines = {"main": (1, {5: (41, 300 * MS), 6: (40, 500 * MS)}),
             "work": (40, {10: (40, 400 * MS)})}  # fmt: skip
    stats = made(PLAN, lines, [Called("main", 6, "work", 40, 400 * MS)])
    assert brief(stats, 80)[2].startswith("at program.py:5 hot-loop: It usually")


def test_the_run_and_the_next_lines_follow() -> None:
    lines = brief(plan(), 100)
    assert "100% is 1.000 s: computing 80.0%, code not profiled 20.0%" in lines
    text = "program.py:5 10.0%, 100.0 ms, 41 hits: for number in range(40):"
    assert text in lines
    assert lines[-1] == COMMAND


def test_source_keeps_its_blanks_and_loses_its_indentation() -> None:
    assert first_line(long_names()).endswith("3 hits: return 'a  b', 'c\u00a0d', g()")


def test_another_encoding_has_other_dots() -> None:
    line = brief(plan(), 15, terminal=Terminal(boxes=False))[0]
    assert line.endswith("return number...")


# The flag.


@pytest.fixture
def _saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(plan(warnings=("one event was lost",)), "x.lprof")


@pytest.mark.usefixtures("_saved")
def test_notes_are_on_standard_error() -> None:
    done = shown("40")
    assert len(done.out.split()) <= 40
    assert "one event was lost" not in done.out
    assert done.err == "lineprof: one event was lost\n"


@pytest.mark.usefixtures("_saved")
def test_without_a_number_there_are_up_to_60_words() -> None:
    assert shown().out == shown("60").out
    done = viewer("view", "x.lprof", "--brief", cwd=Path.cwd())
    assert done.out == shown("60").out
    assert viewer("view", "--brief=60", "x.lprof", cwd=Path.cwd()).out == done.out


@pytest.mark.usefixtures("_saved")
def test_the_answer_is_written_to_a_file() -> None:
    done = shown("30", "-o", "answer.txt")
    assert (done.status, done.out) == (0, "")
    assert done.err == "lineprof: one event was lost\n"
    assert Path("answer.txt").read_text("utf-8") == shown("30").out


@pytest.mark.usefixtures("_saved")
def test_the_answer_about_chosen_functions() -> None:
    lines = shown("100", "main").out.splitlines()
    assert lines[0].startswith("program.py:")
    target = shell_words(lines[-1])[-2]
    assert target == f"{FILE}:3(main)"
    assert viewer("view", "--drill", target, "x.lprof", cwd=Path.cwd()).status == 0
    # Functions that were not named may import, or call those that were.
    (run,) = (line for line in lines if line.startswith("100%"))
    assert run == "100% is 1.000 s"


def slow_at_2(function: FunctionStats) -> FunctionStats:
    """Return a function whose line 2 takes a minute."""
    return function._replace(
        thread_lines=tuple(
            one._replace(time_ns=60_000 * MS) if one.line == 2 else one
            for one in function.thread_lines
        )
    )


@pytest.mark.parametrize(
    ("file", "names"),
    [("-x.py", ()), ("-x.py", ("-x.py:1",)), ("x.py", ("x.py:1",)), ("x.py", ())],
)
def test_the_command_names_one_function(
    file: str, names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def f():\n    1 + 1\ng = f\ndef f():\n    2 + 2\nf(); g()\n"
    (tmp_path / file).write_text(text)
    assert kernprof("-lq", "-o", "x.lprof", "--", file, cwd=tmp_path).status == 0
    monkeypatch.chdir(tmp_path)
    profile = load("x.lprof")
    save(profile.with_functions(map(slow_at_2, profile.functions)), "x.lprof")
    names = tuple(f"*/{one}" for one in names)
    lines = shown("100", *names).out.splitlines()
    assert lines[0].startswith(f"{file}:2 ")
    done = viewer(*shell_words(lines[-1])[3:], cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    assert "Function: f at line 1" in done.out


@pytest.mark.usefixtures("_saved")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--brief", "0", "x.lprof"), "argument --brief: bad number '0'"),
        (("--brief", "-3", "x.lprof"), "bad number '-3'"),
        (("--brief", "--json", "x.lprof"), "--brief takes no --json"),
        (("--brief", "--csv", "x.lprof"), "--brief takes no --csv"),
        (("--brief", "--hot", "x.lprof"), "not allowed with"),
    ],
)
def test_what_the_flag_refuses(words: tuple[str, ...], message: str) -> None:
    done = viewer("view", *words, cwd=Path.cwd())
    assert done.status == 2
    assert message in done.err


def test_a_lock_is_named() -> None:
    waits = [Wait((FILE, 9, "work"), 10, 0, LOCK, 500 * MS),
             Wait((FILE, 3, "main"), 6, 0, LOCK, 500 * MS)]  # fmt: skip
    assert brief(plan(waits=waits), 60)[2].startswith("waits: a lock 500.0 ms")
