"""lineprof.autoprofile.autoprofile.run: profiling by name inside a program."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from as_python import run, write
from prof_mod import library
from running import hits_of, new_profiler

from lineprof.autoprofile import autoprofile

if TYPE_CHECKING:
    from pathlib import Path

    from oracle import Hits

SCRIPT = """\
import sys
import pkg.shapes

def main():
    return pkg.shapes.area(2)

print(main(), __name__, __file__, sys.modules['__main__'].extra)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a package and a script, first on sys.path."""
    library(tmp_path)
    write(tmp_path, "x.py", SCRIPT)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path  # type: ignore[misc]
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {"pkg", "x"}:
            del sys.modules[name]


def ran(file: Path, prof_mod: list[str], **options: bool) -> Hits:
    """Run a script; return the hits of the profiled functions."""
    profiler = new_profiler()
    names = {"prof": profiler, "__name__": "__main__", "__file__": str(file)}
    main, finders = sys.modules["__main__"], list(sys.meta_path)
    try:
        autoprofile.run(str(file), {**names, "extra": 1}, prof_mod, **options)
    finally:
        assert sys.modules["__main__"] is main
        assert sys.meta_path == finders
    return {(line, name): hits for (line, name), hits in hits_of(profiler).items()}


def test_a_script_and_its_imports(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = folder / "x.py"
    own, area = {(4, "main"): {5: 1}}, {(3, "area"): {4: 1}}
    assert ran(script, [str(script)]) == own
    assert ran(script, [str(script), "pkg.shapes.area"]) == {**area, **own}
    assert ran(script, ["pkg.shapes.area"]) == area
    assert ran(script, []) == {}
    every = ran(script, [str(script)], profile_imports=True)
    assert {*own, *area} <= set(every)
    assert ran(script, ["pkg.shapes"], profile_imports=True).keys() == (
        every.keys() - own.keys()
    )
    out, err = capsys.readouterr()
    assert (out, err) == (f"4 __main__ {script} 1\n" * 6, "")


def test_a_module_has_its_package(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = folder / "pkg" / "__main__.py"
    hits = ran(main, [str(main), "pkg.deep.inner"], as_module=True)
    assert hits == {(5, "main"): {6: 1}, (1, "twice"): {2: 1}}
    out = capsys.readouterr().out
    assert out.startswith("8 ")
    assert out.endswith(" __main__ pkg\n")
    with pytest.raises(ModuleNotFoundError, match="no folder of"):
        ran(folder / "pkg" / "no-name.py", [], as_module=True)
    with pytest.raises(FileNotFoundError):
        ran(folder / "none.py", [])


def test_exceptions_of_the_script_propagate(folder: Path) -> None:
    write(folder, "x.py", "def f():\n    1 / 0\nf()\n")
    with pytest.raises(ZeroDivisionError):
        ran(folder / "x.py", [str(folder / "x.py")])


def test_run_has_the_place_of_line_profilers_function(folder: Path) -> None:
    program = """\
        from lineprof import LineProfiler
        from lineprof.autoprofile import autoprofile
        prof = LineProfiler()
        names = {"prof": prof, "__file__": "x.py", "extra": 2}
        autoprofile.run("x.py", names, ["x.py"])
        prof.print_stats()
        """
    write(folder, "host.py", program)
    outcome = run(["host.py"], cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("4 __main__ x.py 2\nTimer unit: 1e-09 s\n")
    assert "Function: main at line 4" in outcome.out
    assert outcome.out.count("Function: ") == 1
