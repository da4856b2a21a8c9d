"""Records of the double of CUPTI: delivered as by the real library."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpu_double import Play


# --- records -------------------------------------------------------------------


def test_records_arrive_on_a_thread_of_cupti_in_small_buffers(play: Play) -> None:
    play(
        """
        client = Client()
        client.enable(KERNEL)
        gpu.fk_init()
        gpu.fk_launch_many(b"kernel", 10, 10)
        gpu.fk_sync(0, 0, -1)
        client.flush()
        assert len(client.names()) == 10
        assert client.sizes == [432] * 5
        assert threading.get_native_id() not in client.asked
        assert len(set(client.asked)) == 1
        """,
        FAKE_CUPTI_BUFFER_LIMIT=500,
    )


def test_several_buffers_are_in_flight(play: Play) -> None:
    play(
        """
        client = Client()
        client.enable(KERNEL)
        gpu.fk_init()
        gpu.fk_launch_many(b"kernel", 4, 10**15)
        client.flush()  # CUPTI's thread has seen all four; none is finished
        assert client.order == []
        gpu.fk_sync(0, 0, 0)
        client.flush()
        assert client.order == [*["asked"] * 3, *["came"] * 3, "asked", "came"]
        """,
        FAKE_CUPTI_BUFFER_LIMIT=400,
    )


def test_buffers_may_be_requested_on_a_thread_of_the_program(play: Play) -> None:
    play(
        """
        client = Client()
        client.enable(KERNEL)
        gpu.fk_init()
        gpu.fk_launch(b"kernel", 0, 10)
        assert client.asked == [threading.get_native_id()]
        gpu.fk_sync(0, 0, -1)
        client.flush()
        assert client.names() == ["kernel"]
        gpu.fk_launch(b"kernel", 0, 10**15)
        client.flush()
        assert len(client.buffers) == 1
        gpu.fk_sync(0, 0, -1)
        client.flush(forced=True)
        assert client.buffers == {}
        """,
        FAKE_CUPTI_REQUEST="app",
    )


def test_many_records_arrive_without_a_flush(play: Play) -> None:
    play("""
        client = Client()
        client.enable(KERNEL)
        gpu.fk_init()
        gpu.fk_launch_many(b"kernel", 6000, 0)
        client.delivered.wait()
        client.flush()
        assert len(client.names()) == 6000
    """)


def test_a_running_kernel_is_not_delivered(play: Play) -> None:
    play("""
        client = Client()
        client.enable(KERNEL)
        gpu.fk_init()
        gpu.fk_launch(b"short", 0, 0)
        gpu.fk_launch(b"long", 1, 10**15)
        gpu.fk_launch(b"longer", 2, 10**15)
        client.flush()
        assert client.names() == ["short"]
        gpu.fk_sync(1, 1, 0)
        client.flush()
        assert client.names() == ["short", "long"]
        assert client.records[1].end - client.records[1].start == 10**15
        client.flush(forced=True)
        assert client.names() == ["short", "long", "longer"]
        assert (client.records[2].start, client.records[2].end) == (0, 0)
    """)


def test_records_may_arrive_after_the_flush_has_returned(play: Play) -> None:
    play(
        """
        returned = threading.Event()

        class Late(Client):
            def on_completed(self, *arguments):
                returned.wait()
                super().on_completed(*arguments)

        client = Late()
        client.enable(KERNEL)
        gpu.fk_init()
        gpu.fk_launch(b"kernel", 0, 0)
        client.flush()
        returned.set()
        client.delivered.wait()
        assert client.names() == ["kernel"]
        """,
        FAKE_CUPTI_LATE_MS=1,
    )


def test_records_are_dropped_and_counted(play: Play) -> None:
    play(
        """
        client = Client()
        client.enable(KERNEL)
        gpu.fk_init()
        gpu.fk_launch_many(b"kernel", 10, 10)
        gpu.fk_sync(0, 0, -1)
        client.flush()
        assert len(client.names()) == 7
        assert client.dropped() == 3
        assert client.dropped() == 0
        """,
        FAKE_CUPTI_DROP=3,
    )


def test_times_may_be_missing(play: Play) -> None:
    play(
        """
        client = Client()
        client.enable(KERNEL)
        gpu.fk_init()
        gpu.fk_launch_many(b"kernel", 4, 10)
        gpu.fk_sync(0, 0, -1)
        client.flush()
        times = [(r.start > 0, r.end - r.start) for r in client.records]
        assert times == [(True, 10), (False, 0)] * 2
        """,
        FAKE_CUPTI_ZERO_TIMES=2,
    )


def test_only_enabled_kinds_are_recorded(play: Play) -> None:
    play("""
        client = Client()
        client.enable(MEMSET)
        gpu.fk_init()
        gpu.fk_launch(b"kernel", 0, 0)
        gpu.fk_memset(64, 0, 1)
        client("ActivityDisable", MEMSET)
        gpu.fk_memset(64, 0, 1)
        client.flush()
        assert [r.kind for r in client.records] == [MEMSET]
        assert client.result("ActivityEnable", 3) == 0
        assert client.result("ActivityEnable", KERNEL) == 14
    """)


def test_memory_and_migrations_are_recorded(play: Play) -> None:
    play("""
        client = Client()
        config = (ctypes.c_uint32 * 4)(2, 1, 0, 1)
        assert client.result("ActivityConfigureUnifiedMemoryCounter", config, 1) == 15
        gpu.fk_init()
        client("ActivityConfigureUnifiedMemoryCounter", config, 1)
        client.enable(MEMORY, MIGRATION, PEER_COPY)
        address = gpu.fk_malloc(1000)
        assert gpu.fk_free(address) == 0
        assert gpu.fk_free(address) == 1
        gpu.fk_managed_migration(1, 4096, 25)
        gpu.fk_managed_migration(2, 8192, 25)
        gpu.fk_memcpy(10, 77, 5, 0, 3, 3)
        gpu.fk_sync(0, 0, -1)
        gpu.fk_wait_really(1)
        gpu.fk_sync(0, 0, 1000)
        client.flush()
        got, freed = client.of(MEMORY)
        assert (got.operation, freed.operation) == (1, 2)
        assert got.bytes == freed.bytes == 1000
        assert got.address == freed.address == address
        [up] = [r for r in client.of(MIGRATION) if r.counter == 1]
        assert (up.bytes, up.target, up.source) == (4096, 0, 2**32 - 1)
        [copy] = client.of(PEER_COPY)
        assert (copy["from"], copy["to"], copy["bytes"]) == (0, 1, 77)
    """)


# --- time ----------------------------------------------------------------------


def test_streams_run_in_order_and_concurrently(play: Play) -> None:
    play("""
        client = Client()
        client.enable(KERNEL)
        gpu.fk_init()
        gpu.fk_launch(b"a", 0, 10**12)
        gpu.fk_launch(b"b", 0, 10**12)
        gpu.fk_launch(b"c", 1, 10**12)
        gpu.fk_set_device(1)
        gpu.fk_launch(b"d", 0, 10**12)
        gpu.fk_at(123)
        gpu.fk_launch(b"e", 0, 7)
        gpu.fk_sync(0, 0, -1)
        gpu.fk_set_device(0)
        gpu.fk_sync(0, 0, -1)
        client.flush()
        a, b, c, d, e = client.records
        assert b.start == a.end
        assert a.start <= c.start < b.start
        assert (c.stream, d.device, d.context) == (8, 1, 2)
        assert d.start < b.start
        assert (e.start, e.end) == (123, 130)
    """)


def test_times_are_of_the_clock_that_the_client_gives(play: Play) -> None:
    script = """
        client = Client(clock={})
        client.enable(KERNEL)
        gpu.fk_init()
        before = {}()
        gpu.fk_launch(b"kernel", 0, 0)
        after = {}()
        stamp = ctypes.c_uint64()
        client("GetTimestamp", ctypes.byref(stamp))
        client.flush()
        assert before <= client.records[0].start <= after <= stamp.value
    """
    play(script.format(True, "time.monotonic_ns", "time.monotonic_ns"))
    play(script.format(False, "time.time_ns", "time.time_ns"))


def test_a_clock_may_count_in_another_unit(play: Play) -> None:
    """PyTorch's profiler gives one that counts ticks of the processor."""
    script = """
        client = Client(start=False)
        client.clock = CLOCK(lambda: 3 * time.monotonic_ns())
        client("ActivityRegisterTimestampCallback", client.clock)
        client("Subscribe", ctypes.byref(client.subscriber), client.called, None)
        client("ActivityRegisterCallbacks", client.requested, client.completed)
        client.enable(KERNEL)
        gpu.fk_init()
        time.sleep(0.05)  # from which the unit is known
        before = time.monotonic_ns()
        gpu.fk_launch(b"kernel", 0, 10**7)
        time.sleep(0.02)
        client.flush()
        [one] = client.records
        assert 0 <= one.start / 3 - before < 10**9
        assert 2.7 * 10**7 < one.end - one.start < 3.3 * 10**7
    """
    play(script, FAKE_CUPTI_CLOCK="ticks")


