"""Programs made at random: the memory of devices by line is that of a simple model."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from gpu_rig import by_line

from lineprof.model.gpu_memory import memory_pools

if TYPE_CHECKING:
    from gpu_rig import Rig

    from lineprof.model.profile import Profile

pytestmark = pytest.mark.usefixtures("hook")

Pool = tuple[int, str]  # device and name

KINDS = {"device": (3, 0), "pinned": (2, 0), "managed": (5, 0), "pool": (3, 77)}
ORDERS: list[dict[str, object]] = [
    {},
    {"FAKE_CUPTI_REVERSE": 1},
    {"FAKE_CUPTI_BUFFER_LIMIT": 300},
    {"FAKE_CUPTI_AT_ONCE": 7, "FAKE_CUPTI_REVERSE": 1},
    {"FAKE_CUPTI_LATE_MS": 5},
]


@dataclass(frozen=True)
class Block:
    """A block of memory."""

    line: int
    pool: Pool
    size: int
    start: int  # number of profilers that had begun before it
    is_known: bool  # false if collection was off


@dataclass
class Expected:
    """The numbers of one profiler, by the line and by the pool."""

    number: int
    lines: dict[int, Counter[str]] = field(default_factory=dict)
    live: dict[Pool, Counter[int]] = field(default_factory=dict)
    peaks: dict[Pool, Counter[int]] = field(default_factory=dict)
    unknown: tuple[int, int] = (0, 0)  # frees and their bytes

    def of(self, line: int) -> Counter[str]:
        return self.lines.setdefault(line, Counter())

    def add(self, block: Block) -> None:
        self.of(block.line)["alloc"] += block.size
        live = self.live.setdefault(block.pool, Counter())
        live[block.line] += block.size
        if live.total() > self.peaks.get(block.pool, Counter()).total():
            self.peaks[block.pool] = live.copy()

    def free(self, line: int, block: Block, *, collects: bool) -> None:
        if collects:
            self.of(line)["free"] += block.size
        if block.is_known and block.start >= self.number:
            self.live[block.pool][block.line] -= block.size
        else:
            frees, size = self.unknown
            self.unknown = (frees + 1, size + block.size)

    def words(self) -> dict[int, dict[str, str]]:
        """Return the numbers as those of marks."""
        found = {line: Counter(words) for line, words in self.lines.items()}
        for name, parts in (("live", self.live), ("peak", self.peaks)):
            for lines in parts.values():
                for line, size in lines.items():
                    found[line][name] += size
        return {
            line: {name: str(size) for name, size in words.items() if size}
            for line, words in found.items()
        }

    def pools(self) -> dict[Pool, tuple[int, int]]:
        """Return the live bytes and the peak of each pool."""
        return {
            pool: (live.total(), self.peaks[pool].total())
            for pool, live in self.live.items()
        }


class Maker:
    """A program, and the numbers that are expected of it."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self.text = ["import threading", "from lineprof import LineProfiler"]
        self.profilers: list[Expected] = []
        self._blocks: dict[int, Block] = {}  # by address
        self._collects = True

    def make(self) -> str:
        """Return the program, which writes 0.lprof, 1.lprof, ..."""
        wrapped = "{}"
        for number in range(self._chance.choice([1, 2, 3])):
            self.text += ["tick(1)", f"profile_{number} = LineProfiler()"]
            self.profilers.append(Expected(number))
            wrapped = f"profile_{number}({wrapped})"
            for _ in range(self._chance.choice([1, 4])):
                self._function(wrapped)
        self.text += [
            f"profile_{one.number}.dump_stats('{one.number}.lprof')"
            for one in self.profilers
        ]
        return "\n".join(self.text) + "\n"

    def _function(self, wrapped: str) -> None:
        """Add a function, called by this thread or another one."""
        self.text.append("def f():")
        for _ in range(self._chance.choice([3, 30])):
            self._line()
        call = wrapped.format("f")
        if self._chance.random() < 0.4:
            self.text += [f"thread = threading.Thread(target={call})"]
            self.text += ["thread.start()", "thread.join()"]
        else:
            self.text.append(f"{call}()")

    def _line(self) -> None:
        """Add a line: the clock may stand still between two of them."""
        chance = self._chance
        if chance.random() < 0.5:
            self.text.append(f"    tick({chance.choice([1, 1000])})")
        if chance.random() < 0.06:
            self._collects = not self._collects
            self.text.append(
                f"    gpu.fk_profiler_{'start' if self._collects else 'stop'}()"
            )
        device = chance.randrange(2)
        if self._blocks and chance.random() < 0.45:
            address = chance.choice(list(self._blocks))
            call = f"gpu.fk_free({address})"
            block = self._blocks.pop(address)
            for one in self.profilers:
                one.free(self._next_line, block, collects=self._collects)
        else:
            name, size = chance.choice(list(KINDS)), chance.randrange(1, 1 << 33)
            address = chance.choice(
                [0x1000 * n for n in range(1, 60) if 0x1000 * n not in self._blocks]
            )
            call = "gpu.fk_malloc_at({}, {}, {}, {})".format(
                address, size, *KINDS[name]
            )
            block = Block(
                line=self._next_line,
                pool=(device, name),
                size=size,
                start=len(self.profilers) - 1,
                is_known=self._collects,
            )
            self._blocks[address] = block
            for one in self.profilers:
                if self._collects:
                    one.add(block)
        self.text.append(f"    gpu.fk_set_device({device}); {call}")

    @property
    def _next_line(self) -> int:
        return len(self.text) + 1


def pools(profile: Profile) -> dict[Pool, tuple[int, int]]:
    """Return the live bytes and the peak of each pool."""
    return {
        (one.device, one.pool): (one.live_bytes, one.peak_bytes)
        for one in memory_pools(profile.gpu.memory)
    }


@pytest.mark.parametrize("seed", range(20))
def test_memory_of_a_program_made_at_random(rig: Rig, seed: int) -> None:
    """A profiler has the blocks since it began, in whatever order records come."""
    maker = Maker(seed)
    program = maker.make()
    cupti = ("fake_cupti", "fake_cupti_13_3")[seed % 2]
    ran = rig.python(
        program, cupti=cupti, LINEPROF_GPU_MEMORY=1, **ORDERS[seed % len(ORDERS)]
    ).ok()
    shift = ran.text.count("\n") - program.count("\n")  # lines before the program
    for one in maker.profilers:
        stats = ran.stats(str(one.number))
        found = {line - shift: words for line, words in by_line(stats.gpu).items()}
        for words in found.values():
            words.pop("wait", None)
        assert found == one.words()
        assert pools(stats) == one.pools()
        [run] = stats.gpu.memory.runs
        assert (run.unknown_frees, run.unknown_bytes) == one.unknown
        assert (run.late, run.lost) == (0, 0)
