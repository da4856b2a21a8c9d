"""-s, --setup: a file that runs before the program, outside the profile."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, kernprof_forked, write

import kernprof as command
from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """\
import builtins, sys
@profile
def f():
    return builtins.ready
print(f(), __name__, sorted(n for n in globals() if not n.startswith("_")))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a program that needs its setup file."""
    write(tmp_path, "x.py", PROGRAM)
    write(tmp_path, "before/setup_it.py", "import builtins\nbuiltins.ready = 'ready'\n")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [["-s", "before/setup_it.py"], ["--setup=before/setup_it.py"], ["-s", "setup_it"]],
)
def test_the_setup_file_runs_first_in_its_own_namespace(
    folder: Path, words: list[str]
) -> None:
    (folder / "before" / "setup_it").write_text("import builtins; builtins.ready = 1")
    path = f"{folder / 'before'}{os.pathsep}{os.environ['PATH']}"
    outcome = kernprof_forked("-lq", *words, "x.py", cwd=folder, env={"PATH": path})
    ready = "1" if words[-1] == "setup_it" else "ready"
    assert outcome.out == f"{ready} __main__ ['builtins', 'f', 'sys']\n"
    assert (outcome.status, outcome.err) == (0, "")
    [function] = load_stats(folder / "x.lprof").functions
    assert [(row.line, row.hits) for row in function.rows] == [(4, 1)]


def test_the_setup_file_has_the_programs_arguments_and_its_own_folder(
    folder: Path,
) -> None:
    write(
        folder,
        "before/setup_it.py",
        """
        import builtins, os, sys
        import beside
        builtins.ready = beside.name
        here = os.path.dirname(os.path.realpath(__file__))
        print(__name__, sys.argv, sys.path[0] == here)
        print(sys.modules["__main__"].__file__ == __file__)
        """,
    )
    write(folder, "before/beside.py", "name = 'beside'")
    more = "import beside; print(sys.path[0] == sys.argv[1])\n"
    write(folder, "x.py", PROGRAM + more)
    outcome = kernprof_forked(
        "-lq", "-s", "before/setup_it.py", "x.py", str(folder), cwd=folder
    )
    first, same, ran, path = outcome.out.splitlines()
    assert first == f"__main__ {['x.py', str(folder)]} True"
    assert same == "True"
    assert ran.startswith("beside __main__")
    assert path == "True"  # the program's own folder comes first, as under python
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("words", [["-m", "x"], ["-c", PROGRAM], ["-"]])
def test_the_setup_file_runs_before_programs_of_all_kinds(
    folder: Path, words: list[str]
) -> None:
    setup = folder / "before" / "setup_it.py"
    outcome = kernprof_forked("-lqs", str(setup), *words, cwd=folder, text=PROGRAM)
    assert outcome.out.startswith("ready __main__ ")
    assert (outcome.status, outcome.err) == (0, "")


def test_the_setup_file_may_change_the_folder_and_the_path(folder: Path) -> None:
    write(
        folder,
        "before/setup_it.py",
        """
        import builtins, os, sys
        builtins.ready = 1
        os.chdir("before")
        sys.path.insert(0, "added")
        """,
    )
    program = PROGRAM + "print(sys.path[1])\nimport os; print(os.listdir('.'))\n"
    write(folder, "x.py", program)
    outcome = kernprof_forked("-lq", "-s", "before/setup_it.py", "x.py", cwd=folder)
    assert outcome.out.splitlines()[1:] == ["added", "['setup_it.py']"]
    assert (folder / "x.lprof").exists()


def test_the_setup_file_is_not_in_the_call_profile(folder: Path) -> None:
    text = "import builtins\ndef prepare():\n    builtins.ready = 1\nprepare()\n"
    write(folder, "before/setup_it.py", text)
    write(folder, "x.py", PROGRAM.replace("@profile\n", ""))
    outcome = kernprof_forked("-v", "-s", "before/setup_it.py", "x.py", cwd=folder)
    assert "x.py:2(f)" in outcome.out
    assert "prepare" not in outcome.out


def test_modules_that_the_setup_file_imports_may_use_profile(folder: Path) -> None:
    write(folder, "before/setup_it.py", "import beside, builtins\nbuiltins.ready = 1\n")
    write(
        folder,
        "before/beside.py",
        """
        import lineprof
        @profile
        def g():
            return 1
        @lineprof.profile
        def h():
            return 1
        """,
    )
    write(folder, "x.py", "import beside; beside.g(); beside.h()\n")
    outcome = kernprof_forked("-lq", "-s", "before/setup_it.py", "x.py", cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    functions = load_stats(folder / "x.lprof").functions
    assert {(f.name, f.calls) for f in functions} == {("g", 1), ("h", 1)}


@pytest.mark.parametrize(
    ("text", "what", "status"),
    [
        ("1 / 0", "ZeroDivisionError", 1),
        ("x = = 1", "SyntaxError", 1),
        ("raise SystemExit(7)", "SystemExit", 7),
        ("import no_such_module", "ModuleNotFoundError", 1),
    ],
)
def test_an_error_in_the_setup_file_is_shown_and_the_program_is_not_run(
    folder: Path, text: str, what: str, status: int
) -> None:
    write(folder, "before/setup_it.py", f"\n{text}\n")
    outcome = kernprof_forked("-l", "-s", "before/setup_it.py", "x.py", cwd=folder)
    assert (outcome.status, outcome.out) == (status, "")
    first, *traceback = outcome.err.splitlines()
    assert first == (
        f"kernprof: setup file 'before/setup_it.py' ended by {what};"
        " the program was not run"
    )
    assert not any(os.sep + "kernprof" + os.sep in line for line in traceback)
    if what != "SystemExit":
        assert "before/setup_it.py" in outcome.err.partition("\n")[2]
        assert traceback[-1].startswith(what)
    assert not (folder / "x.lprof").exists()


def test_a_missing_setup_file_is_an_error_of_one_line(folder: Path) -> None:
    outcome = kernprof_forked("-l", "-s", "no.py", "x.py", cwd=folder)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("kernprof: cannot find setup file 'no.py'; check")
    assert outcome.err.count("\n") == 1
    outcome = kernprof_forked("-l", "-s", "before", "x.py", cwd=folder)
    assert outcome.err.startswith("kernprof: cannot read setup file 'before': ")
    assert outcome.err.count("\n") == 1


def test_modules_beside_the_setup_file_may_be_named_like_standard_ones(
    folder: Path,
) -> None:
    write(folder, "before/random.py", "name = 'mine'")
    text = "import builtins, random\nbuiltins.ready = random.name\n"
    write(folder, "before/setup_it.py", text)
    outcome = kernprof_forked("-lv", "-s", "before/setup_it.py", "x.py", cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("mine __main__")
    assert "Function: f at line 2" in outcome.out


def test_an_empty_name_means_no_setup_file(folder: Path) -> None:
    write(folder, "plain.py", "print('plain')\n")
    check_same("plain.py", cwd=folder, mode="-lqs=")


def test_the_setup_file_leaves_this_process_unchanged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    write(folder, "before/setup_it.py", "import sys; sys.path.append('changed')\n")
    main = sys.modules["__main__"]
    command.main(["-lq", "-s", "before/setup_it.py", "-c", "pass"])
    write(folder, "before/setup_it.py", "1 / 0")
    with pytest.raises(ZeroDivisionError):
        command.main(["-lq", "-s", "before/setup_it.py", "-c", "pass"])
    assert sys.modules["__main__"] is main
