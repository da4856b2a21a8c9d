"""Commands in the pages of docs/ with examples: drilling down, timelines, advice...

`make check-exports` runs the commands of other programs.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES_WITH_PICTURES = ("drill-down.md", "timeline.md", "exports.md")
PAGES = (*PAGES_WITH_PICTURES, "advice.md", "compare.md")
OURS = ("kernprof ", "python -m lineprof ")
IMAGE = re.compile(r"!\[[^\]]+\]\(([^)]+)\)")
MOST_BYTES = 300_000  # of a picture


def commands(page: str) -> list[str]:
    """Commands of lineprof in the shell blocks of a page, without their comments."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line.split("  #")[0].strip() for line in lines if line.startswith(OURS)]


def files(page: str) -> list[tuple[str, str]]:
    """Files of TOML on a page, which have their names in their first lines."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"^```toml\n# (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the examples, and with the programs that pages name."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    program = "def work():\n    return sum(range(100))\n\n\nwork()\n"
    for name in ("train.py", "script.py"):
        (tmp_path / name).write_text(program, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_in_sequence(page: str, folder: Path) -> None:
    found = commands(page)
    assert found
    for name, text in files(page):
        (folder / name).write_text(text, encoding="utf-8")
    for command in found:
        words = shlex.split(command)
        if words[0] == "kernprof":
            words = ["python", "-m", *words]
        done = subprocess.run(
            [sys.executable, *words[1:]],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr.decode()}"


@pytest.mark.parametrize("page", PAGES_WITH_PICTURES)
def test_a_page_has_an_existing_small_picture(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    pictures = [ROOT / "docs" / link for link in IMAGE.findall(text)]
    assert pictures
    for picture in pictures:
        assert 0 < picture.stat().st_size < MOST_BYTES, picture


def test_every_format_is_on_the_page_of_exports() -> None:
    from lineprof.export import EXPORTS  # noqa: PLC0415 - the subject of the page

    text = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    table = text[text.index("| `--format` |") :].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == sorted(EXPORTS)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_in_the_index(page: str) -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f"({page})" in index


def test_the_rows_of_the_comparison_are_those_on_its_page(folder: Path) -> None:
    page = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    program = folder / "examples" / "three_modules" / "shingles.py"
    before, after = re.findall(
        r"After `(.+)` in `shingles.py` has become `(.+)`", page
    )[0]

    def run(*words: str) -> str:
        command = [sys.executable, "-m", *words]
        return subprocess.run(
            command, cwd=folder, capture_output=True, check=True
        ).stdout.decode()

    script = "examples/three_modules/near_duplicates.py"
    run("kernprof", "-lq", "-o", "before.lprof", script)
    text = program.read_text(encoding="utf-8")
    assert before in text
    program.write_text(re.sub(f"{re.escape(before)}.*", after, text), encoding="utf-8")
    run("kernprof", "-lq", "-o", "after.lprof", script)
    shown = run("lineprof", "diff", "before.lprof", "after.lprof")
    row = r" 126445 +edited +shingles.py:13 +shingles +parts.add\(part\)"
    assert re.search(row, page)
    assert re.search(row, shown)
