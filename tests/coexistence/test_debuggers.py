"""Debuggers and lineprof on one program: stops are the same as without lineprof.

The programs run under python and under kernprof, with the same keys on standard
input; the output of the debugger must be the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import check_same, kernprof, run, write
from running import hook_name

from lineprof import load_stats

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hook")

HEAD = """\
import bdb, builtins, pdb, sys, threading
profile = getattr(builtins, "profile", lambda function: function)

@profile
def outer(n):
    total = 0
    for i in range(n):
        total += inner(i)
    for x in numbers(n):
        total += x
    return total

@profile
def inner(i):
    j = i + 1
    return j * 2

@profile
def numbers(n):
    while n:
        yield n
        n -= 1

def plain(n):
    return outer(n)

"""
HITS = {
    "outer": {6: 1, 7: 4, 8: 3, 9: 4, 10: 3, 11: 1},
    "inner": {15: 3, 16: 3},
    "numbers": {20: 4, 21: 3, 22: 3},
}


def keys(*words: str) -> str:
    """Return lines of input for the debugger."""
    return "\n".join(words) + "\n"


def check(
    folder: Path,
    tail: str,
    *typed: str,
    seen: str,
    known: Mapping[str, Mapping[int, int]] = HITS,
) -> None:
    """Compare a debugger's sessions under python and kernprof; check all hits."""
    write(folder, "x.py", HEAD + tail)
    mode = ["-l", "-q", "-o", "x.lprof"]
    outcome = run(["x.py"], cwd=folder, text=keys(*typed))
    assert outcome.status == 0, outcome.err
    assert seen in outcome.out, outcome.out
    ours = kernprof(*mode, "x.py", cwd=folder, text=keys(*typed))
    assert ours == outcome
    found = hits(folder)
    assert {name: found[name] for name in known} == known


def hits(folder: Path) -> dict[str, dict[int, int]]:
    """Return the hits by line of each function."""
    return {
        function.name: {row.line: row.hits for row in function.rows if row.hits}
        for function in load_stats(folder / "x.lprof").functions
    }


def test_skipped_breakpoints_in_profiled_functions(tmp_path: Path) -> None:
    check(
        tmp_path,
        "pdb.set_trace()\nprint(plain(3))\n",
        *("b x.py:15", "tbreak x.py:21", "b x.py:11, total == 18", "c"),
        *("p i", "c", "u", "p i", "cl 1", "c", "p n", "c", "p total", "c"),
        seen="x.py(15)inner()",
    )


def test_a_breakpoint_call_in_a_profiled_function_stops_there(tmp_path: Path) -> None:
    tail = """
@profile
def stops(n):
    n += 1
    breakpoint()
    n += 1
    return n

@profile
def stops_last(n):
    breakpoint()

print(stops(1), stops_last(2))
"""
    write(tmp_path, "x.py", HEAD + tail)
    typed = keys("n", "p n", "n", "c", "p n", "c")
    outcome = check_same("x.py", cwd=tmp_path, text=typed)
    assert "x.py(32)stops()" in outcome.out


def test_a_breakpoint_call_in_a_callee_of_profiled_functions(tmp_path: Path) -> None:
    tail = "def inner(i):\n    breakpoint()\n    return i * 2 + 2\nprint(plain(1))\n"
    write(tmp_path, "x.py", HEAD + tail)
    typed = keys("u", "p total, i", "n", "n", "n", "s", "n", "r", "n", "c")
    outcome = check_same("x.py", cwd=tmp_path, text=typed)
    assert "x.py(8)outer()" in outcome.out
    assert "--Return--" in outcome.out


def test_stepping_into_over_and_out_of_profiled_functions(tmp_path: Path) -> None:
    check(
        tmp_path,
        "pdb.set_trace()\nprint(plain(3))\n",
        *("s", "s", "s", "s", "s", "n", "n", "n", "s", "s", "n", "n", "n"),
        *("until 9", "s", "s", "n", "n", "r", "u", "d", "c"),
        seen="--Call--",
    )


def test_a_jump_in_a_profiled_function(tmp_path: Path) -> None:
    write(tmp_path, "x.py", HEAD + "pdb.set_trace()\nprint(plain(1))\n")
    typed = keys("b 15", "c", "!i = 40", "j 16", "!j = 41", "c")
    outcome = check_same("x.py", cwd=tmp_path, text=typed)
    assert "83\n" in outcome.out


