"""Functions that nobody named: found when they are first called."""

from __future__ import annotations

from typing import NamedTuple
from weakref import ref

from lineprof.calibrate import native_cost
from lineprof.results import Results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from lineprof.records import Key


class Cost(NamedTuple):
    """What it took so far to measure one code object, and what that did."""

    key: Key
    code: CodeType | None  # None: it is gone
    calls: int
    hits: int
    cost_ns: int  # of measuring it, estimated
    time_ns: int  # in its own lines, without what these called


class Discovery(Results):
    """Watches code that is offered to it at its first call."""

    def discover(self, decide: Callable[[CodeType], bool | None] | None) -> None:
        """Offer `decide` each code object that begins to run and is not known.

        It is asked once for each, on the thread that makes the call, before
        its first line. Where it returns true, the code is watched from that
        call on, as `watch` does; false: that code is not; None: nor is any of
        the same file. What it raises is dropped, and the code left alone. None
        in its place ends this. One profiler of a process can do so at a time:
        the last one that asked.
        """
        if decide is None:
            self._core.discover(None)
            return
        wants, me = decide, ref(self)

        def ask(code: CodeType) -> bool | None:
            profiler = me()
            if profiler is None:
                return False
            wanted = wants(code)
            if wanted:
                profiler._watch_code(code)  # noqa: SLF001  # it is self
            return wanted

        self._core.discover(ask)

    def c_functions(self, *, on: bool = True, split: bool = False) -> None:
        """Count the calls that lines make of C functions, as edges of the call tree.

        In functions that are registered from now on, in any profiler: to be
        called first. It costs some 100 ns a call. Before Python 3.12 classes
        and other callables are not seen, nor is anything while the program
        has a profile function of its own; where `core` is settrace on a later
        Python, nothing is.

        With `split`, what lines and their C functions themselves waited, and
        were in the kernel, is told, too: of what takes more than 30 us, which
        costs a microsecond then.
        """
        cost = 0
        if on and self._calibration.turn:  # not so with a clock of tests
            cost = native_cost(self._core, self.core)
        self._core.natives(on, cost)
        self._core.split(on and split)

    def unwatch(self, code: CodeType) -> None:
        """Count `code` no more; what was counted stays. Its calls end here."""
        self._tracer.ignore(code)

    def audit(
        self, call: Callable[[], int | None] | None, cost_ns: int = 10_000_000
    ) -> None:
        """Have `call` called each time that measuring has cost a thread `cost_ns` more.

        Whatever profiler it was for, and by the costs that are estimated: on that
        thread, just before a call that is counted. `call` may look at `costs` and
        have something unwatched; if it returns a number, that is the step from then
        on. What it raises is dropped. None in its place ends this. ValueError for
        fewer than 1 ns.
        """
        if cost_ns < 1:
            message = f"a step of {cost_ns} ns: give 1 or more"
            raise ValueError(message)
        self._core.audit(call, cost_ns)

    def costs(self) -> list[Cost]:
        """Return what measuring has cost so far, by code object.

        Lines under way count up to their last event; nothing is kept from
        running. A thread beside the program may ask.
        """
        one, rate = self._core.COST_ONE, self._core.scale()
        return [
            Cost(
                (str(key[0]), int(str(key[1])), str(key[2])),
                code,
                calls,
                hits,
                (own // one * rate) >> 32,
                max(0, ((ticks - cost // one) * rate) >> 32),
            )
            for key, code, calls, hits, own, ticks, cost in self._tracer.costs()
        ]
