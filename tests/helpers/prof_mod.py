"""Hits of programs under ``kernprof -l -p``, and a package for them to import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from as_python import kernprof_forked, write

from lineprof import load_stats

if TYPE_CHECKING:
    from as_python import Outcome

Hits = dict[str, dict[int, int]]

LIBRARY = {
    "pkg/__init__.py": "from pkg.shapes import area\n",
    "pkg/__main__.py": """\
        import sys
        from . import shapes
        from .deep.inner import twice

        def main():
            return twice(shapes.area(2))

        print(main(), sys.argv[1:], __name__, __package__)
        """,
    "pkg/shapes.py": """\
        from pkg.tools import square

        def area(x):
            return square(x)

        class Box:
            def side(self):
                return 3
        """,
    "pkg/tools.py": """\
        def square(x):
            return x * x

        def unused():
            return 0
        """,
    "pkg/deep/__init__.py": "",
    "pkg/deep/inner.py": """\
        def twice(x):
            return 2 * x
        """,
    "pkg/no-name.py": "raise SystemExit('not a module')",
}


def hits(folder: Path, name: str = "out") -> Hits:
    """Return the hits by line of each function ("file:line name") of a profile."""
    found: Hits = {}
    for function in load_stats(folder / name).functions:
        file, last = Path(function.file).name, function.name.rpartition(".")[2]
        key = f"{file}:{function.line} {last}"
        assert key not in found, "the profile has a function twice"
        found[key] = {row.line: row.hits for row in function.rows if row.hits}
    return found


def library(folder: Path) -> None:
    """Write the package ``pkg``."""
    for name, text in LIBRARY.items():
        write(folder, name, text)


def profiled(
    *words: str, cwd: Path, err: str = "", status: int = 0, **options: object
) -> tuple[Outcome, Hits]:
    """Run kernprof -l; return its outcome and the hits of its profile."""
    (cwd / "out").unlink(missing_ok=True)  # an empty profile would not replace it
    outcome = kernprof_forked("-lqo", "out", *words, cwd=cwd, **options)
    assert (outcome.status, outcome.err) == (status, err), outcome
    return outcome, hits(cwd)
