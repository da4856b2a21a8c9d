"""Source text of code: files, zip files, notebooks, linecache."""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from lineprof.model.records import SourceFile
from lineprof.source import Sources, block, changed, get_code_block, read_source
from lineprof.source_files import disk_text, lines_of

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "def f():\n    return 1\n"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        (b"# coding: latin-1\n\xe9\n", "# coding: latin-1\n\xe9\n"),
        ("é = 1 # \u2028\n".encode(), "é = 1 # \u2028\n"),
        (b"\xff not utf-8\n", "\\xff not utf-8\n"),
        (b"# coding: no-such\nx\xff\n", "# coding: no-such\nx\\xff\n"),
        (b"a\0b\n", "a\0b\n"),
    ],
)
def test_a_file_is_read_in_its_encoding_with_pythons_line_ends(
    tmp_path: Path, data: bytes, text: str
) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(data)
    source = read_source(str(file))
    assert source.text == text
    assert source.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert source.file == str(file)


def test_unreadable_files_have_no_text(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    names = [str(tmp_path), "/no/such", "", "a\0b", "<nowhere>", "/dev/null"]
    for name in [*names, str(tmp_path / "fifo"), "x" * 5000]:
        assert read_source(name) == SourceFile(name, None, "")


@pytest.mark.smoke
def test_the_text_that_ran_in_a_notebook_is_found() -> None:
    linecache.cache["<cell 1>"] = (9, None, ["def f():\n", "    pass"], "<cell 1>")
    try:
        assert read_source("<cell 1>").text == "def f():\n    pass"
    finally:
        del linecache.cache["<cell 1>"]


@pytest.mark.smoke
def test_text_that_linecache_read_before_an_edit_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("old\n")
    assert linecache.getline(str(file), 1) == "old\n"
    file.write_text("the new one\n")
    assert read_source(str(file)).text == "the new one\n"


def test_a_relative_name_is_found_through_sys_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text(TEXT)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert read_source("only_here.py").text == TEXT


@pytest.mark.smoke
def test_a_module_in_a_zip_file_has_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "modules.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("lineprof_zipped.py", TEXT)
    monkeypatch.syspath_prepend(str(archive))
    import lineprof_zipped  # type: ignore[import-not-found]  # noqa: PLC0415

    try:
        assert read_source(lineprof_zipped.__file__).text == TEXT
    finally:
        del sys.modules["lineprof_zipped"]


def test_modules_that_are_unusual_objects_do_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Odd:
        @property
        def __dict__(self) -> dict[str, object]:  # type: ignore[override]
            raise RuntimeError

    monkeypatch.setitem(sys.modules, "odd", Odd())
    assert read_source("/no/such").text is None


def test_a_change_on_disk_is_detected(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    name = str(file)
    file.write_text(TEXT)
    kept = read_source(name)
    without_text = SourceFile(name, None, kept.sha256)
    assert not changed(kept)
    assert not changed(without_text)
    file.write_text(TEXT + "\n")
    assert changed(kept)
    assert changed(without_text)
    assert not changed(SourceFile(name, None, ""))
    file.unlink()
    assert not changed(kept)


def test_a_file_too_big_for_source_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    with file.open("wb") as stream:
        stream.truncate((1 << 26) + 1)
    assert disk_text(str(file)) is None


def test_lines_are_those_that_python_counts() -> None:
    assert lines_of("a\x0c\x1c\u2028b\nc") == ["a\x0c\x1c\u2028b", "c"]
    assert lines_of("a\r\nb\rc\n\n") == ["a", "b", "c", ""]
    assert lines_of("") == []


@pytest.mark.smoke
def test_a_block_is_the_function_with_its_decorators() -> None:
    text = "x = 1\n@deco(\n  1)\ndef f():\n    a\n\n    # c\n    b\n# not f's\ny = 2\n"
    assert block(text, 2) == text.split("\n")[1:8]
    assert block(text, 99) == []
    assert block("", 1) == []


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    a = (1,\n    b\nnext\n",
        'def f():\n    a = """1\n    b\nnext\n',
        "def f():\n    a = \x00\n    b\n\nnext\n",
        "def f():\n    a = $?`\n    b\nnext )\n",
        "\tdef f():\n    \t a\n   b\nnext\n",
    ],
)
def test_blocks_of_text_that_is_not_python(text: str) -> None:
    lines = block(text, 1)
    assert lines == text.split("\n")[: len(lines)]
    assert lines


def test_blocks_of_invalid_source_are_cut_by_indentation() -> None:
    text = "  def f(:\n    a = (\x00\n\n    b\n\n  next\n"
    assert block(text, 1) == ["  def f(:", "    a = (\x00", "", "    b"]


def test_text_in_the_profile_is_preferred_to_the_disk(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def new():\n    pass\n")
    name = str(file)
    sources = Sources({name: SourceFile(name, "def old():\n    pass\n", "")})
    assert sources.line(name, 1) == "def old():"
    assert sources.block(name, 1) == ["def old():", "    pass"]
    assert Sources({}).line(name, 1) == "def new():"
    assert Sources({name: SourceFile(name, None, "")}).line(name, 1) == "def new():"


def test_lines_beyond_the_text_are_none() -> None:
    sources = Sources({"a.py": SourceFile("a.py", "one\n", "")})
    assert [sources.line("a.py", n) for n in (-1, 0, 1, 2)] == [None, None, "one", None]
    assert sources.line("/no/such", 1) is None
    assert sources.block("/no/such", 1) is None


CODE = """\
with (
    open("a") as a,
    open("b") as b,
):
    pass

    more()
async with a: pass
call(with_=1)
with a(lambda: 1):
    pass
cdef int added(int a,
        int b):
    return a + b
"""


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("first", "name", "count"),
    [
        (1, "a block", 7),
        (1, "", 7),
        (8, "one line", 1),
        (10, "<lambda>", 1),
        (10, "a block", 2),
        (12, "added", 3),
    ],
)
def test_blocks_are_cut_by_the_name_of_their_code(
    first: int, name: str | None, count: int
) -> None:
    assert block(CODE, first, name) == CODE.splitlines()[first - 1 :][:count]


def test_the_block_of_a_module_is_the_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def f():\n    pass\nf()\n")
    assert Sources({}).block(str(file), 1, "<module>") == [
        "def f():",
        "    pass",
        "f()",
    ]
    assert Sources({}).block(str(file), 1, "f") == ["def f():", "    pass"]


def test_the_block_of_a_file_has_its_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\ndef f():\n    pass")
    assert get_code_block(file, 2) == ["def f():\n", "    pass\n"]
    assert get_code_block(file, 9) == []
    assert get_code_block(tmp_path / "no.py", 1) == []
