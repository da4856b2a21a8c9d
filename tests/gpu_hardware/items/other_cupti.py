"""Another libcupti, as one of --cupti, records, or a line says why it does not.

`--cupti FILE` names a libcupti.so, or a wheel with one; it may be given several times.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from lab import NotRunError

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
from lineprof import gpu_status

@profile
def work():
    for _ in range(10):
        gpu.empty()
    gpu.wait()

gpu.init()
work()
status = gpu_status()
say(backend=status.backend, reason=status.reason)
"""


def check(lab: Lab) -> None:
    named = [*filter(None, os.environ.get("LINEPROF_LAB_CUPTI", "").split(os.pathsep))]
    if lab.doubles and not named:
        named = [str(lab.doubles / f"fake_cupti_13_{n}.so") for n in (2, 4)]
    if not named:
        raise NotRunError("no --cupti names another libcupti")
    for name in named:
        path = library(Path(name).resolve(), lab.folder)
        ran = lab.kernprof(PROGRAM, LINEPROF_CUPTI=path)
        what = Path(name).name
        if not lab.expect(ran.status == 0, f"{what}: {ran.gist}"):
            continue
        said, kernels = ran.said, ran.line("gpu.empty").kernels
        lab.figure(**{what: f"{said['backend']}: {said['reason']}; {kernels} of 10"})
        lab.expect(
            kernels == 10 if said["backend"] == "cupti" else said["reason"],
            f"{what}: {kernels} kernels of 10; {said}",
        )


def library(path: Path, folder: Path) -> Path:
    """Return the path of a libcupti, which is unpacked if it is in a wheel."""
    if path.suffix != ".whl":
        return path
    into = folder / path.stem
    with zipfile.ZipFile(path) as wheel:
        names = [n for n in wheel.namelist() if n.endswith(".so") or ".so." in n]
        wheel.extractall(into, names)
    found = sorted(into.rglob("libcupti.so*"))
    if not found:
        raise NotRunError(f"{path.name} has no libcupti")
    return found[0]
