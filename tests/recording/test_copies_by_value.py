"""Copies of functions by value, as packages make them to send functions on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import check_same, hits_in, kernprof_forked, write

from lineprof import LineProfiler, load_stats
from lineprof.recording.profiler import close

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hook")

# Ways to copy a function: by the parts of its code, with the file's name (dill, Ray) or
# without it (cloudpickle), or by marshal. The parts are plain values.
COPIES = """
import marshal, types
NAMES = (
    "argcount posonlyargcount kwonlyargcount nlocals stacksize flags code consts names"
    " varnames filename name qualname firstlineno linetable exceptiontable freevars"
    " cellvars"
).split()

def parts(code, file=None):
    found = {name: getattr(code, f"co_{name}") for name in NAMES}
    found["filename"] = file or code.co_filename
    found["consts"] = tuple([
        {"code": parts(one, file)} if isinstance(one, types.CodeType) else one
        for one in found["consts"]
    ])
    return found

def code_of(found):
    consts = tuple([
        code_of(one["code"]) if isinstance(one, dict) else one
        for one in found["consts"]
    ])
    return types.CodeType(*[{**found, "consts": consts}[name] for name in NAMES])

def dump(function, way):
    code, names = function.__code__, function.__globals__
    base = {"__name__": names["__name__"], "__file__": names.get("__file__")}
    if way == "marshal":
        return "marshal", marshal.dumps(code), base
    return "parts", parts(code, "<dynamic-code>" if way == "nameless" else None), base

def load(dumped):
    way, data, names = dumped
    code = marshal.loads(data) if way == "marshal" else code_of(data)
    return types.FunctionType(code, {"__builtins__": __builtins__, **names})
"""
WAYS = ["parts", "nameless", "marshal"]
WORK = """\
import sys
{decorator}
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total
"""
HITS = {1: 1, 2: 4, 3: 3, 4: 1}  # of work(3), its first line is 0
HERE = """\
if __name__ == "__main__":
    import copies
    {first}
    copied = copies.load(copies.dump(work, {way!r}))
    print(copied(3), copied.__code__ is work.__code__)
"""
CHILD = """
import pickle, sys, copies
print(copies.load(pickle.load(sys.stdin.buffer))(3))
"""
THERE = f"""\
if __name__ == "__main__":
    import copies, pickle, subprocess
    data = pickle.dumps(copies.dump(work, {{way!r}}))
    subprocess.run([sys.executable, {{flags}} "-c", {CHILD!r}], input=data, check=True)
