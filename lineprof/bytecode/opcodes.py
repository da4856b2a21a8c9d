"""Properties of this Python's opcodes, for the core's reader of bytecode.

On a Python that is newer than this module, and whose bytecode the core cannot read,
loops have no marks, and the profile has a warning.
"""

from __future__ import annotations

import opcode
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function
_OPCODES = 256  # that bytecode can hold

# LP_OP_... in csrc/bytecode/code_tables.h
_KNOWN, _JUMP, _BACK, _LOOPS, _CACHES_SHIFT = 1, 2, 4, 8, 24
_NAMES = {
    0x10: "FOR_ITER GET_ANEXT",
    0x20: "GET_ITER GET_AITER",
    0x40: "CALL PUSH_NULL" if sys.version_info >= (3, 14) else "",
    0x100: "SWAP",
    0x200: "CACHE",
    0x400: "EXTENDED_ARG",
    0x800: "END_FOR END_ASYNC_FOR",
    0x1000: "POP_ITER",
    # Without events of their own, or without a line of the program.
    0x2000: "END_FOR END_SEND END_ASYNC_FOR POP_ITER RESUME",
    0x8000: "BEFORE_WITH BEFORE_ASYNC_WITH LOAD_SPECIAL",
    0x10000: "RESUME",
    0x20000: "YIELD_VALUE",
    0x40000: "FOR_ITER",
}
# Instructions that are much slower in the general form in which they are traced: 3.11
# traces all of them, later Pythons the one with which a line begins. A PRECALL stands
# for its CALL.
_SPECIALIZED = (
    {0x80000: "LOAD_GLOBAL"}
    if _INLINED
    else {
        0x80000: "BINARY_SUBSCR LOAD_ATTR LOAD_GLOBAL LOAD_METHOD PRECALL STORE_ATTR"
        " STORE_SUBSCR UNPACK_SEQUENCE",
        0x100000: "BUILD_SLICE",
        0x200000: "PUSH_EXC_INFO",
        0x400000: "NOP",
        0x800000: "PREP_RERAISE_STAR RERAISE",
    }
)
_ENDS = 0x80  # the next instruction does not run after it
# In any function with a comprehension. From 3.14 on all(), any() and tuple() of a
# generator expression are loops of the function that calls them.
_COMPREHENSION = 0x4000
_OF_COMPREHENSIONS = [
    name
    for name in ("LOAD_FAST_AND_CLEAR", "FOR_ITER")
    if _INLINED and (name != "FOR_ITER" or sys.version_info >= (3, 14))
]

# LP_PYTHON_... there
_INLINES, _COUNTS_INSTRUCTIONS, _FAR_IS_SLOW = 1, 2, 4
_UNKNOWN_LOOPS, _UNREADABLE, _TELLS_OF_LOOP_ENDS = 8, 16, 32

# Jumps of 3.12 and later; a newer Python may have others.
_KNOWN_JUMPS = frozenset(
    (
        *("FOR_ITER", "SEND", "JUMP_FORWARD", "JUMP_BACKWARD"),
        *("JUMP_BACKWARD_NO_INTERRUPT", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE"),
        *("POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE"),
    )
)
_NEEDED = frozenset(("EXTENDED_ARG", "GET_ITER"))


def _table() -> tuple[int, list[int]]:
    """Return the properties of this Python, and those of each opcode."""
    flags = [0] * _OPCODES
    for flag, names in (_NAMES | _SPECIALIZED).items():
        _add(flags, flag, names.split())
    _add(flags, _COMPREHENSION, _OF_COMPREHENSIONS)
    _add(flags, _ENDS, filter(_is_end, opcode.opmap))
    python = _INLINES if _INLINED else _COUNTS_INSTRUCTIONS
    if (3, 12) <= sys.version_info < (3, 14):
        python |= _FAR_IS_SLOW | _TELLS_OF_LOOP_ENDS
    if not opcode.opmap.keys() >= {*_OF_COMPREHENSIONS}:
        python |= _UNKNOWN_LOOPS
    try:
        _add_jumps(flags)
    except (AttributeError, LookupError, TypeError, ValueError):
        python |= _UNREADABLE
    if _INLINED and not opcode.opmap.keys() >= _NEEDED | _KNOWN_JUMPS:
        python |= _UNREADABLE
    return python, flags


def _add(flags: list[int], flag: int, names: Iterable[str]) -> None:
    for name in names:
        number = opcode.opmap.get(name, _OPCODES)
        if number < _OPCODES:
            flags[number] |= flag


def _is_end(name: str) -> bool:
    begins = name.startswith(("RETURN", "RERAISE", "RAISE_VARARGS", "JUMP_"))
    return begins and "_IF_" not in name


def _add_jumps(flags: list[int]) -> None:
    # From 3.14 on `hasjrel` lists it: its argument is the offset of an END_SEND.
    no_jump = opcode.opmap.get("END_ASYNC_FOR", -1)
    jumps = {op for op in opcode.hasjrel if op < _OPCODES and op != no_jump}
    caches = _cache_counts()
    for number, name in enumerate(opcode.opname[:_OPCODES]):
        is_jump = number in jumps
        if is_jump:
            flags[number] |= _JUMP | caches(number) << _CACHES_SHIFT
        if is_jump and "JUMP_BACKWARD" in name:
            flags[number] |= _BACK
        if is_jump and "BACKWARD" in name and not name.endswith("NO_INTERRUPT"):
            flags[number] |= _LOOPS
        is_new = _INLINED and is_jump and name not in _KNOWN_JUMPS
        if not name.startswith("<") and not is_new:
            flags[number] |= _KNOWN


def _cache_counts() -> Callable[[int], int]:
    """Return a function that gives the number of cache entries after an opcode."""
    known = getattr(opcode, "_inline_cache_entries", {})
    if sys.version_info >= (3, 13):  # by name
        return lambda op: int(known.get(opcode.opname[op], 0))
    return lambda op: int(known[op])


def _packed() -> bytes:
    python, flags = _table()
    return b"".join(
        (number & 0xFFFFFFFF).to_bytes(4, sys.byteorder) for number in (python, *flags)
    )


OPCODES = _packed()
