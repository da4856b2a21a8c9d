"""Rank of this process in a parallel program, as its launcher says.

Launchers tell each process its rank and the number of ranks in environment variables;
no function of MPI is called.
"""

from __future__ import annotations

import os
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import NamedTuple

    class Rank(NamedTuple):
        """The place of one process in a parallel program."""

        rank: int  # from 0
        ranks: int | None  # the number of processes; None if the launcher does not say
        local_rank: int | None  # among those of this machine; None if unknown
        launcher: str  # its name, as users know it

    class _Variables(NamedTuple):
        launcher: str
        rank: str
        ranks: tuple[str, ...]  # the first one that is set counts
        local_rank: tuple[str, ...]
        needs: str = ""  # this variable is set as well; "" if no other is needed

else:
    Rank = namedtuple("Rank", "rank ranks local_rank launcher")
    _Variables = namedtuple(
        "_Variables", "launcher rank ranks local_rank needs", defaults=("",)
    )

# If two launchers are in the environment, one was started by the other: the inner one
# is first here. torchrun runs below mpirun or srun, mpirun in a job of Slurm.
_LAUNCHERS = (
    _Variables(
        launcher="torchrun",
        rank="RANK",
        ranks=("WORLD_SIZE",),
        local_rank=("LOCAL_RANK",),
        needs="TORCHELASTIC_RUN_ID",
    ),
    _Variables(
        launcher="a launcher of PyTorch",  # of DeepSpeed, for example
        rank="RANK",
        ranks=("WORLD_SIZE",),
        local_rank=("LOCAL_RANK",),
        needs="LOCAL_RANK",
    ),
    _Variables(
        launcher="jsrun",  # it also sets variables of Open MPI
        rank="JSM_NAMESPACE_RANK",
        ranks=("JSM_NAMESPACE_SIZE",),
        local_rank=("JSM_NAMESPACE_LOCAL_RANK",),
    ),
    _Variables(
        launcher="Open MPI",
        rank="OMPI_COMM_WORLD_RANK",
        ranks=("OMPI_COMM_WORLD_SIZE",),
        local_rank=("OMPI_COMM_WORLD_LOCAL_RANK",),
    ),
    _Variables(
        launcher="MVAPICH2",
        rank="MV2_COMM_WORLD_RANK",
        ranks=("MV2_COMM_WORLD_SIZE",),
        local_rank=("MV2_COMM_WORLD_LOCAL_RANK",),
    ),
    _Variables(
        launcher="PALS",  # of HPE Cray; these two also set variables of PMI
        rank="PALS_RANKID",
        ranks=("PALS_SIZE", "PMI_SIZE"),
        local_rank=("PALS_LOCAL_RANKID",),
    ),
    _Variables(
        launcher="Flux",
        rank="FLUX_TASK_RANK",
        ranks=("FLUX_JOB_SIZE",),
        local_rank=("FLUX_TASK_LOCAL_ID",),
    ),
    _Variables(
        launcher="PMI",  # the launcher of MPICH and Intel MPI; srun --mpi=pmi2
        rank="PMI_RANK",
        ranks=("PMI_SIZE",),
        local_rank=("MPI_LOCALRANKID", "PMI_LOCAL_RANK"),
    ),
    _Variables(
        launcher="PMIx",
        rank="PMIX_RANK",
        ranks=(),
        local_rank=(),
        needs="PMIX_NAMESPACE",
    ),
    _Variables(
        launcher="srun",
        rank="SLURM_PROCID",
        ranks=("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        local_rank=("SLURM_LOCALID",),
        needs="SLURM_STEP_ID",
    ),
    _Variables(
        launcher="RANK and WORLD_SIZE",  # set by hand, or for each pod
        rank="RANK",
        ranks=("WORLD_SIZE",),
        local_rank=(),
        needs="WORLD_SIZE",
    ),
)

_MOST_DIGITS = 9  # more is no rank: PMIx has 4294967294 for "any"


def rank_of_process(environ: Mapping[str, str] = os.environ) -> Rank | None:
    """Return this process' place in a parallel program; None if it runs alone.

    A program of one rank runs alone, and so does a batch script of Slurm: that has
    SLURM_PROCID and SLURM_NTASKS, but srun did not start it. Values that are no
    numbers, and ranks beyond the number of ranks, are passed over. A launcher that
    does not say the number of ranks gives a rank of an unknown number.
    """
    return next((place for _, place in _places(environ)), None)


def rank_variables(
    place: Rank, environ: Mapping[str, str] = os.environ
) -> tuple[set[str], set[str]]:
    """Return the variables that have the rank, and those that have the local rank.

    They are those of the launcher that `place` is of, and of others with the same rank
    and number of ranks: srun sets variables of its own and of PMI.
    """
    ranks: set[str] = set()
    local_ranks: set[str] = set()
    for names, other in _places(environ):
        if other.rank == place.rank and other.ranks in {None, place.ranks}:
            ranks.add(names.rank)
            local_ranks.update(names.local_rank)
    return ranks, local_ranks


def _places(environ: Mapping[str, str]) -> Iterator[tuple[_Variables, Rank]]:
    """Yield what each launcher in the environment says, the innermost one first.

    Launchers that should say the number of ranks, and do not, come last. None that
    does not say the number counts if an inner one started a program of one rank:
    mpirun of Open MPI also sets the variables of PMIx.
    """
    is_alone = False
    unknown: list[tuple[_Variables, Rank]] = []
    for names in _LAUNCHERS:
        rank = _number(environ.get(names.rank))
        if rank is None or not _has_started(names, environ):
            continue
        is_said = any(name in environ for name in names.ranks)
        ranks = _first_number(names.ranks, environ)
        if is_said and ranks is None:
            continue
        local = _first_number(names.local_rank, environ)
        place = Rank(rank, ranks, local, names.launcher)
        if ranks is not None:
            is_alone = is_alone or (rank, ranks) == (0, 1)
            if rank < ranks != 1:
                yield names, place
        elif is_alone or names.rank == "RANK":  # a variable of many programs
            continue
        elif names.ranks:
            unknown.append((names, place))
        else:
            yield names, place
    if not is_alone:
        yield from unknown


def digits(place: Rank) -> str:
    """Return the rank as it stands in names of files: in 4 digits, or more if needed.

    All ranks of a program have as many digits.
    """
    width = max(4, len(str((place.ranks or 1) - 1)))
    return f"{place.rank:0{width}}"


def _has_started(names: _Variables, environ: Mapping[str, str]) -> bool:
    """Tell whether the launcher itself started this process."""
    if not names.needs:
        return True
    value = environ.get(names.needs, "")
    if names.launcher == "srun":  # the batch script has no step, or one of 10 digits
        return _number(value) is not None
    if names.launcher == "PMIx":  # that of srun --mpi=pmix: srun says how many
        return value != "" and not value.startswith("slurm.")
    return value != ""


def _first_number(names: tuple[str, ...], environ: Mapping[str, str]) -> int | None:
    """Return the number in the first of these variables that is set."""
    return next((_number(environ[name]) for name in names if name in environ), None)


def _number(value: str | None) -> int | None:
    """Return a rank or a number of ranks; None if the text is neither."""
    if value is None or not (value.isascii() and value.isdigit()):
        return None
    return int(value) if len(value) <= _MOST_DIGITS else None
