"""The first screen: `lineprof view` of a program that was profiled whole."""

from __future__ import annotations

import io
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from as_python import kernprof, viewer
from example_calls import example as calls_example
from example_whole import MS, NAMES, example

from lineprof.console.terminal import Terminal
from lineprof.model.records import RUNNABLE, SLEEP, Wait
from lineprof.report import VIEWS, Options, overview
from lineprof.report.overview import MAX_LINES
from lineprof.source import Sources
from lineprof.storage import save

if TYPE_CHECKING:
    from lineprof.line_stats import LineStats

GOLDEN = Path(__file__).parents[1] / "golden"

SHOP = """\
class Shop:
    name = "shop"

    def sell(self):
        self.items = [1]
        self.items.append(2)
        return len(self.items)

    def close(self):
        self.items = []
        self.name = ""


def never(
    argument,
):
    for one in argument:
        if one:
            return one
    return None


def short(): return 1


Shop().sell()
"""


def rows_of(text: str, name: str) -> list[str]:
    """Return the rows of the table of one function."""
    table = text.partition(f"Function: {name} at line")[2].partition("\n\n")[2]
    return table.partition("\n\n")[0].splitlines()[2:]


def view(folder: Path, *flags: str, stats: LineStats | None = None) -> str:
    """Return what `lineprof view` prints of `stats`, or of the file that is there."""
    if stats is not None:
        save(stats, folder / "plan.lprof")
    done = viewer("view", *flags, "plan.lprof", cwd=folder)
    assert done.status == 0, done.err
    return done.out


def tables(stats: LineStats) -> str:
    """Return line_profiler's tables of all functions."""
    stream = io.StringIO()
    stats.print(stream, output_unit=1e-6)
    return stream.getvalue()


def test_the_first_screen_of_a_whole_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lineprof.report.overview.python_command", lambda: "python")
    shown = view(tmp_path, stats=example())
    assert shown == (GOLDEN / "overview.txt").read_text(encoding="utf-8")
    assert shown.count("\n") <= MAX_LINES


def test_what_somebody_chose_and_short_tables_are_printed_as_tables(
    tmp_path: Path,
) -> None:
    named, short = example(is_whole=False), example(functions=1)
    assert view(tmp_path, stats=named) == tables(named)
    shown = view(tmp_path, "--all-functions", stats=example())
    assert shown == tables(example())
    assert "Total time: 0.03 s" in view(tmp_path, stats=short)
    assert shown.count("Total time") == len(NAMES) + 3


def test_a_file_of_an_earlier_version_has_tables(tmp_path: Path) -> None:
    save(example(), tmp_path / "plan.lprof")
    with closing(sqlite3.connect(tmp_path / "plan.lprof")) as db:
        db.execute("ALTER TABLE processes DROP COLUMN is_whole")
        db.execute("ALTER TABLE processes DROP COLUMN cpu_ns")
    done = viewer("view", "plan.lprof", cwd=tmp_path)
    assert (done.status, done.out) == (0, tables(example()))


def test_the_first_screen_of_a_run_and_the_flags_that_it_names(tmp_path: Path) -> None:
    # The work is long beside what other processes can take from the module's own lines.
    names = [f"f{number}" for number in range(40)]
    text = "".join(f"def {name}():\n    return sum(range(400_000))\n" for name in names)
    text += "def main():\n"
    text += "".join(f"    {name}()\n" for name in names)
    (tmp_path / "many.py").write_text(f"{text}main()\n", encoding="utf-8")
    ran = kernprof("-lv", "many.py", cwd=tmp_path)
    assert ran.status == 0, ran.err
    shown = viewer("view", "many.lprof", cwd=tmp_path)
    assert ran.out.partition("\n")[2] == shown.out
    assert shown.err == ""
    lines = shown.out.splitlines()
    assert 35 < len(lines) <= MAX_LINES
    title = r"many\.py ran [\d.]+ m?s: 122 lines of 42 functions"
    assert re.fullmatch(title, lines[0]), lines[0]
    assert "main (many.py:81)" in shown.out
    command = next(line for line in lines if line.startswith("To see more, "))
    flags = [line.split("  ")[1] for line in lines[lines.index(command) + 1 :]]
    assert flags[:2] == ["main", "--drill main"]
    assert command.endswith(" view many.lprof")
    for flag in flags:
        done = viewer("view", *shlex.split(flag), "many.lprof", cwd=tmp_path)
        assert done.status == 0, (flag, done.err)


