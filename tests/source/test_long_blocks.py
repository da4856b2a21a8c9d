"""Functions and classes of more than 300 lines have all of them in every table."""

from __future__ import annotations

import ast
import inspect
import os
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from as_python import kernprof

from lineprof.source import Sources, block
from lineprof.source_files import disk_text, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

FOLDERS = os.environ.get("LINEPROF_BLOCKS", "").split(os.pathsep)  # also these
LONG = 300


def test_a_function_with_a_blank_line_300_has_its_whole_table(tmp_path: Path) -> None:
    body = [*["    x += 1"] * 296, "", *["    x += 1"] * 100]
    lines = ["@profile", "def f():", "    x = 0", *body, "    return x"]
    assert not lines[300 - 1]
    (tmp_path / "long.py").write_text("\n".join([*lines, "", "f()"]))
    done = kernprof("-l", "-v", "long.py", cwd=tmp_path)
    assert "outside" not in done.err
    table = done.out[done.out.index("=\n") + 2 :].rstrip("\n").split("\n")
    assert [int(row.split()[0]) for row in table] == [*range(1, 1 + len(lines))]
    at = done.out[: done.out.index("Line Contents")].rpartition("\n")[2]
    assert [row[len(at) :].strip() for row in table] == [line.strip() for line in lines]


def test_long_blocks_of_real_packages_are_those_of_inspect() -> None:
    modules = [*Path(sysconfig.get_path("stdlib")).glob("*.py")]
    for folder in filter(None, FOLDERS):
        modules += Path(folder).rglob("*.py")
    names = [name for module in modules for name in _check(module)]
    print(len(names), file=sys.stderr)
    assert {"Popen", "TarFile", "Thread"} <= {*names}  # in the library of any Python


def _definitions(node: ast.AST) -> Iterator[Definition]:
    """Yield the functions and classes in a statement, without a look at expressions."""
    parts = ("body", "orelse", "handlers", "finalbody", "cases")
    for inner in (one for part in parts for one in getattr(node, part, ())):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield inner
        yield from _definitions(inner)


def _check(path: Path) -> list[str]:
    """Check the long functions and classes of a file; return their names."""
    file = str(path)
    text = disk_text(file) or ""
    lines = lines_of(text)
    if len(lines) <= LONG:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            nodes = [*_definitions(ast.parse(text))]
        except SyntaxError:  # a file for another version
            return []
    sources = Sources({})
    names = []
    for node in nodes:
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        end = node.end_lineno or 0
        if end - first < LONG:
            continue
        names.append(node.name)
        rest = inspect.getblock([f"{line}\n" for line in lines[first - 1 :]])
        expected = [line.rstrip("\n") for line in rest]
        for found in (block(text, first, node.name), sources.block(file, first)):
            assert found == expected, (file, first)
        assert len(expected) >= end - first + 1, (file, first)
    return names
