"""What a profile says beside its numbers, from what the core knows of trouble."""

from __future__ import annotations

from types import SimpleNamespace

from lineprof.recording.core import RunInfo


def core(**numbers: int) -> SimpleNamespace:
    """Give a core that answers with these numbers, 0 else."""
    names = ("lost", "cost", "hook_displaced", "gpu_lost")
    counters = {name: lambda name=name: numbers.get(name, 0) for name in names}
    return SimpleNamespace(**counters, collecting=lambda: numbers.get("on", 1) == 1)


def warnings(*, from_start: bool = True, **numbers: int) -> list[str]:
    """Give the warnings of a run in which all these numbers came up."""
    state = core()
    run = RunInfo(state)  # type: ignore[arg-type]
    run.opened()
    vars(state).update(vars(core(**numbers)))
    return run.warnings((), from_start=from_start)


def test_a_run_without_trouble_says_nothing() -> None:
    assert warnings() == []


def test_each_trouble_has_its_sentence() -> None:
    assert warnings(lost=3) == ["3 calls were not counted: out of memory"]
    (said,) = warnings(gpu_lost=2)
    assert said.startswith("2 calls of the GPU's API are charged to a calling line")
    (said,) = warnings(hook_displaced=1)
    assert said.startswith("another frame evaluator")
    (said,) = warnings(on=0)
    assert said.startswith("nothing was counted since a call of cudaProfilerStop")


def test_a_program_that_says_when_to_count_is_not_told_so() -> None:
    assert warnings(on=0, from_start=False) == []