def test_a_user_defined_debugger(tmp_path: Path) -> None:
    check(
        tmp_path,
        """
class Debugger(bdb.Bdb):
    def user_call(self, frame, arguments):
        print("call", frame.f_code.co_name, frame.f_lineno)
    def user_line(self, frame):
        print("line", frame.f_code.co_name, frame.f_lineno, self.break_here(frame))
        if frame.f_lineno == 9:
            self.set_next(frame)
        else:
            self.set_step()
    def user_return(self, frame, value):
        print("return", frame.f_code.co_name, value)
    def user_exception(self, frame, error):
        print("exception", frame.f_code.co_name, error[0].__name__)

debugger = Debugger()
debugger.set_break(__file__, 16)
print(debugger.runcall(plain, 3))
print(sys.gettrace())
""",
        seen="line inner 16 True",
    )


TRACER = """
def tracer(frame, event, arg):
    if frame.f_globals is globals():
        events.append((frame.f_code.co_name, event, frame.f_lineno))
    return tracer

events = []
"""


def test_a_trace_function_set_before_and_in_profiled_functions(tmp_path: Path) -> None:
    check(
        tmp_path,
        TRACER
        + """
@profile
def switches(n):
    sys.settrace(tracer)
    n = plain(n)
    sys.settrace(None)
    events.append(n)

switches(2)
sys.settrace(tracer)
plain(1)
sys.settrace(None)
print(*events, sep="\\n")
""",
        seen="('inner', 'line', 15)",
        known={
            "switches": {37: 1, 38: 1, 39: 1, 40: 1},
            "outer": {6: 2, 7: 5, 8: 3, 9: 5, 10: 3, 11: 2},
        },
    )


def test_trace_functions_of_threads(tmp_path: Path) -> None:
    check(
        tmp_path,
        TRACER
        + """
threading.settrace(tracer)
thread = threading.Thread(target=plain, args=[3])
thread.start()
thread.join()
threading.settrace(None)
thread = threading.Thread(target=len, args=[""])
thread.start()
thread.join()
print(*events, sep="\\n")
""",
        seen="('numbers', 'line', 22)",
    )


def test_a_thread_started_after_tracing_of_threads_has_ended(tmp_path: Path) -> None:
    check(
        tmp_path,
        """
def tracer(*_):
    return None

threading.settrace(tracer)
threading.settrace(None)
thread = threading.Thread(target=plain, args=[3])
thread.start()
thread.join()
print("done")
""",
        seen="done",
    )


def test_tracing_of_all_threads_switched_on_and_off(tmp_path: Path) -> None:
    check(
        tmp_path,
        TRACER
        + """
if hasattr(threading, "settrace_all_threads"):  # 3.12 and later
    threading.settrace_all_threads(tracer)
    sys.settrace(None)
    threading.settrace_all_threads(None)
print(plain(3), events, sys.gettrace())
""",
        seen="18 [] None",
    )


def test_a_profile_function_and_lineprof(tmp_path: Path) -> None:
    check(
        tmp_path,
        TRACER
        + """
sys.setprofile(tracer)
threading.setprofile(tracer)
plain(3)
sys.setprofile(None)
threading.setprofile(None)
print(*events, sep="\\n")
""",
        seen="('numbers', 'return', 21)",
    )


@pytest.mark.parametrize("order", ["pdb runs kernprof", "kernprof runs pdb"])
def test_pdb_as_a_command(tmp_path: Path, order: str) -> None:
    write(tmp_path, "x.py", HEAD + "print(plain(3))\n")
    mode = ["-lq", "-o", "x.lprof"]
    typed = keys("b x.py:15", "c", "p i", "c", "p i", "c", "p i", "c", "q")
    if order == "pdb runs kernprof":
        # Some versions of pdb do not accept -m together with options of the module.
        write(tmp_path, "k.py", f"import kernprof\nkernprof.main({[*mode, 'x.py']})\n")
        words = ["-m", "pdb", "k.py"]
    else:
        words = ["-m", "kernprof", *mode, "-m", "pdb", "x.py"]
    outcome = run(words, cwd=tmp_path, text=typed)
    assert outcome.out.count("x.py(15)inner()") == 3, outcome
    assert [s for s in outcome.out.splitlines() if s.startswith("(Pdb) ")][2:5]
    assert "18\n" in outcome.out
    if order == "pdb runs kernprof" or hook_name() == "monitoring":
        assert hits(tmp_path) == HITS
