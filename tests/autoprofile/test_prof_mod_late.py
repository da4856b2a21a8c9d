"""kernprof -p of what cannot be imported before the program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked, write
from prof_mod import hits, profiled

if TYPE_CHECKING:
    from pathlib import Path

# As an application of Django: its models need the settings of the script.
APPLICATION = {
    "settings.py": "ready = False\n",
    "shop/__init__.py": "",
    "shop/models.py": """\
        import settings
        if not settings.ready:
            raise RuntimeError("settings are not configured")

        def total(prices):
            return sum(prices)

        class Order:
            def total(self):
                return total([1, 2])

        total([])
        """,
    "manage.py": """\
        import importlib
        import settings
        settings.ready = True
        models = importlib.import_module("shop.models")
        print(models.Order().total())
        """,
    "plugins/extra.py": "def load():\n    return 1\nload()\n",
}
TOTAL = {"models.py:5 total": {6: 2}}
ALL = {**TOTAL, "models.py:9 total": {10: 1}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the application."""
    for name, text in APPLICATION.items():
        write(tmp_path, name, text)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-p", "shop"], ALL),
        (["-p", "shop.models.total"], TOTAL),
        (["-p", "shop/models.py"], ALL),
        (["--no-preimports", "-p", "shop.models"], ALL),
        (["--whole", "--exclude", "manage.py,shop", "-p", "shop.models.total"], TOTAL),
    ],
)
def test_what_cannot_be_imported_early_counts_when_it_comes(
    folder: Path, words: list[str], expected: dict[str, dict[int, int]]
) -> None:
    assert profiled(*words, "manage.py", cwd=folder)[1] == expected


def test_a_file_that_is_in_no_folder_of_the_path_counts_when_it_comes(
    folder: Path,
) -> None:
    text = "import sys\nsys.path.append('../plugins')\nimport extra\n"
    write(folder, "run/x.py", text)
    _, found = profiled("-p", "../plugins/extra.py", "x.py", cwd=folder / "run")
    assert found == {"extra.py:1 load": {2: 1}}


@pytest.mark.smoke
def test_the_import_of_a_modules_own_package_counts(folder: Path) -> None:
    write(folder, "pk/__init__.py", "def heavy():\n    return 1\nheavy()\n")
    write(folder, "pk/__main__.py", "from pk import heavy\nheavy()\n")
    for target in ("pk", "pk.heavy"):
        _, found = profiled("-p", target, "-m", "pk", cwd=folder)
        assert found == {"__init__.py:1 heavy": {2: 2}}


def test_what_never_comes_is_said_with_what_to_do(folder: Path) -> None:
    write(folder, "x.py", "print('ran')\n")
    empty = (
        "kernprof: the profile is empty: nothing that -p names ran;"
        " without -p the whole program is profiled\n"
    )
    failed = (
        "kernprof: 1 -p target cannot be imported: ['shop.models']"
        " (RuntimeError: settings are not configured)\n"
    )
    outcome = kernprof_forked("-l", "-p", "shop", "x.py", cwd=folder)
    assert outcome.err == failed + empty
    outcome = kernprof_forked("-l", "--no-preimports", "-p", "shop", "x.py", cwd=folder)
    never = "kernprof: -p shop named nothing that was imported\n"
    assert outcome.err == never + empty
    assert hits(folder, "x.lprof") == {}
