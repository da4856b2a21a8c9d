"""The choice of a core: where events come from, and why from there."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineprof.calibrate import Costs, measure
from lineprof.errors import LineprofError
from lineprof.process import python_version

if TYPE_CHECKING:
    from types import ModuleType

    from lineprof._core import Tracer

CORES = ("auto", "monitoring", "settrace")


@dataclass(frozen=True)
class OpenCore:
    """A tracer on the core that was chosen."""

    tracer: Tracer
    costs: Costs
    name: str
    reason: str  # one sentence


def wanted_core() -> str:
    """Return the core that the environment asks for: ``LINEPROF_CORE``."""
    return os.environ.get("LINEPROF_CORE") or "auto"


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
            tracer, costs = _open(module, name, clock)
        except (RuntimeError, ValueError) as error:
            refused.append(str(error))
            continue
        reason = "; ".join([how, *refused, *_why(wanted, in_use)])
        return OpenCore(tracer, costs, name, reason)
    why = "; ".join(refused) or f"{python_version()} has none"
    raise LineprofError(
        f"the core {wanted!r} can't be had: {why}",
        hint="use --core auto, or LINEPROF_CORE=auto",
    )


def _why(wanted: str, in_use: str | None) -> list[str]:
    if wanted != "auto":
        return ["it was asked for"]
    return ["another profiler of this process uses it"] if in_use else []


def _open(module: ModuleType, hook: str, clock: object) -> tuple[Tracer, Costs]:
    costs = Costs() if clock is not None else _costs_of(module, hook, wanted_clock())
    tracer = module.Tracer(hook, clock, wanted_clock())
    module.set_costs(*costs)
    return tracer, costs


@functools.cache
def _costs_of(module: ModuleType, hook: str, clock_name: str) -> Costs:
    if module.hook() is None:
        module.Tracer(hook, None, clock_name).close()  # starts the clock
    return measure(module, hook)
