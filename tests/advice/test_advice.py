"""Findings of every kind from known numbers, and none just below its threshold."""

from __future__ import annotations

import textwrap

import example_gpu
import example_ranks
import pytest
from example_advice import FILE, MS, RUN, Called, Lines, advice, found, made, places
from example_stats import PROCESS
from example_stats import example as old_example

from lineprof.advice.advise import KINDS, advise
from lineprof.line_stats import LineStats
from lineprof.model.gpu import (
    KERNEL,
    LOAD,
    MEMCPY,
    NO_DEVICE,
    NO_PATH,
    RUNTIME,
    WAIT,
    Gpu,
    GpuPath,
    GpuRun,
    GpuSum,
)
from lineprof.model.records import (
    GIL,
    IO,
    LOCK,
    NO_NODE,
    RUNNABLE,
    SLEEP,
    SYSTEM,
    CallNode,
    CallTree,
    FunctionStats,
    LineBreakdown,
    SourceFile,
    Thread,
    ThreadLine,
    Wait,
)
from lineprof.model.timelines import Launch, Timeline, pack_events
from lineprof.report.advice import first_findings
from lineprof.snapshot.arithmetic import idle_sums
from lineprof.source import Sources
from lineprof.source_files import lines_of, text_hash

HALF, QUARTER, TENTH = RUN // 2, RUN // 4, RUN // 10
BUSY = "busy-processors"
OF_SOURCE = (
    *("hot-loop", "repeated-call", "import"),
    *("list-search", "list-shift", "rebuilt-collection"),
)
OF_GPU = (
    *("hidden-synchronisation", "pageable-copy", "many-tiny-kernels"),
    *("gpu-loading", "gpu-idle"),
)

LOOPS = """\
def work(data):
    for part in data:
        head(part)
        for one in part:
            use(one)
            use(part)
    while data:
        data.pop()
"""


def loop(body_ns: int, *, hits: int = 40, outer: int = 4, **more: object) -> LineStats:
    """Return a profile in which the inner loop of work() takes `body_ns`."""
    lines = {
        2: (5, MS),
        3: (outer, 2 * MS),
        4: (44, 0),
        5: (hits, body_ns - MS),
        6: (hits, MS),
        8: (9, 5 * MS),
    }
    return made(LOOPS, {"work": (1, lines)}, **more)


# Loops.


def test_the_innermost_loop_with_most_of_the_run_dominates() -> None:
    [one] = found(loop(HALF + MS), "hot-loop")
    key = (FILE, 1, "work")
    assert (one.cost_ns, one.share) == (HALF + MS, 0.501)
    assert one.places == ((key, 4), (key, 5))
    assert dict(one.numbers) == {
        "own_ns": HALF + MS,
        "first_line": 4,
        "last_line": 6,
        "function_calls": 1,
        "longest_line": 5,
        "longest_line_ns": HALF,
        "rounds": 40,
        "round_ns": (HALF + MS) // 40,
    }
    assert one.measured == (
        "This for loop, lines 4 to 6, took 501.0 ms itself, 50.1 % of the run, in 40"
        " rounds of 12.53 ms on average; 500.0 ms of it on line 5."
    )


def test_a_loop_on_one_line_has_no_longest_line() -> None:
    stats = made("def work(n):\n    while n: use(n)\n", {"work": (3, {2: (9, HALF)})})
    [one] = found(stats, "hot-loop")
    assert one.measured == (
        "This while loop took 500.0 ms itself, 50.0 % of the run, in 3 calls of work."
    )


def test_a_loop_with_a_quarter_of_the_run_is_not_hot() -> None:
    # The outer loop, of 10 rounds, has 3 ms more than the inner one.
    assert places(loop(QUARTER + 1), "hot-loop") == [("work", 4)]
    assert places(loop(QUARTER - 2 * MS, outer=10), "hot-loop") == [("work", 2)]
    assert not found(loop(QUARTER - 3 * MS, outer=10), "hot-loop")


def test_a_loop_of_few_rounds_is_not_hot() -> None:
    assert found(loop(HALF, hits=10), "hot-loop")
    assert not found(loop(HALF, hits=9), "hot-loop")


def test_rounds_are_unknown_if_the_first_statement_is_a_loop_or_shares_its_line() -> (
    None
):
    for body, line in (
        ("for i in n:\n        for j in i:\n            use(j)\n        use(i)\n", 5),
        ("for i in n:\n        a(i); b(i)\n", 3),
        ("while n: use(n)\n", 2),
    ):
        text = f"def work(n):\n    {body}"
        stats = made(text, {"work": (1, {line: (20, HALF + 1)})})
        [one] = found(stats, "hot-loop")
        assert "rounds" not in dict(one.numbers)


NESTED = """\
def outer(data):
    for part in data:
        middle(part)

def middle(part):
    inner(part)

def inner(part):
    for one in part:
        use(one)
"""


