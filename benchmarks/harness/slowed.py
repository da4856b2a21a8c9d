"""Programs with one slowed line, and the lines that must gain time by it."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType

HOME = Path(__file__).resolve().parent.parent / "injected_delay"
NAMES = ("calls", "recursive", "lazy", "awaiting", "objects")
BEFORE = "  # slow"
AFTER = "  # slow after"


@dataclass(frozen=True)
class Variant:
    """One program with its slowed line, loaded from a file of its own."""

    program: str
    slowed: int
    module: ModuleType

    @functools.cached_property
    def functions(self) -> list[Callable[..., object]]:
        """The functions to be profiled."""
        return [resolve(self.module, name) for name in self.module.PROFILED]


def resolve(module: ModuleType, dotted: str) -> Callable[..., object]:
    """Return the function with a dotted name, or the getter of such a property."""
    found: Any = module
    for name in dotted.split("."):
        found = getattr(found, name)
    function: Callable[..., object] = getattr(found, "fget", found)
    return function


def marked(text: str) -> list[int]:
    """Return the numbers of the lines that can be slowed."""
    return [i for i, line in enumerate(text.splitlines(), 1) if BEFORE in line]


def slow_down(text: str, number: int) -> str:
    """Return a program's text with a delay on line `number`."""
    lines = text.splitlines()
    line = lines[number - 1]
    code = line.partition("#")[0].rstrip()
    if AFTER in line:
        lines[number - 1] = f"{code}; delay()"
    else:
        indent = code[: len(code) - len(code.lstrip())]
        lines[number - 1] = f"{indent}delay(); {code.lstrip()}"
    return "\n".join(lines) + "\n"


def load(folder: Path, program: str, number: int, tag: str) -> Variant:
    """Write and import the program with its line `number` slowed."""
    text = slow_down((HOME / f"{program}.py").read_text(encoding="utf-8"), number)
    name = f"{program}_{tag}_{number}"
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        message = f"cannot load {path}"
        raise ImportError(message)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Variant(program, number, module)


def variants(folder: Path, program: str, tag: str) -> list[Variant]:
    """Load a program once for every line that can be slowed."""
    text = (HOME / f"{program}.py").read_text(encoding="utf-8")
    return [load(folder, program, number, tag) for number in marked(text)]


def lines_that_gain(variant: Variant) -> tuple[int, Counter[tuple[str, int]]]:
    """Count the delays of a run, and in how many of them each line was open.

    A line that is open in several calls at once counts in each of them, as its
    inclusive time does.
    """
    codes: dict[CodeType, str] = {
        f.__code__: f.__code__.co_name for f in variant.functions
    }
    gains: Counter[tuple[str, int]] = Counter()
    delays = 0

    def delay() -> None:
        nonlocal delays
        delays += 1
        frame = sys._getframe(1)  # noqa: SLF001 - to walk the stack
        while frame is not None:
            if frame.f_code in codes:
                gains[codes[frame.f_code], frame.f_lineno] += 1
            frame = frame.f_back  # type: ignore[assignment]

    variant.module.delay = delay  # type: ignore[attr-defined]
    variant.module.run()
    return delays, gains
