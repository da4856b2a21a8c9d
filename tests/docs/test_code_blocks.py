"""Code blocks of README.md and of the pages: each is run, or has a reason not to be."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from as_python import kernprof
from example_ranks import save_ranks
from pages import DONE, FENCE, FILES, PAGES, ROOT, Block, Shell, blocks_of, shape

# Why blocks are not run, and how many there are of each kind.
NOT_RUN = {
    "a drawing or a formula": 2,
    "a listing of bytecode": 1,
    "a message": 2,
    "a screen of a running program": 1,
    "depends on the load of the machine": 3,
    "installs a package": 1,
    "needs Dask or Ray": 4,
    "needs a launcher of ranks": 4,
    "needs a notebook": 1,
    "needs a project": 10,
    "needs an experiment tracker": 3,
    "needs another program": 1,
    "part of a program": 1,
    "the numbers of the lines are those below": 1,
}
OLD = ROOT / "tests" / "golden" / "line_profiler" / "demo-4.2.0.lprof"
MARKS = {"", "not run", "varies", "as in", "tested by", *DONE}
PROGRAM = "@profile\ndef work():\n    return sum(range(100))\n\n\nwork()\n"
SIMULATED = ("simulated_gpu.py", "starved_gpu.py")
ALWAYS = {"README.md", "usage.md"}  # the others are left to the rest
RUNNABLE = [name for name in PAGES if any(b.runs for b in blocks_of(PAGES[name]))]


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a profile of the program that pages name."""
    folder = tmp_path_factory.mktemp("profile")
    (folder / "script.py").write_text(PROGRAM, encoding="utf-8")
    assert kernprof("-lq", "script.py", cwd=folder).status == 0
    return folder / "script.lprof"


@pytest.fixture
def folder(tmp_path: Path, profile: Path) -> Path:
    """Give a folder with the examples, and with files that pages name."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    for name in ("train.py", "script.py", "package/module.py"):
        (tmp_path / name).write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "job.sh").write_text("python script.py\n", encoding="utf-8")
    for name in ("script.lprof", "train.lprof"):
        shutil.copy(profile, tmp_path / name)
    shutil.copy(OLD, tmp_path / "script.py.lprof")
    for rank, file in enumerate(save_ranks(tmp_path)):
        Path(file).rename(tmp_path / f"solve.r{rank:04}.lprof")
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [
        page if page in ALWAYS else pytest.param(page, marks=pytest.mark.seldom)
        for page in RUNNABLE
    ],
)
def test_the_blocks_of_a_page_run_in_sequence(
    page: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    blocks = [one for one in blocks_of(PAGES[page]) if one.runs]
    if any(name in block.text for block in blocks for name in SIMULATED):
        native = folder / "build" / "native"
        native.mkdir(parents=True)
        (native / "doubles").symlink_to(request.getfixturevalue("doubles"))
    shell = Shell(folder)
    if page != "tutorial-gpu.md":  # which has a clock of its own
        # No columns that other processes cause.
        shell.environment["LINEPROF_WAITS"] = "off"
    for block in blocks:
        shell.do(block)


def test_each_block_that_is_not_run_has_a_known_reason() -> None:
    blocks = [block for page in PAGES.values() for block in blocks_of(page)]
    assert {block.mark for block in blocks} <= MARKS
    reasons = Counter(block.value for block in blocks if block.mark == "not run")
    assert reasons == NOT_RUN


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_fenced_blocks_of_known_languages_alone(page: str) -> None:
    text = PAGES[page].read_text(encoding="utf-8")
    rest = FENCE.sub("", text)
    assert "```" not in rest
    indented = re.findall(r"\n\n    (?! )[^-*\s].*", rest)
    assert indented == []  # code to a reader, and no block to these tests
    languages = {block.language for block in blocks_of(PAGES[page])}
    assert languages <= {*FILES, "json", "sql", "text", "yaml"}
    for block in blocks_of(PAGES[page]):
        if block.language == "json":
            assert json.loads(block.text)


def accounted(block: Block) -> bool:
    """Return whether a block is run, or marked, or text for another test."""
    tables = block.language == "sql" and "select " not in block.text  # of a file
    return block.runs or bool(block.mark) or block.language == "json" or tables


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_is_run_or_marked(page: str) -> None:
    assert [one for one in blocks_of(PAGES[page]) if not accounted(one)] == []


def test_an_unmarked_output_is_not_accounted_for() -> None:
    assert accounted(Block(language="sh", text="kernprof -l script.py\n"))
    assert not accounted(Block(language="text", text="Timer unit: 1e-06 s\n"))
    assert not accounted(Block(language="toml", text="[program]\n"))
    assert not accounted(Block(language="sql", text="select name from lines;\n"))


@pytest.mark.parametrize("page", PAGES)
def test_outputs_of_other_files_are_shown_as_there(page: str) -> None:
    for block in blocks_of(PAGES[page]):
        if block.mark == "as in":
            file = ROOT / block.value
            assert file.parent.name == "golden" or file.name in RUNNABLE
            there = shape(file.read_text(encoding="utf-8"))
            assert [line for line in shape(block.text) if line not in there] == []


@pytest.mark.parametrize("page", PAGES)
def test_outputs_that_other_tests_compare_name_a_test_of_their_page(page: str) -> None:
    for block in blocks_of(PAGES[page]):
        if block.mark == "tested by":
            path, _, name = block.value.partition("::")
            code = (ROOT / path).read_text(encoding="utf-8")
            assert f"def {name}(" in code
            assert f'"{page}"' in code


def test_a_console_block_begins_with_a_command() -> None:
    for page in PAGES.values():
        for block in blocks_of(page):
            assert (block.language == "console") == block.text.startswith("$ ")
