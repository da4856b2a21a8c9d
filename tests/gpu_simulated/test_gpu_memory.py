"""Memory of devices by line: what is live, and was at the peak of its pool."""

from __future__ import annotations

import json
import sqlite3
import sys
from typing import TYPE_CHECKING, Any

import pytest
from report_page import Page

from lineprof import LineStats
from lineprof.cli.budget_file import read_budgets
from lineprof.errors import LineprofError
from lineprof.model.difference import difference
from lineprof.model.gpu_memory import memory_pools
from lineprof.model.running_sum import RunningSum
from lineprof.report import VIEWS
from lineprof.report.budgets import outcomes
from lineprof.report.options import Options, parse_gpu_columns
from lineprof.source import Sources
from lineprof.storage.reader import load_columns
from lineprof.storage.schema_gpu import GPU_MEMORY_TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from gpu_rig import Ran, Rig

    from lineprof.model.profile import Profile
    from lineprof.report.budgets import Outcome

pytestmark = pytest.mark.usefixtures("hook")

FLAG = "--gpu-memory"


def pools(profile: Profile) -> dict[tuple[int, str], tuple[int, int, int]]:
    """Return the live bytes and the peak of each pool, and its moment (ns)."""
    return {
        (one.device, one.pool): (
            one.live_bytes,
            one.peak_bytes,
            sum(peak.peak_ns for peak in one.peaks),
        )
        for one in memory_pools(profile.gpu.memory)
    }


def text(profile: Profile, columns: str = "alloc,free,live,peak") -> str:
    """Return the tables with columns of memory, and the lines below them."""
    options = Options(gpu_columns=parse_gpu_columns(columns))
    return "\n".join(VIEWS["text"].render(profile, Sources(profile.sources), options))


def as_json(profile: Profile) -> dict[str, Any]:
    """Return the profile as JSON."""
    lines = VIEWS["json"].render(profile, Sources(profile.sources), Options())
    found: dict[str, Any] = json.loads("\n".join(lines))
    return found


# 100 more at each step up to 600, of which the first has 1/6; one of 50 is freed in
# between, and does not count at the peak.
STAIRCASE = """
@profile
def climb():
    blocks = []
    for step in range(5):
        blocks.append(gpu.fk_malloc(100))  #> alloc=500 peak=500
        tick(10)
        gpu.fk_free(gpu.fk_malloc(50))  #> alloc=250 free=250
        tick(10)
    top = gpu.fk_malloc(100)  #> alloc=100 peak=100 live=100
    tick(10)
    for block in blocks:
        gpu.fk_free(block)  #> free=500
        tick(10)
    return gpu.fk_malloc(30)  #> alloc=30 live=30

climb()
"""


def test_the_columns_are_shown_if_memory_was_recorded(rig: Rig) -> None:
    """Their titles and units tell them from the columns of the host's memory."""
    ran = rig.kernprof(STAIRCASE, FLAG, "--memory", "-v")
    shown = ran.out
    head, row = (
        next(line for line in shown.splitlines() if what in line)
        for what in ("Line #", "blocks.append(")
    )
    titles = ("Alloc", "Live", "Peak", "GPU Alloc", "GPU Live", "GPU Peak")
    places = [head.index(f" {title} ") + len(title) + 1 for title in titles]
    assert places == sorted(places)
    assert [row[place - 9 : place].strip() for place in places[3:]] == [
        "500 B",
        "",
        "500 B",
    ]
    assert "GPU Alloc" not in rig.kernprof(STAIRCASE, "-v").out


@pytest.mark.smoke
def test_each_line_has_its_part_of_the_peak(rig: Rig) -> None:
    """The peak is the first moment at which most bytes are live."""
    stats = rig.check(STAIRCASE, FLAG)
    assert pools(stats) == {(0, "device"): (130, 600, 100)}
    [run] = stats.gpu.memory.runs
    assert run.side_bytes > 0
    assert run._replace(side_bytes=0) == type(run)(process=0)


