"""Memory of random programs, which know each of their blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from compiled_doubles import double
from memory_program import ON_LINUX
from memory_runs import Compared, blocks_module
from programs.memory import KINDS, program
from programs.seeds import seeds

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

pytestmark = [
    pytest.mark.usefixtures("hook"),
    ON_LINUX,
]

COUNT = 20


@pytest.fixture(scope="module")
def blocks(shared_folder: Path) -> ModuleType:
    return blocks_module(double(shared_folder, "python/blocks.c"))


def check_memory(text: str, blocks: ModuleType) -> None:
    """Compare a program's memory with that of its model."""
    wrong = Compared(text, blocks).wrong
    if wrong:
        lines = [
            f"{number:4} {line}" for number, line in enumerate(text.split("\n"), 1)
        ]
        pytest.fail("\n".join([*lines, *wrong]), pytrace=False)


@pytest.mark.parametrize("seed", seeds(COUNT))
def test_a_random_program_has_the_memory_of_its_model(
    seed: int, blocks: ModuleType
) -> None:
    check_memory(program(seed), blocks)


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_with_each_kind_of_statement(kind: str, blocks: ModuleType) -> None:
    check_memory(program(KINDS.index(kind), kind), blocks)
