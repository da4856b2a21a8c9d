"""What was installed together: the files of a command's or a module's distribution.

It is read from the ``.dist-info`` and ``.egg-info`` folders beside the packages
(packaging.python.org, "Recording installed projects" and "Entry points"), not by
`importlib.metadata`, which imports what the program may have modules of its own for.
"""

from __future__ import annotations

import os
import sys

from kernprof.places import Folder, Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from importlib.machinery import ModuleSpec
    from typing import Any

_INFO = (".dist-info", ".egg-info")
_SCRIPTS = frozenset(("[console_scripts]", "[gui_scripts]"))
_RECORDS = ("RECORD", "installed-files.txt")


def of_command(script: str) -> Places | None:
    """Return what was installed with the command at path `script`; None if nothing."""
    name = os.path.basename(script)
    listed = None
    for folder, info in _installed():
        if any(command == name for command, _ in _commands(info)):
            return _places(folder, info)
        if listed is None and f"/bin/{name}," in "\n" + _read(info, "RECORD"):
            listed = folder, info
    return _places(*listed) if listed else None


def of_file(file: str) -> Places | None:
    """Return what was installed with the module in `file`; None if nothing was."""
    for folder, info in _installed():
        place = os.path.join(os.path.realpath(folder), "")
        if file.startswith(place) and file in _files(folder, info):
            return _places(folder, info)
    return None


def _installed() -> Iterator[tuple[str, str]]:
    """Yield each folder of packages with the folder that tells of one of them."""
    seen = set()
    for folder in [entry for entry in sys.path if isinstance(entry, str)]:
        real = os.path.realpath(folder)
        if real in seen:
            continue
        seen.add(real)
        try:
            names = sorted(os.listdir(real))
        except OSError:  # a zip, or nothing
            continue
        yield from ((real, os.path.join(real, n)) for n in names if n.endswith(_INFO))


def _places(folder: str, info: str) -> Places:
    """Return where the code of a distribution is; of a link, where that leads."""
    files = _files(folder, info)
    if files:
        return Places(files=files)
    names = set(_read(info, "top_level.txt").split())
    if not names:
        names = {module.partition(".")[0] for _, module in _commands(info)}
    return sum(map(_located, sorted(names)), Places())


def _files(folder: str, info: str) -> frozenset[str]:
    """Return the modules that a distribution has in `folder`."""
    found = set()
    for record in _RECORDS:
        base = folder if record == "RECORD" else info
        for line in _read(info, record).splitlines():
            name = line.partition(",")[0]
            if name.endswith(".py") and "editable" not in os.path.basename(name):
                path = os.path.join(base, name)
                found.add(os.path.normpath(path) if ".." in name else path)
    return frozenset(found)


def _commands(info: str) -> Iterator[tuple[str, str]]:
    """Yield name and module of each command that a distribution installs."""
    inside = False
    for raw in _read(info, "entry_points.txt").splitlines():
        line = raw.strip()
        if line.startswith("["):
            inside = line in _SCRIPTS
        elif inside and "=" in line:
            name, _, target = line.partition("=")
            yield name.strip(), target.partition(":")[0].strip()


def _located(name: str) -> Places:
    """Return where the module or package `name` is, as an import would find it."""
    spec = next(filter(None, map(_finding(name), list(sys.meta_path))), None)
    if spec is None:
        return Places()
    folders: Iterable[str] = spec.submodule_search_locations or ()
    if folders:
        return Places([Folder(os.path.realpath(folder)) for folder in folders])
    file = spec.origin if spec.has_location else None
    return Places(files=[os.path.realpath(file)] if file else [])


def _finding(name: str) -> Callable[[Any], ModuleSpec | None]:
    def find(finder: Any) -> ModuleSpec | None:  # noqa: ANN401  # anybody's
        try:
            spec: ModuleSpec | None = finder.find_spec(name, None)
        except Exception:  # noqa: BLE001  # it may fail as it likes
            return None
        return spec

    return find


def _read(info: str, name: str) -> str:
    try:
        with open(os.path.join(info, name), "rb") as stream:
            return stream.read().decode(errors="replace")
    except OSError:
        return ""
