"""Work for a GPU by functions of NVIDIA's driver only, or by the tests' double.

Use in programs under test::

    from raw import gpu, say
    gpu.init()
    gpu.spin(1_000_000)  # a kernel that runs for 1 ms
    gpu.wait()
    say(kernels=1)  # figures, for the item that runs the program

`gpu` loads no library before its first use.  Unless its docstring differs, each
function below makes one call of the driver and returns at once; the line that
calls the function is the innermost profiled line.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED
ROOM = 1 << 22  # bytes that can be copied or set at once
PAGE = 4096  # bytes
DEFAULT = 0  # the stream

# Three kernels: one does nothing, one runs for a number of ns, one writes a byte to
# each page of memory.  Any driver since CUDA 10 compiles this text for its device.
KERNELS = """
.version 6.3
.target sm_75
.address_size 64

.visible .entry empty() { ret; }

.visible .entry spin(.param .u64 wanted)
{
    .reg .pred %more;
    .reg .b64 %wanted, %begun, %now, %passed;
    ld.param.u64 %wanted, [wanted];
    mov.u64 %begun, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %passed, %now, %begun;
    setp.lt.u64 %more, %passed, %wanted;
    @%more bra again;
    ret;
}

.visible .entry touch(.param .u64 memory, .param .u64 size)
{
    .reg .pred %more;
    .reg .b32 %one;
    .reg .b64 %at, %size, %end;
    ld.param.u64 %at, [memory];
    ld.param.u64 %size, [size];
    cvta.to.global.u64 %at, %at;
    add.u64 %end, %at, %size;
    mov.u32 %one, 1;
again:
    st.global.u8 [%at], %one;
    add.u64 %at, %at, 4096;
    setp.lt.u64 %more, %at, %end;
    @%more bra again;
    ret;
}
"""
# A kernel in a module that programs unload.
ANOTHER = """
.version 6.3
.target sm_75
.address_size 64

