"""Decorated functions and classes in pickles, copies and child processes."""

from __future__ import annotations

import copy
import pickle
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run, write
from running import hits_of, new_profiler

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hook")

PROGRAM = """\
import copy, functools, multiprocessing, pickle, sys
from lineprof import LineProfiler
profile = LineProfiler()

@profile
def f(n):
    return n + 1

@profile
class Box:
    def __init__(self, item):
        self.item = item
    @staticmethod
    def double(n):
        return 2 * n
    @classmethod
    def of(cls, item):
        return cls(item)
    def get(self, n):
        return self.item + n

def again(thing):
    return pickle.loads(pickle.dumps(thing))

if __name__ == "__main__":
    box = again(Box(3))
    print(again(f) is f, again(Box) is Box, box.item, again(box.get)(1))
    print(again(Box.double)(2), again(Box.of)(4).item, again(functools.partial(f, 1))())
    print(copy.deepcopy([f, Box, box.get])[2](2), copy.copy(f) is f)
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print(pool.map(f, range(4)), pool.map(Box.double, [1]), pool.map(box.get, [1]))
"""

SHOWN = ["True True 3 4", "4 4 2", "5 True", "[1, 2, 3, 4] [2] [4]"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_decorated_functions_reach_child_processes(tmp_path: Path, method: str) -> None:
    if method not in __import__("multiprocessing").get_all_start_methods():
        pytest.skip(f"no start method {method}")
    write(tmp_path, "program.py", PROGRAM)
    flags = ["-W", "ignore::DeprecationWarning"]  # for fork while other threads run
    done = run(["program.py", method], cwd=tmp_path, flags=flags)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == SHOWN


def test_functions_that_kernprof_decorated_are_pickled_by_name(tmp_path: Path) -> None:
    program = PROGRAM.replace("from lineprof import LineProfiler\n", "")
    write(tmp_path, "program.py", program.replace("profile = LineProfiler()\n", ""))
    done = kernprof("-lq", "program.py", "fork", cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == SHOWN


def test_a_profiler_cannot_be_pickled() -> None:
    profiler = new_profiler()
    for dump in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="pickle"):
            dump(profiler)  # type: ignore[operator]


def test_a_copy_of_a_profiler_is_the_same_profiler() -> None:
    profiler = new_profiler()

    def f() -> int:
        return 1

    other = copy.copy(profiler)
    assert type(other) is type(profiler)
    assert other(f)() == 1
    assert hits_of(other) == hits_of(profiler)
    assert profiler.functions == [f]
    assert "LineProfiler" in repr(profiler)


def test_a_function_wrapped_in_its_module_is_pickled_by_name() -> None:
    profiler = new_profiler()
    module = sys.modules[__name__]
    profiler.add_module(module, scoping_policy="exact", wrap=True)
    wrapped = module.test_a_profiler_cannot_be_pickled
    try:
        assert wrapped.__wrapped__  # type: ignore[attr-defined]
        assert pickle.loads(pickle.dumps(wrapped)) is wrapped  # noqa: S301
    finally:
        for name, thing in list(vars(module).items()):
            if callable(thing) and profiler._already_a_wrapper(thing):
                setattr(module, name, thing.__wrapped__)
