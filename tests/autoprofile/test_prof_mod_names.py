"""kernprof -p: every form of a name, and the right spelling for a wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked, write
from prof_mod import profiled

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "my-script.py": """\
        import importlib
        import lib

        def slowly(n):
            return lib.helper(n)

        class Box:
            def side(self):
                def inner():
                    return 3
                return inner()

        print(slowly(2), Box().side(), lib.Tool().use(), flush=True)
        importlib.import_module("plugins.extra").load()
        """,
    "lib.py": """\
        def helper(n):
            return n

        class Tool:
            def use(self):
                return helper(1)
        """,
    "plugins/extra.py": "def load():\n    return 1\n",
}
SLOWLY, SIDE = "my-script.py:4 slowly", "my-script.py:8 side"
INNER = "my-script.py:9 inner"
HELPER, USE, LOAD = "lib.py:1 helper", "lib.py:5 use", "extra.py:1 load"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a script and its modules."""
    for name, text in FILES.items():
        write(tmp_path, name, text)
    return tmp_path


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("my-script.py::slowly,lib.py::Tool.use", [SLOWLY, USE]),
        ("./my-script.py::Box,lib::helper", [SIDE, HELPER]),
        ("my-script.py:11,lib.py:1(helper)", [SIDE, HELPER]),
        ("my-script.py:10,lib.py:6,plugins/extra.py::load", [INNER, USE, LOAD]),
        ("*/lib.py,./my-*.py::s*", [HELPER, USE, SLOWLY, SIDE]),
        ("lib.h*,*.extra,::Box", [HELPER, LOAD, SIDE, INNER]),
    ],
)
def test_a_target_has_every_form_of_a_name(
    folder: Path, names: str, expected: list[str]
) -> None:
    _, hits = profiled("-p", names, "my-script.py", cwd=folder)
    assert sorted(key for key in hits if hits[key]) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my-script.py::slow", "did you mean my-script.py::slowly?"),
        ("slow", "did you mean hello.slowly or hello.py::slowly?"),
        ("hello.slow", "did you mean hello.slowly or hello.py::slowly?"),
        ("lib.py::help", "did you mean lib.helper?"),
        ("libb.py", "did you mean lib.py?"),
        ("*.py::slow", "-p *.py::slow named nothing that ran; did you mean"),
    ],
)
def test_a_wrong_name_gets_the_right_spelling(
    folder: Path, name: str, said: str
) -> None:
    script = "my-script.py" if name.startswith("my") else "hello.py"
    (folder / "my-script.py").rename(folder / script)
    done = kernprof_forked("-lo", "out", "-p", name, script, cwd=folder)
    assert (done.status, done.out.splitlines()[0]) == (0, "2 3 1")
    wrong, empty = done.err.splitlines()
    assert said in wrong
    assert "the profile is empty: nothing that -p names ran; " in empty
