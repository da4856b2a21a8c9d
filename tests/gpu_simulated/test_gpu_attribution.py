"""Attribution of GPU work: to the line that was open at the launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gpu_rig import Played, Rig

from lineprof.model.gpu import (
    numbers_of_functions,
    numbers_of_lines,
    totals,
    unattributed,
)

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof import LineStats

pytestmark = pytest.mark.usefixtures("hook")

# Unattributed GPU work of the programs that have some.
UNATTRIBUTED = {
    "outside of any function": "gpu=122 kernels=7 HtoD=3/8/1 wait=125/1",
    "in functions that are not profiled": "gpu=40 kernels=4",
    "after the function's end": "gpu=30 kernels=2",
    "native threads and no line": "gpu=6 kernels=3",
    "native threads and two threads with lines": "gpu=50 kernels=5",
    "turned off in the middle": "gpu=4 kernels=1",
    "a suspended generator": "gpu=40 kernels=2",
    "suspended coroutines": "gpu=5 kernels=1",
    "registered, and not enabled": "gpu=10 kernels=1",
    "a suspended frame is no open line": "gpu=8 kernels=1",
}

PROGRAMS = {
    "nested functions": """
@profile
def inner(ns):
    gpu.fk_launch(b"k", 0, ns)  #> gpu=111 kernels=3
    gpu.fk_memset(1, 1, 0)  #> gpu=3 memset=3/3

@profile
def middle():
    inner(100)  #> gpu=101 self=0 kernels=1 memset=1/1
    gpu.fk_memcpy(1, 64, 9, 0, 2, 3)  #> HtoD=9/64/1

@profile
def outer():
    gpu.fk_launch(b"k", 0, 5000)  #> gpu=5000 kernels=1
    middle()  #> gpu=101 self=0 kernels=1 memset=1/1 HtoD=9/64/1
    inner(10); gpu.fk_launch(b"k", 0, 7)  #> gpu=18 self=7 kernels=2 memset=1/1

outer()
inner(1)
""",
    # Functions that are not profiled do not count.
    "through functions that are not profiled": """
@profile
def inner():
    gpu.fk_launch(b"k", 0, 10)  #> gpu=20 kernels=2

def between(n):
    return between(n - 1) if n else helper()

def helper():
    gpu.fk_launch(b"k", 0, 3)
    inner()
    gpu.fk_launch(b"k", 0, 4)

@profile
def outer():
    between(0)  #> gpu=17 self=7 kernels=3
    between(30)  #> gpu=17 self=7 kernels=3

outer()
""",
    # A line counts a record once, even if it is open several times.
    "recursion": """
@profile
def f(n):
    gpu.fk_launch(b"k", 0, 10)  #> gpu=50 kernels=5
    if n:
        f(n - 1)  #> gpu=40 self=0 kernels=4

f(4)
""",
    "recursion of two": """
@profile
def even(n):
    gpu.fk_launch(b"k", 0, 1)  #> gpu=3 kernels=3
    return n == 0 or odd(n - 1)  #> gpu=202 self=0 kernels=4

@profile
def odd(n):
    gpu.fk_launch(b"k", 0, 100)  #> gpu=200 kernels=2
    return n != 0 and even(n - 1)  #> gpu=102 self=0 kernels=3

even(4)
""",
    "deep recursion": """
import sys
sys.setrecursionlimit(5000)

@profile
def f(n):
    if n:
        return f(n - 1)  #> gpu=4 self=0 kernels=2
    gpu.fk_launch(b"k", 0, 2)  #> gpu=4 kernels=2
    return 0

f(1500)
f(1400)
sys.setrecursionlimit(1000)
""",
    "loops": """
@profile
def f():
    for i in range(3):
        gpu.fk_launch(b"k", 0, i)  #> gpu=3 kernels=3
        for j in range(2):
            gpu.fk_launch(b"k", 0, 10)  #> gpu=60 kernels=6
    while gpu.fk_launch(b"k", 0, 5) or i:  #> gpu=15 kernels=3
        i -= 1
    for _ in range(2): gpu.fk_launch(b"k", 0, 1)  #> gpu=2 kernels=2

f()
""",
    "expressions": """
