"""Interrupted lines: signals, disabling, exceptions, subinterpreters, greenlets."""

from __future__ import annotations

import os
import threading

import pytest
from check import check_like_alone
from running import SHOW, hits_of, new_profiler, run_python

pytestmark = pytest.mark.usefixtures("hook")


def test_a_signal_handler_that_raises_in_the_middle_of_a_line() -> None:
    check_like_alone(
        """
import signal

@profile
def handler(number, frame):
    events.append(frame.f_code.co_name)  #> 3
    raise KeyError(number)  #> 3

@profile
def f(n):
    for i in range(n):
        try:
            signal.raise_signal(signal.SIGUSR1); i = "never"  #> 3
        except KeyError as error:
            events.append(error.args)  #> 3
    return i  #> 1

events = []
before = signal.signal(signal.SIGUSR1, handler)
try:
    f(3)
finally:
    signal.signal(signal.SIGUSR1, before)
result = events
""",
        unsure={10, 11, 13},
    )


def test_a_signal_handler_that_raises_out_of_generators_and_loops() -> None:
    check_like_alone(
        """
import signal

def handler(number, frame):
    raise KeyError(number)

def generator(n):
    for i in range(n):
        if i == 2:  #> 9
            signal.raise_signal(signal.SIGUSR1)  #> 3
        yield i  #> 6

@profile
def f(n):
    x = 0  #> 3
    for i in counted(n): x += i
    return x  #> 0

@profile
def after():
    return 1  #> 3

counted = profile(generator)
before = signal.signal(signal.SIGUSR1, handler)
result = []
try:
    for _ in range(3):
        try:
            f(5)
        except KeyError:
            result.append(after())
finally:
    signal.signal(signal.SIGUSR1, before)
""",
        unsure={7, 15},
    )


def test_a_function_disabled_from_another_thread() -> None:
    profiler = new_profiler()
    inside, stopped = threading.Event(), threading.Event()

    def f() -> int:
        x = 1
        inside.set()
        stopped.wait()
        return x + 1

    def stop() -> None:
        inside.wait()
        profiler.disable()
        stopped.set()

    profiler.add_function(f)
    thread = threading.Thread(target=stop)
    thread.start()
    profiler.enable()
    assert f() == 2
    thread.join()
    f()
    (lines,) = hits_of(profiler).values()
    assert list(lines.values()) == [1, 1, 1]
    profiler.enable()
    f()
    profiler.disable()
    (lines,) = hits_of(profiler).values()
    assert list(lines.values()) == [2, 2, 2, 1]


def test_a_function_disabled_and_enabled_by_itself_and_by_a_callee() -> None:
    profiler = new_profiler()

    def on() -> None:
        profiler.enable()

    def f(n: int) -> int:
        n += 1
        profiler.disable()
        n += 1
        on()
        n += 1
        profiler.disable()
        return n

    profiler.add_function(f)
    profiler.enable()
    f(0)
    assert f(0) == 3
    (lines,) = hits_of(profiler).values()
    first = f.__code__.co_firstlineno
    assert {line - first: hits for line, hits in lines.items()} == {
        1: 1,
        2: 1,
        5: 2,
        6: 2,
    }


def test_an_exception_in_flight_when_a_generator_is_thrown_into() -> None:
    check_like_alone(
        """
import sys

@profile
def f():
    try:
        yield 1
    except ValueError as error:
        yield (error is sent, type(error.__context__), type(error.__cause__))
    yield sys.exc_info()[0]

sent = ValueError("sent")
sent.__cause__ = TypeError("cause")
result = []
try:
    raise KeyError("in flight")
except KeyError as outer:
    g = f()
    result += [next(g), g.throw(sent), next(g)]
    result += [sys.exc_info()[1] is outer, sys.exc_info()[0]]
    try:
        g.throw(IndexError)
    except IndexError as error:
        result += [error.__context__ is outer]
    try:
        f().throw(OSError)
    except OSError as error:
        result += [error.__context__ is outer]
result += [sys.exc_info()]
""",
        unsure=range(1, 40),
    )


def test_a_subinterpreter_runs_unprofiled() -> None:
    status, output, errors = run_python(
        SHOW
        + """
import warnings
warnings.simplefilter("ignore")
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    try:
        import _interpreters as interpreters
    except ImportError:
        interpreters = None
from lineprof import LineProfiler

profiler = LineProfiler()
PROGRAM = '''
def f(n):
    n += 1
    return [n for _ in range(3)]
f(1)
try:
    f("")
except TypeError:
    pass
'''

@profiler
def f(n):
    if interpreters:
        number = interpreters.create()
        interpreters.run_string(number, PROGRAM)
        interpreters.destroy(number)
    n += 1
    return n

f(1)
f(1)
(function,) = profiler.get_stats().functions
print({row.hits for row in function.rows})
"""
    )
    assert (status, output, errors) == (0, "{2}\n", "")


def test_greenlets() -> None:
    pytest.importorskip("greenlet")
    status, output, errors = run_python(
        SHOW
        + """
from greenlet import greenlet
from lineprof import LineProfiler

profiler = LineProfiler()

@profiler
def ping(n):
    while n:
        pongs.switch(n)
        n -= 1
    return "pinged"

@profiler
def pong(n):
    while True:
        n = pings.switch(n)
        n += 0

pings, pongs = greenlet(ping), greenlet(pong)
print(pings.switch(3))
show(profiler)
"""
    )
    assert (status, errors) == (0, "")
    ping, pong = output.splitlines()[1:]
    assert ping == "ping [4, 3, 3, 1]"
    assert pong.endswith("3, 2]")


def test_a_profiler_that_is_off_leaves_the_environment_unchanged() -> None:
    before = os.environ.copy()
    profiler = new_profiler()
    profiler.add_function(test_greenlets)
    assert profiler.enable_count == 0
    assert os.environ == before
