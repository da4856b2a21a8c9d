"""SARIF logs of `lineprof check` and of `lineprof view --advice`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from as_python import viewer
from example_advice import FILE, MS, Called, made
from example_gpu import example as gpu_example
from example_stats import PROCESS
from hostile_files import EVIL_NAME, check_no_controls
from sarif_log import place_of, run_of
from versions import save_version

from lineprof.advice.advise import KINDS
from lineprof.line_stats import LineStats
from lineprof.model.records import LOCK, Wait
from lineprof.report import sarif
from lineprof.report.advice_sarif import _RULES
from lineprof.report.sarif import Message, Place, Result, Rule, log
from lineprof.storage import save

if TYPE_CHECKING:
    from as_python import Outcome

pytestmark = pytest.mark.once  # logs of fixed profiles

TEXT = """\
def step(batch):
    loss = forward(batch)
    loss.backward()  # the gradient
    return loss
"""
STEP = {"loss = forward": (1000, 20 * MS), "loss.backward()": (1000, 9 * MS)}


@pytest.fixture(autouse=True)
def folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to an empty folder, outside of CI."""
    for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return here


def check(budget: str, *words: str, **options: Any) -> tuple[Outcome, Any]:
    """Check a profile of `step`; return the outcome and the run of the log."""
    text = options.pop("text", TEXT)
    save_version("run.lprof", text, {"step": options.pop("step", STEP)}, **options)
    Path("budgets.toml").write_text(budget, encoding="utf-8")
    arguments = ["run.lprof", "-b", "budgets.toml", "--format", "sarif", *words]
    done = viewer("check", *arguments, cwd=Path.cwd())
    return done, run_of(done.out)


LINE = "[[line]]\nfile = 'work.py'\ntext = 'backward'\nhits = 999\n"
CALLS = "[[function]]\nname = 'step'\ncalls = 0\n"


def test_a_line_over_budget_is_an_error_at_its_place(folder: Path) -> None:
    done, run = check(LINE, file=str(folder / "src" / "work.py"))
    assert done.status == 1
    (result,) = run["results"]
    assert result["ruleId"] == "budget-hits"
    assert result["level"] == "error"
    assert result["message"]["text"] == "1,000 hits exceed the budget of 999"
    (place,) = result["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "src/work.py", "uriBaseId": "%SRCROOT%"},
        "region": {
            "startLine": 3,
            "snippet": {"text": "    loss.backward()  # the gradient"},
        },
    }
    assert place["logicalLocations"] == [
        {"name": "step", "fullyQualifiedName": "step", "kind": "function"}
    ]
    numbers = {"status": "exceeded", "value": 1000, "limit": 999, "unit": "count"}
    assert result["properties"] == numbers
    (budget,) = result["relatedLocations"]
    assert place_of({"locations": [budget]}) == (b"budgets.toml", 3)  # its text
    root = run["originalUriBaseIds"]["%SRCROOT%"]["uri"]
    assert root == f"{folder.as_uri()}/"


def test_times_are_in_ns() -> None:
    _, run = check("[program]\nwall = '99 ms'\n")
    (result,) = run["results"]
    numbers = {"value": 100 * MS, "limit": 99 * MS, "unit": "ns", "status": "exceeded"}
    assert result["properties"] == numbers
    assert place_of(result) == (b"budgets.toml", 1)
    assert "relatedLocations" not in result  # it would be the same place
    assert "logicalLocations" not in result["locations"][0]


