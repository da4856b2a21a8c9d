"""Pickles like those of line_profiler, made without line_profiler."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType

KEY = ("a.py", 1, "f")
LINES = [(2, 3, 40), (3, 1, 7)]
PATHS = (
    ("line_profiler.line_profiler", "LineStats"),
    ("line_profiler._line_profiler", "LineStats"),
    ("_line_profiler", "LineStats"),
)


class _AnyModule(ModuleType):
    """A stand-in for the module of the class that is pickled."""


def pickled(
    state: object,
    *,
    path: tuple[str, str] = PATHS[0],
    protocol: int = pickle.HIGHEST_PROTOCOL,
) -> bytes:
    """Return the pickle of an object with this state, of the class at `path`."""
    module, name = path
    made = type(name, (), {"__module__": module, "__qualname__": name})
    one = made()
    one.__dict__ = state if isinstance(state, dict) else {}
    if not isinstance(state, dict):
        made.__getstate__ = lambda _: state  # type: ignore[attr-defined]
    before = {key: sys.modules.get(key) for key in ("line_profiler", module)}
    stand_in = _AnyModule(module)
    setattr(stand_in, name, made)
    sys.modules.update(dict.fromkeys(before, stand_in))
    try:
        return pickle.dumps(one, protocol)
    finally:
        for key, value in before.items():
            if value is None:
                del sys.modules[key]
            else:
                sys.modules[key] = value


def state(lines: object = LINES, unit: object = 1e-9, key: object = KEY) -> object:
    """Return the state of a profile of one function."""
    return {"timings": {key: lines}, "unit": unit}
