"""%lprun in a shell of IPython: its counts, output and files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from as_python import run, write
from ipython_shell import cells, lines, needs_ipython
from memory_numbers import BLOCK
from memory_program import ON_LINUX

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_ipython

FUNCTION = """
def double(values):
    out = []
    for value in values:
        out.append(2 * value)
    return out
"""


@pytest.mark.smoke
def test_a_function_of_a_cell_is_shown_with_its_source(tmp_path: Path) -> None:
    out = cells(FUNCTION, "%lprun -f double double(range(3))", cwd=tmp_path)
    assert lines(out) == {
        "def double(values):": "",
        "    out = []": "1",
        "    for value in values:": "4",
        "        out.append(2 * value)": "3",
        "    return out": "1",
    }


def test_a_function_of_a_module_is_shown_with_its_source(tmp_path: Path) -> None:
    write(tmp_path, "mine.py", FUNCTION)
    out = cells("import mine", "%lprun -f mine.double mine.double([1])", cwd=tmp_path)
    assert lines(out)["        out.append(2 * value)"] == "1"


@pytest.mark.smoke
def test_each_named_function_and_method_counts(tmp_path: Path) -> None:
    program = """
    class Box:
        def area(self):
            return 4
    def show(box):
        return box.area()
    """
    out = cells(program, "%lprun -f Box.area -f show show(Box())", cwd=tmp_path)
    assert (lines(out)["        return 4"], lines(out)["    return box.area()"]) == (
        "1",
        "1",
    )


def test_all_functions_of_a_module_count(tmp_path: Path) -> None:
    write(tmp_path, "mine.py", FUNCTION + "\ndef never():\n    return 0\n")
    program = "%lprun -m mine mine.double([1])"
    out = cells("import mine", program, cwd=tmp_path)
    assert lines(out)["    return out"] == "1"
    assert "Function: never" in out
    skipped = cells("import mine", f"{program[:7]}-z {program[7:]}", cwd=tmp_path)
    assert "Function: never" not in skipped


@pytest.mark.parametrize("flag", ["-s", "-z"])
def test_functions_that_never_ran_can_be_left_out(flag: str, tmp_path: Path) -> None:
    out = cells(FUNCTION, f"%lprun {flag} -f double 1 + 1", cwd=tmp_path)
    assert out.strip() == "Timer unit: 1e-09 s"


def test_the_unit_of_the_table_can_be_chosen(tmp_path: Path) -> None:
    out = cells(FUNCTION, "%lprun -u 1e-3 -f double double([])", cwd=tmp_path)
    assert out.startswith("Timer unit: 0.001 s\n")


REFUSED = {
    "-f nope 1": "UsageError: Could not find function nope.\nNameError: ",
    "-m nope 1": "UsageError: Could not find module nope.\nModuleNotFoundError: ",
    "-q 1": 'UsageError: option -q not recognized (allowed: "rszf:m:D:T:u:")',
    "-f": "UsageError: option -f requires argument (allowed: ",
    "-u x 1": "TypeError: Timer unit setting must be a float.",
    "-u 0 1": "UsageError: the timer unit must be above 0, not 0",
    "double(": "SyntaxError: ",
    "1": "*** No function was profiled; name some with -f, or a module with -m.",
    "-D no/p.lprof -f double 1": "UsageError: cannot write",
}


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the output of each line of REFUSED, run in one shell."""
    programs = [FUNCTION]
    for line in REFUSED:
        programs += ["print('@@@')", f"%lprun {line}"]
    out = cells(*programs, cwd=tmp_path_factory.mktemp("refused"))
    return dict(zip(REFUSED, out.split("@@@\n")[1:]))


@pytest.mark.parametrize("line", REFUSED)
def test_invalid_lines_are_refused_with_a_message(
    line: str, refusals: dict[str, str]
) -> None:
    assert REFUSED[line] in refusals[line]


def test_a_c_function_is_left_out_with_a_warning(tmp_path: Path) -> None:
    out = cells(FUNCTION, "%lprun -f len -f double double([1])", cwd=tmp_path)
    assert lines(out)["    return out"] == "1"
    assert "UserWarning: " in out


