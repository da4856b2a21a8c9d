"""The main thread of another process, stopped with ptrace and borrowed for a call.

Only that thread is stopped: another thread that holds a lock goes on and releases the
lock. Where the thread was is saved, and restored exactly: general and floating-point
registers, the signal mask, and the number of the system call in which the thread
waited, so that the kernel restarts that call. While a call runs, signals stay
pending in the kernel, which delivers them afterwards.

If the tracer is killed with SIGKILL during the call, the process crashes. All other
signals of the calling thread wait until the process goes on.

The code for aarch64 follows the kernel's and the processor's documentation; it was
never run. There `poll` and `select` with a timeout begin anew when they are
interrupted: the kernel shows no register that tells how much of it is left.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from lineprof.attach import elf, task_state
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

# Of <sys/ptrace.h>.
_CONT, _SINGLESTEP, _DETACH = 7, 9, 17
_POKEUSER = 6
_GETREGSET, _SETREGSET = 0x4204, 0x4205
_SEIZE, _INTERRUPT = 0x4206, 0x4207
_GETSIGMASK, _SETSIGMASK = 0x420A, 0x420B
_EVENT_STOP = 128
_WALL = 0x40000000  # of waitpid: threads too, not children alone
_NT_PRSTATUS = 1
_MASK_BYTES = 8
_FLOAT_LIMIT = 1 << 17  # bytes; with AVX-512 and AMX a thread has 11 KB of registers
_PROTECTION, _FLAGS = 1 | 2, 0x02 | 0x20  # of mmap: readable, writable; private memory

_STOP_S = 5.0  # a thread in an uninterruptible wait does not stop
_RETURN_S = 10.0  # the call takes some µs, and longer on a busy machine
_POLL_S = 0.02
_STEPS = 50_000  # up to 1,000 are usual; more are a loop

# Signals of the instruction itself: the kernel resets the handler of a blocked one.
_SYNCHRONOUS = (
    *(signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS),
    *(signal.SIGFPE, signal.SIGSEGV, signal.SIGSYS),
)
_ALL_BLOCKED = (1 << 64) - 1 & ~sum(1 << number - 1 for number in _SYNCHRONOUS)


class Machine(NamedTuple):
    """Registers of a processor, by place in the kernel's struct of 64-bit words."""

    words: int
    pc: int
    sp: int
    result: int
    arguments: tuple[int, ...]  # of a function
    call_number: int  # of a system call
    call_arguments: tuple[int, ...]
    pending_call: int | None  # the system call that the kernel is to restart
    link: int | None  # has the return address; None: the stack has it
    flags: int | None  # whose bit for the direction of string instructions is cleared
    red_zone: int  # bytes below the stack pointer that are in use
    instruction: bytes  # that makes a system call
    alignment: int  # of instructions
    mmap: int
    munmap: int
    floats: tuple[int, ...]  # the sets of other registers; the first there is is taken


X86_64 = Machine(
    words=27,
    pc=16,
    sp=19,
    result=10,
    arguments=(14, 13),
    call_number=10,
    call_arguments=(14, 13, 12, 7, 9, 8),
    pending_call=15,
    link=None,
    flags=18,
    red_zone=128,
    instruction=b"\x0f\x05",
    alignment=1,
    mmap=9,
    munmap=11,
    floats=(0x202, 2),  # NT_X86_XSTATE, NT_PRFPREG
)
AARCH64 = Machine(
    words=34,
    pc=32,
    sp=31,
    result=0,
    arguments=(0, 1),
    call_number=8,
    call_arguments=(0, 1, 2, 3, 4, 5),
    pending_call=None,
    link=30,
    flags=None,
    red_zone=0,
    instruction=b"\x01\x00\x00\xd4",
    alignment=4,
    mmap=222,
    munmap=215,
    floats=(2,),
)
MACHINES = {elf.X86_64: X86_64, elf.AARCH64: AARCH64}

_DEBUG_ADDRESS = 848  # of x86-64, in a struct user
_DEBUG_CONTROL = _DEBUG_ADDRESS + 7 * 8
_FLAGS_WORD = 18
_DIRECTION, _ZERO = 0x400, 0x40  # of the flags
_LOCK_PREFIX = b"\xf0"
_REX = range(0x40, 0x50)  # another prefix
_CMPXCHG = (b"\x0f\xb0", b"\x0f\xb1")
_PREFIXES = 4  # bytes: two prefixes and the instruction
_NO_CALL = (1 << 64) - 1
_ERRORS = 4096  # that many highest results of a system call are numbers of errors
_INT = 0xFFFFFFFF
_GAP = 512  # bytes of the stack that are left alone


