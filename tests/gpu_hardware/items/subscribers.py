"""Beside another tool lineprof has all records, or a line says who has them.

For the libcupti in use, and each of --cupti: a tool that uses CUPTI in one of four ways
(inside/client.c) alone, beside another such tool, and beside lineprof, in both orders.
The figures are the statuses of its calls, in sequence, and the records of each.  First
is who came first; what they have `again` is after the tool has left.
"""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from items.other_cupti import named
from lab import INSIDE, NotRunError
from overhead import WHERE

if TYPE_CHECKING:
    from pathlib import Path

    from lab import Lab, Ran

NEEDS = ()
LIMIT_S = 150
LAUNCHES = 300  # in each phase of a program
PATIENCE_S = 40  # for a program

# As in client.c.
WAYS = ("cuptiSubscribe", "cuptiSubscribe_v2 of 13.0", "several", "unsubscribed")
SEVERAL = "several"

START = """
import ctypes
import sys
import time

WAYS = ("cuptiSubscribe", "cuptiSubscribe_v2 of 13.0", "several", "unsubscribed")
TIMES = 300
path = sys.argv[1].encode()

class Client:
    def __init__(self, file, way):
        self.library, self.way = ctypes.CDLL(file), WAYS.index(way)
        self.library.client_log.restype = ctypes.c_char_p
        self.library.client_holder.restype = ctypes.c_char_p
        self.before = self.status = 0

    def open(self):
        self.status = self.library.client_open(path, self.way)
        self.before = self.library.client_count(0)
        return self.log()

    def log(self):
        holder = self.library.client_holder().decode("ascii", "replace")
        return self.library.client_log().decode() + (f", {holder!r}" * bool(holder))

    def records(self):
        for _ in range(30 if self.status == 0 else 0):  # they may come late
            self.library.client_flush()
            if self.library.client_count(0) - self.before >= TIMES:
                break
            time.sleep(0.01)
        return self.library.client_count(0) - self.before

    def close(self):
        if self.status == 0:
            self.library.client_close()
        return self.log()

def work():
    for _ in range(TIMES):
        gpu.empty()
    gpu.wait()

gpu.init()
"""
# Each way alone, one after the other, and the first once more: does one family of calls
# let the other one in once it has left?
IN_SEQUENCE = """
for number, way in enumerate([*WAYS, SEVERAL, WAYS[0], WAYS[3], SEVERAL]):
    one = Client(sys.argv[2], way)
    calls = one.open()
    work()
    had = one.records()
    say(**{f"{number}, {way}": f"{had} of {TIMES} records; {calls}; {one.close()}"})
""".replace("SEVERAL", repr(SEVERAL))
BESIDE = """
first = Client(sys.argv[2], sys.argv[4])
for way in WAYS:
    other = Client(sys.argv[3], way)
    calls = first.open(), other.open()
    work()
    had = f"{first.records()} and {other.records()} of {TIMES} records"
    ends = other.close(), first.close()
    say(**{way: f"{had}; {' beside '.join(calls)}; {', '.join(ends)}"})
"""
WITH_LINEPROF = """
from lineprof import LineProfiler, gpu_status

def profiled():
    found = LineProfiler(work)
    status = gpu_status()
    say(status=f"{status.backend}: {status.reason}", backend=status.backend)
    return found

def kernels(profiler):
    sums = profiler.get_stats().gpu.sums
    return sum(one.count for one in sums if one.kind == "kernel")

tool = Client(sys.argv[2], sys.argv[3])
if sys.argv[4] == "the tool first":
    say(calls=tool.open(), tool=tool.status)
    profiler = profiled()
    with profiler:
        work()
    say(theirs=tool.records(), ours=kernels(profiler))
    say(ends=tool.close())
    again = LineProfiler(work)
    with again:
        work()
    last = gpu_status()
    say(again=kernels(again), last=last.backend, reason=last.reason)
    again.dump_stats("again.lprof")
else:
    profiler = profiled()
    with profiler:
        work()
        say(calls=tool.open(), tool=tool.status)
        work()
        say(theirs=tool.records())
        say(ends=tool.close())
        work()
    say(ours=kernels(profiler))
profiler.dump_stats("program.lprof")
"""
ORDERS = {"the tool first": LAUNCHES, "lineprof first": 3 * LAUNCHES}
# The double as well; its libraries can be of several releases.
SHARED = {"FAKE_CUPTI_SHARED": 1}
RELEASES = {"fake_cupti_13_2.so": 130202, "fake_cupti_13_4.so": 130401}


