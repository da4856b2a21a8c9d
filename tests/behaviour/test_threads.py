"""Threads: each has its own current lines, and no hit is lost."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from check import check_lines
from running import hits_of, new_profiler

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("hook")


def body(total: int) -> int:
    for i in range(100):
        total += i
    return total


FIRST = body.__code__.co_firstlineno


def counted(calls: int) -> dict[int, int]:
    """Return the hits of `body` after so many calls."""
    return {FIRST + 1: 101 * calls, FIRST + 2: 100 * calls, FIRST + 3: calls}


def run_all(jobs: list[Callable[[], object]]) -> None:
    """Run each job on a thread of its own, all at once."""
    start = threading.Barrier(len(jobs))

    def run(job: Callable[[], object]) -> None:
        start.wait()
        job()

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_that_a_program_starts() -> None:
    check_lines(
        """
        import threading

        @profile
        def work(n):
            total = 0  #> 4
            for i in range(n):  #> 44
                total += i  #> 40
            results.append(total)  #> 4

        @profile
        def main():
            threads = [threading.Thread(target=work, args=[10]) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            return sorted(results)  #> 1

        results = []
        result = main()
        """
    )


def test_many_threads_at_once_count_exactly() -> None:
    profiler = new_profiler()
    work = profiler(body)
    run_all([lambda: [work(0) for _ in range(50)]] * 8)
    assert hits_of(profiler)[FIRST, "body"] == counted(400)


def test_many_threads_one_after_another() -> None:
    profiler = new_profiler()
    work = profiler(body)
    for _ in range(200):
        run_all([lambda: work(0)])
    assert hits_of(profiler)[FIRST, "body"] == counted(200)
    names = {thread.name for thread in profiler.get_stats().threads}
    assert len(names) >= 1


def test_recursion_generators_and_exceptions_on_many_threads() -> None:
    check_lines(
        """
        import threading

        @profile
        def fib(n):
            if n < 2:
                return n
            return fib(n - 1) + fib(n - 2)

        @profile
        def numbers(n):
            try:
                while n:
                    yield n
                    n -= 1
            finally:
                fib(3)

        @profile
        def work(n):
            for i in numbers(n):
                try:
                    fib(i // (i % 3))
                except ZeroDivisionError:
                    results.append(i)
                if i == 2:
                    break

        results = []
        threads = [threading.Thread(target=work, args=[9]) for _ in range(6)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        result = sorted(results)
        """
    )


def test_a_thread_that_is_running_before_the_profiler_is_created() -> None:
    jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()

    def serve() -> None:
        while True:
            job = jobs.get()
            if job is None:
                return
            job()

    thread = threading.Thread(target=serve)
    thread.start()
    profiler = new_profiler()
    work = profiler(body)
    done = threading.Event()
    for job in (lambda: work(0), lambda: work(0), done.set, None):
        jobs.put(job)
    done.wait()
    thread.join()
    assert hits_of(profiler)[FIRST, "body"] == counted(2)


def test_a_function_registered_from_outside_on_another_thread() -> None:
    profiler = new_profiler()
    profiler.add_function(body)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(body, 0).result()  # not enabled yet
        with profiler:
            for future in [pool.submit(body, 0) for _ in range(10)]:
                future.result()
            body(0)
        pool.submit(body, 0).result()  # no longer enabled
    assert hits_of(profiler)[FIRST, "body"] == counted(11)


def test_a_function_that_is_already_running_on_another_thread() -> None:
    profiler = new_profiler()
    inside, go = threading.Event(), threading.Event()

    def wait() -> int:
        inside.set()
        go.wait()
        x = 1
        return x + 0

    first = wait.__code__.co_firstlineno
    profiler.add_function(wait)
    thread = threading.Thread(target=wait)
    thread.start()
    inside.wait()
    with profiler:
        go.set()
        thread.join()
        wait()
    hits = next(iter(hits_of(profiler).values()))
    assert hits[first + 1] == hits[first + 2] == 1
    assert hits[first + 3] in (1, 2)  # a frame that is already running may be left out
    assert hits[first + 4] == hits[first + 3]


def test_enabled_on_one_thread_and_disabled_on_another() -> None:
    profiler = new_profiler()
    profiler.add_function(body)
    run_all([profiler.enable_by_count])
    body(0)
    run_all([lambda: body(0)])
    profiler.disable_by_count()
    body(0)
    assert profiler.enable_count == 0
    assert hits_of(profiler)[FIRST, "body"] in ({}, counted(2))


def test_stats_while_threads_run() -> None:
    profiler = new_profiler()
    work = profiler(body)
    seen: list[int] = []

    def look() -> None:
        for _ in range(50):
            lines = hits_of(profiler).get((FIRST, "body"), {})
            seen.append(lines.get(FIRST + 2, 0))

    run_all([lambda: [work(0) for _ in range(50)]] * 2 + [look])
    assert seen == sorted(seen)
    assert hits_of(profiler)[FIRST, "body"] == counted(100)


def test_hits_of_each_thread_add_up() -> None:
    profiler = new_profiler()
    work = profiler(body)
    native: list[int] = []

    def run() -> None:
        native.append(threading.get_native_id())
        work(0)
        work(0)

    run_all([run])
    work(0)
    stats = profiler.get_stats()
    (function,) = stats.functions
    hits = {
        stats.threads[cell.thread].native_id: cell.hits
        for cell in function.thread_lines
        if cell.line == FIRST + 3
    }
    assert hits == {native[0]: 2, threading.get_native_id(): 1}
    names = {thread.native_id: thread.name for thread in stats.threads}
    assert names[threading.get_native_id()] == threading.current_thread().name


def test_thread_local_objects_that_call_functions_when_their_thread_ends() -> None:
    profiler = new_profiler()
    work = profiler(body)
    local = threading.local()

    class Late:
        def __del__(self) -> None:
            work(0)

    def run() -> None:
        local.late = Late()
        work(0)

    run_all([run] * 4)
    assert hits_of(profiler)[FIRST, "body"] == counted(8)


@pytest.mark.parametrize("characters", ["é", "xé", "€"])
def test_a_long_name_of_a_thread_is_cut_between_characters(characters: str) -> None:
    name = characters * 60
    profiler = new_profiler(body)
    with profiler:
        thread = threading.Thread(target=body, args=(0,), name=name)
        thread.start()
        thread.join()
    (kept,) = [thread.name for thread in profiler.get_stats().threads if thread.name]
    assert name.startswith(kept)
    assert 60 < len(kept.encode()) < 64