def test_records_count_by_their_times_not_by_their_arrival(rig: Rig) -> None:
    """Buffers of several threads come in any order."""
    stats = rig.check(STAIRCASE, FLAG, FAKE_CUPTI_REVERSE=1)
    assert pools(stats) == {(0, "device"): (130, 600, 100)}


@pytest.mark.parametrize(
    "knobs",
    [{"FAKE_CUPTI_LATE_MS": 20}, {"FAKE_CUPTI_AT_ONCE": 3}],
    ids=["late", "few"],
)
def test_records_of_memory_may_come_after_the_flush(
    rig: Rig, knobs: dict[str, object]
) -> None:
    """No kernel was launched whose record would be waited for."""
    stats = rig.check(STAIRCASE, FLAG, **knobs)
    assert pools(stats) == {(0, "device"): (130, 600, 100)}


CALLEE = """
@profile
def take(size):
    return gpu.fk_malloc(size)  #> alloc=300 peak=300 live=100

@profile
def release(block):
    gpu.fk_free(block)  #> free=200

@profile
def outer():
    first = take(100)  #> alloc=100 peak=100 live=100
    second = take(200)  #> alloc=200 peak=200
    tick(10)
    release(second)  #> free=200

outer()
"""


def test_a_block_stays_the_line_that_allocated_it(rig: Rig) -> None:
    """Another line frees it: GPU Freed is that line's, GPU Live the first one's."""
    rig.check(CALLEE, FLAG)


THREADS = """
import threading

@profile
def take():
    return [gpu.fk_malloc(100), gpu.fk_malloc(200)]  #> alloc=300 peak=300 live=100

def release(block):
    gpu.fk_free(block)

blocks = take()
tick(10)
thread = threading.Thread(target=release, args=(blocks[1],))
thread.start()
thread.join()
"""


def test_a_thread_without_lines_frees_a_block_of_a_line(rig: Rig) -> None:
    """What it freed is unattributed; the live bytes of the line go down."""
    rig.check(THREADS, FLAG, nowhere="free=200")


PAUSED = """
@profile
def f():
    block = gpu.fk_malloc(100)  #> alloc=100 peak=100
    tick(10)
    gpu.fk_profiler_stop()
    gpu.fk_free(block)
    gpu.fk_malloc(50)
    gpu.fk_profiler_start()

f()
"""


def test_a_block_that_is_freed_while_collection_is_off_is_not_live(rig: Rig) -> None:
    """What is allocated meanwhile is not recorded."""
    rig.check(PAUSED, FLAG)


ADDRESSES = """
@profile
def f():
    first = gpu.fk_malloc_at(0x1000, 100, 3, 0)  #> alloc=100 peak=100
    tick(10)
    gpu.fk_free(0x1000)  #> free=100
    tick(10)
    again = gpu.fk_malloc_at(0x1000, 60, 3, 0)  #> alloc=60 live=60
    tick(10)

f()
"""


@pytest.mark.parametrize("knobs", [{}, {"FAKE_CUPTI_REVERSE": 1}])
def test_an_address_is_that_of_several_blocks(rig: Rig, knobs: dict[str, int]) -> None:
    """A free releases the block that was at its address at that time."""
    rig.check(ADDRESSES, FLAG, **knobs)


POOLS = """
@profile
def f():
    own = gpu.fk_malloc(100)  #> alloc=100 peak=100 live=100
    tick(10)
    pinned = gpu.fk_malloc_at(0, 200, 2, 0)  #> alloc=200 peak=200 live=200
    managed = gpu.fk_malloc_at(0, 300, 5, 0)  #> alloc=300 peak=300
    tick(10)
    gpu.fk_free(managed)  #> free=300
    pooled = gpu.fk_malloc_at(0, 400, 3, 77)  #> alloc=400 peak=400 live=400
    tick(10)
    gpu.fk_set_device(1)
    other = gpu.fk_malloc(500)  #> alloc=500 peak=500 live=500

f()
"""


