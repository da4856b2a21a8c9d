"""Forks, child processes and endings of a program whose GPU work is recorded."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from deadline import DEADLINE
from gpu_double import environment
from gpu_rig import Ran, Rig, check_sums, lost, run_of

from lineprof.model.gpu import totals, unattributed

if TYPE_CHECKING:
    from lineprof import LineStats

pytestmark = pytest.mark.usefixtures("hook")

# From 3.12 on Python warns of forks with other threads, such as CUPTI's.
QUIET = {"PYTHONWARNINGS": "ignore::DeprecationWarning"}
FORKED = "this process was forked from one whose GPU work is recorded"


BOTH_SIDES = f"""
import os, sys
from lineprof import LineProfiler, gpu_status

@profile
def f(n):
    tick(30)  #> time=90 hits=3
    return gpu.fk_launch(b"k", 0, n)  #> gpu=111 kernels=3

f(1)
print("together", flush=True)
child = os.fork()
if child == 0:
    # CUDA does not survive a fork, the profiler does.
    assert f(1000) == 3
    assert str(gpu_status()).startswith("gpu: cupti")
    stats = profile.get_stats()
    assert [(run.backend, run.reason) for run in stats.gpu.runs] == [
        ("none", {FORKED!r})
    ]
    assert stats.gpu.sums == ()
    profile.dump_stats("child.lprof")
    own = LineProfiler()
    assert str(gpu_status()).startswith("gpu: none ({FORKED})")
    @own
    def g():
        tick(7)
        gpu.fk_launch(b"k", 0, 1)
    g()
    own.dump_stats("own.lprof")
    own.reset()
    profile.reset()
    print("child", flush=True)
    sys.exit(5)
