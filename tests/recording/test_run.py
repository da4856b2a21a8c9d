"""Warnings of a run, from what the core reports."""

from __future__ import annotations

from types import SimpleNamespace

from lineprof.recording.core import RunInfo


def core(**numbers: int) -> SimpleNamespace:
    """Return a stub of the core with these numbers, otherwise 0."""
    names = ("lost", "cost", "hook_displaced", "gpu_lost")
    counters = {name: lambda name=name: numbers.get(name, 0) for name in names}
    return SimpleNamespace(
        **counters,
        collecting=lambda: numbers.get("on", 1) == 1,
        skipped=lambda: (numbers.get("skipped", 0), numbers.get("depth", 0)),
    )


def warnings(*, from_start: bool = True, **numbers: int) -> list[str]:
    """Return the warnings of a run in which the numbers grew from 0 to these."""
    state = core()
    run = RunInfo(state)  # type: ignore[arg-type]
    run.opened("", "")
    vars(state).update(vars(core(**numbers)))
    return run.warnings((), from_start=from_start)


def test_a_run_without_problems_has_no_warnings() -> None:
    assert warnings() == []


def test_each_problem_has_its_sentence() -> None:
    assert warnings(lost=3) == ["3 calls were not counted: out of memory"]
    (warning,) = warnings(skipped=4, depth=300)
    assert warning.startswith("from 300 nested profiled calls on, 4 calls, and calls")
    (warning,) = warnings(gpu_lost=2)
    assert warning.startswith("2 calls of the GPU's API are charged to a calling line")
    (warning,) = warnings(hook_displaced=1)
    assert warning.startswith("another frame evaluator")
    (warning,) = warnings(on=0)
    assert warning.startswith("nothing was counted since a call of cudaProfilerStop")


def test_a_program_that_starts_counting_itself_has_no_warning() -> None:
    assert warnings(on=0, from_start=False) == []
