"""Numbers and functions of the driver that lineprof uses, compared with cuda.h."""

from __future__ import annotations

import re

from tools.checks.cupti.declarations import CSRC, plain
from tools.checks.cupti.names import ATTRIBUTES, CAPTURE_ERRORS, UNDECLARED

_SAME = {"CUcontext": "void *", "CUdevice": "int", "CUdevice_attribute": "int"}


def differences(header: str) -> list[str]:
    """Return how our declarations of the driver differ from a version's cuda.h."""
    source = (CSRC / "gpu/cuda_driver.c").read_text(encoding="utf-8")
    declared = [
        f"{name} is declared in cuda.h"
        for name in UNDECLARED
        if re.search(rf"\b{name}\s*\(", plain(header))
    ]
    return [*_numbers(source, header), *_functions(source, header), *declared]


def _numbers(source: str, header: str) -> list[str]:
    """Return the wrong numbers of attributes and errors."""
    table = source.partition("attributes[] = {")[2].partition("};")[0]
    known = {
        f"CU_DEVICE_ATTRIBUTE_{ATTRIBUTES.get(name, name)}": int(number)
        for name, number in re.findall(r'\{"(\w+)", (\d+)\}', table)
    }
    calls = (CSRC / "gpu/cupti_callbacks.c").read_text(encoding="utf-8")
    limits = re.search(r"status >= (\d+) && status <= (\d+)", calls)
    if limits is None or not known:
        return ["the sources have no attributes of devices, or no errors of captures"]
    first, last = map(int, limits.groups())
    if last - first + 1 != len(CAPTURE_ERRORS):
        return [f"{first} to {last} are not as many as CAPTURE_ERRORS"]
    known |= {
        f"CUDA_ERROR_STREAM_CAPTURE_{name}": first + number
        for number, name in enumerate(CAPTURE_ERRORS)
    }
    found = {
        name: int(number)
        for name, number in re.findall(r"\b(CU\w+)\s*=\s*(\d+)\b", header)
    }
    return [
        f"{name} is {found.get(name, 'missing')}, not {number}"
        for name, number in known.items()
        if found.get(name) != number
    ]


def _functions(source: str, header: str) -> list[str]:
    """Return the functions whose parameters are not ours."""
    text = (CSRC / "gpu/cuda_driver.h").read_text(encoding="utf-8")
    fields = dict(
        re.findall(r"^ {4}int \(\*(\w+)\)\((.*?)\);", plain(text), re.MULTILINE)
    )
    symbols = re.findall(r'SYMBOL\("(\w+)", (\w+)\)', source)
    declared = dict(
        re.findall(r"\bCUresult\s+CUDAAPI\s+(\w+)\s*\(([^;]*?)\)\s*;", plain(header))
    )
    wrong = []
    for name, field in symbols:
        theirs = declared.get(name) or declared.get(name.removesuffix("_v2"), "?")
        if _types(theirs) != _types(fields[field]):
            wrong.append(f"{name}({theirs}) is not ({fields[field]})")
    return wrong


def _types(parameters: str) -> list[str]:
    """Return the types of parameters, with ours for NVIDIA's handles and enums."""
    types = []
    for declaration in parameters.split(","):
        *words, name = re.findall(r"\w+|\*", declaration)
        words = words or [name]
        types.append(" ".join(_SAME.get(word, word) for word in words))
    return types
