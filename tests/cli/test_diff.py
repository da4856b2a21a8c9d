"""The command `lineprof diff`: profiles before and after a change."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, variance
from typing import TYPE_CHECKING

import example_calls
import example_gpu
import example_stats
import pytest
from as_python import error_line, kernprof_here, viewer, write
from example_ranks import save_ranks
from hostile_files import check_no_controls, evil_file
from versions import MS, save_version, version

from lineprof.console.terminal import Terminal
from lineprof.line_stats import LineStats
from lineprof.storage import save

if TYPE_CHECKING:
    from as_python import Outcome
    from versions import Numbers

pytestmark = pytest.mark.usefixtures("here")

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "line_profiler"

BEFORE = """\
def load(path):
    rows = open(path).readlines()
    return rows


def total(rows):
    result = 0
    for row in rows:
        result += sum(ord(c) for c in row)
    return result


def unchanged(n):
    return n + 1
"""

# `total` stands first, has a new line and a faster one; `load` is as it was.
AFTER = '''\
"""Now with a text at its start."""


def total(rows):
    """Return the sum of all letters."""
    result = 0
    for row in rows:
        result += sum(row.encode())
    print("done")
    return result


def unchanged(n):
    return n + 1


def load(path):
    rows = open(path).readlines()
    return rows
'''

LOAD = {"rows = open": (1, 7 * MS), "return rows": (1, MS)}
UNCHANGED = {"return n + 1": (5, MS)}
TOTAL_BEFORE = {
    "result = 0": (1, 1000),
    "for row in": (101, 2 * MS),
    "result += ": (100, 60 * MS),
    "return result": (1, 500),
}
TOTAL_AFTER = {
    **TOTAL_BEFORE,
    "result += ": (100, 20 * MS),
    'print("done")': (1, 300),
}


@pytest.fixture
def sides(here: Path) -> Path:
    """Write the two versions, and go to their folder."""
    numbers = {"load": LOAD, "total": TOTAL_BEFORE, "unchanged": UNCHANGED}
    save_version("before.lprof", BEFORE, numbers)
    numbers = {"load": LOAD, "total": TOTAL_AFTER, "unchanged": UNCHANGED}
    save_version("after.lprof", AFTER, numbers, wall_ns=60 * MS)
    return here


def diff(*words: str) -> Outcome:
    """Run the command in the current folder; it has to succeed."""
    done = viewer("diff", *words, cwd=Path.cwd())
    assert done.status == 0, done.err
    return done


def compared(*words: str) -> dict[str, list[dict[str, object]]]:
    """Return the comparison as JSON."""
    return json.loads(diff(*words, "--json").out)  # type: ignore[no-any-return]


def changes(rows: list[dict[str, object]], key: str = "self_ns") -> list[object]:
    """Return the change of a number in each row."""
    return [row[key]["change"] for row in rows]  # type: ignore[index]


@pytest.mark.usefixtures("sides")
def test_a_moved_function_shows_no_change_and_the_faster_line_leads() -> None:
    found = compared("before.lprof", "after.lprof")
    first, second = found["lines"]
    assert first["after_source"] == "        result += sum(row.encode())"
    assert first["before_source"] == "        result += sum(ord(c) for c in row)"
    assert (first["before_line"], first["after_line"]) == (9, 8)
    assert first["self_ns"]["change"] == -40 * MS  # type: ignore[index]
    assert (second["before_line"], second["after_line"]) == (None, 9)
    assert second["after_source"] == '    print("done")'
    names = [row["after"]["function"] for row in found["functions"]]  # type: ignore[index]
    assert names == ["total"]
    assert changes(found["functions"]) == [-40 * MS + 300]


@pytest.mark.usefixtures("sides")
def test_the_text_has_both_line_numbers_and_the_wall_time() -> None:
    expected = """\
In all: CPU time 71.00 ms before, 31.00 ms after, 2.3 times faster; waits 0 s, 0 s
Most at work.py:9 → 8 total: CPU time 60.00 ms before, 20.00 ms after, 3 times faster
Wall time: 100.0 ms before, 60.00 ms after; waits for a processor 0 s, 0 s

1 function took another time:

CPU Before (ms)  CPU After (ms)  CPU Change (ms)  Calls  Verdict  Line  Function
     62.002      22.002      -40.000  1  2.8 times faster  work.py:6 → 4   total

1 line took another time, 1 more has another number of hits:

