"""Processes of profiled programs: forks, multiprocessing, ends by exits and signals."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run, write
from running import SHOW, run_python

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hook")


def test_a_fork_in_the_middle_of_a_line() -> None:
    status, output, errors = run_python(
        SHOW
        + """
import os
from lineprof import LineProfiler

profiler = LineProfiler()

@profiler
def f(n):
    child = 0 if n else os.fork()
    n += 1
    return child, n

f(1)
child, _ = f(0)
f(1)
if child:
    os.waitpid(child, 0)
show(profiler)
"""
    )
    # The counts of the child continue from those of the parent.
    assert (status, output, errors) == (0, "f [3, 3, 3]\n" * 2, "")


def test_a_fork_from_a_thread_and_profiling_in_the_child() -> None:
    status, output, errors = run_python(
        SHOW
        + """
import os, threading, warnings
from lineprof import LineProfiler

warnings.simplefilter("ignore")
profiler = LineProfiler()

@profiler
def g(n):
    n += 1
    yield n
    n += 1
    yield n

@profiler
def f(n):
    for i in range(n):
        next(numbers)
    if n == 1 and os.fork() == 0:
        f(0)
        next(numbers)
        show(profiler)
        other = threading.Thread(target=f, args=[0])
        other.start()
        other.join()
        show(profiler)
        os._exit(0)

numbers = g(1)
thread = threading.Thread(target=f, args=[1])
thread.start()
thread.join()
os.wait()
show(profiler)
"""
    )
    assert (status, errors) == (0, "")
    assert output.splitlines() == [
        "g [1, 1, 1, 1]",
        "f [3, 1, 2, 1, 1, 1]",
        "g [1, 1, 1, 1]",
        "f [4, 1, 3, 1, 1, 1, 1, 1, 1, 1]",
        "g [1, 1]",
        "f [2, 1, 1]",
    ]


def test_multiprocessing() -> None:
    status, output, errors = run_python(
        SHOW
        + """
import multiprocessing
from lineprof import LineProfiler

profiler = LineProfiler()

@profiler
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, [3] * 4), work(3))
    show(profiler)
"""
    )
    assert (status, errors) == (0, "")
    assert output == "[3, 3, 3, 3] 3\nwork [1, 4, 3, 1]\n"


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("sys.exit(3)", 3),
        ("sys.exit('text')", 1),
        ("raise SystemExit", 0),
        ("os._exit(4)", 4),
        ("raise KeyError('ended')", 1),
        ("os.kill(os.getpid(), signal.SIGTERM)", -15),
        ("os.kill(os.getpid(), signal.SIGINT)", -2),
        ("os.abort()", -6),
    ],
)
def test_the_end_of_a_program_inside_profiled_functions(
    ending: str, status: int
) -> None:
    ended, output, errors = run_python(
        f"""
        import os, signal, sys
        from lineprof import LineProfiler

        profiler = LineProfiler()

        @profiler
        def generator():
            try:
                yield 1
            finally:
                print("finally", flush=True)

        @profiler
        def f():
            g = generator()
            next(g)
            {ending}
            return g

        print("begins", flush=True)
        f()
        """
    )
    assert ended == status
    assert output.startswith("begins\n")
    assert ("KeyError: 'ended'" in errors) == ("KeyError" in ending)


def test_the_interpreter_ends_while_everything_runs() -> None:
    status, output, errors = run_python(
        """
        import atexit, threading, sys, weakref
        from lineprof import LineProfiler

        profiler = LineProfiler()
        other = LineProfiler()

        @profiler
        def spin():
            while True:
                started.set()

        @profiler
        def generator():
            try:
                yield 1
                yield 2
            finally:
                sys.stdout.write("generator\\n")

        class Late:
            @profiler
            def __del__(self, write=sys.stdout.write):
                write("late\\n")

        @profiler
        def at_exit():
            print("at exit")

        async def never():
            yield 1

        started = threading.Event()
        for _ in range(3):
            threading.Thread(target=spin, daemon=True).start()
        started.wait()
        atexit.register(at_exit)
        other.add_function(at_exit)
        other.enable()
        profiler.enable_by_count()
        kept = generator()
        next(kept)
        late = Late()
        late.me = late
        agen = profiler(never)()
        try:
            agen.__anext__().send(None)
        except StopIteration:
            pass
        """
    )
    assert (status, errors) == (0, "")
    assert output.splitlines()[0] == "at exit"


UNSHARING = """\
import os
try:
    profile
except NameError:
    profile = lambda function: function

@profile
def alone():
    try:
        os.unshare(os.CLONE_NEWUSER)
    except OSError as error:
        return error.strerror
    return "alone"

print(alone())
print([function.__name__ for function in (os.unshare, os.setns)])
"""


@pytest.mark.skipif(not hasattr(os, "unshare"), reason="os.unshare is new in 3.12")
def test_a_program_can_have_a_user_namespace_of_its_own(tmp_path: Path) -> None:
    """The system makes none for a process with several threads."""
    write(tmp_path, "program.py", UNSHARING)
    plain = run(["program.py"], cwd=tmp_path)
    assert plain.status == 0
    profiled = kernprof("-lq", "program.py", cwd=tmp_path)
    assert profiled.out == plain.out
    assert (profiled.status, profiled.err) == (0, "")
