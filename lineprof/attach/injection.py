"""Running a source text in another Python process.

From 3.14 on `sys.remote_exec` does it, except in a container. Else the stopped main
thread calls `Py_AddPendingCall(PyRun_SimpleString, page)`, which is safe at any
instruction: it allocates nothing, and takes one lock. The main thread runs the text
later, between two instructions of Python, when it holds the GIL.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
import time
from typing import TYPE_CHECKING

from lineprof.attach.interpreter import (
    CODE_BYTES,
    Mapping,
    exported,
    read_maps,
    read_memory,
)
from lineprof.attach.tracee import MACHINES, LockTakenError, Tracee, Way, warm_up
from lineprof.control.place import SCRIPT, namespace_pid, place_of
from lineprof.control.watch import Watch
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from lineprof.attach.interpreter import Interpreter
    from lineprof.attach.tracee import Machine
    from lineprof.private_folder import PrivateFolder

REMOTE_EXEC = (3, 14)  # the first with sys.remote_exec
_TRIES = 5
_END_S = 1.0  # for a process that is at its end already
_PAUSE_S = 0.01
# `exec` may be another name in the program's __main__; a pending call that fails
# raises an exception in the program. A child that is forked meanwhile inherits the
# call, which is not for it.
_WRAPPER = """\
try:
 if __import__('posix').getpid() == {pid}: __import__('builtins').exec({text}, {given})
except: pass
"""
# Python may open a script twice if a second one comes before the first has run.
_SCRIPT = """\
try:
 if __import__('posix').getpid() == {pid}:
  __import__('posix').unlink({path}); exec({text}, {given})
