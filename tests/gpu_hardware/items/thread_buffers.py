"""Thirty-two threads that launch lose no record, with buffers of each thread or shared.

The figures are ns for each launch and the MB that the process grows by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
LIMIT_S = 200
THREADS = 32

PROGRAM = """
import ctypes
import sys
import threading

@profile
def work(times):
    for _ in range(times):
        gpu.empty()

def one(times):
    gpu.bind()
    together.wait()
    work(times)
    together.wait()

times, shared = int(sys.argv[1]), sys.argv[2] == "shared"
# CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER
value, size = ctypes.c_uint8(0), ctypes.c_size_t(1)
arguments = 9, ctypes.byref(size), ctypes.byref(value)
if shared:
    say(set=cupti().cuptiActivitySetAttribute(*arguments))
say(get=cupti().cuptiActivityGetAttribute(*arguments), value=value.value)
gpu.init()
together = threading.Barrier(33)
them = [threading.Thread(target=one, args=[times]) for _ in range(32)]
for thread in them:
    thread.start()
before = resident()
together.wait()
begun = clock()
together.wait()
took = clock() - begun
for thread in them:
    thread.join()
gpu.wait()
say(ns=took / times / 32, megabytes=resident() - before >> 20)
"""


def check(lab: Lab) -> None:
    times = lab.many(15_000)
    # The double takes it for a mistake to set this after a profiler was made.
    for name in ("own",) if lab.doubles else ("own", "shared"):
        ran = lab.kernprof(PROGRAM, times, name, limit_s=90)
        if not lab.expect_well(ran):
            continue
        lab.figure(**{name: ran.said})
        kernels, wanted = ran.line("gpu.empty").kernels, THREADS * times
        lab.expect(kernels == wanted, f"{name}: {kernels} kernels of {wanted}")
        lab.expect_whole(ran)
