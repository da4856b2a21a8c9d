"""Example profiles with call trees, for tests of views, exports and files.

`example()` is a profile of this program, on two threads (inclusive ns; recursion
folded):

    <module> 29 -> main                    6_242_436
      main 7 -> Model.__init__                   800
      main 8 -> Model.steps (a generator)        880
      main 9 -> Model.forward              4_564_877
        13 -> solve                           43_703
          14 -> launch (starts GPU work)      27_003
          15 -> is_even -> is_odd -> is_even   9_800 (mutual recursion)
        14 -> fib -> fib                      17_724
        15 -> weights                      4_500_000 (of an odd name)
      main 13 -> report -> builtins.len          550
    work 18 -> Model.forward               1_532_779 (on another thread)

The time of a line is its self time and the `inclusive_ns` of its edges.
"""

from __future__ import annotations

import example_stats

from lineprof.line_stats import LineStats
from lineprof.model.gpu import (
    KERNEL,
    MEMCPY,
    NO_PATH,
    Gpu,
    GpuDevice,
    GpuPath,
    GpuRun,
    GpuSum,
)
from lineprof.model.records import (
    GIL,
    IO,
    LOCK,
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    SourceFile,
    Thread,
    ThreadLine,
    Wait,
)
from lineprof.source_files import text_hash

Key = tuple[str, int, str]

MAIN_FILE, MODEL_FILE, SOLVE_FILE = "/p/main.py", "/p/model.py", "/p/solve.py"
MAIN_TEXT = '''\
"""Runs the model."""
import threading

from model import Model

def main():
    model = Model()
    for step in model.steps(3):
        model.forward(step)
    worker = threading.Thread(target=work, args=(model,), name="worker 1")
    worker.start()
    worker.join()
    return report(model)



def work(model):
    model.forward(3)


def report(model):
    return str(len(model.sizes))


def never():
    return 1


main()
'''
MODEL_TEXT = '''\
"""The model."""
from solve import fib, solve, weights

class Model:
    def __init__(self):
        self.sizes = [4, 8]

    def steps(self, count):
        for step in range(count):
            yield step

    def forward(self, step):
        total = solve(step)
        total += fib(step + 2)
        return total + weights(self.sizes)
'''
SOLVE_TEXT = """\
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


def solve(n):
    launch(n)
    return is_even(n + 3)


def launch(n):
    kernel[1, 256](n)  # größe: 256


def weights(sizes):
    return sum(sizes)
"""
MODULE = (MAIN_FILE, 1, "<module>")
MAIN = (MAIN_FILE, 6, "main")
WORK = (MAIN_FILE, 17, "work")
REPORT = (MAIN_FILE, 21, "report")
NEVER = (MAIN_FILE, 25, "never")
INIT = (MODEL_FILE, 5, "Model.__init__")
STEPS = (MODEL_FILE, 8, "Model.steps")
FORWARD = (MODEL_FILE, 12, "Model.forward")
FIB = (SOLVE_FILE, 1, "fib")
IS_EVEN = (SOLVE_FILE, 5, "is_even")
IS_ODD = (SOLVE_FILE, 9, "is_odd")
SOLVE = (SOLVE_FILE, 13, "solve")
LAUNCH = (SOLVE_FILE, 18, "launch")
WEIGHTS = (SOLVE_FILE, 22, 'weights "w"; größe\'s <損> & \\ %\udcff')
LEN = ("", 0, "builtins.len")  # a C function, which has no lines in the profile

