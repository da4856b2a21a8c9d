"""The command `lineprof check`: budgets and baselines."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import example_calls
import example_gpu
import pytest
from as_python import error_line, kernprof_here, viewer, write
from example_ranks import save_ranks
from hostile_files import EVIL_NAME, check_no_controls
from versions import FILE, MS, save_version, version

from lineprof.line_stats import LineStats
from lineprof.model.budgets import LIMITS
from lineprof.model.records import Cut
from lineprof.report.budgets import FORMATS
from lineprof.storage import save

if TYPE_CHECKING:
    from as_python import Outcome

TEXT = """\
def step(batch):
    loss = forward(batch)
    loss.backward()  # the gradient
    return loss


def unused():
    return 1
"""

# 30 ms in all, of which line 2 takes two thirds.
STEP = {
    "loss = forward": (1000, 20 * MS),
    "loss.backward()": (1000, 9 * MS),
    "return loss": (1000, MS),
}


@pytest.fixture(autouse=True)
def profile(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a profile of known numbers, and go to its folder."""
    for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    save_version("run.lprof", TEXT, {"step": STEP, "unused": {}})
    return here


def check(budget: str, *words: str, file: str = "run.lprof") -> Outcome:
    """Check a profile with a budget in TOML."""
    Path("budgets.toml").write_text(budget, encoding="utf-8")
    return viewer("check", file, "--budget", "budgets.toml", *words, cwd=Path.cwd())


def of_function(limits: str, name: str = "step") -> str:
    return f"[[function]]\nname = '{name}'\n{limits}\n"


def of_line(limits: str, at: str = "at = 'work.py:2'") -> str:
    return f"[[line]]\n{at}\n{limits}\n"


# Each limit once just met, and once just exceeded.


@pytest.mark.parametrize(
    ("budget", "key", "met", "exceeded", "message"),
    [
        ("[program]", "wall", "'100 ms'", "'99.9 ms'", "wall time 100.0 ms exceeds"),
        ("[program]", "cpu", "'0.1 s'", "'90 ms'", "processor time 100.0 ms exceeds"),
        ("[program]", "time", "'30 ms'", "'29 ms'", "time 30.00 ms exceeds its"),
        (of_function(""), "time", "'30ms'", "'29.9 ms'", "step: time 30.00 ms exceeds"),
        (of_function(""), "self", "'0.03s'", "'1 ms'", "step: self time 30.00 ms"),
        (of_function(""), "per_call", "'30 ms'", "'1 ms'", "step: per call 30.00 ms"),
        (of_function(""), "calls", "1", "0", "step: 1 call exceeds the budget of 0"),
        (of_function(""), "share", "'100 %'", "'99.5%'", "step: share 100.0 % exceeds"),
        (of_line(""), "time", "'20_000 us'", "'20 us'", "time 20.00 ms exceeds its"),
        (of_line(""), "self", "'20 ms'", "'1 min'", ""),
        (of_line(""), "per_hit", "'20 us'", "'19 us'", "per hit 20.00 us exceeds its"),
        (of_line(""), "per_hit", "'20 µs'", "'1 ns'", "exceeds its budget of 1 ns"),
        (of_line(""), "hits", "1000", "999", "1,000 hits exceed the budget of 999"),
        (of_line(""), "share", "'66.7 %'", "'66.6 %'", "share 66.7 % exceeds its"),
    ],
)
def test_a_limit_holds_up_to_its_value(
    budget: str, key: str, met: str, exceeded: str, message: str
) -> None:
    done = check(f"{budget.strip()}\n{key} = {met}\n")
    assert (done.status, done.out) == (0, "")
    assert done.err == "lineprof: 1 budget holds, 0 exceeded\n"
    done = check(f"{budget.strip()}\n{key} = {exceeded}\n")
    if not message:  # a minute is long
        assert done.status == 0
        return
    assert done.status == 1
    assert message in done.out
    assert done.out.count("\n") == 1
    assert done.err == "lineprof: 0 budgets hold, 1 exceeded\n"


def test_a_message_begins_with_the_place_as_editors_take_it() -> None:
    done = check(of_line("per_hit = '1 us'") + of_function("time = '2 ms'"))
    assert done.out == (
        f"{FILE}:2: error: per hit 20.00 us exceeds its budget of 1 us (1,000 hits)\n"
        f"{FILE}:1: error: step: time 30.00 ms exceeds its budget of 2 ms (1 call)\n"
    )