def test_the_functions_with_the_most_time_are_chosen_and_keep_their_order(
    tmp_path: Path,
) -> None:
    shown = view(tmp_path, "--limit", "3", stats=example(is_whole=False))
    whole = tables(example()).split("Total time: ")
    chosen = [part for part in whole if re.search(r": (run|load|report) at", part)]
    assert len(chosen) == 3
    assert (
        shown == "Total time: ".join([whole[0], *chosen]) + "27 more: --all-functions\n"
    )
    assert view(tmp_path, "--min-percent", "8.5") == shown
    assert view(tmp_path, "--limit", "3", "--all-functions") == tables(example())


def test_every_view_has_limits(tmp_path: Path) -> None:
    save(example(), tmp_path / "plan.lprof")
    for flags, limit, count, end in (
        ("--hot 5", "--limit 3", 6, ""),
        ("--hot 9", "--min-percent 7", 6, ""),
        ("--functions", "--limit 2", 7, "28 more are not shown"),
        ("--functions", "--min-percent 25", 9, "26 more are not shown"),
        ("--tree", "--limit 4", 7, "26 more are not shown"),
        ("--drill run --depth 2", "--limit 2", 60, "26 more are not shown"),
        ("--callers step_0", "--limit 1", 5, ""),
        ("--json", "--limit 2", 47, ""),
    ):
        shown = view(tmp_path, *flags.split(), *limit.split()).splitlines()
        assert len(shown) == count, (flags, shown)
        assert not end or shown[-1] == end


def test_callers_beyond_the_limit_are_summed_up(tmp_path: Path) -> None:
    stats = calls_example()
    save(stats, tmp_path / "plan.lprof")
    rows = view(tmp_path, "--callers", "Model.forward", "--limit", "1").splitlines()
    assert [row.split()[-1] for row in rows[3:]] == [
        "model.forward(step)",
        "more",
        "together",
    ]
    assert sum(int(row.split()[0]) for row in rows[3:5]) == int(rows[5].split()[0])


def test_bodies_without_numbers_are_one_row_of_a_table_of_a_whole_program(
    tmp_path: Path,
) -> None:
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    assert kernprof("-lq", "shop.py", cwd=tmp_path).status == 0
    shown = viewer("view", "shop.lprof", cwd=tmp_path).out
    assert [row[:6] + row[47:] for row in rows_of(shown, "<module>")] == [
        "     1  class Shop:",
        "            ...  10 lines without numbers",
        "    12  ",
        "    13  ",
        "    14  def never(",
        "    15      argument,",
        "    16  ):",
        "            ...  4 lines without numbers",
        "    21  ",
        "    22  ",
        "    23  def short(): return 1",
        "    24  ",
        "    25  ",
        "    26  Shop().sell()",
    ]
    for flags in (("--all-functions",), ("--columns", "min")):
        done = viewer("view", *flags, "shop.lprof", cwd=tmp_path)
        left_out = "without numbers" in done.out
        assert left_out == (flags[0] != "--all-functions")
    drilled = viewer("view", "--drill", "Shop", "shop.lprof", cwd=tmp_path).out
    assert "...  3 lines without numbers" in drilled
    assert "return len(self.items)" not in drilled


def test_bodies_that_are_no_python_are_shown(tmp_path: Path) -> None:
    stats = example(functions=3)
    broken = stats.sources["/project/plan.py"]._replace(text="def (:\n" * 50)
    stats.sources = {"/project/plan.py": broken}
    assert "without numbers" not in view(tmp_path, "-z", stats=stats)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("view_name", ["overview", "hot", "functions", "tree"])
def test_rows_fit_the_terminal_and_numbers_are_whole(
    width: int, view_name: str
) -> None:
    long = "name_of_a_function_that_says_all_that_there_is_to_say"
    stats = example()
    stats.functions = [
        one._replace(name=one.name.replace("step", long)) for one in stats.functions
    ]
    nodes = [
        node._replace(
            function=(*node.function[:2], node.function[2].replace("step", long))
        )
        for node in stats.calls.nodes
    ]
    stats.calls = stats.calls._replace(nodes=tuple(nodes))
    terminal = Terminal(is_terminal=True, width=width)
    render = overview.render if view_name == "overview" else VIEWS[view_name].render
    narrow, wide = (
        list(render(stats, Sources(stats.sources), Options(terminal=one, file="f")))
        for one in (terminal, Terminal(is_terminal=True, width=1000))
    )
    rows = [line for line in narrow if not line.startswith("To see more")]
    assert max(map(len, rows)) <= width
    if width == 80 and view_name != "hot":  # which leaves the names out
        assert any(re.search(r"\w…\w", line) for line in rows)
    numbers = re.compile(r" *[\d.]+ +[\d.]+(?= %)")
    assert re.findall(numbers, "\n".join(narrow)) == re.findall(
        numbers, "\n".join(wide)
    )


