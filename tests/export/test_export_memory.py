"""The memory of lines in the files of other programs: its bytes, where they have it."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import example_gpu
import example_memory
import example_traces
import pytest
from example_advice import FILE
from example_memory import REPLY, SERVE, TEXT, example, random_memory
from export_shapes import content, remarks
from pages import PAGES, blocks_of
from pprof_file import parsed_by_protobuf, read

from lineprof.cli.main import main
from lineprof.export import EXPORTS, pprof
from lineprof.export.sqlite_db import MEMORY_TABLES
from lineprof.line_stats import LineStats
from lineprof.model.call_graph import edge_memory
from lineprof.model.difference import difference
from lineprof.model.host_memory import (
    NO_MEMORY,
    MemoryPath,
    MemorySum,
    memory_of_lines,
    outside_memory,
    total_memory,
)
from lineprof.model.merge import merge
from lineprof.storage import save

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof.model.profile import Profile

OUTSIDE = "[outside of profiled lines]"
TYPES = ("alloc_objects", "alloc_space", "inuse_space", "peak_space")
PARTS = ("allocs", "alloc_bytes", "live_bytes", "peak_bytes")


def files() -> dict[str, LineStats]:
    """Return profiles with memory: of lines, outside of them, of several processes."""
    gpu = example_gpu.example()
    gpu.memory = example_memory.of(example_gpu.FIT)
    return {
        "a server": example(),
        "outside": example_memory.outside_alone(),
        "many": example_memory.summed(),
        "processes": LineStats.of(merge([example(), random_memory(3)])),
        "a GPU": gpu,
    }


def own(stats: Profile, part: str) -> Counter[tuple[str, int]]:
    """Return a number of each function's own lines, "" for those outside."""
    found = Counter[tuple[str, int]]()
    for (file, first, _), lines in memory_of_lines(stats.memory, alone=True).items():
        for line, one in lines.items():
            assert file
            found[f"{file}:{first}", line] += getattr(one, part)
    found["", 0] += getattr(outside_memory(stats.memory), part)
    return +found


@pytest.mark.parametrize("name", [one for one in EXPORTS if one != "sqlite"])
def test_a_profile_without_memory_has_no_word_of_it(name: str) -> None:
    stats = example()
    stats.memory = NO_MEMORY
    text = content(stats, name) + " ".join(remarks(stats, name)).encode()
    for word in (b"memory", b"alloc", b"host_", b"bytes", b"outside of profiled lines"):
        assert word not in text.lower()


# pprof.


@pytest.mark.parametrize("name", files())
def test_pprof_has_the_memory_of_lines(name: str) -> None:
    stats = files()[name]
    profile = read(content(stats, "pprof"))
    assert list(profile.units)[-4:] == [*TYPES]
    assert list(profile.units.values())[-4:] == ["count", "bytes", "bytes", "bytes"]
    assert profile.default == "time"
    for type_, part in zip(TYPES, PARTS):
        found = Counter[tuple[str, int]]()
        for sample in profile.samples:
            file, function, first, line = sample.frames[-1]
            place = "" if function == OUTSIDE else f"{file}:{first}"
            found[place, line] += sample.values[type_]
        assert +found == own(stats, part)
    of_memory = [one for one in profile.samples if any(map(one.values.get, TYPES))]
    others = {*profile.units} - {*TYPES}
    assert not any(one.values[type_] for one in of_memory for type_ in others)


def test_pprof_has_the_path_of_memory_and_its_process() -> None:
    profile = read(content(example(), "pprof"))
    (kept,) = [one for one in profile.samples if one.values["inuse_space"] == 39_000]
    assert kept.frames == [(FILE, "serve", 10, 13), (FILE, "reply", 4, 7)]
    assert kept.labels == {"process": "4711 on node-1"}
    assert [kept.values[one] for one in TYPES] == [20, 40_000, 39_000, 39_000]


@pytest.mark.parametrize("name", files())
def test_a_file_of_memory_alone_is_one_of_a_heap(name: str) -> None:
    stats = files()[name]
    profile = read(b"".join(pprof.heap_content(stats)))
    assert [*profile.units] == [*TYPES]
    assert profile.default == "inuse_space"
    for type_, part in zip(TYPES, PARTS):
        total = sum(one.values[type_] for one in profile.samples)
        assert total == getattr(total_memory(stats.memory), part)