@profile
def f():
    [gpu.fk_launch(b"k", 0, n) for n in range(4)]  #> gpu=6 kernels=4
    sum(gpu.fk_launch(b"k", 0, n) for n in range(5))  #> gpu=10 kernels=5
    (lambda: gpu.fk_launch(b"k", 0, 7))()  #> gpu=7 kernels=1
    list(map(lambda n: gpu.fk_launch(b"k", 0, n), (1, 2)))  #> gpu=3 kernels=2
    return gpu.fk_launch(b"k", 0, 8)  #> gpu=8 kernels=1

f()
""",
    "a statement over several lines": """
@profile
def f():
    return (
        gpu.fk_launch(b"k", 0, 1)  #> gpu=1 kernels=1
        or gpu.fk_launch(b"k", 0, 2)  #> gpu=2 kernels=1
    )

f()
""",
    "branches": """
@profile
def f(n):
    if n:
        gpu.fk_launch(b"k", 0, 100)  #> gpu=300 kernels=3
    elif gpu.fk_launch(b"k", 0, 3):  #> gpu=3 kernels=1
        pass
    else:
        gpu.fk_launch(b"k", 0, 20)  #> gpu=20 kernels=1

for n in range(4):
    f(n)
""",
    "exceptions": """
@profile
def inner(n):
    gpu.fk_launch(b"k", 0, n)  #> gpu=3 kernels=2
    raise ValueError(gpu.fk_launch(b"k", 0, 10))  #> gpu=20 kernels=2

@profile
def outer(n):
    try:
        inner(n)  #> gpu=23 self=0 kernels=4
    except ValueError:
        gpu.fk_launch(b"k", 0, 100)  #> gpu=200 kernels=2
        if n == 2:
            raise
    finally:
        gpu.fk_launch(b"k", 0, 1000)  #> gpu=2000 kernels=2

outer(1)
try:
    outer(2)
except ValueError:
    pass
""",
    "context managers": """
class Timer:
    @profile
    def __enter__(self):
        gpu.fk_launch(b"k", 0, 1)  #> gpu=1 kernels=1
    @profile
    def __exit__(self, *_):
        gpu.fk_launch(b"k", 0, 20)  #> gpu=20 kernels=1

@profile
def f():
    with Timer():  #> gpu=21 self=0 kernels=2
        gpu.fk_launch(b"k", 0, 300)  #> gpu=300 kernels=1
    gpu.fk_launch(b"k", 0, 4000)  #> gpu=4000 kernels=1

f()
""",
    "methods and properties": """
@profile
class Model:
    def __init__(self):
        gpu.fk_launch(b"k", 0, 1)  #> gpu=1 kernels=1
    @property
    def size(self):
        return gpu.fk_launch(b"k", 0, 20)  #> gpu=20 kernels=1
    @classmethod
    def make(cls):
        return cls()  #> gpu=1 self=0 kernels=1
    @staticmethod
    def helper():
        return gpu.fk_launch(b"k", 0, 300)  #> gpu=300 kernels=1
    def __call__(self):
        return self.size + self.helper()  #> gpu=320 self=0 kernels=2

Model.make()()
""",
    "a suspended generator": """
@profile
def numbers():
    gpu.fk_launch(b"k", 0, 1)  #> gpu=1 kernels=1
    yield
    gpu.fk_launch(b"k", 0, 300)  #> gpu=300 kernels=1
    yield gpu.fk_launch(b"k", 0, 5)  #> gpu=5 kernels=1

generator = numbers()
next(generator)
gpu.fk_launch(b"k", 0, 20)
next(generator)
gpu.fk_launch(b"k", 0, 20)
next(generator, None)
""",
    # A resumed frame is again on the line that it left.
    "generators": """
@profile
def inner(n):
    for i in range(n):
        gpu.fk_launch(b"k", 0, 1)  #> gpu=4 kernels=4
        (yield i), gpu.fk_launch(b"k", 0, 10)  #> gpu=40 kernels=4

@profile
def outer():
    yield from inner(2)  #> gpu=22 self=0 kernels=4
    gpu.fk_launch(b"k", 0, 100)  #> gpu=100 kernels=1
    yield