# The bar of the run.


def bar(stats: LineStats, **terminal: Any) -> list[str]:
    """Return the first lines of the first screen."""
    options = Options(file="f", terminal=Terminal(**terminal))
    return list(overview.render(stats, Sources(stats.sources), options))[1:4]


def test_the_bar_has_the_parts_of_the_run_to_scale() -> None:
    drawn, legend, _ = bar(example(), is_terminal=True, width=80)
    assert (drawn.count("█"), drawn.count("░"), drawn.count("·")) == (73, 3, 4)
    assert legend == "█ computing 101.0 ms 96.2 %   ░ code not profiled 4.000 ms 3.8 %"
    assert bar(example(), is_terminal=True, width=80, boxes=False)[0] == (
        73 * "#" + 3 * "-" + 4 * "."
    )


def test_colours_are_those_of_a_terminal_with_colours_alone() -> None:
    plain, coloured = (
        [
            *overview.render(
                example(),
                Sources(example().sources),
                Options(
                    file="f",
                    terminal=Terminal(is_terminal=True, width=100, colour=colour),
                ),
            )
        ]
        for colour in (False, True)
    )
    assert "\x1b" not in "".join(plain)
    assert [re.sub(r"\x1b\[[\d;]*m", "", line) for line in coloured] == plain
    hottest = next(line for line in coloured if "plan.py:18" in line)
    assert hottest.startswith(
        "\x1b[1;33m  22.500  21.4 %  \x1b[0m\x1b[2mplan.py:18\x1b[0m"
    )
    assert coloured[0].startswith("\x1b[1mplan.py ran")


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("width", [1, 5, 12, 20, 24, 31, 40, 64])
def test_a_terminal_may_be_narrow(width: int, *, colour: bool) -> None:
    terminal = Terminal(is_terminal=True, width=width, colour=colour)
    stats = example()
    options = Options(file="f", terminal=terminal)
    lines = [*overview.render(stats, Sources(stats.sources), options)]
    assert len(lines) > 30


def test_several_processes_and_programs_are_named() -> None:
    stats = example()
    [process] = stats.processes
    stats.processes = (process, process._replace(parent_pid=process.pid))
    title, more, *_ = overview.render(stats, Sources(stats.sources), Options(file="f"))
    assert title == (
        "plan.py ran 105.0 ms: 61 lines of 30 functions (100 % is 210.0 ms, the time of"
        " all threads of 2"
    )
    assert more == "processes)"
    stats.processes = stats.processes[1:]  # a child alone
    title, *_ = overview.render(stats, Sources(stats.sources), Options(file="f"))
    assert title == "plan.py ran 105.0 ms: 61 lines of 30 functions"
    stats.processes = (process, process._replace(argv=("other.py",)))
    title = next(
        iter(overview.render(stats, Sources(stats.sources), Options(file="f")))
    )
    assert title.startswith("2 programs ran 105.0 ms: 61 lines of 30 functions (100 %")
    later = process._replace(start_unix_ns=process.start_unix_ns + 60 * MS)
    stats.processes = (process, later)
    title, *_ = overview.render(stats, Sources(stats.sources), Options(file="f"))
    assert title.startswith("plan.py ran 165.0 ms: 61 lines")
    later = process._replace(start_unix_ns=process.start_unix_ns + 600 * MS)
    stats.processes = (later, process)
    title, *_ = overview.render(stats, Sources(stats.sources), Options(file="f"))
    assert title == "plan.py ran 210.0 ms: 61 lines of 30 functions"


@pytest.mark.parametrize(
    ("cause", "ms", "shown"),
    [
        (SLEEP, 3, "sleep 3.000 ms"),
        (SLEEP, 2, ""),  # of 22.5 ms
        (RUNNABLE, 6, "a processor 6.000 ms"),
        (RUNNABLE, 5, ""),
    ],
)
def test_a_line_has_its_wait_if_that_is_a_part_of_its_time(
    cause: str, ms: int, shown: str
) -> None:
    stats = example()
    key = next(one.key for one in stats.functions if one.name == "load")
    stats.waits = (Wait(function=key, line=18, thread=0, cause=cause, ns=ms * MS),)
    lines = overview.render(stats, Sources(stats.sources), Options(file="f"))
    row = next(line for line in lines if "plan.py:18" in line)
    assert row.endswith(shown or " 4")
