"""Subscribers of the double of CUPTI by cuptiSubscribe_v2, one or several.

The rules are those of the headers of CUPTI 13.3 to 13.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gpu_double import Play

RELEASES = {130301: "fake_cupti_13_3", 130401: "fake_cupti_13_4"}
RELEASES[130501] = "fake_cupti_13_4"
NEWEST = {"cupti": "fake_cupti_13_4", "FAKE_CUPTI_VERSION": 130501}


def several(script: str) -> str:
    """Return a script with `one` and `two`, subscribers that allow each other."""
    text = """
        one, two = Subscriber("one"), Subscriber("two")
        gpu.fk_init()
    """
    return text + script


# --- records -------------------------------------------------------------------


@pytest.mark.parametrize("version", RELEASES)
def test_each_subscriber_gets_the_records_of_its_kinds(
    play: Play, version: int
) -> None:
    script = several("""
        one.enable(KERNEL, MEMCPY)
        two.enable(KERNEL, RUNTIME)
        gpu.fk_launch(b"kernel", 0, 10)
        gpu.fk_memcpy(1, 8, 10, 1, 3, 1)
        gpu.fk_sync(0, 0, -1)
        one.flush()
        assert [r.kind for r in one.records] == [KERNEL, MEMCPY]
        assert one.names() == two.names() == ["kernel"]
        assert {r.kind for r in two.records} == {KERNEL, RUNTIME}
        assert one.of(KERNEL)[0].correlation == two.of(KERNEL)[0].correlation
        two.disable(KERNEL)
        gpu.fk_launch(b"more", 0, 10)
        gpu.fk_sync(0, 0, -1)
        one.flush()
        assert (one.names(), two.names()) == (["kernel", "more"], ["kernel"])
    """)
    play(script, cupti=RELEASES[version], FAKE_CUPTI_VERSION=version)


def test_who_unsubscribes_takes_nothing_from_others(play: Play) -> None:
    script = several("""
        one.enable(KERNEL)
        two.enable(KERNEL)
        gpu.fk_launch(b"first", 0, 10)
        gpu.fk_sync(0, 0, -1)
        one.flush()
        gpu.fk_launch(b"second", 0, 10)
        gpu.fk_sync(0, 0, -1)
        one.end()
        two.flush()
        assert (one.names(), two.names()) == (["first"], ["first", "second"])
        assert two.kinds() == [KERNEL]
        third = Subscriber("three")
        assert (third.status, third.who) == (0, "CUPTI for two")
    """)
    play(script, **NEWEST)


def test_dropped_records_are_counted_for_each_subscriber(play: Play) -> None:
    script = several("""
        one.enable(KERNEL)
        two.enable(KERNEL, MEMSET)
        for _ in range(4):
            gpu.fk_launch(b"kernel", 0, 10)
            gpu.fk_memset(64, 10, 1)
        gpu.fk_sync(0, 0, -1)
        one.flush()
        assert (one.dropped(), two.dropped()) == (2, 4)
        assert (one.dropped(), two.dropped()) == (0, 0)
        assert (len(one.records), len(two.records)) == (2, 4)
    """)
    play(script, FAKE_CUPTI_DROP=2, **NEWEST)


def test_each_subscriber_has_callbacks_of_its_own(play: Play) -> None:
    script = several("""
        one.watch(1, 307)
        two.watch(2, 505)
        gpu.fk_launch(b"kernel", 0, 10)
        assert [(c.site, c.cbid) for c in one.calls] == [("enter", 307), ("exit", 307)]
        assert [(c.site, c.cbid) for c in two.calls] == [("enter", 505), ("exit", 505)]
        two.end()
        gpu.fk_launch(b"kernel", 0, 10)
        assert (len(one.calls), len(two.calls)) == (4, 2)
    """)
    play(script, **NEWEST)


def test_records_are_read_by_their_own_subscriber(play: Play) -> None:
    script = several("""
        class Reading(Subscriber):
            def read_all(self, function, buffer, valid, *who):
                at = ctypes.c_void_p()
                given = (ctypes.c_void_p(buffer), ctypes.c_size_t(valid))
                given = (*given, ctypes.byref(at))
                refused = one.own("ActivityGetNextRecord", *given)
                print(refused, self.result("ActivityGetNextRecord", *given))
                super().read_all(function, buffer, valid)

        three = Reading("three")
        three.enable(KERNEL)
        gpu.fk_launch(b"kernel", 0, 10)
        gpu.fk_sync(0, 0, -1)
        one.flush()
        assert three.names() == ["kernel"]
    """)
    assert play(script, **NEWEST) == "1 14\n"


def test_enabled_kinds_are_those_of_one_or_of_all(play: Play) -> None:
    script = several("""
        one.enable(KERNEL, MEMCPY)
        two.enable(KERNEL, MEMSET)
        assert one.kinds(one.subscriber) == [MEMCPY, KERNEL]
        assert one.kinds(two.subscriber) == [MEMSET, KERNEL]
        assert one.kinds() == [MEMCPY, MEMSET, KERNEL]
        count = ctypes.c_uint32()
        one("ActivityGetEnabledKinds", None, None, None, ctypes.byref(count))
        assert count.value == 3
        assert one.result("ActivityGetEnabledKinds", None, None, None, None) == 1
    """)
    play(script, **NEWEST)


# --- who may subscribe ------------------------------------------------------------


def test_the_first_subscriber_decides_whether_there_are_several(play: Play) -> None:
    script = """
        first = Subscriber("a", several={first})
        second = Subscriber("b", several={second})
        print(first.status, repr(first.who), second.status, repr(second.who))
        print(first.get(STATE))
        first.end()
        print(Subscriber("c", several=False).status)
    """

    def said(first: object, second: object, **knobs: Any) -> list[str]:
        words = {**NEWEST, **knobs}
        return play(script.format(first=first, second=second), **words).splitlines()

    name = "'CUPTI for a'"
    assert said(True, True) == [f"0 '' 0 {name}", "1", "39"]
    assert said(True, False) == [f"0 '' 39 {name}", "1", "0"]
    assert said(False, True) == [f"0 '' 39 {name}", "0", "0"]
    assert said(False, False) == [f"0 '' 39 {name}", "0", "0"]
    assert said(True, True, FAKE_CUPTI_OWN_NAME=1)[0] == f"0 {name} 0 {name}"


@pytest.mark.parametrize(
    ("knobs", "status", "who"),
    [
        ({"FAKE_CUPTI_SEVERAL": 0}, "39", ""),
        ({"FAKE_CUPTI_VERSION": 130202}, "39", ""),
        ({"FAKE_CUPTI_FAIL": "cuptiSubscribe_v2:27"}, "27", ""),
        (
            {"FAKE_CUPTI_SUBSCRIBE_RC": 39, "FAKE_CUPTI_HOLDER": "a tool"},
            "39",
            "a tool",
        ),
        ({"FAKE_CUPTI_SUBSCRIBE_RC": 999}, "999", ""),
    ],
)
def test_several_subscribers_may_be_refused(
    play: Play, knobs: dict[str, Any], status: str, who: str
) -> None:
    script = """
        one = Subscriber()
        print(one.status, one.who)
    """
    assert play(script, **{**NEWEST, **knobs}) == f"{status} {who}\n"


def test_a_subscriber_without_v2_is_the_only_one(play: Play) -> None:
    script = """
        def subscribe(who):
            at = ctypes.byref(who.subscriber)
            return who.result("Subscribe", at, who.called, None)
        old, other = Client(start=False), Client(start=False)
        assert subscribe(old) == 0
        new = Subscriber()
        assert (new.status, new.who) == (39, "")
        old("Unsubscribe", old.subscriber)
        assert Subscriber().status == 0
        assert subscribe(other) == 39
    """
    play(script, **NEWEST)


# --- the two families ------------------------------------------------------------

KINETO = """
        other = Client(start=False)
        def begin():
            given = (other.requested, other.completed)
            status = [other.result("ActivityRegisterCallbacks", *given)]
            return [*status, other.result("ActivityEnable", KERNEL)]
