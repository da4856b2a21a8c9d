"""Who may know of whom, and how big a file may be: kept true here."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from rooms import ALLOWED, C_ROOMS, CORE, LIBC_ROOMS, NEVER, PYTHON_ROOMS

ROOT = Path(__file__).resolve().parents[1]
C_FILE_LINES, C_FUNCTION_LINES = 400, 60
PYTHON_FILE_LINES, PYTHON_FUNCTION_LINES = 300, 40

C_FILES = sorted((ROOT / "csrc").glob("*.[ch]"))
PACKAGES = [ROOT / "lineprof", ROOT / "kernprof"]
PYTHON_FILES = sorted(file for package in PACKAGES for file in package.rglob("*.py"))
SCRIPTS = sorted(
    file
    for folder in ("tools", "benchmarks", "examples")
    for file in (ROOT / folder).rglob("*.py")
)


def includes(file: Path) -> set[str]:
    """Rooms that a C file includes, its own left out."""
    text = file.read_text(encoding="utf-8")
    quoted = re.findall(r'^\s*#\s*include\s+"(.+)\.h"', text, re.MULTILINE)
    return set(quoted) - {file.stem}


def room_of(file: Path) -> str:
    """Dotted name of a Python file's module."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(file: Path, *, types: bool) -> set[str]:
    """Modules of ours that a Python file imports, those for types only if asked."""
    found = set()
    for node in statements(ast.parse(file.read_bytes()), types=types):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: a relative import hides the room's name"
            module = str(node.module)
            names = {f"{module}.{alias.name}" for alias in node.names}
            rooms = names & {*PYTHON_ROOMS, CORE}
            found |= rooms or {module}
    ours = {name for name in found if name.split(".")[0] in {"lineprof", "kernprof"}}
    return ours - {room_of(file)}


def statements(tree: ast.AST, *, types: bool) -> list[ast.AST]:
    """Every node of a tree; what stands under `if TYPE_CHECKING` only if asked."""
    found = []
    todo = [tree]
    while todo:
        node = todo.pop()
        found.append(node)
        guard = isinstance(node, ast.If) and ast.dump(node.test)
        if not (guard and "'TYPE_CHECKING'" in guard and not types):
            todo += ast.iter_child_nodes(node)
    return found


def test_c_files_include_what_the_map_allows() -> None:
    strays = {
        file.name: sorted(includes(file) - set(C_ROOMS[file.stem].split()))
        for file in C_FILES
    }
    assert {name: rooms for name, rooms in strays.items() if rooms} == {}


def test_python_files_import_what_the_map_allows() -> None:
    strays = {
        room_of(file): sorted(
            imports(file, types=True) - set(PYTHON_ROOMS[room_of(file)].split())
        )
        for file in PYTHON_FILES
    }
    assert {name: rooms for name, rooms in strays.items() if rooms} == {}


def test_the_map_promises_no_more_than_is_used() -> None:
    used: dict[str, set[str]] = {room: set() for room in {**C_ROOMS, **PYTHON_ROOMS}}
    for file in C_FILES:
        used[file.stem] |= includes(file)
    for file in PYTHON_FILES:
        used[room_of(file)] |= imports(file, types=True)
    promised = {room: set(known.split()) for room, known in C_ROOMS.items()}
    promised.update({room: set(known.split()) for room, known in PYTHON_ROOMS.items()})
    assert used == promised


def test_every_file_has_a_room_and_every_room_a_file() -> None:
    assert {file.stem for file in C_FILES} == set(C_ROOMS)
    assert {room_of(file) for file in PYTHON_FILES} == set(PYTHON_ROOMS)


def test_rooms_above_the_line_know_only_libc() -> None:
    below = {
        room for known in LIBC_ROOMS.values() for room in known.split()
    } - LIBC_ROOMS.keys()
    assert below == set()


def inside(room: str, package: str) -> bool:
    """Whether a module is a package or in it."""
    return f"{room}.".startswith(f"{package}.")


def test_no_room_knows_what_it_never_may() -> None:
    strays = [
        f"{room} knows {known}"
        for package, banned in NEVER.items()
        for room in PYTHON_ROOMS
        for known in PYTHON_ROOMS[room].split()
        if inside(room, package) and any(inside(known, no) for no in banned.split())
        if (room, known) not in ALLOWED
    ]
    assert strays == []


def test_hooks_do_not_know_each_other() -> None:
    hooks = {room for room in C_ROOMS if room.startswith("lp_hook_")}
    known = {other for hook in hooks for other in C_ROOMS[hook].split()}
    assert hooks & known == set()


def test_one_file_includes_python_h() -> None:
    wanted = re.compile(r"^\s*#\s*include\s*[<\"]Python\.h", re.MULTILINE)
    files = [f.name for f in C_FILES if wanted.search(f.read_text(encoding="utf-8"))]
    assert files == ["lp_python.h"]


def test_one_python_file_imports_the_core() -> None:
    doors = {room_of(f) for f in PYTHON_FILES if CORE in imports(f, types=False)}
    assert doors == {"lineprof.recording.core"}


def test_the_module_exports_its_entry_alone() -> None:
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
    """Ask nm for what the loader sees: elsewhere than on ELF it always does."""
    return ["-D"] if sys.platform.startswith("linux") else []


def c_functions(file: Path) -> list[tuple[int, int]]:
    """First line and length of each function of a C file, as clang-format lays it."""
    found = []
    start = 0
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            found.append((start, number - start - 1))
            start = 0
    return found


def python_functions(file: Path) -> list[tuple[int, int]]:
    """First line and length of each function of a Python file, docstring left out."""
    found = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                text = node.body[0]
                assert text.end_lineno is not None
                length -= text.end_lineno - text.lineno + 1
            found.append((node.lineno, length))
    return found


def test_a_file_fits_in_the_head() -> None:
    limits = dict.fromkeys(C_FILES, C_FILE_LINES)
    limits.update(dict.fromkeys(PYTHON_FILES + SCRIPTS, PYTHON_FILE_LINES))
    lines = {file: len(file.read_bytes().splitlines()) for file in limits}
    assert {f.name: n for f, n in lines.items() if n > limits[f]} == {}


def test_a_function_fits_in_the_head() -> None:
    long = [
        f"{file.name}:{line} has {length} lines"
        for files, functions, limit in (
            (C_FILES, c_functions, C_FUNCTION_LINES),
            (PYTHON_FILES + SCRIPTS, python_functions, PYTHON_FUNCTION_LINES),
        )
        for file in files
        for line, length in functions(file)
        if length > limit
    ]
    assert long == []


def test_contributing_shows_the_same_map() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.]+)` \|[^|]*\| ([^|]*) \|$", text, re.MULTILINE)
    shown = {room: known.replace("`", "").replace("-", "") for room, known in rows}
    assert shown == {**C_ROOMS, **PYTHON_ROOMS}
