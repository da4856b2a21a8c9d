"""Subinterpreters: the main one alone is profiled, as if it were the only one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run
from running import SHOW, hook_name, plain, run_python

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hook")

# A "legacy" subinterpreter, such as those of Py_NewInterpreter, shares the GIL.
SUBINTERPRETERS = """
import sys

if sys.version_info >= (3, 13):
    import _interpreters

    create = _interpreters.create

    def run(interpreter, code):
        failed = _interpreters.exec(interpreter, code)
        if failed is not None:
            print(failed.formatted)
else:
    import _xxsubinterpreters as _interpreters

    def create(kind):
        return _interpreters.create(isolated=kind == "isolated")

    def run(interpreter, code):
        try:
            _interpreters.run_string(interpreter, code)
        except _interpreters.RunFailedError as error:
            print(error)
"""
# Counts lines in the interpreter that runs it.
COUNT = (
    SHOW
    + """
from lineprof import LineProfiler

profiler = LineProfiler()

@profiler
def f(n):
    for i in range(n):
        n += i
    return n

f(3)
show(profiler)
"""
)
REFUSED = re.compile(
    r"(<class ')?ImportError('>)?: (lineprof cannot profile in a subinterpreter: make "
    r"the LineProfiler in the main interpreter"
    # (CPython's own words, for isolated ones from 3.12 on)
    r"|module lineprof\._core does not support loading in subinterpreters)"
)


@pytest.mark.parametrize("kind", ["legacy", "isolated"])
@pytest.mark.parametrize("first", ["main", "sub"])
def test_a_subinterpreter_is_refused_and_the_main_one_counts(
    first: str, kind: str
) -> None:
    status, output, errors = run_python(
        SUBINTERPRETERS
        + f"""
if {first == "main"}:
    exec({COUNT!r})
for _ in range(2):
    other = create({kind!r})
    run(other, {COUNT!r})
    _interpreters.destroy(other)
exec({COUNT!r})
"""
    )
    assert (status, errors) == (0, "")
    *before, refused, again, after = output.splitlines()
    assert before == ["f [4, 3, 1]"] * (first == "main")
    assert REFUSED.fullmatch(refused)
    assert again == refused
    assert after == "f [4, 3, 1]"


@pytest.mark.parametrize("kind", ["legacy", "isolated"])
def test_a_global_profiler_that_is_off_works_in_a_subinterpreter(
    kind: str,
) -> None:
    status, output, errors = run_python(
        SUBINTERPRETERS
        + f"""
other = create({kind!r})
run(other, '''
from lineprof import profile

@profile
def f():
    with profile.block("part"):
        return "counted"

print(f(), f.__name__, flush=True)
''')
_interpreters.destroy(other)  # python 3.15 warns of those that are left
"""
    )
    assert (status, output, errors) == (0, "counted f\n", "")


# Subinterpreters in three threads and between the lines of profiled functions.  What
# their code finds is printed.
PROGRAM = (
    SUBINTERPRETERS
    + """
import threading

CODE = '''
import os, sys

def numbers(n):
    for i in range(n):
        yield i

def work(n):
    total = 0
    for i in numbers(n):
        total += i
    return total

seen = []

def trace(frame, event, arg):
    seen.append(event)
    return trace

before = sys.gettrace(), sys.getprofile()
sys.settrace(trace)
work(5)
sys.settrace(None)
tools = []
if hasattr(sys, "monitoring"):
    tools = [sys.monitoring.get_tool(i) for i in range(6)]
found = work(1000), before, len(seen), set(tools), "profile" in dir(__builtins__)
os.write(1, (repr(found) + chr(10)).encode())  # whole, beside other threads
'''

def count(n):
    total = 0
    for i in range(n):
        total += i
    return total

def use(kind, n):
    other = create(kind)
    run(other, CODE)
    found = count(n)
    run(other, CODE)
    _interpreters.destroy(other)
    return found

threads = [threading.Thread(target=use, args=[kind, 100])
    for kind in ("legacy", "isolated", "legacy")]
for thread in threads:
    thread.start()
use("legacy", 10)
use("isolated", 10)
for thread in threads:
    thread.join()
print(sys.gettrace(), count(1))
"""
)


@pytest.mark.parametrize("mode", ["-l", "-lb"])
def test_kernprof_counts_beside_subinterpreters(tmp_path: Path, mode: str) -> None:
    text = PROGRAM
    for name in ("count", "use"):
        text = text.replace(f"def {name}(", f"@profile\ndef {name}(")
    (tmp_path / "x.py").write_text(plain(text))
    (tmp_path / "plain.py").write_text(plain(PROGRAM))
    alone = run(["plain.py"], cwd=tmp_path)
    ours = kernprof(
        f"{mode}q",
        "-o",
        "out",
        "x.py",
        cwd=tmp_path,
        env={"LINEPROF_CORE": hook_name()},
    )
    assert (alone.status, alone.err) == (0, "")
    assert alone.out.count("(499500, (None, None), 38, ") == 2 * 5
    assert (ours.status, ours.err) == (0, "")
    assert sorted(ours.out.splitlines()) == sorted(alone.out.splitlines())
    hits = {
        function.name.rpartition(".")[2]: [row.hits for row in function.rows]
        for function in load_stats(tmp_path / "out").functions
    }
    numbers = 3 * 100 + 2 * 10 + 1
    assert hits == {"count": [6, numbers + 6, numbers, 6], "use": [5] * 6}
