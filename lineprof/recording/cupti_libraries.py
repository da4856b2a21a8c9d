"""CUPTI libraries of this machine, in the order in which to try them, and its clients.

One copy of CUPTI belongs in a process: the one that a framework has loaded or will
load. Imported only if there is a GPU.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_IN_WHEELS = ("nvidia/cu13/lib", "nvidia/cuda_cupti/lib")
_IN_TOOLKITS = ("extras/CUPTI/lib64", "lib64", "lib")
_TOOLKIT = "/usr/local/cuda"
_NAMES = ("libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7")

# A library's name may contain a hash, if auditwheel has put it into a wheel.
_CUPTI = re.compile(r"libcupti(?:-[0-9a-f]+)?\.so")
_RUNTIME = re.compile(r"libcudart(?:-[0-9a-f]+)?\.so\.(\d+)")
_CLIENT = re.compile(r"lib(?:torch_cpu|torch_cuda|kineto.*)\.so")
_OF_TORCH = re.compile(r"^cuda\b.*= *['\"](\d+)\.", re.MULTILINE)  # in version.py
_OF_OTHERS = re.compile(r"(?:cupy_cuda|jax_cuda)(\d\d)", re.IGNORECASE)


def libraries() -> tuple[str, ...]:
    """Return names and paths of CUPTI libraries, in the order in which to try them.

    ``LINEPROF_CUPTI``, if it is set, is the only one. Otherwise: a library that the
    process has mapped; those in wheels, because a framework that later loads CUPTI by
    name gets the one that is loaded; names for the loader; toolkits. Among these, the
    version of the loaded CUDA runtime comes first, or else that of an installed
    framework. A library that is newer than the driver fails to open, and the next one
    is tried.
    """
    given = os.environ.get("LINEPROF_CUPTI")
    if given:
        return (given,)
    mapped = _mapped()
    cupti = [path for path in mapped if _is_cupti(path)]
    roots = _roots()
    wheels = _below(roots, _IN_WHEELS)
    named = map(os.environ.get, ("CUDA_HOME", "CUDA_PATH"))
    toolkits = _below([*filter(None, named), sys.prefix, _TOOLKIT], _IN_TOOLKITS)
    major = _major_of_runtime(mapped)
    if not major and len(wheels) > 1:
        major = _major_of_frameworks(roots)
    wheels.sort(key=lambda path: f".so.{major}" not in path)
    names = sorted(_NAMES, key=lambda name: f".so.{major}" not in name)
    return tuple(dict.fromkeys([*cupti, *wheels, *names, *toolkits]))


def clients() -> tuple[str, ...]:
    """Return the libraries of an installed PyTorch, whose profiler uses CUPTI.

    PyTorch is not imported.
    """
    for root in _roots():
        folder = os.path.join(root, "torch", "lib")
        try:
            names = sorted(filter(_CLIENT.match, os.listdir(folder)))
        except OSError:
            continue
        if names:
            return tuple(os.path.join(folder, name) for name in names)
    return ()


def _roots() -> list[str]:
    """Return the folders in which Python searches for modules."""
    return [root or "." for root in sys.path if isinstance(root, str)]


def _is_cupti(path: str) -> bool:
    return _CUPTI.match(os.path.basename(path)) is not None


def _mapped() -> list[str]:
    """Return the files of CUDA libraries that this process has mapped."""
    try:
        with open("/proc/self/maps", "rb") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return []
    files = (line.split(None, 5)[5] for line in lines if b"libcu" in line)
    return list(dict.fromkeys(map(os.fsdecode, files)))


def _major_of_runtime(mapped: list[str]) -> str:
    """Return the major version of the loaded CUDA runtime, or ""."""
    for path in mapped:
        runtime = _RUNTIME.match(os.path.basename(path))
        if runtime:
            return runtime[1]
    return ""


def _major_of_frameworks(roots: Iterable[str]) -> str:
    """Return the major version of CUDA that a framework is installed for, or "".

    PyTorch decides if there are several: its libraries load CUPTI with themselves.
    """
    others = ""
    for root in roots:
        try:
            with open(os.path.join(root, "torch/version.py"), encoding="utf-8") as file:
                torch = _OF_TORCH.search(file.read())
        except (OSError, ValueError):
            torch = None
        if torch:
            return torch[1]
        try:
            installed = map(_OF_OTHERS.match, os.listdir(root))
        except OSError:
            continue
        others = others or next((found[1] for found in installed if found), "")
    return others


def _below(roots: Iterable[str], folders: Iterable[str]) -> list[str]:
    """Return the CUPTI libraries in these folders of each root."""
    places = (os.path.join(root, folder) for root in roots for folder in folders)
    return [path for place in places for path in _in(place)]


def _in(folder: str) -> list[str]:
    """Return the CUPTI libraries in a folder, the newest first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [os.path.join(folder, name) for name in names if _is_cupti(name)]
    return sorted(found, reverse=True)
