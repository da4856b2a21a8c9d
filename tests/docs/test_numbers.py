"""docs/numbers.md and docs/json.md: every column and field of the code has an entry."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import example_calls
import example_gpu
import example_memory
import example_whole
import pytest
from as_python import viewer
from example_ranks import save_ranks
from pages import DOCS, PAGES, blocks_of

import lineprof.report
from lineprof.report import VIEWS, diff
from lineprof.report.columns import NS
from lineprof.report.gpu_idle import GPU_IDLE
from lineprof.report.gpu_table import GPU_COLUMNS
from lineprof.report.line_table import COLUMNS, EXTRA_COLUMNS, NUMBER
from lineprof.report.memory import MEMORY
from lineprof.report.options import MORE_GPU_COLUMNS, USUAL_GPU_COLUMNS, Options
from lineprof.source import Sources
from lineprof.storage import save

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.once  # pages beside names of columns

ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)
ASSETS = Path(lineprof.report.__file__).with_name("html") / "assets"
TITLE = re.compile(r'title: "([^"]+)", (?:left|phone|tip|text|value|width)[:,]')
UNIT = re.compile(r" \((?:us|ms|ns)\)$")


def section(title: str) -> str:
    """Return a section of the page of numbers."""
    text = (DOCS / "numbers.md").read_text(encoding="utf-8")
    [found] = re.findall(
        rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    return found


def entries(*titles: str) -> set[str]:
    """Return the titles of columns that have an entry in these sections."""
    cells = [cell for title in titles for cell, _ in ROW.findall(section(title))]
    plain = [re.sub(r" \([^)]*\)$", "", cell) for cell in cells]
    return {name.strip("`") for cell in plain for name in cell.split(", ")}


def chosen_by(title: str) -> dict[str, str]:
    """Return the titles of columns by the word that chooses each."""
    found = {}
    for cell, rest in ROW.findall(section(title)):
        if cell == "Column":
            continue
        words = re.findall(r"`([\w-]+)`", rest.split(" | ")[0])
        titles = re.sub(r" \([^)]*\)$", "", cell).split(", ")
        found.update(zip(words, titles, strict=False))
    return found


def columns_of(folder: Path, *words: str, before: str) -> set[str]:
    """Return the titles in the tables of a view: rows of titles have `before`."""
    command = words if words[0] == "diff" else ("view", *words)
    done = viewer(*command, cwd=folder)
    assert done.status == 0, done.err
    rows = [line for line in done.out.splitlines() if before in line]
    assert rows
    titles = {
        UNIT.sub("", one) for row in rows for one in re.split(r" {2,}", row.strip())
    }
    return {title.rstrip("*") for title in titles}


# Tables of lines.


def test_every_column_of_the_tables_has_an_entry() -> None:
    named = entries("Tables of lines")
    assert {column.title for column in (NUMBER, *COLUMNS)} <= named
    table = chosen_by("Tables of lines")
    assert {name: table[name] for name in EXTRA_COLUMNS} == {
        name: column.title for name, column in EXTRA_COLUMNS.items()
    }


def test_every_gpu_column_has_an_entry() -> None:
    assert {*USUAL_GPU_COLUMNS, *MORE_GPU_COLUMNS} == set(GPU_COLUMNS)
    assert chosen_by("GPU columns") == {
        name: column.title for name, column in GPU_COLUMNS.items()
    }


# Views.


@pytest.mark.parametrize(
    ("flags", "before"),
    [
        (["--hot"], "Line Contents"),
        (["--functions"], "Function"),
        (["--callers", "fib"], "Line Contents"),
        (["--tree"], "Share"),
    ],
    ids=lambda value: value[0],
)
def test_every_column_of_the_views_of_calls_has_an_entry(
    tmp_path: Path, flags: list[str], before: str
) -> None:
    save(example_calls.example(), tmp_path / "a.lprof")
    shown = columns_of(tmp_path, *flags, "a.lprof", before=before)
    shown -= {"Line Contents", "Function, and its hottest line"}
    named = entries("Lines and functions by own time")
    assert {one for one in shown if not re.search(r"\d", one)} <= named


def test_every_column_of_the_first_screen_has_an_entry(tmp_path: Path) -> None:
    save(example_whole.example(), tmp_path / "a.lprof")
    shown = columns_of(tmp_path, "a.lprof", before="% Run")
    assert {"Own", "% Run", "Total", "Calls", "Hits"} <= shown
    shown -= {"Line Contents", "Function, and its hottest line"}
    assert shown <= entries("Lines and functions by own time")


def test_every_column_of_a_comparison_has_an_entry(tmp_path: Path) -> None:
    ranks = save_ranks(tmp_path)
    words = ("diff", "--limit", "0", ranks[0], ranks[3])
    shown = columns_of(tmp_path, *words, before="Before")
    assert {"CPU Before", "Hits"} <= shown
    shown |= {
        f"{part}{title}" for part in ("", "Wait ", "GPU ") for title in diff.OF_TIMES
    }
    shown |= {"Verdict", "Note"}
    assert shown - {"Line", "Function", "Line Contents"} <= entries("Changes")


@pytest.mark.parametrize(
    ("flags", "before"),
    [(["--ranks"], "Line Contents"), (["--by", "rank"], "Command")],
    ids=lambda value: value[0],
)
def test_every_column_of_the_ranks_has_an_entry(
    tmp_path: Path, flags: list[str], before: str
) -> None:
    shown = columns_of(tmp_path, *flags, *save_ranks(tmp_path), before=before)
    named = entries("Ranks", "Tables of lines")
    assert shown - {"Line"} <= named


def test_every_column_of_nvprofs_tables_has_an_entry(tmp_path: Path) -> None:
    save(example_gpu.example(), tmp_path / "a.lprof")
    named = set(re.findall(r"[\w()%*]+(?: [A-Z][\w]*)*", section("Tables of nvprof")))
    for flags in (["--gpu-summary"], ["--gpu-trace", "--occupancy"], ["--api-trace"]):
        done = viewer("view", *flags, "--csv", "a.lprof", cwd=tmp_path)
        titles = done.out.splitlines()[0].replace('"', "").split(",")
        lacking = [one for one in titles if one not in named]
        assert lacking == []
        shown = columns_of(tmp_path, *flags, "a.lprof", before="Python Line")
        words = {word.rstrip("*") for title in shown for word in title.split()}
        assert words <= {word for name in named for word in name.split()}


def test_every_column_of_idle_time_has_an_entry() -> None:
    shown = {one.title for one in GPU_IDLE.values() if one.kind == NS} - {""}
    assert {"Idle", "Python/Wait"} <= shown <= entries("Idle time of a GPU")


def test_every_column_of_memory_has_an_entry() -> None:
    shown = {one.title for one in MEMORY.values() if one.title}
    shown -= {"Line", "Function", "Line Contents"}
    assert {"Peak", "Temp"} <= shown <= entries("Memory")


def test_every_column_of_rows_of_memory_is_on_the_page_of_json() -> None:
    stats = example_memory.leak()
    for name in ("memory", "hot", "functions", "by"):
        rows = VIEWS[name].rows
        assert rows is not None
        made = rows(stats, Sources(stats.sources), Options(by="process"))
        assert undocumented({*made.columns, *keys_of(made.totals)}) == []


def test_every_column_of_the_html_report_has_an_entry() -> None:
    scripts = [file.read_text(encoding="utf-8") for file in ASSETS.glob("*.js")]
    titles = {title for text in scripts for title in TITLE.findall(text)}
    assert len(titles) > 20
    text = (DOCS / "numbers.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
    named = {
        one.strip().lower()
        for cell in cells
        for one in re.sub(r"\([^)]*\)", "", cell).split(",")
    }
    assert {one for one in titles if one.lower() not in named} == set()


# The file.


@pytest.mark.parametrize(
    ("example", "table", "name"),
    [
        (example_gpu, "gpu_sums", "gpu_ns"),
        (example_memory, "memory_sums", "host_alloc_bytes"),
    ],
    ids=["gpu", "memory"],
)
def test_a_query_has_the_sum_of_each_line(
    tmp_path: Path, example: Any, table: str, name: str
) -> None:
    save(example.example(), tmp_path / "a.lprof")
    [query] = [
        block.text.split('"')[1]
        for block in blocks_of(PAGES["format.md"])
        if block.mark == "tested by" and table in block.text
    ]
    with contextlib.closing(sqlite3.connect(tmp_path / "a.lprof")) as database:
        rows = sorted((line, number) for _, line, number, *_ in database.execute(query))
    profile = json.loads(viewer("view", "--json", "a.lprof", cwd=tmp_path).out)
    lines = [
        (line["line"], line[name])
        for function in profile["functions"]
        for line in function["lines"]
        if line.get(name)
    ]
    assert len(lines) > 3
    assert rows == sorted(lines)


# JSON.


def documented() -> str:
    return (DOCS / "json.md").read_text(encoding="utf-8")


def undocumented(names: Iterable[str]) -> list[str]:
    page = documented()
    return [name for name in names if not re.search(rf'`"?{name}"?`', page)]


def keys_of(value: Any) -> set[str]:
    """Return all keys of an object, those of objects in it as well."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    return {*value, *keys_of([*value.values()])}