def test_budgets_that_hold_are_rules_without_results() -> None:
    done, run = check(CALLS.replace("0", "1"))
    assert done.status == 0
    assert run["results"] == []
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["budget-calls"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is True
    notes = [one["message"]["text"] for one in invocation["toolExecutionNotifications"]]
    assert notes == ["1 budget holds, 0 exceeded"]


def test_a_budget_that_cannot_be_checked_is_an_error_too() -> None:
    done, run = check("[[function]]\nname = 'gone'\ntime = '1 s'\n")
    assert done.status == 1
    (result,) = run["results"]
    assert result["level"] == "error"
    assert result["properties"]["status"] == "unknown"
    assert result["properties"]["value"] is None
    assert place_of(result)[0] == b"budgets.toml"


def test_warnings_of_the_profile_are_notifications() -> None:
    warnings = ("one event was lost",)
    save(made(SEARCH, {"find": (1, {3: (9, 1)})}, warnings=warnings), "run.lprof")
    Path("budgets.toml").write_text(CALLS.replace("step", "find"), encoding="utf-8")
    words = ("run.lprof", "-b", "budgets.toml", "--format", "sarif")
    run = run_of(viewer("check", *words, cwd=Path.cwd()).out)
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert notes[0] == {"level": "warning", "message": {"text": "one event was lost"}}


def prints(run: Any) -> list[str]:
    return [one["partialFingerprints"]["lineprof/v1"] for one in run["results"]]


def test_fingerprints_stay_if_lines_move_and_numbers_change() -> None:
    budgets = LINE + "time = '1 ms'\n" + CALLS + "self = '1 ms'\n"
    _, before = check(budgets)
    moved = {name: (hits + 1, 2 * ns) for name, (hits, ns) in STEP.items()}
    _, after = check(budgets, text=f"import os\n\n\n{TEXT}", step=moved)
    assert [place_of(one)[1] for one in after["results"]] == [6, 6, 4, 4]
    assert prints(before) == prints(after)
    _, other = check(budgets, text=TEXT.replace("gradient", "slope"))
    assert [a == b for a, b in zip(prints(before), prints(other))] == [
        *(False, False),  # the line has another text
        *(True, True),
    ]


def test_gitlab_has_stable_fingerprints() -> None:
    words = ("check", "run.lprof", "-b", "budgets.toml", "--format", "gitlab")
    found = []
    for hits in (1000, 2000):
        check(LINE, step={**STEP, "loss.backward()": (hits, MS)})
        (issue,) = json.loads(viewer(*words, cwd=Path.cwd()).out)
        found.append(issue["fingerprint"])
    assert found[0] == found[1]


def test_paths_are_relative_to_the_checkout(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CI_PROJECT_DIR", "GITHUB_WORKSPACE"):
        monkeypatch.setenv(name, str(folder.parent))
        _, run = check(CALLS, file=str(folder / "work.py"))
        (result,) = run["results"]
        assert place_of(result)[0] == os.fsencode(f"{folder.name}/work.py")
        (budget,) = result["relatedLocations"]
        path = os.fsencode(f"{folder.name}/budgets.toml")
        assert place_of({"locations": [budget]})[0] == path
        monkeypatch.delenv(name)


def test_github_has_paths_relative_to_the_checkout_from_a_folder_in_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check("[program]\nwall = '1 ms'\n")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder.parent))
    words = ("check", "run.lprof", "-b", "budgets.toml", "--format", "github")
    out = viewer(*words, cwd=Path.cwd()).out
    assert out.startswith(f"::error file={folder.name}/budgets.toml,line=1,")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder / "elsewhere"))
    out = viewer(*words, cwd=Path.cwd()).out
    assert out.startswith(f"::error file={folder}/budgets.toml,line=1,")


