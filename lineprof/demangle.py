"""The names of kernels as their source has them: C++ ones are demangled.

The C++ runtime does it, where there is one. It is asked in a thread of its
own and for a limited time, for a name of 200 characters, made for the purpose,
can stand for one of gigabytes.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # Returns the name, or None where it cannot; and may take for ever.
    Demangler = Callable[[bytes], "bytes | None"]

_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib")
_SYMBOL = "__cxa_demangle"
_LONGEST = 16 * 1024  # characters, of either name; no compiler gives such
_STACK = 16 * 1024 * 1024  # bytes; some runtimes recurse with each character
_PATIENCE = 1.0  # s; an honest name takes microseconds


@cache
def demangled(name: str) -> str:
    """Return `name` as C++ source has it; as it is if it is no mangled C++ name.

    It is also left as it is where no C++ runtime is found, or where that
    cannot read it: GCC's reads 1,024 characters at most.
    """
    if not name.startswith("_Z") or not name.isprintable() or len(name) > _LONGEST:
        return name
    for demangler in _demanglers():
        text = _in_time(demangler, name.encode())
        if text is not None and len(text) <= _LONGEST:
            return text.decode("utf-8", "backslashreplace")
    return name


@cache
def _demanglers() -> list[Demangler]:
    """Return what can demangle: one of each C++ runtime that is found."""
    return [one for one in map(_demangler, _LIBRARIES) if one is not None]


def _demangler(library: str) -> Demangler | None:
    """Return the demangler of a C++ runtime; None where there is none."""
    try:
        function = ctypes.CDLL(library)[_SYMBOL]
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_char_p, *[ctypes.c_void_p] * 3]
    free = ctypes.CDLL(None).free
    free.restype = None
    free.argtypes = [ctypes.c_void_p]

    def demangle(name: bytes) -> bytes | None:
        text = function(name, None, None, None)
        if not text:
            return None
        try:
            return ctypes.string_at(text)
        finally:
            free(text)

    return demangle


def _in_time(demangler: Demangler, name: bytes) -> bytes | None:
    """Return what `demangler` says of `name`, None if it does not come to an end.

    After one such name no other is demangled: there may be many. The thread
    that is still at it ends with the process.
    """
    answers: list[bytes | None] = []
    thread = threading.Thread(
        target=lambda: answers.append(demangler(name)), daemon=True
    )
    before = threading.stack_size(_STACK)
    try:
        thread.start()
    except RuntimeError:  # no more threads
        return None
    finally:
        threading.stack_size(before)
    thread.join(_PATIENCE)
    if not answers:
        _demanglers().clear()
    return answers[0] if answers else None
