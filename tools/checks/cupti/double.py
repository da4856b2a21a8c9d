"""Comparison of the double of CUPTI, in tests/doubles/cupti, with the headers."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tools.dev.envs import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = ROOT / "tests" / "doubles" / "cupti"
TABLE = FOLDER / "fake_cupti_version.c"
PYTHON = ROOT / "tests" / "helpers" / "gpu_double.py"

# Columns of the table after the version's name, its number and the release of CUDA:
# sizes of enumerations, and of the newest structs of these families.
LIMITS = (
    "CUPTI_DRIVER_TRACE_CBID_SIZE",
    "CUPTI_RUNTIME_TRACE_CBID_SIZE",
    "CUPTI_ACTIVITY_KIND_COUNT",
)
RECORDS = (
    "Kernel",
    "Memcpy",
    "Memset",
    "Synchronization",
    "GraphTrace",
    "Memory",
    "UnifiedMemoryCounter",
)


def assertions(release: tuple[int, ...], header: str) -> Iterator[str]:
    """Yield static assertions in C that the double emulates a release."""
    found = False
    for _, version, cuda, *row in _rows():
        if (cuda // 1000, cuda % 1000 // 10) != release:
            continue
        number = re.search(r"#define CUPTI_API_VERSION (\d+)", header)
        if number is None or int(number[1]) != version:
            continue  # another update of the release
        found = True
        yield from (f"IS({ours}, {name});" for ours, name in zip(row, LIMITS))
        for ours, family in zip(row[len(LIMITS) :], RECORDS):
            yield f"IS({ours}, sizeof({_newest(family, header)}));"
    if not found:
        yield f'_Static_assert(0, "{TABLE.name} lacks the release");'


def wrong_functions(release: tuple[int, ...], header: str) -> list[str]:
    """Return functions of the double that a release has not, or has and it lacks."""
    since = _since()
    wrong = []
    for name in sorted(_functions()):
        emulated = release >= since.get(name, (0,))
        if emulated != bool(re.search(rf"\b{name} ?\(", header)):
            fault = "is in the double" if emulated else "should be in the double"
            wrong.append(f"{name} {fault}")
    return wrong


def _rows() -> list[list[int]]:
    rows = re.findall(r"^ +\{(\d[\d, ]*)\},", TABLE.read_text("utf-8"), re.MULTILINE)
    return [[int(number) for number in row.split(",")] for row in rows]


def _newest(family: str, header: str) -> str:
    """Return the struct with the highest number in a family."""
    start = f"CUpti_Activity{family}"
    numbers: list[str] = re.findall(rf"\}} ?{start}(\d*) ?;", header)
    return start + max(numbers, key=lambda number: int(number or 1))


def _functions() -> set[str]:
    """Return the names of the double's functions."""
    text = "".join(file.read_text("utf-8") for file in FOLDER.glob("*.c"))
    return set(re.findall(r"FK_EXPORT int\s+(cupti\w+)\(", text))


def _since() -> dict[str, tuple[int, int]]:
    """Return the first releases of functions, as the tests have them."""
    for statement in ast.parse(PYTHON.read_text("utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement).startswith(
            "SINCE = "
        ):
            found: dict[str, tuple[int, int]] = ast.literal_eval(statement.value)
            return found
    return {}