@profile
def main():
    for _ in outer():  #> gpu=122 self=0 kernels=5
        gpu.fk_launch(b"k", 0, 1000)  #> gpu=3000 kernels=3
    one, two = inner(1), inner(1)
    next(one), next(two)  #> gpu=2 self=0 kernels=2
    gpu.fk_launch(b"k", 0, 7)  #> gpu=7 kernels=1
    list(one), list(two)  #> gpu=20 self=0 kernels=2

main()
""",
    "a suspended frame is no open line": """
import threading

@profile
def numbers():
    gpu.fk_launch(b"k", 0, 1)  #> gpu=1 kernels=1
    yield
    gpu.fk_launch(b"k", 0, 2)  #> gpu=2 kernels=1

def elsewhere():
    next(generator, None)
    gpu.fk_launch(b"k", 0, 8)

generator = numbers()
next(generator)
thread = threading.Thread(target=elsewhere)
thread.start()
thread.join()
""",
    "suspended coroutines": """
import asyncio

@profile
async def work(n):
    gpu.fk_launch(b"k", 0, n)  #> gpu=30 kernels=2
    await asyncio.sleep(0)
    gpu.fk_launch(b"k", 0, 100)  #> gpu=200 kernels=2
    return gpu.fk_launch(b"k", 0, 1)  #> gpu=2 kernels=2

@profile
async def steps():
    for i in range(2):
        gpu.fk_launch(b"k", 0, 3)  #> gpu=6 kernels=2
        yield i

@profile
async def main():
    await asyncio.gather(work(10), work(20))
    gpu.fk_launch(b"k", 0, 4)  #> gpu=4 kernels=1
    async for _ in steps():  #> gpu=6 self=0 kernels=2
        pass

async def plain():
    gpu.fk_launch(b"k", 0, 5)
    await main()

asyncio.run(plain())
""",
    "outside of any function": """
gpu.fk_launch(b"k", 0, 2)
gpu.fk_memcpy(1, 8, 3, 0, 2, 3)
gpu.fk_sync(0, 0, 125)

@profile
def f():
    gpu.fk_launch(b"k", 0, 1)  #> gpu=1 kernels=1

f()
for _ in range(6):
    gpu.fk_launch(b"k", 0, 20)
""",
    "in functions that are not profiled": """
def plain():
    gpu.fk_launch(b"k", 0, 10)

@profile
def f():
    plain()  #> gpu=10 kernels=1

plain()
f()
for _ in range(3):
    plain()
""",
    # A launch in a function is charged to its line, even if the kernel runs later.
    "after the function's end": """
@profile
def f():
    for n in range(3):
        gpu.fk_launch(b"k", n, 10**9)  #> gpu=3000000000 kernels=3
    return 1

@profile
def g():
    gpu.fk_sync(0, 0, -1)  #> wait=1000000030/1

f()
gpu.fk_launch(b"k", 0, 10)
gpu.fk_launch(b"k", 0, 20)
g()
""",
    "holding the interpreter's lock": """
@profile
def f():
    held.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
    gpu.fk_launch(b"k", 0, 5)  #> gpu=5 kernels=1
    held.fk_memcpy(2, 8, 7, 1, 3, 1)  #> DtoH=7/8/1 wait=22/1
    held.fk_launch_from_native_thread(b"k", 1, 3)  #> gpu=3 adopted=3 kernels=3
    held.fk_sync(0, 0, -1)  #> wait=3/1

f()
""",
    "threads": """
import threading

@profile
def work(n):
    for i in range(20):
        gpu.fk_launch(b"k", n, 1)  #> gpu=80 kernels=80
        inner(n)  #> gpu=800 self=0 kernels=80

@profile
def inner(n):
    held.fk_launch(b"k", n, 10)  #> gpu=800 kernels=80

threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""",
    # A launch on a native thread is charged to the line that waits for the thread.
    "native threads": """
@profile
def inner():
    gpu.fk_launch_from_native_thread(b"k", 10, 3)  #> gpu=30 adopted=30 kernels=3

@profile
def outer():
    inner()  #> gpu=30 self=0 adopted=30 kernels=3
    gpu.fk_launch(b"k", 0, 5)  #> gpu=5 kernels=1
    gpu.fk_launch_from_native_thread(b"k", 100, 2)  #> gpu=200 adopted=200 kernels=2
    gpu.fk_launch(b"k", 0, 1); gpu.fk_launch_from_native_thread(b"k", 2, 1)  \
