"""Small files that stand for much work: bounded time and memory, or a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bombs
import pytest

from lineprof.model import rank_spread
from lineprof.storage import load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = pytest.mark.once  # loops and memory are the same with each Python

SECONDS = 60  # of CPU: a small part of it is usual

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
    seconds: float = SECONDS,
    memory: int = MEMORY,
) -> None:
    """Run views and exports of a file with limits."""
    assert Path(file).stat().st_size < 8_000_000
    for command, done in zip(commands, run(folder, file, commands), strict=True):
        assert done.memory < memory, (command, done)
        assert done.seconds < seconds, (command, done)
        assert done.status == 0, (command, done)


def run(folder: Path, file: str, commands: Sequence[list[str]]) -> list[bombs.Outcome]:
    """Run views and exports of a file."""
    return bombs.run(folder, *([*command, file] for command in commands))


# A quarter of the size takes a sixteenth of the time and of the memory if each object
# is compared with each other one: with a smaller file, the limits are smaller.


def test_a_chain_of_c_functions_is_bounded(tmp_path: Path) -> None:
    file = bombs.c_chain(tmp_path, 8_000)
    check(tmp_path, file, OF_CALLS, seconds=9, memory=80_000_000)


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: bombs.c_chain(folder, 2_000, lines=2_000),
        lambda folder: bombs.c_fan(folder, 2_000),
    ],
    ids=["chain of many lines", "fan"],
)
def test_c_functions_between_many_lines_are_bounded(
    tmp_path: Path, make: Callable[[Path], str]
) -> None:
    commands = [["view", "--json"], DRILL, CALLERS]
    check(tmp_path, make(tmp_path), commands, seconds=15, memory=120_000_000)


def test_names_of_files_with_long_paths_are_bounded(tmp_path: Path) -> None:
    file = bombs.deep_names(tmp_path, files=40, parts=40_000)
    commands = [["view", "--functions"], ["view", "--tree"], export("callgrind")]
    check(tmp_path, file, commands)


def test_kernels_at_the_end_of_a_long_call_path_are_bounded(tmp_path: Path) -> None:
    file = bombs.long_path(tmp_path, lines=5_000, sums=5_000)
    commands = [["view"], ["view", "--json"], export("pprof")]
    check(tmp_path, file, commands, seconds=15, memory=120_000_000)
    [done] = run(tmp_path, file, [TOP_KERNELS])
    assert done.status == 1
    [line] = done.err.splitlines()
    assert line.startswith("lineprof: ")
    assert (done.seconds < 15, done.memory < 120_000_000) == (True, True)


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
    for done in run(tmp_path, file, [["view"], export("chrome")]):
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
    file = make(tmp_path, 80_000)  # one full batch, and a part
    check(tmp_path, file, commands, seconds=15, memory=150_000_000)


@pytest.mark.parametrize(
    "commands",
    [
        [["view"], ["view", "--by", "rank"], ["view", "--ranks"]],
        [
            ["view", "--by", "rank", "--matrix"],
            ["merge", "--sums", "-o", "all.lprof"],
        ],
    ],
    ids=["tables", "matrix and merge"],
)
def test_many_lines_of_many_ranks_are_bounded(
    tmp_path: Path, commands: list[list[str]]
) -> None:
    file = bombs.rank_noise(tmp_path, ranks=80, lines=16_384)
    check(tmp_path, file, commands, seconds=15, memory=85_000_000)


def test_few_numbers_of_many_lines_of_many_ranks_are_there_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = load(bombs.rank_noise(tmp_path, ranks=32, lines=20_000))
    at_once = []
    joined = rank_spread._joined

    def seen(
        before: list[rank_spread.Spread],
        ranks: Sequence[int],
        numbers: Sequence[Sequence[int]],
    ) -> list[rank_spread.Spread]:
        at_once.append(sum(map(len, numbers)))
        return joined(before, ranks, numbers)

    monkeypatch.setattr(rank_spread, "_joined", seen)
    assert len(rank_spread.line_spreads(profile.ranks)) == 20_000
    assert sum(at_once) == 3 * 32 * 20_000  # times, without communication, own
    assert max(at_once) <= 500_000
