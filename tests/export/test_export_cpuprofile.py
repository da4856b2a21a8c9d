"""Profiles for VS Code and Chrome's developer tools: right sums in both readers."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import check_time
import check_trace
import example_calls
import example_gpu
import pytest
from example_traces import SLICES, falling, sparse, steps, trace, traced
from export_shapes import generator, random_profile, threads
from running import plain
from vscode_lenses import Lens, lenses, own_us

from lineprof.export import EXPORTS
from lineprof.export.stacks import call_path_shares
from lineprof.export.timeline import MAX_DEPTH
from lineprof.line_stats import LineStats
from lineprof.model.call_graph import function_totals, line_self_ns
from lineprof.model.records import NO_NODE, UNKNOWN_THREAD, CallNode, CallTree

if TYPE_CHECKING:
    from collections.abc import Callable

    from settable_clock import Clock
    from vscode_lenses import Line

CPUPROFILE = EXPORTS["cpuprofile"]
Node = dict[str, Any]


def exported(stats: LineStats) -> dict[str, Any]:
    """Return the file, whose nodes are one tree."""
    file: dict[str, Any] = json.loads(b"".join(CPUPROFILE.content(stats)))
    assert {*file} == {"nodes", "startTime", "endTime", "samples", "timeDeltas"}
    nodes = {one["id"]: one for one in file["nodes"]}
    assert len(nodes) == len(file["nodes"])
    assert nodes[1]["callFrame"]["functionName"] == "(root)"
    children = [child for one in nodes.values() for child in one["children"]]
    assert sorted(children) == sorted({*nodes} - {1})
    assert len(file["samples"]) == len(file["timeDeltas"])
    assert all(sample in nodes for sample in file["samples"])
    assert sum(file["timeDeltas"]) == file["endTime"] - file["startTime"]
    for node in nodes.values():
        assert {*node["callFrame"]} == {
            *("functionName", "scriptId", "url", "lineNumber", "columnNumber")
        }
    assert own_us(file) == {number: one["hitCount"] for number, one in nodes.items()}
    return file


def ticks(file: dict[str, Any]) -> Counter[tuple[str, int]]:
    """Return the ticks of each line, by the file's address: the DevTools show them."""
    found: Counter[tuple[str, int]] = Counter()
    for node in file["nodes"]:
        for one in node.get("positionTicks", ()):
            found[node["callFrame"]["url"], one["line"]] += one["ticks"]
    return found


def name(node: Node) -> str:
    """Return the name that readers show."""
    return str(node["callFrame"]["functionName"])


def of_lines(file: dict[str, Any]) -> dict[int, Lens]:
    """Return the lenses of a file about one file of source, by the line."""
    found = lenses(file)
    assert len({path for path, _ in found}) == 1
    return {line: lens for (_, line), lens in found.items()}


# Times of lines, as the profile has them.


def expected(stats: LineStats) -> dict[Line, tuple[int, int, int]]:
    """Return own time and total (ns) of each line, and of how many stacks these are.

    A line has the time of a stack once, wherever and how often it is in it; the first
    line of a function stands for the function.
    """
    found: dict[Line, tuple[int, int, int]] = {}
    for path in call_path_shares(stats):
        for share in path.lines:
            leaf = path.function, share.line
            lines = {
                (key[0], line or key[1])
                for frame in (*path.callers, leaf)
                for key, line in (frame, (frame[0], 0))
            }
            for line in lines:
                own, total, stacks = found.get(line, (0, 0, 0))
                is_own = line == (leaf[0][0], leaf[1] or leaf[0][1])
                found[line] = own + is_own * share.ns, total + share.ns, stacks + 1
    return {line: numbers for line, numbers in found.items() if line[0]}


def check_lenses(stats: LineStats) -> None:
    """Compare all lenses with the profile: each sample is rounded to a microsecond."""
    file = exported(stats)
    found, known = lenses(file), expected(stats)
    assert {*found} <= {*known}
    for line, (own, total, stacks) in known.items():
        lens = found.get(line, Lens(0, 0))
        assert abs(1000 * lens.own - own) < 1000 * stacks, line
        assert abs(1000 * lens.total - total) < 1000 * stacks, line
        assert line in found or total < 1000 * stacks
    assert {line: lens.own for line, lens in found.items() if lens.own} == {
        (line[0].removeprefix("file://"), line[1]): us
        for line, us in ticks(file).items()
    }


@pytest.mark.once
@pytest.mark.parametrize(
    "make",
    [
        example_calls.example,
        lambda: threads(3),
        lambda: generator(10),
        *(lambda seed=seed: random_profile(seed) for seed in range(8)),
    ],
)
def test_each_line_has_its_own_time_and_its_total(
    make: Callable[[], LineStats],
) -> None:
    check_lenses(make())


