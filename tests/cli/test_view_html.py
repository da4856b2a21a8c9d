"""The commands that write HTML reports: `lineprof view --html`, `kernprof --html`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from as_python import kernprof, kernprof_here, run, viewer
from report_page import Page

PROGRAM = """\
def add(values):
    total = 0
    for value in values:
        total += value
    return total

print(add(range(10)))
"""


OLD = Path(__file__).parents[1] / "golden" / "line_profiler" / "demo-4.2.0.lprof"


def page(name: str) -> Page:
    return Page(Path(name).read_text(encoding="utf-8"))


def shown(*arguments: str) -> tuple[int, str, str]:
    outcome = viewer("view", *arguments, cwd=Path())
    return outcome.status, outcome.out, outcome.err


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--html", "train.lprof"], "train.lprof.html"),
        (["train.lprof", "--html"], "train.lprof.html"),
        (["--html", "page.html", "train.lprof"], "page.html"),
        (["--html=page.htm", "train.lprof"], "page.htm"),
        (["--html=report", "train.lprof"], "report"),
        (["--html", "-o", "page", "train.lprof"], "page"),
        (["--html", "%p.html", "train.lprof"], "4711.html"),
    ],
)
def test_the_page_has_the_name_that_was_given(
    file: str, arguments: list[str], name: str
) -> None:
    assert Path(file).exists()
    status, out, err = shown(*arguments)
    size = Path(name).stat().st_size
    assert (status, out) == (0, "")
    assert err == f"lineprof: wrote {name} ({size / 1000:,.0f} kB)\n"
    assert page(name).data["title"] == "train.py --fast"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--html=train.lprof", "train.lprof"], "is the name of a profile"),
        (["--html", "a.html", "-o", "b.html", "train.lprof"], "both name a file"),
        (["--html", "--json", "train.lprof"], "--html takes no --json"),
        (["--html", "--hot", "train.lprof"], "not allowed with"),
        (["--html", "--limit", "3", "train.lprof"], "--html takes no --limit"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(
    file: str, arguments: list[str], message: str
) -> None:
    before = Path(file).read_bytes()
    status, out, err = shown(*arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert Path(file).read_bytes() == before
    assert [one.name for one in Path().iterdir()] == [file]


def test_a_page_never_replaces_the_profile(file: str) -> None:
    Path("page.html").symlink_to(file)
    before = Path(file).read_bytes()
    assert shown("--html", "page.html", file) == (
        1,
        "",
        "lineprof: 'page.html' is the profile; name another file\n",
    )
    assert Path(file).read_bytes() == before


def test_a_page_that_cannot_be_written_is_one_line(file: str) -> None:
    status, out, err = shown("--html", "nowhere/page.html", file)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "nowhere/page.html" in err


def test_the_page_of_named_functions_has_these_alone(file: str) -> None:
    assert shown("--html", "page.html", file, "fib")[0] == 0
    assert page("page.html").data["functions"]["name"] == ["fib"]


def test_a_page_goes_to_standard_output(file: str) -> None:
    status, out, err = shown("--html=-", file)
    assert (status, err) == (0, "")
    assert Page(out).data["title"] == "train.py --fast"
    assert not Path("-").exists()


def test_notes_are_in_the_page_and_not_on_the_terminal(file: str) -> None:
    status, _, err = shown("--html", "page.html", file)
    assert (status, err.count("\n")) == (0, 1)
    assert page("page.html").data["notes"]


def test_a_page_without_calls_says_that_times_include_callees(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    assert shown(f"--html={target}", str(OLD))[0] == 0
    found = page(str(target)).data
    assert found["hasCalls"] is False
    assert any("who called whom" in note for note in found["notes"])


def hits(profiled: Page) -> dict[int, int]:
    return {line["line"]: line["hits"] for line in profiled.rows("lines")}


@pytest.mark.parametrize(
    ("flags", "name"),
    [(["--html"], "out.lprof.html"), (["--html", "page.html"], "page.html")],
)
def test_kernprof_writes_a_page_beside_the_profile(
    tmp_path: Path, flags: list[str], name: str
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    outcome = kernprof_here(
        *("-l", "--whole", *flags, "-o", "out.lprof", "program.py"), cwd=tmp_path
    )
    assert outcome.status == 0
    assert outcome.out.startswith("45\n")
    assert f"Wrote report to '{name}'\n" in outcome.out
    found = Page((tmp_path / name).read_text(encoding="utf-8"))
    assert hits(found) | {1: 0} == {1: 0, 2: 1, 3: 11, 4: 10, 5: 1, 7: 1}
    assert (tmp_path / "out.lprof").exists()


def test_a_page_that_kernprof_cannot_write_in_the_end_costs_nothing_else(
    tmp_path: Path,
) -> None:
    (tmp_path / "there").mkdir()
    text = f"import os\nos.rmdir('there')\n{PROGRAM}"
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    flags = ("-lq", "--whole", "--html=there/page.html", "-o", "out.lprof")
    outcome = kernprof_here(*flags, "program.py", cwd=tmp_path)
    assert (outcome.status, outcome.out) == (0, "45\n")
    assert outcome.err.startswith("kernprof: cannot write the report to ")
    assert outcome.err.count("\n") == 1
    assert viewer("view", "out.lprof", cwd=tmp_path).status == 0


def test_the_page_is_where_it_was_asked_for_if_the_program_changes_folders(
    tmp_path: Path,
) -> None:
    (tmp_path / "inner").mkdir()
    text = f"import os\nos.chdir('inner')\n{PROGRAM}"
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    flags = ("-l", "--whole", "--html", "page.html", "-o", "out.lprof")
    outcome = kernprof_here(*flags, "program.py", cwd=tmp_path)
    assert outcome.status == 0
    assert (tmp_path / "page.html").exists()
    assert f"Wrote report to '{tmp_path / 'page.html'}'\n" in outcome.out


def test_the_name_of_a_page_has_the_placeholders_of_profiles(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    flags = ("-lq", "--whole", "--html=%s-%n.html", "-o", "out.lprof")
    assert kernprof_here(*flags, "program.py", cwd=tmp_path).status == 0
    assert (tmp_path / "program-1.html").exists()


def test_ranks_write_pages_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    flags = ("-lq", "--whole", "--html", "page.html", "-o", "out.lprof")
    environment = {"RANK": "1", "WORLD_SIZE": "2"}
    kernprof(*flags, "program.py", cwd=tmp_path, env=environment)
    assert (tmp_path / "page.r0001.html").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--html"], "--html needs -l"),
        (["-l", "--html=page"], "bad page 'page'; give a name that ends in .html"),
        (
            ["-l", "--html=nowhere/page.html"],
            "cannot write the report to 'nowhere/page.html': there is no folder",
        ),
        (["-l", "--html=%x.html"], "%x"),
        (
            ["-l", "--html=out.html", "-o", "out.html"],
            "the profile itself is written to 'out.html'; name another file with",
        ),
        (["-l", "--html", "-o", "/dev/null"], "name the page: --html=OUT.html"),
    ],
)
def test_kernprof_refuses_a_page_that_it_cannot_make(
    tmp_path: Path, flags: list[str], message: str
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    outcome = kernprof_here(*flags, "program.py", cwd=tmp_path)
    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err


def test_a_refused_page_leaves_no_live_file(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "live").mkdir()
    flags = ("-l", "--whole", "--html=nowhere/page.html")
    environment = {"LINEPROF_LIVE": str(tmp_path / "live")}
    outcome = kernprof(*flags, "program.py", cwd=tmp_path, env=environment)
    assert outcome.status == 2
    assert list((tmp_path / "live").iterdir()) == []


def test_the_page_of_a_command_has_the_lines_of_its_processes(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    python = [sys.executable, "program.py"]
    flags = ("--children", "--whole", "--html", "page.html", "-o", "out.lprof")
    done = run(["-m", "lineprof", "run", *flags, "--", *python], cwd=tmp_path)
    assert done.status == 0, done.err
    assert "Wrote report to 'page.html'" in done.out
    found = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert hits(found)[4] == 10