def test_a_checkout_behind_a_link_has_relative_paths_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runners keep checkouts on other disks; profiles have paths without links."""
    (folder / "link").symlink_to(folder)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder / "link"))
    for file in (folder, folder / "link"):
        _, run = check(CALLS, file=str(file / "work.py"))
        assert place_of(run["results"][0])[0] == b"work.py"


def test_a_file_outside_of_the_checkout_is_absolute() -> None:
    _, run = check(CALLS, file="/opt/lib/work.py")
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "file:///opt/lib/work.py"}


@pytest.mark.parametrize(
    "name",
    ["a b.py", "50%20.py", "a#b?c.py", "c:d.py", "ü/😀.py", "\udcff.py", "x\ud800",
     f"{EVIL_NAME}.py", "[x](1){0}.py"],
)  # fmt: skip
def test_every_path_is_a_uri(folder: Path, name: str) -> None:
    done, run = check(CALLS, file=str(folder / name))
    path = place_of(run["results"][0])[0]
    if name != "x\ud800":  # which is no name of a file
        assert path == os.fsencode(name)
    check_no_controls(done.out)


def test_a_message_has_neither_links_nor_placeholders() -> None:
    rule = Rule("a-rule", "Title", "Text.", "Help.", "note")
    texts = ["operator[](int) in [here](1) {0} {x}", "x" * 2000, "\udcff\x1b"]
    results = [
        Result("a-rule", text, [Place("a.py", 0, source="y" * 2000)], text, {})
        for text in texts
    ]
    run = run_of(
        "\n".join(
            log("x", [rule], results, [Message("m")], LineStats.from_functions(()))
        )
    )
    links, long, evil = (one["message"]["text"] for one in run["results"])
    assert links == "operator[] (int) in [here] (1) { 0 } {x}"
    assert long == f"{'x' * 999}…"
    assert evil == r"\udcff\x1b"
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 1}  # half of a line is no snippet


def test_no_log_has_more_results_than_github_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sarif, "_MAX_RESULTS", 3)
    rule = Rule("a-rule", "Title", "Text.", "Help.", "note")
    results = [Result("a-rule", "m", [Place("a.py", 1)], "same", {})] * 5
    run = run_of("\n".join(log("x", [rule], results, [], LineStats.from_functions(()))))
    assert len(run["results"]) == 3
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "2 more results are left out"


def test_a_baseline_has_rules_of_its_own() -> None:
    save_version("old.lprof", TEXT, {"step": STEP})
    slow = {**STEP, "loss.backward()": (1000, 99 * MS)}
    save_version("new.lprof", TEXT, {"step": slow}, wall_ns=300 * MS)
    words = ("new.lprof", "--baseline", "old.lprof", "--format", "sarif")
    done = viewer("check", *words, cwd=Path.cwd())
    run = run_of(done.out)
    assert done.status == 1
    assert {one["ruleId"] for one in run["results"]} == {"baseline-slowdown"}
    assert {one["properties"]["unit"] for one in run["results"]} == {"%"}
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert any("with one run a side" in one["message"]["text"] for one in notes)


def test_the_log_is_written_to_a_file() -> None:
    done, _ = check(CALLS)
    again = viewer(
        *("check", "run.lprof", "-b", "budgets.toml", "--format", "sarif"),
        *("-o", "log.sarif"),
        cwd=Path.cwd(),
    )
    assert (again.status, again.out) == (1, "")
    assert Path("log.sarif").read_text("utf-8") == done.out


def test_the_workflow_of_the_page_uploads_the_log_that_it_writes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "compare.md").read_text("utf-8")
    workflow = page.partition("```yaml\n")[2].partition("```")[0]
    command, file = re.findall(
        r"(?:run: python -m lineprof|sarif_file:) (.*)", workflow
    )
    save_version("run.lprof", TEXT, {"step": STEP})
    Path("lineprof.toml").write_text(
        "[[tool.lineprof.budget.function]]\nname = 'step'\ncalls = 0\n", "utf-8"
    )
    assert viewer(*command.split(), cwd=Path.cwd()).status == 1
    assert run_of(Path(file).read_text("utf-8"))["results"]


# Advice.

SEARCH = """\
def find(items, known=()):
    for item in items:
        wait(item)
"""
REPEATED = """\
def work(items):
    size = 5
    for item in items:
        use(item, table(size))

def table(size):
    return sum(range(size))
