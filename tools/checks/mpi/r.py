"""Sum over all ranks: rank N sleeps and runs its loop N + 1 times as long as rank 0.

The argument is the exit status.
"""

# mypy: ignore-errors

from __future__ import annotations

import builtins
import sys
import time

from mpi4py import MPI

profile = getattr(builtins, "profile", lambda function: function)
comm = MPI.COMM_WORLD


@profile
def work(rounds: int) -> int:
    """Add up numbers below `rounds`."""
    total = 0
    for number in range(rounds):
        total += number  # the hits differ by rank
    return total


@profile
def pause() -> None:
    """Take 50 ms in rank 0, 200 ms in rank 3."""
    time.sleep(0.05 * (comm.rank + 1))


@profile
def exchange(value: int) -> int:
    """Return the sum of `value` over all ranks."""
    for _ in range(3):
        comm.Barrier()  # 3 hits, MPI time
    return comm.allreduce(value)


pause()
total = exchange(work(100 * (comm.rank + 1)))
sys.stdout.write(f"rank {comm.rank}: {total}\n")
sys.stdout.flush()
comm.Barrier()
MPI.Finalize()
sys.exit(int(sys.argv[1]))
