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

import ctypes
import json
import os
import time
from functools import cached_property
from typing import Any

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
        self._pinned = Pointer()
        self("cuMemAllocHost_v2", ctypes.byref(self._pinned), Size(ROOM))
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

    def memset(self, size: int) -> None:
        self("cuMemsetD8_v2", self._there, 7, Size(size))

    def memset_async(self, size: int) -> None:
        self("cuMemsetD8Async", self._there, 7, Size(size), None)

    def to_device(self, size: int) -> None:
        """Copy from pageable memory, blocking."""
        self("cuMemcpyHtoD_v2", self._there, self._pageable, Size(size))

    def from_device(self, size: int) -> None:
        """Copy to pageable memory, blocking."""
        self("cuMemcpyDtoH_v2", self._pageable, self._there, Size(size))

    def to_device_async(self, size: int) -> None:
        """Copy from page-locked memory."""
        self("cuMemcpyHtoDAsync_v2", self._there, self._pinned, Size(size), None)

    def from_device_async(self, size: int) -> None:
        """Copy to page-locked memory."""
        self("cuMemcpyDtoHAsync_v2", self._pinned, self._there, Size(size), None)

    def managed(self, size: int) -> None:
        """Migrate managed memory to the device and back, by a kernel and a wait."""
        memory = ctypes.c_uint64()
        self("cuMemAllocManaged", ctypes.byref(memory), Size(size), 1)
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
        graph, ready = Pointer(), Pointer()
        self("cuStreamEndCapture", Pointer(stream), ctypes.byref(graph))
        arguments = (ctypes.byref(ready), graph, ctypes.c_uint64(0))
        self("cuGraphInstantiateWithFlags", *arguments)
        return ready

    def replay(self, graph: ctypes.c_void_p, stream: Any) -> None:
        self("cuGraphLaunch", graph, Pointer(stream))


class Double:
    """Work on the tests' double: no kernel runs, but waits take real time."""

    EMPTY = 1000  # ns of the empty kernel

    def __init__(self) -> None:
        self.streams = 0
        self.managed_ns = 5000

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
        return b"short_lived"

    def unload(self, module: bytes) -> None:
        pass

    def run(self, module: bytes) -> None:
        check(self.fake.fk_launch(module, 0, 1000))

    def empty(self, stream: int = DEFAULT) -> None:
        check(self.fake.fk_launch(b"empty", stream, self.EMPTY))

    def spin(self, ns: int, stream: int = DEFAULT) -> None:
        check(self.fake.fk_launch(b"spin", stream, ns))

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

    alloc_async, free_async = alloc, free

    def memset(self, size: int) -> None:
        check(self.fake.fk_memset(size, 1000, 1))

    def memset_async(self, size: int) -> None:
        check(self.fake.fk_memset(size, 1000, 0))

    def to_device(self, size: int) -> None:
        check(self.fake.fk_memcpy(1, size, 1000, 1, 1, 3))

    def from_device(self, size: int) -> None:
        check(self.fake.fk_memcpy(2, size, 1000, 1, 3, 1))

    def to_device_async(self, size: int) -> None:
        check(self.fake.fk_memcpy(1, size, 1000, 0, 2, 3))

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
        return int(self.fake.fk_graph_instantiate(self.fake.fk_graph_end(stream)))

    def replay(self, graph: int, stream: int) -> None:
        check(self.fake.fk_graph_launch(graph, stream))


def check(status: int) -> None:
    if status:
        raise RuntimeError(f"the double gave {status}")


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
