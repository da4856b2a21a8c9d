"""%%lprun_all in a shell of IPython: a cell's own lines and all its functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import viewer
from ipython_shell import cells, lines, needs_ipython

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_ipython

CELL = """
import functools

class Box:
    sides = [n for n in range(4)]
    @functools.lru_cache
    def area(self):
        def square(n):
            return n * n
        return square(4)

size = Box().area()
size + 1
"""


NAMES = ["Box.area", "Box.area.<locals>.square"]


def functions(output: str) -> list[str]:
    """Return the functions of the tables in order."""
    begin = "Function: "
    found = [x[len(begin) :] for x in output.splitlines() if x.startswith(begin)]
    return [name.rpartition(" at line ")[0] for name in found]


@pytest.mark.smoke
def test_a_cell_is_shown_whole_and_each_function_in_it(tmp_path: Path) -> None:
    out = cells(f"%%lprun_all{CELL}", "print('size', size)", cwd=tmp_path)
    tables, size = out.split("size 16")
    top, *inner = map(lines, tables.split("Total time: ")[1:])
    assert [*top] == [*dict.fromkeys(CELL.strip().splitlines())]
    assert {text: hits for text, hits in top.items() if hits} == {
        "import functools": "1",
        "class Box:": "1",
        "size = Box().area()": "1",
        "size + 1": "1",
    }
    assert functions(out) == ["<lprof_cell>", *NAMES]
    assert inner[0]["        return square(4)"] == "1"
    assert inner[1] == {"        def square(n):": "", "            return n * n": "1"}
    assert size == "\n"


def test_the_functions_of_a_cell_can_be_left_out(tmp_path: Path) -> None:
    out = cells(f"%%lprun_all -p{CELL}", cwd=tmp_path)
    assert functions(out) == ["<lprof_cell>"]


def test_functions_that_never_ran_can_be_left_out(tmp_path: Path) -> None:
    program = "\ndef f():\n    return 1\ndef g():\n    return 2\ng()"
    assert functions(cells(f"%%lprun_all{program}", cwd=tmp_path))[1:] == ["f", "g"]
    assert functions(cells(f"%%lprun_all -z{program}", cwd=tmp_path))[1:] == ["g"]


def test_an_empty_cell_is_a_cell(tmp_path: Path) -> None:
    out = cells("%%lprun_all\n \n", cwd=tmp_path)
    assert lines(out) == {"...": "1"}


def test_names_that_a_cell_defines_are_the_users(tmp_path: Path) -> None:
    program = "\nx = [i\n     for i in range(3)]\ndef f(): return x\n"
    out = cells(
        f"%%lprun_all -r -t{program}", "f(), _total_time_taken > 0", cwd=tmp_path
    )
    assert "NotebookProfiler" in out
    assert out.rstrip().endswith(": ([0, 1, 2], True)")


def test_a_statement_of_several_lines_hits_once(tmp_path: Path) -> None:
    out = cells("%%lprun_all\nprint(\n    max(\n    1, 2))\n", cwd=tmp_path)
    assert lines(out)["print("] == "1"


def test_a_cell_that_exits_shows_its_table(tmp_path: Path) -> None:
    out = cells("%%lprun_all\nx = 1\nraise SystemExit(3)\ny = 2", cwd=tmp_path)
    assert lines(out) == {"x = 1": "1", "raise SystemExit(3)": "1", "y = 2": ""}
    assert "\n*** SystemExit exception caught in code being profiled.\n" in out


@pytest.mark.parametrize("text", ["x =", "1 / 0", "await 1", "yield 1"])
def test_errors_of_a_cell_propagate_to_the_user(text: str, tmp_path: Path) -> None:
    out = cells(f"%%lprun_all\n{text}", cwd=tmp_path)
    assert "Error: " in out.rstrip().splitlines()[-1]
    assert "Timer unit" not in out


def test_a_cell_may_have_magics_and_commands_in_it(tmp_path: Path) -> None:
    program = "\nx = 1\n%env LPROF_TEST=yes\nout = !echo $LPROF_TEST\nx, out\n"
    out = cells(f"%%lprun_all{program}", "print(list(out))", cwd=tmp_path)
    assert lines(out)["x = 1"] == "1"
    assert out.endswith("['yes']\n")


def test_future_imports_of_earlier_cells_hold(tmp_path: Path) -> None:
    before = "from __future__ import annotations"
    after = "print(f.__annotations__)"
    out = cells(before, "%%lprun_all\ndef f(x: int): 0", after, cwd=tmp_path)
    assert out.endswith("{'x': 'int'}\n")


def test_a_cell_that_is_run_again_is_counted_from_zero(tmp_path: Path) -> None:
    cell = "%%lprun_all\ndef f():\n    return 1\nf()\n"
    out = cells(cell, cell, f"{cell}f()\n", cwd=tmp_path)
    parts = [part.split("Timer")[0] for part in out.split("Function: f ")[1:]]
    hits = [lines(part)["    return 1"] for part in parts]
    assert hits == ["1", "1", "2"]


def test_the_profile_of_a_cell_can_be_viewed_elsewhere(tmp_path: Path) -> None:
    out = cells(f"%%lprun_all -D cell.lprof{CELL}", cwd=tmp_path)
    seen = viewer("view", "-u", "1e-9", "cell.lprof", cwd=tmp_path)
    table, _, said = out.partition("\n\n*** ")
    assert said == "Profile stats saved to file 'cell.lprof'.\n"
    assert seen.out.rstrip() == table


def test_a_traceback_shows_the_lines_of_the_cell(tmp_path: Path) -> None:
    out = cells("%%lprun_all\ndef f():\n    1 / 0\n", "f()", cwd=tmp_path)
    assert "    1 / 0\n" in out.split("Traceback")[1]


def test_functions_of_the_cell_do_not_count_later(tmp_path: Path) -> None:
    cell = "%%lprun_all -r\ndef f():\n    return 1\nf()\n"
    out = cells(cell, "p = _; f(); p.print_stats()", cwd=tmp_path)
    assert lines(out.split("Timer unit")[2])["    return 1"] == "1"


SLOW = """
import asyncio