@pytest.mark.once
def test_lines_have_the_own_times_of_the_profile_and_defs_the_totals() -> None:
    stats = example_calls.example()
    file, known = exported(stats), line_self_ns(stats)
    found, rounding = lenses(file), len(own_us(file))
    for key, lines in known.items():
        for line, ns in lines.items():
            lens = found.get((key[0], line), Lens(0, 0))
            assert abs(1000 * lens.own - ns) <= 1000 * rounding
    for key, one in function_totals(stats).items():
        if key[0]:
            lens = found.get((key[0], key[1]), Lens(0, 0))
            assert abs(1000 * lens.total - one.total_ns) <= 1000 * rounding, key
    everything = sum(one.self_ns for one in stats.calls.nodes)
    assert abs(1000 * file["endTime"] - everything) <= 2 * 500


# Programs whose lines say what VS Code has to show: own time and total in us. A third
# number is the total in a trace, where recursion is not folded.

CALLS = """
@profile                            #> 0 114
def outer():
    tick(1000)                      #> 1 1
    inner(2)                        #> 0 22
    for i in range(3):
        inner(i)                    #> 0 60
    tick(15000)                     #> 15 15
    unknown()                       #> 0 16

@profile                            #> 0 114
def inner(n):
    tick(2000 * n); tick(18000)     #> 114 114

def unknown():
    inner(-1)

outer()
inner(-1)
"""

RECURSION = """
@profile                            #> 0 56
def down(n):
    tick(1000)                      #> 4 4
    if n:
        down(n - 1)                 #> 0 3 45
    side(n)                         #> 0 52

@profile                            #> 0 52
def side(n):
    tick(10000 + 4000 * (n % 3))    #> 52 52

down(3)
"""

GENERATORS = """
@profile                            #> 0 9
def numbers(count):
    for i in range(count):
        tick(2000)                  #> 6 6
        yield i
        tick(1000)                  #> 3 3

@profile                            #> 0 121
def consume():
    for i in numbers(3):            #> 0 9
        tick(4000)                  #> 12 12
    tick(100_000)                   #> 100 100

consume()
"""

ONE_LINE = """
@profile                                                    #> 0 115
def main():
    direct = profile(lambda: tick(3000)); direct()          #> 3 3
    through(profile(lambda: tick(5000))); tick(1000)        #> 6 18
    deep = profile(lambda: through(profile(lambda: tick(9000)))); deep()    #> 9 21
    list(map(profile(lambda n: tick(n)), [8000, 8000, 50000]))              #> 66 66
    tick(7000)                                              #> 7 7

@profile                                                    #> 0 38
def through(function):
    tick(12000)                                             #> 24 24
    function()                                              #> 0 14

short = profile(lambda: tick(15000)); short()               #> 15 15
main()
"""


def marks(text: str, *, traced: bool = False) -> dict[int, Lens]:
    """Return the times that are written in the lines of a program."""
    found = {}
    for line, words in enumerate(text.splitlines(), 1):
        if match := re.search(r"#> (\d+) (\d+)(?: (\d+))?", words):
            own, total, other = match.groups()
            found[line] = Lens(int(own), int(other or total if traced else total))
    return found


PROGRAMS = pytest.mark.parametrize("program", [CALLS, RECURSION, GENERATORS, ONE_LINE])


@PROGRAMS
def test_vs_code_shows_the_times_of_a_program(program: str, clock: Clock) -> None:
    text = plain(program)
    stats = check_time.measure(text, clock)
    check_lenses(stats)
    assert of_lines(exported(stats)) == marks(text)


@PROGRAMS
def test_vs_code_shows_the_times_of_a_trace(program: str, clock: Clock) -> None:
    text = plain(program)
    stats = check_time.measure(text, clock, check_trace.traced(clock))
    assert of_lines(exported(stats)) == marks(text, traced=True)


# Nodes and samples.


@pytest.mark.once
def test_a_node_has_the_place_of_its_function_or_line() -> None:
    nodes = exported(example_calls.example())["nodes"]
    assert name(nodes[1]) == "MainThread (4711)"
    (main,) = (one for one in nodes if name(one) == "main")
    assert main["callFrame"] == {
        "functionName": "main",
        "scriptId": "1",
        "url": "file:///p/main.py",
        "lineNumber": 5,  # lines count from 0: line 6
        "columnNumber": 0,
    }
    below = [one for one in nodes if one["id"] in main["children"]]
    assert [(name(one), one["callFrame"]["lineNumber"] + 1) for one in below] == [
        (f"main:{line}", line)
        for line in range(7, 13)  # line 13 took less than a microsecond
    ]
    (step,) = (one for one in below if name(one) == "main:9")
    (forward,) = (one for one in nodes if one["id"] in step["children"])
    assert name(forward) == "Model.forward"


@pytest.mark.once
def test_recursion_is_shown_but_only_the_innermost_call_has_a_place() -> None:
    nodes = {one["id"]: one for one in exported(example_calls.example())["nodes"]}
    above = {child: one for one in nodes.values() for child in one["children"]}
    paths = []
    for node in nodes.values():
        if name(node) == "fib:2" and node["hitCount"]:
            path = [node]
            while name(path[-1]) != "Model.forward:14":
                path.append(above[path[-1]["id"]])
            paths.append([(name(one), bool(one["callFrame"]["url"])) for one in path])
    once = [("fib:2", True), ("fib", True)]
    hidden = [("fib:2", False), ("fib", False)]
    end = [("Model.forward:14", True)]
    assert sorted(paths, key=len) == [
        *(2 * [[*once, *end]]),
        *(2 * [[*once, *hidden, *end]]),
    ]


