"""Blocks: ``with profile.block("name"):`` counts the lines of its statement."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run, viewer, write
from running import new_profiler

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof import LineProfiler, LineStats

pytestmark = pytest.mark.usefixtures("hook")


def play(program: str, tmp_path: Path, **names: object) -> dict[str, dict[int, int]]:
    """Run *program* in this process; return the hits by line of each entry."""
    text = textwrap.dedent(program).lstrip("\n")
    path = tmp_path / "program.py"
    path.write_text(text)
    profiler = new_profiler()
    exec(compile(text, str(path), "exec"), {"profile": profiler, **names})
    return hits(profiler.get_stats())


def hits(stats: LineStats) -> dict[str, dict[int, int]]:
    return {
        f"{function.name}:{function.line}": {
            row.line: row.hits for row in function.rows if row.hits
        }
        for function in stats.functions
    }


def test_a_block_at_the_top_of_a_module_is_counted(tmp_path: Path) -> None:
    program = """
        before = 0
        with profile.block("load"):
            x = 1
            for i in range(3):
                x += i
        after = x
        """
    found = play(program, tmp_path)
    assert found == {"load:2": {2: 1, 3: 1, 4: 4, 5: 3}}


def test_a_block_in_an_undecorated_function_is_counted(tmp_path: Path) -> None:
    program = """
        def f(n):
            before = n
            with profile.block("part"):
                for i in range(n):
                    before += i
            return before

        f(2), f(3)
        """
    found = play(program, tmp_path)
    assert found == {"part:3": {3: 2, 4: 7, 5: 5}}


def test_a_block_in_a_decorated_function_counts_in_both_entries(tmp_path: Path) -> None:
    program = """
        @profile
        def f():
            x = 1
            with profile.block("part"):
                x += 1
                x += 2
            return x

        f(), f()
        """
    found = play(program, tmp_path)
    assert found["part:4"] == {4: 2, 5: 2, 6: 2}
    function = found.pop("f:1")
    assert {line: function[line] for line in (3, 5, 6, 7)} == {3: 2, 5: 2, 6: 2, 7: 2}


def test_a_block_on_one_line_has_its_time(tmp_path: Path) -> None:
    program = """
        def f():
            with profile.block("one"): sum(range(20_000))

        f()
        """
    write(tmp_path, "program.py", textwrap.dedent(program))
    ours = kernprof("-lq", "program.py", cwd=tmp_path)
    assert (ours.status, ours.err) == (0, "")
    shown = viewer("view", "--json", "program.lprof", cwd=tmp_path)
    (function,) = json.loads(shown.out)["functions"]
    (line,) = function["lines"]
    assert (function["name"], line["line"], line["hits"]) == ("one", 3, 1)
    assert line["time_ns"] > 10_000


def test_blocks_nest_and_repeat(tmp_path: Path) -> None:
    program = """
        for i in range(2):
            with profile.block("outer"):
                a = 1
                with profile.block("inner"):
                    b = 2
                c = 3
            with profile.block("outer"):
                d = 4
        """
    found = play(program, tmp_path)
    assert found["inner:4"] == {4: 2, 5: 2}
    assert found["outer:7"] == {7: 2, 8: 2}
    outer = found["outer:2"]
    assert {line: outer[line] for line in (3, 5, 6)} == {3: 2, 5: 2, 6: 2}


def test_recursion_through_a_block_counts_only_its_lines(tmp_path: Path) -> None:
    program = """
        def f(n):
            before = n
            with profile.block("part"):
                if n:
                    f(n - 1)
            after = n

        f(3)
        """
    found = play(program, tmp_path)
    assert found == {"part:3": {3: 4, 4: 4, 5: 3}}


def test_an_exception_goes_through_a_block(tmp_path: Path) -> None:
    program = """
        def f():
            with profile.block("part"):
                x = 1
                raise KeyError("mine")

        try:
            f()
        except KeyError as error:
            result.append(error.args)
        later = 1
        """
    result: list[object] = []
    found = play(program, tmp_path, result=result)
    assert result == [("mine",)]
    assert {name: set(lines) for name, lines in found.items()} == {"part:2": {2, 3, 4}}


def test_a_block_with_parentheses_and_dedented_strings_ends_at_its_last_line(
    tmp_path: Path,
) -> None:
    program = '''
        def f():
            with (
                profile.block("part")
            ):
                x = """
        not the end
        """
                y = 2
            z = 3

        f()
        '''
    found = play(program, tmp_path)
    (lines,) = found.values()
    assert {5, 8} <= set(lines)
    assert 9 not in lines


def test_a_block_among_other_managers_has_the_lines_of_the_statement(
    tmp_path: Path,
) -> None:
    program = """
        for i in range(2):
            with (
                ExitStack(),
                profile.block("part"),
            ):
                x = i
                y = x
        """
    found = play(program, tmp_path, ExitStack=ExitStack)
    assert found == {"part:2": {2: 2, 6: 2, 7: 2}}


def test_an_exit_stack_may_enter_a_block(tmp_path: Path) -> None:
    program = """
        with ExitStack() as stack:
            stack.enter_context(profile.block("rest"))
            x = 1
        """
    found = play(program, tmp_path, ExitStack=ExitStack)
    assert list(found) == ["rest:2"]


def test_each_thread_has_its_own_time_in_a_block(tmp_path: Path) -> None:
    program = """
        def f():
            with profile.block("part"):
                for i in range(100):
                    pass

        threads = [Thread(target=f) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        """
    found = play(program, tmp_path, Thread=threading.Thread)
    assert found == {"part:2": {2: 4, 3: 404, 4: 400}}


def test_a_reset_clears_blocks(tmp_path: Path) -> None:
    program = """
        def f():
            with profile.block("part"):
                x = 1

        f()
        profile.reset()
        f()
        """
    assert play(program, tmp_path) == {"part:2": {2: 1, 3: 1}}


def test_a_block_of_a_program_without_profiling_does_nothing(tmp_path: Path) -> None:
    program = """\
from lineprof import profile
import sys
with profile.block("part"):
    x = 1
profile.start(); profile.stop(); profile.reset()
print(x, "lineprof.recording.profiler" in sys.modules)
"""
    write(tmp_path, "program.py", program)
    plain = run(["program.py"], cwd=tmp_path)
    assert (plain.out, plain.err) == ("1 False\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


def test_the_table_shows_the_block(tmp_path: Path) -> None:
    program = """\
n = 0
with profile.block("warm up"):
    for i in range(10):
        n += i
print(n)
"""
    write(tmp_path, "program.py", program)
    ours = kernprof("-lv", "program.py", cwd=tmp_path)
    assert (ours.status, ours.err) == (0, "")
    assert "Function: warm up at line 2" in ours.out
    rows = [line.split() for line in ours.out.splitlines() if "in range" in line]
    assert rows[0][:2] == ["3", "11"]
    assert "print(n)" not in ours.out


def test_a_second_profiler_enabled_in_the_middle_of_a_frame_counts_the_rest() -> None:
    first, second = new_profiler(), new_profiler()

    def f() -> int:
        x = 1
        second.enable()
        x += 1
        x += 2
        second.disable()
        return x

    def lines(profiler: LineProfiler) -> set[int]:
        start = f.__code__.co_firstlineno
        (function,) = profiler.get_stats().functions
        return {row.line - start for row in function.rows if row.hits}

    second.add_function(f)
    assert first(f)() == 4
    assert lines(first) == {1, 2, 3, 4, 5, 6}
    assert lines(second) == {3, 4, 5}


def test_a_block_in_a_command_is_shown_with_its_source(tmp_path: Path) -> None:
    code = "with profile.block('part'):\n    x = 1\n    y = 2\n"
    done = subprocess.run(
        [sys.executable, "-m", "kernprof", "-lv", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "    y = 2" in done.stdout


def test_blocks_can_be_listed_while_a_new_one_is_entered(tmp_path: Path) -> None:
    program = """
        with profile.block("one"):
            x = 1
        y = 2
        """
    (tmp_path / "program.py").write_text(textwrap.dedent(program).lstrip("\n"))
    path = str(tmp_path / "program.py")
    profiler = new_profiler()
    code = compile((tmp_path / "program.py").read_text(), path, "exec")
    exec(code, {"profile": profiler})
    blocks = profiler._blocks
    assert blocks is not None
    reading = blocks.codes()
    first = next(reading)
    with profiler.block("two"):
        pass
    assert [first, *reading][0][0] == (path, 1, "one")