@pytest.mark.parametrize("kind", ["SystemExit", "KeyboardInterrupt"])
def test_a_statement_that_exits_or_is_interrupted_shows_its_table(
    kind: str, tmp_path: Path
) -> None:
    program = f"def end():\n    raise {kind}"
    out = cells(program, "%lprun -f end end()", "print('on')", cwd=tmp_path)
    assert lines(out)[f"    raise {kind}"] == "1"
    assert f"\n*** {kind} exception caught in code being profiled.\non\n" in out


def test_an_exception_propagates_to_the_user(tmp_path: Path) -> None:
    program = "def fail():\n    raise ValueError('mine')"
    out = cells(program, "%lprun -f fail fail()", cwd=tmp_path)
    assert out.rstrip().endswith("ValueError: mine")
    assert "Timer unit" not in out
    assert "magics.py" not in out, "frames of lineprof are hidden"


def test_the_statement_runs_unchanged(tmp_path: Path) -> None:
    out = cells(
        "def show(*what): print(what)",
        """%lprun -f show show("a  b", 'it\\'s', "\\n", not_here := 3)""",
        "not_here",
        cwd=tmp_path,
    )
    assert "('a  b', \"it's\", '\\n', 3)\n" in out
    assert out.rstrip().endswith(": 3")


def test_a_statement_can_be_a_magic(tmp_path: Path) -> None:
    write(tmp_path, "script.py", "double([1])")
    program = "%lprun -f double %run -i script.py"
    assert lines(cells(FUNCTION, program, cwd=tmp_path))["    return out"] == "1"


def test_decorated_functions_count_only_under_the_profiler(tmp_path: Path) -> None:
    write(tmp_path, "mine.py", "@profile\ndef f():\n    return 1\n")
    out = cells(
        "%lprun import mine; mine.f()",
        "profile",
        "import builtins; builtins.profile = 5",
        "%lprun 1",
        "print('profile is', profile)",
        cwd=tmp_path,
    )
    assert lines(out)["    return 1"] == "1"
    assert "NameError: name 'profile' is not defined" in out
    assert "profile is 5" in out


def test_the_profiler_is_returned_if_asked_for(tmp_path: Path) -> None:
    out = cells(
        FUNCTION,
        "p = %lprun -r -f double double([1])",
        "n = %lprun -f double double([1])",
        "from lineprof import LineProfiler",
        "print(isinstance(p, LineProfiler), n, [f.__name__ for f in p.functions])",
        "print(sum(t[1] for t in list(p.get_stats().timings.values())[0]))",
        cwd=tmp_path,
    )
    assert out.endswith("True None ['double']\n5\n")


def test_the_files_have_the_shown_table(tmp_path: Path) -> None:
    line = "%lprun -D 'a b.lprof' -T out.txt -f double double([1])"
    out = cells(FUNCTION, line, cwd=tmp_path)
    table, *said = re.split(r"\n\n\*\*\* ", out.rstrip())
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == f"{table}\n"
    assert said == [
        "Profile stats saved to file 'a b.lprof'.",
        "Profile printout saved to text file 'out.txt'.",
    ]
    (source,) = load_stats(tmp_path / "a b.lprof").sources.values()
    assert source.text == FUNCTION.lstrip()


def test_a_profile_shows_the_executed_text_after_the_cell_is_edited(
    tmp_path: Path,
) -> None:
    out = cells(
        FUNCTION,
        "p = %lprun -r -f double double([1])",
        FUNCTION.replace("2 *", "3 *"),
        "q = %lprun -r -f double double([1])",
        "import linecache; linecache.cache.clear()",
        "print('----'); p.print_stats(); print('----'); q.print_stats()",
        cwd=tmp_path,
    )
    _, first, second = out.split("----")
    assert lines(first)["        out.append(2 * value)"] == "1"
    assert lines(second)["        out.append(3 * value)"] == "1"


@pytest.mark.parametrize("file", ["<generated 1>", "/no/xpython_7/f.py"])
def test_source_known_only_to_linecache_is_shown(file: str, tmp_path: Path) -> None:
    program = f"""
    import linecache
    text = "def f():\\n    return 1\\n"
    linecache.cache[{file!r}] = (len(text), None, text.splitlines(True), {file!r})
    exec(compile(text, {file!r}, "exec"))
    """
    out = cells(program, "%lprun -f f f()", cwd=tmp_path)
    assert lines(out)["    return 1"] == "1"


