"""An example profile of a whole program, whose tables are longer than a screen.

    <module> 113 -> main 5 -> run    99 ms
      run 9 -> load                  30 ms
      run 10 -> step_0 ... step_24    2 ms each
      run 11 -> report               10 ms

Lines of `run` have 9 ms themselves.
"""

from __future__ import annotations

import example_stats

from lineprof.line_stats import LineStats
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    SourceFile,
    Thread,
    ThreadLine,
)
from lineprof.source_files import text_hash

FILE = "/project/plan.py"
STEPS = 25
MS = 1_000_000  # ns

_HEAD = '''\
"""Plans."""


def main():
    run()


def run():
    load()
    for step in STEPS: step()
    report()
    return None


'''
_BODY = '''\
def {name}():
    """Work."""
    for part in parts:
        take(part)


'''
NAMES = ("load", *(f"step_{number}" for number in range(STEPS)), "report")
PROCESS = example_stats.PROCESS._replace(
    argv=("plan.py",),
    cwd="/project",
    wall_ns=110 * MS,
    cpu_ns=105 * MS,
    overhead_ns=5 * MS,
    is_whole=True,
)


def example(*, is_whole: bool = True, functions: int = len(NAMES)) -> LineStats:
    """Return the profile, with the first `functions` of `NAMES`."""
    names = NAMES[:functions]
    text = f"{_HEAD}{''.join(_BODY.format(name=name) for name in names)}main()\n"
    last = text.count("\n")
    module, main, run = (FILE, 1, "<module>"), (FILE, 4, "main"), (FILE, 8, "run")
    times = dict.fromkeys(names, 2 * MS) | {"load": 30 * MS, "report": 10 * MS}
    whole = sum(times[name] for name in names) + 9 * MS
    called = {10: sum(times[name] for name in names if name.startswith("step"))}
    called |= {9: times["load"], 11: times["report"] if "report" in names else 0}
    nodes = [
        CallNode(NO_NODE, 0, module, 0, 1, 1, 2 * MS, whole + 2 * MS, whole + 2 * MS),
        CallNode(0, last, main, 0, 1, 1, 0, whole, whole),
        CallNode(1, 5, run, 0, 1, 1, 9 * MS, whole, whole),
    ]
    stats = [
        _function(module, (1, 1, MS), (4, 1, MS), (last, 1, whole)),
        _function(main, (5, 1, whole)),
        _function(run, *[(line, 1, ns + 3 * MS) for line, ns in called.items()]),
    ]
    for number, name in enumerate(names):
        key = (FILE, 15 + 6 * number, name)
        line = {"load": 9, "report": 11}.get(name, 10)
        ns = times[name]
        nodes.append(CallNode(2, line, key, 0, 1, 1, ns, ns, ns))
        stats.append(
            _function(key, (key[1] + 2, 5, ns // 4), (key[1] + 3, 4, ns - ns // 4))
        )
    return LineStats.from_functions(
        stats,
        processes=[PROCESS._replace(is_whole=is_whole)],
        threads=[Thread(0, 4711, "MainThread")],
        sources={FILE: SourceFile(FILE, text, text_hash(text))},
        calls=CallTree(tuple(nodes)),
    )


def _function(key: tuple[str, int, str], *lines: tuple[int, int, int]) -> FunctionStats:
    cells = tuple(ThreadLine(line, 0, hits, ns) for line, hits, ns in lines)
    return FunctionStats(key[0], key[2], key[1], cells, calls=1)
