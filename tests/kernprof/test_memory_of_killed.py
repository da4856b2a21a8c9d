"""kernprof --memory of a program that is killed: what its lines had, to the byte."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, viewer, write
from memory_numbers import BLOCK, check_sums, own_memory
from memory_program import KEEP, KEEP_LINE, ON_LINUX, PROGRAM

from lineprof import load_stats
from lineprof.line_stats import LineStats
from lineprof.model.host_memory import MemoryNumbers
from lineprof.processes.so_far import profile_so_far

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.usefixtures("hook"), ON_LINUX]

BEGIN = f"""\
{PROGRAM}
@profile
def drop(kept):
    for place in range(len(kept)):
        kept[place] = None

def die():
    os.kill(os.getpid(), signal.SIGKILL)

"""
TREE = """
KEPT = []
@profile
def tree(depth):
    if depth:
        tree(depth - 1)
        tree(depth - 1)
    else:
        KEPT.append(bytes(1000))
"""


@pytest.fixture(autouse=True)
def _live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", str(tmp_path / "live"))


def killed(folder: Path, text: str, *flags: str) -> LineStats:
    """Run a program that kills itself, and return what is recovered of it."""
    write(folder, "x.py", BEGIN + text)
    done = kernprof("-lq", "--memory", *flags, "x.py", cwd=folder)
    assert done.status == -9, done.err
    return recovered(folder)


def recovered(folder: Path) -> LineStats:
    done = viewer("recover", cwd=folder)
    assert done.status == 0, done.err
    stats = load_stats(folder / "x.lprof")
    check_sums(stats)
    return stats


def kept(allocs: int, freed: int = 0, peak: int | None = None) -> MemoryNumbers:
    """Return the numbers of a line that has allocated so many blocks of 1,000."""
    at_peak = allocs - freed if peak is None else peak
    return MemoryNumbers(allocs, allocs * BLOCK, freed * BLOCK, 0, at_peak * BLOCK)


ENDINGS = {
    "at the peak": ("a = keep([None] * 1000)", kept(1000)),
    "after the peak": ("a = keep([None] * 1000)\ndrop(a)", kept(1000, 1000, 1000)),
    "after a part of the peak": (
        "a = keep([None] * 1000)\nb = keep([None] * 500)\ndrop(a)",
        kept(1500, 1000, 1500),
    ),
    "at a second, higher peak": (
        "a = keep([None] * 1000)\ndrop(a)\nb = keep([None] * 5000)",
        kept(6000, 1000, 5000),
    ),
    "at a second, lower peak": (
        "a = keep([None] * 5000)\ndrop(a)\nb = keep([None] * 1000)",
        kept(6000, 5000, 5000),
    ),
    "in a thread": (
        "t = threading.Thread(target=keep, args=([None] * 1000,))\nt.start()\nt.join()",
        kept(1000, 1000, 1000),
    ),
    "freed by another thread": (
        """
a = keep([None] * 1000)
t = threading.Thread(target=drop, args=(a,))
t.start()
t.join()
""",
        kept(1000, 1000, 1000),
    ),
}


@pytest.mark.smoke
@pytest.mark.parametrize("ending", ENDINGS)
def test_sigkill_leaves_the_bytes_of_each_line(ending: str, tmp_path: Path) -> None:
    text, numbers = ENDINGS[ending]
    stats = killed(tmp_path, f"{text}\ndie()\n")
    assert own_memory(stats, "keep")[KEEP] == numbers
    [run] = stats.memory.runs
    assert run.is_native
    assert 0 < run.peak_ns < 600_000_000_000
    [said] = [one for one in stats.warnings if "recovered" in one]
    assert "memory counts up to its end, without its course over time" in said


def test_of_more_call_paths_than_a_block_of_the_file_has(tmp_path: Path) -> None:
    stats = killed(tmp_path, f"{TREE}tree(13)\ndie()\n")
    line = max(own_memory(stats, "tree"))
    blocks = own_memory(stats, "tree")[line]
    live = blocks.alloc_bytes - blocks.freed_bytes
    assert 0 <= live - 2**13 * BLOCK <= 10 * 2**13  # and the list
    assert 0 <= blocks.peak_bytes - live < 100  # the call of append


@pytest.mark.parametrize("flags", [(), ("-i", "1")])
def test_a_program_that_is_killed_at_its_limit_names_the_line(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    text = """
@profile
def grow(kept):
    while True:
        kept.append(bytes(1_000_000))

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000, used + 200_000_000))
kept = []
try:
    grow(kept)
except MemoryError:
    os.write(1, b"%d\\n" % len(kept))
    signal.pause()
