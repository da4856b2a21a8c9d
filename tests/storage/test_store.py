"""Profiles in files: saved and loaded, with errors of one line."""

from __future__ import annotations

import os
import resource
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from damaged_files import load_error
from example_stats import PROCESS, everything, example
from file_tables import PAGE, documented_query, documented_tables, tables_of

from lineprof import storage
from lineprof.errors import LineprofError
from lineprof.line_stats import LineStats
from lineprof.model.records import (
    FunctionStats,
    Process,
    SourceFile,
    Thread,
    ThreadLine,
)
from lineprof.storage import load, save, writer
from lineprof.storage.schema import CELLS

ODD = [
    "",
    "a\nb",
    "\x1b[2J",
    "a\0b",
    "é損",
    "\udcff\udc80",
    "\ud83d",
    "\U0001f600",
    "'\"%_",
]


def odd_profile() -> LineStats:
    """Return a profile with text of every kind and the largest numbers."""
    big, small = 2**63 - 1, -(2**63)
    cells = (ThreadLine(big, 0, big, big, big, big), ThreadLine(small, -1, 0, small))
    return LineStats.from_functions(
        [
            *[FunctionStats(odd, odd, 1, cells) for odd in ODD],
            FunctionStats("", "g", big, (), big, small),
        ],
        processes=[
            Process(
                1, odd, big, (odd, *ODD), odd, odd, 0, 0, odd, odd, odd, 0, odd, odd
            )
            for odd in ODD
        ],
        threads=[Thread(place, big, odd) for place, odd in enumerate(ODD)],
        sources={
            **{odd: SourceFile(odd, odd, odd) for odd in ODD[1:]},
            "hash alone": SourceFile("hash alone", None, "ab"),
            "nothing known": SourceFile("nothing known", None, ""),
        },
        warnings=ODD,
        unit=1 / 3,
    )


@pytest.mark.smoke
@pytest.mark.parametrize(
    "stats", [example(), odd_profile(), LineStats({}, 1e-9), example() + odd_profile()]
)
def test_a_loaded_profile_is_the_one_saved(tmp_path: Path, stats: LineStats) -> None:
    file = tmp_path / "a.lprof"
    save(stats, file)
    assert everything(load(file)) == everything(stats)
    assert load(str(file)) == stats
    assert [path.name for path in tmp_path.iterdir()] == ["a.lprof"]


