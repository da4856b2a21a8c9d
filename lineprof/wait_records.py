"""What lines waited for, as frozen values.

Times are integers in nanoseconds (ns); nothing here touches a file or a clock.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.records import Key

# Why a thread was on no processor.
GIL = "gil"  # another thread held the interpreter's lock
LOCK = "lock"  # a lock of its own: threading's, a library's
SLEEP = "sleep"
IO = "io"  # read, write, poll, a socket
READY = "ready"  # it could run, but other work had the processors
OTHER = "other"  # blocked in the kernel: for a child process, or not seen where
CAUSES = (GIL, LOCK, SLEEP, IO, READY, OTHER)


class Wait(NamedTuple):
    """How long one thread was on no processor for one reason, on one line.

    As the line's time does, it counts what the line called, too. A line's time
    less its waits is its time on a processor.
    """

    function: Key
    line: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    cause: str  # one of CAUSES
    ns: int