async def work(n):
    await asyncio.sleep(0)
    return n

"""


@pytest.mark.parametrize("ask", ["%%lprun_all", "%%lprun_all -r"])
def test_a_cell_may_await(ask: str, tmp_path: Path) -> None:
    cell = f"{ask}{SLOW}print(await work(1) + sum([await work(n) for n in (2, 3)]))\n"
    out = cells(cell, "1", cwd=tmp_path)
    assert out.startswith("6\nTimer unit: ")
    assert lines(out)["    return n"] == "3"
    assert lines(out)["async def work(n):"] in {"", "1"}
    assert ("NotebookProfiler" in out) == ask.endswith("-r")


def test_a_statement_may_await(tmp_path: Path) -> None:
    more = """
    for n in range(2):
        p = %lprun -r -f work print(await work(n))
    p.functions
    """
    out = cells(SLOW, "%lprun -f work print(await work(7))", more, cwd=tmp_path)
    first, *rest = out.split("Timer unit: ")
    assert first == "7\n"
    assert lines(rest[0])["    return n"] == "1"
    assert rest[0].endswith("0\n")
    assert rest[1].endswith("1\n")
    assert "[<function " in rest[2]


def test_a_cell_that_exits_while_it_awaits_shows_its_table(tmp_path: Path) -> None:
    end = "async def end():\n    raise SystemExit\n"
    out = cells(f"%%lprun_all\n{end}await end()\n", "print('on')", cwd=tmp_path)
    assert "\n*** SystemExit exception caught in code being profiled.\non\n" in out


def test_no_profiler_is_left(tmp_path: Path) -> None:
    count = """
    import gc, sys
    from lineprof.ipython.profiler import NotebookProfiler
    gc.collect()
    print("left:", [x for x in gc.get_objects() if isinstance(x, NotebookProfiler)])
    print("hook:", sys.modules["lineprof._core"].hook())
    """
    run_all = f"%%lprun_all{SLOW}await work(1)\n"
    out = cells(
        run_all, "%lprun -f work await work(2)", "%lprun 1", count, cwd=tmp_path
    )
    assert out.endswith("left: []\nhook: None\n")


def test_a_cell_that_awaits_is_refused_without_autoawait(tmp_path: Path) -> None:
    out = cells("%autoawait off", "%%lprun_all\nawait x", cwd=tmp_path)
    assert "SyntaxError: " in out