def test_each_pool_of_each_device_has_its_own_peak(rig: Rig) -> None:
    """A line has the sum of its parts, the report a line for each pool."""
    stats = rig.check(POOLS, FLAG)
    assert pools(stats) == {
        (0, "device"): (100, 100, 0),
        (0, "pinned"): (200, 200, 10),
        (0, "managed"): (0, 300, 10),
        (0, "pool"): (400, 400, 20),
        (1, "device"): (500, 500, 30),
    }
    shown = [line for line in text(stats).splitlines() if line.startswith("GPU 0 ")]
    line = next(n for n, row in enumerate(stats_lines(stats), 1) if "0, 400" in row)
    assert (
        f"GPU 0 memory of the driver's pools: peak 400B at 2e-08 s: 100 % by"
        f" program.py:{line}" in shown
    )
    assert len(shown) == 4


def stats_lines(stats: Profile) -> list[str]:
    """Return the lines of the program."""
    [source] = [one.text for one in stats.sources.values() if one.text]
    return source.splitlines()


BEFORE = """
from lineprof import LineProfiler

old = gpu.fk_malloc(1000)
tick(10)
profile = LineProfiler()

@profile
def f():
    gpu.fk_free(old)
    tick(10)
    new = gpu.fk_malloc(64)

f()
profile.dump_stats("program.lprof")
"""


def test_a_free_of_a_block_from_before_lowers_nothing(rig: Rig) -> None:
    """It is counted, and a line below the tables says so."""
    first = "LineProfiler as First; First()"
    program = f"\nfrom lineprof import {first}\n{BEFORE}"
    ran = rig.python(program, LINEPROF_GPU_MEMORY=1).ok()
    stats = ran.stats()
    assert pools(stats) == {(0, "device"): (64, 64, 10)}
    [run] = stats.gpu.memory.runs
    assert (run.unknown_frees, run.unknown_bytes) == (1, 1000)
    assert "1 block from before recording began (1.0000KB)" in text(stats)


SEVERAL = """
from lineprof import LineProfiler

first = LineProfiler()

@first
def f():
    return gpu.fk_malloc(100)

f()
tick(10)
second = LineProfiler()
second(f)()
first.dump_stats("first.lprof")
second.dump_stats("second.lprof")
"""


def test_each_profiler_has_the_peak_since_it_began(rig: Rig) -> None:
    """Blocks of before are in no number of the later one."""
    ran = rig.python(SEVERAL, LINEPROF_GPU_MEMORY=1).ok()
    first, second = ran.stats("first"), ran.stats("second")
    assert pools(second) == {(0, "device"): (100, 100, 0)}
    assert pools(first) == {(0, "device"): (200, 200, 10)}


def test_json_has_the_peaks_with_their_lines(rig: Rig) -> None:
    """The parts of all lines add up to the peak."""
    stats = rig.check(STAIRCASE, FLAG)
    [pool] = as_json(stats)["gpu"]["memory"]["pools"]
    assert pool["peaks"] == [{"process": 0, "peak_bytes": 600, "peak_ns": 100}]
    assert [one["peak_bytes"] for one in pool["lines"]] == [500, 100]
    assert (pool["device"], pool["pool"], pool["in_lines"]) == (0, "device", True)
    assert pool["live_bytes"] == 130


