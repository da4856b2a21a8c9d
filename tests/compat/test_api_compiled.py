"""Compiled functions: they still work, and the profile has a warning."""

from __future__ import annotations

import functools
import types
from typing import Any

import pytest
from as_python import kernprof, write
from running import hits_of, new_profiler

pytestmark = pytest.mark.usefixtures("hook")


def plain(n: int) -> int:
    return n + 1


class Dispatcher:
    """A stand-in for the objects that ``numba.njit`` returns."""

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.overloads: dict[object, object] = {}

    def __call__(self, n: int) -> int:
        self.overloads[int] = "machine code"
        return n + 1


Dispatcher.__module__ = "numba.core.registry"


class Foreign(Dispatcher):
    """A stand-in for the objects of an unknown compiler."""


Foreign.__module__ = "elsewhere"


def cython_like(name: str = "cython_function_or_method") -> Any:
    """Return a stand-in for a function compiled by Cython."""

    def call(_: object, n: int) -> int:
        return n + 1

    code = plain.__code__.replace(co_filename="/x/fast.pyx", co_firstlineno=7)
    body = {"__call__": functools.partialmethod(call), "__code__": code}
    return type(name, (), {**body, "__qualname__": "fast"})()


def test_a_function_compiled_by_numba_gives_one_warning() -> None:
    profiler = new_profiler()
    compiled: Any = Dispatcher(plain)
    assert profiler(compiled) is compiled
    assert profiler.watch(compiled) == 0
    assert compiled(1) == 2
    (warning,) = profiler.get_stats().warnings
    line = plain.__code__.co_firstlineno
    assert warning == (
        f"Numba compiled plain (test_api_compiled.py:{line}): lines that ran so "
        "were not seen"
    )
    assert compiled.py_func(1) == 2
    assert [sum(lines.values()) for lines in hits_of(profiler).values()] == [1]


def test_numbas_decorator_above_lineprofs_gives_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module: Any = types.ModuleType("numba.core.dispatcher")
    module.Dispatcher = Dispatcher
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
    profiler = new_profiler()
    compiled, idle, other = (
        Dispatcher(profiler(plain)),
        Dispatcher(profiler(plain_three)),
        Dispatcher(plain_too),
    )
    assert (compiled(1), other(1)) == (2, 2)
    assert not idle.overloads
    (warning,) = profiler.get_stats().warnings
    assert "Numba compiled plain (" in warning
    assert "plain_t" not in warning, "one was never called, one is not profiled"


def plain_too(n: int) -> int:
    return n + 1


def plain_three(n: int) -> int:
    return n + 1


@pytest.mark.parametrize(
    ("target", "compiler"),
    [
        (cython_like(), "Cython"),
        (cython_like("fused_cython_function"), "Cython"),
        (cython_like("compiled_function"), "Nuitka"),
        (Foreign(plain), "Foreign"),
        (property(cython_like()), "Cython"),
        (functools.partial(cython_like(), 1), "Cython"),
    ],
)
def test_the_warning_names_the_compiler(target: Any, compiler: str) -> None:
    profiler = new_profiler()
    for _ in range(2):
        assert type(profiler(target)) is type(target)
        profiler.watch(target)
    (warning,) = profiler.get_stats().warnings
    assert warning.startswith(f"{compiler} compiled ")
    assert ("fast.pyx:7" in warning) == (compiler != "Foreign")


def test_functions_that_are_not_compiled_give_no_warning() -> None:
    profiler = new_profiler()
    for target in (plain, functools.lru_cache(plain), len, functools.partial(plain)):
        profiler(target)
    assert profiler.get_stats().warnings == ()


def test_a_view_shows_the_warning_on_standard_error(tmp_path: Any) -> None:
    program = """\
import functools
class Dispatcher:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.py_func = function
    def __call__(self, n):
        return n + 1
Dispatcher.__module__ = "numba.core.registry"
@profile
@Dispatcher
def f(n):
    return n + 1
print(f(1))
"""
    write(tmp_path, "program.py", program)
    done = kernprof("-lv", "program.py", cwd=tmp_path)
    assert done.status == 0
    assert done.out.splitlines()[0] == "2"
    assert done.err.count("Numba compiled f (program.py:9)") == 1
