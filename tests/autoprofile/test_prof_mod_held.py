"""kernprof -p of modules whose functions are reloaded, or held by other objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import write
from prof_mod import profiled

if TYPE_CHECKING:
    from pathlib import Path

RELOADED = "def w():\n    return 1\n"
RELOADS = {
    "importlib.reload": """\
        import importlib, rl
        for i in range(3):
            rl.w()
            importlib.reload(rl)
        """,
    "another import": """\
        import importlib, sys
        for i in range(3):
            importlib.import_module("rl").w()
            del sys.modules["rl"]
        """,
    "a module of another name": """\
        from importlib.util import module_from_spec, spec_from_file_location
        for i in range(3):
            spec = spec_from_file_location(f"plugin{i}", "rl.py")
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            module.w()
        """,
    "runpy": """\
        import os, runpy
        for i in range(3):
            runpy.run_path(os.path.abspath("rl.py"))["w"]()
        """,
    "exec": """\
        import pathlib
        path = pathlib.Path("rl.py").absolute()
        for i in range(3):
            names = {}
            exec(compile(path.read_text(), str(path), "exec"), names)
            names["w"]()
        """,
}


@pytest.mark.parametrize("target", ["rl", "rl.w", "rl.py", "rl.py:w"])
@pytest.mark.parametrize("how", RELOADS)
def test_calls_of_a_module_that_is_loaded_again_count(
    tmp_path: Path, how: str, target: str
) -> None:
    write(tmp_path, "rl.py", RELOADED)
    write(tmp_path, "main.py", RELOADS[how])
    _, hits = profiled("-p", target, "main.py", cwd=tmp_path)
    assert hits == {"rl.py:1 w": {2: 3}}


def test_calls_after_an_automatic_reload_of_ipython_count(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    write(tmp_path, "rl.py", RELOADED)
    program = """
        import os
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        for line in ("%load_ext autoreload", "%autoreload 2", "import rl", "rl.w()"):
            assert shell.run_cell(line).success
        for i in range(2):
            with open("rl.py", "a") as stream:
                stream.write("# changed\\n")
            os.utime("rl.py", (4e9 + i, 4e9 + i))
            assert shell.run_cell("rl.w()").success
        """
    write(tmp_path, "main.py", program)
    env = {"IPYTHONDIR": str(tmp_path / "ipython")}
    flags = ("-p", "rl")
    _, hits = profiled(*flags, "main.py", cwd=tmp_path, env=env)
    assert hits == {"rl.py:1 w": {2: 3}}


# Objects that hold a function: how each is made, and called.
TOOLS = '''\
import functools

class Task:
    """As Celery's: the function is in a class of its own, made at the first use."""

    def __call__(self, *words):
        return self.run(*words)

class Lazy:
    __slots__ = ("make", "made")

    def __init__(self, make):
        object.__setattr__(self, "make", make)

    def _object(self):
        try:
            return object.__getattribute__(self, "made")
        except AttributeError:
            made = object.__getattribute__(self, "make")()
            object.__setattr__(self, "made", made)
            return made

    def __getattribute__(self, name):
        if name in ("_object", "__class__"):
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "_object")(), name)

    def __call__(self, *words):
        return object.__getattribute__(self, "_object")()(*words)

def task(function):
    names = {"run": staticmethod(function), "__module__": function.__module__}
    return Lazy(lambda: type(function.__name__, (Task,), names)())

class Dispatcher:
    """As that of a compiler that does not compile."""

    def __init__(self, function):
        self.py_func = function

    __call__ = property(lambda self: self.py_func)

class Command:
    """As click's."""

    def __init__(self, callback):
        self.callback = callback
        self.params = [lambda: 1]

    def main(self):
        return self.callback()

class Memory:
    def __init__(self, function):
        self.func = function
        self.known = {}

    def __call__(self):
        return self.known.setdefault(0, self.func())

class Descriptor:
    def __init__(self, function):
        self._function = function

    def __get__(self, item, owner):
        return functools.partial(self._function, item)

class Slots:
    __slots__ = ("hidden",)

    def __init__(self, function):
        self.hidden = function

registry = {}

def register(function):
    registry[function.__name__] = [(function,)]

def closed(function):
    def call():
        return function()
    call.hidden = None
    return call
