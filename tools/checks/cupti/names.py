"""Names in csrc/gpu/cupti_abi.h and cupti_callbacks.c, and NVIDIA's names."""

from __future__ import annotations

# Our fields in all structs, and NVIDIA's; "" is padding.
COMMON = {
    "kind": "kind",
    "start": "start",
    "end": "end",
    "bytes": "bytes",
    "flags": "flags",
    "value": "value",
    "context": "contextId",
    "device": "deviceId",
    "stream": "streamId",
    "correlation": "correlationId",
    "graph_node": "graphNodeId",
    "pad": "",
    "reserved": "",
}
FIELDS: dict[str, dict[str, str]] = {
    "lp_cupti_kernel": {
        "registers": "registersPerThread",
        "completed": "completed",
        **{f"grid[{n}]": f"grid{axis}" for n, axis in enumerate("XYZ")},
        **{f"block[{n}]": f"block{axis}" for n, axis in enumerate("XYZ")},
        "static_smem": "staticSharedMemory",
        "dynamic_smem": "dynamicSharedMemory",
        "local_memory[0]": "localMemoryPerThread",
        "local_memory[1]": "localMemoryTotal",
        "grid_id": "gridId",
        "name": "name",
        "queued": "queued",
        "submitted": "submitted",
        "graph": "graphId",
        "cache_config": "",
        "shared_memory_config": "",
        "partitioned": "",
        "attributes": "",
        "more": "",
    },
    "lp_cupti_memcpy": {
        "copy_kind": "copyKind",
        "source": "srcKind",
        "target": "dstKind",
        "runtime_correlation": "runtimeCorrelationId",
    },
    "lp_cupti_peer": {
        "copy_kind": "copyKind",
        "source": "srcKind",
        "target": "dstKind",
        "source_device": "srcDeviceId",
        "source_context": "srcContextId",
        "target_device": "dstDeviceId",
        "target_context": "dstContextId",
    },
    "lp_cupti_memset": {"memory": "memoryKind"},
    "lp_cupti_api": {
        "call": "cbid",
        "process": "processId",
        "thread": "threadId",
        "status": "returnValue",
    },
    "lp_cupti_graph": {"graph": "graphId"},
    "lp_cupti_uvm": {
        "counter": "counterKind",
        "address": "address",
        "source": "srcId",
        "target": "dstId",
    },
    "lp_cupti_memory": {
        "operation": "memoryOperationType",
        "memory": "memoryKind",
        "address": "address",
        "time": "timestamp",
        "counter": "PC",
        "process": "processId",
    },
    "lp_cupti_call": {
        "site": "callbackSite",
        "function": "functionName",
        "parameters": "functionParams",
        "result": "functionReturnValue",
        "symbol": "symbolName",
        "context": "context",
        "context_id": "contextUid",
        "scratch": "correlationData",
    },
    "lp_cupti_resource": {
        "context": "context",
        "handle": "resourceHandle",
        "descriptor": "resourceDescriptor",
    },
    "lp_cupti_graph_node": {
        "graph": "graph",
        "original_graph": "originalGraph",
        "node": "node",
        "original": "originalNode",
    },
    "lp_cupti_uvm_config": {"scope": "scope", "enable": "enable"},
}