"""
    write(tmp_path, "x.py", BEGIN + text)
    words = [sys.executable, "-m", "kernprof", "-lq", "--memory", *flags, "x.py"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        n = int(process.stdout.readline())
        process.kill()
    stats = recovered(tmp_path)
    own = own_memory(stats, "grow")
    line = max(own, key=lambda one: own[one].peak_bytes)
    size = sys.getsizeof(bytes(1_000_000))
    assert n > 100
    assert n * size <= own[line].peak_bytes <= n * size + 100_000
    [run] = stats.memory.runs
    assert own[line].peak_bytes > 0.95 * run.peak_bytes


def blocks_of_processes(stats: LineStats) -> list[int]:
    """Return how many blocks the line of `keep` allocated, by process."""
    found = [0] * len(stats.processes)
    for one in stats.memory.sums:
        path = stats.memory.paths[one.path]
        if path.lines and path.lines[-1][1] == KEEP_LINE:
            found[path.process] += one.allocs
    return found


CHILDREN = {
    "killed child": ("keep([None] * 10)\n    die()", 0),
    "child that ends": ("keep([None] * 10)\n    os._exit(0)", 0),
    "both are killed": ("keep([None] * 10)\n    die()", -9),
}


@pytest.mark.parametrize("kind", CHILDREN)
def test_forked_children_have_their_own(kind: str, tmp_path: Path) -> None:
    child, status = CHILDREN[kind]
    text = (
        f"{BEGIN}a = keep([None] * 100)\nif not os.fork():\n    drop(a)\n    {child}\n"
    )
    text += "os.wait()\nb = keep([None] * 1000)\n" + ("die()\n" if status else "")
    write(tmp_path, "x.py", text)
    done = kernprof("-lq", "--memory", "x.py", cwd=tmp_path)
    assert done.status == status, done.err
    stats = recovered(tmp_path) if status else load_stats(tmp_path / "x.lprof")
    check_sums(stats)
    assert blocks_of_processes(stats) == [1100, 10]


def test_a_child_without_handlers_of_forks_counts_nothing_for_its_parent(
    tmp_path: Path,
) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("the number of a system call is that of x86-64")
    stats = killed(
        tmp_path,
        """
import ctypes
libc = ctypes.CDLL(None)
if not libc.syscall(57):
    keep([None] * 1000)
    os._exit(0)
os.wait()
keep([None] * 10)
die()
""",
    )
    assert own_memory(stats, "keep")[KEEP].allocs == 10


def test_a_profile_so_far_has_the_memory_so_far(tmp_path: Path) -> None:
    text = """
a = keep([None] * 1000)
drop(a)
b = keep([None] * 500)
os.write(1, b"ready\\n")
signal.pause()
"""
    write(tmp_path, "x.py", BEGIN + text)
    words = [sys.executable, "-m", "kernprof", "-lq", "--memory", "x.py"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        profile = profile_so_far(str(tmp_path / "x.lprof"))
        process.kill()
    assert profile is not None
    stats = LineStats.of(profile)
    assert own_memory(stats, "keep")[KEEP] == kept(1500, 1000, 1000)


def test_threads_find_new_paths_while_the_process_forks(tmp_path: Path) -> None:
    text = """
@profile
def branch(depth, bits):
    made = bytes(1000)
    if not depth:
        return made
    if bits % 2:
        return branch(depth - 1, bits // 2)
    return branch(depth - 1, bits // 2)

def work(start):
    for bits in range(start, 2**14, 4):
        branch(14, bits)

threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    child = os.fork()
    if not child:
        branch(14, 0)
        os._exit(0)
    os.waitpid(child, 0)
die()
"""
    stats = killed(tmp_path, f"sys.setswitchinterval(1e-4)\n{text}")
    size = sys.getsizeof(bytes(1000))  # beside which Python may make a short tuple
    blocks = [
        one.alloc_bytes // size
        for one in stats.memory.sums
        if stats.memory.paths[one.path].process == 0
        and [line for _, line in stats.memory.paths[one.path].lines[-1:]]
        == [BEGIN.count("\n") + 5]
    ]
    assert sum(blocks) == 15 * 2**14


FULL = "resource.setrlimit(resource.RLIMIT_FSIZE, (%s, resource.RLIM_INFINITY))\n"


def run_limited(folder: Path, text: str, max_kb: int | str) -> int:
    """Run a program whose files have a soft limit; return the status."""
    write(folder, "x.py", BEGIN + text)
    words = (
        f"ulimit -S -f {max_kb}; exec {sys.executable} -m kernprof -lq --memory x.py"
    )
    done = subprocess.run(
        ["/bin/bash", "-c", words],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.returncode


@pytest.mark.parametrize("max_kb", [300, "unlimited"])
def test_a_live_file_without_room_is_no_harm(max_kb: int | str, tmp_path: Path) -> None:
    # At first there is none, or there is none for more call paths.
    text = f"{TREE}{FULL % 300_000}tree(13)\n"
    assert run_limited(tmp_path, text + FULL % "resource.RLIM_INFINITY", max_kb) == 0
    stats = load_stats(tmp_path / "x.lprof")
    check_sums(stats)
    own = own_memory(stats, "tree")
    assert own[max(own)].alloc_bytes >= 2**13 * BLOCK

    (tmp_path / "x.lprof").unlink()
    assert run_limited(tmp_path, f"{text}die()\n", max_kb) == -9
    stats = recovered(tmp_path)
    assert any("had no more room" in one for one in stats.warnings)
    assert bool(stats.memory.runs) == (max_kb == "unlimited")
