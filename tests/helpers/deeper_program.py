"""A program with more call paths than a small limit keeps, and its true times."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from running import new_profiler, plain, program_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest
    from settable_clock import Clock

    from lineprof.line_stats import LineStats

    Path = tuple[str, ...]

PROGRAM = """
@profile
def leaf(us):
    tick(1000 * us)

@profile
def f(us, times):
    leaf(us)
    if times:
        g(us, times - 1)
    tick(1000)

@profile
def g(us, times):
    f(us, times)
    leaf(2 * us)

@profile
def a():
    f(10, 1)
    tick(3000)

@profile
def b():
    f(100, 1)

@profile
def c():
    b()
    f(1000, 2)

@profile
def main():
    a()
    b()
    c()
    a()
    b()

main()
"""

# Of each call path down to where the recursion begins, by functions: us with callees.
TRUTH: dict[Path, int] = {
    ("main",): 8299,
    ("main", "a"): 2 * 45,
    ("main", "a", "f"): 2 * 42,
    ("main", "b"): 2 * 402,
    ("main", "b", "f"): 2 * 402,
    ("main", "c"): 7405,
    ("main", "c", "b"): 402,
    ("main", "c", "b", "f"): 402,
    ("main", "c", "f"): 7003,
}

DEEPER = "deeper calls"

ALWAYS = (("main",), ("main", "a"), ("main", "b"), ("main", "c"))  # kept by any limit

LIMITS = (0, 3, 6, 12)  # call paths


def measured(
    limit: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> tuple[LineStats, LineStats]:
    """Return two profiles of the program: with `limit` call paths at first, and all."""
    made = []
    with program_file(plain(PROGRAM)) as file:
        code = compile(plain(PROGRAM), file, "exec", dont_inherit=True)
        for number in (limit, 1000):
            monkeypatch.setenv("LINEPROF_MAX_PATHS", str(number))
            profiler = new_profiler(clock=clock.capsule)
            exec(code, {"profile": profiler, "tick": clock.tick})
            made.append(profiler.get_stats())
    assert [bool(one.calls.merged) for one in made] == [True, False]
    return made[0], made[1]


def check_stacks(stacks: Iterable[tuple[Iterable[str], float]]) -> None:
    """Compare stacks, root first and with us of their own, with the true times."""
    found: Counter[Path] = Counter()
    for frames, us in stacks:
        path = tuple(frames)
        for depth in range(1, len(path) + 1):
            found[path[:depth]] += round(us)
    assert {path: found.get(path) for path in ALWAYS} == {
        path: TRUTH[path] for path in ALWAYS
    }
    for path, us in TRUTH.items():
        # One path from one line may be kept, and one from another line not.
        deeper = found[*path[:-1], DEEPER]
        assert us - deeper <= found[path] <= us, path
    assert any(path[-1] == DEEPER for path in found)
    assert {path[0] for path, us in found.items() if us} == {"main"}