.visible .entry short_lived() { ret; }
"""

Pointer = ctypes.c_void_p
Size = ctypes.c_size_t


def say(**figures: object) -> None:
    """Print figures as one line, for the item that started the program."""
    print("said:", json.dumps(figures), flush=True)


def turns() -> Iterator[int]:
    """Yield the number of each turn of this program, until it has no more turns.

    Between turns other programs have theirs, and this one waits: the item runs them
    with Lab.in_turn().  What comes before the first turn is in none.
    """
    reading, writing = map(int, os.environ["LAB_TURNS"].split())
    for number in itertools.count():
        with contextlib.suppress(BrokenPipeError):
            os.write(writing, b".")
        if not os.read(reading, 1):
            return
        yield number


class Attribute(ctypes.Structure):
    """CUlaunchAttribute, whose value is words here."""

    COOPERATIVE, CLUSTER, DEPENDENT = 2, 4, 6  # ids
    _fields_ = (
        ("id", ctypes.c_int),
        ("pad", ctypes.c_int),
        ("words", ctypes.c_uint32 * 16),
    )


class Configuration(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", Pointer),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    )


class Nvidia:
    """Work on a GPU by NVIDIA's driver."""

    def __init__(self) -> None:
        self.context = Pointer()

    @cached_property
    def cuda(self) -> ctypes.CDLL:
        return ctypes.CDLL("libcuda.so.1")

    def __call__(self, name: str, *arguments: Any) -> None:
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} gave {status}")

    # -- initialisation ------------------------------------------------------------

    def initialized(self) -> bool:
        """Return whether CUDA is initialised in this process."""
        count = ctypes.c_int()
        status = self.cuda.cuDeviceGetCount(ctypes.byref(count))
        return bool(status != NOT_INITIALIZED)

    def init(self) -> None:
        """Initialise CUDA, with the device current here, and load the kernels."""
        self("cuInit", 0)
        device = ctypes.c_int()
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.bind()
        module = self.load(KERNELS)
        self._empty, self._spin, self._touch = [
            self.function(module, name) for name in ("empty", "spin", "touch")
        ]

    def bind(self) -> None:
        """Make the context current in this thread, unless the thread called init()."""
        self("cuCtxSetCurrent", self.context)

    def load(self, text: str = ANOTHER) -> ctypes.c_void_p:
        module = Pointer()
        self("cuModuleLoadData", ctypes.byref(module), text.encode())
        return module

    def unload(self, module: ctypes.c_void_p) -> None:
        self("cuModuleUnload", module)

    def function(self, module: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
        found = Pointer()
        self("cuModuleGetFunction", ctypes.byref(found), module, name.encode())
        return found

    def library(self, text: str = ANOTHER) -> ctypes.c_void_p:
        """Return a library, as the runtime has them: its first launch may load it."""
        made, nothing = Pointer(), [None, None, 0]
        words = (ctypes.byref(made), text.encode(), *nothing, *nothing)
        self("cuLibraryLoadData", *words)
        return made

    def kernel(self, library: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
        """Return a kernel of a library, which can be launched as a function can."""
        found = Pointer()
        self("cuLibraryGetKernel", ctypes.byref(found), library, name.encode())
        return found

    # -- kernels -------------------------------------------------------------------

    def launch(self, function: ctypes.c_void_p, stream: Any, *words: int) -> None:
        """Run one thread of a kernel whose arguments are these 64-bit words."""
        values = [ctypes.c_uint64(word) for word in words]
        places = [ctypes.addressof(value) for value in values]
        arguments = (Pointer * (len(values) or 1))(*places)
        status = self.cuda.cuLaunchKernel(
            function, 1, 1, 1, 1, 1, 1, 0, Pointer(stream), arguments, None
        )
        if status:
            raise RuntimeError(f"cuLaunchKernel gave {status}")

    def empty(self, stream: Any = DEFAULT) -> None:
        self.launch(self._empty, stream)

    def spin(self, ns: int, stream: Any = DEFAULT) -> None:
        self.launch(self._spin, stream, ns)

    def extended(self, stream: Any, attribute: int, *words: int) -> None:
        """Run the empty kernel in two blocks by a launch with one attribute."""
        one = Attribute(attribute, 0, (ctypes.c_uint32 * 16)(*words))
        how = Configuration((2, 1, 1), (1, 1, 1), 0, stream, ctypes.pointer(one), 1)
        nothing = (Pointer * 1)()
        self("cuLaunchKernelEx", ctypes.byref(how), self._empty, nothing, None)

    def cluster(self, stream: Any) -> None:
        """Run two blocks as a cluster; needs a device of capability 9."""
        self.extended(stream, Attribute.CLUSTER, 2, 1, 1)

    def dependent(self, stream: Any) -> None:
        """Run a kernel that may begin before the one in front of it ends."""
        self.extended(stream, Attribute.DEPENDENT, 1)

    def cooperative_ex(self, stream: Any) -> None:
        self.extended(stream, Attribute.COOPERATIVE, 1)

    def cooperative(self, stream: Any) -> None:
        nothing = (Pointer * 1)()
        words = (self._empty, 1, 1, 1, 1, 1, 1, 0, Pointer(stream), nothing)
        self("cuLaunchCooperativeKernel", *words)

    def capability(self) -> int:
        """Return the major number of the device's compute capability."""
        value = ctypes.c_int()
        self("cuDeviceGetAttribute", ctypes.byref(value), 75, 0)
        return value.value

    # -- the default stream of a thread --------------------------------------------

    def spin_of_thread(self, ns: int) -> None:
        word = ctypes.c_uint64(ns)
        places = (Pointer * 1)(ctypes.addressof(word))
        words = (self._spin, 1, 1, 1, 1, 1, 1, 0, None, places, None)
        self("cuLaunchKernel_ptsz", *words)

    def to_device_of_thread(self, size: int) -> None:
        there, here = self._there, self._pinned
        self("cuMemcpyHtoDAsync_v2_ptsz", there, here, Size(size), None)

    def memset_of_thread(self, size: int) -> None:
        self("cuMemsetD8Async_ptsz", self._there, 7, Size(size), None)

    def wait_of_thread(self) -> None:
        self("cuStreamSynchronize_ptsz", None)

    # -- kernels of a module -------------------------------------------------------

    def run(self, module: ctypes.c_void_p) -> None:
        """Run the kernel short_lived of a module from load()."""
        self.launch(self.function(module, "short_lived"), DEFAULT)

    def timed(self, ns: int) -> int:
        """Run a kernel between two events and wait; return the ns between the events.

        With ns below 0 it is the empty kernel.
        """
        began, ended, apart = Pointer(), Pointer(), ctypes.c_float()
        for event in (began, ended):
            self("cuEventCreate", ctypes.byref(event), 0)
        self("cuEventRecord", began, None)
        if ns < 0:
            self.empty()
        else:
            self.spin(ns)
        self("cuEventRecord", ended, None)
        self("cuEventSynchronize", ended)
        self("cuEventElapsedTime", ctypes.byref(apart), began, ended)  # ms
        for event in (began, ended):
            self("cuEventDestroy_v2", event)
        return round(apart.value * 1e6)

    def mark(self) -> ctypes.c_void_p:
        """Return an event with a time at the end of the work of the default stream."""
        made = Pointer()
        self("cuEventCreate", ctypes.byref(made), 0)
        self("cuEventRecord", made, None)
        return made

    def apart(self, began: ctypes.c_void_p, ended: ctypes.c_void_p) -> int:
        """Return the ns between two events of mark(), after waiting for the second."""
        ms = ctypes.c_float()
        self("cuEventSynchronize", ended)
        self("cuEventElapsedTime", ctypes.byref(ms), began, ended)
        return round(ms.value * 1e6)

    # -- streams and waits ---------------------------------------------------------

    def stream(self) -> ctypes.c_void_p | None:
        """Make a stream that does not wait for the default stream."""
        made = Pointer()
        self("cuStreamCreate", ctypes.byref(made), 1)
        return made.value  # type: ignore[return-value]

    def wait(self) -> None:
        self("cuCtxSynchronize")

    def wait_stream(self, stream: Any = DEFAULT) -> None:
        self("cuStreamSynchronize", Pointer(stream))

    def event(self) -> ctypes.c_void_p:
        """Return an event at the end of the work of the default stream."""
        made = Pointer()
        self("cuEventCreate", ctypes.byref(made), 2)  # an event without a time
        self("cuEventRecord", made, None)
        return made

    def wait_event(self, event: ctypes.c_void_p) -> None:
        self("cuEventSynchronize", event)

    # -- memory --------------------------------------------------------------------

    def prepare(self) -> None:
        """Allocate ROOM bytes on the device, and twice on the host, at once."""
        self._there = self.alloc(ROOM)
        self._pageable = ctypes.create_string_buffer(ROOM)
        self._pinned = self.alloc_host(ROOM)
        self("cuMemcpyHtoD_v2", self._there, self._pageable, Size(ROOM))

    def alloc(self, size: int) -> ctypes.c_uint64:
        made = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(made), Size(size))
        return made

    def free(self, memory: ctypes.c_uint64) -> None:
        self("cuMemFree_v2", memory)

    def alloc_async(self, size: int) -> ctypes.c_uint64:
        made = ctypes.c_uint64()
        self("cuMemAllocAsync", ctypes.byref(made), Size(size), None)
        return made

    def free_async(self, memory: ctypes.c_uint64) -> None:
        self("cuMemFreeAsync", memory, None)

    def alloc_managed(self, size: int) -> ctypes.c_uint64:
        made = ctypes.c_uint64()
        self("cuMemAllocManaged", ctypes.byref(made), Size(size), 1)
        return made

    def alloc_host(self, size: int) -> ctypes.c_void_p:
        """Allocate page-locked memory."""
        made = Pointer()
        self("cuMemAllocHost_v2", ctypes.byref(made), Size(size))
        return made

    def free_host(self, memory: ctypes.c_void_p) -> None:
        self("cuMemFreeHost", memory)

    def scratch(self, size: int, stream: Any) -> None:
        """Allocate memory on a stream, set and free it there."""
        memory, queue = ctypes.c_uint64(), Pointer(stream)
        self("cuMemAllocAsync", ctypes.byref(memory), Size(size), queue)
        self("cuMemsetD8Async", memory, 7, Size(size), queue)
        self("cuMemFreeAsync", memory, queue)

    def memory_left(self) -> int:
        """Return the free bytes of the device."""
        left, whole = Size(), Size()
        self("cuMemGetInfo_v2", ctypes.byref(left), ctypes.byref(whole))
        return left.value

    def reset(self) -> None:
        """Destroy all of the context; init() makes a new one."""
        self("cuDevicePrimaryCtxReset_v2", 0)

    def memset(self, size: int) -> None:
        self("cuMemsetD8_v2", self._there, 7, Size(size))

    def memset_async(self, size: int, stream: Any = DEFAULT) -> None:
        self("cuMemsetD8Async", self._there, 7, Size(size), Pointer(stream))

    def to_device(self, size: int) -> None:
        """Copy from pageable memory, blocking."""
        self("cuMemcpyHtoD_v2", self._there, self._pageable, Size(size))

    def from_device(self, size: int) -> None:
        """Copy to pageable memory, blocking."""
        self("cuMemcpyDtoH_v2", self._pageable, self._there, Size(size))

    def to_device_async(self, size: int, stream: Any = DEFAULT) -> None:
        """Copy from page-locked memory."""
        there, here, queue = self._there, self._pinned, Pointer(stream)
        self("cuMemcpyHtoDAsync_v2", there, here, Size(size), queue)

    def batch(self, count: int, size: int, stream: Any) -> None:
        """Copy from page-locked memory in one call; the stream is a made one."""
        places = [number * size for number in range(count)]
        words = [
            (ctypes.c_uint64 * count)(*[(base or 0) + place for place in places])
            for base in (self._there.value, self._pinned.value)
        ]
        sizes = (Size * count)(*[size] * count)
        attribute = (ctypes.c_int * 6)(1)  # CUmemcpyAttributes: in the stream's order
        words += [sizes, Size(count), attribute, (Size * 1)(0), Size(1)]
        if hasattr(self.cuda, "cuMemcpyBatchAsync_v2"):  # of CUDA 13
            self("cuMemcpyBatchAsync_v2", *words, Pointer(stream))
        else:
            at = ctypes.byref(Size())
            self("cuMemcpyBatchAsync", *words, at, Pointer(stream))

    def on_host(self, size: int) -> None:
        """Copy from page-locked memory to page-locked memory, blocking."""
        to, here = [ctypes.c_uint64((self._pinned.value or 0) + n) for n in (0, size)]
        self("cuMemcpy", to, here, Size(size))

    def from_device_async(self, size: int) -> None:
        """Copy to page-locked memory."""
        self("cuMemcpyDtoHAsync_v2", self._pinned, self._there, Size(size), None)

    def managed(self, size: int) -> None:
        """Migrate managed memory to the device and back, by a kernel and a wait."""
        memory = self.alloc_managed(size)
        ctypes.memset(memory.value or 0, 1, size)
        self.launch(self._touch, DEFAULT, memory.value or 0, size)
        self.wait()
        ctypes.string_at(memory.value or 0, size)
        self.free(memory)

    # -- graphs --------------------------------------------------------------------

    def capture(self, stream: Any) -> None:
        """Begin to capture work of the stream as nodes of a graph."""
        self("cuStreamBeginCapture_v2", Pointer(stream), 0)

    def captured(self, stream: Any) -> ctypes.c_void_p:
        """End the capture; return the instantiated graph."""
        return self.instantiated(self.ended(stream))

    def ended(self, stream: Any) -> ctypes.c_void_p:
        """End the capture; return the graph."""
        graph = Pointer()
        self("cuStreamEndCapture", Pointer(stream), ctypes.byref(graph))
        return graph

    def instantiated(self, graph: ctypes.c_void_p) -> ctypes.c_void_p:
        ready = Pointer()
        arguments = (ctypes.byref(ready), graph, ctypes.c_uint64(0))
        self("cuGraphInstantiateWithFlags", *arguments)
        return ready

    def parent(self, child: ctypes.c_void_p, times: int) -> ctypes.c_void_p:
        """Return a graph whose only nodes are this graph so many times."""
        graph, node = Pointer(), Pointer()
        self("cuGraphCreate", ctypes.byref(graph), 0)
        for _ in range(times):
            arguments = (ctypes.byref(node), graph, None, Size(0), child)
            self("cuGraphAddChildGraphNode", *arguments)
        return graph

    def replay(self, graph: ctypes.c_void_p, stream: Any) -> None:
        self("cuGraphLaunch", graph, Pointer(stream))


class Double:
    """Work on the tests' double: no kernel runs, but waits take real time."""

    EMPTY = 1000  # ns of the empty kernel
    LOADING = 2_000_000  # ns of loading a module
    POOL = 77  # address of the pool of asynchronous allocations

    def __init__(self) -> None:
        self.streams = 0
        self.is_eager = os.environ.get("CUDA_MODULE_LOADING") == "EAGER"
        self.unloaded: set[bytes] = set()  # what the first launch loads
        self.managed_ns = 5000
        self.spun_ns = 0

    @cached_property
    def fake(self) -> ctypes.CDLL:
        from gpu_double import workload  # noqa: PLC0415 - it is beside the tests

        return workload()

    def initialized(self) -> bool:
        count = ctypes.c_int()
        status = self.fake.cuDeviceGetCount(ctypes.byref(count))
        return bool(status != NOT_INITIALIZED)

    def init(self) -> None:
        check(self.fake.fk_init())
        self.fake.fk_wait_really(1)

    def bind(self) -> None:
        pass

    def prepare(self) -> None:
        self.alloc(ROOM)
        self.to_device(ROOM)

    def load(self) -> bytes:
        return self.loaded(b"short_lived", 19)  # cuModuleLoadData

    def library(self) -> bytes:
        return self.loaded(b"of_library", 678)  # cuLibraryLoadData

    def loaded(self, name: bytes, call: int) -> bytes:
        """Load a module now, or have its first launch do that."""
        if self.is_eager:
            self.fake.fk_own_time(self.LOADING, 1)
        else:
            self.unloaded.add(name)
        check(self.fake.fk_call(1, call))
        return name

    def unload(self, _module: bytes) -> None:
        check(self.fake.fk_call(1, 22))  # cuModuleUnload

    def function(self, module: bytes, _name: str) -> bytes:
        return module

    kernel = function

    def launch(self, function: bytes, stream: int) -> None:
        if function in self.unloaded:
            self.unloaded.remove(function)
            self.fake.fk_own_time(self.LOADING, 1)
        check(self.fake.fk_launch(function, stream, 1000))

    def run(self, module: bytes) -> None:
        self.launch(module, DEFAULT)

    def empty(self, stream: int = DEFAULT) -> None:
        check(self.fake.fk_launch(b"empty", stream, self.EMPTY))

    def spin(self, ns: int, stream: int = DEFAULT) -> None:
        self.spun_ns += ns
        check(self.fake.fk_launch(b"spin", stream, ns))

    def through(self, call: int) -> None:
        """Have the next call be made by this function of the driver."""
        self.fake.fk_as(call)

    def cluster(self, stream: int) -> None:
        self.through(652)  # cuLaunchKernelEx
        self.empty(stream)

    dependent = cooperative_ex = cluster

    def cooperative(self, stream: int) -> None:
        self.through(477)  # cuLaunchCooperativeKernel
        self.empty(stream)

    def capability(self) -> int:
        return int(os.environ.get("FAKE_CUDA_CAPABILITY", "9"))

    def spin_of_thread(self, ns: int) -> None:
        self.through(442)  # cuLaunchKernel_ptsz
        self.spin(ns)

    def to_device_of_thread(self, size: int) -> None:
        self.through(421)  # cuMemcpyHtoDAsync_v2_ptsz
        self.to_device_async(size)

    def memset_of_thread(self, size: int) -> None:
        self.through(428)  # cuMemsetD8Async_ptsz
        self.memset_async(size)

    def wait_of_thread(self) -> None:
        self.through(440)  # cuStreamSynchronize_ptsz
        self.wait_stream()

    def mark(self) -> int:
        return self.spun_ns

    def apart(self, began: int, ended: int) -> int:
        self.wait()
        return ended - began

    def timed(self, ns: int) -> int:
        self.spin(max(ns, 0))
        self.wait()
        return max(ns, 0)

    def stream(self) -> int:
        self.streams += 1
        return self.streams

    def wait(self) -> None:
        check(self.fake.fk_sync(0, 0, -1))

    def wait_stream(self, stream: int = DEFAULT) -> None:
        check(self.fake.fk_sync(1, stream, -1))

    def event(self) -> int:
        return DEFAULT

    def wait_event(self, event: int) -> None:
        check(self.fake.fk_sync(2, event, -1))

    def alloc(self, size: int) -> int:
        return int(self.fake.fk_malloc(size))

    def free(self, memory: int) -> None:
        check(self.fake.fk_free(memory))

    def alloc_async(self, size: int) -> int:
        return int(self.fake.fk_malloc_at(0, size, 3, self.POOL))

    free_async = free

    def alloc_managed(self, size: int) -> int:
        return int(self.fake.fk_malloc_at(0, size, 5, 0))

    def alloc_host(self, size: int) -> int:
        return int(self.fake.fk_malloc_at(0, size, 2, 0))

    free_host = free

    def scratch(self, size: int, stream: int) -> None:
        """Set memory on a stream; the double has no nodes for allocations."""
        self.memset_async(size, stream)

    def memory_left(self) -> int:
        return 1 << 30

    def reset(self) -> None:
        check(self.fake.fk_primary_reset())

    def memset(self, size: int) -> None:
        check(self.fake.fk_memset(size, 1000, 1))

    def memset_async(self, size: int, stream: int = DEFAULT) -> None:
        if stream == DEFAULT:
            check(self.fake.fk_memset(size, 1000, 0))
        else:
            check(self.fake.fk_memset_stream(stream, size, 1000))

    def to_device(self, size: int) -> None:
        check(self.fake.fk_memcpy(1, size, 1000, 1, 1, 3))

    def from_device(self, size: int) -> None:
        check(self.fake.fk_memcpy(2, size, 1000, 1, 3, 1))

    def to_device_async(self, size: int, stream: int = DEFAULT) -> None:
        check(self.fake.fk_memcpy_stream(stream, 1, size, 1000, 0, 2, 3))

    def batch(self, count: int, size: int, stream: int) -> None:
        check(self.fake.fk_memcpy_batch(stream, count, size, 1000))

    def on_host(self, _size: int) -> None:
        check(self.fake.fk_call(1, 305))  # cuMemcpy, without a record

    def from_device_async(self, size: int) -> None:
        check(self.fake.fk_memcpy(2, size, 1000, 0, 3, 2))

    def managed(self, size: int) -> None:
        for direction in (1, 2):
            check(self.fake.fk_managed_migration(direction, size, self.managed_ns))
        self.fake.fk_launch(b"touch", 0, 1000)
        self.wait()

    def capture(self, stream: int) -> None:
        check(self.fake.fk_graph_capture_begin(stream))

    def captured(self, stream: int) -> int:
        return self.instantiated(self.ended(stream))

    def ended(self, stream: int) -> int:
        return int(self.fake.fk_graph_end(stream))

    def instantiated(self, graph: int) -> int:
        return int(self.fake.fk_graph_instantiate(graph))

    def parent(self, child: int, times: int) -> int:
        return int(self.fake.fk_graph_of_children(child, times))

    def replay(self, graph: int, stream: int) -> None:
        check(self.fake.fk_graph_launch(graph, stream))


def check(status: int) -> None:
    if status:
        raise RuntimeError(f"the double gave {status}")


def cupti() -> ctypes.CDLL:
    """Return the libcupti that lineprof uses in this process."""
    return ctypes.CDLL(cupti_path())


def cupti_path() -> str:
    """Return the path of the libcupti that is mapped, or that LINEPROF_CUPTI names."""
    with open("/proc/self/maps", encoding="utf-8") as file:  # noqa: PTH123
        lines = [line for line in file.read().splitlines() if "/libcupti" in line]
    paths = sorted({line.split(None, 5)[5] for line in lines})
    return os.environ.get("LINEPROF_CUPTI") or paths[0]


def threads() -> int:
    """Return the number of threads of this process, those without Python too."""
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def mapped(name: str) -> list[str]:
    """Return the mapped files of this process whose names begin with a text.

    Only last parts of paths are returned: the others differ between machines.
    """
    with open("/proc/self/maps", encoding="utf-8") as file:  # noqa: PTH123
        lines = file.read().splitlines()
    paths = {line.split(None, 5)[5] for line in lines if f"/{name}" in line}
    real = {os.path.realpath(path) for path in paths}
    return sorted("/".join(path.split("/")[-3:]) for path in real)


def clock() -> int:
    """Return the time in ns by the clock of the records."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


gpu: Any = Double() if os.environ.get("LINEPROF_CUDA") else Nvidia()