def test_a_loop_that_has_its_time_from_a_loop_further_in_is_not_listed() -> None:
    functions = {
        "outer": (1, {2: (16, 0), 3: (15, HALF + 5)}),
        "middle": (15, {6: (15, HALF + 4)}),
        "inner": (15, {9: (99, 1), 10: (84, HALF + 2)}),
    }
    called = [
        Called("outer", 3, "middle", 15, HALF + 4),
        Called("middle", 6, "inner", 15, HALF + 3),
    ]
    [one] = found(made(NESTED, functions, called), "hot-loop")
    assert one.places[0] == ((FILE, 8, "inner"), 9)
    assert (
        ", in 84 rounds of 5.952 ms on average, in 15 calls of inner;" in one.measured
    )
    without_calls = made(NESTED, functions, processes=[PROCESS._replace(wall_ns=RUN)])
    assert len(found(without_calls, "hot-loop")) == 2


def call(parent: int, line: int, calls: int, self_ns: int, ns: int) -> CallNode:
    """Return calls of work(); those by itself are not primitive."""
    is_root = parent == NO_NODE
    return CallNode(
        parent=parent,
        line=line,
        function=(FILE, 1, "work"),
        thread=0,
        calls=calls,
        primitive_calls=calls if is_root else 0,
        self_ns=self_ns,
        total_ns=ns if is_root else 0,
        inclusive_ns=ns,
    )


def test_a_recursive_function_proves_a_loop_by_the_own_time_of_its_lines() -> None:
    text = """\
    def work(data):
        for one in data:
            work(one)
            use(one)
    """
    lines = {2: (99, 0), 3: (90, 3 * HALF), 4: (90, HALF)}
    tree = CallTree((call(NO_NODE, 0, 1, 0, HALF), call(0, 3, 90, HALF, 3 * HALF)))
    stats = made(text, {"work": (91, lines)}, calls=tree)
    [function] = stats.functions
    again = LineStats.from_functions(
        [function._replace(recursive_ns=HALF)],
        processes=stats.processes,
        sources=stats.sources,
        calls=tree,
    )
    [one] = found(again, "hot-loop")
    assert (one.cost_ns, dict(one.numbers)["longest_line"]) == (HALF, 4)


def test_a_function_that_another_one_contains_keeps_its_loops() -> None:
    text = """\
    def outer():
        def inner(data):
            for one in data:
                use(one)
        return inner
    """
    stats = made(text, {"inner": (1, {3: (19, 1), 4: (18, HALF)}), "outer": (1, {})})
    assert places(stats, "hot-loop") == [("inner", 3)]


# The run.