def test_the_sum_of_many_ranks_has_the_sum_of_their_peaks(rig: Rig) -> None:
    """A device of the same number and name is one, with the peaks of all."""
    rig.check(STAIRCASE, FLAG)
    total = RunningSum()
    for _ in range(3):
        total.add(*load_columns(rig.folder / "program.lprof"))
    stats = total.profile()
    assert pools(stats) == {(0, "device"): (390, 1800, 300)}
    assert [peak.process for peak in stats.gpu.memory.peaks] == [0, 1, 2]
    assert "GPU 0 memory: peak 1.8000KB: 83 % by program.py:9" in text(stats)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE gpu_memory_sums SET path_id = 99",
        "UPDATE gpu_memory_sums SET device_id = 99",
        "UPDATE gpu_memory_sums SET freed_bytes = alloc_bytes + 1",
        "UPDATE gpu_memory_sums SET peak_bytes = alloc_bytes + 1",
        "UPDATE gpu_memory_sums SET peak_bytes = -1",
        "UPDATE gpu_memory_peaks SET peak_ns = 'late'",
        "UPDATE gpu_memory_runs SET process_id = 7",
        "UPDATE gpu_memory_runs SET is_cut = 2",
        "DROP TABLE gpu_memory_peaks",
    ],
)
def test_damaged_memory_is_no_profile(rig: Rig, statement: str) -> None:
    """A reader trusts no number of a file."""
    rig.check(ADDRESSES, FLAG)
    file = rig.folder / "program.lprof"
    with sqlite3.connect(file) as db:
        db.execute(statement)
    db.close()
    with pytest.raises(LineprofError, match="damaged"):
        LineStats.from_files(file)


def test_two_programs_are_compared_by_their_peaks(rig: Rig, tmp_path: Path) -> None:
    """The difference has a line for each pool, JSON both numbers."""
    rig.check(ADDRESSES, FLAG)
    file = (rig.folder / "program.lprof").rename(tmp_path / "first.lprof")
    rig.check(STAIRCASE, FLAG)
    files = [str(file), str(rig.folder / "program.lprof")]
    shown = rig.run(["-m", "lineprof", "diff", *files]).out
    assert "GPU 0 memory: peak 100B before, 600B after" in shown.splitlines()
    found = json.loads(rig.run(["-m", "lineprof", "diff", "--json", *files]).out)
    assert found["gpu_memory"] == [
        {"device": 0, "pool": "device", "before": 100.0, "after": 600.0}
    ]
    page = tmp_path / "diff.html"
    rig.run(["-m", "lineprof", "diff", "--html", str(page), *files])
    data = Page(page.read_text(encoding="utf-8")).data
    assert data["gpuMemory"] == [["GPU 0 memory", 100, 600]]


def test_a_peak_may_be_as_much_above_that_of_a_baseline(
    rig: Rig, tmp_path: Path
) -> None:
    rig.check(ADDRESSES, FLAG)
    first = (rig.folder / "program.lprof").rename(tmp_path / "first.lprof")
    rig.check(STAIRCASE, FLAG)
    second = rig.folder / "program.lprof"
    flags = ("--max-slowdown", "9999999%", "--max-growth")

    def check(baseline: Path, after: Path, growth: str) -> tuple[int | str, str]:
        files = ["--baseline", str(baseline), str(after)]
        ran = rig.run(["-m", "lineprof", "check", *flags, growth, *files])
        return ran.status, ran.out

    assert check(first, second, "500%") == (0, "")
    assert check(second, first, "0%") == (0, "")
    status, out = check(first, second, "499%")
    assert status == 1
    assert out == (
        "program.py:1: error: GPU 0 memory, peak 600 B, 6.0 times as much: 100 B in the"
        " baseline; 499 % more are allowed\n"
    )


def test_counts_between_two_moments_have_what_memory_grew_by(rig: Rig) -> None:
    """Peaks are no counts, and are left out."""
    ran = rig.python(GROWING, LINEPROF_GPU_MEMORY=1).ok()
    before, after = ran.stats("before"), ran.stats("after")
    more = difference(before, after)
    assert more
    [one] = more.gpu.memory.sums
    assert (one.allocs, one.alloc_bytes, one.live_bytes) == (1, 100, 0)
    assert not more.gpu.memory.peaks


GROWING = """
from lineprof import LineProfiler

profile = LineProfiler()
blocks = []

@profile
def f():
    blocks.append(gpu.fk_malloc(100))

f()
tick(10)
profile.dump_stats("before.lprof")
f()
tick(10)
gpu.fk_free(blocks[0])
profile.dump_stats("after.lprof")
"""


