"""Memory that extension modules allocate in C, without Python, is on the line."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from allocating import (
    OPTIONS,
    OUTSIDE,
    SOURCE,
    Sum,
    blocks,
    counted,
    is_possible,
    of_snapshot,
    opened,
)
from compiled_doubles import compiled, double
from running import new_profiler

from lineprof import _core

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable

pytestmark = [
    pytest.mark.usefixtures("hook"),
    pytest.mark.skipif(not is_possible(), reason="not counted on this machine"),
]

# Lines of the tests call a function of ctypes twice without a block, before they count:
# what Python makes for the first call it may keep in a free list for the second.
N, BYTES = 100, 1001
ALL = Sum(N, N * BYTES, N * BYTES)  # they live
ENDED = Sum(N, N * BYTES, 0)
PAGE = mmap.PAGESIZE
READ, WRITE = mmap.PROT_READ, mmap.PROT_WRITE


@pytest.fixture(scope="module")
def path(shared_folder: Path) -> Path:
    return compiled(shared_folder, "allocating_module", [SOURCE], OPTIONS)


@pytest.fixture(scope="module")
def library(path: Path) -> ctypes.CDLL:
    return opened(path)


def test_blocks_of_malloc(library: ctypes.CDLL) -> None:
    def work(batch: Callable[..., None], kept: object) -> None:
        batch(kept, 0, BYTES)
        batch(kept, 0, BYTES)
        batch(kept, N, BYTES)

    kept = blocks(N)
    lines, notes = counted(work, library.al_batch, kept)
    assert lines[3].beyond(lines[2]) == ALL
    assert notes == []
    library.al_free_batch(kept, N)


def test_blocks_that_another_line_frees(library: ctypes.CDLL) -> None:
    def work(batch: Callable[..., None], kept: object) -> None:
        batch(kept, 0, BYTES)
        batch(kept, 0, BYTES)
        batch(kept, N, BYTES)
        library.al_free_batch(kept, N)

    lines, _ = counted(work, library.al_batch, blocks(N))
    assert lines[3].beyond(lines[2]) == ENDED


def test_blocks_that_are_freed_after_the_end_still_live(library: ctypes.CDLL) -> None:
    def work(kept: object) -> None:
        library.al_batch(kept, N, BYTES)

    kept = blocks(N)
    lines, _ = counted(work, kept)
    library.al_free_batch(kept, N)
    again = of_snapshot(work.__code__.co_firstlineno).lines
    assert again == lines
    assert lines[1].live_bytes >= N * BYTES


def test_blocks_of_a_library_that_is_opened_later(
    shared_folder: Path, path: Path
) -> None:
    later = shared_folder / "opened_later.so"
    later.write_bytes(path.read_bytes())

    def work(kept: object) -> None:
        library = opened(later)
        library.al_batch(kept, 0, BYTES)
        library.al_batch(kept, N, BYTES)
        library.al_free_batch(kept, N)

    lines, notes = counted(work, blocks(N))
    assert lines[3].beyond(lines[2]) == ENDED
    assert notes == []


def test_blocks_of_a_library_that_is_found_beside_another(
    shared_folder: Path, path: Path
) -> None:
    """The loader searches where the library says that opens it."""
    beside = shared_folder / "beside"
    beside.mkdir()
    (beside / "libbeside.so").write_bytes(path.read_bytes())
    run_path = (*OPTIONS, "-Wl,-rpath,$ORIGIN/beside")
    opener = opened(compiled(shared_folder, "opener", [SOURCE], run_path))

    def work(kept: object) -> None:
        assert opener.al_open(b"libbeside.so")
        library = opened(beside / "libbeside.so")
        library.al_batch(kept, 0, BYTES)
        library.al_batch(kept, N, BYTES)
        library.al_free_batch(kept, N)

    lines, _ = counted(work, blocks(N))
    assert lines[4].beyond(lines[3]) == ENDED


def test_blocks_of_a_thread_without_python(library: ctypes.CDLL) -> None:
    def work(batch: Callable[..., int], kept: object) -> None:
        assert batch(kept, N, BYTES) == 0

    lines, _ = counted(work, library.al_batch_in_thread, blocks(N))
    assert lines[OUTSIDE].alloc_bytes >= N * BYTES
    assert lines[1].alloc_bytes < N * BYTES


def test_mappings_and_what_is_left_of_them(library: ctypes.CDLL) -> None:
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS

    def work(kept: list[int]) -> None:
        start = library.al_map(None, 100 * PAGE, READ | WRITE, private)
        library.al_unmap(start + 10 * PAGE, 20 * PAGE)
        kept.append(start)

    kept: list[int] = []
    lines, _ = counted(work, kept)
    for start, n in ((kept[0], 10), (kept[0] + 30 * PAGE, 70)):
        assert library.al_unmap(start, n * PAGE) == 0
    assert 0 <= lines[1].alloc_bytes - 100 * PAGE < PAGE
    assert 0 <= lines[1].live_bytes - 80 * PAGE < PAGE


def test_anonymous_mappings_of_python_count_and_files_do_not() -> None:
    def work() -> None:
        anonymous = mmap.mmap(-1, 100 * PAGE)
        with Path(__file__).open("rb") as file:
            of_file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        anonymous.close()
        of_file.close()

    lines, _ = counted(work)
    assert 0 <= lines[1].alloc_bytes - 100 * PAGE < PAGE
    assert lines[1].live_bytes < PAGE
    assert lines[3].alloc_bytes < PAGE


def test_threads_allocate_while_memory_goes_on_and_off(library: ctypes.CDLL) -> None:
    done = threading.Event()

    def churn(work: Callable[[int, int], None]) -> None:
        while not done.is_set():
            work(100, PAGE)

    threads = [
        threading.Thread(target=churn, args=[work])
        for work in (library.al_churn, library.al_churn_maps)
    ]
    profiler = new_profiler()
    with profiler:
        for thread in threads:
            thread.start()
        for _ in range(200):
            _core.memory_start(0, True)
            library.al_churn(10, BYTES)
            _core.memory_stop()
        done.set()
        for thread in threads:
            thread.join()
    assert of_snapshot(0).notes == []


def test_a_forked_child_counts_its_own(library: ctypes.CDLL) -> None:
    def work(kept: object, codes: list[int]) -> None:
        library.al_batch(kept, N, BYTES)
        child = os.fork()
        if child == 0:
            library.al_free_batch(kept, N)
            library.al_batch(kept, 0, BYTES)
            library.al_batch(kept, N, BYTES)
            lines = of_snapshot(work.__code__.co_firstlineno).lines
            os._exit(lines[6].beyond(lines[5]) != ALL or 1 in lines)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    codes: list[int] = []
    kept = blocks(N)
    counted(work, kept, codes)
    assert codes == [0]
    library.al_free_batch(kept, N)


def program(text: str, *arguments: str | Path, **variables: str) -> str:
    """Run a program in a process of its own; return what it prints."""
    folder = Path(__file__).parents[1] / "helpers"
    found = os.pathsep.join([str(folder), *sys.path])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": found, **variables},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout


COUNTS = """
import ctypes, sys
from allocating import *
library = opened(sys.argv[1])
def work(kept):
    library.al_batch(kept, 0, 1001)
    library.al_batch(kept, 0, 1001)
    library.al_batch(kept, 100, 1001)
    library.al_free_batch(kept, 100)
