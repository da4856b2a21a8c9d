"""Settings of CUPTI that lineprof makes where the version has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gpu_rig import events, lost, run_of

if TYPE_CHECKING:
    from gpu_rig import Rig

pytestmark = pytest.mark.usefixtures("hook")

THREAD_BUFFERS = """
import ctypes, os

@profile
def f():
    gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1

f()
cupti = ctypes.CDLL(os.environ["LINEPROF_CUPTI"])
value, size = ctypes.c_uint8(), ctypes.c_size_t(1)
known = not cupti.cuptiActivityGetAttribute(9, ctypes.byref(size), ctypes.byref(value))
print(value.value if known else "unknown")
"""


@pytest.mark.parametrize(
    ("version", "said"), [(20, "unknown"), (21, "1"), (28, "1"), (130001, "1")]
)
def test_each_thread_has_buffers_of_its_own(rig: Rig, version: int, said: str) -> None:
    """CUPTI has this setting since 12.3; up to 12.9 it is off unless it is set."""
    rig.kernprof(THREAD_BUFFERS, FAKE_CUPTI_VERSION=version).ok(f"{said}\n").check()


def test_a_library_that_rejects_settings_records_all_the_same(rig: Rig) -> None:
    fails = "cuptiActivitySetAttribute,cuptiActivityEnableRuntimeApi"
    program = THREAD_BUFFERS.partition("cupti =")[0]
    knobs = {"FAKE_CUPTI_VERSION": 28, "FAKE_CUPTI_FAIL": fails}
    stats = rig.kernprof(program, "--gpu-api", **knobs).ok().check()
    assert run_of(stats).backend == "cupti"


QUERIES = """
@profile
def f():
    for query in 10, 11, 17, 317, 318, 324, 409:  # such as cudaGetLastError
        gpu.fk_call(2, query)
    for query in 16, 304, 310, 499, 536:  # such as cuCtxGetCurrent
        gpu.fk_call(1, query)
    gpu.fk_call(2, 16)  # cudaSetDevice
    gpu.fk_call(2, 138)  # cudaEventQuery
    gpu.fk_call(1, 120)  # cuEventQuery

f()
"""


@pytest.mark.parametrize(("version", "queries"), [(22, 7 + 5), (23, 0)])
def test_calls_that_only_ask_for_a_state_are_not_recorded(
    rig: Rig, version: int, queries: int
) -> None:
    """CUPTI can leave out single calls since 12.5."""
    ran = rig.kernprof(QUERIES, "--gpu-api", FAKE_CUPTI_VERSION=version).ok()
    stats = ran.stats()
    calls = [one for one in events(stats) if one.kind in {"runtime", "driver"}]
    names = [one.name for one in calls if one.path >= 0]
    others = ["cudaSetDevice", "cudaEventQuery", "cuEventQuery"]
    assert [name.partition("_")[0] for name in names[-3:]] == others
    assert len(names) == len(others) + queries
    assert lost(run_of(stats)) == (0, 0, 0, 0)
