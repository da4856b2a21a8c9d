"""Lines far down in long functions, whose LINE events are slow in 3.12 and 3.13.

In these versions lineprof uses INSTRUCTION events for such functions; their hits
follow the same rules.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, kernprof, write
from check import check_lines
from check_executions import check_executions
from programs.generate import program
from programs.seeds import seeds
from running import hits_of, new_profiler, run_python
from tables import profiled
from whole_program import profiled as whole

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hook")
FAR = "\n" * 400  # empty lines
inlined = pytest.mark.skipif(sys.version_info < (3, 12), reason="no far lines there")


def is_slow(hook: str) -> bool:
    """Whether Python itself searches far lines from the first one on."""
    return hook == "settrace" and (3, 12) <= sys.version_info < (3, 14)


@pytest.mark.filterwarnings("ignore:.* in a 'finally' block:SyntaxWarning")
@pytest.mark.parametrize("seed", seeds(15, after=2))
def test_a_random_program_of_far_lines(seed: int) -> None:
    check_executions(
        re.sub(r"(?m)^( *(?:async )?def .*:)$", rf"\1{FAR}", program(seed))
    )


def test_all_kinds_of_lines_far_down() -> None:
    check_lines(
        """
        import contextlib

        @contextlib.contextmanager
        def quiet():
            try:
                yield 1
            except KeyError:
                pass

        @profile
        def f(n):
            """
        + FAR
        + """
            total = 0
            for i in range(n):
                if i % 2:
                    continue
                total += i
            while total > 0: total -= 1
            with quiet(), quiet() as q:
                {}[q]
            with quiet(): {}[1]
            try:
                raise ValueError(
                    n,
                )
            except (KeyError, ValueError) as error:
                total = sum(error.args)
            finally:
                total += 1
            squares = [j * j for j in range(n)]
            called = (
                len(squares),
                len(
                    squares
                ),
            )
            return sum(x for x in called) if n else None

        @profile
        def g(n):
            """
        + FAR
        + """
            for i in range(n):
                got = yield i
                if got: print(got)
            yield from range(n)
            return n

        result = f(3), list(g(3))
        """
    )


def test_a_module_of_thousands_of_lines_is_profiled_quickly(
    tmp_path: Path, hook: str
) -> None:
    """Each line was searched from the first line on, which took minutes."""
    count = 5_000 if is_slow(hook) else 30_000
    write(tmp_path, "data.py", "".join(f"x{n} = {n}\n" for n in range(count)))
    write(tmp_path, "x.py", f"import data\nprint(data.x{count - 1})\n")
    outcome, stats = whole("x.py", cwd=tmp_path)
    assert outcome.out == f"{count - 1}\n"
    (body,) = [one for one in stats.functions if one.file.endswith("data.py")]
    assert [row.hits for row in body.rows] == [1] * count


@pytest.mark.serial
def test_far_lines_take_as_long_as_near_ones(tmp_path: Path, hook: str) -> None:
    if is_slow(hook):
        pytest.skip("its line events are equally slow for a trace function")
    body = """\
    total = 0
    for i in range(20_000):
        if total is None:
            total = 1
        total = i
    return total
"""
    text = "".join(
        f"@profile\ndef {name}():\n" + "    x = 1\n" * lines + body + f"{name}()\n"
        for name, lines in (("near", 1), ("far", 900))
    )
    write(tmp_path, "x.py", text)
    tables = profiled(tmp_path, "x.py")
    near, far = tables["near"].total, tables["far"].total
    # The factor was more than a thousand.
    assert far < 20 * near + 0.01, (near, far)


def test_c_functions_are_callees_of_far_lines(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "def f(n):\n" + FAR + "    return sorted(n)\nf([2, 1])\n")
    assert kernprof("-lq", "--builtins", "-ox", "x.py", cwd=tmp_path).status == 0


@inlined
def test_a_breakpoint_in_a_far_function_stops_there(tmp_path: Path) -> None:
    text = (
        "def stops(n):\n    n += 1\n"
        + FAR
        + "    breakpoint()\n    n += 1\n    return n\n"
        + "print(stops(1))\nprint(stops(5))\n"
    )
    write(tmp_path, "x.py", text)
    typed = "n\np n\nn\nc\nn\np n\nc\n"
    outcome = check_same("x.py", cwd=tmp_path, text=typed)
    assert "stops()" in outcome.out


OTHERS = """
import cProfile, sys
from lineprof import LineProfiler
names = {}
exec("def run():\\n" + "\\n" * 300 + "    a = 1\\n    return a\\n", names)
run = names["run"]
profiler = LineProfiler(run)
second = LineProfiler(run) if OTHER == "second" else None
profiler.enable()
run()
if OTHER == "cProfile":
    cProfile.Profile().runcall(run)
elif OTHER == "settrace":
    sys.settrace(lambda *_: None)
    run()
    sys.settrace(None)
elif OTHER == "setprofile":
    sys.setprofile(lambda *_: None)
    run()
    sys.setprofile(None)
elif OTHER == "bdb":
    import bdb
    debugger = bdb.Bdb()
    debugger.set_trace = lambda *_: None
    debugger.runcall(run)
else:
    run()
for _ in range(3):
    run()
profiler.disable()
(lines,) = profiler.get_stats().timings.values()
print([(line, hits) for line, hits, _ in lines])
"""


@pytest.mark.parametrize(
    "other", ["cProfile", "settrace", "setprofile", "bdb", "second"]
)
def test_other_tools_that_start_and_stop_do_not_end_counting(other: str) -> None:
    status, out, err = run_python(f"OTHER = {other!r}\n" + OTHERS)
    assert (status, out, err) == (0, "[(302, 5), (303, 5)]\n", "")


def test_a_far_function_that_runs_when_its_profiler_is_enabled() -> None:
    names: dict[str, object] = {}
    text = "def f(add):\n    add(f)\n" + FAR + "    a = 1\n    b = a\n    return b\n"
    exec(compile(text, "<far>", "exec"), names)
    profiler = new_profiler(names["f"])
    assert names["f"](lambda _: profiler.enable()) == 1  # type: ignore[operator]
    profiler.disable()
    ((_, lines),) = hits_of(profiler).items()
    assert [line - 400 for line in lines] == [3, 4, 5]
    assert set(lines.values()) == {1}
