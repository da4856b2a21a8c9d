"""Tables of the pages of docs/ that name what the code has, and an edited example."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the examples."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def test_every_format_is_on_the_page_of_exports() -> None:
    from lineprof.export import EXPORTS  # noqa: PLC0415 - the subject of the page

    text = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    table = text[text.index("| `--format` |") :].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == sorted(EXPORTS)


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