def test_a_path_is_relative_to_the_current_folder(profile: Path) -> None:
    file = str(profile / "src" / "work.py")
    save_version("run.lprof", TEXT, {"step": STEP}, file=file)
    done = check(of_line("hits = 1"))
    assert done.out == "src/work.py:2: error: 1,000 hits exceed the budget of 1\n"


def test_a_budget_that_is_just_exceeded_has_enough_digits() -> None:
    done = check(of_line("per_hit = '19.9999 us'"))
    assert "per hit 20,000.0 ns exceeds its budget of 19.9999 us" in done.out


def test_a_line_is_named_by_its_text() -> None:
    for text in ("loss.backward()  # the gradient", "backward()"):
        done = check(of_line("time = '1 ms'", f"file = 'work.py'\ntext = '{text}'"))
        assert f"{FILE}:3: error: time 9.000 ms exceeds" in done.out


def test_a_text_on_several_lines_is_a_budget_for_each() -> None:
    done = check(of_line("hits = 1", "file = 'work.py'\ntext = 'loss'"))
    assert re.findall(r"work\.py:(\d+)", done.out) == ["2", "3", "4"]
    assert done.err == "lineprof: 0 budgets hold, 3 exceeded\n"


def test_a_pattern_is_a_budget_for_each_function() -> None:
    save(example_calls.example(), "calls.lprof")
    done = check(of_function("calls = 0", "Model.*"), file="calls.lprof")
    names = re.findall(r"error: (\S+): \d+ calls? exceed", done.out)
    assert names == ["Model.__init__", "Model.steps", "Model.forward"]


@pytest.mark.parametrize(
    "name",
    ["work.py:step", "work.py::step", "work.step", "work.py:2", "st?p", "::step"],
)
def test_a_function_is_named_as_in_views(name: str) -> None:
    assert "step: time" in check(of_function("time = '1 ms'", name)).out


# What cannot be checked.


@pytest.mark.parametrize(
    ("budget", "line", "said"),
    [
        (of_function("time = '1 s'", "stepp"), 2, "no function 'stepp'; did you mean"),
        (of_function("calls = 0", "unused"), 2, "unused was never called"),
        (of_line("hits = 1", "at = 'work.py:9'"), 2, "line work.py:9 did not run"),
        (of_line("hits = 1", "at = 'other.py:9'"), 2, "no file 'other.py'"),
        (
            of_line("hits = 1", "file = 'work.py'\ntext = 'optimizer.step'"),
            3,
            "no line of work.py that ran has the text 'optimizer.step'",
        ),
    ],
)
def test_a_budget_without_its_function_or_line_fails(
    budget: str, line: int, said: str
) -> None:
    done = check(budget)
    assert done.status == 1
    assert done.out.startswith(f"budgets.toml:{line}: error: [[")
    assert said in done.out
    assert "optional = true" in done.out
    assert done.err == "lineprof: 0 budgets hold, 0 exceeded, 1 not checked\n"
    optional = check(f"{budget}optional = true\n")
    assert (optional.status, optional.out) == (0, "")


def test_an_optional_budget_still_counts_if_it_is_there() -> None:
    assert check(of_function("time = '1 ms'\noptional = true")).status == 1


def test_a_text_needs_source() -> None:
    save_version("run.lprof", TEXT, {"step": STEP}, source=False)
    done = check(of_line("hits = 1", "file = 'work.py'\ntext = 'backward'"))
    assert done.status == 1
    assert "the source of work.py is not known" in done.out


def test_numbers_that_the_profile_lacks_fail() -> None:
    save_version("run.lprof", TEXT, {"step": STEP}, calls=False)
    done = check(of_function("self = '9 s'\ngpu = '9 s'"))
    assert done.status == 1
    assert "step: the profile does not know self time, whose budget is 9 s" in done.out
    assert "step: the profile does not know GPU time" in done.out
    assert done.err == "lineprof: 0 budgets hold, 0 exceeded, 2 not checked\n"
    save(LineStats({("work.py", 1, "step"): [(2, 3, 40)]}, 1e-6), "old.lprof")
    done = check("[program]\nwall = '9 s'\ncpu = '9 s'\n", file="old.lprof")
    assert (done.status, done.out.count("the profile does not know")) == (1, 2)


def test_an_empty_profile_fails() -> None:
    save(LineStats.from_functions([]), "empty.lprof")
    done = check(of_function("time = '1 s'"), file="empty.lprof")
    assert done.status == 1


