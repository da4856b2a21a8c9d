"""Sums of call trees: exact to the nanosecond, whatever the cost of measuring.

Programs are simulated without Python: frames are pushed and popped at random, with
the counters of the core. The cost to subtract may be greater than the measured
time; there sums could go wrong.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from c_events import HAS_C_EVENTS
from core_profiles import profile_of
from example_calls import PROCESS
from whole_program import profiled

from lineprof.model.call_graph import edges, function_totals, line_self_ns
from lineprof.model.records import DEEPER as DEEPER_CALLS
from lineprof.model.records import NO_NODE
from lineprof.snapshot.profile import TickScale

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from lineprof.line_stats import LineStats

LINES = 4  # lines of each function

PATH, DEEPER, MERGED, CALLER = range(4)  # kinds of nodes: csrc/record/call_tree.h
ODD = TickScale((1 << 32) * 2 // 3, 256)  # a tick is two thirds of a ns


class Node:
    """A node of the core's tree."""

    def __init__(
        self, parent: Node | None, line: int, serial: int, kind: int = PATH
    ) -> None:
        self.parent, self.line, self.serial = parent, line, serial
        self.kind = kind
        self.goes_on = self
        self.below: dict[tuple[int, int], Node] = {}
        self.numbers = [0] * 8  # calls, primitive calls, three times with costs


class Frame:
    """A frame on the stack."""

    def __init__(self, node: Node, *, outermost: bool) -> None:
        self.node, self.outermost = node, outermost
        self.line = 0


class Simulation:
    """A simulated thread of a program; functions from number `python` on are in C."""

    def __init__(
        self, seed: int, functions: int, python: int, max_nodes: int = 1 << 16
    ) -> None:
        self.max_nodes, self.folded = max_nodes, 0  # max number of paths
        self.paths = 0
        self.callers: dict[int, Node] = {}  # of merged calls, by function
        self.random = random.Random(seed)  # noqa: S311  # not for security
        self.functions, self.python = functions, python
        self.recurses = True
        self.root = Node(None, 0, -1)
        self.nodes: list[Node] = []
        self.stack: list[Frame] = []
        self.lines: dict[tuple[int, int], list[int]] = {}  # hits, ticks, cost
        self.codes = [[0, 0, 0, 0] for _ in range(functions)]  # of the core

    def enter(self, serial: int) -> None:
        """Call a function from the open line."""
        above, line = self.root, 0
        if self.stack:
            above, line = self.stack[-1].node.goes_on, self.stack[-1].line
        node = above.below.get((line, serial))
        is_full = above is not self.root and self.paths >= self.max_nodes
        if node is None and (above.kind == CALLER or is_full):
            node = self.merged(above, line, serial)
        if node is None:
            node = self.add(Node(above, line, serial))
            self.paths += 1
            open_node: Node | None = above
            while open_node is not None and open_node.serial != serial:
                open_node = open_node.parent
            node.goes_on = open_node or node
        self.folded += node.kind == MERGED
        outermost = all(one.node.serial != serial for one in self.stack)
        node.numbers[0] += 1
        node.numbers[1] += outermost
        self.codes[serial][0] += 1
        self.codes[serial][3] |= not outermost
        self.stack.append(Frame(node, outermost=outermost))
        self.step()

    def add(self, node: Node) -> Node:
        """Add a node below its parent."""
        assert node.parent is not None
        node.parent.below[node.line, node.serial] = node
        self.nodes.append(node)
        return node

    def caller(self, node: Node) -> Node:
        """Return the node for the merged calls by the function of `node`."""
        found = self.callers.get(node.serial)
        if found is None:
            found = Node(node, 0, node.serial, CALLER)
            self.callers[node.serial] = found
            self.nodes.append(found)
        return found

    def merged(self, above: Node, line: int, serial: int) -> Node | None:
        """Return the node of a call without a path; None if it is to have one."""
        caller = self.caller(above)
        found = caller.below.get((line, serial))
        is_new = found is None
        if found is None:
            found = self.add(Node(caller, line, serial, MERGED))
            found.goes_on = self.caller(found)
        if above.kind == CALLER:
            return found
        if is_new:
            return None
        deeper = above.below.get((0, -1))
        if deeper is None:
            deeper = self.add(Node(above, 0, -1, DEEPER))
        deeper.numbers[0] += 1
        return found

    def step(self) -> None:
        """Begin a line, if the function is not in C."""
        top = self.stack[-1]
        if top.node.serial < self.python:
            top.line = 10 * top.node.serial + self.random.randrange(1, LINES)
            self.lines.setdefault((top.node.serial, top.line), [0, 0, 0])[0] += 1

    def spend(self, ticks: int, cost: int) -> None:
        """Let `ticks` pass, with `cost` to subtract."""
        self.stack[-1].node.numbers[2] += ticks
        self.stack[-1].node.numbers[3] += cost
        for frame in self.stack:
            numbers = frame.node.numbers
            if frame.node.serial < self.python:
                line = self.lines[frame.node.serial, frame.line]
                line[1] += ticks
                line[2] += cost
            if frame.outermost:
                numbers[4] += ticks
                numbers[5] += cost
                self.codes[frame.node.serial][1] += ticks
                self.codes[frame.node.serial][2] += cost
            numbers[6] += ticks
            numbers[7] += cost

    def callees(self) -> list[int]:
        """Return the functions to choose the next callee from."""
        open_ones = {frame.node.serial for frame in self.stack}
        every = range(self.functions)
        return [*every] if self.recurses else [*{*every} - open_ones]

    def run(self, turns: int, max_cost: float) -> None:
        """Simulate `turns` events; costs are up to `max_cost` times the time."""
        rates = [self.random.random() * max_cost for _ in range(self.functions)]
        for _ in range(turns):
            dice = self.random.random()
            max_depth = 9 if self.recurses else min(9, self.functions)
            if not self.stack or (dice < 0.35 and len(self.stack) < max_depth):
                self.enter(self.random.choice(self.callees()))
            elif dice < 0.7:
                self.stack.pop()
            else:
                self.step()
            if self.stack:
                ticks = self.random.randrange(200)
                rate = rates[self.stack[-1].node.serial]
                self.spend(ticks, int(ticks * 256 * rate * self.random.random() * 2))


