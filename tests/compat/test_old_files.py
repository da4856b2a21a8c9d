"""Profiles of line_profiler are shown byte for byte as line_profiler shows them."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from old_pickles import KEY, LINES, pickled, state

import lineprof
from lineprof.cli.main import main
from lineprof.line_stats import LineStats

FOLDER = Path(__file__).parents[1] / "golden" / "line_profiler"
FILES = {
    path.stem: [f"{path.stem}.lprof"]
    if path.stem != "all"
    else [  # in the order of their recording
        f"{kind}-{version}.lprof"
        for version in ("3.5.1", "4.2.0", "5.1.0")
        for kind in ("demo", "odd")
    ]
    for path in sorted(FOLDER.glob("*.txt"))
}


def tables(name: str) -> list[tuple[str, str, str]]:
    """Return what line_profiler printed of some files: name, flags, table."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    _, *parts = re.split(r"(?m)^\$ (.*)\n", text)
    return [(name, *pair) for pair in zip(parts[::2], parts[1::2])]


TABLES = [table for name in FILES for table in tables(name)]


@pytest.fixture(autouse=True)
def _in_the_folder_of_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to the folder of the files, whose names in the profiles are relative."""
    shutil.copytree(FOLDER, tmp_path / "files")
    for source in (tmp_path / "files").iterdir():
        os.utime(source, (0, 0) if source.suffix != ".lprof" else (9, 9))
    monkeypatch.chdir(tmp_path / "files")


@pytest.mark.parametrize(("name", "flags", "table"), TABLES)
def test_a_table_is_the_same_as_line_profilers(
    name: str, flags: str, table: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", *flags.split(), *FILES[name]]) == 0
    assert capfd.readouterr().out == table


@pytest.mark.parametrize("name", FILES)
def test_output_to_a_pipe_is_the_same_with_the_flag_for_colours(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for flags in ([], ["-r"]):
        assert main(["view", *flags, *FILES[name]]) == 0
    first, second = capfd.readouterr().out.split("Timer unit")[1:]
    assert first == second
    assert "\x1b" not in first


@pytest.mark.parametrize("name", FILES)
def test_python_prints_the_same_table(name: str) -> None:
    stats = lineprof.load_stats(*FILES[name])
    assert type(stats) is LineStats
    stream = io.StringIO()
    stats.print(stream, output_unit=1e-6, config=False)
    assert [stream.getvalue()] == [t for _, flags, t in tables(name) if not flags]


def test_reading_imports_no_line_profiler() -> None:
    code = (
        "import sys, lineprof; before = set(sys.modules);"
        f"lineprof.load_stats({FILES['all'][0]!r});"
        "print({'line_profiler'} & (set(sys.modules) - before))"
    )
    home = Path(lineprof.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(home)},
    )
    assert done.stdout == "set()\n"


def test_old_and_new_profiles_add_up(tmp_path: Path) -> None:
    old, new = LineStats({KEY: LINES}, 1e-7), LineStats({KEY: [(2, 1, 2600)]}, 1e-9)
    (tmp_path / "old.lprof").write_bytes(pickled(state(unit=1e-7)))
    new.to_file(tmp_path / "new.lprof")
    files = [tmp_path / "old.lprof", tmp_path / "new.lprof"]
    assert LineStats.from_files(*files) == old + new
    assert LineStats.from_files(*files[::-1]) == old + new
    total = LineStats.from_files(*files)
    assert total.timings == {KEY: [(2, 4, 66), (3, 1, 7)]}
    total.to_file(tmp_path / "total.lprof")
    assert LineStats.from_files(tmp_path / "total.lprof") == total


def test_source_newer_than_the_profile_gives_a_warning_on_standard_error(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main(["view", "demo-4.2.0.lprof"]) == 0
    before = capfd.readouterr()
    assert before.err == ""
    os.utime("demo.py", (10, 10))
    assert main(["view", "demo-4.2.0.lprof"]) == 0
    after = capfd.readouterr()
    assert after.out == before.out
    assert after.err == (
        "lineprof: demo.py is newer than the profile;"
        " the lines shown may not be those measured\n"
    )


def test_lines_that_the_source_no_longer_has_give_a_warning(
    capfd: pytest.CaptureFixture[str],
) -> None:
    Path("demo.py").write_text("\n\n\n\ndef steps(count):\n    return 1\n")
    assert main(["view", "demo-5.1.0.lprof"]) == 0
    assert "steps (demo.py:5) took time on 4 lines outside of its source" in (
        capfd.readouterr().err
    )