"""


@pytest.mark.parametrize("allocator", ["pymalloc", "malloc", "debug", "malloc_debug"])
def test_blocks_count_once_with_each_allocator_of_python(
    path: Path, allocator: str
) -> None:
    text = """
    big = 10**6
    def make(kept):
        kept[0] = bytes(big)
        library.al_batch(addresses, 0, 1001)
        library.al_batch(addresses, 0, 1001)
        library.al_batch(addresses, 100, 1001)
    addresses = blocks(100)
    lines, notes = counted(make, [None] * 100)
    print(*lines[4].beyond(lines[3]), lines[1].allocs <= 2, lines[1].alloc_bytes // big)
    print(notes)
    """
    out = program(COUNTS + textwrap.dedent(text), path, PYTHONMALLOC=allocator)
    assert out == f"{N} {N * BYTES} {N * BYTES} True 1\n[]\n"


def test_a_replacement_of_malloc(shared_folder: Path, path: Path) -> None:
    text = """
    def news(kept):
        assert library.al_new_batch(kept, 0, 1001)
        assert library.al_new_batch(kept, 0, 1001)
        assert library.al_new_batch(kept, 100, 1001)
        library.al_free_batch(kept, 100)
    for function in (work, news):
        before = ctypes.CDLL(None).other_malloc_calls()
        lines, notes = counted(function, blocks(100))
        calls = ctypes.CDLL(None).other_malloc_calls() - before
        print(*lines[3].beyond(lines[2]), calls >= 100, notes)
    """
    other = double(shared_folder, "memory/other_malloc.c")
    out = program(COUNTS + textwrap.dedent(text), path, LD_PRELOAD=str(other))
    assert out == 2 * f"{N} {N * BYTES} 0 True []\n"


TOOL = """
from allocating import _core, new_profiler
tool = ctypes.CDLL(sys.argv[2])
kept = blocks(100)
profiler = new_profiler()
start = lambda: _core.memory_start(0, True)
profiled = profiler(work)
seen = 0  # by the tool during the call: not of Python, which may use malloc
def call(kept):
    global seen
    before = tool.other_tool_allocs()
    profiled(kept)
    seen = tool.other_tool_allocs() - before
def report():
    _core.memory_stop()
    lines, notes = of_snapshot(work.__code__.co_firstlineno)
    print(lines[3].beyond(lines[2]).allocs, seen >= 100, *notes)
"""
REPLACED = "another tool replaced"


@pytest.mark.parametrize(
    ("text", "counts", "noted"),
    [
        ("tool.other_tool_start(); start(); call(kept)", "100 True", False),
        ("start(); tool.other_tool_start(); call(kept)", "0 True", True),
        ("start(); call(kept); tool.other_tool_start()", "100 False", True),
        (
            "tool.other_tool_start(); start(); call(kept); tool.other_tool_stop()",
            "100 True",
            True,
        ),
        (
            "tool.other_tool_start(); tool.other_tool_stop(); start(); call(kept)",
            "100 False",
            False,
        ),
    ],
    ids=["outside", "inside", "at the end", "until the middle", "before"],
)
def test_another_tool_that_hooks_malloc(
    shared_folder: Path, path: Path, text: str, counts: str, *, noted: bool
) -> None:
    tool = compiled(shared_folder, "other_tool", ["memory/other_tool.c"], OPTIONS)
    out = program(f"{COUNTS}{TOOL}{text}\nreport()", path, tool)
    assert out.startswith(counts)
    assert (REPLACED in out) == noted, out
