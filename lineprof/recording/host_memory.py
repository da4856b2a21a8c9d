"""Measurement of this process' memory, of which there is one at a time.

Profilers may share it.

The core hooks the allocators (``csrc/memory``) from `MemoryRecorder.begin` to `end`;
its numbers are taken before any object of the profile is made.
"""

from __future__ import annotations

import atexit
import gc
import os
from _weakref import ref

from lineprof.errors import LineprofError
from lineprof.flags import boolean, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import TypeVar

    from lineprof._core import MemorySnapshot

    T = TypeVar("T")
    # As `snapshot.host_memory.TakenMemory`, which takes long to import.
    Numbers = tuple[MemorySnapshot, int]

VARIABLE = "LINEPROF_MEMORY"  # whether to measure
SAMPLE_VARIABLE = "LINEPROF_MEMORY_SAMPLE"  # bytes between two counted blocks


def memory_recorder(
    core: ModuleType,
    asked: MemoryRecorder | bool | None,  # noqa: FBT001  # what a profiler was told
    sample: int | str | None,
) -> MemoryRecorder | None:
    """Return a recorder if memory is to be measured; None takes ``LINEPROF_MEMORY``.

    `core` is the C module, `sample` as in `LineProfiler`. Raises LineprofError for an
    invalid size or variable, and if memory is `asked` for while another profiler
    measures it. If only the variable asks, the first profiler measures.
    """
    if isinstance(asked, MemoryRecorder):
        return asked
    if asked is None and sample is None:
        if not _of_variable(VARIABLE, boolean, default=False):
            return None
    elif asked is False:
        return None
    elif _is_held():
        raise _held_error()
    if sample is None:
        bytes_apart = _of_variable(SAMPLE_VARIABLE, size, default=0)
    else:
        bytes_apart = size(str(sample))
    return MemoryRecorder(core, bytes_apart, is_asked=bool(asked or sample is not None))


def _held_error() -> LineprofError:
    return LineprofError(
        "another profiler of this process measures its memory",
        hint="give its functions to that one, or delete that one first",
    )


def _of_variable(name: str, read: Callable[[str], T], *, default: T) -> T:
    word = os.environ.get(name)
    if not word:
        return default
    try:
        return read(word)
    except LineprofError as error:
        message = f"{name}: {error.message}"
        raise LineprofError(message, hint=error.hint) from None


class MemoryRecorder:
    """One measurement of the process' memory, from `begin` to `end`."""

    problem = ""  # a sentence: why nothing is measured
    has_ended = False  # or it could not begin
    _measures = False  # also read by __del__, perhaps when the process ends

    def __init__(self, core: ModuleType, sample: int, *, is_asked: bool = True) -> None:
        """Measure nothing yet; `core` is the C module.

        `sample` is the number of bytes between two blocks that are counted, 0 to count
        each one. Without `is_asked` only the environment asks for numbers.
        """
        self._is_asked = is_asked
        self._core, self._stop = core, core.memory_stop
        self._sample = sample
        self._start_ns = 0
        self._numbers: Numbers | None = None

    def __del__(self) -> None:
        """End: nobody will ask for the numbers."""
        if self._measures:
            self._stop()

    def begin(self) -> None:
        """Measure from now on, unless that has begun, or is over.

        If another recorder measures, that is the `problem`, and LineprofError is raised
        unless only the environment asks for numbers.
        """
        if self._measures or self.has_ended:
            return
        # A collection of garbage is for profilers that would fail without it.
        is_held = _is_held() if self._is_asked else _holder() is not None
        if is_held:
            self.has_ended = True
            error = _held_error()
            self.problem = f"memory is not measured: {error.message}"
            if self._is_asked:
                raise error
            return
        _holders[:] = [ref(self)]
        _follow_process()
        self._start()

    def _start(self) -> None:
        self._start_ns = self._now_ns()
        try:
            self._core.memory_start(self._sample, True)  # also extension modules
        except (MemoryError, OSError, RuntimeError) as error:
            self._measures, self.has_ended = False, True
            self.problem = f"memory is not measured: {error or 'memory is short'}"
        else:
            self._measures = True

    def _now_ns(self) -> int:
        """Return the time on CLOCK_MONOTONIC."""
        core = self._core
        return core.monotonic_ns(core.ticks(), core.scale())  # type: ignore[no-any-return]

    def restart(self) -> None:
        """Begin again: blocks so far count no more."""
        if self._measures:
            self._stop()
            self._start()

    def take(self) -> Numbers | None:
        """Return the numbers so far, or those of the end; None if nothing is measured.

        They are the core's, and the time when measuring began (ns on CLOCK_MONOTONIC).
        `lineprof.snapshot.host_memory` makes the memory of a profile of them.
        """
        if self._measures:
            raw = self._core.memory_snapshot()
            return raw and (raw, self._start_ns)
        return self._numbers

    def end(self) -> None:
        """Measure no more, and keep the numbers."""
        if self._measures:
            self._stop()
            try:
                self._numbers = self.take()
            except MemoryError:  # the program's limit is reached
                self.problem = "the memory of lines is missing: memory was too short"
        self._measures, self.has_ended = False, True

    def forked(self) -> None:
        """Follow a fork, in the child: the core has begun again there."""
        if self._measures:
            self._core.memory_quiet(True)
            self._start_ns = self._now_ns()
            self._core.memory_quiet(False)


_holders: list[ref[MemoryRecorder]] = []  # at most one
_follows: list[bool] = []  # not empty: forks and the end of the process are followed


def _holder() -> MemoryRecorder | None:
    """Return the recorder that measures; None if there is none."""
    recorder = _holders[0]() if _holders else None
    return None if recorder is None or recorder.has_ended else recorder


def _is_held() -> bool:
    """Return whether a recorder measures that is still there after a collection."""
    if _holder():
        gc.collect()  # a profiler is in a cycle with the functions that it decorates
    return _holder() is not None


def _follow_process() -> None:
    """Follow forks, and the end of the process."""
    if not _follows:
        _follows.append(True)
        os.register_at_fork(after_in_child=_forked)
        atexit.register(_end)


def _forked() -> None:
    holder = _holder()
    if holder:
        holder.forked()


def _end() -> None:
    holder = _holder()
    if holder:
        holder.end()
