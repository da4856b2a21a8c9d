"""Debuggers, profilers and coverage in the same process, with their usual results."""

from __future__ import annotations

import cProfile
import io
import pstats
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from as_python import Outcome, kernprof
from check import check_like_alone
from running import hits_of, hook_name, new_profiler, run_python

from lineprof import load_stats

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

pytestmark = pytest.mark.usefixtures("hook")
CORES = ["ctrace", *(["sysmon"] if sys.version_info >= (3, 12) else [])]  # of coverage


def test_pdb_runs_a_profiled_function() -> None:
    status, output, errors = run_python(
        """
        import io, pdb, sys
        from lineprof import LineProfiler

        def session(profile):
            screen = io.StringIO()
            keys = io.StringIO("n\\nn\\np n\\ns\\nn\\nr\\nn\\nw\\nn\\nr\\nc\\n")
            debugger = pdb.Pdb(stdin=keys, stdout=screen, nosigint=True)
            debugger.use_rawinput = False

            def helper(n):
                n += 1
                return n

            def f(n):
                n += 1
                n = helper(n)
                n = helper(n)
                return n

            debugger.runcall(profile(f), 1)
            return screen.getvalue()

        profiler = LineProfiler()
        texts = [session(profile) for profile in (lambda function: function, profiler)]
        print("helper(n)" in texts[0], texts[0] == texts[1], sys.gettrace())
        (function,) = profiler.get_stats().functions
        print([row.hits for row in function.rows])
        print(*texts, file=sys.stderr)
        """
    )
    assert (status, output) == (0, "True True None\n[1, 1, 1, 1]\n"), errors


def test_a_debugger_that_a_profiled_function_starts() -> None:
    status, output, errors = run_python(
        """
        import sys
        from lineprof import LineProfiler

        class Debugger:
            def __init__(self):
                self.events = []

            def dispatch(self, frame, event, arg):
                if frame.f_globals is globals():
                    self.events.append((frame.f_code.co_name, event, frame.f_lineno))
                return self.dispatch

            def start(self):
                frame = sys._getframe(1)
                while frame:
                    frame.f_trace = self.dispatch
                    frame = frame.f_back
                sys.settrace(self.dispatch)

            def stop(self):
                sys.settrace(None)

        def helper(n):
            n += 1
            return n

        def f(n):
            debugger.start()
            n = helper(n)
            n = helper(n)
            debugger.stop()
            return n

        profiler = LineProfiler()
        sessions = []
        for function in (f, profiler(f)):
            debugger = Debugger()
            function(1)
            sessions.append(debugger.events)
        print(len(sessions[0]) > 10, sessions[0] == sessions[1], sys.gettrace())
        (function,) = profiler.get_stats().functions
        print([row.hits for row in function.rows])
        """
    )
    assert (status, errors) == (0, "")
    assert output == "True True None\n[1, 1, 1, 1, 1]\n"


def test_cprofile_around_and_inside() -> None:
    profiler = new_profiler()

    def helper(n: int) -> int:
        return len("x" * n)

    @profiler
    def f(n: int, inner: cProfile.Profile | None = None) -> int:
        if inner:
            inner.enable()
        for i in range(n):
            helper(i)
        if inner:
            inner.disable()
        return n

    other = cProfile.Profile()
    other.enable()
    f(5)
    other.disable()
    inside = cProfile.Profile()
    f(5, inside)
    f(5)
    for profile in (other, inside):
        entries = pstats.Stats(profile, stream=io.StringIO()).stats  # type: ignore[attr-defined]
        calls = {key[2]: entry[1] for key, entry in entries.items()}
        assert calls["helper"] == calls["<built-in method builtins.len>"] == 5
    (lines,) = hits_of(profiler).values()
    assert list(lines.values()) == [3, 1, 18, 15, 3, 1, 3]


def test_setprofile_inside_a_profiled_function() -> None:
    check_like_alone(
        """
import sys

events = []

def watch(frame, event, arg):
    if frame.f_globals is globals() or event.startswith("c_"):
        events.append((frame.f_code.co_name, event))

def helper(n):
    return len("x" * n)

@profile
def f(n):
    sys.setprofile(watch)  #> 1
    n = helper(n)  #> 1
    sys.setprofile(None)  #> 1
    return n  #> 1

result = (f(3), *events)
"""
    )


