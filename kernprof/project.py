"""A program's own files: those in its folder and its project, or installed with it.

Those of a runner, an installed program that runs the user's code such as pytest or
uvicorn, are the files of the user's project; the functions of the runner are profiled
if --include or --all asks for them.
"""

from __future__ import annotations

import os
import sys
from collections import namedtuple

from kernprof.run_options import COMMAND, MODULE, SCRIPT, STDIN
from lineprof.files import absolute_path, current_folder, real_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from importlib.machinery import ModuleSpec

    from kernprof.program import Program
    from kernprof.run_options import RunOptions

_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_SITES = frozenset(("site-packages", "dist-packages"))
# Folders in a project that hold the code of others.
_FOREIGN = _SITES | {"__pypackages__", ".eggs", ".nox", ".tox", "node_modules"}
_ENVIRONMENT = "pyvenv.cfg"  # at the top of a virtual environment
_COMMANDS = ("bin", "Scripts")  # folders of installed commands
STANDARD = os.path.realpath(os.path.dirname(os.__file__))

# Runners, by the module that `python -m` runs: the package with their functions.
_RUNNERS = (
    "IPython asv celery coverage django flask gunicorn hypercorn mpi4py nox pyperf"
    " tox unittest uvicorn"
)
_PACKAGES = {
    **{name: name for name in _RUNNERS.split()},
    "pytest": "_pytest",
    "torch.distributed.launch": "torch.distributed",
    "torch.distributed.run": "torch.distributed",
}
# Commands that do not have the name of their module.
_RENAMED = {
    "coverage3": "coverage",
    "django-admin": "django",
    "ipython": "IPython",
    "ipython3": "IPython",
    "py.test": "pytest",
    "torchrun": "torch.distributed.run",
}


class Asked(namedtuple("Asked", "kind target argv0 first_path")):
    """What python is asked to run: a part of the options, and of the program."""

    __slots__ = ()

    kind: str  # SCRIPT, MODULE, COMMAND or STDIN
    target: str
    argv0: str
    first_path: str | None

    @classmethod
    def of(cls, options: RunOptions, program: Program) -> Asked:
        """Return that part of `options` and `program`."""
        return cls(
            kind=options.kind,
            target=options.target,
            argv0=program.argv0,
            first_path=program.first_path,
        )


def project_files(asked: Asked, file: str, module: str) -> ProjectFiles:
    """Return the files whose code is the program's own.

    `file` is the one that runs, `module` its name if it runs as a module.
    """
    if runner_of(asked, file):
        return _around_here()
    real = real_path(file)
    beside = around(asked.first_path or os.curdir)
    if asked.kind == SCRIPT and _is_command(asked):
        from kernprof.distribution import of_command  # noqa: PLC0415  # imports much

        return of_command(file) or beside
    if asked.kind != MODULE or real in beside:
        return beside
    return beside + _of_module(real, module)


def runner_of(asked: Asked, file: str) -> str:
    """Return the module of the runner that `file` is part of, "" if it is the user's.

    A runner in the user's project, such as pytest in a checkout of pytest, is a program
    as any other.
    """
    if asked.kind != MODULE and not (asked.kind == SCRIPT and _is_command(asked)):
        return ""
    runner = _runner_named(asked)
    return runner if runner and real_path(file) not in _around_here() else ""


def _around_here() -> ProjectFiles:
    return around(current_folder() or os.curdir)


def package_files(asked: Asked, module: str) -> ProjectFiles | None:
    """Return the program's own files before `module` and its packages are imported.

    Returns None if `module`, which is to run, is not in a package. Nothing is imported.
    """
    package = module.partition(".")[0]
    spec = _spec_of(package)
    if spec is None or spec.submodule_search_locations is None:
        return None
    if not spec.has_location or spec.origin is None:  # no __init__.py, so no code
        return around(asked.first_path or os.curdir)
    return project_files(asked, spec.origin, f"{package}.__init__")


def _spec_of(package: str) -> ModuleSpec | None:
    from importlib.util import find_spec  # noqa: PLC0415  # with -m alone

    try:
        return find_spec(package)
    except Exception:  # noqa: BLE001  # finders of others may raise anything
        return None


def _runner_named(asked: Asked) -> str:
    """Return the module of the runner that a command line names, "" if it is none.

    The caller knows whether a script is an installed command.
    """
    name = asked.target
    if asked.kind != MODULE:
        name = os.path.basename(asked.argv0)
        name = _RENAMED.get(name, name)
    name = name.removesuffix(".__main__")
    return name if name in _PACKAGES else ""


def package_of(runner: str) -> str:
    """Return the package that has the functions of a runner, as --include takes it."""
    return _PACKAGES[runner]


def _is_command(asked: Asked) -> bool:
    """Return whether a script was found on PATH, or is in a folder of commands."""
    folder = os.path.dirname(absolute_path(asked.argv0))
    return asked.target != asked.argv0 or os.path.basename(folder) in _COMMANDS


def _of_module(file: str, module: str) -> ProjectFiles:
    folder = os.path.dirname(file)
    if not _SITES.isdisjoint(file.split(os.sep)):
        from kernprof.distribution import of_file  # noqa: PLC0415  # imports much

        return of_file(file) or around(folder)  # its package, of no distribution
    for _ in range(module.count(".")):
        folder = os.path.dirname(folder)
    return around(folder)