def test_the_page_has_the_columns_and_the_peak(rig: Rig) -> None:
    """The columns can be chosen, the peak is a sentence of the summary."""
    stats = rig.check(STAIRCASE, FLAG)
    page = Page(
        "\n".join(VIEWS["html"].render(stats, Sources(stats.sources), Options()))
    )
    found = {row["line"]: row for row in page.rows("lines")}
    first = next(n for n, row in enumerate(stats_lines(stats), 1) if "append" in row)
    names = ("allocBytes", "freeBytes", "gpuLive", "gpuPeak")
    assert [found[first][name] for name in names] == [500, 0, 0, 500]
    assert page.data["gpu"]["memory"] == [
        f"GPU 0 memory: peak 600B at 1e-07 s: 83 % by program.py:{first}"
    ]


def budget_of(folder: Path, text: str, *runs: LineStats) -> Outcome:
    """Return the outcome of the only budget of a file."""
    file = folder / "budgets.toml"
    file.write_text(text, encoding="utf-8")
    whole = LineStats.from_stats_objects(*runs) if len(runs) > 1 else runs[0]
    budgets = read_budgets(str(file))
    [one] = outcomes(runs, whole, Sources(whole.sources), budgets)
    return one


@pytest.mark.parametrize(
    ("table", "key", "size"),
    [
        ("[program]", "max_gpu_alloc", 880),
        ("[program]", "max_gpu_live", 130),
        ("[program]", "max_gpu_peak", 600),
        ("[[function]]\nname = 'climb'", "max_gpu_alloc", 880),
        ("[[function]]\nname = 'climb'", "max_gpu_live", 130),
        ("[[function]]\nname = 'climb'", "max_gpu_peak", 600),
        ("[[line]]\nfile = 'program.py'\ntext = 'append'", "max_gpu_alloc", 500),
        ("[[line]]\nfile = 'program.py'\ntext = 'append'", "max_gpu_live", 0),
        ("[[line]]\nfile = 'program.py'\ntext = 'append'", "max_gpu_peak", 500),
    ],
)
def test_a_budget_of_device_memory_holds_up_to_its_value(
    rig: Rig, tmp_path: Path, table: str, key: str, size: int
) -> None:
    stats = rig.check(STAIRCASE, FLAG)
    for runs in ((stats,), (stats, stats)):
        one = budget_of(tmp_path, f"{table}\n{key} = '{size} B'", *runs)
        assert (one.status, one.value) == ("holds", size)
    if size:
        one = budget_of(tmp_path, f"{table}\n{key} = '{size - 1} B'", stats)
        assert (one.status, one.value) == ("exceeded", size)
        assert f"{size} B exceeds its budget of {size - 1} B" in one.message
        assert "GPU memory" in one.message


def test_a_budget_of_unknown_device_memory_says_how_to_record_it(
    rig: Rig, tmp_path: Path
) -> None:
    program = "@profile\ndef f():\n    gpu.fk_launch(b'k', 0, 1)\nf()\n"
    stats = rig.kernprof(program).ok().stats()
    one = budget_of(tmp_path, "[program]\nmax_gpu_peak = '1 MB'", stats)
    assert one.status == "unknown"
    assert one.message.endswith("profile the program with kernprof -l --gpu-memory")


NO_MEMORY = "cuptiActivityEnable/49"


def refused(ran: Ran) -> LineStats:
    """Return the profile of a run whose flag was refused."""
    assert ran.status == 0
    [warning] = ran.stats().warnings
    assert "allocations of the device (--gpu-memory) are not recorded" in warning
    return ran.stats()


def test_a_refused_kind_leaves_the_columns_out(rig: Rig) -> None:
    """They are unknown, not 0."""
    stats = refused(rig.kernprof(STAIRCASE, FLAG, FAKE_CUPTI_FAIL=NO_MEMORY))
    assert not stats.gpu.memory.is_known
    assert "memory" not in as_json(stats)["gpu"]
    assert "Live MB" not in text(stats)


