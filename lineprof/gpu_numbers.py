"""What a GPU did, as numbers that are added up: kernels, copies, waiting."""

from __future__ import annotations

from operator import add
from typing import NamedTuple

from lineprof.gpu_records import (
    ALLOC,
    DIRECTIONS,
    FREE,
    GRAPH,
    KERNEL,
    MEMCPY,
    MEMSET,
    MIGRATION,
    WAIT,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from lineprof.gpu_records import GpuSum

    Copies = tuple[tuple[str, int, int, int], ...]


class GpuNumbers(NamedTuple):
    """What a GPU did for one line or function."""

    gpu_ns: int = 0  # of kernels, memsets and whole graphs; copies are apart
    self_ns: int = 0  # that of gpu_ns which no line further in has caused
    adopted_ns: int = 0  # that of gpu_ns which threads without lines launched
    kernels: int = 0
    memset_ns: int = 0
    memsets: int = 0
    copies: Copies = ()  # (direction, count, ns, bytes), in the order of DIRECTIONS
    wait_ns: int = 0  # the thread was blocked until the device was done
    waits: int = 0
    alloc_bytes: int = 0
    free_bytes: int = 0
    max_kernel_ns: int = 0
    migrations: Copies = ()  # of managed memory, as `copies`

    @property
    def memcpy_ns(self) -> int:
        """Time of all copies (ns)."""
        return sum(ns for _, _, ns, _ in self.copies)

    @property
    def memcpy_bytes(self) -> int:
        """What all copies moved (bytes)."""
        return sum(size for _, _, _, size in self.copies)


# How each kind counts: the place in Counter.numbers of its time, count, bytes.
_GPU, _SELF, _ADOPTED, _KERNELS, _MEMSET_NS, _MEMSETS, _WAIT_NS, _WAITS = range(8)
_ALLOC, _FREE, _NUMBERS = 8, 9, 10
_NS = {KERNEL: (_GPU,), MEMSET: (_GPU, _MEMSET_NS), GRAPH: (_GPU,), WAIT: (_WAIT_NS,)}
_COUNT = {KERNEL: _KERNELS, MEMSET: _MEMSETS, WAIT: _WAITS}
_BYTES = {ALLOC: _ALLOC, FREE: _FREE}
# Calls of the API are not among them: those of the driver are part of others.
COUNTED = frozenset({*_NS, *_BYTES, MEMCPY, MIGRATION})


class Counter:
    """Numbers while they are added up."""

    __slots__ = ("copies", "longest", "migrations", "numbers")

    def __init__(self) -> None:
        self.numbers = [0] * _NUMBERS
        self.longest = 0
        self.copies: dict[str, list[int]] = {}
        self.migrations: dict[str, list[int]] = {}

    def count(self, one: GpuSum) -> None:
        """Add a sum."""
        numbers, kind = self.numbers, one.kind
        for place in _NS.get(kind, ()):
            numbers[place] += one.ns
        if kind in _COUNT:
            numbers[_COUNT[kind]] += one.count
        if kind in _BYTES:
            numbers[_BYTES[kind]] += one.bytes
        if kind == KERNEL and one.max_ns > self.longest:
            self.longest = one.max_ns
        if kind in {MEMCPY, MIGRATION}:
            moved = self.copies if kind == MEMCPY else self.migrations
            _add_copies(moved, one.name, [one.count, one.ns, one.bytes])

    def adopted(self) -> None:
        """Say that threads without lines launched all of it."""
        self.numbers[_ADOPTED] = self.numbers[_GPU]

    def add(self, other: Counter, *, innermost: bool) -> None:
        """Add what a path has, of which `innermost` says where this stands."""
        own = self.numbers[_SELF] + (other.numbers[_GPU] if innermost else 0)
        self.numbers = list(map(add, self.numbers, other.numbers))
        self.numbers[_SELF] = own
        self.longest = max(self.longest, other.longest)
        for name, numbers in other.copies.items():
            _add_copies(self.copies, name, numbers)
        for name, numbers in other.migrations.items():
            _add_copies(self.migrations, name, numbers)

    def value(self) -> GpuNumbers:
        """Return the numbers."""
        gpu, own, adopted, kernels, memset_ns, memsets, *rest = self.numbers
        wait_ns, waits, alloc, free = rest
        return GpuNumbers(
            gpu_ns=gpu,
            self_ns=own,
            adopted_ns=adopted,
            kernels=kernels,
            memset_ns=memset_ns,
            memsets=memsets,
            copies=_in_order(self.copies),
            wait_ns=wait_ns,
            waits=waits,
            alloc_bytes=alloc,
            free_bytes=free,
            max_kernel_ns=self.longest,
            migrations=_in_order(self.migrations),
        )


def _add_copies(to: dict[str, list[int]], name: str, numbers: list[int]) -> None:
    mine = to.get(name)
    to[name] = numbers if mine is None else list(map(add, mine, numbers))


def _in_order(copies: Mapping[str, list[int]]) -> Copies:
    """Return copies in the order of DIRECTIONS; others last, by name."""
    places = {name: place for place, name in enumerate(DIRECTIONS)}
    names = sorted(copies, key=lambda name: (places.get(name, len(places)), name))
    return tuple((name, *copies[name]) for name in names)  # type: ignore[misc]
