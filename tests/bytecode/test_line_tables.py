"""Code objects with line tables that no compiler makes."""

from __future__ import annotations

import random
import sys
import warnings
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

import pytest
from running import new_profiler

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("hook")


def looping(n: int) -> int:
    total = 0
    for number in range(n):
        total += sum(x for x in range(number))
        if number % 3:
            total -= len([x for x in range(number)])  # noqa: C416
    return total


def stepping(n: int) -> Iterator[int]:
    for number in range(n):
        yield number + 1


def random_tables(code: CodeType, count: int) -> Iterator[FunctionType]:
    """Yield functions that run `code`, with random tables of its lines."""
    for seed in range(count):
        source = random.Random(f"{code.co_name} {seed}")  # noqa: S311
        table = source.randbytes(source.randrange(80))
        yield FunctionType(code.replace(co_linetable=table), globals())


@pytest.mark.smoke
@pytest.mark.parametrize("function", [looping, stepping])
def test_functions_with_nonsense_for_line_numbers_can_be_decorated(
    function: FunctionType,
) -> None:
    for broken in random_tables(function.__code__, 150):
        profiler = new_profiler()
        decorated = profiler(broken)
        if sys.version_info >= (3, 12):  # sys.settrace of 3.11 reads beyond the table
            result = decorated(5)
            assert (
                result == 3 if function is looping else list(result) == [1, 2, 3, 4, 5]
            )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert profiler.get_stats().functions or profiler.warnings
