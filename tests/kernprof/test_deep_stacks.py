"""Deep recursion through C functions goes on under kernprof about as far as alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run
from running import plain

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hook")

PROGRAM = plain(
    """
    import sys
    import threading

    kind, depth, stack = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    sys.setrecursionlimit(1_000_000)

    class Attribute:
        @profile
        def __getattr__(self, name):
            n = int(name[1:])
            return 1 + getattr(self, f"x{n - 1}") if n else 0

    @profile
    def through_map(n):
        return 1 + list(map(through_map, [n - 1]))[0] if n else 0

    @profile
    def through_sorted(n):
        found = []
        if n:
            sorted([n], key=lambda k: found.append(through_sorted(k - 1)) or 0)
        return 1 + found[0] if n else 0

    @profile
    def python_only(n):
        return 1 + python_only(n - 1) if n else 0

    def main():
        kinds = {
            "getattr": lambda: getattr(Attribute(), f"x{depth}"),
            "map": lambda: through_map(depth),
            "sorted": lambda: through_sorted(depth),
            "python": lambda: python_only(depth),
        }
        try:
            print(kinds[kind]())
        except RecursionError:
            print("no deeper")

    if stack:
        threading.stack_size(stack * 1024)
        thread = threading.Thread(target=main)
        thread.start()
        thread.join()
    else:
        main()
    """
)
ALONE = "profile = lambda function: function\n" + PROGRAM


def deepest(folder: Path, kind: str, stack: int) -> int:
    """Return a depth that the program reaches alone, and 3 % more does not."""
    (folder / "alone.py").write_text(ALONE)
    reached, failed = 10, 50_000
    while failed - reached > max(1, reached * 0.03):
        depth = int((reached * failed) ** 0.5) + 1
        done = run(["alone.py", kind, str(depth), str(stack)], cwd=folder)
        if done.status == 0 and done.out == f"{depth}\n":
            reached = depth
        else:
            failed = depth
    return reached


@pytest.mark.parametrize("stack", [0, 256])
@pytest.mark.parametrize("kind", ["getattr", "map", "sorted", "python"])
@pytest.mark.parametrize("flags", ["-lq", "-lq --all"])
def test_recursion_goes_as_deep_as_alone(
    tmp_path: Path, kind: str, stack: int, flags: str
) -> None:
    depth = deepest(tmp_path, kind, stack) * 92 // 100
    (tmp_path / "deep.py").write_text(PROGRAM if flags == "-lq" else ALONE)
    argv = ("-o", "p.lprof", "deep.py", kind, str(depth), str(stack))
    done = kernprof(*flags.split(), *argv, cwd=tmp_path)
    assert (done.status, done.out, done.err) == (0, f"{depth}\n", "")


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="needs no C stack for events from 3.12 on"
)
def test_calls_left_out_to_save_stack_are_reported(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text(PROGRAM)
    kernprof("-lqo", "p.lprof", "deep.py", "map", "10000", "0", cwd=tmp_path)
    stats = load_stats(str(tmp_path / "p.lprof"))
    (function,) = (f for f in stats.functions if f.name == "through_map")
    (hits,) = {row.hits for row in function.rows if row.hits}
    assert 1_000 < hits < 10_000
    (warning,) = stats.warnings
    assert warning.startswith(f"from {hits} nested profiled calls on, 1 calls, and")


@pytest.mark.smoke
def test_calls_of_a_stack_with_room_are_all_counted(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text(PROGRAM)
    done = kernprof("-lqo", "p.lprof", "deep.py", "map", "700", "0", cwd=tmp_path)
    stats = load_stats(str(tmp_path / "p.lprof"))
    (function,) = (f for f in stats.functions if f.name == "through_map")
    assert (done.out, list(stats.warnings)) == ("700\n", [])
    assert [row.hits for row in function.rows if row.hits] == [701]
