"""An example profile with GPU data, for tests of views, exports and files.

Totals of its lines; other totals are constants further down:

    line of fit()     gpu_ns           self_ns  what
    34 step(...)      8_150_000              0  all that step() did
    35 backward(...)  3_000_000      3_000_000  adopted from threads of C code
    36 item()                 0              0  a copy, and a wait of 4_100_000 ns
    37 replay()       1_000_000      1_000_000  of a graph captured at line 22
    38 upload(...)       50_000              0
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import example_stats

from lineprof.line_stats import LineStats
from lineprof.model.gpu import (
    NO_DEVICE,
    NO_PATH,
    Gpu,
    GpuDevice,
    GpuPath,
    GpuRun,
    GpuSum,
)
from lineprof.model.gpu_memory import (
    GpuMemory,
    GpuMemoryPeak,
    GpuMemoryRun,
    GpuMemorySum,
)
from lineprof.model.records import (
    FunctionStats,
    SourceFile,
    Thread,
    ThreadLine,
)
from lineprof.model.timelines import EVENT_COLUMNS, Launch, Timeline, pack_events
from lineprof.source_files import text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = "/project/model.py"
TEXT = '''\
"""A model that is trained on a GPU."""

import torch


def upload(batch):
    batch = batch.pin_memory()
    batch = batch.to("cuda", non_blocking=True)
    mask = torch.zeros(4096, device="cuda")
    return batch, mask


def tree(node):
    if node.leaf:
        return node.weight @ node.value
    left = tree(node.left)
    return left + tree(node.right)


def step(model, batch):
    x = torch.relu(batch)
    y = model.layer(x)
    root = tree(model.tree)
    return y + root


def quiet(n):
    total = sum(range(n))
    return total


def fit(model, batches):
    for batch in batches:
        loss = step(model, batch)
        loss.backward()
        value = loss.item()
        model.graph.replay()
        upload(batch)
    return value
'''

UPLOAD = (FILE, 6, "upload")
TREE = (FILE, 13, "tree")
STEP = (FILE, 20, "step")
QUIET = (FILE, 27, "quiet")
FIT = (FILE, 32, "fit")

# Names as compilers make them, and one that cannot be demangled.
GEMM = "_Z4gemmPKfS0_Pfi"  # gemm(float const*, float const*, float*, int)
RELU = "_ZN2at6native4reluIfEEvPT_i"  # void at::native::relu<float>(float*, int)
ADD = "triton_poi_fused_add_0"
EVIL = "evil\x1b[2J kernel — 損失"

PROCESS = example_stats.PROCESS._replace(
    argv=("model.py",),
    python="CPython 3.12.1",
    wall_ns=25_000_000,
    overhead_ns=1_200,
    version="0.2.0",
)
THREADS = (Thread(0, 4711, "MainThread"), Thread(0, 4720, "uploader"))

# Indices in Gpu.paths.
IN_RELU, IN_LAYER, LEAF, DEEP, ADDED, BACKWARD, ITEM, REPLAY, TO, ZEROS, WORKER = range(
    11
)
PATHS = (
    GpuPath(0, False, ((FIT, 34), (STEP, 21)), 3_000_021),
    GpuPath(0, False, ((FIT, 34), (STEP, 22)), 3_000_022),
    # tree() is recursive: line 16 is open twice, and counts once.
    GpuPath(0, False, ((FIT, 34), (STEP, 23), (TREE, 16), (TREE, 15)), 2_000_015),
    GpuPath(
        0, False, ((FIT, 34), (STEP, 23), (TREE, 16), (TREE, 16), (TREE, 15)), 2_000_015
    ),
    GpuPath(0, False, ((FIT, 34), (STEP, 23), (TREE, 17)), 2_000_017),
    GpuPath(0, True, ((FIT, 35),), 5_000_035),
    GpuPath(0, False, ((FIT, 36),), 5_000_036),
    GpuPath(0, False, ((FIT, 37),), 5_000_037),
    GpuPath(0, False, ((FIT, 38), (UPLOAD, 8)), 1_000_008),
    GpuPath(0, False, ((FIT, 38), (UPLOAD, 9)), 1_000_009),
    GpuPath(1, False, ((UPLOAD, 8),), 1_000_008),
)


def _kernels(path: int, name: str, device: int, *numbers: int) -> GpuSum:
    return GpuSum(path, NO_PATH, "kernel", name, device, *numbers)


def _copies(path: int, direction: str, device: int, *numbers: int) -> GpuSum:
    return GpuSum(path, NO_PATH, "memcpy", direction, device, *numbers)


def _calls(path: int, kind: str, name: str, *numbers: int) -> GpuSum:
    return GpuSum(path, NO_PATH, kind, name, NO_DEVICE, *numbers)


SUMS = (
    # count, ns, min_ns, max_ns (, bytes)
    _kernels(IN_RELU, RELU, 0, 10, 150_000, 14_000, 16_000),
    _kernels(IN_LAYER, GEMM, 0, 10, 5_000_000, 450_000, 550_000),
    _kernels(IN_LAYER, EVIL, 0, 1, 100_000, 100_000, 100_000),
    _kernels(LEAF, GEMM, 0, 10, 1_000_000, 90_000, 110_000),
    _kernels(DEEP, GEMM, 0, 20, 1_800_000, 80_000, 110_000),
    _kernels(ADDED, ADD, 0, 10, 100_000, 9_000, 11_000),
    _kernels(BACKWARD, GEMM, 0, 20, 2_000_000, 90_000, 120_000),
    _kernels(BACKWARD, GEMM, 1, 10, 1_000_000, 90_000, 110_000),
    GpuSum(REPLAY, IN_LAYER, "kernel", GEMM, 0, 5, 900_000, 150_000, 200_000),
    GpuSum(REPLAY, IN_RELU, "kernel", RELU, 0, 5, 100_000, 20_000, 20_000),
    GpuSum(ZEROS, NO_PATH, "memset", "", 0, 10, 50_000, 4_000, 6_000, 163_840),
    _copies(TO, "HtoD", 0, 10, 700_000, 60_000, 80_000, 41_943_040),
    _copies(WORKER, "HtoD", 1, 2, 140_000, 70_000, 70_000, 8_388_608),
    _copies(ITEM, "DtoH", 0, 10, 20_000, 1_500, 2_500, 40),
    _copies(IN_LAYER, "DtoD", 0, 1, 30_000, 30_000, 30_000, 1_048_576),
    GpuSum(ITEM, NO_PATH, "wait", "", NO_DEVICE, 10, 4_100_000, 300_000, 500_000),
    GpuSum(ZEROS, NO_PATH, "alloc", "", 0, 2, 0, 0, 0, 2_097_152),
    GpuSum(ZEROS, NO_PATH, "free", "", 0, 1, 0, 0, 0, 1_048_576),
    GpuSum(
        IN_LAYER,
        NO_PATH,
        "driver",
        "cuLaunchKernel",
        NO_DEVICE,
        11,
        44_000,
        3_000,
        9_000,
    ),
    GpuSum(
        ITEM, NO_PATH, "runtime", "cudaMemcpyAsync", NO_DEVICE, 10, 60_000, 5_000, 8_000
    ),
    # Launched outside of profiled lines.
    _kernels(NO_PATH, GEMM, 0, 3, 300_000, 100_000, 100_000),
    GpuSum(NO_PATH, NO_PATH, "memset", "", 1, 1, 2_000, 2_000, 2_000, 64),
    _copies(NO_PATH, "HtoD", 0, 1, 10_000, 10_000, 10_000, 4_096),
    GpuSum(NO_PATH, NO_PATH, "wait", "", NO_DEVICE, 1, 5_000, 5_000, 5_000),
)
# Totals of all sums, and of the sums without a call path.
TOTAL_GPU_NS = 12_502_000
TOTAL_COPY_NS = 900_000
UNATTRIBUTED_GPU_NS = 302_000

DEVICES = (
    GpuDevice(
        0,
        0,
        "NVIDIA H200",
        9_900_000,
        True,
        (
            ("sms", 132),
            ("warp_size", 32),
            ("threads_per_sm", 2048),
            ("blocks_per_sm", 32),
            ("registers_per_sm", 65_536),
            ("smem_per_sm", 233_472),
            ("cc_major", 9),
            ("cc_minor", 0),
            ("threads_per_block", 1024),
            ("registers_per_block", 65_536),
            ("smem_per_block", 49_152),
        ),
    ),
    GpuDevice(0, 1, "NVIDIA L4", 1_100_000, False, ()),
)
RUNS = (
    GpuRun(
        0,
        "cupti",
        "libcupti.so.13 of the CUDA runtime in use",
        True,
        version=130001,
        dropped=2,
        invalid=1,
        outstanding=3,
        left_out=4,
    ),
)

# kind, name, start, ns, path + 1, origin + 1, device, context, stream,
# correlation, bytes, launch, memory, thread; not ordered by start
ORIGIN_NS = 5_000_000_000
NAMES = ("", GEMM, RELU, EVIL, "HtoD", "DtoH", "cuLaunchKernel", "cudaMemcpyAsync")
LAUNCHES = (
    Launch(0, 0, 0, 0, 0, 0, 0, 0, 0),
    Launch(64, 1, 1, 256, 1, 1, 32, 4096, 0),
    Launch(8, 4, 1, 16, 16, 1, 255, 0, 49_152),
)
_DRIVER = (6, 6, 1_040_000, 4_000, IN_RELU + 1, 0, 0, 0, 0, 10, 0, 0, 0, 4711, 0)
EVENTS = (
    (1, 2, 1_050_000, 15_000, IN_RELU + 1, 0, 0, 1, 7, 10, 0, 1, 0, 0, 0),
    (1, 1, 1_070_000, 500_000, IN_LAYER + 1, 0, 0, 1, 7, 12, 0, 2, 0, 0, 0),
    _DRIVER,
    (1, 3, 1_575_000, 100_000, IN_LAYER + 1, 0, 0, 1, 7, 14, 0, 2, 0, 0, 0),
    (2, 4, 1_000_000, 70_000, TO + 1, 0, 0, 1, 13, 8, 4_194_304, 0, 0x32, 0, 0),
    (2, 5, 1_700_000, 2_000, ITEM + 1, 0, 0, 1, 7, 20, 4, 0, 0x13, 0, 0),
    (3, 0, 1_690_000, 5_000, ZEROS + 1, 0, 0, 1, 7, 18, 16_384, 0, 0x30, 0, 0),
    (1, 1, 1_800_000, 180_000, REPLAY + 1, IN_LAYER + 1, 0, 1, 9, 30, 0, 2, 0, 0, 0),
    (1, 1, 2_000_000, 100_000, 0, 0, 1, 2, 8, 40, 0, 2, 0, 0, 0),
    (5, 7, 1_695_000, 6_000, ITEM + 1, 0, 0, 0, 0, 20, 0, 0, 0, 4711, 0),
)


def packed_columns(rows: Iterable[tuple[int, ...]]) -> dict[str, bytes]:
    """Return events packed as by the core; their starts are relative to ORIGIN_NS."""
    columns = {name: array(kind) for name, kind in EVENT_COLUMNS.items()}
    for row in rows:
        for (name, column), value in zip(columns.items(), row):
            column.append(value + (ORIGIN_NS if name == "start" else 0))
    return {name: column.tobytes() for name, column in columns.items()}


def timeline() -> Timeline:
    return Timeline(
        process=0,
        count=len(EVENTS),
        origin_ns=ORIGIN_NS,
        first_path=0,
        names=NAMES,
        launches=LAUNCHES,
        batches=pack_events(packed_columns(EVENTS)),
    )


def example_gpu() -> Gpu:
    return Gpu(PATHS, SUMS, DEVICES, RUNS, (timeline(),))


def memory() -> GpuMemory:
    """Return memory of the first device: half is of the first path, half of none."""
    sums = [
        GpuMemorySum(
            path=path,
            device=0,
            pool="device",
            allocs=3,
            alloc_bytes=9_000,
            freed_bytes=4_000,
            peak_bytes=7_000,
        )
        for path in (0, NO_PATH)
    ]
    peak = GpuMemoryPeak(
        process=0, device=0, pool="device", peak_bytes=14_000, peak_ns=5_000
    )
    run = GpuMemoryRun(process=0, side_bytes=100, unknown_frees=2, late=1)
    return GpuMemory(sums=tuple(sums), peaks=(peak,), runs=(run,))


def _function(
    key: tuple[str, int, str], calls: int, *cells: ThreadLine
) -> FunctionStats:
    file, line, name = key
    return FunctionStats(file, name, line, cells, calls)


def example() -> LineStats:
    """Return a profile in which all functions but quiet() have GPU data.

    Line 9 has GPU data but no time: the counters of lines and those of the GPU
    can be reset separately.
    """
    return LineStats.from_functions(
        [
            _function(
                UPLOAD,
                12,
                ThreadLine(7, 0, 10, 40_000, 0, 41_000),
                ThreadLine(7, 1, 2, 8_000, 0, 8_200),
                ThreadLine(8, 0, 10, 900_000, 0, 901_000),
                ThreadLine(8, 1, 2, 180_000, 0, 180_200),
                ThreadLine(10, 0, 10, 1_000, 0, 2_000),
            ),
            _function(
                TREE,
                50,
                ThreadLine(14, 0, 50, 5_000, 0, 10_000),
                ThreadLine(15, 0, 30, 300_000, 0, 303_000),
                ThreadLine(16, 0, 20, 150_000, 0, 152_000),
                ThreadLine(17, 0, 20, 250_000, 0, 252_000),
            ),
            _function(
                STEP,
                10,
                ThreadLine(21, 0, 10, 200_000, 0, 201_000),
                ThreadLine(22, 0, 10, 400_000, 0, 401_000),
                ThreadLine(23, 0, 10, 600_000, 0, 601_000),
                ThreadLine(24, 0, 10, 50_000, 0, 51_000),
            ),
            _function(QUIET, 1, ThreadLine(28, 0, 1, 9_000), ThreadLine(29, 0, 1, 100)),
            _function(
                FIT,
                1,
                ThreadLine(33, 0, 11, 20_000, 0, 21_100),
                ThreadLine(34, 0, 10, 1_300_000, 0, 1_301_000),
                ThreadLine(35, 0, 10, 3_500_000, 0, 3_501_000),
                ThreadLine(36, 0, 10, 4_300_000, 0, 4_301_000),
                ThreadLine(37, 0, 10, 90_000, 0, 91_000),
                ThreadLine(38, 0, 10, 1_000_000, 0, 1_001_000),
                ThreadLine(39, 0, 1, 100, 0, 200),
            ),
        ],
        processes=[PROCESS],
        threads=THREADS,
        sources={FILE: SourceFile(FILE, TEXT, text_hash(TEXT))},
        gpu=example_gpu(),
    )


def without_gpu() -> LineStats:
    """Return the same profile as recorded on a machine without a GPU."""
    run = GpuRun(0, "none", "there is no NVIDIA device", present=False)
    stats = example()
    stats.gpu = Gpu(runs=(run,))
    return stats
