"""Runs of programs that allocate: measured, and as their own model."""

from __future__ import annotations

import contextlib
import gc
import importlib.machinery
import importlib.util
import sys
from typing import TYPE_CHECKING

from memory_model import (
    CHUNK,
    LAYERS,
    VALUES,
    Found,
    Model,
    OwnObjects,
    Sums,
    differences,
)
from running import hook_name, new_profiler, program_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import CodeType, ModuleType

    from memory_model import Path as CallPath

    from lineprof.model.host_memory import HostMemory


def own_objects() -> OwnObjects:
    """Return what Python makes for events, and lineprof does not see.

    A trace function's ints are those of jumps far into the code.
    """
    return OwnObjects(
        ints=hook_name() == "settrace" and sys.version_info >= (3, 12),
        lists=sys.version_info >= (3, 14),
    )


def blocks_module(library: Path) -> ModuleType:
    """Return the extension module of `doubles/python/blocks.c`."""
    loader = importlib.machinery.ExtensionFileLoader("blocks", str(library))
    spec = importlib.util.spec_from_loader("blocks", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@contextlib.contextmanager
def no_collections() -> Iterator[None]:
    """Leave garbage in cycles to the program: what collects it, frees it."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def run(code: CodeType, names: dict[str, object]) -> dict[str, object]:
    """Run a program; return its globals, which keep what it keeps."""
    names["__name__"] = "program"
    exec(code, names)
    return names


def modelled(text: str, file: str, blocks: ModuleType) -> Model:
    """Run a program as its own model."""
    model = Model()
    names = model.namespace() | model.vocabulary(blocks.OBJECT)
    code = model.compile(text, file)
    with no_collections():
        kept = run(code, {**names, "profile": model})
        model.finish()
        kept.clear()
        gc.collect()
    return model


def measured(text: str, file: str, blocks: ModuleType) -> HostMemory:
    """Run a program under lineprof; return its memory while it still has it."""
    code = compile(text, file, "exec", dont_inherit=True)
    names: dict[str, object] = {"take": blocks.take, "CHUNK": CHUNK, **VALUES}
    names |= {layer: getattr(blocks, layer) for layer in LAYERS}
    with no_collections():
        profiler = new_profiler(memory=True)
        kept = run(code, {**names, "profile": profiler})
        memory = profiler.get_stats().memory
        kept.clear()
        del profiler
        gc.collect()
    return memory


def found_in(memory: HostMemory) -> dict[CallPath, Found]:
    """Return the sums of a profile by call path."""
    found: dict[CallPath, Found] = {}
    for one in memory.sums:
        lines = memory.paths[one.path].lines
        path = tuple((first, name, line) for (_, first, name), line in lines)
        sums = one.allocs, one.alloc_bytes, one.freed_bytes, one.temp_bytes
        earlier = found.get(path, Found(Sums(), 0))
        peak = earlier.peak_bytes + one.peak_bytes
        found[path] = Found(earlier.sums.plus(*sums), peak)
    return found


class Compared:
    """One program, its model, and what differs."""

    def __init__(self, text: str, blocks: ModuleType) -> None:
        with program_file(text) as file:
            model = modelled(text, file, blocks)
            memory = measured(text, file, blocks)
        found = found_in(memory)
        (one,) = memory.runs
        self.paths = len(model.sums)
        self.blocks = sum(each.allocs for each in model.sums.values())
        self.wrong = differences(text, model, found, one.peak_bytes, own_objects())
        if one.lost:
            self.wrong.append(f"{one.lost} blocks were lost")