def test_pending_work_is_moved_to_a_new_clock(play: Play) -> None:
    play("""
        gpu.fk_init()
        gpu.fk_launch(b"before", 0, 10**12)
        client = Client()
        client.enable(KERNEL)
        gpu.fk_launch(b"after", 0, 10)
        gpu.fk_sync(0, 0, -1)
        client.flush()
        now = time.monotonic_ns()
        assert now < client.records[0].start < now + 10**12
    """)


def test_waits_are_exact_on_a_frozen_clock(play: Play) -> None:
    play(
        """
        tick = frozen_clock(gpu)
        now = time.monotonic_ns
        client = Client()
        client.enable(KERNEL, MEMCPY, SYNC)
        gpu.fk_init()
        start = now()
        assert now() == start == 10**9
        gpu.fk_launch(b"kernel", 0, 5000)
        tick(1000)
        gpu.fk_sync(0, 0, -1)
        assert now() == start + 5000
        gpu.fk_memcpy(2, 64, 300, 1, 3, 1)  # blocking
        assert now() == start + 5300
        gpu.fk_memcpy(2, 64, 300, 0, 3, 1)  # pageable memory also blocks
        assert now() == start + 5600
        gpu.fk_memcpy(1, 64, 300, 0, 2, 3)
        assert now() == start + 5600
        gpu.fk_sync(1, 0, 2000)
        assert now() == start + 7600
        gpu.fk_api_cost(50)
        gpu.fk_launch(b"kernel", 0, 5000)
        assert now() == start + 7650
        gpu.fk_api_cost(0)
        gpu.cuCtxSynchronize()
        client.flush()
        starts = [r.start - start for r in client.of(KERNEL)]
        assert starts == [0, 7600]
        waits = [(r.start - start, r.end - start) for r in client.of(SYNC)]
        assert waits == [(1000, 5000), (5600, 7600), (7650, 12600)], waits
        """,
        frozen=True,
    )


