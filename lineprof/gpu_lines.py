"""GPU time by line and function: what each caused, with all that it called.

A sum counts once for each distinct line on its path, so that recursion is
safe, and for each function on it once. What no line has caused is
`unattributed`: that and the lines' `self_ns` are the devices' total, always.
"""

from __future__ import annotations

from typing import NamedTuple

from lineprof.gpu_numbers import COUNTED, Counter, GpuNumbers
from lineprof.gpu_records import KERNEL, NO_PATH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Union

    from lineprof.gpu_records import Gpu, GpuPath, GpuSum
    from lineprof.records import Key

    ByLine = Mapping[Key, Mapping[int, GpuNumbers]]
    Kernels = tuple["GpuKernel", ...]
    Found = dict[str, tuple[int, int, int, int]]  # count, ns, min, max by name
    # A name's pattern; or what tells whether a name, as the compiler has it, counts.
    Kernel = Union[str, Callable[[str], bool], None]

__all__ = [
    "GpuKernel",
    "GpuNumbers",
    "kernels_of_lines",
    "numbers_of_functions",
    "numbers_of_lines",
    "totals",
    "unattributed",
]


class GpuKernel(NamedTuple):
    """The launches of one kernel from one line."""

    name: str  # as the compiler has it
    count: int  # type: ignore[assignment]  # tuple.count, which nobody needs
    ns: int
    min_ns: int
    max_ns: int


def _chosen(gpu: Gpu, kernel: Kernel) -> Iterable[GpuSum]:
    """Return all sums but those of kernels that are not asked for."""
    if kernel is None:
        return gpu.sums
    if callable(kernel):
        wanted = kernel
    else:
        from fnmatch import fnmatchcase  # noqa: PLC0415  # few ask for it

        pattern = kernel

        def wanted(name: str) -> bool:
            return fnmatchcase(name, pattern)

    names = {one.name for one in gpu.sums if one.kind == KERNEL}
    known = {name for name in names if wanted(name)}
    return [one for one in gpu.sums if one.kind != KERNEL or one.name in known]


def _place(one: GpuSum, *, capture: bool) -> int:
    """Return the index of the path that a sum is charged to, or NO_PATH."""
    return one.origin if capture and one.origin != NO_PATH else one.path


def _by_path(gpu: Gpu, kernel: Kernel, *, capture: bool) -> dict[int, Counter]:
    """Return what each path has; that of NO_PATH is there in any case."""
    counters = {NO_PATH: Counter()}
    for one in _chosen(gpu, kernel):
        if one.kind not in COUNTED:
            continue
        place = _place(one, capture=capture)
        counter = counters.get(place)
        if counter is None:
            counter = counters[place] = Counter()
        counter.count(one)
    for place, counter in counters.items():
        if place != NO_PATH and gpu.paths[place].adopted:
            counter.adopted()
    return counters


def _of_lines(
    gpu: Gpu, kernel: Kernel, *, capture: bool
) -> Iterator[tuple[GpuPath, Counter]]:
    """Yield each path that something is charged to, with what it has."""
    for place, counter in _by_path(gpu, kernel, capture=capture).items():
        if place != NO_PATH:
            yield gpu.paths[place], counter


def numbers_of_lines(
    gpu: Gpu, *, kernel: Kernel = None, capture: bool = False, alone: bool = False
) -> ByLine:
    """Return the numbers of each line, by function and line.

    They are those of the line with all that it called; with `alone`, of the
    line itself. `kernel` leaves out all kernels but those whose name, as the
    compiler has it, matches: a pattern as of file names, or a function of the
    name. With `capture`, what a CUDA graph did is charged to where it was
    captured, if that is known, and not to where it was launched.
    """
    lines: dict[tuple[Key, int], Counter] = {}
    for path, counter in _of_lines(gpu, kernel, capture=capture):
        innermost = path.lines[-1]
        for line in {innermost} if alone else set(path.lines):
            mine = lines.get(line)
            if mine is None:
                mine = lines[line] = Counter()
            mine.add(counter, innermost=line == innermost)
    functions: dict[Key, dict[int, GpuNumbers]] = {}
    for (key, number), counter in sorted(lines.items(), key=lambda item: item[0]):
        functions.setdefault(key, {})[number] = counter.value()
    return functions


def numbers_of_functions(
    gpu: Gpu, *, kernel: Kernel = None, capture: bool = False
) -> Mapping[Key, GpuNumbers]:
    """Return the numbers of each function, with all that it called.

    Here `self_ns` is that of all its lines. For the rest see
    `numbers_of_lines`.
    """
    functions: dict[Key, Counter] = {}
    for path, counter in _of_lines(gpu, kernel, capture=capture):
        innermost, _ = path.lines[-1]
        for key in {key for key, _ in path.lines}:
            mine = functions.get(key)
            if mine is None:
                mine = functions[key] = Counter()
            mine.add(counter, innermost=key == innermost)
    return {key: counter.value() for key, counter in sorted(functions.items())}


def unattributed(
    gpu: Gpu, *, kernel: Kernel = None, capture: bool = False
) -> GpuNumbers:
    """Return the numbers of what no line has caused; all of it is its own."""
    whole = Counter()
    nowhere = _by_path(gpu, kernel, capture=capture)[NO_PATH]
    whole.add(nowhere, innermost=True)
    return whole.value()


def totals(gpu: Gpu, *, kernel: Kernel = None) -> GpuNumbers:
    """Return the numbers of all that was recorded."""
    whole = Counter()
    for counter in _by_path(gpu, kernel, capture=False).values():
        whole.add(counter, innermost=True)
    return whole.value()


def kernels_of_lines(
    gpu: Gpu, *, kernel: Kernel = None, capture: bool = False, alone: bool = False
) -> Mapping[Key, Mapping[int, Kernels]]:
    """Return the kernels of each line, by name, the longest time first.

    The arguments are those of `numbers_of_lines`.
    """
    paths: dict[int, Found] = {}
    for one in _chosen(gpu, kernel):
        place = _place(one, capture=capture)
        if one.kind == KERNEL and place != NO_PATH:
            found = paths.setdefault(place, {})
            _add_kernel(found, one.name, (one.count, one.ns, one.min_ns, one.max_ns))
    lines: dict[tuple[Key, int], Found] = {}
    for place, found in paths.items():
        on = gpu.paths[place].lines
        for line in set(on[-1:] if alone else on):
            mine = lines.setdefault(line, {})
            for name, numbers in found.items():
                _add_kernel(mine, name, numbers)
    functions: dict[Key, dict[int, Kernels]] = {}
    for (key, number), found in sorted(lines.items(), key=lambda item: item[0]):
        kernels = [
            GpuKernel(name=name, count=count, ns=ns, min_ns=least, max_ns=most)
            for name, (count, ns, least, most) in found.items()
        ]
        kernels.sort(key=lambda one: (-one.ns, one.name))
        functions.setdefault(key, {})[number] = tuple(kernels)
    return functions


def _add_kernel(to: Found, name: str, numbers: tuple[int, int, int, int]) -> None:
    mine = to.get(name)
    if mine is not None:
        count, ns, least, most = mine
        more, more_ns, other_least, other_most = numbers
        least = min(least, other_least)
        numbers = (count + more, ns + more_ns, least, max(most, other_most))
    to[name] = numbers