"""


def test_calls_without_v2_are_refused_beside_a_subscriber(play: Play) -> None:
    script = (
        KINETO
        + """
        one = Subscriber()
        count = ctypes.c_size_t()
        assert begin() == [14, 14]
        assert other.result("ActivityDisable", KERNEL) == 14
        at = ctypes.byref(count)
        assert other.result("ActivityGetNumDroppedRecords", None, 0, at) == 14
        assert other.result("ActivityRegisterTimestampCallback", other.clock) == 14
        assert other.result("ActivityEnableDriverApi", 1, 0) == 14
        assert other.result("SetThreadIdType", 1) == 27
        size, value = ctypes.byref(ctypes.c_size_t(8)), ctypes.byref(count)
        assert other.result("ActivitySetAttribute", 9, size, value) == 27
        assert other.result("ActivityGetAttribute", 9, size, value) == 27
        one.end()
        assert begin() == [0, 0]
    """
    )
    play(script, **NEWEST)


def test_v2_is_refused_while_others_record_without_it(play: Play) -> None:
    script = (
        KINETO
        + """
        assert begin() == [0, 0]
        one = Subscriber()
        given = (one.requested_v2, one.completed_v2)
        assert one.status == 0
        assert one.own("ActivityRegisterCallbacks", *given) == 14
        assert one.own("ActivityEnable", KERNEL, None) == 14
        assert one.kinds() == [KERNEL]
        one.end()
        other("ActivityDisable", KERNEL)
        one = Subscriber()
        one.enable(KERNEL)
    """
    )
    play(script, **NEWEST)


def test_the_families_may_exclude_each_other_for_ever(play: Play) -> None:
    script = (
        KINETO
        + """
        one = Subscriber()
        one.enable(KERNEL)
        one.end()
        assert begin() == [14, 14]
    """
    )
    play(script, FAKE_CUPTI_STICKY=1, **NEWEST)


def test_a_single_subscriber_may_use_the_calls_without_v2(play: Play) -> None:
    script = (
        KINETO
        + """
        one = Subscriber(several=False)
        assert begin() == [0, 0]
        gpu.fk_init()
        gpu.fk_launch(b"kernel", 0, 10)
        gpu.fk_sync(0, 0, -1)
        other.flush()
        assert other.names() == ["kernel"]
        assert one.own("ActivityEnable", KERNEL, None) == 14
    """
    )
    play(script, **NEWEST)


# --- attributes -------------------------------------------------------------------

CLOCKS = several("""
        class Fixed(Subscriber):
            def __init__(self):
                super().__init__("fixed")
                self.clock = CLOCK(lambda: 5000)
                at = ctypes.cast(self.clock, ctypes.c_void_p)
                print(self.set(TIMESTAMPS, at), end=" ")

        three = Fixed()
        one.enable(KERNEL)
        three.enable(KERNEL)
        gpu.fk_launch(b"kernel", 0, 1000)
        three.flush(forced=False)
        print(three.timestamp() == 5000, one.timestamp() > 10**18)