#> gpu=3 adopted=2 kernels=2

outer()
""",
    "native threads and no line": """
gpu.fk_launch_from_native_thread(b"k", 2, 3)
@profile
def f():
    gpu.fk_launch(b"k", 0, 1)  #> gpu=1 kernels=1
f()
""",
    "threads that run nothing profiled": """
import threading

def work():
    gpu.fk_launch(b"k", 0, 10)
    gpu.fk_sync(0, 0, 4)

@profile
def f():
    thread = threading.Thread(target=work)
    thread.start(); thread.join()  #> gpu=10 adopted=10 kernels=1 wait=4/1

f()
""",
    # With two threads of open lines the launching line is unknown.
    "native threads and two threads with lines": """
import threading
ready, over = threading.Event(), threading.Event()

@profile
def other():
    ready.set(); over.wait()

@profile
def f():
    thread = threading.Thread(target=other)
    gpu.fk_launch_from_native_thread(b"k", 7, 1)  #> gpu=7 adopted=7 kernels=1
    thread.start(); ready.wait()
    gpu.fk_launch_from_native_thread(b"k", 10, 5)
    gpu.fk_launch(b"k", 0, 3)  #> gpu=3 kernels=1
    over.set(); thread.join()
    gpu.fk_launch_from_native_thread(b"k", 9, 1)  #> gpu=9 adopted=9 kernels=1

f()
""",
    "turned off in the middle": """
@profile
def f():
    gpu.fk_launch(b"k", 0, 1)  #> gpu=1 kernels=1
    profile.disable()
    gpu.fk_launch(b"k", 0, 4)

f()
""",
    "registered, and not enabled": """
def f():
    gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1

profile.add_function(f)
f()
with profile:
    f()
""",
    "registered and decorated": """
def f():
    gpu.fk_launch(b"k", 0, 10)  #> gpu=30 kernels=3

profile.add_function(f)
decorated = profile(f)
decorated()
with profile:
    f()
    decorated()
""",
    "many lines": "@profile\ndef f():\n"
    + "".join(
        f"    gpu.fk_launch(b'k', 0, {n})  #> gpu={n} kernels=1\n"
        for n in range(1, 400)
    )
    + "f()\n",
}


@pytest.fixture(scope="module")
def played(
    doubles: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Played]:
    """Run all of `PROGRAMS`."""
    return Rig(doubles, tmp_path_factory.mktemp("attribution")).play(PROGRAMS)


@pytest.mark.smoke
@pytest.mark.parametrize("name", PROGRAMS)
def test_work_is_charged_to_the_line_at_the_launch(
    played: dict[str, Played], name: str
) -> None:
    played[name].check(UNATTRIBUTED.get(name, ""))


def function_ns(stats: LineStats) -> dict[str, tuple[int, int]]:
    """Return the GPU time and the self GPU time of each function."""
    return {
        key[2]: (numbers.gpu_ns, numbers.self_ns)
        for key, numbers in numbers_of_functions(stats.gpu).items()
    }


def test_a_function_counts_a_record_once(played: dict[str, Played]) -> None:
    found = {name: function_ns(played[name].check()) for name in ("recursion of two",)}
    assert found["recursion of two"] == {"even": (203, 3), "odd": (202, 200)}
    nested = function_ns(played["nested functions"].check())
    assert nested == {"inner": (114, 114), "middle": (101, 0), "outer": (5119, 5007)}


@pytest.mark.smoke
def test_call_paths_have_the_thread_of_the_launch(rig: Rig) -> None:
    program = """
    import threading
    @profile
    def f(ns):
        gpu.fk_launch(b"k", 0, ns)  #> gpu=111 kernels=3
    f(1)
    for name, ns in ("red", 10), ("green", 100):
        thread = threading.Thread(target=f, args=(ns,), name=name)
        thread.start()
        thread.join()
    """
    stats = rig.check(program)
    names = {}
    for one in stats.gpu.sums:
        path = stats.gpu.paths[one.path]
        assert not path.adopted
        names[one.ns] = stats.threads[path.thread].name
    assert names == {1: "MainThread", 10: "red", 100: "green"}


@pytest.mark.smoke
def test_an_adopted_call_path_has_the_thread_of_its_lines(rig: Rig) -> None:
    program = """
    import threading
    @profile
    def f():
        gpu.fk_launch_from_native_thread(b"k", 3, 1)  #> gpu=3 adopted=3 kernels=1
    thread = threading.Thread(target=f, name="red")
    thread.start()
    thread.join()
    """
    stats = rig.check(program)
    [path] = stats.gpu.paths
    assert path.adopted
    assert stats.threads[path.thread].name == "red"


TWO = """
from running import new_profiler
first, second = new_profiler(), new_profiler()