except: pass
"""
_MUTEX = (3, 13)  # the first whose pending calls have a mutex of CPython's own
_LOCKING, _WAITING = "_PyEval_AddPendingCall", "sem_wait"
_LINKER = re.compile(r"ld-(?!musl)")
_C_LIBRARY = re.compile(r"libc\b|libc-2|libpthread|ld-musl")
_PADDING = " " * 40  # more than the digits of an address and a size need


def run_in(
    interpreter: Interpreter, source: str, folder: PrivateFolder | None = None
) -> None:
    """Make the main thread of a process run a source text as soon as it can.

    Returns when the text is queued: a main thread that is blocked in a system call
    runs it after that call. Raises LineprofError if the text cannot be queued; the
    process then goes on as before. A child that the process forks meanwhile does not
    run the text.

    `folder` is the one where this process and that one meet; a file that is needed is
    made there, and is in use until the folder is closed. By default it is opened here.

    The text runs in a module of its own with the names `__name__` and `page`, the
    address and the size in bytes of the memory that holds the text; it is not needed
    any more once the text runs, so that the text may unmap it. Size 0 means that there
    is none. Exceptions of the text are lost. That includes those which a handler of
    a signal raises meanwhile, so a text that takes long starts a thread for the work.

    From 3.14 on there are two more rules. A second text replaces a first one that has
    not run yet. And a text may run where a handler of a signal may: inside a write to
    a file, for example, so that it does not print.
    """
    if uses_remote_exec(interpreter):
        if folder is None:
            with place_of(interpreter.pid).folder(make=True) as own:
                _run_remotely(interpreter, source, own)
        else:
            _run_remotely(interpreter, source, folder)
    else:
        _run_as_pending_call(interpreter, source)


def uses_remote_exec(interpreter: Interpreter) -> bool:
    """Whether a text is run by `sys.remote_exec`.

    That function looks for the files of the process at the same paths here, so that it
    cannot be used for a process in a container.
    """
    theirs = f"/proc/{interpreter.pid}"
    try:
        return (
            interpreter.version >= REMOTE_EXEC
            and os.readlink(f"{theirs}/ns/mnt") == os.readlink("/proc/self/ns/mnt")
            and os.path.samefile(f"{theirs}/root", "/proc/self/root")
        )
    except OSError:
        return False


def wrapped(source: str, pid: int, address: int, size: int) -> str:
    """Return a text that runs `source`, never fails, and leaves no names behind.

    It does nothing but in the process that calls itself `pid`.
    """
    return _WRAPPER.format(text=ascii(source), pid=pid, given=_given(address, size))


def _given(address: int, size: int) -> str:
    """Return the names that a text is given."""
    return f"{{'__name__': 'lineprof.attached', 'page': ({address}, {size})}}"


def _run_as_pending_call(interpreter: Interpreter, source: str) -> None:
    pid, machine = interpreter.pid, MACHINES[interpreter.machine]
    page = os.sysconf("SC_PAGE_SIZE")
    own_pid = namespace_pid(pid)
    longest = len(wrapped(source, own_pid, 0, 0)) + len(_PADDING) + 1
    size = (longest + page - 1) // page * page
    maps = read_maps(pid)
    instruction_at = _system_call(pid, maps, machine)
    way = _way_to_lock(interpreter, maps)
    warm_up(machine)
    address = 0
    for last in range(1 - _TRIES, 1):
        with contextlib.suppress(LockTakenError), Tracee(pid, machine) as thread:
            function = interpreter.add_pending_call
            if thread.read(function, CODE_BYTES) != interpreter.code:
                raise LineprofError(f"process {pid} has started another program")
            if not address:
                address = thread.map_memory(size, instruction_at)
                text = wrapped(source, own_pid, address, size).encode() + b"\0"
                thread.write(address, text)
            arguments = (interpreter.run_simple_string, address)
            if thread.call(function, arguments, way):
                thread.unmap_memory(address, size, instruction_at)
                raise LineprofError(
                    f"process {pid} has too many calls waiting for its main thread",
                    hint="that thread is blocked; try again when it runs",
                )
            return
        if last:
            time.sleep(_PAUSE_S)
    raise LineprofError(
        f"process {pid} was adding or making pending calls at all of {_TRIES} tries",
        hint="try again",
    )


def _way_to_lock(interpreter: Interpreter, maps: list[Mapping]) -> Way:
    """Return how Py_AddPendingCall comes to its lock: a semaphore before 3.13."""
    names = {m.path: os.path.basename(m.path) for m in maps if m.is_code and m.inode}
    linker = tuple(
        range(m.start, m.end)
        for m in maps
        if m.is_code and _LINKER.match(names.get(m.path, ""))
    )
    if interpreter.version >= _MUTEX:
        entry = exported(interpreter.pid, interpreter.file, maps, _LOCKING)
        return Way(entry=entry, is_direct=False, linker=linker)
    libraries = (path for path, name in names.items() if _C_LIBRARY.match(name))
    found = (exported(interpreter.pid, path, maps, _WAITING) for path in libraries)
    return Way(entry=next(filter(None, found), 0), is_direct=True, linker=linker)


def _system_call(pid: int, maps: list[Mapping], machine: Machine) -> int:
    """Return an address at which the process has an instruction for system calls."""
    code = [one for one in maps if one.is_code and one.path != "[vsyscall]"]
    for one in sorted(code, key=lambda one: one.path != "[vdso]"):
        with contextlib.suppress(OSError):
            data = read_memory(pid, one.start, one.end - one.start)
            at = data.find(machine.instruction)
            while at % machine.alignment and at >= 0:
                at = data.find(machine.instruction, at + 1)
            if at >= 0:
                return one.start + at
    raise LineprofError(f"process {pid} has no instruction that makes a system call")


def _run_remotely(interpreter: Interpreter, source: str, folder: PrivateFolder) -> None:
    pid = interpreter.pid
    own_pid = namespace_pid(pid)
    name = f"{own_pid}-{secrets.token_hex(8)}{SCRIPT}"
    path = os.path.join(folder.path, name)
    given = _given(0, 0)
    text = _SCRIPT.format(
        path=ascii(path), pid=own_pid, text=ascii(source), given=given
    )
    folder.create(name, text.encode("ascii"))
    try:
        sys.remote_exec(pid, path)  # type: ignore[attr-defined]  # 3.14
    except (OSError, RuntimeError) as error:
        with contextlib.suppress(OSError):
            folder.remove(name)
        with Watch(pid) as watch:
            if watch.ends_within(_END_S):  # at its end it has no main thread
                raise LineprofError(
                    f"process {pid} has ended", hint="name one that still runs"
                ) from None
        raise LineprofError(
            f"process {pid} cannot be told to run a script: {error}",
            hint="try again if the process is still there",
        ) from error
