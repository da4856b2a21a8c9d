"""Runners: installed programs that run the user's code, such as pytest and uvicorn.

Under kernprof, the functions of the user's project are the program's own; those of the
runner are profiled if --include or --all asks for them.
"""

from __future__ import annotations

import os

from kernprof.run_options import MODULE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.project import Asked

# The package with the functions of each runner, by the module that `python -m` runs.
_PACKAGES = {
    "IPython": "IPython",
    "celery": "celery",
    "coverage": "coverage",
    "django": "django",
    "flask": "flask",
    "gunicorn": "gunicorn",
    "hypercorn": "hypercorn",
    "mpi4py": "mpi4py",
    "nox": "nox",
    "pytest": "_pytest",
    "torch.distributed.launch": "torch.distributed",
    "torch.distributed.run": "torch.distributed",
    "tox": "tox",
    "unittest": "unittest",
    "uvicorn": "uvicorn",
}
# Commands that do not have the name of their module.
_COMMANDS = {
    "coverage3": "coverage",
    "django-admin": "django",
    "ipython": "IPython",
    "ipython3": "IPython",
    "py.test": "pytest",
    "torchrun": "torch.distributed.run",
}


def runner_named(asked: Asked) -> str:
    """Return the module of the runner that a command line names, "" if it is none.

    The caller knows whether a script is an installed command.
    """
    name = asked.target
    if asked.kind != MODULE:
        name = os.path.basename(asked.argv0)
        name = _COMMANDS.get(name, name)
    name = name.removesuffix(".__main__")
    return name if name in _PACKAGES else ""


def package_of(runner: str) -> str:
    """Return the package that has the functions of a runner, as --include takes it."""
    return _PACKAGES[runner]
