"""Real programs: how each is started, and the function that is profiled alone.

Programs are pinned in tools/requirements/real_programs.txt; what they work on is made
here or comes from benchmarks/programs and the source distribution of Jinja2.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SOURCES = Path(__file__).resolve().parent.parent / "programs"
PAGES = 40
SPHINX_EXTENSIONS = (  # those of Jinja2's documentation that need no network
    "sphinx.ext.autodoc,sphinx.ext.extlinks,sphinxcontrib.log_cabinet,"
    "pallets_sphinx_themes"
)
PAGE = """
## Section {number}

Text with *emphasis*, `code`, a [link](page{next}.md) and a list:

- one, with **bold** text
- two
    1. nested
    2. list

| name | value |
|------|-------|
| a    | {number} |
| b    | {next} |

```python
def function{number}(argument):
    return [argument * factor for factor in range({number})]
```

> A quotation, then a [reference][here].

[here]: https://example.org/{number} "title"
"""


@dataclass(frozen=True)
class Inputs:
    """Folders that a program's files are made from."""

    packages: Path  # site-packages of the environment
    jinja2: Path  # the unpacked source distribution of Jinja2


@dataclass(frozen=True)
class Program:
    """Program with its arguments; it runs in a folder that `prepare` has filled."""

    name: str
    arguments: tuple[str, ...]  # of Python: a script or -m module, and its own
    function: str  # for -p
    prepare: Callable[[Path, Inputs], None]
    whole: tuple[str, ...] = ()  # flags of kernprof, if the program's part is installed
    folder: str = "."  # in which it runs
    outputs: tuple[str, ...] = ()  # removed before each run
    environment: Mapping[str, str] = field(default_factory=dict)  # {} is the folder


def script(*names: str) -> Callable[[Path, Inputs], None]:
    """Return a function that copies files or folders of benchmarks/programs."""

    def prepare(folder: Path, _inputs: Inputs) -> None:
        for name in names:
            source = SOURCES / name
            if source.is_dir():
                ignore = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source, folder, dirs_exist_ok=True, ignore=ignore)
            else:
                shutil.copy(source, folder)

    return prepare


def jinja2(folder: Path, inputs: Inputs) -> None:
    """Copy the source distribution of Jinja2."""
    shutil.copytree(inputs.jinja2, folder, dirs_exist_ok=True)


def long_module(folder: Path, inputs: Inputs) -> None:
    """Copy a module of 2,700 lines, for black."""
    source = inputs.packages / "sympy" / "core" / "function.py"
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line.startswith("class ")]
    end = max(number for number in starts if number < 2800)
    (folder / "long.py").write_text("".join(lines[:end]), encoding="utf-8")


def site(folder: Path, _inputs: Inputs) -> None:
    """Write a site of MkDocs."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Home\n\n[first](page0.md)\n", encoding="utf-8")
    for number in range(PAGES):
        sections = (
            PAGE.format(number=number + part, next=(number + 1) % PAGES)
            for part in range(10)
        )
        text = f"# Page {number}\n" + "".join(sections)
        (docs / f"page{number}.md").write_text(text, encoding="utf-8")
    (folder / "mkdocs.yml").write_text("site_name: Pages\n", encoding="utf-8")


PROGRAMS = (
    Program(
        name="black",
        arguments=("-m", "black", "--check", "long.py"),
        function="black.linegen.LineGenerator",
        prepare=long_module,
        outputs=("cache",),
        environment={"BLACK_CACHE_DIR": "{}" + os.sep + "cache"},
    ),
    Program(
        name="mkdocs",
        arguments=("-m", "mkdocs", "build"),
        function="mkdocs.structure.pages.Page",
        prepare=site,
        outputs=("site",),
    ),
    Program(
        name="sphinx",
        arguments=(
            *("-m", "sphinx", "-E", "-D", f"extensions={SPHINX_EXTENSIONS}"),
            *(".", "_build"),
        ),
        function="sphinx.writers.html5.HTML5Translator",
        prepare=jinja2,
        folder="docs",
        outputs=("_build",),
    ),
    Program(
        name="jinja2",
        arguments=("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"),
        function="jinja2.lexer.Lexer",
        prepare=jinja2,
        environment={"PYTHONPATH": "{}" + os.sep + "src"},
    ),
    Program(
        name="sympy",
        arguments=("algebra.py",),
        function="sympy.core.mul.Mul",
        prepare=script("algebra.py"),
        whole=("--include", "sympy"),
    ),
    Program(
        name="fastapi",
        arguments=("server.py",),
        function="fastapi.dependencies.utils.solve_dependencies",
        prepare=script("server.py"),
    ),
    Program(
        name="django",
        arguments=("manage.py", "test"),
        function="shop",
        prepare=script("shop"),
    ),
    Program(
        name="pandas",
        arguments=("tables.py",),
        function="tables.py",
        prepare=script("tables.py"),
    ),
)
