"""Trace functions of others, set before, after or in profiled functions."""

from __future__ import annotations

import pytest
from check import check_like_alone
from running import run_python

pytestmark = pytest.mark.usefixtures("hook")

TRACER = """
import sys

events = []

def tracer(frame, event, arg):
    if frame.f_globals is globals():
        events.append((frame.f_code.co_name, event, frame.f_lineno))
    return tracer

def helper(n):
    n += 1
    return n
"""


def test_an_earlier_tracer_keeps_its_events() -> None:
    check_like_alone(
        TRACER
        + """
@profile
def f(n):
    for i in range(2):  #> 3
        n = helper(n)  #> 2
    return n, sys.gettrace() is tracer  #> 1

sys.settrace(tracer)
try:
    result = f(1), helper(1), sys.gettrace() is tracer
finally:
    sys.settrace(None)
result += tuple(events)
"""
    )


def test_an_earlier_tracer_and_generators() -> None:
    check_like_alone(
        TRACER
        + """
@profile
def f(n):
    while n:  #> 4
        yield helper(n)  #> 3
        n -= 1  #> 3

sys.settrace(tracer)
try:
    result = list(f(3))
    helper(1)
finally:
    sys.settrace(None)
result += tuple(events)
"""
    )


def test_a_tracer_that_a_profiled_function_sets() -> None:
    check_like_alone(
        TRACER
        + """
@profile
def f(n):
    n += 1  #> 2
    sys.settrace(tracer)  #> 2
    n = helper(n)  #> 2
    return n  #> 2

@profile
def g(n):
    n = helper(n)  #> 3
    return n  #> 3

try:
    result = f(1), g(1), helper(1), sys.gettrace() is tracer, f(2), g(2)
finally:
    sys.settrace(None)
g(3)
result += tuple(events)
"""
    )


def test_a_tracer_that_a_profiled_function_removes() -> None:
    check_like_alone(
        TRACER
        + """
@profile
def f(n):
    n += 1  #> 1
    sys.settrace(None)  #> 1
    n = helper(n)  #> 1
    return n, sys.gettrace()  #> 1

sys.settrace(tracer)
try:
    result = f(1), helper(1), sys.gettrace()
finally:
    sys.settrace(None)
result += tuple(events)
"""
    )


def test_a_tracer_set_and_removed_around_a_call_in_a_profiled_function() -> None:
    check_like_alone(
        TRACER
        + """
@profile
def f(n):
    for i in range(2):  #> 3
        before = sys.gettrace()  #> 2
        sys.settrace(tracer)  #> 2
        n = helper(n)  #> 2
        sys.settrace(before)  #> 2
        n = helper(n)  #> 2
    return n, sys.gettrace()  #> 1

result = (f(1), *events)
"""
    )


def test_a_tracer_that_raises_is_removed_and_the_program_gets_the_exception() -> None:
    check_like_alone(
        """
import sys

def tracer(frame, event, arg):
    if frame.f_code.co_name == "helper":
        raise KeyError("from the tracer")

def helper(n):
    return n

@profile
def f(n):
    helper(n)  #> 2
    return n  #> 1

sys.settrace(tracer)
try:
    f(1)
except KeyError as error:
    result = [str(error), sys.gettrace()]
finally:
    sys.settrace(None)
result.append(f(2))
"""
    )


def test_a_debugger_that_jumps() -> None:
    check_like_alone(
        """
import sys

def tracer(frame, event, arg):
    if frame.f_code.co_name != "f":
        return None
    if event == "line" and frame.f_lineno == frame.f_code.co_firstlineno + 3:
        frame.f_lineno += 2
    return tracer

@profile
def f(n):
    n += 1  #> 1
    n += 10  #> 1
    n += 100
    n += 1000
    n += 10000  #> 1
    return n  #> 1

sys.settrace(tracer)
try:
    result = f(0)
finally:
    sys.settrace(None)
""",
    )


def test_a_frames_own_tracer_and_opcodes() -> None:
    # Some Pythons crash if one process has both opcode events and threads.
    status, output, errors = run_python(
        """
        import sys
        from lineprof import LineProfiler

        events = []
        sys._getframe().f_trace_opcodes = True  # 3.12 must know it beforehand

        def local(frame, event, arg):
            events.append(event)
            frame.f_trace_opcodes = True
            return local

        def tracer(frame, event, arg):
            return local if frame.f_code.co_name == "f" else None

        profile = LineProfiler()

        @profile
        def f(n):
            n += 1
            return n

        sys.settrace(tracer)
        f(0)
        sys.settrace(None)
        alone = events[:]
        events.clear()
        sys.settrace(tracer)
        f.__wrapped__(0)
        sys.settrace(None)
        (function,) = profile.get_stats().functions
        print([row.hits for row in function.rows], alone == events, "opcode" in alone)
        """
    )
    assert (status, output, errors) == (0, "[1, 1] True True\n", "")


def test_the_tracing_of_lineprof_is_invisible() -> None:
    check_like_alone(
        """
import sys
import threading

@profile
def f():
    x = sys.gettrace(), sys.getprofile()  #> 2
    return x, sys._getframe().f_trace, sys._getframe().f_trace_lines  #> 2

result = [f(), sys.gettrace(), sys.getprofile(), threading.gettrace()]
thread = threading.Thread(target=lambda: result.append((sys.gettrace(), f())))
thread.start()
thread.join()
"""
    )
