"""Events of sys.monitoring that tell of lines: chosen, forced, beside other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run, write
from check_executions import check_executions
from programs.generate import program
from running import hook_name, run_python
from tables import profiled

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    hook_name() == "settrace", reason="a trace function has no INSTRUCTION events"
)
CORES = ("monitoring-line", "monitoring-instruction")
COUNTS = "import sys\nfrom lineprof import LineProfiler\nprofiler = LineProfiler()\n"
HITS = """
stats = profiler.get_stats()
print([row.hits for row in stats.functions[0].rows if row.hits])
"""


@pytest.mark.filterwarnings("ignore:.* in a 'finally' block:SyntaxWarning")
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("seed", range(2, 300, 60))
def test_a_random_program_with_one_kind_of_events(
    core: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROF_CORE", core)
    check_executions(program(seed))


def reason(tmp_path: Path, core: str, before: str = "") -> str:
    show = "from lineprof import LineProfiler; print(LineProfiler().core_reason)"
    done = run(["-c", f"{before}\n{show}"], cwd=tmp_path, env={"LINEPROF_CORE": core})
    return done.out


def test_the_reason_names_the_events_and_their_cost(tmp_path: Path) -> None:
    text = reason(tmp_path, "auto")
    assert " events tell of lines, because one costs " in text
    cheaper, dearer = (float(part.split()[-1]) for part in text.split(" ns")[:2])
    assert 0 < cheaper <= dearer


@pytest.mark.parametrize("core", CORES)
def test_the_reason_says_that_the_events_were_asked_for(
    tmp_path: Path, core: str
) -> None:
    event = core.partition("-")[2].upper()
    text = reason(tmp_path, core)
    assert text.endswith(f"; {event} events tell of lines; it was asked for\n")
    write(tmp_path, "x.py", "@profile\ndef f():\n    return 1\nf()\n")
    outcome = kernprof("-l", "-vv", "--core", core, "x.py", cwd=tmp_path)
    assert f"{event} events tell of lines" in outcome.out + outcome.err


@pytest.mark.parametrize(
    "tool",
    [
        "import sys; sys.settrace(lambda *_: None)",
        "import sys; sys.monitoring.use_tool_id(0, 'other')",
    ],
)
def test_beside_another_tool_lines_have_line_events(tmp_path: Path, tool: str) -> None:
    assert "LINE events tell of lines, because another" in reason(
        tmp_path, "auto", tool
    )


@pytest.mark.parametrize(
    "comes",
    [
        "sys.settrace(lambda *_: None)",
        "threading.settrace_all_threads(lambda *_: None)",
        "sys.monitoring.get_tool(0) or sys.monitoring.use_tool_id(0, 'other')",
    ],
)
def test_a_tool_that_comes_while_a_function_runs(comes: str) -> None:
    """Its lines have INSTRUCTION events before and LINE events afterwards."""
    status, output, errors = run_python(
        COUNTS
        + f"""
import threading
@profiler
def f(n):
    total = 0
    for i in range(n):
        if i == 2:
            {comes}
        total += i
    return total
f(5)
sys.settrace(None)
f(5)
events = sys.monitoring.events
ours = [n for n in range(6) if sys.monitoring.get_tool(n) == "lineprof"]
mask = sys.monitoring.get_local_events(ours[0], f.__wrapped__.__code__)
print(bool(mask & events.LINE), bool(mask & events.INSTRUCTION))
{HITS}
"""
    )
    assert (status, errors) == (0, "")
    assert output == "True False\n[2, 12, 10, 2, 10, 2]\n"


def test_the_replaced_functions_are_like_the_originals() -> None:
    program = """
import inspect
def seen():
    functions = (
        sys.settrace, sys._settraceallthreads, sys.monitoring.use_tool_id
    )
    return [
        (one.__name__, one.__module__, one.__qualname__, type(one))
        for one in functions
    ]
"""
    status, output, errors = run_python(
        "import sys\n"
        + program
        + "before = seen()\nfrom lineprof import LineProfiler\n"
        + """
