"""Memory of random programs, which know each of their blocks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from compiled_doubles import double
from memory_runs import blocks_module, check_memory
from programs.memory import KINDS, program
from programs.seeds import seeds

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

pytestmark = [
    pytest.mark.usefixtures("hook"),
    pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux"),
]

COUNT = 20


@pytest.fixture(scope="module")
def blocks(shared_folder: Path) -> ModuleType:
    return blocks_module(double(shared_folder, "python/blocks.c"))


@pytest.mark.parametrize("seed", seeds(COUNT))
def test_a_random_program_has_the_memory_of_its_model(
    seed: int, blocks: ModuleType
) -> None:
    check_memory(program(seed), blocks)


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_with_each_kind_of_statement(kind: str, blocks: ModuleType) -> None:
    check_memory(program(KINDS.index(kind), kind), blocks)