def test_the_run_is_the_wall_time_without_the_cost_of_measuring() -> None:
    process = PROCESS._replace(wall_ns=3 * RUN, overhead_ns=2 * RUN)
    stats = loop(HALF + MS, processes=[process])
    assert advice(stats).run_ns == RUN
    assert found(stats, "hot-loop")
    slow = process._replace(overhead_ns=RUN // 2)
    assert not found(loop(HALF + MS, processes=[slow]), "hot-loop")


def test_threads_that_measured_more_than_the_wall_time_are_the_run() -> None:
    functions = {"work": (1, {2: (9, 3 * RUN)}), "use": (9, {5: (9, 2 * RUN)})}
    text = "def work():\n    use()\n\ndef use():\n    pass\n"
    stats = made(text, functions, [Called("work", 2, "use", 9, 2 * RUN)])
    assert advice(stats).run_ns == 3 * RUN


def test_a_profile_without_processes_and_calls_has_the_sum_of_its_functions() -> None:
    functions = {"a": (1, {2: (1, 5)}), "b": (1, {4: (1, 7)})}
    text = "def a():\n    b()\ndef b():\n    pass\n"
    stats = made(text, functions, processes=[], threads=[])
    assert advice(stats).run_ns == 12


# Waits.


def waiting(*waits: tuple[int, str, int], called: int = 0) -> LineStats:
    """Return work(), whose line 2 waits; it calls use() for `called` ns."""
    keys = {"work": (FILE, 1, "work"), "use": (FILE, 4, "use")}
    return made(
        "def work():\n    use()\n\ndef use():\n    read()\n",
        {"work": (3, {2: (3, 2 * TENTH)}), "use": (3, {5: (3, called)})},
        [Called("work", 2, "use", 3, called)],
        waits=[
            Wait(keys["work" if line == 2 else "use"], line, 0, cause, ns)
            for line, cause, ns in waits
        ],
    )


def test_a_line_that_waits_for_a_tenth_of_the_run_has_its_causes() -> None:
    [one] = found(waiting((2, LOCK, TENTH), (2, GIL, 5 * MS)), "waiting")
    assert one.cost_ns == TENTH + 5 * MS
    numbers = dict(one.numbers)
    assert numbers["cause"] == LOCK
    assert (numbers["lock_ns"], numbers["gil_ns"]) == (TENTH, 5 * MS)
    assert numbers["hits"] == 3
    assert "105.0 ms or more, 10.5 % of the run: 100.0 ms for a lock," in one.measured
    assert not found(waiting((2, LOCK, TENTH)), "waiting")


@pytest.mark.parametrize("cause", [GIL, LOCK, SLEEP, IO, "other", "later"])
def test_each_cause_has_its_own_advice(cause: str) -> None:
    [one] = found(waiting((2, cause, TENTH + 1)), "waiting")
    [other] = found(waiting((2, SLEEP, TENTH + 1)), "waiting")
    assert (one.advice == other.advice) is (cause == SLEEP)


def test_a_wait_that_may_be_the_callees_is_not_the_lines() -> None:
    waits = ((2, IO, TENTH + 5), (5, IO, 10))
    assert not found(waiting(*waits, called=10), "waiting")
    assert places(waiting(*waits, called=4), "waiting") == [("work", 2)]
    inner = ((2, IO, TENTH + 5), (5, IO, TENTH + 5))
    assert places(waiting(*inner, called=TENTH + 9), "waiting") == [("use", 5)]


def test_a_c_function_that_waits_is_part_of_its_line() -> None:
    text = "def work():\n    sleep()\n    run(use)\n\ndef use():\n    sleep()\n"
    work, use = (FILE, 1, "work"), (FILE, 5, "use")
    stats = made(
        text,
        {"work": (1, {2: (1, 2 * TENTH), 3: (1, TENTH + 8)}), "use": (1, {6: (1, 50)})},
        [
            Called("work", 2, "time.sleep", 1, 2 * TENTH),
            Called("work", 3, "c.run", 1, TENTH + 6),
            Called("c.run", 0, "use", 1, 50),
        ],
        waits=[
            Wait(work, 2, 0, SLEEP, 2 * TENTH),
            Wait(work, 3, 0, SLEEP, TENTH + 5),
            Wait(use, 6, 0, SLEEP, 45),
        ],
    )
    assert places(stats, "waiting") == [("work", 2)]


@pytest.mark.parametrize("call", ["t.join()", "pool.map(f, x)", "q.get()"])
def test_a_wait_for_other_threads_of_the_program_is_not_listed(call: str) -> None:
    def stats(cause: str, threads: int) -> LineStats:
        return made(
            f"def work():\n    {call}\n",
            {"work": (3, {2: (3, 2 * TENTH)})},
            waits=[Wait((FILE, 1, "work"), 2, 0, cause, TENTH + 1)],
            threads=[Thread(0, one, "") for one in range(threads)],
        )

    assert not found(stats(LOCK, 2), "waiting")  # their lines have the time
    assert found(stats(LOCK, 1), "waiting")
    assert found(stats(IO, 2), "waiting")  # of a server, by a method of that name


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("asyncio.run(main())", "No task of the event loop could run meanwhile"),
        ("loop.run_until_complete(x)", "No task of the event loop could run meanwhile"),
        ("x = subprocess.run(y).stdout", "The line waits for another program"),
        ("run(y)", "It usually helps to read or write more"),
    ],
)
def test_the_source_tells_what_a_line_waits_for(call: str, words: str) -> None:
    stats = made(
        f"def work():\n    {call}\n",
        {"work": (3, {2: (3, 2 * TENTH)})},
        waits=[Wait((FILE, 1, "work"), 2, 0, IO, TENTH + 1)],
    )
    [one] = found(stats, "waiting")
    assert one.advice.startswith(words)


def test_waits_for_a_processor_are_those_of_the_run() -> None:
    # Line 2 calls line 5: 40 ms and 1 ns are its own.
    rest = ((5, RUNNABLE, 60 * MS), (2, LOCK, 9 * MS))
    stats = waiting((2, RUNNABLE, TENTH + 1), *rest, called=70 * MS)
    assert not found(stats, "waiting")
    assert not found(waiting((2, RUNNABLE, TENTH), *rest, called=70 * MS), BUSY)
    [one] = found(stats, BUSY)
    assert dict(one.numbers) == {
        "ready_ns": TENTH + 1,
        "lines": 2,
        "longest_line_ns": 60 * MS,
    }


BUSY_WAITS = ((2, RUNNABLE, HALF), (2, SLEEP, TENTH + 5))


def test_busy_processors_come_last_and_are_never_the_first_finding() -> None:
    stats = waiting(*BUSY_WAITS)
    kinds = [one.kind for one in advice(stats).findings]
    assert kinds == ["waiting", BUSY]
    [first] = first_findings(stats, Sources(stats.sources))
    assert first == advice(stats).findings[0]
    alone = waiting(*BUSY_WAITS[:1])
    assert [one.kind for one in advice(alone).findings] == [BUSY]
    assert first_findings(alone, Sources(alone.sources)) == []


@pytest.mark.parametrize(
    ("processes", "threads", "cpu_ns", "alone"),
    [
        (1, 1, HALF, True),
        (1, 1, None, True),
        (1, 1, RUN, False),  # threads of C libraries ran beside it
        (1, 2, HALF, False),
        (2, 2, HALF, False),
    ],
)
def test_a_program_of_one_thread_is_not_told_to_start_fewer(
    processes: int, threads: int, cpu_ns: int | None, *, alone: bool
) -> None:
    process = PROCESS._replace(wall_ns=RUN, overhead_ns=0, cpu_ns=cpu_ns)
    stats = waiting(*BUSY_WAITS)
    several = LineStats.from_functions(
        stats.functions,
        processes=[process] * processes,
        threads=[Thread(min(i, processes - 1), i, "") for i in range(threads)],
        waits=[one._replace(ns=processes * one.ns) for one in stats.waits],
    )
    [one] = found(several, BUSY)
    assert ("fewer threads or processes" in one.advice) is not alone
    assert ("while other programs had the processors" in one.measured) is alone


