"""Other tools of `sys.monitoring`: each keeps its events, also on the same code."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

import pytest
from running import hits_of, new_profiler, run_python

pytestmark = [
    pytest.mark.usefixtures("hook"),
    pytest.mark.skipif(
        sys.version_info < (3, 12), reason="sys.monitoring came with Python 3.12"
    ),
]
monitoring: Any = getattr(sys, "monitoring", None)


class Tool:
    """A tool that records the LINE events of functions that it watches."""

    def __init__(self, number: int, answer: object = None) -> None:
        self.number = number
        self.lines: list[int] = []
        self.answer = answer
        monitoring.use_tool_id(number, "test")
        monitoring.register_callback(number, monitoring.events.LINE, self.line)

    def line(self, code: Any, line: int) -> object:
        """Record a LINE event."""
        self.lines.append(line - code.co_firstlineno)
        return self.answer

    def watch(self, function: Any, *, on: bool = True) -> None:
        """Switch the events of a function on or off."""
        events = monitoring.events.LINE if on else 0
        monitoring.set_local_events(self.number, function.__code__, events)

    def close(self) -> None:
        """Free the tool id."""
        monitoring.register_callback(self.number, monitoring.events.LINE, None)
        monitoring.free_tool_id(self.number)


def work(n: int) -> int:
    for _ in range(n):
        n += 1
    return n


LINES = [1, 2, 1, 2, 1, 3]
HITS = [3, 2, 1]


def test_a_tool_that_watches_a_function_also_watches_its_code_copy() -> None:
    tool = Tool(5)
    try:
        tool.watch(work)
        assert new_profiler()(work)(2) == 4
        assert tool.lines == LINES
    finally:
        tool.watch(work, on=False)
        tool.close()


@pytest.mark.parametrize("number", [0, 1, 2, 5])
def test_a_tool_on_the_same_code(number: int) -> None:
    profiler = new_profiler()
    tool = Tool(number)
    try:
        wrapped = profiler(work)
        tool.watch(wrapped)
        wrapped(2)
        assert tool.lines == LINES
        tool.watch(wrapped, on=False)
        wrapped(2)
        tool.watch(wrapped)
        wrapped(2)
        assert tool.lines == LINES * 2
    finally:
        tool.close()
    wrapped(2)
    (lines,) = hits_of(profiler).values()
    assert list(lines.values()) == [4 * hits for hits in HITS]


def test_a_tool_that_starts_before_the_profiler_and_outlives_it() -> None:
    tool = Tool(2)
    try:
        tool.watch(work)
        profiler = new_profiler(work)
        with profiler:
            work(2)
        (lines,) = hits_of(profiler).values()
        del profiler
        work(2)
        assert tool.lines == LINES * 2
        tool.watch(work, on=False)
    finally:
        tool.close()
    assert list(lines.values()) == HITS


def test_a_tool_that_disables_its_events_and_restarts_all() -> None:
    profiler = new_profiler()
    tool = Tool(2, monitoring.DISABLE)

    def heard(function: Any) -> list[int]:
        tool.lines.clear()
        tool.watch(function)
        function(2)
        function(2)
        monitoring.restart_events()
        function(2)
        tool.watch(function, on=False)
        return tool.lines[:]

    alone = FunctionType(work.__code__.replace(), {"range": range})
    try:
        assert heard(profiler(work)) == heard(alone) != []
    finally:
        tool.close()
    (lines,) = hits_of(profiler).values()
    assert list(lines.values()) == [3 * hits for hits in HITS]


def test_a_tool_with_global_events() -> None:
    profiler = new_profiler()
    wrapped = profiler(work)
    tool = Tool(1)
    seen: list[str] = []
    names = ("PY_START", "PY_RETURN", "PY_UNWIND", "PY_THROW", "RAISE", "JUMP")
    events = 0
    for name in names:
        event = getattr(monitoring.events, name)
        events |= event

        def note(code: Any, *_: object, name: str = name) -> None:
            if code.co_name == "work":
                seen.append(name)

        monitoring.register_callback(1, event, note)
    try:
        monitoring.set_events(1, events)
        wrapped(2)
        with pytest.raises(TypeError):
            wrapped(None)
    finally:
        monitoring.set_events(1, 0)
        for name in names:
            monitoring.register_callback(1, getattr(monitoring.events, name), None)
        tool.close()
    assert [name for name in seen if name != "JUMP"] == [
        *("PY_START", "PY_RETURN", "PY_START", "RAISE", "PY_UNWIND")
    ]
    (lines,) = hits_of(profiler).values()
    assert list(lines.values()) == [4, 2, 1]


@pytest.mark.parametrize(
    ("taken", "chosen"),
    [
        ((), "monitoring"),
        ((4,), "monitoring"),
        ((0, 1, 2, 5), "monitoring"),
        ((0, 1, 2, 3, 4, 5), "settrace"),
    ],
)
def test_tool_ids_that_are_taken(taken: tuple[int, ...], chosen: str) -> None:
    status, output, errors = run_python(
        f"""
        import sys
        from lineprof import LineProfiler
        from lineprof.errors import LineprofError

        for number in {taken}:
            sys.monitoring.use_tool_id(number, "test")
        profiler = LineProfiler(core="auto")

        @profiler
        def f(n):
            return n

        f(1)
        (function,) = profiler.get_stats().functions
        print(profiler.core, [row.hits for row in function.rows])
        if profiler.core == "settrace":
            del profiler, f
            try:
                LineProfiler(core="monitoring")
            except LineprofError as error:
                print("sys.monitoring" in str(error))
        for number in range(6):
            name = sys.monitoring.get_tool(number)
            assert (name == "test") == (number in {taken}), (number, name)
        """
    )
    assert (status, errors) == (0, "")
    assert output == f"{chosen} [1]\n" + "True\n" * (chosen == "settrace")
