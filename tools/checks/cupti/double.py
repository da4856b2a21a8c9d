"""Comparison of the double of CUPTI, in tests/doubles/cupti, with the headers."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tools.checks.cupti.declarations import plain
from tools.checks.cupti.signatures import Declared, signature
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


# Numbers in its sources, and NVIDIA's names of them.
ATTRIBUTES = {
    "FK_THREAD_BUFFERS": "PER_THREAD_ACTIVITY_BUFFER",
    "FK_USER_DEFINED": "USER_DEFINED_RECORDS",
    "FK_SUBSCRIBER_STATE": "MULTIPLE_SUBSCRIBER_STATE",
    "FK_HARDWARE": "ENABLE_HES",
    "FK_ALLOCATION_SOURCE": "ENABLE_ALLOCATION_SOURCE_TRACKING",
    "FK_DEVICE_GRAPHS": "ENABLE_DEVICE_GRAPH_TRACE",
    "FK_GRAPHS_AS_A_WHOLE": "ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE",
    "FK_THREAD_IDS": "THREAD_ID_TYPE",
    "FK_CLOCK": "TIMESTAMP_CALLBACK",
}
STRUCTS = {  # NVIDIA's structs and our sizes of them, in the newest release
    "CUpti_BufferCallbackRequestInfo": 8,
    "CUpti_BufferCallbackCompleteInfo": 32,
}
PLAIN_TYPES = ("int", "char", "size_t", "void", "uint8_t", "uint32_t", "uint64_t")


def assertions(release: tuple[int, ...], header: str) -> Iterator[str]:
    """Yield static assertions in C that the double emulates a release."""
    yield from _numbers(header)
    if release >= (13, 0):
        yield f"IS({32 if release < (13, 2) else 40}, sizeof(CUpti_SubscriberParams));"
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


def declared() -> Declared:
    """Return the declarations of the double's functions and of their callbacks."""
    text = plain(_text("*.[ch]"))
    functions = re.findall(r"FK_EXPORT (int)\s+(cupti\w+)\(([^;]*?)\);", text)
    callbacks = re.findall(r"typedef (\w+) (fk_\w+)\(([^;]*?)\);", text)
    known = {f"{name} *" for _, name, _ in callbacks}
    return Declared(
        functions={
            name: signature(result, _opaque(parameters, known))
            for result, name, parameters in functions
        },
        callbacks={
            f"{name} *": signature(result, _opaque(parameters, known))
            for result, name, parameters in callbacks
        },
    )


def _opaque(parameters: str, callbacks: set[str]) -> str:
    """Return parameters whose pointers to structs of ours are ``void *``."""

    def replace(found: re.Match[str]) -> str:
        kept = found[1] in PLAIN_TYPES or f"{found[1]} *" in callbacks
        return found[0] if kept else "void *"

    return re.sub(r"(\w+) \*", replace, parameters)


def _numbers(header: str) -> Iterator[str]:
    text = plain(_text("*.[ch]"))
    for ours, theirs in ATTRIBUTES.items():
        found = re.search(rf"\b{ours} = (\d+)", text)
        name = f"CUPTI_ACTIVITY_ATTR_{theirs}"
        if re.search(rf"\b{name}\b", header):
            yield f"IS({found[1] if found else -1}, {name});"
    for name, number in re.findall(r"\b(CUPTI_ERROR_\w+) = (\d+)", text):
        if re.search(rf"\b{name}\b", header):
            yield f"IS({number}, {name});"
    for struct, size in STRUCTS.items():
        if re.search(rf"\}} {struct};", header):
            yield f"IS({size}, sizeof({struct}));"


def _text(pattern: str) -> str:
    return "".join(file.read_text("utf-8") for file in sorted(FOLDER.glob(pattern)))


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
    return set(re.findall(r"FK_EXPORT int\s+(cupti\w+)\(", _text("*.c")))


def _since() -> dict[str, tuple[int, int]]:
    """Return the first releases of functions, as the tests have them."""
    for statement in ast.parse(PYTHON.read_text("utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement).startswith(
            "SINCE = "
        ):
            found: dict[str, tuple[int, int]] = ast.literal_eval(statement.value)
            return found
    return {}
