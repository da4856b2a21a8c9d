"""Any ending of a program is the same as without lineprof, and work is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

# Programs that launch work and end as their argument says.
PROGRAM = """
import os
import signal
import sys
import threading
import time

@profile
def work(how):
    for _ in range(10):
        gpu.spin(100_000)  # ten
    ways[how]()
    gpu.wait()

def fail():
    raise ValueError("as it should")

def go_on(gap=0.0):
    gpu.bind()
    running.set()
    while True:
        gpu.empty()
        time.sleep(gap)

def leave_a_thread(gap=0.0):
    threading.Thread(target=go_on, args=[gap], daemon=True).start()
    running.wait()

def be_interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)

def be_terminated():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)

running = threading.Event()
ways = {
    "return": gpu.wait,
    "exit": lambda: sys.exit(3),
    "exception": fail,
    "interrupt": be_interrupted,
    "terminate": be_terminated,
    "daemon thread": leave_a_thread,
    "slow daemon thread": lambda: leave_a_thread(0.001),
    "_exit": lambda: os._exit(5),
}
gpu.init()
work(sys.argv[1])
"""
WAYS = (
    "return",
    "exit",
    "exception",
    "interrupt",
    "terminate",
    "daemon thread",
    "slow daemon thread",
    "_exit",
)
WITHOUT_PROFILE = ("_exit",)


def check(lab: Lab) -> None:
    for how in WAYS:
        alone = lab.python(PROGRAM, how, limit_s=60)
        ran = lab.kernprof(PROGRAM, how, limit_s=60)
        lab.expect(
            ran.status == alone.status,
            f"{how}: the status is {ran.status}, alone {alone.status}; {ran.gist}",
        )
        lab.expect(
            ran.err.splitlines()[-1:] == alone.err.splitlines()[-1:],
            f"{how}: the last words are {ran.err[-200:]!r}, alone {alone.err[-200:]!r}",
        )
        if how in WITHOUT_PROFILE:
            continue
        try:
            kernels = ran.line("# ten").kernels
        except FileNotFoundError as error:
            lab.expect(False, f"{how}: {error}")
            continue
        # Launches of a thread that runs while work() is open are charged to its lines.
        lab.expect(kernels == 10, f"{how}: {kernels} kernels of 10")
        run = ran.run
        lost = (run.dropped, run.invalid)
        lab.expect(lost == (0, 0), f"{how}: {lost} records dropped, without times")
        if "thread" not in how:
            lab.expect(
                not run.outstanding, f"{how}: {run.outstanding} records outstanding"
            )
