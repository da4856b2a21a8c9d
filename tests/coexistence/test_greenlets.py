"""Greenlets: each has open lines of its own, and its clock stands while others run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from as_python import hits_in, kernprof, viewer, write
from compiled_doubles import double
from deadline import DEADLINE
from running import core_name, plain

from lineprof import load_stats

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


def python(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with the core that this run of the suite tests."""
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        cwd=cwd,
        text=True,
        check=False,
        timeout=DEADLINE,
        env={
            **os.environ,
            "LINEPROF_CORE": core_name(),
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
    )


Check = Callable[[str], Checked]


@pytest.fixture
def check(tmp_path: Path, shared_folder: Path) -> Check:
    """Return a function that runs a program and checks its times."""
    library = double(shared_folder, "python/clock.c")

    def run(program: str) -> Checked:
        path = tmp_path / "program.py"
        path.write_text(plain(program), encoding="utf-8")
        done = python("-c", CHECK, library, path, cwd=tmp_path)
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
    wait()  #= 60 #~ 163

@profile
def outer(n):
    tick(1)  #= 2
    inner(n)  #= 170 #~ 163
    tick(2)  #= 4

spawn(lambda: outer(10), lambda: outer(100))
hub.switch()
"""
    )
    assert checked.own == 176
    assert checked.tree == [("outer", 0, -1, 2, 176), ("inner", 28, 0, 2, 170)]


def test_a_function_open_in_several_greenlets_is_no_recursion(check: Check) -> None:
    checked = check(
        LOOP
        + """
@profile
def work(n):
    tick(n)  #= 111
    wait()  #= 90 #~ 402
    tick(n)  #= 111

spawn(*(lambda n=n: work(n) for n in (1, 10, 100)))
hub.switch()
"""
    )
    [node] = checked.tree
    assert node == ("work", 0, -1, 3, 312)


TRACED = """
import greenlet as module
from greenlet import getcurrent, greenlet

@profile
def one():
    tick(1)  #= 1
    rest(2)  {marks}

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
    check(program.format(marks="#= 2 #~ 70", before=before, after="", seen=seen))


def test_counts_are_right_where_the_program_replaces_the_trace_function(
    check: Check,
) -> None:
    """Then a switch is noticed at the next event of a profiled function."""
    program = TRACED.replace("tick(20))  #= 20", "tick(20))  #= 62")
    after = "module.settrace(note)"
    seen = ["switch"] * 2
    check(program.format(marks="#~ 72", before="", after=after, seen=seen))


# Greenlets with random plans of ticks, calls and switches. The program itself counts
# whose line each tick belongs to.
RANDOM = """\
import random, sys
from collections import Counter
from pathlib import Path
from greenlet import getcurrent, greenlet
from running import new_profiler
from settable_clock import Clock

clock = Clock(Path(sys.argv[1]))

def f(me, plan):
    for op, what in plan:
        if op == "tick":
            me.spend(what)
        elif op == "switch":
            me.give_up(what)
        else:
            me.call(what)
    me.depth -= 1

NAMES = {3: "tick", 5: "switch", 7: "call"}

def plan_of(other, depth):
    ops = ["tick", "tick", "switch", "switch", *(["call"] if depth < 5 else [])]
    plan = [(other.choice(ops), other.randrange(1, 50)) for _ in range(4)]
    return [
        (op, plan_of(other, depth + 1) if op == "call" else what) for op, what in plan
    ]

class Truth:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.times, self.awaits = Counter(), Counter()
        self.owner = None  # the greenlet whose lines are open
        self.hub = greenlet(self.loop)
        self.all = [Runner(self) for _ in range(self.random.randrange(2, 6))]

    def charge(self, n):
        try:
            self.pass_or_fail(n)
        except ValueError:
            pass
        if self.owner and self.owner.depth:
            self.times[self.owner.ops[-1]] += n
            self.times["call"] += n * (self.owner.depth - 1)

    def pass_or_fail(self, n):
        clock.tick(n)
        if self.random.random() < 0.2:
            raise ValueError

    def run_by(self, runner):
        if self.owner is runner:
            return
        now = clock.now()
        if self.owner:
            self.owner.left = now
        if runner.depth and runner.left is not None:
            self.awaits[runner.ops[-1]] += now - runner.left
            self.awaits["call"] += (now - runner.left) * (runner.depth - 1)
        self.owner = runner

    def loop(self):
        while alive := [one for one in self.all if not one.greenlet.dead]:
            self.charge(self.random.randrange(9))
            self.random.choice(alive).greenlet.switch()

class Runner:
    def __init__(self, truth):
        self.truth, self.random = truth, truth.random
        self.depth, self.ops, self.left = 0, [], None
        self.greenlet = greenlet(self.start, truth.hub)

    def start(self):
        self.truth.charge(self.random.randrange(9))
        for _ in range(2):
            self.call(plan_of(self.random, 0))
            self.left = None
            self.give_up(3)

    def note(self, plan):
        for op, what in plan:
            self.ops[-1] = op
            yield op, what

    def call(self, plan):
        self.truth.run_by(self)
        self.depth += 1
        self.ops.append("")
        f(self, self.note(plan))
        self.ops.pop()

    def spend(self, n):
        self.truth.charge(n)

    def give_up(self, n):
        self.truth.charge(self.random.randrange(3))
        if self.random.random() < 0.3:
            self.random.choice(self.truth.all).switch_to()
        else:
            self.truth.hub.switch()
        if self.depth:
            self.truth.run_by(self)
        self.truth.charge(n)

    def switch_to(self):
        if self.greenlet.dead or self.greenlet is getcurrent():
            self.truth.hub.switch()
        else:
            self.greenlet.switch()

plain_f = f
for seed in range(int(sys.argv[2]), int(sys.argv[3])):
    profiler = new_profiler(clock=clock.capsule)
    f = profiler(plain_f)
    truth = Truth(seed)
    truth.hub.switch()
    (function,) = profiler.get_stats().functions
    first = f.__code__.co_firstlineno
    rows = {NAMES.get(row.line - first): row for row in function.rows}
    times = Counter({name: row.time_ns for name, row in rows.items() if row.time_ns})
    awaits = Counter({name: row.await_ns for name, row in rows.items() if row.await_ns})
    assert times == +truth.times, (seed, times, truth.times)
    assert awaits == +truth.awaits, (seed, awaits, truth.awaits)
    profiler.disable()
"""


