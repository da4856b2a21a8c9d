"""Tables of the pages of docs/ that name what the code has, and an edited example."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from pages import DONE, PAGES, ROOT, Shell, blocks_of, shape

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = "examples/three_modules/near_duplicates.py"
# Limits of the page, and those of its example of budgets that do not hold. The second
# time is shorter there than on the page, so that no machine keeps it.
EXCEEDED = {"calls = 380": "calls = 300", '"100 us"': '"1 ns"'}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the examples."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def run(folder: Path, *words: str, status: int = 0) -> str:
    """Run a module of lineprof in a folder; return its output."""
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout.decode().replace(f"{folder}/", "")


def test_every_format_is_on_the_page_of_exports() -> None:
    from lineprof.export import EXPORTS  # noqa: PLC0415 - the subject of the page

    text = PAGES["exports.md"].read_text(encoding="utf-8")
    table = text[text.index("| `--format` |") :].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == sorted(EXPORTS)


def test_the_page_of_top_has_its_keys_and_columns() -> None:
    from lineprof.live.layout import KEYS, TITLES  # noqa: PLC0415 - the same

    text = PAGES["top.md"].read_text(encoding="utf-8")

    def first_column(heading: str) -> set[str]:
        table = text[text.index(heading) :].partition("\n\n")[0]
        cells = [line.split("|")[1].replace("`", "") for line in table.splitlines()]
        return {word.strip() for cell in cells[2:] for word in cell.split(",")}

    keys = {word.strip() for names, _ in KEYS for word in names.split(",")}
    assert first_column("| Key |") == keys
    assert first_column("| Column |") == {title for title, _ in TITLES.values()}


PROPORTION = r"[\d,.]+ times"  # of a change, which differs from run to run


def titles_and_rows(lines: list[str]) -> list[str]:
    """Return the titles and the first row of each table of a comparison."""
    tables = [at for at, line in enumerate(lines) if line.startswith("CPU Before (")]
    return [line for at in tables for line in lines[at : at + 2]]


def test_the_page_of_comparisons_shows_what_its_commands_print(folder: Path) -> None:
    page = PAGES["compare.md"].read_text(encoding="utf-8")
    blocks = blocks_of(PAGES["compare.md"])
    compared, exceeded = (
        shape(block.text, PROPORTION)
        for block in blocks
        if block.mark == "tested by" and "test_tables_of_pages" in block.value
    )
    [budgets] = [block.text for block in blocks if block.value == "budgets.toml"]
    [(before, after)] = re.findall(
        r"After `(.+)` in `shingles.py` has become `(.+)`", page
    )

    run(folder, "kernprof", "-lq", "-o", "before.lprof", SCRIPT)
    module = folder / "examples" / "three_modules" / "shingles.py"
    text = module.read_text(encoding="utf-8")
    assert before in text
    module.write_text(re.sub(f"{re.escape(before)}.*", after, text), encoding="utf-8")
    run(folder, "kernprof", "-lq", "-o", "after.lprof", SCRIPT)

    # Titles and the first change of each table; which change is the second, varies.
    words = ("lineprof", "diff", "before.lprof", "after.lprof")
    shown = shape(run(folder, *words), PROPORTION)
    rows = titles_and_rows(compared)
    assert rows[3].endswith("edited shingles.py:13 shingles parts.add(part)")
    assert [line for line in [*rows, compared[-1]] if line not in shown] == []

    for limit, lower in EXCEEDED.items():
        assert limit in budgets
        budgets = budgets.replace(limit, lower)
    (folder / "budgets.toml").write_text(budgets, encoding="utf-8")
    words = ("lineprof", "check", "after.lprof", "--budget", "budgets.toml")
    assert shape(run(folder, *words, status=1)) == exceeded


def test_the_tutorial_shows_what_its_comparisons_print(folder: Path) -> None:
    shell = Shell(folder)
    compared = 0
    for block in blocks_of(PAGES["tutorial-cpu.md"]):
        if block.mark in DONE:
            shell.do(block)
        for command, output in block.sessions if block.language == "console" else ():
            if command.startswith("kernprof"):
                shell.run(command)
            if "lineprof diff" in command:
                shown = shape(shell.run(command), PROPORTION)
                rows = titles_and_rows(shape(output, PROPORTION))
                assert rows[1].endswith("returning")
                assert [line for line in rows if line not in shown] == []
                compared += 1
    assert compared == 2