# Uneven lines.


def uneven(hits: int, ns: int, low: int, high: int) -> LineStats:
    return made("def work():\n    use()\n", {"work": (1, {2: (hits, ns, low, high)})})


def test_one_execution_that_took_most_of_the_time_is_uneven() -> None:
    [one] = found(uneven(11, TENTH + 1 + 10 * 500, 400, TENTH + 1), "uneven-line")
    assert one.cost_ns == TENTH + 1
    assert dict(one.numbers) == {
        "hits": 11,
        "min_ns": 400,
        "max_ns": TENTH + 1,
        "mean_of_others_ns": 500,
    }
    assert one.measured == (
        "One of 11 executions of this line took 100.0 ms, 10.0 % of the run; the others"
        " took 500.0 ns on average, the shortest 400.0 ns."
    )


@pytest.mark.parametrize(
    ("hits", "ns", "high", "expected"),
    [
        (11, TENTH + 500, TENTH, False),  # a tenth of the run, not more
        (1, TENTH + 1, TENTH + 1, False),  # no others
        (2, 2 * TENTH, 2 * TENTH, True),  # of the other one 0 ns are known
        (2, 101 * 2 * MS, 200 * MS, False),  # 100 times, not more
        (2, 101 * 2 * MS, 200 * MS + 1, True),
    ],
)
def test_the_thresholds_of_uneven_lines(
    hits: int, ns: int, high: int, *, expected: bool
) -> None:
    assert bool(found(uneven(hits, ns, 0, high), "uneven-line")) is expected


def test_a_line_that_calls_the_uneven_one_is_not_listed() -> None:
    stats = made(
        NESTED,
        {
            "outer": (1, {3: (9, 2 * TENTH + 9, 1, 2 * TENTH)}),
            "middle": (9, {6: (9, 2 * TENTH + 5, 1, 2 * TENTH - 1)}),
            "inner": (9, {10: (9, 2 * TENTH, 0, 2 * TENTH - 2)}),
        },
        [
            Called("outer", 3, "middle", 9, 2 * TENTH + 5),
            Called("middle", 6, "inner", 9, 2 * TENTH),
        ],
    )
    assert places(stats, "uneven-line") == [("inner", 10)]


def test_a_line_of_which_one_execution_waited_is_not_uneven() -> None:
    def stats(ns: int) -> LineStats:
        line = {2: (9, 2 * TENTH, 0, 2 * TENTH)}
        waits = [Wait((FILE, 1, "work"), 2, 0, LOCK, ns)]
        return made("def work():\n    use()\n", {"work": (1, line)}, waits=waits)

    assert found(stats(TENTH - 1), "uneven-line")
    assert not found(stats(TENTH), "uneven-line")


def test_a_line_is_uneven_by_its_own_time() -> None:
    def stats(ns: int) -> LineStats:
        lines = {"outer": (1, {3: (9, 2 * TENTH, 0, 2 * TENTH)})}
        lines["middle"] = (9, {6: (9, ns)})  # its lines take as long each time
        return made(NESTED, lines, [Called("outer", 3, "middle", 9, ns)])

    assert found(stats(TENTH), "uneven-line")
    assert not found(stats(TENTH + 1), "uneven-line")


# Functions of others.

THEIRS = "/env/lib/python3.12/site-packages/pkg/mod.py"


def with_package(*, is_whole: bool = True, file: str = THEIRS) -> LineStats:
    """Return a loop of 1,000 rounds that calls a package, which calls back."""
    text = "def work(items):\n    for one in items:\n        pkg.use(one, back)\n"
    text += "\ndef back():\n    pass\n"
    work, back, theirs = (FILE, 1, "work"), (FILE, 5, "back"), (file, 8, "use")
    rows = {
        work: [(2, 1_001, 0), (3, 1_000, 8 * TENTH)],
        theirs: [(9, 1_000, 8 * TENTH)],
        back: [(6, 1_000, TENTH)],
    }
    nodes = [
        (NO_NODE, 0, work, 1, 0, 8 * TENTH),
        (0, 3, theirs, 1_000, 7 * TENTH, 8 * TENTH),
        (1, 9, back, 1_000, TENTH, TENTH),
    ]
    return LineStats.from_functions(
        [
            FunctionStats(
                *(key[0], key[2], key[1]),
                tuple(ThreadLine(line, 0, hits, ns) for line, hits, ns in lines),
                calls=1,
            )
            for key, lines in rows.items()
        ],
        processes=[PROCESS._replace(wall_ns=RUN, overhead_ns=0, is_whole=is_whole)],
        threads=[Thread(0, 1, "MainThread")],
        sources={
            FILE: SourceFile(FILE, text, text_hash(text)),
            file: SourceFile(file, "\n" * 20, text_hash("\n" * 20)),
        },
        calls=CallTree(
            tuple(
                CallNode(parent, line, key, 0, calls, calls, own, ns, ns)
                for parent, line, key, calls, own, ns in nodes
            )
        ),
        waits=[Wait(theirs, 9, 0, SLEEP, 2 * TENTH)],
    )