def check(lab: Lab) -> None:
    client = lab.compiled("client", INSIDE / "client.c")
    other = lab.folder / "other_client.so"
    shutil.copyfile(client, other)
    used = lab.python(WHERE).said.get("path")
    if not used:
        raise NotRunError("lineprof uses no libcupti")
    for name, path in {"in use": used, **named(lab)}.items():
        knobs = {"LINEPROF_CUPTI": path, **SHARED}
        if lab.doubles and name in RELEASES:
            knobs["FAKE_CUPTI_VERSION"] = RELEASES[name]
        clients = Clients(lab, name, [path, client], knobs)
        clients.alone(other)
        for way in WAYS:
            for order, launched in ORDERS.items():
                clients.beside_lineprof(way, order, launched)


class Clients:
    """Programs with tools that use one libcupti."""

    def __init__(
        self, lab: Lab, name: str, words: list[str | Path], knobs: dict[str, object]
    ) -> None:
        self.lab, self.name, self.words, self.knobs = lab, name, words, knobs

    def run(self, program: str, *words: object) -> Ran:
        """Run a program for a short time."""
        text = START + program
        every = [*self.words, *words]
        return self.lab.python(text, *every, limit_s=PATIENCE_S, **self.knobs)

    def alone(self, other: Path) -> None:
        """Find out what CUPTI answers to tools without lineprof; all is a figure."""
        for what, program, words in (
            ("in sequence", IN_SEQUENCE, []),
            *((f"beside {way}", BESIDE, [other, way]) for way in WAYS),
        ):
            ran = self.run(program, *words)
            for way, said in ran.said.items():
                self.lab.figure(**{f"{self.name}, {what}: {way}": said})
            if ran.status:  # which is CUPTI's, because lineprof is not here
                self.lab.figure(**{f"{self.name}, {what}: ended": ran.gist})

    def beside_lineprof(self, way: str, order: str, launched: int) -> None:
        """Check the records of lineprof, and what it says if it has not all."""
        lab, what = self.lab, f"{self.name}, {way}, {order}"
        ran = self.run(WITH_LINEPROF, way, order)
        said = ran.said
        if ran.status and "theirs" in said and "ends" not in said:
            lab.figure(**{what: f"the tool can't leave: {ran.gist}; {said}"})
            return
        if not lab.expect(ran.status == 0, f"{what}: {ran.gist}"):
            lab.figure(**{what: said})
            return
        lab.figure(
            **{
                what: f"lineprof {said['ours']} of {launched}, the tool"
                f" {said['theirs']} of {LAUNCHES}; {said['status']}; {said['calls']};"
                f" {said['ends']}" + again(said)
            }
        )
        whole, recorded = said["ours"] == launched, said["tool"] == 0
        if whole and not (way == SEVERAL and recorded and "beside" in said["status"]):
            pass
        elif whole:
            had = said["theirs"]
            lab.expect(had == LAUNCHES, f"{what}: the tool has {had} of {LAUNCHES}")
        elif said["backend"] == "cupti":
            lab.expect(recorded, f"{what}: {said['ours']} of {launched} kernels")
            self.expect_line(ran, "program.lprof", what)
        else:
            lab.expect("held by" in said["status"], f"{what}: {said['status']}")
            had = said["theirs"]
            lab.expect(had == LAUNCHES, f"{what}: the tool has {had} of {LAUNCHES}")
        if said.get("last") == "cupti" and said["again"] != LAUNCHES:
            self.expect_line(ran, "again.lprof", f"{what}, then")
        elif "last" in said:
            lab.expect(said["reason"], f"{what}: then lineprof has no reason")

    def expect_line(self, ran: Ran, file: str, what: str) -> None:
        """Check that the report of a profile says that records are missing."""
        words = [sys.executable, "-m", "lineprof", "view", ran.folder / file]
        lines = self.lab.run(words, ran.text).out.splitlines()
        starts = "Another tool", "CUPTI has", "Lost"
        says = [one for one in lines if one.startswith(starts) or "no record" in one]
        self.lab.figure(**{f"{what}: report": says})
        self.lab.expect(says, f"{what}: no line says what is missing")


def again(said: dict[str, object]) -> str:
    """Return what lineprof has once the tool has left, as the end of a sentence."""
    if "last" not in said:
        return ""
    return f"; then {said['last']} ({said['reason']}), {said['again']} kernels"
