"""Programs with decorators: only decorated functions are profiled, even late ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked, write
from whole_program import calls, names, profiled, summary

from kernprof.selection import decorates, may_decorate

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = "def f(): return 1\ndef g(): return f()\ng()\n"
DECORATED = {
    "a decorator": "@profile\ndef h(): return f()\nh()",
    "a call": "h = profile(f)\nh()",
    "a method": "class C:\n    @profile\n    def h(self): return 1\nC().h()",
    "in a function": "def main():\n    global h\n    h = profile(f)\n    h()\nmain()",
    "add_function": "profile.add_function(f)\nwith profile:\n    f()",
    "in another module": "import decorated\ndecorated.h()",
    "lineprof's own": "from lineprof import profile\n@profile\ndef h(): pass\nh()",
    "in a thread": "import threading\nt = threading.Thread(target=lambda: profile(f)())"
    "\nt.start()\nt.join()",
    "in a generator": "def gen():\n    yield\n    profile(f)()\n    yield\nlist(gen())",
    "with a default": "try:\n    profile\nexcept NameError:\n    profile = None\n"
    "@profile\ndef h(): return f()\nh()",
}


@pytest.mark.parametrize("text", DECORATED.values(), ids=DECORATED)
def test_only_decorated_functions_are_reported(tmp_path: Path, text: str) -> None:
    write(tmp_path, "decorated.py", "@profile\ndef h(): return 1\n")
    write(tmp_path, "x.py", f"{BEGIN}{text}\ng()\n")
    _, stats = profiled("x.py", cwd=tmp_path, err="")
    counted = calls(stats)
    assert len(counted) == 1
    [(name, times)] = counted.items()
    assert name.rpartition(":")[2] in {"f", "h"}
    # Calls before the decoration are not counted; add_function counts all later ones.
    assert times in {1, 2}


@pytest.mark.parametrize("text", DECORATED.values(), ids=DECORATED)
def test_with_whole_all_functions_are_reported(tmp_path: Path, text: str) -> None:
    write(tmp_path, "decorated.py", "@profile\ndef h(): return 1\n")
    write(tmp_path, "x.py", f"{BEGIN}{text}\ng()\n")
    outcome = kernprof_forked("-lv", "--whole", "x.py", cwd=tmp_path)
    assert outcome.status == 0
    assert outcome.err.startswith("kernprof: profiled ")
    for name in ("<module>", "f", "g"):
        assert f"Function: {name} at line" in outcome.out


@pytest.mark.smoke
def test_a_block_counts_as_a_decorator(tmp_path: Path) -> None:
    write(tmp_path, "x.py", f"{BEGIN}with profile.block('one'):\n    g()\n")
    assert names(profiled("x.py", cwd=tmp_path, err="")[1]) == ["x.py:one"]


def test_a_lineprofiler_of_the_program_turns_whole_program_profiling_off(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "x.py",
        f"{BEGIN}from lineprof import LineProfiler\np = LineProfiler()\np(f)()\n"
        "print([one.calls for one in p.get_stats().functions])\n",
    )
    why = (
        "kernprof: the profile is empty: the program has a LineProfiler of its own;"
        " --whole profiles all that the program runs\n"
    )
    outcome, stats = profiled("x.py", cwd=tmp_path, err=why)
    assert (outcome.out.splitlines()[0], names(stats)) == ("[1]", [])


def test_a_lineprofiler_from_line_profiler_turns_it_off(tmp_path: Path) -> None:
    write(tmp_path, "line_profiler.py", "class LineProfiler:\n    pass\n")
    program = "def main():\n    from line_profiler import LineProfiler\nmain()\n"
    write(tmp_path, "x.py", BEGIN + program)
    _, stats = profiled("x.py", cwd=tmp_path)
    assert names(stats) == []


@pytest.mark.parametrize(
    "text",
    [
        "'profile'",
        "# @profile",
        '"""\n@profile\n"""',
        "import cProfile\ncProfile.Profile().profile = 1",
        "def profile(f): return f\n@profile\ndef h(): pass\nh()",
        "class Settings:\n    profile = 1\nSettings.profile",
        "if 'profile' in dir(__builtins__): pass",
        "if not g():\n    @profile\n    def h(): pass",
        "def never():\n    profile(f)",
        "import lineprof\nlineprof.LineProfiler",
        "from lineprof import profile",
    ],
)
def test_the_name_profile_alone_changes_nothing(tmp_path: Path, text: str) -> None:
    write(tmp_path, "x.py", f"{BEGIN}{text}\n")
    found = names(profiled("x.py", cwd=tmp_path)[1])
    assert {"x.py:<module>", "x.py:f", "x.py:g"} <= set(found)


def test_decorators_at_the_top_level_are_found_in_the_code(tmp_path: Path) -> None:
    def certain(text: str) -> bool:
        write(tmp_path, "x.py", text)
        return decorates(compile(text, str(tmp_path / "x.py"), "exec"))

    assert certain("@profile\ndef f(): pass\n")
    assert certain("class A:\n  pass\n@profile  # this one\nclass B:\n  pass\n")
    many = "".join(f"x{i} = {i}\n" for i in range(300))
    assert certain(f"{many}@profile\ndef f(): pass\n")
    assert not certain("def f():\n    @profile\n    def g(): pass\n")
    assert not certain("class A:\n    @profile\n    def g(self): pass\n")
    assert not certain("if f: profile = id\n@profile\ndef f(): pass\n")
    assert not certain("if f: profile(f)\n")
    assert not certain("x.profile\ny = '''\n@profile\n'''\n")
    assert not certain("f = profile(f)\n")
    code = compile("@profile\ndef f(): pass\n", "<string>", "exec")
    assert not decorates(code)
    assert may_decorate(code)
    assert may_decorate(compile("def f():\n x.LineProfiler()", "", "exec"))
    assert not may_decorate(compile("def f(): 'profile'", "", "exec"))


@pytest.mark.parametrize("words", [["-c"], ["-"]])
def test_code_without_a_file_is_profiled_with_decorated_functions(
    tmp_path: Path, words: list[str]
) -> None:
    text = "import m\ndef f():\n    return m.h()\nf()\n"
    write(tmp_path, "m.py", "@profile\ndef h(): return 1\ndef k(): return 1\nk()\n")
    words = [*words, text] if words == ["-c"] else words
    _, stats = profiled(*words, cwd=tmp_path, text=text)
    assert [name.rpartition(":")[2] for name in names(stats)] == ["f", "h"]
    own = text.replace("def f", "@profile\ndef f")
    words = [*words[:-1], own] if "-c" in words else words
    _, stats = profiled(*words, cwd=tmp_path, text=own)
    assert [name.rpartition(":")[2] for name in names(stats)] == ["f", "h"]


@pytest.mark.smoke
def test_no_whole_and_p_profile_only_the_functions_they_name(tmp_path: Path) -> None:
    write(tmp_path, "x.py", BEGIN)
    empty = (
        "kernprof: the profile is empty: no function was registered; put @profile"
        " above a function or give it to add_function\n"
    )
    _, stats = profiled("--no-whole", "x.py", cwd=tmp_path, err=empty)
    assert names(stats) == []
    _, stats = profiled("-p", "x.py", "x.py", cwd=tmp_path, err="")
    assert names(stats) == ["x.py:f", "x.py:g"]
    _, stats = profiled("-p", "os", "-p", "", "x.py", cwd=tmp_path, err=empty)
    assert names(stats) == []
    _, stats = profiled("-p", "json.loads", "--whole", "x.py", cwd=tmp_path)
    assert "x.py:<module>" in names(stats)


def test_ignored_flags_are_reported(tmp_path: Path) -> None:
    write(tmp_path, "x.py", f"@profile\n{BEGIN}")
    why = (
        "kernprof: --all --exclude were ignored because the program uses @profile;"
        " add --whole\n"
    )
    _, stats = profiled("--all", "--exclude", "x", "x.py", cwd=tmp_path, err=why)
    assert names(stats) == ["x.py:f"]


def test_a_profile_decorator_in_a_setup_file_counts(tmp_path: Path) -> None:
    write(tmp_path, "first.py", "import m\n")
    write(tmp_path, "m.py", "@profile\ndef h(): return 1\n")
    write(tmp_path, "x.py", "import m\nm.h()\n")
    assert names(profiled("-s", "first.py", "x.py", cwd=tmp_path)[1]) == ["m.py:h"]
    write(tmp_path, "m.py", "def h(): return 1\n")
    _, stats = profiled("-s", "first.py", "x.py", cwd=tmp_path, err=summary(2, 2))
    assert names(stats) == ["m.py:h", "x.py:<module>"]
