"""kernprof -p: modules, packages, classes and functions that a program imports."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, kernprof_forked, run, write
from prof_mod import hits, library, profiled

if TYPE_CHECKING:
    from pathlib import Path

AREA = {"shapes.py:3 area": {4: 1}, "tools.py:1 square": {2: 1}}
SHAPES = {**AREA, "shapes.py:7 side": {}}
TOOLS = {"tools.py:1 square": {2: 1}, "tools.py:4 unused": {}}
SCRIPT = """\
def main():
    from pkg import shapes
    return shapes.area(2)
main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a package and a script."""
    library(tmp_path)
    write(tmp_path, "x.py", SCRIPT)
    return tmp_path


@pytest.mark.parametrize(
    ("target", "hits"),
    [
        ("pkg.tools", TOOLS),
        ("pkg/tools.py", TOOLS),
        ("pkg.shapes", SHAPES),
        ("pkg.shapes.area", {"shapes.py:3 area": {4: 1}}),
        ("pkg.area", {"shapes.py:3 area": {4: 1}}),
        ("pkg.shapes.Box", {"shapes.py:7 side": {}}),
        ("pkg.shapes.Box.side", {"shapes.py:7 side": {}}),
        ("pkg", {**SHAPES, **TOOLS, "inner.py:1 twice": {}}),
        ("./pkg", {**SHAPES, **TOOLS, "inner.py:1 twice": {}}),
        ("pkg.__init__", {"shapes.py:3 area": {4: 1}}),
        ("pkg/__init__.py", {"shapes.py:3 area": {4: 1}}),
        ("pkg.deep", {"inner.py:1 twice": {}}),
        ("pkg.deep.__init__", {}),
        ("math", {}),
        ("sys", {}),
        ("json.decoder.c_scanstring,pkg.tools.unused", {"tools.py:4 unused": {}}),
    ],
)
def test_targets_are_imported_and_profiled(
    folder: Path, target: str, hits: dict[str, dict[int, int]]
) -> None:
    err = ""
    if "c_scan" in target:
        err = (
            "kernprof: 1 -p target cannot be imported: ['json.decoder.c_scanstring']"
            " (no Python code in it)\n"
        )
    assert profiled("-p", target, "x.py", cwd=folder, err=err)[1] == hits
    write(folder, "empty.py", "")
    words = ("-p", target, "empty.py")
    never = profiled(*words, cwd=folder, err=err)[1]
    assert never == {key: {} for key in hits}


@pytest.mark.parametrize(
    ("text", "target", "names"),
    [
        ("from pkg import shapes", "pkg.shapes", ["area", "square", "side"]),
        ("import pkg.shapes as s", "pkg.shapes", ["area", "square", "side"]),
        ("import pkg.deep.inner", "pkg", ["twice"]),
        ("import pkg.deep.inner", "pkg.shapes", []),
        ("from pkg.shapes import area", "pkg.shapes", ["area"]),
        ("from pkg.shapes import area as a, Box", "pkg.shapes", ["area", "side"]),
        ("from pkg.shapes import area", "pkg.shapes.Box", []),
        ("from pkg.shapes import Box", "pkg.shapes.Box.side", ["side"]),
        ("import pkg.shapes", "pkg.shapes.Box", ["side"]),
        ("import pkg.shapes", "pkg.tools", []),
        ("from pkg.shapes import *", "pkg.shapes", ["square", "area", "side"]),
        ("from pkg.shapes import *", "pkg.shapes.Box", ["side"]),
        ("import pkg.shapes", "pkg.__init__", []),
        ("from pkg import shapes, area", "pkg.__init__", ["area"]),
        ("import pkg.deep.inner", "pkg.__init__", []),
        ("if 1:\n try: from pkg.tools import unused\n finally: 0", "pkg", ["unused"]),
        ("def f():\n import pkg.tools\nf()", "pkg.tools", ["square", "unused"]),
        ("def f():\n import pkg.tools", "pkg.tools", []),
        ("import sys; from os import path", "os", None),
        ("import none.none", "none", []),
        ("pass", "pkg", []),
    ],
)
def test_without_preimports_only_imports_of_the_script_are_profiled(
    folder: Path, text: str, target: str, names: list[str] | None
) -> None:
    write(
        folder,
        "y.py",
        f"try:\n {text.replace(chr(10), chr(10) + ' ')}\nexcept ImportError: pass\n",
    )
    _, hits = profiled("--no-preimports", "-p", target, "y.py", cwd=folder)
    found = [key.rpartition(" ")[2] for key in hits]
    if names is None:
        assert "join" in found
    else:
        assert sorted(found) == sorted(names)


@pytest.mark.smoke
def test_calls_count_after_the_end_of_the_import(folder: Path) -> None:
    text = """\
        import sys
        def f():
            return 1
        f()
        """
    write(folder, "early.py", text)
    write(folder, "y.py", "import early\nearly.f()\n")
    for flag in ("--preimports", "--no-preimports"):
        _, hits = profiled(flag, "-p", "early", "y.py", cwd=folder)
        assert hits == {"early.py:2 f": {3: 1}}


@pytest.mark.smoke
def test_relative_imports_of_a_module_run_with_m(folder: Path) -> None:
    words = ("--no-preimports", "-p", "pkg.shapes,pkg.deep", "-m", "pkg")
    _, hits = profiled(*words, cwd=folder)
    assert hits == {**SHAPES, "inner.py:1 twice": {2: 1}}


def test_prof_imports_profiles_the_imports_of_a_script(folder: Path) -> None:
    write(folder, "helper.py", "def h():\n    return 1\n")
    text = """\
        import helper, sys
        from pkg.shapes import area
        def f():
            return area(2) + helper.h()
        f()
        """
    write(folder, "y.py", text)
    own = {"y.py:3 f": {4: 1}}
    rest = {"helper.py:1 h": {2: 1}, "shapes.py:3 area": {4: 1}}
    for flag in ("--preimports", "--no-preimports"):
        words = ("--prof-imports", flag, "-p", "y.py", "y.py")
        _, hits = profiled(*words, cwd=folder)
        assert hits == {**own, **rest}
    _, hits = profiled("--prof-imports", "-p", "pkg.deep", "y.py", cwd=folder)
    assert hits == {"inner.py:1 twice": {}}, "the script was not named"
    _, hits = profiled("--prof-imports", "--no-whole", "y.py", cwd=folder)
    assert hits == {}
    words = ("--prof-imports", "--no-whole", "-c", "import helper; helper.h()")
    _, hits = profiled(*words, cwd=folder)
    assert hits == {"helper.py:1 h": {2: 1}}


KINDS = """\
import contextlib, dataclasses, functools, collections, enum