@pytest.mark.parametrize(
    "example",
    [example_calls, example_gpu, example_memory],
    ids=["calls", "gpu", "memory"],
)
def test_every_field_of_a_profile_is_on_the_page_of_json(
    tmp_path: Path, example: Any
) -> None:
    save(example.example(), tmp_path / "a.lprof")
    profile = json.loads(viewer("view", "--json", "a.lprof", cwd=tmp_path).out)
    for gpu in [profile.get("gpu", {})]:
        for device in gpu.get("devices", []):
            device.pop("attributes")  # by the names of CUDA
    names = keys_of(profile)
    directions = {name for name in names if name.endswith(("toD", "toH", "toP"))}
    assert undocumented(names - directions) == []


@pytest.mark.parametrize(
    "flags",
    [
        *(["--hot"], ["--functions"], ["--tree"], ["--callers", "fib"]),
        *(["--drill", "main"], ["--advice"], ["--gpu-idle"]),
        *(
            ["--ranks"],
            ["--by", "rank"],
            ["--by", "process"],
            ["--by", "rank", "--matrix"],
        ),
    ],
    ids=" ".join,
)
def test_every_column_of_rows_is_on_the_page_of_json(
    tmp_path: Path, flags: list[str]
) -> None:
    files = ["a.lprof"]
    if {"--ranks", "--by"} & {*flags}:
        files = save_ranks(tmp_path)
    save(example_calls.example(), tmp_path / "a.lprof")
    done = viewer("view", *flags, "--csv", *files, cwd=tmp_path)
    titles = done.out.splitlines()[0].split(",")
    prefixed = {
        f"caller_{name}" for name in ("from_ns", "until_ns", "lines_until_ns", "of_ns")
    }
    assert len(titles) > 3
    assert undocumented({*titles} - prefixed) == []