CPU Before (ms)  CPU After (ms)  CPU Change (ms)  Hits  Verdict  Note    Line  \
Function  Line Contents
60.000  20.000  -40.000  100  3 times faster  edited  work.py:9 → 8  total  \
result += sum(row.encode())
         0.000    0.000          1  added   work.py:9      total  print("done")

Note: each side is one run, so a change counts only if it is greater than what runs \
of one program differ by; three or more runs a side tell smaller ones from chance
"""
    shown = diff("before.lprof", "after.lprof").out
    # How wide the columns are is the subject of other tests.
    assert [line.split() for line in shown.splitlines()] == [
        line.split() for line in expected.splitlines()
    ]


@pytest.mark.usefixtures("sides")
def test_a_profile_beside_itself_has_no_change() -> None:
    text = diff("before.lprof", "before.lprof").out
    assert text.startswith(
        "No change: CPU time 71.00 ms before, 71.00 ms after; waits 0 s, 0 s\n"
    )
    assert "No function took another time or has another number of calls\n" in text
    assert "No line took another time or has another number of hits\n" in text
    assert compared("before.lprof", "before.lprof")["lines"] == []


def test_another_checkout_matches_by_the_ends_of_paths() -> None:
    numbers = {"total": TOTAL_BEFORE}
    save_version("a.lprof", BEFORE, numbers, file="/home/one/project/src/work.py")
    save_version("b.lprof", BEFORE, numbers, file="/builds/7/src/work.py")
    found = compared("a.lprof", "b.lprof")
    assert (found["functions"], found["lines"], found["more_lines"]) == ([], [], 0)


def test_two_files_of_one_name_match_by_their_folders() -> None:
    fast, slow = (
        {"unchanged": {"return n": (1, 5)}},
        {"unchanged": {"return n": (1, 9)}},
    )

    def both(root: str, first: str, second: str) -> LineStats:
        return version(BEFORE, fast, file=f"{root}/{first}/__init__.py") + version(
            BEFORE, slow, file=f"{root}/{second}/__init__.py"
        )

    save(both("/old", "fast", "slow"), "a.lprof")
    save(both("/new", "fast", "slow"), "b.lprof")
    assert compared("a.lprof", "b.lprof")["lines"] == []


def test_a_renamed_function_matches_by_its_source() -> None:
    renamed = BEFORE.replace("def total(", "def checksum(")
    save_version("a.lprof", BEFORE, {"total": TOTAL_BEFORE})
    save_version(
        "b.lprof", renamed, {"checksum": {**TOTAL_BEFORE, "for row in": (101, MS)}}
    )
    text = diff("a.lprof", "b.lprof", "--limit", "0").out
    assert "renamed, within noise  work.py:6  total → checksum\n" in text
    (row,) = compared("a.lprof", "b.lprof")["lines"]
    assert (row["before_line"], row["after_line"]) == (8, 8)


def test_a_function_moved_to_another_file_matches() -> None:
    save_version("a.lprof", BEFORE, {"total": TOTAL_BEFORE}, file="/p/work.py")
    moved = AFTER.replace("row.encode()", "ord(c) for c in row")
    numbers = {**TOTAL_BEFORE, "for row in": (101, MS)}
    save_version("b.lprof", moved, {"total": numbers}, file="/p/sums.py")
    text = diff("a.lprof", "b.lprof", "--limit", "0").out
    assert "moved, within noise  work.py:6 → sums.py:4  total\n" in text
    (row,) = compared("a.lprof", "b.lprof")["lines"]
    assert (row["before_line"], row["after_line"]) == (8, 7)


def test_another_function_is_added_and_removed() -> None:
    save_version("a.lprof", BEFORE, {"load": LOAD})
    save_version("b.lprof", BEFORE, {"total": TOTAL_BEFORE})
    added, removed = compared("a.lprof", "b.lprof")["functions"]
    assert (added["before"], removed["after"]) == (None, None)
    text = diff("a.lprof", "b.lprof").out
    assert "added    work.py:6  total\n" in text
    assert "removed  work.py:1  load\n" in text


def test_another_number_of_hits_is_told_though_the_time_is_the_same() -> None:
    save_version("a.lprof", BEFORE, {"unchanged": {"return n": (5, MS)}})
    save_version("b.lprof", BEFORE, {"unchanged": {"return n": (6, MS)}})
    (row,) = compared("a.lprof", "b.lprof")["lines"]
    assert row["hits"] == {
        "before": 5,
        "after": 6,
        "change": 1,
        "ratio": 1.2,
        "before_runs": [5],
        "after_runs": [6],
    }
    assert "  5 → 6  " in diff("a.lprof", "b.lprof").out


def test_lines_that_changed_places_match() -> None:
    swapped = BEFORE.replace("    result = 0\n", "").replace(
        "    return result\n", "    result = 0\n    return result\n"
    )
    save_version("a.lprof", BEFORE, {"total": TOTAL_BEFORE})
    save_version(
        "b.lprof", swapped, {"total": {**TOTAL_BEFORE, "result = 0": (1, 9000)}}
    )
    (row,) = compared("a.lprof", "b.lprof")["lines"]
    assert (row["before_line"], row["after_line"]) == (7, 9)


ASLEEP = """\
def run(n):
    for _ in range(5):
        time.sleep(0.01 * n)
        b = n * 2
        c = b + 1
    return b, c
