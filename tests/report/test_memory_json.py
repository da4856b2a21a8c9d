"""The memory of lines in --json, in CSV and in a DataFrame, as docs/json.md has it."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import example_gpu
import example_memory
import pytest
from example_memory import REPLY, SERVE, example, random_memory
from view_text import lines_of

from lineprof.export import EXPORTS
from lineprof.line_stats import LineStats
from lineprof.model.host_memory import (
    NO_MEMORY,
    MemoryPath,
    MemorySum,
    memory_of_lines,
    total_memory,
)
from lineprof.model.merge import merge

if TYPE_CHECKING:
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

NAMES = (
    *("allocs", "alloc_bytes", "freed_bytes"),
    *("live_bytes", "peak_bytes", "temp_bytes"),
)
FIELDS = [f"host_{kind}{name}" for kind in ("", "self_") for name in NAMES]


def shown(stats: Profile, **options: bool) -> Any:
    return json.loads("\n".join(lines_of(LineStats.of(stats), "json", **options)))


def line(profile: Any, key: Key, number: int) -> Any:
    (function,) = [one for one in profile["functions"] if one["name"] == key[2]]
    return next(one for one in function["lines"] if one["line"] == number)


def rows(stats: Profile) -> list[dict[str, str]]:
    text = b"".join(EXPORTS["csv"].content(stats)).decode()
    return [*csv.DictReader(io.StringIO(text, newline=""))]


def test_a_line_and_a_function_have_their_memory() -> None:
    profile = shown(example())
    assert {name: line(profile, SERVE, 13)[name] for name in FIELDS} == {
        "host_allocs": 41,
        "host_alloc_bytes": 61_000,
        "host_freed_bytes": 21_000,
        "host_live_bytes": 40_000,
        "host_peak_bytes": 42_000,
        "host_temp_bytes": 20_000,
        "host_self_allocs": 0,
        "host_self_alloc_bytes": 0,
        "host_self_freed_bytes": 0,
        "host_self_live_bytes": 0,
        "host_self_peak_bytes": 0,
        "host_self_temp_bytes": 0,
    }
    kept = line(profile, REPLY, 7)
    assert (kept["host_live_bytes"], kept["host_self_live_bytes"]) == (40_000, 39_000)
    serve, reply = profile["functions"]
    assert serve["host_alloc_bytes"] == 61_800
    assert serve["host_self_alloc_bytes"] == 800
    assert reply["host_self_peak_bytes"] == 42_000


def test_the_profile_has_the_peak_of_each_run_and_what_no_line_allocated() -> None:
    profile = shown(merge([example(), random_memory(3)]))
    memory = profile["memory"]
    assert memory["outside"]["host_alloc_bytes"] >= 4_200
    first, second = memory["runs"]
    assert (first["process"], first["peak_bytes"]) == (0, 44_500)
    assert (first["peak_ns"], first["side_bytes"]) == (2_000_000_000, 65_536)
    assert first["totals"]["host_live_bytes"] == 42_500
    assert first["outside"]["host_live_bytes"] == 2_500
    assert second["peak_bytes"] == second["totals"]["host_peak_bytes"]
    for name in ("totals", "outside"):
        whole = {key: first[name][key] + second[name][key] for key in first[name]}
        assert memory[name] == whole


@pytest.mark.parametrize("seed", range(10))
def test_own_memory_of_lines_and_what_is_outside_are_all_there_is(seed: int) -> None:
    profile = shown(random_memory(seed))
    lines = [one for function in profile["functions"] for one in function["lines"]]
    for name, whole in profile["memory"]["totals"].items():
        own = name.replace("host_", "host_self_")
        outside = profile["memory"]["outside"][name]
        assert sum(one.get(own, 0) for one in lines) + outside == whole


def test_a_profile_without_memory_has_no_field_of_it() -> None:
    stats = example()
    stats.memory = NO_MEMORY
    for one in (stats, example_gpu.example()):
        text = "\n".join(lines_of(one, "json"))
        assert "host_" not in text
        assert '"memory"' not in text
        assert not any(name.startswith("host_") for name in rows(one)[0])


def test_a_line_that_allocated_without_an_execution_is_shown() -> None:
    stats = example()
    stats.memory = stats.memory._replace(
        paths=(MemoryPath(0, ((REPLY, 4),)),),
        sums=(MemorySum(0, 1, 16, 0, 0, 16),),
        runs=(),
        curves=(),
    )
    found = line(shown(stats), REPLY, 4)
    assert (found["hits"], found["time_ns"], found["host_live_bytes"]) == (0, 0, 16)
    never = LineStats.from_functions([*example().functions[1:]], memory=stats.memory)
    assert line(shown(never, skip_zero=True), REPLY, 4)["host_allocs"] == 1


def test_csv_has_the_memory_of_each_line() -> None:
    found = rows(example())
    numbers = memory_of_lines(example().memory)
    assert [name for name in found[0] if name.startswith("host_")] == FIELDS
    for row in found:
        key = (row["file"], int(row["function_line"]), row["function"])
        one = numbers[key].get(int(row["line"]))
        if one is None:
            assert {row[name] for name in FIELDS} == {""}
            continue
        assert int(row["host_alloc_bytes"]) == one.alloc_bytes
        assert int(row["host_live_bytes"]) == one.live_bytes
        assert int(row["host_peak_bytes"]) == one.peak_bytes
    own = sum(int(row["host_self_allocs"] or 0) for row in found)
    assert own == total_memory(example().memory).allocs - 7


def test_csv_of_a_gpu_and_memory_has_the_columns_of_both() -> None:
    stats = example_gpu.example()
    before = list(rows(stats)[0])
    stats.memory = example_memory.of(example_gpu.FIT)
    after = rows(stats)
    assert [name for name in after[0] if name not in FIELDS] == before
    assert {row["host_allocs"] for row in after} == {"", "3"}


def test_a_data_frame_has_the_memory_of_each_line() -> None:
    pytest.importorskip("pandas")
    frame = example().to_pandas()
    assert frame["host_self_alloc_bytes"].sum() == 66_000 - 4_200
    assert frame.loc[frame.line == 7, "host_live_bytes"].tolist() == [40_000]
