"""lineprof beside other tools that record the same GPU, whoever comes first.

The other tools are compiled doubles (helpers/gpu_tools.py).  Each of those that CUPTI
lets record gets every record from then on, in its own buffers, and no other's.
"""

from __future__ import annotations

import json
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from gpu_rig import run_of
from view_text import text_of

from lineprof.model.gpu import totals

if TYPE_CHECKING:
    from gpu_rig import Ran, Rig

pytestmark = pytest.mark.usefixtures("hook")

# CUPTI asks for buffers in advance, so that one is always in flight.
NEWEST = {"cupti": "fake_cupti_13_4", "FAKE_CUPTI_VERSION": 130501}
NEWEST.update(FAKE_CUPTI_SHARED=1, FAKE_CUPTI_REQUEST="app", LINEPROF_NVTX="off")
OLDER = ("libtorch_cpu", "libkineto", "libproton")
KERNELS = 5  # of one run

PROGRAM = """
import json, sys
from gpu_tools import Tool
from lineprof import gpu_status
from running import new_profiler

def f():
    for _ in range(5):
        gpu.fk_launch(b"k", 0, 10)
    gpu.fk_sync(0, 0, -1)

run, tools, begun, said = f, {{}}, {{}}, ""
for who in {order}:
    if who == "lineprof":
        profile = new_profiler()
        run = profile(f)
        said = str(gpu_status())
    else:
        tools[who] = Tool(who)
        begun[who] = tools[who].begin()
    run()
ended = {{who: tool.end() for who, tool in tools.items() if not begun[who]}}
run()
profile.dump_stats("program.lprof")
got = {{who: tool.got for who, tool in tools.items()}}
holders = {{who: tool.holder for who, tool in tools.items()}}
print(json.dumps([said, begun, ended, got, holders]))
sys.exit(3)
"""


class Told(NamedTuple):
    """What the program printed."""

    said: str  # by gpu_status()
    begun: dict[str, int]
    ended: dict[str, int]
    got: dict[str, list[int]]
    holders: dict[str, str]


def told(ran: Ran) -> Told:
    """Return what a program printed, which ended as it does without lineprof."""
    assert (ran.status, ran.err) == (3, "")
    return Told(*json.loads(ran.out))


@pytest.mark.parametrize("older", OLDER)
@pytest.mark.parametrize("order", list(permutations(("lineprof", "libxla", "older"))))
def test_six(rig: Rig, order: tuple[str, ...], older: str) -> None:
    names = tuple(older if who == "older" else who for who in order)
    ran = rig.python(PROGRAM.format(order=names), **NEWEST)
    print(names, ran.status, ran.err)
    print(ran.out)
    stats = ran.stats()
    print(text_of(stats)[-900:])
