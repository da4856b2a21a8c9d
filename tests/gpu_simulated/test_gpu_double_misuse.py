"""Failures of the double of CUPTI: made on purpose, and caused by misuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gpu_double import FROZEN_PRELUDE, SOURCES

if TYPE_CHECKING:
    from pathlib import Path

    from gpu_double import Play


def test_cupti_takes_one_subscriber(play: Play) -> None:
    script = """
        client = Client(start=False)
        at = ctypes.byref(client.subscriber)
        print(client.result("Subscribe", at, client.called, None))
        print(client.result("Subscribe", at, client.called, None))
    """
    assert play(script) == "0\n39\n"
    assert play(script, FAKE_CUPTI_SUBSCRIBE_RC=35) == "35\n35\n"


def test_each_call_of_cupti_can_be_made_to_fail(play: Play) -> None:
    play(
        """
        client = Client(start=False)
        assert client.result("ActivityFlushAll", 0) == 7
        assert client.result("ActivityFlushPeriod", 10) == 999
        number = ctypes.c_uint64()
        assert client.result("GetTimestamp", ctypes.byref(number)) == 15
        assert number.value == 0
        client("GetVersion", ctypes.byref(number))
        """,
        FAKE_CUPTI_FAIL="cuptiGetTimestamp:15,cuptiActivityFlushPeriod",
    )


MISUSES = {
    "cuptiFinalize was called": """
        client = Client()
        client("Finalize")
    """,
    "a kind was enabled before the clock was registered": """
        client = Client()
        client.enable(KERNEL)
        client("ActivityRegisterTimestampCallback", client.clock)
    """,
    "a kind is enabled before the buffer callbacks are": """
        Client(start=False).enable(KERNEL)
    """,
    "the buffer callbacks were registered twice": """
        client = Client()
        client("ActivityRegisterCallbacks", client.requested, client.completed)
    """,
    "cuptiEnableCallback: who is not subscribed": """
        Client(start=False).watch(1, 307)
    """,
    "migrations are enabled, but no counter is configured": """
        Client().enable(MIGRATION)
    """,
    "a destroyed context is made current": """
        gpu.fk_init()
        uid = gpu.fk_ctx_create(0)
        context = ctypes.c_void_p()
        gpu.cuCtxGetCurrent(ctypes.byref(context))
        gpu.fk_ctx_destroy(uid)
        gpu.cuCtxPushCurrent_v2(context)
    """,
}


@pytest.mark.parametrize("message", MISUSES)
def test_misuse_ends_the_process(play: Play, message: str) -> None:
    assert play.dies(MISUSES[message]) == message


def test_misuse_may_return_an_error_instead(play: Play) -> None:
    play(
        """
        client = Client()
        client("Unsubscribe", client.subscriber)
        assert client.result("EnableCallback", 1, client.subscriber, 1, 307) == 1
        """,
        FAKE_CUPTI_STRICT=0,
    )


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("self.flush()", "cuptiActivityFlushAll from inside a callback of CUPTI's"),
        ("self.enable(1)", "cuptiActivityEnable from inside a callback of CUPTI's"),
        ("gpu.cuCtxSynchronize()", "a callback of CUPTI's waits for the device"),
    ],
)
def test_callbacks_must_not_call_cupti(play: Play, inside: str, message: str) -> None:
    script = f"""
        class Nested(Client):
            def on_called(self, *_):
                {inside}

        client = Nested()
        client.watch(1, 307)
        gpu.fk_init()
        gpu.fk_launch(b"kernel", 0, 1)
    """
    assert play.dies(script) == message


SETTING_BUFFERS = """
    class Odd(Client):
        def on_requested(self, buffer, size, most):
            super().on_requested(buffer, size, most)
            {}

    client = Odd()
    client.enable(KERNEL)
    gpu.fk_init()
    gpu.fk_launch(b"kernel", 0, 0)
    client.flush()
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("buffer[0] += 4", "a buffer that is not aligned to 8 bytes"),
        ("buffer[0] = None", "no buffer: before CUDA 12.9 that may crash"),
        ("size[0] = 8", "a buffer too small for one record of 208 bytes"),
        ("most[0] = 2**63 - 1", "a buffer without its size or its number of records"),
    ],
)
def test_invalid_buffers_end_the_process(play: Play, change: str, message: str) -> None:
    assert play.dies(SETTING_BUFFERS.format(change), FAKE_CUPTI_VERSION=24) == message


def test_a_refused_buffer_loses_records_since_12_9(play: Play) -> None:
    script = (
        SETTING_BUFFERS.format("buffer[0] = None")
        + "    assert client.dropped() == 1\n"
    )
    play(script, FAKE_CUPTI_VERSION=28)


HOLDING = """
    lock, inside = threading.Lock(), threading.Event()

    class Holding(Client):
        def on_completed(self, *arguments):
            inside.set()
            with lock:
                super().on_completed(*arguments)

    client = Holding()
    client.enable(KERNEL)
    gpu.fk_init()
    gpu.fk_launch(b"kernel", 0, 0)
    with lock:
"""


def test_a_lock_held_over_a_flush_is_a_deadlock(play: Play) -> None:
    message = play.dies(HOLDING + "        client.flush()", FAKE_CUPTI_STUCK_MS=50)
    assert message == "cuptiActivityFlushAll: deadlock, a callback waits"


def test_a_lock_held_while_records_are_counted_is_a_deadlock(play: Play) -> None:
    script = """\
        threading.Thread(target=client.result, args=("ActivityFlushAll", 0)).start()
        inside.wait()
        client.dropped()
    """
    message = play.dies(HOLDING + script, FAKE_CUPTI_STUCK_MS=50)
    assert message.endswith("deadlock, a callback waits")


def test_cuda_does_not_survive_a_fork(play: Play) -> None:
    play("""
        client = Client()
        client.watch(1, 307)
        gpu.fk_init()
        child = os.fork()
        if not child:
            os._exit(gpu.fk_launch(b"kernel", 0, 1))
        assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 3
        child = os.fork()
        if not child:
            client.flush()
            os._exit(0)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == 6
        client.enable(KERNEL)
        gpu.fk_launch(b"kernel", 0, 0)
        client.flush()
        assert client.names() == ["kernel"]
    """)


def test_cuda_may_be_initialized_in_a_forked_child(play: Play) -> None:
    play("""
        client = Client()
        client.watch(1, 307)
        client.enable(KERNEL)
        child = os.fork()
        if not child:
            status = gpu.fk_init() or gpu.fk_launch(b"kernel", 0, 1)
            os._exit(status or 10 * len(client.calls))
        assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 20  # callbacks still come
        assert gpu.fk_cuinit_calls() == 0
    """)


def test_programs_have_the_workload_and_a_settable_clock(play: Play) -> None:
    play(f"{FROZEN_PRELUDE}gpu.fk_init()\ntick(5)\nprint(gpu.fk_clock())", frozen=True)


def test_all_doubles_were_built(doubles: Path) -> None:
    assert [name for name in SOURCES if not (doubles / f"{name}.so").is_file()] == []
