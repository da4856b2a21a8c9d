"""kernprof -p: profiling by name, without a decorator."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, kernprof_forked, run, write
from prof_mod import library, profiled

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
import asyncio
import functools

def outer(n):
    def inner(x):
        return x + 1
    return [inner(i) for i in range(n)]

class Box:
    def __init__(self, x):
        self.x = x

    @property
    def size(self):
        return self.x

    @staticmethod
    def unit():
        return 1

    class Lid:
        @classmethod
        def make(cls):
            return cls()

def gen():
    yield 1
    yield 2

async def wait():
    await asyncio.sleep(0)
    return 3

@functools.lru_cache(maxsize=None)
def cached(x):
    return x

square = lambda x: x * x

def unused():
    return 0

outer(3)
Box(1).size
Box.unit()
Box.Lid.make()
list(gen())
asyncio.run(wait())
cached(1), cached(1), square(2)
"""
SCRIPT_HITS = {
    "x.py:4 outer": {5: 1, 7: 1},
    "x.py:5 inner": {6: 3},
    "x.py:10 __init__": {11: 1},
    "x.py:13 size": {15: 1},
    "x.py:17 unit": {19: 1},
    "x.py:22 make": {24: 1},
    "x.py:26 gen": {27: 1, 28: 1},
    "x.py:30 wait": {31: 1, 32: 1},
    "x.py:34 cached": {36: 1},
    "x.py:40 unused": {},
}


@pytest.mark.smoke
def test_all_functions_of_a_script_are_profiled_in_source_order(
    tmp_path: Path,
) -> None:
    write(tmp_path, "x.py", SCRIPT)
    _, hits = profiled("-p", "x.py", "x.py", cwd=tmp_path)
    assert hits == SCRIPT_HITS
    assert list(hits) == list(SCRIPT_HITS)