def test_memory_that_a_window_has_less_is_below_0() -> None:
    before, after = example(), example()
    sums = (*before.memory.sums[:1], MemorySum(1, 20, 40_000, 40_000, 0, 39_000))
    after.memory = after.memory._replace(sums=sums)
    window = difference(before, after)
    assert window is not None
    (one,) = read(b"".join(pprof.heap_content(window))).samples
    # As a number of 64 bits with its sign.
    assert [one.values[type_] for type_ in TYPES] == [0, 0, 2**64 - 39_000, 0]


def test_protobuf_reads_memory() -> None:
    parsed_by_protobuf(content(example(), "pprof"))
    parsed_by_protobuf(b"".join(pprof.heap_content(example())))


def test_go_tool_pprof_lists_the_live_memory_of_lines(tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("go does not come from the package index")
    (tmp_path / "a.pb.gz").write_bytes(content(example(), "pprof"))
    source = tmp_path / FILE.lstrip("/")
    source.parent.mkdir()
    source.write_text(TEXT, encoding="utf-8")
    [command] = [
        block.text
        for block in blocks_of(PAGES["exports.md"])
        if block.language == "sh" and "inuse_space" in block.text
    ]
    command = command.replace("-list answer x.pb.gz", "-list=reply a.pb.gz")
    words = [go, *command.split()[1:3], "-unit=B", "-source_path=.", "-trim_path=/"]
    words += command.split()[3:]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env={"HOME": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    if b"no such tool" in done.stderr:
        pytest.skip("this go has no pprof")
    lines = done.stdout.decode().splitlines()
    (line,) = [one for one in lines if "CACHE[number] =" in one]
    assert line.split()[:3] == ["39000B", "40000B", "7:"]


# Collapsed stacks and flame graphs.


@pytest.mark.parametrize(
    ("metric", "part"),
    [
        ("host-alloc", "alloc_bytes"),
        ("host-live", "live_bytes"),
        ("host-peak", "peak_bytes"),
    ],
)
@pytest.mark.parametrize("name", files())
def test_collapsed_stacks_have_the_memory_of_a_metric(
    name: str, metric: str, part: str
) -> None:
    stats = files()[name]
    text = b"".join(EXPORTS["collapsed"].content(stats, metric=metric)).decode()
    stacks = [line.rsplit(" ", 1) for line in text.splitlines()]
    assert len({path for path, _ in stacks}) == len(stacks)
    total = getattr(total_memory(stats.memory), part)
    assert sum(int(size) for _, size in stacks) == total
    outside = getattr(outside_memory(stats.memory), part)
    assert int(dict(stacks).get(OUTSIDE, 0)) == outside
    assert [*EXPORTS["collapsed"].remarks(stats, metric=metric)] == [
        "the numbers are bytes"
    ]


def test_collapsed_stacks_have_callers_of_memory() -> None:
    text = b"".join(EXPORTS["collapsed"].content(example(), metric="host-peak"))
    assert text.decode().splitlines() == [
        "serve (program.py:10);reply (program.py:4) 41000",
        "serve (program.py:10);reply (program.py:4);reply (program.py:4) 1000",
        f"{OUTSIDE} 2500",
    ]


def test_a_metric_that_was_not_measured_is_remarked_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    save(example_gpu.example(), tmp_path / "a.lprof")
    words = ["export", "-f", "collapsed", "-o", "-", str(tmp_path / "a.lprof")]
    assert main([*words, "--metric", "host-live"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert "memory was not measured: kernprof -l --memory measures it" in err
    assert main([*words, "--metric", "gpu"]) == 0
    out, _ = capfd.readouterr()
    sizes = [int(line.rsplit(" ", 1)[1]) for line in out.splitlines()]
    whole = example_gpu.TOTAL_GPU_NS + example_gpu.TOTAL_COPY_NS
    assert sum(sizes) == whole


@pytest.mark.parametrize("name", sorted({*EXPORTS} - {"collapsed"}))
def test_a_metric_is_refused_where_all_numbers_are(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    save(example(), tmp_path / "a.lprof")
    words = ["export", "-f", name, "--metric", "host-live", str(tmp_path / "a.lprof")]
    assert main(words) == 1
    assert (
        "takes no --metric; leave it out, or choose collapsed" in capfd.readouterr().err
    )


def test_the_svg_has_a_graph_of_the_peak() -> None:
    root = ET.fromstring(content(example(), "svg"))  # noqa: S314  # our own
    texts = [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "memory at the peak, by what allocated it: 44.50 kB" in texts
    titles = [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "serve (program.py:10)\n42.00 kB, 94.38 % of all\n0 B of its own" in titles
    assert f"{OUTSIDE}\n2.500 kB, 5.62 % of all" in titles


# speedscope.


@pytest.mark.parametrize("name", files())
def test_speedscope_has_profiles_of_memory(name: str) -> None:
    stats = files()[name]
    file = json.loads(content(stats, "speedscope"))
    found = Counter[str]()
    for one in file["profiles"]:
        if one["unit"] == "bytes":
            assert sum(one["weights"]) == one["endValue"]
            found[one["name"].partition(": ")[2]] += one["endValue"]
    total = total_memory(stats.memory)
    assert found == Counter(
        {
            "memory at the peak by line": total.peak_bytes,
            "live memory by line": total.live_bytes,
            "allocated memory by line": total.alloc_bytes,
        }
    )


def test_speedscope_has_the_lines_of_memory_and_begins_with_time() -> None:
    file = json.loads(content(example(), "speedscope"))
    assert file["profiles"][file["activeProfileIndex"]]["unit"] == "nanoseconds"
    live = next(one for one in file["profiles"] if ": live" in one["name"])
    assert live["name"] == "Process 4711: live memory by line"
    names = [one["name"] for one in file["shared"]["frames"]]
    stacks = [[names[at] for at in sample] for sample in live["samples"]]
    assert [*zip(stacks, live["weights"])] == [
        (["serve:13", "reply:7"], 39_000),
        (["serve:13", "reply:7", "reply:8"], 1_000),
        ([OUTSIDE], 2_500),
    ]


# Timelines.


def counter(stats: LineStats) -> list[tuple[float, int]]:
    events = json.loads(content(stats, "chrome"))["traceEvents"]
    return [
        (one["ts"], one["args"]["bytes"])
        for one in events
        if one["ph"] == "C" and one["name"] == "Memory allocated by the program"
    ]


def test_a_timeline_has_a_counter_of_live_memory() -> None:
    assert counter(example()) == [
        (0, 0),
        (1_000_000, 22_000),
        (2_000_000, 44_500),
        (2_400_000, 42_500),
    ]
    assert b"Memory allocated by the program" in content(example(), "perfetto")
    for name in ("chrome", "perfetto"):
        assert remarks(example(), name)[-1] == (
            "the counter of memory is in time order, from the start of the run"
        )


def test_the_counter_of_a_later_process_begins_at_its_start() -> None:
    first, second = example_traces.steps(), example_traces.steps()
    (process,) = second.processes
    offset = process.unix_offset_ns
    second.processes = (
        process._replace(
            pid=99,
            start_unix_ns=process.start_unix_ns + 5_000_000_000,
            unix_offset_ns=None if offset is None else offset + 5_000_000_000,
            host="another",
        ),
    )
    second.memory = example_memory.of(second.functions[0].key)
    (start, _), (end, _) = counter(LineStats.of(merge([first, second])))
    assert (start, end) == (5_000_000, 5_000_000.009)


def test_a_part_of_a_timeline_has_the_memory_of_its_time(tmp_path: Path) -> None:
    save(example(), tmp_path / "a.lprof")
    words = ["export", "-f", "sqlite", "-o", str(tmp_path / "a.sqlite")]
    times = ["--from", "1s", "--to", "2.1s"]
    assert main([*words, *times, str(tmp_path / "a.lprof")]) == 0
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as database:
        query = "SELECT line, at_ns, live_bytes FROM memory_curve ORDER BY rowid"
        assert database.execute(query).fetchall() == [
            (None, 1_000_000_000, 22_000),
            (None, 2_000_000_000, 44_500),
            (7, 1_000_000_000, 20_000),
            (7, 2_000_000_000, 39_000),
            (6, 1_000_000_000, 1_000),
            (6, 2_000_000_000, 2_000),
        ]
        total = database.execute("SELECT sum(own_alloc_bytes) FROM memory_by_line")
        assert total.fetchall() == [(66_000,)]


# SQLite.


def test_a_database_has_the_memory_of_each_line(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"
    file.write_bytes(content(example(), "sqlite"))

    def ask(query: str) -> list[Any]:
        with closing(sqlite3.connect(file)) as database:
            return database.execute(query).fetchall()

    assert ask("PRAGMA foreign_key_check") == []
    join = "LEFT JOIN functions ON functions.id = function_id"
    columns = "name, line, alloc_bytes, live_bytes, own_live_bytes, own_allocs"
    rows = ask(f"SELECT {columns} FROM memory_by_line {join} ORDER BY line")  # noqa: S608
    assert rows == [
        (None, None, 4_200, 2_500, 2_500, 7),
        ("reply", 6, 20_000, 0, 0, 20),
        ("reply", 7, 41_000, 40_000, 39_000, 20),
        ("reply", 8, 1_000, 1_000, 1_000, 1),
        ("serve", 11, 800, 0, 0, 1),
        ("serve", 13, 61_000, 40_000, 0, 0),
    ]
    assert ask("SELECT * FROM memory_runs") == [
        (1, 44_500, 2_000_000_000, 2_500, 65_536, 0, 0, 1)
    ]
    assert ask("SELECT max(live_bytes) FROM memory_curve WHERE line IS NULL") == [
        (44_500,)
    ]
    assert ask("SELECT max(live_bytes) FROM memory_curve WHERE line = 7") == [(39_000,)]


def test_a_query_has_the_lines_of_the_peak(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(content(example(), "sqlite"))
    [query] = [
        block.text
        for block in blocks_of(PAGES["exports.md"])
        if block.language == "sql" and "memory_by_line" in block.text
    ]
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as database:
        assert database.execute(query).fetchall()[:3] == [
            ("reply", 7, 39_000, 40_000),
            (None, None, 2_500, 2_500),
            ("reply", 6, 2_000, 0),
        ]


def test_a_database_without_memory_has_no_tables_of_it(tmp_path: Path) -> None:
    stats = example()
    stats.memory = NO_MEMORY
    (tmp_path / "a.sqlite").write_bytes(content(stats, "sqlite"))
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as database:
        tables = database.execute("SELECT name FROM sqlite_master").fetchall()
    assert not {name for (name,) in tables} & {*MEMORY_TABLES}


@pytest.mark.parametrize("name", files())
def test_a_database_of_any_memory_can_be_read(tmp_path: Path, name: str) -> None:
    stats = files()[name]
    (tmp_path / "a.sqlite").write_bytes(content(stats, "sqlite"))
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as database:
        query = "SELECT sum(own_alloc_bytes), sum(own_peak_bytes) FROM memory_by_line"
        total = total_memory(stats.memory)
        expected = (total.alloc_bytes, total.peak_bytes)
        assert database.execute(query).fetchall() == [expected]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


# callgrind.


def test_callgrind_has_the_memory_of_lines_and_calls() -> None:
    lines = content(example(), "callgrind").decode().splitlines()
    (events,) = [one for one in lines if one.startswith("events: ")]
    assert events == "events: ns Allocs Alloc_B Live_B Peak_B Hits"
    (totals,) = [one for one in lines if one.startswith("totals: ")]
    assert totals.split()[2:6] == ["49", "66000", "42500", "44500"]
    assert "7 9000000 20 40000 39000 39000 100" in lines
    assert "0 0 7 4200 2500 2500 0" in lines  # outside
    at = lines.index("calls=100 4")
    assert lines[at + 1].split() == [
        "13",
        "50000000",
        "41",
        "61000",
        "40000",
        "42000",
        "0",
    ]


def test_memory_counts_once_for_each_call_on_its_path() -> None:
    found = {edge: one.alloc_bytes for edge, one in edge_memory(example()).items()}
    assert found == {
        (None, 0, SERVE): 61_800,
        (SERVE, 13, REPLY): 61_000,
        (REPLY, 7, REPLY): 1_000,
    }


# What other formats do not have.


@pytest.mark.parametrize("name", ["pstats", "line_profiler", "cpuprofile", "collapsed"])
def test_a_format_without_memory_says_so(name: str) -> None:
    assert any("memory is left out: " in one for one in remarks(example(), name))
    stats = example()
    stats.memory = NO_MEMORY
    assert not any("memory" in one for one in remarks(stats, name))


def test_a_very_deep_path_of_memory_is_cut_in_the_middle() -> None:
    stats = example()
    lines = tuple((SERVE, 2 + line) for line in range(1_000))
    stats.memory = stats.memory._replace(
        paths=(MemoryPath(0, lines),), sums=(MemorySum(0, 1, 8, 0, 0, 8),), curves=()
    )
    profile = read(content(stats, "pprof"))
    (deep,) = [one for one in profile.samples if one.values["alloc_objects"]]
    assert len(deep.frames) == 256
    assert deep.frames[-1][3] == 1_001