"""


def advice(*words: str) -> Outcome:
    return viewer("view", "--advice", "--sarif", "run.lprof", *words, cwd=Path.cwd())


def test_each_finding_is_a_warning_with_its_rank() -> None:
    key = (FILE, 1, "find")
    stats = made(
        SEARCH,
        {"find": (1, {2: (41, MS), 3: (40, 599 * MS)})},
        waits=[Wait(key, 3, 0, LOCK, 500 * MS)],
    )
    save(stats, "run.lprof")
    run = run_of(advice().out)
    (result,) = [one for one in run["results"] if one["ruleId"] == "waiting"]
    assert result["level"] == "warning"
    assert result["rank"] == pytest.approx(50)
    assert result["properties"]["cost_ns"] == 500 * MS
    assert result["properties"]["share"] == pytest.approx(0.5)
    assert place_of(result) == (FILE.encode(), 3)
    place = result["locations"][0]["physicalLocation"]
    assert place["region"]["snippet"]["text"] == "        wait(item)"
    shown = viewer("view", "--advice", "--json", "run.lprof", cwd=Path.cwd())
    rows = json.loads(shown.out)["rows"]
    texts = [f"{row['measured']} {row['advice']}" for row in rows]
    assert [one["message"]["text"] for one in run["results"]] == texts


def test_lines_beside_the_first_one_are_related() -> None:
    lines = {
        "work": (1, {4: (300, 101 * MS)}),
        "table": (300, {7: (300, 100 * MS)}),
    }
    called = [Called("work", 4, "table", 300, 100 * MS)]
    save(made(REPEATED, lines, called), "run.lprof")
    run = run_of(advice().out)
    (result,) = [one for one in run["results"] if one["ruleId"] == "repeated-call"]
    (related,) = result["relatedLocations"]
    assert related["id"] == 1
    assert related["message"]["text"] == "table"
    assert place_of({"locations": [related]}) == (FILE.encode(), 6)


def test_a_profile_without_findings_is_a_log_without_results() -> None:
    save(made(SEARCH, {"find": (1, {3: (1, 1)})}), "run.lprof")
    done = advice()
    run = run_of(done.out)
    assert (done.status, run["results"]) == (0, [])
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert "hot-loop" in rules
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert any("not looked for" in one["message"]["text"] for one in notes)


def test_an_empty_profile_is_a_log_without_results() -> None:
    save(made("x = 1\n", {}, processes=[PROCESS]), "run.lprof")
    assert run_of(advice().out)["results"] == []


def test_findings_of_a_gpu_are_results() -> None:
    save(gpu_example(), "run.lprof")
    run = run_of(advice().out)
    assert run["results"]


def test_every_kind_of_finding_is_a_rule() -> None:
    assert {*_RULES} == {*KINDS}


def test_results_can_be_limited() -> None:
    lines = {"find": (1, {2: (41, 200 * MS), 3: (40, 599 * MS)})}
    waits = [Wait((FILE, 1, "find"), line, 0, LOCK, 190 * MS) for line in (2, 3)]
    save(made(SEARCH, lines, waits=waits), "run.lprof")
    every = run_of(advice().out)["results"]
    run = run_of(advice("--limit", "1").out)
    assert run["results"] == every[:1]
    notes = run["invocations"][0]["toolExecutionNotifications"]
    text = f"{len(every) - 1} more findings are left out"
    assert text in [one["message"]["text"] for one in notes]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--advice", "--sarif", "--csv"), "--csv takes no --sarif"),
        (("--advice", "--sarif", "--json"), "--json takes no --sarif"),
        (("--hot", "--sarif"), "--hot takes no --sarif"),
        (("--sarif",), "--sarif goes with --advice"),
    ],
)
def test_advice_alone_has_the_form(words: tuple[str, ...], message: str) -> None:
    save(made(SEARCH, {"find": (1, {3: (1, 1)})}), "run.lprof")
    done = viewer("view", *words, "run.lprof", cwd=Path.cwd())
    assert done.status == 2
    assert message in done.err
