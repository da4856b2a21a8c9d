"""`lineprof view --advice`: as text, as JSON and CSV, and after real runs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import example_ranks
import pytest
from as_python import kernprof_here, viewer, write
from example_advice import FILE, MS, RUN, Called, made
from example_calls import wide
from example_gpu import example as gpu_example
from example_stats import PROCESS
from view_text import lines_of

from lineprof.advice.advise import KINDS
from lineprof.console.terminal import Terminal
from lineprof.line_stats import LineStats
from lineprof.model.records import LOCK, Cut, Wait
from lineprof.report.advice import advice_of, brief, first_findings
from lineprof.source import Sources
from lineprof.storage import save

PAGE = Path(__file__).parents[2] / "docs" / "advice.md"

PROGRAM = """\
def work(items):
    for item in items:
        use(item)

def use(item):
    wait(item)
"""
WORK, USE = (FILE, 1, "work"), (FILE, 5, "use")


def example() -> LineStats:
    """Return a profile with a loop of 0.38 s, which calls use(), that waits 0.2 s."""
    return made(
        PROGRAM,
        {
            "work": (1, {2: (41, MS), 3: (40, 599 * MS)}),
            "use": (40, {6: (40, 210 * MS)}),
        },
        [Called("work", 3, "use", 40, 220 * MS)],
        waits=[Wait(WORK, 3, 0, LOCK, 200 * MS), Wait(USE, 6, 0, LOCK, 200 * MS)],
    )


def test_each_finding_has_its_lines_the_fact_and_what_helps() -> None:
    assert lines_of(example(), "advice") == [
        (
            "2 findings, the most time first; shares are of the run, 1.000 s, and"
            " overlap"
        ),
        "",
        "1. hot-loop: 380.0 ms, 38.0 %",
        "   program.py:2      for item in items:",
        "   program.py:3          use(item)",
        (
            "   This for loop, lines 2 to 3, took 380.0 ms itself, 38.0 % of the run,"
            " in 40 rounds of 9.500 ms on average; 379.0 ms of it on line 3."
        ),
        (
            "   It usually helps to take work that is the same in each round out of the"
            " loop, or to give many elements to one call that works on all of them."
        ),
        "",
        "2. waiting: 200.0 ms, 20.0 %",
        "   program.py:6      wait(item)",
        (
            "   This line itself was off the processor for 200.0 ms or more, 20.0 % of"
            " the run: 200.0 ms for a lock."
        ),
        (
            "   It usually helps to hold the lock for a shorter time, or to give each"
            " thread its own data; a thread that waits for work costs nothing."
        ),
        "",
        ("Not looked for: uneven-line (no longest executions)"),
    ]


def test_without_findings_one_line_says_what_was_looked_for() -> None:
    stats = made(PROGRAM, {"work": (1, {2: (41, MS)})})
    assert lines_of(stats, "advice") == [
        (
            "No finding: looked for hot-loop, list-search, list-shift,"
            " rebuilt-collection, import; not for repeated-call (no calls by line);"
            " uneven-line (no longest executions); waiting, busy-processors (no waits)"
        )
    ]


def test_lines_fit_a_terminal() -> None:
    terminal = Terminal(is_terminal=True, width=60)
    lines = lines_of(example(), "advice", terminal=terminal)
    assert max(map(len, lines)) <= 60
    assert "   This for loop, lines 2 to 3, took 380.0 ms itself, 38.0 %" in lines


def test_the_first_finding_can_be_shown_in_two_sentences() -> None:
    stats = example()
    sources = Sources(stats.sources)
    [one] = first_findings(stats, sources)
    assert one
    assert one == advice_of(stats, sources).findings[0]
    first, second = brief(one, stats, Terminal())
    assert first.startswith("hot-loop at program.py:2: This for loop, lines 2 to 3, ")
    assert second == f"   {one.advice}"


def test_lines_have_names_that_no_other_file_of_the_profile_has() -> None:
    stats = example()
    [other] = [one for one in stats.functions if one.name == "use"]
    other = other._replace(file="/project/shop/program.py", thread_lines=())
    both = LineStats.from_functions(
        [*stats.functions, other],
        processes=stats.processes,
        threads=stats.threads,
        sources=stats.sources,
        calls=stats.calls,
    )
    assert "   project/program.py:2      for item in items:" in lines_of(both, "advice")
    [one] = first_findings(both, Sources(both.sources))
    assert one
    first, _ = brief(one, both, Terminal())
    assert first.startswith("hot-loop at project/program.py:2: ")


def test_files_without_text_are_named() -> None:
    stats = example()
    stats.sources = {
        **stats.sources,
        FILE: stats.sources[FILE]._replace(text="\0" + PROGRAM),
    }
    assert lines_of(stats, "advice")[-1] == (
        f"Loops, calls, lists and imports of {FILE} were not looked at: it is no Python"
        " that this version can parse"
    )


def output(folder: Path, stats: LineStats, *flags: str) -> str:
    save(stats, folder / "a.lprof")
    done = viewer("view", "--advice", *flags, "a.lprof", cwd=folder)
    assert done.status == 0, done.err
    return done.out


def json_of(folder: Path, stats: LineStats, *flags: str) -> dict[str, Any]:
    text = output(folder, stats, "--json", *flags)
    return json.loads(text)  # type: ignore[no-any-return]


def test_rows_have_the_numbers_by_name(tmp_path: Path) -> None:
    found = json_of(tmp_path, example())
    assert (found["view"], found["run_ns"], found["more"]) == ("advice", RUN, 0)
    reason = {"kind": "uneven-line", "reason": "no longest executions"}
    assert found["unchecked"] == [reason]
    loop, wait = found["rows"]
    assert (loop["kind"], loop["cost_ns"], loop["share"]) == (
        "hot-loop",
        380 * MS,
        0.38,
    )
    place = {"file": FILE, "function": "work", "function_line": 1}
    assert loop["places"] == [{**place, "line": 2}, {**place, "line": 3}]
    assert loop["numbers"]["rounds"] == 40
    assert loop["source"] == "    for item in items:"
    assert wait["numbers"] == {
        "wait_ns": 200 * MS,
        "cause": "lock",
        "hits": 40,
        "lock_ns": 200 * MS,
    }


@pytest.mark.parametrize(
    "stats", [example(), gpu_example(), example_ranks.summed()], ids=lambda _: ""
)
def test_csv_has_the_same_rows(tmp_path: Path, stats: LineStats) -> None:
    rows = json_of(tmp_path, stats)["rows"]
    titles, *lines = csv.reader(io.StringIO(output(tmp_path, stats, "--csv")))
    assert rows
    assert len(lines) == len(rows)
    for row, cells in zip(rows, lines):
        found = dict(zip(titles, cells))
        for name in ("numbers", "places"):
            assert json.loads(found.pop(name)) == row.pop(name)
        assert found == {name: str(value) for name, value in row.items()}


@pytest.mark.parametrize(
    ("flags", "kinds"),
    [
        (["--limit", "1"], ["hot-loop"]),
        (["--min-percent", "20"], ["hot-loop", "waiting"]),
        (["--min-percent", "20.1"], ["hot-loop"]),
        (["--min-percent", "39"], []),
    ],
)
def test_findings_can_be_limited(
    tmp_path: Path, flags: list[str], kinds: list[str]
) -> None:
    found = json_of(tmp_path, example(), *flags)
    assert [row["kind"] for row in found["rows"]] == kinds
    assert found["more"] == 2 - len(kinds)
    more = {0: "", 1: "1 more is not shown\n", 2: "2 more are not shown\n"}
    assert more[found["more"]] in output(tmp_path, example(), *flags)


def test_functions_that_were_counted_for_a_part_are_marked(tmp_path: Path) -> None:
    stats = example()
    stats.cuts = (Cut(function=USE, process=0, until_ns=300 * MS),)
    text = output(tmp_path, stats)
    assert "program.py:6  (counted until 0.30 s of 1.00 s)      wait(item)" in text
    assert "was counted for that part of the run, because of --max-overhead" in text


def test_names_and_source_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    file, name = "/p/evil\x1b[2J\n.py", "wo\x1brk\u202e"
    stats = example()
    old = stats.sources[FILE]
    evil = LineStats.from_functions(
        [one._replace(file=file, name=name) for one in stats.functions[1:]],
        processes=[PROCESS._replace(wall_ns=RUN, overhead_ns=0)],
        threads=stats.threads,
        sources={file: old._replace(file=file, text=f"{PROGRAM}# \x1b[2J\n(")},
        waits=[Wait((file, 5, name), 6, 0, LOCK, 200 * MS)],
    )
    for flags in ([], ["--csv"], ["--json"]):
        text = output(tmp_path, evil, *flags)
        assert "waiting" in text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_a_large_profile_parses_a_file_at_most_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ast  # noqa: PLC0415 - to be replaced

    parsed: list[int] = []
    parse = ast.parse

    def counting(text: str, **more: str) -> ast.AST:
        parsed.append(len(text))
        return parse(text, **more)

    monkeypatch.setattr(ast, "parse", counting)
    stats = wide(functions=200, lines=20_000)
    advice_of(stats, Sources(stats.sources))
    assert parsed == []  # no function has enough time
    monkeypatch.setattr("lineprof.advice.loops.MIN_LOOP_SHARE", 0)
    monkeypatch.setattr("lineprof.advice.source_trees._MAX_ALL", 100_000)
    found = advice_of(stats, Sources(stats.sources))
    assert 0 < len(parsed) <= 20
    assert sum(parsed) <= 100_000
    assert "there is too much text to parse" in found.missing[0]


# Real runs.


def test_a_loop_of_a_real_run_dominates_it(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "script.py",
        """\
        def work(rounds):
            total = 0
            for step in range(rounds):
                total += sum(range(step, 300_000))
            return total


        print(work(60) > 0)
        """,
    )
    ran = kernprof_here("-lq", program, cwd=tmp_path)
    assert (ran.status, ran.out) == (0, "True\n")
    done = viewer("view", "--advice", "--json", "script.lprof", cwd=tmp_path)
    rows = [row for row in json.loads(done.out)["rows"] if row["kind"] == "hot-loop"]
    [loop] = rows
    assert (loop["function"], loop["line"]) == ("work", 3)
    numbers = loop["numbers"]
    assert (numbers["rounds"], numbers["longest_line"]) == (60, 4)
    assert numbers["longest_line_ns"] <= numbers["own_ns"] == loop["cost_ns"]


def test_a_search_of_a_real_run_is_found_in_a_comprehension(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "script.py",
        """\
        def common(first, second):
            return [
                one for one in first
                if one in list(second)
            ]


        print(len(common(range(1_500), range(1_000, 3_000))))
        """,
    )
    ran = kernprof_here("-lq", program, cwd=tmp_path)
    assert (ran.status, ran.out) == (0, "500\n")
    done = viewer("view", "--advice", "--json", "script.lprof", cwd=tmp_path)
    [row] = [
        row for row in json.loads(done.out)["rows"] if row["kind"] == "list-search"
    ]
    assert row["function"] == "common"
    assert row["numbers"]["collection"] == "list(second)"


def findings_of(text: str) -> dict[str, set[str]]:
    """Return the findings of an output without their numbers; causes of each wait.

    What a wait's causes are followed by depends on which of them took longest.
    """
    found = {}
    for block in text.split("\n\n"):
        match = re.match(r"\d+\. (.*)", block, re.DOTALL)
        if match:
            words = " ".join(match[1].split())  # longer numbers move the line breaks
            words = re.sub(r"\d[\d.,]* (ms|us|ns|s|%)", "N", words)
            finding, _, causes = words.partition(" N of the run: ")
            found[finding] = set(re.findall(r"N for ([^,.]+)", causes))
    return found


def test_the_page_shows_what_its_program_gets(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    [shown] = re.findall(r"```text\n(2 findings.*?)```", page, re.DOTALL)
    write(tmp_path, "plan.py", program)
    assert kernprof_here("-lq", "plan.py", cwd=tmp_path).status == 0
    done = viewer("view", "--advice", "plan.lprof", cwd=tmp_path)
    wanted, found = findings_of(shown), findings_of(done.out)
    assert [*wanted.values()] == [{"the end of a sleep"}, set()]
    for finding, causes in wanted.items():  # a busy machine has more of both
        assert causes <= found[finding]


def test_the_page_has_every_kind() -> None:
    headings = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert headings == [*KINDS]
