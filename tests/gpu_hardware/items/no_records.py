"""Calls that bring no record do not delay a report.

The figures are the seconds of the report, what its footer says of records, and the
calls of each kind, of twenty, that lineprof expects a record of in vain.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
SOON_S = 1.0

PROGRAM = """
import sys

@profile
def work():
    for _ in range(20):
        calls[sys.argv[1]]()
        gpu.empty()  # of all
    gpu.wait()

gpu.init()
gpu.prepare()
stream = gpu.stream()
gpu.capture(stream)
nothing = gpu.captured(stream)
gpu.wait()
calls = {
    "copy": lambda: gpu.to_device_async(0),
    "memset": lambda: gpu.memset_async(0),
    "host copy": lambda: gpu.on_host(4096),
    "empty graph": lambda: gpu.replay(nothing, stream),
}
try:
    calls[sys.argv[1]]()
except RuntimeError as error:
    say(refused=str(error))
    raise SystemExit
gpu.wait()
from lineprof import LineProfiler
profiler = LineProfiler(work)
with profiler:
    work()
begun = clock()
profiler.dump_stats("program.lprof")
say(seconds=(clock() - begun) / 1e9)
"""
KINDS = ("copy", "memset", "host copy", "empty graph")
OF_NO_BYTES = KINDS[:2]


def check(lab: Lab) -> None:
    for kind in KINDS:
        ran = lab.python(PROGRAM, kind, FAKE_CUPTI_NO_EMPTY=1)
        if not lab.expect_well(ran):
            continue
        if "refused" in ran.said:
            lab.figure(**{kind: ran.said["refused"]})
            continue
        run, seconds = ran.run, ran.said["seconds"]
        table = lab.run(
            [sys.executable, "-m", "lineprof", "view", "program.lprof"], ran.text
        )
        footer = [line for line in table.out.splitlines() if "record" in line]
        lab.figure(
            **{kind: f"{run.outstanding} outstanding, {seconds:.3f} s; {footer}"}
        )
        kernels = ran.line("# of all").kernels
        lab.expect(kernels == 20, f"{kind}: {kernels} kernels of 20; {run}")
        lab.expect(
            seconds < lab.at_most(SOON_S), f"{kind}: a report takes {seconds:.2f} s"
        )
        lab.expect(
            kind not in OF_NO_BYTES or not run.outstanding,
            f"{kind} of no bytes: {run.outstanding} records are expected in vain",
        )
