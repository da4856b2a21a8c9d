"""What lines were themselves, without what they called, as frozen values.

Times are integers in nanoseconds (ns); nothing here touches a file or a clock.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.records import Key

# What a line was: in itself, or in C functions that it called.
WAIT = "wait"  # on no processor
SYSTEM = "system"  # on one, in the kernel
C_WAIT = "c_wait"
C_SYSTEM = "c_system"
PARTS = (WAIT, SYSTEM, C_WAIT, C_SYSTEM)


class OwnTime(NamedTuple):
    """How long one thread was so on one line, profiled functions apart.

    Unlike a `Wait`, it has nothing of Python functions that the line called and
    that are profiled. A profile has some only where it was asked for; then it has
    at least one, of 0 ns if nothing else.
    """

    function: Key
    line: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    part: str  # one of PARTS
    ns: int
