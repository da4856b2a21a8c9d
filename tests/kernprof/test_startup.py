"""A program's own modules that are named like standard ones."""

from __future__ import annotations

import json
import sys
from _imp import is_frozen
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run, write

from kernprof.environment import ShadowedModules

if TYPE_CHECKING:
    from pathlib import Path

# Standard modules whose names a program might take for its own by accident.
NAMED = (
    *("array", "ast", "bisect", "collections", "contextlib", "copy", "cProfile"),
    *("ctypes", "dataclasses", "datetime", "dis", "enum", "fnmatch", "functools"),
    *("inspect", "json", "linecache", "math", "operator", "pathlib"),
    *("pstats", "random", "re", "shlex", "signal", "sqlite3", "string", "struct"),
    *("tempfile", "token", "tokenize", "typing", "urllib", "weakref"),
)
# Debian builds some of them into its interpreter, and Python 3.15 freezes linecache:
# nobody can replace those.
OWN = tuple(
    name
    for name in NAMED
    if name not in sys.builtin_module_names and not is_frozen(name)
)
# Modules beside a script, and modules that a host has imported before it runs.
EIGHT = ("random", "string", "token", "queue", "copy", "typing", "json", "statistics")
IMPORTED = ("argparse", "dataclasses", "fnmatch", "typing", "json", "re", "statistics")
# Libraries ask whether they are imported, or importing them has an effect.
ASKED_FOR = (
    *("asyncio", "concurrent", "decimal", "logging", "multiprocessing", "pickle"),
    *("random", "readline", "signal", "socket", "subprocess", "unittest"),
)
PROGRAM = """
@profile
def f(x):
    return x

f(1)
"""


@pytest.mark.parametrize("words", ["-lq", "-q", "-lqp x.py", "-lq --trace"])
def test_no_module_is_imported_that_libraries_ask_for(
    tmp_path: Path, words: str
) -> None:
    text = f"import sys\nprint([m for m in {ASKED_FOR} if m in sys.modules])\n"
    plain = run([write(tmp_path, "x.py", text)], cwd=tmp_path)
    assert kernprof(*words.split(), "x.py", cwd=tmp_path) == plain


def test_modules_that_lineprof_imports_late_are_the_standard_librarys(
    tmp_path: Path,
) -> None:
    for name in ("dis", "inspect", "json", "opcode", "random", "shlex", "token"):
        write(tmp_path, f"{name}.py", "mine = True")
    program = """\
import dis, inspect, json, opcode, random, shlex, token
print(dis.mine and json.mine and inspect.mine and random.mine and shlex.mine)
@profile
def f(x):
    return [y for y in (
        x,
        x,
    )]
@profile
class C:
    @staticmethod
    def g(): return f(1)
C.g()
"""
    write(tmp_path, "program.py", program)
    ours = kernprof("-lv", "program.py", cwd=tmp_path)
    assert (ours.status, ours.err) == (0, "")
    first, *rest = ours.out.splitlines()
    assert first == "True"
    hits = [row.split()[:2] for row in rest if row.startswith("  ")]
    assert ["5", "1"] in hits
    assert ["12", "1"] in hits


def test_an_encoding_is_read_although_the_program_has_a_tokenize(
    tmp_path: Path,
) -> None:
    write(tmp_path, "tokenize.py", "mine = True")
    helper = "# -*- coding: latin-1 -*-\ndef g(x):\n    return 'caf\xe9'\n"
    (tmp_path / "helper.py").write_bytes(helper.encode("latin-1"))
    program = """\
import tokenize
assert tokenize.mine
from helper import g
profile(g)(1)
"""
    write(tmp_path, "program.py", program)
    ours = kernprof("-lv", "program.py", cwd=tmp_path)
    assert (ours.status, ours.err) == (0, "")
    assert "return 'caf\xe9'" in ours.out


def test_a_profile_is_written_although_the_program_has_a_functools(
    tmp_path: Path,
) -> None:
    app = tmp_path / "app"  # python -m imports from the current folder
    write(app, "functools.py", "mine = True")
    write(app, "program.py", f"import functools\nassert functools.mine\n{PROGRAM}")
    ours = kernprof("-lv", "app/program.py", cwd=tmp_path)
    assert (ours.status, ours.err) == (0, "")
    assert "return x" in ours.out


@pytest.mark.parametrize(
    "words", [["-lv"], ["-l", "-i1"], ["-bv"], ["-ls", "app/x.py"]]
)
def test_a_program_may_shadow_every_standard_module(
    tmp_path: Path, words: list[str]
) -> None:
    app = tmp_path / "app"  # python -m imports from the current folder
    for name in OWN:
        write(app, f"{name}.py", "mine = True")
    imports = "".join(f"import {name}; {name}.mine\n" for name in OWN)
    write(app, "x.py", imports)
    write(app, "program.py", imports + PROGRAM)
    plain = run(["app/x.py"], cwd=tmp_path)
    ours = kernprof(*words, "app/program.py", cwd=tmp_path)
    assert (ours.status, ours.err) == (plain.status, plain.err)
    assert "Wrote profile results to 'program." in ours.out


def test_threads_have_no_names_if_the_program_has_a_threading(
    tmp_path: Path,
) -> None:
    app = tmp_path / "app"
    write(app, "threading.py", "mine = True")
    write(app, "program.py", f"import threading\nassert threading.mine\n{PROGRAM}")
    ours = kernprof("-lv", "app/program.py", cwd=tmp_path)
    assert ours.status == 0
    assert "return x" in ours.out
    assert ours.err.startswith("Exception ignored")  # by python: no _shutdown


@pytest.mark.parametrize("words", ["-l", "-lv", "-lvi1", "-lb", "-v"])
def test_modules_beside_the_script_are_the_scripts_own(
    tmp_path: Path, words: str
) -> None:
    app = tmp_path / "app"
    for name in EIGHT:
        write(app, f"{name}.py", "mine = True")
    check = f"""
import {", ".join(EIGHT)}
modules = [{", ".join(EIGHT)}]
print(sum(hasattr(module, "mine") for module in modules), "of", len(modules))
"""
    write(app, "program.py", check + (PROGRAM if "l" in words else ""))
    command = f"""
import {", ".join(IMPORTED)}
from kernprof.__main__ import command
command(["{words}", "app/program.py"])
"""
    write(tmp_path / "host", "host.py", command)
    for outcome in (
        kernprof(words, "app/program.py", cwd=tmp_path),
        run(["host/host.py"], cwd=tmp_path),
    ):
        assert (outcome.status, outcome.err) == (0, "")
        assert outcome.out.startswith("8 of 8\n")
        assert "Wrote profile results to 'program." in outcome.out


def test_late_imports_with_shadowed_modules_are_the_standard_librarys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "json.py", "mine = True")
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = dict(sys.modules)
    shadowed = ShadowedModules()
    shadowed.forget(str(tmp_path))
    try:
        sys.path.insert(0, str(tmp_path))
        assert hasattr(import_module("json"), "mine")
        with shadowed:
            assert import_module("json") is json
            assert hasattr(import_module("json.decoder"), "JSONDecoder")
        assert hasattr(import_module("json"), "mine")
    finally:
        for name in {*sys.modules} - {*before}:
            if name.partition(".")[0] == "json":
                del sys.modules[name]
        sys.modules.update(before)
