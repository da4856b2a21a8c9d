"""Configuration of a release: one list of Pythons in all places, pinned actions."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from lineprof.version import VERSION

pytestmark = pytest.mark.once  # text of files of the checkout

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WHEELS = PROJECT["tool"]["cibuildwheel"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))  # not in an sdist
PINNED = re.compile(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+(\.\d+)*")


def test_wheels_are_built_for_the_pythons_that_the_metadata_names() -> None:
    [minors] = re.findall(r"cp3\{([\d,]+)\}-\*", WHEELS["build"])
    named = re.findall(r":: (3\.\d+)'", str(PROJECT["project"]["classifiers"]))
    assert [f"3.{minor}" for minor in minors.split(",")] == named
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"


def test_each_wheel_is_tried_by_a_program_of_the_sdist() -> None:
    python, *flags, program = shlex.split(WHEELS["test-command"])
    assert (python, flags) == ("python", ["-I"])
    assert Path(program.format(project=ROOT)).is_file()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_to_commits(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.+)$", text, re.MULTILINE)
    assert used
    assert [one for one in used if not PINNED.fullmatch(one)] == []


def test_the_changes_begin_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## (.+)$", text, re.MULTILINE)
    assert first is not None
    date = r"\(unreleased\)|\(\d{4}-\d\d-\d\d\)"
    assert re.fullmatch(rf"{re.escape(VERSION)} ({date})", first[1])
