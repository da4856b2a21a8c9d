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
    others = named(lab)
    if not others:
        raise NotRunError("no --cupti names another libcupti")
    for what, path in others.items():
        ran = lab.kernprof(PROGRAM, LINEPROF_CUPTI=path)
        if not lab.expect(ran.status == 0, f"{what}: {ran.gist}"):
            continue
        said, kernels = ran.said, ran.line("gpu.empty").kernels
        lab.figure(**{what: f"{said['backend']}: {said['reason']}; {kernels} of 10"})
        lab.expect(
            kernels == 10 if said["backend"] == "cupti" else said["reason"],
            f"{what}: {kernels} kernels of 10; {said}",
        )


def named(lab: Lab) -> dict[str, Path]:
    """Return the libraries that --cupti names, or doubles, by the names of files."""
    text = os.environ.get("LINEPROF_LAB_CUPTI", "")
    files = [Path(name).resolve() for name in text.split(os.pathsep) if name]
    if lab.doubles and not files:
        files = [lab.doubles / f"fake_cupti_13_{n}.so" for n in (2, 4)]
    return {file.name: library(file, lab.folder) for file in files}


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
