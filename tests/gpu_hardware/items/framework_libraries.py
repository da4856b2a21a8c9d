"""One libcupti serves lineprof and each framework that is installed.

The figures are the libcupti that each of them uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import NotRunError

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
FRAMEWORKS = {
    "torch": "import torch\ntorch.ones(3, device='cuda').sum().item()\n",
    "cupy": "import cupy\ncupy.ones(3).sum().item()\n",
    "jax": "import jax\nfloat(jax.numpy.ones(3).sum())\n",
    "tensorflow": "import tensorflow\ntensorflow.ones(3) + 1\n",
}
ALSO = tuple(FRAMEWORKS)


def check(lab: Lab) -> None:
    if all(lab.lack(name) for name in FRAMEWORKS):
        raise NotRunError("; ".join(map(lab.lack, FRAMEWORKS)))
    for name, text in FRAMEWORKS.items():
        if lab.lack(name):
            continue
        ran = lab.kernprof(f"{text}\nsay(cupti=mapped('libcupti'))\n")
        if lab.expect_well(ran):
            many = ran.said["cupti"]
            lab.expect(len(many) == 1, f"{len(many)} libcupti beside {name}: {many}")
            lab.figure(**{f"cupti_of_{name}": many})
