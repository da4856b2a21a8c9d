"""GPU data in files: saved, loaded, and damaged with an error of one line."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import example_gpu
import example_stats
import pytest
from damaged_files import changed, check_any_byte, load_error, with_any_values
from example_gpu import example
from example_stats import everything
from file_tables import PAGE, documented_query, documented_tables, tables_of

from lineprof.errors import LineprofError
from lineprof.line_stats import LineStats
from lineprof.model.gpu import (
    NO_DEVICE,
    NO_PATH,
    Gpu,
    GpuDevice,
    GpuPath,
    GpuRun,
    GpuSum,
    numbers_of_functions,
    numbers_of_lines,
    totals,
)
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.model.timelines import EVENT_SIZES, Batch, Launch, Timeline
from lineprof.storage import load, save
from lineprof.storage.schema_gpu import GPU_TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof.model.profile import Profile

ODD = ["", "a\nb", "\x1b[2J", "a\0b", "é損", "\udcff\udc80", "\ud83d", "'\"%_"]
FUNCTION = example_stats.example().functions[0].key


def with_gpu(gpu: Gpu) -> LineStats:
    """Return a small profile with `gpu` as its GPU data."""
    profile = example_stats.example()
    profile.gpu = gpu
    return profile


def odd_profile() -> LineStats:
    """Return a profile with text of every kind and the largest numbers."""
    big = 2**63 - 1
    path = GpuPath(UNKNOWN_THREAD, True, ((FUNCTION, big), (FUNCTION, big)), big)
    return with_gpu(
        Gpu(
            paths=(path,),
            sums=tuple(
                GpuSum(place, place, odd, odd, place, big, big, 0, big, big)
                for odd in ODD
                for place in (-1, 0)
            ),
            devices=tuple(
                GpuDevice(0, big, odd, big, False, ((odd, big),)) for odd in ODD
            ),
            runs=tuple(GpuRun(0, odd, odd, False, big, big) for odd in ODD),
            timelines=(
                Timeline(0, 0, big, 1, (), (), ()),
                Timeline(0, 2, 0, 0, (*ODD, ""), (Launch(*[0] * 9),), (Batch(2, ()),)),
            ),
        )
    )


@pytest.mark.parametrize(
    "stats",
    [
        example(),
        example_gpu.without_gpu(),
        odd_profile(),
        example() + example_stats.example() + example() + example_gpu.without_gpu(),
        with_gpu(Gpu(devices=(GpuDevice(0, 0, "", 0, True),))),
    ],
)
def test_loaded_gpu_data_are_those_saved(tmp_path: Path, stats: LineStats) -> None:
    file = tmp_path / "a.lprof"
    save(stats, file)
    again = load(file)
    assert everything(again) == everything(stats)
    assert again.gpu != Gpu()
    for timeline, same in zip(stats.gpu.timelines, again.gpu.timelines):
        assert list(timeline) == list(same)


def test_a_profile_without_gpu_data_has_no_tables_for_them(tmp_path: Path) -> None:
    save(example_stats.example(), tmp_path / "a")
    assert not tables_of(tmp_path / "a").keys() & {table.name for table in GPU_TABLES}
    save(example(), tmp_path / "a")
    assert tables_of(tmp_path / "a").keys() >= {table.name for table in GPU_TABLES}


def test_the_tables_are_those_documented(tmp_path: Path) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)
    with closing(sqlite3.connect(file)) as db:
        rows = db.execute(documented_query(PAGE, 1))
        found = {(place, line): ns for place, line, ns in rows}
    made = {name: text for name, text in tables_of(file).items() if name[:4] == "gpu_"}
    assert made == documented_tables(PAGE, 1)
    stats = example()
    places = {one.key: place for place, one in enumerate(stats.functions)}
    assert found == {
        (places[key], line): numbers.gpu_ns
        for key, lines in numbers_of_lines(stats.gpu).items()
        for line, numbers in lines.items()
        if numbers.gpu_ns
    }


def test_every_column_of_a_timeline_is_documented() -> None:
    missing = [name for name in EVENT_SIZES if f"`{name}`" not in PAGE]
    assert missing == []


def test_a_sum_of_profiles_has_the_gpu_data_of_all_of_them() -> None:
    one = example()
    total = example_stats.example() + one + one
    gpu = total.gpu
    assert len(gpu.paths) == 2 * len(one.gpu.paths)
    assert [run.process for run in gpu.runs] == [1, 2]
    assert [device.process for device in gpu.devices] == [1, 1, 2, 2]
    assert {path.thread for path in gpu.paths} == {2, 3, 4, 5}
    alone = numbers_of_functions(one.gpu)
    for key, numbers in numbers_of_functions(gpu).items():
        assert numbers.gpu_ns == 2 * alone[key].gpu_ns
        assert numbers.adopted_ns == 2 * alone[key].adopted_ns
        assert numbers.memcpy_bytes == 2 * alone[key].memcpy_bytes
        assert numbers.max_kernel_ns == alone[key].max_kernel_ns
    assert totals(gpu).gpu_ns == 2 * totals(one.gpu).gpu_ns
    assert gpu.sums[-1].path == NO_PATH
    assert {gpu.devices[s.device].name for s in gpu.sums if s.device != NO_DEVICE} == {
        device.name for device in one.gpu.devices
    }


def test_events_of_a_sum_have_the_paths_of_their_own_profile() -> None:
    one = example()
    total = one + one
    first, second = total.gpu.timelines
    assert (first.process, second.process) == (0, 1)
    for event, other in zip(first, second):
        for place, shifted in ((event.path, other.path), (event.origin, other.origin)):
            if place == NO_PATH:
                assert shifted == NO_PATH
            else:
                path = total.gpu.paths[shifted]
                assert path == one.gpu.paths[place]._replace(thread=path.thread)
                assert path.thread == one.gpu.paths[place].thread + 2


def test_sums_of_profiles_with_gpu_data_are_associative() -> None:
    one, two, three = example(), example_stats.example(), odd_profile()
    assert (one + two) + three == one + (two + three)
    assert LineStats.from_stats_objects(one) == one


def test_a_number_above_63_bits_is_an_error(tmp_path: Path) -> None:
    big = GpuSum(NO_PATH, NO_PATH, "kernel", "k", NO_DEVICE, 1, 2**63, 0, 0)
    with pytest.raises(LineprofError, match=r"above 2\*\*63 - 1"):
        save(with_gpu(Gpu(sums=(big,))), tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_more_events_than_can_be_read_are_not_written(tmp_path: Path) -> None:
    timeline = replace(example_gpu.timeline(), count=100_000_001)
    with pytest.raises(
        LineprofError, match="a profile can't hold 100000001 GPU events"
    ):
        save(with_gpu(Gpu(timelines=(timeline,))), tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "gpu",
    [
        Gpu(paths=(GpuPath(9, False, ((FUNCTION, 1),)),)),
        Gpu(paths=(GpuPath(0, False, ((("no", 1, "such"), 1),)),)),
        Gpu(sums=(GpuSum(0, NO_PATH, "kernel", "k", NO_DEVICE, 1, 1, 1, 1),)),
        Gpu(sums=(GpuSum(NO_PATH, 0, "kernel", "k", NO_DEVICE, 1, 1, 1, 1),)),
        Gpu(sums=(GpuSum(NO_PATH, -2, "kernel", "k", NO_DEVICE, 1, 1, 1, 1),)),
        Gpu(sums=(GpuSum(NO_PATH, NO_PATH, "kernel", "k", 0, 1, 1, 1, 1),)),
    ],
)
def test_an_index_out_of_range_is_a_lookup_error(tmp_path: Path, gpu: Gpu) -> None:
    with pytest.raises(LookupError):
        save(with_gpu(gpu), tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("table", [table.name for table in GPU_TABLES])
def test_a_file_without_one_of_the_gpu_tables_is_damaged(
    tmp_path: Path, table: str
) -> None:
    file = changed(tmp_path, example(), f"DROP TABLE {table}")
    assert f"is damaged (it has no table {table}); record it again" in load_error(file)


def test_older_files_know_nothing_of_other_tools(tmp_path: Path) -> None:
    drop = ("foreign_buffers", "taken")
    file = changed(
        tmp_path,
        example(),
        *(f"ALTER TABLE gpu_runs DROP COLUMN {one}" for one in drop),
    )
    [run] = load(file).gpu.runs
    assert (run.foreign_buffers, run.taken) == (0, 0)


DAMAGE = [
    "UPDATE gpu_runs SET process_id = 99",
    "UPDATE gpu_runs SET backend = 1",
    "UPDATE gpu_runs SET present = 2",
    "UPDATE gpu_runs SET dropped = -1",
    "UPDATE gpu_runs SET version = -1",
    "UPDATE gpu_runs SET left_out = 'x'",
    "UPDATE gpu_runs SET foreign_buffers = 'x'",
    "UPDATE gpu_runs SET taken = -1",
    "UPDATE gpu_devices SET process_id = 99",
    "UPDATE gpu_devices SET device = -1",
    "UPDATE gpu_devices SET busy_ns = -1",
    "UPDATE gpu_devices SET busy_exact = -1",
    "UPDATE gpu_devices SET name = 5",
    "UPDATE gpu_devices SET attributes = ''",
    "UPDATE gpu_devices SET attributes = '[]'",
    "UPDATE gpu_devices SET attributes = '{\"a\": 1.5}'",
    "UPDATE gpu_devices SET attributes = '{\"a\": true}'",
    "UPDATE gpu_devices SET attributes = '{\"a\": -1}'",
    "UPDATE gpu_devices SET attributes = '{\"a\": 1' || printf('%0200d', 0) || '}'",
    "UPDATE gpu_devices SET id = id + 7",
    "UPDATE gpu_names SET name = 5",
    "UPDATE gpu_names SET id = id + 70",
    "DELETE FROM gpu_names",
    "UPDATE gpu_paths SET thread_id = 99",
    "UPDATE gpu_paths SET thread_id = 'main'",
    "UPDATE gpu_paths SET adopted = 7",
    "UPDATE gpu_paths SET nvtx_payload = -1",
    "UPDATE gpu_paths SET id = id + 70",
    "DELETE FROM gpu_path_lines WHERE path_id = 3",
    "UPDATE gpu_path_lines SET path_id = 99",
    "UPDATE gpu_path_lines SET function_id = 99",
    "UPDATE gpu_path_lines SET line = 'x'",
    "UPDATE gpu_sums SET path_id = 99",
    "UPDATE gpu_sums SET path_id = -1",
    "UPDATE gpu_sums SET origin_id = 99",
    "UPDATE gpu_sums SET name_id = 99",
    "UPDATE gpu_sums SET name_id = NULL",
    "UPDATE gpu_sums SET device_id = 99",
    "UPDATE gpu_sums SET kind = 1",
    "UPDATE gpu_sums SET count = -1",
    "UPDATE gpu_sums SET ns = -1",
    "UPDATE gpu_sums SET ns = 1.5",
    "UPDATE gpu_sums SET bytes = -1",
    "UPDATE gpu_sums SET min_ns = -1",
    "UPDATE gpu_sums SET min_ns = max_ns + 1",
    "UPDATE gpu_timelines SET process_id = 99",
    "UPDATE gpu_timelines SET events = 9",
    "UPDATE gpu_timelines SET events = -1",
    "UPDATE gpu_timelines SET origin_ns = -1",
    "UPDATE gpu_timelines SET first_path = -1",
    "UPDATE gpu_timelines SET first_path = 2",
    "UPDATE gpu_timelines SET first_path = 12",
    "UPDATE gpu_timelines SET id = 9",
    "UPDATE gpu_timeline_names SET timeline_id = 9",
    "UPDATE gpu_timeline_names SET name_id = 99",
    "DELETE FROM gpu_timeline_names",
    "DELETE FROM gpu_timeline_names WHERE rowid > 7",
    "UPDATE gpu_launches SET timeline_id = 9",
    "UPDATE gpu_launches SET grid_x = 4294967296",
    "UPDATE gpu_launches SET registers = -2147483649",
    "UPDATE gpu_launches SET block_z = 'x'",
    "DELETE FROM gpu_launches",
    "DELETE FROM gpu_launches WHERE rowid = 3",
    "UPDATE gpu_batches SET timeline_id = 9",
    "UPDATE gpu_batches SET events = 9",
    "UPDATE gpu_batches SET events = 0",
    "UPDATE gpu_batches SET events = -1",
    "UPDATE gpu_batches SET events = 65537",
    "DELETE FROM gpu_batches",
    "INSERT INTO gpu_batches VALUES (9, 0, 1)",
    "UPDATE gpu_columns SET batch_id = 9",
    "UPDATE gpu_columns SET name = 5",
    "UPDATE gpu_columns SET name = 'kind'",
    "UPDATE gpu_columns SET data = 5",
    "UPDATE gpu_columns SET data = ''",
    "UPDATE gpu_columns SET data = x''",
    "UPDATE gpu_columns SET data = x'789c0300'",
    "UPDATE gpu_columns SET data = CAST(data || x'00' AS BLOB) WHERE name = 'kind'",
]


@pytest.mark.parametrize("statement", DAMAGE)
def test_impossible_values_are_damage(tmp_path: Path, statement: str) -> None:
    file = with_any_values(tmp_path, example(), statement, GPU_TABLES)
    assert " is damaged (" in load_error(file)


def column(name: str, *values: int) -> bytes:
    """Return a packed column of ten events, the last of which have `values`."""
    size = EVENT_SIZES[name]
    whole = [0] * (len(example_gpu.EVENTS) - len(values)) + list(values)
    return zlib.compress(
        bytes(value >> 8 * place & 255 for place in range(size) for value in whole)
    )


@pytest.mark.parametrize(
    ("name", "largest"),
    [
        ("name", len(example_gpu.NAMES) - 1),
        ("launch", len(example_gpu.LAUNCHES) - 1),
        ("path", len(example_gpu.PATHS)),
        ("origin", len(example_gpu.PATHS)),
        ("start", 2**63 - 1),
        ("ns", 2**63 - 1),
        ("bytes", 2**63 - 1),
    ],
)
def test_every_index_and_time_of_an_event_is_checked(
    tmp_path: Path, name: str, largest: int
) -> None:
    change = f"UPDATE gpu_columns SET data = ? WHERE name = '{name}'"  # noqa: S608
    load(changed(tmp_path, example(), change, data=column(name, largest)))
    file = changed(tmp_path, example(), change, data=column(name, largest + 1))
    assert f"is damaged (an event has the {name} {largest + 1})" in load_error(file)


def test_kinds_columns_and_tables_of_a_later_version_are_ignored(
    tmp_path: Path,
) -> None:
    file = changed(
        tmp_path,
        example(),
        "UPDATE gpu_sums SET kind = 'teleport' WHERE kind = 'wait'",
        "INSERT INTO gpu_columns VALUES (0, 'colour', x'00')",
        "ALTER TABLE gpu_paths ADD COLUMN colour TEXT DEFAULT 'blue'",
        "CREATE TABLE gpu_colours (id INTEGER PRIMARY KEY)",
    )
    again = load(file)
    assert again.gpu.timelines == example().gpu.timelines
    assert totals(again.gpu) == totals(example().gpu)._replace(waits=0, wait_ns=0)


def test_a_column_that_unpacks_to_too_many_bytes_is_damage(tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(100_000_000))
    change = "UPDATE gpu_columns SET data = ? WHERE name = 'path'"
    assert "is not of 10 events" in load_error(
        changed(tmp_path, example(), change, data=bomb)
    )


def test_too_many_events_are_damage(tmp_path: Path) -> None:
    file = changed(
        tmp_path,
        example(),
        "INSERT INTO gpu_batches WITH RECURSIVE n(id) AS"
        " (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 2000)"
        " SELECT id, 0, 65536 FROM n",
        "UPDATE gpu_timelines SET events = 131072010",
    )
    assert "the timelines have more than 100000000 events" in load_error(file)


def test_a_file_with_a_changed_byte_is_an_error_or_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)

    def look(stats: Profile) -> None:
        for timeline in stats.gpu.timelines:
            assert len(list(timeline)) == timeline.count
        numbers_of_lines(stats.gpu)

    check_any_byte(file, lambda used: used[:: max(1, len(used) // 300)], look)
