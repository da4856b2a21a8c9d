"""Hooks of pytest for tools/dev/suite.py: marks, rooms, and which test runs."""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_TIMING = 5  # tests that may be marked so
TESTS = "tests"  # the folder of rooms


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option by which two Pythons take turns."""
    parser.addoption(
        "--turn", help="0 or 1, and rooms of which only that half of the tests runs"
    )


def register_rooms(config: pytest.Config) -> None:
    """Register the folders of tests as marks: each test has its folder's name."""
    for folder in config.rootpath.joinpath(TESTS).glob("*/"):
        config.addinivalue_line("markers", f"{folder.name}: is in that folder")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test with its room, and add what the mark `timing` implies."""
    folder = item.config.rootpath / TESTS
    if item.path.is_relative_to(folder) and item.path.parent != folder:
        item.add_marker(item.path.relative_to(folder).parts[0])
    if item.get_closest_marker("seldom"):
        item.add_marker("once")
    for mark in item.iter_markers("timing"):
        item.add_marker("serial")
        (suspicion,) = mark.args
        item.user_properties += [("timing test", item.nodeid), ("suspicion", suspicion)]


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Refuse marks that tools/dev/plan.py does not find, and too many of one."""
    try:
        check_marks(items)
    except pytest.UsageError as error:
        # A process of pytest-xdist tells nobody why it ends.
        capture = config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            print(f"ERROR: {error}", file=sys.stderr)
        raise
    if turn := config.getoption("--turn"):
        half, *rooms = turn.split(",")
        left = [item for item in items if half_of(item, rooms) not in {"", half}]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def half_of(item: pytest.Item, rooms: list[str]) -> str:
    """Return the half of its room that a test is in, "" if it runs in any case."""
    if item.get_closest_marker("smoke") or not any(
        item.get_closest_marker(room) for room in rooms
    ):
        return ""
    return str(zlib.crc32(item.nodeid.encode()) % 2)


def check_marks(items: list[pytest.Item]) -> None:
    """Raise UsageError for wrong marks."""
    for mark in ("seldom", "serial", "smoke"):
        marked = {i.path for i in items if i.get_closest_marker(mark)}
        for path in marked:
            text = path.read_text(encoding="utf-8")
            names = (mark, "timing") if mark == "serial" else (mark,)
            if not any(f"mark.{name}" in text for name in names):
                raise pytest.UsageError(f"{path} has no mark.{mark} in its text")
    timing = {
        i.nodeid.partition("[")[0] for i in items if i.get_closest_marker("timing")
    }
    if len(timing) > MOST_TIMING:
        raise pytest.UsageError(
            f"{len(timing)} tests are marked timing, which {MOST_TIMING} may be:"
            f" {', '.join(sorted(timing))}"
        )


def running_file(config: pytest.Config) -> Path | None:
    """Return the file that names the test that this process runs; None if none does.

    It is in the folder RUNNING of a report RUNNING.xml; tools/dev/suite.py makes that.
    """
    report = config.getoption("xmlpath", None)
    folder = Path(report).with_suffix(".running") if report else None
    if folder is None or not folder.is_dir():
        return None
    return folder / os.environ.get("PYTEST_XDIST_WORKER", "main")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Name the test that runs, for the case that it hangs."""
    file = running_file(item.config)
    if file:
        file.write_text(f"{os.getpid()} {item.nodeid}", encoding="utf-8")
    yield
    if file:
        file.write_text("", encoding="utf-8")