def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper

@logged
def wrapped(): return 1

@contextlib.contextmanager
def managed(): yield 1

@functools.lru_cache()
def cached(): return 1

@functools.singledispatch
def chosen(x): return 1

@chosen.register(int)
def _(x): return 2

def base(x): return x

part = functools.partial(base, 1)

@dataclasses.dataclass
class Data:
    x: int = 1
    def own(self): return 1
    @property
    def prop(self): return 1
    @prop.setter
    def prop(self, value): return None
    @functools.cached_property
    def lazy(self): return 1
    @classmethod
    def made(cls): return 1
    @staticmethod
    def still(): return 1
    method = functools.partialmethod(base)
    @functools.singledispatchmethod
    def kind(self, x): return 1
    @kind.register(int)
    def _(self, x): return 2
    async def later(self): return 1
    def many(self): yield 1
    class Inner:
        def deep(self): return 1

class Meta(type):
    @property
    def __dict__(cls): 1 / 0

class Odd:
    __class__ = property(lambda self: 1 / 0)
    def __getattr__(self, name): 1 / 0
    def __call__(self): return 1

odd = Odd()
Pair = collections.namedtuple('Pair', 'a b')
Colour = enum.Enum('Colour', 'RED')
"""
EVERY = {
    "wrapper": 5,
    "wrapped": 9,
    "managed": 12,
    "cached": 15,
    "chosen": 18,
    "_": 21,
    "base": 24,
    "own": 31,
    "prop": 32,
    "lazy": 36,
    "made": 38,
    "still": 40,
    "kind": 43,
    "later": 47,
    "many": 48,
    "deep": 50,
}


LAZY = """\
def __getattr__(name):
    if name == "lazy":
        from .deep.inner import lazy
        return lazy
    raise AttributeError(name)