originals = sys.settrace, sys.monitoring.use_tool_id
profiler = LineProfiler()
assert sys.settrace is not originals[0]
assert seen() == before, (seen(), before)
for arguments in ((), (0,), ("x", "y"), (99, "x")):
    errors = []
    for use in (originals[1], sys.monitoring.use_tool_id):
        try:
            use(*arguments)
        except (TypeError, ValueError) as error:
            errors.append((type(error), str(error)))
    assert errors[0] == errors[1], errors
del profiler
import gc
gc.collect()
assert (sys.settrace, sys.monitoring.use_tool_id) == originals
"""
    )
    assert (status, output, errors) == (0, "", "")


def test_a_debugger_that_ends_at_a_line_counts_that_line(tmp_path: Path) -> None:
    """With INSTRUCTION events Python would skip the one of that line."""
    write(
        tmp_path,
        "x.py",
        """\
import sys

def stops(frame, event, arg):
    if event == "line" and frame.f_lineno == frame.f_code.co_firstlineno + 3:
        sys.settrace(None)
    return stops

@profile
def f(n):
    n += 1
    n += 2
    return n

f(1)
sys.settrace(stops)
f(1)
f(1)
""",
    )
    hits = profiled(tmp_path, "x.py")["f"].hits()
    assert list(hits.values()) == [3, 3, 3]


def test_a_tool_that_comes_after_discovery_has_ended() -> None:
    """The starts of calls were disabled while all code had such events."""
    status, output, errors = run_python(
        COUNTS
        + """
def f(n):
    return n
profiler.discover(lambda code: code is f.__code__)
profiler.enable()
f(1)
profiler.discover(None)
sys.monitoring.use_tool_id(0, "other")
f(2)
f(3)
print(*[(cost.calls, cost.hits) for cost in profiler.costs()])
"""
    )
    assert (status, output, errors) == (0, "(3, 3)\n", "")


FAR_RECURSION = (
    "def f(n):\n    if n == 0:\n        return 0\n    r = f(n - 1)\n"
    + "\n" * 400
    + "    return r\n"
)


@pytest.mark.parametrize("order", ["before", "after"])
def test_calls_of_far_code_beside_a_tool_that_disables_lines(order: str) -> None:
    """A hit may be missed there, but no call."""
    comes = """
M = sys.monitoring
M.use_tool_id(1, "coverage")
M.register_callback(1, M.events.LINE, lambda code, line: M.DISABLE)
M.set_local_events(1, f.__code__, M.events.LINE)
"""
    begins = "from lineprof import LineProfiler\nprofiler = LineProfiler(f)\n"
    parts = [comes, begins] if order == "before" else [begins, comes]
    status, output, errors = run_python(
        "import sys\n"
        + FAR_RECURSION
        + "".join(parts)
        + """
with profiler:
    for _ in range(3):
        f(3)
print(*[cost.calls for cost in profiler.costs()])
"""
    )
    assert (status, output, errors) == (0, "12\n", "")


def test_a_debugger_that_jumps_to_the_first_line_of_far_code() -> None:
    status, output, errors = run_python(
        "import sys\ndef f(n):\n    n += 1\n    n += 2\n"
        + "\n" * 400
        + """\
    return n
from lineprof import LineProfiler
profiler = LineProfiler(f)
jumped = []
def tracer(frame, event, arg):
    if frame.f_code is not f.__code__:
        return None
    if event == "line" and frame.f_lineno == 4 and not jumped:
        jumped.append(1)
        frame.f_lineno = 3
    return tracer
profiler.enable()
sys.settrace(tracer)
f(1)
sys.settrace(None)
f(1)
f(1)
(node,) = profiler.get_stats().calls.nodes
print(node.calls, node.primitive_calls)
"""
    )
    assert (status, output, errors) == (0, "3 3\n", "")


def test_a_second_profiler_counts_c_functions_of_the_same_code() -> None:
    status, output, errors = run_python(
        COUNTS
        + """
def f(n):
    return abs(n)
profiler.add_function(f)
second = LineProfiler()
second.c_functions()
second.add_function(f)
with profiler, second:
    f(1)
print(*[node.function[2] for node in second.get_stats().calls.nodes])
"""
    )
    assert (status, output, errors) == (0, "f builtins.abs\n", "")
