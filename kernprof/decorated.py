"""Does a program decorate with `profile`? As far as its bytecode tells at once."""

from __future__ import annotations

import opcode
from types import CodeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PROFILE, _OTHER_MODULE = "profile", "line_profiler"
_PROFILER = "LineProfiler"
# One that a later Python does without is in no code.
_LOAD, _STORE = (opcode.opmap.get(name, -1) for name in ("LOAD_NAME", "STORE_NAME"))
_EXTENDED = opcode.opmap.get("EXTENDED_ARG", -1)
_MOST_BYTES = 1 << 24  # of a source file that is looked into


def names_profiler(code: CodeType) -> bool:
    """Tell whether `code` alone names line_profiler's own LineProfiler."""
    names = code.co_names
    return _PROFILER in names and _OTHER_MODULE in names


def may_decorate(code: CodeType) -> bool:
    """Tell whether something in `code` is called `profile` or LineProfiler."""
    names = code.co_names
    return (
        _PROFILE in names or _PROFILER in names or any(map(may_decorate, _parts(code)))
    )


def decorates(code: CodeType) -> bool:
    """Tell whether a program, by its module's `code`, does decorate with `profile`.

    That is certain where ``@profile`` stands at the beginning of a line, and the
    module has nothing else by that name. False where it is to be seen.
    """
    if not _has(code, _LOAD) or _has(code, _STORE):
        return False
    try:
        with open(code.co_filename, "rb") as stream:
            text = stream.read(_MOST_BYTES)
    except (OSError, ValueError):
        return False
    decorator = b"@" + _PROFILE.encode()
    lines = (line for line in text.splitlines() if line.startswith(decorator))
    return any(line.partition(b"#")[0].strip() == decorator for line in lines)


def _parts(code: CodeType) -> Iterator[CodeType]:
    return (part for part in code.co_consts if isinstance(part, CodeType))


def _has(code: CodeType, operation: int) -> bool:
    """Tell whether `code` does that with the name `profile`."""
    if _PROFILE not in code.co_names:
        return False
    wanted, argument = code.co_names.index(_PROFILE), 0
    raw = code.co_code
    for operator, low in zip(raw[::2], raw[1::2]):
        argument |= low
        if operator == operation and argument == wanted:
            return True
        argument = argument << 8 if operator == _EXTENDED else 0
    return False
