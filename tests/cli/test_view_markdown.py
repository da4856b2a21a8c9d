"""`--markdown` of view and diff, and of check: what a Markdown renderer shows of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import example_calls
import example_gpu
import pytest
from as_python import error_line, kernprof, viewer, write
from deadline import DEADLINE
from example_ranks import save_ranks
from example_whole import FILE, PROCESS, example
from hostile_files import check_no_controls, evil_file
from markdown_reader import (
    HOSTILE,
    check_inert,
    drawings,
    headings,
    paragraphs,
    tables,
)
from versions import MS, save_version

from lineprof.errors import printable
from lineprof.line_stats import LineStats
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    SourceFile,
    Thread,
    ThreadLine,
)
from lineprof.report import VIEWS
from lineprof.report.markdown import MAX_CHARACTERS
from lineprof.source_files import text_hash
from lineprof.storage import save

if TYPE_CHECKING:
    from collections.abc import Sequence

    from as_python import Outcome

pytestmark = pytest.mark.usefixtures("here")

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
TEXT = """\
def step(batch):
    loss = forward(batch) | {1}
    loss.backward()  # the gradient
    return loss
"""
SLOW = {"loss = ": (1000, 50 * MS), "loss.back": (1000, 9 * MS)}
FAST = {"loss = ": (1000, 5 * MS), "loss.back": (1000, 9 * MS)}
ROWS = {  # flags of the views that have rows
    "hot": ("--hot", "100"),
    "functions": ("--functions",),
    "tree": ("--tree", "--min-percent", "0"),
    "drill": ("--drill", "*fit*", "--gpu-columns", "all", "--top-kernels", "9"),
    "callers": ("--callers", "*fit*"),
    "advice": ("--advice",),
    "ranks": ("--ranks",),
    "by": ("--by", "process", "--matrix"),
    "gpu-idle": ("--gpu-idle",),
}

MEMORY = ("--memory",)


def lineprof(words: str) -> Outcome:
    """Run a command line."""
    return viewer(*words.split(), cwd=Path.cwd())


def markdown(*words: str, command: str = "view") -> str:
    """Return what a command prints with --markdown, which is inert."""
    done = viewer(command, "--markdown", *words, cwd=Path.cwd())
    assert done.status == 0, done.err
    check_inert(done.out)
    check_no_controls(done.out)
    assert len(done.out) <= MAX_CHARACTERS
    return done.out


def is_below(text: str, heading: str) -> list[list[str]]:
    """Return the first table below a heading."""
    return tables(text.partition(f"#### {heading}")[2])[0]


def test_the_first_screen_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    overview = import_module("lineprof.report.overview")  # the package has it later
    monkeypatch.setattr(overview, "python_command", lambda: "python")
    save(example(), "plan.lprof")
    shown = markdown("plan.lprof")
    assert shown == (GOLDEN / "overview.md").read_text(encoding="utf-8")
    assert headings(shown)[0] == "plan.py ran 105.0 ms: 61 lines of 30 functions"
    assert headings(shown)[1:] == [
        "Hottest lines, by their own time",
        "Functions with the most time of their own",
        "Calls (:12 is a call from line 12)",
    ]
    lines = is_below(shown, "Hottest lines")
    assert lines[0] == ["Own (ms)", "% Run", "Hits", "Line", "Line Contents"]
    assert lines[1] == ["22.500", "21.4 %", "4", "plan.py:18", "take(part)"]
    functions = is_below(shown, "Functions with")
    assert functions[1] == ["30.000", "28.6 %", "30.000", "1", "load (plan.py:15)"]
    bar, calls, more = drawings(shown)
    assert "computing" in bar
    assert "└─ :5 run (plan.py:8)" in calls
    assert "add one of these to: python -m lineprof view plan.lprof" in more
    assert "--all-functions" in more
    assert "Tables of the functions" not in shown


def test_an_empty_profile_has_no_empty_tables_and_no_commands() -> None:
    write(Path.cwd(), "x.py", "")
    assert kernprof("-lq", "x.py", cwd=Path.cwd()).status == 0
    shown = markdown("x.lprof")
    assert headings(shown)[1:] == []
    assert tables(shown) == []
    assert "To see more" not in shown
    assert "the profile is empty: " in shown


def test_a_configuration_chooses_no_other_form() -> None:
    save(example(), "plan.lprof")
    commands = ("--hot --markdown", "--advice --markdown", "--advice --sarif")
    before = [lineprof(f"view {one} plan.lprof") for one in commands]
    assert [one.status for one in before] == [0, 0, 0]
    write(
        Path.cwd(), "lineprof.toml", "[tool.lineprof.cli]\ncsv = true\nsarif = true\n"
    )
    assert [lineprof(f"view {one} plan.lprof") for one in commands] == before
    done = lineprof("view --advice --csv plan.lprof")
    assert done.out.startswith("kind,file,")


def test_short_tables_stand_below_the_first_screen() -> None:
    save(example(functions=1), "plan.lprof")
    shown = markdown("plan.lprof")
    assert "<details><summary>Tables of the functions</summary>" in shown
    assert headings(shown)[0].startswith("plan.py ran ")
    assert "load (/project/plan.py:15)" in headings(shown)
    assert is_below(shown, "load (`/project")[2:] == [
        ["16", "", "", "", "", '    """Work."""'],
        ["17", "5", "7500.0", "1500.0", "25.0", "    for part in parts:"],
        ["18", "4", "22500.0", "5625.0", "75.0", "        take(part)"],
    ]
    assert "--all-functions" not in drawings(shown)[-1]


def test_named_functions_have_tables_alone() -> None:
    save(example(), "plan.lprof")
    shown = markdown("load", "plan.lprof")
    assert headings(shown) == ["load (/project/plan.py:15)"]
    assert len(tables(shown)) == 1
    assert "<details>" not in shown
    shown = markdown("--columns", "min,max", "load", "plan.lprof")
    assert tables(shown)[0][0][5:7] == ["Min", "Max"]
    shown = markdown("--summarize", "--all-functions", "plan.lprof")
    assert len(tables(shown)) == 30
    assert "0.03 seconds - /project/plan.py:15 - load" in paragraphs(shown)


def test_a_profile_of_line_profiler_has_tables() -> None:
    old = str(GOLDEN / "line_profiler" / "demo-4.2.0.lprof")
    shown = markdown(old)
    assert headings(shown)[0] == "steps (demo.py:5)"
    assert ["9", "2000", "271.2", "0.1", "56.3", ""] in tables(shown)[0]


def test_a_gpu_has_columns_and_kernels_a_row() -> None:
    save(example_gpu.example(), "train.lprof")
    shown = markdown("train.lprof")
    assert is_below(shown, "Hottest lines")[0] == [
        *("Own (us)", "% Run", "GPU (us)", "% GPU", "Hits", "Line", "Line Contents")
    ]
    shown = markdown("--top-kernels", "1", "train.lprof")
    assert "GPU Time" in " ".join(tables(shown)[0][0])
    assert any(row[0] == "" and "gemm(float" in row[-1] for table in tables(shown)
               for row in table)  # fmt: skip


@pytest.mark.parametrize("view", ROWS)
def test_each_view_has_the_numbers_of_its_text(view: str) -> None:
    file = "run.lprof"
    if view in {"ranks", "by"}:
        files = save_ranks(Path.cwd())
        file = str(files[0]) if view == "by" else " ".join(map(str, files))
    elif view in {"advice", "gpu-idle"}:
        save(example_gpu.example(), file)
    else:
        save(example_calls.example(), file)
    words = [*ROWS[view], *file.split()]
    words = ["*forward*" if word == "*fit*" else word for word in words]
    text = viewer("view", *words, cwd=Path.cwd())
    assert text.status == 0, text.err
    shown = markdown(*words)
    rows = [row for table in tables(shown) for row in table]
    if view == "tree":
        assert not rows
        rows = [[line] for line in drawings(shown)[0].splitlines()]
    assert len(rows) > 1
    blanks = re.compile(r"\s+")
    everything = blanks.sub("", text.out)
    for row in rows:
        if view == "advice" and row[0] == "Line":  # its text has no titles
            continue
        assert blanks.sub("", "".join(row)).removesuffix("…") in everything, row


def test_every_view_with_rows_is_among_these() -> None:
    # tests/report/test_view_memory.py has the document of memory.
    assert {name for name, view in VIEWS.items() if view.rows} == {*ROWS, "memory"}


@pytest.mark.parametrize(
    "evil",
    [
        "|`x|<img src=x>@octocat #1 [a](b) ![a](b) **b** ~~s~~ </details> www.e.x\n# h",
        "\n\n</details>\n\n```\n\n- [a]\n\n[a]: http://e.x\n<script>\n|--|\n/close\n",
        "`" * 5 + "|" * 400 + "\\",
    ],
)
def test_a_hostile_profile_is_text(tmp_path: Path, evil: str) -> None:
    file = str(evil_file(tmp_path, names_of_columns=False, evil=evil))
    for words in ((), ("--all-functions",), ("*fit*",), MEMORY, *ROWS.values()):
        shown = markdown(*words, file)
        assert shown
    shown = markdown(file, file, command="diff")
    assert shown.startswith("<!-- lineprof diff -->\n\n### ")


def program(names: Sequence[str], lines: Sequence[str], file: str) -> LineStats:
    """Return a whole program whose functions and lines have these texts."""
    text = "".join(f"def f():\n{line}\n" for line in lines)
    functions = [
        FunctionStats(file, name, 2 * number + 1,
                      (ThreadLine(2 * number + 2, 0, 5, (100 - number) * MS),), calls=1)
        for number, name in enumerate(names)
    ]  # fmt: skip
    ns = [100 * MS - number * MS for number in range(len(names))]
    nodes = [
        CallNode(NO_NODE, 0, one.key, 0, 1, 1, time, time, time)
        for one, time in zip(functions, ns)
    ]
    process = PROCESS._replace(argv=(names[0],), wall_ns=sum(ns), cpu_ns=sum(ns))
    return LineStats.from_functions(
        functions,
        processes=[process],
        threads=[Thread(0, 4711, "MainThread")],
        sources={file: SourceFile(file, text, text_hash(text))},
        calls=CallTree(tuple(nodes)),
    )


def test_hostile_lines_are_shown_as_they_are() -> None:
    known = [text for text in HOSTILE if len(text) < 100 and text.strip()]
    known = [text for text in known if text.splitlines() == [text]]
    known = [text for text in known if text.isascii()]
    save(program([f"f{n}" for n in range(len(known))], known, FILE), "evil.lprof")
    shown = markdown("--hot", "999", "evil.lprof")
    cells = [row[-1] for row in tables(shown)[0][1:]]
    assert cells == [printable(text.strip(), keep="\t").expandtabs() for text in known]
    titles, *rows = tables(markdown("evil.lprof"))[0]
    assert titles[-1] == "Line Contents"
    assert [row[-1] for row in rows] == cells[:10]


def test_hostile_names_are_shown_as_they_are() -> None:
    known = [text for text in HOSTILE if len(text) < 60 and text.strip() == text]
    known = [text for text in known if not re.search(r"[\ud800-\udfff\0]", text)]
    save(program(known, ["    pass"] * len(known), FILE), "evil.lprof")
    rows = tables(markdown("--functions", "evil.lprof"))[0][1:]
    names = {row[-1] for row in rows}
    assert names == {
        f"plan.py:{2 * number + 1}({printable(text)})"
        for number, text in enumerate(known)
    }


@pytest.mark.parametrize("char", ["x", "|", "`", "<", "@a ", "é", "\x1b", "\U0001f600"])
def test_long_names_and_lines_leave_the_first_screen_a_comment(char: str) -> None:
    names = [f"{char * 8_000}{number}" for number in range(60)]
    lines = [f"    {char * 8_000}"] * 60
    save(program(names, lines, f"/project/{char * 2000}.py"), "a.lprof")
    slower = program(names, lines, f"/project/{char * 2000}.py")
    save(slower.with_functions(
        one._replace(thread_lines=tuple(
            cell._replace(time_ns=3 * cell.time_ns) for cell in one.thread_lines))
        for one in slower.functions), "b.lprof")  # fmt: skip
    shown = markdown("a.lprof")
    assert len(tables(shown)[0]) == 11
    assert len(markdown("a.lprof", "b.lprof", command="diff")) < MAX_CHARACTERS
    assert max(map(len, shown.splitlines())) < 6000
    whole = markdown("--all-functions", "a.lprof")
    assert len(whole) <= MAX_CHARACTERS


def test_a_comparison_has_its_verdict_first() -> None:
    save_version("a.lprof", TEXT, {"step": SLOW})
    save_version("b.lprof", TEXT, {"step": FAST})
    shown = markdown("a.lprof", "b.lprof", command="diff")
    assert shown.splitlines()[0] == "<!-- lineprof diff -->"
    text = viewer("diff", "a.lprof", "b.lprof", cwd=Path.cwd()).out
    assert headings(shown) == [text.splitlines()[0]]
    assert "4.2 times faster" in headings(shown)[0]
    functions, lines = tables(shown)
    assert functions[0][-2:] == ["Line", "Function"]
    assert functions[1][-2:] == ["work.py:1", "step"]
    assert lines[1][-1] == "loss = forward(batch) | {1}"
    assert "10 times faster" in lines[1]
    notes = shown.partition("<details><summary>Notes</summary>")[2]
    assert "each side is one run, so a change counts" in paragraphs(notes)[0]
    same = markdown("a.lprof", "a.lprof", command="diff")
    assert headings(same)[0].startswith("No change: CPU time 59.00 ms before")


def test_a_budget_that_fails_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    save_version("a.lprof", TEXT, {"step": SLOW})
    budget = "[[function]]\nname = 'step'\ntime = '1 ms'\ncalls = 9\n"
    write(
        Path.cwd(),
        "b.toml",
        budget + "\n[[line]]\nfile = 'x|@y.py'\ntext='`'\nhits=1\n",
    )
    done = lineprof("check -b b.toml --format markdown a.lprof")
    assert done.status == 1
    check_inert(done.out)
    assert done.out.startswith("<!-- lineprof check -->\n")
    assert headings(done.out) == ["1 budget holds, 1 exceeded, 1 not checked"]
    ((titles, exceeded, unknown),) = tables(done.out)
    assert titles == ["Place", "Budget that does not hold"]
    assert exceeded == [
        "/project/work.py:1",
        "step: time 59.00 ms exceeds its budget of 1 ms (1 call)",
    ]
    assert unknown[0] == "b.toml:8"
    assert "x|@y.py" in unknown[1]
    write(Path.cwd(), "c.toml", "[program]\ntime = '9 s'\n")
    done = lineprof("check -b c.toml --format markdown a.lprof")
    assert (done.status, headings(done.out)) == (0, ["1 budget holds, 0 exceeded"])
    assert tables(done.out) == []


def test_it_is_written_to_a_file_as_well() -> None:
    save(example(), "plan.lprof")
    shown = markdown("--hot", "3", "plan.lprof")
    done = lineprof("view --markdown --hot 3 -o out.md plan.lprof")
    assert (done.status, done.out) == (0, "")
    assert Path("out.md").read_text(encoding="utf-8") == shown
    shown = markdown("plan.lprof", "plan.lprof", command="diff")
    assert lineprof("diff --markdown -o diff.md plan.lprof plan.lprof").status == 0
    assert Path("diff.md").read_text(encoding="utf-8") == shown


def test_it_is_utf_8_whatever_the_locale_and_has_no_colours() -> None:
    save(example(), "plan.lprof")
    shown = markdown("plan.lprof")
    assert "└─" in shown
    done = subprocess.run(
        [sys.executable, "-m", "lineprof", "view", "--markdown", "plan.lprof"],
        capture_output=True,
        timeout=DEADLINE,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "30"},
    )
    assert done.stdout.decode("utf-8") == shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("view --markdown --json", "--json takes no --markdown"),
        ("view --markdown --csv --hot 3", "--markdown takes no --csv"),
        ("view --markdown --html", "--html takes no --markdown"),
        ("view --markdown --gpu-summary", "--gpu-summary takes no --markdown"),
        ("view --markdown --gpu-trace", "--gpu-trace takes no --markdown"),
        ("diff --markdown --json plan.lprof", "--json takes no --markdown"),
        ("diff --markdown --html x.html plan.lprof", "--html takes no --markdown"),
    ],
)
def test_forms_that_do_not_go_together_are_refused(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save(example(), "plan.lprof")
    assert message in error_line(capsys, 2, *words.split(), "plan.lprof")