def test_time_in_packages_is_that_of_the_line_that_leads_there() -> None:
    [one] = found(with_package(), "hot-loop")
    assert one.cost_ns == 7 * TENTH  # back() is a function of the program
    assert one.places == (((FILE, 1, "work"), 2), ((FILE, 1, "work"), 3))
    assert "took 700.0 ms with the libraries that it called, 70.0 %" in one.measured
    for stats in (with_package(is_whole=False), with_package(file="/project/mod.py")):
        assert not found(stats, "hot-loop")  # the functions were named, or are its own


def called_in_c(*, is_known: bool) -> LineStats:
    """Return a line that has its time in a function in C, with its calls or without."""
    text = "import re\ndef work(items):\n    for one in items:\n"
    text += "        x = re.compile('a') in list(one)\n"
    called = [Called("work", 4, "built-in method re.compile", 1_000, 7 * TENTH)]
    lines: Lines = {3: (1_001, 0), 4: (1_000, 8 * TENTH)}
    return made(text, {"work": (1, lines)}, called if is_known else [])


@pytest.mark.parametrize("kind", ["hot-loop", "list-search"])
def test_time_in_profiled_functions_in_c_is_not_called_that_of_the_line_itself(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lineprof.advice.loops._MOST", 2)  # list both
    [one] = found(called_in_c(is_known=True), kind)
    assert "took 800.0 ms with the functions in C that it called, 80" in one.measured
    [one] = found(called_in_c(is_known=False), kind)
    assert "took 800.0 ms itself, 80.0 % of the run" in one.measured


def test_a_wait_in_a_package_begins_with_the_line_that_leads_there() -> None:
    [one] = found(with_package(), "waiting")
    assert one.places == (((FILE, 1, "work"), 3), ((THEIRS, 8, "use"), 9))
    assert one.measured.startswith("The second line, to which the first one leads, was")
    [named] = found(with_package(is_whole=False), "waiting")
    assert named.places == (((THEIRS, 8, "use"), 9),)


@pytest.mark.parametrize(
    ("file", "is_theirs"),
    [
        (THEIRS, True),
        ("/usr/lib/python3/dist-packages/six.py", True),
        ("/usr/lib/python3.13t/json/decoder.py", True),
        ("<frozen importlib._bootstrap>", True),
        ("/project/lib/python/mod.py", False),
        ("/project/site-packages.py", False),
        ("<stdin>", False),
    ],
)
def test_files_of_packages_and_of_python_are_others(
    file: str, *, is_theirs: bool
) -> None:
    assert bool(found(with_package(file=file), "hot-loop")) is is_theirs


# Imports.


def importing(ns: int, text: str = "import numpy\n") -> LineStats:
    return made(text, {"<module>": (1, {1: (1, ns)})})


def test_an_import_of_a_tenth_of_the_run_is_found() -> None:
    [one] = found(importing(TENTH + 1), "import")
    assert (one.cost_ns, one.places) == (TENTH + 1, (((FILE, 1, "<module>"), 1),))
    assert dict(one.numbers) == {"hits": 1, "time_ns": TENTH + 1}
    assert not found(importing(TENTH), "import")
    assert not found(importing(HALF, "import numpy; work()\n"), "import")
    assert not found(importing(HALF, "numpy = load()\n"), "import")


def test_an_import_is_the_first_finding_only_if_there_is_no_other() -> None:
    alone = importing(HALF)
    [first] = first_findings(alone, Sources(alone.sources))
    assert first is not None
    assert first.kind == "import"
    waits = Wait((FILE, 1, "<module>"), 2, 0, LOCK, QUARTER)
    text = "import numpy\nread()\n"
    both = made(text, {"<module>": (1, {1: (1, HALF), 2: (1, QUARTER)})}, waits=[waits])
    assert [one.kind for one in advice(both).findings] == ["import", "waiting"]
    [first] = first_findings(both, Sources(both.sources))
    assert first is not None
    assert first.kind == "waiting"


def test_the_import_that_has_the_time_is_named_in_place_of_its_importers() -> None:
    stats = made(
        "def a():\n    import b\n\ndef b():\n    from c import d\n",
        {"a": (1, {2: (1, HALF)}), "b": (1, {5: (1, HALF - 9)})},
        [Called("a", 2, "b", 1, HALF - 9)],
    )
    assert places(stats, "import") == [("b", 5)]


# The kernel.


def test_time_in_the_kernel_is_known_of_a_split_profile() -> None:
    def stats(ns: int) -> LineStats:
        part = LineBreakdown((FILE, 1, "work"), 2, 0, SYSTEM, ns)
        text = "def work():\n    write()\n"
        return made(text, {"work": (1, {2: (9, HALF)})}, breakdowns=[part])

    [one] = found(stats(TENTH + 1), "system-time")
    assert dict(one.numbers) == {"system_ns": TENTH + 1, "hits": 9, "time_ns": HALF}
    assert not found(stats(TENTH), "system-time")


# Ranks.


def test_lines_that_ranks_wait_for_have_their_lost_time() -> None:
    first, second = found(example_ranks.summed(), "imbalance")
    assert first.places == ((example_ranks.WORK, 2),)
    assert dict(first.numbers) == {
        "lost_ns": 60 * MS,
        "max_ns": 40 * MS,
        "max_rank": 3,
        "mean_ns": 25 * MS,
        "min_ns": 10 * MS,
        "ran_on": 4,
        "ranks": 4,
    }
    assert (first.share, second.share) == (0.3, 0.06)
    assert second.places == ((example_ranks.MAIN, 8),)


def test_less_than_a_twentieth_is_no_imbalance_and_one_rank_neither() -> None:
    stats = example_ranks.summed()
    longer = [one._replace(wall_ns=60 * MS) for one in stats.processes]
    slower = LineStats.of(stats.with_processes(longer))  # 12 of 240 ms
    assert places(slower, "imbalance") == [("work", 2)]
    alone = example_ranks.rank_profile(0)
    assert not found(alone, "imbalance")
    assert "imbalance" not in dict(advice(alone).unchecked)


def test_ranks_whose_communication_is_not_known_are_not_compared() -> None:
    stats = example_ranks.summed()
    nodes = [one for one in stats.calls.nodes if one.function[0]]
    silent = LineStats.of(stats)
    silent.calls = stats.calls._replace(nodes=tuple(nodes))
    assert not found(silent, "imbalance")
    reason = "no calls of MPI or torch.distributed"
    assert ("imbalance", reason) in advice(silent).unchecked


# GPUs.

TRAIN = """\
def train(model):
    for batch in model:
        loss = step(batch)
        {line}
"""
KEY = (FILE, 1, "train")


def on_gpu(
    *sums: GpuSum, line: str = "loss.item()", adopted: bool = False, ns: int = HALF
) -> LineStats:
    """Return train(), whose line 4 takes `ns` and caused GPU work on path 0."""
    gpu = Gpu(
        paths=(GpuPath(0, adopted, ((KEY, 4),)),),
        sums=sums,
        runs=(GpuRun(0, "cupti", "found", present=True),),
    )
    return made(TRAIN.format(line=line), {"train": (1, {4: (9, ns)})}, gpu=gpu)


def gpu_sum(kind: str, name: str, count: int, ns: int) -> GpuSum:
    return GpuSum(0, NO_PATH, kind, name, NO_DEVICE, count, ns, 0, ns)


def test_a_wait_that_the_source_does_not_show_is_hidden() -> None:
    call = gpu_sum(RUNTIME, "cudaMemcpyAsync_v3020", 9, 12 * MS)
    [one] = found(on_gpu(gpu_sum(WAIT, "", 9, 10 * MS), call), "hidden-synchronisation")
    assert (one.cost_ns, one.share, one.places) == (10 * MS, 0.01, ((KEY, 4),))
    assert dict(one.numbers) == {
        "waits": 9,
        "wait_ns": 10 * MS,
        "hits": 9,
        "time_ns": HALF,
        "call": "cudaMemcpyAsync",
        "call_ns": 12 * MS,
    }
    assert "of CUDA's calls there, cudaMemcpyAsync took the most time" in one.measured
    short = on_gpu(gpu_sum(WAIT, "", 9, 10 * MS - 1))
    assert not found(short, "hidden-synchronisation")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch.cuda.synchronize()", False),
        ("stream.waitFor(event)", False),
        ("use(\n            x, sync=True)", False),
        ("block_until_ready(x)", False),
        ("cudaMemcpyAsync(x)", True),
        ("if x.any():\n            synchronize()", True),  # the condition waits
    ],
)
def test_a_word_for_waiting_shows_the_wait(line: str, *, expected: bool) -> None:
    stats = on_gpu(gpu_sum(WAIT, "", 9, 20 * MS), line=line)
    assert bool(found(stats, "hidden-synchronisation")) is expected