@pytest.mark.parametrize("core", CORES)
def test_coverage_reports_every_line(
    core: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    coverage = pytest.importorskip("coverage")
    monkeypatch.setenv("COVERAGE_CORE", core)
    profiler = new_profiler()

    def f(n: int) -> int:
        for _ in range(n):
            n += 1
        return n

    def lines(function: Callable[[int], int]) -> list[int]:
        cover = coverage.Coverage(data_file=None, include=[__file__])
        cover.start()
        try:
            function(2)
        finally:
            cover.stop()
        return sorted(cover.get_data().lines(__file__) or [])

    assert lines(profiler(f)) == lines(f)
    (hits,) = hits_of(profiler).values()
    # Without a frame evaluator, a trace function that C code sets replaces lineprof's:
    # no event tells of it (docs/design.md).
    replaced = hook_name() == "settrace" and sys.version_info >= (3, 12)
    expected = [] if replaced and core == "ctrace" else [3, 2, 1]
    assert list(hits.values()) == expected


def test_a_tracer_for_new_threads() -> None:
    events: list[tuple[str, int]] = []
    profiler = new_profiler()

    def tracer(frame: FrameType, event: str, _: object) -> object:
        if frame.f_code.co_name in ("f", "helper"):
            events.append((event, frame.f_lineno - frame.f_code.co_firstlineno))
        return tracer

    def helper() -> int:
        return 1

    @profiler
    def f() -> None:
        x = helper()
        assert x

    thread = threading.Thread(target=f)
    threading.settrace(tracer)  # type: ignore[arg-type]
    try:
        thread.start()
        thread.join()
    finally:
        threading.settrace(None)  # type: ignore[arg-type]
    inner = [("call", 0), ("line", 1), ("return", 1)]
    assert events == [("call", 0), ("line", 2), *inner, ("line", 3), ("return", 3)]
    (hits,) = hits_of(profiler).values()
    assert list(hits.values()) == [1, 1]


def test_the_last_profiler_leaves_no_tool_and_no_tracer() -> None:
    status, output, errors = run_python(
        """
        import sys
        from lineprof import LineProfiler
        from lineprof.recording.core import held_tool_ids

        profiler = LineProfiler()
        profiler(lambda: 1)()
        before = len(held_tool_ids()), profiler.core
        del profiler
        print(*before, len(held_tool_ids()), sys.gettrace(), sys.getprofile())
        """
    )
    held = int(hook_name() == "monitoring")
    assert (status, errors) == (0, "")
    assert output == f"{held} {hook_name()} 0 None None\n"


# Ends with a free function in Python, which ctypes drops before the last code object
# dies. CPython calls that function for each code object with a word of any tool's.
CODE_EXTRA_OF_ITS_OWN = """
import ctypes

FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
free = FREE(lambda extra: None)
try:
    request = ctypes.pythonapi.PyUnstable_Eval_RequestCodeExtraIndex
except AttributeError:
    request = ctypes.pythonapi._PyEval_RequestCodeExtraIndex
request.argtypes = [FREE]
assert request(free) > 0

def f(n):
    return [g(i) for i in range(n)]

def g(i):
    return i + 1
"""


@pytest.mark.parametrize("decorator", ["@profile\n", ""], ids=["decorated", "whole"])
def test_a_program_with_code_extras_of_its_own_ends_well(
    decorator: str, tmp_path: Path
) -> None:
    program = CODE_EXTRA_OF_ITS_OWN.replace("def ", f"{decorator}def ") + "f(3)\n"
    (tmp_path / "x.py").write_text(program)
    flags = ("-lq", "-o", "out", "x.py")
    outcome = kernprof(*flags, cwd=tmp_path, env={"LINEPROF_CORE": hook_name()})
    assert outcome == Outcome(status=0, out="", err="")
    hits = {
        function.name: [row.hits for row in function.rows]
        for function in load_stats(tmp_path / "out").functions
    }
    assert (hits["f"], hits["g"]) == ([1], [3])


def test_code_extras_of_a_program_whose_profiler_is_gone() -> None:
    program = """
from lineprof import LineProfiler

profiler = LineProfiler(f, g)
with profiler:
    f(3)
del profiler

def late():
    with LineProfiler(late):
        f(3)

import atexit
atexit.register(late)
"""
    # The index of lineprof is the first.
    imports = "import lineprof\nlineprof.LineProfiler()\n"
    assert run_python(imports + CODE_EXTRA_OF_ITS_OWN + program) == (0, "", "")


def test_code_may_keep_a_replaced_function_and_call_it_later() -> None:
    status, output, errors = run_python(
        """
import gc, sys, threading
from lineprof import LineProfiler

names = {}
class Tools:
    def use_tool_id(id, name): names[id] = name
    get_tool = names.get
    free_tool_id = names.pop

tools, kept = getattr(sys, "monitoring", Tools), []
for _ in range(3):
    profiler = LineProfiler()
    kept.append((sys.settrace, sys.setprofile, tools.use_tool_id))
    del profiler
    gc.collect()
    sys.settrace, sys.setprofile, tools.use_tool_id = kept[-1]

def tracer(frame, event, arg):
    return tracer

for settrace, setprofile, use_tool_id in kept:
    settrace(tracer)
    print(sys.gettrace() is tracer)
    settrace(None)
    setprofile(None)
    print(sys.gettrace(), sys.getprofile())
    use_tool_id(0, "mine")
    print(tools.get_tool(0))
    tools.free_tool_id(0)
"""
    )
    assert (status, errors) == (0, "")
    assert output == "True\nNone None\nmine\n" * 3
