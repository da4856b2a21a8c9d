"""Choice of functions: the program's own files, --include, --exclude and --all."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import CodeType

import pytest
from as_python import kernprof_forked, write
from whole_program import HINT, names, profiled

from kernprof.project import Folder, ProjectFiles, around
from kernprof.selection import FunctionFilter
from lineprof import load_stats
from lineprof.patterns import is_function, is_under, patterns

STANDARD = Path(os.__file__).parent


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("a", ["a"], ["", "b", "aa"]),
        ("*", ["", "a", "a.b"], []),
        ("a*c", ["ac", "abc", "acbc"], ["ab", "acb", "bac"]),
        ("*a*b*", ["ab", "xaxxbx"], ["ba", "a"]),
        ("?", ["x"], ["", "xx"]),
        ("[abc]x", ["ax", "cx"], ["dx", "x"]),
        ("[!a-c]*", ["d", "dx"], ["a", "b", ""]),
        ("[a-]", ["-", "a"], ["b"]),
        ("[]x]", ["]", "x"], ["y"]),
        ("[x", ["[x"], ["x"]),
        ("<listcomp>", ["<listcomp>"], ["x"]),
    ],
)
def test_a_pattern_of_one_part(pattern: str, fits: str, does_not: str) -> None:
    assert [text for text in fits if not is_under([pattern], [text])] == []
    assert [text for text in does_not if is_under([pattern], [text])] == []


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("a.b", ["a.b", "a.b.c"], ["a", "a.c", "x.a.b"]),
        ("a.*", ["a.b", "a.b.c"], ["a", "b.a"]),
        ("**.b", ["b", "a.b", "a.x.b", "a.b.c"], ["a", "a.bc"]),
        ("a.**.c", ["a.c", "a.x.y.c.d"], ["a.b", "c"]),
    ],
)
def test_a_pattern_of_parts(pattern: str, fits: str, does_not: str) -> None:
    parts = pattern.split(".")
    assert [text for text in fits if not is_under(parts, text.split("."))] == []
    assert [text for text in does_not if is_under(parts, text.split("."))] == []


def code(file: str, name: str = "f") -> CodeType:
    """Return the code object of a function in `file`."""
    text = f"class C:\n def m(self): pass\ndef {name}(): return [x for x in {{}}]\n"
    module = compile(text, file, "exec")
    return next(
        one
        for one in module.co_consts
        if isinstance(one, CodeType) and one.co_name == name
    )


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project with a script's folder; the home folder is beside the project."""
    write(tmp_path, "project/pyproject.toml", "")
    write(tmp_path, "project/env/pyvenv.cfg", "")
    write(tmp_path, "project/tools/x.py", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def chosen(project: Path, file: str, **options: object) -> bool | None:
    """Return the filter's answer for a function of `file`, run from a script."""
    choice = FunctionFilter(**options)  # type: ignore[arg-type]
    script = compile("", str(project / "tools" / "x.py"), "exec")
    choice.begin(script, around(str(project / "tools")))
    return choice(code(file))


def test_files_of_the_project_are_the_programs_own(project: Path) -> None:
    own = ["tools/x.py", "tools/y.py", "tools/deep/er/z.py", "src/pkg/mod.py"]
    assert [f for f in own if chosen(project, str(project / f)) is not True] == []
    assert chosen(project, "src/pkg/relative.py") is True
    others = [
        os.__file__,
        str(project / "env/lib/python3/site-packages/numpy/core.py"),
        str(project / "env/tool.py"),
        str(project / "node_modules/x.py"),
        str(project / "lib/dist-packages/x.py"),
        str(project.parent / "elsewhere.py"),
        str(project.parent / "project2/x.py"),
        str(project / "templates/page.html"),
        "<string>",
        "<frozen os>",
        "<frozen importlib._bootstrap>",
        "<attrs generated init x.A>",
        FunctionFilter.begin.__code__.co_filename,
    ]
    assert [f for f in others if chosen(project, f) is not None] == []


def test_all_is_every_file_with_source_except_lineprofs(project: Path) -> None:
    every = [os.__file__, str(project / "env/tool.py"), "/x/site-packages/numpy/a.py"]
    refused = [
        "<string>",
        "<frozen importlib._bootstrap>",
        "<frozen runpy>",
        str(STANDARD / "runpy.py"),
        str(STANDARD / "importlib" / "_bootstrap.py"),
        FunctionFilter.begin.__code__.co_filename,
    ]
    assert [f for f in every if chosen(project, f, everything=True) is not True] == []
    assert [f for f in refused if chosen(project, f, everything=True) is True] == []
    assert chosen(project, "<frozen os>", everything=True) is True


def test_a_comprehension_belongs_to_its_function(project: Path) -> None:
    inner = [one for one in code("src/a.py").co_consts if isinstance(one, CodeType)]
    choice = FunctionFilter()
    choice.begin(code("src/x.py"), around(str(project)))
    assert [choice(one) for one in inner] == [False] * len(inner)


def test_the_home_folder_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "users" / "me"
    write(home, "pyproject.toml", "")
    write(home, "pkg/__init__.py", "")
    write(home, "work/one/x.py", "")
    monkeypatch.setenv("HOME", str(home))
    at_home, at_work = around(str(home)), around(str(home / "work" / "one"))
    assert at_work.folders == (Folder(str(home / "work" / "one")),)
    assert str(home / "x.py") in at_home
    assert str(home / "pkg" / "x.py") in at_home
    assert str(home / "work" / "one" / "x.py") not in at_home
    for folder in ("/", str(tmp_path / "users"), str(tmp_path)):
        assert [f.wide for f in around(folder).folders] == [True]


def test_installed_packages_have_no_project(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", "")
    site = tmp_path / "env" / "site-packages"
    write(tmp_path, "env/pyvenv.cfg", "")
    write(site, "tool/x.py", "")
    assert around(str(site)).folders == ()
    assert around(str(site / "tool")).folders == (Folder(str(site / "tool")),)
    assert around(str(tmp_path / "env" / "bin")).folders == (
        Folder(str(tmp_path / "env" / "bin")),
    )
    assert around(str(STANDARD)).folders == ()


def test_symbolic_links_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert str(tmp_path / "real" / "x.py") in around(str(tmp_path / "link"))
    assert str(tmp_path / "real" / "x.py") in ProjectFiles(
        files=[str(tmp_path / "real" / "x.py")]
    )


@pytest.mark.parametrize(
    ("word", "path", "module", "function", "matches"),
    [
        ("pkg", "/w/pkg/a.py", "pkg.a", "f", True),
        ("pkg", "/w/src/pkg/a.py", "pkg.a", "f", True),
        ("pkg", "/w/src/other/a.py", "other.a", "f", False),
        ("pkg.*", "/w/x.py", "pkg.a", "f", True),
        ("src/*/a.py", "/w/src/pkg/a.py", "pkg.a", "f", True),
        ("./src", "/w/src/pkg/a.py", "pkg.a", "f", True),
        ("a.py", "/w/src/a.py", "a", "f", False),
        ("a.py", "/w/a.py", "a", "f", True),
        ("**/a.py", "/w/src/a.py", "", "f", True),
        ("/w/src/**", "/w/src/a.py", "", "f", True),
        ("/w/src/**", "/v/src/a.py", "", "f", False),
        ("pkg.a:f", "/x", "pkg.a", "f", True),
        ("pkg.a:f", "/x", "pkg.a", "C.f", True),
        ("pkg.a::C", "/x", "pkg.a", "C.f", True),
        ("pkg.a::C.f", "/x", "pkg.a", "C.f", True),
        ("pkg.a::g", "/x", "pkg.a", "f", False),
        ("src/a.py::f*", "/w/src/a.py", "", "fit.<locals>.g", True),
        ("::<lambda>", "/w/src/a.py", "", "main.<locals>.<lambda>", True),
        ("src/a.py:7(fit)", "/w/src/a.py", "", "f", True),
        ("*/site-packages/*", "/v/lib/site-packages/a/b.py", "a.b", "f", True),
        ("*/site-packages/*", "/v/lib/packages/a/b.py", "a.b", "f", False),
        ("*/_pytest/*", "/v/_pytest/a.py", "_pytest.a", "f", True),
        ("**/_pytest/*", "/v/x/_pytest/a.py", "_pytest.a", "f", True),
        ("*/*test/test_*.py", "/v/atest/test_b.py", "test_b", "f", True),
        ("*/*test/test_*.py", "/v/atest/x/test_b.py", "test_b", "f", False),
        ("*_b.py", "/v/x/test_b.py", "test_b", "f", True),
        ("test_*.py", "/v/x/test_b.py", "test_b", "f", False),
        ("src/*", "/v/src/a.py", "a", "f", False),
        ("pkg.a.f", "/x", "pkg.a", "f", True),
        ("pkg.a.C.f", "/x", "pkg.a", "C.f", True),
        ("pkg.a.C", "/x", "pkg.a", "C.f", True),
        ("pkg.a.g", "/x", "pkg.a", "f", False),
        ("pkg.b.f", "/x", "pkg.a", "f", False),
        ("*.fit", "/x", "pkg", "fit", True),
        ("pkg.*", "/w/pkg/__init__.py", "pkg", "f", False),
        ("pkg.a.*", "/w/pkg/a.py", "pkg.a", "f", True),
        ("f", "/x", "pkg", "f", False),
    ],
)
def test_a_pattern_matches_paths_modules_and_functions(
    word: str, path: str, module: str, function: str, *, matches: bool
) -> None:
    [pattern] = patterns([word], "/w")
    parts = pattern.parts_in([path], [module] if module else [])
    assert any(not part or is_function(part, function) for part in parts) is matches


SCRIPT = """\
    import json
    from pkg import a, b
    def main():
        a.f(); a.g(); b.f()
        json.loads("[1]")
    main()
    """


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a script and a package of two modules."""
    write(tmp_path, "x.py", SCRIPT)
    write(tmp_path, "pkg/__init__.py", "")
    for name in ("a", "b"):
        write(tmp_path, f"pkg/{name}.py", "def f(): return 1\ndef g(): return 2\n")
    return tmp_path


A, B = ["a.py:<module>", "a.py:f", "a.py:g"], ["b.py:<module>", "b.py:f"]
X = ["x.py:<module>", "x.py:main"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], [*A, *B, *X]),
        (["--exclude", "pkg"], X),
        (["--exclude", "pkg.b,x.py"], A),
        (["--exclude", "pkg/a.py", "--exclude=pkg/b.py"], X),
        (["--exclude", "**/[ab].py", "--include", "pkg"], X),
        (["--exclude", "::<module>"], [*A[1:], *B[1:], *X[1:]]),
        (["--exclude", "pkg.*:f", "--exclude", "x.py"], [A[0], A[2], B[0]]),
        (["--exclude", "__main__"], [*A, *B]),
        (["--include", "json.decoder::decode"], [*A, *B, "decoder.py:decode", *X]),
        (["--exclude", "**"], []),
        (["--exclude", "*/pkg/*"], X),
        (["--exclude", "pkg.a.*,pkg.b.f,x.main"], [B[0], X[0]]),
        (["--exclude", "pkg.a.f,x.py:3,*/b.py"], [A[0], A[2], X[0]]),
        (["--exclude", "x.py:4,x.py:1(<module>),pkg/*::g"], [*A[:2], *B]),
    ],
)
def test_include_and_exclude(
    folder: Path, words: list[str], expected: list[str]
) -> None:
    assert names(profiled(*words, "x.py", cwd=folder)[1]) == expected


def test_all_also_profiles_the_standard_library(folder: Path) -> None:
    found = names(profiled("--all", "x.py", cwd=folder)[1])
    assert {*A, *B, *X, "decoder.py:decode", "__init__.py:loads"} <= set(found)
    found = names(profiled("--all", "--exclude", "json", "x.py", cwd=folder)[1])
    assert "decoder.py:decode" not in found
    assert "_bootstrap.py:_find_and_load" not in found
    assert not [name for name in found if "choice.py" in name]


def test_a_configuration_file_chooses(folder: Path) -> None:
    (folder / "lineprof.toml").write_text(
        '[tool.lineprof.kernprof]\nexclude = ["pkg.b", "x.py"]\nall = false\n'
        'include = "json.decoder::decode"\nmax-overhead = 9.5\n'
    )
    assert names(profiled("x.py", cwd=folder)[1]) == [*A, "decoder.py:decode"]
    (folder / "lineprof.toml").write_text("[tool.lineprof.kernprof]\nwhole = false\n")
    assert names(profiled("x.py", cwd=folder)[1]) == []


def test_modules_of_the_project_beside_the_scripts_folder(tmp_path: Path) -> None:
    write(tmp_path, "setup.cfg", "")
    write(tmp_path, "src/own.py", "def f(): return 1\n")
    write(tmp_path, "env/pyvenv.cfg", "")
    write(tmp_path, "env/lib/site-packages/theirs.py", "def f(): return 1\n")
    write(tmp_path, "bench/x.py", "import own, theirs\nown.f(); theirs.f()\n")
    folders = [str(tmp_path / n) for n in ("src", "env/lib/site-packages")]
    env = {"PYTHONPATH": os.pathsep.join((*folders, *filter(None, sys.path)))}
    _, stats = profiled("bench/x.py", cwd=tmp_path, env=env)
    assert names(stats) == ["own.py:<module>", "own.py:f", "x.py:<module>"]


def test_the_help_lists_the_flags(tmp_path: Path) -> None:
    said = " ".join(kernprof_forked("--help", cwd=tmp_path).out.split())
    for flag in ("--whole", "--include NAME", "--exclude NAME", "--all"):
        assert f" {flag} " in said
    assert "--max-overhead N" in said


@pytest.mark.parametrize(
    ("flag", "hint"),
    [
        ("--include=nowhere", "--include nowhere named nothing that ran"),
        ("--exclude=::nothing", "--exclude ::nothing named nothing that ran"),
        (
            "--exclude=b.py",
            "--exclude b.py named nothing that ran; in all folders it is '**/b.py'",
        ),
        ("--exclude=pkg.b,::nope,pkg.a", "--exclude ::nope named nothing that ran"),
        (
            "--exclude=x.py::mein",
            "--exclude x.py::mein named nothing that ran; did you mean x.py::main?",
        ),
        (
            "--exclude=main",
            "--exclude main named nothing that ran; did you mean x.py::main?",
        ),
        ("--exclude=x.py:999", "--exclude x.py:999 named nothing that ran"),
        (
            "--exclude=pkg/aa.py:3",
            (
                "--exclude pkg/aa.py:3 named nothing that ran;"
                " did you mean pkg/a.py:3 or pkg/b.py:3?"
            ),
        ),
    ],
)
def test_a_pattern_that_matched_nothing_is_reported(
    folder: Path, flag: str, hint: str
) -> None:
    err = kernprof_forked("-lo", "out", flag, "x.py", cwd=folder).err
    assert err.endswith(f"; {hint}\n")
    assert err.count("\n") == 1


def test_excluding_all_is_said_to_leave_nothing(folder: Path) -> None:
    err = kernprof_forked("-lo", "out", "--exclude=*", "x.py", cwd=folder).err
    said = "no @profile was found: --exclude has left out all that ran of the program;"
    assert err.startswith(f"kernprof: {said} choose with ")
    assert err.count("\n") == 1


def test_a_bad_pattern_is_an_error_before_the_program_runs(folder: Path) -> None:
    done = kernprof_forked("-l", "--include", "a,[", "-c", "print(1)", cwd=folder)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("kernprof: bad pattern '[': its '[' is not closed; ")
    assert done.err.count("\n") == 1


def test_patterns_that_matched_are_not_reported(
    folder: Path,
) -> None:
    flags = ("--include", "::f,json::loads", "--exclude", "pkg.b,pkg.a::f,::f,::g")
    assert kernprof_forked("-lo", "out", *flags, "x.py", cwd=folder).err.endswith(HINT)


def test_a_table_of_thousands_of_lines_is_a_statement_like_others(
    folder: Path,
) -> None:
    rows = "\n".join(f"    {i}: 'text {i}'," for i in range(2500))
    write(
        folder, "table.py", f"ROWS = {{\n{rows}\n}}\ndef row(i):\n    return ROWS[i]\n"
    )
    write(folder, "big.py", "import table\ndef f():\n    return table.row(3)\nf()\n")
    kernprof_forked("-lo", "out", "big.py", cwd=folder)
    stats = load_stats(folder / "out")
    hits = {
        (Path(function.file).name, function.name): function.rows[0].hits
        for function in stats.functions
        if function.calls
    }
    assert hits == {
        ("big.py", "<module>"): 1,
        ("big.py", "f"): 1,
        ("table.py", "<module>"): 1,
        ("table.py", "row"): 1,
    }
