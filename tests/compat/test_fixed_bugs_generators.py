"""Fixed bugs of line_profiler: decorated generators and coroutines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import check_same, write
from tables import profiled

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.usefixtures("hook"), pytest.mark.serial]

HEAD = """\
import builtins, time, types
profile = getattr(builtins, "profile", lambda function: function)

BUSY = 0.03  # seconds

def busy():
    end = time.perf_counter() + BUSY
    while time.perf_counter() < end:
        pass

"""
HALF = 0.015  # seconds: half the time of busy(), so that no correction matters


def same(folder: Path, program: str) -> str:
    """Run a program with and without kernprof; return both outputs."""
    write(folder, "x.py", HEAD + program)
    outcome = check_same("x.py", cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    return outcome.out


def test_a_generators_return_value_arrives(tmp_path: Path) -> None:
    out = same(
        tmp_path,
        """
@profile
def inner():
    got = yield 1
    return got, "returned"

@profile
def outer():
    result = yield from inner()
    yield result

it = outer()
print(next(it), it.send("sent"))
try:
    it = inner()
    next(it)
    next(it)
except StopIteration as stop:
    print(stop.value)
""",
    )
    assert out == "1 ('sent', 'returned')\n(None, 'returned')\n"


def test_an_exception_thrown_into_a_generator_arrives(tmp_path: Path) -> None:
    out = same(
        tmp_path,
        """
@profile
def inner():
    while True:
        try:
            yield "waits"
        except KeyError as error:
            yield ("caught", error.args)

@profile
def outer():
    yield from inner()

for make in (inner, outer):
    it = make()
    print(next(it), it.throw(KeyError(1)), next(it))
    try:
        it.throw(ValueError(2))
    except ValueError as error:
        print("not caught", error)
    print(list(it))
""",
    )
    assert out.count("waits ('caught', (1,)) waits\nnot caught 2\n[]\n") == 2


def test_a_generator_that_is_closed_cleans_up(tmp_path: Path) -> None:
    out = same(
        tmp_path,
        """
@profile
def it():
    try:
        yield 1
        yield 2
    except GeneratorExit:
        print("closed")
        raise
    finally:
        print("cleaned up")

one = it()
next(one)
one.close()
two = it()
next(two)
del two
print(one.gi_frame, list(one))
""",
    )
    assert out == "closed\ncleaned up\n" * 2 + "None []\n"


def test_asynchronous_generators_receive_sent_values_and_exceptions(
    tmp_path: Path,
) -> None:
    out = same(
        tmp_path,
        """
import asyncio

@profile
async def agen():
    try:
        while True:
            try:
                got = yield 1
                print("got", got)
            except KeyError as error:
                yield ("caught", error.args)
    finally:
        print("closed")

@profile
async def main():
    a = agen()
    print(await a.__anext__(), await a.asend("sent"), await a.athrow(KeyError(5)))
    try:
        await a.athrow(ValueError(6))
    except ValueError as error:
        print("not caught", error)
    b = agen()
    await b.__anext__()
    await b.aclose()
    return [x async for x in b]

print(asyncio.run(main()))
""",
    )
    assert out.splitlines() == [
        *("got sent", "1 1 ('caught', (5,))", "closed", "not caught 6"),
        *("closed", "[]"),
    ]


def test_decorated_coroutines_and_their_wrappers_keep_their_types(
    tmp_path: Path,
) -> None:
    out = same(
        tmp_path,
        """
import asyncio, inspect

@profile
async def coroutine():
    return 1

@profile
def generator():
    yield 1

@profile
async def agen():
    yield 1

@profile
@types.coroutine
def old():
    yield

kinds = [
    "iscoroutinefunction", "isgeneratorfunction", "isasyncgenfunction", "isfunction"
]
for function in (coroutine, generator, agen, old):
    print([getattr(inspect, kind)(function) for kind in kinds])
try:
    coroutine().throw(KeyError(1))
except KeyError as error:
    print(error)
c = coroutine()
c.close()
print(asyncio.run(coroutine()))
""",
    )
    assert out.endswith("1\n1\n")


def test_work_after_a_resume_is_charged_to_its_line(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        HEAD
        + """
@profile
def generator():
    x = [(yield 1), busy()]
    yield 2

@types.coroutine
def pause():
    yield

@profile
async def coroutine():
    return [await pause(), busy()]

list(generator())
list(coroutine().__await__())
""",
    )
    shown = profiled(tmp_path, "x.py")
    generator, coroutine = shown["generator"], shown["coroutine"]
    assert generator.hits() == {14: 1, 15: 1}
    assert generator.seconds(14) >= HALF
    assert coroutine.hits() == {23: 1}
    assert coroutine.seconds(23) >= HALF
    assert generator.total >= HALF
    assert coroutine.total >= HALF


def test_time_suspended_is_await_time_alone(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        HEAD
        + """
@types.coroutine
def pause():
    yield

@profile
async def waits():
    before = 1
    await pause()
    return before

running = waits()
running.send(None)
busy()
for _ in running.__await__():
    pass
""",
    )
    table = profiled(tmp_path, "x.py", "--columns", "await")["waits"]
    (column,) = (title for title in table.lines[19] if "wait" in title.lower())
    assert table.hits() == {18: 1, 19: 1, 20: 1}
    assert table.seconds(19, column) >= HALF
    assert table.seconds(18, column) == table.seconds(20, column) == 0
    # Time that the program spends between two lines is in neither.
    assert table.total < table.seconds(19, column)
