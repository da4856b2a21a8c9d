"""The text view and the JSON view, and properties of all views."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from example_stats import FILE, example
from view_text import text_of

from lineprof.console.terminal import Terminal, terminal_of, write_lines
from lineprof.flags import unit
from lineprof.line_stats import LineStats
from lineprof.model.records import FunctionStats, SourceFile, ThreadLine
from lineprof.model.units import AUTO_UNIT, format_seconds
from lineprof.report import VIEWS
from lineprof.report.notes import notes
from lineprof.report.options import parse_columns
from lineprof.source import Sources

GOLDEN = Path(__file__).parents[1] / "golden"


def one_line(text: str, **cell: int) -> LineStats:
    """Return a profile of one function, whose source is the line `text`."""
    measured = {"line": 1, "thread": -1, "hits": 1, "time_ns": 1000, **cell}
    return LineStats.from_functions(
        [FunctionStats("a.py", "f", 1, (ThreadLine(**measured),))],
        sources={"a.py": SourceFile("a.py", text, "")},
    )


def row(stats: LineStats, **options: object) -> str:
    """Return the last row of the table."""
    return text_of(stats, **options).rstrip("\n").split("\n")[-1]


@pytest.mark.parametrize(
    ("name", "view", "options"),
    [
        ("table.txt", "text", {"unit": 1e-6}),
        (
            "table_all_options.txt",
            "text",
            {
                "unit": 0.0,
                "skip_zero": True,
                "sort": True,
                "summarize": True,
                "raw": True,
                "columns": ("await",),
            },
        ),
        ("summary.txt", "text", {"details": False, "summarize": True}),
        ("profile.json", "json", {}),
    ],
)
def test_views_are_the_same_as_the_golden_files(
    name: str, view: str, options: dict[str, object]
) -> None:
    golden = (GOLDEN / name).read_text(encoding="utf-8")
    assert text_of(example(), view, **options) == golden


def test_a_view_has_a_name_and_help() -> None:
    for name, view in VIEWS.items():
        assert view.name == name
        assert view.help


def test_each_field_of_the_options_has_one_flag() -> None:
    flags = {
        (option.attribute, option.names)
        for view in VIEWS.values()
        for option in view.options
    }
    assert len({field for field, _ in flags}) == len(flags)


def test_recursion_counts_wall_time_once_and_shares_add_up() -> None:
    table = text_of(example(), unit=1e-9)
    fib = table[table.index("Function: fib") - 100 :]
    assert "Total time: 0.9 s" in fib
    assert "100.0" in fib


def test_a_line_with_time_but_no_hit_has_no_time_per_hit() -> None:
    assert row(one_line("x", hits=0)) == (
        "     1         0       1000.0             100.0  x"
    )


def test_raw_shows_measured_times() -> None:
    stats = one_line("x", time_ns=1000, raw_ns=1500)
    assert "1000.0" in row(stats)
    assert "1500.0" in row(stats, raw=True)
    assert '"time_ns": 1500' in text_of(stats, "json", raw=True)


def test_raw_of_a_profile_without_raw_times_shows_times() -> None:
    assert "1000.0" in row(one_line("x"), raw=True)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s "),
        (1e-9, "1.000 ns"),
        (1.26e-11, "0.013 ns"),
        (350e-9, "350.0 ns"),
        (999.94e-9, "999.9 ns"),
        (999.96e-9, "1.000 us"),
        (12.345e-6, "12.35 us"),
        (0.0999999, "100.0 ms"),
        (0.99995, "1.000 s "),
        (9.9996, "10.00 s "),
        (1234.5678, "1235 s "),
        (1e7, "10000000 s "),
        (-0.002, "-2.000 ms"),
    ],
)
def test_a_time_has_four_digits_and_its_unit(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_with_the_unit_auto_each_time_has_its_own_unit() -> None:
    """Seconds and nanoseconds in one table are both readable."""
    cells = (
        ThreadLine(4, -1, 3, 1_234_567_891),
        ThreadLine(5, -1, 1000, 350_000),
        ThreadLine(6, -1, 1, 0),
    )
    stats = LineStats.from_functions([FunctionStats("/no.py", "f", 4, cells)])
    table = text_of(stats, unit=AUTO_UNIT, summarize=True).split("\n")
    assert table[0] == "Timer unit: beside each time"
    assert table[2] == "Total time: 1.235 s"
    assert [row.rstrip() for row in table[-6:-2]] == [
        "     4         3     1.235 s  411.5 ms    100.0",
        "     5      1000     350.0 us 350.0 ns      0.0",
        "     6         1         0 s      0 s       0.0",
        "",
    ]
    assert table[-2] == "   1.235 s  - /no.py:4 - f"


def test_min_and_max_are_columns() -> None:
    cells = (ThreadLine(4, -1, 3, 90, 0, 0, 10, 50), ThreadLine(5, -1, 1, 7))
    stats = LineStats.from_functions([FunctionStats("/no.py", "f", 4, cells)])
    rows = text_of(stats, columns=("min", "max")).split("\n")[-4:-2]
    assert [row.rstrip() for row in rows] == [
        "     4         3         90.0     30.0     92.8      10.0      50.0",
        "     5         1          7.0      7.0      7.2",
    ]
    first, second = json.loads(text_of(stats, "json"))["functions"][0]["lines"]
    assert (first["min_ns"], first["max_ns"]) == (10, 50)
    assert "min_ns" not in second


def test_columns_are_as_wide_as_configured() -> None:
    widths = {"line": 8, "hits": 12, "time": 3, "perhit": 12, "percent": 9}
    stats = one_line("x", hits=12345678901)
    assert row(stats) == "     1 1.23457e+10       1000.0      0.0    100.0  x"
    assert row(stats, column_widths=widths) == (
        "       1  12345678901       1000.0          0.0     100.0  x"
    )


def test_source_in_the_profile_is_shown_not_the_file_on_disk(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.py"
    file.write_text("def new(): pass\n")
    stats = LineStats.from_functions(
        [FunctionStats(str(file), "old", 1, (ThreadLine(1, -1, 1, 1),))],
        sources={str(file): SourceFile(str(file), "def old(): pass\n", "")},
    )
    assert "def old()" in row(stats)
    assert list(notes(stats, Sources(stats.sources))) == [
        (
            f"{file} has changed since it was profiled;"
            " the text shown is that of the profile"
        )
    ]


def test_without_source_in_the_profile_the_file_is_shown_and_a_change_is_reported(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.py"
    file.write_text("def new(): pass\n")
    stats = LineStats.from_functions(
        [FunctionStats(str(file), "old", 1, (ThreadLine(1, -1, 1, 1),))],
        sources={str(file): SourceFile(str(file), None, "0" * 64)},
    )
    assert "def new()" in row(stats)
    assert "may not be those measured" in next(notes(stats, Sources(stats.sources)))


def test_lines_outside_of_the_functions_source_are_reported() -> None:
    stats = one_line("def f():\n    pass\n\nx = 1\n", line=4)
    (note,) = notes(stats, Sources(stats.sources))
    assert "1 lines outside of its source, the first is 4" in note


def test_huge_line_numbers_without_source_make_no_endless_table() -> None:
    stats = LineStats({("/no/file", 1, "f"): [(2**62, 1, 1)]}, 1e-9)
    assert len(text_of(stats).split("\n")) < 20


def test_control_characters_are_escaped() -> None:
    stats = LineStats.from_functions(
        [FunctionStats("a\x1b[2J.py", "f\n\x9b", 1, (ThreadLine(1, -1, 1, 1),))],
        sources={
            "a\x1b[2J.py": SourceFile("", 'x = "\x1b]0;t\x07\x00\x7f\u202e"\t\f', "")
        },
    )
    for terminal in (Terminal(), Terminal(is_terminal=True, width=200)):
        text = text_of(stats, terminal=terminal, summarize=True)
        assert not any(bad in text for bad in "\x1b\x07\x00\x7f\x9b\r")
        assert "File: a\\x1b[2J.py" in text
        assert "Function: f\\n\\x9b at line 1" in text
        assert 'x = "\\x1b]0;t\\x07\\x00\\x7f' in text
    assert row(stats).endswith('\\u202e"\t\\x0c')
    assert row(stats, terminal=Terminal(is_terminal=True)).endswith(
        '\\u202e"        \\x0c'
    )


@pytest.mark.parametrize(
    ("text", "room", "seen"),
    [
        ("x = 123456789", 7, "x = 12…"),
        ("x = 123456789", 0, ""),
        ("x = 123456789", -40, ""),
        ("x = 1", 5, "x = 1"),
        ('"損失"', 4, '"損…'),
        ('"損失"', 3, '"…'),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("\tx", 6, "     …"),
        ("\tx", 9, "        x"),
    ],
)
def test_source_is_clipped_to_the_terminal(text: str, room: int, seen: str) -> None:
    start = "     1         1       1000.0   1000.0    100.0  "
    terminal = Terminal(is_terminal=True, width=len(start) + room)
    assert row(one_line(text), terminal=terminal) == start + seen


def test_source_after_extra_columns_is_not_clipped() -> None:
    columns = ("min", "max", "await")
    narrow, whole = (
        text_of(
            example(), terminal=Terminal(is_terminal=True, width=width), columns=columns
        )
        for width in (90, None)
    )
    assert narrow == whole


def test_numbers_of_hot_lines_and_titles_are_coloured_only_in_colour() -> None:
    text = text_of(example(), terminal=Terminal(is_terminal=True, colour=True))
    looks = [line.partition(" ")[0] for line in text.split("\n") if "\x1b" in line]
    titles = 2 * text.count("Total time:")
    assert looks.count("\x1b[1mLine") + looks.count("\x1b[1m" + "=" * 62) + 0 <= titles
    hot = [line for line in text.split("\n") if re.match(r"\x1b\[(1;3[13]|32)m ", line)]
    assert all(re.search(r"\d  \x1b\[0m", line) for line in hot)
    assert len(hot) == 5
    assert "\x1b" not in text_of(example(), terminal=Terminal(is_terminal=True))


class TerminalStream(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_output_to_a_pipe_is_plain_and_a_terminal_obeys_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal_of(io.StringIO()) == Terminal()
    assert terminal_of(TerminalStream()) == Terminal(
        is_terminal=True, width=70, colour=True
    )
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal_of(TerminalStream()) == Terminal(is_terminal=True, width=70)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "wide")
    assert terminal_of(TerminalStream()) == Terminal(is_terminal=True)


def test_any_object_that_can_write_is_a_stream() -> None:
    class Writer:
        text = ""

        def write(self, text: str) -> None:
            self.text += text

    writer = Writer()
    example().print(writer, 1e-6)  # type: ignore[arg-type]
    assert writer.text == (GOLDEN / "table.txt").read_text(encoding="utf-8")


def test_characters_that_an_encoding_lacks_are_escaped() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    write_lines(["é — \udcff"], stream)
    stream.flush()
    assert stream.buffer.getvalue() == b"\\xe9 \\u2014 \\udcff\n"  # type: ignore[attr-defined]


def test_units_and_columns_are_parsed_or_rejected() -> None:
    assert unit("1e-3") == 1e-3
    assert unit("auto") == 0.0
    assert parse_columns("await,await") == ("await", "await")
    for bad in ("0", "-1", "nan", "inf", "", "ms", "1e999"):
        with pytest.raises(Exception, match=r"bad unit '.*'; give seconds above 0"):
            unit(bad)
    with pytest.raises(Exception, match="there is no column 'x'; known are: await"):
        parse_columns("await,x")


def test_the_first_note_is_why_a_profile_is_empty() -> None:
    stats = replace_functions(example(), [])
    assert [note[:40] for note in notes(stats, Sources({}))] == [
        stats.why_empty[:40],
        "3 events were lost",
    ]


def replace_functions(stats: LineStats, functions: list[FunctionStats]) -> LineStats:
    return LineStats.from_functions(
        functions,
        processes=stats.processes,
        threads=stats.threads,
        warnings=stats.warnings,
    )


def test_a_profile_with_times_has_no_note_about_being_empty() -> None:
    stats = replace_functions(example(), [example().functions[0]._replace(calls=0)])
    assert list(notes(stats, Sources({FILE: SourceFile(FILE, "", "")}))) != []
    assert stats.why_empty == ""