class ProjectFiles:
    """A set of files, given by folders and by single files."""

    def __init__(
        self, folders: Iterable[Folder] = (), files: Iterable[str] = ()
    ) -> None:
        """Take folders, and the real paths of single files."""
        self.folders = tuple(dict.fromkeys(folders))
        self.files = frozenset(files)
        self._foreign: dict[str, bool] = {}  # by folder: does it hold others' code?

    def plain(self) -> tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]:
        """Return the folders and files as plain values, for `of_plain`."""
        folders = tuple([(one.path, one.wide) for one in self.folders])
        return folders, tuple(sorted(self.files))

    @classmethod
    def of_plain(
        cls, values: tuple[Iterable[tuple[str, bool]], Iterable[str]]
    ) -> ProjectFiles:
        """Return the set whose `plain` values these are."""
        folders, files = values
        return cls([Folder(path, wide=wide) for path, wide in folders], files)

    def __add__(self, other: ProjectFiles) -> ProjectFiles:
        """Return the files of both."""
        return ProjectFiles((*self.folders, *other.folders), self.files | other.files)

    def __contains__(self, file: str) -> bool:
        """Return whether the file with that real path is in the set."""
        if file in self.files:
            return True
        return any(self._holds(folder, file) for folder in self.folders)

    def has_extension(self, file: str) -> bool:
        """Return whether an extension module with that real path is the program's own.

        A distribution's extensions are beside its modules in Python, in a package.
        """
        folder = os.path.dirname(file)
        if os.path.basename(folder) in _SITES:
            return False
        return file in self or any(os.path.dirname(own) == folder for own in self.files)

    def _holds(self, folder: Folder, file: str) -> bool:
        if not file.startswith(os.path.join(folder.path, "")):
            return False
        parent = os.path.dirname(file)
        while len(parent) > len(folder.path):
            if folder.wide and not os.path.exists(os.path.join(parent, "__init__.py")):
                return False
            if self._is_foreign(parent):
                return False
            parent = os.path.dirname(parent)
        return folder.path == STANDARD or not _is_in(file, STANDARD)

    def _is_foreign(self, folder: str) -> bool:
        foreign = self._foreign.get(folder)
        if foreign is None:
            foreign = self._foreign[folder] = os.path.basename(folder) in _FOREIGN or (
                os.path.exists(os.path.join(folder, _ENVIRONMENT))
            )
        return foreign


class Folder(namedtuple("Folder", "path wide", defaults=(False,))):
    """A folder; of a `wide` one, only its modules and packages count."""

    __slots__ = ()

    path: str  # the real path
    wide: bool


def around(folder: str) -> ProjectFiles:
    """Return the files of a program in `folder`: that folder, and its project.

    A folder that holds much beside programs, a home folder for example, is a wide
    one. A folder of installed packages, or of Python, gives no files.
    """
    real = real_path(folder)
    if _is_shared(real):
        return ProjectFiles()
    if real in _wide_folders():
        return ProjectFiles([Folder(real, wide=True)])
    project = _project(real)
    return ProjectFiles([Folder(real), *([Folder(project)] if project else [])])


def _project(folder: str) -> str:
    """Return the nearest folder above or at `folder` that is a project, or ""."""
    wide = _wide_folders()
    for candidate in _with_parents(folder):
        if candidate in wide or _is_shared(candidate):
            break
        if os.path.exists(os.path.join(candidate, _ENVIRONMENT)):
            break
        if any(os.path.exists(os.path.join(candidate, n)) for n in _PROJECT_FILES):
            return candidate
    return ""


def _with_parents(folder: str) -> Iterator[str]:
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _wide_folders() -> frozenset[str]:
    """Return the folders that are no project: home, those above it, sys.prefix."""
    home = os.path.realpath(os.path.expanduser("~"))
    return frozenset((os.sep, *_with_parents(home), os.path.realpath(sys.prefix)))


def _is_shared(folder: str) -> bool:
    return os.path.basename(folder) in _SITES or _is_in(folder, STANDARD)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


# The program that this process is about to run, as python's command line tells it.


_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")  # flags of python
_AS_MODULE, _AS_CODE = "m", "c"


def files_of_this_process() -> ProjectFiles:
    """Return the program's own files, as the command line of python tells them."""
    kind, target = program_of(sys.orig_argv[1:])
    here = current_folder() or os.curdir
    if kind == SCRIPT:
        path = absolute_path(target)
        folder = path if os.path.isdir(path) else os.path.dirname(real_path(path))
        asked = Asked(kind=kind, target=target, argv0=target, first_path=folder)
        return project_files(asked, path, "")
    if kind == MODULE:
        spec = _spec_of(target.partition(".")[0])
        if spec is not None and spec.has_location and spec.origin:
            asked = Asked(kind=kind, target=target, argv0="-m", first_path=here)
            return project_files(asked, spec.origin, target)
    return around(here)


def program_of(words: Sequence[str]) -> tuple[str, str]:
    """Return the kind of program in the `words` after python, and its target."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            return SCRIPT, word
        if word == "-":
            break
        if word in _WITH_VALUE:
            del rest[:1]
        elif not word.startswith("--"):
            for place, letter in enumerate(word[1:], start=2):
                if letter in {_AS_MODULE, _AS_CODE}:
                    value = word[place:] or (rest[0] if rest else "")
                    return (MODULE if letter == _AS_MODULE else COMMAND), value
                if letter in "WX":
                    break
    return STDIN, ""