def test_a_function_that_was_counted_for_a_part_of_the_run_fails() -> None:
    stats = version(TEXT, {"step": STEP})
    cut = Cut(function=stats.functions[0].key, process=0, until_ns=MS)
    cut_off = LineStats.from_functions(
        stats.functions,
        processes=stats.processes,
        threads=stats.threads,
        calls=stats.calls,
        cuts=[cut],
    )
    save(cut_off, "run.lprof")
    done = check(of_function("time = '1 s'"))
    assert done.status == 1
    assert "step: time is known for a part of the run alone: counted until" in done.out


def test_gpu_times_are_those_of_the_views() -> None:
    save(example_gpu.example(), "gpu.lprof")
    line = "[[line]]\nat = 'model.py:35'\n"
    held = check(f"{line}gpu = '3 ms'\ngpu_self = '3 ms'\n", file="gpu.lprof")
    assert held.status == 0, held.out
    done = check(f"{line}gpu_self = '2.9 ms'\n", file="gpu.lprof")
    assert "GPU self time 3.000 ms exceeds its budget of 2.9 ms" in done.out
    assert check("[program]\ngpu = '1 ns'\n", file="gpu.lprof").status == 1


# The budget file.


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("", "has no budget"),
        ("[prog]\nwall = '1 s'\n", "no key 'prog'; did you mean program?"),
        ("program = 3\n", "[program]: it is no table"),
        ("[program]\n", "[program]: it has no limit; add one of wall, cpu"),
        ("[program]\nwal = '1 s'\n", "[program]: there is no key 'wal'; did you mean"),
        ("[program]\nwall = 3\n", "[program]: wall = 3 has no unit; write wall = '30"),
        ("[program]\nwall = -3\n", "[program]: wall = -3 is negative"),
        ("[program]\nwall = '-3 s'\n", "wall = '-3 s' is negative"),
        ("[program]\nwall = '3'\n", "wall = '3' has no unit"),
        ("[program]\nwall = '3 parsecs'\n", "wall = '3 parsecs' is no time"),
        ("[program]\nwall = '3 %'\n", "wall = '3 %' is no time"),
        ("[program]\nwall = true\n", "wall = True is no time"),
        ("[program]\nwall = ['3 s']\n", "wall = ['3 s'] is no time"),
        ("[program]\nwall = 'inf s'\n", "wall = 'inf s' is no time"),
        ("[function]\nname = 'f'\n", "[[function]]: it is no list of tables"),
        ("[[function]]\ntime = '1 s'\n", "[[function]] 1: name is missing"),
        ("[[function]]\nname = 3\n", "[[function]] 1: name = 3 is no text"),
        (of_function("calls = -1"), "[[function]] 1 (step): calls = -1 is no number"),
        (of_function("calls = 1.5"), "calls = 1.5 is no whole number"),
        (of_function("calls = '3'"), "calls = '3' is no whole number"),
        (of_function("share = '40'"), "share = '40' has no unit"),
        (of_function("share = '40 s'"), "share = '40 s' is no share"),
        (of_function("optional = 1\ncalls = 1"), "optional = 1; write true or false"),
        (of_function("hits = 1"), "[[function]] 1 (step): there is no key 'hits'"),
        (of_function("calls = 1", "x[y"), "its '[' is not closed"),
        (of_line("hits = 1", ""), "[[line]] 1: it names no line; write at ="),
        (of_line("hits = 1", "at = 'work.py'"), "at = 'work.py' names no line"),
        (of_line("hits = 1", "at = 'work.py:0'"), "names no line"),
        (of_line("hits = 1", "file = 'work.py'"), "it names no line"),
        (
            of_line("hits = 1", "at = 'a.py:1'\ntext = 'b'"),
            "it has at and file or text",
        ),
        ("wall = = 3\n", "it is no TOML"),
    ],
)
def test_a_wrong_budget_is_one_line_with_the_place(
    budget: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("budgets.toml").write_text(budget, encoding="utf-8")
    line = error_line(capsys, 2, "check", "run.lprof", "--budget", "budgets.toml")
    assert line.startswith("lineprof: budgets.toml")
    assert said in line


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (
            ["run.lprof"],
            2,
            "there is no budget; name a file with --budget, or an",
        ),
        (["run.lprof", "-b", "gone.toml"], 2, "cannot read the budget 'gone.toml'"),
        (["run.lprof", "-b", "."], 2, "Is a directory"),
        (["gone.lprof", "-b", "good.toml"], 1, "gone.lprof does not exist"),
        ([".", "-b", "good.toml"], 1, "it is a folder"),
        (
            ["run.lprof", "-b", "good.toml", "--format", "xml"],
            2,
            "invalid choice: 'xml'",
        ),
        (
            ["run.lprof", "-b", "good.toml", "--max-slowdown", "5"],
            2,
            "for a --baseline",
        ),
        (["run.lprof", "--baseline", "gone.lprof"], 1, "gone.lprof does not exist"),
        (
            ["run.lprof", "--baseline", "run.lprof", "--max-slowdown", "x"],
            2,
            "'x' is no",
        ),
    ],
)
def test_wrong_arguments_are_one_line(
    words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("good.toml").write_text("[program]\nwall = '9 s'\n", encoding="utf-8")
    assert said in error_line(capsys, status, "check", *words)


@pytest.mark.parametrize("name", ["pyproject.toml", "lineprof.toml"])
def test_budgets_of_the_configuration_are_found(name: str, profile: Path) -> None:
    Path(name).write_text(
        "[tool.lineprof.budget.program]\nwall = '1 ms'\n\n"
        "[[tool.lineprof.budget.function]]\nname = 'step'\ncalls = 1\n",
        encoding="utf-8",
    )
    below = profile / "below"
    below.mkdir()
    for words, folder in (
        (["run.lprof"], profile),
        (["../run.lprof"], below),
        (["run.lprof", "--budget", name], profile),
    ):
        done = viewer("check", *words, cwd=folder)
        assert done.status == 1
        assert f"{name}:1: error: wall time 100.0 ms exceeds its budget" in done.out
        assert done.err == "lineprof: 1 budget holds, 1 exceeded\n"


def test_budgets_are_no_unknown_configuration_of_other_commands(profile: Path) -> None:
    Path("pyproject.toml").write_text(
        "[tool.lineprof.budget.program]\nwall = '1 ms'\n", encoding="utf-8"
    )
    done = viewer("view", "run.lprof", cwd=profile)
    assert (done.status, "budget" in done.err) == (0, False)


def test_a_pyproject_without_budgets_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    line = error_line(capsys, 2, "check", "run.lprof", "-b", "pyproject.toml")
    assert "pyproject.toml has no table [tool.lineprof.budget]" in line


def test_every_limit_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "compare.md").read_text("utf-8")
    keys = {key for keys in LIMITS.values() for key in keys}
    assert keys <= {*re.findall(r"`(\w+)`", text)}


