"""The memory of lines in a file: a round trip, its size, and damaged files."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import example_gpu
import example_memory
import pytest
from damaged_files import changed, check_any_byte, execute, load_error, with_any_values
from example_memory import SERVE, example
from example_stats import everything
from example_stats import example as without_memory
from file_tables import PAGE, documented_tables, tables_of
from hostile_files import full_profile

from lineprof.errors import LineprofError
from lineprof.model.host_memory import (
    NO_MEMORY,
    HostMemory,
    MemoryCurve,
    MemoryPath,
    MemorySum,
    memory_of_functions,
    memory_of_lines,
    total_memory,
)
from lineprof.storage import load, save
from lineprof.storage.schema_gpu import MEMORY_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lineprof.line_stats import LineStats

NAMES = {table.name for table in MEMORY_TABLES}


@pytest.mark.parametrize(
    "stats",
    [
        example(),
        example_memory.outside_alone(),
        example_memory.large(),
        example_memory.random_memory(3),
        full_profile(),
    ],
)
def test_memory_survives_a_file(tmp_path: Path, stats: LineStats) -> None:
    save(stats, tmp_path / "a.lprof")
    assert everything(load(tmp_path / "a.lprof")) == everything(stats)


def test_a_profile_without_memory_has_no_tables_of_it(tmp_path: Path) -> None:
    for index, stats in enumerate((without_memory(), example_gpu.example())):
        save(stats, tmp_path / f"{index}.lprof")
        assert not tables_of(tmp_path / f"{index}.lprof").keys() & NAMES
        assert load(tmp_path / f"{index}.lprof").memory == NO_MEMORY


def test_the_tables_and_columns_are_those_documented(tmp_path: Path) -> None:
    section = PAGE[PAGE.index("## Memory") : PAGE.index("## How it grows")]
    save(example(), tmp_path / "a.lprof")
    tables = tables_of(tmp_path / "a.lprof")
    made = {name: text for name, text in tables.items() if name in NAMES}
    assert made == documented_tables(section)


def test_a_long_curve_of_many_lines_adds_less_than_40_kb(tmp_path: Path) -> None:
    stats = example_memory.large(moments=512, lines=12)
    save(stats, tmp_path / "with.lprof")
    stats.memory = NO_MEMORY
    save(stats, tmp_path / "without.lprof")
    sizes = [
        (tmp_path / f"{name}.lprof").stat().st_size for name in ("with", "without")
    ]
    assert sizes[0] - sizes[1] < 40_000


def test_paths_of_a_deep_program_share_their_lines(tmp_path: Path) -> None:
    stats = example()
    lines = tuple((SERVE, 2 + line) for line in range(500))
    stats.memory = HostMemory(
        paths=tuple(MemoryPath(0, lines[:depth]) for depth in range(501)),
        sums=tuple(MemorySum(path, 1, 8, 0, 0, 8) for path in range(501)),
    )
    save(stats, tmp_path / "a.lprof")
    assert load(tmp_path / "a.lprof").memory == stats.memory
    assert (tmp_path / "a.lprof").stat().st_size < 120_000


def test_numbers_that_other_threads_moved_on_can_be_read_again(tmp_path: Path) -> None:
    stats = example()
    first, second, *others = stats.memory.sums
    (curve,) = stats.memory.curves
    stats.memory = stats.memory._replace(
        sums=(
            first._replace(freed_bytes=20_016, temp_bytes=20_032, peak_bytes=99_999),
            second._replace(freed_bytes=-16, temp_bytes=5, peak_bytes=-1),
            *others,
        ),
        curves=(
            curve._replace(
                times_ns=(0, 5, 4, 9),
                live_bytes=(-8, 5, 5, 5),
                line_bytes=((0, -1, 0, 0), (0, 0, 0, 0)),
            ),
        ),
    )
    save(stats, tmp_path / "a.lprof")
    found = load(tmp_path / "a.lprof").memory
    assert found.sums[:2] == (
        MemorySum(0, 20, 20_000, 20_000, 20_000, 20_000),
        MemorySum(1, 20, 40_000, 0, 0, 0),
    )
    (curve,) = found.curves
    assert curve.times_ns == (0, 5, 5, 9)
    assert curve.live_bytes == (0, 5, 5, 5)
    assert curve.line_bytes == ((0, 0, 0, 0), (0, 0, 0, 0))


def _broken() -> Iterator[tuple[HostMemory, type[Exception], str]]:
    """Yield memory data that refer to nothing, or that are not whole."""
    memory = example().memory
    (curve,) = memory.curves
    wrong = MemoryPath(0, ((("/p.py", 1, "unknown"), 1),))
    yield memory._replace(paths=(wrong,)), KeyError, "unknown"
    yield memory._replace(paths=(MemoryPath(7, ()),)), IndexError, "no process 7"
    yield memory._replace(sums=(MemorySum(9, 1, 1, 0, 0, 0),)), IndexError, "no path 9"
    cut = curve._replace(live_bytes=curve.live_bytes[1:])
    yield memory._replace(curves=(cut,)), LineprofError, "several lengths"
    less = curve._replace(line_bytes=curve.line_bytes[1:])
    yield memory._replace(curves=(less,)), LineprofError, "shorter"
    yield memory._replace(runs=()), LineprofError, "not that of one run"
    twice = memory._replace(curves=(curve, curve))
    yield twice, LineprofError, "not that of one run"


@pytest.mark.parametrize(("memory", "error", "message"), [*_broken()])
def test_memory_that_does_not_fit_is_not_written(
    tmp_path: Path, memory: HostMemory, error: type[Exception], message: str
) -> None:
    stats = example()
    stats.memory = memory
    with pytest.raises(error, match=message):
        save(stats, tmp_path / "a.lprof")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE memory_nodes SET function_id = 99", "no function 99"),
        ("UPDATE memory_nodes SET line = -1", "a path of memory has -1"),
        ("UPDATE memory_nodes SET parent_id = 99", "no node before its child"),
        ("UPDATE memory_nodes SET parent_id = id", "no node before its child"),
        ("UPDATE memory_nodes SET parent_id = 2", "no node before its child"),
        ("DELETE FROM memory_nodes", "no node"),
        ("UPDATE memory_paths SET process_id = 99", "no process 99"),
        ("UPDATE memory_paths SET node_id = 99", "no node 99"),
        ("UPDATE memory_sums SET path_id = 99", "no path 99"),
        ("DELETE FROM memory_paths", "no path"),
        ("UPDATE memory_sums SET allocs = -1", "a sum of memory has -1"),
        ("UPDATE memory_sums SET alloc_bytes = 0", "less allocated than"),
        ("UPDATE memory_sums SET freed_bytes = 10000000", "less allocated than"),
        ("UPDATE memory_sums SET peak_bytes = 10000000", "less allocated than"),
        ("UPDATE memory_sums SET temp_bytes = freed_bytes + 1", "less allocated than"),
        ("UPDATE memory_runs SET process_id = 1", "no process 1"),
        ("UPDATE memory_runs SET peak_bytes = -1", "a run's memory has -1"),
        ("UPDATE memory_runs SET peak_ns = -1", "a run's memory has -1"),
        ("UPDATE memory_runs SET lost = -1", "a run's memory has -1"),
        ("UPDATE memory_runs SET is_native = 2", "2 where yes or no is due"),
        ("INSERT INTO memory_runs SELECT * FROM memory_runs", "is there twice"),
        ("UPDATE memory_runs SET moments = NULL", "no curve of process 0"),
        ("UPDATE memory_runs SET times = NULL", "has no times"),
        ("UPDATE memory_runs SET live = NULL", "has no live"),
        ("UPDATE memory_runs SET moments = -1", "has -1 moments"),
        ("UPDATE memory_runs SET moments = 65537", "has 65537 moments"),
        ("UPDATE memory_runs SET moments = 3", "not of 3 events"),
        ("UPDATE memory_runs SET moments = 5", "not of 5 events"),
        ("UPDATE memory_runs SET live = x'0000'", "does not unpack"),
        ("DELETE FROM memory_runs", "no curve of process 0"),
        ("UPDATE memory_curve_lines SET process_id = 1", "no process 1"),
        ("UPDATE memory_curve_lines SET function_id = 99", "no function 99"),
        ("UPDATE memory_curve_lines SET line = -1", "a curve of memory has -1"),
        ("UPDATE memory_curve_lines SET live = x''", "not of 4 events"),
        ("DROP TABLE memory_curve_lines", "no table memory_curve_lines"),
        ("DROP TABLE memory_nodes", "no table memory_nodes"),
    ],
)
def test_impossible_values_are_damage(
    tmp_path: Path, statement: str, message: str
) -> None:
    line = load_error(changed(tmp_path, example(), statement))
    assert " is damaged (" in line
    assert message in line


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE memory_paths SET process_id = 'x'", "'x' where int is due"),
        ("UPDATE memory_sums SET path_id = NULL", "None where int is due"),
        ("UPDATE memory_sums SET allocs = 1.5", "1.5 where int is due"),
        ("UPDATE memory_runs SET process_id = NULL", "None where int is due"),
        ("UPDATE memory_runs SET times = 1", "1 where bytes is due"),
        ("UPDATE memory_nodes SET line = NULL", "None where int is due"),
    ],
)
def test_values_of_another_type_are_damage(
    tmp_path: Path, statement: str, message: str
) -> None:
    file = with_any_values(tmp_path, example(), statement, MEMORY_TABLES)
    assert message in load_error(file)


def _curve(*numbers: int) -> bytes:
    """Return a column of a curve, one byte after the other of each number."""
    data = [number.to_bytes(8, "little") for number in numbers]
    return zlib.compress(bytes(one[i] for i in range(8) for one in data))


@pytest.mark.parametrize(
    ("column", "numbers", "message"),
    [
        ("times", (5, 2**64 - 1, 0, 0), "in no order"),
        ("times", (0, 0, 0, 2**63), "has 9223372036854775808"),
        ("live", (2**63, 0, 0, 0), "has 9223372036854775808"),
        ("live", (0, 0, 0, 2**64 - 1), "has 18446744073709551615"),
    ],
)
def test_numbers_of_a_curve_that_cannot_be_are_damage(
    tmp_path: Path, column: str, numbers: tuple[int, ...], message: str
) -> None:
    update = f"UPDATE memory_runs SET {column} = ?"  # noqa: S608
    file = changed(tmp_path, example(), update, data=_curve(*numbers))
    assert message in load_error(file)


def test_a_curve_that_unpacks_to_much_more_is_damage(tmp_path: Path) -> None:
    data = zlib.compress(bytes(1 << 26), 9)
    update = "UPDATE memory_runs SET live = ?"
    assert "not of 4" in load_error(changed(tmp_path, example(), update, data=data))


def test_a_small_file_of_many_long_curves_is_damage(tmp_path: Path) -> None:
    file = changed(
        tmp_path,
        example(),
        "UPDATE memory_runs SET times = ?, live = ?, moments = 65536",
        "UPDATE memory_curve_lines SET live = ?",
        "INSERT INTO memory_curve_lines WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
        " SELECT i + 1 FROM n WHERE i < 99) SELECT 0, 0, i, ? FROM n",
        data=zlib.compress(bytes(8 * 65_536), 9),
    )
    assert "more than 4000000 numbers" in load_error(file)


def test_a_small_file_of_many_long_paths_is_damage(tmp_path: Path) -> None:
    file = changed(
        tmp_path,
        example(),
        "DELETE FROM memory_sums",
        "DELETE FROM memory_paths",
        "DELETE FROM memory_nodes",
        "INSERT INTO memory_nodes WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL"
        " SELECT i + 1 FROM n WHERE i < 9999)"
        " SELECT i, CASE i WHEN 0 THEN NULL ELSE i - 1 END, 0, 1 FROM n",
        "INSERT INTO memory_paths SELECT id, 0, id FROM memory_nodes",
    )
    assert "too many lines for 10000 nodes" in load_error(file)
    again = "INSERT INTO memory_paths SELECT 99999 - id, 0, 1999 FROM memory_nodes"
    few = "DELETE FROM memory_paths WHERE id > 0"
    execute(file, few, "DELETE FROM memory_nodes WHERE id >= 2000", again)
    assert "too many lines for 2000 nodes" in load_error(file)


def test_a_line_twice_on_a_path_of_a_file_counts_once(tmp_path: Path) -> None:
    statement = "UPDATE memory_nodes SET function_id = 0, line = 3"
    found = load(changed(tmp_path, example(), statement)).memory
    total = total_memory(found).alloc_bytes
    assert memory_of_functions(found)[SERVE].alloc_bytes == total - 4_200
    assert memory_of_lines(found)[SERVE][3].alloc_bytes == total - 4_200


def test_any_changed_byte_is_an_error_or_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)
    check_any_byte(file, lambda places: places[::41], lambda one: repr(one.memory))


def test_a_curve_without_moments_survives_a_file(tmp_path: Path) -> None:
    stats = example()
    stats.memory = stats.memory._replace(curves=(MemoryCurve(0, (), ()),))
    save(stats, tmp_path / "a.lprof")
    assert load(tmp_path / "a.lprof").memory == stats.memory