def raw_of(threads: list[Simulation]) -> list[tuple[int, ...]]:
    """Return the nodes of all threads as tuples of the core."""
    rows: list[tuple[int, ...]] = []
    for number, simulated in enumerate(threads):
        places = {simulated.root: NO_NODE}
        for node in simulated.nodes:
            assert node.parent is not None
            places[node] = len(rows)
            place = (places[node.parent], node.line, node.serial, number)
            rows.append((*place, *node.numbers, node.kind))
    return rows


def profile(
    threads: list[Simulation],
    nodes: Sequence[tuple[int, ...]] = (),
    scale: TickScale = ODD,
) -> LineStats:
    """Return the profile of threads, with their own or other nodes."""
    one = threads[0]
    folded = sum(simulated.folded for simulated in threads)
    codes: list[Any] = []
    for serial in range(one.python):
        numbers = [sum(t.codes[serial][i] for t in threads) for i in range(4)]
        lines = [
            (line, number, hits, ticks, cost, 0, -1, -1, 0)
            for number, simulated in enumerate(threads)
            for (owner, line), (hits, ticks, cost) in sorted(simulated.lines.items())
            if owner == serial
        ]
        name = (f"{serial % 3}.py", 10 * serial, f"f{serial}", 0, 0)
        codes.append((name, *numbers, lines, serial))
    of_c = [(serial, f"c{serial}") for serial in range(one.python, one.functions)]
    return profile_of(
        [(-number, "") for number, _ in enumerate(threads)],
        codes,
        scale,
        PROCESS,
        calls=(folded, nodes or raw_of(threads)),
        c_functions=of_c,
    )


def add_up(stats: LineStats, *, in_order: bool = True, by_root: bool = True) -> None:
    """Check all sums that docs/drill-down.md promises.

    in_order: frames ended in reverse order of their calls, so that the callees of a
    line are within its time; by_root: the time of each root is exact, and not only
    that of all together.
    """
    numbers, own = function_totals(stats), line_self_ns(stats)
    into: dict[object, list[int]] = {}
    called: dict[object, int] = {}
    for edge in edges(stats.calls):
        mine = into.setdefault(edge.callee, [0, 0, 0])
        mine[0] += edge.calls
        mine[1] += edge.primitive_calls
        mine[2] += edge.total_ns
        place = (edge.caller, edge.line)
        called[place] = called.get(place, 0) + edge.inclusive_ns
        assert 0 <= edge.total_ns <= edge.inclusive_ns
    for function in stats.functions:
        key = function.key
        mine = into.get(key, [0, 0, 0])
        found = numbers[key]
        assert [found.calls, found.primitive_calls, found.total_ns] == mine
        assert (function.calls, function.total_ns) == (mine[0], mine[2])
        assert found.self_ns == sum(own[key].values())
        for row in function.rows if in_order else ():
            own_ns = own[key][row.line]
            assert own_ns >= 0
            assert row.time_ns == own_ns + called.get((key, row.line), 0)
    if in_order:
        roots_add_up(stats, by_root=by_root)


def roots_add_up(stats: LineStats, *, by_root: bool) -> None:
    """Check that the time of roots is the self time of all nodes below them."""
    nodes = stats.calls.nodes
    below = [node.self_ns for node in nodes]
    assert min(below) >= 0
    roots = [node for node in nodes if node.parent == NO_NODE]
    assert sum(below) == sum(node.inclusive_ns for node in roots)
    if not by_root:
        return
    for place in range(len(below) - 1, -1, -1):
        parent = nodes[place].parent
        if parent != NO_NODE:
            below[parent] += below[place]
    for node, whole in zip(nodes, below):
        if node.parent == NO_NODE:
            assert node.total_ns == node.inclusive_ns == whole


