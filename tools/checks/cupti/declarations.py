"""Declarations of CUPTI, read from the sources in csrc."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tools.checks.cupti.names import SIZES
from tools.dev.envs import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CSRC = ROOT / "csrc"


class Ours(NamedTuple):
    """Declarations in the sources."""

    structs: dict[str, tuple[str, list[str]]]  # NVIDIA's name, and our fields
    values: list[str]
    calls: dict[str, list[int]]
    sizes: dict[str, list[int]]  # calls by the list of the place of their size
    functions: dict[str, bool]  # name: whether it may be missing
    numbered: list[tuple[int, str]]  # the number that we use, and NVIDIA's name


def read_ours() -> Ours:
    """Read our declarations of CUPTI."""
    abi = (CSRC / "gpu/cupti_abi.h").read_text(encoding="utf-8")
    calls = "".join(
        plain((CSRC / f"gpu/{name}.c").read_text(encoding="utf-8"))
        for name in ("cupti_calls", "cupti_settings")
    )
    session = (CSRC / "gpu/cupti_backend.c").read_text(encoding="utf-8")
    declared = r"/\* is (\w+).*?\*/\s*typedef struct \w+ \{(.*?)\} (\w+);"
    structs = {
        ours: (theirs, fields(plain(body)))
        for theirs, body, ours in re.findall(declared, abi, re.DOTALL)
    }
    listed = r"static const uint16_t (\w+)\[\] = \{(.*?)\};"
    lists = {
        name: [int(number) for number in re.findall(r"\d+", body)]
        for name, body in re.findall(listed, calls, re.DOTALL)
        if name != "resources"
    }
    return Ours(
        structs=structs,
        values=re.findall(r"^(?: {4}|enum \{ )(LP_CUPTI_\w+) =", abi, re.MULTILINE),
        calls={name: numbers for name, numbers in lists.items() if name not in SIZES},
        sizes={name: numbers for name, numbers in lists.items() if name in SIZES},
        functions={
            f"cupti{name}": optional == "true"
            for name, optional in re.findall(
                r'SYMBOL\("(\w+)",\s*\w+,\s*(true|false)\)', session
            )
        },
        numbered=[
            *numbers(CSRC / "gpu/activity.c", "directions[] =", "MEMCPY_KIND"),
            *numbers(ROOT / "lineprof/model/gpu.py", "MEMORIES =", "MEMORY_KIND"),
        ],
    )


def numbers(file: Path, begin: str, kind: str) -> list[tuple[int, str]]:
    """Read a list of words in the order of NVIDIA's numbers."""
    after = file.read_text(encoding="utf-8").partition(begin)[2]
    body, _, _ = after.partition("\n\n")  # a blank line ends it in C and in Python
    names = [word.upper().replace(" ", "_") for word in re.findall('"(.*?)"', body)]
    known = [(n, name) for n, name in enumerate(names) if name != "?"]
    return [(n, f"CUPTI_ACTIVITY_{kind}_{name}") for n, name in known]


def plain(text: str) -> str:
    """Return a C text without comments."""
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def fields(body: str) -> list[str]:
    """Return the fields of a struct; elements of an array are name[0], name[1], ..."""
    found = []
    for declaration in filter(None, map(str.strip, body.split(";"))):
        words = re.sub(r"^(?:const )?\w+ ", "", declaration)
        for word in words.split(","):
            name = word.strip(" *\n")
            array = re.fullmatch(r"(\w+)\[(\d+)\]", name)
            many = range(int(array[2])) if array else ()
            found += [f"{array[1]}[{n}]" for n in many] if array else [name]
    return found
