"""The page of `lineprof diff --html`: its numbers are those of the other forms."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import example_gpu
import example_stats
import pytest
from as_python import viewer
from hostile_files import evil_file
from report_page import Page, source_of
from versions import MS, save_version

from lineprof.comparison.compare import Change, CountChange, LinePair, Times
from lineprof.report.html import comparison
from lineprof.storage import save

if TYPE_CHECKING:
    from types import FrameType

pytestmark = pytest.mark.usefixtures("here")

BEFORE = """\
def slow(rows):
    total = 0
    for row in rows:
        total += sum(row)
    return total


def same(n):
    return n + 1
"""
AFTER = """\
def same(n):
    return n + 1


def slow(rows):
    total = 0
    for row in rows:
        total += fast(row)
    return total
"""
NUMBERS: dict[str, Any] = {
    "same": {"return n + 1": (5, MS)},
    "slow": {
        "total = 0": (1, 1000),
        "for row in": (101, 2 * MS),
        "total += ": (100, 60 * MS),
        "return total": (1, 500),
    },
}


def versions() -> tuple[str, str]:
    """Write a program before and after it was edited; return the two profiles."""
    save_version("a.lprof", BEFORE, NUMBERS)
    faster = {**NUMBERS["slow"], "total += ": (100, 20 * MS)}
    save_version("b.lprof", AFTER, {**NUMBERS, "slow": faster})
    return "a.lprof", "b.lprof"


def diff(*arguments: str) -> tuple[int, str, str]:
    outcome = viewer("diff", *arguments, cwd=Path())
    return outcome.status, outcome.out, outcome.err


def page(name: str = "d.html") -> Page:
    return Page(Path(name).read_text(encoding="utf-8"))


def test_the_edited_line_leads_and_moved_lines_do_not_change() -> None:
    status, out, err = diff(*versions(), "--html", "d.html")
    size = Path("d.html").stat().st_size
    assert (status, out) == (0, "")
    assert err == f"lineprof: wrote d.html ({size / 1000:,.0f} kB)\n"
    (line,) = page().rows("lines")
    assert (line["before"], line["after"], line["note"]) == (4, 8, "edited")
    assert (line["self0"], line["self1"]) == (60 * MS, 20 * MS)
    assert line["text"].strip() == "total += fast(row)"
    sides = page().data["sources"][line["source"]]
    assert sides["before"] == [2, 3, 4, 5]
    assert sides["after"] == [6, 7, 8, 9]
    assert sides["text0"][2].strip() == "total += sum(row)"


def test_the_page_has_the_paths_of_both_sides_for_an_editor() -> None:
    kept = {"return n + 1": (5, MS)}
    save_version("a.lprof", "def gone(n):\n    return n + 1\n", {"gone": kept})
    save_version(
        "b.lprof", "def new(n):\n    return n * 2\n", {"new": {"return": (1, MS)}}
    )
    diff("a.lprof", "b.lprof", "--html", "d.html")
    paths = {tuple(one["paths"]) for one in page().data["sources"]}
    assert {sum(path is None for path in both) for both in paths} == {1}
    diff(*versions(), "--html", "d.html")
    (source,) = page().data["sources"]
    assert all(Path(path).name.endswith(".py") for path in source["paths"])


def test_the_numbers_are_those_of_json() -> None:
    files = versions()
    diff(*files, "--html", "d.html")
    shown = json.loads(diff(*files, "--json")[1])
    found = page()
    for name, key in (("wall", "wall_ns"), ("own", "self_ns")):
        assert found.data[name]["before"] == shown[key]["before"]
        assert found.data[name]["after"] == shown[key]["after"]
    for name in ("functions", "lines"):
        times = [(row["self0"], row["self1"]) for row in found.rows(name)]
        expected = [row["self_ns"] for row in shown[name]]
        assert times == [(one["before"], one["after"]) for one in expected]


def steps_for_removed_lines(count: int) -> int:
    """Write the page of so many removed lines; return how many lines that ran."""
    numbers = {f"x{n} = {n} ": (1, MS) for n in range(count)}
    text = "def f():\n" + "".join(f"    {line}\n" for line in numbers)
    save_version("a.lprof", text, {"f": numbers})
    save_version("b.lprof", "def f():\n    pass\n", {"f": {"pass": (1, MS)}})
    steps = 0

    def step(*_: object) -> object:
        nonlocal steps
        steps += 1
        return step

    def traced(frame: FrameType, *_: object) -> object:
        return step() if frame.f_code.co_filename == comparison.__file__ else None

    before = sys.gettrace()
    sys.settrace(traced)  # type: ignore[arg-type]
    try:
        assert diff("a.lprof", "b.lprof", "--html", "d.html")[0] == 0
    finally:
        sys.settrace(before)
    sides = page().data["sources"][0]
    assert [line for line in sides["before"] if line] == [*range(2, count + 2)]
    return steps


def test_the_page_of_twice_as_many_removed_lines_is_twice_the_work() -> None:
    few = steps_for_removed_lines(50)
    many = steps_for_removed_lines(100)
    assert few < many <= 2 * few


def test_a_removed_line_is_below_the_line_that_was_above_it() -> None:
    numbers = {"for row": (2, MS), "total += ": (2, MS), "return total": (1, MS)}
    save_version("a.lprof", BEFORE, {"slow": numbers})
    shorter = BEFORE.replace("        total += sum(row)\n", "        pass\n")
    del numbers["total += "]
    save_version("b.lprof", shorter, {"slow": {**numbers, "pass": (2, MS)}})
    diff("a.lprof", "b.lprof", "--html", "d.html")
    (sides,) = page().data["sources"]
    assert list(zip(sides["before"], sides["after"])) == [
        (3, 3),
        (4, 0),
        (0, 4),
        (5, 5),
    ]


def test_a_line_that_stayed_does_not_move_one_that_was_removed() -> None:
    one = Change(before=(1,), after=(1,))
    count = CountChange(before=(1,), after=(1,))
    times = Times(count=count, total_ns=one, self_ns=one, gpu_ns=one, own_ns=one)

    def pair(before: int | None, after: int | None) -> LinePair:
        return LinePair(
            before=before, after=after, before_text=None, after_text=None, times=times
        )

    # Two lines have the number 10, in different runs.
    lines = [pair(5, 5), pair(10, None), pair(10, 20), pair(None, 12)]
    found = comparison._side_by_side(lines)
    assert [(line.before, line.after) for line in found] == [
        (5, 5),
        (10, None),
        (None, 12),
        (10, 20),
    ]


def test_the_page_loads_nothing_and_runs_its_own_script_alone() -> None:
    diff(*versions(), "--html", "d.html")
    found = page()
    (loader, script), (style,) = found.scripts, found.styles
    assert found.allowed["script-src"] == f"{source_of(loader)} {source_of(script)}"
    assert found.allowed["style-src"] == source_of(style)
    assert found.addresses() == []


def test_texts_of_hostile_profiles_are_in_no_markup(tmp_path: Path) -> None:
    evil = evil_file(tmp_path, names_of_columns=False)
    save(example_stats.example(), "a.lprof")
    status, _, err = diff("a.lprof", str(evil), "--html", "d.html")
    assert status == 0, err
    assert [tag for tag, _ in page().elements].count("script") == 3


def test_gpu_times_are_in_the_page() -> None:
    save(example_gpu.example(), "a.lprof")
    save(example_gpu.without_gpu(), "b.lprof")
    diff("a.lprof", "b.lprof", "--html", "d.html")
    found = page()
    assert found.data["hasGpu"]
    assert sum(line["gpu1"] for line in found.rows("lines")) == 0
    assert sum(line["gpu0"] for line in found.rows("lines")) > 0


def test_an_unknown_number_of_calls_is_null() -> None:
    before, after = versions()
    words = ["export", "-f", "line_profiler", "-o", "a.pkl", before]
    assert viewer(*words, cwd=Path()).status == 0
    assert diff("a.pkl", after, "--html", "d.html")[0] == 0
    (row,) = page().rows("functions")
    assert (row["low0"], row["high0"], row["low1"]) == (None, None, 1)
    assert diff("a.pkl", before, "--html", "d.html")[0] == 0
    assert page().rows("functions") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--html", "d.html", "--json"], "--html takes no --json"),
        (["--html", "d.html", "-o", "x"], "--html takes no -o"),
        (["--html", "a.lprof"], "is the name of a profile"),
        (["--html", "d.html", "--limit", "0"], "--html takes no --limit: the page has"),
        (["--html", "d.html", "--min-percent=0"], "--html takes no --min-percent: the"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(
    arguments: list[str], message: str
) -> None:
    status, out, err = diff(*versions(), *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert not Path("d.html").exists()


def test_the_page_goes_to_standard_output() -> None:
    done = viewer("diff", "--html=-", *versions(), cwd=Path())
    assert (done.status, done.err) == (0, "")
    assert Page(done.out).data["lines"]["name"]
    assert not Path("-").exists()
