"""Call trees of profiles, exact to the nanosecond."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from c_events import needs_c_events
from check_time import measure
from core_profiles import packed_nodes, profile_of
from example_calls import PROCESS
from running import new_profiler, plain, program_file

from lineprof.model.call_graph import edges, function_totals, line_self_ns
from lineprof.model.records import NO_CALLS, NO_NODE
from lineprof.snapshot.calls import remarks, tree_of
from lineprof.snapshot.profile import TickScale

if TYPE_CHECKING:
    from settable_clock import Clock

    from lineprof.line_stats import LineStats
    from lineprof.model.records import CallNode, CallTree

pytestmark = pytest.mark.usefixtures("hook")

# parent, line, name, thread, calls, primitive calls, self, total, inclusive (ns)
NodeRow = tuple[int, int, str, int, int, int, int, int, int]


def node_rows(tree: CallTree) -> list[NodeRow]:
    """Return the nodes of a tree as tuples, with the last parts of function names."""

    def row(node: CallNode) -> NodeRow:
        parent, line, (_, _, name), thread, *numbers = node
        return (parent, line, name.rpartition(".")[2], thread, *numbers)

    return [row(node) for node in tree.nodes]


def nodes_of(program: str, clock: Clock) -> list[NodeRow]:
    """Run a program, check its profile's sums, and return the nodes."""
    stats = measure(plain(program), clock)
    add_up(stats)
    return node_rows(stats.calls)


def add_up(stats: LineStats) -> None:
    """Check that the tree and the lines have the same numbers."""
    numbers, own = function_totals(stats), line_self_ns(stats)
    into: dict[object, int] = {}
    for edge in edges(stats.calls):
        into[edge.callee] = into.get(edge.callee, 0) + edge.total_ns
    below = [node.self_ns for node in stats.calls.nodes]
    for place in range(len(below) - 1, -1, -1):
        node = stats.calls.nodes[place]
        assert node.parent < place
        if node.parent != NO_NODE:
            below[node.parent] += below[place]
    for function in stats.functions:
        mine = numbers[function.key]
        assert mine.calls == function.calls
        assert mine.total_ns == function.total_ns == into.get(function.key, 0)
        assert mine.self_ns == sum(own[function.key].values())
    for root, whole in zip(stats.calls.nodes, below):
        if root.parent == NO_NODE:
            assert root.total_ns == whole
            assert root.line == 0


def test_nodes_differ_by_line_callee_and_call_path(clock: Clock) -> None:
    found = nodes_of(
        """
        @profile
        def inner(n):
            tick(n)

        @profile
        def middle(n):
            tick(10)
            inner(n)

        @profile
        def outer():
            middle(1)
            for n in 2, 3:
                middle(n); inner(100)
            inner(1000); tick(10000)

        outer()
        inner(5)
        """,
        clock,
    )
    assert found == [
        (NO_NODE, 0, "outer", 0, 1, 1, 10_000, 11_236, 11_236),
        (0, 12, "middle", 0, 1, 1, 10, 11, 11),
        (1, 8, "inner", 0, 1, 1, 1, 1, 1),
        (0, 14, "middle", 0, 2, 2, 20, 25, 25),
        (3, 8, "inner", 0, 2, 2, 5, 5, 5),
        (0, 14, "inner", 0, 2, 2, 200, 200, 200),
        (0, 15, "inner", 0, 1, 1, 1000, 1000, 1000),
        (NO_NODE, 0, "inner", 0, 1, 1, 5, 5, 5),
    ]


def test_recursion_is_a_leaf_and_counts_once_in_the_total(clock: Clock) -> None:
    found = nodes_of(
        """
        @profile
        def fib(n):
            tick(1)
            if n > 1:
                return fib(n - 1) + fib(n - 2)
            return leaf(n)

        @profile
        def leaf(n):
            tick(100)
            return n

        fib(4)
        """,
        clock,
    )
    assert found == [
        (NO_NODE, 0, "fib", 0, 1, 1, 1, 509, 509),
        (0, 5, "fib", 0, 8, 0, 8, 0, 1216),
        (0, 6, "leaf", 0, 5, 5, 500, 500, 500),
    ]


