"""`watch`: all calls of a function count, and the function is not replaced."""

from __future__ import annotations

import functools
import threading
from typing import Any

import pytest
from running import hits_by_name, new_profiler

pytestmark = pytest.mark.usefixtures("hook")


def plain(n: int) -> int:
    return n + 1


def test_each_target_counts_its_code_objects_once() -> None:
    class Box:
        def method(self) -> int:
            return 1

        @property
        def item(self) -> int:
            return 2

        class Inner:
            def inside(self) -> int:
                return 3

    profiler = new_profiler()
    members = dict(vars(Box))
    assert profiler.watch(plain) == 1
    assert profiler.watch(plain) == profiler.watch(functools.partial(plain, 1)) == 0
    assert profiler.watch(Box.method) == 1
    assert profiler.watch(Box) == 2
    assert profiler.watch(Box().method) == 0
    assert profiler.watch(len) == 0
    with pytest.raises(TypeError, match="callable"):
        profiler.watch(3)
    assert dict(vars(Box)) == members
    assert (plain(1), Box().method(), Box().item, Box.Inner().inside()) == (2, 1, 2, 3)
    assert hits_by_name(profiler) == {"plain": 1, "method": 1, "item": 1, "inside": 1}
    assert profiler.enable_count == 0


def test_every_thread_and_every_closure_counts() -> None:
    profiler = new_profiler()

    def make(n: int) -> Any:
        def closure(x: int) -> int:
            return x + n

        return closure

    codes = [one for one in make.__code__.co_consts if hasattr(one, "co_code")]
    (code,) = [one for one in codes if one.co_name == "closure"]  # no annotations
    assert profiler.watch(code) == 1
    threads = [threading.Thread(target=make(i), args=(1,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert make(1)(1) == 2
    assert hits_by_name(profiler) == {"closure": 4}


def test_a_modules_code_can_be_watched() -> None:
    profiler = new_profiler()
    code = compile("x = 1\ny = 2\n", "module.py", "exec")
    assert profiler.watch(code) == 1
    exec(code, {})
    assert hits_by_name(profiler) == {"<module>": 2}


def test_a_function_that_is_watched_and_decorated_counts_each_call_once() -> None:
    profiler = new_profiler()
    profiler.watch(plain.__code__)
    decorated = profiler(plain)
    assert decorated(1) == plain(1) == 2
    assert hits_by_name(profiler) == {"plain": 2}
    other = new_profiler()
    copy = other(plain)
    assert (other.watch(plain), other.watch(plain)) == (1, 0)
    assert copy(1) == plain(1) == 2
    assert hits_by_name(other) == {"plain": 2}
    assert hits_by_name(profiler) == {"plain": 4}


def test_a_function_that_another_profiler_decorated_can_be_watched() -> None:
    one, two = new_profiler(), new_profiler()
    decorated = one(plain)
    assert two.watch(decorated) == 1
    decorated(1)
    assert (hits_by_name(one), hits_by_name(two)) == ({"plain": 1}, {"plain": 1})


def test_a_decorated_function_is_watched_and_not_its_wrapper() -> None:
    def decorator(function: Any) -> Any:
        @functools.wraps(function)
        def around(*args: object) -> object:
            return function(*args)

        return around

    def inner(n: int) -> int:
        return n

    decorated = decorator(inner)
    profiler = new_profiler()
    assert profiler.watch(decorated) == 1
    assert decorated(1) == 1
    assert hits_by_name(profiler) == {"inner": 1}
