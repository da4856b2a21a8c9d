"""Replays a trace of PyTorch's profiler through the doubles, each call from its line.

    python kineto_player.py TRACE NAME [only]

Writes the program, NAME.py, and its profile, NAME.lprof; `only`: the lines of the
first thread alone are profiled.  The environment has the doubles, and a frozen clock.
"""

from __future__ import annotations

import ctypes
import faulthandler
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_double import frozen_clock, workload
from kineto_plan import START, plan, program
from running import new_profiler

if TYPE_CHECKING:
    from collections.abc import Callable

    Decorator = Callable[[Callable[[], None]], Callable[[], None]]

LIMIT = 250  # s; only a process that hangs reaches it


def play(trace: str, name: str, *, only: bool) -> None:
    """Replay a trace, and write its program and profile."""
    made = plan(Path(trace))
    gpu = workload()
    tick = frozen_clock(gpu)
    now = ctypes.CDLL(None).frozen_clock_now
    now.restype = ctypes.c_uint64
    profiler = new_profiler()
    gpu.fk_init()

    def profiles(at: int) -> Decorator:
        return (lambda function: function) if only and at else profiler

    text = program(made.lines)
    file = Path(f"{name}.py")
    file.write_text(text, encoding="utf-8")
    names = {"line": gpu.fk_replay_line, "profiles": profiles, "__name__": "replayed"}
    exec(compile(text, str(file.resolve()), "exec"), names)

    def run(at: int) -> None:
        names[f"thread_{at}"]()  # type: ignore[operator]
        gpu.fk_replay_pass()

    tick(START - now())
    for context in made.contexts:
        gpu.fk_replay_context(*context)
    gpu.fk_replay(made.steps, made.works, len(made.lines))
    gpu.fk_replay_records(0, made.orphans)
    threads = [
        threading.Thread(target=run, args=(at,)) for at in range(len(made.lines))
    ]
    for thread in threads[1:]:
        thread.start()
    run(0)
    for thread in threads[1:]:
        thread.join()
    tick(made.end - now())
    profiler.dump_stats(f"{name}.lprof")


def main() -> None:
    """Replay the trace that the arguments name."""
    faulthandler.register(signal.SIGALRM, chain=True)  # says where it hangs, and ends
    signal.alarm(LIMIT)
    play(sys.argv[1], sys.argv[2], only="only" in sys.argv[3:])


if __name__ == "__main__":
    main()