@pytest.mark.once
def test_c_functions_are_in_no_file() -> None:
    sleep = ("", 0, "time.sleep")
    node = CallNode(NO_NODE, 0, sleep, UNKNOWN_THREAD, 1, 1, 5_000, 5_000, 5_000)
    stats = LineStats.from_functions([], calls=CallTree((node,)))
    file = exported(stats)
    (_root, called) = file["nodes"]
    assert called["callFrame"] == {
        "functionName": "time.sleep",
        "scriptId": "0",
        "url": "",
        "lineNumber": -1,
        "columnNumber": -1,
    }
    assert (called["hitCount"], lenses(file)) == (5, {})


@pytest.mark.once
@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("/p/ä b%.py", "/p/ä b%.py"),
        ("/p/#?&;'\"<b>`|.py", "/p/#?&;'\"<b>`|.py"),
        ("/p/line\nfeed\x1b\x00.py", "/p/line\nfeed\x1b\x00.py"),
        ("/p/\udcff.py", "/p/\\udcff.py"),  # bytes that are no UTF-8
        ("/p/\ud83d.py", "/p/\\ud83d.py"),
        ("/p/..%2F..%2F.py", "/p/..%2F..%2F.py"),
        ("<ipython-input-1>", "<ipython-input-1>"),
        ("x.py", "x.py"),
        ("command:workbench.action.quit?1", "command%3Aworkbench.action.quit?1"),
        ("https://example.org/x.py", "https%3A//example.org/x.py"),
    ],
)
def test_files_of_any_name_are_found_and_no_name_is_a_link(
    file: str, path: str
) -> None:
    stats = LineStats({(file, 1, "f"): [(2, 1, 5000)]}, 1e-9)
    assert lenses(exported(stats)) == {(path, 1): Lens(0, 5), (path, 2): Lens(5, 5)}


@pytest.mark.once
def test_a_trace_is_sampled_in_time_order() -> None:
    file = exported(traced(trace(one for one in SLICES if one.thread == 0)))
    nodes = {one["id"]: name(one) for one in file["nodes"]}
    order = [
        (nodes[sample], us)
        for sample, us in zip(file["samples"], file["timeDeltas"][1:])
    ]
    assert order == [
        *(("fit", 50), ("fit:34", 10)),  # before line 34, and in it before the call
        *(("step:21", 90), ("step:22", 100), ("step", 10)),
        *(("fit:34", 40), ("fit:36", 500), ("fit:37", 500), ("fit", 200)),
    ]
    assert of_lines(file) == {
        32: Lens(250, 1_500),
        20: Lens(10, 200),
        21: Lens(90, 90),
        22: Lens(100, 100),
        34: Lens(50, 250),
        36: Lens(500, 500),
        37: Lens(500, 500),
    }


@pytest.mark.once
def test_threads_of_a_trace_are_in_sequence() -> None:
    spent = own_us(exported(steps()))
    assert sum(spent.values()) == 1_500 + 300
    assert "one after the other" in "\n".join(CPUPROFILE.remarks(steps()))


@pytest.mark.once
def test_time_outside_of_profiled_functions_is_of_the_program() -> None:
    gap = [SLICES[0], type(SLICES[0])(5_000_000, 1_000, 0, example_gpu.FIT, 0)]
    file = exported(traced(trace(gap)))
    (node,) = (one for one in file["nodes"] if name(one) == "(program)")
    assert own_us(file)[node["id"]] == 2_600


@pytest.mark.once
def test_calls_beyond_the_limit_of_nodes_count_for_their_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lineprof.export.cpuprofile._MAX_NODES", 4)
    file = exported(steps())
    assert {name(one): one["hitCount"] for one in file["nodes"]} == {
        "(root)": 0,
        "MainThread (4711)": 0,
        "fit": 1_250,
        "fit:34": 250,  # with the call of step
        "uploader (4720)": 300,
    }


@pytest.mark.once
@pytest.mark.parametrize(
    "make",
    [lambda: falling(3_000), lambda: example_calls.deep(20_000)],
    ids=["traced", "summed"],
)
def test_deep_chains_are_complete_and_no_deeper_than_readers_can_go(
    make: Callable[[], LineStats],
) -> None:
    file = exported(make())
    depths = {1: 0}
    for node in file["nodes"]:
        depths.update(dict.fromkeys(node["children"], depths[node["id"]] + 1))
    assert max(depths.values()) == MAX_DEPTH
    assert file["endTime"] in {60, 200}
    assert len({name(one) for one in file["nodes"]}) > file["endTime"]


@pytest.mark.once
@pytest.mark.parametrize("stats", sparse())
def test_exports_of_all_kinds_of_profiles_are_valid(stats: LineStats) -> None:
    exported(stats)
