"""A client of CUPTI in pure Python, which tests the doubles as a tool would use them.

The client reads records by the offsets of NVIDIA's headers, independently of the
doubles' C code.  It needs a process of its own: a thread of CUPTI's never ends.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import threading
import time
from typing import Any, NamedTuple

# CUPTI_ACTIVITY_KIND_*
MEMCPY, MEMSET, DRIVER, RUNTIME, KERNEL, PEER_COPY = 1, 2, 4, 5, 10, 22
MIGRATION, SYNC, MEMORY, GRAPH_TRACE = 25, 38, 49, 51
DEVICE_KINDS = (KERNEL, MEMCPY, MEMSET)

# By kind: name, struct code and offset of each field.
API = {"cbid": "I4", "start": "Q8", "end": "Q16", "thread": "I28"}
API.update(correlation="I32", result="I36")
COPY = {"direction": "B4", "source": "B5", "target": "B6", "flags": "B7"}
COPY.update(bytes="Q8", start="Q16", end="Q24", device="I32", context="I36")
COPY.update(stream="I40")
FIELDS = {
    KERNEL: {"registers": "H6", "start": "Q16", "end": "Q24", "completed": "Q32"},
    MEMCPY: {**COPY, "correlation": "I44", "runtime": "I48", "node": "Q64"},
    PEER_COPY: {**COPY, "from": "I44", "to": "I52", "correlation": "I60"},
    MEMSET: {"bytes": "Q8", "start": "Q16", "end": "Q24", "device": "I32"},
    DRIVER: API,
    RUNTIME: API,
    MIGRATION: {"counter": "I4", "bytes": "Q8", "start": "Q16", "end": "Q24"},
    SYNC: {"type": "I4", "start": "Q8", "end": "Q16", "correlation": "I24"},
    MEMORY: {"operation": "I4", "memory": "I8", "correlation": "I12"},
    GRAPH_TRACE: {"correlation": "I4", "start": "Q8", "end": "Q16"},
}
FIELDS[KERNEL].update(device="I40", context="I44", stream="I48", gx="i52", gy="i56")
FIELDS[KERNEL].update(gz="i60", bx="i64", by="i68", bz="i72", static="I76")
FIELDS[KERNEL].update(dynamic="I80", correlation="I92", name="Q104", node="Q144")
FIELDS[MEMSET].update(context="I36", stream="I40", correlation="I44", target="H50")
FIELDS[MIGRATION].update(address="Q32", source="I40", target="I44")
FIELDS[SYNC].update(context="I28", stream="I32")
FIELDS[MEMORY].update(address="Q16", bytes="Q24", start="Q32", device="I52")
FIELDS[GRAPH_TRACE].update(device="I24", graph="I28", stream="I36")

REQUESTED = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
)
COMPLETED = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.c_uint32,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_size_t,
)
REQUESTED_V2 = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.c_void_p,
)
COMPLETED_V2 = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p
)
CALLED = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p
)
CLOCK = ctypes.CFUNCTYPE(ctypes.c_uint64)

BUFFER_BYTES = 1 << 16
END_OF_BUFFER = 12  # CUPTI_ERROR_MAX_LIMIT_REACHED


# CUPTI_ACTIVITY_ATTR_*
THREAD_BUFFERS, STATE, HARDWARE, ALLOCATION_SOURCE, DEVICE_GRAPHS = 9, 12, 13, 14, 19
GRAPHS_AS_A_WHOLE, THREAD_IDS, TIMESTAMPS = 20, 21, 22


class Parameters(ctypes.Structure):
    """CUpti_SubscriberParams."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("holder", ctypes.c_char_p),
        ("holder_size", ctypes.c_size_t),
        ("several", ctypes.c_uint8),
    )


class Call(NamedTuple):
    """One callback of an API function."""

    site: str
    domain: int
    cbid: int
    function: str
    correlation: int
    result: int | None
    context: int
    thread: int