def simulated(
    seed: int, max_nodes: int = 1 << 16, *, recurses: bool = True
) -> list[Simulation]:
    """Return a simulated program of one or two threads."""
    functions = 2 + seed % 9
    python = max(1, functions - seed % 3)
    threads = [
        Simulation(seed + 1000 * i, functions, python, max_nodes)
        for i in range(1 + seed % 2)
    ]
    for one in threads:
        one.recurses = recurses
        one.run(40 * (1 + seed % 7), (0, 0.5, 1, 3)[seed % 4])
    return threads


@pytest.mark.parametrize("seed", range(60))
def test_all_sums_add_up_with_any_cost(seed: int) -> None:
    stats = profile(simulated(seed))
    add_up(stats)
    for function in stats.functions:
        for cell in function.thread_lines:
            assert cell.time_ns <= cell.raw_ns + 1


@pytest.mark.parametrize("max_nodes", [0, 10])
@pytest.mark.parametrize("seed", range(20))
def test_sums_add_up_with_more_call_paths_than_are_kept(
    seed: int, max_nodes: int
) -> None:
    threads = simulated(seed, max_nodes)
    # Where more cost is taken off than there was time, no division of it fits all.
    add_up(profile(threads), by_root=not seed % 4)


def times_by_path(stats: LineStats) -> dict[tuple[object, ...], int]:
    """Return the time of each call path with all below it, by lines and functions."""
    nodes = stats.calls.nodes
    paths: list[tuple[object, ...]] = []
    for node in nodes:
        above = (node.thread,) if node.parent == NO_NODE else paths[node.parent]
        paths.append((*above, node.line, node.function))
    below = [node.self_ns for node in nodes]
    for place in range(len(below) - 1, -1, -1):
        if nodes[place].parent != NO_NODE:
            below[nodes[place].parent] += below[place]
    return {
        path: ns
        for path, ns, node in zip(paths, below, nodes)
        if node.function != DEEPER_CALLS
    }


@pytest.mark.parametrize("max_nodes", [0, 3, 10, 30])
@pytest.mark.parametrize("seed", range(0, 80, 4))  # without costs
def test_each_kept_call_path_has_the_time_that_it_has_if_all_are_kept(
    seed: int, max_nodes: int
) -> None:
    by_ticks = TickScale(1 << 32, 256)  # a tick is a ns
    limited = profile(simulated(seed, max_nodes, recurses=False), scale=by_ticks)
    whole = profile(simulated(seed, recurses=False), scale=by_ticks)
    truth = times_by_path(whole)
    for path, ns in times_by_path(limited).items():
        assert truth[path] == ns
    assert {*edges(limited.calls)} == {*edges(whole.calls)}
    assert function_totals(limited) == function_totals(whole)


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_functions_add_up_with_greenlets(seed: int) -> None:
    threads = simulated(seed)
    nodes = raw_of(threads)
    other = random.Random(seed)  # noqa: S311
    for place, (parent, line, *rest) in enumerate(nodes):
        if line:
            moved = line - line % 10 + other.randrange(1, LINES)
            nodes[place] = (parent, moved, *rest)  # type: ignore[assignment]
    add_up(profile(threads, nodes), in_order=False)


PROGRAM = """\
import argparse, json, threading

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def even(n): return n == 0 or odd(n - 1)

def odd(n): return n != 0 and even(n - 1)

def steps(n):
    for i in range(n):
        yield i

def through(n):
    return (yield from steps(n))

def nothing(): pass

def work():
    for _ in range(300):
        nothing(); sorted([3, 1, 2], key=lambda one: -one)
    return sum(through(50)) + fib(11) + even(40)

def main():
    threads = [threading.Thread(target=work) for _ in range(2)]
    for one in threads: one.start()
    json.loads(json.dumps([work(), {"a": [1, 2.5, None]}]))
    argparse.ArgumentParser().parse_args([])
    for one in threads: one.join()

main()
"""


@pytest.mark.parametrize(
    "flags", ["", "--all", "--max-overhead 1.1", "--builtins", "--builtins --all"]
)
def test_sums_of_a_program_add_up_with_real_costs(flags: str, tmp_path: Path) -> None:
    if not HAS_C_EVENTS and "--builtins" in flags:
        pytest.skip("this event source has no events for C functions")
    (tmp_path / "program.py").write_text(PROGRAM)
    _, stats = profiled(*flags.split(), "program.py", cwd=tmp_path)
    assert stats.calls.nodes
    add_up(stats)
    twice = stats + stats
    add_up(twice)


COLLECTS = """
import gc
log = []
def note(_):
    log.append(1)
def collected(phase, info):
    note(phase)
gc.callbacks.append(collected)
"""


def test_calls_by_the_garbage_collector_during_the_snapshot_add_up(
    tmp_path: Path,
) -> None:
    functions = "".join(f"def g{i}():\n    note({i})\n" for i in range(300))
    calls = "for i in range(300): globals()[f'g{i}']()\ngc.set_threshold(5)\n"
    (tmp_path / "program.py").write_text(COLLECTS + functions + calls)
    _, stats = profiled("program.py", cwd=tmp_path)
    add_up(stats)
    assert stats.calls.nodes