def test_nothing_hangs_while_the_clock_is_frozen(play: Play) -> None:
    play(
        """
        before = time.time()
        time.sleep(0.01)
        threading.Event().wait(0.01)
        others = [threading.Thread(target=sum, args=([1],)) for _ in range(4)]
        for other in others:
            other.start()
        for other in others:
            other.join(1)
        assert time.monotonic() == 1
        assert time.time() >= before
        """,
        frozen=True,
    )
    play("assert time.time() == time.time()", frozen=True, FROZEN_CLOCK_REALTIME=1)


def test_a_wait_may_take_real_time(play: Play) -> None:
    play("""
        gpu.fk_init()
        gpu.fk_wait_really(1)
        begun = time.monotonic_ns()
        gpu.fk_launch(b"kernel", 0, 20_000_000)
        gpu.fk_sync(0, 0, -1)
        assert time.monotonic_ns() - begun >= 20_000_000
    """)


# --- graphs --------------------------------------------------------------------

GRAPH = """
    client = Client()
    client.watch(3)
    client.watch(1, 307, 514)
    client.enable(KERNEL, MEMSET)
    gpu.fk_init()
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"one", 0, 10)
    gpu.fk_memset(64, 20, 0)
    gpu.fk_launch(b"elsewhere", 1, 5)
    graph = gpu.fk_graph_end(0)
    exec = gpu.fk_graph_instantiate(graph)
    assert gpu.fk_graph_instantiate(99) == 0
    assert gpu.fk_graph_launch(graph, 0) == 400
"""


def test_a_graph_launch_has_a_record_for_each_node(play: Play) -> None:
    play(
        GRAPH
        + """
    created = [node for cbid, _, node in client.resources if cbid == 13]
    cloned = [node for cbid, _, node in client.resources if cbid == 20]
    assert list(map(client.node_id, created)) == [1, 2]
    assert list(map(client.node_id, cloned)) == [3, 4]
    for _ in range(2):
        assert gpu.fk_graph_launch(exec, 0) == 0
    gpu.fk_sync(0, 0, -1)
    client.flush()
    assert client.names() == ["elsewhere", "one", "one"]
    assert [r.node for r in client.of(KERNEL)] == [0, 3, 3]
    launches = [c.correlation for c in client.calls if c.cbid == 514 and c.result == 0]
    assert [r.correlation for r in client.of(KERNEL)[1:]] == launches
    assert [r.correlation for r in client.of(MEMSET)] == launches
    one, two = client.of(KERNEL)[1], client.of(MEMSET)[0]
    assert one.end == two.start
    assert gpu.fk_graph_destroy(exec) == 0
    assert gpu.fk_graph_launch(exec, 0) == 400
    """
    )


def test_a_new_node_is_reported_inside_the_call_that_makes_it(play: Play) -> None:
    play("""
        client = Client()
        client.watch(1, 307)
        client.watch(3, 13)
        gpu.fk_init()
        gpu.fk_graph_capture_begin(0)
        gpu.fk_launch(b"one", 0, 10)
        assert client.order == [(1, 307), (3, 13), (1, 307)]
    """)


def test_a_graph_may_be_recorded_as_a_whole(play: Play) -> None:
    play(
        GRAPH
        + """
    client.enable(GRAPH_TRACE)
    gpu.fk_graph_launch(exec, 0)
    gpu.fk_sync(0, 0, -1)
    client.flush()
    assert client.names() == ["elsewhere"]
    [whole] = client.of(GRAPH_TRACE)
    assert whole.end - whole.start == 30
    """
    )
