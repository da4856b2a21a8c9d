"""The lines of ranks in a file: a round trip, and damaged files."""

from __future__ import annotations

import re
import sqlite3
import zlib
from array import array
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from damaged_files import changed, check_any_byte, execute, load_error
from example_ranks import rank_profile
from example_ranks import summed as example
from file_tables import PAGE, documented_tables, tables_of

from lineprof.errors import LineprofError
from lineprof.model.rank_lines import LINE_COLUMNS
from lineprof.model.rank_spread import line_spreads
from lineprof.storage import load, save
from lineprof.storage.schema_gpu import RANK_TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof.model.profile import Profile


def test_ranks_survive_a_file(tmp_path: Path) -> None:
    save(example(), tmp_path / "a.lprof")
    assert load(tmp_path / "a.lprof").ranks == example().ranks


def test_a_profile_of_one_run_has_no_tables_of_ranks(tmp_path: Path) -> None:
    save(rank_profile(0), tmp_path / "a.lprof")
    names = {table.name for table in RANK_TABLES}
    assert not tables_of(tmp_path / "a.lprof").keys() & names


def test_the_tables_and_columns_are_those_documented(tmp_path: Path) -> None:
    section = PAGE[PAGE.index("## Ranks") : PAGE.index("## How it grows")]
    save(example(), tmp_path / "a.lprof")
    names = {table.name for table in RANK_TABLES}
    tables = tables_of(tmp_path / "a.lprof")
    made = {name: text for name, text in tables.items() if name in names}
    assert made == documented_tables(section)
    rows = re.findall(r"^\| `(\w+)` \| (\d) \|", section, re.MULTILINE)
    sizes = {name: str(array(kind).itemsize) for name, kind in LINE_COLUMNS.items()}
    assert dict(rows) == sizes


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE rank_lines SET function_id = 99", "no function 99"),
        ("UPDATE rank_lines SET line = -1", "a line of ranks has -1"),
        ("UPDATE rank_lines SET function_id = 0, line = 2", "is there twice"),
        ("UPDATE rank_runs SET rank = 1", "rank 1 is there twice"),
        ("UPDATE rank_runs SET rank = -1", "a rank has -1"),
        ("UPDATE rank_runs SET wall_ns = -5", "a rank has -5"),
        ("UPDATE rank_runs SET lines = 2", "other than 2 lines"),
        ("UPDATE rank_batches SET rank_id = 99", "no rank 99"),
        ("UPDATE rank_batches SET lines = 0", "a batch has 0 lines"),
        ("UPDATE rank_batches SET lines = 65537", "a batch has 65537 lines"),
        ("UPDATE rank_columns SET batch_id = 99", "no batch 99"),
        ("UPDATE rank_columns SET name = 'time'", "two columns time"),
        ("DROP TABLE rank_columns", "no table rank_columns"),
    ],
)
def test_impossible_values_are_damage(
    tmp_path: Path, statement: str, message: str
) -> None:
    line = load_error(changed(tmp_path, example(), statement))
    assert " is damaged (" in line
    assert message in line


def test_more_lines_than_a_rank_can_have_are_damage(tmp_path: Path) -> None:
    grow = ("UPDATE rank_batches SET lines = 60", "UPDATE rank_runs SET lines = 60")
    line = load_error(changed(tmp_path, example(), *grow))
    assert "has more lines than there are" in line


def test_few_bytes_cannot_stand_for_many_lines(tmp_path: Path) -> None:
    file = changed(tmp_path, example(), "DELETE FROM rank_columns")
    with closing(sqlite3.connect(file)) as db:
        db.executemany(
            "INSERT INTO rank_runs VALUES (?, ?, 65536, 0, 0)",
            ((n, n) for n in range(10, 20)),
        )
        db.executemany(
            "INSERT INTO rank_batches VALUES (?, ?, 65536)",
            ((n, n) for n in range(10, 20)),
        )
        db.commit()
    line = load_error(file)
    assert line.endswith("lines in 0 bytes); merge the files of the ranks again")


def column_error(folder: Path, name: str, data: bytes) -> str:
    """Return the error of the numbers of ranks, of which one column is `data`."""
    file = changed(folder, example())
    execute(
        file,
        f"UPDATE rank_columns SET data = ? WHERE name = '{name}'",  # noqa: S608
        data=data,
    )
    with pytest.raises(LineprofError) as caught:
        line_spreads(load(file).ranks)
    assert "merge the files of the ranks again" in str(caught.value)
    return str(caught.value)


def test_columns_that_do_not_unpack_are_damage(tmp_path: Path) -> None:
    assert "does not unpack" in column_error(tmp_path, "time", b"xxxx")
    bomb = zlib.compress(bytes(100_000_000))
    assert "is not of" in column_error(tmp_path, "time", bomb)


def test_lines_that_are_not_there_or_twice_are_damage(tmp_path: Path) -> None:
    beyond = zlib.compress(b"\xff" * 6 + bytes(18))
    assert "not there, or twice" in column_error(tmp_path, "line", beyond)
    again = zlib.compress(bytes(24))
    assert "not there, or twice" in column_error(tmp_path, "line", again)


def test_numbers_beyond_63_bits_are_damage(tmp_path: Path) -> None:
    file = changed(tmp_path, example())
    count = load(file).ranks.runs[1].batches[0].events
    execute(
        file,
        "UPDATE rank_columns SET data = ? WHERE name = 'hits'",
        "DELETE FROM rank_columns WHERE batch_id <> 1",
        "DELETE FROM rank_batches WHERE id <> 1",
        "DELETE FROM rank_runs WHERE id <> 1",
        data=zlib.compress(b"\xff" * count * 8),
    )
    with pytest.raises(LineprofError, match="beyond 63 bits"):
        line_spreads(load(file).ranks)


def test_any_damaged_byte_is_a_profile_or_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)

    def look(stats: Profile) -> None:
        try:
            line_spreads(stats.ranks)
        except LineprofError as error:
            assert str(error).isprintable()  # noqa: PT017

    check_any_byte(file, lambda used: used[:: max(1, len(used) // 100)], look)