def test_old_profiles_have_no_such_columns(rig: Rig) -> None:
    """Files of earlier versions lack the tables."""
    stats = rig.check(STAIRCASE, FLAG)
    assert "GPU Live" in text(stats)
    old = rig.folder / "program.lprof"
    with sqlite3.connect(old) as db:
        for table in GPU_MEMORY_TABLES:
            db.execute(f"DROP TABLE {table.name}")
    db.close()
    stats = LineStats.from_files(old)
    shown = text(stats)
    assert "GPU Alloc" in shown
    assert "GPU Live" not in shown
    assert "GPU Peak" not in shown
    assert "gpu_live_bytes" not in json.dumps(as_json(stats))


def test_merged_processes_have_the_sum_of_their_peaks(rig: Rig, tmp_path: Path) -> None:
    """The devices stay apart, the numbers of a line are added up."""
    rig.check(STAIRCASE, FLAG)
    file = (rig.folder / "program.lprof").rename(tmp_path / "first.lprof")
    rig.check(STAIRCASE, FLAG)
    stats = LineStats.from_files(file, rig.folder / "program.lprof")
    known = (130, 600, 100)
    assert pools(stats) == {(0, "device"): known, (1, "device"): known}
    merged = tmp_path / "merged.lprof"
    stats.to_file(merged)
    assert pools(LineStats.from_files(merged)) == pools(stats)
    [row] = [one for one in as_json(stats)["functions"] if one["name"] == "climb"]
    peaks = {one["line"]: one.get("gpu_peak_bytes", 0) for one in row["lines"]}
    assert sum(peaks.values()) == 1200


# -- PyTorch's allocator -----------------------------------------------------------

# PyTorch's modules as far as lineprof uses them, with the structure of
# torch.cuda.memory._snapshot of version 2.9.
TORCH = {
    "torch/__init__.py": """
from torch import _C, cuda
""",
    "torch/_C.py": """
enabled = False

def _cuda_isHistoryEnabled():
    return enabled
""",
    "torch/cuda/__init__.py": """
_queued, ready = [], False

def _lazy_call(function):
    function() if ready else _queued.append(function)

def init():
    global ready
    ready = True
    for function in _queued:
        function()

def get_device_name(number):
    return f"Device {number}"

from torch.cuda import memory
""",
    "torch/cuda/memory.py": """
import sys, time
from torch import _C

traces, most = [[], []], 0

def _record_memory_history(enabled="all", context="all", stacks="all",
                           max_entries=sys.maxsize):
    global most
    _C.enabled, most = bool(enabled), max_entries
    with open("calls.txt", "a") as file:
        print(enabled, context, stacks, max_entries, file=file)

def _snapshot(device=None):
    return {"segments": [], "device_traces": traces}

def act(action, addr, size, device=0, python=True):
    frame, frames = sys._getframe(1) if python else None, []
    while frame:
        code = frame.f_code
        frames.append({"filename": code.co_filename, "line": frame.f_lineno,
                       "name": code.co_name})
        frame = frame.f_back
    if _C.enabled:
        traces[device].append({"action": action, "addr": addr, "size": size,
                               "stream": 0, "frames": frames,
                               "time_us": time.time_ns() // 1000})
        del traces[device][:-most]
""",
}
STEPS = """
import torch
from torch.cuda.memory import act

@profile
def layer(at, size):
    act("alloc", at, size)  #> alloc=1500 peak=1500 live=500

@profile
def train():
    layer(1, 500)  #> alloc=500 peak=500 live=500
    layer(2, 1000)  #> alloc=1000 peak=1000
    act("free_requested", 2, 1000)  #> free=1000
    act("free_completed", 2, 1000)
    act("segment_alloc", 99, 5000)
    gpu.fk_malloc(4000)
    act("alloc", 2, 200)  #> alloc=200 live=200

act("alloc", 7, 64)
torch.cuda.init()
train()
"""


