"""A Python that is newer than lineprof and has unknown bytecode.

Profiles have one warning; lines lack the data that depends on jumps.
"""

from __future__ import annotations

import sys

import pytest
from running import run_python

pytestmark = pytest.mark.usefixtures("hook")

# Each change turns the tables of this Python into those of a future one.
FUTURES = {
    "a jump by another name": """
number = opcode.opmap["FOR_ITER"]
names = {name: n for name, n in opcode.opmap.items() if name != "FOR_ITER"}
opcode.opmap = {**names, "ITERATE": number}
opcode.opname[number] = "ITERATE"
""",
    "a jump more": """
number = opcode.opmap["LOAD_FAST_AND_CLEAR"]
opcode.hasjrel.append(number)
""",
    "an opcode without a name": """
number = opcode.opmap["LOAD_FAST_AND_CLEAR"]
opcode.opname[number] = f"<{number}>"
""",
    "tables of another kind": """
opcode._inline_cache_entries = None
""",
    "no list of jumps": """
del opcode.hasjrel
""",
    "arguments that count otherwise": """
table = opcode._inline_cache_entries
more = {name: 99 for name in opcode.opname}
opcode._inline_cache_entries = more if hasattr(table, "get") else [99] * 256
""",
}
PROGRAM = """
from lineprof import LineProfiler

def f(n):
    total = 0
    for i in range(n):
        total += len([
            j
            for j in range(i)
        ])
    return total

def g(n):
    return {
        k: k
        for k in range(n)
    }

profiler = LineProfiler(f, g)
with profiler:
    print(f(3), len(g(2)))
stats = profiler.get_stats()
print(*stats.warnings, sep="\\n")
lines = {row.line: row.hits for one in stats.functions for row in one.rows}
first = f.__code__.co_firstlineno
print(lines[first + 1], lines[first + 2], lines[first + 7])
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no jump matters")
@pytest.mark.parametrize("future", FUTURES)
def test_programs_are_profiled_with_a_warning(future: str) -> None:
    change = "import dis, opcode\n" + FUTURES[future]
    status, out, err = run_python(change + PROGRAM)
    assert (status, err) == (0, "")
    result, warning, hits = out.splitlines()
    assert result == "3 2"
    assert warning.startswith("the bytecode of Python ")
    assert "is unknown to this version of lineprof" in warning
    assert hits == "1 4 1"


@pytest.mark.smoke
@pytest.mark.skipif(sys.version_info < (3, 12), reason="no jump matters")
def test_a_known_python_gets_no_warning() -> None:
    status, out, err = run_python(PROGRAM)
    assert (status, err) == (0, "")
    assert out.splitlines() == ["3 2", "", "1 4 1"]