def test_waits_of_other_threads_and_of_unknown_source_are_not_hidden() -> None:
    wait = gpu_sum(WAIT, "", 9, 20 * MS)
    assert not found(on_gpu(wait, adopted=True), "hidden-synchronisation")
    stats = on_gpu(wait)
    stats.sources = {}
    assert not found(stats, "hidden-synchronisation")


def test_a_line_that_loads_modules_is_told_to_be_run_before_the_measurement() -> None:
    stats = on_gpu(gpu_sum(LOAD, "", 3, 10 * MS), gpu_sum(WAIT, "", 9, 20 * MS))
    [one] = found(stats, "gpu-loading")
    assert (one.cost_ns, one.share, one.places) == (10 * MS, 0.01, ((KEY, 4),))
    assert dict(one.numbers) == {
        "loads": 3,
        "load_ns": 10 * MS,
        "hits": 9,
        "time_ns": HALF,
    }
    assert "3 calls of CUDA from this line took 10.00 ms" in one.measured
    assert "run it once before the measurement" in one.advice
    assert not found(on_gpu(gpu_sum(LOAD, "", 3, 10 * MS - 1)), "gpu-loading")
    assert not found(on_gpu(gpu_sum(LOAD, "", 3, HALF), adopted=True), "gpu-loading")