# Formats.


def test_github_has_workflow_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", "/project")
    done = check(of_line("share = '10 %'"))
    assert done.out == (
        "::error file=work.py,line=2,title=lineprof budget::share 66.7 %25 exceeds its"
        " budget of 10 %25 (1,000 hits)\n"
    )
    assert check(of_line("hits = 1"), "--format", "text").out.startswith(f"{FILE}:2: ")


def test_github_has_its_separators_escaped() -> None:
    file = "/p/a,b:c%\n::warning::x.py"
    save_version("run.lprof", TEXT, {"step": STEP}, file=file)
    done = check(of_function("calls = 0"), "--format", "github")
    assert done.out == (
        "::error file=/p/a%2Cb%3Ac%25%0A%3A%3Awarning%3A%3Ax.py,line=1,"
        "title=lineprof budget::step: 1 call exceeds the budget of 0\n"
    )


def test_no_message_begins_with_a_workflow_command() -> None:
    save_version("run.lprof", TEXT, {"step": STEP}, file="::stop-commands::x.py")
    stats = version(TEXT, {"step": STEP}, file="::stop-commands::x.py")
    alone = LineStats.from_functions(
        stats.functions, threads=stats.threads, calls=stats.calls,
        processes=[stats.processes[0]._replace(cwd="")],
    )  # fmt: skip
    save(alone, "run.lprof")
    assert check(of_function("calls = 0")).out.startswith("./::stop-commands::x.py:1: ")


def test_gitlab_has_a_code_quality_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_PROJECT_DIR", "/project")
    budget = of_line("hits = 1\ntime = '1 ms'") * 2
    issues = json.loads(check(budget, "--format", "gitlab").out)
    assert issues[0]["location"] == {"path": "work.py", "lines": {"begin": 2}}
    assert issues[0]["description"] == "1,000 hits exceed the budget of 1"
    assert issues[0]["check_name"] == "lineprof/hits"
    assert {issue["severity"] for issue in issues} == {"major"}
    assert len({issue["fingerprint"] for issue in issues}) == 4
    held = check("[program]\nwall = '9 s'\n", "--format", "gitlab")
    assert json.loads(held.out) == []


