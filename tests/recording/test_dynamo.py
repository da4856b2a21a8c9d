"""Warnings that name the functions that torch.compile replaced.

The tests need no torch: a stub stands for the modules that lineprof reads.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import weakref
from collections import Counter
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from running import new_profiler

from lineprof.recording import compiled

if TYPE_CHECKING:
    from types import CodeType, FunctionType

    import pytest


class Dynamo:
    """Stub of ``torch._dynamo``, with the attributes that lineprof reads."""

    def __init__(self, room: int | None = 128) -> None:
        self._metrics: list[SimpleNamespace] = []
        self._entries: dict[CodeType, int] = {}
        self._seen: list[weakref.ref[CodeType]] = []

        @functools.lru_cache(maxsize=room)
        def read(code: CodeType, safe: bool = False) -> str:  # noqa: FBT001, FBT002
            return f"{code} {safe}"

        self.read = read

    def compile(self, code: CodeType, *, metrics: bool = True) -> None:
        """Record the compilation of a function of this code."""
        self.read(code, False)
        self._entries[code] = self._entries.get(code, 0) + 1
        self._seen.append(weakref.ref(code))
        if metrics:
            self._metrics.append(
                SimpleNamespace(
                    co_name=code.co_name,
                    co_filename=code.co_filename,
                    co_firstlineno=code.co_firstlineno,
                    has_guarded_code=True,
                )
            )

    def reset(self) -> None:
        """Forget compilations, as ``torch._dynamo.reset`` does."""
        self._entries.clear()
        self._seen.clear()

    def modules(self) -> dict[str, Any]:
        """Return the modules by name, as in ``sys.modules``."""
        parts: dict[str, Any] = {name: ModuleType(name) for name in NAMES}
        parts["torch._dynamo.utils"].get_compilation_metrics = lambda: self._metrics
        parts["torch._dynamo.utils"].counters = {"frames": Counter(ok=1)}
        parts["torch._dynamo.eval_frame"]._debug_get_cache_entry_list = lambda code: [
            object() for _ in range(self._entries.get(code, 0))
        ]
        seen = SimpleNamespace(seen=self._seen)
        parts["torch._dynamo.convert_frame"].input_codes = seen
        cache = parts["torch._dynamo.bytecode_transformation"]
        cache._cached_cleaned_instructions = self.read
        return parts


NAMES = [
    "torch._dynamo",
    *(
        f"torch._dynamo.{name}"
        for name in ("utils", "eval_frame", "convert_frame", "bytecode_transformation")
    ),
]


def step(n: int) -> int:
    return layer(n) + 1


def layer(n: int) -> int:
    return n * 2


def other(n: int) -> int:
    return n


def named(function: FunctionType) -> str:
    return f"{function.__name__} (test_dynamo.py:{function.__code__.co_firstlineno})"


def test_without_torch_there_is_no_warning() -> None:
    assert compiled.missing_lines([step], {}) == []


def test_if_nothing_was_compiled_there_is_no_warning() -> None:
    assert compiled.missing_lines([step], Dynamo().modules()) == []


def test_a_compiled_function_is_named_with_its_number_of_compilations() -> None:
    torch = Dynamo()
    torch.compile(step.__code__)
    torch.compile(step.__code__)
    (said,) = compiled.missing_lines([step, other], torch.modules())
    assert said == (
        f"torch.compile ran code of its own for {named(step)[:-1]}, compiled 2 times): "
        "lines that ran there were not seen, their time is in the line that made the "
        "call"
    )


def test_a_function_whose_compilation_event_torch_forgot_is_named() -> None:
    torch = Dynamo()
    torch.compile(step.__code__, metrics=False)
    (said,) = compiled.missing_lines([step], torch.modules())
    assert f"torch.compile ran code of its own for {named(step)}: " in said


def test_a_function_compiled_before_a_reset_is_named() -> None:
    torch = Dynamo()
    torch.compile(step.__code__)
    torch.reset()
    (said,) = compiled.missing_lines([step], torch.modules())
    assert named(step) in said


def test_a_code_copy_made_by_a_decorator_is_named_as_its_function() -> None:
    torch = Dynamo()
    copied = step.__code__.replace()
    torch.compile(copied)
    (said,) = compiled.missing_lines([step], torch.modules())
    assert named(step) in said


def test_an_inlined_function_is_named() -> None:
    torch = Dynamo()
    torch.compile(step.__code__)
    torch.read(layer.__code__, False)
    (said,) = compiled.missing_lines([layer], torch.modules())
    assert said == (
        f"torch.compile took {named(layer)} into its callers' code: lines that ran "
        "there were not seen, their time is in the line that called the compiled code"
    )


def test_code_resumed_after_a_graph_break_is_not_named() -> None:
    torch = Dynamo(room=1)
    resumed = step.__code__.replace(co_name="torch_dynamo_resume_in_step_at_70")
    torch.compile(resumed)
    assert compiled.missing_lines([layer], torch.modules()) == []


def test_functions_of_one_kind_share_a_sentence() -> None:
    torch = Dynamo()
    for function in (step, layer, other):
        torch.compile(function.__code__)
    (said,) = compiled.missing_lines([step, layer, other], torch.modules())
    assert f"for {named(step)}, {named(layer)} and {named(other)}: " in said


def test_if_torch_forgot_inlined_functions_all_compiled_ones_are_named() -> None:
    torch = Dynamo(room=1)
    torch.read(layer.__code__, False)
    torch.compile(step.__code__)
    (said,) = compiled.missing_lines([layer], torch.modules())
    assert f"code of its own for {named(step)}: lines that ran there, and in" in said


def test_of_many_functions_the_first_are_named_and_others_counted() -> None:
    torch = Dynamo(room=1)
    for n in range(130, 170):
        torch.compile(step.__code__.replace(co_name=f"step_{n}"))
    (said,) = compiled.missing_lines([], torch.modules())
    assert "step_130 (" in said
    assert "step_159 (" in said
    assert "step_160 (" not in said
    assert " and 10 more: " in said


def test_a_function_compiled_before_it_was_decorated() -> None:
    def wrapper(n: int) -> int:
        return step(n)

    wrapper.__dict__["_torchdynamo_orig_callable"] = step
    torch = Dynamo()
    torch.compile(step.__code__)
    (said,) = compiled.missing_lines([wrapper], torch.modules())
    assert said.startswith(f"{named(step)}: compiled before it was decorated, so ")


def test_an_unknown_torch_gets_a_warning_if_it_compiled_a_function() -> None:
    modules = Dynamo().modules()
    del modules["torch._dynamo.convert_frame"].input_codes
    (said,) = compiled.missing_lines([step], modules)
    assert "torch.compile may have run code of its own" in said
    modules["torch._dynamo.utils"].counters.clear()
    assert compiled.missing_lines([step], modules) == []


def test_a_profile_has_a_warning_on_compiled_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    profiler = new_profiler()
    torch = Dynamo()
    for name, module in torch.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    counted = profiler(layer)
    assert counted(1) == 2
    assert profiler.get_stats().warnings == ()
    torch.compile(counted.__code__)
    (said,) = profiler.get_stats().warnings
    assert f"torch.compile ran code of its own for {named(layer)}" in said


def test_the_module_is_not_imported_without_torch() -> None:
    program = (
        "import sys, lineprof; p = lineprof.LineProfiler(); p(lambda: 1)(); "
        "p.get_stats(); sys.exit('lineprof.recording.compiled' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
