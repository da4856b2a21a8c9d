"""Collectives, and calls that send or receive messages between processes.

MPI and NCCL wait for a message by polling: the thread is on a processor all the while,
so the system does not count it as waiting.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.model.records import Key

_TORCH_FILE = "torch/distributed/distributed_c10d.py"  # the end of its path

_C_PREFIXES = (
    "mpi4py.MPI.",
    "cupy_backends.cuda.libs.nccl.",
    "cupy.cuda.nccl.",
    "NcclCommunicator.",  # of cupy, if the method does not tell its module
)


def is_torch(file: str) -> bool:
    """Tell whether `file` is the one with torch.distributed's collectives."""
    before = file.removesuffix(_TORCH_FILE)
    return before != file and before[-1:] in {"", "/"}


def is_collective(key: Key) -> bool:
    """Tell whether a function is a collective, or sends or receives a message."""
    file, _, name = key
    if not file:
        return name.startswith(_C_PREFIXES)
    return is_torch(file) and not name.startswith("<")  # <module> is the import


_TOGETHER = frozenset(  # collectives that no rank leaves before all have come
    (
        *("barrier", "allreduce", "allgather", "allgatherv"),
        *("alltoall", "alltoallv", "alltoallw", "reduce_scatter"),
    )
)


def ends_together(key: Key) -> bool:
    """Tell whether a function is a collective that all ranks leave at one time.

    Those of torch but its barrier may return before the ranks have met, as all of NCCL
    do.
    """
    file, _, name = key
    called = name.rpartition(".")[2].lower()
    if file:
        return is_torch(file) and name == "barrier"
    return name.startswith("mpi4py.MPI.") and called in _TOGETHER