PROCESS = example_stats.PROCESS._replace(
    argv=("main.py",), cwd="/p", wall_ns=6_500_000, overhead_ns=12_000
)
# parent, line, function, thread, calls, primitive calls, self, total, inclusive (ns)
NODES = (
    CallNode(NO_NODE, 0, MODULE, 0, 1, 1, 50_033, 6_292_469, 6_292_469),  # 0
    CallNode(0, 29, MAIN, 0, 1, 1, 1_675_329, 6_242_436, 6_242_436),  # 1
    CallNode(1, 7, INIT, 0, 1, 1, 800, 800, 800),  # 2
    CallNode(1, 8, STEPS, 0, 1, 1, 880, 880, 880),  # 3
    CallNode(1, 9, FORWARD, 0, 3, 3, 3_450, 4_564_877, 4_564_877),  # 4
    CallNode(4, 13, SOLVE, 0, 3, 3, 6_900, 43_703, 43_703),  # 5
    CallNode(5, 14, LAUNCH, 0, 3, 3, 27_003, 27_003, 27_003),  # 6
    CallNode(5, 15, IS_EVEN, 0, 3, 3, 2_100, 9_800, 9_800),  # 7
    CallNode(7, 6, IS_ODD, 0, 7, 3, 4_200, 7_700, 12_100),  # 8
    CallNode(8, 10, IS_EVEN, 0, 5, 0, 3_500, 0, 7_900),  # 9
    CallNode(4, 14, FIB, 0, 3, 3, 3_309, 17_724, 17_724),  # 10
    CallNode(10, 2, FIB, 0, 14, 0, 14_415, 0, 24_522),  # 11
    CallNode(4, 15, WEIGHTS, 0, 3, 3, 4_500_000, 4_500_000, 4_500_000),  # 12
    CallNode(NO_NODE, 0, WORK, 1, 1, 1, 1_100, 1_533_879, 1_533_879),  # 13
    CallNode(13, 18, FORWARD, 1, 1, 1, 1_150, 1_532_779, 1_532_779),  # 14
    CallNode(14, 13, SOLVE, 1, 1, 1, 2_300, 15_903, 15_903),  # 15
    CallNode(15, 14, LAUNCH, 1, 1, 1, 9_003, 9_003, 9_003),  # 16
    CallNode(15, 15, IS_EVEN, 1, 1, 1, 700, 4_600, 4_600),  # 17
    CallNode(17, 6, IS_ODD, 1, 3, 1, 1_800, 3_900, 7_800),  # 18
    CallNode(18, 10, IS_EVEN, 1, 3, 0, 2_100, 0, 6_000),  # 19
    CallNode(14, 14, FIB, 1, 1, 1, 1_105, 15_726, 15_726),  # 20
    CallNode(20, 2, FIB, 1, 14, 0, 14_621, 0, 37_142),  # 21
    CallNode(14, 15, WEIGHTS, 1, 1, 1, 1_500_000, 1_500_000, 1_500_000),  # 22
    CallNode(1, 13, REPORT, 0, 1, 1, 490, 550, 550),  # 23
    CallNode(23, 22, LEN, 0, 1, 1, 60, 60, 60),  # 24
)
WAITS = (
    Wait(MAIN, 12, 0, LOCK, 1_500_000),
    Wait(MAIN, 12, 0, GIL, 20_000),
    Wait(MODULE, 29, 0, LOCK, 1_500_000),  # its line called main
    Wait(MODULE, 29, 0, GIL, 20_000),
    Wait(WEIGHTS, 23, 1, IO, 300_000),
)


def cell(line: int, thread: int, hits: int, time_ns: int) -> ThreadLine:
    """Return the numbers of a line on a thread; the profiler's cost is 40 ns a hit."""
    return ThreadLine(line, thread, hits, time_ns, 0, time_ns + 40 * hits)


def function(
    key: Key, *cells: ThreadLine, calls: int = 0, recursive_ns: int | None = None
) -> FunctionStats:
    """Return the numbers of the function `key`."""
    file, line, name = key
    return FunctionStats(file, name, line, cells, calls, recursive_ns)


