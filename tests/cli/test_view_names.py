"""lineprof view NAME... FILE: the functions to show, by every form of a name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, viewer, write

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
    from pkg.shapes import Box, area
    import many
    def slowly(n):
        return sum(range(n))

    def fast():

        return 1

    slowly(9), fast(), area(2), Box().side()
    """
SHAPES = """\
    def area(x):
        return x * x

    class Box:
        def side(self):
            return (lambda: 3)()
    """
BOX = ["Box", "Box.side", "Box.side.<locals>.<lambda>"]
ALL_SHAPES = ["<module>", "area", *BOX]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the profile of a script and of a package."""
    folder = tmp_path_factory.mktemp("names")
    write(folder, "hello.py", SCRIPT)
    write(folder, "pkg/__init__.py", "")
    write(folder, "many.py", "".join(f"def x{n}(): pass\nx{n}()\n" for n in range(40)))
    write(folder, "pkg/shapes.py", SHAPES)
    done = kernprof("-lq", "hello.py", cwd=folder)
    assert (done.status, done.err) == (0, "")
    return folder


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["hello.py"], ["<module>", "fast", "slowly"]),
        (["./hello.py"], ["<module>", "fast", "slowly"]),
        (["hello"], ["<module>", "fast", "slowly"]),
        (["hello.py::slowly"], ["slowly"]),
        (["hello.py:slowly"], ["slowly"]),
        (["hello.py:3(slowly)"], ["slowly"]),
        (["hello.slowly"], ["slowly"]),
        (["slowly"], ["slowly"]),
        (["hello.py:4"], ["slowly"]),
        (["hello.py:7"], ["fast"]),
        (["hello.py:10"], ["<module>"]),
        (["pkg/shapes.py:2"], ["area"]),  # begins where the module does
        (["pkg/shapes.py:6"], BOX[1:]),
        (["pkg"], ALL_SHAPES),
        (["pkg.shapes"], ALL_SHAPES),
        (["pkg/shapes.py"], ALL_SHAPES),
        (["*/shapes.py"], ALL_SHAPES),
        (["pkg/*::Box"], BOX),
        (["pkg.shapes.Box.side", "fast"], [*BOX[1:], "fast"]),
        (["*ow*", "si*"], ["Box.side", "slowly"]),
        (["shapes::a*"], ["area"]),
        (["pkg.*"], ALL_SHAPES),
        (["pkg.shapes.*"], ALL_SHAPES),
        (["hello::<module>"], ["<module>"]),
    ],
)
def test_names_choose_the_functions(
    folder: Path, names: list[str], expected: list[str]
) -> None:
    for words in ([*names, "hello.lprof"], ["hello.lprof", *names]):
        shown = viewer("view", "--json", *words, cwd=folder)
        functions = json.loads(shown.out)["functions"]
        found = sorted(one["name"] for one in functions)
        assert [name for name in found if name not in expected] == []
        assert sorted(expected) == found


def test_names_may_stand_at_both_sides_of_flags(folder: Path) -> None:
    words = ("slowly", "hello.lprof", "-z", "hello.py::fast")
    assert viewer(*words, cwd=folder).out.count("Function: ") == 2
    done = viewer("view", "-o", "x.txt", "hello.lprof", "slowly", cwd=folder)
    assert (done.status, done.out) == (0, "")
    assert "Function: slowly at line 3" in (folder / "x.txt").read_text()
    one = viewer("--callers", "hello.lprof", "hello.slowly", cwd=folder).out
    assert one == viewer("--callers", "slowly", "hello.lprof", cwd=folder).out
    assert one.startswith("slowly (hello.py:3) is called from:\n")
    assert one == viewer("--callers", "hello.py:4", "hello.lprof", cwd=folder).out
    area = viewer("--callers", "pkg/shapes.py:2", "hello.lprof", cwd=folder).out
    assert area.startswith("area (shapes.py:1) is called from:\n")
    two = viewer("--drill", "hello.py::slowly", "fast", "hello.lprof", cwd=folder).out
    assert two.count("Function: ") == 2


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_rows_of_callers_take_the_same_names(folder: Path, form: str) -> None:
    by_name = viewer("--callers", "slowly", "hello.lprof", form, cwd=folder)
    by_line = viewer("--callers", "hello.py:4", "hello.lprof", form, cwd=folder)
    assert by_name.status == by_line.status == 0
    assert "slowly" in by_name.out
    assert by_line.out == by_name.out


def test_named_functions_have_line_profilers_tables(folder: Path) -> None:
    assert "Function: " not in viewer("hello.lprof", cwd=folder).out  # 45 functions
    shown = viewer("hello.lprof", "pkg", cwd=folder)
    assert shown.out.startswith("Timer unit: 1e-06 s\n\n")
    assert shown.out.count("Function: ") == len(ALL_SHAPES)
    assert shown.err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "hello.lprof hello.py::slow",
            "no function 'slow' in hello.py; did you mean hello.py::slowly?",
        ),
        (
            "--drill slow hello.lprof",
            "the profile has no function 'slow'; did you mean hello.py::slowly?",
        ),
        (
            "--callers pkg.shapes.Bix.side hello.lprof",
            (
                "the profile has no function 'pkg.shapes.Bix.side';"
                " did you mean shapes.py::Box.side"
            ),
        ),
        (
            "helo.py:3 hello.lprof",
            "the profile has no file 'helo.py'; did you mean hello.py:3?",
        ),
        ("hello.py:11 hello.lprof", "hello.py has no line 11; lineprof view"),
        ("hello.py:0 hello.lprof", "'hello.py:0' is no line; lines begin at 1"),
        (
            f"hello.py:{'9' * 5000} hello.lprof",
            f"no function '{'9' * 5000}' in hello.py; lineprof view --functions lists",
        ),
        (
            f"--drill hello.py:{'9' * 5000} hello.lprof",
            f"no function '{'9' * 5000}' in hello.py; lineprof view --functions lists",
        ),
        ("hello.lprof ", "a name is empty; name a file or a function"),
        ("hello.lprof [", "bad pattern '[': its '[' is not closed; write '[[]'"),
        (
            "hello.py::slowly",
            (
                "hello.py::slowly is no profile; add its profile:"
                " lineprof view hello.py::slowly hello.lprof"
            ),
        ),
        ("--tree slowly hello.lprof", "--tree takes no names: slowly"),
        (
            "export -f flamegraph hello.lprof",
            "argument -f/--format: there is no format 'flamegraph'; did you mean svg? ",
        ),
    ],
)
def test_a_wrong_name_gets_the_right_spelling(
    folder: Path, words: str, message: str
) -> None:
    done = viewer(*words.split(" "), cwd=folder)
    assert done.status
    assert done.out == ""
    assert done.err.partition(": ")[2].startswith(message)
    assert done.err.count("\n") == 1
