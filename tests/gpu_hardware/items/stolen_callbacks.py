"""Another tool that takes CUPTI's buffers harms no program, and the report says so.

The figures are the buffers that the tool gave, had back, and had of lineprof's, those
that it still had at the end, and what lineprof has.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lab import INSIDE
from overhead import WHERE

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
import ctypes
import os
import sys
from lineprof import LineProfiler, gpu_status

def work(times):
    for _ in range(times):
        gpu.empty()
    gpu.wait()

when, thief = sys.argv[1], ctypes.CDLL(sys.argv[2])
if when == "before":
    status = thief.thief_open(sys.argv[3].encode())
    gpu.init()
    work(1000)
    profiler = LineProfiler(work)
    with profiler:
        work(1000)
else:
    profiler = LineProfiler(work)
    gpu.init()
    with profiler:
        work(1000)
        status = thief.thief_open(cupti_path().encode())
        work(1000)
        if when == "within":
            thief.thief_flush()
            work(1000)
say(status=status, backend=gpu_status().backend, reason=gpu_status().reason)
profiler.dump_stats("program.lprof")
thief.thief_flush()
counts = [thief.thief_count(which) for which in range(4)]
double = int("LINEPROF_CUDA" in os.environ)
say(left=thief.thief_close(double), counts=counts)
"""
# The double as well: it asks for buffers in advance, so that one is always out.
SHARED = {"FAKE_CUPTI_SHARED": 1, "FAKE_CUPTI_REQUEST": "app"}
# When the tool comes, and how many launches lineprof could record.
MOMENTS = {"before": 1000, "after": 2000, "within": 3000}


def check(lab: Lab) -> None:
    thief = lab.compiled("thief", INSIDE / "thief.c")
    where = lab.python(WHERE).said["path"]
    for when, launched in MOMENTS.items():
        ran = lab.python(PROGRAM, when, thief, where, **SHARED)
        if not lab.expect(
            ran.status == 0, f"a tool that comes {when} ends the program: {ran.gist}"
        ):
            continue
        said = ran.said
        kernels, run = ran.line("gpu.empty").kernels, ran.run
        given, back, foreign, size = said["counts"]
        buffers = f"{given} given, {back} back ({size} bytes), {foreign} of lineprof's"
        lab.figure(
            **{
                when: f"status {said['status']}; buffers: {buffers},"
                f" {said['left']} left; {kernels} kernels of {launched}; {run}"
            }
        )
        words = [sys.executable, "-m", "lineprof", "view", "program.lprof"]
        table = lab.run(words, ran.text)
        lab.expect_well(table)
        says = any(word in table.out for word in ("nother tool", "held by", "Lost"))
        lab.expect(
            kernels == launched or says,
            f"{when}: {kernels} kernels of {launched}, and no line says why: {run}",
        )