class Way(NamedTuple):
    """The way from the beginning of a function to the lock that it takes."""

    entry: int  # the function that takes the lock; 0: unknown
    is_direct: bool  # the entry is on the way in any case
    linker: tuple[range, ...]  # the dynamic linker, which may look a name up first


class LockTakenError(Exception):
    """The lock that a call needs is taken: it was not waited for, nothing changed."""


class Tracee:
    """The main thread of a process, stopped from ``with`` to the end of the block."""

    def __init__(self, pid: int, machine: Machine) -> None:
        """Touch nothing yet."""
        import ctypes  # noqa: PLC0415  # 10 ms, and other commands need none of it

        self.pid = pid
        self._machine = machine
        self._ctypes = ctypes
        library = ctypes.CDLL(None, use_errno=True)
        self._ptrace = library.ptrace
        self._ptrace.restype = ctypes.c_long
        pointer = ctypes.c_void_p
        self._ptrace.argtypes = (ctypes.c_long, ctypes.c_int, pointer, pointer)
        self._words = (ctypes.c_uint64 * machine.words)()
        self._sizes = (ctypes.c_size_t * 2)()  # a struct iovec: address and length
        self._mask = ctypes.c_uint64()
        self._floats: ctypes.Array[ctypes.c_char] | None = None
        self._float_set = 0
        self._float_bytes = 0
        self._saved: list[int] = []
        self._stops: list[int] = []  # stop signals that came meanwhile
        self._memory = -1
        self._blocked: set[int] = set()

    def __enter__(self) -> Self:
        """Stop the thread, and save its state."""
        self._blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._request(_SEIZE)
            self._request(_INTERRUPT)
            # Signals that came before are the program's own.
            while (status := self._next_stop()) >> 16 != _EVENT_STOP:
                self._request(_CONT, data=os.WSTOPSIG(status))
            try:
                self._save()
            except BaseException:
                self._request(_DETACH)
                raise
        except BaseException:
            self._forget()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the state, and let the thread go on."""
        try:
            self._restore()
            self._request(_DETACH)
            for number in self._stops:
                os.kill(self.pid, number)
        finally:
            self._forget()

    # Its memory ------------------------------------------------------------------

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of the process's memory, b"" where it has none."""
        try:
            return os.pread(self._memory, size, address)
        except OSError:
            return b""

    def write(self, address: int, data: bytes) -> None:
        """Write bytes into the process's memory."""
        done = 0
        while done < len(data):
            done += os.pwrite(self._memory, data[done:], address + done)

    # Its calls -------------------------------------------------------------------

    def map_memory(self, size: int, instruction_at: int) -> int:
        """Return the address of `size` bytes of new memory of the process.

        At `instruction_at` the process has an instruction that makes a system call.
        """
        values = (0, size, _PROTECTION, _FLAGS, _NO_CALL, 0)
        result = self._system_call(self._machine.mmap, values, instruction_at)
        if result > _NO_CALL - _ERRORS:
            reason = os.strerror(_NO_CALL + 1 - result)
            raise LineprofError(f"process {self.pid} gets no memory: {reason}")
        return result

    def unmap_memory(self, address: int, size: int, instruction_at: int) -> None:
        """Return memory that was mapped with `map_memory`."""
        values = (address, size, 0, 0, 0, 0)
        self._system_call(self._machine.munmap, values, instruction_at)

    def _system_call(
        self, number: int, values: Sequence[int], instruction_at: int
    ) -> int:
        machine = self._machine
        registers = self._borrowed(instruction_at)
        registers[machine.call_number] = number
        for place, value in zip(machine.call_arguments, values):
            registers[place] = value
        self._set_registers(registers)
        self._run_to_trap(_SINGLESTEP)
        return self._registers()[machine.result]

    def call(self, function: int, arguments: Sequence[int], way: Way) -> int:
        """Return the result, an int of 32 bits, of a function that takes one lock.

        Raises LockTakenError if the lock is taken.
        """
        machine = self._machine
        registers = self._borrowed(function)
        stack = (registers[machine.sp] - machine.red_zone - _GAP) & ~15
        if machine.link is None:
            stack -= 8  # as if a call instruction had pushed the return address
            self.write(stack, bytes(8))
        else:
            registers[machine.link] = 0
        registers[machine.sp] = stack
        for place, value in zip(machine.arguments, arguments):
            registers[place] = value
        self._set_registers(registers)
        if machine is X86_64:
            self._step_until_locked(way)
        number = self._run(_CONT)
        after = self._registers()
        if number != signal.SIGSEGV or after[machine.pc]:
            raise self._crash(number)
        result = after[machine.result] & _INT
        return result - _INT - 1 if result >> 31 else result

    def _step_until_locked(self, way: Way) -> None:
        """Run the call up to the instruction that takes its lock, which must be free.

        The stopped thread may itself be the one that holds the lock, and would never
        release it. The call cannot be abandoned once it waits: a waiting thread is in
        lists of the C library (3.11, 3.12), or of CPython's (3.13), where it has given
        up the GIL too. So the call is executed in single steps up to the first
        instruction with a lock prefix, which is the compare-and-exchange of that lock
        in all versions. If that one fails, or is another one, nothing has changed yet.
        A step takes 5 to 50 µs, so most of the way to the lock is run through.
        """
        entry = way.entry
        if entry and way.is_direct:
            entry = 0 if self._run_to(entry) else entry
        for _ in range(_STEPS):
            at = self._registers()[X86_64.pc]
            is_linking = any(at in part for part in way.linker)
            if is_linking and entry and self._run_to(entry):
                entry = 0
                continue
            code = b"" if is_linking else self.read(at, _PREFIXES)
            is_locking = code[:1] == _LOCK_PREFIX
            after_prefixes = code[2:] if is_locking and code[1] in _REX else code[1:]
            if is_locking and not after_prefixes.startswith(_CMPXCHG):
                raise LockTakenError
            self._run_to_trap(_SINGLESTEP)
            if is_locking:
                if self._registers()[_FLAGS_WORD] & _ZERO:
                    return
                break
        raise LockTakenError

    def _run_to(self, address: int) -> bool:
        """Run up to an address; False if the processor has no breakpoint for that."""
        if not self._set_breakpoint(address):
            return False
        try:
            self._run_to_trap(_CONT)
        finally:  # one that stays would end the program later
            self._remove_breakpoint()
        return True

    def _set_breakpoint(self, address: int) -> bool:
        try:
            self._request(_POKEUSER, _DEBUG_ADDRESS, address)
            self._request(_POKEUSER, _DEBUG_CONTROL, 1)
        except LineprofError:
            return False
        return True

    def _remove_breakpoint(self) -> None:
        self._request(_POKEUSER, _DEBUG_CONTROL, 0)
        self._request(_POKEUSER, _DEBUG_ADDRESS, 0)

    def try_breakpoint(self) -> None:
        """Set a breakpoint and remove it, if the processor has any."""
        if self._machine is X86_64 and self._set_breakpoint(self._saved[X86_64.pc]):
            self._remove_breakpoint()

    def _run_to_trap(self, request: int) -> None:
        number = self._run(request)
        if number != signal.SIGTRAP:
            raise self._crash(number)

    def _crash(self, number: int) -> LineprofError:
        name = signal.Signals(number).name if number else "no end"
        return LineprofError(
            f"Python is just starting or ending in process {self.pid} ({name})",
            hint="try again if the process is still there",
        )

    # ptrace ----------------------------------------------------------------------

    def _request(self, request: int, address: int = 0, data: int = 0) -> None:
        """Make one request; LineprofError if it is refused or the process is gone."""
        if self._ptrace(request, self.pid, address, data) != -1:
            return
        code = self._ctypes.get_errno()
        state = task_state.read(self.pid).state  # LineprofError if it is gone
        if code == errno.ESRCH or state == "ended":  # EPERM while it has a parent
            raise LineprofError(f"process {self.pid} has ended")
        reason = os.strerror(code)
        raise LineprofError(
            f"process {self.pid} cannot be stopped: {reason}",
            hint="another tracer may be there; or use sudo, or start the program with"
            " 'kernprof --listen'",
        )

    def _wait(self, limit_s: float) -> int | None:
        """Return the status of the next stop; None if there is none for `limit_s` s."""
        end = time.monotonic() + limit_s
        while True:
            try:
                pid, status = os.waitpid(self.pid, _WALL | os.WNOHANG)
            except ChildProcessError:  # its parent, in this process, was told first
                raise LineprofError(f"process {self.pid} has ended") from None
            if pid:
                if os.WIFSTOPPED(status):
                    return status
                raise LineprofError(f"process {self.pid} has ended")
            if time.monotonic() > end:
                return None
            signal.sigtimedwait([signal.SIGCHLD], _POLL_S)

    def _next_stop(self) -> int:
        """Return the status of the next stop after an interrupt, for any reason."""
        status = self._wait(_STOP_S)
        if status is None:
            # Nothing but its end detaches a tracer from a thread that runs.
            raise LineprofError(
                f"the main thread of process {self.pid} does not stop: it waits for"
                " a device or a file system",
                hint="try again when that is over",
            )
        return status

    def _run(self, request: int) -> int:
        """Let it run; return the next signal of an instruction, 0 without one.

        That is after `_RETURN_S` s. The thread is stopped in any case.
        """
        while True:
            self._request(request)
            status = self._wait(_RETURN_S)
            if status is None:
                self._request(_INTERRUPT)
                # The call may end just now: its signal is not to be delivered.
                status = self._next_stop()
                if status >> 16 == _EVENT_STOP:
                    return 0
            number = os.WSTOPSIG(status)
            if status >> 16 != _EVENT_STOP:
                if number in _SYNCHRONOUS:
                    return number
                self._stops.append(number)  # SIGSTOP: it cannot be blocked

    def _save(self) -> None:
        ctypes = self._ctypes
        self._memory = os.open(f"/proc/{self.pid}/mem", os.O_RDWR | os.O_CLOEXEC)
        self._saved = self._registers()
        floats = ctypes.create_string_buffer(_FLOAT_LIMIT)
        self._sizes[0] = ctypes.addressof(floats)
        for kind in self._machine.floats:
            self._sizes[1] = _FLOAT_LIMIT
            try:
                self._request(_GETREGSET, kind, ctypes.addressof(self._sizes))
            except LineprofError:
                if kind == self._machine.floats[-1]:
                    raise
                continue
            self._floats, self._float_set = floats, kind
            self._float_bytes = self._sizes[1]
            break
        self._request(_GETSIGMASK, _MASK_BYTES, ctypes.addressof(self._mask))
        blocked = ctypes.c_uint64(_ALL_BLOCKED)
        self._request(_SETSIGMASK, _MASK_BYTES, ctypes.addressof(blocked))

    def _restore(self) -> None:
        ctypes = self._ctypes
        self._sizes[0] = ctypes.addressof(self._floats)
        self._sizes[1] = self._float_bytes
        self._request(_SETREGSET, self._float_set, ctypes.addressof(self._sizes))
        self._set_registers(self._saved)
        self._request(_SETSIGMASK, _MASK_BYTES, ctypes.addressof(self._mask))

    def _forget(self) -> None:
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1
        signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)

    def _borrowed(self, pc: int) -> list[int]:
        """Return the thread's registers, changed so that it goes on at `pc`."""
        machine = self._machine
        registers = list(self._saved)
        registers[machine.pc] = pc
        if machine.pending_call is not None:
            registers[machine.pending_call] = _NO_CALL
        if machine.flags is not None:
            registers[machine.flags] &= ~_DIRECTION  # as the ABI has it for calls
        return registers

    def _registers(self) -> list[int]:
        self._transfer(_GETREGSET)
        return list(self._words)

    def _set_registers(self, registers: Sequence[int]) -> None:
        self._words[:] = list(registers)
        self._transfer(_SETREGSET)

    def _transfer(self, request: int) -> None:
        ctypes = self._ctypes
        self._sizes[0] = ctypes.addressof(self._words)
        self._sizes[1] = ctypes.sizeof(self._words)
        self._request(request, _NT_PRSTATUS, ctypes.addressof(self._sizes))


def warm_up(machine: Machine) -> None:
    """Make the next breakpoint a quick one, for a second.

    The first breakpoint of a system in a while has the kernel change its own code,
    which takes 15 ms on a virtual machine. A new process waits for that, which is
    killed at once, and not the one that is joined.
    """
    if machine is not X86_64 or not sys.executable:
        return
    with suppress(OSError, LineprofError):
        pid = os.posix_spawn(sys.executable, [sys.executable, "-Ic", ""], os.environ)
        try:
            with Tracee(pid, machine) as child:
                child.try_breakpoint()
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