class Record(dict):  # type: ignore[type-arg]
    """One activity record: its fields by name, also as attributes."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


class Client:
    """A subscriber of CUPTI, and all callbacks and records that it receives."""

    def __init__(self, *, clock: bool = True, start: bool = True) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # some tests end in abort()
        self.cupti = ctypes.CDLL(os.environ["LINEPROF_CUPTI"])
        self.calls: list[Call] = []
        self.resources: list[tuple[int, int, int]] = []
        self.records: list[Record] = []
        self.order: list[object] = []  # of all callbacks, abbreviated
        self.buffers: dict[int, Any] = {}
        self.asked: list[int] = []  # threads that asked for a buffer
        self.sizes: list[int] = []  # valid bytes of the buffers that were delivered
        self.delivered = threading.Event()
        self.subscriber = ctypes.c_void_p()
        self.requested = REQUESTED(self.on_requested)
        self.completed = COMPLETED(self.on_completed)
        self.called = CALLED(self.on_called)
        self.clock = CLOCK(time.monotonic_ns)
        if start:
            if clock:
                self("ActivityRegisterTimestampCallback", self.clock)
            self("Subscribe", ctypes.byref(self.subscriber), self.called, None)
            self("ActivityRegisterCallbacks", self.requested, self.completed)

    def result(self, function: str, *arguments: Any) -> int:
        """Call a function of CUPTI's; return its result."""
        return int(getattr(self.cupti, f"cupti{function}")(*arguments))

    def __call__(self, function: str, *arguments: Any) -> None:
        result = self.result(function, *arguments)
        assert result == 0, f"cupti{function}{arguments} gave {result}"

    def enable(self, *kinds: int) -> None:
        """Enable records of these kinds."""
        for kind in kinds:
            self("ActivityEnable", kind)

    def watch(self, domain: int, *cbids: int) -> None:
        """Enable callbacks of the functions `cbids`, of all functions by default."""
        for cbid in cbids:
            self("EnableCallback", 1, self.subscriber, domain, cbid)
        if not cbids:
            self("EnableDomain", 1, self.subscriber, domain)

    def flush(self, *, forced: bool = False) -> None:
        """Let CUPTI deliver its buffers."""
        self("ActivityFlushAll", int(forced))

    def dropped(self) -> int:
        """Return how many records were lost since the previous call."""
        count = ctypes.c_size_t()
        self("ActivityGetNumDroppedRecords", None, 0, ctypes.byref(count))
        return count.value

    def of(self, kind: int) -> list[Record]:
        """Return the records of a kind, in order of arrival."""
        return [record for record in self.records if record.kind == kind]

    def names(self) -> list[str]:
        """Return the names of kernels, in order of their records' arrival."""
        return [record.name for record in self.of(KERNEL)]

    def on_requested(self, buffer: Any, size: Any, most: Any) -> None:
        """Give CUPTI a buffer."""
        made = ctypes.create_string_buffer(BUFFER_BYTES)
        address = ctypes.addressof(made)
        self.buffers[address] = made
        self.order.append("asked")
        self.asked.append(threading.get_native_id())
        buffer[0], size[0], most[0] = address, BUFFER_BYTES, 0

    def on_completed(
        self, _context: Any, _stream: int, buffer: int, size: int, valid: int
    ) -> None:
        """Read the records of a buffer."""
        assert size == BUFFER_BYTES
        self.order.append("came")
        self.sizes.append(valid)
        self.read_all("ActivityGetNextRecord", buffer, valid)
        del self.buffers[buffer]
        self.delivered.set()

    def read_all(self, function: str, buffer: int, valid: int, *who: Any) -> None:
        """Read the records of a buffer with a function, of the subscriber `who`."""
        at = ctypes.c_void_p()
        arguments = (ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(at))
        while not (status := self.result(function, *who, *arguments)):
            self.records.append(read(at.value or 0))
        assert status == END_OF_BUFFER

    def on_called(self, _userdata: Any, domain: int, cbid: int, data: int) -> None:
        """Record a callback."""
        self.order.append((domain, cbid))
        if domain == 3:  # CUPTI_CB_DOMAIN_RESOURCE
            context, _stream, graph = struct.unpack("3Q", ctypes.string_at(data, 24))
            node = 0
            if cbid in {13, 20}:  # ...GRAPHNODE_CREATED, ...CLONED
                node = ctypes.c_uint64.from_address(graph + 16).value
            self.resources.append((cbid, context, node))
            return
        site, function, _, value, _, context, _, _, correlation = struct.unpack(
            "i4xQQQQQI4xQI4x", ctypes.string_at(data, 72)
        )
        name = ctypes.string_at(function).decode()
        result = ctypes.c_int.from_address(value).value if site else None
        where = "exit" if site else "enter"
        thread = threading.get_native_id()
        self.calls.append(
            Call(where, domain, cbid, name, correlation, result, context, thread)
        )

    def node_id(self, node: int) -> int:
        """Return the id of a graph's node."""
        number = ctypes.c_uint64()
        self("GetGraphNodeId", ctypes.c_void_p(node), ctypes.byref(number))
        return number.value


