"""Discovery of functions at their first call, and records of what measuring costs."""

from __future__ import annotations

from _weakref import ref  # `weakref` itself takes 0.7 ms
from collections import namedtuple

from lineprof.recording.registry import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from lineprof.model.records import Key
    from lineprof.recording.core import CoreSession
    from lineprof.recording.registry import Registry


class Cost(namedtuple("Cost", "key code calls hits cost_ns time_ns")):
    """The cost of measuring one code object so far, and its counts."""

    __slots__ = ()

    key: Key
    code: CodeType | None  # None: deleted
    calls: int
    hits: int
    cost_ns: int  # of measuring it, estimated
    time_ns: int  # in its own lines, without the functions that these called


class Overhead(namedtuple("Overhead", "events_ns registering_ns left_out")):
    """The time that all profilers of the process have taken so far."""

    __slots__ = ()

    events_ns: int  # of events, estimated
    registering_ns: int  # of code objects that discovery finds, and of audits
    left_out: int  # code objects that discovery postponed, and did not register since


def discover(
    session: CoreSession,
    registry: Registry,
    wants: Callable[[CodeType], bool | None],
    pause: Callable[[], int] | None = None,
) -> None:
    """Watch in `registry` the code objects that `wants` chooses at their first call.

    See `LineProfiler.discover`.
    """
    module, run_info = session.module, session.run_info
    known = ref(registry)  # the core must not keep a profiler alive

    def ask(code: CodeType, names: object) -> bool | int | None:
        registry = known()
        shown = None if registry is None else registry.shown(code, names)
        if registry is None or shown is None:
            return False
        wanted = wants(shown)
        if wanted:
            wait_ns = pause() if pause is not None else 0
            if wait_ns > 0:
                return wait_ns
            registry.watch(code, shown)
            if pause is not None and module.missed_calls(code):
                key = (shown.co_filename, code.co_firstlineno, code.co_name)
                if key not in registry.cuts:
                    registry.cut(key, Span(run_info.elapsed_ns))
        return wanted if shown is code else bool(wanted)  # not of that file name alone

    module.discover(ask)