def write_torch(rig: Rig) -> None:
    """Write the modules beside the program."""
    for name, module in TORCH.items():
        file = rig.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(module, encoding="utf-8")


def test_lines_have_the_blocks_of_pytorchs_allocator(rig: Rig) -> None:
    """The driver's memory, which has the same bytes, is in a line of its own."""
    write_torch(rig)
    stats = rig.check(STEPS, FLAG, "torch", fresh=True)
    found = {key: value[:2] for key, value in pools(stats).items()}
    assert found == {(0, "torch"): (700, 1500), (0, "device"): (4000, 4000)}
    shown = text(stats)
    assert "GPU 0 memory of PyTorch: peak 1.5000KB at " in shown
    assert "GPU 0 memory from the driver (not in the columns): peak 4.0000KB" in shown
    flags = [one["in_lines"] for one in as_json(stats)["gpu"]["memory"]["pools"]]
    assert flags == [False, True]


# Threads of autograd have no frames of Python.
BACKWARD = """
import torch
from torch.cuda.memory import act

def native(action, addr, size):
    act(action, addr, size, python=False)

def backward():
    native("alloc", 3, 500)
    tick(999_000)
    gpu.fk_launch_from_native_thread(b"grad", 5, 1)
    tick(999_000)
    native("alloc", 4, 200)
    native("free_requested", 3, 500)
    tick(2_000)
    native("alloc", 5, 20)

@profile
def train():
    act("alloc", 1, 1000)  #> alloc=1000 peak=1000 live=1000
    native("alloc", 2, 10)
    tick(1_002_000)
    backward()  #> time=2000000 adopted=5 gpu=5 kernels=1 BYTES
    act("alloc", 6, 40)  #> alloc=40 live=40
    gpu.fk_launch(b"k", 0, 5)  #> gpu=5 kernels=1

torch.cuda.init()
train()
act("alloc", 7, 64)
"""


def test_blocks_of_autograd_are_on_the_line_that_its_launches_have(rig: Rig) -> None:
    """That is the line of the next one, or of the last, within 1 ms."""
    write_torch(rig)
    knobs = {"fresh": True, "FROZEN_CLOCK_REALTIME": "1"}
    program = BACKWARD.replace("BYTES", "alloc=700 free=500 peak=700 live=200")
    nowhere = "alloc=94 live=94 peak=10"
    stats = rig.check(program, FLAG, "torch", nowhere=nowhere, **knobs)
    assert pools(stats)[0, "torch"][:2] == (1334, 1710)


def calls(rig: Rig) -> list[str]:
    """Return the arguments with which the history was switched, in order."""
    return (rig.folder / "calls.txt").read_text(encoding="utf-8").splitlines()


def test_blocks_of_pytorch_are_compared_with_such_blocks_alone(
    rig: Rig, tmp_path: Path
) -> None:
    """A profile without them does not say that there were none."""
    write_torch(rig)
    rig.kernprof(STEPS, FLAG, "torch", fresh=True).ok()
    with_them = str((rig.folder / "program.lprof").rename(tmp_path / "with.lprof"))
    rig.kernprof(STEPS, FLAG, fresh=True).ok()
    without = str(rig.folder / "program.lprof")
    for files, lines in (((with_them, without), 1), ((with_them, with_them), 2)):
        shown = rig.run(["-m", "lineprof", "diff", *files]).out
        assert (
            sum(" before, " in one and "GPU 0" in one for one in shown.splitlines())
            == lines
        )


def test_pytorchs_history_is_off_again_at_the_end(rig: Rig) -> None:
    """It begins when PyTorch initialises CUDA, and not before."""
    write_torch(rig)
    rig.check(STEPS, FLAG, "torch", fresh=True)
    assert calls(rig) == ["all all python 200000", f"None all all {sys.maxsize}"]


