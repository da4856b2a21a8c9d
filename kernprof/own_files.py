"""The files of the program that this process is about to run, before it begins."""

from __future__ import annotations

import os
import sys

from kernprof.project import Asked, ProjectFiles, around, project_files
from kernprof.run_options import COMMAND, MODULE, SCRIPT, STDIN
from lineprof.files import absolute_path, current_folder, real_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
        from importlib.util import find_spec  # noqa: PLC0415  # with -m alone

        try:
            spec = find_spec(target.partition(".")[0])
        except Exception:  # noqa: BLE001  # finders of others may raise anything
            spec = None
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
