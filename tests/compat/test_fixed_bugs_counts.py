"""Fixed bugs of line_profiler: wrong counts, and effects of decoration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import write
from tables import profiled

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.usefixtures("hook"), pytest.mark.smoke]


def test_a_call_over_several_lines_is_one_hit(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        """\
        def f(*args, **kwargs):
            return args

        @profile
        def work(n):
            for i in range(n):
                x = f(
                    i,
                    f(i),
                    key=[
                        i,
                    ],
                )
            text = (
                str(n)
                + str(x)
            )
            return text

        for n in range(5):
            work(n + 1)
        """,
    )
    hits = profiled(tmp_path, "x.py")["work"].hits()
    # Inner lines have hits of their own, one for each time they are reached.
    assert (hits[6], hits[7], hits[14], hits[18]) == (20, 15, 5, 5)
    assert max(hits[line] for line in range(7, 19) if line in hits) == 15


def test_the_line_of_a_comprehension_has_one_hit(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        """\
        @profile
        def work(n):
            squares = [i * i for i in range(n)]
            odd = {i for i in squares if i % 2}
            names = {
                i: str(i)
                for i in odd
            }
            total = sum(i for i in names)
            return [[j for j in range(i)] for i in range(3)], total

        work(10)
        work(0)
        """,
    )
    hits = profiled(tmp_path, "x.py")["work"].hits()
    assert [hits[line] for line in (3, 4, 5, 9, 10)] == [2, 2, 2, 2, 2]
    assert max(hits.values()) == 2


def test_the_total_of_a_recursive_function_is_wall_time(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        """\
        import time

        @profile
        def fib(n):
            if n < 2:
                return n + 0 * sum(range(3_000))
            return fib(n - 1) + fib(n - 2)

        begin = time.perf_counter()
        fib(1)
        fib(12)
        with open("wall", "w") as file:
            file.write(str(time.perf_counter() - begin))
        """,
    )
    fib = profiled(tmp_path, "x.py")["fib"]
    wall = float((tmp_path / "wall").read_text())
    assert fib.hits() == {5: 466, 6: 234, 7: 232}
    assert 0 < fib.total < wall
    # The time of a line includes its calls, at each level of recursion.
    assert fib.seconds(7) > fib.total


CLOSURES = """\
import gc, sys

def make(n):
    @profile
    def closure():
        return n
    return closure

def blocks():
    gc.collect()
    return sys.getallocatedblocks()

def round_of(times):
    return {id(make(i).__code__) for i in range(times) if make(i)() == i}

codes = round_of(50)
grown = []
for _ in range(5):  # a table may double once; a leak shows each time
    before = blocks()
    codes |= round_of(500)
    grown.append(blocks() - before)
print(len(codes), len(profile.functions), min(grown) < 50)
print(len(make(0).__code__.co_code) == len(make(0).__wrapped__.__code__.co_code))
"""


def test_decorating_a_closure_again_and_again_leaks_no_memory(tmp_path: Path) -> None:
    write(tmp_path, "x.py", CLOSURES)
    shown = profiled(tmp_path, "x.py", output="1 1 True\nTrue\n")
    (table,) = shown.values()
    assert table.hits() == {6: 50 + 5 * 500}


def test_a_decorated_function_keeps_its_attributes(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        """\
        def look(f):
            names = [name for name in dir(f) if not callable(getattr(f, name))]
            return {name: getattr(f, name) for name in names}

        class Thing:
            def method(self):
                return self

        def work(n, *, by=2):
            return n * by

        before = look(work), work.__code__, work.__code__.co_code
        members = dict(vars(Thing))
        decorated = profile(work)
        profile.add_function(work)
        profile.add_function(Thing.method)
        with profile:
            work(2), Thing().method()
        after = look(work), work.__code__, work.__code__.co_code
        print(before == after, before[1] is after[1], decorated.__wrapped__ is work)
        print(dict(vars(Thing)) == members, profile(decorated) is decorated)
        print(decorated(1), decorated(1, by=5), decorated.__name__)
        """,
    )
    profiled(
        tmp_path,
        "x.py",
        output="True True True\nTrue True\n2 5 work\n",
    )


def test_lines_of_nested_generators_have_their_own_counts(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "x.py",
        """\
        @profile
        def inner(n):
            for i in range(n):
                yield i

        @profile
        def outer(n):
            for i in inner(n):
                yield from inner(i)
            return

        first, second = outer(4), outer(4)
        print(len(list(zip(first, second))))
        """,
    )
    shown = profiled(tmp_path, "x.py", output="6\n")
    # zip() resumes the first generator once more than the second.
    assert shown["outer"].hits()[9] == 8
    assert shown["inner"].hits()[4] == 20


def test_a_nested_function_and_an_undecorated_callee_are_not_counted(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "x.py",
        """\
        def helper(n):
            return n

        @profile
        def work(n):
            def nested():
                return helper(n)
            return nested()

        work(1)
        helper(2)
        """,
    )
    shown = profiled(tmp_path, "x.py")
    assert {name: table.hits() for name, table in shown.items()} == {
        "work": {6: 1, 8: 1}
    }
