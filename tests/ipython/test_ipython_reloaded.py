"""Lines of functions that autoreload compiled without them, as IPython 9 does."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

import pytest

from lineprof.ipython.profiler import restore_lines

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "# a comment\n\ndef f(x):\n    # add\n    return x + 1\n"


@pytest.fixture(autouse=True)
def _autoreload(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "IPython.extensions.deduperreload.deduperreload"
    monkeypatch.setitem(sys.modules, name, ModuleType(name))


def function(text: str, file: Path) -> FunctionType:
    """Return the function that a text defines, with the name of a file."""
    file.write_text(TEXT, encoding="utf-8")
    names: dict[str, FunctionType] = {}
    exec(compile(text, str(file), "exec"), {"__name__": "mine"}, names)
    return names["f"]


def test_lines_of_a_function_are_restored(tmp_path: Path) -> None:
    f = function("def f(x):\n    return x + 1\n", tmp_path / "mine.py")
    assert restore_lines([f]) == (True, [])
    assert f.__code__.co_firstlineno == 3
    assert f(1) == 2
    assert restore_lines([f]) == (False, [])


@pytest.mark.parametrize("change", ["x + 2", "x + 1.0", "x - 1", "y + 1", "-(x + 1)"])
def test_a_function_with_other_code_is_left_alone(change: str, tmp_path: Path) -> None:
    f = function(f"def f(x):\n    return {change}\n", tmp_path / "mine.py")
    code = f.__code__
    changed, (note,) = restore_lines([f])
    assert not changed
    assert note.startswith("the lines shown of f may not be those measured")
    assert f.__code__ is code


def test_functions_of_other_files_are_left_alone(tmp_path: Path) -> None:
    f = function("def g(): 0\ndef f(x): 0\nf.__qualname__ = 'a.b'", tmp_path / "m.py")
    assert restore_lines([f, len, 5]) == (False, [])


def test_without_autoreload_no_function_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if "deduperreload" in name]:
        monkeypatch.delitem(sys.modules, name)
    f = function("def f(x):\n    return x + 1\n", tmp_path / "mine.py")
    assert restore_lines([f]) == (False, [])
    assert f.__code__.co_firstlineno == 1