""")


def test_each_subscriber_may_have_a_clock_since_13_4(play: Play) -> None:
    assert play(CLOCKS, **NEWEST) == "0 True True\n"
    old = {"cupti": "fake_cupti_13_3", "FAKE_CUPTI_VERSION": 130301}
    assert play(CLOCKS, **old) == "27 False True\n"


def test_records_have_the_clock_of_their_subscriber(play: Play) -> None:
    script = """
        gpu.fk_init()
        one = Subscriber("one", clock=True)
        two = Subscriber("two")
        before, then = time.monotonic_ns(), time.time_ns()
        one.enable(KERNEL, RUNTIME)
        two.enable(KERNEL, RUNTIME)
        gpu.fk_launch(b"kernel", 0, 1000)
        gpu.fk_sync(0, 0, -1)
        one.flush()
        for kind in (KERNEL, RUNTIME):
            mine, other = one.of(kind)[0], two.of(kind)[0]
            assert before <= mine.start <= time.monotonic_ns()
            assert then <= other.start <= time.time_ns()
            assert mine.end - mine.start == other.end - other.start
    """
    play(script, **NEWEST)


def test_each_subscriber_has_its_type_of_thread_ids(play: Play) -> None:
    script = several("""
        assert one.set(THREAD_IDS, ctypes.c_int(1)) == 0
        for who in (one, two):
            who.enable(RUNTIME)
        gpu.fk_launch(b"kernel", 0, 10)
        one.flush()
        native = threading.get_native_id()
        assert one.of(RUNTIME)[0].thread == native != two.of(RUNTIME)[0].thread
    """)
    play(script, **NEWEST)


def test_graphs_are_recorded_as_a_whole_for_all_or_for_none(play: Play) -> None:
    script = several("""
        byte = ctypes.c_uint8
        if {value} is not None:
            assert one.set(GRAPHS_AS_A_WHOLE, byte({value})) == 0
            assert two.set(GRAPHS_AS_A_WHOLE, byte(1 - {value})) == 7
        for who in (one, two):
            who.enable(KERNEL)
        print(one.own("ActivityEnable", GRAPH_TRACE, None), end=" ")
        gpu.fk_graph_capture_begin(0)
        gpu.fk_launch(b"kernel", 0, 10)
        graph = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
        gpu.fk_graph_launch(graph, 0)
        gpu.fk_sync(0, 0, -1)
        one.flush()
        print([r.kind for r in one.records], [r.kind for r in two.records])
    """)
    for value, said in ((1, "0 [51] []"), (0, "14 [10] [10]"), (None, "14 [10] [10]")):
        assert play(script.format(value=value), **NEWEST) == f"{said}\n"


def test_attributes_are_of_one_subscriber_or_of_all(play: Play) -> None:
    script = several("""
        byte = ctypes.c_uint8
        assert (one.get(THREAD_BUFFERS), one.set(THREAD_BUFFERS, byte(0))) == (1, 0)
        assert (one.get(THREAD_BUFFERS), two.get(THREAD_BUFFERS)) == (0, 1)
        for attribute in (ALLOCATION_SOURCE, DEVICE_GRAPHS):
            assert one.set(attribute, byte(1)) == 0
            assert (one.get(attribute), two.get(attribute)) == (1, 0)
        assert one.set(STATE, byte(1)) == 1
        assert one.set(11, byte(1)) == 27
        assert one.set(99, byte(1)) == 1
        assert one.set(TIMESTAMPS, byte(1)) == 10
    """)
    play(script, **NEWEST)


@pytest.mark.parametrize(("capability", "later"), [(9, 0), (10, 1)])
def test_hardware_time_stamps_are_for_all_and_before_a_context(
    play: Play, capability: int, later: int
) -> None:
    script = """
        byte = ctypes.c_uint8
        one, two = Subscriber("one"), Subscriber("two")
        print(one.set(HARDWARE, byte(1)), two.get(HARDWARE))
        gpu.fk_init()
        print(two.get(HARDWARE), one.set(HARDWARE, byte(1)))
    """
    said = play(script, FAKE_CUDA_CAPABILITY=capability, **NEWEST)
    assert said == f"0 1\n{later} 27\n"


# --- misuse -------------------------------------------------------------------------

MISUSES = {
    "a forced flush beside others hands out records of CUPTI for one": """
        one.enable(KERNEL)
        gpu.fk_launch(b"kernel", 0, 10**18)
        two.enable(KERNEL)
        two.flush(forced=True)
    """,
    "a record is read after its subscriber was unsubscribed": """
        one.enable(KERNEL)
        gpu.fk_launch(b"kernel", 0, 10)
        gpu.fk_sync(0, 0, -1)
        one.flush()
        kept = []
        one.read_all = lambda function, buffer, valid: kept.append((buffer, valid))
        gpu.fk_launch(b"kernel", 0, 10)
        gpu.fk_sync(0, 0, -1)
        one.flush()
        one.end()
        Subscriber.read_all(one, "ActivityGetNextRecord", *kept[0])
    """,
    "attribute 20 is set after a kind was enabled": """
        one.enable(KERNEL)
        two.set(GRAPHS_AS_A_WHOLE, ctypes.c_uint8(1))
    """,
    "hardware time stamps are enabled after a kind": """
        one.enable(KERNEL)
        two.set(HARDWARE, ctypes.c_uint8(1))
    """,
    "a kind was enabled before the clock was registered": """
        one.enable(KERNEL)
        one.set(TIMESTAMPS, ctypes.cast(one.clock, ctypes.c_void_p))
    """,
    "a kind is enabled before the buffer callbacks are": """
        one.own("ActivityEnable", KERNEL, None)
    """,
    "buffers for each thread are set after their callbacks": """
        one.register()
        one.set(THREAD_BUFFERS, ctypes.c_uint8(1))
    """,
    "a buffer was freed or changed while it was in use": """
        one.enable(KERNEL)
        gpu.fk_launch(b"kernel", 0, 10)
        gpu.fk_sync(0, 0, -1)
        for buffer in list(one.buffers):
            ctypes.memset(buffer, 0, 16)
        one.flush()
    """,
    "cuptiActivityEnable_v2: who is not subscribed": """
        one.end()
        one.own("ActivityEnable", KERNEL, None)
    """,
    "cuptiFinalize was called": """
        one("Finalize")
    """,
}


@pytest.mark.parametrize("message", MISUSES)
def test_misuse_ends_the_process(play: Play, message: str) -> None:
    knobs = {"FAKE_CUDA_CAPABILITY": 10, "FAKE_CUPTI_REQUEST": "app", **NEWEST}
    assert play.dies(several(MISUSES[message]), **knobs) == message


def test_a_subscriber_alone_may_force_a_flush(play: Play) -> None:
    script = """
        gpu.fk_init()
        one = Subscriber()
        one.enable(KERNEL)
        gpu.fk_launch(b"kernel", 0, 10**18)
        one.flush(forced=True)
        assert [(r.start, r.end) for r in one.of(KERNEL)] == [(0, 0)]
    """
    play(script, **NEWEST)