"""
MODES = [("@profile", ()), ("", ("-p", "program.work")), ("", ())]
IDS = ["decorated", "named", "whole"]


def hits_of_work(profile: Path) -> dict[int, int]:
    """Return the hits of `work`, which is once in the profile; its first line is 0."""
    found = [one for one in load_stats(profile).functions if one.name == "work"]
    [function] = [one for one in found if one.rows or len(found) == 1]
    start = function.rows[0].line - 1 if function.rows else 0
    return {row.line - start: row.hits for row in function.rows}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("decorator", "flags"), MODES, ids=IDS)
def test_a_copy_in_the_same_process_counts_as_the_function(
    tmp_path: Path, way: str, decorator: str, flags: tuple[str, ...]
) -> None:
    write(tmp_path, "copies.py", COPIES)
    # That the original ran before makes no difference, nor that it did not.
    for first, times in (("pass", 1), ("work(3)", 2)):
        text = WORK.format(decorator=decorator) + HERE.format(first=first, way=way)
        write(tmp_path, "program.py", text)
        outcome = kernprof_forked("-l", *flags, "program.py", cwd=tmp_path)
        assert (outcome.status, "never called" in outcome.err) == (0, False)
        assert outcome.out.startswith("3 False\n")
        hits = {line: count * times for line, count in HITS.items()}
        assert hits_of_work(tmp_path / "program.lprof") == hits


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("decorator", "flags"), MODES, ids=IDS)
def test_a_copy_in_a_child_counts_as_the_function(
    tmp_path: Path, way: str, decorator: str, flags: tuple[str, ...]
) -> None:
    write(tmp_path, "copies.py", COPIES)
    text = WORK.format(decorator=decorator) + THERE.format(way=way, flags="")
    write(tmp_path, "program.py", text)
    outcome = kernprof_forked("-l", *flags, "program.py", cwd=tmp_path)
    assert (outcome.status, "never called" in outcome.err) == (0, False)
    assert outcome.out.startswith("3\n")
    assert hits_of_work(tmp_path / "program.lprof") == HITS


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_a_decorated_function_runs_where_lineprof_is_not(
    tmp_path: Path, way: str
) -> None:
    write(tmp_path, "copies.py", COPIES)
    text = WORK.format(decorator="@profile") + THERE.format(way=way, flags='"-S",')
    write(tmp_path, "program.py", text)
    outcome = kernprof_forked("-lq", "program.py", cwd=tmp_path)
    assert (outcome.status, outcome.out) == (0, "3\n")


def test_a_function_is_not_said_to_be_uncalled_if_its_copy_ran_unmeasured(
    tmp_path: Path,
) -> None:
    write(tmp_path, "copies.py", COPIES)
    text = WORK.format(decorator="@profile") + THERE.format(way="parts", flags="")
    write(tmp_path, "program.py", text)
    outcome = kernprof_forked("-l", "--no-children", "program.py", cwd=tmp_path)
    said = "the profile is empty: no call of the one function registered was counted"
    assert said in outcome.err
    assert "1 child process was started and not measured" in outcome.err


@pytest.mark.parametrize("change", ["co_name='g'", "co_qualname='g'"])
@pytest.mark.parametrize("decorator", ["@profile", ""])
def test_a_copy_by_replace_counts_under_its_qualified_name(
    tmp_path: Path, change: str, decorator: str
) -> None:
    text = WORK.format(decorator=decorator)
    text += "import types\n"
    text += f"code = work.__code__.replace({change})\n"
    text += "print(types.FunctionType(code, globals())(3))\n"
    write(tmp_path, "program.py", text)
    assert kernprof_forked("-lq", "program.py", cwd=tmp_path).status == 0
    hits = hits_in(tmp_path / "program.lprof")
    name = "g" if "qual" in change else "work"
    assert [*hits[name].values()] == [*HITS.values()]


def test_code_that_a_tool_makes_of_a_function_is_no_copy() -> None:
    profiler = LineProfiler()

    @profiler
    def f(x: int) -> int:
        return x

    def g(x: int) -> int:
        y = x + 1
        return y  # noqa: RET504  # two lines

    code = g.__code__.replace(
        co_consts=(*g.__code__.co_consts, f.__code__.co_consts[-1]),
        co_firstlineno=f.__code__.co_firstlineno,
        co_qualname=f.__code__.co_qualname,
        co_filename=f.__code__.co_filename,
    )
    f.__code__ = code  # as a compiler of the program's would
    assert f(1) == 2
    assert not any(function.rows for function in profiler.get_stats().functions)


def test_a_copy_of_a_registered_function_counts_while_the_profiler_is_enabled() -> None:
    def f(x: int) -> int:
        return x

    profiler = LineProfiler()
    profiler.add_function(f)
    code = f.__code__
    names = {"__name__": __name__}
    copy = type(f)(code.replace(co_filename="<dynamic-code>"), names)
    copy(1)
    with profiler:
        copy(1)
        f(1)
    [function] = profiler.get_stats().functions
    assert [row.hits for row in function.rows] == [2]
    assert function.file == code.co_filename


def test_a_copy_counts_beside_a_profiler_that_has_ended() -> None:
    def f(x: int) -> int:
        return x

    ended, profiler = LineProfiler(f), LineProfiler()
    close(ended)
    copy = type(f)(profiler(f).__code__.replace(), {})
    copy(1)
    [function] = profiler.get_stats().functions
    assert [row.hits for row in function.rows] == [1]


def test_copies_that_come_and_go_take_no_room() -> None:
    profiler = LineProfiler()

    @profiler
    def f(x: int) -> int:
        return x

    for _ in range(1000):
        copy = type(f)(f.__code__.replace(co_filename="<dynamic-code>"), {})
        copy(1)
    [function] = profiler.get_stats().functions
    assert [row.hits for row in function.rows] == [1000]


def test_a_nameless_copy_of_generated_code_is_not_taken_for_the_files(
    tmp_path: Path,
) -> None:
    program = """\
        def f(x):
            y = x
            return y
        text = "def f(x):\\n    return x\\n"
        names = {}
        exec(compile(text, "<made>", "exec"), names)
        import types
        code = names["f"].__code__.replace(co_filename="<dynamic-code>")
        print(types.FunctionType(code, {"__file__": __file__})(1))
        """
    write(tmp_path, "program.py", program)
    assert kernprof_forked("-lq", "--whole", "program.py", cwd=tmp_path).status == 0
    assert "f" not in hits_in(tmp_path / "program.lprof")


def test_programs_see_the_same_functions_and_copies(tmp_path: Path) -> None:
    write(tmp_path, "copies.py", COPIES)
    program = """\
        import builtins, copies, inspect
        if not hasattr(builtins, "profile"):
            builtins.profile = lambda function: function
        @profile
        def f(x, *, y=2):
            "Its text."
            return x + y
        @profile
        def g(): return 3
        for way in ("parts", "nameless", "marshal"):
            for one in (f, g):
                copy = copies.load(copies.dump(one, way))
                print(copy.__doc__, copy.__name__, inspect.getsource(one))
        """
    check_same(write(tmp_path, "program.py", program), cwd=tmp_path)


def test_a_mark_is_no_documentation() -> None:
    profiler = LineProfiler()

    def f(x: object) -> object:
        return x

    f.__code__ = f.__code__.replace(co_consts=())
    code = profiler(f).__code__
    assert type(f)(code, {}).__doc__ is None
