"""Signatures of the functions and callbacks of CUPTI: ours compared with NVIDIA's.

A parameter agrees if it has the same size and both or neither are pointers; what it
points to must also have the same size, unless ours is ``void *`` or a struct that
begins with its size, so that later fields may be left out.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tools.checks.cupti.declarations import CSRC, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Signature(NamedTuple):
    """Types of a function's result and parameters."""

    result: str
    parameters: tuple[str, ...]


class Declared(NamedTuple):
    """Functions and types of callbacks that a text declares."""

    functions: Mapping[str, Signature]
    callbacks: Mapping[str, Signature]


_CALLBACK = r"typedef\s+(\w+)\s*\(\s*(?:CUPTIAPI\s*)?\*\s*(\w+)\s*\)\s*\(([^;]*?)\)\s*;"


def ours() -> Declared:
    """Return our declarations; a function has its name in CUPTI."""
    text = plain((CSRC / "gpu/cupti_backend.h").read_text(encoding="utf-8"))
    source = (CSRC / "gpu/cupti_backend.c").read_text(encoding="utf-8")
    fields = {
        field: signature(result, parameters)
        for result, field, parameters in re.findall(
            r"^ {4}(\w+) \(\*(\w+)\)\(([^;]*)\);", text, re.MULTILINE
        )
    }
    symbols = re.findall(r'SYMBOL\("(\w+)",\s*(\w+),', source)
    functions = {
        f"cupti{name}": fields[field] for name, field in symbols if field in fields
    }
    return Declared(functions=functions, callbacks=_callbacks(text))


def theirs(header: str) -> Declared:
    """Return the declarations of NVIDIA's headers."""
    text = plain(header)
    functions = {
        name: signature(result, parameters)
        for result, name, parameters in re.findall(
            r"(\w+)\s+CUPTIAPI\s+(cupti\w+)\s*\(([^;]*?)\)\s*;", text
        )
    }
    return Declared(functions=functions, callbacks=_callbacks(text))


def assertions(mine: Declared, header: str) -> Iterator[str]:
    """Yield static assertions in C that the signatures agree."""
    other = theirs(header)
    for name, signature in mine.functions.items():
        if name in other.functions:
            yield from _compare(name, signature, other.functions[name], (mine, other))


def _callbacks(text: str) -> dict[str, Signature]:
    return {
        name: signature(result, parameters)
        for result, name, parameters in re.findall(_CALLBACK, text)
    }


def signature(result: str, parameters: str) -> Signature:
    """Return a signature, without the names of its parameters."""
    words = [" ".join(part.split()) for part in parameters.split(",")]
    types = tuple(map(_type, words)) if words != ["void"] else ()
    return Signature(result=result, parameters=types)


def _type(declaration: str) -> str:
    """Return the type of a parameter, whose name may be missing."""
    if "(" in declaration:  # a pointer to a function
        return declaration
    match = re.fullmatch(r"((?:const )?\w+\b[ *]*?)( ?\b\w+)?", declaration)
    return match[1].strip() if match else declaration


def _compare(
    name: str, one: Signature, other: Signature, declared: tuple[Declared, Declared]
) -> Iterator[str]:
    """Yield assertions for a function or callback, and for its callbacks."""
    if len(one.parameters) != len(other.parameters):
        yield f'_Static_assert(0, "{name} has {len(other.parameters)} parameters");'
        return
    mine, others = declared
    yield from _agree(f"the result of {name}", one.result, other.result)
    for number, pair in enumerate(zip(one.parameters, other.parameters), 1):
        what = f"parameter {number} of {name}"
        first, second = pair
        inline = re.fullmatch(r"(\w+) \(\*\)\((.*)\)", first)
        if inline or first in mine.callbacks:
            if second not in others.callbacks:
                yield f'_Static_assert(0, "{what} is no callback");'
                continue
            callback = signature(*inline.groups()) if inline else mine.callbacks[first]
            yield from _compare(second, callback, others.callbacks[second], declared)
        else:
            yield from _agree(what, first, second)


@cache
def _sized() -> list[str]:
    """Return the types of pointers to our structs that begin with their size."""
    text = (CSRC / "gpu/cupti_abi.h").read_text(encoding="utf-8")
    found = re.findall(r"typedef struct (\w+) \{\s*size_t size;", text)
    return [f"{name} *" for name in found]


def _agree(what: str, first: str, second: str) -> Iterator[str]:
    """Yield assertions that two types are passed in the same way."""
    if (first, second) == ("void", "void"):
        return
    if "void" in {first, second}:
        yield f'_Static_assert(0, "{what} is void for one of the two");'
        return
    yield f'PASSED({first}, {second}, "{what}");'
    open_ended = {"void *", "const void *", *_sized()}
    if first.endswith("*") and first not in open_ended:
        yield f'POINTED({first}, {second}, "{what}");'