def test_mutual_recursion_makes_no_deep_tree(clock: Clock) -> None:
    found = nodes_of(
        """
        @profile
        def even(n):
            tick(1)
            return n == 0 or odd(n - 1)

        @profile
        def odd(n):
            tick(10)
            return n != 0 and even(n - 1)

        even(100)
        """,
        clock,
    )
    assert found == [
        (NO_NODE, 0, "even", 0, 1, 1, 1, 551, 551),
        (0, 4, "odd", 0, 50, 1, 500, 550, 50 * 550 - 11 * (49 * 50 // 2)),
        (1, 9, "even", 0, 50, 0, 50, 0, sum(1 + 11 * n for n in range(50))),
    ]


def test_steps_of_a_generator_count_where_it_is_resumed(clock: Clock) -> None:
    found = nodes_of(
        """
        @profile
        def steps():
            tick(1)
            yield 1
            tick(10)
            yield 2
            tick(100)

        @profile
        def first(made):
            return next(made)

        @profile
        def rest(made):
            return list(made)

        made = steps()
        first(made)
        rest(made)
        """,
        clock,
    )
    assert found == [
        (NO_NODE, 0, "first", 0, 1, 1, 0, 1, 1),
        (0, 11, "steps", 0, 1, 1, 1, 1, 1),
        (NO_NODE, 0, "rest", 0, 1, 1, 0, 110, 110),
        (2, 15, "steps", 0, 0, 0, 110, 110, 110),
    ]


def test_each_thread_has_a_tree_of_its_own(clock: Clock) -> None:
    program = """
        import threading

        @profile
        def work():
            tick(1)

        @profile
        def main():
            work()
            thread = threading.Thread(target=work, name="other")
            thread.start()
            thread.join()

        main()
        """
    stats = measure(plain(program), clock)
    add_up(stats)
    assert [(one[0], one[2], one[3]) for one in node_rows(stats.calls)] == [
        (NO_NODE, "main", 0),
        (0, "work", 0),
        (NO_NODE, "work", 1),
    ]
    assert stats.threads[1].name == "other"


def test_functions_that_are_not_profiled_are_on_no_call_path(clock: Clock) -> None:
    found = nodes_of(
        """
        @profile
        def inner():
            tick(1)

        def between():
            tick(10)
            inner()

        @profile
        def outer():
            return sorted([2, 1], key=lambda _: between() or 0)

        outer()
        """,
        clock,
    )
    assert found == [
        (NO_NODE, 0, "outer", 0, 1, 1, 20, 22, 22),
        (0, 11, "inner", 0, 2, 2, 2, 2, 2),
    ]


def test_unfinished_calls_count_up_to_now(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule)
    text = plain(
        """
        @profile
        def outer():
            tick(1)
            inner()
            tick(100)

        @profile
        def inner():
            tick(10)
            seen.append(profiler.get_stats())

        outer()
        """
    )
    seen: list[LineStats] = []
    with program_file(text) as file:
        names = {"profile": profiler, "tick": clock.tick, "seen": seen}
        names["profiler"] = profiler
        exec(compile(text, file, "exec", dont_inherit=True), names)
    assert node_rows(seen[0].calls) == [
        (NO_NODE, 0, "outer", 0, 1, 1, 1, 11, 11),
        (0, 4, "inner", 0, 1, 1, 10, 10, 10),
    ]
    add_up(seen[0])
    assert node_rows(profiler.get_stats().calls)[0] == (
        NO_NODE,
        0,
        "outer",
        0,
        1,
        1,
        *[101, 111, 111],
    )


def test_calls_before_a_reset_are_in_no_node(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule)

    @profiler
    def one() -> None:
        clock.tick(1)

    @profiler
    def other() -> None:
        clock.tick(10)

    one()
    assert [node[2] for node in node_rows(profiler.get_stats().calls)] == ["one"]
    profiler.reset()
    assert profiler.get_stats().calls == NO_CALLS
    other()
    assert node_rows(profiler.get_stats().calls) == [
        (NO_NODE, 0, "other", 0, 1, 1, 10, 10, 10)
    ]


def test_functions_of_one_definition_are_one(clock: Clock) -> None:
    found = nodes_of(
        """
        def make(call):
            @profile
            def f():
                tick(1)
                if call:
                    call()
            return f

        make(make(make(None)))()
        """,
        clock,
    )
    assert found == [
        (NO_NODE, 0, "f", 0, 1, 1, 1, 3, 3),
        (0, 6, "f", 0, 2, 0, 2, 0, 3),
    ]


@needs_c_events
def test_c_functions_have_nodes_if_they_are_recorded(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule)
    profiler.c_functions()

    @profiler
    def key(number: int) -> int:
        return -number

    @profiler
    def outer() -> None:
        sorted([1, 3, 2], key=key)
        len("")

    try:
        outer()
    finally:
        profiler.c_functions(on=False)
    stats = profiler.get_stats()
    add_up(stats)
    assert [row[:6] for row in node_rows(stats.calls)] == [
        (NO_NODE, 0, "outer", 0, 1, 1),
        (0, outer.__code__.co_firstlineno + 2, "sorted", 0, 1, 1),
        (1, 0, "key", 0, 3, 3),
        (0, outer.__code__.co_firstlineno + 3, "len", 0, 1, 1),
    ]
    assert stats.calls.nodes[1].function == ("", 0, "builtins.sorted")
    assert [function.name.rpartition(".")[2] for function in stats.functions] == [
        *("key", "outer"),
    ]


# -- from raw nodes -------------------------------------------------------------------

SCALE = TickScale(1 << 32, 10)  # a tick is 1 ns, and 10 units of cost
F, G, H = ("a.py", 1, "f"), ("a.py", 11, "g"), ("a.py", 21, "h")


def raw(  # noqa: PLR0913, PLR0917  # a tuple of the core
    parent: int, line: int, serial: int, calls: int, own: int, total: int
) -> tuple[int, ...]:
    """Return a node of thread 7 without cost."""
    return (parent, line, serial, 7, calls, calls, own, 0, total, 0, total, 0)


def made(
    nodes: list[tuple[int, ...]], keys: dict[int, tuple[str, int, str]], folded: int = 0
) -> CallTree:
    return tree_of((folded, packed_nodes(nodes)), keys, {7: 0}.__getitem__, SCALE)[0]


def test_a_cost_is_taken_out_and_no_time_is_below_0() -> None:
    costly = (NO_NODE, 0, 1, 7, 3, 2, 10, 110, 50, 200, 460, 599)
    assert node_rows(made([costly], {1: F})) == [
        (NO_NODE, 0, "f", 0, 3, 2, 401, 30, 401)
    ]
    below = (NO_NODE, 0, 1, 7, 2, 1, -5, -300, -1, 0, 9, 90)
    assert node_rows(made([below], {1: F})) == [(NO_NODE, 0, "f", 0, 2, 1, 0, 0, 0)]


def test_nanoseconds_lost_by_rounding_are_restored_so_that_sums_add_up() -> None:
    odd = TickScale((1 << 32) * 2 // 3, 10)  # a tick is two thirds of a ns
    nodes = [
        raw(NO_NODE, 0, 1, 1, 100, 205),  # f calls g, g, and h, which calls itself
        raw(0, 2, 2, 1, 10, 10),
        raw(0, 3, 2, 1, 40, 40),
        (0, 4, 3, 7, 1, 1, 13, 0, 55, 0, 55, 0),
        (3, 22, 3, 7, 2, 0, 42, 0, 0, 0, 67, 0),
    ]
    lines = {
        F: ((2, 11), (3, 41), (4, 153)),
        G: ((12, 50),),
        H: ((22, 122),),
    }
    codes = [
        (
            (*key, 0, 0),
            1,
            *((55, 0, 1) if key == H else (0, 0, 0)),
            [(line, 0, 1, ticks, 0, 0, -1, -1, 0) for line, ticks in of],
            serial,
        )
        for serial, (key, of) in enumerate(lines.items(), 1)
    ]
    stats = profile_of(
        [(-41, "first")],
        codes,
        odd,
        PROCESS,
        calls=(0, [(*node[:3], 0, *node[4:]) for node in nodes]),
    )
    numbers, own = function_totals(stats), line_self_ns(stats)
    assert [one.total_ns for one in stats.functions] == [135, 33, 36]
    for function in stats.functions:
        mine = numbers[function.key]
        assert mine.total_ns == function.total_ns
        assert mine.self_ns == sum(own[function.key].values())
    f, *below = stats.calls.nodes
    assert f.self_ns == f.total_ns - sum(one.total_ns for one in below)
    by_hand = [node[6] * 2 // 3 for node in nodes]
    for node, ns in zip(stats.calls.nodes, by_hand):
        assert abs(node.self_ns - ns) <= 3


def test_a_difference_greater_than_rounding_is_given_to_no_node() -> None:
    stats = profile_of(
        [(-41, "first")],
        [((*F, 0, 0), 1, 0, 0, 0, [(2, 0, 1, 100, 0, 0, -1, -1, 0)], 1)],
        SCALE,
        PROCESS,
        calls=(0, [(NO_NODE, 0, 1, 0, 1, 1, 90, 0, 90, 0, 90, 0)]),
    )
    assert stats.functions[0].total_ns == 100
    assert node_rows(stats.calls) == [(NO_NODE, 0, "f", 0, 1, 1, 90, 90, 90)]


def test_calls_of_a_hidden_function_count_in_its_caller() -> None:
    nodes = [
        raw(NO_NODE, 0, 1, 1, 5, 107),  # f
        raw(0, 2, 9, 3, 2, 102),  # f calls a hidden function
        raw(1, 31, 2, 3, 40, 100),  # the hidden one calls g
        raw(2, 12, 9, 1, 60, 60),  # g calls the hidden one: a leaf
        raw(0, 2, 2, 1, 0, 0),  # f calls g from the same line
        raw(NO_NODE, 0, 9, 1, 1, 21),  # the hidden one as a root
        raw(5, 33, 3, 2, 20, 20),  # the hidden one calls h
    ]
    assert node_rows(made(nodes, {1: F, 2: G, 3: H})) == [
        (NO_NODE, 0, "f", 0, 1, 1, 7, 107, 107),
        (0, 2, "g", 0, 4, 4, 100, 100, 100),
        (NO_NODE, 0, "h", 0, 2, 2, 20, 20, 20),
    ]


def test_code_objects_of_one_function_are_one_on_a_call_path() -> None:
    nodes = [
        raw(NO_NODE, 0, 1, 1, 1, 111),  # f
        raw(0, 2, 2, 1, 10, 110),  # f calls g
        raw(1, 12, 4, 1, 100, 100),  # g calls another code object of f
        raw(2, 2, 2, 5, 0, 0),  # that one calls g
        raw(NO_NODE, 0, 4, 1, 1000, 1000),
    ]
    assert node_rows(made(nodes, {1: F, 2: G, 4: F})) == [
        (NO_NODE, 0, "f", 0, 2, 2, 1001, 1111, 1111),
        (0, 2, "g", 0, 6, 6, 10, 110, 110),
        (1, 12, "f", 0, 1, 1, 100, 100, 100),
    ]


def test_a_thread_that_is_only_in_the_tree_is_in_the_profile() -> None:
    lines = [(2, 1, 1, 10, 0, 0, -1, -1, 0)]
    codes = [((*F, 0, 0), 1, 10, 0, 0, lines, 1)]
    numbers = raw(NO_NODE, 0, 1, 1, 10, 10)[4:]
    stats = profile_of(
        [(-41, "first"), (-42, "second")],
        codes,
        SCALE,
        PROCESS,
        warnings=["before"],
        calls=(3, [(NO_NODE, 0, 1, thread, *numbers) for thread in (1, 0, 9)]),
    )
    assert [one.name for one in stats.threads] == ["second", "first"]
    assert [one.thread for one in stats.calls.nodes] == [0, 1, -1]
    assert [one.thread for one in stats.functions[0].thread_lines] == [0]
    assert (stats.warnings[0], len(stats.warnings)) == ("before", 2)


def test_blocks_and_c_functions() -> None:
    lines = [(2, 0, 1, 10, 0, 0, -1, -1, 0)]
    stats = profile_of(
        [(-41, "first")],
        [((*F, 0, 0), 1, 10, 0, 0, lines, 1)],
        SCALE,
        PROCESS,
        blocks=[((F[0], 2, "block"), 1, 0, 0, 0, lines, 1)],  # the same code object
        calls=(0, [(*node[:3], 0, *node[4:]) for node in C_NODES]),
        c_functions=[(5, "builtins.sorted"), (6, "builtins.len")],
    )
    assert [one.name for one in stats.functions] == ["f", "block"]
    assert [one.function for one in stats.calls.nodes] == [
        *(F, ("", 0, "builtins.sorted"), F, ("", 0, "builtins.len")),
    ]
    assert "" not in stats.sources


C_NODES = [
    raw(NO_NODE, 0, 1, 1, 10, 10),
    raw(0, 2, 5, 1, 5, 10),
    raw(1, 0, 1, 1, 0, 0),
    raw(1, 0, 6, 1, 0, 0),
]


def test_nodes_without_numbers_are_dropped_unless_a_node_below_has_some() -> None:
    nodes = [
        raw(NO_NODE, 0, 1, 0, 0, 0),
        raw(0, 2, 2, 0, 0, 0),
        raw(0, 3, 3, 0, 0, 0),
        raw(2, 22, 2, 1, 0, 0),
    ]
    assert node_rows(made(nodes, {1: F, 2: G, 3: H})) == [
        (NO_NODE, 0, "f", 0, 0, 0, 0, 0, 0),
        (0, 3, "h", 0, 0, 0, 0, 0, 0),
        (1, 22, "g", 0, 1, 1, 0, 0, 0),
    ]


def test_folded_calls_give_a_remark() -> None:
    tree = made([raw(NO_NODE, 0, 1, 1, 1, 1)], {1: F}, folded=12)
    assert tree.folded == 12
    (remark,) = remarks(tree)
    assert remark == (
        "there were more call paths than are kept: 12 calls have the right caller and"
        " line everywhere, but --tree and flame graphs show them as 'deeper calls' of"
        " the last function on their path that is kept; profile fewer functions"
        " (--include, --exclude) to see each path"
    )
    assert remarks(NO_CALLS) == []
    assert made([], {}) == NO_CALLS


def test_a_tree_of_50000_levels_is_built() -> None:
    levels = 50_000
    nodes = [raw(i - 1, 2 * i, i, 1, 1, levels - i) for i in range(levels)]
    keys = {i: ("a.py", 2 * i + 1, f"f{i}") for i in range(levels)}
    keys[levels - 1] = keys[1]  # one of them is there twice
    tree = made(nodes, keys)
    assert len(tree.nodes) == levels
    assert tree.nodes[-1].parent == levels - 2
