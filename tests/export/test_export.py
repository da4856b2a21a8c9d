"""Exports as CSV, JSON and line_profiler's file; the command that writes exports."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import pickle
import pty
import sys
import textwrap
import weakref
from types import ModuleType
from typing import TYPE_CHECKING

import example_calls
import example_gpu
import pytest
from as_python import run
from example_stats import FILE, everything, example
from example_traces import steps

from lineprof.cli.main import main
from lineprof.errors import LineprofError
from lineprof.export import EXPORTS
from lineprof.export.tables import COLUMNS, data_frame
from lineprof.line_stats import LineStats
from lineprof.model.records import FunctionStats, ThreadLine
from lineprof.storage import load, save

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = ("a.py", 1, "f")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(example(), "train.lprof")


def content(stats: LineStats, name: str) -> bytes:
    return b"".join(EXPORTS[name].content(stats))


def rows(stats: LineStats) -> list[dict[str, str]]:
    """Return the rows of the CSV of `stats`."""
    return list(csv.DictReader(io.StringIO(content(stats, "csv").decode())))


def test_csv_has_a_row_per_line_and_empty_fields_for_unknown_values() -> None:
    stats = example()
    table = rows(stats)
    assert list(table[0]) == [*COLUMNS, "source"]
    lines = [(f, row) for f in stats.functions for row in f.rows]
    assert len(table) == len(lines)
    for found, (function, row) in zip(table, lines):
        assert found["file"] == FILE
        assert found["function"] == function.name
        assert found["function_line"] == f"{function.line}"
        for name, value in row._asdict().items():
            assert found[name] == ("" if value is None else f"{value}")
    assert table[-1]["source"] == "    return n if n < 2 else fib(n - 1) + fib(n - 2)"
    assert "naïve — 損失" in table[5]["source"]


def test_csv_has_gpu_columns_if_there_is_gpu_work() -> None:
    stats = example_gpu.example()
    table = rows(stats)
    names = list(table[0])
    assert names[: len(COLUMNS)] == list(COLUMNS)
    assert names[-1] == "source"
    lines = json.loads(content(stats, "json"))["functions"]
    expected = [
        (one["line"], one.get("gpu_ns"), one.get("kernels"))
        for function in lines
        for one in function["lines"]
    ]
    assert any(gpu for _, gpu, _ in expected)
    assert expected == [
        (
            int(row["line"]),
            int(row["gpu_ns"]) if row["gpu_ns"] else None,
            int(row["kernels"]) if row["kernels"] else None,
        )
        for row in table
    ]
    assert any(name.startswith("memcpy_bytes_") for name in names)


def test_csv_is_a_valid_table_with_any_names_and_source() -> None:
    name = 'a,"b"\n\x1b[2J\udcff.py'
    stats = LineStats({(name, 1, "f\r\n,g"): [(1, 2, 3)]}, 1e-9)
    text = content(stats, "csv")
    assert b"\x1b" not in text
    (row,) = rows(stats)
    assert row["file"] == 'a,"b"\\n\\x1b[2J\\udcff.py'
    assert row["function"] == "f\\r\\n,g"
    assert (row["hits"], row["source"]) == ("2", "")


def test_csv_of_an_empty_profile_has_titles() -> None:
    assert content(LineStats({}, 1e-9), "csv").decode() == (
        f"{','.join([*COLUMNS, 'source'])}\n"
    )


def test_help_lists_all_formats_and_imports_none(tmp_path: Path) -> None:
    program = """
        import sys
        from lineprof.cli.main import main
        assert main(["export", "--help"]) == 0
        names = ("pprof", "perfetto", "flame_graph", "sqlite_db", "tables", "stacks")
        loaded = [name for name in names if f"lineprof.export.{name}" in sys.modules]
        assert loaded == [], loaded
        assert "sqlite3" not in sys.modules
    """
    done = run(["-c", textwrap.dedent(program)], cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    names = (
        *("callgrind", "pprof", "speedscope", "collapsed", "svg", "pstats", "chrome"),
        *("perfetto", "cpuprofile", "csv", "json", "sqlite", "line_profiler"),
    )
    assert tuple(EXPORTS) == names
    assert ",".join(names) in "".join(done.out.split())


def test_each_format_has_a_suffix_of_its_own() -> None:
    assert len({one.suffix for one in EXPORTS.values()}) == len(EXPORTS)


def test_json_is_the_same_as_of_the_view(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "--json", "train.lprof"]) == 0
    assert content(example(), "json").decode() == capfd.readouterr().out


def test_the_file_for_line_profiler_has_hits_and_times(tmp_path: Path) -> None:
    file = tmp_path / "theirs.lprof"
    file.write_bytes(content(example(), "line_profiler"))
    again = LineStats.from_files(file)
    assert again == example()
    assert again.threads == ()


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1 / 3e6, 2.8e-10])
def test_a_profile_of_line_profiler_is_exported_unchanged(
    tmp_path: Path, unit: float
) -> None:
    stats = LineStats({KEY: [(2, 3, 40), (7, 10**12, 2**63 - 1)]}, unit)
    file = tmp_path / "theirs.lprof"
    file.write_bytes(content(stats, "line_profiler"))
    assert everything(LineStats.from_files(file)) == everything(stats)
    assert LineStats.from_files(file).timings == stats.timings


def test_line_profiler_loads_and_shows_the_file(tmp_path: Path) -> None:
    line_profiler = pytest.importorskip("line_profiler")
    file = tmp_path / "theirs.lprof"
    file.write_bytes(content(example(), "line_profiler"))
    stats = line_profiler.load_stats(str(file))
    assert stats.timings == example().timings
    assert stats.unit == 1e-9
    stream = io.StringIO()
    line_profiler.show_text(stats.timings, stats.unit, stream=stream)
    assert FILE in stream.getvalue()


def test_lines_with_time_and_no_hit_are_kept_and_remarked_on(
    capfd: pytest.CaptureFixture[str],
) -> None:
    cells = (
        ThreadLine(2, -1, 0, 500),
        ThreadLine(3, -1, 0, 0),
        ThreadLine(4, -1, 2, 0),
    )
    save(LineStats.from_functions([FunctionStats("a.py", "f", 1, cells)]), "a.lprof")
    assert main(["export", "--format=line_profiler", "a.lprof"]) == 0
    assert load("a.line_profiler.lprof").timings == {KEY: [(2, 1, 500), (4, 2, 0)]}
    assert "1 lines have time and no hit of their own" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("csv", "train.csv"),
        ("json", "train.json"),
        ("line_profiler", "train.line_profiler.lprof"),
    ],
)
def test_the_file_is_written_in_the_folder_of_the_profile(
    name: str, file: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "-f", name, "train.lprof"]) == 0
    assert (tmp_path / file).read_bytes() == content(example(), name)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines()[0] == f"lineprof: wrote {file}"
    assert {path.name for path in tmp_path.iterdir()} == {"train.lprof", file}


@pytest.mark.parametrize("name", list(EXPORTS))
def test_standard_output_gets_the_same_content(
    name: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["export", "--format", name, "train.lprof", "-o", "-"]) == 0
    out, err = capfdbinary.readouterr()
    assert out == content(example(), name)
    said = ["3 events were lost", *EXPORTS[name].remarks(example())]
    assert err.decode().splitlines() == [f"lineprof: {line}" for line in said]


@pytest.mark.parametrize(
    "make", [example, example_calls.example, example_gpu.example, steps]
)
@pytest.mark.parametrize("name", list(EXPORTS))
def test_an_exported_profile_is_freed_without_the_garbage_collector(
    name: str, make: Callable[[], LineStats]
) -> None:
    content(make(), name)  # what is kept for all profiles is there by now
    stats = make()
    freed = weakref.ref(stats)
    gc.disable()
    try:
        content(stats, name)
        del stats
        assert freed() is None
    finally:
        gc.enable()


def test_a_pipe_can_be_written_by_its_name() -> None:
    reader, writer = os.pipe()
    words = ["export", "-fcsv", "train.lprof", "-o", f"/dev/fd/{writer}"]
    assert main(words) == 0
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == content(example(), "csv")


def test_several_profiles_are_merged(tmp_path: Path) -> None:
    LineStats({KEY: [(2, 1, 5)]}, 1e-6).to_file("a.lprof")
    (tmp_path / "b.lprof").write_bytes(
        content(LineStats({KEY: [(2, 1, 7)]}, 1e-6), "line_profiler")
    )
    assert main(["export", "-fcsv", "a.lprof", "b.lprof", "-o", "sum.csv"]) == 0
    assert "a.py,f,1,2,2,12000,0,,,," in (tmp_path / "sum.csv").read_text()


def test_a_profile_is_not_replaced_by_its_export(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = load("train.lprof")
    assert main(["export", "-fcsv", "train.lprof", "-o", "./train.lprof"]) == 1
    assert "is the profile; name another file" in capfd.readouterr().err
    assert everything(load("train.lprof")) == everything(before)


def test_a_write_error_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.csv").write_text("before")
    target = str(tmp_path / "no" / "train.csv")
    assert main(["export", "-fcsv", "train.lprof", "-o", target]) == 1
    assert capfd.readouterr().err == (
        f"lineprof: cannot write the export to {target!r}: No such file or directory;"
        " choose another file\n"
    )
    assert main(["export", "-fcsv", "gone.lprof"]) == 1
    assert (tmp_path / "train.csv").read_text() == "before"


def test_the_format_has_to_be_known(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "train.lprof"]) == 2
    assert main(["export", "-f", "excel", "train.lprof"]) == 2
    assert "choose from" in capfd.readouterr().err


def test_a_terminal_gets_no_binary_format(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        words = ["export", "-f", "line_profiler", "train.lprof", "-o-"]
        assert main(words) == 1
    os.close(leader)
    assert "is no text for a terminal; name one with -o" in capfd.readouterr().err


def test_pandas_gets_the_rows_of_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stub stands for pandas, which is big and not always installed."""

    class DataFrame:
        def __init__(self, data: list[dict[str, object]], columns: list[str]) -> None:
            self.data, self.columns = data, columns

    module = ModuleType("pandas")
    module.DataFrame = DataFrame  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", module)
    frame = example().to_pandas()
    assert frame.columns == [*COLUMNS, "source"]
    texts = [
        {name: "" if value is None else f"{value}" for name, value in row.items()}
        for row in frame.data
    ]
    assert texts == rows(example())
    assert LineStats({}, 1e-9).to_pandas().columns == [*COLUMNS, "source"]


def test_without_pandas_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(LineprofError, match="pip install pandas"):
        example().to_pandas()


def test_pandas_accepts_the_rows() -> None:
    pytest.importorskip("pandas")
    frame = data_frame(example())
    assert list(frame.columns) == [*COLUMNS, "source"]
    assert frame["hits"].sum() == sum(
        row.hits for function in example().functions for row in function.rows
    )


def test_exporting_needs_no_class_of_line_profilers() -> None:
    data = content(example(), "line_profiler")
    assert data.startswith(b"\x80\x02cline_profiler._line_profiler\nLineStats\n")
    with pytest.raises((ImportError, AttributeError)):
        pickle.loads(data.replace(b"line_profiler", b"no_such_package"))  # noqa: S301