def test_json_has_every_budget() -> None:
    done = check(of_line("hits = 1\ntime = '1 s'"), "--format", "json")
    found = json.loads(done.out)
    assert (found["holds"], found["exceeded"], found["unknown"]) == (1, 1, 0)
    assert found["budgets"][1] == {
        "status": "holds",
        "file": FILE,
        "line": 2,
        "name": "step",
        "key": "time",
        "message": "",
        "value": 20 * MS,
        "limit": 1000 * MS,
        "budget_file": "budgets.toml",
        "budget_line": 2,
    }


def test_the_formats_in_the_help_are_all() -> None:
    shown = viewer("check", "--help", cwd=Path.cwd()).out
    assert f"--format {{{','.join(FORMATS)}}}" in shown


def test_messages_are_written_to_a_file() -> None:
    shown = check(of_line("hits = 1")).out
    done = check(of_line("hits = 1"), "-o", "messages.txt")
    assert (done.status, done.out) == (1, "")
    assert Path("messages.txt").read_text(encoding="utf-8") == shown


@pytest.mark.parametrize("form", [*FORMATS])
def test_hostile_names_reach_no_terminal(form: str) -> None:
    file = f"/p/{EVIL_NAME}.py"
    save_version("run.lprof", TEXT, {"step": STEP}, file=file)
    done = check(of_function("calls = 0") + of_line("hits = 1", "at = '*.py:2'"),
                 "--format", form)  # fmt: skip
    assert done.status == 1
    check_no_controls(done.out)
    check_no_controls(done.err)


# Baselines.


def slower(name: str, factor: int, **options: object) -> str:
    """Write a run in which one line takes longer, and `unused` is called."""
    step = {**STEP, "loss.backward()": (1000, 9 * MS * factor)}
    numbers = {"step": step, "unused": {"return 1": (1, factor * 1000)}}
    return save_version(name, TEXT, numbers, **options)


def against(baseline: str, *words: str, file: str = "new.lprof") -> Outcome:
    return viewer("check", file, "--baseline", baseline, *words, cwd=Path.cwd())


ONE_RUN = (
    "lineprof: with one run a side, a slowdown below 30 % passes: give three or more"
    " runs\n"
)


def test_a_slower_function_is_named_at_its_line() -> None:
    slower("old.lprof", 1)
    slower("new.lprof", 3)
    done = against("old.lprof")
    assert done.status == 1
    # `unused` is three times as slow, but takes 2 us.
    assert done.out == (
        f"{FILE}:3: error: step: CPU time 48.00 ms, 60 % slower than the 30.00 ms of"
        " the baseline; 10 % are allowed (this line: 18.00 ms more)\n"
    )
    # The CPU time of the program is that of its process; the other one are its waits.
    assert done.err == ONE_RUN + "lineprof: 2 budgets hold, 1 exceeded\n"
    assert against("old.lprof", "--max-slowdown", "60%").status == 0
    assert against("old.lprof", "--max-slowdown", "59.9").status == 1
    # With one run a side, some microseconds more are chance.
    more = against("old.lprof", "--min-percent", "0")
    assert "unused" not in more.out


def test_a_faster_program_and_the_same_one_pass() -> None:
    slower("old.lprof", 3)
    slower("new.lprof", 1)
    assert against("old.lprof").status == 0
    assert against("old.lprof", "--max-slowdown", "0%", file="old.lprof").status == 0


def test_a_slower_program_fails_as_a_whole() -> None:
    slower("old.lprof", 1)
    slower("new.lprof", 1, wall_ns=200 * MS)
    done = against("old.lprof")
    assert done.status == 1
    assert done.out == (
        "/project/train.py:1: error: CPU time 200.0 ms, 2 times slower than the"
        " 100.0 ms of the baseline; 10 % are allowed\n"
    )


def test_a_slowdown_within_the_noise_of_the_baseline_passes() -> None:
    for number, factor in enumerate((1, 2, 3)):
        slower(f"old.{number}.lprof", factor)
    slower("new.lprof", 3)
    assert against("old.0.lprof").status == 1
    assert against("old.*.lprof").status == 0


def test_a_baseline_without_a_gpu_has_none_to_compare_with() -> None:
    save(example_gpu.example(), "gpu.lprof")
    save(example_gpu.without_gpu(), "cpu.lprof")
    done = viewer("check", "gpu.lprof", "--baseline", "cpu.lprof", cwd=Path.cwd())
    assert done.status == 0, done.out
    assert "the baseline did not record a GPU: GPU times are not compared" in done.err


