"""Files of the distribution that a command or a module was installed with.

Importing `importlib.metadata` takes long, and imports modules that a program may
have its own of: this module is imported only for a program that was installed.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.metadata import distributions
from typing import TYPE_CHECKING

from kernprof.project import Folder, ProjectFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution

_SCRIPTS = frozenset(("console_scripts", "gui_scripts"))


def of_command(script: str) -> ProjectFiles | None:
    """Return what was installed with the command at path `script`; None if nothing."""
    name = os.path.basename(script)
    listed = None
    for one in _installed():
        if name in _commands(one):
            return _places(one)
        if listed is None and f"/bin/{name}," in "\n" + _read(one, "RECORD"):
            listed = one
    return _places(listed) if listed else None


def of_file(file: str) -> ProjectFiles | None:
    """Return what was installed with the module in `file`; None if nothing was."""
    for one in _installed():
        if file.startswith(os.path.join(_folder(one), "")) and file in _files(one):
            return _places(one)
    return None


def _installed() -> Iterator[Distribution]:
    yield from distributions(path=[p for p in sys.path if isinstance(p, str)])


def _places(one: Distribution) -> ProjectFiles:
    """Return where the code of a distribution is; of a link, where that leads."""
    files = _files(one)
    if files:
        return ProjectFiles(files=files)
    names = set(_read(one, "top_level.txt").split())
    if not names:
        names = {module.partition(".")[0] for module in _commands(one).values()}
    return sum(map(_located, sorted(names)), ProjectFiles())


def _folder(one: Distribution) -> str:
    return os.path.realpath(str(one.locate_file("")))


def _files(one: Distribution) -> frozenset[str]:
    """Return the modules that a distribution has installed.

    Not by its `files`: those are objects, and there may be ten thousand.
    """
    folder = _folder(one)
    info = os.path.join(folder, "info")  # files of old are listed from there
    found = set()
    for record, base in (("RECORD", folder), ("installed-files.txt", info)):
        for line in _read(one, record).splitlines():
            name = line.partition(",")[0]
            if name.endswith(".py") and "editable" not in os.path.basename(name):
                path = os.path.join(base, name)
                found.add(os.path.normpath(path) if ".." in name else path)
    return frozenset(found)


def _commands(one: Distribution) -> dict[str, str]:
    """Return the module of each command that a distribution installs, by its name."""
    try:
        return {e.name: e.module for e in one.entry_points if e.group in _SCRIPTS}
    except Exception:  # noqa: BLE001  # what is written there may be anything
        return {}


def _located(name: str) -> ProjectFiles:
    """Return where the module or package `name` is, as an import would find it."""
    spec: ModuleSpec | None = None
    for finder in list(sys.meta_path):
        with suppress(Exception):  # anybody's, and may fail as it likes
            spec = spec or finder.find_spec(name, None)
    if spec is None:
        return ProjectFiles()
    if spec.submodule_search_locations:
        folders = map(os.path.realpath, spec.submodule_search_locations)
        return ProjectFiles([Folder(folder) for folder in folders])
    file = spec.origin if spec.has_location else None
    return ProjectFiles(files=[os.path.realpath(file)] if file else [])


def _read(one: Distribution, name: str) -> str:
    try:
        return one.read_text(name) or ""
    except (OSError, ValueError):
        return ""