"""

# The slow line is now the last one of the loop; a fast one stands where it was.
MOVED = """\
def run(n):
    for _ in range(5):
        time.sleep(0.0001 * n)
        b = n * 2
        c = b + 1
        time.sleep(0.01 * n)
    return b, c
"""


@pytest.mark.usefixtures("here")
def test_a_moved_line_matches_though_a_similar_one_stands_in_its_place() -> None:
    save_version("a.lprof", ASLEEP, {"run": {"sleep(0.01": (5, 100 * MS)}})
    after = {"sleep(0.01": (5, 101 * MS), "sleep(0.0001": (5, 3 * MS)}
    save_version("b.lprof", MOVED, {"run": after})
    rows = compared("a.lprof", "b.lprof")["lines"]
    places = [(row["before_line"], row["after_line"]) for row in rows]
    assert places == [(None, 3), (3, 6)]
    assert changes(rows) == [3 * MS, MS]


@pytest.mark.usefixtures("here")
def test_a_moved_function_of_a_module_keeps_its_line() -> None:
    loop = "    total = 0\n    for i in range(n):\n        total += i\n"
    slow = "def slow(n):\n    return [n] * n\n"
    before = f"{slow}def helper(n):\n{loop}def main():\n    pass\n"
    after = f"def assist(n):\n{loop}{slow}def main():\n    pass\n"
    for name, text in (("a.lprof", before), ("b.lprof", after)):
        module = {line: (1, len(line)) for line in text.split("\n") if "def" in line}
        first = next(iter(module))
        stats = version(text, {first[4:].partition("(")[0]: module})
        whole = stats.functions[0]._replace(name="<module>", line=1)
        module_alone = LineStats.from_functions(
            [whole],
            processes=stats.processes,
            threads=stats.threads,
            sources=stats.sources,
        )
        save(module_alone, name)
    rows = compared("a.lprof", "b.lprof")["lines"]
    texts = [(row["before_source"], row["after_source"]) for row in rows]
    assert ("def slow(n):", "def assist(n):") not in texts
    assert "def slow(n):" not in {text for both in texts for text in both}


# Several runs.


def save_runs(side: str, times: list[int], rest: list[int]) -> list[str]:
    """Write runs in which one line takes each of `times` (ns), another one `rest`."""
    return [
        save_version(
            f"{side}.{number}.lprof",
            BEFORE,
            {"total": {"for row": (9, time), "result +=": (8, other)}},
            wall_ns=time,
        )
        for number, (time, other) in enumerate(zip(times, rest))
    ]


TIMES = ([100 * MS, 110 * MS, 120 * MS], [180 * MS, 190 * MS, 200 * MS])
NOISY = ([10 * MS, 90 * MS, 50 * MS], [90 * MS, 130 * MS, 50 * MS])


@pytest.fixture
def runs(here: Path) -> Path:
    """Write three runs of each side, and go to their folder."""
    save_runs("old", TIMES[0], NOISY[0])
    save_runs("new", TIMES[1], NOISY[1])
    return here


@pytest.mark.usefixtures("runs")
def test_several_runs_have_a_noise_band_of_welch() -> None:
    found = compared("old.*.lprof", "new.*.lprof")
    first, second = found["lines"]
    # Both sides vary equally: 4 degrees of freedom, for which Student's t is 2.776.
    error = (variance(TIMES[0]) / 3 + variance(TIMES[1]) / 3) ** 0.5
    assert first["self_ns"] == {
        "before": mean(TIMES[0]),
        "after": mean(TIMES[1]),
        "change": 80 * MS,
        "ratio": 19 / 11,
        "noise": round(2.776 * error),
        "before_runs": TIMES[0],
        "after_runs": TIMES[1],
    }
    assert second["self_ns"]["change"] == 40 * MS  # type: ignore[index]
    assert (first["within_noise"], second["within_noise"]) == (False, True)


@pytest.mark.usefixtures("runs")
def test_a_change_within_noise_is_marked_and_comes_last() -> None:
    save_runs("old", NOISY[0], TIMES[0])
    save_runs("new", NOISY[1], TIMES[1])
    text = diff("old.*.lprof", "new.*.lprof").out
    assert "for row in rows" not in text
    assert "1 line took another time:" in text
    assert "1 line changed within noise; --limit 0 lists all\n" in text
    assert "each side is one run" not in text
    text = diff("old.*.lprof", "new.*.lprof", "--limit", "0").out
    first, second = [row for row in text.splitlines() if "work.py:" in row][-2:]
    assert "result += " in first
    assert "within noise" not in first
    assert "for row in rows" in second
    assert "within noise" in second
    assert "1 line took another time, 1 changed within noise:" in text


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    "words",
    [
        ["old.0.lprof,old.1.lprof,old.2.lprof", "new.0.lprof,new.1.lprof,new.2.lprof"],
        ["old.*.lprof", "new.?.lprof"],
        ["old.*.lprof,old.1.lprof", "new.*.lprof"],
        [
            *("--before", "old.0.lprof", "old.1.lprof", "old.2.lprof"),
            *("--after", "new.0.lprof", "new.1.lprof", "--after", "new.2.lprof"),
        ],
        ["--before", "old.*.lprof", "--after", "new.*.lprof"],
    ],
)
def test_runs_are_named_by_commas_patterns_or_flags(words: list[str]) -> None:
    assert compared(*words) == compared("old.*.lprof", "new.*.lprof")


@pytest.mark.usefixtures("runs")
def test_the_first_lines_have_the_range_of_all_runs() -> None:
    text = diff("old.*.lprof", "new.0.lprof").out
    assert (
        "\nRuns: 3 before, own time 110.0 ms to 200.0 ms; 1 after, 270.0 ms to"
        " 270.0 ms\n"
    ) in text


@pytest.mark.usefixtures("runs")
def test_one_run_beside_several_varies_as_they_do() -> None:
    first = compared("old.*.lprof", "new.2.lprof")["lines"][0]["self_ns"]
    noise = 4.303 * (variance(TIMES[0]) * (1 / 3 + 1)) ** 0.5
    assert first["noise"] == round(noise)  # type: ignore[index]


def test_runs_of_one_side_match_though_a_line_moved() -> None:
    save_version("a.lprof", BEFORE, {"total": TOTAL_BEFORE})
    save_version("b.lprof", f"# a line\n{BEFORE}", {"total": TOTAL_BEFORE})
    save_version("c.lprof", BEFORE, {"total": {**TOTAL_BEFORE, "result = 0": (1, 9)}})
    (row,) = compared("a.lprof,b.lprof", "c.lprof")["lines"]
    assert row["self_ns"]["before_runs"] == [1000, 1000]  # type: ignore[index]
    assert row["self_ns"]["after_runs"] == [9]  # type: ignore[index]


@pytest.mark.usefixtures("sides")
def test_a_file_with_a_comma_in_its_name_is_one_file() -> None:
    Path("before.lprof").rename("a,b.lprof")
    assert compared("a,b.lprof", "after.lprof")["runs"] == {"before": 1, "after": 1}


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("width", [80, 100, 140])
def test_tables_fit_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(is_terminal=True, width=width)
    monkeypatch.setattr("lineprof.cli.diff.terminal_of", lambda _: terminal)
    text = diff("old.*.lprof", "new.*.lprof").out
    rows = [line for line in text.splitlines() if "work.py" in line or "(ms)" in line]
    assert len(rows) == 5
    assert max(map(len, rows)) <= width
    assert all("Change (ms)" in row for row in rows if "(ms)" in row)


# Numbers.


def test_self_times_leave_out_callees(here: Path) -> None:
    save(example_calls.example(), "calls.lprof")
    save(LineStats.from_functions([], processes=[example_stats.PROCESS]), "empty.lprof")
    found = compared("empty.lprof", "calls.lprof")
    own = {
        (row["after"]["function"], row["after_line"]): row["self_ns"]["after"]  # type: ignore[index]
        for row in found["lines"]
    }
    hot = json.loads(
        viewer("view", "--hot", "999", "--json", "calls.lprof", cwd=here).out
    )
    for row in hot["rows"]:
        assert own[row["function"], row["line"]] == row["self_ns"]
    assert own


def test_a_side_without_calls_has_whole_times_on_both() -> None:
    save(example_calls.example(), "calls.lprof")
    stats = example_calls.example()
    plain = LineStats.from_functions(
        stats.functions,
        processes=stats.processes,
        threads=stats.threads,
        sources=stats.sources,
        gpu=stats.gpu,
    )
    save(plain, "plain.lprof")
    found = compared("calls.lprof", "plain.lprof")
    assert found["has_calls"] is False
    assert changes(found["lines"]) == [0] * len(found["lines"])
    assert any("does not say who called whom" in note for note in found["notes"])  # type: ignore[operator]
    assert (
        "after: the profile does not say who" in diff("calls.lprof", "plain.lprof").out
    )


def test_gpu_columns_are_there_if_a_gpu_worked() -> None:
    save(example_gpu.example(), "gpu.lprof")
    save(example_gpu.without_gpu(), "cpu.lprof")
    text = diff("gpu.lprof", "cpu.lprof").out
    assert "GPU Before (" in text
    assert "GPU" not in diff("cpu.lprof", "cpu.lprof").out
    rows = compared("gpu.lprof", "cpu.lprof")["lines"]
    assert changes(rows[:1], "gpu_self_ns") == [-5_100_000]
    # As with --hot, the order is that of the greater time.
    sizes = [
        max(abs(one), abs(other))  # type: ignore[arg-type]
        for one, other in zip(changes(rows), changes(rows, "gpu_self_ns"))
    ]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.usefixtures("sides")
def test_limits_leave_out_the_smallest_changes() -> None:
    text = diff("before.lprof", "after.lprof", "--limit", "1").out
    assert "result += sum(row.encode())" in text
    assert 'print("done")' not in text
    assert "1 line took another time, 1 more has another number of hits:\n" in text
    assert "\n1 more is not shown\n" in text
    found = compared("before.lprof", "after.lprof", "--min-percent", "1")
    assert (len(found["lines"]), found["more_lines"]) == (1, 1)
    assert "not shown" not in diff("before.lprof", "after.lprof", "--limit", "0").out


@pytest.mark.usefixtures("sides")
def test_a_report_is_written_to_a_file() -> None:
    shown = diff("before.lprof", "after.lprof").out
    done = diff("before.lprof", "after.lprof", "-o", "report.txt")
    assert (done.out, Path("report.txt").read_text(encoding="utf-8")) == ("", shown)
    diff("before.lprof", "after.lprof", "--json", "-o", "report.%p.json")
    assert json.loads(Path("report.4711.json").read_text(encoding="utf-8"))["lines"]


@pytest.mark.usefixtures("sides")
def test_a_report_does_not_replace_a_profile(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = error_line(capsys, 1, "diff", "before.lprof", "after.lprof", "-oafter.lprof")
    assert "'after.lprof' is the profile" in line


# Odd profiles.


def test_empty_profiles_are_compared() -> None:
    save(LineStats.from_functions([]), "empty.lprof")
    text = diff("empty.lprof", "empty.lprof").out
    assert text.startswith(
        "No change: CPU time 0 s before, 0 s after; waits 0 s, 0 s\n"
    )
    assert "\nWall time: not known" in text
    assert "Note: before: the profile is empty" in text
    assert compared("empty.lprof", "empty.lprof")["wall_ns"] is None


def test_without_source_lines_match_by_their_distance() -> None:
    save_version("a.lprof", BEFORE, {"total": TOTAL_BEFORE}, source=False)
    shifted = f"\n\n{BEFORE}"
    faster = {"total": {**TOTAL_BEFORE, "result += ": (100, MS)}}
    save_version("b.lprof", shifted, faster, source=False)
    (row,) = compared("a.lprof", "b.lprof")["lines"]
    assert (row["before_line"], row["after_line"]) == (9, 11)
    assert (row["before_source"], row["after_source"]) == (None, None)
    text = diff("a.lprof", "b.lprof").out
    assert (
        "Note: the source of 1 function is not in the profiles, so that lines match by"
        " their distance from the first one: total (/project/work.py:8)\n"
    ) in text


def test_profiles_of_line_profiler_are_compared() -> None:
    file = str(GOLDEN / "demo-5.1.0.lprof")
    assert compared(file, file)["lines"] == []
    assert compared(file, str(GOLDEN / "demo-4.2.0.lprof"))["has_calls"] is False


def counted_and_not() -> tuple[str, str]:
    """Write a profile, and its lines as line_profiler writes them, without calls."""
    numbers = {"load": LOAD, "total": TOTAL_BEFORE}
    save_version("counted.lprof", BEFORE, numbers)
    words = ["export", "-f", "line_profiler", "-o", "not.pkl", "counted.lprof"]
    assert viewer(*words, cwd=Path.cwd()).status == 0
    return "counted.lprof", "not.pkl"


@pytest.mark.usefixtures("here")
def test_an_unknown_number_of_calls_is_no_change() -> None:
    one, other = counted_and_not()
    for files in ((one, other), (other, one), (f"{one},{other}", one)):
        assert compared(*files)["functions"] == []
        text = diff(*files).out
        assert "\nNo function took another time\n" in text
        assert "\nNo line took another time or has another number of hits\n" in text


@pytest.mark.usefixtures("here")
def test_an_unknown_number_of_calls_is_null_and_blank() -> None:
    _, other = counted_and_not()
    save_version("slower.lprof", BEFORE, {"load": {**LOAD, "return rows": (1, 9 * MS)}})
    slower, removed = sorted(
        compared(other, "slower.lprof")["functions"],
        key=lambda row: row["after"] is None,
    )
    assert slower["calls"] == {
        "before": None,
        "after": 1,
        "change": None,
        "ratio": None,
        "before_runs": [None],
        "after_runs": [1],
    }
    assert removed["calls"]["before"] is None  # type: ignore[index]
    table = diff(other, "slower.lprof").out.partition("Function")[2]
    rows = [line.split() for line in table.splitlines()[1:3]]
    assert rows == [
        ["62.002", "-62.002", "removed", "work.py:6", "total"],
        ["8.000", "16.000", "+8.000", "2", "times", "slower", "work.py:1", "load"],
    ]


def without_text(name: str, text: str, numbers: Numbers, file: Path) -> str:
    """Write a version as line_profiler does, without its text, and return its name."""
    save_version("whole.lprof", text, numbers, file=str(file))
    words = ["export", "-f", "line_profiler", "-o", name, "whole.lprof"]
    assert viewer(*words, cwd=Path.cwd()).status == 0
    return name


def test_text_of_the_disk_is_not_shown_for_the_line_that_ran(here: Path) -> None:
    file = here / "work.py"
    file.write_text(f"# another version\n{BEFORE}", encoding="utf-8")
    one = without_text("one.pkl", BEFORE, {"load": LOAD}, file)
    slower = {"load": {**LOAD, "return rows": (1, 9 * MS)}}
    other = without_text("other.pkl", BEFORE, slower, file)
    (row,) = compared(one, other)["lines"]
    assert (row["before_source"], row["after_source"]) == (None, None)
    # The user says that it is the text of the side after.
    (row,) = compared(one, other, "--source-root", str(here))["lines"]
    assert (row["before_source"], row["after_source"]) == (
        None,
        "    rows = open(path).readlines()",
    )


def test_text_of_a_line_that_did_not_run_is_not_shown_for_another(here: Path) -> None:
    numbers = {"load": {"return rows": (1, 9 * MS)}}
    one = without_text("one.pkl", BEFORE, numbers, here / "work.py")
    edited = BEFORE.replace("    return rows", "    # sorted\n    return rows")
    save_version("other.lprof", edited, numbers, file=str(here / "work.py"))
    for files, side in (((one, "other.lprof"), 1), (("other.lprof", one), 0)):
        rows = compared(*files)["lines"]
        texts = [(row["before_source"], row["after_source"]) for row in rows]
        known = ("    return rows", None)[:: 1 - 2 * side]
        assert sorted(texts, key=str) == sorted([known, (None, None)], key=str)
        assert "sorted" not in diff(*files).out


def test_a_file_of_the_source_root_that_has_changed_is_not_shown(here: Path) -> None:
    file = here / "work.py"
    file.write_text(f"# another version\n{BEFORE}", encoding="utf-8")
    for name, ns in (("a.lprof", 5), ("b.lprof", 9)):
        stats = version(BEFORE, {"load": {"return rows": (1, ns)}}, file=str(file))
        kept = {name: one._replace(text=None) for name, one in stats.sources.items()}
        hashed = LineStats.from_functions(
            stats.functions,
            processes=stats.processes,
            threads=stats.threads,
            sources=kept,
        )
        save(hashed, name)
    files = ("a.lprof", "b.lprof", "--source-root", str(here))
    (row,) = compared(*files)["lines"]
    assert (row["before_source"], row["after_source"]) == (None, None)
    file.write_text(BEFORE, encoding="utf-8")
    (row,) = compared(*files)["lines"]
    assert row["after_source"] == "    return rows"


def test_a_merged_profile_is_compared(here: Path) -> None:
    files = save_ranks(here)
    assert viewer("merge", *files, "-o", "all.lprof", cwd=here).status == 0
    assert compared("all.lprof", "all.lprof")["lines"] == []
    # Lines ran as often in each of four ranks, or 1, 2, 3 and 4 times.
    rows = compared(files[0], "all.lprof")["lines"]
    assert {row["hits"]["ratio"] for row in rows} == {4.0, 10.0}  # type: ignore[index]


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_hostile_text_reaches_no_terminal(tmp_path: Path, flags: list[str]) -> None:
    file = evil_file(tmp_path, names_of_columns=False)
    save(example_calls.example(), tmp_path / "good.lprof")
    for pair in ((str(file), "good.lprof"), ("good.lprof", str(file))):
        done = viewer("diff", "--limit", "0", *flags, *pair, cwd=tmp_path)
        assert done.status == 0, done.err
        check_no_controls(done.out)
        check_no_controls(done.err)


@pytest.mark.usefixtures("sides")
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["before.lprof"], 2, "there is no profile after the change"),
        ([], 2, "there is no profile before the change"),
        (["--after", "after.lprof"], 2, "there is no profile before the change"),
        (["before.lprof"] * 3, 2, "there are two sides to compare"),
        (["before.lprof", "nowhere.lprof"], 1, "nowhere.lprof does not exist"),
        (["before.lprof", "."], 1, "it is a folder"),
        (["before.lprof", "n*.lprof"], 1, "no file fits 'n*.lprof'"),
        (["before.lprof", "after.lprof,"], 1, "has an empty name"),
        (["before.lprof", "text.lprof"], 1, "is not a profile"),
        (["before.lprof", "after.lprof", "--limit", "-1"], 2, "bad number '-1'"),
        (["before.lprof", "after.lprof", "--min-percent", "x"], 2, "bad percentage"),
        (
            ["before.lprof", "after.lprof", "--source-root", "gone"],
            1,
            "'gone' is no folder",
        ),
    ],
)
def test_wrong_arguments_are_one_line(
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    status: int,
    said: str,
) -> None:
    Path("text.lprof").write_text("no profile", encoding="utf-8")
    assert said in error_line(capsys, status, "diff", *words)


# Real runs.

PROGRAM = """\
def helper(n):
    return n * n


