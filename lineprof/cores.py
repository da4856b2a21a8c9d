"""The choice of a core: where events come from, and why from there."""

from __future__ import annotations

import os
import sys
from threading import RLock
from typing import NamedTuple

from lineprof.calibrate import Calibration, measure, set_costs
from lineprof.errors import LineprofError
from lineprof.process import python_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from lineprof._core import Tracer

CORES = ("auto", "monitoring", "settrace")
_THEIRS = {
    **dict.fromkeys(("old", "legacy", "ctrace"), "settrace"),
    **dict.fromkeys(("new", "sys.monitoring", "sysmon"), "monitoring"),
}
# Costs are the process', and none while they are measured: by one thread at a time.
_opening = RLock()
os.register_at_fork(after_in_child=_opening._at_fork_reinit)  # type: ignore[attr-defined] # noqa: SLF001


class OpenCore(NamedTuple):
    """A tracer on the core that was chosen."""

    tracer: Tracer
    calibration: Calibration
    name: str
    reason: str  # one sentence


def wanted_core() -> str:
    """Return the core that the environment asks for: ``LINEPROF_CORE``.

    Where that says nothing, line_profiler's variable ``LINE_PROFILER_CORE`` does,
    in its words; those that mean nothing here mean nothing there.
    """
    wanted = os.environ.get("LINEPROF_CORE")
    if not wanted:
        wanted = _THEIRS.get(os.environ.get("LINE_PROFILER_CORE", "").lower())
    if wanted == "monitoring" and sys.version_info < (3, 12):
        wanted = os.environ.get("LINEPROF_CORE")  # line_profiler takes what there is
    return wanted or "auto"


def wanted_clock() -> str:
    """Return the clock that the environment asks for: ``LINEPROF_CLOCK``."""
    return os.environ.get("LINEPROF_CLOCK") or "auto"


def open_core(module: ModuleType, wanted: str, clock: object) -> OpenCore:
    """Open the core `wanted`, or for "auto" the best that can be had.

    `module` is the C module, `clock` None or a capsule. LineprofError says why
    there is none.
    """
    if wanted not in CORES:
        raise LineprofError(
            f"there is no core {wanted!r}", hint=f"choose one of {', '.join(CORES)}"
        )
    in_use = module.hook()
    refused = []
    for name, how in module.hooks():
        if wanted not in (name, "auto") or (
            wanted == "auto" and in_use not in (None, name)
        ):
            continue
        try:
            with _opening:
                tracer, calibration = _open(module, name, clock)
        except (RuntimeError, ValueError) as error:
            refused.append(str(error))
            continue
        reason = "; ".join([how, *refused, *_why(wanted, in_use)])
        return OpenCore(tracer, calibration, name, reason)
    why = "; ".join(refused) or f"{python_version()} has none"
    raise LineprofError(
        f"the core {wanted!r} can't be had: {why}",
        hint="use --core auto, or LINEPROF_CORE=auto",
    )


def _why(wanted: str, in_use: str | None) -> list[str]:
    if wanted != "auto":
        return ["it was asked for"]
    return ["another profiler of this process uses it"] if in_use else []


def _open(module: ModuleType, hook: str, clock: object) -> tuple[Tracer, Calibration]:
    known = (
        _calibrated(module, hook, wanted_clock()) if clock is None else Calibration()
    )
    tracer = module.Tracer(hook, clock, wanted_clock())
    set_costs(module, known.costs)
    return tracer, known


class _Calibrations:
    """The costs of hooks on clocks, each measured when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[tuple[ModuleType, str, str], Calibration] = {}

    def __call__(self, module: ModuleType, hook: str, clock_name: str) -> Calibration:
        key = (module, hook, clock_name)
        if key not in self._known:
            if module.hook() is None:
                module.Tracer(hook, None, clock_name).close()  # starts the clock
            self._known[key] = measure(module, hook)
        return self._known[key]


_calibrated = _Calibrations()
