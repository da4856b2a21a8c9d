"""Which files are a program's own: those in its folder and its project's."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from kernprof.options import MODULE, SCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernprof.options import Plan
    from kernprof.program import Program


# Where the code of a program is: beside it, or in what was installed with it.


_COMMANDS = ("bin", "Scripts")  # folders of what is installed as a command


def own_places(plan: Plan, program: Program, file: str, module: str) -> ProjectFiles:
    """Return where what `program` runs of its own is.

    `file` is that of its code, `module` its name if it runs as one.
    """
    real = os.path.realpath(file)
    if plan.kind == SCRIPT and is_command(plan, program):
        from kernprof.distribution import of_command  # noqa: PLC0415  # imports much

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
        from kernprof.distribution import of_file  # noqa: PLC0415  # imports much

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
