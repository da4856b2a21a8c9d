"""Damaged and foreign files: loading them is an error of one line."""

from __future__ import annotations

import os
import pickle
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from damaged_files import changed, check_any_byte, load_error, with_any_values
from example_stats import everything, example

from lineprof.errors import LineprofError
from lineprof.line_stats import LineStats
from lineprof.storage import load, save
from lineprof.storage.schema import TABLES

if TYPE_CHECKING:
    from pathlib import Path


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    assert load_error(tmp_path / "a.lprof") == (
        f"{tmp_path}/a.lprof does not exist;"
        " check the name; kernprof -l script.py writes script.lprof"
    )
    assert "a\\x1b\\nb does not exist" in load_error(tmp_path / "a\x1b\nb")
    assert "null" in load_error("a\0b")


def test_a_folder_or_device_is_an_error(tmp_path: Path) -> None:
    assert "it is a folder" in load_error(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    assert "it is not a regular file" in load_error(tmp_path / "fifo")
    assert "it is not a regular file" in load_error("/dev/zero")


def test_errors_can_be_caught_as_errors_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        load(tmp_path / "a.lprof")
    assert missing.value.filename == f"{tmp_path}/a.lprof"
    assert "does not exist" in str(missing.value)
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        save(example(), tmp_path / "none" / "a.lprof")
    with pytest.raises(IsADirectoryError):
        save(example(), tmp_path)
    again = pickle.loads(pickle.dumps(missing.value))  # noqa: S301
    assert (type(again), str(again)) == (LineprofError, str(missing.value))


def test_an_unreadable_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)
    file.chmod(0)
    if os.geteuid() == 0:  # root can read it

        def denied(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("builtins.open", denied)
    assert "Permission denied" in load_error(file)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty; record it again"),
        (b"hello", "is not a profile; give a file that kernprof -l wrote"),
        (b"\x80\x04hello", "is not a profile"),
        (os.urandom(8192), "is not a profile"),
        (b"SQLite format 3\0", "is cut off; record it again"),
        (b"SQLite format 3\0" + bytes(99), "is a database of another program"),
    ],
)
def test_a_file_that_is_no_profile_is_an_error(
    tmp_path: Path, data: bytes, message: str
) -> None:
    file = tmp_path / "a.lprof"
    file.write_bytes(data)
    assert f"{file} {message}" in load_error(file)


def test_the_error_for_a_profile_of_cprofile_names_pstats(tmp_path: Path) -> None:
    file = tmp_path / "a.prof"
    file.write_bytes(b"{(z\1a")
    assert load_error(file).endswith(f"or try: python -m pstats {file}")


def test_a_pickle_is_never_unpickled(tmp_path: Path) -> None:
    class Stats:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "line_profiler was executed"),)

    file = tmp_path / "a.lprof"
    file.write_bytes(pickle.dumps(Stats()))
    assert "it asks for posix.mkdir, which no profile needs" in load_error(file)
    assert [path.name for path in tmp_path.iterdir()] == ["a.lprof"]


def test_a_database_of_another_program_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE cells (x)")
        db.commit()
    assert "is a database of another program" in load_error(file)


def test_a_file_of_a_newer_lineprof_is_an_error(tmp_path: Path) -> None:
    file = changed(tmp_path, example(), "PRAGMA user_version = 3")
    assert "was written by a newer lineprof" in load_error(file)
    assert "upgrade lineprof" in load_error(file)


