"""Rooms of the C code: their includes, and the symbols that the core exports."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "csrc"
ROOMS = [
    "bytecode",
    "record",
    "arithmetic",
    "elf",
    "gpu",
    "memory",
    "engine",
    "hooks",
    "module",
]  # each may include itself and those before
INCLUDE = re.compile(r'^\s*#\s*include\s+["<](?:(\w+)/)?(\w+\.h)[">]', re.MULTILINE)
CORE = "lineprof._core"


def includes() -> Iterator[tuple[Path, str, str]]:
    """Yield (file, folder, header) of every include of a header in csrc."""
    for file in sorted(CSRC.rglob("*.[ch]")):
        for folder, header in INCLUDE.findall(file.read_text(encoding="utf-8")):
            yield file.relative_to(CSRC), folder, header


def test_a_c_room_includes_only_rooms_below() -> None:
    wrong = [
        f"{file} includes {folder}/{header}"
        for file, folder, header in includes()
        if folder in ROOMS and ROOMS.index(folder) > ROOMS.index(file.parts[0])
    ]
    assert wrong == []


def test_an_include_names_its_room() -> None:
    ours = {file.name for file in CSRC.rglob("*.h")}
    wrong = [
        f"{file} includes {header}"
        for file, folder, header in includes()
        if not folder and header in ours
    ]
    assert wrong == []


def test_only_one_header_includes_python_h() -> None:
    doors = {str(file) for file, _, header in includes() if header == "Python.h"}
    assert doors == {"engine/python_compat.h"}


def imports(file: Path) -> set[str]:
    """Return the modules that a Python file imports, without those only for types."""
    found = set()
    todo: list[ast.AST] = [ast.parse(file.read_bytes())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        guard = isinstance(node, ast.If) and ast.dump(node.test)
        if not (guard and "'TYPE_CHECKING'" in guard):
            todo += ast.iter_child_nodes(node)
    return found


def test_only_two_python_files_import_the_core() -> None:
    doors = {
        str(file.relative_to(ROOT))
        for package in ("lineprof", "kernprof")
        for file in (ROOT / package).rglob("*.py")
        if CORE in imports(file)
    }
    assert doors == {
        "lineprof/recording/core.py",
        "lineprof/snapshot/arithmetic.py",  # of its functions those without state
    }


def test_the_module_exports_only_its_entry() -> None:
    core = find_spec(CORE)
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm on this machine")
    assert core is not None
    assert core.origin is not None
    listed = subprocess.run(
        [nm, "-gP", "--defined-only", *dynamic(), core.origin],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    names = [line.split()[0].lstrip("_") for line in listed.splitlines()]
    assert names == ["PyInit__core"]


def dynamic() -> list[str]:
    """Return nm's flag for dynamic symbols, which only ELF files need."""
    return ["-D"] if sys.platform.startswith("linux") else []
