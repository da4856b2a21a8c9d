"""What the main thread of a process is doing: it runs, or waits in a system call."""

from __future__ import annotations

import os
from typing import NamedTuple

from lineprof.errors import LineprofError

STATES = {
    "R": "running",
    "S": "sleeping",
    "I": "sleeping",
    "D": "waiting for a device",
    "T": "stopped",
    "t": "stopped by a tracer",
    "Z": "ended",
    "X": "ended",
}
# System calls in which a thread can wait, by the processor that `uname -m` names.
_NAMES = {
    "x86_64": (
        "read=0 write=1 poll=7 ioctl=16 pread64=17 writev=20 select=23 pause=34 "
        "nanosleep=35 connect=42 accept=43 sendto=44 recvfrom=45 sendmsg=46 "
        "recvmsg=47 wait4=61 semop=65 msgrcv=70 fcntl=72 flock=73 fsync=74 "
        "rt_sigtimedwait=128 rt_sigsuspend=130 futex=202 semtimedop=220 "
        "clock_nanosleep=230 epoll_wait=232 mq_timedreceive=243 waitid=247 "
        "openat=257 pselect6=270 ppoll=271 epoll_pwait=281 accept4=288 "
        "recvmmsg=299 getrandom=318 io_uring_enter=426 epoll_pwait2=441"
    ),
    "aarch64": (
        "epoll_pwait=22 fcntl=25 ioctl=29 flock=32 openat=56 read=63 write=64 "
        "writev=66 pread64=67 pselect6=72 ppoll=73 fsync=82 waitid=95 futex=98 "
        "nanosleep=101 clock_nanosleep=115 rt_sigsuspend=133 rt_sigtimedwait=137 "
        "mq_timedreceive=183 msgrcv=188 semtimedop=192 semop=193 accept=202 "
        "connect=203 sendto=206 recvfrom=207 sendmsg=211 recvmsg=212 accept4=242 "
        "recvmmsg=243 wait4=260 getrandom=278 io_uring_enter=426 epoll_pwait2=441"
    ),
}
_CALLS = {
    machine: {
        int(number): name
        for name, _, number in (pair.partition("=") for pair in text.split())
    }
    for machine, text in _NAMES.items()
}


class TaskState(NamedTuple):
    """The state of a thread at one moment."""

    state: str  # a value of STATES
    call: str = ""  # the system call, or the kernel's function, in which it waits

    def __str__(self) -> str:
        """Return the end of a sentence: ``blocked in clock_nanosleep``."""
        if not self.is_blocked:
            return self.state
        return f"blocked in {self.call}" if self.call else "blocked in a system call"

    @property
    def is_blocked(self) -> bool:
        """Whether it runs nothing before a system call returns."""
        return self.state in {"sleeping", "waiting for a device"}


def read(pid: int, thread: int | None = None) -> TaskState:
    """Return the state of a thread, the main one by default.

    `thread` is the number by which the operating system knows it. Raises LineprofError
    if the process, or the thread, has ended.
    """
    folder = f"/proc/{pid}/task/{thread or pid}"
    stat = _text(f"{folder}/stat")
    if not stat:
        raise LineprofError(f"process {pid} has ended")
    state = STATES.get(stat.rpartition(")")[2].split()[0], "sleeping")
    call = system_call(_text(f"{folder}/syscall"), os.uname().machine)
    if not call:
        call = _text(f"{folder}/wchan").strip("0\n")
    return TaskState(state=state, call=call)


def blocked_notice(state: TaskState) -> str:
    """Return a sentence for the user on a main thread that is blocked, else ''."""
    if not state.is_blocked:
        return ""
    return f"the main thread is {state}: it is joined when that call returns"


def system_call(text: str, machine: str) -> str:
    """Return the name of the call in a line of /proc/PID/syscall; '' if it runs."""
    number = text.split(" ", 1)[0].strip()
    if not number.isdecimal():  # "running", -1, or nothing that may be read
        return ""
    return _CALLS.get(machine, {}).get(int(number), f"system call {number}")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