"""


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "x.py", "--prof-imports"],
        ["--no-preimports", "-p", "late"],
        ["--no-preimports", "-p", "late.lazy"],
    ],
)
@pytest.mark.parametrize("first", ["", "import late.deep.inner\n"])
def test_lazy_attributes_of_a_package_are_profiled(
    folder: Path, words: list[str], first: str
) -> None:
    write(folder, "late/__init__.py", LAZY)
    write(folder, "late/deep/__init__.py", LAZY.replace("deep.", ""))
    write(folder, "late/deep/inner.py", "def lazy():\n    return 1\ndef other(): 1\n")
    write(folder, "x.py", f"{first}from late import lazy\nlazy()\n")
    _, hits = profiled(*words, "x.py", cwd=folder)
    assert hits["inner.py:1 lazy"] == {2: 1}


def test_every_kind_of_member_is_found(folder: Path) -> None:
    write(folder, "kinds.py", KINDS)
    names = {
        "kinds": {
            *("logged", "wrapper", "wrapped", "managed", "cached", "chosen", "_"),
            *(
                "base",
                "own",
                "prop",
                "lazy",
                "made",
                "still",
                "kind",
                "later",
                "many",
                "deep",
            ),
            *("__dict__", "__getattr__", "__call__", "<lambda>"),
        },
        "kinds.Data": {
            *("own", "prop", "lazy", "made", "still", "base", "kind", "_", "later"),
            *("many", "deep"),
        },
        "kinds.wrapped": {"wrapper", "wrapped"},
        "kinds.managed": {"managed"},
        "kinds.cached": {"cached"},
        "kinds.chosen": {"chosen", "_"},
        "kinds.part": {"base"},
        "kinds.odd": {"__call__"},
        "kinds.Data.prop": {"prop"},
        "kinds.Data.lazy": {"lazy"},
        "kinds.Data.made": {"made"},
        "kinds.Data.still": {"still"},
        "kinds.Data.method": {"base"},
        "kinds.Data.kind": {"kind", "_"},
        "kinds.Data.Inner": {"deep"},
    }
    for target, expected in names.items():
        _, hits = profiled("-p", target, "x.py", cwd=folder)
        assert {key.split()[1] for key in hits} == expected, target


def test_wrappers_from_the_same_package_are_profiled(folder: Path) -> None:
    write(folder, "pkg/wrap.py", KINDS[: KINDS.index("@logged")])
    text = """\
        import functools, atexit
        from pkg.wrap import logged

        @logged
        @functools.lru_cache()
        def own():
            return 1
        """
    write(folder, "pkg/user.py", text)
    write(folder, "user.py", text)
    for target, names in (
        ("pkg.user", {"own", "wrapper", "logged"}),
        ("pkg.user.own", {"own"}),
        ("user", {"own"}),
    ):
        _, hits = profiled("-p", target, "x.py", cwd=folder)
        assert {key.split()[1] for key in hits} == names


def test_functions_of_other_modules_are_left_out(folder: Path) -> None:
    write(folder, "a.py", "from b import f\nfrom os.path import join\nimport b\n")
    write(folder, "b.py", "def f():\n    return 1\n")
    assert profiled("-p", "a", "x.py", cwd=folder)[1] == {}
    assert profiled("-p", "a.f", "x.py", cwd=folder)[1] == {"b.py:1 f": {}}


NONE = "ModuleNotFoundError: No module named 'none'"
BAD = {
    "broken.py": "raise ValueError('first\\nsecond')\n",
    "leaves.py": "raise SystemExit(3)\n",
    "syntax.py": "def f(:\n",
    "needs.py": "import none\n",
}


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ("none", f"['none'] ({NONE})"),
        ("none.none", f"['none.none'] ({NONE})"),
        ("./none.py", "['./none.py'] (no such file)"),
        ("pkg.none", "['pkg.none'] (module 'pkg' has no attribute 'none')"),
        (
            "pkg.shapes.Box.none",
            "['pkg.shapes.Box.none'] (type object 'Box' has no attribute 'none')",
        ),
        ("broken", "['broken'] (ValueError: first second)"),
        ("leaves", "['leaves'] (SystemExit: 3)"),
        ("needs", f"['needs'] ({NONE})"),
        (
            "leaves,none",
            f"['leaves', 'none'] (leaves: SystemExit: 3; none: {NONE})",
        ),
        ("bad", "['bad.inside'] (ZeroDivisionError: division by zero)"),
        ("worse.needs", f"['worse.needs'] ({NONE})"),
        ("/dev/null", "['/dev/null'] (no folder of sys.path has it as a module)"),
    ],
)
def test_an_invalid_target_is_reported_in_one_line_and_the_program_runs(
    folder: Path, targets: str, said: str
) -> None:
    for name, text in {
        **BAD,
        "bad/__init__.py": "",
        "bad/inside.py": "1 / 0\n",
        "worse/__init__.py": "",
        "worse/needs.py": "import none\n",
    }.items():
        write(folder, name, text)
    write(folder, "x.py", f"{SCRIPT}print('ran')\n")
    count = said.count("', '") + 1
    err = f"kernprof: {count} -p target{'s' * (count > 1)} cannot be imported: {said}\n"
    words = ("-p", targets, "-p", "pkg.tools", "x.py")
    outcome, hits = profiled(*words, cwd=folder, err=err)
    assert (outcome.out, hits) == ("ran\n", TOOLS)
    write(folder, "y.py", "print('ran')\n")
    later, _ = profiled(
        *("--no-preimports", "-p", targets, "y.py"),
        cwd=folder,
        err=err if "/" in targets else "",
    )
    assert later.out == "ran\n"


def test_modules_of_a_package_that_cannot_be_imported_are_one_short_line(
    folder: Path,
) -> None:
    write(folder, "package/__init__.py", "")
    write(folder, "y.py", "")
    for name in ("bad", "worse", "worst"):
        write(folder, f"package/{name}.py", f"raise ImportError('{name} ' * 9)\n")
    words = ("-p", "package", "y.py")
    start = "kernprof: 3 -p targets cannot be imported: ['package.bad'"
    short = kernprof_forked("-lq", *words, cwd=folder).err.strip()
    assert short.startswith(f"{start}] (ImportError: bad bad")
    assert short.endswith(") and 2 more inside packages; -v names them")
    assert "\n" not in short
    full = kernprof_forked("-lv", *words, cwd=folder).err.strip()
    assert full.startswith(f"{start}, 'package.worse', 'package.worst'] (package.")


def test_a_syntax_error_in_a_target_is_reported_in_one_line(folder: Path) -> None:
    write(folder, "syntax.py", BAD["syntax.py"])
    outcome = kernprof_forked("-lq", "-p", "syntax", "x.py", cwd=folder)
    assert outcome.status == 0
    assert outcome.err.count("\n") == 1
    assert "['syntax'] (SyntaxError: " in outcome.err


def test_preimported_modules_have_the_programs_environment(folder: Path) -> None:
    look = """\
        import __main__, builtins, sys
        from lineprof import profile as explicit
        print(sys.argv, sys.path[0], hasattr(__main__, '__file__'))
        @profile
        def f():
            return 1
        @explicit
        def g():
            return 2
        f(), g()
        """
    write(folder, "first.py", look)
    write(folder, "y.py", "print('then')\n")
    outcome, hits = profiled("-p", "first", "y.py", "a", cwd=folder)
    assert outcome.out == f"['y.py', 'a'] {folder} True\nthen\n"
    assert hits == {"first.py:4 f": {6: 1}, "first.py:7 g": {9: 1}}


def test_imports_have_the_tracebacks_warnings_and_frames_of_python(
    folder: Path,
) -> None:
    """The module is a target, so that lineprof waits for its import."""
    text = """\
        import sys, traceback, warnings
        warnings.warn('for who imports', DeprecationWarning, stacklevel=2)
        def depth():
            frame, files = sys._getframe(1), []
            while frame:
                files.append(frame.f_code.co_filename)
                frame = frame.f_back
            return [f for f in files if not any(
                name in f for name in ('importlib', 'kernprof', 'runpy'))]
        print([f.rpartition('/')[2] for f in depth()])
        if 'again' in sys.argv:
            1 / 0
        """
    write(folder, "early.py", text)
    script = """\
        import sys, traceback
        for _ in range(2):
            try:
                import early
                from early import none
            except Exception:
                traceback.print_exc()
        sys.argv.remove('again')
        import early
        print(early.__spec__.loader.__dict__)
        """
    write(folder, "y.py", script)
    words = ("y.py", "again")
    plain = run(words, cwd=folder)
    ours = kernprof("-lq", "--no-preimports", "-p", "early", *words, cwd=folder)
    assert ours == plain
    assert plain.err.count("ZeroDivisionError") == 2
    assert plain.err.count("DeprecationWarning") == 2


def test_the_import_system_is_restored_afterwards(folder: Path) -> None:
    host = """\
        import kernprof, runpy, sys
        before = list(sys.meta_path), vars(runpy).copy(), sys.modules['__main__']
        for words in (["x.py"], ["-m", "pkg"], ["-m", "none"], ["-c", "pass"]):
            try:
                kernprof.main(["-lqp", "never.comes,pkg.shapes", "--no-preimports",
                               "--prof-imports", *words], exit_on_error=False)
            except kernprof.run_options.UsageError as error:
                print(error)
            after = list(sys.meta_path), vars(runpy).copy(), sys.modules['__main__']
            assert after == before
        """
    write(folder, "host.py", host)
    write(folder, "x.py", "import sys\nif len(sys.argv) > 9:\n    import never.comes\n")
    outcome = run(["host.py", "1"], cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")


def test_a_second_run_in_the_same_process_starts_from_zero(folder: Path) -> None:
    host = """\
        import kernprof
        for out in "first", "second":
            kernprof.main(["-lqp", "pkg.shapes,x.py", "-o", out, "x.py"])
        """
    write(folder, "host.py", host)
    assert run(["host.py"], cwd=folder).err == ""
    expected = {**SHAPES, "x.py:1 main": {2: 1, 3: 1}}
    assert hits(folder, "first") == hits(folder, "second") == expected


def test_modules_named_like_standard_ones_are_the_programs(folder: Path) -> None:
    names = ("dis", "opcode")
    for name in names:
        write(folder, f"{name}.py", "mine = True\ndef f():\n    return 1\n")
    text = "".join(f"import {name}\n{name}.mine, {name}.f()\n" for name in names)
    write(folder, "y.py", text)
    _, hits = profiled("-p", "y.py,dis", "--no-preimports", "y.py", cwd=folder)
    assert hits == {"dis.py:2 f": {3: 1}}


def test_a_package_in_a_zip(folder: Path) -> None:
    shutil.make_archive(str(folder / "packed"), "zip", folder, "pkg")
    shutil.rmtree(folder / "pkg")
    write(folder, "y.py", f"import sys\nsys.path.append('packed.zip')\n{SCRIPT}")
    path = os.pathsep.join([str(folder / "packed.zip"), *sys.path])
    for target in ("pkg", "pkg.deep", "pkg.tools.unused", "packed.zip/pkg"):
        words = ("-p", target, "y.py")
        if "/" in target:
            said = "['packed.zip/pkg'] (no such file)\n"
            err = f"kernprof: 1 -p target cannot be imported: {said}"
            profiled(*words, cwd=folder, err=err, env={"PYTHONPATH": path})
            continue
        _, hits = profiled(*words, cwd=folder, env={"PYTHONPATH": path})
        names = {key.split()[1] for key in hits}
        assert ("twice" in names) == (target in {"pkg", "pkg.deep"})
        assert ("unused" in names) == (target in {"pkg", "pkg.tools.unused"})


def test_calls_by_lineprof_do_not_count(folder: Path) -> None:
    text = "import os\ndef f():\n    return os.path.join('a', 'b')\nf()\n"
    write(folder, "y.py", text)
    words = ("-p", "os,posixpath,pkg,y.py", "y.py")
    _, hits = profiled(*words, cwd=folder)
    called = {key.rpartition(" ")[2] for key in hits if hits[key]}
    assert called <= {"f", "join", "_get_sep"}
    assert hits["y.py:2 f"] == {3: 1}
    [first] = [key for key in hits if key.endswith(" join")]
    assert min(hits[first].values()) == 1


def test_threads_and_a_package_in_the_current_folder(folder: Path) -> None:
    text = """\
        import threading
        from pkg.tools import square
        threads = [threading.Thread(target=square, args=(i,)) for i in range(20)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """
    write(folder, "scripts/z.py", text)
    environ = {"PYTHONPATH": str(folder)}
    path = environ["PYTHONPATH"] + ":" + ":".join(sys.path)
    for flag in ("--preimports", "--no-preimports"):
        words = (flag, "-p", "pkg/tools.py", "scripts/z.py")
        _, hits = profiled(*words, cwd=folder, env={"PYTHONPATH": path})
        assert hits["tools.py:1 square"] == {2: 20}


def test_a_thread_that_looks_for_a_module_meanwhile_misses_no_finder(
    folder: Path,
) -> None:
    text = """
        import sys
        from importlib.machinery import PathFinder
        finders = iter(sys.meta_path)  # as an import in another thread goes through
        before = sys.meta_path.index(PathFinder)
        for _ in range(before):
            next(finders)
        import pkg.tools
        print(next(finders))
        """
    write(folder, "z.py", text)
    words = ("-p", "pkg.tools", "--no-preimports", "z.py")
    outcome, _ = profiled(*words, cwd=folder)
    assert "PathFinder" in outcome.out