def _functions() -> list[FunctionStats]:
    return [
        function(MODULE, cell(29, 0, 1, 6_292_469), calls=1),
        function(
            MAIN,
            cell(7, 0, 1, 3_800),
            cell(8, 0, 4, 1_680),
            cell(9, 0, 3, 4_565_177),
            cell(10, 0, 1, 40_000),
            cell(11, 0, 1, 90_000),
            cell(12, 0, 1, 1_540_879),
            cell(13, 0, 1, 900),
            calls=1,
        ),
        function(WORK, cell(18, 1, 1, 1_533_879), calls=1),
        function(REPORT, cell(22, 0, 1, 550), calls=1),
        function(NEVER),
        function(INIT, cell(6, 0, 1, 800), calls=1),
        function(STEPS, cell(9, 0, 4, 610), cell(10, 0, 3, 270), calls=1),
        function(
            FORWARD,
            *(cell(13, 0, 3, 45_203), cell(13, 1, 1, 16_403)),
            *(cell(14, 0, 3, 18_924), cell(14, 1, 1, 16_126)),
            *(cell(15, 0, 3, 4_500_750), cell(15, 1, 1, 1_500_250)),
            calls=4,
        ),
        function(
            FIB,
            *(cell(2, 0, 17, 42_246), cell(2, 1, 15, 52_868)),
            calls=32,
            recursive_ns=33_450,
        ),
        function(
            IS_EVEN,
            *(cell(6, 0, 8, 17_700), cell(6, 1, 4, 10_600)),
            calls=12,
            recursive_ns=14_400,
        ),
        function(
            IS_ODD,
            *(cell(10, 0, 7, 12_100), cell(10, 1, 3, 7_800)),
            calls=10,
            recursive_ns=11_600,
        ),
        function(
            SOLVE,
            *(cell(14, 0, 3, 33_003), cell(14, 1, 1, 11_003)),
            *(cell(15, 0, 3, 10_700), cell(15, 1, 1, 4_900)),
            calls=4,
        ),
        function(LAUNCH, cell(19, 0, 3, 27_003), cell(19, 1, 1, 9_003), calls=4),
        function(
            WEIGHTS, cell(23, 0, 3, 4_500_000), cell(23, 1, 1, 1_500_000), calls=4
        ),
    ]


def _gpu() -> Gpu:
    """Return GPU work of both threads, and some that is unattributed."""
    inner = ((FORWARD, 13), (SOLVE, 14), (LAUNCH, 19))
    kernel = "_Z6kernelPfi"
    return Gpu(
        paths=(
            GpuPath(0, False, ((MODULE, 29), (MAIN, 9), *inner)),
            GpuPath(1, False, ((WORK, 18), *inner)),
        ),
        sums=(
            GpuSum(0, NO_PATH, KERNEL, kernel, 0, 3, 600_000, 150_000, 250_000),
            GpuSum(0, NO_PATH, MEMCPY, "HtoD", 0, 3, 90_000, 30_000, 30_000, 12_288),
            GpuSum(1, NO_PATH, KERNEL, kernel, 0, 1, 200_000, 200_000, 200_000),
            GpuSum(NO_PATH, NO_PATH, KERNEL, kernel, 0, 1, 50_000, 50_000, 50_000),
        ),
        devices=(GpuDevice(0, 0, "NVIDIA H200", 940_000, busy_exact=True),),
        runs=(GpuRun(0, "cupti", "libcupti.so.12 was found", present=True),),
    )


def example() -> LineStats:
    """Return the profile of the program above; its numbers add up."""
    texts = {MAIN_FILE: MAIN_TEXT, MODEL_FILE: MODEL_TEXT, SOLVE_FILE: SOLVE_TEXT}
    return LineStats.from_functions(
        _functions(),
        processes=[PROCESS],
        threads=[Thread(0, 4711, "MainThread"), Thread(0, 4712, "worker 1")],
        sources={
            file: SourceFile(file, text, text_hash(text))
            for file, text in texts.items()
        },
        gpu=_gpu(),
        calls=CallTree(NODES),
        waits=WAITS,
    )