'''
TASKS = """\
import functools
import tools

@tools.task
def add():
    return 1

@tools.Dispatcher
def compiled():
    return 2

@tools.Command
def command():
    return 3

@tools.Memory
def memory():
    return 4

@tools.Slots
def slots():
    return 5

@tools.register
def listed():
    return 6

@tools.closed
def closed():
    return 7

@functools.lru_cache
def cached():
    return 8

@functools.singledispatch
def single(x):
    return 9

@single.register
def single_int(x: int):
    return 10

def plain(x):
    return 11

part = functools.partial(plain, 1)
del plain

class Model:
    @tools.Descriptor
    def described(self):
        return 12

    @functools.cached_property
    def kept(self):
        return 13

    @property
    @tools.closed
    def closed():
        return 14

    def __init_subclass__(cls):
        cls.extra = 15

def maker():
    def made():
        return 16
    return made
"""
USES = """\
import tasks, tools
class Sub(tasks.Model):
    pass
calls = [
    tasks.add, tasks.compiled, tasks.command.main, tasks.memory, tasks.slots.hidden,
    tools.registry["listed"][0][0], tasks.closed, tasks.cached,
    lambda: tasks.single(""), lambda: tasks.single(1), tasks.part,
    tasks.Model().described, lambda: tasks.Model().kept, tasks.maker(),
]
print([call() for call in calls])
"""
HELD = {
    "tasks.py:4 add": {6: 1},
    "tasks.py:8 compiled": {10: 1},
    "tasks.py:12 command": {14: 1},
    "tasks.py:16 memory": {18: 1},
    "tasks.py:20 slots": {22: 1},
    "tasks.py:24 listed": {26: 1},
    "tasks.py:28 closed": {30: 1},
    "tasks.py:32 cached": {34: 1},
    "tasks.py:36 single": {38: 1},
    "tasks.py:40 single_int": {42: 1},
    "tasks.py:44 plain": {45: 1},
    "tasks.py:51 described": {53: 1},
    "tasks.py:55 kept": {57: 1},
    "tasks.py:64 __init_subclass__": {65: 1},
    "tasks.py:67 maker": {68: 1, 70: 1},
    "tasks.py:68 made": {69: 1},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with functions that other objects hold."""
    write(tmp_path, "tools.py", TOOLS)
    write(tmp_path, "tasks.py", TASKS)
    write(tmp_path, "main.py", USES)
    return tmp_path


@pytest.mark.parametrize(
    "flags",
    [
        ["-p", "tasks"],
        ["-p", "tasks.py"],
        ["--no-preimports", "-p", "tasks"],
        ["--prof-imports", "-p", "tasks", "-p", "tools"],
        ["-p", "::main", "-p", "tasks"],
    ],
)
def test_every_function_of_a_module_counts_whatever_object_holds_it(
    folder: Path, flags: list[str]
) -> None:
    outcome, hits = profiled(*flags, "main.py", cwd=folder)
    own = {key: lines for key, lines in hits.items() if key.startswith("tasks.py")}
    assert own == HELD
    assert outcome.out == f"{[*range(1, 14), 16]}\n"


def test_a_function_that_is_named_counts_whatever_object_holds_it(
    folder: Path,
) -> None:
    names = "tasks.add,tasks.memory,tasks.Model,tasks.maker"
    _, hits = profiled("-p", names, "main.py", cwd=folder)
    wanted = ("add", "memory", "described", "kept", "__init_subclass__", "maker")
    assert {key.split()[-1] for key in hits} - {"closed"} == {*wanted, "__call__"}


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_functions_of_a_module_count_alike_in_children(
    folder: Path, start: str
) -> None:
    program = f"""
        import multiprocessing, os, runpy
        def work():
            runpy.run_path(os.path.abspath("main.py"))
        if __name__ == "__main__":
            work()
            context = multiprocessing.get_context({start!r})
            child = context.Process(target=work)
            child.start()
            child.join()
        """
    write(folder, "parent.py", program)
    _, hits = profiled("-p", "tasks", "parent.py", cwd=folder)
    twice = {key: dict.fromkeys(lines, 2) for key, lines in HELD.items()}
    if start == "fork":  # the child has the cached results
        twice["tasks.py:32 cached"] = {34: 1}
    assert hits == twice


def test_a_function_that_ran_at_the_import_counts_afterwards(tmp_path: Path) -> None:
    """Without `--no-preimports` what runs at the import does not count."""
    write(tmp_path, "tools.py", TOOLS)
    write(
        tmp_path,
        "tasks.py",
        "import tools\n@tools.Slots\ndef held():\n    return 1\nheld.hidden()\n",
    )
    write(tmp_path, "main.py", "import tasks\ntasks.held.hidden()\n")
    for flags in ((), ("--no-preimports",)):
        _, hits = profiled(*flags, "-p", "tasks", "main.py", cwd=tmp_path)
        assert hits == {"tasks.py:2 held": {4: 1}}