class Subscriber(Client):
    """A subscriber by cuptiSubscribe_v2: kinds, buffers and a clock of its own."""

    def __init__(
        self, name: str | None = "one", *, several: bool = True, clock: bool = False
    ) -> None:
        super().__init__(start=False)
        self.first = ctypes.create_string_buffer(64)  # gets the first one's name
        wanted = Parameters(
            size=ctypes.sizeof(Parameters),
            name=name and name.encode(),
            holder=ctypes.addressof(self.first),
            holder_size=64,
            several=several,
        )
        self.requested_v2 = REQUESTED_V2(lambda *given: self.on_requested(*given[:3]))
        self.completed_v2 = COMPLETED_V2(
            lambda *given: self.on_completed(None, 0, *given[:3])
        )
        at = ctypes.byref(self.subscriber)
        self.status = self.result(
            "Subscribe_v2", at, self.called, None, ctypes.byref(wanted)
        )
        if clock:
            self.set(TIMESTAMPS, ctypes.cast(self.clock, ctypes.c_void_p))

    @property
    def who(self) -> str:
        """Name of the first subscriber, as CUPTI told."""
        return self.first.value.decode()

    def own(self, function: str, *arguments: Any) -> int:
        """Call a function with the subscriber; return its result."""
        return self.result(f"{function}_v2", self.subscriber, *arguments)

    def register(self) -> None:
        """Register the buffer callbacks."""
        given = (self.requested_v2, self.completed_v2)
        assert not self.own("ActivityRegisterCallbacks", *given)

    def enable(self, *kinds: int) -> None:
        """Register the buffer callbacks, and enable records of these kinds."""
        self.register()
        for kind in kinds:
            assert not self.own("ActivityEnable", kind, None)

    def disable(self, *kinds: int) -> None:
        """Disable records of these kinds."""
        for kind in kinds:
            assert not self.own("ActivityDisable", kind, None)

    def set(self, attribute: int, value: Any) -> int:
        """Set an attribute; return the result."""
        size = ctypes.c_size_t(ctypes.sizeof(value))
        given = (attribute, ctypes.byref(size), ctypes.byref(value))
        return self.own("ActivitySetAttribute", *given)

    def get(self, attribute: int) -> int:
        """Return the value of an attribute of one byte."""
        size, value = ctypes.c_size_t(1), ctypes.c_uint8()
        given = (attribute, ctypes.byref(size), ctypes.byref(value))
        assert not self.own("ActivityGetAttribute", *given)
        return value.value

    def kinds(self, subscriber: Any = None) -> list[int]:
        """Return the enabled kinds of a subscriber, or those of all."""
        found, count = (ctypes.c_uint32 * 64)(), ctypes.c_uint32()
        room = ctypes.byref(ctypes.c_uint32(64))
        given = (subscriber, found, room, ctypes.byref(count))
        self("ActivityGetEnabledKinds", *given)
        return list(found[: count.value])

    def timestamp(self) -> int:
        """Return CUPTI's time for this subscriber, in ns."""
        now = ctypes.c_uint64()
        assert not self.own("GetTimestamp", ctypes.byref(now))
        return now.value

    def dropped(self) -> int:
        """Return how many of its records were lost since the previous call."""
        count = ctypes.c_size_t()
        given = (None, 0, ctypes.byref(count))
        assert not self.own("ActivityGetNumDroppedRecords", *given)
        return count.value

    def end(self) -> None:
        """Unsubscribe."""
        self("Unsubscribe", self.subscriber)

    def read_all(self, function: str, buffer: int, valid: int, *who: Any) -> None:
        """Read the records of a buffer."""
        super().read_all(f"{function}_v2", buffer, valid, self.subscriber, *who)


def read(address: int) -> Record:
    """Read a record by the offsets of its kind."""
    kind = ctypes.c_uint32.from_address(address).value
    record = Record(kind=kind)
    for field, place in FIELDS[kind].items():
        code, offset = place[0], int(place[1:])
        text = ctypes.string_at(address + offset, struct.calcsize(code))
        (record[field],) = struct.unpack(code, text)
    if kind == KERNEL:
        record["name"] = ctypes.string_at(record["name"]).decode()
    return record
