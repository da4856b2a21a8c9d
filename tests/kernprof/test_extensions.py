"""Extension modules, whose functions have no lines: kernprof names them."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked, write
from compiled_doubles import compiler
from whole_program import HINT, names

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

TINY = """\
    #include <Python.h>

    static PyObject *
    twice(PyObject *self, PyObject *number)
    {
        return PyNumber_Add(number, number);
    }

    static PyMethodDef methods[] = {{"twice", twice, METH_O, NULL}, {NULL}};
    static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, .m_name = "pk.tiny", .m_methods = methods};

    PyMODINIT_FUNC
    PyInit_tiny(void)
    {
        return PyModuleDef_Init(&definition);
    }
    """
SCRIPT = """\
    from pk import tiny

    def main():
        return [tiny.twice(n) for n in range(10)]

    main()
    """
LINES = "it has no lines; its time is in the line that calls it"
MODULE = f"pk.tiny is compiled (tiny.so): {LINES}"
FUNCTION = f"pk.tiny.twice is compiled (tiny.so): {LINES}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a script and a package that has an extension module."""
    folder = tmp_path_factory.mktemp("compiled")
    write(folder, "x.py", SCRIPT)
    write(folder, "y.py", f"{SCRIPT}tiny.twice = profile(tiny.twice)\n")
    write(folder, "pk/__init__.py", "")
    source = folder / write(folder, "tiny.c", TINY)
    include = f"-I{sysconfig.get_path('include')}"
    output = folder / "pk" / "tiny.so"
    options = ["-shared", "-fPIC", include]
    if sys.platform == "darwin":
        options += ["-undefined", "dynamic_lookup"]
    subprocess.run([*compiler(), *options, source, "-o", output], check=True)
    return folder


@pytest.mark.parametrize("target", ["pk.tiny", "pk.tiny.twice", "pk/tiny.so", "pk"])
def test_a_target_that_is_compiled_is_named(folder: Path, target: str) -> None:
    outcome = kernprof_forked("-lo", "out", "-p", target, "x.py", cwd=folder)
    why = f"the profile is empty: {MODULE}; without -p the whole program is profiled"
    assert outcome.err == f"kernprof: {why}\n"
    stats = load_stats(folder / "out")
    assert MODULE in stats.warnings


def test_a_whole_program_names_its_own_compiled_modules(folder: Path) -> None:
    outcome = kernprof_forked("-lvo", "out", "x.py", cwd=folder)
    found = "profiled 2 functions in 1 file, as no @profile was found"
    assert outcome.err == f"kernprof: {found}{HINT}kernprof: {MODULE}\n"
    assert MODULE in load_stats(folder / "out").warnings


def test_the_profilers_own_extension_is_not_the_programs(folder: Path) -> None:
    source = """\
        import os, sys
        from lineprof import _core
        _core.__file__ = os.path.abspath("lineprof/_core.so")  # as if installed here
        """
    write(folder, "z.py", source)
    found = "profiled 1 function in 1 file, as no @profile was found"
    assert kernprof_forked("-l", "z.py", cwd=folder).err == f"kernprof: {found}{HINT}"


def test_a_compiled_function_that_is_decorated_is_named(folder: Path) -> None:
    outcome = kernprof_forked("-lo", "out", "y.py", cwd=folder)
    found = "profiled 2 functions in 1 file, as @profile is only on compiled code"
    assert outcome.err == f"kernprof: {found}{HINT}kernprof: {FUNCTION}\n"
    assert names(load_stats(folder / "out")) == ["y.py:<module>", "y.py:main"]
    outcome = kernprof_forked("-l", "--no-whole", "y.py", cwd=folder)
    assert outcome.err == f"kernprof: the profile is empty: {FUNCTION}\n"
