"""What lineprof imports, and when: a program should wait for none of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from as_python import kernprof, run, write

import lineprof

# Modules of the standard library that take milliseconds.
SLOW = frozenset(
    (
        *("dataclasses", "datetime", "hashlib", "inspect", "json", "linecache"),
        *("pathlib", "re", "shlex", "signal", "sqlite3", "tokenize", "typing"),
        *("urllib", "urllib.parse"),
    )
)
# By the file's format: the arguments of a process, the name of a file to SQLite.
NEEDED = {"json", "re", "urllib", "urllib.parse"}
SHOW_MODULES = "import sys; print(*sys.modules)"
# Standard modules of which a program might have its own by accident.
NAMED = (
    *("array", "ast", "bisect", "collections", "contextlib", "copy", "cProfile"),
    *("ctypes", "dataclasses", "datetime", "dis", "enum", "fnmatch", "functools"),
    *("inspect", "json", "linecache", "math", "operator", "pathlib"),
    *("pstats", "random", "re", "shlex", "signal", "sqlite3", "string", "struct"),
    *("tempfile", "token", "tokenize", "typing", "urllib", "weakref"),
)
# Debian builds some of them into its interpreter: those nobody can replace.
OWN = tuple(name for name in NAMED if name not in sys.builtin_module_names)
PROGRAM = """
@profile
def f(x):
    return x

f(1)
"""


def slow(output: str) -> set[str]:
    """Slow modules among those that a program has printed."""
    return SLOW & set(output.split())


def test_a_program_under_kernprof_begins_without_slow_imports(tmp_path: Path) -> None:
    write(tmp_path, "program.py", SHOW_MODULES)
    plain = run(["-m", "program"], cwd=tmp_path)
    ours = kernprof("-lq", "program.py", cwd=tmp_path)
    assert (ours.status, ours.err) == (0, "")
    assert slow(ours.out) <= slow(plain.out)


def test_a_profile_is_written_without_slow_imports(tmp_path: Path) -> None:
    write(tmp_path, "program.py", PROGRAM)
    write(tmp_path, "plain.py", SHOW_MODULES)
    call = "import kernprof; kernprof.main(['-lq', 'program.py'])"
    write(tmp_path, "host.py", f"{call}; {SHOW_MODULES}")
    plain = run(["-m", "plain"], cwd=tmp_path)
    ours = run(["-m", "host"], cwd=tmp_path)
    assert (ours.status, ours.err) == (0, "")
    assert (tmp_path / "program.lprof").exists()
    assert slow(ours.out) - NEEDED <= slow(plain.out)


def test_importing_lineprof_imports_nothing_slow(tmp_path: Path) -> None:
    decorated = "from lineprof import profile; profile(print)"
    plain = run(["-c", SHOW_MODULES], cwd=tmp_path)
    ours = run(["-c", f"import lineprof; {decorated}; {SHOW_MODULES}"], cwd=tmp_path)
    assert (ours.status, ours.err) == (0, "")
    assert slow(ours.out) <= slow(plain.out)


def test_what_is_imported_late_is_the_standard_librarys(tmp_path: Path) -> None:
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


def test_an_encoding_is_read_beside_a_tokenize_of_the_programs_own(
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


def test_a_profile_is_written_beside_a_functools_of_the_programs_own(
    tmp_path: Path,
) -> None:
    app = tmp_path / "app"  # not here, where python -m itself imports from
    write(app, "functools.py", "mine = True")
    write(app, "program.py", f"import functools\nassert functools.mine\n{PROGRAM}")
    ours = kernprof("-lv", "app/program.py", cwd=tmp_path)
    assert (ours.status, ours.err) == (0, "")
    assert "return x" in ours.out


@pytest.mark.parametrize(
    "words", [["-lv"], ["-l", "-i1"], ["-bv"], ["-ls", "app/x.py"]]
)
def test_everything_may_be_the_programs_own(tmp_path: Path, words: list[str]) -> None:
    app = tmp_path / "app"  # not here, where python -m itself imports from
    for name in OWN:
        write(app, f"{name}.py", "mine = True")
    imports = "".join(f"import {name}; {name}.mine\n" for name in OWN)
    write(app, "x.py", imports)
    write(app, "program.py", imports + PROGRAM)
    plain = run(["app/x.py"], cwd=tmp_path)
    ours = kernprof(*words, "app/program.py", cwd=tmp_path)
    assert (ours.status, ours.err) == (plain.status, plain.err)
    assert "Wrote profile results to 'program." in ours.out


def test_threads_have_no_names_where_threading_is_the_programs_own(
    tmp_path: Path,
) -> None:
    app = tmp_path / "app"
    write(app, "threading.py", "mine = True")
    write(app, "program.py", f"import threading\nassert threading.mine\n{PROGRAM}")
    ours = kernprof("-lv", "app/program.py", cwd=tmp_path)
    assert ours.status == 0
    assert "return x" in ours.out
    assert ours.err.startswith("Exception ignored")  # python's: it has no _shutdown


def test_the_list_of_what_is_imported_late_is_complete() -> None:
    code = """
import sys
known = {*sys.modules, *sys.builtin_module_names}
from kernprof.namesakes import _AT_START
from lineprof.later import NAMES, import_all
import_all()
import kernprof.closing, kernprof.texts
tops = {name.partition(".")[0] for name in sys.modules}
new = tops - known - _AT_START - NAMES
print(*(name for name in new if not name.startswith("_")))
"""
    # Without site, which may have imported anything; but where lineprof is, is said.
    home = str(Path(lineprof.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": home},
    )
    assert done.stdout.split() == []