def test_the_longest_call_is_not_the_one_that_waited_if_the_line_loaded() -> None:
    sums = gpu_sum(WAIT, "", 9, 20 * MS), gpu_sum(RUNTIME, "cudaLaunch", 9, HALF)
    [one] = found(on_gpu(*sums, gpu_sum(LOAD, "", 1, HALF)), "hidden-synchronisation")
    assert "cudaLaunch" not in one.measured
    assert "call" not in dict(one.numbers)


def tiny(
    count: int = 1000, mean_ns: int = 4_999, ns: int = HALF, **more: bool
) -> list[object]:
    kernels = gpu_sum(KERNEL, "k", count, count * mean_ns)
    return [*found(on_gpu(kernels, ns=ns, **more), "many-tiny-kernels")]


def test_many_kernels_that_take_less_than_their_launch_are_tiny() -> None:
    stats = on_gpu(gpu_sum(KERNEL, "k", 1000, 4_000_000), gpu_sum(WAIT, "", 2, MS))
    [one] = found(stats, "many-tiny-kernels")
    assert one.cost_ns == HALF - MS
    assert dict(one.numbers) == {
        "kernels": 1000,
        "kernel_ns": 4_000_000,
        "own_ns": HALF - MS,
        "mean_kernel_ns": 4_000,
        "adopted_kernels": 0,
    }
    assert "1,000 kernels of 4.000 us on average, and took 499.0 us" in one.measured


def test_the_thresholds_of_tiny_kernels() -> None:
    assert tiny()
    assert not tiny(count=999)
    assert not tiny(mean_ns=5_000)
    assert tiny(ns=10 * MS)
    assert not tiny(ns=10 * MS - 1)
    assert not tiny(count=4_000, ns=10 * MS)  # 2.5 us for each: the GPU takes longer
    assert tiny(adopted=True)


@pytest.mark.parametrize(("launch_ns", "expected"), [(8_000, True), (7_000, False)])
def test_the_recorded_calls_that_launch_are_the_measure(
    launch_ns: int, *, expected: bool
) -> None:
    stats = on_gpu(
        gpu_sum(KERNEL, "k", 1000, 7_000_000),
        gpu_sum(RUNTIME, "cudaLaunchKernel_v7000", 1000, 1000 * launch_ns),
    )
    assert bool(found(stats, "many-tiny-kernels")) is expected


def copies(  # noqa: PLR0913  # the facts of a copy
    *,
    size: int = 1 << 20,
    ns: int = 5 * MS,
    memory: int = 0x31,
    direction: str = "HtoD",
    path: int = 1,
    left_out: int = 0,
) -> LineStats:
    """Return train() with two copies of `size` bytes and `ns` on line 4."""
    row = (2, 0, 1_000, ns, path, 0, 0, 1, 7, 5, size, 0, memory, 0)
    timeline = Timeline(
        process=0,
        count=2,
        origin_ns=example_gpu.ORIGIN_NS,
        first_path=0,
        names=(direction,),
        launches=(Launch(0, 0, 0, 0, 0, 0, 0, 0, 0),),
        batches=pack_events(example_gpu.packed_columns([row, row])),
    )
    stats = on_gpu(gpu_sum(MEMCPY, direction, 2, 2 * ns), line="batch.cuda()")
    run = stats.gpu.runs[0]._replace(left_out=left_out)
    stats.gpu = stats.gpu._replace(timelines=(timeline,), runs=(run,))
    return stats


def test_copies_of_pageable_memory_have_their_size_and_rate() -> None:
    [one] = found(copies(), "pageable-copy")
    assert (one.cost_ns, one.places) == (10 * MS, ((KEY, 4),))
    assert dict(one.numbers) == {
        "copies": 2,
        "bytes": 2 << 20,
        "copy_ns": 10 * MS,
        "bytes_per_s": 209_715_200,
        "HtoD_bytes": 2 << 20,
    }
    assert one.measured == (
        "This line made 2 copies of pageable memory, which moved 2.1 MB in 10.00 ms of"
        " the device, 1.0 % of the run, at 0.21 GB/s."
    )
    [cut] = found(copies(left_out=3), "pageable-copy")
    assert cut.measured.startswith("This line made at least 2 copies")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"ns": 5 * MS - 1}, False),
        ({"size": 64 << 10}, True),
        ({"size": (64 << 10) - 1}, False),
        ({"memory": 0x32}, False),  # pinned
        ({"memory": 0x13, "direction": "DtoH"}, True),
        ({"memory": 0x11, "direction": "HtoH"}, False),
        ({"path": 0}, False),  # of no line
    ],
)
def test_the_thresholds_of_pageable_copies(
    facts: dict[str, int], *, expected: bool
) -> None:
    assert bool(found(copies(**facts), "pageable-copy")) is expected  # type: ignore[arg-type]


# What is not looked at.


def test_a_profile_of_numbers_alone_proves_nothing_and_says_why() -> None:
    stats = LineStats({(FILE, 1, "work"): [(2, 3, 4_000)]}, 1e-6)
    answer = advice(stats)
    assert answer.findings == ()
    assert answer.checked == ()
    assert dict(answer.unchecked) == {
        **dict.fromkeys(OF_SOURCE, "no source text"),
        "uneven-line": "no longest executions",
        **dict.fromkeys(("waiting", BUSY), "no waits"),
    }