def test_a_baseline_and_a_budget_go_together() -> None:
    slower("old.lprof", 1)
    done = check(of_function("calls = 1"), "--baseline", "old.lprof")
    assert done.err == ONE_RUN + "lineprof: 3 budgets hold, 0 exceeded\n"


# Several runs.


@pytest.mark.parametrize("words", [["b.1.lprof", "b.2.lprof"], ["b.1.lprof,b.2.lprof"],
                                   ["b.?.lprof"]])  # fmt: skip
def test_several_files_are_runs_as_those_of_the_baseline_are(words: list[str]) -> None:
    slower("b.1.lprof", 1)
    slower("b.2.lprof", 1)
    flags = ["--baseline", "b.1.lprof,b.2.lprof", "--max-slowdown", "0%"]
    done = viewer("check", *words, *flags, cwd=Path.cwd())
    assert (done.status, done.out) == (0, "")


def test_several_runs_on_both_sides_have_a_noise_band() -> None:
    for number, factor in enumerate((1, 2, 3)):
        slower(f"old.{number}.lprof", factor)
        slower(f"noisy.{number}.lprof", factor + 1)
        slower(f"new.{number}.lprof", factor + 9)
    assert against("old.*.lprof", file="noisy.*.lprof").status == 0
    done = against("old.*.lprof", file="new.*.lprof")
    assert done.out == (
        f"{FILE}:3: error: step: own time 120.0 ms, 3.1 times slower than the 39.00 ms"
        " of the baseline; 10 % are allowed (this line: 81.00 ms more)\n"
    )
    assert done.status == 1


def test_budgets_are_for_the_mean_of_several_runs() -> None:
    slower("1.lprof", 1, wall_ns=10 * MS)
    slower("2.lprof", 3, wall_ns=30 * MS)
    budget = (
        "[program]\nwall = '20 ms'\ncpu = '20 ms'\n"
        + of_function("time = '39 ms'\nself = '39 ms'\ncalls = 1")
        + of_line("hits = 1000\ntime = '18 ms'\nper_hit = '18 us'", "at = '*.py:3'")
    )
    done = check(budget, "2.lprof", file="1.lprof")
    assert (done.out, done.status) == ("", 0)
    done = check(of_function("time = '38 ms'"), "2.lprof", file="1.lprof")
    assert done.out == (
        f"{FILE}:1: error: step: time 39.00 ms exceeds its budget of 38 ms"
        " (mean of 2 runs, 1 call)\n"
    )


def test_a_mean_of_counts_has_decimals() -> None:
    save_version("other.lprof", TEXT, {"step": {"loss = forward": (1001, MS)}})
    done = check(of_line("hits = 1000"), "other.lprof")
    assert done.out == (
        f"{FILE}:2: error: 1,000.5 hits exceed the budget of 1,000 (mean of 2 runs)\n"
    )


def test_ranks_are_merged_before_they_are_a_run(
    profile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = save_ranks(profile)
    Path("b.toml").write_text("[program]\nwall = '9 min'\n", encoding="utf-8")
    said = error_line(capsys, 1, "check", *files, "--budget", "b.toml")
    assert "are of rank 0 and rank 1, but each file is a run" in said
    assert viewer("merge", *files, "-o", "all.lprof", cwd=profile).status == 0
    done = viewer("check", "all.lprof", "--budget", "b.toml", cwd=profile)
    assert done.status == 0, done.err


# A real run.

PROGRAM = """\
def square(n):
    return n * n


def main():
    return sum([square(n) for n in range(50)])


main()
"""


def test_a_real_run_is_checked(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", str(profile / "live"))
    write(profile, "prog.py", PROGRAM)
    assert kernprof_here("-lq", "prog.py", cwd=profile).status == 0
    budget = (
        "[program]\nwall = '10 min'\n"
        + of_function("calls = 50\nself = '1 min'", "prog.py:square")
        + of_function("calls = 0", "main")
        + of_line("hits = 49", "file = 'prog.py'\ntext = 'return n * n'")
    )
    done = check(budget, file="prog.lprof")
    assert done.out == (
        "prog.py:5: error: main: 1 call exceeds the budget of 0\n"
        "prog.py:2: error: 50 hits exceed the budget of 49\n"
    )
    assert done.err == "lineprof: 3 budgets hold, 2 exceeded\n"
    shutil.copy("prog.lprof", "old.lprof")
    assert against("old.lprof", file="prog.lprof").status == 0