@second
def inner():
    gpu.fk_launch(b"k", 0, 10)  # inner

@first
def middle():
    inner()  # middle
    gpu.fk_launch(b"k", 0, 3)  # more

@second
def outer():
    middle()  # outer

outer()
gpu.fk_launch(b"k", 0, 100)
middle()
first.dump_stats("first.lprof")
second.dump_stats("second.lprof")
"""


def test_two_profilers_each_report_their_own_lines(rig: Rig) -> None:
    ran = rig.python(TWO).ok()
    places = {
        line.partition("# ")[2]: number
        for number, line in enumerate(ran.text.splitlines(), 1)
    }

    def found(name: str) -> dict[int, tuple[int, int]]:
        stats = ran.stats(name)
        assert totals(stats.gpu).gpu_ns == 126
        return {
            line: (numbers.gpu_ns, numbers.self_ns)
            for lines in numbers_of_lines(stats.gpu).values()
            for line, numbers in lines.items()
        }

    assert found("first") == {places["middle"]: (20, 20), places["more"]: (6, 6)}
    assert found("second") == {places["inner"]: (20, 20), places["outer"]: (13, 3)}
    [rest] = [unattributed(ran.stats(name).gpu).gpu_ns for name in ("first",)]
    assert rest == 100
    assert unattributed(ran.stats("second").gpu).gpu_ns == 103


@pytest.mark.smoke
def test_one_of_two_profilers_is_turned_off_in_the_middle(rig: Rig) -> None:
    program = """
    from running import new_profiler
    first, second = new_profiler(), new_profiler()

    @first
    def inner():
        gpu.fk_launch(b"k", 0, 1)  # before
        second.disable()
        gpu.fk_launch(b"k", 0, 20)  # after

    @second
    def middle():
        inner()  # middle
        gpu.fk_launch(b"k", 0, 300)

    @first
    def outer():
        middle()  # outer

    outer()
    first.dump_stats("first.lprof")
    second.dump_stats("second.lprof")
    """
    ran = rig.python(program).ok()
    places = {
        number: line.partition("  # ")[2]
        for number, line in enumerate(ran.text.splitlines(), 1)
    }
    found = [
        {
            places[line]: (numbers.gpu_ns, numbers.self_ns)
            for lines in numbers_of_lines(ran.stats(name).gpu).values()
            for line, numbers in lines.items()
        }
        for name in ("first", "second")
    ]
    assert found[0] == {"before": (1, 1), "after": (20, 20), "outer": (321, 300)}
    assert found[1] == {"middle": (1, 1)}
    assert unattributed(ran.stats("second").gpu).gpu_ns == 320


@pytest.mark.smoke
def test_switching_greenlets(rig: Rig) -> None:
    """A launch is charged to the line of its own greenlet."""
    pytest.importorskip("greenlet")
    program = """
    from greenlet import greenlet
    @profile
    def ping():
        for n in range(3):
            gpu.fk_launch(b"k", 0, 1)  # ping
            pongs.switch()
    @profile
    def pong():
        while True:
            gpu.fk_launch(b"k", 0, 10)  # pong
            pings.switch()
    pings, pongs = greenlet(ping), greenlet(pong)
    pings.switch()
    """
    ran = rig.kernprof(program).ok()
    texts = ran.text.splitlines()
    found = {
        texts[line - 1].partition("  # ")[2]: numbers.gpu_ns
        for lines in numbers_of_lines(ran.stats().gpu).values()
        for line, numbers in lines.items()
    }
    assert (found["ping"], found["pong"]) == (3, 30)
