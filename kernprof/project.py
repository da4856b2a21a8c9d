"""Which files are a program's own: those in its folder and its project's."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.metadata import distributions
from typing import TYPE_CHECKING, NamedTuple

from kernprof.options import MODULE, SCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution

    from kernprof.options import Plan
    from kernprof.program import Program


# Files of the distribution that a command or a module was installed with.
#
# `importlib.metadata` takes long to import, and imports modules that a program may
# have its own of: this module is imported only where a program was installed.


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


# Where the code of a program is: beside it, or in what was installed with it.


_COMMANDS = ("bin", "Scripts")  # folders of what is installed as a command


def own_places(plan: Plan, program: Program, file: str, module: str) -> ProjectFiles:
    """Return where what `program` runs of its own is.

    `file` is that of its code, `module` its name if it runs as one.
    """
    real = os.path.realpath(file)
    if plan.kind == SCRIPT and is_command(plan, program):
        return of_command(file) or around(program.first_path)
    beside = around(program.first_path or os.curdir)
    if plan.kind != MODULE or real in beside:
        return beside
    return beside + _of_module(real, module)


def is_command(plan: Plan, program: Program) -> bool:
    """Tell whether a script was found on PATH, or is where such scripts are."""
    folder = os.path.dirname(os.path.abspath(program.argv0))
    return plan.target != program.argv0 or os.path.basename(folder) in _COMMANDS


def _of_module(file: str, module: str) -> ProjectFiles:
    folder = os.path.dirname(file)
    if not SITES.isdisjoint(file.split(os.sep)):
        installed = of_file(file)
        if installed is not None:
            return installed
        return around(folder)  # the package, which nobody says what it belongs to
    for _ in range(module.count(".")):
        folder = os.path.dirname(folder)
    return around(folder)


PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
SITES = frozenset(("site-packages", "dist-packages"))
# Folders of a project that hold the code of others.
_OTHERS = SITES | {"__pypackages__", ".eggs", ".nox", ".tox", "node_modules"}
_ENVIRONMENT = "pyvenv.cfg"  # stands at the top of a virtual environment
STANDARD = os.path.realpath(os.path.dirname(os.__file__))


class ProjectFiles:
    """Folders and files whose code is the program's."""

    def __init__(
        self, folders: Iterable[Folder] = (), files: Iterable[str] = ()
    ) -> None:
        """Take folders, and single files by their real paths."""
        self.folders = tuple(dict.fromkeys(folders))
        self.files = frozenset(files)
        self._foreign: dict[str, bool] = {}  # is it an environment's, or Python's?

    def __add__(self, other: ProjectFiles) -> ProjectFiles:
        """Return the places of both."""
        return ProjectFiles((*self.folders, *other.folders), self.files | other.files)

    def __contains__(self, file: str) -> bool:
        """Tell whether the source file with that real path is the program's."""
        if file in self.files:
            return True
        return any(self._holds(folder, file) for folder in self.folders)

    def _holds(self, folder: Folder, file: str) -> bool:
        if not file.startswith(os.path.join(folder.path, "")):
            return False
        above = os.path.dirname(file)
        while len(above) > len(folder.path):
            if folder.wide and not os.path.exists(os.path.join(above, "__init__.py")):
                return False
            if self._is_foreign(above):
                return False
            above = os.path.dirname(above)
        return folder.path == STANDARD or not _is_in(file, STANDARD)

    def _is_foreign(self, folder: str) -> bool:
        known = self._foreign.get(folder)
        if known is None:
            known = self._foreign[folder] = os.path.basename(folder) in _OTHERS or (
                os.path.exists(os.path.join(folder, _ENVIRONMENT))
            )
        return known


class Folder(NamedTuple):
    """A folder, by its real path; of a `wide` one modules and packages count alone."""

    path: str
    wide: bool = False


def around(folder: str) -> ProjectFiles:
    """Return the places of a program in `folder`: that folder, and its project.

    A folder that holds much beside programs, someone's home, say, is a wide one;
    one that holds the packages of others, or Python's, is none at all.
    """
    real = os.path.realpath(folder)
    if _is_shared(real):
        return ProjectFiles()
    if real in _too_wide():
        return ProjectFiles([Folder(real, wide=True)])
    project = _project(real)
    return ProjectFiles([Folder(real), *([Folder(project)] if project else [])])


def _project(folder: str) -> str:
    """Return the nearest folder above or at `folder` that is a project, or ""."""
    too_wide = _too_wide()
    for candidate in _upwards(folder):
        if candidate in too_wide or _is_shared(candidate):
            break
        if os.path.exists(os.path.join(candidate, _ENVIRONMENT)):
            break
        if any(os.path.exists(os.path.join(candidate, n)) for n in PROJECT_FILES):
            return candidate
    return ""


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _too_wide() -> frozenset[str]:
    """Return the folders that are nobody's project: home, the root, what is between."""
    home = os.path.realpath(os.path.expanduser("~"))
    return frozenset((os.sep, *_upwards(home), os.path.realpath(sys.prefix)))


def _is_shared(folder: str) -> bool:
    return os.path.basename(folder) in SITES or _is_in(folder, STANDARD)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)