f(10)
_, status = os.waitpid(child, 0)
print("status", os.WEXITSTATUS(status))
f(100)
"""


def times(stats: LineStats, name: str) -> list[tuple[int, int]]:
    """Return hits and time of the lines of a function."""
    [found] = [one for one in stats.functions if one.name == name]
    return [(row.hits, row.time_ns) for row in found.rows]


@pytest.mark.smoke
def test_parent_and_child_continue_after_a_fork(rig: Rig) -> None:
    ran = rig.kernprof(BOTH_SIDES, **QUIET).ok("together\nchild\nstatus 5\n")
    stats = ran.check()
    assert (run_of(stats).backend, lost(run_of(stats))) == ("cupti", (0, 0, 0, 0))
    child, own = ran.stats("child"), ran.stats("own")
    assert times(child, "f") == [(1, 30), (1, 0)], "from the fork on"
    assert times(own, "g") == [(1, 7), (1, 0)]
    for one in (child, own):
        assert (run_of(one).backend, run_of(one).reason) == ("none", FORKED)
        assert one.gpu.sums == ()


def test_a_childs_report_says_why_gpu_columns_are_off(rig: Rig) -> None:
    ran = rig.kernprof(BOTH_SIDES, **QUIET).ok("together\nchild\nstatus 5\n")
    view = rig.run(["-m", "lineprof", "view", "child.lprof"])
    assert (view.status, view.err) == (0, "")
    assert view.out.splitlines()[-1] == f"GPU columns off: {FORKED}"
    assert "GPU" not in view.out.replace(view.out.splitlines()[-1], "")
    assert ran.stats("child").functions


def test_cuda_used_only_in_the_child(rig: Rig) -> None:
    """CUDA works in the child because the backend has not initialised CUDA."""
    program = """
    import os
    @profile
    def f():
        return gpu.fk_init(), gpu.fk_launch(b"k", 0, 10), gpu.fk_sync(0, 0, -1)
    child = os.fork()
    if child == 0:
        print(*f(), gpu.fk_cuinit_calls(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print(gpu.fk_cuinit_calls())
    """
    rig.kernprof(program, ready=False, **QUIET).ok("0 0 0 1\n0\n").check()


@pytest.mark.serial
def test_a_childs_own_gpu_work_takes_no_memory(rig: Rig) -> None:
    """CUPTI fills buffers with records of the child, and has no thread to return them.

    A record of a kernel has 216 bytes.
    """
    program = """
    import os
    def in_use():
        with open("/proc/self/statm") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    @profile
    def f():
        gpu.fk_launch_many(b"k", 200_000, 1)
    child = os.fork()
    if child == 0:
        gpu.fk_init()
        gpu.fk_launch_many(b"k", 40_000, 1)
        before = in_use()
        f()
        print(in_use() - before < 20_000_000, flush=True)
        os._exit(0)
    print(os.waitpid(child, 0)[1])
    """
    rig.kernprof(program, ready=False, **QUIET).ok("True\n0\n")


def test_a_fork_before_the_first_profiler(rig: Rig) -> None:
    """Parent and child each have a session of their own."""
    program = """
    import os
    from running import new_profiler
    child = os.fork()
    gpu.fk_init()
    profile = new_profiler()
    @profile
    def f(ns):
        gpu.fk_launch(b"k", 0, ns)
    f(10 if child else 7)
    profile.dump_stats("parent.lprof" if child else "child.lprof")
    if child:
        _, status = os.waitpid(child, 0)
        print(status)
    """
    ran = rig.python(program, ready=False).ok("0\n")
    assert totals(ran.stats("parent").gpu).gpu_ns == 10
    assert totals(ran.stats("child").gpu).gpu_ns == 7


def test_forks_while_other_threads_launch_and_report(rig: Rig) -> None:
    """No child hangs on a lock that another thread held at the fork."""
    program = """
    import os, threading
    from lineprof import LineProfiler

    @profile
    def f(n):
        if n:
            f(n - 1)
        gpu.fk_launch(b"k%d" % n, n, 0)

    def launch():
        while not over.is_set():
            f(40)

    @profile
    def reports():
        while not over.is_set():
            profile.get_stats()

    profile.get_stats()  # so that no thread holds an import lock at a fork
    over = threading.Event()
    threads = [threading.Thread(target=work) for work in (launch, launch, reports)]
    for thread in threads:
        thread.start()
    gpu.fk_launch_from_native_thread_async(b"native", 0, 50000)
    statuses = []
    for _ in range(15):
        child = os.fork()
        if child == 0:
            f(5)
            own = LineProfiler(launch)
            own.get_stats()
            profile.get_stats()
            os._exit(7)
        statuses.append(os.WEXITSTATUS(os.waitpid(child, 0)[1]))
    over.set()
    for thread in threads:
        thread.join()
    gpu.fk_native_join()
    print(set(statuses))
    """
    knobs = {"FAKE_CUPTI_BUFFER_LIMIT": 20000, "LINEPROF_GPU_EVENTS": 1000}
    ran = rig.kernprof(program, frozen=False, **knobs, **QUIET)
    stats = ran.ok("{7}\n").stats()
    check_sums(stats.gpu)
    native = sum(one.count for one in stats.gpu.sums if one.name == "native")
    assert native == 50000
    assert lost(run_of(stats))[:3] == (0, 0, 0)


CHILDREN = """
import os, signal, sys
from lineprof import LineProfiler

@profile
def f(n):
    gpu.fk_launch(b"k", 0, n)  #> gpu=1100 kernels=2

def end(how):
    if how == "sys.exit":
        sys.exit(5)
    if how == "raise":
        raise ValueError("here")
    if how == "os._exit":
        os._exit(6)
    if how == "signal":
        os.kill(os.getpid(), signal.SIGTERM)

def child(how):
    own = LineProfiler()
    @own
    def g():
        tick(7)
    g()
    own.dump_stats(f"{how}.lprof")
    print("child", how)  # in a buffer, which is flushed at the end
    end(how)

f(100)
profile.get_stats()
statuses = []
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
for how in ("sys.exit", "raise", "os._exit", "signal", "falls off"):
    pid = os.fork()
    if pid == 0:
        child(how)
        break
    signal.alarm(250)  # a child that hangs is killed
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    signal.alarm(0)
else:
    f(1000)
    print(statuses)
"""


@pytest.mark.parametrize("hangs", ["nothing", "exit", "late", "fini"])
def test_a_child_ends_although_cuptis_thread_is_gone(rig: Rig, hangs: str) -> None:
    """Exit handlers of CUPTI's in the child wait for a thread of the parent's."""
    ran = rig.kernprof(CHILDREN, FAKE_CUPTI_FORK=hangs, PYTHONUNBUFFERED="", **QUIET)
    assert ran.status == 0, ran.err
    assert sorted(ran.out.splitlines()) == [
        f"[5, 1, 6, {-signal.SIGTERM}, 0]",
        *("child falls off", "child raise", "child sys.exit"),
    ]
    assert ran.err.splitlines()[-1] == "ValueError: here"
    assert ran.err.count("Traceback") == 1
    assert lost(run_of(ran.check())) == (0, 0, 0, 0)
    for how in ("sys.exit", "raise", "os._exit", "signal", "falls off"):
        own = ran.stats(how)
        assert times(own, "child.<locals>.g") == [(1, 7)]
        assert (run_of(own).backend, run_of(own).reason) == ("none", FORKED)


def test_a_child_that_uses_cuda_ends_although_cuptis_thread_is_gone(rig: Rig) -> None:
    """CUPTI registers the exit handler that waits when the child launches."""
    program = """
    import os, signal, sys
    @profile
    def f():
        return gpu.fk_init() or gpu.fk_launch(b"k", 0, 10)
    child = os.fork()
    if child == 0:
        print(f())
        sys.exit(5)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(250)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    knobs = {"FAKE_CUPTI_FORK": "late", "PYTHONUNBUFFERED": "", **QUIET}
    rig.kernprof(program, ready=False, **knobs).ok("0\n5\n")


POOL = """
import multiprocessing
from running import new_profiler

def work(n):
    own = new_profiler()
    @own
    def g():
        return gpu.fk_init() or gpu.fk_launch(b"k", 0, n) or gpu.fk_sync(0, 0, -1)
    result = g()
    own.dump_stats(f"child{n}.lprof")
    return result

@profile
def f(ns):
    gpu.fk_launch(b"k", 0, ns)  #> gpu=11 kernels=2

if __name__ == "__main__":
    gpu.fk_init()
    f(1)
    context = multiprocessing.get_context(METHOD)
    with context.Pool(2) as pool:
        print(pool.map(work, [3, 4]))
        pool.close()
        pool.join()  # a child that is terminated leaves a part only if it is in time
    f(10)
"""


@pytest.mark.parametrize(
    "method", [pytest.param("fork", marks=pytest.mark.smoke), "spawn", "forkserver"]
)
def test_a_pool(rig: Rig, method: str) -> None:
    program = POOL.replace("METHOD", repr(method))
    ran = rig.kernprof(program, ready=False, frozen=False, **QUIET)
    # CUDA does not survive a fork; other children have a session of their own.
    forked = method == "fork"
    ran.ok("[3, 3]\n" if forked else "[0, 0]\n")
    # No line that the profiler of the run counts was open in the children.
    waited = unattributed(ran.stats().gpu).wait_ns
    stats = ran.check("" if forked else f"gpu=7 kernels=2 wait={waited}/2")
    assert {lost(run) for run in stats.gpu.runs} == {(0, 0, 0, 0)}
    for n in (3, 4):
        child = ran.stats(f"child{n}")
        assert totals(child.gpu).gpu_ns == (0 if forked else n)
        assert run_of(child).backend == ("none" if forked else "cupti")


# -- endings -----------------------------------------------------------------------

ENDS = """
import os, signal, sys

@profile
def f():
    gpu.fk_launch(b"k", 0, 1000)  #> gpu=1000 kernels=1
    gpu.fk_launch_from_native_thread(b"k", 10, 2)  #> gpu=20 adopted=20 kernels=2
    print("before", flush=True)
    {end}

f()
"""


def ended(rig: Rig, end: str) -> Ran:
    """Run a program that ends by the statement `end`, in the middle of a line."""
    ran = rig.kernprof(ENDS.format(end=end), fresh=True)
    assert ran.out == "before\n"
    return ran


def test_an_exit(rig: Rig) -> None:
    ran = ended(rig, "sys.exit(7)")
    assert (ran.status, ran.err) == (7, "")
    assert run_of(ran.check()).outstanding == 0


def test_an_exception(rig: Rig) -> None:
    ran = ended(rig, "raise ValueError('here')")
    text = ran.text.partition("gpu.fk_init()\n")[2].replace("@profile", "")
    plain = rig.python(text, fresh=True)
    assert ran.status == plain.status == 1
    assert ran.err.splitlines()[-1] == "ValueError: here"
    assert len(ran.err.splitlines()) == len(plain.err.splitlines())
    assert ran.check().processes[0].exit == "exception"


def test_sigterm(rig: Rig) -> None:
    ran = ended(rig, "os.kill(os.getpid(), signal.SIGTERM); signal.pause()")
    assert (ran.status, ran.err) == (-signal.SIGTERM, "")
    assert ran.check().processes[0].exit == "SIGTERM"


def test_ctrl_c(rig: Rig) -> None:
    ran = ended(rig, "os.kill(os.getpid(), signal.SIGINT); signal.pause()")
    assert ran.status in {-signal.SIGINT, 130}
    assert ran.err.splitlines()[-1] == "KeyboardInterrupt"
    ran.check()


def test_os_exit(rig: Rig) -> None:
    """No profile is written, as without a GPU, and the process does not crash."""
    ran = ended(rig, "os._exit(9)")
    assert (ran.status, ran.err) == (9, "")
    assert not (rig.folder / "program.lprof").exists()


def test_sigkill(rig: Rig) -> None:
    ran = ended(rig, "os.kill(os.getpid(), signal.SIGKILL)")
    assert (ran.status, ran.err) == (-signal.SIGKILL, "")


LAUNCHING = """
import threading, time

@profile
def f():
    while True:
        gpu.fk_launch(b"daemon", 1, 0)

@profile
def g():
    for _ in range(100):
        gpu.fk_launch(b"main", 0, 0)
        held.fk_launch(b"main", 0, 0)

from gpu_double import workload
held = workload(holding_the_gil=True)
for _ in range(2):
    threading.Thread(target=f, daemon=True).start()
gpu.fk_launch_from_native_thread_async(b"native", 0, 1 << 30)
g()
print("before", flush=True)
"""


def check_launching(stats: LineStats) -> None:
    """Check the profile of a program that launched until its end."""
    check_sums(stats.gpu)
    counts = {"main": 0, "daemon": 0, "native": 0}
    for one in stats.gpu.sums:
        counts[one.name] += one.count
    assert counts["main"] == 200
    assert run_of(stats).invalid == 0


def test_threads_that_launch_until_the_end(rig: Rig) -> None:
    ran = rig.kernprof(LAUNCHING, frozen=False, LINEPROF_GPU_EVENTS=1000)
    ran.ok("before\n")
    check_launching(ran.stats())


def test_threads_that_launch_until_sigterm(rig: Rig) -> None:
    text = rig.write(LAUNCHING + "\nwhile True:\n    time.sleep(1)\n", frozen=False)
    process = subprocess.Popen(
        [sys.executable, "-m", "kernprof", "-lq", "program.py"],
        cwd=rig.folder,
        env=environment(rig.doubles, LINEPROF_GPU_EVENTS=1000),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "before\n"
    process.terminate()
    out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out, err) == (-signal.SIGTERM, "", "")
    check_launching(Ran(0, out, err, text, rig.folder).stats())


def test_a_program_that_ends_with_unread_gpu_work(rig: Rig) -> None:
    """The kernel has not ended, and no report is made."""
    program = """
    from running import new_profiler
    profile = new_profiler()
    @profile
    def f():
        gpu.fk_launch(b"k", 0, 10**15)
    f()
    """
    rig.python(program).ok()
