"""Runs programs one after the other in this process, each with its own profiler."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_double import frozen_clock, workload
from running import new_profiler

if TYPE_CHECKING:
    from ctypes import CDLL


LIMIT = 250  # s; only a process that hangs reaches it, also without its parent


def play(file: str, gpu: CDLL, names: dict[str, object]) -> str:
    """Run one program, and write its profile; return its output."""
    profiler = new_profiler()
    gpu.fk_init()
    printed = io.StringIO()
    names = {**names, "__name__": "program", "__file__": file, "profile": profiler}
    code = compile(Path(file).read_text(encoding="utf-8"), file, "exec")
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, names)
        except BaseException:  # noqa: BLE001 - printed for the test
            printed.write(traceback.format_exc())
    profiler.dump_stats(f"{file}.lprof")
    return printed.getvalue()


def main() -> None:
    """Run the programs that the arguments name; print their outputs as JSON."""
    faulthandler.register(signal.SIGALRM, chain=True)  # says where it hangs, and ends
    signal.alarm(LIMIT)
    gpu = workload()
    held = workload(holding_the_gil=True)
    names = {"gpu": gpu, "held": held, "tick": frozen_clock(gpu)}
    print(json.dumps({file: play(file, gpu, names) for file in sys.argv[1:]}))


if __name__ == "__main__":
    main()
