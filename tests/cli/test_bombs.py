"""Small files that stand for much work: bounded time and memory, or a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bombs
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = pytest.mark.once  # loops and memory are the same with each Python

SECONDS = 60  # of CPU: a quarter of it is usual

MEMORY = 500_000_000  # bytes

DRILL = ["view", "--drill", "outer", "--depth", "99", "--min-percent", "0"]

CALLERS = ["view", "--callers", "inner"]

TOP_KERNELS = ["view", "--gpu-columns", "all", "--top-kernels", "5"]


def export(name: str) -> list[str]:
    """Return the command line of an export."""
    return ["export", "-o", "-", "-f", name]


OF_CALLS = [
    *(["view", f"--{name}"] for name in ("json", "tree", "functions")),
    *(DRILL, CALLERS),
    *(export(name) for name in ("callgrind", "collapsed", "sqlite", "speedscope")),
]


def check(
    folder: Path,
    file: str,
    commands: Sequence[list[str]],
    *,
    may_refuse: bool = False,
    memory: int = MEMORY,
) -> set[int]:
    """Run views and exports of a file with limits; return their statuses."""
    assert Path(file).stat().st_size < 8_000_000
    statuses = set()
    for command in commands:
        done = bombs.run(folder, *command, file)
        assert done.memory < memory, (command, done)
        assert done.seconds < SECONDS, (command, done)
        assert done.status in ({0, 1} if may_refuse else {0}), (command, done)
        if done.status:
            (line,) = done.err.splitlines()
            assert line.startswith("lineprof: ")
        statuses.add(done.status)
    return statuses


def test_a_chain_of_c_functions_is_bounded(tmp_path: Path) -> None:
    assert check(tmp_path, bombs.c_chain(tmp_path, 20_000), OF_CALLS) == {0}


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: bombs.c_chain(folder, 4_000, lines=4_000),
        lambda folder: bombs.c_fan(folder, 4_000),
    ],
    ids=["chain of many lines", "fan"],
)
def test_c_functions_between_many_lines_are_bounded(
    tmp_path: Path, make: Callable[[Path], str]
) -> None:
    commands = [["view", "--json"], DRILL, CALLERS]
    assert check(tmp_path, make(tmp_path), commands) == {0}


def test_names_of_files_with_long_paths_are_bounded(tmp_path: Path) -> None:
    file = bombs.deep_names(tmp_path, files=40, parts=40_000)
    commands = [["view", "--functions"], ["view", "--tree"], export("callgrind")]
    assert check(tmp_path, file, commands) == {0}


def test_kernels_at_the_end_of_a_long_call_path_are_bounded(tmp_path: Path) -> None:
    file = bombs.long_path(tmp_path, lines=10_000, sums=10_000)
    commands = [["view"], ["view", "--json"], export("pprof")]
    assert check(tmp_path, file, commands) == {0}
    assert check(tmp_path, file, [TOP_KERNELS], may_refuse=True) == {1}


@pytest.mark.parametrize(
    "make",
    [
        bombs.zero_events,
        bombs.zero_slices,
        lambda folder, count: bombs.zero_events(folder, count, ["kind"]),
    ],
    ids=["events", "slices", "packed zeros"],
)
def test_events_without_data_are_refused(
    tmp_path: Path, make: Callable[[Path, int], str]
) -> None:
    file = make(tmp_path, 100_000_000)
    assert Path(file).stat().st_size < 10_000_000
    for command in (["view"], ["export", "-o", "-", "-f", "chrome"]):
        done = bombs.run(tmp_path, *command, file)
        assert done.status == 1
        assert done.err.startswith(f"lineprof: {file} is damaged (the t")
        assert done.err.endswith(" bytes); record it again\n")
        assert done.err.count("\n") == 1
        assert done.memory < MEMORY


@pytest.mark.parametrize("make", [bombs.zero_events, bombs.zero_slices])
def test_events_without_data_that_are_accepted_are_bounded(
    tmp_path: Path, make: Callable[[Path, int], str]
) -> None:
    commands = [["view"], ["view", "--gpu-trace"], export("chrome"), export("perfetto")]
    assert check(tmp_path, make(tmp_path, 300_000), commands) == {0}


def test_many_lines_of_many_ranks_are_bounded(tmp_path: Path) -> None:
    file = bombs.rank_noise(tmp_path, 80)
    output = str(tmp_path / "all.lprof")
    commands = [
        *(["view", *flags] for flags in ([], ["--ranks"], ["--by", "rank"])),
        ["view", "--by", "rank", "--matrix"],
        ["merge", "--sums", "-o", output],
    ]
    assert check(tmp_path, file, commands, memory=MEMORY // 2) == {0}
