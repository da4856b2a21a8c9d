"""Comparison of the places of sizes in calls' parameters with CUPTI's headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.checks.cupti.names import PARAMETERS, SIZES

if TYPE_CHECKING:
    from collections.abc import Iterator

WORD = 8  # bytes
STRUCT = r"typedef struct \w+ \{([^}]*)\} (cuMem(?:cpy|set)\w*)_params;"
SIZE = r"size_t (%s);"


def structs(header: str) -> dict[str, str]:
    """Return the fields of the parameters of copies and memsets, by call."""
    found = re.findall(STRUCT, header)
    return {call: " ".join(fields.split()) for fields, call in found}


def size_assertions(
    sizes: dict[str, list[int]], named: dict[int, str], header: str
) -> Iterator[str]:
    """Yield the structs in C, and assertions that our places are those of sizes."""
    known = structs(header)
    yield PARAMETERS
    for listed, numbers in sizes.items():
        place = int(listed.rpartition("_")[2]) * WORD
        for call in (named[number] for number in numbers if number in named):
            if call not in known:
                continue  # a call without parameters in this version's headers
            yield f"struct {call}_p {{{known[call]}}};"
            for n, pattern in enumerate(SIZES[listed]):
                field = re.search(SIZE % pattern, known[call])
                at = f"offsetof(struct {call}_p, {field[1] if field else 'missing'})"
                yield f'_Static_assert({at} == {place + n * WORD}, "{call}");'


def calls_without_place(
    sizes: dict[str, list[int]], named: dict[int, str], header: str
) -> list[str]:
    """Return the calls that have a size of 64 bits, of which no list has the place."""
    known = structs(header)
    pattern = "|".join(one for fields in SIZES.values() for one in fields)
    placed = {number for numbers in sizes.values() for number in numbers}
    return [
        f"no list has the place of the size of {number}, {call}"
        for number, call in named.items()
        if re.search(SIZE % pattern, known.get(call, "")) and number not in placed
    ]
