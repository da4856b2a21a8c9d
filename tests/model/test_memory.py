"""Memory of lines: sums of several profiles, and what a window of a run has more."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import example_memory
import pytest
from example_advice import FILE
from example_memory import (
    KEPT,
    REPLY,
    SERVE,
    example,
    outside_alone,
    random_memory,
)
from example_stats import example as without_memory

from lineprof.cli.main import main
from lineprof.line_stats import LineStats
from lineprof.model.difference import difference
from lineprof.model.host_memory import (
    NO_MEMORY,
    MemoryNumbers,
    MemoryPath,
    MemorySum,
    memory_of_functions,
    memory_of_lines,
    memory_of_processes,
    outside_memory,
    total_memory,
)
from lineprof.model.merge import merge
from lineprof.model.names import names_of_profile
from lineprof.model.profile import Profile
from lineprof.model.records import FunctionStats, cell_columns
from lineprof.model.relation import NONE
from lineprof.model.running_sum import RunningSum
from lineprof.storage import load, save

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from lineprof.model.host_memory import HostMemory

    Counted = dict[tuple[object, ...], MemoryNumbers]


def _by_lines(memory: HostMemory) -> Counted:
    """Return the numbers of each list of lines, of all processes together."""
    found: Counted = {}
    for one in memory.sums:
        lines = memory.paths[one.path].lines
        found[lines] = found.get(lines, MemoryNumbers()).plus(one)
    return found


def _summed(profiles: Sequence[Profile]) -> Profile:
    """Return the sum of profiles that are added one by one, as of many files."""
    total = RunningSum()
    for one in profiles:
        total.add(one, cell_columns(one.functions))
    return total.profile()


def test_the_numbers_of_lines_functions_and_processes_are_those_of_their_blocks() -> (
    None
):
    memory = example().memory
    assert total_memory(memory) == MemoryNumbers(49, 66_000, 23_500, 20_000, 44_500)
    assert outside_memory(memory) == MemoryNumbers(7, 4_200, 1_700, 0, 2_500)
    lines, alone = memory_of_lines(memory), memory_of_lines(memory, alone=True)
    assert lines[SERVE][13] == MemoryNumbers(41, 61_000, 21_000, 20_000, 42_000)
    assert lines[REPLY][7].live_bytes == 40_000
    assert alone[REPLY][7].live_bytes == 39_000
    assert 13 not in alone[SERVE]
    functions = memory_of_functions(memory)
    assert functions[SERVE].alloc_bytes == 66_000 - 4_200
    assert functions[REPLY] == lines[SERVE][13]
    assert memory_of_processes(memory) == {0: total_memory(memory)}
    assert memory_of_processes(memory, outside=True) == {0: outside_memory(memory)}


def test_processes_of_merged_profiles_keep_their_memory_apart() -> None:
    merged = merge([without_memory(), example(), random_memory(1)])
    numbers = memory_of_processes(merged.memory)
    assert numbers == {
        1: total_memory(example().memory),
        2: total_memory(random_memory(1).memory),
    }
    assert [run.process for run in merged.memory.runs] == [1, 2]
    (curve,) = merged.memory.curves
    assert curve == example().memory.curves[0]._replace(process=1)
    assert merged.memory.runs[0].peak_bytes == numbers[1].peak_bytes


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("add_up", [merge, _summed])
def test_the_memory_of_a_merge_is_that_of_its_parts(
    seed: int, add_up: Callable[[Sequence[Profile]], Profile]
) -> None:
    parts = [random_memory(10 * seed + index) for index in range(4)]
    expected: Counted = {}
    for one in parts:
        for lines, numbers in _by_lines(one.memory).items():
            expected[lines] = expected.get(lines, MemoryNumbers()).plus(numbers)
    whole = add_up(parts)
    assert _by_lines(whole.memory) == expected
    assert len(whole.memory.runs) == len(parts)
    for run, one in zip(whole.memory.runs, parts):
        assert whole.processes[run.process] == one.processes[0]
        assert run.peak_bytes == total_memory(one.memory).peak_bytes
    # In two steps it is the same.
    steps = add_up([add_up(parts[:2]), add_up(parts[2:])])
    assert _by_lines(steps.memory) == expected


def test_a_sum_of_many_profiles_has_each_path_once(tmp_path: Path) -> None:
    one, many = _summed([example()]), _summed([example()] * 50)
    assert len(many.memory.paths) == len(one.memory.paths)
    assert len(many.memory.sums) == len(one.memory.sums)
    assert {path.process for path in many.memory.paths} == {NONE}
    assert total_memory(many.memory).alloc_bytes == 50 * 66_000
    save(many, tmp_path / "a.lprof")
    assert load(tmp_path / "a.lprof").memory == many.memory


def test_a_sum_of_many_profiles_says_that_curves_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for index in range(17):
        files.append(str(tmp_path / f"{index}.lprof"))
        stats = example()
        stats.processes = (stats.processes[0]._replace(pid=index),)
        save(stats, files[-1])
    assert main(["merge", *files, "-o", str(tmp_path / "sum.lprof")]) == 0
    assert "17 timelines left out; --full keeps both" in capsys.readouterr().err
    assert total_memory(load(tmp_path / "sum.lprof").memory).allocs == 17 * 49
    main(["merge", *files, "--full", "-o", str(tmp_path / "full.lprof")])
    assert len(load(tmp_path / "full.lprof").memory.curves) == 17


# A window of a run.


def test_a_window_has_the_blocks_of_its_time_and_the_growth_of_live_memory() -> None:
    before, after = example(), example()
    sums = list(after.memory.sums)
    sums[1] = MemorySum(1, 25, 50_000, 45_000, 200, 39_000)
    sums.append(MemorySum(5, 1, 64, 0, 0, 0))
    after.memory = after.memory._replace(
        paths=(*after.memory.paths, MemoryPath(0, (KEPT,))), sums=tuple(sums)
    )
    found = difference(before, after)
    assert found is not None
    assert found.memory.sums == (
        MemorySum(1, 5, 10_000, 44_000, 200, 0),
        MemorySum(5, 1, 64, 0, 0, 0),
    )
    assert memory_of_lines(found.memory)[REPLY][7].live_bytes == 64 - 34_000
    assert not found.memory.runs  # a peak is none of a window
    assert not found.memory.curves


def test_a_window_without_blocks_has_no_memory() -> None:
    found = difference(example(), example())
    assert found is not None
    assert found.memory == NO_MEMORY


@pytest.mark.parametrize("seed", range(20))
def test_a_window_and_what_was_before_are_the_whole(seed: int) -> None:
    part, more = random_memory(seed), random_memory(seed)
    whole = merge([part, more])
    # The same run, a while later.
    later = random_memory(seed)
    later.memory = later.memory._replace(
        sums=tuple(
            MemorySum(index, *[2 * number for number in one[1:-1]], one.peak_bytes)
            for index, one in enumerate(later.memory.sums)
        )
    )
    found = difference(part, later)
    assert found is not None
    for lines, numbers in _by_lines(whole.memory).items():
        both = _by_lines(found.memory)[lines].plus(_by_lines(part.memory)[lines])
        assert both._replace(peak_bytes=0) == numbers._replace(peak_bytes=0)


def test_a_process_that_began_in_the_window_has_all_its_memory() -> None:
    before, child = example(), random_memory(5)
    parent_pid = before.processes[0].pid
    child.processes = (child.processes[0]._replace(parent_pid=parent_pid),)
    after = merge([child, before])
    found = difference(before, after)
    assert found is not None
    assert memory_of_processes(found.memory).keys() == {0}
    assert total_memory(found.memory)[:4] == total_memory(child.memory)[:4]


# The whole profile.


def test_memory_outside_of_lines_alone_is_no_empty_profile() -> None:
    stats = outside_alone()
    assert not stats.is_empty
    assert LineStats({}, 1e-9).is_empty


def test_names_tell_files_apart_that_only_memory_has() -> None:
    stats = example()
    path = MemoryPath(0, ((("/other/program.py", 1, "f"), 2),))
    stats.memory = stats.memory._replace(paths=(*stats.memory.paths, path))
    assert names_of_profile(stats).file(FILE) == "project/program.py"
    assert names_of_profile(example()).file(FILE) == "program.py"


def test_profiles_of_one_name_and_several_processes_add_up_by_line() -> None:
    one = merge([example(), example()]).memory
    assert Counter(path.process for path in one.paths) == {0: 5, 1: 5}
    assert memory_of_lines(one)[REPLY][7].live_bytes == 80_000


def test_a_profile_keeps_its_memory_when_it_is_copied() -> None:
    stats = example()
    for same in (
        Profile.of(stats),
        stats.with_warnings(["x"]),
        stats.of_functions([SERVE]),
        stats.with_functions([FunctionStats(FILE, "f", 1, ())]),
        stats + LineStats({}, 1e-9),
    ):
        assert same.memory == example_memory.memory()
