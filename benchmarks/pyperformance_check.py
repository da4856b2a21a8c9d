#!/usr/bin/env python3
"""Hits and results of PyPI's pyperformance programs, compared with an oracle.

    python benchmarks/pyperformance_check.py [NAME…]

Needs pyperformance (`pip install --no-deps pyperformance`). Every function of a
program is added to the profiler; the program runs plainly, under the oracle of the
tests (`sys.settrace` in pure Python), and under each hook.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness import foreign

HELPERS = Path(__file__).resolve().parent.parent / "tests" / "helpers"
sys.path.insert(0, str(HELPERS))

if TYPE_CHECKING:
    from collections.abc import Iterator

    Hits = dict[tuple[int, str], dict[int, int]]


def without_zeros(hits: Hits) -> Hits:
    """Leave out functions that never ran, and lines without a hit."""
    return {
        key: {line: count for line, count in lines.items() if count}
        for key, lines in hits.items()
        if any(lines.values())
    }


def by_oracle(program: foreign.Program) -> tuple[Hits, object]:
    """Run under the oracle; return its hits and the program's result."""
    import oracle  # noqa: PLC0415 - in tests/helpers

    module = foreign.load(program)
    judge = oracle.Oracle(module.__file__)
    for function in foreign.functions(module):
        judge.add_function(function)
    with judge:
        result = judge.trace(lambda: foreign.execute(program, module))
    return without_zeros(judge.hits()), result


def by_lineprof(program: foreign.Program, core: str) -> tuple[Hits, object]:
    """Run under lineprof; return its hits and the program's result."""
    from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415 - the oracle runs without it

    module = foreign.load(program)
    profiler = LineProfiler(core=core)
    for function in foreign.functions(module):
        profiler.add_function(function)
    with profiler:
        result = foreign.execute(program, module)
    hits: Hits = {
        (function.line, function.name): {row.line: row.hits for row in function.rows}
        for function in profiler.get_stats().functions
    }
    return without_zeros(hits), result


def differences(ours: Hits, truth: Hits) -> Iterator[str]:
    """Yield a sentence for every line whose hits are wrong."""
    for key in sorted({*ours, *truth}):
        got, want = ours.get(key, {}), truth.get(key, {})
        for line in sorted({*got, *want}):
            if got.get(line, 0) != want.get(line, 0):
                yield (
                    f"    {key[1]}, line {line}: {got.get(line, 0)} hits, "
                    f"the oracle has {want.get(line, 0)}"
                )


def check(program: foreign.Program) -> bool:
    """Check one program under every hook; print the outcome."""
    plain = foreign.execute(program, foreign.load(program))
    truth, traced = by_oracle(program)
    total = sum(sum(lines.values()) for lines in truth.values())
    fine = traced == plain
    modern = sys.version_info >= (3, 12)
    for core in ("monitoring", "settrace") if modern else ("settrace",):
        ours, result = by_lineprof(program, core)
        wrong = list(differences(ours, truth))
        same = result == plain
        verdict = "same hits" if not wrong else f"{len(wrong)} lines differ"
        output = "same result" if same else "ANOTHER RESULT"
        print(
            f"{program.name:<16} {core:<11} {len(truth):3} functions "
            f"{total:7} hits: {verdict}, {output}",
            flush=True,
        )
        for line in wrong[:10]:
            print(line)
        fine = fine and same and not wrong
    return fine


def main() -> int:
    """Check the named programs or all; the exit status is 1 if one differs."""
    wanted = sys.argv[1:]
    programs = [p for p in foreign.PROGRAMS if not wanted or p.name in wanted]
    passed = sum([check(program) for program in programs])
    print(
        f"{passed} of {len(programs)} programs agree with the oracle and the plain run"
    )
    return 0 if passed == len(programs) else 1


if __name__ == "__main__":
    sys.exit(main())