def test_kinds_that_the_program_cannot_have_are_not_among_those_not_looked_for() -> (
    None
):
    process = PROCESS._replace(wall_ns=RUN, overhead_ns=0, cpu_ns=HALF)
    stats = made(
        "def work():\n    use()\n",
        {"work": (1, {2: (9, HALF, 0, HALF)})},
        processes=[process],
        calls=CallTree((call(NO_NODE, 0, 1, HALF, HALF),)),
    )
    answer = advice(stats)
    assert answer.unchecked == ()
    of_memory = ("growing-memory", "temporary-peak")
    without = {*OF_GPU, *of_memory, "imbalance", "system-time"}
    assert {*KINDS} - {*answer.checked} == without


@pytest.mark.parametrize(
    ("backend", "present", "expected"),
    [
        ("cupti", True, {}),  # it used no GPU
        ("none", False, {}),
        ("none", True, dict.fromkeys(OF_GPU, "CUPTI is held by another tool")),
    ],
)
def test_gpu_kinds_are_missed_only_if_a_gpu_could_not_be_recorded(
    backend: str, *, present: bool, expected: dict[str, str]
) -> None:
    stats = loop(HALF)
    reason = "CUPTI is held by another tool"
    stats.gpu = Gpu(runs=(GpuRun(0, backend, reason, present=present),))
    unchecked = dict(advice(stats).unchecked)
    assert {k: why for k, why in unchecked.items() if k in OF_GPU} == expected


def test_kinds_with_data_are_looked_for() -> None:
    assert {*advice(old_example()).checked} == {*OF_SOURCE} - {"repeated-call"}
    answer = advice(example_gpu.example())
    assert {"pageable-copy", "hidden-synchronisation"} <= {*answer.checked}
    assert "gpu-idle" in dict(answer.unchecked)  # when work was launched is unknown


HOSTILE = {
    "syntax": LOOPS + "\n(",
    "null": LOOPS + "\0",
    "nested": LOOPS + "x = " + "(" * 5_000 + ")" * 5_000 + "\n",
    "deep": LOOPS + "x = " + "-" * 100_000 + "1\n",
    "number": LOOPS + "x = " + "1" * 10_000 + "\n",
    "long": LOOPS + "# " + "x" * 500_000 + "\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_cannot_be_parsed_has_no_findings_about_loops(name: str) -> None:
    stats = loop(HALF + MS)
    text = HOSTILE[name]
    stats.sources = {FILE: SourceFile(FILE, text, text_hash(text))}
    answer = advice(stats)
    assert answer.findings == ()
    [missing] = answer.missing
    assert missing.startswith(
        f"loops, calls, lists and imports of {FILE} were not looked at:"
    )


def test_deep_expressions_that_parse_are_walked_without_recursion() -> None:
    total = " + ".join(["1"] * 2_000)
    text = LOOPS + f"\ndef table(n):\n    return {total}\n"
    stats = loop(HALF + MS)
    stats.sources = {FILE: SourceFile(FILE, text, text_hash(text))}
    assert places(stats, "hot-loop") == [("work", 4)]


def test_text_that_may_not_be_the_one_that_ran_proves_nothing() -> None:
    stats = loop(HALF + MS)
    [source] = stats.sources.values()
    for other in (
        source._replace(text=None, sha256=""),
        source._replace(text="", sha256=""),
        source._replace(text=None),
    ):
        changed = LineStats.of(stats)
        changed.sources = {FILE: other}
        assert not advice(changed).findings


class Disk:
    """The lines of a file of this machine."""

    def __init__(self, text: str) -> None:
        self.text = text

    def lines(self, _: str) -> list[str]:
        return lines_of(self.text)


@pytest.mark.parametrize("end", ["", "\n"])
def test_text_from_the_disk_proves_something_if_it_has_the_hash(end: str) -> None:
    stats = loop(HALF + MS)
    text = LOOPS.rstrip("\n") + end
    stats.sources = {FILE: SourceFile(FILE, None, text_hash(text))}
    assert advise(stats, Disk(text), idle_sums).findings
    assert not advise(stats, Disk(f"{text} "), idle_sums).findings


def test_a_file_of_which_two_texts_were_merged_proves_nothing() -> None:
    first, second = loop(HALF + MS), loop(HALF + MS)
    assert found(first + second, "hot-loop")
    other = f"{LOOPS}\n"
    second.sources = {FILE: SourceFile(FILE, other, text_hash(other))}
    both = first + second
    assert not found(both, "hot-loop")
    [missing] = advice(both).missing
    assert missing.endswith(": its text differs between the merged profiles")


def test_findings_are_in_the_order_of_their_cost() -> None:
    costs = [one.cost_ns for one in advice(example_ranks.summed()).findings]
    assert costs == sorted(costs, reverse=True)
    assert len(costs) > 1


def test_cuts_of_the_text_do_not_move_lines() -> None:
    text = textwrap.dedent(LOOPS).replace("\n", "\r\n")
    stats = loop(HALF + MS)
    stats.sources = {FILE: SourceFile(FILE, text, text_hash(text))}
    assert places(stats, "hot-loop") == [("work", 4)]
