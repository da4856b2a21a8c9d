"""One libcupti serves lineprof and the frameworks, and an ordinary user may record.

The figures are versions, and the libcupti that lineprof and each framework use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
from lineprof import gpu_status

@profile
def work():
    for _ in range(3):
        gpu.empty()  #> kernels=3
    gpu.wait()

gpu.init()
work()
say(status=str(gpu_status()), cupti=mapped("libcupti.so"))
"""
FRAMEWORKS = {
    "torch": "import torch\ntorch.ones(3, device='cuda').sum().item()\n",
    "cupy": "import cupy\ncupy.ones(3).sum().item()\n",
    "jax": "import jax\nfloat(jax.numpy.ones(3).sum())\n",
    "tensorflow": "import tensorflow\ntensorflow.ones(3) + 1\n",
}


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.figure(**ran.said, cupti_version=ran.run.version)
    lab.expect_marks(ran)
    lab.expect_whole(ran)
    if not lab.doubles:
        many = ran.said["cupti"]
        lab.expect(len(many) == 1, f"{len(many)} libcupti are mapped: {many}")
    for name, text in FRAMEWORKS.items():
        if lab.lack(name):
            continue
        ran = lab.kernprof(f"{text}\nsay(cupti=mapped('libcupti.so'))\n")
        if lab.expect_well(ran):
            many = ran.said["cupti"]
            lab.expect(len(many) == 1, f"{len(many)} libcupti beside {name}: {many}")
            lab.figure(**{f"cupti_of_{name}": many})