def test_files_of_one_profile_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(example(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    "name",
    ["a b?c#d%20&mode=rw.lprof", "損.lprof", "\udcff.lprof", "a\nb.lprof", "x" * 255],
)
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    save(example(), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert load(tmp_path / name) == example()


def test_a_path_may_be_relative_or_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save(example(), "a.lprof")
    assert load(b"a.lprof") == example()  # type: ignore[arg-type]


def test_stats_have_methods_that_save_and_load(tmp_path: Path) -> None:
    files = [tmp_path / "a.lprof", tmp_path / "b.lprof"]
    for file in files:
        example().to_file(file)
    assert LineStats.from_files(files[0]) == example()
    total = LineStats.from_files(*files)
    assert everything(total) == everything(example() + example())


def test_the_tables_are_those_documented(tmp_path: Path) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert db.execute("PRAGMA application_id").fetchone() == (0x4C505246,)
        assert len(db.execute(documented_query(PAGE)).fetchall()) == 7
    assert tables_of(file) == documented_tables(PAGE)


def test_tables_columns_and_keys_of_later_versions_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE kernels (id INTEGER PRIMARY KEY, name TEXT)")
        db.execute("ALTER TABLE cells ADD COLUMN gpu_ns INTEGER DEFAULT 7")
        db.execute("INSERT INTO meta VALUES ('colour', 'blue')")
        db.commit()
    assert load(file) == example()


def test_a_column_that_an_earlier_version_lacked_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = [
        one._replace(added=True) if one.name == "min_ns" else one
        for one in CELLS.columns
    ]
    file, stats = tmp_path / "a.lprof", example()
    save(stats, file)
    with closing(sqlite3.connect(file)) as db:
        db.execute("ALTER TABLE cells DROP COLUMN min_ns")
    assert "no such column: min_ns" in load_error(file)
    monkeypatch.setattr(CELLS, "columns", tuple(columns))
    found = [one for function in load(file).functions for one in function.thread_lines]
    assert found == [
        one._replace(min_ns=None)
        for function in stats.functions
        for one in function.thread_lines
    ]


def test_integers_of_numpy_are_stored_as_integers(tmp_path: Path) -> None:
    class Number:
        def __int__(self) -> int:
            return 5

    cell = ThreadLine(2, 0, Number(), Number())  # type: ignore[arg-type]
    function = FunctionStats("a.py", "f", 1, (cell,))
    stats = LineStats.from_functions(
        [function], processes=[PROCESS], threads=[Thread(0, 1, "main")]
    )
    save(stats, tmp_path / "a")
    assert load(tmp_path / "a").functions[0].thread_lines == (ThreadLine(2, 0, 5, 5),)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_the_mode_is_that_of_any_new_file(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        save(example(), tmp_path / "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~umask


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder" / "target")
    save(example(), link)
    assert link.is_symlink()
    assert load(tmp_path / "folder" / "target") == example()


def test_saving_to_the_null_device_does_not_replace_it() -> None:
    save(example(), os.devnull)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def save_error(path: object, stats: LineStats | None = None) -> str:
    """Return the one-line error of saving a profile to `path`."""
    with pytest.raises(LineprofError) as caught:
        save(stats or example(), path)  # type: ignore[arg-type]
    assert caught.value.hint
    return str(caught.value)


def test_a_path_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "a.lprof"
    assert save_error(missing) == (
        f"cannot write {missing}: No such file or directory;"
        " choose another place, in a folder that you may write to"
    )
    assert "it is a folder" in save_error(tmp_path)
    (tmp_path / "file").touch()
    assert "Not a directory" in save_error(tmp_path / "file" / "a.lprof")
    os.mkfifo(tmp_path / "fifo")
    assert "it is not a regular file" in save_error(tmp_path / "fifo")
    assert "null" in save_error("a\0b")
    assert "File name too long" in save_error(tmp_path / ("x" * 256))


def test_a_number_above_63_bits_is_an_error(tmp_path: Path) -> None:
    stats = LineStats({("a.py", 1, "f"): [(1, 2**63, 1)]}, 1e-9)
    assert "above 2**63 - 1" in save_error(tmp_path / "a", stats)
    assert list(tmp_path.iterdir()) == []


def test_a_line_of_a_missing_thread_is_an_index_error(tmp_path: Path) -> None:
    stats = example()
    stats.threads = stats.threads[:1]
    with pytest.raises(IndexError):
        save(stats, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error", [OSError(5, "no"), KeyboardInterrupt(), SystemExit(3)]
)
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_failed_save_leaves_the_earlier_file_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    function: str,
) -> None:
    file = tmp_path / "a.lprof"
    save(LineStats({}, 1e-9), file)
    before = file.read_bytes()

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(writer.os, function, fail)
    with pytest.raises((LineprofError, type(error))):
        save(example(), file)
    assert [path.name for path in tmp_path.iterdir()] == ["a.lprof"]
    assert file.read_bytes() == before


def test_a_full_disk_is_an_error_and_leaves_the_earlier_file(tmp_path: Path) -> None:
    file = tmp_path / "a.lprof"
    save(LineStats({}, 1e-9), file)
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        line = save_error(file, LineStats.from_functions([], warnings=["w" * 90_000]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert f"cannot write {file}: " in line
    assert [path.name for path in tmp_path.iterdir()] == ["a.lprof"]
    assert file.read_bytes() == before


def test_errors_of_a_full_disk_have_a_hint_on_room() -> None:
    for reason in ("database or disk is full", "no space left on device"):
        assert "make room" in writer._remedy(reason)


def test_a_python_without_sqlite_is_an_error_at_the_start() -> None:
    storage.require_sqlite()
    code = (
        "import sys; sys.modules['_sqlite3'] = None\n"
        "from lineprof import errors, storage\n"
        "try: storage.require_sqlite()\n"
        "except errors.LineprofError as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "this Python has no SQLite" in run.stdout
    assert "use a Python that was built with" in run.stdout


def test_a_python_that_cannot_load_sqlite_has_an_error_at_the_start(
    tmp_path: Path,
) -> None:
    (tmp_path / f"_sqlite3{EXTENSION_SUFFIXES[0]}").write_bytes(b"no library")
    code = f"""
import sys
from lineprof import errors, storage
sys.path.insert(0, {str(tmp_path)!r})
try: storage.require_sqlite()
except errors.LineprofError as error: print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "this Python has no SQLite" in run.stdout
