"""Where CUPTI may be: the paths and names to try, best first."""

from __future__ import annotations

import os
import sys

# In CUDA's wheels, and under a toolkit's or environment's folder.
_IN_WHEELS = ("nvidia/cu13/lib", "nvidia/cuda_cupti/lib")
_IN_TOOLKITS = ("extras/CUPTI/lib64", "lib64", "lib")
_NAMES = ("libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7")


def libraries() -> tuple[str, ...]:
    """Return names and paths of CUPTI libraries, the best first.

    ``LINEPROF_CUPTI`` stands alone. Else comes one that is mapped already;
    then those in wheels, for a framework that comes to load its own by name
    gets the one that is there; then what the loader knows, and toolkits. One
    that is newer than the driver refuses, and the next is tried.
    """
    given = os.environ.get("LINEPROF_CUPTI")
    if given:
        return (given,)
    mapped = _mapped()
    cupti = [path for path in mapped if _is_cupti(path)]
    wheels = [
        path
        for root in sys.path
        if isinstance(root, str)  # the import system passes over all else, too
        for folder in _IN_WHEELS
        for path in _in(os.path.join(root or ".", folder))
    ]
    toolkits = [
        path
        for root in (
            os.environ.get("CUDA_HOME", ""),
            os.environ.get("CUDA_PATH", ""),
            sys.prefix,
            "/usr/local/cuda",
        )
        if root
        for folder in _IN_TOOLKITS
        for path in _in(os.path.join(root, folder))
    ]
    major = _major(mapped)
    wheels.sort(key=lambda path: f"libcupti.so.{major}" not in path)
    names = sorted(_NAMES, key=lambda name: f".so.{major}" not in name)
    return tuple(dict.fromkeys([*cupti, *wheels, *names, *toolkits]))


def _is_cupti(path: str) -> bool:
    return os.path.basename(path).startswith("libcupti.so")


def _mapped() -> list[str]:
    """Return the files of CUDA that this process has mapped."""
    try:
        with open("/proc/self/maps", "rb") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return []
    files = (line.split(None, 5)[5] for line in lines if b"libcu" in line)
    return list(dict.fromkeys(map(os.fsdecode, files)))


def _major(mapped: list[str]) -> str:
    """Return the version of the CUDA runtime that is loaded; "" if none is."""
    for path in mapped:
        name, _, version = os.path.basename(path).partition(".so.")
        if name == "libcudart":
            return version.partition(".")[0]
    return ""


def _in(folder: str) -> list[str]:
    """Return the CUPTI libraries in a folder, the newest first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [os.path.join(folder, name) for name in names if _is_cupti(name)]
    return sorted(found, reverse=True)
