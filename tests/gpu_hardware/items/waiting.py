"""Wait is the blocked time of a line, and part of the line's time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
WORK_NS = 20_000_000
SLACK_NS = 5_000_000  # for delays of a busy machine

PROGRAM = """
@profile
def work():
    gpu.spin(20_000_000)  #> kernels=1
    gpu.wait()
    gpu.spin(20_000_000)  # of a stream  #> kernels=1
    gpu.wait_stream()
    gpu.spin(20_000_000)  # of an event  #> kernels=1
    event = gpu.event()
    gpu.wait_event(event)
    gpu.spin(20_000_000)  # of a copy  #> kernels=1
    gpu.from_device(4096)  #> DtoH=4096/1
    gpu.spin(20_000_000)  # of another  #> kernels=1
    gpu.from_device_async(4096)  #> DtoH=4096/1
    gpu.to_device_async(4096)  #> HtoD=4096/1
    gpu.wait_stream(0)

gpu.init()
gpu.prepare()
gpu.empty()
gpu.wait()
work()
"""
WAITS = (
    "    gpu.wait()",
    "gpu.wait_stream()",
    "gpu.wait_event(event)",
    "gpu.from_device(4096)",
    "gpu.wait_stream(0)",
)
LAUNCHES = ("# of a stream", "# of an event", "# of a copy", "# of another")
RETURNS = (*LAUNCHES, "from_device_async", "to_device_async")


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_marks(ran, unattributed=f"kernels=1 HtoD={1 << 22}/1")
    lab.expect_whole(ran)
    lines, slack = ran.lines(), lab.at_most(SLACK_NS)
    least = (
        0 if lab.doubles else 0.97 * WORK_NS
    )  # part of the kernel may have run before
    times = {row.line: row.time_ns for f in ran.stats.functions for row in f.rows}
    source = ran.text.splitlines()
    for words in WAITS:
        number = ran.number(words)
        wait, time = lines[number].wait_ns, times[number]
        name = source[number - 1].partition("#")[0].strip()
        lab.figure(**{name: f"wait {wait / 1e6:.2f} ms of {time / 1e6:.2f} ms"})
        lab.expect(
            least < wait < WORK_NS + slack,
            f"`{name}` waited {wait} ns for {WORK_NS}",
        )
        lab.expect(
            -50_000 < time - wait < slack / 2,
            f"`{name}` took {time} ns, of which {wait} are Wait",
        )
    for words in RETURNS:
        number = ran.number(words)
        wait = lines[number].wait_ns
        lab.expect(not wait, f"`{source[number - 1].strip()}` has a Wait of {wait} ns")
