"""Greenlets: each has open lines of its own, and its clock stands while others run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from as_python import hits_in, kernprof, run, viewer, write
from compiled_doubles import double
from running import core_name, plain

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("greenlet", reason="greenlet has no wheel for this Python")
pytestmark = pytest.mark.usefixtures("hook")

# Runs a program with the settable clock, in a process of its own: once greenlet is
# imported, all code is counted with regard to it.
CHECK = """\
import json, sys
from pathlib import Path
from check_time import check_times, measure
from settable_clock import Clock
library, program, *what = sys.argv[1:]
text = Path(program).read_text(encoding="utf-8")
stats = (measure if what else check_times)(text, Clock(Path(library)))
own = sum(node.self_ns for node in stats.calls.nodes)
tree = [
    (node.function[2], node.line, node.parent, node.calls, node.total_ns)
    for node in stats.calls.nodes
]
print(json.dumps({"own": own, "warnings": stats.warnings, "tree": tree}))
"""


class Checked:
    """A program whose times were as its marks say."""

    def __init__(self, printed: str) -> None:
        found = json.loads(printed)
        self.own: int = found["own"]  # ns, the sum over all lines
        self.warnings: list[str] = found["warnings"]
        self.tree: list[tuple[str, int, int, int, int]] = [
            tuple(node) for node in found["tree"]
        ]


Check = Callable[[str], Checked]


@pytest.fixture
def check(tmp_path: Path, shared_folder: Path) -> Check:
    """Return a function that runs a program and checks its times."""
    library = double(shared_folder, "python/clock.c")

    def run(program: str) -> Checked:
        path = tmp_path / "program.py"
        path.write_text(plain(program), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", CHECK, str(library), str(path)],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "LINEPROF_CORE": core_name(),
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
        )
        assert done.returncode == 0, done.stderr
        return Checked(done.stdout)

    return run


def test_a_greenlet_that_never_comes_back_gets_nothing_more(check: Check) -> None:
    checked = check(
        """
        from greenlet import getcurrent, greenlet

        @profile
        def b():
            while True:
                tick(5)  #= 10
                main.switch()  #~ 7

        @profile
        def top():
            g1.switch()  #~ 5
            tick(7)  #= 7
            g1.switch()  #~ 5
            tick(1000)  #= 1000

        main = getcurrent()
        g1 = greenlet(b)
        top()
        tick(500)
        """
    )
    assert checked.own == 1017
    assert checked.warnings == []
    assert checked.tree == [("top", 0, -1, 1, 1007), ("b", 0, -1, 1, 10)]


LOOP = """
from greenlet import getcurrent, greenlet

def loop():
    while queue:
        tick(30)
        queue.pop(0).switch()
    tick(60)

def wait(before=0, after=0):
    tick(before)
    queue.append(getcurrent())
    hub.switch()
    tick(after)

hub = greenlet(loop)
queue = []
def spawn(*functions):
    queue.extend(greenlet(one, hub) for one in functions)
"""


def test_time_of_unprofiled_code_is_that_of_the_greenlet_that_runs_it(
    check: Check,
) -> None:
    """What a loop without lines does is on the line that gave up control to it."""
    checked = check(
        LOOP
        + """
@profile
def one():
    wait(1, 2)  #= 33 #~ 35
    wait(3, 4)  #= 37 #~ 86

@profile
def two():
    wait(5, 6)  #= 41 #~ 35
    tick(50)  #= 50

spawn(one, two)
hub.switch()
"""
    )
    assert checked.own == 161


def test_a_line_that_waits_alone_has_its_wait(check: Check) -> None:
    check(
        LOOP
        + """
@profile
def one():
    wait(1, 2)  #= 33
    return None

spawn(one)
hub.switch()
"""
    )


def test_callers_of_a_greenlet_that_is_switched_out_await_it(check: Check) -> None:
    checked = check(
        LOOP
        + """
@profile
def inner(n):
    tick(n)  #= 110
    wait()  #= 60 #~ 130

@profile
def outer(n):
    tick(1)  #= 2
    inner(n)  #= 170 #~ 130
    tick(2)  #= 4

spawn(lambda: outer(10), lambda: outer(100))
hub.switch()
"""
    )
    assert checked.own == 176
    assert checked.tree == [("outer", 0, -1, 2, 176), ("inner", 25, 0, 2, 170)]


def test_a_function_open_in_several_greenlets_is_no_recursion(check: Check) -> None:
    checked = check(
        LOOP
        + """
@profile
def work(n):
    tick(n)  #= 111
    wait()  #= 90 #~ 262
    tick(n)  #= 111

spawn(*(lambda n=n: work(n) for n in (1, 10, 100)))
hub.switch()
"""
    )
    [node] = checked.tree
    assert node == ("work", 0, -1, 3, 312)


def test_recursion_and_generators_in_greenlets(check: Check) -> None:
    checked = check(
        """
from greenlet import getcurrent, greenlet

@profile
def steps(n):
    for i in range(n):
        tick(1)  #= 6
        main.switch(i)  #~ 60
        yield i

@profile
def fall(n):
    tick(2)  #= 16
    if n:
        fall(n - 1)  #= 20
    else:
        main.switch()  #~ 20

@profile
def run(n):
    for i in steps(n):  #= 6 #~ 60
        tick(100)  #= 600
    fall(n)  #= 16 #~ 20

main = getcurrent()
both = [greenlet(run), greenlet(run)]
for one in both:
    one.switch(3)
while not all(one.dead for one in both):
    for one in both:
        tick(10)
        one.switch()
"""
    )
    assert checked.own == 6 + 600 + 16


TRACED = """
import greenlet as module
from greenlet import getcurrent, greenlet

@profile
def one():
    tick(1)  #= 1
    rest(2)  #= {one} #~ {awaits}

@profile
def two():
    tick(10)  #= 10
    main.switch(tick(20))  #= 20

def rest(n):
    main.switch()
    tick(n)

def note(event, args):
    seen.append(event)

seen = []
main = getcurrent()
{before}
pair = greenlet(one), greenlet(two)
for each in pair:
    each.switch()
tick(40)
{after}
pair[0].switch()
assert seen == {seen}, seen
"""


@pytest.mark.parametrize("before", ["", "module.settrace(note)"])
def test_a_trace_function_of_the_program_gets_all_switches(
    check: Check, before: str
) -> None:
    seen = ["switch"] * 6 if before else []
    # The line of `two` is left 40 later than the switch: nobody else has lines.
    program = TRACED.replace("tick(20))  #= 20", "tick(20))  #= 60")
    check(program.format(one=2, awaits=70, before=before, after="", seen=seen))


def test_counts_are_right_where_the_program_replaces_the_trace_function(
    check: Check,
) -> None:
    """Then a switch is noticed at the next event of a profiled function."""
    program = TRACED.replace("tick(20))  #= 20", "tick(20))  #= 62")
    after = "module.settrace(note)"
    seen = ["switch"] * 2
    check(program.format(one=0, awaits=72, before="", after=after, seen=seen))
