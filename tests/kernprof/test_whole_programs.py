"""Programs without a decorator: the functions that are profiled, and their numbers."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest
from as_python import check_same, kernprof_forked, run, write
from running import hook_name
from whole_program import calls, names, profiled, summary

from lineprof import load_stats
from lineprof.model.call_graph import edges

MODEL = """\
    class Net:
        size = 3

        def forward(self, x):
            return double(x) + 1

    def double(x):
        return 2 * x
    """
SCRIPT = """\
    import json
    from pkg.model import Net

    def unused():
        return 0

    def main():
        return json.dumps([Net().forward(x) for x in range(3)])

    print(main())
    """
MODULES = ["model.py:<module>", "model.py:Net", "model.py:double", "model.py:forward"]
ALL = [*MODULES, "x.py:<module>", "x.py:main"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a script and a package."""
    write(tmp_path, "x.py", SCRIPT)
    write(tmp_path, "pkg/__init__.py", "")
    write(tmp_path, "pkg/model.py", MODEL)
    return tmp_path


@pytest.mark.smoke
def test_the_programs_own_functions_are_profiled_and_no_others(folder: Path) -> None:
    outcome, stats = profiled("x.py", cwd=folder, err=summary(6, 2))
    assert outcome.out.startswith("[1, 3, 5]\nWrote profile results to 'out'\n")
    assert names(stats) == ALL
    counted = calls(stats)
    assert (counted["model.py:forward"], counted["model.py:Net"]) == (3, 1)


def test_the_next_command_to_type_is_printed(folder: Path) -> None:
    outcome = kernprof_forked("-l", "x.py", cwd=folder)
    assert "view --hot x.lprof" in outcome.out
    assert kernprof_forked("-lq", "x.py", cwd=folder).out == "[1, 3, 5]\n"


@pytest.mark.smoke
def test_a_module_is_counted_from_its_first_line_on(folder: Path) -> None:
    _, stats = profiled("x.py", cwd=folder)
    [module] = [one for one in stats.functions if one.line == 1 and "x.py" in one.file]
    assert [(row.line, row.hits) for row in module.rows if row.hits] == [
        (1, 1),
        (2, 1),
        (4, 1),
        (7, 1),
        (10, 1),
    ]
    assert module.total_ns > 0


@pytest.mark.smoke
def test_calls_from_line_to_function_are_known(folder: Path) -> None:
    _, stats = profiled("x.py", cwd=folder)
    found = {
        (edge.callee[2].rpartition(".")[2], edge.line, edge.calls)
        for edge in edges(stats.calls)
    }
    assert {("main", 10, 1), ("forward", 8, 3), ("double", 5, 3)} <= found


@pytest.mark.parametrize("words", [["-m", "x"], ["x.py"], ["../here/x.py"]])
def test_a_script_may_be_named_by_module_or_by_path(
    tmp_path: Path, words: list[str]
) -> None:
    here = tmp_path / "here"
    write(here, "x.py", SCRIPT)
    write(here, "pkg/__init__.py", "")
    write(here, "pkg/model.py", MODEL)
    assert names(profiled(*words, cwd=here)[1]) == ALL


def test_a_package_is_run(folder: Path) -> None:
    write(folder, "pkg/__main__.py", "from pkg.model import double\ndouble(1)\n")
    expected = sorted({*MODULES, "__main__.py:<module>"} - {"model.py:forward"})
    assert names(profiled("-m", "pkg", cwd=folder)[1]) == expected


def test_a_package_from_elsewhere_is_run(folder: Path, tmp_path: Path) -> None:
    write(folder, "pkg/__main__.py", "from pkg.model import double\ndouble(1)\n")
    other = tmp_path / "other"
    other.mkdir()
    env = {"PYTHONPATH": ":".join((str(folder), *sys.path))}
    _, stats = profiled("-m", "pkg", cwd=other, env=env)
    assert "model.py:double" in names(stats)


@pytest.mark.parametrize("words", [["-c", "{}"], ["-"]])
def test_code_without_a_file(folder: Path, words: list[str]) -> None:
    text = (
        "from collections import namedtuple; from dataclasses import make_dataclass\n"
        "from pkg.model import double\n"
        "def f(x):\n    return double(x)\n"
        "exec('def hidden(): return 1')\n"
        "make_dataclass('D', ['x'])(1); namedtuple('T', 'x')(1)\n"
        "f(1); (lambda: 0)(); hidden()\n"
    )
    own = ["<stdin>" if words == ["-"] else "<string>"]
    words = [word.replace("{}", text) for word in words]
    _, stats = profiled(*words, cwd=folder, text=text)
    assert names(stats) == sorted(
        [f"{own[0]}:{name}" for name in ("<module>", "f", "<lambda>")]
        + ["model.py:<module>", "model.py:Net", "model.py:double"]
    )
    [f] = [one for one in stats.functions if one.name == "f"]
    assert stats.sources[f.file].text.splitlines()[2] == "def f(x):"


