"""Running a script with what is named in it profiled, as line_profiler spells it."""

from __future__ import annotations

import os
import sys
import warnings
from importlib.util import find_spec
from types import ModuleType

from lineprof.autoprofile.names import names_of_path
from lineprof.autoprofile.watching import Watching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def run(
    script_file: str | os.PathLike[str],
    ns: Mapping[str, Any],
    prof_mod: Sequence[str],
    profile_imports: bool = False,  # noqa: FBT001, FBT002  # line_profiler's signature
    as_module: bool = False,  # noqa: FBT001, FBT002
) -> None:
    """Run `script_file` as ``__main__``; ``ns["prof"]`` counts what `prof_mod` names.

    These are paths and dotted names of modules, classes and functions that the
    script imports; the script's own path stands for every function in it,
    and with `profile_imports` for all that it imports, too. `ns` is what the
    script finds as global names. With `as_module` the script is a module of its
    package: ModuleNotFoundError where `sys.path` does not have it. Raises
    OSError where it cannot be read, and what it raises itself.
    """
    path = os.fspath(script_file)
    name = _module_name(path) if as_module else ""
    main = ModuleType(name or "__main__")
    if name:
        main.__spec__ = find_spec(name)
        main.__package__ = name.rpartition(".")[0]
    vars(main).update(ns)
    with open(path, "rb") as stream:
        code = compile(stream.read(), path, "exec", dont_inherit=True)
    watching = Watching(
        ns["prof"],
        prof_mod,
        preimports=False,
        imports=profile_imports,
        complain=lambda text: warnings.warn(text, stacklevel=3),
    )
    before = sys.modules.get("__main__")
    sys.modules["__main__"] = main
    try:
        watching.begin(code, name)
        exec(code, vars(main))  # noqa: S102  # it is the purpose
    finally:
        watching.end()
        if before is not None:
            sys.modules["__main__"] = before


def _module_name(path: str) -> str:
    names = names_of_path(os.path.realpath(path))
    if not names:
        raise ModuleNotFoundError(f"no folder of sys.path has {path!r} as a module")
    return names[0]
