"""Fixed bugs of line_profiler: threads, child processes and the end of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import check_same, kernprof, run, viewer, write
from tables import profiled, tables

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hook")

WORK = """\
import threading
from concurrent.futures import ThreadPoolExecutor

@profile
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total

"""


def test_two_concurrent_threads_lose_no_hits_and_raise_nothing(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        WORK
        + """
both = threading.Barrier(2)

@profile
def meet(n):
    both.wait()
    result = work(n)
    both.wait()
    return result

results = []
threads = [
    threading.Thread(target=lambda n=n: results.append(meet(n))) for n in (50, 5)
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results))
""",
    )
    shown = profiled(tmp_path, "x.py", output="[10, 1225]\n")
    assert shown["work"].hits() == {6: 2, 7: 57, 8: 55, 9: 2}
    assert list(shown["meet"].hits().values()) == [2, 2, 2, 2]


def test_a_pool_of_threads_maps_a_profiled_function(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        WORK
        + """
with ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(work, [10] * 100)))
""",
    )
    shown = profiled(tmp_path, "x.py", output="4500\n")
    assert shown["work"].hits() == {6: 100, 7: 1100, 8: 1000, 9: 100}


def test_a_function_registered_and_called_in_a_spawned_thread(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        WORK.replace("@profile\n", "")
        + """
def start(n):
    thread = threading.Thread(target=work, args=[n])
    thread.start()
    thread.join()

profile.add_function(work)
with profile:
    start(3)
    work(1)
start(1000)
""",
    )
    assert profiled(tmp_path, "x.py")["work"].hits() == {5: 2, 6: 6, 7: 4, 8: 2}


def test_a_function_watched_without_a_with_block_in_a_thread(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        WORK.replace("@profile\n", "")
        + """
profile.watch(work)
thread = threading.Thread(target=work, args=[3])
thread.start()
thread.join()
""",
    )
    assert profiled(tmp_path, "x.py")["work"].hits() == {5: 1, 6: 4, 7: 3, 8: 1}


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "os._exit(4)"])
def test_a_forked_child_writes_no_profile_and_no_output(
    tmp_path: Path, ending: str
) -> None:
    program = f"""
        import os, sys

        @profile
        def work(n):
            return n

        def main():
            child = os.fork()
            work(1)
            if child == 0:
                work(2)
                {ending}
                return
            _, status = os.waitpid(child, 0)
            print(status)

        main()
        """
    write(tmp_path, "x.py", program)
    outcome = kernprof("-lv", "x.py", cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, ""), "of the parent"
    assert outcome.out.count("Wrote profile results to") == 1
    assert tables(outcome.out)["work"].hits() == {6: 3}, "with those of the child"
    write(tmp_path, "x.py", program.replace("@profile", ""))
    check_same("x.py", cwd=tmp_path)


def test_sigterm_loses_no_profile(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        WORK + "import os, signal\nwork(3)\nos.kill(os.getpid(), signal.SIGTERM)\n",
    )
    outcome = kernprof("-l", "x.py", cwd=tmp_path)
    assert outcome.status == -15
    shown = viewer("view", "x.lprof", cwd=tmp_path)
    assert tables(shown.out)["work"].hits() == {6: 1, 7: 4, 8: 3, 9: 1}


@pytest.mark.parametrize("ending", ["raise ValueError(1)", "exit(3)", "1 / 0"])
def test_a_failed_program_is_shown_and_its_traceback_has_no_other_frames(
    tmp_path: Path, ending: str
) -> None:
    program = f"@profile\ndef fails():\n    x = 1\n    {ending}\n\nfails()\n"
    write(tmp_path, "x.py", program)
    ours = kernprof("-lq", "x.py", cwd=tmp_path)
    shown = viewer("view", "x.lprof", cwd=tmp_path)
    assert tables(shown.out)["fails"].hits() == {3: 1, 4: 1}
    write(tmp_path, "x.py", program.replace("@profile", "#"))
    alone = run(["x.py"], cwd=tmp_path)
    assert ours == alone
    assert alone.status != 0


def test_the_end_of_the_parent_loses_no_profile(tmp_path: Path) -> None:
    # Like a program under nohup whose shell has ended: its parent is process 1.
    program = """\
        import os

        reader, writer = os.pipe()
        if os.fork():
            os._exit(0)
        os.close(writer)
        os.read(reader, 1)  # until the parent has ended
        from lineprof import profile

        @profile
        def work(n):
            return n

        work(1)
        work(2)
        """
    write(tmp_path, "x.py", program)
    outcome = run(["x.py"], cwd=tmp_path, env={"LINE_PROFILE": "1"})
    assert (outcome.status, outcome.err) == (0, "")
    shown = viewer("view", "profile_output.lprof", cwd=tmp_path)
    assert (shown.status, shown.err) == (0, "")
    assert tables(shown.out)["work"].hits() == {12: 2}
