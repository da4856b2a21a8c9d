"""GPU time by line and function: each record is counted once, and none is lost."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import example_gpu
import pytest
from example_gpu import FIT, GEMM, QUIET, RELU, STEP, TREE, UPLOAD

from lineprof.model.gpu import (
    KINDS,
    NO_PATH,
    Gpu,
    GpuNumbers,
    GpuPath,
    GpuSum,
    kernels_of_lines,
    numbers_of_functions,
    numbers_of_lines,
    totals,
    unattributed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lineprof.model.records import Key

F, G, H = (("a.py", 10 * n, name) for n, name in enumerate("fgh"))


def path(*lines: tuple[Key, int], adopted: bool = False) -> GpuPath:
    return GpuPath(0, adopted, lines, 0)


def kernel(place: int, ns: int, name: str = "k", origin: int = NO_PATH) -> GpuSum:
    return GpuSum(place, origin, "kernel", name, 0, 1, ns, ns, ns)


def gpu_ns(gpu: Gpu, **options: bool) -> dict[tuple[str, int], int]:
    """Return the GPU time of all lines, by function name and line number."""
    return {
        (name, line): numbers.gpu_ns
        for (_, _, name), lines in numbers_of_lines(gpu, **options).items()
        for line, numbers in lines.items()
    }


def test_a_line_has_the_time_of_its_launches_and_callees() -> None:
    gpu = Gpu((path((F, 2), (G, 12)), path((F, 3))), (kernel(0, 5), kernel(1, 7)))
    assert gpu_ns(gpu) == {("f", 2): 5, ("f", 3): 7, ("g", 12): 5}
    assert gpu_ns(gpu, alone=True) == {("f", 3): 7, ("g", 12): 5}


def test_a_line_that_is_open_several_times_counts_once() -> None:
    gpu = Gpu((path((F, 2), (F, 2), (G, 12), (F, 2), (F, 3)),), (kernel(0, 5),))
    assert gpu_ns(gpu) == {("f", 2): 5, ("f", 3): 5, ("g", 12): 5}
    assert numbers_of_lines(gpu)[F][2].self_ns == 0
    assert numbers_of_lines(gpu)[F][3].self_ns == 5
    assert numbers_of_functions(gpu)[F] == numbers_of_lines(gpu)[F][3]._replace(
        self_ns=5
    )


def test_a_recursive_line_has_self_time_if_it_is_innermost() -> None:
    gpu = Gpu((path((F, 2), (F, 2)),), (kernel(0, 5),))
    assert numbers_of_lines(gpu)[F][2].self_ns == 5


def test_equal_line_numbers_in_different_functions_are_separate() -> None:
    gpu = Gpu((path((F, 2), (G, 2)),), (kernel(0, 5),))
    assert gpu_ns(gpu) == {("f", 2): 5, ("g", 2): 5}


def test_the_numbers_of_the_example() -> None:
    gpu = example_gpu.example_gpu()
    lines = numbers_of_lines(gpu)
    fit = lines[FIT]
    expected = {34: 8_150_000, 35: 3_000_000, 36: 0, 37: 1_000_000, 38: 50_000}
    assert {line: numbers.gpu_ns for line, numbers in fit.items()} == expected
    assert fit[35].adopted_ns == fit[35].self_ns == 3_000_000
    assert fit[34].self_ns == fit[34].adopted_ns == 0
    assert (fit[36].waits, fit[36].wait_ns) == (10, 4_100_000)
    assert lines[TREE][16].gpu_ns == lines[TREE][15].gpu_ns == 2_800_000
    assert lines[TREE][16].self_ns == 0
    assert QUIET not in lines
    assert totals(gpu).gpu_ns == example_gpu.TOTAL_GPU_NS
    assert totals(gpu).memcpy_ns == example_gpu.TOTAL_COPY_NS
    assert unattributed(gpu).gpu_ns == example_gpu.UNATTRIBUTED_GPU_NS


def test_kinds_of_work_are_counted_separately() -> None:
    upload = numbers_of_functions(example_gpu.example_gpu())[UPLOAD]
    assert upload == GpuNumbers(
        gpu_ns=50_000,
        self_ns=50_000,
        memset_ns=50_000,
        memsets=10,
        copies=(("HtoD", 12, 840_000, 50_331_648),),
        alloc_bytes=2_097_152,
        free_bytes=1_048_576,
    )
    assert (upload.memcpy_ns, upload.memcpy_bytes) == (840_000, 50_331_648)
    layer = numbers_of_lines(example_gpu.example_gpu())[STEP][22]
    assert (layer.kernels, layer.max_kernel_ns) == (11, 550_000)
    assert layer.copies == (("DtoD", 1, 30_000, 1_048_576),)


def test_whole_graphs_are_gpu_time_and_migrations_are_not() -> None:
    sums = (
        GpuSum(0, NO_PATH, "graph", "", 0, 2, 90, 40, 50),
        GpuSum(0, NO_PATH, "migration", "HtoD", 0, 3, 30, 10, 10, 4096),
        GpuSum(0, NO_PATH, "migration", "DtoH", 0, 1, 7, 7, 7, 64),
        GpuSum(0, NO_PATH, "new kind", "", 0, 1, 1000, 1000, 1000, 1000),
    )
    numbers = numbers_of_lines(Gpu((path((F, 2)),), sums))[F][2]
    assert (numbers.gpu_ns, numbers.self_ns, numbers.kernels) == (90, 90, 0)
    assert numbers.copies == ()
    assert numbers.migrations == (("HtoD", 3, 30, 4096), ("DtoH", 1, 7, 64))


def test_copies_are_in_the_order_of_the_report() -> None:
    names = ("zz", "DtoD", "aa", "HtoD", "?", "DtoH", "PtoP")
    sums = tuple(GpuSum(0, NO_PATH, "memcpy", name, 0, 1, 1, 1, 1, 1) for name in names)
    numbers = numbers_of_lines(Gpu((path((F, 2)),), sums))[F][2]
    assert [name for name, *_ in numbers.copies] == [
        *("HtoD", "DtoH", "DtoD", "PtoP", "?", "aa", "zz")
    ]


def test_calls_alone_are_no_gpu_data_of_a_line() -> None:
    calls = GpuSum(0, NO_PATH, "driver", "cuInit", -1, 9, 900, 100, 100)
    gpu = Gpu((path((F, 2)),), (calls,))
    assert numbers_of_lines(gpu) == numbers_of_functions(gpu) == {}
    assert totals(gpu) == unattributed(gpu) == GpuNumbers()


def test_a_graph_can_be_charged_to_the_lines_that_captured_it() -> None:
    gpu = example_gpu.example_gpu()
    launched, captured = numbers_of_lines(gpu), numbers_of_lines(gpu, capture=True)
    assert launched[FIT][37].gpu_ns == 1_000_000
    assert 37 not in captured[FIT]
    assert captured[STEP][22].gpu_ns == launched[STEP][22].gpu_ns + 900_000
    assert captured[STEP][21].self_ns == launched[STEP][21].self_ns + 100_000
    assert captured[FIT][34].gpu_ns == 9_150_000
    kernels = kernels_of_lines(gpu, capture=True)
    assert [(one.name, one.count) for one in kernels[STEP][21]] == [(RELU, 15)]


def test_a_graph_without_a_known_capture_is_charged_to_its_launch() -> None:
    gpu = Gpu(
        (path((F, 2)), path((G, 12))),
        (kernel(0, 5), kernel(0, 7, origin=1), kernel(NO_PATH, 9, origin=1)),
    )
    assert gpu_ns(gpu, capture=True) == {("f", 2): 5, ("g", 12): 16}
    assert unattributed(gpu, capture=True).gpu_ns == 0
    assert unattributed(gpu).gpu_ns == 9


@pytest.mark.parametrize("wanted", ["*gemm*", GEMM, lambda name: name == GEMM])
def test_kernels_can_be_chosen_by_name(wanted: str | Callable[[str], bool]) -> None:
    gpu = example_gpu.example_gpu()
    lines = numbers_of_lines(gpu, kernel=wanted)
    assert lines[STEP][22].gpu_ns == 5_000_000
    assert 21 not in lines[STEP]
    assert lines[FIT][36].wait_ns == 4_100_000  # only kernels are left out
    assert totals(gpu, kernel=wanted).gpu_ns == 12_000_000 + 50_000 + 2_000
    assert unattributed(gpu, kernel=wanted).gpu_ns == 302_000
    assert unattributed(gpu, kernel="no such").gpu_ns == 2_000


def test_kernels_of_a_line_are_sorted_by_time() -> None:
    kernels = kernels_of_lines(example_gpu.example_gpu())
    layer, odd = kernels[STEP][22]
    assert (layer.name, layer.count, layer.ns) == (GEMM, 10, 5_000_000)
    assert (layer.min_ns, layer.max_ns) == (450_000, 550_000)
    assert odd.name == example_gpu.EVIL
    (gemm,) = kernels[TREE][15]
    assert (gemm.count, gemm.min_ns, gemm.max_ns) == (30, 80_000, 110_000)
    assert [one.ns for one in kernels[FIT][34]] == sorted(
        (one.ns for one in kernels[FIT][34]), reverse=True
    )
    own = kernels_of_lines(example_gpu.example_gpu(), alone=True)
    assert 34 not in own[FIT]
    assert own[STEP][22] == kernels[STEP][22]


def test_kernels_of_equal_time_are_sorted_by_name() -> None:
    gpu = Gpu((path((F, 2)),), (kernel(0, 5, "b"), kernel(0, 5, "a")))
    assert [one.name for one in kernels_of_lines(gpu)[F][2]] == ["a", "b"]


def test_an_empty_profile_has_no_numbers() -> None:
    assert numbers_of_lines(Gpu()) == numbers_of_functions(Gpu()) == {}
    assert totals(Gpu()) == unattributed(Gpu()) == GpuNumbers()
    assert kernels_of_lines(Gpu()) == {}


def random_gpu(seed: int) -> Gpu:
    """Return random GPU data: recursive and adopted call paths, sums of every kind."""
    choose = random.Random(seed)  # noqa: S311
    lines = [(key, line) for key in (F, G, H) for line in (2, 3)]
    paths = tuple(
        GpuPath(
            0,
            choose.random() < 0.3,
            tuple(choose.choices(lines, k=choose.randrange(1, 7))),
            0,
        )
        for _ in range(choose.randrange(12))
    )
    places = range(-1, len(paths))
    sums = tuple(
        GpuSum(
            choose.choice(places),
            choose.choice([NO_PATH, *places]),
            choose.choice([*KINDS[1:], "?"]),
            choose.choice(["a", "b", "HtoD", "DtoH"]),
            0,
            choose.randrange(1, 9),
            choose.randrange(2**70),  # not exact as a float
            0,
            choose.randrange(99),
            choose.randrange(2**70),
        )
        for _ in range(choose.randrange(40))
    )
    return Gpu(paths, sums)


def sum_of(parts: Iterable[GpuNumbers]) -> GpuNumbers:
    """Return the sum of numbers, field by field."""
    whole = dict.fromkeys(GpuNumbers._fields, 0)
    moved: dict[str, dict[str, list[int]]] = {"copies": {}, "migrations": {}}
    for part in parts:
        for name, number in part._asdict().items():
            if name in moved:
                for direction, *numbers in number:
                    mine = moved[name].setdefault(direction, [0, 0, 0])
                    mine[:] = map(sum, zip(mine, numbers))
            elif name == "max_kernel_ns":
                whole[name] = max(whole[name], number)
            else:
                whole[name] += number
    copies = {
        name: tuple((direction, *of[direction]) for direction in order(of))
        for name, of in moved.items()
    }
    return GpuNumbers(**{**whole, **copies})  # type: ignore[arg-type]


def order(directions: Iterable[str]) -> list[str]:
    return sorted(directions, key=["HtoD", "DtoH", "a", "b"].index)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("capture", [False, True])
def test_lines_and_unattributed_work_sum_to_the_total(
    seed: int,
    capture: bool,  # noqa: FBT001
) -> None:
    gpu = random_gpu(seed)
    own = numbers_of_lines(gpu, capture=capture, alone=True)
    lines = [numbers for of in own.values() for numbers in of.values()]
    rest = unattributed(gpu, capture=capture)
    whole = sum_of([*lines, rest])
    if capture:  # the path of the capture may be adopted, or not
        whole = whole._replace(adopted_ns=totals(gpu).adopted_ns)
    assert whole == totals(gpu)
    inclusive = numbers_of_lines(gpu, capture=capture)
    self_ns = sum(n.self_ns for of in inclusive.values() for n in of.values())
    assert self_ns + rest.gpu_ns == totals(gpu).gpu_ns
    functions = numbers_of_functions(gpu, capture=capture)
    self_ns = sum(numbers.self_ns for numbers in functions.values())
    assert self_ns + rest.gpu_ns == totals(gpu).gpu_ns


@pytest.mark.parametrize("seed", range(60))
def test_work_counts_once_for_each_line_and_function_on_its_call_path(
    seed: int,
) -> None:
    gpu = random_gpu(seed)
    alone = {
        place: totals(Gpu(gpu.paths, tuple(s for s in gpu.sums if s.path == place)))
        for place in range(len(gpu.paths))
    }
    for key, of in numbers_of_lines(gpu).items():
        for line, numbers in of.items():
            on = [p for p, one in enumerate(gpu.paths) if (key, line) in one.lines]
            expected = sum_of(alone[place] for place in on)
            inner = [p for p in on if gpu.paths[p].lines[-1] == (key, line)]
            self_ns = sum(alone[place].gpu_ns for place in inner)
            assert numbers == expected._replace(self_ns=self_ns)
    for key, numbers in numbers_of_functions(gpu).items():
        on = [
            place
            for place, one in enumerate(gpu.paths)
            if any(line_key == key for line_key, _ in one.lines)
        ]
        expected = sum_of(alone[place] for place in on)
        assert numbers._replace(self_ns=0) == expected._replace(self_ns=0)