@pytest.mark.parametrize("zipped", [False, True])
def test_a_folder_and_a_zip_file(folder: Path, *, zipped: bool) -> None:
    files = {
        "__main__.py": "import part; part.f()",
        "part.py": "def f():\n    return 1",
    }
    target = folder / "app"
    if zipped:
        with zipfile.ZipFile(target, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    else:
        for name, text in files.items():
            write(target, name, text)
    _, stats = profiled("app", cwd=folder)
    assert names(stats) == ["__main__.py:<module>", "part.py:<module>", "part.py:f"]


@pytest.mark.smoke
def test_every_kind_of_function_counts_and_comprehensions_do_not(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "x.py",
        """\
        import asyncio, threading

        def steps(n):
            for i in range(n):
                yield i

        async def later():
            return 1

        def outer():
            def inner():
                return [i for i in range(3)]
            return inner()

        class Shape:
            sides = sum(i for i in range(3))

            class Inner:
                pass

            @property
            def area(self):
                return (lambda: {i: i for i in range(2)})()

            @staticmethod
            def zero():
                return 0

        def work():
            return 1

        list(steps(3)); outer(); Shape().area; Shape.zero(); asyncio.run(later())
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """,
    )
    expected = [
        *("<lambda>", "<module>", "Inner", "Shape", "area", "inner", "later", "outer"),
        *("steps", "work", "zero"),
    ]
    assert names(profiled("x.py", cwd=tmp_path)[1]) == [f"x.py:{n}" for n in expected]


@pytest.mark.smoke
def test_code_of_the_programs_files_is_profiled_if_exec_runs_it(tmp_path: Path) -> None:
    write(tmp_path, "part.py", "def f():\n    return 1\nf()\n")
    program = """\
        import runpy
        def g(): return 1
        exec(compile(open("part.py").read(), "part.py", "exec"))
        exec("def made(): return 1\\nmade()\\ng()")
        """
    write(tmp_path, "x.py", program)
    _, stats = profiled("x.py", cwd=tmp_path)
    assert names(stats) == ["part.py:<module>", "part.py:f", "x.py:<module>", "x.py:g"]


def test_an_empty_module_is_no_reason_to_warn(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "import empty\n")
    write(tmp_path, "empty.py", "\n# nothing\n")
    assert profiled("x.py", cwd=tmp_path)[1].warnings == ()


def test_an_empty_program_gets_a_warning(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "")
    outcome = kernprof_forked("-lv", "x.py", cwd=tmp_path)
    said = "kernprof: no @profile was found: none of the program's own functions ran;"
    assert outcome.status == 0
    assert outcome.err.startswith(said)
    assert outcome.err.count("\n") == 1


SAME = {
    "SystemExit": "def f(): raise SystemExit(3)\nf()",
    "an exception": "def f(): return 1 / 0\nf()",
    "an object deleted at exit": """\
        class A:
            def __del__(self): print("gone")
            def __repr__(self): return "A"
        a = A()
        raise KeyError(a)
        """,
    "_exit": "import os\ndef f(): os._exit(4)\nf()",
    "an exit handler": """\
        import atexit
        atexit.register(lambda: print("last"))
        print(__file__)
        """,
    "no imports by lineprof": """\
        import sys
        print([name for name in ("ast", "json", "tokenize", "inspect", "linecache")
               if name in sys.modules])
        """,
    "no tracer": "import sys\nprint(sys.gettrace(), sys.getprofile())",
    "warnings": """\
        import warnings
        def f(): warnings.warn("once", stacklevel=2)
        for _ in range(2): f()
        """,
    "an unfinished generator": """\
        def g():
            try:
                yield 1
            finally:
                print("closed")
        x = g()
        next(x)
        """,
    "a thread that fails": """\
        import threading
        class Local(threading.local):
            def __init__(self): self.x = 1
        def run():
            raise ValueError(Local().x)
        thread = threading.Thread(target=run, name="t")
        thread.start()
        thread.join()
        """,
    "an exception in flight": """\
        import sys
        def helper(): return sys.exc_info()[1]
        try:
            1 / 0
        except ZeroDivisionError as error:
            print(helper() is error, error.__context__)
        """,
    "an import that fails": """\
        import sys
        try:
            import broken
        except ValueError as error:
            print(error, error.__context__, "broken" in sys.modules)
        import broken
        """,
}


@pytest.mark.parametrize("program", SAME.values(), ids=SAME)
def test_the_program_runs_as_under_python(tmp_path: Path, program: str) -> None:
    write(tmp_path, "broken.py", "def f():\n    raise ValueError(1)\nf()\n")
    write(tmp_path, "x.py", program)
    check_same("x.py", cwd=tmp_path)


def test_a_child_process_writes_nothing(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        """\
        import os
        def f(): return 1
        child = os.fork()
        for _ in range(3 if child else 5): f()
        if child: os.waitpid(child, 0)
        """,
    )
    _, stats = profiled("--no-children", "x.py", cwd=tmp_path)
    assert calls(stats)["x.py:f"] == 3


@pytest.mark.smoke
def test_functions_called_by_exit_handlers_and_late_threads_are_profiled(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "x.py",
        """\
        import atexit, threading
        def last(): return 1
        def late(): return 2
        atexit.register(last)
        event = threading.Event()
        threading.Thread(target=lambda: event.wait() and late()).start()
        event.set()
        """,
    )
    found = names(profiled("x.py", cwd=tmp_path)[1])
    assert {"x.py:last", "x.py:late", "x.py:<lambda>"} <= set(found)


def test_periodic_dumps_are_of_the_whole_program(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        """\
        import os, time
        def f(): return 1
        f()
        until = time.monotonic() + 120
        while not os.path.exists("out") and time.monotonic() < until:
            time.sleep(0.01)
        os.rename("out", "early")
        """,
    )
    profiled("-i1", "x.py", cwd=tmp_path)
    assert names(load_stats(tmp_path / "early")) == ["x.py:<module>", "x.py:f"]


@pytest.mark.skipif(
    sys.version_info >= (3, 12) and hook_name() == "settrace",
    reason="from 3.12 on settrace has no events of C functions",
)
def test_c_functions_are_callees_with_builtins(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "def f():\n    return len(str(3))\nf()\n")
    found = {}
    for flag in ("--builtins", "--no-builtins"):
        _, stats = profiled(flag, "x.py", cwd=tmp_path)
        found[flag] = {
            (edge.callee[2], edge.line, edge.calls)
            for edge in edges(stats.calls)
            if not edge.callee[0]
        }
    assert ("builtins.len", 2, 1) in found["--builtins"]
    assert found["--no-builtins"] == set()


def test_main_leaves_nothing_behind(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "def f(): return 1\nf()\n")
    write(
        tmp_path,
        "host.py",
        """\
        import gc, kernprof
        from lineprof import load_stats
        from lineprof.recording import core
        from lineprof.recording.profiler import LineProfiler
        def g(): return 1
        for _ in range(2):
            kernprof.main(["-lqo", "out", "x.py"])
        g()
        print([f.name for f in load_stats("out").functions], core.on_first_use)
        gc.collect()
        print([p for p in gc.get_objects() if isinstance(p, LineProfiler)])
        """,
    )
    outcome = run(["host.py"], cwd=tmp_path)
    assert outcome.out == "['<module>', 'f'] []\n[]\n", outcome


@pytest.mark.parametrize("words", [["-m", "pk"], ["-m", "pk.sub.run"]])
def test_the_import_of_the_packages_of_a_module_is_profiled(
    tmp_path: Path, words: list[str]
) -> None:
    heavy = "def heavy():\n    return sum(range(100))\nheavy()\n"
    write(tmp_path, "elsewhere/pk/__init__.py", heavy)
    write(tmp_path, "elsewhere/pk/__main__.py", "from pk import heavy\nheavy()\n")
    write(tmp_path, "elsewhere/pk/sub/__init__.py", heavy)
    write(tmp_path, "elsewhere/pk/sub/run.py", "import pk\npk.heavy()\n")
    env = {"PYTHONPATH": os.pathsep.join((str(tmp_path / "elsewhere"), *sys.path))}
    _, stats = profiled(*words, cwd=tmp_path, env=env)
    by_place = {(*Path(one.file).parts[-2:], one.name): one for one in stats.functions}
    assert by_place["pk", "__init__.py", "heavy"].calls == 2
    assert by_place["pk", "__init__.py", "<module>"].calls == 1
    in_sub = by_place.get(("sub", "__init__.py", "heavy"))
    assert (in_sub.calls if in_sub else 0) == words.count("pk.sub.run")


@pytest.mark.parametrize("decorated", ["__init__.py", "__main__.py"])
def test_a_package_that_decorates_is_not_profiled_whole(
    tmp_path: Path, decorated: str
) -> None:
    for name in ("__init__.py", "__main__.py"):
        text = "def f():\n    return 1\nf()\n"
        mark = "@profile\n" * (name == decorated)
        write(tmp_path, f"pk/{name}", f"def g():\n    return 2\ng()\n{mark}{text}")
    _, stats = profiled("-m", "pk", cwd=tmp_path)
    assert names(stats) == [f"{decorated}:f"]
