"""Kernels are recorded, and Load is on the line that loads, eagerly or lazily.

The figures are ms of Load and of time: of the lines that load a module and a library,
get a kernel of it, and launch it twice, and of the line that creates the context; and,
without lineprof, the calls of the driver in which CUPTI says that something is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import INSIDE
from overhead import WHERE

if TYPE_CHECKING:
    from lab import Lab, Ran

NEEDS = ()
ROUNDING_NS = 1000

NAMES = """
@profile
def work():
    for _ in range(5):
        module = gpu.load()
        gpu.run(module)  #> kernels=5
        gpu.empty()  #> kernels=5
    gpu.wait()

gpu.init()
work()
"""
LOADS = """
@profile
def begin():
    gpu.init()  # a context

@profile
def work():
    module = gpu.load()  # a module
    function = gpu.function(module, "short_lived")
    gpu.launch(function, 0)  # of the module  #> kernels=1
    gpu.launch(function, 0)  # of the module again  #> kernels=1
    library = gpu.library()  # a library
    kernel = gpu.kernel(library, "short_lived")
    gpu.launch(kernel, 0)  # of the library  #> kernels=1
    gpu.launch(kernel, 0)  # of the library again  #> kernels=1
    gpu.wait()

begin()
work()
"""
# The same steps; CUPTI tells inside/loads.c what loads.
CALLS = """
import ctypes
import sys

tool = ctypes.CDLL(sys.argv[1])
tool.loads_log.restype = ctypes.c_char_p
say(status=tool.loads_open(sys.argv[2].encode()))
calls = {}

def step(name, call, *words):
    made = call(*words)
    calls[name] = tool.loads_log().decode()
    return made

step("context", gpu.init)
module = step("module", gpu.load)
function = step("its function", gpu.function, module, "short_lived")
step("first launch", gpu.launch, function, 0)
step("second launch", gpu.launch, function, 0)
library = step("library", gpu.library)
kernel = step("its kernel", gpu.kernel, library, "short_lived")
step("its first launch", gpu.launch, kernel, 0)
step("its second launch", gpu.launch, kernel, 0)
gpu.wait()
say(calls=calls)
"""
# Lines that may load, and one that has nothing left to load.
LINES = {
    "module": ("# a module", "gpu.function(", "# of the module  ", "module again"),
    "library": ("# a library", "gpu.kernel(", "# of the library  ", "library again"),
}


def check(lab: Lab) -> None:
    for how in ("EAGER", "LAZY"):
        ran = lab.kernprof(NAMES, CUDA_MODULE_LOADING=how)
        if lab.expect_well(ran):
            lab.expect_marks(ran)
            lab.expect_whole(ran)
            names = ran.names("gpu.run(module)", "kernel")
            lab.figure(**{how: names})
            lab.expect(names == {"short_lived": 5}, f"{how}: the names are {names}")
        ran = lab.kernprof(LOADS, CUDA_MODULE_LOADING=how)
        if lab.expect_well(ran):
            lab.expect_marks(ran)
            lab.expect_whole(ran)
            check_loads(lab, ran, how)
    tool = lab.compiled("loads", INSIDE / "loads.c")
    path = lab.python(WHERE).said.get("path", "")
    for how in ("EAGER", "LAZY"):
        ran = lab.python(CALLS, tool, path, CUDA_MODULE_LOADING=how)
        lab.figure(**{f"{how}, calls that load": ran.said or ran.gist})


def check_loads(lab: Lab, ran: Ran, how: str) -> None:
    """Check that what loads has Load, and nothing else."""
    context = ran.line("# a context").load_ns
    lab.figure(**{f"{how}, context": spelled(ran, ["# a context"])})
    # The double's context is created without a call.
    lab.expect(lab.doubles or context, f"{how}: the context has no Load")
    for what, lines in LINES.items():
        loads = [ran.line(words).load_ns for words in lines]
        said = spelled(ran, lines)
        lab.figure(**{f"{how}, {what}": said})
        lab.expect(sum(loads), f"{how}: no line of the {what} has Load: {said}")
        lab.expect(not loads[-1], f"{how}: the second launch has Load: {said}")
        if how == "EAGER":
            lab.expect(loads[0], f"{how}: the line that loads has no Load: {said}")
        for words, load in zip(lines, loads):
            time = ran.time_ns(words)
            lab.expect(
                load <= time + ROUNDING_NS,
                f"{how}: `{words}` has {load} ns of Load in {time} ns",
            )


def spelled(ran: Ran, lines: list[str] | tuple[str, ...]) -> str:
    """Return Load and time of lines."""
    both = [(ran.line(words).load_ns, ran.time_ns(words)) for words in lines]
    return ", ".join(f"{load / 1e6:.3f} of {time / 1e6:.3f} ms" for load, time in both)