def work(count):
    total = 0
    for n in range(count):
        total += helper(n)
    return total


work(50)
"""

EDITED = """\
def work(count):
    total = 0
    for n in range(count):
        # once more
        total += helper(n + 1)
    return total


def helper(n):
    return n * n


work(70)
"""


def test_runs_of_an_edited_program_match_line_by_line(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", str(here / "live"))
    for side, program in (("old", PROGRAM), ("new", EDITED)):
        folder = here / side
        folder.mkdir()
        write(folder, "prog.py", program)
        out = f"{here}/{side}.lprof"
        assert kernprof_here("-lq", "-o", out, "prog.py", cwd=folder).status == 0
    rows = compared("old.lprof", "new.lprof")["lines"]
    hits = {
        (row["before_line"], row["after_line"]): (
            row["hits"]["before"],  # type: ignore[index]
            row["hits"]["after"],  # type: ignore[index]
        )
        for row in rows
        if row["after"]["function"] in {"work", "helper"}  # type: ignore[index]
    }
    expected = {
        (2, 10): (50, 70),
        (6, 2): (1, 1),
        (7, 3): (51, 71),
        (8, 5): (50, 70),
        (9, 6): (1, 1),
    }
    # A line of one hit may take the same time twice.
    assert {**dict.fromkeys(((6, 2), (9, 6)), (1, 1)), **hits} == expected
