"""Jumps in bytecode: the oracle of the code tables finds those of the module `dis`."""

from __future__ import annotations

import argparse
import ast
import asyncio.base_events
import dis
import tarfile
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

import pytest
import tables_oracle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

MODULES = (argparse, ast, asyncio.base_events, tarfile)
# From 3.14 on END_ASYNC_FOR has a target, to which control does not go.
JUMPS = {*dis.hasjrel} - {dis.opmap.get("END_ASYNC_FOR")}


def codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


@pytest.mark.smoke
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_instructions_and_jumps_are_those_of_dis(module: ModuleType) -> None:
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    top = compile(text, "module", "exec")
    seen = 0
    for code in codes_in(top):
        ours = tables_oracle._steps(code.co_code)
        truth = [
            (step.offset, step.argval if step.opcode in JUMPS else -1)
            for step in dis.get_instructions(code)
        ]
        assert [(offset, target) for offset, _, target in ours] == truth
        seen += sum(target >= 0 for _, target in truth)
    assert seen > 100


@pytest.mark.smoke
def test_loops_are_found_and_await_is_no_loop() -> None:
    def loops(n: int) -> int:
        while n:
            for i in range(n):
                n -= i
        return n

    async def waits(n: int) -> int:
        return await asyncio.sleep(n, n)

    found = tables_oracle.loop_jumps(loops.__code__)
    assert len({jump.target for jump in found}) >= 2
    assert all(jump.target < jump.start and not jump.in_comprehension for jump in found)
    assert tables_oracle.loop_jumps(waits.__code__) == []