def deep(levels: int) -> LineStats:
    """Return a chain of `levels` functions, each of which calls the next one.

    Function i is ``f<i>`` of /p/deep.py and has 10 ns of self time on line
    2 * i + 2, which calls the next one.
    """
    keys = [("/p/deep.py", 2 * i + 1, f"f{i}") for i in range(levels)]
    nodes, functions = [], []
    for i, key in enumerate(keys):
        took = 10 * (levels - i)
        nodes.append(CallNode(i - 1, 2 * i, key, 0, 1, 1, 10, took, took))
        functions.append(function(key, ThreadLine(2 * i + 2, 0, 1, took), calls=1))
    return LineStats.from_functions(
        functions,
        processes=[PROCESS],
        threads=[Thread(0, 4711, "MainThread")],
        calls=CallTree(tuple(nodes)),
    )


_LEVELS = 10
_OWN = 1000  # self time (ns) of each line of a wide profile
_CALLED_BY = 5  # nodes of each function that others call


def wide(functions: int = 2000, lines: int = 100_000) -> LineStats:
    """Return a large profile: `functions` with `lines` in total, for timing.

    The functions are in 20 files with their text, on 10 levels. Each function is
    called from five lines of the level above, and has about five nodes.
    """
    each = lines // functions
    files = [f"/p/wide{i}.py" for i in range(20)]
    keys = [
        (files[i % 20], (i // 20) * (each + 1) + 1, f"f{i}") for i in range(functions)
    ]
    sites = _call_sites(functions, each, [line for _, line, _ in keys])
    n_nodes = [0] * functions
    for _, _, callee in sites:
        n_nodes[callee] += 1
    first = [True] * functions
    own = []
    for _, _, callee in sites:
        whole, count = _OWN * each, n_nodes[callee]
        own.append(whole // count + (whole % count if first[callee] else 0))
        first[callee] = False
    took = list(own)
    callees: list[dict[int, int]] = [{} for _ in range(functions)]  # ns by line
    for place in range(len(sites) - 1, -1, -1):
        parent, line, _ = sites[place]
        if parent != NO_NODE:
            took[parent] += took[place]
            edges = callees[sites[parent][2]]
            edges[line] = edges.get(line, 0) + took[place]
    return LineStats.from_functions(
        (
            function(
                key,
                *(
                    cell(line, 0, 100, _OWN + callees[i].get(line, 0))
                    for line in range(key[1] + 1, key[1] + each + 1)
                ),
                calls=3 * n_nodes[i],
            )
            for i, key in enumerate(keys)
        ),
        processes=[PROCESS],
        threads=[Thread(0, 4711, "MainThread")],
        sources={
            file: SourceFile(file, text, text_hash(text))
            for file, text in zip(files, _texts(functions, each))
        },
        calls=CallTree(
            tuple(
                CallNode(parent, line, keys[callee], 0, 3, 3, mine, whole, whole)
                for (parent, line, callee), mine, whole in zip(sites, own, took)
            )
        ),
    )


def _call_sites(
    functions: int, each: int, starts: list[int]
) -> list[tuple[int, int, int]]:
    """Return (parent, line, function) of every node, parents first."""
    size = functions // _LEVELS
    sites = [(NO_NODE, 0, i) for i in range(size)]
    above = range(size)
    for level in range(1, _LEVELS):
        end = functions if level == _LEVELS - 1 else (level + 1) * size
        begin = len(sites)
        for i in range(level * size, end):
            for turn in range(_CALLED_BY):
                parent = above[(i * 7 + turn * 13) % len(above)]
                line = starts[sites[parent][2]] + 1 + (i + turn * 3) % each
                sites.append((parent, line, i))
        above = range(begin, len(sites))
    return sites


def _texts(functions: int, each: int) -> list[str]:
    """Return the text of each of the 20 files."""
    texts = []
    for file in range(20):
        lines = []
        for i in range(file, functions, 20):
            lines.append(f"def f{i}(x):")
            lines += [f"    x = work(x, {j})" for j in range(each)]
        texts.append("\n".join(lines) + "\n")
    return texts