@pytest.mark.parametrize(
    "target", ["x.py", "./x.py", "{}/x.py", "x", "none.py,x.py", "../proj/x.py"]
)
def test_a_script_can_be_named_in_many_forms(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "proj"
    folder.mkdir()
    write(folder, "x.py", "def f():\n    return 1\nf()\n")
    err = (
        ""
        if "none" not in target
        else (
            "kernprof: 1 -p target cannot be imported: ['none.py']"
            " (ModuleNotFoundError: No module named 'none')\n"
        )
    )
    for script in ("x.py", str(folder / "x.py")):
        words = ("-p", target.format(folder), script)
        _, hits = profiled(*words, cwd=folder, err=err)
        assert hits == {"x.py:1 f": {2: 1}}


def test_a_script_in_another_folder_and_by_a_link(tmp_path: Path) -> None:
    write(tmp_path, "proj/x.py", "def f():\n    return 1\nf()\n")
    (tmp_path / "link.py").symlink_to("proj/x.py")
    for target, script in (
        ("proj/x.py", "proj/x.py"),
        ("proj/x.py", "link.py"),
        ("link.py", "proj/x.py"),
    ):
        _, hits = profiled("-p", target, script, cwd=tmp_path)
        assert [*hits.values()] == [{2: 1}]


def test_a_script_on_the_path(tmp_path: Path) -> None:
    write(tmp_path, "bin/tool", "def f():\n    return 1\nf()\n")
    environ = {"PATH": str(tmp_path / "bin")}
    _, hits = profiled("-p", "tool", "tool", cwd=tmp_path, env=environ)
    assert hits == {"tool:1 f": {2: 1}}


@pytest.mark.parametrize(
    ("target", "lines"),
    [
        ("x.f", {1: {2: 1}}),
        ("x.C", {6: {7: 1, 9: 1}, 11: {12: 1}}),
        ("x.C.m", {6: {7: 1, 9: 1}}),
        ("x.C.D.k", {11: {12: 1}}),
    ],
)
def test_a_part_of_the_script_is_profiled(
    tmp_path: Path, target: str, lines: dict[int, dict[int, int]]
) -> None:
    text = """\
        def f():
            return (lambda: 1)()
        def g():
            return 2
        class C:
            def m(self):
                def nested():
                    return 3
                return nested()
            class D:
                def k(self):
                    return 4
        f(), g(), C().m(), C.D().k()
        print('once')
        """
    write(tmp_path, "x.py", text)
    outcome, hits = profiled("-p", target, "x.py", cwd=tmp_path)
    assert outcome.out == "once\n", "the script was also imported"
    assert {int(k.split(":")[1].split()[0]): v for k, v in hits.items()} == lines


def test_a_missing_part_is_reported_in_one_line_and_the_script_runs(
    tmp_path: Path,
) -> None:
    write(tmp_path, "x.py", "def f():\n    return 1\nprint(f())\n")
    err = (
        "kernprof: 1 -p target cannot be imported: ['x.g']"
        " (the program defines no function 'g', and no class with methods)\n"
    )
    outcome, hits = profiled("-p", "x.g,x.f", "x.py", cwd=tmp_path, err=err)
    assert outcome.out == "1\n"
    assert hits == {"x.py:1 f": {2: 1}}


def test_decorated_functions_count_once(tmp_path: Path) -> None:
    text = """\
        from lineprof import profile as explicit
        @profile
        def f():
            return 1
        @explicit
        def g():
            return 2
        def h():
            return 3
        late = profile(h)
        f(), g(), h(), late()
        """
    write(tmp_path, "x.py", text)
    write(tmp_path, "y.py", "import x\nx.f()\n")
    once = {"x.py:2 f": {4: 1}, "x.py:5 g": {7: 1}, "x.py:8 h": {9: 2}}
    _, hits = profiled("-p", "x.py", "x.py", cwd=tmp_path)
    assert hits == once
    _, hits = profiled("-p", "x", "y.py", cwd=tmp_path)
    assert hits == {**once, "x.py:2 f": {4: 2}, "x.py:8 h": {9: 1}}


def test_nothing_of_the_program_is_replaced(tmp_path: Path) -> None:
    library(tmp_path)
    text = """\
        import builtins, sys, types
        import pkg.shapes
        def f():
            pass
        builtins.profile = None
        for function in (f, pkg.shapes.area, pkg.shapes.Box.side):
            print(type(function), vars(function), hasattr(function, '__wrapped__'))
            print(function.__code__.co_code.hex(), function.__code__.co_consts)
        print(sorted(globals()), pkg.shapes.__loader__.__dict__)
        print(sys.argv, sys.path[0], __file__, [type(x).__name__ for x in
              sys.meta_path if type(x).__module__ != 'lineprof.import_hook'])
        """
    write(tmp_path, "x.py", text)
    plain = run(["x.py", "a"], cwd=tmp_path)
    for flag in ("--preimports", "--no-preimports"):
        ours = kernprof_forked("-lq", "-p", "x.py,pkg", flag, "x.py", "a", cwd=tmp_path)
        assert ours == plain


def test_targets_with_commas_repeated_and_cleared(tmp_path: Path) -> None:
    library(tmp_path)
    write(tmp_path, "a,b.py", "def f():\n    return 1\nf()\n")
    for words, functions in (
        (["-p", "pkg.deep.inner,pkg.tools.unused"], ["twice", "unused"]),
        (["-p", "pkg.deep.inner", "-p", "pkg.tools.unused"], ["twice", "unused"]),
        (["-p", "pkg.deep.inner", "-p", "", "-p", "pkg.tools.unused"], ["unused"]),
        (["-p", "pkg.deep.inner", "-p", ""], []),
        (["-p", "a,b.py"], ["f"]),
        (["-p", "pkg.tools.unused,pkg.tools.unused,"], ["unused"]),
    ):
        _, hits = profiled(*words, "a,b.py", cwd=tmp_path)
        assert [key.split()[1] for key in hits] == functions


def test_code_from_the_command_line_and_standard_input_is_profiled(
    tmp_path: Path,
) -> None:
    library(tmp_path)
    text = "from pkg.deep.inner import twice\ndef f():\n    return twice(1)\nf()\n"
    own = {2: {3: 1}}
    for words in (["-c", text], ["-"]):
        for named, other in (
            (["--no-whole"], {}),
            (["-p", "pkg.deep.inner"], {1: {2: 1}}),
        ):
            _, hits = profiled(*named, *words, cwd=tmp_path, text=text)
            lines = {int(k.split(":")[1].split()[0]): v for k, v in hits.items()}
            assert lines == {**own, **other}


@pytest.mark.smoke
def test_a_module_run_with_m(tmp_path: Path) -> None:
    library(tmp_path)
    out = "8 ['1'] __main__ pkg\n"
    main = {"__main__.py:5 main": {6: 1}}
    for target in ("pkg.__main__", "pkg/__main__.py", "./pkg/__main__.py"):
        words = ("--no-preimports", "-p", target, "-m", "pkg", "1")
        outcome, hits = profiled(*words, cwd=tmp_path)
        assert (outcome.out, hits) == (out, main)
    for target in ("pkg", "./pkg"):
        outcome, hits = profiled("-p", target, "-m", "pkg", "1", cwd=tmp_path)
        assert (outcome.out, hits) == (
            out,
            {
                "shapes.py:3 area": {4: 1},
                "inner.py:1 twice": {2: 1},
                "tools.py:1 square": {2: 1},
                "shapes.py:7 side": {},
                "tools.py:4 unused": {},
                **main,
            },
        )
    outcome, hits = profiled("-p", "pkg.tools", "-m", "pkg", "1", cwd=tmp_path)
    assert outcome.out == out
    assert hits == {"tools.py:1 square": {2: 1}, "tools.py:4 unused": {}}


def test_a_module_run_with_m_runs_as_under_python(tmp_path: Path) -> None:
    library(tmp_path)
    write(tmp_path, "one.py", "import sys\nprint(sys.argv, __spec__.name, __file__)\n")
    for module in ("pkg", "one", "pkg.tools", "none", "pkg.none"):
        words = ("-m", module, "a")
        plain = run(words, cwd=tmp_path)
        ours = kernprof_forked(
            "-lq", "-p", f"pkg.shapes,{module}", *words, cwd=tmp_path
        )
        err = ours.err.replace("kernprof: ", f"{sys.executable}: ", 1)
        known = (ours.status, ours.out) == (plain.status, plain.out)
        assert known, (plain, ours)
        assert ("none" in module) or err == plain.err


def test_a_module_of_a_target_package_runs_once(tmp_path: Path) -> None:
    library(tmp_path)
    write(tmp_path, "pkg/prints.py", "def f():\n    print(__name__)\nf()\n")
    for words in (["-m", "pkg.prints"], ["pkg/prints.py"]):
        path = os.pathsep.join([str(tmp_path), *sys.path])
        outcome, hits = profiled(
            *("-p", "pkg", *words), cwd=tmp_path, env={"PYTHONPATH": path}
        )
        assert outcome.out == "__main__\n"
        assert hits["prints.py:1 f"] == {2: 1}
        assert hits["shapes.py:3 area"] == {}


def test_a_folder_with_a_main(tmp_path: Path) -> None:
    write(
        tmp_path,
        "app/__main__.py",
        "from helper import h\ndef f():\n    return h()\nf()\n",
    )
    write(tmp_path, "app/helper.py", "def h():\n    return 1\n")
    main = {"__main__.py:2 f": {3: 1}}
    for target in ("app", "./app", "app/__main__.py"):
        words = ("--no-preimports", "-p", target, "app")
        assert profiled(*words, cwd=tmp_path)[1] == main
    for target in ("app/helper.py", "helper"):
        _, hits = profiled("-p", target, "app", cwd=tmp_path)
        assert hits == {"helper.py:1 h": {2: 1}}


def test_bytecode_is_profiled(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "import helper\ndef f():\n    return helper.g()\nf()\n")
    write(tmp_path, "helper.py", "def g():\n    return 1\n")
    call = "import py_compile; py_compile.compile('x.py', 'y.pyc')"
    run(["-c", call], cwd=tmp_path)
    words = ("--no-preimports", "-p", "y.pyc,helper", "y.pyc")
    _, hits = profiled(*words, cwd=tmp_path)
    assert hits == {"x.py:2 f": {3: 1}, "helper.py:1 g": {2: 1}}


def test_p_has_no_effect_without_l(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "print('out')\n")
    outcome = kernprof_forked("-q", "-p", "none.none", "x.py", cwd=tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (0, "out\n", "")


def test_without_p_its_modules_are_not_imported(tmp_path: Path) -> None:
    look = """\
        import sys
        print([m for m in sys.modules if 'autoprofile' in m or 'prof_mod' in m])
        """
    write(tmp_path, "x.py", look)
    assert kernprof_forked("-lq", "x.py", cwd=tmp_path).out == "[]\n"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of 3.12")
def test_type_aliases_and_parameters_are_no_functions(tmp_path: Path) -> None:
    text = """\
        type Name = str
        def first[T: int](a: T) -> T:
            type Inner = T
            return a
        class Box[U]:
            def get(self):
                return 'Name', 'get'
        def get(x='get'):
            return x
        type Pair[V] = tuple[V, V]
        first(1), Box().get(), get()
        'Name', 'Inner', 'first', 'Box', 'get'
        """
    write(tmp_path, "x.py", text)
    _, hits = profiled("-p", "x.py", "x.py", cwd=tmp_path)
    assert hits == {
        "x.py:2 first": {3: 1, 4: 1},
        "x.py:6 get": {7: 1},
        "x.py:8 get": {9: 1},
    }


def test_exceptions_and_exits_are_as_under_python(tmp_path: Path) -> None:
    library(tmp_path)
    for name, text in (
        ("error.py", "import pkg\ndef f():\n    1 / 0\nf()\n"),
        ("leave.py", "import pkg, sys\ndef f():\n    sys.exit(3)\nf()\n"),
        ("syntax.py", "def f(:\n"),
    ):
        write(tmp_path, name, text)
        for flag in ("--preimports", "--no-preimports"):
            words = ("-lq", "-p", f"{name},pkg", flag, name)
            assert kernprof_forked(*words, cwd=tmp_path) == run([name], cwd=tmp_path)
    check_same("error.py", cwd=tmp_path)