def test_a_history_of_the_programs_own_is_left_alone(rig: Rig) -> None:
    """Its blocks are not used, and a warning says so."""
    write_torch(rig)
    own = "torch.cuda.memory._record_memory_history(max_entries=5)\ntorch.cuda.init()"
    program = STEPS.replace("torch.cuda.init()", own)
    stats = rig.kernprof(program, FLAG, "torch", fresh=True).stats()
    assert calls(rig) == ["all all all 5"]
    [warning] = stats.warnings
    assert "PyTorch's memory history is on already" in warning
    assert {pool for _, pool in pools(stats)} == {"device"}


def test_a_full_history_has_a_note(rig: Rig) -> None:
    """PyTorch overwrites its first events."""
    write_torch(rig)
    program = "import lineprof.recording.torch_memory as t\nt._EVENTS = 3\n" + STEPS
    ran = rig.kernprof(program, FLAG, "torch", fresh=True)
    stats = ran.stats()
    assert "PyTorch's history was full" in text(stats)


def test_without_pytorch_the_flag_is_as_without_torch(rig: Rig) -> None:
    """PyTorch is not imported for it."""
    stats = rig.check(STAIRCASE, "--gpu-memory=torch", fresh=True)
    assert pools(stats) == {(0, "device"): (130, 600, 100)}


ODD = {
    "no action": "{}",
    "no size": '{"action": "alloc", "addr": 1, "frames": []}',
    "no event": "None",
    "a text as size": '{"action": "alloc", "addr": 1, "size": "x"}',
    "half a byte": '{"action": "alloc", "addr": 1, "size": 0.5}',
    "a negative size": '{"action": "alloc", "addr": 1, "size": -5}',
    "a huge size": '{"action": "alloc", "addr": 1, "size": 1 << 70}',
    "a huge size of a free": '{"action": "free_requested", "addr": 1, "size": 1 << 70}',
    "a huge time": '{"action": "alloc", "addr": 1, "size": 5, "time_us": 1 << 80}',
    "a text as time": '{"action": "alloc", "addr": 1, "size": 5, "time_us": "now"}',
    "a frame of nothing": '{"action": "alloc", "addr": 1, "size": 5, "frames": [{}]}',
}


@pytest.mark.parametrize("event", ODD.values(), ids=ODD)
def test_an_odd_history_costs_only_the_blocks_of_pytorch(rig: Rig, event: str) -> None:
    """Another version may have another structure: a warning says that it is so."""
    write_torch(rig)
    program = STEPS + f"\ntorch.cuda.memory.traces = [[{event}]]\n"
    stats = rig.kernprof(program, FLAG, "torch", fresh=True).ok().stats()
    [warning] = stats.warnings
    assert "PyTorch's memory history cannot be used: " in warning
    assert {pool for _, pool in pools(stats)} == {"device"}


def test_a_failing_history_has_a_warning_of_one_line(rig: Rig) -> None:
    """Errors of PyTorch's may have many."""
    write_torch(rig)
    program = (
        STEPS
        + """
def fail():
    raise RuntimeError("first\\n  second")
torch.cuda.memory._snapshot = fail
"""
    )
    stats = rig.kernprof(program, FLAG, "torch", fresh=True).ok().stats()
    assert list(stats.warnings) == [
        "PyTorch's memory history cannot be used: RuntimeError: first second"
    ]


def test_a_forked_child_has_no_history(rig: Rig) -> None:
    """Nobody would read it; in the parent it begins as ever."""
    write_torch(rig)
    child = """
import os
import torch
child = os.fork()
if child == 0:
    torch.cuda.init()
    os._exit(torch._C.enabled)
print(os.waitpid(child, 0)[1])
"""
    ran = rig.kernprof(child, FLAG, "torch", ready=False, fresh=True)
    assert (ran.status, ran.out) == (0, "0\n")
    assert not (rig.folder / "calls.txt").exists()