# Our enumerators, and NVIDIA's.
KIND, RESOURCE = "CUPTI_ACTIVITY_KIND_", "CUPTI_CBID_RESOURCE_"
UVM = "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_"
MEMORY = "CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_"
VALUES = {
    "LP_CUPTI_OK": "CUPTI_SUCCESS",
    "LP_CUPTI_MAX_LIMIT_REACHED": "CUPTI_ERROR_MAX_LIMIT_REACHED",
    "LP_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED": (
        "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
    ),
    "LP_CUPTI_DOMAIN_DRIVER_API": "CUPTI_CB_DOMAIN_DRIVER_API",
    "LP_CUPTI_DOMAIN_RUNTIME_API": "CUPTI_CB_DOMAIN_RUNTIME_API",
    "LP_CUPTI_DOMAIN_RESOURCE": "CUPTI_CB_DOMAIN_RESOURCE",
    "LP_CUPTI_API_ENTER": "CUPTI_API_ENTER",
    "LP_CUPTI_API_EXIT": "CUPTI_API_EXIT",
    "LP_CUPTI_RESOURCE_CONTEXT_CREATED": f"{RESOURCE}CONTEXT_CREATED",
    "LP_CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING": f"{RESOURCE}CONTEXT_DESTROY_STARTING",
    "LP_CUPTI_RESOURCE_GRAPHNODE_CREATED": f"{RESOURCE}GRAPHNODE_CREATED",
    "LP_CUPTI_RESOURCE_GRAPHNODE_CLONED": f"{RESOURCE}GRAPHNODE_CLONED",
    "LP_CUPTI_MEMCPY": f"{KIND}MEMCPY",
    "LP_CUPTI_MEMSET": f"{KIND}MEMSET",
    "LP_CUPTI_KERNEL": f"{KIND}KERNEL",
    "LP_CUPTI_DRIVER": f"{KIND}DRIVER",
    "LP_CUPTI_RUNTIME": f"{KIND}RUNTIME",
    "LP_CUPTI_CONCURRENT_KERNEL": f"{KIND}CONCURRENT_KERNEL",
    "LP_CUPTI_MEMCPY2": f"{KIND}MEMCPY2",
    "LP_CUPTI_UNIFIED_MEMORY_COUNTER": f"{KIND}UNIFIED_MEMORY_COUNTER",
    "LP_CUPTI_MEMORY2": f"{KIND}MEMORY2",
    "LP_CUPTI_GRAPH_TRACE": f"{KIND}GRAPH_TRACE",
    "LP_CUPTI_MEMORY_PAGEABLE": "CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE",
    "LP_CUPTI_MEMORY_ALLOCATION": f"{MEMORY}ALLOCATION",
    "LP_CUPTI_MEMORY_RELEASE": f"{MEMORY}RELEASE",
    "LP_CUPTI_UVM_BYTES_HTOD": f"{UVM}KIND_BYTES_TRANSFER_HTOD",
    "LP_CUPTI_UVM_BYTES_DTOH": f"{UVM}KIND_BYTES_TRANSFER_DTOH",
    "LP_CUPTI_UVM_BYTES_DTOD": f"{UVM}KIND_BYTES_TRANSFER_DTOD",
    "LP_CUPTI_UVM_ALL_DEVICES": f"{UVM}SCOPE_PROCESS_ALL_DEVICES",
    "LP_CUPTI_THREAD_ID_SYSTEM": "CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM",
}

# Lists of driver calls, each with a pattern: exactly the calls whose names match it
# are in the list. Suffixes such as _v2 and _ptsz are left out.
_COPY = "cuMemcpy(?:[HDA]to[HDA]|2D|2DUnaligned|3D|Peer|3DPeer)?"
CALLS = {
    "launches": (
        r"cuLaunch(?:Grid|GridAsync|Kernel|KernelEx|CooperativeKernel)?"
        r"|cuLaunchCooperativeKernelMultiDevice|cuGraphLaunch"
        r"|cuMemset(?:2?D)?.*"
    ),
    "copies": _COPY,
    "async_copies": rf"{_COPY}(?:Batch|WithAttributes)?Async",
    "syncs": "cu(?:Ctx|Event|Stream)Synchronize",
    "allocations": (
        "cuMem(?:Alloc|AllocPitch|Free|AllocHost|FreeHost|HostAlloc|AllocManaged)"
        "|cuMem(?:AllocAsync|FreeAsync|AllocFromPoolAsync)"
    ),
    "starts": "cuProfilerStart",
    "stops": "cuProfilerStop",
    # Calls with CIG are for graphics, and 783 was another call up to 13.0.
    "captures": "cuStreamBeginCapture(?:To(?!Cig).*)?",
    "captured": "cuStreamEndCapture(?:To(?!Cig).*)?",
}
ENDS = r"(?:_v\d+)?(?:_ptsz|_ptds)?"