@pytest.mark.parametrize("table", [table.name for table in TABLES])
def test_a_file_without_one_of_the_tables_is_damaged(
    tmp_path: Path, table: str
) -> None:
    file = changed(tmp_path, example(), f"DROP TABLE {table}")
    assert f"is damaged (it has no table {table}); record it again" in load_error(file)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE cells SET hits = 'many'",
        "UPDATE cells SET hits = 1.5",
        "UPDATE cells SET time_ns = x'00'",
        "UPDATE cells SET function_id = 99",
        "UPDATE cells SET thread_id = -1",
        "UPDATE cells SET thread_id = 'main'",
        "UPDATE threads SET process_id = 99",
        "UPDATE threads SET name = 5",
        "UPDATE threads SET name = x'ff'",
        "UPDATE functions SET file_id = 99",
        "UPDATE functions SET file_id = id + 7",
        "UPDATE functions SET recursive_ns = 'x'",
        "UPDATE functions SET position = 'x'",
        "UPDATE files SET path = 5",
        "UPDATE files SET text = 0.5",
        "UPDATE processes SET argv = 'x'",
        "UPDATE processes SET argv = '{}'",
        "UPDATE processes SET argv = '[1]'",
        "UPDATE processes SET argv = 5",
        "UPDATE processes SET rank = -1",
        "UPDATE processes SET ranks = -4",
        "UPDATE processes SET pid = -1",
        "UPDATE processes SET parent_pid = -1",
        "UPDATE processes SET wall_ns = -1",
        "UPDATE meta SET value = 'x'",
        "UPDATE meta SET value = '0'",
        "UPDATE meta SET value = 'nan'",
        "UPDATE meta SET value = '1e999'",
        "UPDATE meta SET value = 1",
        "UPDATE warnings SET text = 1",
        "ALTER TABLE cells RENAME COLUMN hits TO visits",
    ],
)
def test_values_of_a_wrong_type_are_damage(tmp_path: Path, statement: str) -> None:
    file = with_any_values(tmp_path, example(), statement, TABLES)
    assert " is damaged (" in load_error(file)


def test_deeply_nested_arguments_are_damage(tmp_path: Path) -> None:
    nested = "[" * 100_000
    file = changed(tmp_path, example(), f"UPDATE processes SET argv = '{nested}'")  # noqa: S608
    assert " is damaged (" in load_error(file)


ENDLESS = (
    "WITH RECURSIVE n(text) AS (SELECT 'w' UNION ALL SELECT text || 'w' FROM n)"
    " SELECT text FROM n"
)


@pytest.mark.parametrize(
    "statements",
    [
        [
            "DROP TABLE warnings",
            f"CREATE VIEW warnings AS {ENDLESS}",
        ],
        [
            "DROP TABLE warnings",
            "CREATE TABLE warnings (a TEXT, text TEXT AS (hex(zeroblob(9))))",
            "INSERT INTO warnings (a) VALUES ('x')",
        ],
        [
            "DROP TABLE cells",
            "CREATE VIRTUAL TABLE cells USING fts4(function_id, line)",
        ],
    ],
    ids=["view", "computed column", "virtual table"],
)
def test_views_and_virtual_tables_are_damage(
    tmp_path: Path, statements: list[str]
) -> None:
    try:
        file = changed(tmp_path, example(), *statements)
    except sqlite3.OperationalError as error:
        pytest.skip(f"this SQLite cannot make one: {error}")
    assert " is damaged (" in load_error(file)


def test_checks_and_triggers_of_a_file_are_not_run(tmp_path: Path) -> None:
    slow = "length(hex(zeroblob(100000000)))"
    file = changed(
        tmp_path,
        example(),
        "DROP TABLE warnings",
        f"CREATE TABLE warnings (text TEXT CHECK (text = 'a' OR {slow} > 1))",
        "INSERT INTO warnings VALUES ('a')",
        "PRAGMA ignore_check_constraints = ON",
        "UPDATE warnings SET text = 'b'",
        "CREATE TRIGGER t AFTER INSERT ON cells BEGIN DELETE FROM cells; END",
    )
    assert load(file).warnings == ("b",)


def test_text_that_is_not_utf8_is_kept(tmp_path: Path) -> None:
    file = changed(
        tmp_path, example(), "UPDATE warnings SET text = CAST(x'61ff' AS TEXT)"
    )
    assert load(file).warnings == ("a\udcff",)


def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)
    data = file.read_bytes()
    for size in [*range(0, 4096, 97), *range(4096, len(data), 1031)]:
        file.write_bytes(data[:size])
        assert load_error(file)


def test_a_file_with_a_changed_byte_is_an_error_or_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)
    check_any_byte(
        file,
        lambda used: [*range(0, 108, 2), *used[:: max(1, len(used) // 200)]],
    )


def test_a_file_is_read_without_locks_and_other_files(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")  # with all locks
        assert load(file) == example()
        db.execute("ROLLBACK")
    assert [path.name for path in tmp_path.iterdir()] == ["a.lprof"]


def test_positions_order_functions(tmp_path: Path) -> None:
    file = changed(tmp_path, example(), "UPDATE functions SET position = -position")
    expected = replace_order(example())
    assert everything(load(file)) == everything(expected)


def replace_order(stats: LineStats) -> LineStats:
    return LineStats.from_functions(
        reversed(stats.functions),
        processes=stats.processes,
        threads=stats.threads,
        sources=stats.sources,
        warnings=stats.warnings,
    )
