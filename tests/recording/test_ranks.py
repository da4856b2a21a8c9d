"""Ranks come from the environment variables of the launcher that is innermost."""

from __future__ import annotations

import pytest

from lineprof import LineProfiler
from lineprof.ranks import rank_of_process

OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "PMIX_RANK": "3",
    "PMIX_NAMESPACE": "prterun-node-4711@1",
}
HYDRA = {"PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1", "PMI_FD": "9"}
BATCH_SCRIPT = {"SLURM_PROCID": "0", "SLURM_NTASKS": "32", "SLURM_LOCALID": "0"}
STEP = {
    **BATCH_SCRIPT,
    "SLURM_STEP_ID": "2",
    "SLURM_STEP_NUM_TASKS": "16",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
}
TORCHRUN = {
    "RANK": "2",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "0",
    "TORCHELASTIC_RUN_ID": "none",
}
FLUX = {"FLUX_TASK_RANK": "3", "FLUX_JOB_SIZE": "8", "FLUX_TASK_LOCAL_ID": "1"}

PLACES = {
    "Open MPI": (OPEN_MPI, (3, 8, 1, "Open MPI")),
    "MPICH and Intel MPI": (HYDRA, (3, 8, 1, "PMI")),
    "MVAPICH2": (
        {
            "MV2_COMM_WORLD_RANK": "3",
            "MV2_COMM_WORLD_SIZE": "8",
            "MV2_COMM_WORLD_LOCAL_RANK": "1",
        },
        (3, 8, 1, "MVAPICH2"),
    ),
    "PMIx alone": (
        {"PMIX_RANK": "3", "PMIX_NAMESPACE": "prte.4711.1"},
        (3, None, None, "PMIx"),
    ),
    "srun": (STEP, (5, 16, 1, "srun")),
    "srun --mpi=pmi2": (
        {**STEP, "PMI_RANK": "5", "PMI_SIZE": "16"},
        (5, 16, None, "PMI"),
    ),
    "srun --mpi=pmix": (
        {**STEP, "PMIX_RANK": "5", "PMIX_NAMESPACE": "slurm.pmix.77.2"},
        (5, 16, 1, "srun"),
    ),
    "mpirun of Open MPI in sbatch": (
        {**BATCH_SCRIPT, **OPEN_MPI},
        (3, 8, 1, "Open MPI"),
    ),
    "mpiexec of MPICH that srun helps": ({**STEP, **HYDRA}, (3, 8, 1, "PMI")),
    "torchrun": (TORCHRUN, (2, 4, 0, "torchrun")),
    "torchrun in srun": ({**STEP, **TORCHRUN}, (2, 4, 0, "torchrun")),
    "torchrun in mpirun": ({**OPEN_MPI, **TORCHRUN}, (2, 4, 0, "torchrun")),
    "DeepSpeed in srun": (
        {**STEP, "RANK": "2", "WORLD_SIZE": "4", "LOCAL_RANK": "0"},
        (2, 4, 0, "a launcher of PyTorch"),
    ),
    "mpirun in a pod with a rank": (
        {**OPEN_MPI, "RANK": "1", "WORLD_SIZE": "2"},
        (3, 8, 1, "Open MPI"),
    ),
    "by hand": ({"RANK": "1", "WORLD_SIZE": "2"}, (1, 2, None, "RANK and WORLD_SIZE")),
    "jsrun": (
        {
            "JSM_NAMESPACE_RANK": "3",
            "JSM_NAMESPACE_SIZE": "8",
            "JSM_NAMESPACE_LOCAL_RANK": "1",
            **OPEN_MPI,
        },
        (3, 8, 1, "jsrun"),
    ),
    "Flux": ({**FLUX, "PMI_RANK": "3", "PMI_SIZE": "8"}, (3, 8, 1, "Flux")),
    "Flux in Slurm": ({**STEP, **FLUX}, (3, 8, 1, "Flux")),
    "PALS": (
        {
            "PALS_RANKID": "3",
            "PALS_LOCAL_RANKID": "1",
            "PMI_RANK": "3",
            "PMI_SIZE": "8",
        },
        (3, 8, 1, "PALS"),
    ),
    "a launcher that does not say the number of ranks": (
        {"PMI_RANK": "3", "PMI_LOCAL_RANK": "1"},
        (3, None, 1, "PMI"),
    ),
    "such a launcher in srun": ({**STEP, "PMI_RANK": "5"}, (5, 16, 1, "srun")),
    "mpirun -n 1 in srun": (
        {**STEP, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"},
        (5, 16, 1, "srun"),
    ),
    "a local rank that is no number": (
        {**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_RANK": "x"},
        (3, 8, None, "Open MPI"),
    ),
}


@pytest.mark.parametrize("launcher", PLACES)
def test_the_innermost_launcher_says_rank_and_number(launcher: str) -> None:
    environ, expected = PLACES[launcher]
    place = rank_of_process(environ)
    assert place is not None
    assert (place.rank, place.ranks, place.local_rank, place.launcher) == expected


ALONE = {
    "no launcher": {},
    "a batch script of Slurm": BATCH_SCRIPT,
    "a batch script with the number of its own step": {
        **BATCH_SCRIPT,
        "SLURM_STEP_ID": "4294967291",
    },
    "a shell of srun --pty": {
        **BATCH_SCRIPT,
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NUM_TASKS": "1",
    },
    "a variable RANK of the user": {"RANK": "3"},
    "mpirun -n 1": {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"},
    "torchrun with one process": {**TORCHRUN, "RANK": "0", "WORLD_SIZE": "1"},
    "a rank beyond the number of ranks": {"PMI_RANK": "8", "PMI_SIZE": "8"},
    "no ranks at all": {"PMI_RANK": "0", "PMI_SIZE": "0"},
    "mpirun -n 1 of Open MPI 5": {
        **OPEN_MPI,
        "OMPI_COMM_WORLD_RANK": "0",
        "OMPI_COMM_WORLD_SIZE": "1",
        "PMIX_RANK": "0",
    },
    "mpiexec -n 1 with PMIx": {
        "PMI_RANK": "0",
        "PMI_SIZE": "1",
        "PMIX_RANK": "0",
        "PMIX_NAMESPACE": "prte.4711.1",
    },
    "mpirun -n 1 with a rank of PMI without a number": {
        "OMPI_COMM_WORLD_RANK": "0",
        "OMPI_COMM_WORLD_SIZE": "1",
        "PMI_RANK": "0",
    },
    "a RANK and a LOCAL_RANK of the user": {"RANK": "3", "LOCAL_RANK": "1"},
    "a PMIx rank for any process": {
        "PMIX_RANK": "4294967294",
        "PMIX_NAMESPACE": "prte.4711.1",
    },
}


@pytest.mark.parametrize("case", ALONE)
def test_a_program_that_runs_alone_has_no_rank(case: str) -> None:
    assert rank_of_process(ALONE[case]) is None


@pytest.mark.parametrize(
    "text", ["", " 1", "-1", "+1", "1.5", "one", "²", "٣", "9" * 5000]
)
def test_values_that_are_no_numbers_are_passed_over(text: str) -> None:
    for environ, _ in PLACES.values():
        rank_of_process(dict.fromkeys(environ, text))
        for name in environ:
            rank_of_process({**environ, name: text})
    assert rank_of_process({"PMI_RANK": text, "PMI_SIZE": "4"}) is None
    assert rank_of_process({"PMI_RANK": "1", "PMI_SIZE": text}) is None
    assert rank_of_process({**STEP, "SLURM_STEP_ID": text}) is None


def test_a_profile_has_the_rank_and_the_number_of_ranks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in HYDRA.items():
        monkeypatch.setenv(name, value)
    (process,) = LineProfiler().get_stats().processes
    assert (process.rank, process.ranks) == (3, 8)
    monkeypatch.setenv("PMI_SIZE", "1")
    (process,) = LineProfiler().get_stats().processes
    assert (process.rank, process.ranks) == (None, None)
