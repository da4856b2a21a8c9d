"""Doubles of NVIDIA's libraries: they behave as the real ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gpu_double import Play


FUNCTIONS = [
    *("GetVersion", "GetResultString", "GetTimestamp", "Finalize", "GetCallbackName"),
    *("Subscribe", "Unsubscribe", "EnableCallback", "EnableDomain"),
    *("ActivityRegisterCallbacks", "ActivityRegisterTimestampCallback"),
    *("ActivityEnable", "ActivityDisable", "ActivityGetNextRecord"),
    *("ActivityGetNumDroppedRecords", "ActivityFlushAll", "ActivityFlushPeriod"),
    *("ActivitySetAttribute", "ActivityConfigureUnifiedMemoryCounter"),
    *("ActivityPushExternalCorrelationId", "ActivityPopExternalCorrelationId"),
    *("GetGraphNodeId", "GetGraphId", "GetGraphExecId", "GetDeviceId", "GetContextId"),
    *("GetCallbackState", "SetThreadIdType"),
]

# Bytes of the record of a kernel, a copy and a memset, by version.
SIZES = {
    17: (176, 88, 88),
    118: (200, 88, 88),
    18: (208, 88, 88),
    24: (208, 88, 88),
    28: (208, 96, 88),
    130001: (216, 96, 88),
    130101: (224, 96, 88),
    130202: (224, 96, 88),
    130301: (232, 96, 88),
    130401: (248, 112, 104),
    130501: (248, 112, 104),
}


# --- the driver ----------------------------------------------------------------


def test_cupti_has_every_function_that_a_client_needs(play: Play) -> None:
    play(f"for name in {FUNCTIONS}: getattr(Client(start=False).cupti, 'cupti' + name)")


def test_the_workload_runs_without_cupti(play: Play) -> None:
    play("""
        assert gpu.fk_init() == 0
        assert gpu.fk_launch(b"kernel", 0, 1000) == 0
        assert gpu.fk_memcpy(1, 64, 10, 1, 1, 3) == 0
        assert gpu.fk_sync(0, 0, -1) == 0
        assert gpu.fk_launch_from_native_thread(b"kernel", 10, 5) == 0
    """)


def test_an_uninitialized_driver_has_only_a_version(
    play: Play,
) -> None:
    play(
        """
        number = ctypes.c_int()
        assert gpu.cuDriverGetVersion(ctypes.byref(number)) == 0
        assert number.value == 12040
        assert gpu.cuDeviceGetCount(ctypes.byref(number)) == 3
        assert gpu.cuCtxGetCurrent(ctypes.byref(ctypes.c_void_p())) == 3
        assert gpu.cuCtxSynchronize() == 3
        assert gpu.fk_launch(b"kernel", 0, 1) == 3
        assert gpu.fk_cuinit_calls() == 0
        gpu.fk_init()
        assert gpu.fk_cuinit_calls() == 1
        assert gpu.cuDeviceGetCount(ctypes.byref(number)) == 0
        assert number.value == 3
        """,
        FAKE_CUDA_DRIVER_VERSION=12040,
        FAKE_CUDA_DEVICES=3,
        FAKE_CUPTI_VERSION=22,
    )


def test_devices_have_names_and_attributes(play: Play) -> None:
    play("""
        gpu.fk_init()
        name, value = ctypes.create_string_buffer(64), ctypes.c_int()
        assert gpu.cuDeviceGetName(name, 64, 1) == 0
        assert name.value == b"NVIDIA H200"
        assert gpu.cuDeviceGetName(name, 64, 2) == 101
        assert gpu.cuDeviceGetAttribute(ctypes.byref(value), 16, 0) == 0
        assert value.value == 132
        assert gpu.cuDeviceGetAttribute(ctypes.byref(value), 9999, 0) == 1
    """)


def test_each_call_of_the_driver_can_be_made_to_fail(play: Play) -> None:
    play(
        """
        gpu.fk_init()
        assert gpu.cuCtxSynchronize() == 700
        assert gpu.cuCtxPopCurrent_v2(None) == 999
        """,
        FAKE_CUDA_FAIL="cuCtxSynchronize:700,cuCtxPopCurrent_v2",
    )


def test_contexts_are_pushed_popped_and_destroyed(play: Play) -> None:
    play("""
        client = Client()
        client.watch(3)
        gpu.fk_init()
        current, other = ctypes.c_void_p(), ctypes.c_void_p()
        assert gpu.cuCtxGetCurrent(ctypes.byref(current)) == 0
        uid = gpu.fk_ctx_create(1)
        assert uid == 2
        gpu.cuCtxGetCurrent(ctypes.byref(other))
        number = ctypes.c_uint32()
        client("GetContextId", other, ctypes.byref(number))
        assert number.value == 2
        client("GetDeviceId", other, ctypes.byref(number))
        assert number.value == 1
        assert gpu.fk_ctx_destroy(uid) == 0
        assert gpu.fk_ctx_destroy(uid) == 201
        gpu.cuCtxGetCurrent(ctypes.byref(other))
        assert other.value == current.value
        assert gpu.cuCtxPushCurrent_v2(current) == 0
        assert gpu.cuCtxPopCurrent_v2(ctypes.byref(other)) == 0
        assert [cbid for cbid, _, _ in client.resources] == [5, 1, 1, 2]
    """)


# --- versions ------------------------------------------------------------------


@pytest.mark.parametrize("version", SIZES)
def test_records_have_the_size_of_their_release(play: Play, version: int) -> None:
    play(
        f"""
        kernel, copy, memset = {SIZES[version]}
        client = Client()
        number = ctypes.c_uint32()
        client("GetVersion", ctypes.byref(number))
        assert number.value == {18 if version == 118 else version}
        client.enable(*DEVICE_KINDS)
        gpu.fk_init()
        gpu.fk_launch_config(b"_Z3addPf", 3, 1000, 1, 2, 3, 4, 5, 6, 40, 128, 256)
        gpu.fk_memcpy(2, 4096, 500, 1, 3, 1)
        gpu.fk_memset(64, 10, 0)
        gpu.fk_sync(0, 0, -1)
        client.flush()
        assert sum(client.sizes) == kernel + copy + memset
        [k], [c], [m] = map(client.of, DEVICE_KINDS)
        assert k.name == "_Z3addPf"
        assert (k.gx, k.gy, k.gz, k.bx, k.by, k.bz) == (1, 2, 3, 4, 5, 6)
        assert (k.registers, k.static, k.dynamic) == (40, 128, 256)
        assert (k.end - k.start, k.completed, k.node) == (1000, k.end, 0)
        assert (k.device, k.context, k.stream) == (0, 1, 10)
        assert (c.direction, c.source, c.target, c.bytes) == (2, 3, 1, 4096)
        assert (c.end - c.start, c.flags, c.stream) == (500, 0, 7)
        assert (m.bytes, m.target, m.end - m.start) == (64, 3, 10)
        assert k.correlation < c.correlation < m.correlation
        """,
        FAKE_CUPTI_VERSION=version,
    )


@pytest.mark.parametrize(
    ("version", "get_version", "subscribe"),
    [(17, 0, 15), (28, 0, 15), (130001, 0, 999), (130301, 999, 999)],
)
def test_cupti_without_a_driver_refuses(
    play: Play, version: int, get_version: int, subscribe: int
) -> None:
    script = f"""
        client = Client(start=False)
        number = ctypes.c_uint32()
        assert client.result("GetVersion", ctypes.byref(number)) == {get_version}
        assert number.value == {0 if get_version else version}
        at = ctypes.byref(client.subscriber)
        assert client.result("Subscribe", at, client.called, None) == {subscribe}
        assert client.result("ActivityFlushAll", 0) == {subscribe}
    """
    play(script, driver=False, FAKE_CUPTI_VERSION=version)


def test_cupti_13_2_without_a_driver_crashes_at_its_version(play: Play) -> None:
    script = """
        client = Client(start=False)
        client.result("GetVersion", ctypes.byref(ctypes.c_uint32()))
    """
    message = play.dies(script, driver=False, FAKE_CUPTI_VERSION=130202)
    assert message.startswith("cuptiGetVersion of CUDA 13.2 without a driver")
    play(script, FAKE_CUPTI_VERSION=130202)


def test_newer_releases_have_newer_functions(play: Play) -> None:
    script = """
        client = Client(start=False)
        names = "Subscribe_v2 ActivityEnable_v2 ActivityGetNextRecord_v2"
        names += " ActivityGetEnabledKinds IsTracingSessionRunning"
        print(sum(hasattr(client.cupti, f"cupti{name}") for name in names.split()))
    """
    for library, count in (("", 0), ("_13_2", 3), ("_13_3", 5), ("_13_4", 5)):
        assert play(script, cupti=f"fake_cupti{library}") == f"{count}\n"


def test_cupti_refuses_a_driver_that_is_older(play: Play) -> None:
    play(
        """
        client = Client(start=False)
        at = ctypes.byref(client.subscriber)
        assert client.result("Subscribe", at, client.called, None) == 15
        """,
        FAKE_CUPTI_VERSION=28,
        FAKE_CUDA_DRIVER_VERSION=12080,
    )


def test_an_old_release_refuses_newer_callbacks_and_kinds(play: Play) -> None:
    play(
        """
        client = Client()
        enable = lambda cbid: client.result(
            "EnableCallback", 1, client.subscriber, 2, cbid)
        assert enable(211) == 0
        assert enable(505) == 1
        assert client.result("ActivityEnable", 55) == 21
        """,
        FAKE_CUPTI_VERSION=17,
    )


# --- callbacks -----------------------------------------------------------------


def test_a_launch_is_a_runtime_call_around_a_driver_call(play: Play) -> None:
    play("""
        client = Client()
        client.watch(1, 307)
        client.watch(2, 211, 505)
        client.enable(KERNEL)
        gpu.fk_init()
        gpu.fk_launch(b"kernel", 0, 10)
        assert [(c.site, c.domain, c.cbid) for c in client.calls] == [
            ("enter", 2, 505), ("enter", 1, 307), ("exit", 1, 307), ("exit", 2, 505)]
        assert {c.function for c in client.calls} == {
            "cuLaunchKernel", "__cudaLaunchKernel"}
        assert [c.result for c in client.calls] == [None, None, 0, 0]
        assert {c.thread for c in client.calls} == {threading.get_native_id()}
        gpu.fk_through(307, 211)
        gpu.fk_launch(b"kernel", 0, 10)
        assert client.calls[4].function == "cudaLaunchKernel"
        gpu.fk_through(307, 0)
        gpu.fk_launch(b"kernel", 0, 10)
        assert [c.cbid for c in client.calls[8:]] == [307, 307]
        gpu.fk_sync(0, 0, -1)
        client.flush()
        ids = [r.correlation for r in client.of(KERNEL)]
        assert len(set(ids)) == 3
        assert [c.correlation for c in client.calls] == [
            *[ids[0]] * 4, *[ids[1]] * 4, *[ids[2]] * 2]
    """)


@pytest.mark.parametrize("whose", ["driver", "runtime"])
def test_runtime_and_driver_may_have_separate_correlation_ids(
    play: Play, whose: str
) -> None:
    play(
        f"""
        client = Client()
        client.watch(1, 307)
        client.watch(2, 505)
        client.enable(KERNEL)
        gpu.fk_init()
        gpu.fk_launch(b"kernel", 0, 10)
        gpu.fk_sync(0, 0, -1)
        client.flush()
        runtime, driver = (c.correlation for c in client.calls[:2])
        assert runtime != driver
        assert client.of(KERNEL)[0].correlation == {whose}
        """,
        FAKE_CUPTI_IDS=whose,
    )


def test_correlation_ids_wrap_around_and_are_never_0(play: Play) -> None:
    play(
        """
        client = Client()
        client.watch(1, 307)
        gpu.fk_init()
        gpu.fk_through(307, 0)
        for _ in range(4):
            gpu.fk_launch(b"kernel", 0, 10)
        ids = [c.correlation for c in client.calls if c.site == "enter"]
        assert ids == [2**32 - 2, 2**32 - 1, 1, 2], ids
        """,
        FAKE_CUPTI_FIRST_ID=2**32 - 3,  # the id of cuInit
    )


def test_a_launch_that_fails_leaves_no_record(play: Play) -> None:
    play("""
        client = Client()
        client.watch(1, 307)
        client.enable(KERNEL)
        gpu.fk_init()
        assert gpu.fk_launch_failing(b"kernel", 0, 701) == 701
        gpu.fk_launch(b"kernel", 0, 10)
        gpu.fk_sync(0, 0, -1)
        client.flush()
        assert [c.result for c in client.calls] == [None, 701, None, 0]
        assert client.names() == ["kernel"]
    """)


def test_calls_are_recorded_if_enabled(play: Play) -> None:
    play("""
        client = Client()
        client.enable(DRIVER, RUNTIME, SYNC)
        client("SetThreadIdType", 1)
        gpu.fk_init()
        gpu.fk_launch(b"kernel", 0, 10)
        gpu.fk_sync(1, 2, -1)
        gpu.fk_call_result(2, 17, 4)
        client.flush()
        cbids = lambda kind: [r.cbid for r in client.of(kind)]
        assert cbids(RUNTIME) == [505, 131, 17]
        assert cbids(DRIVER) == [1, 307, 126]
        last = client.of(RUNTIME)[-1]
        assert (last.result, last.thread) == (4, threading.get_native_id())
        assert last.start <= last.end <= time.monotonic_ns()
        [sync] = client.of(SYNC)
        assert (sync.type, sync.context, sync.stream) == (3, 1, 9)
    """)


def test_callbacks_have_function_names(play: Play) -> None:
    play("""
        client = Client()
        name = ctypes.c_char_p()
        def ask(domain, cbid):
            status = client.result("GetCallbackName", domain, cbid, ctypes.byref(name))
            return status or name.value
        assert ask(1, 276) == b"cuMemcpyHtoD_v2"
        assert ask(2, 31) == b"cudaMemcpy_v3020"
        assert ask(1, 1000) == 1
        client.watch(2, 31)
        gpu.fk_call(2, 31)
        assert client.calls[0].function == "cudaMemcpy"
    """)


def test_the_workload_runs_with_and_without_the_gil(play: Play) -> None:
    play("""
        client = Client()
        client.watch(1, 307)
        client.enable(KERNEL)
        gpu.fk_init()
        held = workload(holding_the_gil=True)
        assert held.fk_launch(b"held", 0, 10) == 0
        assert gpu.fk_launch(b"free", 0, 10) == 0
        gpu.fk_sync(0, 0, -1)
        client.flush()
        assert client.names() == ["held", "free"]
        assert len(client.calls) == 4
    """)


def test_native_launches_run_on_other_threads(play: Play) -> None:
    play("""
        client = Client()
        client.watch(1, 307)
        client.enable(KERNEL)
        gpu.fk_init()
        assert gpu.fk_launch_from_native_thread(b"one", 10, 2) == 0
        for _ in range(3):
            gpu.fk_launch_from_native_thread_async(b"many", 10, 50)
        assert gpu.fk_native_join() == 0
        gpu.fk_sync(0, 0, -1)
        client.flush()
        assert sorted(client.names()) == ["many"] * 150 + ["one"] * 2
        threads = {c.thread for c in client.calls}
        assert len(threads) in {2, 3, 4}  # thread numbers may be reused
        assert threading.get_native_id() not in threads
    """)
