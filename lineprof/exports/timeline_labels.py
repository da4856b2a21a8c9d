"""What slices of a timeline are called; the many that are alike share a label."""

from __future__ import annotations

from dataclasses import dataclass

from lineprof.errors import printable
from lineprof.gpu_records import KERNEL, MEMCPY, MEMSET, MIGRATION, NO_PATH
from lineprof.views.gpu_names import activity_name, call_name, kernel_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    from lineprof.gpu_records import GpuEvent
    from lineprof.records import Key
    from lineprof.short_names import ShortNames
    from lineprof.stats import Profile

    Argument = tuple[str, Union[int, float, str]]

MOST_LABELS = 1 << 16  # that are kept, here and by a writer


@dataclass(frozen=True)
class Label:
    """The name of slices, and what is beside it."""

    number: int  # of this one: no other has it
    name: str
    category: str
    arguments: tuple[Argument, ...]


class Labels:
    """The labels of all that a profile's timelines hold."""

    def __init__(self, stats: Profile, names: ShortNames) -> None:
        self._names = names
        self._paths = stats.gpu.paths
        self._made = 0
        self.cut = self.make("...", "cut")  # for all that lies deeper
        self._of_slices: dict[tuple[Key, int], Label] = {}
        self._of_events: dict[tuple[object, ...], Label] = {}

    def make(self, name: str, category: str, *arguments: Argument) -> Label:
        """Return a label that no one else has."""
        self._made += 1
        return Label(self._made, name, category, arguments)

    def of_slice(self, key: Key, line: int) -> Label:
        """Return the label of a function, or of one of its lines."""
        label = self._of_slices.get((key, line))
        if label is None:
            file, first, name = key
            if line:
                label = self.make(
                    printable(self._names.line(file, line)),
                    "line",
                    *(("function", name), ("file", file), ("line", line)),
                )
            else:
                more = (("file", file), ("line", first)) if file else ()
                label = self.make(self._names.alone(key), "function", *more)
            self._of_slices[key, line] = label
        return label

    def of_call(self, event: GpuEvent) -> Label:
        """Return the label of a call of an API."""
        return self._of_event(event, (event.kind, event.name, event.path))

    def of_activity(self, event: GpuEvent) -> Label:
        """Return the label of what a device did."""
        work: tuple[object, ...] = (event.bytes, _rate(event))
        work = (*work, event.source, event.target)
        if event.kind == KERNEL:
            work = (event.grid, event.block, event.registers)
            work = (*work, event.static_smem, event.dynamic_smem)
        return self._of_event(event, (event.kind, event.name, event.path, *work))

    def _of_event(self, event: GpuEvent, key: tuple[object, ...]) -> Label:
        label = self._of_events.get(key)
        if label is None:
            if len(self._of_events) >= MOST_LABELS:
                self._of_events.clear()
            label = self._of_events[key] = self._new(event)
        return label

    def _new(self, event: GpuEvent) -> Label:
        arguments: list[Argument] = []
        if event.path != NO_PATH:
            key, line = self._paths[event.path].lines[-1]
            place = printable(self._names.line(key[0], line))
            arguments += [("Python line", place), ("function", key[2])]
        if event.kind == KERNEL:
            name = kernel_name(event.name) or "[CUDA kernel]"
            arguments += _launch(event)
        elif event.kind in {MEMCPY, MEMSET, MIGRATION}:
            name = activity_name(event.kind, event.name)
            arguments += _copied(event)
        else:
            name = call_name(event.name) or f"[CUDA {event.kind}]"
        return self.make(name, event.kind, *arguments)


def _launch(event: GpuEvent) -> list[Argument]:
    return [
        ("grid", "x".join(map(str, event.grid))),
        ("block", "x".join(map(str, event.block))),
        ("registers per thread", event.registers),
        ("static shared memory (bytes)", event.static_smem),
        ("dynamic shared memory (bytes)", event.dynamic_smem),
    ]


def _copied(event: GpuEvent) -> list[Argument]:
    arguments: list[Argument] = [("bytes", event.bytes)]
    if event.ns:
        arguments.append(("GB/s", _rate(event)))
    if event.source:
        arguments.append(("from", event.source))
    if event.target:
        arguments.append(("to", event.target))
    return arguments


def _rate(event: GpuEvent) -> float:
    """Return how fast it went in GB/s, to three digits; 0.0 where it took no time."""
    return float(f"{event.bytes / event.ns:.3g}") if event.ns else 0.0
