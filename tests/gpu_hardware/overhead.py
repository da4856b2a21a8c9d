"""A program bare, beside the floor of CUPTI, with lineprof and with other profilers.

All run side by side, in turn, so that their times can be compared round by round.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from lab import HERE, Command, alone, profiled

if TYPE_CHECKING:
    from pathlib import Path

    from lab import Lab, Ran

FLOOR = HERE.parents[1] / "benchmarks" / "cupti_floor.c"
# With what each needs. Proton brings a libcupti of CUDA 12.
OTHERS = {"torch.profiler": "torch", "proton": "triton", "proton, same CUPTI": "triton"}
WHERE = """
from lineprof import LineProfiler
LineProfiler()
say(path=cupti_path())
"""


def side_by_side(
    lab: Lab, program: str, *arguments: object, rounds: int, what: str
) -> dict[str, Ran]:
    """Run a program as each of its peers says; return the results by name.

    The program is as inside/peers.py has it, and says its times in ns, one of each
    turn.  Those of lineprof and the floor are checked to be there.  The medians are
    figures called after `what`.
    """
    floor = lab.compiled("cupti_floor", FLOOR)
    cupti = lab.python(WHERE).said.get("path", "")
    knobs = {"LAB_FLOOR": floor, "LAB_CUPTI": cupti}
    off = ["-q", "--gpu", "off"]
    commands = {
        "bare": Command(program, alone("bare", *arguments)),
        "floor": Command(program, alone("floor", *arguments), knobs),
        "lineprof": Command(program, profiled("lineprof", *arguments)),
        "lines alone": Command(program, profiled("lines", *arguments, options=off)),
    }
    for name, module in OTHERS.items():
        if not lab.lack(module):
            words = alone(name, *arguments)
            same = for_proton(lab, cupti) if "same" in name else {}
            commands[name] = Command(program, words, same)
    ran = lab.in_turn(commands, rounds)
    for name, one in ran.items():
        ns = one.said.get("ns", [])
        lab.figure(**{f"{what}, {name}": f"{median(ns):.0f} ns" if ns else one.gist})
        if name not in OTHERS:
            lab.expect_well(one)
    return {name: one for name, one in ran.items() if one.said.get("ns")}


def for_proton(lab: Lab, cupti: str) -> dict[str, Path]:
    """Return the environment in which Proton loads this libcupti, not its own."""
    folder = lab.folder / "cupti"
    folder.mkdir(exist_ok=True)
    (folder / "libcupti.so").unlink(missing_ok=True)
    (folder / "libcupti.so").symlink_to(cupti)
    return {"TRITON_CUPTI_LIB_PATH": folder}


def ratio_of_turns(ours: Ran, theirs: Ran) -> float:
    """Return the median of the ratios of the rounds but the first, which warms up."""
    pairs = zip(ours.said["ns"][1:], theirs.said["ns"][1:], strict=True)
    return median(one / other for one, other in pairs)


def expect_ratios(
    lab: Lab, ran: dict[str, Ran], what: str, most: dict[str, float]
) -> None:
    """Record the ratios of lineprof to others; those to other profilers are at most 1.

    most: the largest ratio to the result of a name.
    """
    if "lineprof" not in ran:
        return
    limits = {**dict.fromkeys(OTHERS, 1.0), **most}
    for name in [one for one in ran if one != "lineprof"]:
        ratio = ratio_of_turns(ran["lineprof"], ran[name])
        lab.figure(**{f"{what}, lineprof to {name}": round(ratio, 4)})
        lab.expect(
            ratio <= limits.get(name, ratio) or lab.doubles,
            f"{what}: it takes {ratio:.3f} times as long as {name}",
        )