LOADED = """
from __future__ import annotations

def same(values):
    # twice each
    return [
        2 * value
        for value in values
    ]

class Box:
    def area(self, side: int) -> int:
        '''Give the area.

        Of a square.
        '''

        total = 0
        for _ in range(side):
            total += side

        return total

    @staticmethod
    def zero():
        return 0
"""
EDIT = """
text = open("mine.py").read().replace("total = 0", "total = 10 - 10")
text = text.replace("return 0", "return 0.0")
open("mine.py", "w").write("# more\\n" + text)
"""


def test_edited_methods_are_shown_with_their_own_lines(tmp_path: Path) -> None:
    write(tmp_path, "mine.py", LOADED)
    out = cells(
        "%load_ext autoreload",
        "%autoreload 2",
        "import mine",
        EDIT,
        "mine",
        "%lprun -m mine print(mine.Box().area(3), mine.Box.zero(), mine.same([4]))",
        cwd=tmp_path,
    )
    assert "9 0.0 [8]" in out
    shown = lines(out)
    assert shown["        total = 10 - 10"] == "1"
    assert shown["            total += side"] == "3"
    assert shown["        return total"] == "1"
    assert shown["        return 0.0"] == "1"
    assert shown["    return ["] == "1"


def test_a_reloaded_module_shows_its_new_text(tmp_path: Path) -> None:
    write(tmp_path, "mine.py", FUNCTION)
    edit = """
    text = open("mine.py").read().replace("2 *", "30 *")
    open("mine.py", "w").write("\\n\\n" + text)
    """
    out = cells(
        "%load_ext autoreload",
        "%autoreload 2",
        "import mine",
        "p = %lprun -r -f mine.double mine.double([1])",
        edit,
        "mine",
        "%lprun -f mine.double print(mine.double([1]))",
        "print('----'); p.print_stats()",
        cwd=tmp_path,
    )
    now, before = out.split("----")
    assert "[30]" in now
    assert lines(now)["        out.append(30 * value)"] == "1"
    assert lines(before)["        out.append(2 * value)"] == "1"


def test_nothing_is_left_when_the_extension_is_unloaded(tmp_path: Path) -> None:
    program = """
    ip = get_ipython()
    print(len(ip.input_transformers_post), "lprun" in ip.magics_manager.magics["line"])
    """
    out = cells(
        program,
        "%reload_ext lineprof",
        program,
        "%unload_ext lineprof",
        program,
        cwd=tmp_path,
    )
    assert out.splitlines() == ["1 True", "1 True", "0 False"]


def test_importing_lineprof_does_not_import_ipython(tmp_path: Path) -> None:
    program = (
        "import sys, lineprof, lineprof.ipython; lineprof.load_ipython_extension;"
        " print('IPython' in sys.modules)"
    )
    assert run(["-c", program], cwd=tmp_path).out == "False\n"


KEEP = """
def keep(kept):
    for place in range(len(kept)):
        kept[place] = bytes(1000)
"""
SHOW = """
from memory_numbers import own_memory
own = own_memory(profiler.get_stats(), "keep")
print(own[2].allocs, own[2].live_bytes, sum(one.allocs for one in own.values()) < 200)
"""


@ON_LINUX
@pytest.mark.parametrize("option", ["--memory", "--memory-sample 0"])
def test_the_memory_of_a_function_is_in_the_profiler(
    option: str, tmp_path: Path
) -> None:
    out = cells(
        KEEP,
        "KEPT = [None] * 100",
        f"profiler = %lprun -r {option} -f keep keep(KEPT)",
        SHOW,
        f"profiler = %lprun -r {option} -f keep keep(KEPT)",  # again
        SHOW,
        cwd=tmp_path,
    )
    assert out.count(f"100 {100 * BLOCK} True") == 2


@ON_LINUX
def test_a_cell_has_memory(tmp_path: Path) -> None:
    show = """
    from lineprof.model.host_memory import memory_of_lines
    [lines] = memory_of_lines(profiler.get_stats().memory, alone=True).values()
    print({line: one.live_bytes for line, one in lines.items() if one.allocs})
    """
    cell = "%%lprun_all -r --memory\nkept = bytes(1000)\nother = 1"
    out = cells(cell, "profiler = _", show, cwd=tmp_path)
    assert f": {BLOCK}" in out


def test_a_bad_size_is_an_error_of_usage(tmp_path: Path) -> None:
    out = cells(KEEP, "%lprun --memory-sample much -f keep keep([])", cwd=tmp_path)
    assert "UsageError: bad size 'much'" in out