@pytest.mark.parametrize("seed", range(0, 300, 100))
def test_times_of_random_greenlets(
    tmp_path: Path, shared_folder: Path, seed: int
) -> None:
    library = double(shared_folder, "python/clock.c")
    write(tmp_path, "program.py", RANDOM)
    done = python("program.py", library, seed, seed + 100, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_greenlet_may_be_imported_while_lines_are_open(check: Check) -> None:
    """Functions that ran before have no room for await times."""
    check(
        """
        @profile
        def b():
            while True:
                tick(5)  #= 10
                main.switch()  #~ 7

        @profile
        def c():
            main.switch()
            return None

        def begin():
            global main, g1, g2
            from greenlet import getcurrent, greenlet
            main, g1, g2 = getcurrent(), greenlet(b), greenlet(c)

        @profile
        def top():
            begin()
            g2.switch()
            tick(1)  #= 1
            g1.switch()
            tick(7)  #= 7
            g1.switch()
            tick(1000)  #= 1000

        top()
        tick(500)
        """
    )


CHANGES = """
from greenlet import getcurrent, greenlet
from running import new_profiler

@profile
def b():
    while True:
        tick(5)  #= {of_b}
        main.switch()  {awaited}

@profile
def top():
    g1.switch()  {before}
    tick(7)  {then}
    change()
    tick(100)  {off}
    profile.enable()
    g1.switch()  #~ 5
    tick(1000)  #= 1000

def turn_off():
    profile.disable()
    profile.disable()

def other():
    second = new_profiler()
    second.add_function(b)
    second.enable()
    second.disable()
    assert not second.get_stats().functions[0].rows

change = {change}
main = getcurrent()
g1 = greenlet(b)
profile.enable()
top()
tick(500)
profile.disable()
"""
USUAL = {
    "of_b": 10,
    "awaited": "#~ 107",
    "before": "#~ 5",
    "then": "#= 7",
    "off": "#= 100",
}


@pytest.mark.parametrize(
    ("change", "marks"),
    [
        ("profile.reset", {"of_b": 5, "awaited": "#~ 100", "before": "", "then": ""}),
        ("other", {}),
    ],
)
def test_a_profiler_changes_while_a_greenlet_is_switched_out(
    check: Check, change: str, marks: dict[str, str]
) -> None:
    check(CHANGES.format(change=change, **{**USUAL, **marks}))


PAUSED = """
import lineprof
from greenlet import getcurrent, greenlet
from running import new_profiler
from pathlib import Path
from settable_clock import Clock
import sys
clock = Clock(Path(sys.argv[1]))
profile = new_profiler(clock=clock.capsule)
tick = clock.tick
def b(n):
    while True:
        tick(n)
        main.switch()
def top(other):
    other.switch()
    change()
    tick(100)
    other.switch()
    again()
    tick(1000)
    other.switch()
def rows(profiler):
    return [
        (row.hits, row.time_ns, row.await_ns)
        for function in profiler.get_stats().functions
        for row in function.rows
    ]
def core():
    from lineprof import _core
    return _core
main = getcurrent()
"""


def test_collection_is_off_while_a_greenlet_is_switched_out(
    tmp_path: Path, shared_folder: Path
) -> None:
    """Neither its old lines nor new ones count until it is on again."""
    library = double(shared_folder, "python/clock.c")
    text = f"""{PAUSED}
from lineprof import _core
change, again = (lambda: _core.collect(False)), (lambda: _core.collect(True))
b, top = profile(b), profile(top)
top(greenlet(lambda: b(5)))
found = {{f.name: [(r.hits, r.time_ns) for r in f.rows]
         for f in profile.get_stats().functions}}
assert found["b"] == [(2, 0), (2, 10), (2, 0)], found
assert [time for _, time in found["top"]] == [0, 0, 1000, 0], found
"""
    write(tmp_path, "program.py", text)
    done = python("program.py", library, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_closed_profiler_leaves_greenlets_that_are_switched_out(
    tmp_path: Path, shared_folder: Path
) -> None:
    """And what it has in greenlet: no trace function of this thread."""
    library = double(shared_folder, "python/clock.c")
    text = f"""{PAUSED}
import gc, greenlet as module
from lineprof.recording.profiler import close
change = again = lambda: None
def c(n):
    while True:
        tick(n)
        main.switch()
b, t = profile(b), profile(top)
pair = greenlet(lambda: b(5)), greenlet(lambda: b(5))
t(pair[0])
pair[1].switch()
close(profile)
second = new_profiler(clock=clock.capsule)
c = second(c)
last = greenlet(lambda: c(20))
last.switch()
for one in (*pair, last):
    one.switch()
assert rows(second) == [(2, 0, 0), (2, 40, 0), (2, 10, 0)], rows(second)
close(second)
del profile, second, b, c, t
gc.collect()
main.switch()
assert module.gettrace() is None
"""
    write(tmp_path, "program.py", text)
    done = python("program.py", library, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


KILLED = """
import os, signal, threading, time
from greenlet import getcurrent, greenlet

@profile
def b():
    while True:
        main.switch()

@profile
def top():
    g1.switch()
    end = time.perf_counter() + 0.2
    while time.perf_counter() < end:
        pass
    g1.switch()
    {end}

main = getcurrent()
g1 = greenlet(b)
top()
"""


@pytest.mark.serial
@pytest.mark.parametrize(
    "end",
    [
        "return",
        # These end alike with every core.
        pytest.param("os.kill(os.getpid(), signal.SIGKILL)", marks=pytest.mark.once),
        pytest.param(
            "pid = os.fork(); os.wait() if pid else os._exit(0)", marks=pytest.mark.once
        ),
    ],
)
def test_lines_of_a_greenlet_that_is_switched_out_get_nothing_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", str(tmp_path / "live"))
    write(tmp_path, "k.py", KILLED.format(end=end))
    kernprof("-lq", "--core", core_name(), "k.py", cwd=tmp_path)
    assert viewer("view", "k.lprof", cwd=tmp_path).status == 0
    assert hits_in(tmp_path / "k.lprof")["b"] == {7: 2, 8: 2}
    stats = load_stats(tmp_path / "k.lprof")
    own = {one.name: sum(row.time_ns for row in one.rows) for one in stats.functions}
    assert own["b"] * 10 < own["top"]
    assert not [one for one in stats.warnings if "guess" in one]


def test_slices_of_greenlets_do_not_overlap(tmp_path: Path) -> None:
    text = LOOP.replace("tick(", "time.sleep(1e-6 *")
    write(
        tmp_path,
        "t.py",
        f"""
import time
{text}
@profile
def inner(n):
    wait(n)

@profile
def outer(n):
    for _ in range(3):
        inner(n)

spawn(lambda: outer(10), lambda: outer(100), lambda: outer(1000))
hub.switch()
""",
    )
    kernprof("-lq", "--core", core_name(), "--trace", "t.py", cwd=tmp_path)
    stats = load_stats(tmp_path / "t.lprof")
    (trace,) = stats.traces
    open_until: list[int] = []
    slices = sorted(
        ((one.start_ns, -one.ns) for one in trace), key=lambda one: (one[0], one[1])
    )
    assert len(slices) > 12
    for start, minus in slices:
        while open_until and open_until[-1] <= start:
            open_until.pop()
        assert not open_until or start - minus <= open_until[-1]
        open_until.append(start - minus)


def test_thousands_of_greenlets_and_several_threads(check: Check) -> None:
    checked = check(
        """
        import threading
        from greenlet import getcurrent, greenlet

        @profile
        def work(main, n):
            tick(1)  #= 6000
            main.switch()  #~ {awaits}
            tick(2)  #= 12000

        def run():
            main = getcurrent()
            all = [greenlet(work) for _ in range(3000)]
            for one in all:
                one.switch(main, 1)
            for one in all:
                one.switch()
            assert all[0].dead

        for _ in range(2):
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        """.replace("{awaits}", str(2 * (3000 * 2999 // 2 * 3)))
    )
    assert checked.own == 18000


def test_gevent(check: Check) -> None:
    pytest.importorskip("gevent", reason="gevent has no wheel for this Python")
    checked = check(
        """
        import gevent

        @profile
        def worker(n):
            tick(n)  #= 111
            gevent.sleep(0)  #~ 222
            tick(n)  #= 111

        @profile
        def main():
            tick(1000)  #= 1000
            gevent.joinall([gevent.spawn(worker, n) for n in (1, 10, 100)])  #~ 222
            tick(2000)  #= 2000

        main()
        """
    )
    assert checked.own == 3222
